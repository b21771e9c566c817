//! System calls that no library offers in a safe form. All `unsafe` of the project is here.
#![allow(
    unsafe_code,
    reason = "the kernel is called directly; each call says why it is sound"
)]

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

type Result<T> = std::result::Result<T, Errno>;

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn check(result: libc::c_long) -> Result<libc::c_long> {
    match result {
        -1 => Err(last()),
        value => Ok(value),
    }
}

/// Which of two processes this is.
pub(super) enum Fork {
    Child,
    Parent(Pid),
}

/// Wider than the constants of libc.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A copy of this process, in new namespaces if `flags` names any, and in another cgroup if one is given.
pub(super) fn fork(flags: i32, cgroup: Option<BorrowedFd<'_>>) -> Result<Fork> {
    #[repr(C)]
    #[derive(Default)]
    struct CloneArgs {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let into = match cgroup {
        Some(_) => CLONE_INTO_CGROUP,
        None => 0,
    };
    let arguments = CloneArgs {
        flags: u64::from(flags.cast_unsigned()) | into,
        cgroup: cgroup.map_or(0, |fd| u64::from(fd.as_raw_fd().cast_unsigned())),
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        ..CloneArgs::default()
    };
    // SAFETY: the launcher has one thread, so that no lock can be held by a thread that the copy lacks; without
    // CLONE_VM and with no stack given it goes on from here with memory of its own, like fork. The structure is
    // the third version of clone_args (Linux 5.7), and the kernel only reads it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<CloneArgs>(),
        )
    };
    let pid = i32::try_from(check(result)?).unwrap_or_default();
    Ok(Pid::from_raw(pid).map_or(Fork::Child, Fork::Parent))
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) read_only: bool,
    pub(super) no_suid: bool,
    pub(super) no_dev: bool,
    pub(super) no_exec: bool,
    pub(super) recursive: bool,
}

/// Changes what may be done through a mount, and whose its files appear to be.
pub(super) fn mount_setattr(
    mount: BorrowedFd<'_>,
    attributes: Attributes,
    owners: Option<BorrowedFd<'_>>,
) -> Result<()> {
    let mut set = 0;
    for (wanted, bit) in [
        (attributes.read_only, libc::MOUNT_ATTR_RDONLY),
        (attributes.no_suid, libc::MOUNT_ATTR_NOSUID),
        (attributes.no_dev, libc::MOUNT_ATTR_NODEV),
        (attributes.no_exec, libc::MOUNT_ATTR_NOEXEC),
        (owners.is_some(), libc::MOUNT_ATTR_IDMAP),
    ] {
        if wanted {
            set |= bit;
        }
    }
    let attr = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: owners.map_or(0, |fd| u64::from(fd.as_raw_fd().cast_unsigned())),
    };
    let recursive = match attributes.recursive {
        true => libc::AT_RECURSIVE,
        false => 0,
    };
    // SAFETY: the path is an empty string, the structure has the size that is given, and the kernel only reads both.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    })?;
    Ok(())
}

/// Closes everything from `first` on, whoever opened it.
pub(super) fn close_from(first: RawFd) -> Result<()> {
    // SAFETY: called before this process has opened anything itself, so that nobody holds what is closed.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })?;
    Ok(())
}

/// The descriptor with which the launcher was started.
pub(super) fn take_fd(number: RawFd) -> OwnedFd {
    // SAFETY: called once for each, at the start, by the only code that uses them.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Lets `source` be known as `number`, which is kept over an exec.
pub(super) fn install_fd(source: BorrowedFd<'_>, number: RawFd) -> Result<()> {
    // SAFETY: replaces a standard descriptor just before the exec; nothing in this process owns it.
    check(libc::c_long::from(unsafe {
        libc::dup2(source.as_raw_fd(), number)
    }))?;
    Ok(())
}

/// Becomes another program. Returns only if that failed.
pub(super) fn exec(program: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        let pointers = texts.iter().map(|text| text.as_ptr());
        pointers.chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer and point to strings that live until the call returns, if it does.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last()
}

/// Signals do again what they do by default; our runtime and whoever started us have changed that.
pub(super) fn forget_signals() {
    // The kernel's own form: the C library keeps two signals to itself. All zeros: the default, no flags, no mask.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: the structure is larger than what the kernel reads, and the size of the mask is what it expects.
        // That some cannot be changed does not matter.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                8,
            )
        };
    }
    // SAFETY: an empty set is made where it lives, and only read then.
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Kills every process that this one may, but not itself. Only for the first process of a PID namespace.
pub(super) fn kill_all() {
    // SAFETY: takes no pointers. Called by process 1 only: in its namespace "all" is the program and what it started.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Lets all of them stand still, and waits a moment until they do.
pub(super) fn stop_all() {
    // SAFETY: as above.
    unsafe { libc::kill(-1, libc::SIGSTOP) };
    std::thread::sleep(Duration::from_millis(2));
}

pub(super) fn continue_all() {
    // SAFETY: as above.
    unsafe { libc::kill(-1, libc::SIGCONT) };
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Status {
    Exit(i32),
    Signal(i32),
}

/// A child that has ended, if there is one; waits for one if `wait`. `Err(CHILD)`: there are none left.
pub(super) fn reap(wait: bool) -> Result<Option<(Pid, Status)>> {
    let mut status = 0;
    let options = if wait { 0 } else { libc::WNOHANG } | libc::__WALL;
    // SAFETY: the kernel writes to `status`, which lives here.
    let pid = check(libc::c_long::from(unsafe {
        libc::waitpid(-1, &raw mut status, options)
    }))?;
    let pid = Pid::from_raw(i32::try_from(pid).unwrap_or_default());
    let end = match libc::WIFSIGNALED(status) {
        true => Status::Signal(libc::WTERMSIG(status)),
        false => Status::Exit(libc::WEXITSTATUS(status)),
    };
    Ok(pid.map(|pid| (pid, end)))
}

/// Processor time of all children that were waited for, with theirs, and the most memory one of them had.
pub(super) fn children_usage() -> (Duration, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, for which zeros are valid as well.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    (
        time(usage.ru_utime) + time(usage.ru_stime),
        usage.ru_maxrss.unsigned_abs() * 1024,
    )
}

/// Switches the loopback device of this network namespace on.
pub(super) fn loopback_up(socket: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: zeros are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0x41);
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which this is.
    check(libc::c_long::from(unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    }))?;
    Ok(())
}

/// From now on every call goes through the filter. Needs that no new privileges can be had.
pub(super) fn seccomp(filter: &[libc::sock_filter]) -> Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program points to as many instructions as it says, and the kernel only reads them.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    })?;
    Ok(())
}

/// Lower priority than the server's.
pub(super) fn be_nice(by: i32) {
    // SAFETY: takes no pointers. That it may fail does not matter.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, by) };
}
