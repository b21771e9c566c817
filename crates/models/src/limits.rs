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

// Providers and prices.

/// Size of one file of providers.
pub const MAX_PROVIDER_FILE_BYTES: u64 = 256 * 1024;
/// Files of providers in one folder.
pub const MAX_PROVIDER_FILES: usize = 256;
/// Providers all in all.
pub const MAX_PROVIDERS: usize = 1_000;
/// Dearest price in dollars per million tokens. More is a typing error.
pub const MAX_PRICE: f64 = 1_000_000.0;

// Channels.

/// Keys of one channel.
pub const MAX_KEYS: usize = 32;
/// Headers of one channel.
pub const MAX_CHANNEL_HEADERS: usize = 32;
/// Attempts beyond the first where a channel does not say.
pub const DEFAULT_RETRIES: u32 = 3;
/// Most of them that a channel may ask for.
pub const MAX_RETRIES: u32 = 10;
/// Longest pause before the first repetition; it doubles with each one.
pub const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// Longest pause before any repetition.
pub const BACKOFF_MAX: Duration = Duration::from_secs(20);
/// Longest wait that a provider may ask for. Where it asks for more, another key or channel is tried.
pub const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);
/// How long a key that was refused is left alone while there are others.
pub const REFUSED_KEY_ASIDE: Duration = Duration::from_secs(10 * 60);
/// Longest time for which a key is put aside, whatever the provider says.
pub const MAX_KEY_ASIDE: Duration = Duration::from_secs(24 * 60 * 60);

// Routing.

/// Aliases that lead to one another before the model.
pub const MAX_ALIAS_STEPS: usize = 16;
/// Channels that are asked for one reply, one after the other.
pub const MAX_CANDIDATES: usize = 16;
/// Characters of each given-up attempt in the message of the last.
pub const MAX_ATTEMPT_CHARS: usize = 400;
/// Near names that are offered where a model was not found.
pub const MAX_NEAR_NAMES: usize = 3;
/// Windows that are remembered of one channel's listing.
pub const MAX_LEARNED_MODELS: usize = 2_000;

// Discovery.

/// How long a server of this machine may take to say what it is, and an Ollama then to tell of its models.
pub const DISCOVER_WAIT: Duration = Duration::from_secs(3);
/// How long it may take to accept a connection: it is on this machine.
pub const DISCOVER_CONNECT: Duration = Duration::from_millis(500);
/// Places that are looked at.
pub const MAX_PLACES: usize = 64;
/// Size of one answer.
pub const MAX_DISCOVER_BYTES: usize = 4 * 1024 * 1024;
/// Models of an Ollama that are asked one by one how much they hold.
pub const MAX_SHOWN_MODELS: usize = 32;

// Chat completions and raw payloads.

/// Bytes around the words of an event that are kept to know the next one by. More are not worth comparing.
pub const MAX_STENCIL_BYTES: usize = 4 * 1024;
/// Bytes of one server-sent event. A reply that comes in one piece is one event.
pub const MAX_EVENT_BYTES: usize = MAX_REPLY_BYTES;
/// Bytes of a call's id or name, which are kept until the call is complete.
pub const MAX_CALL_NAME_BYTES: usize = 1_024;
/// Entries of `reasoning_details` or `thinking_blocks` in one reply.
pub const MAX_REASONING_DETAILS: usize = 1_000;
/// How deep extras are merged into a request; what lies deeper replaces what was there.
pub const MAX_EXTRAS_DEPTH: usize = 32;
/// Bytes of a payload that is sent as it is, images included.
pub const MAX_RAW_BYTES: usize = 64 * 1024 * 1024;

// Over the network.

