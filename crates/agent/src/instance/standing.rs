//! Which of the states of a chat stand: what its next run begins with where no message names one, and what nobody can come to
//! any more.
//!
//! The journal of a run says what it has left and whether that was taken back since. So nothing is kept beside it that a crash
//! could leave behind: a rollback is one entry, and with it the state no longer stands. Of a run that is gone all but what
//! stood goes with it ([`Belongings`]), so whatever is there of such a run stands.

use innkeeper_protocol::event::{RunEventKind, RunId, WorkspaceId};
use innkeeper_store::journal::{Belongings, EventRange, RunFilter, RunRecord};
use innkeeper_store::run_of_state;
use serde_json::Value as Json;

use super::AgentError;
use super::reading::RunReader;
use crate::limits::MAX_EVENTS_PAGE;
use crate::workspace::persist::age;
use crate::workspace::{PersistentStates, StateChat, workspace_id};

/// What a complete run has kept is told shortly before its end.
const LAST_EVENTS: usize = 32;
/// So many states are asked whose they are, before that counts as unknown.
const STATES_ASKED: usize = 5;
pub(super) const SESSION: &str = "session";

/// Who says which state the next run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatSort {
    /// A run without a chat: nobody, once it is gone.
    Own,
    /// A chat by name: the runs themselves.
    Session,
    /// A host, by its messages.
    Hosted,
    /// Perhaps a host.
    Unknown,
}

impl ChatSort {
    fn of(chat_ref: &Json, stable_chat_id: &str) -> Self {
        match chat_ref.is_null() {
            true => Self::named(SESSION, stable_chat_id),
            false => Self::Hosted,
        }
    }

    pub(super) fn named(kind: &str, stable_chat_id: &str) -> Self {
        match kind == SESSION {
            true if is_run_id(stable_chat_id) => Self::Own,
            true => Self::Session,
            false => Self::Hosted,
        }
    }
}

/// A chat in words.
pub(super) fn chat_named(chat_ref: &Json, stable_chat_id: &str) -> StateChat {
    let kind = chat_ref.get("kind").and_then(Json::as_str);
    StateChat {
        kind: kind.unwrap_or(SESSION).to_owned(),
        stable_chat_id: stable_chat_id.to_owned(),
    }
}

/// Runs that belong to no chat are one by themselves, under their id.
pub(super) fn has_own_chat(chat_ref: &Json, stable_chat_id: &str) -> bool {
    ChatSort::of(chat_ref, stable_chat_id) == ChatSort::Own
}

