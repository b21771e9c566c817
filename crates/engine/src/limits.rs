//! Every number that bounds the engine.

use std::time::Duration;

/// Bytes of a workflow file.
pub const MAX_WORKFLOW_BYTES: usize = 64 << 20;
/// Nodes of one workflow, its groups unfolded.
pub const MAX_NODES: usize = 100_000;
/// Edges of one workflow, its groups unfolded.
pub const MAX_EDGES: usize = 500_000;
/// Groups inside groups, and loops inside loops.
pub const MAX_NESTING: usize = 32;
/// Characters of a node id, a slot or a node type.
pub const MAX_NAME_CHARS: usize = 256;
/// Slots that one node may have, those included that a workflow gave it.
pub const MAX_SLOTS: usize = 256;
/// Bytes of the names of groups in each other.
pub const MAX_PATH_BYTES: usize = 1_024;
/// Problems that are listed one by one.
pub const MAX_PROBLEMS: usize = 200;
/// Characters of one problem.
pub const MAX_PROBLEM_CHARS: usize = 600;
/// Node types that an engine knows.
pub const MAX_NODE_TYPES: usize = 10_000;

/// Bytes of one value.
pub const MAX_VALUE_BYTES: usize = 64 << 20;
/// Bytes of all values that the nodes of a run have made and that are still held; inside a loop, of one iteration.
pub const MAX_RUN_BYTES: usize = 512 << 20;
/// How deep lists and objects may lie in each other in a value.
pub const MAX_VALUE_DEPTH: usize = 128;
/// Chunks that a stream holds before whoever writes must wait.
pub const STREAM_CAPACITY: usize = 64;
/// Chunks that a stream may hold where a consumer cannot read before the stream has ended.
pub const MAX_STREAM_CHUNKS: usize = 1 << 20;
/// Bytes that a stream may hold then.
pub const MAX_STREAM_BYTES: usize = 64 << 20;
/// Bytes of a value that is collected from a stream.
pub const MAX_COLLECTED_BYTES: usize = 64 << 20;

/// Synchronous nodes that one run may run before others get their turn.
pub const NODES_PER_TURN: u32 = 512;
/// Nodes of one run that may wait for something at once.
pub const DEFAULT_PARALLEL_NODES: usize = 256;
/// Runs that are at work at once; more wait in a queue.
pub const DEFAULT_PARALLEL_RUNS: usize = 4_096;
/// Runs that may wait.
pub const MAX_QUEUED_RUNS: usize = 65_536;
/// How often a node may be tried again.
pub const MAX_RETRIES: u32 = 10;
/// The longest wait between two tries.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Iterations where a loop does not say.
pub const DEFAULT_ITERATIONS: u64 = 10;
/// Iterations that a loop may ask for.
pub const MAX_ITERATIONS: u64 = 1_000_000;
/// Bytes that a loop may collect.
pub const MAX_LOOP_BYTES: usize = 64 << 20;
/// Errors that a loop which goes on after errors keeps.
pub const MAX_LOOP_ERRORS: usize = 1_000;

/// Events that wait for one subscriber; the oldest are dropped then, and it is told.
pub const EVENT_CAPACITY: usize = 65_536;
/// Bytes of events that wait for one subscriber.
pub const MAX_EVENT_BYTES: usize = 64 << 20;
/// Bytes of a value in an event; of a longer one its beginning is shown.
pub const MAX_EVENT_VALUE_BYTES: usize = 64 << 10;
/// Bytes of results that are kept for later runs.
pub const DEFAULT_CACHE_BYTES: usize = 64 << 20;
/// Results that are kept for later runs.
pub const MAX_CACHE_ENTRIES: usize = 65_536;

/// Steps of a template or expression.
pub const EXPRESSION_FUEL: u64 = 1_000_000;
/// Bytes of a template or expression.
pub const MAX_EXPRESSION_BYTES: usize = 1 << 20;
/// Bytes that a template may write.
pub const MAX_TEMPLATE_OUTPUT_BYTES: usize = 16 << 20;

