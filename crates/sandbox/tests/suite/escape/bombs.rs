//! Taking more than one's share: every bomb ends by the limit that it names.

use std::time::Duration;

use innkeeper_sandbox::Limits;

use super::super::harness::{Policy, Row, row};
use super::table;

const MIB: u64 = 1 << 20;

fn little_memory(limits: &mut Limits) {
    limits.memory = 64 * MIB;
    limits.disk = 16 * MIB;
}

fn little_disk(limits: &mut Limits) {
    limits.disk = 8 * MIB;
}

fn little_time(limits: &mut Limits) {
    limits.wall = Some(Duration::from_millis(700));
}

fn little_cpu(limits: &mut Limits) {
    limits.cpu = Some(Duration::from_millis(400));
}

fn little_cpu_and_time(limits: &mut Limits) {
    little_cpu(limits);
    limits.wall = Some(Duration::from_secs(4));
}

const MEMORY: &[&str] = &["limit: memory"];
/// There is no such thing to fill.
const NONE: &[&str] = &["EPERM", "ENOSYS"];

const MEMORY_ROWS: [Row; 20] = [
    row("bombs", "watches", Policy::Plugin, &["EMFILE"]),
    row("bombs", "memory_private", Policy::Plugin, MEMORY).limits(little_memory),
    row(
        "bombs",
        "memory_shared",
        Policy::Plugin,
        &["limit: memory", "EPERM"],
    )
    .limits(little_memory),
    row(
        "bombs",
        "memory_shared_let_go",
        Policy::Plugin,
        &["limit: memory", "EPERM"],
    )
    .limits(little_memory),
    row(
        "bombs",
        "memory_of_dev_zero",
        Policy::Plugin,
        &["limit: memory", "EACCES", "EPERM", "EROFS"],
    )
    .limits(little_memory),
    row("bombs", "memory_of_many", Policy::Plugin, MEMORY).limits(little_memory),
    row("bombs", "memory_of_threads", Policy::Plugin, MEMORY).limits(little_memory),
    row("bombs", "memory_of_page_tables", Policy::Plugin, MEMORY).limits(little_memory),
    row("bombs", "memory_in_tmp", Policy::Plugin, DISK).limits(little_memory),
    row("bombs", "memory_in_shm", Policy::Plugin, DISK).limits(little_memory),
    row(
        "bombs",
        "memory_without_name",
        Policy::Plugin,
        &["limit: disk", "ENOSPC"],
    )
    .limits(little_memory),
    row("bombs", "memory_in_attributes", Policy::Plugin, NONE).limits(little_memory),
    row("bombs", "memory_in_memfd", Policy::Plugin, NONE).limits(little_memory),
    row("bombs", "memory_in_system_v", Policy::Plugin, NONE).limits(little_memory),
    row("bombs", "memory_in_messages", Policy::Plugin, NONE).limits(little_memory),
    row("bombs", "memory_in_sockets", Policy::Plugin, MEMORY).limits(little_memory),
    row("bombs", "memory_in_datagrams", Policy::Plugin, MEMORY).limits(little_memory),
    row("bombs", "larger_buffers", Policy::Plugin, &["EPERM"]),
    row("bombs", "memory_under_an_odd_name", Policy::Plugin, MEMORY).limits(little_memory),
    row(
        "bombs",
        "memory_behind_a_dead_leader",
        Policy::Plugin,
        MEMORY,
    )
    .limits(little_memory),
];

const PROCESSES: &[&str] = &["limit: processes"];

const PROCESS_ROWS: [Row; 5] = [
    row("bombs", "fork_bomb", Policy::Plugin, PROCESSES),
    row("bombs", "fork_in_sessions", Policy::Plugin, PROCESSES),
    row("bombs", "thread_bomb", Policy::Plugin, PROCESSES),
    row(
        "bombs",
        "spawn_storm",
        Policy::Plugin,
        &["limit: cpu", "limit: wall"],
    )
    .limits(|limits| {
        little_cpu(limits);
        limits.wall = Some(Duration::from_secs(5));
    }),
    row("shell", "fork_bomb", Policy::Plugin, PROCESSES),
];

const CPU: &[&str] = &["limit: cpu"];

