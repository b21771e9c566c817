//! Taking back: files and conversation become what they were at an earlier moment of the run, together.
//!
//! What was spent, which ids were used and how checkpoints are numbered is not taken back, and neither is the journal: a
//! rollback is one more input. It carries all that the run needs to be as it was, so a replay looks nothing up.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::{
    CheckpointId, CommitId, InvocationId, ReplacingCommit, RollbackScope, RolledBackFiles,
    RunEventKind, RunRolledBack, RunStatus, TaskId, WithdrawStrategy, WithdrawnCommit,
};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use innkeeper_store::{BlobId, GrantKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::apply::Out;
use super::child::{Child, Standing};
use super::commit::CommitAnswer;
use super::state::{Phase, Stage};
use super::told::ToldTools;
use super::turn::CallState;
use super::{AgentRun, Commit, Dropped, Misfit, Turn};
use crate::limits::MAX_CHANGED_PATHS;
use crate::workspace::state::{FileInfo, ReadState, WorkspaceState};

pub(super) const UNAVAILABLE: &str = "agent.rollback_unavailable";
pub(super) const TAKEN_BACK: &str = "taken back by a person";

/// What a person wants back, and what that is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    pub rollback_id: String,
    /// `start` for what the run began with.
    pub checkpoint: CheckpointId,
    /// The number of the event that tells of it.
    pub event_seq: u64,
    #[serde(default)]
    pub scope: RollbackScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub restored: Restored,
}

/// The way from one state of a run to an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Who had the run then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invocation: Option<InvocationId>,
    /// Where it begins; the way leads from nowhere else.
    from: Place,
    /// So many messages of what was sent last are the same, and then come these.
    keep: usize,
    add: Vec<Arc<Json>>,
    turn: Option<Turn>,
    arrived: Vec<Arc<Observation>>,
    told: Option<Arc<ToldTools>>,
    /// What is different; none: it was not there.
    files: BTreeMap<String, Option<FileInfo>>,
    reads: BTreeMap<String, Option<ReadState>>,
    captured: Option<(String, BlobId)>,
    /// What was not sent any more by then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<Dropped>,
    /// What was published by then.
    confirmed: Vec<CommitId>,
    kept_state: Option<String>,
    /// What people had allowed for the run by then. Journals of earlier versions do not say: there all of it stays allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grants: Option<Vec<GrantKey>>,
    /// The tasks that were given by then, and whether they were over. Journals of earlier versions do not say: there all stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<BTreeMap<TaskId, bool>>,
    stage: Stage,
    rounds: u32,
}

impl Restored {
    pub fn keep(&self) -> usize {
        self.keep
    }

    pub fn add(&self) -> &[Arc<Json>] {
        &self.add
    }

    /// Replies of the model that are taken back.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

/// Neither can be the same again once the run has gone on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    checkpoints: u64,
    rounds: u32,
}

/// What the model is told with its next request, since its conversation does not say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SetBack {
    Rollback {
        checkpoint: CheckpointId,
        /// Published all the same, as far as its conversation does not know.
        published: Vec<Published>,
        /// Published as far as its conversation knows, but withdrawn.
        withdrawn: Vec<Published>,
    },
    /// It began with the conversation of another run.
    Fork { checkpoint: CheckpointId },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    pub path: String,
    pub message_id: String,
}

impl AgentRun {
    /// What leads from here to the state that it had then.
    pub fn way_back(&self, past: &Self) -> Restored {
        let same = self.sent.iter().zip(&past.sent);
        let keep = same.take_while(|(one, other)| one == other).count();
        let mut arrived = past.arrived.clone();
        // They have ended since, and what they came to is not known then.
        arrived.extend(past.tasks.iter().map(|(task, open)| {
            let reason = TAKEN_BACK.to_owned();
            Arc::new(Observation {
                task: Some(task.clone()),
                ..Observation::new(open.tool.as_str(), Outcome::Cancelled { reason })
            })
        }));
        arrived.extend(past.ends_of_children(TAKEN_BACK));
        Restored {
            invocation: Some(past.invocation.clone()),
            from: self.place(),
            keep,
            add: past.sent.iter().skip(keep).cloned().collect(),
            turn: past.turn.clone(),
            arrived,
            told: past.told.clone(),
            files: differences(&self.workspace.files, &past.workspace.files),
            reads: differences(&self.workspace.reads, &past.workspace.reads),
            captured: past.captured.clone(),
            dropped: past.dropped.clone(),
            confirmed: past.commits().map(|known| known.commit.clone()).collect(),
            kept_state: past.kept_state.clone(),
            grants: Some(past.grants.clone()),
            given: Some(past.given_tasks()),
            stage: past.phase.stage(),
            rounds: self.replies().saturating_sub(past.replies()),
        }
    }

