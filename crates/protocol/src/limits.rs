//! Every number that bounds this crate. A test crosses each of them.

/// Longest key of a TAM field, in bytes as written. A longer line is not shaped like `key:OPEN`.
pub const MAX_KEY_BYTES: usize = 256;
/// Fields read from one TAM block; more give `too_many_parameters`.
pub const MAX_FIELDS: usize = 2_048;
/// Blocks read from one reply; more give `too_many_blocks` and stay text.
pub const MAX_BLOCKS: usize = 128;
/// Calls read from one `<ACTION>` block or one native reply.
pub const MAX_CALLS: usize = 512;
/// Elements below a call in XML; deeper gives `nesting_too_deep`.
pub const MAX_DEPTH: usize = 64;
/// Elements in one XML block; more give `too_many_parameters`.
pub const MAX_ELEMENTS: usize = 10_000;
/// Attributes of one XML tag; more give `too_many_parameters`.
pub const MAX_ATTRIBUTES: usize = 64;
/// Comments kept of one block; they are for display only.
pub const MAX_COMMENTS: usize = 256;
/// Tags that begin no call and end marks that end nothing; after so many the rest is not searched.
pub const MAX_FALSE_STARTS: usize = 512;
/// Diagnostics kept for one reply; a last one says that there were more.
pub const MAX_DIAGNOSTICS: usize = 100;
/// Highest `retry`.
pub const MAX_RETRY: u8 = 10;
/// Longest part of the model's text that a message quotes, in characters.
pub const MAX_QUOTE_CHARS: usize = 60;
/// Longest info string of a code fence that is taken as wrapping a call, in bytes.
pub const MAX_FENCE_INFO_BYTES: usize = 32;
/// Largest result that `render_observation` puts into a prompt, in characters.
pub const MAX_OBSERVATION_CHARS: usize = 32_000;
/// Levels of a schema (and of the value it describes) that `bind` follows; deeper gives `too_complex`.
pub const MAX_SCHEMA_DEPTH: usize = 128;
/// Schemas that `$ref` and `allOf` may put together into one.
pub const MAX_SCHEMA_PARTS: usize = 64;
/// Work that `bind` spends on the values of one call, about one step per value and schema tried on it;
/// more gives `too_complex`.
pub const MAX_BIND_STEPS: usize = 200_000;
/// Problems listed for one call; the rest is counted.
pub const MAX_PROBLEMS: usize = 20;
/// Names or values that one message lists.
pub const MAX_LISTED_NAMES: usize = 8;
/// Names that are looked through for a "did you mean".
pub const MAX_SUGGESTION_CANDIDATES: usize = 256;
/// Longest name for which a "did you mean" is sought, in characters.
pub const MAX_SUGGESTION_CHARS: usize = 64;
