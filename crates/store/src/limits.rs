//! The numbers that bound this crate, by subject. Tests cross them.

use std::time::Duration;

// The database.

/// Writes that may wait; whoever wants to add one more waits too.
pub const MAX_QUEUED_WRITES: usize = 1_024;
/// Audit entries that could not wait for room (they come from `Drop`) and are taken beside the queue.
pub const MAX_OVERFLOW: usize = 1_024;
/// Writes in one transaction.
pub const MAX_BATCH: usize = 256;
/// Connections for reading.
pub const MAX_READERS: u32 = 4;
/// How long SQLite waits for another process that holds the database.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often that wait is begun anew before a write is given up.
pub const BUSY_TRIES: u32 = 4;
/// Pause before audit entries that could not be written are tried again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Deepest nesting of a JSON value that is stored: what was written must be readable again.
pub const MAX_JSON_DEPTH: usize = 100;

// The audit log.

/// Longest argument text of an entry, as JSON; longer ones are cut and say so.
pub const MAX_AUDIT_ARGUMENT_BYTES: usize = 16 * 1024;
/// Longest message of an entry.
pub const MAX_AUDIT_MESSAGE_CHARS: usize = 1_000;
/// Longest name, id or rule in an entry.
pub const MAX_AUDIT_NAME_CHARS: usize = 300;
/// Records in an answer when nobody says how many.
pub const DEFAULT_AUDIT_RECORDS: usize = 100;
/// Records in an answer, whoever asks.
pub const MAX_AUDIT_RECORDS: usize = 10_000;
/// Records that are read at a time while the chain is checked.
pub const VERIFY_PAGE: i64 = 1_000;
/// Calls of a process that is gone which are read at a time while they are given their records.
pub const RECOVERY_PAGE: i64 = 100;

// Grants.

/// Stored answers "always"; more would mean that a rule is missing.
pub const MAX_GRANTS: u64 = 10_000;
/// Longest name or note of a grant.
pub const MAX_GRANT_CHARS: usize = 1_000;

// Requests.

/// Longest scope, request id or hash.
pub const MAX_REQUEST_KEY_CHARS: usize = 300;
/// Largest recorded outcome, as JSON.
pub const MAX_OBSERVATIONS_BYTES: usize = 8 * 1024 * 1024;
/// How long the outcome of a request is remembered.
pub const REQUEST_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many requests are remembered.
pub const MAX_REQUESTS: u64 = 100_000;
/// Claims between two looks at what is too old.
pub const CLAIMS_BETWEEN_PURGES: u64 = 500;
/// How often a request that another process runs is looked at.
pub const WAIT_POLL: Duration = Duration::from_millis(200);
/// Marks of dead processes that are removed at once.
pub const MAX_SWEPT_OWNERS: usize = 1_000;

// The bus.

/// Events that are kept for those who read later.
pub const MAX_KEPT_EVENTS: usize = 4_096;
/// Bytes of payload that are kept for them.
pub const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;
/// Largest payload, as JSON.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// Longest topic, source or pattern.
pub const MAX_TOPIC_CHARS: usize = 200;
