//! Questions to people about calls: asked, answered, outlived. A question is in the run until its call has ended, so it
//! is the same before and after a restart, and so is its answer.
//!
//! **No approval, no effect.** A call that waits for an answer can only be started once the question has one (`fit.rs`).
//! An answer belongs to its question: who asks the same again finds it, who asks about anything else asks anew.

use std::sync::Arc;

use innkeeper_protocol::event::{
    CallId, InvocationId, RunEventKind, RunStatus, ToolCallAnswered, ToolCallAwaitingApproval,
};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use innkeeper_store::GrantKey;
use innkeeper_tools::limits::MAX_GRANTS_PER_RUN;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::apply::Out;
use super::names::{arguments_path, call_key};
use super::state::Phase;
use super::turn::CallState;
use super::{AgentRun, Input, Misfit, PlannedCall, Stamped, Turn};
use crate::limits::MAX_EDIT_TOLD_CHARS;

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The tool that asks for leave. Not always the one that was called: who does something in a roundabout way needs
    /// leave for the thing itself.
    pub tool: String,
    pub source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Without secrets.
    pub arguments: Json,
    pub rule: String,
    /// What the rule says; journals of earlier versions have only its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    pub user: String,
    pub actor: String,
    pub project: String,
    /// Whether the person may change the arguments.
    #[serde(default)]
    pub may_edit: bool,
}

impl Question {
    /// What an answer for longer than this one call is about.
    pub fn key(&self) -> GrantKey {
        GrantKey {
            user: self.user.clone(),
            actor: self.actor.clone(),
            tool: self.tool.clone(),
            source: self.source.clone(),
            rule: self.says.as_ref().unwrap_or(&self.rule).clone(),
        }
    }

    /// In the words of [`Remember`], `deny` and `edit`.
    pub fn decisions(&self) -> Vec<&'static str> {
        let always = ["once", "run", "always", "deny"];
        let edit = self.may_edit.then_some("edit");
        always.into_iter().chain(edit).collect()
    }
}

/// A question about a call, with its answer if there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    pub id: String,
    /// Journals of earlier versions do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Arc<Question>>,
    /// Why it is asked, in the rule's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub asked_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub remember: Remember,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Arc<Edit>>,
    #[serde(default)]
    pub by: AnsweredBy,
}

impl Answer {
    /// Whoever says this says nothing new. What a rule or another answer has allowed, a person need not allow.
    fn says_the_same(&self, other: &Self) -> bool {
        match self.by {
            AnsweredBy::Person => {
                let edits = |answer: &Self| answer.edit.as_ref().map(|edit| edit.arguments.clone());
                self.approved == other.approved
                    && self.reason == other.reason
                    && self.remember == other.remember
                    && edits(self) == edits(other)
            }
            _ => self.approved && other.approved && other.edit.is_none(),
        }
    }
}

/// Arguments as a person has changed them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Against what they were shown: what was left as it was shown stays what it is.
    pub arguments: Map<String, Json>,
    /// Without secrets.
    pub shown: Json,
}

/// How long an approval is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For this call.
    #[default]
    Once,
    /// For this tool, as long as this run lasts.
    Run,
    /// For this tool and this caller, from now on.
    Always,
}

impl Remember {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Run => "run",
            Self::Always => "always",
        }
    }
}

/// On whose word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    #[default]
    Person,
    /// Of a person who has answered another question for this run.
    Run,
    /// Of a person who has answered another question for good.
    Always,
    /// A rule that has come since: it need not be asked, or is forbidden.
    Rule,
    /// Nobody has answered in time.
    Expiry,
    /// The call asks something else now.
    Changed,
}

impl AnsweredBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Run => "run",
            Self::Always => "always",
            Self::Rule => "rule",
            Self::Expiry => "expiry",
            Self::Changed => "changed",
        }
    }
}

impl PlannedCall {
    /// The question that it waits with.
    pub fn open_question(&self) -> Option<&Asked> {
        let CallState::AwaitingApproval { approval_id } = &self.state else {
            return None;
        };
        self.asked.iter().find(|asked| asked.id == *approval_id)
    }

    pub fn is_asked_about(&self) -> bool {
        matches!(self.state, CallState::AwaitingApproval { .. })
    }

