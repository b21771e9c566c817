//! How a node ends: done, skipped or failed; and who is ready then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::json;

use super::{Driver, Failure};
use crate::NodeError;
use crate::limits::{MAX_RUN_BYTES, MAX_VALUE_BYTES, MAX_VALUE_DEPTH};
use crate::node::Output;
use crate::plan::{Op, PlanNode};
use crate::run::event::{EventBody, Skip};
use crate::run::state::Held;

/// Failures that are kept one by one.
const MAX_FAILURES: usize = 100;

impl<'d> Driver<'d> {
    /// Puts outputs into their slots; gives the list back, to be used again.
    pub(super) fn complete(
        &mut self,
        node: &PlanNode,
        mut outputs: Vec<Output>,
        is_cached: bool,
    ) -> Vec<Output> {
        if let Some(error) = self.refuse(node, &outputs) {
            // It fails, and is counted there.
            self.fail(node, error);
            outputs.clear();
            return outputs;
        }
        self.state.ended += 1;
        if self.shared.feed.is_followed() {
            let shown: Box<[Output]> = outputs.as_slice().into();
            self.tell(
                |node| EventBody::NodeComplete {
                    node,
                    outputs: shown,
                    cached: is_cached,
                },
                node,
            );
        }
        for (output, index) in outputs.drain(..).zip(0u32..) {
            let slot = node.first_slot + index;
            let is_stream = node
                .info
                .outputs
                .get(index as usize)
                .is_some_and(|slot| slot.is_stream);
            if is_stream {
                continue;
            }
            self.state.set(
                slot,
                match output {
                    Output::Value(value) => Held::Value(value),
                    Output::Absent => Held::Absent,
                    Output::Skipped => Held::Dead(Skip::BranchNotTaken),
                },
            );
            self.settle_slot(slot);
        }
        if let Some(slot) = node.error_slot {
            self.state.set(slot, Held::Dead(Skip::BranchNotTaken));
            self.settle_slot(slot);
        }
        outputs
    }

    /// Values that cannot be worked with safely, or are more than a run may hold.
    fn refuse(&mut self, node: &PlanNode, outputs: &[Output]) -> Option<NodeError> {
        for (output, index) in outputs.iter().zip(0..) {
            let Output::Value(value) = output else {
                continue;
            };
            if value.is_new() {
                self.state.bytes += value.weight();
            }
            let (code, why) = match () {
                () if value.is_too_deep() => (
                    "value.too_deep",
                    format!(
                        "holds lists and objects more than {MAX_VALUE_DEPTH} deep in each other"
                    ),
                ),
                () if value.is_too_large() => (
                    "value.too_large",
                    format!(
                        "is larger than {MAX_VALUE_BYTES} bytes; make less, or write it to a file"
                    ),
                ),
                () if self.state.bytes > MAX_RUN_BYTES => (
                    "run.too_large",
                    format!(
                        "is one too many: what the nodes have made takes more than {MAX_RUN_BYTES} bytes; make less, or write it to files"
                    ),
                ),
                () => continue,
            };
            let slot = node.info.outputs.get(index);
            let key = slot.map(|slot| slot.key.clone()).unwrap_or_default();
            return Some(NodeError::invalid(
                code,
                format!("the output '{key}' {why}"),
            ));
        }
        None
    }

    /// The values are in their slots already.
    pub(super) fn complete_arguments(&mut self, node: &PlanNode) {
        self.state.ended += 1;
        let slots = (node.first_slot..).take(node.info.outputs.len());
        if self.shared.feed.is_followed() {
            let outputs = slots.clone().map(|slot| match self.state.get(slot) {
                Held::Value(value) => Output::Value(value.clone()),
                _ => Output::Absent,
            });
            let outputs: Box<[Output]> = outputs.collect();
            self.tell(
                |node| EventBody::NodeComplete {
                    node,
                    outputs,
                    cached: false,
                },
                node,
            );
        }
        for slot in slots {
            self.settle_slot(slot);
        }
    }