/// Objects and lists inside each other in a workflow file; serde_json takes no more either.
pub const MAX_FILE_DEPTH: usize = 127;
/// Values in a workflow file, those of lists and objects included: each takes far more memory than text. Enough for
/// the most nodes and edges.
pub const MAX_FILE_VALUES: usize = 5_000_000;
/// Workflow files of one folder.
pub const MAX_FOLDER_FILES: usize = 10_000;
/// Names in a folder that are looked at, workflows or not.
pub const MAX_FOLDER_NAMES: usize = 100_000;
/// Bytes of all workflow files of one folder.
pub const MAX_FOLDER_BYTES: u64 = 128 << 20;
/// Suggestions that become the only values of an argument.
pub const MAX_CHOICES: usize = 256;
/// Among more nodes than this, none is looked for that is called like one that is not there.
pub const MAX_HINT_NODES: usize = 1_000;

/// Parsed templates, expressions or patterns that are kept, of each.
pub const RECENT_ENTRIES: usize = 128;
/// Bytes of the texts they were parsed from.
pub const RECENT_BYTES: usize = 1 << 20;
/// Bytes beyond which a node's computing is handed to a thread of its own, so that other nodes go on.
pub const HEAVY_BYTES: usize = 32 << 10;
/// Bytes of a regular expression.
pub const MAX_PATTERN_BYTES: usize = 64 << 10;
/// Bytes that a compiled regular expression may take, for each part that needs no backtracking.
pub const MAX_PATTERN_PROGRAM_BYTES: usize = 8 << 20;
/// Bytes of a text that a regular expression is run over.
pub const MAX_PATTERN_TEXT_BYTES: usize = 16 << 20;
/// Steps back in one search; a search without a match takes about one for each character.
pub const MAX_BACKTRACKS: usize = 10_000_000;
/// The longest that all searches of one pattern over one text may take together.
pub const MAX_PATTERN_TIME: Duration = Duration::from_secs(5);
/// Matches of one pattern in one text.
pub const MAX_MATCHES: usize = 1_000_000;
/// Matches that are listed with their groups.
pub const MAX_LISTED_MATCHES: usize = 100_000;
/// Bytes of a text after replacing.
pub const MAX_REPLACED_BYTES: usize = 64 << 20;
/// Rules of one ApplyRegex.
pub const MAX_REGEX_RULES: usize = 1_000;
/// Rows and columns of a matrix.
pub const MAX_MATRIX_SIDE: usize = 256;
/// Bytes of a JSONPath.
pub const MAX_JSON_PATH_BYTES: usize = 4 << 10;
/// Times that a JSONPath may look into everything below.
pub const MAX_PATH_DESCENTS: usize = 2;
/// What the lists of names in a JSONPath may multiply to.
pub const MAX_PATH_CHOICES: usize = 16;
/// Values that a JSONPath may find.
pub const MAX_SELECTED: usize = 100_000;
/// The longest a Delay waits.
pub const MAX_DELAY: Duration = Duration::from_secs(600);
/// Chunks that StreamToString lists.
pub const MAX_LISTED_CHUNKS: usize = 100_000;
/// Characters of a chunk that a StreamLogger shows.
pub const MAX_LOGGED_CHARS: usize = 1_000;

// Nodes that think and act.