fn is_run_id(text: &str) -> bool {
    let digits = text.strip_prefix("run_");
    digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The runs that have left states, the one begun last first; of each the newest first.
fn by_run(mut ids: Vec<String>) -> Vec<(RunId, Vec<String>)> {
    ids.sort_by(|one, other| age(other).cmp(&age(one)));
    let mut runs: Vec<(RunId, Vec<String>)> = Vec::new();
    for id in ids {
        let run = run_of_state(&id).0;
        match runs.last_mut() {
            Some((last, ids)) if last.as_str() == run => ids.push(id),
            _ => runs.push((RunId::new(run), vec![id])),
        }
    }
    runs
}

impl RunReader {
    /// The state that a run has left, unless that was taken back. Of slim runs too.
    pub async fn kept_state(&self, run: &RunId) -> Result<Option<String>, AgentError> {
        let mut seq = self.record(run).await?.last_seq.saturating_add(1);
        let mut limit = LAST_EVENTS;
        'before: loop {
            let page = self.events(run, EventRange::Before { seq, limit }).await?;
            let Some(first) = page.first() else {
                return Ok(None);
            };
            for event in page.iter().rev() {
                match &event.kind {
                    RunEventKind::PersistentChangesCommitted(kept) => {
                        return Ok(Some(kept.state_id.clone()));
                    }
                    // It was then what it had been at that event.
                    RunEventKind::RunRolledBack(back) => {
                        seq = back.event_seq.saturating_add(1).min(event.seq);
                        continue 'before;
                    }
                    _ => {}
                }
            }
            seq = first.seq;
            limit = MAX_EVENTS_PAGE;
        }
    }

    /// What the next run of a chat without a host begins with: the state of the run begun last whose state was not taken back.
    pub async fn standing_state(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
    ) -> Result<Option<String>, AgentError> {
        for (run, ids) in by_run(states.list(workspace).await?) {
            let record = self.of_workspace(&run, workspace).await?;
            if let Some(state) = self.standing_of(record.as_ref(), ids).await? {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// All that were taken back, of runs that are there.
    pub(super) async fn taken_back(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
    ) -> Result<Vec<String>, AgentError> {
        let mut taken = Vec::new();
        for (run, ids) in by_run(states.list(workspace).await?) {
            let record = self.of_workspace(&run, workspace).await?;
            let stands = self.standing_of(record.as_ref(), ids.clone()).await?;
            taken.extend(ids.into_iter().filter(|id| Some(id) != stands.as_ref()));
        }
        Ok(taken)
    }

    /// Of the states that one run has left. `record`: none of a run that is gone.
    async fn standing_of(
        &self,
        record: Option<&RunRecord>,
        ids: Vec<String>,
    ) -> Result<Option<String>, AgentError> {
        match record {
            None => Ok(ids.into_iter().next()),
            Some(record) => {
                let kept = self.kept_state(&record.run_id).await?;
                // It may have been removed by a person.
                Ok(kept.filter(|kept| ids.contains(kept)))
            }
        }
    }

    /// States may be copies of those of another workspace, whose runs know nothing of this one.
    async fn of_workspace(
        &self,
        run: &RunId,
        workspace: &WorkspaceId,
    ) -> Result<Option<RunRecord>, AgentError> {
        let record = self.known(run).await?;
        Ok(record.filter(|record| record.workspace_id == *workspace))
    }

    /// What goes with a run that is deleted. A host may name any state in its messages, so there nothing goes.
    pub(super) async fn belongings(
        &self,
        states: &dyn PersistentStates,
        record: &RunRecord,
    ) -> Result<Belongings, AgentError> {
        let sort = ChatSort::of(&record.chat_ref, &record.stable_chat_id);
        if sort == ChatSort::Hosted {
            return Ok(Belongings::default());
        }
        let run = &record.run_id;
        let mut ids = states.of_run(&record.workspace_id, run.as_str()).await?;
        ids.sort_by_key(|id| run_of_state(id).1);
        let stands = match self.kept_state(run).await {
            Ok(kept) => kept,
            // What can be known no more is taken to stand.
            Err(_) => ids.last().cloned(),
        };
        ids.retain(|id| Some(id) != stands.as_ref());
        Ok(Belongings {
            states: ids,
            has_own_workspace: sort == ChatSort::Own,
        })
    }

    /// States of runs that are gone which no run can begin with any more: a newer one stands that nobody can take back, since
    /// its run is gone, too, or slim.
    pub(super) async fn unreachable(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
    ) -> Result<Vec<String>, AgentError> {
        let ids = states.list(workspace).await?;
        let sort = self.sort_of(states, workspace, &ids).await?;
        if matches!(sort, ChatSort::Hosted | ChatSort::Unknown) {
            return Ok(Vec::new());
        }
        if sort == ChatSort::Own && self.newest_of(workspace).await?.is_none() {
            return Ok(ids);
        }
        let mut gone = Vec::new();
        let mut is_settled = false;
        for (run, ids) in by_run(ids) {
            match self.of_workspace(&run, workspace).await? {
                Some(record) => {
                    let stands = match record.is_slim && !is_settled {
                        true => self.standing_of(Some(&record), ids).await?,
                        false => None,
                    };
                    is_settled |= stands.is_some();
                }
                None => {
                    gone.extend(ids.into_iter().skip(usize::from(!is_settled)));
                    is_settled = true;
                }
            }
        }
        Ok(gone)
    }

    /// What a chat is called: by its runs, else by what its states say.
    pub(super) async fn chat_of(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
    ) -> Result<Option<StateChat>, AgentError> {
        match self.newest_of(workspace).await? {
            Some(run) => Ok(Some(chat_named(&run.chat_ref, &run.stable_chat_id))),
            None => chat_in(states, workspace, &states.list(workspace).await?).await,
        }
    }

    async fn newest_of(&self, workspace: &WorkspaceId) -> Result<Option<RunRecord>, AgentError> {
        let filter = RunFilter {
            workspace_id: Some(workspace.clone()),
            limit: 1,
            ..RunFilter::default()
        };
        Ok(self.list(&filter).await?.runs.into_iter().next())
    }

    /// By its runs, else by what its states say, else by its name.
    pub(super) async fn sort_of(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
        ids: &[String],
    ) -> Result<ChatSort, AgentError> {
        if let Some(record) = self.newest_of(workspace).await? {
            return Ok(ChatSort::of(&record.chat_ref, &record.stable_chat_id));
        }
        if let Some(chat) = chat_in(states, workspace, ids).await? {
            return Ok(ChatSort::named(&chat.kind, &chat.stable_chat_id));
        }
        let runs = ids.iter().map(|id| run_of_state(id).0);
        Ok(match is_own(workspace, runs) {
            true => ChatSort::Own,
            false => ChatSort::Unknown,
        })
    }
}

/// As one of its states says.
async fn chat_in(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    ids: &[String],
) -> Result<Option<StateChat>, AgentError> {
    for id in ids.iter().rev().take(STATES_ASKED) {
        let state = states.load(workspace, id).await?;
        if let Some(chat) = state.and_then(|state| state.chat) {
            return Ok(Some(chat));
        }
    }
    Ok(None)
}

/// Whether the workspace is that of one of these runs alone.
pub(super) fn is_own<'r>(workspace: &WorkspaceId, mut runs: impl Iterator<Item = &'r str>) -> bool {
    runs.any(|run| is_run_id(run) && workspace_id(SESSION, run).as_ref() == Some(workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_ordered_by_their_run_and_then_by_number() {
        let ids = [
            "run_1.9", "run_2", "run_1.11", "run_1", "run_2.1", "run_10", "copy_15",
        ];
        let found = by_run(ids.map(str::to_owned).to_vec());
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|(run, ids)| (run.as_str(), ids.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            found,
            [
                ("run_2", vec!["run_2.1", "run_2"]),
                ("copy_15", vec!["copy_15"]),
                ("run_10", vec!["run_10"]),
                ("run_1", vec!["run_1.11", "run_1.9", "run_1"]),
            ]
        );
    }

    #[test]
    fn a_run_without_a_chat_is_one_of_its_own() {
        let id = format!("run_{}", "0a".repeat(16));
        let host = serde_json::json!({"kind": "group", "chatId": "1"});
        for (chat_ref, stable, sort) in [
            (&Json::Null, id.as_str(), ChatSort::Own),
            (&Json::Null, "evening", ChatSort::Session),
            (&Json::Null, "run_away", ChatSort::Session),
            (&host, id.as_str(), ChatSort::Hosted),
        ] {
            assert_eq!(ChatSort::of(chat_ref, stable), sort, "{stable}");
        }
        let own = workspace_id(SESSION, &id).unwrap();
        assert!(is_own(&own, ["x", id.as_str()].into_iter()));
        assert!(!is_own(&own, ["x"].into_iter()));
    }
}
