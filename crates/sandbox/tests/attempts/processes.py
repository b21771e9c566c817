"""Other processes: seeing them, reading them, stopping them; and what a program was handed when it started."""

import ctypes
import fcntl
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import termios

from attempt import Blocked, Escaped, every, in_child, syscall

PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE = 0, 16, 0x4206


def others(scene):
    """The first process, the parent, and the server by the number that it has outside."""
    return sorted({1, os.getppid(), scene.pid} - {0, os.getpid()})


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def status(pid="self"):
    lines = read("/proc/%s/status" % pid).decode().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


# Seeing.


def environment(scene):
    """Only what the policy says, and what every program needs."""
    allowed = {"GIVEN", "HOME", "PATH", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "USER", "LOGNAME", "PWD", "SHLVL", "_"}
    allowed |= set(scene.environment_of_the_policy)
    for text in [read("/proc/self/environ"), "\0".join("%s=%s" % pair for pair in os.environ.items()).encode()]:
        for variable in filter(None, text.decode().split("\0")):
            name = variable.split("=")[0]
            if name not in allowed and not name.lower().endswith("_proxy"):
                raise Escaped("sees " + name)
    raise Blocked("only what was given")


def environment_of_first(scene):
    """The first process must not carry the server's variables where they can be read."""
    every(("/proc/%s/environ" % pid, lambda pid=pid: foreign(read("/proc/%s/environ" % pid)))
          for pid in ["1", "2", str(os.getppid()), str(scene.pid)] if pid != str(os.getpid()))


def foreign(text):
    if not text.strip(b"\0"):
        raise Blocked("empty")


def auxiliary_of_first(_):
    every((name, lambda name=name: foreign(read("/proc/1/" + name)))
          for name in ["auxv", "maps", "smaps", "stack", "syscall", "mem", "pagemap", "io", "personality"])


def links_of_first(_):
    names = ["exe", "cwd", "root", "fd/0", "fd/1", "fd/3", "ns/mnt", "ns/net", "ns/user", "ns/pid"]
    every((name, lambda name=name: os.readlink("/proc/1/" + name)) for name in names)


def processes_of_the_host(scene):
    """Beside itself it sees the first process at the most."""
    seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    strangers = [pid for pid in seen if pid not in (1, os.getpid(), os.getppid())]
    if strangers or scene.pid in seen:
        raise Escaped("sees %s" % strangers)
    raise Blocked("only its own")


def process_by_number(scene):
    every(("/proc/%d/%s" % (scene.pid, name), lambda name=name: os.stat("/proc/%d/%s" % (scene.pid, name)))
          for name in ["", "cmdline", "environ", "fd", "root", "task"])


def command_line_of_first(scene):
    """It may be seen, but must tell nothing of the server's home."""
    for name in ["cmdline", "comm", "status", "mountinfo", "cgroup"]:
        try:
            text = read("/proc/1/" + name)
        except OSError:
            continue
        if scene.token.encode() in text and name == "cmdline":
            raise Escaped(name + " tells the arguments")
        if scene.home.encode() in text:
            raise Escaped(name + " tells of the home folder")
    raise Blocked("nothing of the server")


# Reading and changing.


def trace(scene):
    def follow(pid):
        os.waitpid(pid, 0)
    every([(str(pid), lambda pid=pid, how=how: (syscall("ptrace", how, pid, 0, 0), follow(pid)))
           for pid in others(scene) for how in (PTRACE_ATTACH, PTRACE_SEIZE)])


def trace_child(_):
    """Even its own children: what is traced may pass the filter's verdict by."""
    every([
        ("be traced", lambda: in_child(lambda: syscall("ptrace", PTRACE_TRACEME, 0, 0, 0))),
        ("seize itself", lambda: syscall("ptrace", PTRACE_SEIZE, os.getpid(), 0, 0)),
    ])


