//! The numbers that bound this crate, by subject. Tests cross them.

use std::time::Duration;

// Conversations.

/// Messages of one conversation.
pub const MAX_MESSAGES: usize = 10_000;
/// Parts of one message.
pub const MAX_PARTS: usize = 1_000;
/// Calls of one message, sent or received: as many as the parser reads.
pub const MAX_TOOL_CALLS: usize = innkeeper_protocol::limits::MAX_CALLS;

// Replies.

/// Size of one reply: text, reasoning, calls and the provider's own parts together.
pub const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;
/// Parts of one reply. A model that changes between thinking and talking this often is not making sense.
pub const MAX_REPLY_PARTS: usize = 4_096;

// Names.

/// Names that are listed where a model was not found.
pub const MAX_LISTED_MODELS: usize = 20;
/// Characters of somebody else's name in a message.
pub const MAX_QUOTED_CHARS: usize = 80;

// Rehearsal: reading scripts.

/// Size of a script.
pub const MAX_SCRIPT_BYTES: usize = 256 * 1024;
/// How deep a script may nest: scene, reply, call and the call's arguments.
pub const MAX_SCRIPT_DEPTH: usize = 24;
/// Values in a script, those of aliases counted each time.
pub const MAX_SCRIPT_NODES: usize = 20_000;
/// Scenes of a script.
pub const MAX_SCENES: usize = 256;
/// Calls, pieces or texts to look for in one list of a script.
pub const MAX_SCRIPT_LIST: usize = 1_000;
/// Problems that are told of one script.
pub const MAX_SCRIPT_PROBLEMS: usize = 50;
/// Memory that one regular expression of a script may take once compiled.
pub const MAX_PATTERN_BYTES: usize = 1024 * 1024;

// Rehearsal: playing them.

/// Longest pause before a piece of a reply.
pub const MAX_DELAY: Duration = Duration::from_secs(60);
/// Longest `retry_after_ms`.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);
/// Characters of a piece where a script does not say.
pub const DEFAULT_CHUNK_CHARS: usize = 16;
/// Size of all texts of one reply after filling in what was captured. The rest is left out.
pub const MAX_FILLED_BYTES: usize = 1024 * 1024;
/// Characters of a message that the fallback repeats.
pub const MAX_ECHOED_CHARS: usize = 200;
