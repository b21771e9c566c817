//! The numbers that bound this crate, by subject. Tests cross them.

use std::time::Duration;

// The driver.

/// Updates of a turn that is being written which wait for a follower.
pub const MAX_LIVE_UPDATES: usize = 1_024;
/// Bytes of a turn that are shown while it comes.
pub const MAX_LIVE_BYTES: usize = 4 << 20;
/// Messages that a run may begin with.
pub const MAX_PROMPT_MESSAGES: usize = 20_000;
/// How deep in a message a host's mark of an unfinished prompt is looked for.
pub const MAX_MARKER_DEPTH: usize = 8;
/// Bytes of those messages.
pub const MAX_PROMPT_BYTES: usize = 16 << 20;
/// Steps of a run between two snapshots of it.
pub const STEPS_BETWEEN_SNAPSHOTS: u32 = 256;
/// How long a run waits for people before it is only in its journal. Hosts mostly answer sooner.
pub const REST_AFTER: Duration = Duration::from_millis(250);
/// Runs at work in one process.
pub const MAX_LIVE_RUNS: usize = 100_000;
/// How long a host may take to publish where the profile says nothing.
pub const COMMIT_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// A host that is asked again after a restart has at least so long, however long ago it was first asked.
pub const COMMIT_GRACE: Duration = Duration::from_secs(30);
/// Longest id of a chat, in bytes.
pub const MAX_ID_CHARS: usize = 512;
/// Longest kind of generation.
pub const MAX_GENERATION_TYPE_CHARS: usize = 64;
/// Longest title of a run.
pub const MAX_TITLE_CHARS: usize = 120;
/// Characters of guidance that are shown where it is told of.
pub const PREVIEW_CHARS: usize = 240;
/// Characters of a turn that are shown if nobody says how many.
pub const DEFAULT_TURN_CHARS: usize = 40_000;
/// Characters of an agent's words that are published on the bus.
pub const MAX_SPOKEN_CHARS: usize = 32_000;
/// Events that are read at once.
pub const MAX_EVENTS_PAGE: usize = 500;
/// Steps of a journal that are read at once.
pub const STEPS_PAGE: usize = 256;
/// Bytes of a paper of a run (`events.jsonl` …) that a host is given at once.
pub const MAX_PAPER_BYTES: usize = 32 << 20;
/// Bytes of what a run becomes again with a rollback, and of what another begins with where it is branched off.
pub const MAX_SET_BACK_BYTES: usize = 48 << 20;
/// Messages that a model is told of by name after a rollback.
pub const MAX_PUBLISHED_TOLD: usize = 10;
// Compaction.

/// The share of what a model holds that a request may have where the profile says nothing: estimates are no counts, and the
/// reply needs room too. Three of four parts.
pub const WINDOW_PARTS: (u64, u64) = (3, 4);
/// Where a provider says that a request is too long and nobody knows what it holds: two of three parts of what was sent.
pub const REFUSED_PARTS: (u64, u64) = (2, 3);
/// Fewest and most tokens that a profile may give to one request.
pub const MIN_REQUEST_TOKENS: u64 = 500;
pub const MAX_REQUEST_TOKENS: u64 = 100_000_000;
/// Tokens of a summary: this part of the request, and no more than that.
pub const SUMMARY_PART: u64 = 8;
pub const MAX_SUMMARY_TOKENS: u64 = 2_000;
/// Tokens of its words where there is no room for more.
pub const MIN_SUMMARY_TOKENS: u64 = 40;
/// Tokens that a model may use for it, what it thinks among them.
pub const SUMMARY_REPLY_TOKENS: u64 = 8_192;
/// A cut that gains less than this part of the budget is not worth a request of its own.
pub const LEAST_GAIN_PART: u64 = 16;
/// Rounds that stay as they are where the profile says nothing, and the most that it can ask for.
pub const KEPT_ROUNDS: u32 = 2;
pub const MAX_KEPT_ROUNDS: u64 = 1_000;
/// First messages of a conversation that a profile can pin.
pub const MAX_KEPT_FIRST: u64 = 1_000;
/// Characters of one message that the model reads for a summary; where there is little room, as few as that.
pub const TRANSCRIPT_MESSAGE_CHARS: usize = 16_000;
pub const MIN_TRANSCRIPT_MESSAGE_CHARS: usize = 250;
/// Estimated tokens that it reads for one, at least and at most.
pub const MIN_TRANSCRIPT_TOKENS: u64 = 100;
pub const MAX_TRANSCRIPT_TOKENS: u64 = 200_000;
/// Tools whose calls are counted each by itself; more are counted together.
pub const MAX_COUNTED_TOOLS: usize = 512;
/// Names in what is noted where no model could summarise.
pub const MAX_NOTED_TOOLS: usize = 60;
pub const MAX_NOTED_FILES: usize = 60;

