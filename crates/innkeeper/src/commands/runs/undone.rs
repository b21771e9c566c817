//! What of a run was taken back and stays so. Told by its events alone, so also of a run of which nothing else is kept.

use innkeeper_protocol::event::{
    CallId, CheckpointId, RollbackScope, RunEvent, RunEventKind, RunId,
};
use serde::Serialize;

use super::words::moment;
use crate::lang::Lang;

#[derive(Debug, Default)]
pub(super) struct Undone {
    /// What happened behind the first number and up to the second counts no more; the newest first.
    spans: Vec<(u64, u64)>,
    rollback: Option<StandingRollback>,
}

/// The last one that has taken something back and was not undone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StandingRollback {
    checkpoint_id: CheckpointId,
    /// Rolling back to it undoes this one.
    before_checkpoint_id: CheckpointId,
    at: String,
    scope: RollbackScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// No other rollback came after it.
    is_last: bool,
    /// The run has done something since.
    has_gone_on: bool,
}

impl Undone {
    /// From the newest event to the oldest: a rollback makes the run what it was at an earlier event, and whatever lies
    /// between the two counts no more, be it another rollback.
    pub(super) fn of(events: &[RunEvent]) -> Self {
        let mut undone = Self::default();
        let mut counts_until = u64::MAX;
        let mut has_gone_on = false;
        for event in events.iter().rev() {
            if event.seq > counts_until {
                continue;
            }
            let RunEventKind::RunRolledBack(back) = &event.kind else {
                has_gone_on |= is_work(&event.kind);
                continue;
            };
            counts_until = back.event_seq.min(event.seq.saturating_sub(1));
            let is_last = undone.spans.is_empty();
            undone.spans.push((counts_until, event.seq));
            let gone = |other: &&RunEvent| (counts_until + 1..event.seq).contains(&other.seq);
            let mut gone = events.iter().filter(gone);
            // One that only undid another has taken nothing back.
            if undone.rollback.is_none() && gone.any(|other| is_work(&other.kind)) {
                let time = event.timestamp.to_string();
                undone.rollback = Some(StandingRollback {
                    checkpoint_id: back.checkpoint_id.clone(),
                    before_checkpoint_id: back.before_checkpoint_id.clone(),
                    at: time.parse().map(moment).unwrap_or(time),
                    scope: back.scope,
                    reason: back.reason.clone(),
                    is_last,
                    has_gone_on,
                });
            }
        }
        undone
    }

    pub(super) fn has(&self, event: &RunEvent) -> bool {
        let is_in = |(from, to): &(u64, u64)| event.seq > *from && event.seq <= *to;
        self.spans.iter().any(is_in)
    }

    /// Whether the call has an end among these events, and that counts no more.
    pub(super) fn has_call(&self, call: &CallId, events: &[RunEvent]) -> bool {
        events.iter().any(|event| match &event.kind {
            RunEventKind::ToolCallCompleted(ended) | RunEventKind::ToolCallFailed(ended) => {
                ended.call_id == *call && self.has(event)
            }
            _ => false,
        })
    }

    pub(super) fn rollback(&self) -> Option<&StandingRollback> {
        self.rollback.as_ref()
    }
}

impl StandingRollback {
    /// Where to, when and why.
    pub(super) fn told(&self, lang: Lang) -> String {
        let (to, at) = (&self.checkpoint_id, &self.at);
        match &self.reason {
            None => lang.pick(format!("to {to} at {at}"), format!("于 {at} 退回到 {to}")),
            Some(why) => lang.pick(
                format!("to {to} at {at}: {why}"),
                format!("于 {at} 退回到 {to}：{why}"),
            ),
        }
    }

    /// By which command it is undone, and what that does.
    pub(super) fn way_out(&self, run: &RunId, lang: Lang) -> String {
        let command = match self.is_last {
            true => format!("innkeeper runs rollback {run} --undo"),
            false => format!(
                "innkeeper runs rollback {run} {}",
                self.before_checkpoint_id
            ),
        };
        match self.has_gone_on {
            true => lang.pick(
                format!("{command} brings it back, and takes back what was done since"),
                format!("{command} 可恢复，并撤回此后所做的"),
            ),
            false => lang.pick(
                format!("{command} brings it back"),
                format!("{command} 可恢复"),
            ),
        }
    }
}

