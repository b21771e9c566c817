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
/// How much longer is waited for a tool or a hook that keeps the time itself, and can tell what it had done until then.
pub const TIMEKEEPER_GRACE: Duration = Duration::from_secs(5);
/// First and longest pause before a call is tried again.
pub const MIN_BACK_OFF: Duration = Duration::from_millis(250);
pub const MAX_BACK_OFF: Duration = Duration::from_secs(30);

// Tasks.

/// Tasks of one run at work at once.
pub const MAX_RUNNING_TASKS: usize = 32;
/// Tasks that are remembered, those that have ended included.
pub const MAX_KEPT_TASKS: usize = 2_000;
/// Ended tasks on disk that belong to no agent's run: those of plain calls.
pub const MAX_LOOSE_TASKS: u32 = 1_000;
/// How long these stay, however few they are.
pub const LOOSE_TASK_LIFE: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);
/// Tasks that begin until it is looked again whether some can go; the first one looks, too.
pub const TASKS_BETWEEN_PRUNINGS: u64 = 256;
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
/// Characters of a long result that are told where it could not be kept.
pub const MAX_TOLD_BEGINNING: usize = 1_000;
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
// Files.

/// Longest path below a root, in bytes. Below what every file system takes, home folder included.
pub const MAX_PATH_BYTES: usize = 2048;
/// Longest name of one file or folder, in bytes: what common file systems take.
pub const MAX_NAME_BYTES: usize = 255;
/// Deepest path below a root.
pub const MAX_PATH_SEGMENTS: usize = 64;
/// Largest file that is read whole into memory.
pub const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file of which lines are read: it is gone through once, not kept.
pub const MAX_SCAN_BYTES: u64 = 256 * 1024 * 1024;
/// Largest content that is written or appended at once.
pub const MAX_WRITE_BYTES: u64 = 16 * 1024 * 1024;
/// Largest file that appending may make.
pub const MAX_APPENDED_BYTES: u64 = 256 * 1024 * 1024;
/// Entries that a listing may return.
pub const MAX_LIST_ENTRIES: usize = 1000;
/// Levels that a listing may go down.
pub const MAX_LIST_DEPTH: usize = 8;
/// Names looked at in one folder; what is beyond is left out, and the listing says so.
pub const MAX_FOLDER_NAMES: usize = 20_000;
/// Files and folders that one copy may make.
pub const MAX_COPY_ENTRIES: usize = 10_000;
/// Bytes that one copy may make.
pub const MAX_COPY_BYTES: u64 = 1024 * 1024 * 1024;
/// Things in the recycle bin. A full one refuses more rather than lose what is in it.
pub const MAX_RECYCLED: usize = 10_000;
/// Largest description of a thing in the recycle bin.
pub const MAX_RECYCLE_INFO_BYTES: u64 = 64 * 1024;
/// Files that one search looks into.
pub const MAX_SEARCH_FILES: usize = 2000;
/// Bytes that one search reads.
pub const MAX_SEARCH_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file that a search looks into.
pub const MAX_SEARCH_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Levels that a search goes down.
pub const MAX_SEARCH_DEPTH: usize = 16;
/// Longest text or expression to search for.
pub const MAX_QUERY_BYTES: usize = 1000;
/// Memory for a compiled expression.
pub const MAX_REGEX_BYTES: usize = 1024 * 1024;

// The File.* tools: what a model is given at once.

/// Lines that File.Read returns.
pub const MAX_TOOL_READ_LINES: u64 = 1200;
/// Bytes of text that File.Read returns.
pub const MAX_TOOL_READ_BYTES: usize = 256 * 1024;
/// Bytes of a file that `File.Read` gives as base64.
pub const MAX_TOOL_READ_BASE64_BYTES: u64 = 8 * 1024 * 1024;
/// Largest file that File.ApplyEdit edits.
pub const MAX_TOOL_EDIT_BYTES: u64 = MAX_WRITE_BYTES;
/// Hits that File.Search returns.
pub const MAX_TOOL_HITS: usize = 100;
/// Lines around a hit.
pub const MAX_TOOL_CONTEXT_LINES: usize = 5;
/// Characters of one line in a snippet.
pub const MAX_SNIPPET_LINE_CHARS: usize = 240;
/// Lines named when a search string is not unique.
pub const MAX_NAMED_LINES: usize = 10;
// Secrets and what is kept of calls.

