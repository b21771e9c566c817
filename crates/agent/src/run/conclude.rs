//! The end of a turn: what a reply without calls means, and whether the model is asked again.
//!
//! A plain answer completes a run whose profile says so. A writer that publishes files is told to use its tools instead,
//! until its rounds are used up; but once it has published something, its exit policy is satisfied and plain words end its
//! run as well: it says goodbye, and asking it again would only cost. Words never end a run while a task of it is at work
//! or while somebody has said something that the model has not heard; the same holds for a finish and what people say.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    DirectOutputCaptured, DriftRecoveryAttempted, InvocationId, RunEventKind,
};
use innkeeper_store::BlobId;
use innkeeper_tools::builtin::text::count;
use serde_json::Map;

use super::apply::Out;
use super::names::{capture_path, response_path};
use super::plan::TurnKind;
use super::state::Phase;
use super::{AgentRun, Nudge};
use crate::limits::{
    MAX_BARREN_TURNS, MAX_WORKSPACE_BYTES, MAX_WORKSPACE_FILE_BYTES, MAX_WORKSPACE_FILES,
};
use crate::workspace::state::{FileChange, FileInfo, How, ReadState};

const MISSING_RETURN: &str = "agent.child_invocation_missing_return";

impl AgentRun {
    pub(super) fn conclude_or_act(&mut self, kind: TurnKind, out: &mut Out) {
        match kind {
            TurnKind::Calls => {
                self.barren = 0;
                self.drifts = 0;
                self.phase = Phase::Acting;
            }
            TurnKind::Text => {
                self.barren = 0;
                if !self.waits_for_others(out) {
                    self.text_turn(out);
                }
            }
            TurnKind::Empty => {
                if !self.waits_for_others(out) {
                    self.nudge_with(Nudge::EmptyTurn);
                    self.barren_turn(kind, out);
                }
            }
            TurnKind::Refused => self.barren_turn(kind, out),
        }
    }

    /// After the last block of a turn.
    pub(super) fn conclude(&mut self, out: &mut Out) {
        if self.has_returned() {
            return self.duty_done(out);
        }
        if let Some(handoff) = self.handoff.take() {
            return self.hand_over(&handoff, out);
        }
        let finish = self.finish.take();
        if finish.is_some() && self.guidance.is_empty() {
            let reason = finish.and_then(|finish| finish.reason);
            return self.finish_loop(None, reason, out);
        }
        if !self.end_if_endless(out) {
            self.go_on(out);
        }
    }

    /// The model is asked again, if it may be.
    pub(super) fn go_on(&mut self, out: &mut Out) {
        if self.left().rounds == 0 {
            let max = self.max_rounds();
            let (code, message) = match self.nudge() {
                Some(Nudge::ToolCallRequired { .. }) => (
                    ErrorCode::ModelToolCallRequired,
                    format!(
                        "The model kept answering in plain text for {max} rounds where the run needs a tool call; choose a model that follows tool instructions, or another dialect in the profile"
                    ),
                ),
                _ => (
                    ErrorCode::AgentMaxToolRoundsExceeded,
                    format!(
                        "The model used all {max} rounds without finishing; resume the run with additionalRounds, or raise maxRounds"
                    ),
                ),
            };
            let (message, reason) = match self.duty {
                None => (message, None),
                Some(_) => (
                    format!("The agent used all {max} rounds and did not call task.return"),
                    Some(MISSING_RETURN.to_owned()),
                ),
            };
            return self.fail(code, message, reason, out);
        }
        if let Some(why) = self.spent.exhausted(&self.created.profile) {
            return self.fail(why.code, why.message, why.reason, out);
        }
        self.phase = Phase::Ready;
    }

    /// Words are no end while there is more to come.
    fn waits_for_others(&mut self, out: &mut Out) -> bool {
        if !self.guidance.is_empty() || !self.arrived.is_empty() {
            self.go_on(out);
            return true;
        }
        if !self.tasks.is_empty() || self.open_children().next().is_some() {
            self.phase = Phase::Waiting;
            return true;
        }
        false
    }

    fn text_turn(&mut self, out: &mut Out) {
        let has_published = self.duty.is_none() && self.commits().next().is_some();
        let is_satisfied = self.answers_in_text() || has_published;
        match is_satisfied {
            true => self.finish_loop(Some("text_turn"), None, out),
            false => self.drift(out),
        }
    }

    /// A plain answer of a writer: kept as a file that it can use, and told to use it.
    fn drift(&mut self, out: &mut Out) {
        let path = self.capture(out);
        let round = self.spent.rounds;
        self.drifts = self.drifts.saturating_add(1);
        if self.shares_limits() && self.drifts >= MAX_BARREN_TURNS {
            return self.fail(
                ErrorCode::ModelToolCallRequired,
                format!(
                    "The agent answered in plain text {MAX_BARREN_TURNS} times in a row and did not call task.return"
                ),
                Some(MISSING_RETURN.to_owned()),
                out,
            );
        }
        if self.left().rounds > 0 {
            let max_rounds = self.max_rounds();
            let attempted = DriftRecoveryAttempted {
                attempt: self.drifts,
                max_attempts: max_rounds.saturating_sub(1),
                max_rounds,
                limit_reason: None,
                round,
                invocation_id: InvocationId::root(),
                committed_count: self.commit_count(),
                reason_code: ErrorCode::ModelToolCallRequired.as_str().to_owned(),
                extra: Map::new(),
            };
            out.push(RunEventKind::DriftRecoveryAttempted(attempted).into());
        }
        self.nudge_with(Nudge::ToolCallRequired {
            captured: path,
            attempt: self.drifts,
        });
        self.go_on(out);
    }