def memory_of_others(scene):
    buffer = ctypes.create_string_buffer(64)
    local = struct.pack("QQ", ctypes.addressof(buffer), 64)
    remote = struct.pack("QQ", 0x400000, 64)
    tries = [("%s of %d" % (call, pid), lambda call=call, pid=pid: syscall(call, pid, local, 1, remote, 1, 0))
             for pid in others(scene) for call in ("process_vm_readv", "process_vm_writev")]
    tries += [("mem of %d" % pid, lambda pid=pid: os.open("/proc/%d/mem" % pid, os.O_RDWR)) for pid in others(scene)]
    every(tries)


def memory_of_itself_by_call(_):
    """The calls are refused altogether, not just for others."""
    buffer = ctypes.create_string_buffer(64)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 64)
    every((call, lambda call=call: syscall(call, os.getpid(), vector, 1, vector, 1, 0))
          for call in ("process_vm_readv", "process_vm_writev"))


def descriptors_of_others(scene):
    def take(pid):
        handle = syscall("pidfd_open", pid, 0)
        for number in range(32):
            try:
                syscall("pidfd_getfd", handle, number, 0)
            except OSError as error:
                last = error
            else:
                raise Escaped("took %d of %d" % (number, pid))
        raise last
    tries = [(str(pid), lambda pid=pid: take(pid)) for pid in others(scene)]
    tries += [("/proc/%d/fd/%d" % (pid, number), lambda pid=pid, number=number:
               os.open("/proc/%d/fd/%d" % (pid, number), os.O_RDWR | os.O_NONBLOCK))
              for pid in others(scene) for number in range(16)]
    every(tries)


def compare_with_others(scene):
    every((str(pid), lambda pid=pid: syscall("kcmp", os.getpid(), pid, 0, 0, 0)) for pid in others(scene))


def launcher_binary(_):
    """The door by which a container once overwrote the program that had started it."""
    every([
        ("write", lambda: os.open("/proc/1/exe", os.O_WRONLY)),
        ("truncate", lambda: os.truncate("/proc/1/exe", 0)),
        ("read", lambda: os.open("/proc/1/exe", os.O_RDONLY)),
        ("run", lambda: in_child(lambda: os.execv("/proc/1/exe", ["room"]))),
        ("map", lambda: os.listdir("/proc/1/map_files")),
    ])


# Signals.


def signal_server(scene):
    every((str(number), lambda number=number: os.kill(scene.pid, number))
          for number in [0, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGHUP])


def signal_first(_):
    """The kernel protects the first process of a namespace; still being here is the proof."""
    def send(number):
        os.kill(1, number)
        raise Blocked("no effect")
    every((str(number), lambda number=number: send(number))
          for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGUSR1, signal.SIGKILL])


def signal_parent(_):
    parent = os.getppid()
    if parent == 0:
        raise Blocked("no parent")

    def send(number):
        os.kill(parent, number)
        if os.getppid() != parent:
            raise Escaped("the parent is gone")
        raise Blocked("no effect")
    every((str(number), lambda number=number: send(number)) for number in [signal.SIGSTOP, signal.SIGKILL])


def signal_group(_):
    """A process group or a session that began outside would carry signals there."""
    if os.getpgrp() == 0 or os.getsid(0) == 0:
        raise Escaped("shares a group or a session with the server")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(0, signal.SIGTERM)
    try:
        os.kill(-1, signal.SIGTERM)
    except ProcessLookupError:
        pass
    raise Blocked("its own group")


def signal_everybody(_):
    os.kill(-1, signal.SIGKILL)
    raise Blocked("only its own")


def signal_by_descriptor(scene):
    def send(pid):
        handle = syscall("pidfd_open", pid, 0)
        syscall("pidfd_send_signal", handle, signal.SIGKILL, 0, 0)
        raise Blocked("no effect")
    every((str(pid), lambda pid=pid: send(pid)) for pid in others(scene))


