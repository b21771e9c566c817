use innkeeper_engine::{FindError, NodeManager};
use serde_json::json;

use super::*;

/// Every name leads to the same workflow.
struct Always(Arc<Workflow>);

impl WorkflowSource for Always {
    fn find(&self, _: &str) -> Result<Arc<Workflow>, FindError> {
        Ok(self.0.clone())
    }
}

fn read(workflow: &Json) -> Arc<Workflow> {
    Arc::new(Workflow::read(&workflow.to_string()).workflow.unwrap())
}

fn drawn(workflow: &Arc<Workflow>, groups: Option<&dyn WorkflowSource>) -> Drawing {
    Drawing::of(workflow, &NodeManager::new().types(), groups)
}

#[test]
fn a_group_is_not_opened_within_itself() {
    let workflow = read(&json!({
        "name": "Self",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "g", "type": "core:NodeGroup", "configValues": {"referencedWorkflowId": "self"}}
        ],
        "edges": []
    }));
    let itself = Always(workflow.clone());
    for groups in [None, Some(&itself as &dyn WorkflowSource)] {
        let drawing = drawn(&workflow, groups);
        let kinds: Vec<_> = drawing.boxes.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::End, Kind::Group]);
    }
}

#[test]
fn groups_are_opened_so_deep_and_no_deeper() {
    /// Each name leads to a workflow with a group of the next name.
    struct Deep;
    impl WorkflowSource for Deep {
        fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
            let next = reference.parse::<usize>().unwrap() + 1;
            Ok(read(&json!({
                "name": reference,
                "nodes": [{"id": "g", "type": "core:NodeGroup",
                           "configValues": {"referencedWorkflowId": next.to_string()}}],
                "edges": []
            })))
        }
    }
    let drawing = drawn(&Deep.find("0").unwrap(), Some(&Deep));
    let open = drawing
        .boxes
        .iter()
        .filter(|one| one.kind == Kind::OpenGroup)
        .count();
    assert_eq!(open, MAX_DRAWN_DEPTH);
    let deepest = drawing.boxes.last().unwrap();
    assert_eq!(deepest.path.matches('/').count(), MAX_DRAWN_DEPTH);
}

#[test]
fn only_so_many_slots_are_drawn_and_connected_ones_first() {
    let count = MAX_DRAWN_SLOTS + 10;
    let slots: serde_json::Map<String, Json> = (0..count)
        .map(|number| (format!("s{number}"), json!({"dataFlowType": "STRING"})))
        .collect();
    let last = format!("s{}", count - 1);
    let drawing = drawn(
        &read(&json!({
            "name": "Wide",
            "nodes": [{"id": "in", "type": "core:GroupInput"}, {"id": "m", "type": "core:TextMerge"}],
            "edges": [{"id": "e", "source": "in", "sourceHandle": last,
                       "target": "m", "targetHandle": "text_inputs__0"}],
            "interfaceInputs": slots,
        })),
        None,
    );
    let begin = &drawing.boxes[0];
    assert_eq!((begin.outputs.len(), begin.hidden), (MAX_DRAWN_SLOTS, 10));
    assert!(begin.outputs.iter().any(|slot| slot.key == last));
    assert_eq!(drawing.wires[0].to_slot, "text_inputs");
}

#[test]
fn what_passes_is_known_through_slots_that_say_nothing() {
    let drawing = drawn(
        &read(&json!({
            "name": "Loop",
            "nodes": [
                {"id": "in", "type": "core:GroupInput"},
                {"id": "zone", "type": "core:LoopZone"},
                {"id": "first", "type": "core:LoopInput", "parentNode": "zone"},
                {"id": "last", "type": "core:LoopOutput", "parentNode": "zone"}
            ],
            "edges": [
                {"id": "a", "source": "in", "sourceHandle": "n", "target": "zone", "targetHandle": "n"},
                {"id": "b", "source": "first", "sourceHandle": "n", "target": "last", "targetHandle": "n"}
            ],
            "interfaceInputs": {"n": {"dataFlowType": "INTEGER"}},
        })),
        None,
    );
    let flows: Vec<_> = drawing.wires.iter().map(|wire| wire.flow).collect();
    assert_eq!(flows, [DataFlowType::Integer; 2]);
}

#[test]
fn boxes_that_lie_in_each_other_lie_in_none() {
    let drawing = drawn(
        &read(&json!({
            "name": "Knot",
            "nodes": [
                {"id": "a", "type": "core:frame", "parentNode": "b"},
                {"id": "b", "type": "core:frame", "parentNode": "a"},
                {"id": "c", "type": "core:frame", "parentNode": "c"}
            ],
            "edges": []
        })),
        None,
    );
    let outermost = drawing.children(None).count();
    assert_eq!(outermost, 2);
    // Everything has a place, so nothing was lost in the knot.
    let layout = super::super::layout::of(&drawing);
    assert!(
        layout.rects.iter().all(|rect| rect.w > 0.0),
        "{:?}",
        layout.rects
    );
}
