//! The numbers that bound this crate, by subject. Tests cross them.

use std::time::Duration;

// Names.

/// Longest name of a user or a project.
pub const MAX_ID_CHARS: usize = 64;

// Hooks.

/// Longest time a hook may take, whatever it declares.
pub const MAX_HOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest reason that is passed on from a hook.
pub const MAX_HOOK_REASON_CHARS: usize = 500;

// The registry.

/// Longest id or alias of a tool.
pub const MAX_TOOL_ID_CHARS: usize = 128;
/// Aliases of one tool.
pub const MAX_ALIASES: usize = 16;
/// Steps that a backtracking `pattern` of a schema may take on one value.
pub const MAX_PATTERN_STEPS: usize = 100_000;
/// Longest name that is looked up in more than its exact form.
pub const MAX_LOOKUP_CHARS: usize = 256;
/// Names that are looked through for one that was perhaps meant.
pub const MAX_SEARCHED_NAMES: usize = 50_000;
/// Names offered where a tool was not found.
pub const MAX_NEAREST: usize = 5;

// Filling in `@{…}`.

/// Longest name in `@{…}`.
pub const MAX_REFERENCE_BYTES: usize = 256;
/// Size of the values of one call after filling in.
pub const MAX_FILLED_BYTES: usize = 8 * 1024 * 1024;

// Running a tool.

/// Time for a sync tool that declares none.
pub const SYNC_TIMEOUT: Duration = Duration::from_secs(120);
/// Time for an async tool that declares none.
pub const ASYNC_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Least and most time that a tool can declare.
pub const MIN_TIMEOUT: Duration = Duration::from_millis(1);
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// First and longest pause before a call is tried again.
pub const MIN_BACK_OFF: Duration = Duration::from_millis(250);
pub const MAX_BACK_OFF: Duration = Duration::from_secs(30);

// Tasks.

/// Tasks of one run at work at once.
pub const MAX_RUNNING_TASKS: usize = 32;
/// Tasks that are remembered, those that have ended included.
pub const MAX_KEPT_TASKS: usize = 2_000;
/// Longest message about progress.
pub const MAX_PROGRESS_CHARS: usize = 500;
/// Longest time that a step waits for a task it refers to.
pub const MAX_WAIT: Duration = Duration::from_secs(15 * 60);

// Arguments by reference, results, the audit.

/// Bytes that the `uri_` arguments of one call may bring in together.
pub const MAX_FETCHED_BYTES: u64 = 8 * 1024 * 1024;
/// Largest result of a tool, as JSON text.
pub const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;
/// Characters of a result that are shown; a longer one is kept in a file.
pub const MAX_SHOWN_CHARS: usize = 16_000;
/// Largest result of a task that is kept for references.
pub const MAX_KEPT_RESULT_BYTES: usize = 1024 * 1024;
/// Longest message in an audit entry.
pub const MAX_AUDIT_MESSAGE_CHARS: usize = 1_000;
/// Longest name of an unknown tool in an audit entry.
pub const MAX_AUDIT_NAME_CHARS: usize = 200;

// Blocks.

/// Native calls of one reply that run at once.
pub const MAX_PARALLEL_CALLS: usize = 8;
/// Unknown names that one notice lists.
pub const MAX_TOLD_NAMES: usize = 8;
/// Longest `request_id`.
pub const MAX_REQUEST_ID_CHARS: usize = 200;
