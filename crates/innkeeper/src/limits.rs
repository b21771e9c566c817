//! Every number that bounds the command line. A test crosses each of them.

/// Largest reply that `parse` and `call` read from a file or from standard input, in bytes.
pub(crate) const MAX_REPLY_BYTES: u64 = 256 * MIB;
/// Longest line that `parse --jsonl` reads, in bytes, its line end not counted.
pub(crate) const MAX_LINE_BYTES: u64 = 64 * MIB;
/// Longest JSON that `tools call --args -` reads, in bytes.
pub(crate) const MAX_ARGUMENTS_BYTES: u64 = 64 * MIB;
/// Largest `innkeeper.toml`, in bytes.
pub(crate) const MAX_SETTINGS_BYTES: u64 = MIB;
/// Longest value of a plugin's setting or secret that is read from standard input, in bytes.
pub(crate) const MAX_VALUE_BYTES: u64 = MIB;
/// Longest part of something the user gave that an error line repeats, in characters.
pub(crate) const MAX_SHOWN_CHARS: usize = 200;
/// Longest sentence of another part of the platform that an error line repeats, in characters.
pub(crate) const MAX_SHOWN_MESSAGE_CHARS: usize = 4_000;
/// How much of a value for an input an error line repeats, in characters.
pub(crate) const SHOWN_VALUE_CHARS: usize = 40;
/// How much of an input's default an error line shows, in characters: it names all inputs.
pub(crate) const SHOWN_DEFAULT_CHARS: usize = 24;
/// Longest answer that is read when a person is asked something, in bytes.
pub(crate) const MAX_ANSWER_BYTES: u64 = 4_096;
/// Longest part of a call's arguments that is shown to a person who is asked about it, in characters.
pub(crate) const MAX_ASKED_CHARS: usize = 8_000;
/// How often a person is asked again after an answer that is none.
pub(crate) const MAX_WRONG_ANSWERS: usize = 5;
/// How often the progress of tasks is shown on a terminal.
pub(crate) const PROGRESS_EVERY: std::time::Duration = std::time::Duration::from_millis(250);
/// Longest time that a program may take to say its version.
pub(crate) const VERSION_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// How much of what a program says of its version is read, in bytes.
pub(crate) const MAX_VERSION_BYTES: u64 = 4_096;
/// Longest time that `doctor` waits for the trial of the sandbox.
pub(crate) const SANDBOX_TRIAL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

pub(crate) const MIB: u64 = 1024 * 1024;

// What may be written under `[scripts]`. Less does not start an interpreter, more is a typing mistake.

pub(crate) const MIN_SCRIPT_MEMORY_MB: u32 = 16;
pub(crate) const MIN_SCRIPT_OPEN_FILES: u32 = 16;
pub(crate) const MAX_SCRIPT_OPEN_FILES: u32 = 65_536;
/// Memory, disk and the largest file: a tebibyte.
pub(crate) const MAX_SCRIPT_MB: u32 = 1_048_576;
pub(crate) const MAX_SCRIPT_PROCESSES: u32 = 4_096;
/// A day.
pub(crate) const MAX_SCRIPT_CPU_SECONDS: u32 = 86_400;
pub(crate) const MAX_SCRIPT_PARALLEL: u32 = 256;

// Exams of models.

/// Wrong answers that are told one by one.
pub(crate) const MAX_EXAM_FAULTS: usize = 20;

// Workflows.

