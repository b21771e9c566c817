//! Which system calls the program may make. What is not on the list does not exist for it; some that are on it may
//! not be made with every argument.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{Result, other};
use crate::layers::Layer;
use crate::wire::Fault;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn describe() -> String {
    format!(
        "{} calls allowed, all others refused",
        ALLOWED.len() + ALLOWED_HERE.len()
    )
}

/// For good. A call in the tongue of another architecture ends the program.
pub(super) fn restrict(has_network: bool, memory_is_bounded: bool) -> Result<()> {
    let filters = [
        allowed().map_err(|error| other("making the seccomp filter", error))?,
        forbidden(has_network, memory_is_bounded)
            .map_err(|error| other("making the seccomp filter", error))?,
    ];
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(|error| Fault::Layer {
            layer: Layer::Seccomp,
            doing: format!("applying the filter: {error}"),
            errno: match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                    error.raw_os_error().unwrap_or_default()
                }
                _ => 0,
            },
        })?;
    }
    Ok(())
}

fn arch() -> std::result::Result<TargetArch, seccompiler::BackendError> {
    std::env::consts::ARCH.try_into()
}

fn allowed() -> std::result::Result<BpfProgram, seccompiler::BackendError> {
    let rules: Rules = ALLOWED
        .iter()
        .chain(ALLOWED_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::ENOSYS.cast_unsigned()),
        SeccompAction::Allow,
        arch()?,
    )?
    .try_into()
}

/// The second filter: arguments that are not to be had. Of two answers the kernel takes the harder one.
fn forbidden(
    has_network: bool,
    memory_is_bounded: bool,
) -> std::result::Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for call in FORBIDDEN {
        rules.insert(*call, Vec::new());
    }
    let mut forbid = |call: i64, conditions: Vec<SeccompCondition>| {
        rules
            .entry(call)
            .or_default()
            .push(SeccompRule::new(conditions)?);
        Ok::<_, seccompiler::BackendError>(())
    };

    // New namespaces by the old way of making processes; the new way (clone3) hides its flags and does not exist.
    for flag in NAMESPACE_FLAGS {
        forbid(libc::SYS_clone, vec![has_bits(0, *flag)?])?;
    }
    // Typing into a terminal, and changing what one is.
    for request in [
        libc::TIOCSTI,
        libc::TIOCLINUX,
        libc::TIOCSETD,
        libc::TIOCCONS,
    ] {
        forbid(libc::SYS_ioctl, vec![is(1, request)?])?;
    }
    // A file that gives its user the rights of its owner would still do so outside.
    for (call, mode) in MODES {
        forbid(*call, vec![has_bits(*mode, 0o4000)?])?;
        forbid(*call, vec![has_bits(*mode, 0o2000)?])?;
    }
    for call in MAKES_NODES {
        let mode = call.1;
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            forbid(
                call.0,
                vec![masked(mode, u64::from(libc::S_IFMT), u64::from(kind))?],
            )?;
        }
    }
    // Sockets: among its own processes, and to the doors if there are any.
    let families: &[i32] = match has_network {
        true => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6],
        false => &[libc::AF_UNIX],
    };
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let others = families
            .iter()
            .map(|family| is_not(0, u64::from(family.cast_unsigned())));
        forbid(call, others.collect::<std::result::Result<_, _>>()?)?;
        let raw = u64::from(libc::SOCK_RAW.cast_unsigned());
        forbid(call, vec![masked(1, 0xf, raw)?])?;
    }
    // Another personality can switch protections off; asking for the present one is harmless.
    forbid(
        libc::SYS_personality,
        vec![is_not(0, 0)?, is_not(0, 0xffff_ffff)?],
    )?;
    if !memory_is_bounded {
        // Memory that belongs to nobody in particular could not be seen by whoever counts.
        let both = u64::from((libc::MAP_SHARED | libc::MAP_ANONYMOUS).cast_unsigned());
        forbid(libc::SYS_mmap, vec![masked(3, both, both)?])?;
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        arch()?,
    )?
    .try_into()
}

type Condition = std::result::Result<SeccompCondition, seccompiler::BackendError>;

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    // The kernel, too, looks only at the lower half of these arguments.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn is(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn has_bits(argument: u8, bits: u64) -> Condition {
    masked(argument, bits, bits)
}

const NAMESPACE_FLAGS: &[u64] = &[
    libc::CLONE_NEWUSER.cast_unsigned() as u64,
    libc::CLONE_NEWNS.cast_unsigned() as u64,
    libc::CLONE_NEWPID.cast_unsigned() as u64,
    libc::CLONE_NEWNET.cast_unsigned() as u64,
    libc::CLONE_NEWIPC.cast_unsigned() as u64,
    libc::CLONE_NEWUTS.cast_unsigned() as u64,
    libc::CLONE_NEWCGROUP.cast_unsigned() as u64,
];

/// Calls that set a file's mode, and which argument it is.
const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

const MAKES_NODES: &[(i64, u8)] = &[
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Told plainly that they are forbidden, where others are told that there is no such call: nobody asks for these by
/// accident.
const FORBIDDEN: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_bpf,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

include!("seccomp_calls.rs");
