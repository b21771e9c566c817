//! What people say to the questions of runs, and which of them wait.
//!
//! The journal of a run is the one place where its questions and their answers stand. So they can be answered whoever
//! drives the run, and also where nobody does.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, InvocationId, RunId, RunStatus};
use innkeeper_store::GrantKey;
use innkeeper_store::journal::RunFilter;
use innkeeper_tools::limits::MAX_APPROVAL_REASON_CHARS;
use innkeeper_tools::policy::ApprovedBy;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::AgentError;
use super::log::RecordError;
use super::reading::RunReader;
use super::runtime::AgentRuntime;
use crate::limits::MAX_ASKING_RUNS;
use crate::run::approval::expired;
use crate::run::{
    AgentRun, Answer, AnsweredBy, Asked, Edit, Input, PlannedCall, Question, Remember, Why,
};

/// A person's answer to the question that a call waits with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApproveToolCall {
    #[serde(rename = "runId")]
    pub run: RunId,
    #[serde(rename = "callId")]
    pub call: CallId,
    /// Only if the call waits with this very question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub remember: Remember,
    /// In the place of those that were shown. A value that is left as it was shown stays what it really is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Json>>,
}

impl ApproveToolCall {
    pub fn new(run: RunId, call: CallId, approved: bool) -> Self {
        Self {
            run,
            call,
            approval_id: None,
            approved,
            reason: None,
            remember: Remember::Once,
            arguments: None,
        }
    }
}

/// The answer that counts, and what it is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalReceipt {
    pub run_id: RunId,
    pub call_id: CallId,
    pub approval_id: String,
    pub approved: bool,
    pub remember: Remember,
    pub arguments_edited: bool,
    /// What it is called with then, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<Json>,
    /// The tool as the model called it.
    pub name: String,
    /// Which agent of the run calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<InvocationId>,
    #[serde(flatten)]
    pub question: Option<Arc<Question>>,
}

/// A question that nobody has answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    pub run_id: RunId,
    pub call_id: CallId,
    pub approval_id: String,
    /// Which agent of the run calls.
    pub invocation_id: InvocationId,
    /// The tool as the model called it.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub asked_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What can be answered: `once`, `run`, `always`, `deny`, `edit`.
    pub decisions: Vec<&'static str>,
    #[serde(flatten)]
    pub question: Option<Arc<Question>>,
}

impl PendingApproval {
    fn of(run: &AgentRun, caller: &AgentRun, call: &PlannedCall, asked: &Asked) -> Self {
        Self {
            run_id: run.run_id().clone(),
            call_id: call.call.clone(),
            approval_id: asked.id.clone(),
            invocation_id: caller.invocation().clone(),
            name: call.tool.clone(),
            reason: asked.reason.clone(),
            asked_at: asked.asked_at,
            expires_at: asked.expires_at,
            decisions: match &asked.question {
                Some(question) => question.decisions(),
                None => vec!["once", "deny"],
            },
            question: asked.question.clone(),
        }
    }

