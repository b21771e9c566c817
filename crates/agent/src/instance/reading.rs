//! What people may read of a run: its turns as they were asked and answered, and its files.

use std::collections::VecDeque;
use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CommitId, RunEvent, RunId};
use innkeeper_store::journal::{EventRange, RunFilter, RunJournal, RunPage, RunRecord, StepPlace};
use innkeeper_store::{Contents, Store};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::AgentError;
use super::recovery::replayed;
use super::runtime::AgentRuntime;
use crate::limits::{DEFAULT_TURN_CHARS, MAX_EVENTS_PAGE, STEPS_PAGE};
use crate::run::{AgentRun, Input, ModelTurn, Stamped, names};
use crate::workspace::metrics;
use crate::workspace::state::FileInfo;

/// One turn: what was sent, and what came back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelTurnView {
    pub run_id: RunId,
    pub round: u32,
    pub model_response_path: String,
    pub provider: Json,
    pub assistant: TextView,
    /// What was said beside calls.
    pub narration: Option<Narration>,
    pub reasoning: Vec<Narration>,
    pub tool_calls: Vec<Json>,
    /// The messages of the request, as they were sent.
    pub request: Vec<Arc<Json>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextView {
    pub text: String,
    pub total_chars: u64,
    pub total_words: u64,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Narration {
    pub source: &'static str,
    #[serde(flatten)]
    pub text: TextView,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFileView {
    pub path: String,
    pub text: String,
    pub bytes: u64,
    pub chars: u64,
    pub words: u64,
    pub sha256: String,
}

impl TextView {
    fn of(text: &str, most: usize) -> Self {
        Self {
            text: text.chars().take(most).collect(),
            total_chars: metrics::chars(text),
            total_words: metrics::words(text),
            truncated: text.chars().nth(most).is_some(),
        }
    }
}

/// Reads runs, whoever drives them and wherever.
#[derive(Clone)]
pub struct RunReader {
    journal: Arc<dyn RunJournal>,
    contents: Arc<dyn Contents>,
}

impl RunReader {
    pub fn new(store: &Store) -> Self {
        Self {
            journal: store.journal(),
            contents: store.contents(),
        }
    }

    pub async fn list(&self, filter: &RunFilter) -> Result<RunPage, AgentError> {
        Ok(self.journal.runs(filter).await?)
    }

    pub async fn record(&self, run: &RunId) -> Result<RunRecord, AgentError> {
        let record = self.journal.record(run).await?;
        record.ok_or_else(|| AgentError::no_run(run.as_str()))
    }

    /// In ascending order.
    pub async fn events(
        &self,
        run: &RunId,
        range: EventRange,
    ) -> Result<Vec<RunEvent>, AgentError> {
        self.record(run).await?;
        let most = |limit: usize| limit.clamp(1, MAX_EVENTS_PAGE);
        let range = match range {
            EventRange::After { seq, limit } => EventRange::After {
                seq,
                limit: most(limit),
            },
            EventRange::Before { seq, limit } => EventRange::Before {
                seq,
                limit: most(limit),
            },
            EventRange::Last { limit } => EventRange::Last { limit: most(limit) },
        };
        Ok(self.journal.events(run, range).await?)
    }

    /// The run as its journal has it.
    pub async fn state(&self, run: &RunId) -> Result<AgentRun, AgentError> {
        let replay = self.journal.replay(run).await?;
        let replay = replay.ok_or_else(|| AgentError::no_run(run.as_str()))?;
        replayed(&replay).map_err(|why| unreadable(run, &why))
    }

    /// The turns of a run one by one, oldest first.
    pub async fn turns(&self, run: &RunId) -> Result<TurnReader, AgentError> {
        self.record(run).await?;
        Ok(TurnReader {
            reader: self.clone(),
            run: run.clone(),
            place: StepPlace::default(),
            round: 0,
            asked: None,
            waiting: VecDeque::new(),
        })
    }

    /// The turn of that round, and what was sent for it.
    pub async fn model_turn(
        &self,
        run: &RunId,
        round: u32,
        max_chars: Option<usize>,
    ) -> Result<ModelTurnView, AgentError> {
        let most = max_chars.unwrap_or(DEFAULT_TURN_CHARS);
        let mut turns = self.turns(run).await?;
        let mut sent: Vec<Arc<Json>> = Vec::new();
        let mut last = 0;
        while let Some(turn) = turns.next().await? {
            sent.truncate(turn.keep);
            sent.extend(turn.add);
            last = turn.round;
            if last == round {
                return Ok(view(run, round, &turn.reply, most, sent));
            }
        }
        Err(AgentError::new(
            ErrorCode::AgentNotFound,
            format!("the run '{run}' has no answer of round {round}; it has {last}"),
        )
        .because("agent.model_turn_round_invalid"))
    }

    /// A file of the workspace as it is now.
    pub async fn file(&self, run: &RunId, path: &str) -> Result<WorkspaceFileView, AgentError> {
        let state = self.state(run).await?;
        let Some(file) = state.workspace().files.get(path) else {
            let message = format!("the run '{run}' has no file '{path}'");
            return Err(AgentError::new(ErrorCode::AgentNotFound, message));
        };
        self.content(path, file).await
    }

    /// What a commit publishes, whatever became of the file since.
    pub async fn commit_file(
        &self,
        run: &RunId,
        commit: &CommitId,
    ) -> Result<WorkspaceFileView, AgentError> {
        let state = self.state(run).await?;
        let Some(commit) = state.commit(commit) else {
            let message = format!("the run '{run}' has no commit '{commit}'");
            return Err(AgentError::new(ErrorCode::AgentNotFound, message));
        };
        self.content(&commit.path, &commit.file).await
    }

    /// The store gives nothing that does not have its hash.
    pub async fn content(
        &self,
        path: &str,
        file: &FileInfo,
    ) -> Result<WorkspaceFileView, AgentError> {
        let lost = |why: &str| {
            let message = format!("the file '{path}' cannot be read: {why}");
            AgentError::new(ErrorCode::WorkspaceStorageFailed, message)
        };
        let bytes = self.contents.blob(&file.sha256).await?;
        let bytes = bytes.ok_or_else(|| lost("its content is not in the store any more"))?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| lost("it is no text"))?;
        Ok(WorkspaceFileView {
            path: path.to_owned(),
            text,
            bytes: file.bytes,
            chars: file.chars,
            words: file.words,
            sha256: file.sha256.as_str().to_owned(),
        })
    }
}

/// One answer of the model as the journal has it. What was sent for it: the first `keep` messages of what was sent before,
/// and then `add`.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRead {
    pub round: u32,
    pub keep: usize,
    pub add: Vec<Arc<Json>>,
    pub reply: Arc<ModelTurn>,
}

