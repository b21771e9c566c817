"""Calls to the kernel that no program needs which is to stay in."""

import ctypes
import mmap
import os
import struct
import time

from attempt import INTEL, Blocked, Escaped, Skipped, code, every, in_child, raw, syscall

FLAGS = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000,
         "uts": 0x4000000, "cgroup": 0x2000000, "time": 0x80}


# Mounts and roots.


def mount(scene):
    calls = [
        ("tmpfs", "mount", "none", "/tmp", "tmpfs", 0, 0),
        ("proc", "mount", "proc", "/tmp", "proc", 0, 0),
        ("bind", "mount", "/", "/tmp", 0, 0x1000, 0),
        ("remount", "mount", 0, scene.plugin, 0, 0x20 | 0x1000, 0),
        ("remount the root", "mount", 0, "/", 0, 0x20 | 0x1000, 0),
        ("shared", "mount", 0, "/", 0, 0x100000 | 0x4000, 0),
        ("umount", "umount2", scene.plugin, 0),
        ("detach", "umount2", scene.plugin, 2),
        ("detach /proc", "umount2", "/proc", 2),
        ("detach /tmp", "umount2", "/tmp", 2),
        ("detach the root", "umount2", "/", 2),
    ]
    every((call[0], lambda call=call: syscall(*call[1:])) for call in calls)


def mount_anew(scene):
    attributes = struct.pack("QQQQ", 0, 1, 0, 0)
    calls = [
        ("open_tree", -100, "/", 1),
        ("open_tree", -100, scene.plugin, 1 | 0x8000),
        ("open_tree", -100, "/", 0),
        ("move_mount", -100, "/tmp", -100, "/usr", 0),
        ("fsopen", "tmpfs", 0),
        ("fsopen", "proc", 0),
        ("fspick", -100, "/", 0),
        ("fsconfig", 0, 6, 0, 0, 0),
        ("fsmount", 0, 0, 0),
        ("mount_setattr", -100, scene.plugin, 0, attributes, len(attributes)),
        ("open_tree_attr", -100, "/", 1, attributes, len(attributes)),
    ]
    every((call[0], lambda call=call: syscall(*call)) for call in calls)


def change_root(scene):
    """The classic: a root below where one stands, and then up."""
    def classic():
        os.mkdir("/tmp/jail")
        outside = os.open("/", os.O_RDONLY)
        os.chroot("/tmp/jail")
        os.fchdir(outside)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        os.stat(scene.home)
    every([
        ("chroot", lambda: os.chroot("/tmp")),
        ("classic", lambda: in_child(classic)),
        ("pivot_root", lambda: syscall("pivot_root", ".", ".")),
        ("pivot_root to /tmp", lambda: syscall("pivot_root", "/tmp", "/tmp")),
    ])


# Namespaces.


def unshare(_):
    every((name, lambda flag=flag: in_child(lambda: syscall("unshare", flag))) for name, flag in FLAGS.items())


def unshare_together(_):
    """With harmless flags beside, and with bits above the 32 that count."""
    user = FLAGS["user"]
    every((hex(flags), lambda flags=flags: in_child(lambda: syscall("unshare", flags)))
          for flags in [user | 0x200, user | 0x400, user | 0x40000, user | FLAGS["mount"], user | 1 << 32,
                        FLAGS["mount"] | 0x200])