    /// What a person has made of its arguments.
    pub fn edit(&self) -> Option<&Arc<Edit>> {
        let answers = self
            .asked
            .iter()
            .rev()
            .filter_map(|asked| asked.answer.as_ref());
        answers
            .filter(|answer| answer.approved)
            .find_map(|answer| answer.edit.as_ref())
    }
}

impl AgentRun {
    /// Calls that wait for people, in the order of the reply.
    pub fn asking(&self) -> impl Iterator<Item = &PlannedCall> {
        let calls = self.turn.iter().flat_map(Turn::calls);
        // One that is being ended asks nothing any more.
        let is_at_work = self.phase == Phase::Acting;
        calls.filter(move |call| is_at_work && call.is_asked_about())
    }

    /// Calls of the last reply that people were asked about, in its order, whatever became of them.
    pub fn asked_about(&self) -> impl Iterator<Item = &PlannedCall> {
        let calls = self.turn.iter().flat_map(Turn::calls);
        calls.filter(|call| !call.asked.is_empty())
    }

    /// Answers that people gave for the whole run.
    pub fn grants(&self) -> &[GrantKey] {
        &self.grants
    }

    /// A call of the last reply, also of an agent that works for this one.
    pub fn planned_call(&self, id: &CallId) -> Option<&PlannedCall> {
        let children = self.children.values();
        let of_children = || {
            children
                .map(|child| child.run())
                .find_map(|run| run.call(id))
        };
        self.call(id).or_else(of_children)
    }

    pub(super) fn approval_asked(
        &mut self,
        id: &CallId,
        approval_id: &str,
        reason: Option<&str>,
        expires_at: Option<Timestamp>,
        question: Option<&Arc<Question>>,
        out: &mut Out,
    ) {
        let (round, at) = (self.spent.rounds, self.at);
        let Some(call) = self.call_mut(id) else {
            return;
        };
        call.state = CallState::AwaitingApproval {
            approval_id: approval_id.to_owned(),
        };
        call.asked.retain(|asked| asked.id != approval_id);
        call.asked.push(Asked {
            id: approval_id.to_owned(),
            question: question.cloned(),
            reason: reason.map(str::to_owned),
            asked_at: at,
            expires_at,
            answer: None,
        });
        let mut extra = Map::from_iter([("approvalId".to_owned(), approval_id.into())]);
        if let Some(question) = question {
            extra.insert("tool".to_owned(), question.tool.as_str().into());
            extra.insert("source".to_owned(), question.source.as_str().into());
            extra.insert("rule".to_owned(), question.rule.as_str().into());
            extra.insert("actor".to_owned(), question.actor.as_str().into());
            extra.insert("arguments".to_owned(), question.arguments.clone());
            extra.insert("decisions".to_owned(), json!(question.decisions()));
        }
        if let Some(expires_at) = expires_at {
            extra.insert("expiresAt".to_owned(), expires_at.to_string().into());
        }
        let awaiting = ToolCallAwaitingApproval {
            round,
            invocation_id: InvocationId::root(),
            call_id: id.clone(),
            name: call.tool.clone(),
            arguments_ref: Some(arguments_path(id)),
            reason: reason.map(str::to_owned),
            extra,
        };
        self.turn_to(RunStatus::AwaitingApproval, out);
        out.push(RunEventKind::ToolCallAwaitingApproval(awaiting).into());
    }

    /// Allowed or not, its own next input says what becomes of it. An answer for the run settles what else it covers.
    pub(super) fn approval_answered(&mut self, id: &CallId, answer: &Answer, out: &mut Out) {
        let key = self.answered(id, answer, out);
        let covers = answer.approved && answer.by == AnsweredBy::Person;
        let by = match answer.remember {
            Remember::Run => AnsweredBy::Run,
            Remember::Always => AnsweredBy::Always,
            Remember::Once => AnsweredBy::Person,
        };
        if let Some(key) = key.filter(|_| covers && by != AnsweredBy::Person) {
            self.grant(&key);
            for call in self.asking_under(&key) {
                let answer = Answer {
                    approved: true,
                    reason: None,
                    remember: Remember::Once,
                    edit: None,
                    by,
                };
                self.answered(&call, &answer, out);
            }
        }
        if self.asking().next().is_none() && self.phase == Phase::Acting {
            self.turn_to(RunStatus::DispatchingTool, out);
        }
    }