/// Bytes of a model's answer, calls included.
pub const MAX_MODEL_REPLY_BYTES: usize = 16 << 20;
/// Native calls in one answer of a model.
pub const MAX_MODEL_CALLS: usize = 512;
/// Calls that ExecuteTool takes at once.
pub const MAX_DECISION_CALLS: usize = 512;
/// Levels of an XML value in a call.
pub const MAX_CALL_DEPTH: usize = 100;
/// Bytes of the texts of one call, references filled in.
pub const MAX_FILLED_CALL_BYTES: usize = 4 << 20;
/// Pieces of a tool's result that wait to be passed on.
pub const TOOL_PIECES: usize = 1_024;
/// Characters of a result in a step that a person follows.
pub const MAX_TRACE_SUMMARY_CHARS: usize = 200;
/// Messages that AgentContext can be told to send.
pub const MAX_CONTEXT_MESSAGES: usize = 10_000;
/// Bytes of a file that a node reads whole.
pub const MAX_NODE_FILE_BYTES: usize = 16 << 20;
/// Parts in which a node reads a file, each a call of the tool.
pub const MAX_NODE_FILE_PARTS: usize = 2_000;
/// Bytes of a picture that may hold a character card.
pub const MAX_CARD_BYTES: usize = 32 << 20;
/// Chunks of a PNG that are looked at.
pub const MAX_PNG_CHUNKS: usize = 65_536;
/// Characters of what code prints as its answer, as it stands in JSON; a longer one goes through a file.
pub const MAX_CODE_NODE_ANSWER: usize = 6_000;
/// Characters of an error of code.
pub const MAX_CODE_NODE_ERROR_CHARS: usize = 4_000;
/// Events that SubscribeEvent gives as a list; the stream has them all.
pub const MAX_HEARD_EVENTS: usize = 1_000;
/// Messages of a chat history, all branches counted.
pub const MAX_CHAT_MESSAGES: usize = 100_000;
/// Characters of the name of a chat or its project.
pub const MAX_CHAT_NAME_CHARS: usize = 120;
/// Characters of the name of a secret.
pub const MAX_SECRET_NAME_CHARS: usize = 64;
/// Operators, brackets and filters in one tag of a template, or in an expression.
pub const MAX_TAG_OPERATORS: usize = 500;
/// Bytes of one value that a template or expression computes with.
pub const MAX_TEMPLATE_VALUE_BYTES: usize = 16 << 20;
/// Bytes of all values together that a template or expression makes on its way.
pub const MAX_TEMPLATE_MADE_BYTES: usize = 64 << 20;
/// Lists inside lists that a template or expression computes with.
pub const MAX_TEMPLATE_NESTING: usize = 64;
/// Widths, indents and counts of a filter.
pub const MAX_TEMPLATE_REPEAT: usize = 10_000;
/// Times that `elif` may follow one `if`.
pub const MAX_TEMPLATE_BRANCHES: usize = 100;
/// Bytes of values that a template may look at: compare, search, sort, go through. A value counts each time.
pub const MAX_TEMPLATE_LOOKED_BYTES: usize = 256 << 20;
/// The longest that filling a template may take.
pub const MAX_TEMPLATE_TIME: Duration = Duration::from_secs(2);
/// Bytes of values that a condition may look at: it is computed in place.
pub const MAX_CONDITION_BYTES: usize = 64 << 20;
/// The longest that computing a condition may take.
pub const MAX_CONDITION_TIME: Duration = Duration::from_millis(250);
/// Bytes that a template may look at in place; if it wants more it begins anew on a thread of its own.
pub const HEAVY_TEMPLATE_BYTES: usize = 256 << 10;
/// Steps that a template may take in place.
pub const HEAVY_TEMPLATE_FUEL: u64 = 20_000;
/// Bytes that are looked at between two looks at the clock: what is small is never late.
pub const CLOCK_BYTES: usize = 64 << 10;
/// Steps back that one search may take in place; if it wants more it begins anew on a thread of its own.
pub const HEAVY_PATTERN_BACKTRACKS: usize = 50_000;
/// The longest that searches may take in place before they go there, too.
pub const HEAVY_PATTERN_TIME: Duration = Duration::from_millis(5);
/// Bytes of a text in which a search that goes back and forth is left to itself; in a longer one the clock is looked at
/// after each character.
pub const MAX_UNSTEPPED_BYTES: usize = 8 << 10;