def clone(_):
    def start(flags):
        child = syscall("clone", flags | 17, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    every((name, lambda flag=flag: start(flag)) for name, flag in FLAGS.items() if name != "time")


def clone_with_high_bits(_):
    def start():
        child = syscall("clone", FLAGS["user"] | 17 | 1 << 32, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    start()


def clone3(_):
    """Its flags lie in memory, where a filter cannot look."""
    def start(flags):
        arguments = struct.pack("Q" * 11, flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
        child = syscall("clone3", ctypes.create_string_buffer(arguments), len(arguments))
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    every((name, lambda flag=flag: start(flag)) for name, flag in FLAGS.items())


def enter(scene):
    def join(path, flag):
        syscall("setns", os.open(path, os.O_RDONLY), flag)

    def by_process(pid):
        syscall("setns", syscall("pidfd_open", pid, 0), FLAGS["mount"] | FLAGS["user"])
    every([("%s of %s" % (name, who), lambda name=name, flag=flag, who=who:
            join("/proc/%s/ns/%s" % (who, {"mount": "mnt"}.get(name, name)), flag))
           for name, flag in FLAGS.items() for who in ["1", "self", str(scene.pid)]]
          + [("process %d" % pid, lambda pid=pid: by_process(pid)) for pid in [1, scene.pid, os.getpid()]])


def namespace_by_ioctl(_):
    """A namespace's parent and its owner are one ioctl away."""
    import fcntl
    every(("%s %x" % (name, request), lambda name=name, request=request:
           fcntl.ioctl(os.open("/proc/self/ns/" + name, os.O_RDONLY), request))
          for name, request in [("user", 0xb701), ("user", 0xb702), ("pid", 0xb702)])


# Calls of another kind of program: a filter that looks only at numbers lets them pass.


def machine_code(code_bytes):
    memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code_bytes)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    function.memory = memory
    return function


def old_call(number, first=0, second=0, third=0):
    """`int 0x80`: a call of a 32-bit program."""
    function = machine_code(b"\x53\xb8" + struct.pack("<I", number) + b"\xbb" + struct.pack("<I", first)
                            + b"\xb9" + struct.pack("<I", second) + b"\xba" + struct.pack("<I", third)
                            + b"\xcd\x80\x5b\xc3")
    result = function()
    if -4096 < result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def calls_of_32_bits(_):
    if not INTEL:
        raise Skipped("it is about another architecture")
    numbers = {"getpid": (20,), "unshare": (310, 0x10000000), "socket": (359, 40, 1, 0), "ptrace": (26, 0, 0, 0),
               "mount": (21, 0, 0, 0), "socketcall": (102, 1, 0, 0), "keyctl": (288, 0, 0xfffffffd, 0),
               "io_uring_setup": (425, 1, 0, 0), "userfaultfd": (374, 1), "personality": (136, 0xffffffff)}
    every((name, lambda arguments=arguments: in_child(lambda: old_call(*arguments)))
          for name, arguments in numbers.items())


def calls_by_far_jump(_):
    """Switches the processor to 32 bits first (the code lies low, as it must)."""
    if not INTEL:
        raise Skipped("it is about another architecture")

    def jump():
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        address = libc.mmap(ctypes.c_void_p(0x10000000), ctypes.c_size_t(4096), 7, 0x22 | 0x40, -1, ctypes.c_long(0))
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        if address >> 32:
            raise Blocked("no low memory")
        # unshare(CLONE_NEWUSER), then exit with its answer; `ud2` if not even that is let through.
        low = b"\xb8" + struct.pack("<I", 310) + b"\xbb" + struct.pack("<I", 0x10000000) + b"\xcd\x80" \
            + b"\x89\xc3\xf7\xdb\xb8\x01\x00\x00\x00\xcd\x80\x0f\x0b"
        ctypes.memmove(address, low, len(low))
        # push 0x23; push address; retfq
        high = b"\x6a\x23\x68" + struct.pack("<I", address) + b"\x48\xcb"
        function = machine_code(high)
        function()
    in_child(jump)


def calls_of_x32(_):
    if not INTEL:
        raise Skipped("it is about another architecture")
    numbers = {"getpid": (39,), "unshare": (272, 0x10000000), "socket": (41, 40, 1, 0), "ptrace": (521, 0, 0, 0, 0),
               "mount": (165, 0, 0, 0, 0, 0), "process_vm_readv": (539, os.getpid(), 0, 0, 0, 0, 0),
               "execve": (520, 0, 0, 0), "bpf": (321, 0, 0, 0), "keyctl": (250, 0, 0xfffffffd, 0)}
    every((name, lambda arguments=arguments: in_child(
        lambda: raw(0x40000000 | arguments[0], *arguments[1:]))) for name, arguments in numbers.items())


def calls_with_high_bits(_):
    """Above the 32 bits of a number that count there may be anything."""
    every((hex(high), lambda high=high: in_child(lambda: raw(high | (272 if INTEL else 97), 0x10000000)))
          for high in [1 << 32, 1 << 63, 0xffffffff << 32])


# Doors that have often been found open.


def keys(_):
    every([
        ("keyctl", lambda: syscall("keyctl", 0, -3, 1)),
        ("session", lambda: syscall("keyctl", 1, 0)),
        ("add_key", lambda: syscall("add_key", "user", "innkeeper", b"x", 1, -3)),
        ("request_key", lambda: syscall("request_key", "user", "innkeeper", 0, 0)),
    ])


def bpf(_):
    attributes = struct.pack("IIII", 2, 4, 4, 1) + bytes(112)
    program = ctypes.create_string_buffer(b"\xb7\0\0\0\0\0\0\0\x95\0\0\0\0\0\0\0")
    licence = ctypes.create_string_buffer(b"GPL")
    load = struct.pack("IIQQ", 1, 2, ctypes.addressof(program), ctypes.addressof(licence)) + bytes(104)
    every([
        ("map", lambda: syscall("bpf", 0, attributes, len(attributes))),
        ("program", lambda: syscall("bpf", 5, load, len(load))),
    ])


def ring(_):
    """Its calls pass no filter."""
    parameters = ctypes.create_string_buffer(256)
    every([
        ("setup", lambda: syscall("io_uring_setup", 4, parameters)),
        ("enter", lambda: syscall("io_uring_enter", 0, 1, 0, 0, 0, 0)),
        ("register", lambda: syscall("io_uring_register", -1, 0, 0, 0)),
    ])


def faults(_):
    every([("any", lambda: syscall("userfaultfd", 0)), ("of its own mode", lambda: syscall("userfaultfd", 1))])


def performance(_):
    attributes = struct.pack("IIQQQQQ", 1, 120, 0, 0, 0, 0, 0x60) + bytes(72)
    every((str(pid), lambda pid=pid: syscall("perf_event_open", attributes, pid, -1, -1, 0)) for pid in [0, 1, -1])


def modules(_):
    every([
        ("init_module", lambda: syscall("init_module", 0, 0, "")),
        ("finit_module", lambda: syscall("finit_module", 0, "", 0)),
        ("delete_module", lambda: syscall("delete_module", "innkeeper", 0)),
        ("kexec_load", lambda: syscall("kexec_load", 0, 0, 0, 0)),
        ("kexec_file_load", lambda: syscall("kexec_file_load", 0, 0, 0, 0, 0)),
    ])


def machine(_):
    """What belongs to the whole machine. The wrong numbers in `reboot` are on purpose."""
    now = struct.pack("ll", int(time.time()), 0)
    every([
        ("reboot", lambda: syscall("reboot", 1, 2, 3, 0)),
        ("settimeofday", lambda: syscall("settimeofday", now, 0)),
        ("clock_settime", lambda: syscall("clock_settime", 0, now)),
        ("adjtimex", lambda: syscall("adjtimex", ctypes.create_string_buffer(struct.pack("I", 0x4000) + bytes(252)))),
        ("sethostname", lambda: syscall("sethostname", "innkeeper", 9)),
        ("setdomainname", lambda: syscall("setdomainname", "innkeeper", 9)),
        ("swapon", lambda: syscall("swapon", "/tmp/swap", 0)),
        ("swapoff", lambda: syscall("swapoff", "/tmp/swap")),
        ("acct", lambda: syscall("acct", "/tmp/acct")),
        ("syslog read", lambda: syscall("syslog", 3, ctypes.create_string_buffer(4096), 4096)),
        ("syslog clear", lambda: syscall("syslog", 5, 0, 0)),
        ("quotactl", lambda: syscall("quotactl", 0x80000100, "/dev/vda", 0, 0)),
        ("quotactl_fd", lambda: syscall("quotactl_fd", 0, 0x80000100, 0, 0)),
        ("vhangup", lambda: syscall("vhangup")),
        ("fanotify", lambda: syscall("fanotify_init", 0, 0)),
        ("lookup_dcookie", lambda: syscall("lookup_dcookie", 1, ctypes.create_string_buffer(64), 64)),
    ])


def processor(_):
    every([
        ("modify_ldt", lambda: syscall("modify_ldt", 1, struct.pack("IIII", 0, 0, 0, 0x51), 16)),
        ("iopl", lambda: syscall("iopl", 3)),
        ("ioperm", lambda: syscall("ioperm", 0x80, 1, 1)),
        ("uselib", lambda: syscall("uselib", "/bin/true")),
    ])


def personality(_):
    """No fixed addresses, no memory that may be run just because it may be read."""
    every((hex(kind), lambda kind=kind: in_child(lambda: syscall("personality", kind)))
          for kind in [0x0040000, 0x0400000, 0x0100000, 0x0008, 0x0200000])


def memory_of_others(_):
    every([
        ("process_madvise", lambda: syscall("process_madvise", -1, 0, 0, 0, 0)),
        ("process_mrelease", lambda: syscall("process_mrelease", -1, 0)),
        ("migrate_pages", lambda: syscall("migrate_pages", 1, 8, struct.pack("Q", 1), struct.pack("Q", 1))),
        ("move_pages", lambda: syscall("move_pages", 1, 0, 0, 0, 0, 2)),
    ])


def mounts_by_call(_):
    request = struct.pack("IIQQQ", 24, 0, 0xffffffffffffffff, 0, 0)
    buffer = ctypes.create_string_buffer(4096)
    every([
        ("listmount", lambda: syscall("listmount", request, buffer, 64, 0)),
        ("statmount", lambda: syscall("statmount", request, buffer, 4096, 0)),
    ])


def calls_to_come(_):
    """Numbers that no kernel has yet must not be let through to one that has."""
    every((str(number), lambda number=number: raw(number, 0, 0, 0, 0, 0, 0)) for number in range(480, 640))


# Files that are doors to the kernel.


def kernel_settings(_):
    names = ["kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "kernel/randomize_va_space", "vm/drop_caches",
             "vm/overcommit_memory", "fs/file-max", "kernel/pid_max", "kernel/sysrq", "kernel/ns_last_pid",
             "user/max_user_namespaces", "net/ipv4/ip_forward", "net/core/somaxconn", "fs/binfmt_misc/register",
             "fs/mqueue/msg_max", "kernel/shmmax", "kernel/msgmnb", "kernel/domainname"]
    every((name, lambda name=name: os.open("/proc/sys/" + name, os.O_WRONLY)) for name in names)


def kernel_files_write(_):
    names = ["sysrq-trigger", "irq/default_smp_affinity", "mtrr", "bus/pci", "scsi/scsi", "timer_list", "acpi/wakeup",
             "self/clear_refs_of_1", "1/clear_refs", "1/coredump_filter", "1/attr/current", "1/timerslack_ns",
             "1/autogroup", "1/loginuid", "1/sched", "1/comm"]
    every((name, lambda name=name: os.open("/proc/" + name, os.O_WRONLY)) for name in names)


def kernel_files_read(_):
    names = ["kcore", "kmsg", "kpagemap", "kpageflags", "kpagecount", "keys", "key-users", "slabinfo", "vmallocinfo",
             "iomem_secret", "sched_debug", "timer_list", "1/environ", "1/mem", "1/stack", "1/auxv"]
    every((name, lambda name=name: secret_text("/proc/" + name)) for name in names)


def secret_text(path):
    with open(path, "rb") as file:
        if not file.read(64).strip(b"\0"):
            raise Blocked("empty")


def kernel_addresses(_):
    try:
        with open("/proc/kallsyms") as symbols:
            for line in symbols:
                if int(line.split()[0], 16):
                    raise Escaped("sees " + line.strip())
    except OSError as error:
        raise Blocked(code(error)) from error
    raise Blocked("zero")


def control_groups(_):
    roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"]
    names = ["release_agent", "cgroup.procs", "memory.max", "memory.limit_in_bytes", "pids.max", "notify_on_release"]
    every([(root + "/" + name, lambda root=root, name=name: os.open(root + "/" + name, os.O_WRONLY))
           for root in roots for name in names]
          + [("new group in " + root, lambda root=root: os.mkdir(root + "/innkeeper-escape")) for root in roots])


def system_files(_):
    names = ["kernel/debug", "kernel/security", "kernel/uevent_helper", "firmware/efi/efivars", "power/state",
             "module", "devices/system/cpu/online", "fs/bpf", "class/net", "block"]
    every((name, lambda name=name: os.stat("/sys/" + name)) for name in names)