    /// Published since then, and not withdrawn: what a rollback of that scope would withdraw.
    pub fn published_since(&self, past: &Self) -> Vec<&Commit> {
        let is_known = |commit: &&Commit| past.commits().any(|known| known.commit == commit.commit);
        self.commits().filter(|commit| !is_known(commit)).collect()
    }

    /// What people have allowed for the run since then.
    pub fn granted_since(&self, past: &Self) -> Vec<GrantKey> {
        not_in(&self.grants, &past.grants)
    }

    /// What the model must be told of where it is.
    pub fn set_back(&self) -> Option<&SetBack> {
        self.set_back.as_ref()
    }

    /// Under which what it leaves for later runs is kept. A state never changes, so what is kept after a rollback is
    /// another one.
    pub fn state_id(&self) -> String {
        match self.rollbacks {
            0 => self.run_id().to_string(),
            number => format!("{}.{number}", self.run_id()),
        }
    }

    fn place(&self) -> Place {
        Place {
            checkpoints: self.workspace.checkpoints,
            rounds: self.spent.rounds,
        }
    }

    fn replies(&self) -> u32 {
        let sent = self.sent.iter();
        let replies = sent
            .filter(|message| message["role"] == "assistant")
            .count();
        let replies = replies + usize::from(self.turn.is_some());
        u32::try_from(replies).unwrap_or(u32::MAX)
    }

    /// Of a run that is over or paused.
    pub(super) fn check_rollback(&self, back: &RolledBack) -> Result<(), Misfit> {
        // A fork has its files from its first step on.
        let has_begun = |stage| stage != Stage::Workspace || self.created.fork.is_some();
        if !has_begun(self.phase.stage()) || !has_begun(back.restored.stage) {
            return Err(self.not_now("has only begun, so there is nothing to take back"));
        }
        let had_it = back.restored.invocation.as_ref();
        if had_it.is_some_and(|had_it| *had_it != self.invocation) {
            let why = "was handed to another agent since then; a fork goes on from there with the one who had it";
            return Err(self.not_now(why));
        }
        if back.restored.from != self.place() || back.restored.keep > self.sent.len() {
            return Err(self.not_now("has gone on meanwhile; look at it, then roll it back"));
        }
        Ok(())
    }

    pub(super) fn not_now(&self, why: &str) -> Misfit {
        Misfit::refused(
            ErrorCode::AgentValidationError,
            UNAVAILABLE,
            format!("The run {why}"),
        )
    }

    pub(super) fn rolled_back(&mut self, back: &RolledBack, out: &mut Out) {
        let was_over = self.is_over();
        if was_over {
            self.take_end_back("rollback", out);
        }
        self.cancel_children(TAKEN_BACK, out);
        self.bury_children(out);
        self.close_turn(TAKEN_BACK, out);
        let before = self.checkpoint("before_rollback", out);
        let restored = &back.restored;
        let files = restore_files(&mut self.workspace, restored);
        let withdrawn = self.withdraw(back);
        let state = self.kept_state.take();
        self.kept_state = restored.kept_state.clone();
        self.restore(restored);
        let ungranted = self.restore_grants(restored);
        self.restore_tasks(restored);
        self.set_back = Some(self.to_be_told(back));
        self.rollbacks = self.rollbacks.saturating_add(1);
        let is_withdrawn = |state: &String| {
            back.scope == RollbackScope::CommittedMessage && Some(state) != self.kept_state.as_ref()
        };
        let told = RunRolledBack {
            rollback_id: back.rollback_id.clone(),
            invocation_id: InvocationId::root(),
            checkpoint_id: back.checkpoint.clone(),
            event_seq: back.event_seq,
            before_checkpoint_id: before,
            scope: back.scope,
            reason: back.reason.clone(),
            rounds: restored.rounds,
            files,
            withdrawn_commits: withdrawn,
            withdrawn_state_id: state.filter(is_withdrawn),
            extra: told_grants(&ungranted),
        };
        out.push(RunEventKind::RunRolledBack(told).into());
        self.checkpoint("rollback", out);
        let from = self.stage_after(restored, was_over);
        if was_over {
            self.phase = Phase::Over { from };
            return self.end_again(out);
        }
        self.phase = match from {
            Stage::Context => Phase::Assembling,
            _ => Phase::Ready,
        };
        self.turn_to(RunStatus::AssemblingContext, out);
    }