    /// Where it is; nothing where the workspace has no room for it.
    fn capture(&mut self, out: &mut Out) -> Option<String> {
        let text = self
            .turn
            .as_ref()
            .map_or("", |turn| turn.reply.text.as_str());
        let counted = count(text);
        let file = FileInfo {
            sha256: BlobId::of(text.as_bytes()),
            bytes: counted.bytes as u64,
            chars: counted.chars as u64,
            words: counted.words as u64,
        };
        let path = self.capture_place(&file)?;
        let captured = DirectOutputCaptured {
            round: self.spent.rounds,
            path: path.clone(),
            chars: file.chars,
            words: file.words,
            sha256: file.sha256.as_str().to_owned(),
            model_response_path: response_path(self.spent.rounds),
            extra: Map::from_iter([("bytes".to_owned(), file.bytes.into())]),
        };
        out.push(RunEventKind::DirectOutputCaptured(captured).into());
        // The model wrote it, so it knows it.
        let known = ReadState {
            sha256: file.sha256.clone(),
            full: true,
            ranges: Vec::new(),
            needs_full_read: false,
        };
        self.workspace.reads.insert(path.clone(), known);
        self.captured = Some((path.clone(), file.sha256.clone()));
        self.change_file(&FileChange {
            path: path.clone(),
            how: How::Captured,
            old: self.workspace.files.get(&path).cloned(),
            new: Some(file),
        });
        self.checkpoint("direct_output_capture", out);
        Some(path)
    }

    /// A name that is free, or under which nothing lies but what was captured last. What the model has made of it, and
    /// what it wrote itself, stays.
    fn capture_place(&self, file: &FileInfo) -> Option<String> {
        let artifacts = &self.created.profile.output.artifacts;
        let body = artifacts
            .iter()
            .find(|artifact| artifact.target == "messageBody");
        let body = body.map(|artifact| artifact.path.as_str());
        let files = &self.workspace.files;
        let is_own = |path: &str| {
            let own = self.captured.as_ref().filter(|(own, _)| own == path);
            own.is_some_and(|(_, sha256)| {
                files.get(path).is_some_and(|file| file.sha256 == *sha256)
            })
        };
        let is_free = |path: &String| {
            let below = format!("{path}/");
            let mut next = files.range(path.clone()..).map(|(name, _)| name);
            let is_taken = next.any(|name| name == path || name.starts_with(&below));
            is_own(path) || (body != Some(path.as_str()) && !is_taken)
        };
        let path = (1..=MAX_WORKSPACE_FILES + 1)
            .map(|number| capture_path(body, number))
            .find(is_free)?;
        let others = || files.iter().filter(|(name, _)| **name != path);
        let held: u64 = others().map(|(_, file)| file.bytes).sum();
        let has_room = file.bytes <= MAX_WORKSPACE_FILE_BYTES
            && others().count() < MAX_WORKSPACE_FILES
            && held.saturating_add(file.bytes) <= MAX_WORKSPACE_BYTES;
        has_room.then_some(path)
    }

    /// Nothing came of it. The model is told why, but not for ever.
    fn barren_turn(&mut self, kind: TurnKind, out: &mut Out) {
        self.barren = self.barren.saturating_add(1);
        if self.barren < MAX_BARREN_TURNS {
            return self.go_on(out);
        }
        self.barren = 0;
        if self.duty.is_some() && self.is_refused_for_limits() {
            let message = format!(
                "The agent has used up the calls that it may make, and did not call task.return ({MAX_BARREN_TURNS} times in a row)"
            );
            let reason = Some("agent.tool_budget_exhausted".to_owned());
            return self.fail(ErrorCode::ToolBudgetExhausted, message, reason, out);
        }
        let (code, message) = match kind {
            TurnKind::Empty => (
                ErrorCode::ModelUpstreamInvalidResponse,
                "The model's replies were empty",
            ),
            _ if self.left().calls == 0 => (
                ErrorCode::ToolBudgetExhausted,
                "The run has made all its calls and did not finish; resume it to grant as many again, or raise maxCallsPerRun",
            ),
            _ => (
                ErrorCode::ProtocolMalformed,
                "Nothing of the model's replies could be run; choose a model that follows tool instructions, or another dialect in the profile",
            ),
        };
        let message = format!("{message} ({MAX_BARREN_TURNS} times in a row)");
        self.fail(code, message, Some("agent.barren_turns".to_owned()), out);
    }

    /// Its last calls were made in vain because nothing is left for them.
    fn is_refused_for_limits(&self) -> bool {
        let mut calls = self.turn.iter().flat_map(|turn| turn.calls());
        calls.any(|call| {
            let code = call.observation().and_then(|seen| seen.error_code());
            code == Some(ErrorCode::ToolBudgetExhausted)
        })
    }

    fn nudge_with(&mut self, nudge: Nudge) {
        if let Some(turn) = &mut self.turn {
            turn.nudge = Some(nudge);
        }
    }
}
