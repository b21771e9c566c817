//! A loop: its inside as a plan of its own, and how its variables and outputs hang together.

use std::sync::Arc;

use crate::NodeError;
use crate::problem::{Problem, quoted};
use crate::run::LoopSettings;

use super::compile::{Compiler, Inner};
use super::slots::Slots;
use super::{Op, PlanInput, Variable, VariableKind, Zone, ZoneOutput};

/// Whether an output of the loop gives the chunks of a stream inside as they come: one of its `streams`.
pub(super) fn is_stream(compiler: &Compiler<'_>, number: usize, output: usize) -> bool {
    let key = compiler.unfolded.nodes.get(number);
    let key = key.and_then(|placed| placed.shape.output(output));
    let Some((key, node)) = key.zip(compiler.unfolded.node(number)) else {
        return false;
    };
    let streams = node.config.get("streams").and_then(|list| list.as_array());
    streams.is_some_and(|list| list.iter().any(|one| one.as_str() == Some(&key.key)))
}

pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    number: usize,
    inner: Option<Inner>,
    inputs: &mut Vec<PlanInput>,
    slots: &mut Slots,
) -> Op {
    let (Some(placed), Some(node)) = (
        compiler.unfolded.nodes.get(number),
        compiler.unfolded.node(number),
    ) else {
        return broken();
    };
    let Some(inner) = inner else {
        // Why was told when the inside was looked at.
        return broken();
    };
    let path = placed.path.clone();
    let settings = match LoopSettings::read(&node.config) {
        Ok(settings) => settings,
        Err((key, message)) => {
            let problem = Problem::error("loop.setting", message);
            compiler.problems.add(problem.at(&*path).slot(key));
            return broken();
        }
    };
    let compiled = inner.compiled;
    if compiled.region.nodes.is_empty() {
        let message = "there is nothing in the loop; put nodes into it (parentNode)";
        let problem = Problem::warning("loop.empty", message);
        compiler.problems.add(problem.at(&*path));
    }
    let first_captured = inputs.len();
    for place in &compiled.captured {
        inputs.push(slots.captured_input(compiler, *place));
    }
    let result = |key: &str| {
        let outputs = compiled.region.outputs.iter();
        outputs.enumerate().find(|(_, output)| &*output.key == key)
    };
    for name in settings.collected() {
        if result(name).is_none() {
            let message = format!(
                "the loop's LoopOutput takes nothing of the name {}",
                quoted(name)
            );
            let problem = Problem::error("loop.unknown_output", message);
            compiler.problems.add(problem.at(&*path).slot("collect"));
        }
    }
    let variables = compiled.region.arguments.iter().map(|argument| {
        let changed_by = result(&argument.key).map(|(index, _)| index);
        let input = placed.shape.input_index(&argument.key);
        let kind = match (&*argument.key, input) {
            ("iteration", None) => VariableKind::Iteration,
            ("index", None) => VariableKind::Index,
            ("item", None) => VariableKind::Item,
            (_, Some(input)) => VariableKind::Input(input),
            (_, None) => VariableKind::Unset,
        };
        Variable { kind, changed_by }
    });
    let variables: Vec<Variable> = variables.collect();
    let mut outputs = Vec::new();
    for (output, slot) in placed.shape.outputs().enumerate() {
        let variable = compiled
            .region
            .arguments
            .iter()
            .position(|argument| *argument.key == *slot.key);
        let found = match (result(&slot.key), &*slot.key) {
            (Some((index, inside)), _) if is_stream(compiler, number, output) => {
                if !inside.is_stream {
                    let message = "it is one of the loop's streams, and what comes into the LoopOutput is none";
                    let problem = Problem::error("loop.no_stream", message);
                    compiler.problems.add(problem.at(&*path).slot(&slot.key));
                }
                ZoneOutput::Stream(index)
            }
            (Some((index, _)), key) if settings.collects(key) => ZoneOutput::All(index),
            (Some((index, _)), _) => ZoneOutput::Last(index),
            (None, "iterations") => ZoneOutput::Iterations,
            (None, "stoppedBy") => ZoneOutput::StoppedBy,
            (None, "errors") => ZoneOutput::Errors,
            (None, _) => match variable {
                Some(variable) => ZoneOutput::Variable(variable),
                None => {
                    let names: Vec<_> = compiled
                        .region
                        .outputs
                        .iter()
                        .map(|output| &*output.key)
                        .collect();
                    let message = format!(
                        "the loop gives nothing of that name; its LoopOutput takes: {}",
                        names.join(", ")
                    );
                    let problem = Problem::error("loop.unknown_output", message);
                    compiler.problems.add(problem.at(&*path).slot(&slot.key));
                    ZoneOutput::Nothing
                }
            },
        };
        outputs.push(found);
    }
    let stop = result("stop").map(|(index, _)| index);
    Op::Loop(Arc::new(Zone {
        first_captured,
        settings,
        outputs,
        variables,
        stop,
        body: compiled.region,
    }))
}

fn broken() -> Op {
    Op::Fail(NodeError::invalid(
        "loop.broken",
        "the loop could not be made ready",
    ))
}