    pub(super) fn decide(&mut self, node: &PlanNode, choose: &Arc<crate::node::Choose>) {
        self.state.ended += 1;
        let io = &mut self.state.io;
        io.info = node.info.clone();
        let mut wanted = vec![false; node.inputs.len()];
        let end = catch_unwind(AssertUnwindSafe(|| {
            choose(io, &mut |input| {
                if let Some(wanted) = wanted.get_mut(input) {
                    *wanted = true;
                }
            })
        }));
        // Whoever cannot say gets nothing; the node itself will say why.
        if !matches!(end, Ok(Ok(()))) {
            wanted.fill(false);
        }
        for (wanted, slot) in wanted.into_iter().zip(node.first_slot..) {
            self.state.set(
                slot,
                match wanted {
                    true => Held::Absent,
                    false => Held::Dead(Skip::BranchNotTaken),
                },
            );
            self.settle_slot(slot);
        }
    }

    pub(super) fn tell_bypass(&mut self, node: &PlanNode) {
        self.state.ended += 1;
        if !self.shared.feed.is_followed() {
            return;
        }
        let outputs = self.state.io.inputs.iter().map(|input| match input {
            crate::node::Input::Absent => Output::Absent,
            input => Output::Value(input.as_value()),
        });
        let outputs = outputs.collect();
        self.tell(|node| EventBody::NodeBypassed { node, outputs }, node);
    }

    /// It does not run, and neither does what depends on it.
    pub(super) fn skip(&mut self, node: &PlanNode, why: Skip) {
        self.state.ended += 1;
        if matches!(node.op, Op::Bypass) {
            return;
        }
        if matches!(node.op, Op::Decide(_)) {
            return self.close(node.first_slot, node.inputs.len(), why);
        }
        self.tell(|node| EventBody::NodeSkipped { node, why }, node);
        self.close_outputs(node, why);
        if let Some(slot) = node.error_slot {
            self.close(slot, 1, why);
        }
    }

    pub(super) fn fail(&mut self, node: &PlanNode, error: NodeError) {
        self.state.ended += 1;
        let told = error.clone();
        self.tell(
            |node| EventBody::NodeError {
                node,
                error: told,
                retry: false,
            },
            node,
        );
        match node.error_slot {
            Some(slot) => {
                let mut value = error.to_json();
                value["node"] = json!(node.info.id);
                self.close_outputs(node, Skip::BranchNotTaken);
                self.state.set(slot, Held::Value(value.into()));
                self.settle_slot(slot);
            }
            None => match error.upstream {
                // Whoever wrote the stream has failed, and tells itself.
                Some(why) => self.close_outputs(node, why),
                None => {
                    self.note_failure(node.info.id.clone(), error);
                    self.close_outputs(node, Skip::UpstreamFailed);
                }
            },
        }
    }

    pub(super) fn note_failure(&mut self, node: Arc<str>, error: NodeError) {
        self.state.failed += 1;
        if self.state.failures.len() < MAX_FAILURES {
            self.state.failures.push(Failure { node, error });
        }
    }

    pub(super) fn close_outputs(&mut self, node: &PlanNode, why: Skip) {
        for (output, index) in node.info.outputs.iter().zip(0u32..) {
            let slot = node.first_slot + index;
            // A stream that has begun tells its readers itself.
            let has_begun = output.is_stream && !matches!(self.state.get(slot), Held::Pending);
            if has_begun {
                continue;
            }
            self.close(slot, 1, why);
            if output.is_stream {
                let collected = self.collected(slot);
                for index in collected {
                    if let Some(collected) = self.region.collected.get(index) {
                        self.close(collected.into, 1, why);
                    }
                }
            }
        }
    }

    pub(super) fn close(&mut self, first: u32, count: usize, why: Skip) {
        for slot in (first..).take(count) {
            self.state.set(slot, Held::Dead(why));
            self.settle_slot(slot);
        }
    }

    pub(super) fn dependents(&self, slot: u32) -> &'d [u32] {
        let region = self.region;
        let at = slot as usize;
        let (Some(from), Some(to)) = (
            region.first_dependent.get(at),
            region.first_dependent.get(at + 1),
        ) else {
            return &[];
        };
        let dependents = region.dependents.get(*from as usize..*to as usize);
        dependents.unwrap_or_default()
    }

    /// Something is in the slot: whoever waited for nothing else is ready.
    pub(super) fn settle_slot(&mut self, slot: u32) {
        for dependent in self.dependents(slot) {
            if let Some(pending) = self.state.pending.get_mut(*dependent as usize) {
                *pending -= 1;
                if *pending == 0 {
                    self.state.ready.push_back(*dependent);
                }
            }
        }
    }
}