// Runs.

/// Calls of one reply that are run; the rest is refused.
pub const MAX_CALLS_PER_TURN: u32 = 64;
/// Longest id of a call that is taken from a provider; a longer one gets one of ours.
pub const MAX_CALL_ID_BYTES: usize = 256;
/// The same call, or the same calls in turn, with the same answers: from here on the model is told, and here the run
/// ends. So many different calls that are made in turn are noticed.
pub const REPEATED_CALLS_PERIOD: usize = 2;
pub const REPEATED_CALLS_TOLD: u32 = 3;
pub const REPEATED_CALLS_END: u32 = 6;
/// Turns in a row that came to nothing (empty, unreadable, refused); with so many the run ends.
pub const MAX_BARREN_TURNS: u32 = 4;
/// A run that was taken over so often without taking a step in between is paused: it may be what ends its process.
pub const MAX_TAKEOVERS: u32 = 5;
/// Characters of arguments that a person has changed which the model is told.
pub const MAX_EDIT_TOLD_CHARS: usize = 4_000;
/// Runs with open questions that are listed at once.
pub const MAX_ASKING_RUNS: usize = 1_000;
/// Requests for checkpoints that a run knows again, so that one which comes twice makes one.
pub const MAX_REQUESTS_KNOWN: usize = 16;
/// How long a clock is trusted that stands still while the machine sleeps.
pub const LOOK_AT_CLOCK: Duration = Duration::from_secs(60);
/// Rounds that one resumption can grant.
pub const MAX_ADDITIONAL_ROUNDS: u32 = 1_000;
/// Guidance: one piece, pieces that wait, and all that wait together.
pub const MAX_GUIDANCE_CHARS: usize = 16_000;
pub const MAX_PENDING_GUIDANCE: usize = 8;
pub const MAX_PENDING_GUIDANCE_CHARS: usize = 64_000;
/// Pieces of guidance that are known again when they are handed in once more.
pub const MAX_KNOWN_GUIDANCE: usize = 64;
pub const MAX_GUIDANCE_PREVIEW_CHARS: usize = 240;
/// What an event shows of the words that a model says beside its calls.
pub const MAX_NARRATION_CHARS: usize = 280;
/// Longest message of an error in an event.
pub const MAX_EVENT_MESSAGE_CHARS: usize = 1_000;
// Agents that work for others.