    /// It can only be answered with no, which whoever drives the run does.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// Of one run, in the order of its calls; those of agents that work for others come last.
pub fn pending_in(run: &AgentRun) -> Vec<PendingApproval> {
    let open = agents(run).into_iter().flat_map(|agent| {
        let calls = agent.asking();
        let open = calls.filter_map(|call| Some((call, call.open_question()?)));
        open.map(move |(call, asked)| PendingApproval::of(run, agent, call, asked))
    });
    open.collect()
}

/// Those that can be answered at that time.
pub fn pending_at(run: &AgentRun, now: Timestamp) -> Vec<PendingApproval> {
    let mut pending = pending_in(run);
    pending.retain(|asked| !asked.is_expired(now));
    pending
}

/// What was asked last about each call of the last replies, with the answer if there is one.
pub fn asked_in(run: &AgentRun) -> Vec<(PendingApproval, Option<Answer>)> {
    let asked = agents(run).into_iter().flat_map(|agent| {
        let calls = agent.asked_about();
        let last = calls.filter_map(|call| {
            let asked = call.open_question().or_else(|| call.asked.last())?;
            Some((call, asked))
        });
        last.map(move |(call, asked)| {
            let about = PendingApproval::of(run, agent, call, asked);
            (about, asked.answer.clone())
        })
    });
    asked.collect()
}

/// Who has the run, and then those that work for it.
fn agents(run: &AgentRun) -> Vec<&AgentRun> {
    let children = run.children().into_iter();
    let children = children.map(|(_, child)| child.run());
    std::iter::once(run).chain(children).collect()
}

impl RunReader {
    /// What can be answered at that time: of one run, or of all, the newest run first.
    pub async fn pending_approvals(
        &self,
        run: Option<&RunId>,
        now: Timestamp,
    ) -> Result<Vec<PendingApproval>, AgentError> {
        if let Some(run) = run {
            return Ok(pending_at(&self.state(run).await?, now));
        }
        let mut all = Vec::new();
        let mut filter = RunFilter {
            statuses: vec![RunStatus::AwaitingApproval],
            ..RunFilter::default()
        };
        let mut seen = 0;
        loop {
            let page = self.list(&filter).await?;
            for record in &page.runs {
                seen += 1;
                // One that cannot be read does not hide the others.
                if let Ok(state) = self.state(&record.run_id).await {
                    all.extend(pending_at(&state, now));
                }
            }
            match page.next {
                Some(next) if seen < MAX_ASKING_RUNS => filter.before = Some(next),
                _ => return Ok(all),
            }
        }
    }
}

/// What becomes of a run that nobody drives, once a question of it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It is driven on here.
    GoesOn,
    /// Its journal has the answer; it goes on when somebody takes it up.
    StaysAsItIs,
}

impl AgentRuntime {
    /// Answers the question that a call waits with, and drives the run on. The same answer twice is one.
    pub async fn approve(&self, answer: ApproveToolCall) -> Result<ApprovalReceipt, AgentError> {
        self.answer(answer, Then::GoesOn).await
    }

    /// The same, without taking up a run that nobody drives: it goes on with the answer when somebody does. For whoever
    /// holds the home.
    pub async fn note_approval(
        &self,
        answer: ApproveToolCall,
    ) -> Result<ApprovalReceipt, AgentError> {
        self.answer(answer, Then::StaysAsItIs).await
    }

    /// What waits for an answer, as the journals have it: also of runs that others drive, or nobody.
    pub async fn pending_approvals(
        &self,
        run: Option<&RunId>,
    ) -> Result<Vec<PendingApproval>, AgentError> {
        let now = self.0.parts.clock.now();
        self.reader().pending_approvals(run, now).await
    }

    /// What is wrong with an answer, for whoever hands it on; and what its receipt will be. Nothing is changed.
    pub async fn check_approval(
        &self,
        answer: &ApproveToolCall,
    ) -> Result<ApprovalReceipt, AgentError> {
        self.record(&answer.run).await?;
        let Meant { input, receipt, .. } = self.as_input(answer).await?;
        let mut state = self.reader().state(&answer.run).await?;
        let at = self.0.parts.clock.now();
        match state.apply(&crate::run::Stamped { at, input }) {
            Err(misfit) if misfit.why != Why::Already => Err(misfit.into()),
            _ => Ok(receipt),
        }
    }

    async fn answer(
        &self,
        answer: ApproveToolCall,
        then: Then,
    ) -> Result<ApprovalReceipt, AgentError> {
        self.record(&answer.run).await?;
        let Meant {
            input,
            receipt,
            key,
        } = self.as_input(&answer).await?;
        match then {
            Then::GoesOn => {
                let is_said = |why: &Why| *why == Why::Already;
                self.feed(&answer.run, vec![input], is_said).await?;
            }
            Then::StaysAsItIs => self.note(&answer.run, input).await?,
        }
        // Once it is in the journal: what is taken back later must not come again with the call.
        let remember = match key.filter(|_| answer.approved && answer.remember == Remember::Always)
        {
            None => answer.remember,
            Some(key) => {
                let approvals = self.0.parts.tools.approvals();
                match approvals.remember_for_good(&key).await.by {
                    ApprovedBy::Always => Remember::Always,
                    _ => Remember::Once,
                }
            }
        };
        // What was said first counts; it is what was said now, or the same.
        Ok(ApprovalReceipt {
            remember,
            ..receipt
        })
    }

