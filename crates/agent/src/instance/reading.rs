//! What people may read of a run: its events, its turns as they were asked and answered, what it publishes. Its files and
//! papers: `papers.rs`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CommitId, InvocationId, RunEvent, RunId};
use innkeeper_store::journal::{
    EventRange, RunFilter, RunJournal, RunPage, RunRecord, StepPlace, StepRead,
};
use innkeeper_store::{Contents, Store};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::AgentError;
use super::recovery::replayed;
use super::retelling::Retelling;
use super::runtime::AgentRuntime;
use crate::context;
use crate::limits::{DEFAULT_TURN_CHARS, MAX_EVENTS_PAGE, STEPS_PAGE};
use crate::run::told::ADDED;
use crate::run::{AgentRun, Compaction, Input, ModelTurn, Stamped, Turn, names};
use crate::workspace::host::{HostFile, read_content};
use crate::workspace::metrics;
use crate::workspace::state::FileInfo;

/// One turn: what was sent, and what came back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelTurnView {
    pub run_id: RunId,
    pub invocation_id: InvocationId,
    pub round: u32,
    pub model_response_path: String,
    pub provider: Json,
    pub assistant: TextView,
    /// What was said beside calls.
    pub narration: Option<Narration>,
    pub reasoning: Vec<Narration>,
    pub tool_calls: Vec<Json>,
    /// How many messages were sent.
    pub request_message_count: usize,
    /// The number of the first one that is shown, from 0.
    pub request_from: usize,
    /// The messages as they were sent, the newest last. The first that is shown may be cut, and says so.
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
    pub(super) contents: Arc<dyn Contents>,
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
        let record = self.known(run).await?;
        record.ok_or_else(|| AgentError::no_run(run.as_str()))
    }

    pub(super) async fn known(&self, run: &RunId) -> Result<Option<RunRecord>, AgentError> {
        Ok(self.journal.record(run).await?)
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
            foreground: InvocationId::root(),
            next: None,
            turns: HashMap::new(),
            waiting: VecDeque::new(),
        })
    }

    /// The turn of that round of the run's first agent; see [`Self::model_turn_of`].
    pub async fn model_turn(
        &self,
        run: &RunId,
        round: u32,
        max_chars: Option<usize>,
    ) -> Result<ModelTurnView, AgentError> {
        self.model_turn_of(run, &InvocationId::root(), round, max_chars)
            .await
    }

    /// The turn of that round of an agent, and what was sent for it. `max_chars` bounds each text, and the request as a whole.
    pub async fn model_turn_of(
        &self,
        run: &RunId,
        invocation: &InvocationId,
        round: u32,
        max_chars: Option<usize>,
    ) -> Result<ModelTurnView, AgentError> {
        let refused = |message: String, reason: &'static str| {
            Err(AgentError::new(ErrorCode::AgentValidationError, message).because(reason))
        };
        let most = max_chars.unwrap_or(DEFAULT_TURN_CHARS);
        if most == 0 {
            let message = "maxChars is at least 1".to_owned();
            return refused(message, "agent.model_turn_max_chars_invalid");
        }
        self.record(run).await?;
        let mut told = Retelling::of(self, run);
        let mut aliases = BTreeMap::new();
        let mut last = 0;
        let mut is_known = *invocation == InvocationId::root();
        while let Some(moment) = told.next().await? {
            is_known |= moment.run.is_agent(invocation);
            let input = match &moment.stamped.input {
                Input::Child {
                    invocation: whose,
                    input,
                } if whose == invocation => &**input,
                Input::Child { .. } => continue,
                input if moment.run.invocation() == invocation => input,
                _ => continue,
            };
            let part = moment.run.of_invocation(invocation);
            match input {
                Input::ContextReady { tools, .. } => aliases = model_names(tools),
                Input::ModelAsked { request, .. } => {
                    aliases.extend(request.get(ADDED).map(model_names).into_iter().flatten());
                }
                Input::ModelReplied(reply) => {
                    last = part.spent().rounds;
                    if last == round {
                        return Ok(view(part, round, reply, most, &aliases));
                    }
                }
                _ => {}
            }
        }
        if !is_known {
            let message = format!(
                "the run '{run}' has no agent '{invocation}'; `innkeeper runs show {run}` lists those it has"
            );
            return refused(message, "agent.model_turn_invocation_id_invalid");
        }
        let message = match round {
            0 => "rounds are counted from 1".to_owned(),
            _ => format!(
                "the run '{run}' has no answer of round {round}; its last is of round {last}"
            ),
        };
        refused(message, "agent.model_turn_round_invalid")
    }

    /// What a commit publishes, whatever became of the file since.
    pub async fn commit_file(
        &self,
        run: &RunId,
        commit: &CommitId,
    ) -> Result<HostFile, AgentError> {
        let state = self.state(run).await?;
        let Some(commit) = state.commit(commit) else {
            let message = format!("the run '{run}' has no commit '{commit}'");
            return Err(AgentError::new(ErrorCode::AgentNotFound, message));
        };
        self.content(&commit.path, &commit.file).await
    }

    /// The store gives nothing that does not have its hash.
    pub async fn content(&self, path: &str, file: &FileInfo) -> Result<HostFile, AgentError> {
        Ok(read_content(&*self.contents, path, file).await?)
    }

    /// A page of what the run was fed.
    pub(super) async fn steps(
        &self,
        run: &RunId,
        after: StepPlace,
        limit: usize,
    ) -> Result<Vec<StepRead>, AgentError> {
        Ok(self.journal.inputs(run, after, limit).await?)
    }
}