/// Agents that may work for another at once, and tasks that it may give in one run: each of them is kept with the run.
pub const MAX_CONCURRENT_INVOCATIONS: u64 = 64;
/// How often a run may be handed over.
pub const MAX_HANDOFF_DEPTH: u64 = 64;
pub const MAX_INVOCATIONS_PER_RUN: u64 = 1_000;
/// Tasks of the same profile in one run that have a folder of their own.
pub const MAX_WORKSPACE_KEYS: u32 = 1_000_000;
/// Agents of a run that an error names.
pub const MAX_AGENTS_NAMED: usize = 20;
/// Files of a result that are named to the caller; the others are counted.
pub const MAX_DELIVERED_NAMED: usize = 50;
/// Longest part of a task or of a handoff, in characters, and most entries of one of its lists.
pub const MAX_BRIEF_CHARS: usize = 8_000;
pub const MAX_BRIEF_ENTRIES: usize = 50;
/// Longest summary and longest entry of a result, in characters; and most entries of one of its lists.
pub const MAX_SUMMARY_CHARS: usize = 32_000;
pub const MAX_RETURN_CHARS: usize = 4_000;
pub const MAX_RETURN_ENTRIES: usize = 50;
/// Agents that are listed: when nothing is said, and at most.
pub const LISTED_AGENTS: i64 = 8;
pub const MAX_LISTED_AGENTS: i64 = 20;
/// How long `agent.await` waits: when nothing is said, and at most.
pub const AWAIT_MS: i64 = 120_000;
pub const MAX_AWAIT_MS: i64 = 300_000;
/// Tasks that one `agent.await` names.
pub const MAX_AWAITED_TASKS: usize = 100;
/// Longest title of a task, for people.
pub const MAX_TASK_TITLE_CHARS: usize = 120;
// Profiles.

/// Bytes of a profile's file.
pub const MAX_PROFILE_BYTES: usize = 1 << 20;
/// How deep lists and objects may lie in each other in a profile.
pub const MAX_PROFILE_DEPTH: usize = 32;
/// Characters of a profile's id.
pub const MAX_PROFILE_ID_CHARS: usize = 128;
/// Characters of a name in a profile: of a tool, a root, a model, an artifact, the one that is shown.
pub const MAX_PROFILE_NAME_CHARS: usize = 256;
/// Characters of a description in a profile.
pub const MAX_PROFILE_DESCRIPTION_CHARS: usize = 8_000;
/// Characters of a system prompt.
pub const MAX_SYSTEM_PROMPT_CHARS: usize = 200_000;
/// Entries of one list or map of a profile.
pub const MAX_PROFILE_ENTRIES: usize = 1_000;
/// Problems of one profile that are listed one by one.
pub const MAX_PROFILE_PROBLEMS: usize = 100;
/// Problems that an error message tells; the others are counted.
pub const MAX_TOLD_PROBLEMS: usize = 5;
/// How often a model may be asked again.
pub const MAX_MODEL_RETRIES: u64 = 100;
/// The longest wait before a model is asked again, and for a host to publish.
pub const MAX_PROFILE_WAIT_MS: u64 = 24 * 60 * 60 * 1_000;
/// Rounds, calls and invocations that a profile may ask for.
pub const MAX_PROFILE_COUNT: u64 = 1_000_000;
/// Characters that a profile may let a run read of skills.
pub const MAX_SKILL_CHARS: u64 = 1_000_000_000;
/// Steps that a pattern in the schema of a private state may take.
pub const MAX_STATE_PATTERN_STEPS: usize = 100_000;
/// Profiles of one folder that are looked at.
pub const MAX_PROFILE_FILES: usize = 1_000;
// Workspaces.

/// Longest path of a file, in bytes.
pub const MAX_WORKSPACE_PATH_BYTES: usize = 512;
/// Longest name of one file or folder, in bytes: what common file systems take, so that a workspace can be exported.
pub const MAX_WORKSPACE_NAME_BYTES: usize = 255;
/// Deepest path, its root included.
pub const MAX_WORKSPACE_PATH_SEGMENTS: usize = 16;
/// Largest file that a tool may make. Every change keeps a whole new content, so this bounds what a run can add per call.
pub const MAX_WORKSPACE_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Largest result that is kept as a file; what `innkeeper-tools` lets a result be.
pub const MAX_SPILLED_BYTES: u64 = 16 * 1024 * 1024;
/// Files of one workspace, those from earlier runs included.
pub const MAX_WORKSPACE_FILES: usize = 1_000;
/// Bytes of all files of one workspace.
pub const MAX_WORKSPACE_BYTES: u64 = 64 * 1024 * 1024;
/// Contents that a live run holds in memory for the next call: bytes, and how many.
pub const MAX_CACHED_BYTES: usize = 1024 * 1024;
pub const MAX_CACHED_CONTENTS: usize = 16;
/// Texts up to this size are worked on in place; longer ones on a thread of their own.
pub const MAX_INLINE_BYTES: usize = 64 * 1024;

