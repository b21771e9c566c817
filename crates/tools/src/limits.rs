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
