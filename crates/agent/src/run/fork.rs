//! Branching off: a run that begins with the files and the conversation of another, as they were at a moment of it.
//!
//! All of it comes with the first input, so nothing of the other run is needed again. Budgets begin anew, and what the
//! other has published is not this one's.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::Observation;
use innkeeper_protocol::event::{CheckpointId, RunId};
use innkeeper_store::BlobId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::AgentRun;
use super::compact::Dropped;
use super::names::call_key;
use super::rollback::SetBack;
use super::told::ToldTools;
use super::turn::Turn;
use crate::workspace::state::{FileInfo, ReadState};

const BRANCHED_OFF: &str = "the run was branched off here";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forked {
    pub run: RunId,
    /// `start`, a checkpoint, or `now`.
    pub checkpoint: CheckpointId,
    /// The number of the last event of that run which is in here.
    pub seq: u64,
    pub files: BTreeMap<String, FileInfo>,
    pub(super) reads: BTreeMap<String, ReadState>,
    /// What earlier runs had left in `persist`.
    pub(super) persist_base: BTreeMap<String, BlobId>,
    pub(super) sent: Vec<Arc<Json>>,
    pub(super) turn: Option<Turn>,
    pub(super) arrived: Vec<Arc<Observation>>,
    pub(super) told: Option<Arc<ToldTools>>,
    pub(super) captured: Option<(String, BlobId)>,
    /// What is not sent any more of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// Another agent goes on: its own instructions take the place of those that the conversation began with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_renewed: bool,
}

impl Forked {
    /// The conversation that it goes on with.
    pub fn sent(&self) -> &[Arc<Json>] {
        &self.sent
    }
}

impl AgentRun {
    /// This run as another begins with it. What is open in it is answered: nobody will, in the other.
    pub fn forked(&self, checkpoint: CheckpointId, seq: u64, is_renewed: bool) -> Forked {
        let mut here = self.clone();
        here.close_quietly(BRANCHED_OFF);
        here.cancel_tasks(BRANCHED_OFF, &mut Vec::new());
        here.arrived.extend(self.ends_of_children(BRANCHED_OFF));
        Forked {
            run: self.run_id().clone(),
            checkpoint,
            seq,
            files: here.workspace.files,
            reads: here.workspace.reads,
            persist_base: here.persist_base,
            sent: here.sent,
            turn: here.turn,
            arrived: here.arrived,
            told: here.told,
            captured: here.captured,
            dropped: here.dropped,
            is_renewed,
        }
    }

    /// At its very beginning.
    pub(super) fn begin_forked(&mut self, fork: &Forked) {
        self.workspace.files = fork.files.clone();
        self.workspace.reads = fork.reads.clone();
        self.persist_base = fork.persist_base.clone();
        self.sent = fork.sent.clone();
        self.turn = fork.turn.clone();
        self.arrived = fork.arrived.clone();
        self.captured = fork.captured.clone();
        self.dropped = fork.dropped.clone();
        let calls = fork.turn.iter().flat_map(Turn::calls);
        self.calls = calls.map(|call| call_key(call.call.as_str())).collect();
        self.set_back = Some(SetBack::Fork {
            checkpoint: fork.checkpoint.clone(),
        });
    }
}

/// For the first event of the run.
pub(super) fn origin(fork: &Forked) -> Map<String, Json> {
    let origin = json!({
        "runId": fork.run,
        "checkpointId": fork.checkpoint,
        "seq": fork.seq,
    });
    Map::from_iter([("forkedFrom".to_owned(), origin)])
}