/// What a person would miss.
fn is_work(kind: &RunEventKind) -> bool {
    matches!(
        kind,
        RunEventKind::ModelCompleted(_)
            | RunEventKind::ToolCallCompleted(_)
            | RunEventKind::ToolCallFailed(_)
            | RunEventKind::ChatCommitCompleted(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(seq: u64, kind: &str, payload: serde_json::Value) -> RunEvent {
        let told = json!({
            "seq": seq, "id": format!("evt_{seq}"), "runId": "run_1", "timestamp": "2026-01-01T00:00:00Z",
            "level": "info", "type": kind, "payload": payload,
        });
        serde_json::from_value(told).unwrap()
    }

    fn turn(seq: u64) -> RunEvent {
        let payload = json!({
            "round": seq, "invocationId": "inv_root", "modelResponsePath": null, "toolCallCount": 0,
            "textChars": 1, "textWords": 1, "hasAssistantText": true, "assistantTextChars": 1, "assistantTextWords": 1,
            "hasReasoning": false, "reasoningChars": 0, "reasoningWords": 0,
        });
        event(seq, "model_completed", payload)
    }

    fn back(seq: u64, to: u64, before: &str) -> RunEvent {
        let payload = json!({
            "rollbackId": "rollback_1", "invocationId": "inv_root", "checkpointId": format!("cp_{to}"),
            "eventSeq": to, "beforeCheckpointId": before, "scope": "workspace", "rounds": 1,
            "files": {"added": 0, "modified": 0, "deleted": 0, "paths": []}, "withdrawnCommits": [],
        });
        event(seq, "run_rolled_back", payload)
    }

    fn gone(events: &[RunEvent]) -> Vec<u64> {
        let undone = Undone::of(events);
        let gone = events.iter().filter(|event| undone.has(event));
        gone.map(|event| event.seq).collect()
    }

    #[test]
    fn what_lies_between_a_rollback_and_where_it_leads_counts_no_more() {
        let mut events = vec![turn(1), turn(2), turn(3)];
        assert!(gone(&events).is_empty());
        events.push(back(4, 1, "cp_b"));
        assert_eq!(gone(&events), [2, 3, 4]);
        let run = RunId::new("run_1");
        let told = |events: &[RunEvent]| {
            let undone = Undone::of(events);
            undone.rollback().map(|back| back.way_out(&run, Lang::En))
        };
        assert_eq!(
            told(&events).unwrap(),
            "innkeeper runs rollback run_1 --undo brings it back"
        );
        events.push(turn(5));
        assert_eq!(gone(&events), [2, 3, 4]);
        assert!(told(&events).unwrap().ends_with("what was done since"));
        // Undone, all of it counts again, and what was done since does not.
        events.push(back(6, 3, "cp_c"));
        assert_eq!(gone(&events), [4, 5, 6]);
        // And once more.
        events.push(back(7, 5, "cp_d"));
        assert_eq!(gone(&events), [2, 3, 4, 6, 7]);
        assert_eq!(
            told(&events).unwrap(),
            "innkeeper runs rollback run_1 cp_b brings it back, and takes back what was done since"
        );
    }

    #[test]
    fn a_rollback_that_was_undone_does_not_stand() {
        let events = [turn(1), turn(2), back(3, 1, "cp_b"), back(4, 2, "cp_c")];
        assert_eq!(gone(&events), [3, 4]);
        assert_eq!(Undone::of(&events).rollback(), None);
    }

    /// Only the last events of a long run are looked at.
    #[test]
    fn it_may_lead_behind_what_is_seen() {
        let events = [turn(8), turn(9), back(10, 2, "cp_b"), turn(11)];
        assert_eq!(gone(&events), [8, 9, 10]);
    }
}
