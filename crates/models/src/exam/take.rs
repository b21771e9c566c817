//! Asks a model the questions, one after another.

use std::sync::Arc;

use innkeeper_protocol::{Aliases, Locale, Protocol, Provider, ToolDefinition, render_manifest};
use serde_json::{Map, Value as Json};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::check::mark;
use super::result::{ExamResult, Excerpt, Marks, Score, TaskResult};
use super::tasks::{Task, tasks};
use crate::limits::{EXAM_TASK_TIMEOUT, EXAM_THINKING_TOKENS, MAX_EXAM_REPEATS, MAX_EXAM_TASKS};
use crate::{
    Constraint, Estimate, FinishReason, GrammarOptions, Message, Model, ModelError, ModelErrorKind,
    ModelEvent, ModelReply, ModelRequest, ModelStream, Role, ToolSpec, grammar,
};

/// Whether arguments keep to a tool's whole schema, and what is wrong otherwise.
pub type Validate<'v> =
    &'v (dyn Fn(&ToolDefinition, &Map<String, Json>) -> Result<(), String> + Sync);

#[derive(Debug, Clone)]
pub struct ExamOptions {
    /// The first of them, as many as an exam may have.
    pub tasks: Vec<Task>,
    /// How often each is asked: models do not always say the same.
    pub repeats: usize,
    /// Holds replies to a grammar, where the server can: to as many calls as the task wants and nothing else, or to words
    /// where none is wanted. Native calls have none.
    pub grammar: bool,
    /// The language of the instructions.
    pub locale: Locale,
}

impl Default for ExamOptions {
    fn default() -> Self {
        Self {
            tasks: tasks(),
            repeats: 1,
            grammar: false,
            locale: Locale::default(),
        }
    }
}

/// Takes the exam in one dialect. `template` says which model answers and how it chooses its words; its messages come
/// before each question. What fails at the provider is counted apart, and the exam goes on.
pub async fn take(
    model: &dyn Model,
    template: ModelRequest,
    dialect: Protocol,
    options: ExamOptions,
    validate: Validate<'_>,
    cancel: &CancellationToken,
    on_progress: &mut (dyn FnMut(&TaskResult) + Send),
) -> ExamResult {
    let native = matches!(dialect, Protocol::Native(_));
    let mut result = ExamResult {
        model: match template.model.as_str() {
            "" => model.id().to_owned(),
            name => name.to_owned(),
        },
        dialect: dialect.as_str(),
        grammar: options.grammar && !native,
        cancelled: false,
        score: Score::default(),
        results: Vec::new(),
    };
    for round in 1..=options.repeats.clamp(1, MAX_EXAM_REPEATS) {
        for task in options.tasks.iter().take(MAX_EXAM_TASKS) {
            if cancel.is_cancelled() {
                result.cancelled = true;
                return result;
            }
            let mut attempt = TaskResult {
                task: task.name,
                round,
                marks: Marks::default(),
                error: None,
                problem: None,
                reply: None,
                milliseconds: 0,
                prompt_tokens: None,
                completion_tokens: None,
            };
            let start = Instant::now();
            let answer = ask(model, &template, task, dialect, &options, cancel).await;
            let spent = start.elapsed().as_millis();
            attempt.milliseconds = u64::try_from(spent).unwrap_or(u64::MAX);
            match answer {
                Ok((reply, aliases)) => {
                    note(&mut attempt, &reply, task, dialect, &aliases, validate);
                }
                // What was stopped from here says nothing about anybody.
                Err(_) if cancel.is_cancelled() => {
                    result.cancelled = true;
                    return result;
                }
                Err(error) => attempt.error = Some(error),
            }
            on_progress(&attempt);
            result.add(attempt);
        }
    }
    result
}

