//! Nodes that are switched off: what stands for each of their outputs.
//!
//! Muted: nothing. With rules of its own: what it passes through where the types fit, then its defaults, then an
//! empty value. Without: the first input of a fitting type that no output before has taken, else an empty value.

use crate::Value;
use crate::flow::{SlotKind, empty, fits};
use crate::node::{Bypass, NodeInput, NodeSlot, Structure};

use super::scope::{Placed, Unfolded};

pub(super) enum Stand {
    /// What goes into an input.
    Input(usize),
    Value(Value),
    Nothing,
}

pub(super) fn is_bypassed(unfolded: &Unfolded, number: usize) -> bool {
    let can_be = unfolded.nodes.get(number).is_some_and(|placed| {
        matches!(
            placed.structure,
            None | Some(Structure::NodeGroup | Structure::LoopZone)
        )
    });
    can_be && unfolded.node(number).is_some_and(|node| node.bypassed)
}

pub(super) fn stands_for(unfolded: &Unfolded, number: usize, output: usize) -> Stand {
    let Some(placed) = unfolded.nodes.get(number) else {
        return Stand::Nothing;
    };
    let Some(slot) = placed.shape.output(output) else {
        // The error of a node that does not run.
        return Stand::Nothing;
    };
    let rule = placed
        .kind
        .as_ref()
        .and_then(|kind| kind.definition.bypass.as_ref());
    match rule {
        Some(Bypass::Mute) => Stand::Nothing,
        Some(Bypass::Pass { through, defaults }) => {
            let passed = through
                .iter()
                .find(|(key, _)| *key == slot.key)
                .and_then(|(_, input)| placed.shape.input_index(input));
            let passed = passed.filter(|input| {
                let input = placed.shape.inputs().nth(*input);
                input.is_some_and(|input| passes(input, slot))
            });
            match (passed, defaults.get(&slot.key)) {
                (Some(input), _) => Stand::Input(input),
                (None, Some(value)) => Stand::Value(value.clone().into()),
                (None, None) => Stand::Value(empty(slot.flow)),
            }
        }
        None => match placed.pairs().get(output).copied().flatten() {
            Some(input) => Stand::Input(input),
            None => Stand::Value(empty(slot.flow)),
        },
    }
}

impl Placed {
    /// For each output, the input that stands for it where the type says nothing; found once.
    fn pairs(&self) -> &[Option<usize>] {
        self.pairs.get_or_init(|| pair(self))
    }
}

fn pair(placed: &Placed) -> Vec<Option<usize>> {
    let inputs: Vec<&NodeInput> = placed.shape.inputs().collect();
    let mut is_taken = vec![false; inputs.len()];
    let outputs = placed.shape.outputs();
    outputs
        .map(|slot| {
            // The variable of a loop or the value that a group changes is its own best stand-in.
            let same = placed.structure.and_then(|_| {
                let same = inputs.iter().position(|input| input.slot.key == slot.key);
                same.filter(|index| inputs.get(*index).is_some_and(|input| passes(input, slot)))
            });
            let free = |is_wanted: &dyn Fn(&NodeInput) -> bool| {
                let mut free = inputs.iter().zip(&is_taken);
                free.position(|(input, is_taken)| {
                    !is_taken && passes(input, slot) && is_wanted(input)
                })
            };
            // A stream stands best for a stream; else it is made of the value, or collected.
            let found = same
                .or_else(|| free(&|input| input.slot.is_stream == slot.is_stream))
                .or_else(|| free(&|_| true));
            if let Some(is_taken) = found.and_then(|found| is_taken.get_mut(found)) {
                *is_taken = true;
            }
            found
        })
        .collect()
}

fn passes(input: &NodeInput, output: &NodeSlot) -> bool {
    #[cfg(test)]
    tests::count();
    !input.multi
        && fits(
            SlotKind {
                flow: input.slot.flow,
                match_categories: &input.slot.match_categories,
            },
            SlotKind {
                flow: output.flow,
                match_categories: &output.match_categories,
            },
        )
}

#[cfg(test)]
#[path = "bypass_tests.rs"]
mod tests;
