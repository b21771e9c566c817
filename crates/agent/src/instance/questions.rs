//! What a run asks people about its calls, seen from where it is driven: a call waits for the answer in the run, not in
//! this process. So it may rest meanwhile, and the answer may come from anywhere, before or after a restart.
//!
//! What people say is `approve.rs`. Calls that a tool makes in its turn are not written down one by one, so about those
//! the approver of the process is asked.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, RunId};
use innkeeper_store::GrantKey;
use innkeeper_tools::ToolError;
use innkeeper_tools::policy::{ApprovalRequest, ApprovedBy, Decided, Expires, Settled};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::door::after;
use super::drive::AgentInstance;
use super::log::{Brought, RecordError, RunLog};
use crate::limits::LOOK_AT_CLOCK;
use crate::run::approval::Answer;
use crate::run::{AgentRun, AnsweredBy, Input, Question, Remember};

/// The same in every process for the same question about the same call.
fn approval_id(run: &RunId, call: &CallId, request: &ApprovalRequest) -> String {
    let mut digest = Sha256::new();
    for text in [run.as_str(), call.as_str(), &request.digest()] {
        digest.update(text.len().to_be_bytes());
        digest.update(text.as_bytes());
    }
    let digest: [u8; 32] = digest.finalize().into();
    let hex: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("approval_{hex}")
}

/// How a question stands in the run.
enum Standing {
    Answered(Box<Answer>),
    /// By an answer that was given for the whole run.
    Granted,
    Open,
    /// It has to be asked. The call may wait with a question that it does not ask any more.
    Unasked {
        is_stale: bool,
    },
    /// The run is being ended.
    Gone,
}

fn standing(run: &AgentRun, call: &CallId, id: &str, key: &GrantKey) -> Standing {
    let Some(call) = run.planned_call(call).filter(|call| call.is_open()) else {
        return Standing::Gone;
    };
    let known = call.asked.iter().find(|asked| asked.id == id);
    if let Some(answer) = known.and_then(|asked| asked.answer.as_ref()) {
        return Standing::Answered(Box::new(answer.clone()));
    }
    let open = call.open_question().map(|asked| asked.id.as_str());
    if open == Some(id) {
        return Standing::Open;
    }
    if run.grants().contains(key) {
        return Standing::Granted;
    }
    Standing::Unasked {
        is_stale: call.is_asked_about(),
    }
}

/// Asks, unless that was done before, and waits for the answer.
pub(super) async fn decided(
    log: &RunLog,
    now: Timestamp,
    call: &CallId,
    request: &ApprovalRequest,
) -> Result<Decided, ToolError> {
    let id = approval_id(log.id(), call, request);
    let key = request.key();
    loop {
        let changed = log.changed();
        let read = log.read(|run| standing(run, call, &id, &key)).await;
        match read.map_err(|error| stopped(&error.into()))? {
            Standing::Answered(answer) => return Ok(settled(*answer)),
            Standing::Granted => return Ok(Decided::allowed(ApprovedBy::Run)),
            Standing::Open => changed.await,
            Standing::Unasked { is_stale } => {
                let withdrawn = is_stale.then(|| {
                    let why = "the call asks something else now";
                    withdrawn(call, AnsweredBy::Changed, false, why)
                });
                let inputs = withdrawn
                    .into_iter()
                    .chain([asked(call, &id, now, request)]);
                // Boxed: while a person thinks, there is no need for its room.
                let submitted = Box::pin(log.submit(inputs.collect(), Brought::default())).await;
                let written = submitted.map_err(|error| stopped(&error))?.written().await;
                written.map_err(|error| stopped(&error.into()))?;
            }
            Standing::Gone => {
                let message = "the run was stopped while a person was asked";
                return Err(ToolError::new(ErrorCode::ToolCancelled, message).permanent());
            }
        }
    }
}

fn asked(call: &CallId, id: &str, now: Timestamp, request: &ApprovalRequest) -> Input {
    let expires_at = request
        .expires
        .and_then(|expires| now.checked_add(expires).ok());
    Input::ApprovalAsked {
        call: call.clone(),
        approval_id: id.to_owned(),
        reason: request.reason.clone(),
        expires_at,
        question: Some(Arc::new(Question {
            tool: request.tool.clone(),
            source: request.source.clone(),
            description: request.description.clone(),
            arguments: request.arguments.clone(),
            rule: request.rule.clone(),
            says: Some(request.says.clone()),
            user: request.caller.user.clone(),
            actor: request.caller.actor.clone(),
            project: request.caller.project.clone(),
            may_edit: request.may_edit,
        })),
    }
}

/// Nobody need answer it any more.
pub(super) fn withdrawn(call: &CallId, by: AnsweredBy, approved: bool, why: &str) -> Input {
    Input::ApprovalAnswered {
        call: call.clone(),
        approved,
        reason: Some(why.to_owned()),
        approval_id: None,
        remember: Remember::Once,
        edit: None,
        by,
    }
}