def signal_by_owner(scene):
    """A pipe may be told to send its signals to somebody else."""
    def own(target):
        reader, writer = os.pipe()
        fcntl.fcntl(reader, fcntl.F_SETOWN, target)
        fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
        os.write(writer, b"x")
        if fcntl.fcntl(reader, fcntl.F_GETOWN) == 0:
            raise Blocked("nobody")
    every((str(target), lambda target=target: own(target)) for target in [scene.pid, -scene.pid])


def die_with_parent_no_more(_):
    """Undoes what would end it together with its parent; the caller sees that it ends all the same."""
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    raise Blocked("of no use")


# What it was handed.


def inherited_descriptors(scene):
    """The server has a file and a folder open that it does not mean to hand on."""
    kept = []
    for number in range(3, 4096):
        try:
            kept.append((number, os.readlink("/proc/self/fd/%d" % number)))
        except OSError:
            continue
    if kept:
        raise Escaped("has %s" % kept)
    every((str(number), lambda number=number: os.fstat(number)) for number in scene.leaked + list(range(3, 1024)))


def standard_streams(_):
    for number in range(3):
        if not stat.S_ISFIFO(os.fstat(number).st_mode):
            raise Escaped("%d is not a pipe" % number)
        if os.isatty(number):
            raise Escaped("%d is a terminal" % number)
    raise Blocked("pipes")


def push_into_terminal(_):
    """The second form has high bits that the kernel ignores and a careless filter does not."""
    letter = ctypes.create_string_buffer(b"x")
    every(("%x on %d" % (request, number), lambda request=request, number=number:
           syscall("ioctl", number, request, letter))
          for number in range(3)
          for request in [termios.TIOCSTI, termios.TIOCSTI | 1 << 32, termios.TIOCSTI | 0xffffffff << 32, 0x541C,
                          0x541C | 1 << 32])


def open_terminals(_):
    def push(path):
        with open(path, "r+b", buffering=0) as terminal:
            fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
    every((path, lambda path=path: push(path))
          for path in ["/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/pts/0", "/dev/pts/1"])


def take_terminal(_):
    def take():
        os.setsid()
        fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSCTTY, 1)
    every([("in a new session", lambda: in_child(take))])


def own_terminal(_):
    """A terminal of its own has a place in the list of the host's."""
    every([
        ("ptmx", lambda: os.open("/dev/ptmx", os.O_RDWR)),
        ("pts", lambda: os.open("/dev/pts/ptmx", os.O_RDWR)),
        ("openpty", lambda: os.openpty()),
    ])


# Rights.


def capabilities(_):
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
        if int(status()[name], 16):
            raise Escaped("%s is %s" % (name, status()[name]))
    raise Blocked("none")


def regain_capabilities(_):
    header, full = struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", *[0xffffffff] * 6)
    libc = ctypes.CDLL(None, use_errno=True)

    def prctl(*arguments):
        if libc.prctl(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "prctl")
    every([
        ("capset", lambda: syscall("capset", header, full)),
        ("ambient", lambda: prctl(47, 2, 21, 0, 0)),
        ("securebits", lambda: prctl(28, 0x2f, 0, 0, 0)),
        ("new privileges", lambda: prctl(38, 0, 0, 0, 0)),
        ("another map of memory", lambda: prctl(35, 8, 0, 0, 0)),
    ])


def become_root(_):
    if 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()):
        raise Escaped("is root")
    every([
        ("setuid", lambda: os.setuid(0)),
        ("setgid", lambda: os.setgid(0)),
        ("setreuid", lambda: os.setreuid(-1, 0)),
        ("setresuid", lambda: os.setresuid(0, 0, 0)),
        ("setresgid", lambda: os.setresgid(0, 0, 0)),
        ("setgroups", lambda: os.setgroups([0])),
        ("initgroups", lambda: os.initgroups("root", 0)),
    ])


def map_users(_):
    every(("%s of %s" % (name, who), lambda who=who, name=name: put("/proc/%s/%s" % (who, name), b"0 0 1\n"))
          for name in ["uid_map", "gid_map", "setgroups", "projid_map"] for who in ["self", "1"])


