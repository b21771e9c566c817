//! The questions of a run that is attended: put to the person at the terminal as they are seen, answered already, or left
//! open for somebody else.

use std::collections::VecDeque;
use std::pin::Pin;

use innkeeper_agent::instance::{PendingApproval, pending_in};
use innkeeper_protocol::event::{CallId, RunEventKind};
use innkeeper_store::journal::EventRange;

use super::Attendant;
use crate::approve::Approve;
use crate::ask::somebody_is_there;
use crate::commands::runs::question::{self, Said};
use crate::failure::{Failure, in_words};
use crate::limits::EVENTS_PAGE;
use crate::visible::visible;

/// How questions are answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// With yes, each once.
    Yes,
    Person,
    /// Nobody is here: they wait for somebody who is elsewhere.
    Elsewhere,
}

pub(super) struct Questions {
    answers: Answers,
    /// Seen, and not put yet.
    open: VecDeque<PendingApproval>,
    /// The call that is being asked about.
    asked: Option<(CallId, Asking)>,
    /// What was wrong with the answer before.
    complaint: Option<String>,
    /// Some wait for somebody else.
    left: bool,
}

type Asking = Pin<Box<dyn Future<Output = Said> + Send>>;

impl Questions {
    pub(super) fn new(approve: Approve) -> Self {
        Self {
            answers: match approve {
                Approve::Answered => Answers::Yes,
                Approve::Person if somebody_is_there() => Answers::Person,
                Approve::Person | Approve::Nobody => Answers::Elsewhere,
            },
            open: VecDeque::new(),
            asked: None,
            complaint: None,
            left: false,
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// What the person says, while they are asked.
    pub(super) async fn said(&mut self) -> Said {
        match &mut self.asked {
            Some((_, asking)) => asking.await,
            None => std::future::pending().await,
        }
    }

    /// Somebody has answered it, here or elsewhere.
    fn is_settled(&mut self, call: &CallId) {
        self.open.retain(|open| open.call_id != *call);
        if self.asked.as_ref().is_some_and(|(asked, _)| asked == call) {
            self.asked = None;
        }
    }
}

impl Attendant<'_> {
    /// What was asked before anybody attended. All else is seen where it is told, behind what led to it.
    pub(super) async fn find_questions(&mut self) -> Result<(), Failure> {
        let state = self.runtime.reader().state(&self.run).await?;
        let waiting = pending_in(&state);
        if waiting.is_empty() {
            return Ok(());
        }
        let range = EventRange::After {
            seq: self.seen,
            limit: EVENTS_PAGE,
        };
        let to_come = self.runtime.events(&self.run, range).await?;
        let is_told = |asked: &PendingApproval| {
            to_come.iter().any(|event| {
                matches!(&event.kind, RunEventKind::ToolCallAwaitingApproval(call) if call.call_id == asked.call_id)
            })
        };
        for asked in waiting {
            if !is_told(&asked) {
                self.take_question(asked).await?;
            }
        }
        Ok(())
    }

    /// As soon as it is told, also while something else is asked and nothing is shown.
    pub(super) fn hear_answer(&mut self, kind: &RunEventKind) {
        match kind {
            RunEventKind::ToolCallApproved(call) | RunEventKind::ToolCallDenied(call) => {
                self.questions.is_settled(&call.call_id);
            }
            RunEventKind::ToolCallCompleted(call) | RunEventKind::ToolCallFailed(call) => {
                self.questions.is_settled(&call.call_id);
            }
            _ => {}
        }
    }

    /// A question that has come into sight.
    pub(super) async fn see_question(&mut self, call: &CallId) -> Result<(), Failure> {
        let state = self.runtime.reader().state(&self.run).await?;
        let asked = pending_in(&state)
            .into_iter()
            .find(|asked| asked.call_id == *call);
        match asked {
            Some(asked) => self.take_question(asked).await,
            // It was answered meanwhile.
            None => Ok(()),
        }
    }

    async fn take_question(&mut self, asked: PendingApproval) -> Result<(), Failure> {
        let is_known = |open: &PendingApproval| open.approval_id == asked.approval_id;
        if self.questions.open.iter().any(is_known) {
            return Ok(());
        }
        match self.questions.answers {
            Answers::Yes => self.give(question::approval(&asked, true)).await,
            Answers::Person => {
                self.questions.open.push_back(asked);
                Ok(())
            }
            Answers::Elsewhere => {
                self.leave_open(&asked);
                Ok(())
            }
        }
    }

    fn leave_open(&mut self, asked: &PendingApproval) {
        self.questions.left = true;
        let (run, call, name) = (&asked.run_id, question::place(asked), visible(&asked.name));
        let with = asked.question.as_deref().map(question::in_short);
        let with = with.filter(|with| !with.is_empty());
        let with = with.map(|with| format!(" {with}")).unwrap_or_default();
        self.timeline.remark_on(
            &asked.invocation_id,
            &format!(
                "{name}{with} waits for approval: innkeeper runs approve {run} {call}, or --deny"
            ),
            &format!("{name}{with} 等待批准：innkeeper runs approve {run} {call}，或加 --deny"),
        );
    }

    /// Puts the next one, if none is being asked.
    pub(super) fn put_question(&mut self) {
        if self.questions.is_asking() {
            return;
        }
        let Some(asked) = self.questions.open.front().cloned() else {
            return;
        };
        self.timeline.end_line();
        let call = asked.call_id.clone();
        let agent = self.timeline.before(&asked.invocation_id);
        let name = format!("{}{}", self.timeline.name(), agent.unwrap_or_default());
        let complaint = self.questions.complaint.take();
        let asking = question::ask(asked, name, complaint, self.screen.lang);
        self.questions.asked = Some((call, Box::pin(asking)));
    }

    /// What the person has said to the question that was put.
    pub(super) async fn answered(&mut self, said: Said) -> Result<(), Failure> {
        self.questions.asked = None;
        let Some(answer) = said else {
            // They have closed the input: nobody is here any more.
            self.questions.answers = Answers::Elsewhere;
            for asked in std::mem::take(&mut self.questions.open) {
                self.leave_open(&asked);
            }
            return Ok(());
        };
        let call = answer.call.clone();
        match self.runtime.approve(answer).await {
            Err(error) if error.reason.as_deref() == Some("agent.approval_edit_invalid") => {
                self.questions.complaint = Some(in_words(&error.message, self.screen.lang));
                Ok(())
            }
            // Somebody else was quicker, or it is too late: its next events say what counts.
            Err(_) | Ok(_) => {
                self.questions.is_settled(&call);
                Ok(())
            }
        }
    }

    async fn give(
        &mut self,
        answer: innkeeper_agent::instance::ApproveToolCall,
    ) -> Result<(), Failure> {
        match self.runtime.approve(answer).await {
            Ok(_) => Ok(()),
            // Answered from elsewhere, or the run is being ended: that is told by its next event.
            Err(error)
                if error
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.starts_with("agent.approval_")) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Leaves the run if nothing of it is under way: it does nothing more before somebody answers.
    pub(super) async fn leaves(&self) -> Result<bool, Failure> {
        match self.questions.left {
            true => Ok(self.runtime.leave_asking(&self.run).await?),
            false => Ok(false),
        }
    }
}
