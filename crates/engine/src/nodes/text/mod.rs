//! Nodes that work on text: joining, patterns, templates.

mod apply_regex;
mod format_prompt;
mod js_pattern;
mod merge;
mod pattern;
mod recent;
mod regex;
mod replacement;
mod template;

pub(super) use recent::Recent;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        merge::node(),
        apply_regex::node(),
        regex::node(),
        template::node(),
        format_prompt::node(),
    ]
}