    /// Written into the journal of a run that nobody drives.
    pub(super) async fn note(&self, run: &RunId, input: Input) -> Result<(), AgentError> {
        let _taking_up = self.0.taking_up.lock().await;
        let instance = match self.0.alive(run) {
            Some(instance) => instance,
            None => self.restored(run).await?,
        };
        match instance.log.record(input).await {
            Err(RecordError::Misfit(misfit)) if misfit.why == Why::Already => Ok(()),
            recorded => Ok(recorded?),
        }
    }

    /// As the run is fed it, and the question that it answers. Changed arguments are held against the tool and the rules
    /// first.
    async fn as_input(&self, answer: &ApproveToolCall) -> Result<Meant, AgentError> {
        let instance = match self.0.alive(&answer.run) {
            Some(instance) => instance,
            None => self.restored(&answer.run).await?,
        };
        let found = instance.log.read(|run| {
            let call = run.planned_call(&answer.call)?;
            let open = call.open_question();
            let asked = open.or_else(|| call.asked.last())?;
            let expires_at = open.and_then(|open| open.expires_at);
            let question = open.and_then(|open| open.question.clone());
            let about = (call.tool.clone(), asked.id.clone(), asked.question.clone());
            Some((about, question, expires_at))
        });
        let (about, question, expires_at) = found.await?.unwrap_or_default();
        let (name, approval_id, asked) = about;
        let key = question.as_ref().map(|question| question.key());
        let owner = instance.log.read(|run| {
            let owner = run.invocation_of_call(&answer.call)?;
            (owner != *run.invocation()).then_some(owner)
        });
        let owner = owner.await?;
        let caller = owner.as_ref().unwrap_or(&instance.invocation).clone();
        // Changed arguments are held against the tools of whoever calls.
        let instance = match &owner {
            None => instance,
            Some(owner) => match instance.child(owner).await {
                Ok(Some(child)) => child,
                Ok(None) | Err(_) => instance,
            },
        };
        let now = self.0.parts.clock.now();
        if let Some(expires_at) = expires_at.filter(|at| *at <= now) {
            return Err(expired(&answer.call, expires_at).into());
        }
        let edit = answer.arguments.clone().map(|arguments| {
            let shown = match question.filter(|question| question.may_edit) {
                // The run says what is wrong.
                None => Json::Null,
                Some(question) => {
                    let (tool, shown) = (&question.tool, &question.arguments);
                    let checked = instance.tools.check_edit(tool, shown, &arguments);
                    checked.map_err(|error| invalid(&error.message))?
                }
            };
            Ok::<_, AgentError>(Arc::new(Edit { arguments, shown }))
        });
        let edit = edit.transpose()?;
        let reason = answer.reason.as_deref().map(|reason| self.said(reason));
        let reason = reason.filter(|reason| !reason.is_empty());
        let remember = match answer.approved {
            true => answer.remember,
            false => Remember::Once,
        };
        let receipt = ApprovalReceipt {
            run_id: answer.run.clone(),
            call_id: answer.call.clone(),
            approval_id,
            approved: answer.approved,
            remember,
            arguments_edited: edit.is_some(),
            edited_arguments: edit.as_ref().map(|edit| edit.shown.clone()),
            name,
            invocation_id: asked.is_some().then_some(caller),
            question: asked,
        };
        let input = Input::ApprovalAnswered {
            call: answer.call.clone(),
            approved: answer.approved,
            reason: reason.map(|reason| reason.chars().take(MAX_APPROVAL_REASON_CHARS).collect()),
            approval_id: answer.approval_id.clone(),
            remember,
            edit,
            by: AnsweredBy::Person,
        };
        let input = match owner {
            None => input,
            Some(invocation) => Input::Child {
                invocation,
                input: Box::new(input),
            },
        };
        Ok(Meant {
            input,
            receipt,
            key,
        })
    }

    /// What a person has typed, without what must not be read in journals.
    pub(super) fn said(&self, words: &str) -> String {
        self.0.parts.tools.redact_text(words.trim())
    }
}

/// An answer as the run takes it.
struct Meant {
    input: Input,
    receipt: ApprovalReceipt,
    /// What an answer for good is about, of a question that is open.
    key: Option<GrantKey>,
}

fn invalid(why: &str) -> AgentError {
    let message = format!("the changed arguments cannot be used: {why}; the question stays open");
    AgentError::new(ErrorCode::AgentValidationError, message).because("agent.approval_edit_invalid")
}