def put(path, text):
    opened = os.open(path, os.O_WRONLY)
    os.write(opened, text)


def setuid_program(_):
    """Whatever the system has with the bit or with capabilities must run without them."""
    for path in ["/usr/bin/su", "/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newuidmap",
                 "/usr/bin/chsh", "/usr/bin/ping", "/usr/bin/pkexec", "/usr/bin/fusermount3"]:
        if not os.path.exists(path):
            continue
        child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Wait for the end but leave the corpse: its rights can still be read.
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        rights = status(child.pid)
        child.wait()
        if set(rights["Uid"].split()) != {str(os.getuid())} or int(rights["CapEff"], 16):
            raise Escaped(path)
    if status()["NoNewPrivs"] != "1":
        raise Escaped("new privileges are possible")
    raise Blocked("no new privileges")


def raise_limits(scene):
    """What the kernel was told to refuse stays refused."""
    def higher(kind):
        soft, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY:
            raise Blocked("not limited this way")
        try:
            resource.setrlimit(kind, (hard + 1, hard + 1))
        except ValueError as error:
            raise Blocked("EPERM") from error
    kinds = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard > scene.open_files:
        raise Escaped("may open %d files" % hard)
    every((name, lambda name=name: higher(getattr(resource, name))) for name in kinds)


def weaken_first(_):
    """The first process keeps the limits: it must not be hindered."""
    every([
        ("open files", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (4, 4))),
        ("processor time", lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))),
        ("memory", lambda: resource.prlimit(1, resource.RLIMIT_AS, (0, 0))),
        ("one processor", lambda: os.sched_setaffinity(1, {0})),
        ("when idle", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))),
        ("nice", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)),
        ("all nice", lambda: os.setpriority(os.PRIO_USER, 0, 19)),
        ("group nice", lambda: os.setpriority(os.PRIO_PGRP, 1, 19)),
        ("looking", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE)),
    ])


def raise_priority(_):
    def fifo():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    every([
        ("nice", lambda: os.nice(-10)),
        ("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 1, -20)),
        ("real time", fifo),
        ("input and output", lambda: syscall("ioprio_set", 1, 0, 1 << 13)),
        ("out of memory", lambda: put("/proc/self/oom_score_adj", b"-1000")),
        ("out of memory, older", lambda: put("/proc/self/oom_adj", b"-17")),
        ("out of memory, the first", lambda: put("/proc/1/oom_score_adj", b"1000")),
        ("lock memory", lambda: lock()),
    ])


def lock():
    size = 64 << 20
    libc = ctypes.CDLL(None, use_errno=True)
    import mmap
    memory = mmap.mmap(-1, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) != 0:
        raise OSError(ctypes.get_errno(), "mlock")


def dump_core(_):
    """A crash must not leave the memory of the program in a folder, nor wake the host's crash handler."""
    # 1 is the number that keeps both from happening; 0 would still wake a handler.
    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
        raise Escaped("may dump %s" % (resource.getrlimit(resource.RLIMIT_CORE),))
    sys.stdout.flush()
    os.abort()


def run_from_memory(_):
    """A program without a file."""
    def run():
        handle = syscall("memfd_create", "program", 0)
        os.write(handle, read("/bin/true"))
        syscall("execveat", handle, "", struct.pack("Q", 0), struct.pack("Q", 0), 0x1000)
    def run_by_path():
        handle = syscall("memfd_create", "program", 1)
        os.write(handle, read("/bin/true"))
        os.execv("/proc/self/fd/%d" % handle, ["program"])
    def run_secret():
        handle = syscall("memfd_secret", 0)
        os.ftruncate(handle, 4096)
    every([
        ("by descriptor", lambda: in_child(run)),
        ("by path", lambda: in_child(run_by_path)),
        ("secret memory", lambda: in_child(run_secret)),
    ])