// Workspace tools.

/// Levels of a listing: when nothing is said, and at most.
pub const LIST_DEPTH: i64 = 2;
pub const MAX_LIST_DEPTH: i64 = 4;
/// Entries of a listing.
pub const MAX_LIST_ENTRIES: usize = 200;
/// Largest file that is read whole.
pub const MAX_FULL_READ_BYTES: u64 = 256 * 1024;
/// Lines that one read gives.
pub const MAX_READ_LINES: i64 = 1_200;
/// Characters that one read by characters gives.
pub const MAX_READ_CHARS: i64 = 80_000;
/// Longest answer of a tool that reads in parts, as JSON text in characters, line numbers included: more than the bounds
/// above can come to, even where every byte has to be escaped. So whatever counts as read was shown.
pub const MAX_SHOWN_READ_CHARS: usize = 1_700_000;
/// Pieces of a file that are remembered as read; beyond, the earliest are forgotten and have to be read again.
pub const MAX_READ_RANGES: usize = 256;
/// Hits of a search: when nothing is said, and at most.
pub const SEARCH_HITS: i64 = 20;
pub const MAX_SEARCH_HITS: i64 = 50;
/// Lines around a hit: when nothing is said, and at most.
pub const SEARCH_CONTEXT_LINES: i64 = 2;
pub const MAX_SEARCH_CONTEXT_LINES: i64 = 5;
/// Files and levels that one search goes through.
pub const MAX_SEARCHED_FILES: usize = 1_000;
pub const MAX_SEARCH_DEPTH: usize = 8;
/// Bytes that one search goes through.
pub const MAX_SEARCHED_BYTES: u64 = 32 * 1024 * 1024;
/// Longest piece of a file that a hit shows, in characters.
pub const MAX_FILE_SNIPPET_CHARS: usize = 1_200;
/// Longest query, in characters.
pub const MAX_QUERY_CHARS: usize = 1_000;
/// Words of a query that are looked for, and pairs of characters that one of them is cut into.
pub const MAX_QUERY_TOKENS: usize = 64;
pub const MAX_QUERY_PAIRS: usize = 32;
/// Longest reason of a commit or a finish, in characters.
pub const MAX_REASON_CHARS: usize = 2_000;

// The chat and the world info of a run.

/// Longest snippet of a message, and what of it stands before the hit, in characters.
pub const MAX_SNIPPET_CHARS: usize = 200;
pub const SNIPPET_LEAD_CHARS: usize = 40;
/// Messages that one search looks at.
pub const MAX_SCANNED_MESSAGES: i64 = 100_000;
/// Messages or entries that one call reads; characters of one of them, and of all together.
pub const MAX_READ_ITEMS: usize = 20;
pub const MAX_ITEM_CHARS: usize = 8_000;
pub const MAX_ITEMS_CHARS: usize = 20_000;
/// Longest stable id of a chat, in bytes.
pub const MAX_STABLE_CHAT_ID_BYTES: usize = 512;

// States that runs leave behind.

/// States that are removed in one step.
pub const STATES_REMOVED_AT_ONCE: usize = 500;
// Models asked by nodes.

/// Calls that one answer of a model may hold where a grammar holds it to their form. Small models do not stop by
/// themselves.
pub const MAX_CALLS_UNDER_GRAMMAR: usize = 4;
/// Tokens of tools from which on they are named as a cause where a conversation is too long.
pub const TOLD_TOOLS_FROM: u64 = 1_000;
/// Characters of the id that a provider gives its answer.
pub(crate) const MAX_RESPONSE_ID_CHARS: usize = 256;
/// Lists of tools that are kept in the words of a provider, so that not every turn makes them anew.
pub(crate) const MAX_DECLARED_LISTS: usize = 32;
/// Lists of tools in the words of profiles that are kept for the next run.
pub(crate) const MAX_OFFERS: usize = 32;