    /// Gives what an answer for longer is about.
    fn answered(&mut self, id: &CallId, answer: &Answer, out: &mut Out) -> Option<GrantKey> {
        let round = self.spent.rounds;
        let call = self.call_mut(id)?;
        let CallState::AwaitingApproval { approval_id } = &call.state else {
            return None;
        };
        let approval_id = approval_id.clone();
        call.state = CallState::Waiting;
        let asked = call.asked.iter_mut().find(|asked| asked.id == approval_id);
        let key = asked.and_then(|asked| {
            asked.answer = Some(answer.clone());
            Some(asked.question.as_ref()?.key())
        });
        let mut extra = Map::from_iter([
            ("approvalId".to_owned(), approval_id.into()),
            ("by".to_owned(), answer.by.as_str().into()),
        ]);
        if answer.approved {
            extra.insert("remember".to_owned(), answer.remember.as_str().into());
        }
        if let Some(edit) = &answer.edit {
            extra.insert("argumentsEdited".to_owned(), true.into());
            extra.insert("arguments".to_owned(), edit.shown.clone());
        }
        let answered = ToolCallAnswered {
            round,
            invocation_id: InvocationId::root(),
            call_id: id.clone(),
            name: call.tool.clone(),
            reason: answer.reason.clone(),
            extra,
        };
        let kind = match answer.approved {
            true => RunEventKind::ToolCallApproved(answered),
            false => RunEventKind::ToolCallDenied(answered),
        };
        out.push(kind.into());
        key
    }

    fn grant(&mut self, key: &GrantKey) {
        if !self.grants.contains(key) && self.grants.len() < MAX_GRANTS_PER_RUN {
            self.grants.push(key.clone());
        }
    }

    fn asking_under(&self, key: &GrantKey) -> Vec<CallId> {
        let covered = self.asking().filter(|call| {
            let question = call
                .open_question()
                .and_then(|asked| asked.question.as_ref());
            question.is_some_and(|question| question.key() == *key)
        });
        covered.map(|call| call.call.clone()).collect()
    }

    /// Whatever else happens while somebody is asked: it is what the run waits for, and lists of runs say so.
    pub(super) fn keep_asking(&mut self, out: &mut Out) {
        let is_ended = self.is_over() || self.is_cancelling();
        if self.status != RunStatus::AwaitingApproval && !is_ended && self.asks_anybody() {
            self.turn_to(RunStatus::AwaitingApproval, out);
        }
    }

    /// The model believes that it called with what it wrote; it is told what was really called.
    pub(super) fn tell_edit(&mut self, call: &PlannedCall) {
        let Some(edit) = call.edit() else { return };
        let shown: String = edit.shown.to_string();
        let shown = match shown.char_indices().nth(MAX_EDIT_TOLD_CHARS) {
            Some((at, _)) => format!("{}…", shown.get(..at).unwrap_or_default()),
            None => shown,
        };
        let outcome = Outcome::Notice {
            reason: "arguments_edited".to_owned(),
            message: format!(
                "A person changed the arguments of {} before it was called; it was called with {shown}",
                call.tool
            ),
        };
        let blocks = self.turn.iter_mut().flat_map(|turn| &mut turn.blocks);
        let mut own =
            blocks.filter(|block| block.calls.iter().any(|known| known.call == call.call));
        if let Some(block) = own.next() {
            block.notes.push(Observation {
                index: call.index,
                ..Observation::new(call.tool.as_str(), outcome)
            });
        }
    }

