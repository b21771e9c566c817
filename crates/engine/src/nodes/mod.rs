//! The nodes that are built in: one small file each, in a folder for each kind.

mod agent;
mod bound;
mod branch;
mod chat;
mod data;
#[cfg(test)]
mod doc_tests;
mod heavy;
mod llm;
mod loader;
mod math;
mod message;
mod stream;
mod structure;
mod test;
#[cfg(test)]
mod testing_ports;
mod text;
mod world;

use crate::NodeType;

/// All of them.
pub(crate) fn all() -> Vec<NodeType> {
    [
        structure::all(),
        branch::all(),
        data::all(),
        math::all(),
        message::all(),
        stream::all(),
        test::all(),
        text::all(),
        agent::all(),
        llm::all(),
        world::all(),
        loader::all(),
        chat::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