/// Largest `secrets.toml`, settings file or consent file that is read.
pub const MAX_KEPT_FILE_BYTES: u64 = 1024 * 1024;
/// A shorter text would be found everywhere, so it could not be kept secret.
pub const MIN_SECRET_CHARS: usize = 4;
/// A line of a secret with several lines is looked for by itself if it has at least this many bytes.
pub const MIN_SECRET_LINE_BYTES: usize = 16;
/// Longest secret: a private key fits, and it still passes as an environment variable.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;
/// Most names in a secret's name: `users.alice.plugins.signet.key` has five.
pub const MAX_SECRET_NAME_PARTS: usize = 8;
/// Longest text that the audit keeps of one argument.
pub const MAX_AUDIT_TEXT_CHARS: usize = 2_000;
/// Deepest nesting of what a tool gives back: whoever keeps it puts it into something larger, and must be able to read it
/// again.
pub const MAX_RESULT_DEPTH: usize = 64;
/// Deepest nesting of arguments that the audit keeps.
pub const MAX_AUDIT_DEPTH: usize = 64;

// The task.* tools.

/// Longest wait of `task.await`.
pub const MAX_AWAIT: Duration = Duration::from_secs(300);
/// Tasks that one `task.await` names.
pub const MAX_AWAITED_TASKS: u64 = 64;
// Reading plugins.

/// Plugins that are read from one search folder.
pub const MAX_PLUGINS: usize = 500;
/// Longest name of a plugin.
pub const MAX_PLUGIN_NAME_CHARS: usize = 64;
/// Largest `plugin.yaml`. It is not opened if it is larger.
pub const MAX_MANIFEST_BYTES: usize = 256 * 1024;
/// Largest tool file. It is not opened if it is larger.
pub const MAX_TOOL_FILE_BYTES: usize = 256 * 1024;
/// How deep a manifest may nest.
pub const MAX_YAML_DEPTH: usize = 32;
/// Values in a manifest, those that aliases repeat included.
pub const MAX_YAML_NODES: usize = 50_000;
/// Files and folders in a plugin, not counting what package managers put there.
pub const MAX_PLUGIN_FILES: usize = 2_000;
/// How deep the folders of a plugin may nest.
pub const MAX_PLUGIN_DEPTH: usize = 32;
/// Tools of one plugin.
pub const MAX_PLUGIN_TOOLS: usize = 200;
/// Entries in any list of a manifest or a tool file.
pub const MAX_PLUGIN_LIST: usize = 200;
/// Longest description of a tool.
pub const MAX_TOOL_DESCRIPTION_CHARS: usize = 8_000;
/// Longest line of text that a plugin may give for people to read (names, labels).
pub const MAX_PLUGIN_LABEL_CHARS: usize = 200;
/// Longest key of a plugin's option.
pub const MAX_OPTION_KEY_CHARS: usize = 64;
/// Longest time that a tool or service may ask for.
pub const MAX_DECLARED_TIMEOUT: Duration = Duration::from_secs(3600);
/// A timeout below this was probably meant in seconds.
pub const UNLIKELY_TIMEOUT: Duration = Duration::from_millis(100);
/// Arguments of one command.
pub const MAX_COMMAND_ARGUMENTS: usize = 100;
/// Longest command.
pub const MAX_COMMAND_CHARS: usize = 4_096;
/// Problems (and warnings) that are listed for one plugin.
pub const MAX_PLUGIN_PROBLEMS: usize = 100;
/// Longest message of a problem.
pub const MAX_PROBLEM_CHARS: usize = 500;

// Nodes of plugins.

/// Nodes of one plugin.
pub const MAX_PLUGIN_NODES: usize = 200;
/// Largest node file. It is not opened if it is larger.
pub const MAX_NODE_FILE_BYTES: usize = 256 * 1024;
/// Longest type of a node, without its namespace.
pub const MAX_NODE_TYPE_CHARS: usize = 64;
/// Modes of one node.
pub const MAX_NODE_MODES: usize = 100;
/// Inputs, outputs and settings of a node, of each at most so many.
pub const MAX_NODE_SLOTS: usize = 100;
/// Longest key of a slot.
pub const MAX_SLOT_KEY_CHARS: usize = 64;

