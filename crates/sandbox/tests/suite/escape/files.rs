//! Reading and writing what was not granted.

use super::super::harness::{Policy, Row, row};
use super::table;

/// It is not there at all.
const ABSENT: &[&str] = &["ENOENT"];
/// It is there, but not for changing.
const FIXED: &[&str] = &["EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"];

const READING: [Row; 17] = [
    row("files", "read_shadow", Policy::Plugin, ABSENT),
    row("files", "read_host_keys", Policy::Plugin, ABSENT),
    row("files", "read_secrets_toml", Policy::Plugin, ABSENT),
    row("files", "read_secrets_toml", Policy::Data, ABSENT),
    row("files", "list_home", Policy::Plugin, ABSENT),
    row("files", "stat_home", Policy::Plugin, ABSENT),
    row(
        "files",
        "list_homes_of_people",
        Policy::Plugin,
        &["ENOENT", "only what leads to a root"],
    ),
    row(
        "files",
        "siblings_of_a_root",
        Policy::Plugin,
        &["only the roots"],
    ),
    row(
        "files",
        "siblings_of_a_root",
        Policy::Data,
        &["only the roots"],
    ),
    row("files", "other_plugin_read", Policy::Data, ABSENT),
    row(
        "files",
        "places_of_the_system",
        Policy::Plugin,
        &["ENOENT", "EACCES", "empty"],
    ),
    row("files", "search_everywhere", Policy::Data, &["not found"]),
    row("files", "dot_dot", Policy::Plugin, ABSENT),
    row(
        "files",
        "through_proc",
        Policy::Plugin,
        &["ENOENT", "EACCES", "EPERM", "ENOTDIR"],
    ),
    row(
        "files",
        "through_mounts",
        Policy::Data,
        &["ENOENT", "ENOTDIR", "EACCES"],
    ),
    row("files", "by_handle", Policy::Plugin, super::DENIED),
    row(
        "files",
        "devices_there",
        Policy::Plugin,
        &["only the usual"],
    ),
];

const NAMES: [Row; 5] = [
    row("files", "symlink_to_secret", Policy::Data, ABSENT),
    row(
        "files",
        "symlink_that_was_shipped",
        Policy::Plugin,
        &["ENOENT", "EROFS"],
    ),
    row("files", "symlink_swap", Policy::Data, ABSENT),
    row(
        "files",
        "hard_link",
        Policy::Data,
        &["ENOENT", "EXDEV", "EROFS", "EPERM", "EACCES"],
    ),
    row(
        "files",
        "rename",
        Policy::Data,
        &["ENOENT", "EXDEV", "EROFS", "EBUSY", "EACCES"],
    ),
];

const WRITING: [Row; 14] = [
    row("files", "other_plugin_write", Policy::Data, ABSENT),
    row(
        "files",
        "write_outside",
        Policy::Data,
        &["EROFS", "EACCES", "ENOENT"],
    ),
    row("files", "write_what_is_private", Policy::Data, &["private"]),
    row("files", "write_etc", Policy::Data, FIXED),
    row("files", "write_interpreter", Policy::Plugin, FIXED),
    row(
        "files",
        "rewrite_root",
        Policy::Plugin,
        &["EROFS", "EACCES", "EPERM", "EBADF", "EINVAL", "ENOSYS"],
    ),
    row(
        "files",
        "read_below_write",
        Policy::ReadBelowWrite,
        &["EROFS", "EACCES", "EXDEV", "EBUSY"],
    ),
    row(
        "files",
        "write_below_read",
        Policy::WriteBelowRead,
        &["EROFS", "EACCES", "EXDEV", "EBUSY"],
    ),
    row("files", "writable_places", Policy::Data, &["nothing else"]),
    row(
        "files",
        "flags_of_mounts",
        Policy::Data,
        &["nosuid nodev ro"],
    ),
    row(
        "files",
        "setuid_bit",
        Policy::Data,
        &["EPERM", "ENOSYS", "cleared"],
    ),
    row(
        "files",
        "file_capability",
        Policy::Data,
        &["EPERM", "EINVAL", "ENOSYS"],
    ),
    row(
        "files",
        "immutable_file",
        Policy::Data,
        &["EPERM", "EACCES"],
    ),
    row(
        "files",
        "device_nodes",
        Policy::Data,
        &["EPERM", "EACCES", "EROFS"],
    ),
];

const DEVICES: [Row; 1] = [row("files", "devices_of_the_host", Policy::Plugin, ABSENT)];

table!(reading, READING);
table!(names, NAMES);
table!(writing, WRITING);
table!(devices, DEVICES);