/// Largest workflow file, in bytes; what the engine reads.
pub(crate) const MAX_WORKFLOW_BYTES: u64 = innkeeper_engine::limits::MAX_WORKFLOW_BYTES as u64;
/// Longest text that an input of a run is read from, in bytes: `--inputs`, `NAME=@FILE`.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 * MIB;
/// Longest time that `--timeout` may allow: a day.
pub(crate) const MAX_RUN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(86_400);
/// How often the nodes at work are drawn anew.
pub(crate) const WATCH_EVERY: std::time::Duration = std::time::Duration::from_millis(100);
/// Lines of nodes that are drawn at once; finished ones fold into a count.
pub(crate) const MAX_WATCHED_LINES: usize = 20;
/// Nodes that are remembered by name while they are watched; more are only counted.
pub(crate) const MAX_WATCHED_NODES: usize = 10_000;
/// Longest preview or trace that is shown of a node, in characters.
pub(crate) const MAX_WATCHED_CHARS: usize = 300;
/// Chunks of streams that wait to be printed before the run waits.
pub(crate) const PRINT_CAPACITY: usize = 64;
/// Nodes of a picture.
pub(crate) const MAX_DRAWN_NODES: usize = 2_000;
/// Wires of a picture.
pub(crate) const MAX_DRAWN_WIRES: usize = 10_000;
/// Groups inside groups that a picture opens.
pub(crate) const MAX_DRAWN_DEPTH: usize = 8;
/// Slots that are drawn on each side of a node.
pub(crate) const MAX_DRAWN_SLOTS: usize = 24;
/// Projects whose workflows `doctor` looks at.
pub(crate) const MAX_DOCTOR_PROJECTS: usize = 1_000;

// Runs of agents.

/// Longest message that `run -` reads, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 4 * MIB;
/// Largest schema of a world.
pub(crate) const MAX_STATE_SCHEMA_BYTES: u64 = MIB / 4;
/// Runs that are read at once.
pub(crate) const RUNS_PAGE: usize = 200;
/// Runs among which the beginning of an id is looked for, the newest first.
pub(crate) const MAX_RUNS_SEARCHED: usize = 20_000;
/// Events that are read at once.
pub(crate) const EVENTS_PAGE: usize = 500;
/// Files that are named before a rollback.
pub(crate) const MAX_PREVIEW_FILES: usize = 20;
/// Events from whose end `runs show` tells turns and calls.
pub(crate) const MAX_SHOWN_EVENTS: u64 = 4_000;
/// How much of an answer `runs show --turn` shows, in characters.
pub(crate) const MAX_SHOWN_TURN_CHARS: usize = 1_000_000;
/// How much of a short argument stands on the line of its call while it is written, in characters.
pub(crate) const MAX_INLINE_CHARS: usize = 80;
/// How often a run of another process is looked at.
pub(crate) const POLL_EVERY: std::time::Duration = std::time::Duration::from_millis(200);
/// Runs that are let go of between two words about it.
pub(crate) const PRUNE_NOTE_EVERY: u64 = 500;
/// How much of a line that has no end is held back where several runs are shown, in characters.
pub(crate) const MAX_WOVEN_CHARS: usize = 2_000;
/// How long `runs guide` waits until the process that drives the run has heard it.
pub(crate) const GUIDE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// How long something must come of an answer, if another process drives the run.
pub(crate) const DRIVEN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3);
/// How long `runs cancel` waits for the process that drives the run.
pub(crate) const CANCEL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// How often `doctor` says how far it is.
pub(crate) const DOCTOR_TELLS_EVERY: std::time::Duration = std::time::Duration::from_secs(2);
/// Damages that `doctor` tells one by one.
pub(crate) const MAX_DOCTOR_DAMAGE: usize = 5;
// Asking models.

/// Models whose use is told apart; those beyond are only in the sum.
pub(crate) const MAX_COUNTED_MODELS: usize = 64;
/// Shortest time in which a reply comes that says something about its speed.
pub(crate) const SHORTEST_MEASURED: std::time::Duration = std::time::Duration::from_millis(100);
/// How long nothing is said while a reply is waited for.
pub(crate) const WAITING_UNSAID: std::time::Duration = std::time::Duration::from_secs(1);
/// Characters of the line that says what is waited for.
pub(crate) const MAX_WAITING_CHARS: usize = 78;
// Listing models.

/// How long `models list --remote` waits for all servers together.
pub(crate) const REMOTE_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