// Watching plugins.

/// How long it must be quiet before a change is told.
pub const PLUGIN_QUIET: Duration = Duration::from_millis(200);
/// After which time a change is told even if it is not quiet.
pub const MAX_PLUGIN_UNREST: Duration = Duration::from_secs(2);
/// Folders that are watched for changes.
pub const MAX_WATCHED_FOLDERS: usize = 8_192;
// Scripts.

/// Longest time a script may take when nothing else is said.
pub const DEFAULT_SCRIPT_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time a script may take, whatever it declares.
pub const MAX_SCRIPT_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Most that a script is given on stdin, the files it is handed included.
pub const MAX_SCRIPT_INPUT_BYTES: usize = 24 * 1024 * 1024;
/// Most that the files for one call of a script may have together; in base64 they still fit into its input.
pub const MAX_SCRIPT_FILE_BYTES: usize = 16 * 1024 * 1024;
/// Most that a script may print; a file that it hands over is part of that.
pub const MAX_SCRIPT_OUTPUT_BYTES: usize = 16 * 1024 * 1024;
/// How much of the end of stderr is kept.
pub const MAX_SCRIPT_STDERR_BYTES: usize = 16 * 1024;
/// Longest line on stderr that is looked at as a line; what is longer is kept as it comes.
pub const MAX_SCRIPT_LINE_BYTES: usize = 4 * 1024;
/// Values in the JSON that a script answers with.
pub const MAX_SCRIPT_VALUES: usize = 500_000;
/// Most files that a script may hand over in one answer.
pub const MAX_SCRIPT_FILES: usize = 32;
/// Most lines of its log that are passed on, and of stderr that are told.
pub const MAX_SCRIPT_TOLD_LINES: usize = 20;
/// Longest text from a script in a message.
pub const MAX_SCRIPT_MESSAGE_CHARS: usize = 2_000;
/// Longest time an interpreter may take to say where it is.
pub const INTERPRETER_PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest answer of an interpreter that is asked where it is.
pub const MAX_INTERPRETER_ANSWER_BYTES: usize = 64 * 1024;
/// Links that are followed from the name of a program to its file; the kernel follows as many.
pub const MAX_LINK_HOPS: usize = 40;
/// How much of a program's beginning is looked at for `#!`; the kernel looks at as much.
pub const MAX_SHEBANG_BYTES: u64 = 256;

// Settings of plugins.

/// Longest text of one setting; it has to pass as an environment variable.
pub const MAX_SETTING_BYTES: usize = 64 * 1024;
// Policy.

/// Rules of a policy.
pub const MAX_RULES: usize = 1_000;
/// Argument patterns of one rule.
pub const MAX_RULE_ARGUMENTS: usize = 20;
/// Longest pattern, argument name, rule name or reason.
pub const MAX_RULE_CHARS: usize = 500;
/// Elements of a list argument that a rule looks at; a longer list cannot be decided.
pub const MAX_RULE_ELEMENTS: usize = 1_000;
/// Longest argument that a pattern about places is compared with; a longer one cannot be decided.
pub const MAX_PLACE_CHARS: usize = 10_000;

// Approvals.

/// How long a person has to answer when nothing else is said.
pub const APPROVAL_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a rule may let a question of a run wait, at least and at most.
pub const MIN_APPROVAL_EXPIRES: Duration = Duration::from_secs(1);
pub const MAX_APPROVAL_EXPIRES: Duration = Duration::from_secs(365 * 86_400);
/// Bytes of arguments as a person has changed them, and how deep they are nested.
pub const MAX_EDIT_BYTES: usize = 256 << 10;
pub const MAX_EDIT_DEPTH: usize = 64;
/// Longest reason of an answer that is passed on.
pub const MAX_APPROVAL_REASON_CHARS: usize = 500;
/// Runs that may have answers "for this run" at the same time.
pub const MAX_RUNS_WITH_GRANTS: usize = 10_000;
/// Answers "for this run" in one run.
pub const MAX_GRANTS_PER_RUN: usize = 200;
/// Questions that may wait for an answer at the same time.
pub const MAX_OPEN_QUESTIONS: usize = 1_000;
// Built-in tools: time and dice.

