"""What is left in the workspace for those who bring it out."""

import os
import socket
import subprocess
import sys

from attempt import Blocked

WORK = "/tmp/work"


def odd_files(scene):
    """Links, pipes, sockets, names that are no text, folders without rights, a file of holes: nothing to follow,
    to wait for or to be filled by."""
    os.chdir(WORK)
    os.symlink("/etc/passwd", "link")
    os.symlink(scene.home + "/secrets.toml", "link-home")
    os.symlink("/proc/self/environ", "link-proc")
    os.symlink("/", "link-root")
    os.symlink("loop", "loop")
    os.mkfifo("pipe")
    socket.socket(socket.AF_UNIX).bind("socket")
    open(b"\xff\xfe name", "w").close()
    open("line\nbreak", "w").close()
    open("n" * 255, "w").close()
    with open("holes", "wb") as holes:
        holes.truncate(scene.file_size)
    os.mkdir("closed")
    with open("closed/file", "w") as file:
        file.write("x")
    os.chmod("closed", 0)
    with open("unreadable", "w") as file:
        file.write("x")
    os.chmod("unreadable", 0)
    with open("plain.txt", "w") as file:
        file.write("plain")
    os.link("plain.txt", "again.txt")
    raise Blocked("left behind")


def deep(_):
    os.chdir(WORK)
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
    with open("bottom", "w") as file:
        file.write("x")
    raise Blocked("left behind")


def many(_):
    os.chdir(WORK)
    for number in range(5000):
        open("file-%d" % number, "w").close()
    raise Blocked("left behind")


def replaced(scene):
    """The workspace itself becomes a link to what may only be read."""
    os.rename(WORK, WORK + "-before")
    os.symlink(scene.plugin, WORK)
    raise Blocked("left behind")


def still_moving(_):
    """A process that stays changes a file to a link and back, again and again."""
    subprocess.Popen([sys.executable, "-c", """
import os
os.chdir("/tmp/work")
while True:
    try:
        os.symlink("/etc/passwd", "a"); os.rename("a", "b")
        open("c", "w").close(); os.rename("c", "b")
    except OSError:
        pass
"""], start_new_session=True, stdin=subprocess.DEVNULL)
    raise Blocked("left behind")
