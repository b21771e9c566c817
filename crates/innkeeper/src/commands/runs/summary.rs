//! What is said of a run when it is over, or is left.

use innkeeper_agent::instance::{RunReader, pending_at, pending_in};
use innkeeper_agent::run::AgentRun;
use innkeeper_protocol::event::{RunId, RunStatus};
use serde_json::{Value as Json, json};

use super::spending;
use super::words::{duration, status_name, status_word};
use crate::commands::Ended;
use crate::failure::{Failure, RunFault};
use crate::lang::Lang;
use crate::output::Screen;

pub(super) struct Summary {
    run: RunId,
    state: AgentRun,
    last_seq: u64,
}

impl Summary {
    pub(super) async fn of(reader: &RunReader, run: &RunId) -> Result<Self, Failure> {
        Ok(Self {
            state: reader.state(run).await?,
            last_seq: reader.record(run).await?.last_seq,
            run: run.clone(),
        })
    }

    pub(super) fn status(&self) -> RunStatus {
        self.state.status()
    }

    pub(super) fn answer(&self) -> Option<String> {
        answer(&self.state)
    }

    /// It was cancelled, or has no end.
    pub(super) fn is_stopped(&self) -> bool {
        !self.status().is_terminal() || self.status() == RunStatus::Cancelled
    }

    pub(super) fn is_done(&self) -> bool {
        self.status() == RunStatus::Completed
    }

    pub(super) fn document(&self) -> Json {
        let spent = self.state.spent();
        json!({
            "type": "run_summary",
            "runId": self.run,
            "status": status_name(self.status()),
            "paused": self.state.is_paused(),
            "rounds": self.state.rounds_of_all(),
            "calls": self.state.calls_of_all(),
            "tokens": spent.tokens,
            "cost": spent.cost,
            "unpricedRequests": spent.unpriced,
            "spent": spent,
            "workedMs": spent.worked_ms,
            "commitCount": self.state.commit_count(),
            "lastSeq": self.last_seq,
            "answer": self.answer(),
            "failure": self.state.failure(),
            "pendingApprovals": pending_at(&self.state, jiff::Timestamp::now()),
        })
    }

    /// Status, rounds, calls, tokens, cost, how to look at it. `here`: whoever reads this has stopped it.
    pub(super) fn line(&self, lang: Lang, here: bool) -> String {
        let spent = self.state.spent();
        let run = &self.run;
        let elsewhere = self.status() == RunStatus::Cancelled && !here;
        let status = match self.state.is_paused() {
            true => lang.pick("paused", "已暂停"),
            false if elsewhere => lang.pick("cancelled from elsewhere", "已被别处取消"),
            false => status_word(self.status(), lang),
        };
        let mut parts = vec![
            status.to_owned(),
            counted(
                self.state.rounds_of_all().into(),
                lang,
                ("round", "rounds"),
                "轮",
            ),
            counted(
                self.state.calls_of_all().into(),
                lang,
                ("call", "calls"),
                "次调用",
            ),
        ];
        // A model that tells none has not used none.
        if spent.tokens > 0 {
            parts.push(counted(spent.tokens, lang, ("token", "tokens"), "个词元"));
        }
        parts.extend(spending::cost(spent.cost, spent.unpriced, lang));
        parts.push(duration(spent.worked_ms));
        let waits = !pending_in(&self.state).is_empty();
        let look = match self.status() {
            _ if waits => format!("innkeeper runs approve {run}"),
            // Whoever did so knows why, and may be about to delete it.
            _ if elsewhere => return parts.join(" · "),
            RunStatus::Completed => format!("innkeeper runs show {run}"),
            _ => format!("innkeeper runs resume {run}"),
        };
        format!("{} → {look}", parts.join(" · "))
    }

    /// The exit code, or why it failed.
    pub(super) fn ended(&self, interrupted: bool, screen: &Screen) -> Result<Ended, Failure> {
        let ended = match self.status() {
            RunStatus::Completed => return Ok(Ended::Done),
            RunStatus::Failed => Ended::Failed,
            RunStatus::PartialSuccess => Ended::Partial,
            _ if interrupted => return Ok(Ended::Interrupted),
            _ => return Ok(Ended::Stopped),
        };
        match self.state.failure() {
            Some(failure) if !screen.json => Err(RunFault::Failed {
                code: failure.code.as_str().to_owned(),
                message: failure.message.clone(),
                ended,
            }
            .into()),
            _ => Ok(ended),
        }
    }
}

/// What the model said last, where that is what the run was for.
pub(super) fn answer(state: &AgentRun) -> Option<String> {
    // Of a complete run that can be gone on with, the end was taken back.
    let is_complete = state.status() == RunStatus::Completed && !state.can_resume();
    let is_answer = is_complete && state.commit_count() == 0;
    let turn = state.turn().filter(|_| is_answer)?;
    let text = turn.reply.read().response_text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn counted(count: u64, lang: Lang, english: (&str, &str), chinese: &str) -> String {
    let (one, many) = english;
    lang.pick(
        format!("{count} {}", if count == 1 { one } else { many }),
        format!("{count} {chinese}"),
    )
}
