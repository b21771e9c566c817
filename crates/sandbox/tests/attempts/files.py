"""Reading and writing what was not granted."""

import ctypes
import mmap
import os
import stat
import struct
import sys

from attempt import Blocked, Escaped, every, syscall

AT_FDCWD = -100


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def holds(scene, path):
    """Stopped unless the secret is read."""
    if scene.token.encode() not in read(path):
        raise Blocked("without the secret")


def write(path):
    with open(path, "ab") as file:
        file.write(b"was here")


# Reading.


def read_shadow(_):
    names = ["shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "security/opasswd", "ssl/private", "krb5.keytab"]
    every((name, lambda name=name: os.listdir("/etc/" + name) if name.endswith("private") else read("/etc/" + name))
          for name in names)


def read_host_keys(_):
    names = ["ssh/ssh_host_rsa_key", "ssh/ssh_host_ed25519_key", "ssh/sshd_config", "docker", "kubernetes", "cron.d",
             "NetworkManager", "wpa_supplicant", "environment", "machine-id"]
    every((name, lambda name=name: os.stat("/etc/" + name)) for name in names)


def read_secrets_toml(scene):
    holds(scene, scene.home + "/secrets.toml")


def list_home(scene):
    os.listdir(scene.home)


def list_homes_of_people(scene):
    """Only folders on the way to what was granted may be there."""
    def look(path):
        for name in os.listdir(path):
            inside = os.path.join(path, name)
            if not any((root + "/").startswith(inside + "/") for root in scene.granted):
                raise Escaped(inside)
        raise Blocked("only what leads to a root")
    every((path, lambda path=path: look(path)) for path in ["/root", "/home", scene.user_home, "/Users"])


def stat_home(scene):
    """Not even whether it exists."""
    os.stat(scene.home + "/secrets.toml")


def siblings_of_a_root(scene):
    names = set(os.listdir(os.path.dirname(scene.plugin)))
    granted = {os.path.basename(root) for root in scene.granted}
    if names - granted:
        raise Escaped("sees " + " ".join(sorted(names - granted)))
    raise Blocked("only the roots")


def other_plugin_read(scene):
    holds(scene, scene.other + "/data.txt")


def other_plugin_write(scene):
    write(scene.other + "/data.txt")


def places_of_the_system(_):
    places = ["/var", "/run", "/boot", "/mnt", "/media", "/srv", "/sys", "/lost+found", "/host", "/old", "/oldroot",
              "/.oldroot", "/.old_root", "/put_old", "/.pivot_root", "/run/secrets", "/var/run", "/var/lib"]

    def look(path):
        for name in os.listdir(path):
            raise Escaped(os.path.join(path, name))
        raise Blocked("empty")
    every((path, lambda path=path: look(path)) for path in places)


def search_everywhere(scene):
    """The name of a file at home holds the secret, too."""
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "usr")]
        for name in folders + files:
            if scene.token in name:
                raise Escaped(os.path.join(folder, name))
    raise Blocked("not found")


def dot_dot(scene):
    climb = "/.." * 40
    def by_descriptor():
        folder = os.open(scene.plugin, os.O_RDONLY)
        os.open((climb + scene.home + "/secrets.toml")[1:], os.O_RDONLY, dir_fd=folder)
    every([
        ("by path", lambda: read(scene.plugin + climb + scene.home + "/secrets.toml")),
        ("by descriptor", by_descriptor),
        ("shadow", lambda: read("/tmp" + climb + "/etc/shadow")),
    ])


def through_proc(scene):
    """Links of /proc lead past the path."""
    path = scene.home + "/secrets.toml"
    links = ["/proc/%s/%s" % (who, link)
             for who in ["self", "thread-self", "1", "2", "3", str(scene.pid), str(os.getppid())]
             for link in ["root", "cwd", "cwd/../../../../../..", "root/.."]]
    root = os.open("/", os.O_RDONLY)
    links += ["/proc/self/fd/%d" % root, "/proc/self/fd/%d/.." % root]
    every((link, lambda link=link: holds(scene, link + path)) for link in links)


def through_mounts(scene):
    with open("/proc/self/mountinfo") as mounts:
        points = [line.split()[4] for line in mounts]
    every((point, lambda point=point: holds(scene, point + scene.home + "/secrets.toml")) for point in points)


