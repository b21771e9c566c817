//! ApplyRegex: rules that replace, one after the other.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::pattern::{Pace, Pattern, searched};
use crate::limits::MAX_REGEX_RULES;
use crate::node::{NodeBuilder, array, text};
use crate::{NodeError, NodeType, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "ApplyRegex",
        "Text",
        "Apply regex rules",
        "Replaces in a text by rules, one after the other",
    );
    let input = node.input(
        text("inputText")
            .title("Text")
            .about("What the rules are applied to")
            .multiline()
            .required(),
    );
    let inline = node.input(
        array("inlineRegexRules")
            .title("Own rules")
            .about("Applied first: {name, pattern, replacement, flags, enabled}")
            .category("RegexRuleArray"),
    );
    let rules = node.input(
        array("regexRules")
            .title("Rules")
            .about("Applied next; a rule with the name of an earlier one is left out")
            .category("RegexRuleArray"),
    );
    let output = node.output(
        text("outputText")
            .title("Text")
            .about("The text after all rules"),
    );
    node.task(move |mut io| async move {
        let text = io.get(input)?;
        let mut all: Vec<Value> = io.get(inline)?;
        all.extend(io.get(rules)?);
        let rules = chosen(&all)?;
        let replaced = searched(text.len() * rules.len().max(1), move |pace| {
            applied(text.clone(), &rules, pace)
        })
        .await?;
        io.set(output, replaced);
        io.done()
    })
}

struct Rule {
    name: String,
    pattern: String,
    replacement: String,
    flags: String,
}

/// Those that count: switched on, and the first of each name.
fn chosen(all: &[Value]) -> Result<Vec<Rule>, NodeError> {
    let mut names = HashSet::new();
    let mut rules = Vec::new();
    for (index, rule) in all.iter().enumerate() {
        let rule = rule.as_json();
        let field = |key: &str| rule.get(key).and_then(Json::as_str);
        let name = field("name").unwrap_or_default();
        let Some(pattern) = field("pattern") else {
            let message = format!("rule {} '{name}' has no pattern", index + 1);
            return Err(NodeError::invalid("regex.rule", message));
        };
        // A rule that is switched off still hides later ones of its name: switching it off must not switch those on.
        if !name.is_empty() && !names.insert(name) {
            continue;
        }
        if rule.get("enabled").and_then(Json::as_bool) == Some(false) {
            continue;
        }
        rules.push(Rule {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
            replacement: field("replacement").unwrap_or_default().to_owned(),
            flags: field("flags").unwrap_or_default().to_owned(),
        });
        if rules.len() > MAX_REGEX_RULES {
            let message = format!("there are more than {MAX_REGEX_RULES} rules");
            return Err(NodeError::invalid("regex.rule", message));
        }
    }
    Ok(rules)
}

fn applied(mut text: String, rules: &[Rule], pace: Pace<'_>) -> Result<String, NodeError> {
    for rule in rules {
        let replaced = Pattern::get(&rule.pattern, &rule.flags).and_then(|pattern| {
            let is_global = pattern.flags.is_global;
            pattern.replace(&text, &rule.replacement, is_global, pace)
        });
        let named = |error: NodeError| NodeError {
            message: format!("rule '{}': {}", rule.name, error.message),
            ..error
        };
        text = replaced.map_err(named)?.0;
    }
    Ok(text)
}

#[cfg(test)]
#[path = "apply_regex_tests.rs"]
mod tests;
