//! What is probably not meant: names that nothing knows, ends of the interface that hang loose. Nothing here keeps a
//! workflow from running.

use crate::node::Structure;
use crate::problem::{Problem, Problems, did_you_mean, quoted};

use super::scope::{Placed, Unfolded};

pub(super) fn look(unfolded: &Unfolded, problems: &mut Problems) {
    for (number, placed) in unfolded.nodes.iter().enumerate() {
        unknown_inputs(unfolded, number, placed, problems);
        unknown_settings(unfolded, number, placed, problems);
        loose_ends(unfolded, number, placed, problems);
    }
}

/// Values for inputs that the node does not have.
fn unknown_inputs(unfolded: &Unfolded, number: usize, placed: &Placed, problems: &mut Problems) {
    let Some(node) = unfolded.node(number) else {
        return;
    };
    if placed.kind.is_none() || placed.structure.is_some() {
        return;
    }
    for key in node.inputs.keys() {
        if placed.shape.target(Some(key)).is_none() {
            let message = placed.shape.no_target(Some(key));
            let message = format!("{message}; the value is not used");
            let problem = Problem::warning("input.unknown", message);
            problems.add(problem.at(&*placed.path).slot(key));
        }
    }
}

/// Settings that the node does not have, where it is ours or one was nearly hit.
fn unknown_settings(unfolded: &Unfolded, number: usize, placed: &Placed, problems: &mut Problems) {
    let (Some(node), Some(kind)) = (unfolded.node(number), &placed.kind) else {
        return;
    };
    let definition = &kind.definition;
    let known = || {
        let settings = placed.shape.settings().map(|one| one.slot.key.as_str());
        let preset = definition.config_values.keys().map(String::as_str);
        settings.chain(preset).chain(definition.mode_key.as_deref())
    };
    let is_ours = definition.namespace == "core" && placed.structure.is_none();
    for key in node.config.keys() {
        if known().any(|known| known == key) || key == "max_iterations" {
            continue;
        }
        let hint = did_you_mean(key, known());
        if !is_ours && hint.is_empty() {
            continue;
        }
        let message = format!(
            "the node has no setting {}{hint}; it is not used",
            quoted(key)
        );
        let problem = Problem::warning("setting.unknown", message);
        problems.add(problem.at(&*placed.path).slot(key));
    }
}

/// Ends of the whole workflow that its interface does not declare, or that nothing feeds.
fn loose_ends(unfolded: &Unfolded, number: usize, placed: &Placed, problems: &mut Problems) {
    let Some(scope) = unfolded.scopes.get(placed.scope) else {
        return;
    };
    if scope.parent.is_some() {
        return;
    }
    let workflow = &scope.workflow;
    let (declared, field) = match placed.structure {
        Some(Structure::GroupInput) => (&workflow.inputs, "interfaceInputs"),
        Some(Structure::GroupOutput) => (&workflow.outputs, "interfaceOutputs"),
        _ => return,
    };
    let mut warn = |code, key: &str, message: String| {
        problems.add(Problem::warning(code, message).at(&*placed.path).slot(key));
    };
    let is_declared = |key: &str| declared.iter().any(|slot| slot.key == key);
    let inputs = placed.shape.inputs().map(|input| &input.slot.key);
    let outputs = placed.shape.outputs().map(|slot| &slot.key);
    for key in inputs.chain(outputs).filter(|key| !is_declared(key)) {
        let hint = did_you_mean(key, declared.iter().map(|slot| slot.key.as_str()));
        let message = format!("{field} does not declare it{hint}");
        warn("interface.undeclared", key, message);
    }
    if placed.structure == Some(Structure::GroupOutput) {
        for (index, input) in placed.shape.inputs().enumerate() {
            if unfolded.incoming(number, index).next().is_none() {
                let message =
                    "nothing is connected to it, so the workflow never gives it".to_owned();
                warn("interface.unfed", &input.slot.key, message);
            }
        }
    }
}