/// Longest of all timeouts that can be set. Later moments are more than the clock can hold.
pub const MAX_WAIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Headers that a provider and its channel may add to a request.
pub const MAX_HEADERS: usize = 64;
/// Size of one header's value, and of a key.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Headers of an answer.
pub const MAX_ANSWER_HEADERS: usize = 128;
/// Size of an answer that comes as a whole: its words are escaped, and stand among other things.
pub const MAX_WHOLE_BYTES: usize = 2 * MAX_REPLY_BYTES;
/// How much of a failure's body is read.
pub const MAX_FAILURE_BYTES: usize = 16 * 1024;
/// How long it may take to come.
pub const FAILURE_WAIT: Duration = Duration::from_secs(5);
/// Characters of a server's own words in a message, wherever they came from.
pub const MAX_SERVER_WORDS: usize = 400;
/// How long the end of a connection's answer is waited for after the end of the reply, so that the next request can use
/// the same connection. Servers write the two one right after the other.
pub const LINGER: Duration = Duration::from_millis(50);
/// What may still come in that time.
pub const MAX_LINGER_BYTES: usize = 64 * 1024;
/// How long a connection is kept for the next request.
pub const POOL_IDLE: Duration = Duration::from_secs(60);
/// Connections to one host that are kept.
pub const MAX_IDLE_CONNECTIONS: usize = 32;
/// Pools of connections: one for each kind of way and connect timeout.
pub const MAX_POOLS: usize = 32;
/// How often a silent connection is asked whether it still lives.
pub const TCP_KEEPALIVE: Duration = Duration::from_secs(30);
/// Events for which room is kept while the next pieces of the network are waited for.
pub const KEPT_EVENTS: usize = 64;
/// Bytes that are there and are read before what they say is handed out, and no more of them than one piece beyond it.
pub const MAX_GATHERED_BYTES: usize = 16 * 1024;
/// Pieces of the network that are read at most before that.
pub const MAX_GATHERED_PIECES: usize = 64;

/// Shortest key that is looked for in what a model says. Shorter ones, `ollama` or `EMPTY`, stand for no key at all and are
/// ordinary words.
pub const SHORTEST_HIDDEN: usize = 8;
/// Bytes of a key's beginning at the end of a piece that make it wait for the next one. Fewer tell nothing.
pub const HOLD_FROM: usize = 4;

// Listing models.

/// Size of one page of a list.
pub const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;
/// Pages of a list.
pub const MAX_LIST_PAGES: usize = 20;
/// Models of a list.
pub const MAX_LISTED: usize = 10_000;
/// Size of a model's name.
pub const MAX_MODEL_NAME_BYTES: usize = 512;
/// How long a whole list may take.
pub const LIST_WAIT: Duration = Duration::from_secs(30);

// Wire formats of Anthropic and Gemini.

/// Sent as `max_tokens` where neither the request nor the provider's data says: Anthropic insists on one, and no model
/// in use takes less.
pub const DEFAULT_MAX_TOKENS: u32 = 8_192;
/// How deep a tool's schema is followed; what is deeper may be anything.
pub const MAX_SCHEMA_DEPTH: usize = 24;
/// Values of a tool's schema after `$ref`s are written out; the rest may be anything.
pub const MAX_SCHEMA_NODES: usize = 4_000;
// Models that are asked again without a channel.

/// Attempts at one request.
pub const RETRYING_ATTEMPTS: u32 = 3;
/// Pause before the second attempt; doubled before the third.
pub const RETRYING_WAIT: Duration = Duration::from_millis(250);
/// Longest pause that a model may ask for; for more, its error is passed on.
pub const RETRYING_MAX_WAIT: Duration = Duration::from_secs(10);
// Grammars.

/// Tools of one grammar. Servers read the grammar anew for each request.
pub const MAX_GRAMMAR_TOOLS: usize = 64;
/// Calls of one reply under a grammar.
pub const MAX_GRAMMAR_CALLS: usize = 16;
/// Size of a grammar.
pub const MAX_GRAMMAR_BYTES: usize = 256 * 1024;
/// Schemas that are read for one tool, each level of one that refers to itself counted.
pub const MAX_GRAMMAR_SHAPES: usize = 4_000;
/// Levels of arrays, objects and unions in one parameter. What needs more cannot be written.
pub const MAX_GRAMMAR_DEPTH: usize = 10;
/// Items of one array, fields of an object that declares none. Small models do not stop by themselves.
pub const MAX_GRAMMAR_ITEMS: usize = 32;
/// Levels of a value that a schema says nothing about.
pub const MAX_GRAMMAR_ANY_DEPTH: usize = 3;
/// Integers between two bounds that are listed one by one; of more only the sign is held.
pub const MAX_GRAMMAR_LISTED_INTEGERS: u64 = 32;

// Exams.

/// Tasks of one exam.
pub const MAX_EXAM_TASKS: usize = 64;
/// How often each task is asked.
pub const MAX_EXAM_REPEATS: usize = 20;
/// How long one answer may take; a small model on a slow machine needs minutes.
pub const EXAM_TASK_TIMEOUT: Duration = Duration::from_secs(300);
/// Tokens that a model may think before it answers a task, on top of those of the answer.
pub const EXAM_THINKING_TOKENS: u32 = 4_096;
/// Characters of a wrong reply that are kept.
pub const MAX_EXAM_EXCERPT_CHARS: usize = 2_000;