/// Longest name of a time zone; the longest there is has 32 letters.
pub const MAX_TIME_ZONE_CHARS: usize = 64;
/// Names proposed for a time zone that does not exist.
pub const MAX_TIME_ZONE_HINTS: usize = 3;
/// Dice in one throw.
pub const MAX_DICE: u32 = 100;
pub const MAX_DICE_SIDES: u32 = 1_000_000;
/// Largest number added to a throw or taken from it.
pub const MAX_DICE_MODIFIER: i64 = 1_000_000;
/// Numbers drawn for one die before the source is called broken; one in 2^44 draws is thrown away.
pub const MAX_DICE_DRAWS: usize = 16;

// Built-in tools: JSON queries.

/// Largest JSON that is looked into, as text.
pub const MAX_JSON_QUERY_BYTES: usize = 4 << 20;
pub const MAX_JSON_QUERY_NODES: usize = 200_000;
/// Levels of the JSON; what serde_json itself reads.
pub const MAX_JSON_QUERY_DEPTH: usize = 127;
pub const MAX_JSON_QUERY_CHARS: usize = 1_000;
/// Brackets and parentheses inside each other in a query; the parser of paths recurses on them.
pub const MAX_JSON_QUERY_NESTING: usize = 8;
/// Values visited for one query at most.
pub const MAX_JSON_QUERY_WORK: f64 = 20_000_000.0;
/// What one use of a pattern counts for: it is compiled each time.
pub const JSON_QUERY_PATTERN_WORK: f64 = 1_000.0;
/// The same for a pattern that counts repetitions or stands in the JSON.
pub const JSON_QUERY_HEAVY_PATTERN_WORK: f64 = 200_000.0;
pub const MAX_JSON_QUERY_MATCHES: usize = 1_000;
/// All matches together.
pub const MAX_JSON_QUERY_RESULT_BYTES: usize = 1 << 20;

// Built-in tools: HTTP.

/// For a whole request, redirects included, unless the settings or the call say otherwise.
pub const DEFAULT_HTTP_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time for a request, whatever is asked for.
pub const MAX_HTTP_TIMEOUT: Duration = Duration::from_secs(120);
pub const DEFAULT_HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are kept unless the settings say otherwise.
pub const DEFAULT_HTTP_BYTES: usize = 256 << 10;
/// Bytes of an answer that are kept at most, whatever is asked for.
pub const MAX_HTTP_BYTES: usize = 4 << 20;
pub const MAX_HTTP_BODY_BYTES: usize = 1 << 20;
pub const MAX_HTTP_URL_CHARS: usize = 4_096;
pub const MAX_HTTP_REDIRECTS: usize = 5;
/// Headers of a request.
pub const MAX_HTTP_HEADERS: usize = 32;
/// Names and values of a request's headers together.
pub const MAX_HTTP_HEADER_BYTES: usize = 8 << 10;
/// Header lines of an answer; one with more is not read.
pub const MAX_HTTP_ANSWER_LINES: usize = 128;
/// Headers of an answer that are shown.
pub const MAX_HTTP_ANSWER_HEADERS: usize = 40;
/// Longest value of a header that is shown.
pub const MAX_HTTP_ANSWER_HEADER_CHARS: usize = 500;

// Built-in tools: state and events.

pub const MAX_STATE_PATH_CHARS: usize = 512;
pub const MAX_STATE_PATH_PARTS: usize = 32;
/// Changes in one call.
pub const MAX_STATE_CHANGES: usize = 100;
/// A whole state, about as written down.
pub const MAX_STATE_BYTES: usize = 1 << 20;
/// Levels of a state.
pub const MAX_STATE_DEPTH: usize = 64;
pub const MAX_EVENT_TYPE_CHARS: usize = 128;
/// Words in the type of an event.
pub const MAX_EVENT_TYPE_PARTS: usize = 8;
pub const MAX_EVENT_PAYLOAD_BYTES: usize = 64 << 10;
pub const MAX_EVENT_TARGET_CHARS: usize = 128;

// Built-in tools: text.