pub struct TurnReader {
    reader: RunReader,
    run: RunId,
    place: StepPlace,
    round: u32,
    asked: Option<(usize, Vec<Arc<Json>>)>,
    waiting: VecDeque<TurnRead>,
}

impl TurnReader {
    /// `None` after the last that was answered.
    pub async fn next(&mut self) -> Result<Option<TurnRead>, AgentError> {
        while self.waiting.is_empty() {
            let journal = &self.reader.journal;
            let page = journal.inputs(&self.run, self.place, STEPS_PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            self.place = last.place;
            for step in &page {
                for stamped in inputs(&step.input)? {
                    self.take(stamped.input);
                }
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::ModelAsked { keep, add, .. } => match &mut self.asked {
                // Asked anew before the last was answered.
                Some((kept, added)) if keep >= *kept => {
                    added.truncate(keep - *kept);
                    added.extend(add);
                }
                asked => *asked = Some((keep, add)),
            },
            Input::ModelReplied(reply) => {
                self.round += 1;
                let (keep, add) = self.asked.take().unwrap_or_default();
                self.waiting.push_back(TurnRead {
                    round: self.round,
                    keep,
                    add,
                    reply,
                });
            }
            _ => {}
        }
    }
}

impl AgentRuntime {
    /// Whatever is known of runs, from their journals.
    pub fn reader(&self) -> RunReader {
        RunReader {
            journal: self.0.journal.clone(),
            contents: self.0.contents.clone(),
        }
    }

    /// See [`RunReader::events`].
    pub async fn events(
        &self,
        run: &RunId,
        range: EventRange,
    ) -> Result<Vec<RunEvent>, AgentError> {
        self.reader().events(run, range).await
    }

    /// See [`RunReader::model_turn`].
    pub async fn model_turn(
        &self,
        run: &RunId,
        round: u32,
        max_chars: Option<usize>,
    ) -> Result<ModelTurnView, AgentError> {
        self.reader().model_turn(run, round, max_chars).await
    }
}

pub(super) fn unreadable(run: &RunId, why: &str) -> AgentError {
    let message = format!(
        "the journal of '{run}' cannot be read: {why}; `innkeeper doctor --repair` cuts off what is damaged"
    );
    AgentError::new(ErrorCode::AgentInternalError, message).because("agent.journal_invalid")
}

fn inputs(entry: &str) -> Result<Vec<Stamped>, AgentError> {
    serde_json::from_str(entry).map_err(|error| {
        AgentError::new(ErrorCode::AgentInternalError, error.to_string())
            .because("agent.model_response_parse_failed")
    })
}

fn view(
    run: &RunId,
    round: u32,
    turn: &ModelTurn,
    most: usize,
    request: Vec<Arc<Json>>,
) -> ModelTurnView {
    let read = turn.read();
    let calls: Vec<Json> = read
        .calls()
        .map(|call| json!({"callId": call.call_id, "name": call.tool}))
        .collect();
    let narrates = !calls.is_empty() && !read.response_text.trim().is_empty();
    ModelTurnView {
        run_id: run.clone(),
        round,
        model_response_path: names::response_path(round),
        provider: json!({
            "source": "innkeeper",
            "model": turn.model,
            "responseId": turn.response_id,
            "usage": turn.usage,
        }),
        assistant: TextView::of(&turn.text, most),
        narration: narrates.then(|| Narration {
            source: "assistantText",
            text: TextView::of(&read.response_text, most),
        }),
        reasoning: match turn.reasoning.is_empty() {
            true => Vec::new(),
            false => vec![Narration {
                source: "reasoning",
                text: TextView::of(&turn.reasoning, most),
            }],
        },
        tool_calls: calls,
        request,
    }
}
