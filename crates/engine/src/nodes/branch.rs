//! If, Switch and Merge: which way a workflow goes.

use serde_json::Value as Json;

use super::bound::Bound;
use crate::node::{Branch, Input, NodeBuilder, NodeType, Output, any, convertible, text};
use crate::{NodeError, Value};

pub(super) fn all() -> Vec<NodeType> {
    vec![choose(), switch(), merge()]
}

/// `condition` decides: which output `value` leaves by, and which of `then` and `else` is made at all.
fn choose() -> NodeType {
    let mut node = NodeBuilder::core(
        "If",
        "Flow",
        "If",
        "Sends the value to 'true' or to 'false'; what hangs on the other does not run. 'result' is 'then' or 'else', whichever is chosen; the other is not made",
    );
    let condition = node.input(
        any("condition")
            .title("Condition")
            .about("Anything but no, nothing, zero and what is empty is yes")
            .required(),
    );
    let value = node.input(any("value").title("Value"));
    let then = node.input(any("then").title("Then").branch(Branch::Lazy));
    let otherwise = node.input(any("else").title("Else").branch(Branch::Lazy));
    let yes = node.output(convertible("true").title("True"));
    let no = node.output(convertible("false").title("False"));
    let result = node.output(convertible("result").title("Result"));
    node.choose(move |io, want| {
        want(match io.get(condition)?.is_truthy() {
            true => then.index(),
            false => otherwise.index(),
        });
        Ok(())
    });
    node.inline(move |io| {
        let is_true = io.get(condition)?.is_truthy();
        let passed = match io.input(value.index()) {
            Input::Absent => is_true.into(),
            input => input.as_value(),
        };
        let (taken, left) = if is_true { (yes, no) } else { (no, yes) };
        io.set(taken, passed.clone());
        io.skip(left);
        let chosen = if is_true { then } else { otherwise };
        let is_wired = [then, otherwise].iter().any(|slot| {
            let info = io.info().inputs.get(slot.index());
            info.is_some_and(|slot| slot.is_connected)
                || !matches!(io.input(slot.index()), Input::Absent)
        });
        match io.input(chosen.index()) {
            Input::Absent if is_wired => {}
            Input::Absent => io.set(result, passed),
            input => {
                let chosen = input.as_value();
                io.set(result, chosen);
            }
        }
        Ok(())
    })
}

/// Outputs and lazy inputs are named by the cases.
fn switch() -> NodeType {
    let mut node = NodeBuilder::core(
        "Switch",
        "Flow",
        "Switch",
        "Sends the value to the output whose name is the selector, or to 'default'; what hangs on the others does not run. Inputs named like cases are made only if chosen, and come out as 'result'",
    );
    let selector = node.input(any("selector").title("Selector").required());
    let value = node.input(any("value").title("Value"));
    let result = node.output(convertible("result").title("Result"));
    let default = node.output(convertible("default").title("Default"));
    node.dynamic();
    node.setting(
        text("cases")
            .title("Cases")
            .about("Names of the cases, as a list; else the connected outputs"),
    );
    let first_case = value.index() + 1;
    node.choose(move |io, want| {
        let case = case(io.get(selector)?);
        if let Some(index) = input_of(io, &case, first_case) {
            want(index);
        }
        Ok(())
    });
    node.inline(move |io| {
        let selector = io.get(selector)?;
        let case = case(selector.clone());
        let passed = match io.input(value.index()) {
            Input::Absent => selector,
            input => input.as_value(),
        };
        let outputs = io.info().outputs.len();
        let taken = io.info().outputs.iter().position(|slot| *slot.key == *case);
        let taken = taken
            .filter(|index| *index > default.index())
            .unwrap_or(default.index());
        for index in default.index()..outputs {
            io.put(
                index,
                match index == taken {
                    true => Output::Value(passed.clone()),
                    false => Output::Skipped,
                },
            );
        }
        let chosen = input_of(io, &case, first_case);
        match chosen.map(|index| io.input(index).as_value()) {
            Some(chosen) => io.set(result, chosen),
            None => io.set(result, passed),
        }
        Ok(())
    })
}

fn case(selector: Value) -> String {
    match selector.as_json() {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn input_of(io: &crate::node::Io, case: &str, first: usize) -> Option<usize> {
    let named = |name: &str| {
        let inputs = io.info().inputs.iter().enumerate().skip(first);
        inputs
            .filter(|(_, slot)| *slot.key == *name)
            .map(|(index, _)| index)
            .next()
    };
    named(case).or_else(|| named("default"))
}

/// Where branches come together again.
fn merge() -> NodeType {
    let mut node = NodeBuilder::core(
        "Merge",
        "Flow",
        "Merge",
        "Brings branches together: gives what came from the branches that were taken",
    );
    let inputs = node.input(
        any("inputs")
            .title("Inputs")
            .about("Connect the branches in the order in which they count")
            .multi()
            .required()
            .branch(Branch::Optional),
    );
    let output = node.output(convertible("output").title("Output"));
    let all = node.output(crate::node::array("all").title("All"));
    node.setting(
        text("mode")
            .title("Mode")
            .about("first: the first that came. last: the last")
            .choice(&["first", "last"]),
    );
    node.inline(move |io| {
        let came: Vec<Value> = io.get(inputs)?;
        let mut bound = Bound::default();
        came.iter().try_for_each(|one| bound.add_value(one))?;
        let one = match io.config_text("mode") {
            "" | "first" => came.first(),
            "last" => came.last(),
            other => {
                let message = format!("the mode '{other}' is neither first nor last");
                return Err(NodeError::invalid("merge.mode", message));
            }
        };
        match one.cloned() {
            Some(one) => io.set(output, one),
            None => {
                io.skip(output);
                io.skip(all);
                return Ok(());
            }
        }
        io.set(all, came);
        Ok(())
    })
}

#[cfg(test)]
#[path = "branch_tests.rs"]
mod tests;