/// Largest text that is worked on.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Largest text that comes out.
pub const MAX_TEXT_RESULT_BYTES: usize = 2 << 20;
/// Longest pattern, as written.
pub const MAX_TEXT_PATTERN_CHARS: usize = 2_000;
/// Largest pattern, as compiled: the factor of its linear time.
pub const MAX_TEXT_PATTERN_BYTES: usize = 1 << 20;
/// Matches that are listed unless the call says otherwise.
pub const DEFAULT_TEXT_MATCHES: usize = 100;
pub const MAX_TEXT_MATCHES: usize = 1_000;
/// Longest match that is shown whole.
pub const MAX_TEXT_MATCH_CHARS: usize = 2_000;
/// Parts of a split text.
pub const MAX_TEXT_PARTS: usize = 10_000;

// Files that a call mentions.

/// Longest text that is taken for the name of a file.
pub const MAX_MENTION_BYTES: usize = 4_096;
/// URIs that are looked at in one text.
pub const MAX_MENTIONS: usize = 1_000;
/// Characters of a failure that a later step is told.
pub const MAX_TOLD_CHARS: usize = 500;
// Built-in tools: the code interpreter.

/// Time for a piece of code when the call says nothing.
pub const DEFAULT_CODE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time for a piece of code, whatever is asked for.
pub const MAX_CODE_TIMEOUT: Duration = Duration::from_secs(300);
/// What a call may take beyond its code: waiting for its turn, reading files and keeping them.
pub const CODE_SLACK: Duration = Duration::from_secs(120);
/// Most that code may print, to stdout and to stderr each.
pub const MAX_CODE_PRINTED_BYTES: u64 = 8 << 20;
/// How much of the end of stderr is kept.
pub const MAX_CODE_STDERR_BYTES: usize = 256 << 10;
/// Longest code, and longest text for its stdin.
pub const MAX_CODE_BYTES: usize = 1 << 20;
pub const MAX_CODE_STDIN_BYTES: usize = 4 << 20;
/// Files that are laid into the working folder for one call, and all their bytes.
pub const MAX_CODE_INPUT_FILES: usize = 32;
pub const MAX_CODE_INPUT_BYTES: u64 = 32 << 20;
/// Files of the working folder that are kept for one call, and all their bytes.
pub const MAX_CODE_OUTPUT_FILES: usize = 32;
pub const MAX_CODE_OUTPUT_BYTES: u64 = 32 << 20;
/// Files that are named as not kept.
pub const MAX_CODE_NAMED_LEFT: usize = 8;
/// Most of stdout, of stderr and of a session's result that is shown, as it stands in JSON. Together with the names of
/// files a result stays within [`MAX_SHOWN_CHARS`].
pub const MAX_CODE_SHOWN_STDOUT: usize = 8_000;
pub const MAX_CODE_SHOWN_STDERR: usize = 3_000;
pub const MAX_CODE_SHOWN_RESULT: usize = 3_000;
/// Sessions that keep their state at the same time; a further one ends the one that was not used for the longest.
pub const MAX_CODE_SESSIONS: usize = 16;
/// Runs of which is remembered how their session ended.
pub const MAX_CODE_ENDED_SESSIONS: usize = 1_000;
/// A session that is not used for so long ends.
pub const CODE_SESSION_IDLE: Duration = Duration::from_secs(10 * 60);
/// How many times the processor time of one execution a whole session has.
pub const CODE_SESSION_CPU_FACTOR: u32 = 10;
/// Longest beginning of a session's answer, which names the files that follow.
pub const MAX_CODE_ANSWER_BYTES: usize = 512 << 10;
/// How long the end of a session's worker is waited for, once its pipes are closed or it was told to end.
pub const CODE_WORKER_GRACE: Duration = Duration::from_secs(3);

// Workers: scripts that stay up between calls.

