//! Other processes, and what a program is handed when it starts.

use super::super::harness::{Policy, Row, row};
use super::{DENIED, table};

/// What is said about a process that one may not look into, or that is not there.
const NOT_YOURS: &[&str] = &["EPERM", "ENOSYS", "EACCES", "ENOENT", "ESRCH"];
const SIGABRT: &str = "signal: 6";

const SEEING: [Row; 8] = [
    row(
        "processes",
        "environment",
        Policy::Plugin,
        &["only what was given"],
    ),
    row(
        "processes",
        "environment",
        Policy::LoaderVariables,
        &["only what was given"],
    ),
    row(
        "processes",
        "environment_of_first",
        Policy::Plugin,
        NOT_YOURS,
    ),
    row("processes", "auxiliary_of_first", Policy::Plugin, NOT_YOURS),
    row("processes", "links_of_first", Policy::Plugin, NOT_YOURS),
    row(
        "processes",
        "processes_of_the_host",
        Policy::Plugin,
        &["only its own"],
    ),
    row(
        "processes",
        "process_by_number",
        Policy::Plugin,
        &["ENOENT"],
    ),
    row(
        "processes",
        "command_line_of_first",
        Policy::Plugin,
        &["nothing of the server"],
    ),
];

const TOUCHING: [Row; 7] = [
    row("processes", "trace", Policy::Plugin, DENIED),
    row("processes", "trace_child", Policy::Plugin, DENIED),
    row("processes", "memory_of_others", Policy::Plugin, NOT_YOURS),
    row(
        "processes",
        "memory_of_itself_by_call",
        Policy::Plugin,
        DENIED,
    ),
    row(
        "processes",
        "descriptors_of_others",
        Policy::Plugin,
        NOT_YOURS,
    ),
    row("processes", "compare_with_others", Policy::Plugin, DENIED),
    row("processes", "launcher_binary", Policy::Plugin, NOT_YOURS),
];

const SIGNALS: [Row; 8] = [
    row("processes", "signal_server", Policy::Plugin, &["ESRCH"]),
    row(
        "processes",
        "signal_first",
        Policy::Plugin,
        &["no effect", "EPERM"],
    ),
    row(
        "processes",
        "signal_parent",
        Policy::Plugin,
        &["no effect", "EPERM", "no parent"],
    ),
    row(
        "processes",
        "signal_group",
        Policy::Plugin,
        &["its own group"],
    ),
    row(
        "processes",
        "signal_everybody",
        Policy::Plugin,
        &["only its own", "EPERM", "ESRCH"],
    ),
    row(
        "processes",
        "signal_by_descriptor",
        Policy::Plugin,
        &["no effect", "EPERM", "ENOSYS", "ESRCH"],
    ),
    row(
        "processes",
        "signal_by_owner",
        Policy::Plugin,
        &["ESRCH", "nobody"],
    ),
    row(
        "processes",
        "die_with_parent_no_more",
        Policy::Plugin,
        &["of no use"],
    ),
];

const HANDED: [Row; 6] = [
    row(
        "processes",
        "inherited_descriptors",
        Policy::Plugin,
        &["EBADF"],
    ),
    row("processes", "standard_streams", Policy::Plugin, &["pipes"]),
    row(
        "processes",
        "push_into_terminal",
        Policy::Plugin,
        &["EPERM"],
    ),
    row(
        "processes",
        "open_terminals",
        Policy::Plugin,
        &["ENOENT", "ENXIO", "EPERM"],
    ),
    row(
        "processes",
        "take_terminal",
        Policy::Plugin,
        &["ENOENT", "ENXIO", "EPERM"],
    ),
    row(
        "processes",
        "own_terminal",
        Policy::Plugin,
        &["ENOENT", "EACCES", "ENXIO"],
    ),
];

const RIGHTS: [Row; 10] = [
    row(
        "processes",
        "weaken_first",
        Policy::Plugin,
        &["EPERM", "ESRCH"],
    ),
    row("processes", "capabilities", Policy::Plugin, &["none"]),
    row(
        "processes",
        "regain_capabilities",
        Policy::Plugin,
        &["EPERM", "EINVAL"],
    ),
    row(
        "processes",
        "become_root",
        Policy::Plugin,
        &["EPERM", "EINVAL"],
    ),
    row(
        "processes",
        "map_users",
        Policy::Plugin,
        &["EPERM", "EACCES", "EROFS"],
    ),
    row(
        "processes",
        "setuid_program",
        Policy::Plugin,
        &["no new privileges"],
    ),
    row(
        "processes",
        "raise_limits",
        Policy::Plugin,
        &["EPERM", "not limited this way"],
    ),
    row(
        "processes",
        "raise_priority",
        Policy::Plugin,
        &["EPERM", "EACCES", "ENOSYS", "ENOMEM", "EROFS"],
    ),
    row("processes", "dump_core", Policy::Data, &[SIGABRT]),
    row("processes", "run_from_memory", Policy::Plugin, DENIED),
];

table!(seeing, SEEING);
table!(touching, TOUCHING);
table!(signals, SIGNALS);
table!(handed, HANDED);
table!(rights, RIGHTS);
