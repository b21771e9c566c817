//! A workflow run in the plainest way: one node after the other, straight from the file, with nothing made ready.
//!
//! What it gives is what the engine has to give. It knows no streams and no waiting.
//!
//! - `flat.rs` unfolds groups, and finds where values come from;
//! - `region.rs` puts the nodes in order;
//! - `take.rs` says what a node takes, `work.rs` what it makes of it.

mod flat;
mod region;
mod take;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use self::flat::Flat;
use crate::testing::Shelf;
use crate::{NodeTypes, Workflow};

/// What an output holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    Absent,
    Value(Json),
    Dead(Why),
}

/// Why something does not run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Why {
    /// It lies on a branch that was not taken.
    Branch,
    /// Something that it needs failed.
    Failed,
}

/// What a run comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Result {
    pub(super) outputs: BTreeMap<String, Json>,
    pub(super) failed: BTreeSet<String>,
    /// Nodes of the whole that ran, those of loops left out.
    pub(super) ran: BTreeSet<String>,
}

pub(super) fn interpret(
    workflow: &Arc<Workflow>,
    shelf: &Shelf,
    types: &NodeTypes,
    arguments: &Map<String, Json>,
) -> Result {
    let mut flat = Flat {
        types,
        shelf,
        scopes: Vec::new(),
        nodes: Vec::new(),
    };
    flat.unfold(workflow.clone(), "", None, None);
    let mut run = Run {
        slots: HashMap::new(),
        flat: &flat,
    };
    for input in &workflow.inputs {
        let slot = arguments.get(&input.key).cloned();
        run.slots.insert(
            (0, input.key.clone()),
            slot.map_or(Slot::Absent, Slot::Value),
        );
    }
    let region = run.region(None);
    let mut outputs = BTreeMap::new();
    for output in &workflow.outputs {
        if let Some(Slot::Value(value)) = run.end_value(0, "out", &output.key) {
            outputs.insert(output.key.clone(), value);
        }
    }
    Result {
        outputs,
        failed: region.failed,
        ran: region.ran,
    }
}

/// What a node has in its hands.
enum Input {
    Absent,
    Value(Json),
    Many(Vec<Json>),
}

enum Stop {
    Skip(Why),
    Fail(String, &'static str),
}

#[derive(Default)]
struct Region {
    failed: BTreeSet<String>,
    ran: BTreeSet<String>,
}

struct Run<'r> {
    flat: &'r Flat<'r>,
    slots: HashMap<(usize, String), Slot>,
}
