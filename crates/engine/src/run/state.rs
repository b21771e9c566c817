//! How far the nodes of a region are. Used again for the next iteration of a loop.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Map;

use super::driver::Failure;
use super::event::{EventBody, Skip};
use crate::Value;
use crate::node::{Input, Io, NodeInfo, Output};
use crate::plan::Region;
use crate::stream::StreamReader;

/// What a slot holds.
#[derive(Debug, Default)]
pub(crate) enum Held {
    #[default]
    Pending,
    Absent,
    Value(Value),
    /// What depends on it does not run.
    Dead(Skip),
    /// One for each reader, until it is taken.
    Stream(Vec<Option<StreamReader>>),
}

pub(crate) struct State {
    pub(super) slots: Vec<Held>,
    pub(super) pending: Vec<u32>,
    pub(super) ready: VecDeque<u32>,
    /// Ready, but there are enough at work.
    pub(super) held_back: VecDeque<u32>,
    pub(super) failures: Vec<Failure>,
    pub(super) failed: usize,
    /// Nodes that have ended, one way or another.
    pub(super) ended: usize,
    /// Lazy inputs of the node at hand that failed.
    pub(super) failed_lazy: Vec<usize>,
    /// Bytes of values that were made here.
    pub(super) bytes: usize,
    /// Events that are not told yet.
    pub(super) told: Vec<EventBody>,
    pub(super) io: Io,
    /// Nodes run since others had their turn.
    pub(super) turn: u32,
}

impl State {
    pub(crate) fn new(region: &Region) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(region.slots(), Held::default);
        Self {
            slots,
            pending: region.pending.clone(),
            ready: region.ready.iter().copied().collect(),
            held_back: VecDeque::new(),
            failures: Vec::new(),
            failed: 0,
            ended: 0,
            bytes: 0,
            failed_lazy: Vec::new(),
            told: Vec::new(),
            io: Io {
                info: nobody(),
                inputs: Vec::<Input>::new(),
                outputs: Vec::<Output>::new(),
            },
            turn: 0,
        }
    }

    /// As if nothing had run.
    pub(crate) fn reset(&mut self, region: &Region) {
        self.slots.fill_with(Held::default);
        self.pending.copy_from_slice(&region.pending);
        self.ready.clear();
        self.ready.extend(&region.ready);
        self.held_back.clear();
        self.failures.clear();
        self.failed = 0;
        self.ended = 0;
        self.bytes = 0;
    }

    pub(crate) fn set(&mut self, slot: u32, held: Held) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = held;
        }
    }

    /// Nodes that failed, as far as they are kept.
    pub(crate) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    pub(crate) fn get(&self, slot: u32) -> &Held {
        const PENDING: &Held = &Held::Pending;
        self.slots.get(slot as usize).unwrap_or(PENDING)
    }
}

fn nobody() -> Arc<NodeInfo> {
    Arc::new(NodeInfo {
        id: "".into(),
        full_type: "".into(),
        display_name: None,
        mode: None,
        config: Map::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
    })
}
