"""Taking more than one's share. Nothing here ends by itself: whoever comes to the end has escaped the limit."""

import ctypes
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from attempt import Blocked, Escaped, every, syscall

PAGE = mmap.PAGESIZE
MIB = 1 << 20
SHARED = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def stay():
    """Keeps what it has until it is stopped."""
    signal.pause()


def touch(memory, size):
    for place in range(0, size, PAGE):
        memory[place] = 1


def hold(scene, take):
    """Takes pieces of 4 MiB until it has eight times what is allowed, refusals or not."""
    kept, refusals = [], 0
    while len(kept) * 4 * MIB < 8 * scene.memory:
        try:
            kept.append(take(len(kept)))
        except (OSError, MemoryError):
            refusals += 1
            if refusals > 50:
                raise
    raise Escaped("has %d MiB" % (len(kept) * 4))


# Memory.


def memory_private(scene):
    hold(scene, lambda _: bytearray(os.urandom(PAGE)) * (4 * MIB // PAGE))


def memory_shared(scene):
    def take(_):
        memory = mmap.mmap(-1, 4 * MIB, SHARED)
        touch(memory, 4 * MIB)
        return memory
    hold(scene, take)


def memory_shared_let_go(scene):
    """Pages that no process has in its tables, yet nobody gets back."""
    def take(_):
        memory = mmap.mmap(-1, 4 * MIB, SHARED)
        touch(memory, 4 * MIB)
        memory.madvise(mmap.MADV_DONTNEED)
        return memory
    hold(scene, take)


def memory_of_dev_zero(scene):
    """The same by an older name."""
    zero = os.open("/dev/zero", os.O_RDWR)

    def take(_):
        memory = mmap.mmap(zero, 4 * MIB, mmap.MAP_SHARED)
        touch(memory, 4 * MIB)
        memory.madvise(mmap.MADV_DONTNEED)
        return memory
    hold(scene, take)


def memory_of_many(scene):
    """Each stays far below the limit."""
    piece = scene.memory // 4
    for _ in range(12):
        if os.fork() == 0:
            kept = bytearray(os.urandom(PAGE)) * (piece // PAGE)
            stay()
            del kept
    stay()


def memory_of_threads(scene):
    hold(scene, lambda number: memory_of_thread(number))


def memory_of_thread(_):
    kept = []
    thread = threading.Thread(target=lambda: kept.append(bytearray(b"x") * (4 * MIB)))
    thread.start()
    thread.join()
    return kept[0]


def memory_in_tmp(scene):
    """A file in memory is memory."""
    def take(number):
        with open("/tmp/file-%d" % number, "wb") as file:
            file.write(b"x" * (4 * MIB))
    hold(scene, take)


def memory_in_shm(scene):
    def take(number):
        with open("/dev/shm/file-%d" % number, "wb") as file:
            file.write(b"x" * (4 * MIB))
    hold(scene, take)


def memory_without_name(scene):
    """Files that are open but have no name left."""
    def take(number):
        path = "/tmp/file-%d" % number
        opened = os.open(path, os.O_CREAT | os.O_RDWR)
        os.unlink(path)
        os.write(opened, b"x" * (4 * MIB))
        return opened
    hold(scene, take)


def memory_in_memfd(scene):
    def take(_):
        opened = syscall("memfd_create", "x", 0)
        os.write(opened, b"x" * (4 * MIB))
        return opened
    hold(scene, take)


def memory_in_system_v(scene):
    """A shared segment that stays when nobody is attached to it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p

    def take(_):
        segment = libc.shmget(0, ctypes.c_size_t(4 * MIB), 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        address = libc.shmat(segment, None, 0)
        ctypes.memset(address, 1, 4 * MIB)
        libc.shmdt(ctypes.c_void_p(address))
        return segment
    hold(scene, take)


def memory_in_messages(scene):
    """Messages lie in the kernel."""
    libc = ctypes.CDLL(None, use_errno=True)
    message = ctypes.create_string_buffer(8 + 8000)
    message[0] = 1

    def take(_):
        for _ in range(256):
            queue = libc.msgget(0, 0o1600)
            if queue < 0:
                raise OSError(ctypes.get_errno(), "msgget")
            for _ in range(2):
                if libc.msgsnd(queue, message, ctypes.c_size_t(8000), 0o4000) < 0:
                    raise OSError(ctypes.get_errno(), "msgsnd")
    hold(scene, take)


def memory_of_page_tables(scene):
    """Reads one byte every 2 MiB: no page is its own, but the tables that say so are."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    step, most = 2 * MIB, 16 * scene.memory // PAGE
    size = 1 << 36
    taken = 0
    while taken < most:
        address = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 15)
        for place in range(address, address + size, step):
            ctypes.c_char.from_address(place).value
        taken += size // step
    raise Escaped("has %d MiB of tables" % (taken * PAGE // MIB))


def memory_in_attributes(scene):
    """Attributes of files in memory."""
    def take(number):
        path = "/tmp/file-%d" % number
        open(path, "w").close()
        for name in range(64):
            os.setxattr(path, "user.%d" % name, b"x" * 65536)
    hold(scene, take)


def memory_in_sockets(scene):
    """What waits in sockets unread is in no process's memory."""
    pairs = []

    def fill():
        for _ in range(100):
            pair = socket.socketpair()
            pairs.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    while True:
                        end.send(b"x" * 65536)
                except BlockingIOError:
                    pass
        stay()
    for _ in range(8):
        if os.fork() == 0:
            fill()
    stay()


def memory_in_datagrams(scene):
    """Many datagrams, each sent by a socket of its own, wait at few."""
    receivers = []
    for number in range(24):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind("/tmp/receiver-%d" % number)
        receivers.append(receiver)
        for _ in range(11):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                try:
                    sender.sendto(b"x" * 200000, "/tmp/receiver-%d" % number)
                except BlockingIOError:
                    break
    stay()


def memory_under_an_odd_name(scene):
    """A name that is no text must not spoil the count."""
    libc = ctypes.CDLL(None)
    libc.prctl(15, b"\xff\xfe", 0, 0, 0)
    odd = socket.socket(socket.AF_UNIX)
    odd.bind(b"\0\xff\xfe")
    memory_in_sockets(scene)


def larger_buffers(_):
    """More than anybody counts."""
    pair = socket.socketpair()
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MIB)


def memory_behind_a_dead_leader(scene):
    """The first thread leaves; `/proc` shows nothing of the process any more."""
    def take():
        kept = []
        while len(kept) * 4 * MIB < 8 * scene.memory:
            kept.append(bytearray(os.urandom(PAGE)) * (4 * MIB // PAGE))
        stay()
    threading.Thread(target=take, daemon=True).start()
    syscall("exit", 0)


# Processes.


def fork_bomb(_):
    """Everybody forks, without end."""
    while True:
        try:
            os.fork()
        except OSError:
            pass


def fork_in_sessions(_):
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass


def thread_bomb(scene):
    started = 0
    while started < scene.processes * 4:
        try:
            threading.Thread(target=stay_in_thread, daemon=True).start()
            started += 1
        except RuntimeError:
            stay()
    raise Escaped("has %d threads" % started)


def stay_in_thread():
    threading.Event().wait()


def spawn_storm(_):
    """One child after the other: never many, always new ones."""
    while True:
        subprocess.run(["/bin/true"], check=False)


# Processor time.


def spin(_):
    while True:
        pass


def spin_in_many(_):
    for _ in range(6):
        if os.fork() == 0:
            spin(None)
    stay()


def spin_in_threads(_):
    import hashlib
    data = b"x" * MIB
    for _ in range(4):
        threading.Thread(target=lambda: [hashlib.sha256(data) for _ in iter(int, 1)], daemon=True).start()
    stay()


def spin_in_short_lives(_):
    """No process lives long enough to be seen often."""
    while True:
        child = os.fork()
        if child == 0:
            sum(range(200000))
            os._exit(0)
        os.waitpid(child, 0)


def spin_in_orphans(_):
    """Children that nobody waits for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            if os.fork() == 0:
                sum(range(200000))
                os._exit(0)
        except OSError:
            pass


def spin_in_forgotten_children(_):
    """One at a time, and nobody is told what it took."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        child = os.fork()
        if child == 0:
            sum(range(200000))
            os._exit(0)
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass


def spin_in_long_forgotten(_):
    """Each lives long enough to be seen, and is in nobody's account when it is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        child = os.fork()
        if child == 0:
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass
            os._exit(0)
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass


def spin_in_a_chain(_):
    """Every process starts the next and is gone."""
    if os.fork():
        stay()
    while True:
        sum(range(200000))
        if os.fork():
            os._exit(0)


def spin_and_stop(_):
    """Each stops before its own share is used up and lets the next one go on."""
    while True:
        child = os.fork()
        if child == 0:
            sum(range(3000000))
            os.kill(os.getpid(), signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)


def spin_deaf(_):
    """Listens to no signal that can be ignored."""
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    spin(None)


# Time.


def sleep(_):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    while True:
        stay()


def stop_itself(_):
    os.kill(os.getpid(), signal.SIGSTOP)


def stop_everybody(_):
    if os.fork() == 0:
        stay()
    os.kill(-1, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)


def sleep_without_streams(_):
    os.closerange(0, 64)
    while True:
        stay()


def wait_for_input(_):
    """Its own end of the pipe that it reads from."""
    os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK)
    sys.stdin.read()
    stay()


# Files.


def disk(scene, place, piece=MIB):
    block = b"x" * piece
    written = 0
    number = 0
    while written < 8 * scene.disk:
        number += 1
        with open("%s/file-%d" % (place, number), "wb") as file:
            file.write(block)
        written += piece
    raise Escaped("wrote %d MiB" % (written // MIB))


def disk_in_tmp(scene):
    disk(scene, "/tmp")


def disk_in_shm(scene):
    disk(scene, "/dev/shm")


def disk_in_data(scene):
    """Stays for a while, so that a look that comes now and then comes."""
    try:
        disk(scene, scene.data)
    except Escaped:
        stay()


def disk_in_data_at_once(scene):
    """Over before anybody has looked."""
    for number in range(3):
        with open("%s/file-%d" % (scene.data, number), "wb") as file:
            file.write(b"x" * (scene.disk // 2))
    raise Blocked("seen too late")


def disk_without_names(scene):
    """Files in the data folder that nobody finds."""
    kept = []
    for number in range(24):
        path = "%s/file-%d" % (scene.data, number)
        opened = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.unlink(path)
        os.write(opened, b"x" * (scene.disk // 4))
        kept.append(opened)
    stay()


def disk_never_named(scene):
    kept = []
    for _ in range(24):
        opened = os.open(scene.data, os.O_TMPFILE | os.O_RDWR, 0o600)
        os.write(opened, b"x" * (scene.disk // 4))
        kept.append(opened)
    stay()


def disk_only_mapped(scene):
    """Neither a name nor a descriptor, but a page of it in use."""
    kept = []
    for number in range(24):
        path = "%s/file-%d" % (scene.data, number)
        opened = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.write(opened, b"x" * (scene.disk // 4))
        kept.append(mmap.mmap(opened, PAGE))
        os.unlink(path)
        os.close(opened)
    stay()


def disk_on_the_way(scene):
    """Sent to somebody who does not take it."""
    pair = socket.socketpair()
    for number in range(24):
        path = "%s/file-%d" % (scene.data, number)
        opened = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.write(opened, b"x" * (scene.disk // 4))
        socket.send_fds(pair[0], [b"x"], [opened])
        os.unlink(path)
        os.close(opened)
    stay()


def disk_in_a_hidden_socket(scene):
    """Sent through a socket that is on its way itself."""
    near, far = socket.socketpair()
    carrier, other = socket.socketpair()
    socket.send_fds(carrier, [b"x"], [far.fileno()])
    far.close()
    for number in range(24):
        path = "%s/file-%d" % (scene.data, number)
        opened = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        os.write(opened, b"x" * (scene.disk // 4))
        socket.send_fds(near, [b"x"], [opened])
        os.unlink(path)
        os.close(opened)
    stay()


def disk_that_moves(scene):
    """Always where the measure has been already."""
    front, back = scene.data + "/a", scene.data + "/z"
    os.mkdir(front)
    os.mkdir(back)
    for number in range(3000):
        os.mkdir("%s/empty-%04d" % (scene.data, number))
    piece = b"x" * (scene.disk // 8)
    for number in range(32):
        with open("%s/file-%d" % (front, number), "wb") as file:
            file.write(piece)
    here, there = front, back
    while True:
        for number in range(32):
            os.rename("%s/file-%d" % (here, number), "%s/file-%d" % (there, number))
        here, there = there, here


def disk_behind_a_closed_door(scene):
    """A folder that even its owner must open first."""
    folder = scene.data + "/closed"
    os.mkdir(folder)
    os.chdir(folder)
    os.chmod(folder, 0)
    inside = os.open(".", os.O_PATH)
    os.chmod(folder, 0o300)
    for number in range(24):
        opened = os.open("file-%d" % number, os.O_CREAT | os.O_WRONLY, 0o200, dir_fd=inside)
        os.write(opened, b"x" * (scene.disk // 4))
        os.close(opened)
    os.chmod(folder, 0)
    stay()


def disk_by_links(scene):
    """One file under many names is one file; not an escape, and not over the limit."""
    with open(scene.data + "/file", "wb") as file:
        file.write(b"x" * (scene.disk // 4))
    for number in range(100):
        os.link(scene.data + "/file", scene.data + "/link-%d" % number)
    os.symlink("/", scene.data + "/everything")
    os.symlink(scene.data, scene.data + "/itself")
    os.mkfifo(scene.data + "/pipe")
    raise Blocked("one file")


def tiny_files_in_tmp(_):
    tiny_files("/tmp", 50000)


def tiny_files_in_data(scene):
    tiny_files(scene.data, 21000)
    raise Blocked("seen too late")


def tiny_files(place, many):
    for number in range(many):
        os.close(os.open("%s/%d" % (place, number), os.O_CREAT | os.O_WRONLY, 0o600))


def holes(scene):
    """A file that is large only in name, too."""
    with open(scene.data + "/holes", "wb") as file:
        file.truncate(1 << 40)


def holes_by_seek(scene):
    with open("/tmp/holes", "wb") as file:
        file.seek(1 << 40)
        file.write(b"x")


def reserve(scene):
    """A disk can be given away in no time, without a byte being written; past the end of a file it does not even
    count for its size."""
    with open(scene.data + "/reserved", "wb") as file:
        every([
            ("up to its end", lambda: syscall("fallocate", file.fileno(), 0, 0, 1 << 20)),
            ("past its end", lambda: syscall("fallocate", file.fileno(), 1, 0, 1 << 34)),
        ] + [(hex(request), lambda request=request: reserve_by_ioctl(file, request))
             for request in [0x40305828, 0x4030582a, 0x40305839]])


def reserve_by_ioctl(file, request):
    import fcntl
    fcntl.ioctl(file, request, struct.pack("hhqqiI", 0, 0, 0, 1 << 34, 0, 0) + bytes(16))


def deep_folder(scene):
    deep(scene.data, 5000)


def deep_folder_in_tmp(_):
    """Nobody has to remove it but the kernel."""
    deep("/tmp", 3000)
    raise Blocked("vanishes")


def deep(place, levels):
    os.chdir(place)
    for _ in range(levels):
        os.mkdir("d")
        os.chdir("d")


def output(stream):
    block = b"x" * 65536
    while True:
        os.write(stream, block)


def output_to_stdout(_):
    output(1)


def output_to_stderr(_):
    output(2)


def output_by_many(_):
    for _ in range(8):
        if os.fork() == 0:
            output(1)
    output(2)


def output_by_reopening(_):
    output(os.open("/proc/self/fd/1", os.O_WRONLY))


# What is shared with everybody of the same user outside.


def watches(_):
    """The host lets a user have 128 watchers, this program's counted in: some must be left."""
    kept = [syscall("inotify_init1", 0) for _ in range(100)]
    raise Escaped("has %d watchers" % len(kept))
