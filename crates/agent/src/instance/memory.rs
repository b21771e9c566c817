//! The memory of chats as a whole: copying it to a branch, removing what no message names any more, looking into it.
//!
//! Which states a chat names is known to its host alone. What is refused here is taking away what a run is at work with.

use std::collections::BTreeSet;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::WorkspaceId;
use innkeeper_store::Tree;
use serde::Serialize;
use serde_json::Value as Json;

use super::AgentError;
use super::host;
use super::reading::RunReader;
use super::runtime::AgentRuntime;
use super::standing::{ChatSort, SESSION, chat_named};
use crate::limits::{MAX_ID_CHARS, MAX_STATES_PRUNED};
use crate::workspace::diff::{DiffTotals, FileDiff};
use crate::workspace::persist::COPIED;
use crate::workspace::{PersistentState, PersistentStates, StateChat, workspace_id};

/// A chat as hosts name it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatName {
    pub chat_ref: Json,
    pub stable_chat_id: String,
}

impl ChatName {
    /// Where its files and its memory are.
    pub fn workspace(&self) -> Result<WorkspaceId, AgentError> {
        host::check_chat_ref(&self.chat_ref)?;
        let kind = self.chat_ref.get("kind").and_then(Json::as_str);
        let stable = self.stable_chat_id.trim();
        workspace_id(kind.unwrap_or(SESSION), stable).ok_or_else(|| {
            let message = "stableChatId cannot be the name of a workspace: it is empty or too long";
            AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.invalid_stable_chat_id")
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopiedStates {
    pub source_workspace_id: WorkspaceId,
    pub target_workspace_id: WorkspaceId,
    pub copied_state_count: u64,
    /// They were there already.
    pub kept_state_count: u64,
    /// What the next run of the target begins with, where that is a chat by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrunedStates {
    pub workspace_id: WorkspaceId,
    pub removed_state_ids: Vec<String>,
    /// They stay: a run without an end began with them, or will leave them.
    pub in_use_state_ids: Vec<String>,
}

/// What is different between two states; `none` is empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateDiff {
    pub workspace_id: WorkspaceId,
    pub from_state_id: Option<String>,
    pub to_state_id: Option<String>,
    pub files: Vec<FileDiff>,
    pub totals: DiffTotals,
}

impl AgentRuntime {
    /// For a chat that was branched off: all that runs of the one have left is there for runs of the other, under the same
    /// ids, so that the messages that were copied find theirs. Done again it adds what has come since. Of a chat without a
    /// host, what was taken back is left out: there it would stand again. To a chat by name, which has no messages that could
    /// name a state, comes what the next run of the other would begin with, and the next run there begins with it.
    pub async fn copy_chat_states(
        &self,
        source: &ChatName,
        target: &ChatName,
    ) -> Result<CopiedStates, AgentError> {
        let (from, to) = (source.workspace()?, target.workspace()?);
        let chat = chat_named(&target.chat_ref, target.stable_chat_id.trim());
        self.copy_states(&from, &to, Some(chat)).await
    }

    /// See [`Self::copy_chat_states`]. `chat`: what the target is called; none: what its runs and states say.
    pub async fn copy_states(
        &self,
        source: &WorkspaceId,
        target: &WorkspaceId,
        chat: Option<StateChat>,
    ) -> Result<CopiedStates, AgentError> {
        let (states, reader) = (self.0.persist.as_ref(), self.reader());
        check_apart(source, target)?;
        let chat = match chat {
            Some(chat) => Some(chat),
            None => reader.chat_of(states, target).await?,
        };
        let named = chat
            .filter(|chat| ChatSort::named(&chat.kind, &chat.stable_chat_id) == ChatSort::Session);
        if let Some(chat) = named {
            let stands = Stands {
                from: reader.standing_state(states, source).await?,
                there: reader.standing_state(states, target).await?,
            };
            return copy_standing(states, source, target, stands, chat).await;
        }
        let ids = states.list(source).await?;
        // Nobody has to be asked which of them a chat without a host could come back to.
        let left_out = match reader.sort_of(states, source, &ids).await? {
            ChatSort::Own | ChatSort::Session => reader.taken_back(states, source).await?,
            ChatSort::Hosted | ChatSort::Unknown => Vec::new(),
        };
        copy(states, source, target, &left_out).await
    }

    /// Removes states that no message names any more. Of any kind of chat.
    pub async fn prune_chat_states(
        &self,
        chat: &ChatName,
        candidates: &[String],
    ) -> Result<PrunedStates, AgentError> {
        self.prune_states(&chat.workspace()?, candidates).await
    }

    /// See [`Self::prune_chat_states`].
    pub async fn prune_states(
        &self,
        workspace: &WorkspaceId,
        candidates: &[String],
    ) -> Result<PrunedStates, AgentError> {
        prune(&*self.0.persist, workspace, candidates).await
    }
}

fn check_apart(source: &WorkspaceId, target: &WorkspaceId) -> Result<(), AgentError> {
    if source != target {
        return Ok(());
    }
    let message = format!(
        "both chats have the same workspace ('{source}'), so they share their memory already; give the copy a stable id of its own, then copy it"
    );
    Err(AgentError::new(ErrorCode::AgentValidationError, message)
        .because("agent.persist_copy_same_workspace"))
}

/// What the next runs of two chats would begin with.
struct Stands {
    from: Option<String>,
    there: Option<String>,
}

/// A state of no run, which is newer than all that are there: nobody can take it back but by removing it.
async fn copy_standing(
    states: &dyn PersistentStates,
    source: &WorkspaceId,
    target: &WorkspaceId,
    stands: Stands,
    chat: StateChat,
) -> Result<CopiedStates, AgentError> {
    let done = CopiedStates {
        source_workspace_id: source.clone(),
        target_workspace_id: target.clone(),
        copied_state_count: 0,
        kept_state_count: 0,
        state_id: stands.there.clone(),
    };
    let Some(from) = stands.from else {
        return Ok(done);
    };
    let from = state(states, source, &from).await?;
    if let Some(there) = stands.there.filter(|id| id.starts_with(COPIED)) {
        let there = states.load(target, &there).await?;
        if there.is_some_and(|there| there.files == from.files) {
            return Ok(CopiedStates {
                kept_state_count: 1,
                ..done
            });
        }
    }
    let state_id = format!("{COPIED}{}", uuid::Uuid::now_v7().simple());
    let copy = PersistentState {
        workspace_id: target.clone(),
        state_id: state_id.clone(),
        base_state_id: Some(from.state_id),
        chat: Some(chat),
        files: from.files,
    };
    states.save(copy).await?;
    Ok(CopiedStates {
        copied_state_count: 1,
        state_id: Some(state_id),
        ..done
    })
}

async fn copy(
    states: &dyn PersistentStates,
    source: &WorkspaceId,
    target: &WorkspaceId,
    left_out: &[String],
) -> Result<CopiedStates, AgentError> {
    let mut copied = CopiedStates {
        source_workspace_id: source.clone(),
        target_workspace_id: target.clone(),
        copied_state_count: 0,
        kept_state_count: 0,
        state_id: None,
    };
    let there: BTreeSet<String> = states.list(target).await?.into_iter().collect();
    for id in states.list(source).await? {
        if left_out.contains(&id) {
            continue;
        }
        if there.contains(&id) {
            copied.kept_state_count += 1;
            continue;
        }
        // It may have been pruned meanwhile.
        let Some(state) = states.load(source, &id).await? else {
            continue;
        };
        let state = PersistentState {
            workspace_id: target.clone(),
            chat: None,
            ..state
        };
        states.save(state).await?;
        copied.copied_state_count += 1;
    }
    Ok(copied)
}

async fn prune(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    candidates: &[String],
) -> Result<PrunedStates, AgentError> {
    let refused = |message: String| {
        AgentError::new(ErrorCode::AgentValidationError, message)
            .because("agent.persist_candidates_invalid")
    };
    if candidates.len() > MAX_STATES_PRUNED {
        return Err(refused(format!(
            "{} states are too many at once; name at most {MAX_STATES_PRUNED}",
            candidates.len()
        )));
    }
    let mut ids: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for id in candidates.iter().map(|id| id.trim()) {
        if id.is_empty() || id.len() > MAX_ID_CHARS {
            return Err(refused(
                "candidateStateIds holds one that is empty or too long".to_owned(),
            ));
        }
        if seen.insert(id) {
            ids.push(id.to_owned());
        }
    }
    let removed = states.prune(workspace, &ids).await?;
    let gone: BTreeSet<&String> = removed.iter().collect();
    let mut in_use = Vec::new();
    for id in ids.iter().filter(|id| !gone.contains(id)) {
        if states.load(workspace, id).await?.is_some() {
            in_use.push(id.clone());
        }
    }
    Ok(PrunedStates {
        workspace_id: workspace.clone(),
        removed_state_ids: removed,
        in_use_state_ids: in_use,
    })
}

impl RunReader {
    /// What was learnt between two states of a chat, or forgotten.
    pub async fn state_diff(
        &self,
        states: &dyn PersistentStates,
        workspace: &WorkspaceId,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<StateDiff, AgentError> {
        let from_tree = state_tree(states, workspace, from).await?;
        let to_tree = state_tree(states, workspace, to).await?;
        let (files, totals) = self.compared(&from_tree, &to_tree, Vec::new()).await?;
        Ok(StateDiff {
            workspace_id: workspace.clone(),
            from_state_id: from.map(str::to_owned),
            to_state_id: to.map(str::to_owned),
            files,
            totals,
        })
    }
}

async fn state_tree(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    id: Option<&str>,
) -> Result<Tree, AgentError> {
    match id {
        None => Ok(Tree::default()),
        Some(id) => Ok(state(states, workspace, id).await?.tree()),
    }
}

/// One that has to be there.
pub async fn state(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    id: &str,
) -> Result<PersistentState, AgentError> {
    let found = states.load(workspace, id).await?;
    found.ok_or_else(|| {
        let message = format!(
            "the workspace '{workspace}' has no state '{id}'; `innkeeper runs memory list {workspace}` shows those there are"
        );
        AgentError::new(ErrorCode::AgentNotFound, message).because("agent.persist_state_missing")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::workspace::StatesInMemory;

    fn kept(workspace: &str, id: &str) -> PersistentState {
        PersistentState {
            workspace_id: workspace.into(),
            state_id: id.to_owned(),
            base_state_id: None,
            chat: None,
            files: BTreeMap::new(),
        }
    }

    #[tokio::test]
    async fn a_branch_gets_all_states_once_and_under_their_ids() {
        let states = StatesInMemory::default();
        for id in ["run_1", "run_2"] {
            states.save(kept("chat_a", id)).await.unwrap();
        }
        let (source, target) = ("chat_a".into(), "chat_b".into());
        for (copied, there) in [(2, 0), (0, 2)] {
            let done = copy(&states, &source, &target, &[]).await.unwrap();
            let found = (done.copied_state_count, done.kept_state_count);
            assert_eq!(found, (copied, there));
        }
        let copied = states.load(&target, "run_2").await.unwrap().unwrap();
        assert_eq!(copied, kept("chat_b", "run_2"));
        let refused = check_apart(&source, &source).unwrap_err();
        assert_eq!(
            refused.reason.as_deref(),
            Some("agent.persist_copy_same_workspace")
        );
    }

    #[tokio::test]
    async fn candidates_are_trimmed_and_told_once() {
        let states = StatesInMemory::default();
        for id in ["run_1", "run_2"] {
            states.save(kept("chat_a", id)).await.unwrap();
        }
        let asked = [" run_1 ", "run_1", "run_9"].map(str::to_owned);
        let done = prune(&states, &"chat_a".into(), &asked).await.unwrap();
        assert_eq!(done.removed_state_ids, ["run_1"]);
        assert_eq!(done.in_use_state_ids, [""; 0]);
        assert_eq!(states.list(&"chat_a".into()).await.unwrap(), ["run_2"]);
        for bad in ["", "  ", &"x".repeat(MAX_ID_CHARS + 1)] {
            let refused = prune(&states, &"chat_a".into(), &[bad.to_owned()]).await;
            let reason = refused.unwrap_err().reason;
            assert_eq!(reason.as_deref(), Some("agent.persist_candidates_invalid"));
        }
        let many = vec!["x".to_owned(); MAX_STATES_PRUNED + 1];
        assert!(prune(&states, &"chat_a".into(), &many).await.is_err());
    }

    #[test]
    fn a_chat_is_named_by_its_kind_and_its_stable_id() {
        let chat = |chat_ref: Json, id: &str| {
            let named = ChatName {
                chat_ref,
                stable_chat_id: id.to_owned(),
            };
            named.workspace().map(|id| id.to_string())
        };
        let character =
            serde_json::json!({"kind": "character", "characterId": "anna", "fileName": "1"});
        let group = serde_json::json!({"kind": "group", "chatId": "1"});
        assert_eq!(
            chat(character.clone(), "abc").unwrap(),
            "chat_b30dd8f137c0e127"
        );
        assert_eq!(chat(group, "abc").unwrap(), "chat_84134139c4785d9f");
        assert!(chat(character, " ").is_err());
        assert!(chat(serde_json::json!({"kind": "?"}), "abc").is_err());
    }
}
