//! A script as a tree that remembers where everything stood. What the values mean is left to `read`.

use innkeeper_yaml::{Bounds, Fault, Node, Why};

use super::problem::ScriptProblem;
use crate::limits::{MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_NODES};

const BOUNDS: Bounds = Bounds {
    bytes: MAX_SCRIPT_BYTES,
    depth: MAX_SCRIPT_DEPTH,
    nodes: MAX_SCRIPT_NODES,
};

pub(super) fn read_yaml(text: &str) -> Result<Node, ScriptProblem> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptProblem::of_file(format!(
            "a script may have {MAX_SCRIPT_BYTES} bytes; split it into several"
        )));
    }
    innkeeper_yaml::read(text, BOUNDS).map_err(|Fault { position, why }| ScriptProblem {
        position,
        field: String::new(),
        message: worded(why),
    })
}

fn worded(why: Why) -> String {
    match why {
        Why::DuplicateKey(key) => format!("the key '{key}' stands here twice; give each key once"),
        Why::SecondDocument => "a second document begins here; a script is one document".to_owned(),
        Why::NotFinite(value) => {
            format!("'{value}' is no number that can be used; write a plain one")
        }
        Why::TooLarge => {
            "this is larger or nests deeper than a script may; make it simpler".to_owned()
        }
        Why::Invalid(what) => format!("this is no valid YAML: {what}"),
    }
}
