//! What came of an exam, as it is counted, shown and saved.

use serde::Serialize;

use crate::limits::MAX_EXAM_EXCERPT_CHARS;

/// How far one reply came. Each mark stands on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Marks {
    /// There was a reply at all.
    pub replied: bool,
    /// It was read without an error, and calls something where something has to be called.
    pub parsed: bool,
    /// Every call names a tool of the task and fits its declared types.
    pub bound: bool,
    /// Every call passes the tool's whole schema.
    pub validated: bool,
    pub right_tool: bool,
    pub right_arguments: bool,
}

impl Marks {
    pub(super) const fn all() -> Self {
        Self {
            replied: true,
            parsed: true,
            bound: true,
            validated: true,
            right_tool: true,
            right_arguments: true,
        }
    }

    pub const fn passed(self) -> bool {
        self.right_arguments
    }
}

/// One attempt at one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskResult {
    pub task: &'static str,
    /// 1 for the first attempt.
    pub round: usize,
    pub marks: Marks,
    /// What the provider said instead of answering. Such an attempt counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is wrong with the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The reply, where it is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Excerpt>,
    pub milliseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
}

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    pub text: String,
    /// Characters that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Excerpt {
    pub(super) fn of(text: &str) -> Self {
        Self {
            text: text.chars().take(MAX_EXAM_EXCERPT_CHARS).collect(),
            left_out: text.chars().count().saturating_sub(MAX_EXAM_EXCERPT_CHARS),
        }
    }
}

/// How many attempts came how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Score {
    /// Attempts that the provider let happen: those below are a part of these.
    pub attempts: usize,
    pub replied: usize,
    pub parsed: usize,
    pub bound: usize,
    pub validated: usize,
    pub right_tool: usize,
    pub right_arguments: usize,
    /// Attempts that failed at the provider, not at the model.
    pub provider_errors: usize,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub milliseconds: u64,
}

impl Score {
    fn add(&mut self, result: &TaskResult) {
        self.milliseconds = self.milliseconds.saturating_add(result.milliseconds);
        let tokens = |count: Option<u64>| count.unwrap_or_default();
        self.prompt_tokens = self
            .prompt_tokens
            .saturating_add(tokens(result.prompt_tokens));
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(tokens(result.completion_tokens));
        if result.error.is_some() {
            self.provider_errors += 1;
            return;
        }
        let marks = result.marks;
        self.attempts += 1;
        self.replied += usize::from(marks.replied);
        self.parsed += usize::from(marks.parsed);
        self.bound += usize::from(marks.bound);
        self.validated += usize::from(marks.validated);
        self.right_tool += usize::from(marks.right_tool);
        self.right_arguments += usize::from(marks.right_arguments);
    }
}

/// One exam of one model in one dialect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExamResult {
    pub model: String,
    pub dialect: &'static str,
    /// The replies were held to a grammar.
    pub grammar: bool,
    /// It was stopped before its end.
    pub cancelled: bool,
    pub score: Score,
    pub results: Vec<TaskResult>,
}

impl ExamResult {
    pub(super) fn add(&mut self, result: TaskResult) {
        self.score.add(&result);
        self.results.push(result);
    }
}
