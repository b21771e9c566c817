//! What holds where nobody wrote a rule. Any rule of a person that fits comes before all of these.

use super::rule::{Decision, Rule};
use crate::Pattern;

pub(super) fn rules() -> Vec<Rule> {
    let rule = |name: &str, source: &str, decision, reason: Option<&str>| Rule {
        name: Some(name.to_owned()),
        source: Some(Pattern::new(source)),
        reason: reason.map(str::to_owned),
        ..Rule::new(decision)
    };
    let deleting = Rule {
        tool: Some(Pattern::new("File.Delete")),
        ..rule(
            "default:deleting",
            "builtin",
            Decision::Ask,
            Some("deleting files is asked for unless a rule allows it"),
        )
    };
    vec![
        rule("default:builtin", "builtin", Decision::Allow, None),
        deleting,
        rule("default:plugins", "plugin:*", Decision::Allow, None),
        rule("default:workflows", "workflow:*", Decision::Allow, None),
        rule(
            "default:mcp",
            "mcp:*",
            Decision::Ask,
            Some("tools of MCP servers are asked for unless a rule allows them"),
        ),
        rule(
            "default:unknown",
            "*",
            Decision::Deny,
            Some("nothing is known about where this tool comes from"),
        ),
    ]
}