/// One answer of the model as the journal has it. What was sent for it: the first `keep` messages of what was sent before,
/// and then `add`.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRead {
    pub invocation_id: InvocationId,
    pub round: u32,
    pub keep: usize,
    pub add: Vec<Arc<Json>>,
    pub reply: Arc<ModelTurn>,
}

pub struct TurnReader {
    reader: RunReader,
    run: RunId,
    place: StepPlace,
    /// Who has the run, and who gets it next.
    foreground: InvocationId,
    next: Option<InvocationId>,
    turns: HashMap<InvocationId, Asked>,
    waiting: VecDeque<TurnRead>,
}

/// How far one agent is.
#[derive(Default)]
struct Asked {
    round: u32,
    /// All that was sent last: what is made shorter is told anew.
    sent: Vec<Arc<Json>>,
    last: Option<(usize, Vec<Arc<Json>>)>,
}

impl TurnReader {
    /// `None` after the last that was answered. Those of agents that work for others stand among the run's own.
    pub async fn next(&mut self) -> Result<Option<TurnRead>, AgentError> {
        while self.waiting.is_empty() {
            let page = self.reader.steps(&self.run, self.place, STEPS_PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            self.place = last.place;
            for step in &page {
                for stamped in inputs(&step.input)? {
                    match stamped.input {
                        Input::Child { invocation, input } => self.take(invocation, *input),
                        Input::HandoffCalled { to, .. } => {
                            self.next = Some(to.invocation.clone());
                        }
                        input => {
                            // Whoever gets the run begins with a context of its own.
                            if matches!(input, Input::ContextReady { .. })
                                && let Some(next) = self.next.take()
                            {
                                self.foreground = next;
                            }
                            self.take(self.foreground.clone(), input);
                        }
                    }
                }
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn take(&mut self, whose: InvocationId, input: Input) {
        match input {
            Input::Created(created) => {
                let turns = self.turns.entry(whose).or_default();
                let sent = created.fork.as_ref().map(|fork| fork.sent().to_vec());
                turns.sent = sent.clone().unwrap_or_default();
                turns.last = sent.map(|sent| (0, sent));
            }
            Input::Compacted(made) => {
                let turns = self.turns.entry(whose).or_default();
                let Compaction { up_to, kept, .. } = &*made;
                turns.sent = context::shortened(&turns.sent, *up_to, kept, &made.summary);
                turns.last = Some((0, turns.sent.clone()));
            }
            Input::ModelAsked { keep, add, .. } => {
                let turns = self.turns.entry(whose).or_default();
                turns.round += 1;
                turns.became(keep, add);
            }
            Input::RolledBack(back) => {
                let restored = &back.restored;
                let turns = self.turns.entry(whose).or_default();
                turns.became(restored.keep(), restored.add().to_vec());
            }
            Input::ModelReplied(reply) => {
                let turns = self.turns.entry(whose.clone()).or_default();
                let (keep, add) = turns.last.take().unwrap_or_default();
                self.waiting.push_back(TurnRead {
                    invocation_id: whose,
                    round: turns.round,
                    keep,
                    add,
                    reply,
                });
            }
            _ => {}
        }
    }
}

impl Asked {
    /// What would be sent, since the last answer.
    fn became(&mut self, keep: usize, add: Vec<Arc<Json>>) {
        self.sent.truncate(keep);
        self.sent.extend(add.iter().cloned());
        match &mut self.last {
            // Before the last was answered.
            Some((kept, added)) if keep >= *kept => {
                added.truncate(keep - *kept);
                added.extend(add);
            }
            asked => *asked = Some((keep, add)),
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

pub(super) fn inputs(entry: &str) -> Result<Vec<Stamped>, AgentError> {
    serde_json::from_str(entry).map_err(|error| {
        AgentError::new(ErrorCode::AgentInternalError, error.to_string())
            .because("agent.model_response_parse_failed")
    })
}

/// How the model calls tools, where that is not by their own names.
fn model_names(tools: &Json) -> BTreeMap<String, String> {
    let tools = tools.as_array().into_iter().flatten();
    let pairs = tools.filter_map(|tool| {
        let text = |key: &str| Some(tool.get(key)?.as_str()?.to_owned());
        Some((text("name")?, text("modelName")?))
    });
    pairs.collect()
}

fn view(
    run: &AgentRun,
    round: u32,
    turn: &ModelTurn,
    most: usize,
    aliases: &BTreeMap<String, String>,
) -> ModelTurnView {
    let read = turn.read();
    let planned = run.turn().into_iter().flat_map(Turn::calls);
    let calls: Vec<Json> = planned
        .map(|call| {
            let mut told = json!({"callId": call.call, "name": call.tool});
            if let Some(name) = aliases.get(&call.tool) {
                told["modelName"] = name.as_str().into();
            }
            told
        })
        .collect();
    let narrates = !calls.is_empty() && !read.response_text.trim().is_empty();
    let (request_from, request) = newest(run.sent(), most);
    ModelTurnView {
        run_id: run.run_id().clone(),
        invocation_id: run.invocation().clone(),
        round,
        model_response_path: names::response_path_of(run.invocation(), round),
        provider: json!({
            "source": run.binding()["chatCompletionSource"],
            "format": run.binding()["customApiFormat"],
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
        request_message_count: run.sent().len(),
        request_from,
        request,
    }
}

/// The last messages that have at most so many characters together, and the number of the first of them. The one before
/// them is given as far as it fits, marked as cut.
fn newest(sent: &[Arc<Json>], most: usize) -> (usize, Vec<Arc<Json>>) {
    let mut left = most;
    let mut from = sent.len();
    let mut shown: VecDeque<Arc<Json>> = VecDeque::new();
    for message in sent.iter().rev() {
        let chars = message.to_string().chars().count();
        from -= 1;
        if chars <= left {
            left -= chars;
            shown.push_front(message.clone());
            continue;
        }
        let role = message.get("role").cloned().unwrap_or_default();
        let text = match message.get("content") {
            Some(Json::String(text)) => text.clone(),
            content => content.map(Json::to_string).unwrap_or_default(),
        };
        let text: String = text.chars().take(left).collect();
        let cut = json!({"role": role, "content": text, "truncated": true});
        shown.push_front(Arc::new(cut));
        break;
    }
    (from, shown.into())
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
