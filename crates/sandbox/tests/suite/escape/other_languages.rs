//! The same doors, tried as other languages try them.

use super::super::harness::{Policy, Row, row};
use super::table;

const SHELL: [Row; 7] = [
    row("shell", "read_secret", Policy::Plugin, &["not there"]),
    row("shell", "connect", Policy::Plugin, &["no way"]),
    row("shell", "tools_of_namespaces", Policy::Plugin, &["refused"]),
    row("shell", "setuid_copy", Policy::Data, &["refused"]),
    row("shell", "kill_everybody", Policy::Plugin, &["not there"]),
    row("shell", "raise_limits", Policy::Plugin, &["refused"]),
    row("shell", "daemon", Policy::Data, &["left behind"]),
];

const NODE: [Row; 9] = [
    row("node", "memory_shared", Policy::Plugin, &["limit: memory"])
        .limits(|l| l.memory = 256 << 20),
    row(
        "node",
        "memory_of_workers",
        Policy::Plugin,
        &["limit: memory"],
    )
    .limits(|l| l.memory = 256 << 20),
    row("node", "spin_in_workers", Policy::Plugin, &["limit: cpu"]).limits(|l| {
        l.memory = 1 << 30;
        l.cpu = Some(std::time::Duration::from_secs(1));
    }),
    row("node", "read_secret", Policy::Plugin, &["ENOENT"]).limits(|l| l.memory = 1 << 30),
    row(
        "node",
        "connect",
        Policy::Plugin,
        &["ECONNREFUSED", "EPERM", "EACCES"],
    )
    .limits(|l| l.memory = 1 << 30),
    row(
        "node",
        "abstract_socket",
        Policy::Plugin,
        &["ECONNREFUSED", "EPERM", "EACCES"],
    )
    .limits(|l| l.memory = 1 << 30),
    row("node", "write_root", Policy::Plugin, &["EROFS", "EACCES"]).limits(|l| l.memory = 1 << 30),
    row(
        "node",
        "become_root",
        Policy::Plugin,
        &["EPERM", "ESRCH", "EINVAL"],
    )
    .limits(|l| l.memory = 1 << 30),
    row("node", "daemon", Policy::Data, &["left behind"]).limits(|l| l.memory = 1 << 30),
];

table!(shell, SHELL);
table!(node, NODE);