    /// It can be gone on with, unless it is complete once more: that was undone which had been taken back of it.
    fn stage_after(&self, restored: &Restored, was_over: bool) -> Stage {
        let counts = |id: &CommitId| self.commit(id).is_some_and(Commit::counts);
        let is_complete = was_over && self.status == RunStatus::Completed;
        match restored.stage {
            Stage::Workspace | Stage::Context => Stage::Context,
            Stage::End if is_complete && restored.confirmed.iter().all(counts) => Stage::End,
            Stage::Ask | Stage::Compact | Stage::Model | Stage::Persist | Stage::End => Stage::Ask,
        }
    }

    fn restore(&mut self, restored: &Restored) {
        self.sent.truncate(restored.keep);
        self.sent.extend(restored.add.iter().cloned());
        self.turn = restored.turn.clone();
        self.arrived = restored.arrived.clone();
        self.told = restored.told.clone();
        self.captured = restored.captured.clone();
        self.dropped = restored.dropped.clone();
        self.finish = None;
        self.awaits.clear();
        self.repeated = None;
        self.barren = 0;
        self.drifts = 0;
        self.close_quietly(TAKEN_BACK);
    }

    /// Those that stand, and whether they are over.
    fn given_tasks(&self) -> BTreeMap<TaskId, bool> {
        let known = self.known_children().into_iter();
        let is_over = |child: &Child| child.standing.is_whole() && child.status.is_final();
        known
            .map(|(_, child)| (child.task.clone(), is_over(child)))
            .collect()
    }

    fn restore_tasks(&mut self, restored: &Restored) {
        let Some(given) = &restored.given else {
            return;
        };
        for child in self.children.values_mut() {
            child.standing = match given.get(&child.task) {
                Some(true) => Standing::Whole,
                Some(false) => Standing::Given,
                None => Standing::Nothing,
            };
        }
    }

    /// Whoever allowed something for the run after that moment is asked again, and what was taken back stays so when the
    /// rollback is undone: to be asked once more harms nobody. Its agents share what is allowed, also those that are over.
    fn restore_grants(&mut self, restored: &Restored) -> Vec<GrantKey> {
        let Some(grants) = &restored.grants else {
            return Vec::new();
        };
        let gone = not_in(&self.grants, grants);
        self.grants.retain(|grant| grants.contains(grant));
        for child in self.children.values_mut() {
            child.run.grants.clone_from(&self.grants);
        }
        gone
    }

    /// Answers what was open then, so that no call is without its result. Nothing is told: what came of these calls is in
    /// the journal.
    pub(super) fn close_quietly(&mut self, why: &str) {
        let calls = self.turn.iter().flat_map(Turn::calls);
        let open: Vec<_> = calls.filter(|call| call.is_open()).cloned().collect();
        for call in open {
            let is_withdrawn = self
                .commit_of(&call.call)
                .is_some_and(|commit| commit.withdrawn.is_some());
            let outcome = match is_withdrawn {
                true => Outcome::Cancelled {
                    reason: why.to_owned(),
                },
                false => self.closing(&call, why),
            };
            let observation = Observation {
                call_id: call.provider_id.clone(),
                index: call.index,
                ..Observation::new(call.tool.as_str(), outcome)
            };
            if let Some(call) = self.call_mut(&call.call) {
                call.state = CallState::Ended {
                    observation: Arc::new(observation),
                    full: None,
                };
            }
        }
        for block in self.turn.iter_mut().flat_map(|turn| &mut turn.blocks) {
            block.ended = true;
        }
    }

    /// Commits that were not there yet count no more, also where the host says only later that it published.
    fn withdraw(&mut self, back: &RolledBack) -> Vec<WithdrawnCommit> {
        if back.scope == RollbackScope::Workspace {
            return Vec::new();
        }
        let confirmed = &back.restored.confirmed;
        let mut gone = Vec::new();
        for commit in &mut self.commits {
            let is_news = commit.counts() || (commit.is_unsettled() && commit.withdrawn.is_none());
            if !is_news || confirmed.contains(&commit.commit) {
                continue;
            }
            commit.withdrawn = Some(back.rollback_id.clone());
            if commit.is_confirmed() {
                gone.push(commit.clone());
            }
        }
        gone.iter()
            .map(|commit| self.told_withdrawn(commit))
            .collect()
    }

