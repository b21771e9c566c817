//! The numbers that bound this crate. Tests cross them.

/// Longest key of a TAM field, in bytes as written. A longer line is not shaped like `key:OPEN`.
pub const MAX_KEY_BYTES: usize = 256;
/// Fields read from one TAM block; more give `too_many_parameters`.
pub const MAX_FIELDS: usize = 2_048;
/// Shared arguments of a TAM block, counted once for each step; more give `too_many_parameters`.
pub const MAX_ARGUMENTS: usize = 8 * MAX_FIELDS;
/// Blanks at one place inside a boundary mark.
pub const MAX_BLANKS: usize = 32;
/// Bytes of an `<ACTION …>` or `<tool_call …>` tag behind its name; a longer one begins nothing.
pub const MAX_TAG_BYTES: usize = 1_024;
/// How much of a line is held back while it may become a key's, in bytes.
pub const MAX_HELD_LINE: usize = MAX_KEY_BYTES + 64;
/// How far back the beginning of a line is looked for, in bytes.
pub const MAX_LINE_SEARCH: usize = 4_096;
/// Value marks and stray lines looked at in the TAM blocks of one reply; more give `too_many_parameters`.
pub const MAX_MARKS: usize = 25_000;
/// Blocks read from one reply; more give `too_many_blocks` and stay text.
pub const MAX_BLOCKS: usize = 128;
/// Calls read from one `<ACTION>` block or one native reply.
pub const MAX_CALLS: usize = 512;
/// Elements below a call in XML; deeper gives `nesting_too_deep`.
pub const MAX_DEPTH: usize = 64;
/// Elements in one XML block; more give `too_many_parameters`.
pub const MAX_ELEMENTS: usize = 5_000;
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
/// Longest function or property name that every provider takes.
pub const MAX_FUNCTION_NAME_BYTES: usize = 64;
/// Longest name in a text dialect; a longer id gets an alias.
pub const MAX_ALIAS_BYTES: usize = 128;
/// Longest message of an error in an observation, in characters.
pub const MAX_MESSAGE_CHARS: usize = 4_000;
/// Longest reference (path, URI, task id) in an observation, in characters.
pub const MAX_REFERENCE_CHARS: usize = 1_000;
/// Tools and skills listed in one manifest; the rest is counted.
pub const MAX_MANIFEST_TOOLS: usize = 1_000;
/// Longest description of a tool in a manifest, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Longest description of a parameter in a manifest, in characters.
pub const MAX_PARAMETER_DESCRIPTION_CHARS: usize = 600;
/// Longest single value (default, enum entry) shown in a manifest, in characters.
pub const MAX_SHOWN_VALUE_CHARS: usize = 120;
/// Enum entries shown in a manifest; the rest is counted.
pub const MAX_SHOWN_ENUM: usize = 40;
/// Levels of nested parameters that a manifest lists.
pub const MAX_SHOWN_DEPTH: usize = 5;
/// Lines of parameters that a manifest lists for one tool; the rest is counted.
pub const MAX_SHOWN_PARAMETERS: usize = 200;
/// Calls shown as examples in one manifest.
pub const MAX_EXAMPLES: usize = 3;
/// Longest example call, in characters; a longer one is not shown.
pub const MAX_EXAMPLE_CHARS: usize = 2_000;
/// Nesting of a JSON value that can be rendered and read again.
pub const MAX_JSON_DEPTH: usize = 100;
/// Levels of a schema that are cleaned for a provider; deeper ones become a plain string.
pub const MAX_CLEANED_SCHEMA_DEPTH: usize = 32;
/// Parts of one tool's schema that are written out for a provider without references.
pub const MAX_CLEANED_SCHEMA_NODES: usize = 2_000;
/// References and alternatives followed on one path through a schema that is written out.
pub const MAX_REFERENCE_HOPS: usize = 6;
/// Values made up for one example call; a schema that asks for more (or refers to itself) gets none. Also
/// bounds the recursion.
pub const MAX_SAMPLED_VALUES: usize = 60;
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