def by_handle(scene):
    """A file handle opens the root of the whole file system (inode 2), whatever is mounted of it."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()

    def ask():
        syscall("name_to_handle_at", AT_FDCWD, scene.plugin, handle, ctypes.byref(mount), 0)

    def open_root():
        folder = os.open(scene.plugin, os.O_RDONLY)
        root = ctypes.create_string_buffer(struct.pack("IiII", 8, 1, 2, 0))
        syscall("open_by_handle_at", folder, root, os.O_RDONLY)
    every([("name_to_handle_at", ask), ("open_by_handle_at", open_root)])


# Links and names.


def symlink_to_secret(scene):
    link = scene.data + "/link"
    os.symlink(scene.home + "/secrets.toml", link)
    holds(scene, link)


def symlink_that_was_shipped(scene):
    """The plugin came with a link to the home folder."""
    every([
        ("file", lambda: holds(scene, scene.plugin + "/shipped")),
        ("folder", lambda: os.listdir(scene.plugin + "/shipped-folder")),
        ("write", lambda: write(scene.plugin + "/shipped")),
    ])


def symlink_swap(scene):
    folder = scene.data + "/folder"
    os.mkdir(folder)
    inside = os.open(folder, os.O_RDONLY)
    os.rename(folder, folder + "-before")
    os.symlink(scene.home, folder)
    every([
        ("by path", lambda: write(folder + "/secrets.toml")),
        ("by descriptor", lambda: os.open("../../home/secrets.toml", os.O_WRONLY, dir_fd=inside)),
    ])


def hard_link(scene):
    opened = os.open(scene.plugin + "/data.txt", os.O_RDONLY)
    every([
        ("of the secret", lambda: os.link(scene.home + "/secrets.toml", scene.data + "/a")),
        ("of a file to read", lambda: os.link(scene.plugin + "/data.txt", scene.data + "/b")),
        ("of a file to read, to /tmp", lambda: os.link(scene.plugin + "/data.txt", "/tmp/b")),
        ("by descriptor", lambda: os.link("/proc/self/fd/%d" % opened, scene.data + "/c", follow_symlinks=True)),
        ("by empty path", lambda: syscall("linkat", opened, "", AT_FDCWD, scene.data + "/d", 0x1000)),
        ("of the interpreter", lambda: os.link(os.path.realpath(sys.executable), "/tmp/python")),
        ("of /etc/passwd", lambda: os.link("/etc/passwd", scene.data + "/e")),
    ])


def rename(scene):
    write(scene.data + "/mine")
    every([
        ("out of a root to read", lambda: os.rename(scene.plugin + "/data.txt", scene.data + "/a")),
        ("into a root to read", lambda: os.rename(scene.data + "/mine", scene.plugin + "/data.txt")),
        ("into home", lambda: os.rename(scene.data + "/mine", scene.home + "/mine")),
        ("exchange", lambda: syscall("renameat2", AT_FDCWD, scene.data + "/mine", AT_FDCWD,
                                     scene.plugin + "/data.txt", 2)),
        ("the root itself", lambda: os.rename(scene.plugin, scene.plugin + "-before")),
        ("the data folder", lambda: os.rename(scene.data, scene.data + "-before")),
        ("over /usr", lambda: os.rename(scene.data, "/usr")),
    ])


# Writing.


def write_outside(scene):
    places = ["/", "/etc", "/usr", "/usr/bin", "/bin", "/lib", "/var", "/root", "/proc", "/proc/self", "/sys", "/run",
              "/opt", scene.user_home, "/dev/pts"]
    every((place, lambda place=place: write(place + "/innkeeper-was-here")) for place in places)


def write_what_is_private(scene):
    """May be written where it is private; the caller looks at the real one."""
    try:
        os.makedirs(scene.home, exist_ok=True)
        write(scene.home + "/secrets.toml")
    except OSError as error:
        raise Blocked("private") from error
    raise Blocked("private")


def write_etc(_):
    every((path, lambda path=path: write(path))
          for path in ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/ld.so.cache",
                       "/etc/ld.so.preload", "/etc/nsswitch.conf", "/etc/profile", "/etc/crontab"])


def write_interpreter(_):
    real = os.path.realpath(sys.executable)
    library = os.path.dirname(os.__file__)
    every([
        ("the interpreter", lambda: write(real)),
        ("its library", lambda: write(library + "/os.py")),
        ("beside its library", lambda: write(library + "/sitecustomize.py")),
        ("its cache", lambda: write(library + "/__pycache__/os.cpython-399.pyc")),
        ("removing it", lambda: os.unlink(real)),
        ("another in its place", lambda: os.symlink("/bin/sh", os.path.dirname(real) + "/python4")),
        ("what runs now", lambda: os.open("/proc/self/exe", os.O_RDWR)),
        ("the shell", lambda: write("/bin/sh")),
        ("the C library's loader", lambda: os.truncate(loader(), 0)),
    ])


def loader():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "/ld-" in line)


def rewrite_root(scene):
    """Every way to change a folder that may only be read."""
    file, folder = scene.plugin + "/data.txt", scene.plugin
    opened = os.open(file, os.O_RDONLY)

    def through_memory():
        page = mmap.mmap(opened, 4, mmap.MAP_SHARED, mmap.PROT_READ)
        address = ctypes.addressof(ctypes.c_char.from_buffer(mmap.mmap(-1, 4)))
        _ = page, address
        mmap.mmap(opened, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 65

    every([
        ("append", lambda: write(file)),
        ("reopen", lambda: os.open("/proc/self/fd/%d" % opened, os.O_RDWR)),
        ("by descriptor", lambda: os.write(opened, b"x")),
        ("map", through_memory),
        ("truncate", lambda: os.truncate(file, 0)),
        ("ftruncate", lambda: os.ftruncate(opened, 0)),
        ("chmod", lambda: os.chmod(file, 0o777)),
        ("fchmod", lambda: os.fchmod(opened, 0o777)),
        ("chmod of the folder", lambda: os.chmod(folder, 0o777)),
        ("chown", lambda: os.chown(file, os.getuid(), os.getgid())),
        ("utime", lambda: os.utime(file)),
        ("setxattr", lambda: os.setxattr(file, "user.innkeeper", b"1")),
        ("unlink", lambda: os.unlink(file)),
        ("mkdir", lambda: os.mkdir(folder + "/new")),
        ("rmdir", lambda: os.rmdir(folder + "/empty")),
        ("symlink", lambda: os.symlink("/", folder + "/new")),
        ("link", lambda: os.link(file, folder + "/new")),
        ("rename", lambda: os.rename(file, folder + "/new")),
        ("fifo", lambda: os.mkfifo(folder + "/new")),
        ("nameless file", lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)),
        ("fallocate", lambda: os.posix_fallocate(os.open(file, os.O_RDWR), 0, 1 << 20)),
        ("its own programs", lambda: write(folder + "/attempts/attempt.py")),
    ])


def read_below_write(scene):
    """A folder to be read that lies in one to be written."""
    file = scene.data + "/fixed/rule.txt"
    os.rename(scene.data + "/free", scene.data + "/moved")
    every([
        ("append", lambda: write(file)),
        ("unlink", lambda: os.unlink(file)),
        ("chmod", lambda: os.chmod(file, 0o777)),
        ("rename", lambda: os.rename(file, scene.data + "/rule.txt")),
        ("link", lambda: os.link(file, scene.data + "/rule.txt")),
        ("the folder itself", lambda: os.rename(scene.data + "/fixed", scene.data + "/was")),
        ("remove", lambda: os.rmdir(scene.data + "/fixed")),
        ("new", lambda: write(scene.data + "/fixed/new")),
    ])


def write_below_read(scene):
    """A folder to be written that lies in one to be read: it is no way to the rest."""
    inner = scene.plugin + "/inner"
    write(inner + "/mine")
    every([
        ("beside it", lambda: write(scene.plugin + "/data.txt")),
        ("up", lambda: write(inner + "/../data.txt")),
        ("link in", lambda: os.link(scene.plugin + "/data.txt", inner + "/data.txt")),
        ("rename in", lambda: os.rename(scene.plugin + "/data.txt", inner + "/data.txt")),
        ("rename out", lambda: os.rename(inner + "/mine", scene.plugin + "/mine")),
        ("remove", lambda: os.rmdir(inner)),
    ])


def writable_places(scene):
    """Whatever can be written must be private and counted, or granted."""
    allowed = ["/tmp", "/dev/shm", "/dev/mqueue", scene.data]
    for folder, folders, _ in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "usr")]
        if any((folder + "/").startswith(place + "/") for place in allowed):
            folders[:] = []
            continue
        try:
            write(folder + "/innkeeper-was-here")
        except OSError:
            continue
        raise Escaped(folder + " can be written")
    raise Blocked("nothing else")


def flags_of_mounts(scene):
    """No setuid, no devices but the private ones; read-only but what was granted."""
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            point, flags = line.split()[4], line.split()[5].split(",")
            device = point.startswith("/dev")
            if "nosuid" not in flags:
                raise Escaped("setuid works in " + point)
            if "nodev" not in flags and not device:
                raise Escaped("devices work in " + point)
            free = point in ("/tmp", scene.data) or point.startswith("/proc") or device
            if "rw" in flags and not free:
                raise Escaped(point + " is not read-only")
    raise Blocked("nosuid nodev ro")


# Bits that would let a file do harm when somebody outside runs it.


def setuid_bit(scene):
    """By every door to a mode; the caller looks at the folder, too."""
    def made(name, make):
        path = scene.data + "/" + name

        def attempt():
            make(path)
            if not os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
                raise Blocked("cleared")
        return name, attempt

    def existing(change):
        def make(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755))
            change(path)
        return make

    def nameless(path):
        opened = os.open(scene.data, os.O_TMPFILE | os.O_RDWR, 0o4755)
        os.link("/proc/self/fd/%d" % opened, path, follow_symlinks=True)

    def fchmod(path):
        os.fchmod(os.open(path, os.O_RDONLY), 0o6755)

    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    every([
        made("chmod", existing(lambda path: os.chmod(path, 0o4755))),
        made("setgid", existing(lambda path: os.chmod(path, 0o2755))),
        made("fchmod", existing(fchmod)),
        made("fchmodat", existing(lambda path: syscall("fchmodat", AT_FDCWD, path, 0o4755))),
        made("fchmodat-high", existing(lambda path: syscall("fchmodat", AT_FDCWD, path, 0o4755 | 1 << 32))),
        made("fchmodat2", existing(lambda path: syscall("fchmodat2", AT_FDCWD, path, 0o4755, 0))),
        made("open", lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)),
        made("openat2", lambda path: syscall("openat2", AT_FDCWD, path, how, len(how))),
        made("mknod", lambda path: os.mknod(path, stat.S_IFREG | 0o4755)),
        made("mkfifo", lambda path: os.mkfifo(path, 0o4755)),
        made("mkdir", lambda path: os.mkdir(path, 0o6755)),
        made("chmod-folder", lambda path: (os.mkdir(path), os.chmod(path, 0o2755))),
        made("nameless", nameless),
    ])


def file_capability(scene):
    path = scene.data + "/program"
    write(path)
    second = struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0, 0)
    third = struct.pack("<IIIIII", 0x03000001, 0xffffffff, 0, 0, 0, 0)
    every([
        ("version 2", lambda: os.setxattr(path, "security.capability", second)),
        ("version 3", lambda: os.setxattr(path, "security.capability", third)),
        ("trusted", lambda: os.setxattr(path, "trusted.innkeeper", b"1")),
        ("SELinux", lambda: os.setxattr(path, "security.selinux", b"system_u:object_r:bin_t:s0")),
    ])


def immutable_file(scene):
    """A file that even its owner could not remove again."""
    import fcntl
    path = scene.data + "/stays"
    write(path)
    with open(path) as file:
        fcntl.ioctl(file, 0x40086602, struct.pack("l", 0x10))


def device_nodes(scene):
    def node(path, kind, major, minor):
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
    every(("%s %s" % (place, name), lambda place=place, kind=kind, major=major, minor=minor:
           node(place + "/node", kind, major, minor))
          for place in ["/tmp", "/dev", "/dev/shm", scene.data]
          for name, kind, major, minor in [("mem", stat.S_IFCHR, 1, 1), ("null", stat.S_IFCHR, 1, 3),
                                           ("sda", stat.S_IFBLK, 8, 0), ("vda", stat.S_IFBLK, 254, 0)])


def devices_there(_):
    usual = {"null", "zero", "full", "random", "urandom", "tty", "shm", "fd", "stdin", "stdout", "stderr", "ptmx",
             "pts", "mqueue"}
    extra = set(os.listdir("/dev")) - usual
    if extra:
        raise Escaped("sees /dev/" + " ".join(sorted(extra)))
    raise Blocked("only the usual")


def devices_of_the_host(_):
    names = ["mem", "kmem", "port", "kmsg", "kvm", "fuse", "loop-control", "loop0", "sda", "vda", "nvme0n1", "net/tun",
             "vsock", "vhost-vsock", "console", "tty0", "tty1", "input/event0", "uinput", "mapper/control", "hwrng",
             "watchdog", "rtc0", "snapshot", "userfaultfd", "dri/card0", "nvidia0", "pts/0", "initctl", "log"]
    every((name, lambda name=name: os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK)) for name in names)