    fn told_withdrawn(&self, commit: &Commit) -> WithdrawnCommit {
        let message_id = commit.message_id().unwrap_or_default();
        let earlier = self.commits();
        let earlier = earlier.filter(|other| other.message_id() == Some(message_id));
        let mut replace_with: Vec<ReplacingCommit> = Vec::new();
        for other in earlier {
            if other.mode != "append" {
                replace_with.clear();
            }
            replace_with.push(ReplacingCommit {
                commit_id: other.commit.clone(),
                path: other.path.clone(),
                mode: other.mode.clone(),
                sha256: other.file.sha256.as_str().to_owned(),
                extra: Map::new(),
            });
        }
        let strategy = match self.created.generation_type.as_str() {
            _ if !replace_with.is_empty() => WithdrawStrategy::ReplaceMessage,
            "swipe" => WithdrawStrategy::DeleteSwipe,
            _ => WithdrawStrategy::DeleteMessage,
        };
        WithdrawnCommit {
            commit_id: commit.commit.clone(),
            message_id: message_id.to_owned(),
            message_index: match &commit.answer {
                CommitAnswer::Confirmed { message_index, .. } => *message_index,
                CommitAnswer::Pending | CommitAnswer::Failed { .. } => None,
            },
            path: commit.path.clone(),
            mode: commit.mode.clone(),
            checkpoint_id: commit.checkpoint.clone(),
            strategy,
            replace_with,
            extra: Map::new(),
        }
    }

    fn to_be_told(&self, back: &RolledBack) -> SetBack {
        let knows = |commit: &Commit| back.restored.confirmed.contains(&commit.commit);
        let confirmed = || self.commits.iter().filter(|commit| commit.is_confirmed());
        let named = |commit: &Commit| Published {
            path: commit.path.clone(),
            message_id: commit.message_id().unwrap_or_default().to_owned(),
        };
        SetBack::Rollback {
            checkpoint: back.checkpoint.clone(),
            published: confirmed()
                .filter(|commit| commit.counts() && !knows(commit))
                .map(named)
                .collect(),
            withdrawn: confirmed()
                .filter(|commit| !commit.counts() && knows(commit))
                .map(named)
                .collect(),
        }
    }
}

fn not_in(grants: &[GrantKey], others: &[GrantKey]) -> Vec<GrantKey> {
    let news = grants.iter().filter(|key| !others.contains(key));
    news.cloned().collect()
}

fn told_grants(gone: &[GrantKey]) -> Map<String, Json> {
    let told = gone.iter().map(
        |key| json!({"tool": key.tool, "source": key.source, "actor": key.actor, "rule": key.rule}),
    );
    let told: Vec<Json> = told.collect();
    let told = (!told.is_empty()).then(|| ("withdrawnGrants".to_owned(), told.into()));
    told.into_iter().collect()
}

fn restore_files(workspace: &mut WorkspaceState, restored: &Restored) -> RolledBackFiles {
    let mut told = RolledBackFiles {
        added: 0,
        modified: 0,
        deleted: 0,
        paths: restored
            .files
            .keys()
            .take(MAX_CHANGED_PATHS)
            .cloned()
            .collect(),
        extra: Map::new(),
    };
    for (path, file) in &restored.files {
        let before = match file {
            Some(file) => workspace.files.insert(path.clone(), file.clone()),
            None => workspace.files.remove(path),
        };
        let count = match (before.is_some(), file.is_some()) {
            (false, _) => &mut told.added,
            (true, true) => &mut told.modified,
            (true, false) => &mut told.deleted,
        };
        *count += 1;
    }
    for (path, read) in &restored.reads {
        match read {
            Some(read) => workspace.reads.insert(path.clone(), read.clone()),
            None => workspace.reads.remove(path),
        };
    }
    told
}

/// What has to be done to the first to make it the second.
fn differences<T: Clone + PartialEq>(
    from: &BTreeMap<String, T>,
    to: &BTreeMap<String, T>,
) -> BTreeMap<String, Option<T>> {
    let gone = from.keys().filter(|path| !to.contains_key(*path));
    let gone = gone.map(|path| (path.clone(), None));
    let other = to.iter().filter(|(path, one)| from.get(*path) != Some(one));
    let other = other.map(|(path, one)| (path.clone(), Some(one.clone())));
    gone.chain(other).collect()
}
