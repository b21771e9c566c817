use std::cell::Cell;
use std::sync::Arc;

use crate::limits::MAX_SLOTS;
use crate::node::{array, object};
use crate::testing::{Graph, engine_with};
use crate::{NoWorkflows, NodeBuilder, NodeType};

thread_local! {
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// An input was held against an output.
pub(super) fn count() {
    COMPARED.set(COMPARED.get() + 1);
}

/// As many inputs as outputs. Where none fits, every one is tried for every output.
fn wide(slots: usize, fits: bool) -> NodeType {
    let mut node = NodeBuilder::new("test", "Wide", "Test", "Wide", "Has many slots");
    for slot in 0..slots {
        match fits {
            true => drop(node.input(array(&format!("i{slot}")))),
            false => drop(node.input(object(&format!("i{slot}")))),
        }
        node.output(array(&format!("o{slot}")));
    }
    node.inline(|_| Ok(()))
}

/// Nodes that are switched off, one behind the other, every output taken.
fn chain(slots: usize, length: usize, fits: bool) -> Graph {
    let mut graph = Graph::new().node("n0", "test:Wide");
    for number in 1..=length {
        graph = graph
            .node(&format!("n{number}"), "test:Wide")
            .last(|node| node.bypassed = true);
        for slot in 0..slots {
            let from = format!("n{}.o{slot}", number - 1);
            let into = format!("n{number}.i{slot}");
            graph = match fits {
                true => graph.edges(&format!("{from} > {into}")),
                // The one kind is turned into the other on the way.
                false => graph
                    .node(&format!("{number}x{slot}"), "core:Merge")
                    .edges(&format!("{from} > {number}x{slot}.inputs"))
                    .edges(&format!("{number}x{slot}.output > {into}")),
            };
        }
    }
    graph
}

#[test]
fn the_slots_of_a_node_that_is_switched_off_are_paired_once() {
    for (fits, slots, length) in [
        (true, 16, 1),
        (true, MAX_SLOTS, 1),
        (false, 16, 1),
        (false, MAX_SLOTS, 1),
        (true, 32, 8),
        (false, 32, 8),
    ] {
        let engine = engine_with(vec![wide(slots, fits)]);
        let workflow = Arc::new(chain(slots, length, fits).0);
        COMPARED.set(0);
        let prepared = engine.prepare(&workflow, &NoWorkflows);
        assert!(prepared.plan.is_some(), "{}", prepared.problems);
        let compared = COMPARED.get();
        // Each with each, first those that are streams alike, then any.
        let most = 2 * slots * slots * length;
        let case = format!("{fits} {slots} {length}");
        assert!(compared <= most, "{case}: {compared} of {most}");
        assert!(compared >= slots * length, "{case}: {compared}");
    }
}