/// Only a group of its own shows what children took who lived for less than a look and whom nobody has waited for;
/// without one the time must do.
const CPU_OR_WALL: &[&str] = &["limit: cpu", "limit: wall"];

const CPU_ROWS: [Row; 10] = [
    row(
        "bombs",
        "spin_in_forgotten_children",
        Policy::Plugin,
        CPU_OR_WALL,
    )
    .limits(little_cpu_and_time),
    row("bombs", "spin_in_long_forgotten", Policy::Plugin, CPU).limits(little_cpu_and_time),
    row("bombs", "spin", Policy::Plugin, CPU).limits(little_cpu),
    row("bombs", "spin_in_many", Policy::Plugin, CPU).limits(little_cpu),
    row("bombs", "spin_in_threads", Policy::Plugin, CPU).limits(little_cpu),
    row("bombs", "spin_in_short_lives", Policy::Plugin, CPU).limits(little_cpu),
    row(
        "bombs",
        "spin_in_orphans",
        Policy::Plugin,
        &["limit: cpu", "limit: processes", "limit: wall"],
    )
    .limits(little_cpu_and_time),
    row("bombs", "spin_in_a_chain", Policy::Plugin, CPU).limits(little_cpu),
    row(
        "bombs",
        "spin_and_stop",
        Policy::Plugin,
        &["limit: cpu", "limit: processes"],
    )
    .limits(little_cpu),
    row("bombs", "spin_deaf", Policy::Plugin, CPU).limits(little_cpu),
];

const WALL: &[&str] = &["limit: wall"];

const WALL_ROWS: [Row; 5] = [
    row("bombs", "sleep", Policy::Plugin, WALL).limits(little_time),
    row("bombs", "stop_itself", Policy::Plugin, WALL).limits(little_time),
    row("bombs", "stop_everybody", Policy::Plugin, WALL).limits(little_time),
    row("bombs", "sleep_without_streams", Policy::Plugin, WALL).limits(little_time),
    row("bombs", "wait_for_input", Policy::Plugin, WALL).limits(little_time),
];

const DISK: &[&str] = &["limit: disk"];
/// Python is told, others are killed.
const SIZE: &[&str] = &["limit: file_size", "EFBIG"];

const DISK_ROWS: [Row; 19] = [
    row("bombs", "disk_in_tmp", Policy::Plugin, DISK).limits(little_disk),
    row("bombs", "disk_in_shm", Policy::Plugin, DISK).limits(little_disk),
    row("bombs", "disk_in_data", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_in_data_at_once", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_without_names", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_never_named", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_only_mapped", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_on_the_way", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_in_a_hidden_socket", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_that_moves", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_behind_a_closed_door", Policy::Data, DISK).limits(little_disk),
    row("bombs", "disk_by_links", Policy::Data, &["one file"]).limits(little_disk),
    row("bombs", "tiny_files_in_tmp", Policy::Plugin, DISK),
    row("bombs", "tiny_files_in_data", Policy::Data, DISK),
    row("bombs", "holes", Policy::Data, SIZE),
    row("bombs", "holes_by_seek", Policy::Data, SIZE),
    row(
        "bombs",
        "reserve",
        Policy::Data,
        &["ENOTSUP", "EOPNOTSUPP", "EPERM"],
    ),
    row("bombs", "deep_folder", Policy::Data, DISK),
    row("bombs", "deep_folder_in_tmp", Policy::Data, &["vanishes"]),
];

const OUTPUT: &[&str] = &["limit: output"];

const OUTPUT_ROWS: [Row; 4] = [
    row("bombs", "output_to_stdout", Policy::Plugin, OUTPUT),
    row("bombs", "output_to_stderr", Policy::Plugin, OUTPUT),
    row("bombs", "output_by_many", Policy::Plugin, OUTPUT),
    row("bombs", "output_by_reopening", Policy::Plugin, OUTPUT),
];

table!(memory, MEMORY_ROWS);
table!(processes, PROCESS_ROWS);
table!(cpu, CPU_ROWS);
table!(wall, WALL_ROWS);
table!(disk, DISK_ROWS);
table!(output, OUTPUT_ROWS);
