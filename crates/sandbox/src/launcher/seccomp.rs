//! Which system calls the program may make. What is not on the list does not exist for it; some that are on it may
//! not be made with every argument.

use libc::sock_filter;

use super::bpf::{Condition, Verdict, compile};
use super::{Doing, Result, sys};
use crate::layers::Layer;

pub(super) fn describe() -> String {
    let allowed = ALLOWED.len() + ALLOWED_HERE.len();
    format!("{allowed} calls allowed, all others refused")
}

/// For good. A call in the tongue of another architecture ends the program.
pub(super) fn restrict(filter: &[sock_filter]) -> Result<()> {
    sys::seccomp(filter).doing(Layer::Seccomp, "applying the filter")
}

pub(super) fn filter(has_network: bool, memory_is_bounded: bool) -> Vec<sock_filter> {
    let mut calls: Vec<(i64, Verdict)> = Vec::new();
    for call in ALLOWED.iter().chain(ALLOWED_HERE) {
        let cases = cases(*call, has_network, memory_is_bounded);
        let verdict = match cases.is_empty() {
            true => Verdict::Allow,
            false => Verdict::Unless {
                cases,
                errno: libc::EPERM,
            },
        };
        calls.push((*call, verdict));
    }
    for call in FORBIDDEN {
        calls.push((*call, Verdict::Refuse(libc::EPERM)));
    }
    // It takes any amount of a real disk in no time, before anybody has looked. This answer makes the C library write
    // the zeros instead.
    let unsupported = Verdict::Refuse(libc::EOPNOTSUPP);
    calls.push((libc::SYS_fallocate, unsupported));
    compile(&calls, &Verdict::Refuse(libc::ENOSYS))
}

/// The ways in which an allowed call may not be made.
fn cases(call: i64, has_network: bool, memory_is_bounded: bool) -> Vec<Vec<Condition>> {
    let mut cases = Vec::new();
    // A file that gives its user the rights of its owner would still do so outside.
    if let Some((_, mode, flags)) = MODES.iter().find(|(other, ..)| *other == call) {
        let mut case = vec![Condition::HasAny {
            argument: *mode,
            bits: 0o6000,
        }];
        // Where nothing is made the mode is not looked at, and may be anything.
        case.extend(flags.map(|argument| Condition::HasAny {
            argument,
            bits: MAKES_A_FILE,
        }));
        cases.push(case);
    }
    if let Some((_, argument)) = MAKES_NODES.iter().find(|(other, _)| *other == call) {
        cases.extend([libc::S_IFCHR, libc::S_IFBLK].map(|value| {
            vec![Condition::Masked {
                argument: *argument,
                mask: libc::S_IFMT,
                value,
            }]
        }));
    }
    match call {
        // New namespaces by the old way of making processes; the new way (clone3) hides its flags and does not exist.
        libc::SYS_clone => cases.push(vec![Condition::HasAny {
            argument: 0,
            bits: NAMESPACE_FLAGS,
        }]),
        // Only what is known to be harmless: file systems have many of their own, some of which go far.
        libc::SYS_ioctl => cases.push(
            IOCTLS
                .iter()
                .map(|request| Condition::IsNot {
                    argument: 1,
                    value: *request,
                })
                .collect(),
        ),
        // Sockets: among its own processes, and to the doors if there are any.
        libc::SYS_socket | libc::SYS_socketpair => {
            let families: &[i32] = match has_network {
                true => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6],
                false => &[libc::AF_UNIX],
            };
            let others = families.iter().map(|family| Condition::IsNot {
                argument: 0,
                value: family.cast_unsigned(),
            });
            cases.push(others.collect());
            cases.push(vec![Condition::Masked {
                argument: 1,
                mask: 0xf,
                value: libc::SOCK_RAW.cast_unsigned(),
            }]);
            // Of the internet's protocols TCP and UDP; nobody counts the others.
            let known =
                [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(|protocol| Condition::IsNot {
                    argument: 2,
                    value: protocol.cast_unsigned(),
                });
            cases.push(known.to_vec());
        }
        // Another personality can switch protections off; asking for the present one is harmless.
        libc::SYS_personality => cases.push(
            [0, u32::MAX]
                .map(|value| Condition::IsNot { argument: 0, value })
                .to_vec(),
        ),
        // The first process keeps the limits, and is of the same user: nobody else may hold it up.
        libc::SYS_prlimit64 | libc::SYS_sched_setaffinity | libc::SYS_sched_setscheduler => {
            cases.push(vec![is(0, 1)]);
        }
        // Anything but PRIO_PROCESS could mean it, too.
        libc::SYS_setpriority => cases.extend([
            vec![is(1, 1)],
            vec![Condition::IsNot {
                argument: 0,
                value: 0,
            }],
        ]),
        // Memory that belongs to nobody in particular could not be seen by whoever counts.
        libc::SYS_mmap if !memory_is_bounded => cases.extend([
            vec![Condition::HasAll {
                argument: 3,
                bits: (libc::MAP_SHARED | libc::MAP_ANONYMOUS).cast_unsigned(),
            }],
            vec![Condition::HasAny {
                argument: 3,
                bits: libc::MAP_HUGETLB.cast_unsigned(),
            }],
        ]),
        // Whoever counts takes buffers for as large as they are by default.
        libc::SYS_setsockopt if !memory_is_bounded => {
            let sizes = [
                libc::SO_SNDBUF,
                libc::SO_RCVBUF,
                libc::SO_SNDBUFFORCE,
                libc::SO_RCVBUFFORCE,
            ];
            cases.extend(sizes.map(|option| {
                vec![
                    is(1, libc::SOL_SOCKET.cast_unsigned()),
                    is(2, option.cast_unsigned()),
                ]
            }));
        }
        _ => {}
    }
    cases
}

const fn is(argument: u8, value: u32) -> Condition {
    Condition::Masked {
        argument,
        mask: u32::MAX,
        value,
    }
}

const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();
/// `O_CREAT`, and the bit of `O_TMPFILE` that is not `O_DIRECTORY`.
const MAKES_A_FILE: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();

/// The same everywhere, but not known to libc everywhere.
const SYS_FCHMODAT2: i64 = 452;

/// Calls that set a file's mode, which argument it is, and which says whether one is made.
const MODES: &[(i64, u8, Option<u8>)] = &[
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (SYS_FCHMODAT2, 2, None),
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mkdirat, 2, None),
    (libc::SYS_mknodat, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
];

/// About descriptors, terminals that are not there, sockets, and copies that share their blocks.
const IOCTLS: &[u32] = &[
    0x5401,      // TCGETS
    0x540f,      // TIOCGPGRP
    0x5411,      // TIOCOUTQ
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x5452,      // FIOASYNC
    0x5460,      // FIOQSIZE
    0x802c_542a, // TCGETS2
    0x8905,      // SIOCATMARK
    0x8910,      // SIOCGIFNAME
    0x8912,      // SIOCGIFCONF
    0x8913,      // SIOCGIFFLAGS
    0x8915,      // SIOCGIFADDR
    0x8933,      // SIOCGIFINDEX
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0x8008_6601, // FS_IOC_GETFLAGS
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
