//! The numbers that bound this crate, by subject. Tests cross them.

use std::time::Duration;

// The database.

/// Writes that may wait; whoever wants to add one more waits too.
pub const MAX_QUEUED_WRITES: usize = 1_024;
/// Audit entries that could not wait for room (they come from `Drop`) and are taken beside the queue.
pub const MAX_OVERFLOW: usize = 1_024;
/// Writes in one transaction.
pub const MAX_BATCH: usize = 256;
/// How often others get their turn before the next transaction, as long as each time more has come.
pub const MAX_GATHERINGS: usize = 16;
/// Pages that the log may hold before they are put into the database: 16 MiB.
pub const CHECKPOINT_PAGES: &str = "4000";
/// Connections for reading.
pub const MAX_READERS: u32 = 4;
/// Room that is kept free for deleting runs on a full disk.
pub const RESERVE_BYTES: u64 = 1024 * 1024;
/// What is given of it to whoever opens the database on a full disk.
pub const RESERVE_PIECE: u64 = 64 * 1024;
/// How long SQLite waits for another process that holds the database.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often that wait is begun anew before a write is given up.
pub const BUSY_TRIES: u32 = 4;
/// Pause before audit entries that could not be written are tried again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Deepest nesting of a JSON value that is stored: what was written must be readable again.
pub const MAX_JSON_DEPTH: usize = 100;

// Who may come in.

pub const MAX_ACCESS_TOKENS: u64 = 10_000;
/// Codes that wait to be redeemed; those that have expired do not count.
pub const MAX_PAIRING_CODES: u64 = 100;
pub const MAX_PEOPLE: u64 = 10_000;
/// Longest name of a token or a person.
pub const MAX_ACCESS_NAME_CHARS: usize = 100;
/// How exactly it is known when a token was last used.
pub const ACCESS_USED_STEP: Duration = Duration::from_secs(60);

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

// Runs.

/// Longest id of a run.
pub const MAX_RUN_ID_CHARS: usize = 300;
/// Largest input of a step, and largest events of a step, as JSON.
pub const MAX_ENTRY_BYTES: usize = 64 * 1024 * 1024;
/// Events of one step.
pub const MAX_ENTRY_EVENTS: usize = 10_000;
/// Blobs and trees of one step.
pub const MAX_ENTRY_BLOBS: usize = 10_000;
/// Largest snapshot of a run, as JSON.
pub const MAX_SNAPSHOT_BYTES: usize = 256 * 1024 * 1024;
/// Events that are read at once, whoever asks.
pub const MAX_EVENTS_READ: usize = 10_000;
/// Bytes of steps after which no further step is read into the same answer.
pub const MAX_EVENTS_READ_BYTES: usize = 64 * 1024 * 1024;
/// Inputs that are read at once, whoever asks.
pub const MAX_INPUTS_READ: usize = 1_000;
/// Runs in an answer when nobody says how many.
pub const DEFAULT_RUNS: usize = 50;
/// Runs in an answer, whoever asks.
pub const MAX_RUNS_READ: usize = 1_000;
/// Runs whose number in the database is kept in mind.
pub const MAX_KNOWN_RUNS: usize = 100_000;
/// Runs that are weighed at once.
pub const MAX_RUNS_WEIGHED: usize = 1_000;
/// Steps of a deleted run that are removed in one transaction.
pub const DELETE_PAGE: i64 = 2_000;

// Following a run.

/// Events that a follower is given at once.
pub const FOLLOW_PAGE: usize = 256;
/// Events of a run that are kept for its followers; what is older they read from disk.
pub const MAX_TOLD_EVENTS: usize = 1_024;
/// Bytes of events of a run that are kept for its followers.
pub const MAX_TOLD_BYTES: usize = 1024 * 1024;

// Contents.