// Comparing workspaces.

/// Lines around a change.
pub const DIFF_CONTEXT_LINES: usize = 3;
/// Largest file that is compared line by line, before and after; of larger ones it is said that they differ.
pub const MAX_DIFF_FILE_BYTES: u64 = 1024 * 1024;
/// Bytes of contents that one comparison reads, and bytes of lines that it gives: of one file, and of all.
pub const MAX_DIFF_READ_BYTES: u64 = 32 * 1024 * 1024;
pub const MAX_FILE_DIFF_BYTES: usize = 256 * 1024;
pub const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;
/// How long lines are compared, in one file and in all of them; what is left then is told in larger pieces, or not at all.
pub const FILE_DIFF_TIME: Duration = Duration::from_millis(500);
pub const DIFF_TIME: Duration = Duration::from_secs(3);
/// How much of it files under new names are looked for.
pub const RENAME_TIME: Duration = Duration::from_secs(1);
/// Of two texts that are one file under two names, so much is the same, in percent.
pub const RENAME_SHARE: u64 = 60;
/// Files that are gone, and files that are new, which are compared with each other to find out; and the largest of them.
pub const MAX_RENAME_CANDIDATES: usize = 64;
pub const MAX_RENAME_BYTES: u64 = 256 * 1024;
/// Paths that a comparison may be narrowed down to.
pub const MAX_DIFF_PATHS: usize = 200;
/// Checkpoints that are listed at once: without their files, and with them.
pub const MAX_CHECKPOINTS_PAGE: usize = 1_000;
pub const MAX_CHECKPOINTS_WITH_FILES: usize = 20;
/// Paths that a checkpoint in a list names as changed.
pub const MAX_CHANGED_PATHS: usize = 20;
// The tools that a model is told of.

/// As long as there are no more, it is told of all.
pub const ALL_TOLD_UP_TO: u32 = 64;
/// Beyond that, of so many that fit its task best.
pub const MOST_TOLD: u32 = 24;
/// What a profile can set these two to.
pub const MAX_TOLD: u64 = 1_000;
/// Tools that were found or called in the run and are told from then on.
pub const MAX_TOLD_LATER: usize = 64;
/// Messages before the last one that have a say in which tools are told, and what their words count.
pub const TASK_MESSAGES_BEFORE: usize = 6;
pub const TASK_WEIGHT_BEFORE: f32 = 0.3;

// Memory of chats, and what is kept of runs.

/// States that are named at once to be pruned.
pub const MAX_STATES_PRUNED: usize = 10_000;
/// Runs that are kept, and those that are kept whole.
pub const MAX_RETENTION_RUNS: u32 = 10_000;
/// Runs that each list of a plan names, and how many if nobody says.
pub const MAX_RETENTION_DETAILS: u32 = 1_000;
pub const DEFAULT_RETENTION_DETAILS: u32 = 200;
/// Runs that are looked at together.
pub(crate) const RETENTION_PAGE: usize = 500;
/// Runs of which a pass that nobody asked for takes something away.
pub const RETENTION_RUNS_OF_TICK: u64 = 200;

// Skills: packages.

