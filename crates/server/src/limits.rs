//! The numbers that bound this crate, by subject. Tests cross them; `ServerOptions` may change some of them.

use std::time::Duration;

// Connections.

pub const MAX_CONNECTIONS: usize = 4_096;
/// How long a client may take for the head of a request, and how long a connection may lie idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one request may take to be answered, streams apart.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);
/// How long whoever is inside has to leave when the server closes.
pub const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that are being told that there is no room; more are closed without a word.
pub const MAX_TURNED_AWAY: usize = 256;
pub const TURNED_AWAY_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted, for want of file handles.
pub const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);
pub const MAX_HEADERS: usize = 64;
/// The head of a request: its first line and all headers.
pub const MAX_HEAD_BYTES: usize = 32 * 1024;

// Requests.

pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The same at the doors that anybody may knock at.
pub const MAX_STRANGERS_BODY_BYTES: usize = 16 * 1024;
/// Bodies that are being received, all together.
pub const MAX_BODIES_BYTES: usize = 128 * 1024 * 1024;
/// How long a client may take for the body of a request.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// File handles that connections leave to everything else.
pub const SPARED_HANDLES: u64 = 256;
/// Requests a second of one client, over some time, and at once.
pub const RATE: u32 = 500;
pub const RATE_AT_ONCE: u32 = 1_000;
/// Wrong tokens, codes and passwords a second from one address.
pub const WRONG_RATE: u32 = 1;
pub const WRONG_AT_ONCE: u32 = 20;
/// Clients of whom it is remembered how much they asked.
pub const MAX_REMEMBERED_CLIENTS: usize = 10_000;

/// How long an answer may wait for the end of what goes on.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

// Figures.

/// Routes that are counted apart, with their methods.
pub const MAX_COUNTED_ROUTES: usize = 1_000;
/// Seconds by which answers are sorted.
pub const LATENCIES: [f64; 12] = [
    0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0,
];
/// Records of the audit log that are read each time somebody asks for figures, and at once.
pub const MAX_CALLS_READ: usize = 100_000;
pub const CALLS_READ_AT_ONCE: usize = 1_000;

// Executions of workflows.

/// Those at work and those that have ended, of one house.
pub const MAX_EXECUTIONS: usize = 256;
/// Events and outputs of all of them; the oldest that have ended go first.
pub const MAX_EXECUTIONS_BYTES: usize = 64 << 20;
/// Events that are kept of one.
pub const MAX_EXECUTION_EVENTS: usize = 2_000;
pub const MAX_EXECUTION_EVENT_BYTES: usize = 1 << 20;
/// Events that whoever follows is handed at once.
pub const MAX_EVENTS_TOLD: usize = 64;

// Coming in.

pub const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// A session of the web app; every other token lives until it is revoked, unless its maker says otherwise.
pub const SESSION_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What a person may choose as a password.
pub const MIN_PASSWORD_CHARS: usize = 10;
pub const MAX_PASSWORD_BYTES: usize = 1_024;
/// Passwords that are checked side by side: each takes some 20 MB for some tens of milliseconds.
pub const MAX_PASSWORD_CHECKS: usize = 2;

// Chats of the house.

/// Messages that are read at once, and that are looked at to find what a run has written.
pub const CHAT_PAGE: usize = 200;
/// The newest messages of a chat that a run begins with.
pub const MAX_CHAT_PROMPT_MESSAGES: u64 = 2_000;
/// Times that a publication is tried where somebody else writes to the chat meanwhile.
pub const MAX_PUBLISH_TRIES: usize = 20;
/// Events at the end of a run that are looked at for what it still asks of its host.
pub const HOST_PAGE: usize = 500;
/// Pause before a run that goes on, or could not be read, is followed again.
pub const FOLLOW_AGAIN_AFTER: Duration = Duration::from_millis(100);

// Files.

/// What a folder tells of at once.
pub const MAX_FILE_ENTRIES: usize = 2_000;
pub const MAX_FILE_READ_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file of a plugin's page.
pub const MAX_ASSET_BYTES: u64 = 16 * 1024 * 1024;

// Live.

/// The largest message that a client may send over a WebSocket.
pub const MAX_FRAME_BYTES: usize = 1024 * 1024;
/// Runs that one connection follows.
pub const MAX_SUBSCRIPTIONS: usize = 256;
/// Messages that wait to be sent to one client; whoever wants to say one more waits, and reads on from disk.
pub const MAX_UNSAID: usize = 64;
/// All of them together; one that is larger goes alone.
pub const MAX_UNSAID_BYTES: usize = 1024 * 1024;
/// How long a client may take to take what is said to it.
pub const SPEAKING_TIMEOUT: Duration = Duration::from_secs(30);
/// How often it is looked whether the token of a connection still holds.
pub const TOKEN_CHECKED_EVERY: Duration = Duration::from_secs(5);
/// What is kept ready to read and to write of each connection.
pub const SOCKET_BUFFER_BYTES: usize = 4 * 1024;
/// Sockets of one token.
pub const MAX_SOCKETS_OF_ONE: usize = 1_024;
/// What all connections follow together.
pub const MAX_SUBSCRIPTIONS_IN_ALL: usize = 16_384;
pub const SOCKET_PING_EVERY: Duration = Duration::from_secs(20);
/// A client that answers no ping for so long is gone.
pub const SOCKET_IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Calls to one client that wait for an answer.
pub const MAX_CALLS_TO_CLIENT: usize = 64;
/// How long a client may take to save a message.
pub const COMMIT_CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may take for an answer of its model, and for one call of a tool that it brings.
pub const GENERATE_CALL_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Channels of one connection, and tools that extensions bring to one house.
pub const MAX_CHANNELS: usize = 256;
pub const MAX_EXTENSION_TOOLS: usize = 1_000;
/// Chats that one client looks after.
pub const MAX_SERVED_CHATS: usize = 1_000;