async fn ask(
    model: &dyn Model,
    template: &ModelRequest,
    task: &Task,
    dialect: Protocol,
    options: &ExamOptions,
    cancel: &CancellationToken,
) -> Result<(ModelReply, Aliases), String> {
    // Every provider is told of tools in one shape, and its own wire format makes its own of it.
    let dialect = match dialect {
        Protocol::Native(_) => Protocol::Native(Provider::OpenAi),
        text => text,
    };
    let manifest = render_manifest(&task.tools, dialect, options.locale);
    let mut request = template.clone();
    request.raw = None;
    if let Some(text) = manifest.text() {
        instruct(&mut request.messages, text);
    }
    request.tools = manifest.declarations().map(specs).unwrap_or_default();
    request.messages.push(Message::user(task.question).into());
    let held = options.grammar && manifest.text().is_some();
    if held {
        let tools: Vec<_> = task.tools.iter().collect();
        let grammar = grammar(&tools, dialect, form(task)).map_err(|error| error.to_string())?;
        request.constraint = Some(Constraint::Grammar(grammar));
    }
    // Where the form is held nobody thinks aloud first.
    let thoughts = if held { 0 } else { EXAM_THINKING_TOKENS };
    request.sampling.max_tokens = Some(task.max_tokens.saturating_add(thoughts));
    // A task that takes too long is stopped at the provider too.
    let task_cancel = cancel.child_token();
    let _stop = task_cancel.clone().drop_guard();
    let stream = model.stream(request, task_cancel.clone());
    match timeout(
        EXAM_TASK_TIMEOUT,
        read(stream, task.max_tokens, &task_cancel),
    )
    .await
    {
        Ok(Ok(reply)) => Ok((reply, manifest.aliases)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!(
            "no whole answer within {} s",
            EXAM_TASK_TIMEOUT.as_secs()
        )),
    }
}

/// Whoever is asked to call has no other way out; whoever is not may say what it likes, or call something.
fn form(task: &Task) -> GrammarOptions {
    GrammarOptions {
        free_text: task.expected.calls() == 0,
        max_calls: task.expected.calls().max(1),
    }
}

/// To its end, or to where it has said more than any right answer: what came until then is the answer.
async fn read(
    mut stream: ModelStream,
    most: u32,
    stop: &CancellationToken,
) -> Result<ModelReply, ModelError> {
    let mut said = String::new();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(piece) => said.push_str(&piece),
            ModelEvent::ToolCall {
                arguments_delta, ..
            } => said.push_str(&arguments_delta),
            _ => continue,
        }
        if Estimate::of_text(without_thoughts(&said)).likely > u64::from(most) {
            stop.cancel();
            break;
        }
    }
    match stream.collect().await {
        Err(ModelError {
            kind: ModelErrorKind::Cancelled,
            arrived: Some(reply),
            ..
        }) => Ok(ModelReply {
            finish_reason: FinishReason::Length,
            ..*reply
        }),
        end => end,
    }
}

/// Some servers leave a model's thoughts in its text.
fn without_thoughts(said: &str) -> &str {
    match said.trim_start().strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map_or("", |(_, said)| said),
        None => said,
    }
}

/// Small models know one system message at most, so the instructions join the one that is there.
fn instruct(messages: &mut Vec<Arc<Message>>, text: &str) {
    match messages.first_mut() {
        Some(first) if first.role == Role::System => {
            *first = Message::system(format!("{}\n\n{text}", first.text())).into();
        }
        _ => messages.insert(0, Message::system(text).into()),
    }
}

fn specs(declarations: &Json) -> Vec<ToolSpec> {
    let functions = declarations.as_array().into_iter().flatten();
    functions
        .filter_map(|declaration| serde_json::from_value(declaration.get("function")?.clone()).ok())
        .collect()
}

fn note(
    attempt: &mut TaskResult,
    reply: &ModelReply,
    task: &Task,
    dialect: Protocol,
    aliases: &Aliases,
    validate: Validate<'_>,
) {
    if let Some(usage) = &reply.usage {
        attempt.prompt_tokens = usage.prompt_tokens;
        attempt.completion_tokens = usage.completion_tokens;
    }
    let shown = shown(reply);
    if shown.trim().is_empty() {
        attempt.problem = Some("the reply is empty".to_owned());
        return;
    }
    let (marks, problem) = mark(reply, task, dialect, aliases, validate);
    attempt.marks = marks;
    attempt.problem = match reply.finish_reason {
        FinishReason::Length => problem.map(|what| format!("{what}; the reply was cut off")),
        _ => problem,
    };
    if !marks.passed() {
        attempt.reply = Some(Excerpt::of(&shown));
    }
}

/// The reply as a person reads it.
fn shown(reply: &ModelReply) -> String {
    let mut shown = reply.text();
    for call in reply.tool_calls() {
        if !shown.is_empty() {
            shown.push('\n');
        }
        shown.push_str(&format!("{}({})", call.name, call.arguments));
    }
    shown
}

#[cfg(test)]
#[path = "exam_tests.rs"]
mod tests;
