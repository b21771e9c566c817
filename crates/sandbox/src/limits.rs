//! The numbers that bound this crate. Tests cross them.

use std::time::Duration;

// What a program gets where nobody says otherwise.

pub const DEFAULT_WALL: Duration = Duration::from_secs(60);
pub const DEFAULT_CPU: Duration = Duration::from_secs(60);
pub const DEFAULT_MEMORY_BYTES: u64 = 512 << 20;
pub const DEFAULT_PROCESSES: u32 = 64;
pub const DEFAULT_OPEN_FILES: u32 = 256;
pub const DEFAULT_FILE_BYTES: u64 = 64 << 20;
pub const DEFAULT_DISK_BYTES: u64 = 256 << 20;
pub const DEFAULT_OUTPUT_BYTES: u64 = 16 << 20;
pub const DEFAULT_STDERR_KEPT: usize = 64 << 10;

// What a policy may hold.

/// Roots of one policy.
pub const MAX_ROOTS: usize = 64;
/// Hosts of one policy.
pub const MAX_HOSTS: usize = 64;
/// Hosts times ports of one policy: each is a socket, and the kernel passes no more of them at once.
pub const MAX_DOORS: usize = 200;
/// All that the launcher is told: arguments, environment, names. Files of the workspace come beside it.
pub const MAX_SPEC_BYTES: usize = 4 << 20;
/// Files laid into a workspace, and all their bytes.
pub const MAX_WORKSPACE_FILES: usize = 256;
pub const MAX_WORKSPACE_BYTES: usize = 128 << 20;
/// Files and folders in `/tmp`, and in each writable folder.
pub const MAX_INODES: u64 = 20_000;
/// Levels of folders in a writable folder.
pub const MAX_DEPTH: usize = 64;

// Watching.

/// What the process that watches may need, beside the program.
pub const WATCHER_MEMORY: u64 = 32 << 20;
/// How often memory, processes and processor time are looked at.
pub const WATCH_EVERY: Duration = Duration::from_millis(20);
/// How often writable folders are measured: a twentieth of the time it may take, within these bounds, and sooner
/// when much was written.
pub const MAX_MEASURE_EVERY: Duration = Duration::from_secs(2);
pub const MEASURE_EVERY: Duration = Duration::from_millis(200);
/// Sockets that do not count as memory, and what each beyond them counts: what the kernel lets wait in one.
pub const FREE_SOCKETS: u64 = 32;
pub const SOCKET_BUFFER: u64 = 256 << 10;
/// Datagrams, each a buffer full, that can wait at one socket.
pub const WAITING_DATAGRAMS: u64 = 11;
/// How long an orderly end may take before everything is killed from outside.
pub const END_GRACE: Duration = Duration::from_secs(2);
/// How long the pipes of a program that has ended are still listened to: somebody else may hold them.
pub const PIPE_GRACE: Duration = Duration::from_millis(500);
/// How long the launcher may take to get a program started.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

// The network of a program with granted hosts.

/// Ports of one granted host.
pub const MAX_GRANT_PORTS: usize = 16;
/// Connections of one program that are served at the same time; the others wait. Each takes two open files outside.
pub const MAX_CONNECTIONS: usize = 32;
/// The head of a request to the proxy.
pub const MAX_HEAD_BYTES: usize = 32 << 10;
pub const MAX_HEAD_LINES: usize = 100;
/// How long a program may take to say what it wants of the proxy.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Everything until there is a connection: finding addresses and trying them.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// One address, so that a dead one leaves time for the next.
pub const CONNECT_ATTEMPT: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
pub const MAX_ADDRESSES: usize = 8;
/// A connection on which nothing moves is ended.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// What is on its way in one direction of a connection.
pub const COPY_BYTES: usize = 16 << 10;
/// What is put around chunks, and behind the last one.
pub const MAX_CHUNK_EXTENSION_BYTES: usize = 256;
pub const MAX_TRAILER_BYTES: usize = 4 << 10;
/// What a program may still send after a refusal, so that it can read the refusal.
pub const LINGER: Duration = Duration::from_secs(2);
pub const LINGER_BYTES: usize = 1 << 20;
/// After a connection could not be accepted: most likely there are no open files left.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
