//! The nodes of a plan, one by one: what each takes, what it is, what it does; and the ends of a region.

use std::sync::Arc;

use crate::NodeError;
use crate::node::{Behaviour, NodeInfo, SlotInfo, Structure};
use crate::problem::Problem;

use super::compile::{Compiler, Inner};
use super::rules::rules;
use super::slots::Slots;
use super::{Argument, Op, PlanInput, PlanNode, PlanOutput, bypass, zone};

impl Compiler<'_> {
    pub(super) fn node(
        &mut self,
        number: usize,
        inner: Option<Inner>,
        slots: &mut Slots,
    ) -> PlanNode {
        let unfolded = self.unfolded;
        let (Some(placed), Some(node)) = (unfolded.nodes.get(number), unfolded.node(number)) else {
            return nowhere();
        };
        let is_bypassed = bypass::is_bypassed(unfolded, number);
        let mut inputs = slots.inputs(self, number);
        let mut op = match (&placed.kind, placed.structure) {
            _ if is_bypassed => Op::Bypass,
            (None, _) => {
                let message = format!("there is no node type '{}'", node.full_type);
                Op::Fail(NodeError::invalid("node.unknown_type", message))
            }
            (Some(_), Some(Structure::GroupInput | Structure::LoopInput)) => Op::Arguments,
            (Some(_), Some(_)) => Op::Fail(NodeError::invalid(
                "node.misplaced",
                "the node stands where it means nothing",
            )),
            (Some(_), None) => match placed.shape.behaviour() {
                Some(behaviour) => Op::Run(behaviour.clone()),
                None => Op::Fail(NodeError::invalid(
                    "node.no_mode",
                    "the node has no such mode",
                )),
            },
        };
        if placed.structure == Some(Structure::LoopZone) && !is_bypassed {
            op = zone::compile(self, number, inner, &mut inputs, slots);
        }
        if is_bypassed {
            inputs = self.bypass_inputs(number, slots);
        }
        let reads_streams = inputs
            .iter()
            .any(|input| matches!(input, PlanInput::Stream { .. }));
        let writes_streams = slots.writes_streams(self, number);
        let info = self.info(number, &inputs, slots);
        self.warn_of_idle_rules(number, &op);
        PlanNode {
            rules: rules(node, placed, &info, reads_streams || writes_streams),
            info,
            op,
            inputs: inputs.into(),
            first_slot: slots.first(number),
            gate: None,
            choose: placed.kind.as_ref().and_then(|kind| kind.choose.clone()),
            error_slot: slots.error(number),
            reads_streams,
            writes_streams,
        }
    }

    /// Rules that mean nothing to a node: it waits for nothing, or has none to repeat.
    fn warn_of_idle_rules(&mut self, number: usize, op: &Op) {
        let Some(node) = self.unfolded.node(number) else {
            return;
        };
        let rules = &node.execution;
        let (idle, why) = match op {
            Op::Run(Behaviour::Inline(_)) => (
                [
                    ("retry", rules.retry > 0),
                    ("timeoutMs", rules.timeout_ms.is_some()),
                    ("cache", rules.cache == Some(true)),
                ],
                "the node is run in place, and is quicker than that",
            ),
            Op::Loop(_) => (
                [
                    ("retry", rules.retry > 0),
                    ("timeoutMs", false),
                    ("cache", rules.cache == Some(true)),
                ],
                "a loop is not tried again and not kept; say it of the nodes in it",
            ),
            _ => return,
        };
        for (key, _) in idle.iter().filter(|(_, is_set)| *is_set) {
            let message = format!("it has no effect here: {why}");
            let problem = Problem::warning("node.idle_rule", message);
            let slot = format!("execution.{key}");
            self.problems
                .add(problem.at(self.unfolded.path(number)).slot(slot));
        }
    }

    /// What is told of a node that is switched off: what stands for each of its outputs.
    pub(super) fn bypass_inputs(&mut self, number: usize, slots: &mut Slots) -> Vec<PlanInput> {
        let Some(placed) = self.unfolded.nodes.get(number) else {
            return Vec::new();
        };
        let outputs = placed.shape.outputs().enumerate();
        outputs
            .map(
                |(output, slot)| match bypass::stands_for(self.unfolded, number, output) {
                    _ if slot.is_stream => PlanInput::Absent,
                    bypass::Stand::Nothing => PlanInput::Absent,
                    bypass::Stand::Value(value) => PlanInput::Fixed(value),
                    bypass::Stand::Input(input) => {
                        let taken = self.taken.get(number).and_then(|taken| taken.get(input));
                        match taken {
                            Some(taken) => slots.told(self, taken),
                            None => PlanInput::Absent,
                        }
                    }
                },
            )
            .collect()
    }

    pub(super) fn info(&self, number: usize, inputs: &[PlanInput], slots: &Slots) -> Arc<NodeInfo> {
        let (Some(placed), Some(node)) =
            (self.unfolded.nodes.get(number), self.unfolded.node(number))
        else {
            return nowhere().info;
        };
        let declared = placed.shape.inputs().zip(inputs);
        let inputs = declared.map(|(input, planned)| SlotInfo {
            key: input.slot.key.as_str().into(),
            flow: input.slot.flow,
            is_stream: input.slot.is_stream,
            is_connected: planned.fixed().is_none(),
        });
        let outputs = placed.shape.outputs().enumerate();
        let outputs = outputs.map(|(output, slot)| SlotInfo {
            key: slot.key.as_str().into(),
            flow: slot.flow,
            is_stream: slots.is_stream(self, number, output),
            is_connected: false,
        });
        let mut config = placed
            .kind
            .as_ref()
            .map(|kind| kind.definition.config_values.clone())
            .unwrap_or_default();
        for setting in placed.shape.settings() {
            if let Some(default) = setting.config.get("default")
                && !config.contains_key(&setting.slot.key)
            {
                config.insert(setting.slot.key.clone(), default.clone());
            }
        }
        for (key, value) in &node.config {
            config.insert(key.clone(), value.clone());
        }
        Arc::new(NodeInfo {
            id: placed.path.clone(),
            full_type: match &placed.kind {
                Some(kind) => kind.full_type.clone(),
                None => node.full_type.as_str().into(),
            },
            display_name: node.display_name.clone(),
            mode: placed.shape.mode_id().map(str::to_owned),
            config,
            inputs: inputs.collect(),
            outputs: outputs.collect(),
        })
    }

    /// The vertex that says which lazy inputs of a node are wanted.
    pub(super) fn decide(&mut self, number: usize, vertex: u32, slots: &mut Slots) -> PlanNode {
        let Some(placed) = self.unfolded.nodes.get(number) else {
            return nowhere();
        };
        let Some(choose) = placed.kind.as_ref().and_then(|kind| kind.choose.clone()) else {
            return nowhere();
        };
        let inputs = slots.deciding_inputs(self, number);
        let info = self.info(number, &inputs, slots);
        PlanNode {
            info,
            op: Op::Decide(choose),
            inputs: inputs.into(),
            first_slot: slots.first_gate(vertex),
            gate: None,
            choose: None,
            error_slot: None,
            reads_streams: false,
            writes_streams: false,
            rules: Default::default(),
        }
    }

    pub(super) fn arguments(&self, begin: usize, slots: &Slots) -> Vec<Argument> {
        let Some(placed) = self.unfolded.nodes.get(begin) else {
            return Vec::new();
        };
        let workflow = self.unfolded.scopes.first().map(|scope| &scope.workflow);
        let is_whole = placed.structure == Some(Structure::GroupInput);
        let outputs = (0u32..).zip(placed.shape.outputs());
        outputs
            .map(|(output, slot)| {
                let declared = workflow.filter(|_| is_whole).and_then(|workflow| {
                    workflow.inputs.iter().find(|known| known.key == slot.key)
                });
                // What must be given is not assumed to be empty.
                let is_assumed = declared.is_some_and(|slot| {
                    let config = &slot.config;
                    !slot.required
                        || config.contains_key("default")
                        || config.contains_key("suggestions")
                });
                let default = declared.filter(|_| is_assumed).map(|slot| {
                    crate::flow::effective_default(slot.flow, slot.is_stream, &slot.config)
                });
                Argument {
                    key: slot.key.as_str().into(),
                    slot: slots.first(begin) + output,
                    flow: slot.flow,
                    default: default.filter(|default| !default.is_null()),
                    is_required: declared.is_some_and(|slot| slot.required),
                }
            })
            .collect()
    }

    pub(super) fn outputs(&mut self, end: usize, slots: &mut Slots) -> Vec<PlanOutput> {
        let Some(placed) = self.unfolded.nodes.get(end) else {
            return Vec::new();
        };
        let inputs = placed.shape.inputs().enumerate();
        inputs
            .map(|(index, input)| {
                let taken = self.taken.get(end).and_then(|taken| taken.get(index));
                let (planned, is_stream) = match taken {
                    Some(taken) => slots.output(self, taken, index, &input.slot),
                    None => (PlanInput::Absent, false),
                };
                PlanOutput {
                    key: input.slot.key.as_str().into(),
                    display_name: input.slot.display_name.as_deref().map(Arc::from),
                    input: planned,
                    is_stream,
                }
            })
            .collect()
    }
}

/// For what cannot be: a number of a node that is not there.
fn nowhere() -> PlanNode {
    PlanNode {
        info: Arc::new(NodeInfo {
            id: "".into(),
            full_type: "".into(),
            display_name: None,
            mode: None,
            config: serde_json::Map::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }),
        op: Op::Bypass,
        inputs: Box::default(),
        first_slot: 0,
        gate: None,
        choose: None,
        error_slot: None,
        reads_streams: false,
        writes_streams: false,
        rules: Default::default(),
    }
}
