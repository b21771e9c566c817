//! A manifest's YAML into a tree, with what is wrong in the words of a plugin's author.

use innkeeper_yaml::{Bounds, Fault, Node, Why};

use super::problem::{Code, Report};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_YAML_DEPTH, MAX_YAML_NODES};

const BOUNDS: Bounds = Bounds {
    bytes: MAX_MANIFEST_BYTES,
    depth: MAX_YAML_DEPTH,
    nodes: MAX_YAML_NODES,
};

/// Reads YAML, or says what is wrong with it.
pub(super) fn read_yaml(text: &str, report: &mut Report) -> Option<Node> {
    let Fault { position, why } = match innkeeper_yaml::read(text, BOUNDS) {
        Ok(node) => return Some(node),
        Err(fault) => fault,
    };
    let message = match why {
        Why::DuplicateKey(key) => {
            report.duplicate_key(position, &key);
            return None;
        }
        Why::SecondDocument => {
            "a second document begins here; a manifest is one document".to_owned()
        }
        Why::NotFinite(value) => format!("'{value}' is no number that can be used"),
        Why::TooLarge => "this is larger or nests deeper than a manifest may".to_owned(),
        Why::Invalid(what) => format!("this is no valid YAML: {what}"),
    };
    report.about_file(Code::BadYaml, position, message);
    None
}
