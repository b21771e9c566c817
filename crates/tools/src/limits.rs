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