    /// What was denied is not done, whoever wants to. A question that the call does not ask any more denies nothing.
    pub(super) fn check_allowed(&self, id: &CallId) -> Result<(), Misfit> {
        let call = self.check_waiting(id)?;
        let last = call.asked.last().and_then(|asked| asked.answer.as_ref());
        match last {
            Some(answer) if !answer.approved && answer.by != AnsweredBy::Changed => {
                Err(Misfit::unfit(format!("Call {id} was denied")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_question(
        &self,
        call: &PlannedCall,
        approval_id: &str,
    ) -> Result<(), Misfit> {
        let is_answered = |asked: &Asked| asked.id == approval_id && asked.answer.is_some();
        match call.asked.iter().any(is_answered) {
            true => Err(Misfit::already("This question has been answered")),
            false => Ok(()),
        }
    }

    pub(super) fn check_approval(
        &self,
        id: &CallId,
        approval_id: Option<&str>,
        answer: &Answer,
    ) -> Result<(), Misfit> {
        let not_pending = || {
            let message = format!(
                "Nobody is asked about the call {id}, or not any more; `innkeeper runs approve --list` shows what waits"
            );
            Misfit::refused(
                ErrorCode::AgentNotFound,
                "agent.approval_not_pending",
                message,
            )
        };
        let Some(call) = self.call(id) else {
            if self.calls.contains(&call_key(id.as_str())) {
                return Err(not_pending());
            }
            let message = format!(
                "The run has no call {id}; `innkeeper runs approve --list` shows those that wait"
            );
            return Err(Misfit::refused(
                ErrorCode::AgentNotFound,
                "agent.approval_call_unknown",
                message,
            ));
        };
        let is_meant = |known: &str| approval_id.is_none_or(|id| id == known);
        if let CallState::AwaitingApproval { approval_id: open } = &call.state
            && is_meant(open)
        {
            return check_edit(call, answer);
        }
        let mut before = call.asked.iter().rev().filter(|asked| is_meant(&asked.id));
        match before.find_map(|asked| asked.answer.as_ref()) {
            Some(before) if before.says_the_same(answer) => Err(Misfit::already(
                "This question has been answered in the same way",
            )),
            Some(before) => Err(Misfit::refused(
                ErrorCode::AgentValidationError,
                "agent.approval_answered",
                format!(
                    "The call {id} was {} before, and the first answer counts",
                    match before.approved {
                        true => "approved",
                        false => "denied",
                    }
                ),
            )),
            None => Err(not_pending()),
        }
    }

    /// Whoever answers too late has not answered. Needs the time, so it is apart from all else that has to fit.
    pub(super) fn check_in_time(&self, stamped: &Stamped) -> Result<(), Misfit> {
        if let Input::Child { invocation, input } = &stamped.input {
            let own = Stamped {
                at: stamped.at,
                input: (**input).clone(),
            };
            let child = self.children.get(invocation);
            return child.map_or(Ok(()), |child| child.run().check_in_time(&own));
        }
        let Input::ApprovalAnswered {
            call,
            by: AnsweredBy::Person,
            ..
        } = &stamped.input
        else {
            return Ok(());
        };
        let open = self.call(call).and_then(PlannedCall::open_question);
        let expires_at = open.and_then(|asked| asked.expires_at);
        match expires_at {
            Some(expires_at) if stamped.at >= expires_at => Err(expired(call, expires_at)),
            _ => Ok(()),
        }
    }
}

pub(crate) fn expired(call: &CallId, expires_at: Timestamp) -> Misfit {
    Misfit::refused(
        ErrorCode::AgentValidationError,
        "agent.approval_expired",
        format!(
            "The question about the call {call} could be answered until {expires_at}; it counts as denied"
        ),
    )
}

pub(super) fn no_answers(why: &str) -> Misfit {
    Misfit::refused(
        ErrorCode::AgentValidationError,
        "agent.approval_run_over",
        format!("The run {why}, so none of its calls waits for an answer"),
    )
}

fn check_edit(call: &PlannedCall, answer: &Answer) -> Result<(), Misfit> {
    if answer.edit.is_none() {
        return Ok(());
    }
    let invalid = |message: &str| {
        Err(Misfit::refused(
            ErrorCode::AgentValidationError,
            "agent.approval_edit_invalid",
            message,
        ))
    };
    let question = call
        .open_question()
        .and_then(|asked| asked.question.as_ref());
    if !question.is_some_and(|question| question.may_edit) {
        return invalid(
            "The arguments cannot be changed here: the question is about something that the call does on its way",
        );
    }
    if !answer.approved {
        return invalid("A call that is denied is not made, so its arguments need no change");
    }
    match answer.remember {
        Remember::Once => Ok(()),
        _ => invalid(
            "Changed arguments are approved for their one call; leave out how long to remember it",
        ),
    }
}
