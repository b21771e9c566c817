//! Nodes that are no work but tell how the others hang together: the ends of a workflow, groups, loops, frames.

use crate::node::{Behaviour, NodeBuilder, NodeType, Structure, any, array, integer, text};

pub(super) fn all() -> Vec<NodeType> {
    vec![
        end(
            "GroupInput",
            "Group input",
            "What the workflow is given: one output for each input of its interface",
            Structure::GroupInput,
        ),
        end(
            "GroupOutput",
            "Group output",
            "What the workflow gives: one input for each output of its interface",
            Structure::GroupOutput,
        ),
        group(),
        frame(),
        loop_zone(),
        loop_input(),
        loop_output(),
    ]
}

fn end(name: &str, title: &str, about: &str, structure: Structure) -> NodeType {
    let mut node = NodeBuilder::core(name, "Structure", title, about);
    node.dynamic();
    node.behave(Behaviour::Structure(structure))
}

fn group() -> NodeType {
    let mut node = NodeBuilder::core(
        "NodeGroup",
        "Structure",
        "Node group",
        "Another workflow as one node; its slots are those of that workflow's interface",
    );
    node.dynamic().setting(
        text("referencedWorkflowId")
            .title("Workflow")
            .about("Id, file name or name of the workflow")
            .required(),
    );
    node.behave(Behaviour::Structure(Structure::NodeGroup))
}

fn frame() -> NodeType {
    let mut node = NodeBuilder::core(
        "frame",
        "Structure",
        "Frame",
        "A box around nodes on the canvas",
    );
    node.dynamic().ui();
    node.behave(Behaviour::Structure(Structure::Frame))
}

fn loop_zone() -> NodeType {
    let mut node = NodeBuilder::core(
        "LoopZone",
        "Flow",
        "Loop",
        "Runs the nodes that lie in it again and again. An input of any name begins the variable of that name; what its LoopOutput takes under that name is the variable's next value",
    );
    node.alias("core:LoopZoneNode");
    node.input(
        array("items")
            .title("Items")
            .about("One iteration for each; the item is the variable 'item' inside")
            .optional(),
    );
    node.input(
        integer("maxIterations")
            .title("Most iterations")
            .about("At most so many, whatever the settings say")
            .optional(),
    );
    node.output(
        integer("iterations")
            .title("Iterations")
            .about("How many there were"),
    );
    node.output(
        text("stoppedBy")
            .title("Stopped by")
            .about("stop, until, while, items or maxIterations"),
    );
    node.output(
        array("errors")
            .title("Errors")
            .about("What went wrong in iterations, if errors are collected"),
    );
    node.dynamic()
        .setting(integer("maxIterations").title("Most iterations").default(10).range(1, crate::limits::MAX_ITERATIONS))
        .setting(text("until").title("Until").about("An expression over the variables; the loop ends when it holds after an iteration"))
        .setting(text("while").title("While").about("An expression over the variables; the loop ends when it does not hold before an iteration"))
        .setting(text("onError").title("On error").about("stop: the loop fails. collect: the error is kept, and the next iteration begins").choice(&["stop", "collect"]))
        .setting(array("collect").title("Collect").about("Outputs that give the values of all iterations as a list"))
        .setting(array("streams").title("Streams").about("Outputs that give the chunks of a stream inside, as they come"));
    node.behave(Behaviour::Structure(Structure::LoopZone))
}

fn loop_input() -> NodeType {
    let mut node = NodeBuilder::core(
        "LoopInput",
        "Flow",
        "Loop input",
        "What an iteration begins with: the loop's variables, and the item if the loop has items",
    );
    node.output(integer("iteration").title("Iteration").about("From 1"));
    node.output(integer("index").title("Index").about("From 0"));
    node.output(any("item").title("Item"));
    node.dynamic();
    node.behave(Behaviour::Structure(Structure::LoopInput))
}

fn loop_output() -> NodeType {
    let mut node = NodeBuilder::core(
        "LoopOutput",
        "Flow",
        "Loop output",
        "What an iteration leaves: the next values of variables, and what the loop gives",
    );
    node.input(
        any("stop")
            .title("Stop")
            .about("The loop ends after this iteration")
            .optional(),
    );
    node.dynamic();
    node.behave(Behaviour::Structure(Structure::LoopOutput))
}