/// Largest content that is kept in the database; larger ones are files.
pub const MAX_INLINE_BYTES: usize = 64 * 1024;
/// Largest content.
pub const MAX_BLOB_BYTES: usize = 256 * 1024 * 1024;
/// Largest tree in its canonical form. Trees are always in the database.
pub const MAX_TREE_BYTES: usize = 8 * 1024 * 1024;
/// Files of a tree that comes with a checkpoint.
pub const MAX_TREE_FILES: usize = 50_000;
/// Bytes of a file that are compared at once with what is brought.
pub const COMPARE_BYTES: usize = 64 * 1024;
/// Checkpoints in a row that are told as differences before one is told whole again: what reading one goes through at most.
pub const MAX_CHECKPOINT_CHAIN: i64 = 128;
/// Files of a tree from which on it is worth being told as a difference; a smaller one is as well told whole each time.
pub const MIN_KNOWN_TREE_FILES: usize = 8;
/// Trees of checkpoints that are kept in mind to tell the next ones apart from, and files in all of them.
pub const MAX_KNOWN_TREES: usize = 10_000;
pub const MAX_KNOWN_TREE_FILES: usize = 250_000;
/// Contents that a sweep removes in one transaction.
pub const SWEEP_PAGE: i64 = 2_000;

// States, worlds, tasks and messages to runs.

/// Longest id in one of these records.
pub const MAX_RECORD_ID_CHARS: usize = 300;
/// Largest record of a state, as JSON.
pub const MAX_STATE_BYTES: usize = 8 * 1024 * 1024;
/// Contents that a state may name.
pub const MAX_STATE_CONTENTS: usize = 20_000;
/// Ids of states in an answer.
pub const MAX_STATES_READ: i64 = 10_000;
/// States that are removed at once.
pub const MAX_STATES_REMOVED: usize = 1_000;
/// Largest value of a world, as JSON; the record of one of its versions; what it must fit; and an answer to a request.
pub const MAX_WORLD_BYTES: usize = 8 * 1024 * 1024;
pub const MAX_WORLD_RECORD_BYTES: usize = 256 * 1024;
pub const MAX_WORLD_SCHEMA_BYTES: usize = 256 * 1024;
pub const MAX_WORLD_ANSWER_BYTES: usize = 64 * 1024;
/// Versions of a world whose records are kept, and requests that are known.
pub const MAX_WORLD_VERSIONS: i64 = 200;
pub const MAX_WORLD_REQUESTS: i64 = 1_000;
/// Largest record of a task, as JSON.
pub const MAX_TASK_BYTES: usize = 8 * 1024 * 1024;
/// Tasks in an answer.
pub const MAX_TASKS_READ: i64 = 10_000;
/// Largest message to a run, as JSON.
pub const MAX_CONTROL_BYTES: usize = 1024 * 1024;
/// Messages that may wait for whoever drives the runs.
pub const MAX_CONTROL_MESSAGES: u64 = 1_000;
/// Messages that are received at once.
pub const MAX_CONTROL_READ: i64 = 100;
/// How often it is looked for messages of other processes.
pub const CONTROL_POLL: Duration = Duration::from_millis(250);

// Chats of the house.

pub const MAX_CHATS: u64 = 100_000;
pub const MAX_CHAT_MESSAGES: u64 = 100_000;
/// Largest message, as JSON, with all its swipes.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
pub const MAX_CHAT_METADATA_BYTES: usize = 4 * 1024 * 1024;
/// Values beside one chat, and the largest, as JSON.
pub const MAX_CHAT_VALUES: u64 = 10_000;
pub const MAX_CHAT_VALUE_BYTES: usize = 1024 * 1024;
/// Changes of messages in one edit.
pub const MAX_CHAT_EDITS: usize = 1_000;
/// Chats, messages and keys in an answer.
pub const MAX_CHATS_READ: usize = 500;
pub const MAX_CHAT_MESSAGES_READ: usize = 1_000;
pub const MAX_CHAT_KEYS_READ: i64 = 10_000;

// Checking and repairing.

/// Messages that SQLite gives of what it finds wrong.
pub const MAX_CHECK_MESSAGES: i64 = 20;
/// Damaged contents that are named.
pub const MAX_DAMAGE_READ: usize = 1_000;
/// Row numbers that are copied at once from a damaged table.
pub const SALVAGE_RANGE: i64 = 512;
/// Ranges of a damaged table without a row after which its end is taken for reached, where it cannot be seen.
pub const MAX_SALVAGE_BLIND: u32 = 4;
/// Ranges of one table that cannot be read before the rest of it is given up.
pub const MAX_SALVAGE_FAILURES: u32 = 100_000;

// What served somebody lately.

/// Records at the end of the audit log that are looked at for it.
pub const MAX_PAST_RECORDS: i64 = 500;
