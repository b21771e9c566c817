//! Calls and files that are doors to the kernel.

use super::super::harness::{Policy, Row, row};
use super::{DENIED, table};

/// A call of another architecture is answered, or is deadly.
const FOREIGN: &[&str] = &["EPERM", "ENOSYS", "SIGSYS", "SIGSEGV", "SIGILL"];
const ABSENT: &[&str] = &["ENOENT", "EACCES", "EROFS", "EPERM"];

const ROOTS: [Row; 11] = [
    row("kernel", "mount", Policy::Data, DENIED),
    row("kernel", "mount_anew", Policy::Data, DENIED),
    row("kernel", "change_root", Policy::Plugin, DENIED),
    row("kernel", "unshare", Policy::Plugin, DENIED),
    row("kernel", "unshare_together", Policy::Plugin, DENIED),
    row("kernel", "clone", Policy::Plugin, DENIED),
    row("kernel", "clone_with_high_bits", Policy::Plugin, DENIED),
    row("kernel", "clone3", Policy::Plugin, DENIED),
    row(
        "kernel",
        "enter",
        Policy::Plugin,
        &["EPERM", "ENOSYS", "ENOENT", "EACCES", "ESRCH"],
    ),
    row(
        "kernel",
        "namespace_by_ioctl",
        Policy::Plugin,
        &["EPERM", "ENOTTY", "EACCES"],
    ),
    row("kernel", "mounts_by_call", Policy::Plugin, DENIED),
];

const CALLS: [Row; 15] = [
    row("kernel", "calls_of_32_bits", Policy::Plugin, FOREIGN),
    row("kernel", "calls_by_far_jump", Policy::Plugin, FOREIGN),
    row("kernel", "calls_of_x32", Policy::Plugin, FOREIGN),
    row("kernel", "calls_with_high_bits", Policy::Plugin, FOREIGN),
    row("kernel", "calls_to_come", Policy::Plugin, DENIED),
    row("kernel", "keys", Policy::Plugin, DENIED),
    row("kernel", "bpf", Policy::Plugin, DENIED),
    row("kernel", "ring", Policy::Plugin, DENIED),
    row("kernel", "faults", Policy::Plugin, DENIED),
    row("kernel", "performance", Policy::Plugin, DENIED),
    row("kernel", "modules", Policy::Plugin, DENIED),
    row("kernel", "machine", Policy::Plugin, DENIED),
    row("kernel", "processor", Policy::Plugin, DENIED),
    row("kernel", "personality", Policy::Plugin, DENIED),
    row("kernel", "memory_of_others", Policy::Plugin, DENIED),
];

const FILES: [Row; 6] = [
    row("kernel", "kernel_settings", Policy::Plugin, ABSENT),
    row("kernel", "kernel_files_write", Policy::Plugin, ABSENT),
    row(
        "kernel",
        "kernel_files_read",
        Policy::Plugin,
        &["ENOENT", "EACCES", "EPERM", "EIO", "empty"],
    ),
    row(
        "kernel",
        "kernel_addresses",
        Policy::Plugin,
        &["zero", "ENOENT", "EACCES", "EPERM"],
    ),
    row("kernel", "control_groups", Policy::Plugin, ABSENT),
    row("kernel", "system_files", Policy::Plugin, ABSENT),
];

table!(roots, ROOTS);
table!(calls, CALLS);
table!(files, FILES);