/// Workers at once, of all plugins and people together; each is a process.
pub const MAX_WORKERS: usize = 16;
/// Workers that are remembered, those included that are not running but have failed lately.
pub const MAX_WORKER_SLOTS: usize = 256;
/// How long a worker is kept without being asked, unless its plugin says otherwise.
pub const DEFAULT_WORKER_IDLE: Duration = Duration::from_secs(60);
/// Least and most of that.
pub const MIN_WORKER_IDLE: Duration = Duration::from_secs(1);
pub const MAX_WORKER_IDLE: Duration = Duration::from_secs(60 * 60);
/// Processor time of a worker in its whole life. One that has used it is ended, and the next call starts another.
pub const WORKER_CPU: Duration = Duration::from_secs(60 * 60);
/// Calls that one worker may be given at once.
pub const MAX_WORKER_CONCURRENCY: usize = 64;
/// Longest line from a worker; an answer is one line.
pub const MAX_WORKER_LINE_BYTES: usize = MAX_SCRIPT_OUTPUT_BYTES;
/// How long a worker has to end a call that nobody wants any more, before it is ended itself.
pub const WORKER_CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How long a worker has to end after its standard input was closed.
pub const WORKER_STOP_GRACE: Duration = Duration::from_secs(2);
/// How long the end of a worker that was killed is waited for.
pub const WORKER_KILL_GRACE: Duration = Duration::from_secs(5);
/// How long the pipes of a worker that has ended are still listened to.
pub const WORKER_PIPE_GRACE: Duration = Duration::from_secs(2);
/// First and longest pause before a worker is started again that has died twice or more without an answer.
pub const MIN_WORKER_BACK_OFF: Duration = Duration::from_secs(1);
pub const MAX_WORKER_BACK_OFF: Duration = Duration::from_secs(60);
/// How long it is remembered that a worker died without an answer.
pub const WORKER_FAILURES_KEPT: Duration = Duration::from_secs(5 * 60);
/// Lines that wait to be written to a worker before its questions are no longer answered.
pub const MAX_WORKER_REFUSALS: usize = 64;

// Partial results.

/// Pieces of a result that are kept while a task is at work.
pub const MAX_PARTIAL_PIECES: usize = 100;
/// All of them together, as JSON text.
pub const MAX_PARTIAL_BYTES: usize = 64 * 1024;

// Workflows and nodes as tools.

/// Tools that call tools that call tools: workflows in workflows.
pub const MAX_NESTED_CALLS: usize = 8;
/// Time for a workflow that is called as a tool. Language models take theirs.
pub const WORKFLOW_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Workflows that are kept ready to run.
pub const MAX_CACHED_PLANS: usize = 128;
/// Projects whose workflows are offered as tools, of all people together.
pub const MAX_WORKFLOW_PROJECTS: usize = 1_000;
/// Pieces of a node's streams that wait for whoever reads them, before its script is not read any further.
pub const MAX_WAITING_PIECES: usize = 64;
/// Names that one node may listen for on the event bus.
pub const MAX_EVENT_PATTERNS: usize = 64;
/// Events that wait for a node that listens; later ones are counted, and it is told how many.
pub const MAX_WAITING_EVENTS: usize = 1_024;

/// Folders `lib/python3.x` of a virtual environment that are looked at for what is installed.
pub const MAX_DEPENDENCY_VERSIONS: usize = 8;

// Finding tools.

/// Characters of a question that are looked at; of a longer one the last.
pub const MAX_SEARCH_QUERY_CHARS: usize = 4_000;
/// Different words that are looked for in one question.
pub const MAX_SEARCH_TERMS: usize = 512;
/// Characters of one text of a tool that are searched.
pub const MAX_INDEXED_FIELD_CHARS: usize = 4_000;
/// Parameters of a tool that are searched, and examples.
pub const MAX_INDEXED_PARAMETERS: usize = 64;
/// Snapshots of the registry whose words are kept at hand.
pub const MAX_INDEXES: usize = 8;
/// Projects whose past calls are kept at hand.
pub const MAX_PASTS: usize = 64;
/// How old what is known of past calls may be.
pub const PAST_FRESH: Duration = Duration::from_secs(60);
/// How long it is waited for what calls of the past say. Without it, words decide alone.
pub const PAST_WAIT: Duration = Duration::from_millis(50);
/// How long it is waited for a judge beside the words.
pub const SECOND_OPINION_WAIT: Duration = Duration::from_secs(2);
/// Tools that one search gives: when nothing is said, and at most.
pub const FOUND_TOOLS: usize = 5;
pub const MAX_FOUND_TOOLS: usize = 20;
/// Characters of the descriptions and parameters of found tools together; those beyond are told by name.
pub const MAX_FOUND_CHARS: usize = 16_000;
/// Characters of one description of a found tool.
pub const MAX_FOUND_DESCRIPTION_CHARS: usize = 1_000;