/// Files of one skill, and what else of folders may lie in it.
pub const MAX_SKILL_FILES: usize = 1_000;
pub const MAX_SKILL_ENTRIES: usize = 4_000;
/// Bytes of one file of a skill, and of all of them.
pub const MAX_SKILL_FILE_BYTES: u64 = 16 << 20;
pub const MAX_SKILL_BYTES: u64 = 256 << 20;
/// Bytes of `SKILL.md`, of its front matter, and of `agents/tauritavern.json`.
pub const MAX_SKILL_MD_BYTES: u64 = 1 << 20;
pub const MAX_FRONT_MATTER_BYTES: usize = 64 << 10;
pub const MAX_SKILL_MANIFEST_BYTES: u64 = 64 << 10;
/// How much longer than its packed form a file of an archive may be.
pub const MAX_SKILL_RATIO: u64 = 100;
/// Bytes of an archive: what a skill of the largest size can be packed into, with its names.
pub const MAX_SKILL_ARCHIVE_BYTES: u64 = MAX_SKILL_BYTES + (16 << 20);
/// Longest name of a skill.
pub const MAX_SKILL_NAME_CHARS: usize = 128;
/// Longest description: it goes into prompts.
pub const MAX_SKILL_DESCRIPTION_CHARS: usize = 4_000;
/// Longest other word about a skill (its licence, its author …), and how many tags or tools it may name.
pub const MAX_SKILL_WORD_CHARS: usize = 512;
pub const MAX_SKILL_WORDS: usize = 100;
/// Longest remark about a skill.
pub const MAX_SKILL_NOTES_CHARS: usize = 8_000;

// Skills: where they lie, and reading them.

/// Skills of one scope, and scopes that are listed.
pub const MAX_SKILLS_OF_SCOPE: usize = 1_000;
pub const MAX_SKILL_SCOPES: usize = 10_000;
/// Bytes of one part of a scope: the name of a preset, the id of a character …
pub const MAX_SCOPE_PART_BYTES: usize = 512;
/// Characters of a skill's file that are read at once.
pub const MAX_SKILL_READ_CHARS: u64 = 80_000;
/// What is written down about one skill, so that it is not hashed again by the next process.
pub(crate) const MAX_SKILL_INDEX_BYTES: usize = 2 << 20;
/// Characters of a description, and of all that is said about skills, at the beginning of a run.
pub const MAX_TOLD_SKILL_CHARS: usize = 300;
pub const MAX_TOLD_SKILLS_CHARS: usize = 6_000;
/// Characters that `skill.list` gives, as JSON; and what is left of a description at the least.
pub const MAX_LISTED_SKILLS_CHARS: usize = 14_000;
pub const LEAST_LISTED_SKILL_CHARS: usize = 80;
/// Skills whose contents are known by heart, so that they are not hashed again while nobody touches them.
pub(crate) const MAX_KNOWN_SKILLS: usize = 2_000;
// States: private ones, and worlds. How large one may be is told in the tools' limits.

/// Places that are told as different; beyond that, whole fields are told. And how long all of their paths may be.
pub const MAX_STATE_DIFFERENCES: usize = 100;
pub const MAX_STATE_DIFFERENCES_BYTES: usize = 16 << 10;
/// Bytes of what stood and stands in one place, as far as it is kept of a version, and of all places of a version.
pub const MAX_KEPT_VALUE_BYTES: usize = 2 << 10;
pub const MAX_KEPT_VERSION_BYTES: usize = 16 << 10;
/// Versions of a private state that are known, and bytes of what is kept of them.
pub const MAX_PRIVATE_VERSIONS: usize = 50;
pub const MAX_PRIVATE_HISTORY_BYTES: usize = 128 << 10;
/// Bytes of a private state up to which each value is written on a line of its own.
pub const MAX_PRETTY_STATE_BYTES: usize = 64 << 10;
/// Bytes of what is answered of the new values.
pub const MAX_ANSWERED_VALUE_BYTES: usize = 4 << 10;
/// Versions that are read at once: of a world, no more are kept.
pub const MAX_STATE_HISTORY_READ: usize = 200;
/// How often it is tried to change a world that others change at the same time.
pub const MAX_WORLD_TRIES: u32 = 64;
/// Characters of a private state that the model is told at the start, and names of fields that are left out.
pub const MAX_TOLD_STATE_CHARS: usize = 6_000;
pub const MAX_TOLD_STATE_NAMES: usize = 40;
pub const MAX_TOLD_STATE_NAME_CHARS: usize = 80;