/// What it means for the call. An answer for good was kept when it was given.
fn settled(answer: Answer) -> Decided {
    if !answer.approved {
        let by = match answer.by {
            AnsweredBy::Person => ApprovedBy::Person,
            AnsweredBy::Rule => ApprovedBy::Rule,
            _ => ApprovedBy::Nobody,
        };
        let reason = answer.reason.filter(|reason| !reason.trim().is_empty());
        return Decided::from(Settled {
            allowed: false,
            by,
            reason: Some(reason.unwrap_or_else(|| "a person refused this call".to_owned())),
        });
    }
    let by = match (answer.by, answer.remember) {
        (AnsweredBy::Person, Remember::Run) | (AnsweredBy::Run, _) => ApprovedBy::Run,
        (AnsweredBy::Person, Remember::Always) | (AnsweredBy::Always, _) => ApprovedBy::Always,
        (AnsweredBy::Rule, _) => ApprovedBy::Rule,
        _ => ApprovedBy::Once,
    };
    Decided {
        settled: Settled {
            allowed: true,
            by,
            reason: answer.reason,
        },
        edit: answer.edit.map(|edit| edit.arguments.clone()),
    }
}

fn stopped(error: &RecordError) -> ToolError {
    ToolError::new(ErrorCode::ToolCancelled, error.to_string()).permanent()
}

/// A question that waits, as far as this process has to do something about it.
struct Waiting {
    call: CallId,
    id: String,
    key: Option<GrantKey>,
    asked_at: Timestamp,
    expires_at: Option<Timestamp>,
}

fn waiting(run: &AgentRun) -> Vec<Waiting> {
    let open = run
        .asking()
        .filter_map(|call| Some((call, call.open_question()?)));
    open.map(|(call, asked)| Waiting {
        call: call.call.clone(),
        id: asked.id.clone(),
        key: asked.question.as_ref().map(|question| question.key()),
        asked_at: asked.asked_at,
        expires_at: asked.expires_at,
    })
    .collect()
}

/// As the rule says it: it was counted from just before the question was written down, in whole seconds.
fn allowed(asked_at: Timestamp, expires_at: Timestamp) -> Option<Duration> {
    let waited = Duration::try_from(expires_at.duration_since(asked_at)).ok()?;
    let begun = u64::from(waited.subsec_nanos() > 0);
    Some(Duration::from_secs(waited.as_secs().saturating_add(begun)))
}

impl AgentInstance {
    /// Beside all that the run does: a question that nobody has answered in time is answered with no, and one that an
    /// answer for good covers with yes, wherever that was given. A run that rests is not woken for looking.
    pub(super) async fn attend_questions(&self) -> Infallible {
        let mut granted = self.shared.parts.tools.approvals().changes();
        let mut open: Vec<Waiting> = Vec::new();
        loop {
            let changed = self.log.changed();
            if let Some(found) = self.log.peek(waiting).await {
                open = found;
            }
            let next = open.iter().filter_map(|asked| asked.expires_at).min();
            let left = next.map(|at| self.until(at));
            let is_last = left.is_some_and(|left| left <= LOOK_AT_CLOCK);
            tokio::select! {
                () = changed => {}
                () = after(left.map(|left| left.min(LOOK_AT_CLOCK))) => if let Some(next) = next.filter(|_| is_last) {
                    let changed = self.log.changed();
                    // What the run does not take, it does not take until something else has happened to it.
                    if !Box::pin(self.expire(&open, next)).await {
                        changed.await;
                    }
                },
                Ok(()) = granted.changed(), if !open.is_empty() => Box::pin(self.look_for_grants(&open)).await,
            }
        }
    }

    fn until(&self, at: Timestamp) -> Duration {
        let left = at.duration_since(self.shared.parts.clock.now());
        Duration::try_from(left).unwrap_or_default()
    }

    /// Says whether the run has taken all of it.
    async fn expire(&self, open: &[Waiting], now: Timestamp) -> bool {
        let mut is_taken = true;
        for asked in open {
            let Some(expires_at) = asked.expires_at.filter(|at| *at <= now) else {
                continue;
            };
            let why = match allowed(asked.asked_at, expires_at) {
                Some(waited) => format!("nobody answered within {}", Expires::from(waited)),
                None => "nobody answered in time".to_owned(),
            };
            is_taken &= self
                .answer(asked, AnsweredBy::Expiry, false, Some(why))
                .await;
        }
        is_taken
    }

    async fn look_for_grants(&self, open: &[Waiting]) {
        let approvals = self.shared.parts.tools.approvals();
        for asked in open {
            let Some(key) = &asked.key else { continue };
            if approvals.remembered(self.log.id(), key).await.is_some() {
                self.answer(asked, AnsweredBy::Always, true, None).await;
            }
        }
    }

    /// Whoever was quicker counts; a journal that cannot be written stops the run by itself.
    async fn answer(
        &self,
        asked: &Waiting,
        by: AnsweredBy,
        approved: bool,
        reason: Option<String>,
    ) -> bool {
        let input = Input::ApprovalAnswered {
            call: asked.call.clone(),
            approved,
            reason,
            approval_id: Some(asked.id.clone()),
            remember: Remember::Once,
            edit: None,
            by,
        };
        self.log.record(input).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writing it down takes some of the time, and the note says what the rule says all the same.
    #[test]
    fn the_time_for_an_answer_is_told_as_the_rule_has_it() {
        let asked_for = Timestamp::from_second(1_800_000_000).unwrap();
        for (seconds, said) in [(5, "5s"), (90, "90s"), (86_400, "1d")] {
            for late_ms in [0, 1, 400, 999] {
                let asked_at = asked_for + Duration::from_millis(late_ms);
                let expires_at = asked_for + Duration::from_secs(seconds);
                let waited = allowed(asked_at, expires_at).unwrap();
                assert_eq!(Expires::from(waited).to_string(), said, "{late_ms} ms");
            }
        }
        assert_eq!(allowed(asked_for, asked_for - Duration::from_secs(1)), None);
    }
}
