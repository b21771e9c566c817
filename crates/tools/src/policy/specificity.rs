//! Which of several rules that fit is the most specific.
//!
//! In this order: a person's rule before a default; more arguments; an exact tool before a pattern, then the longer
//! pattern; the same for the source, then for the actor. What is still equal and speaks of the same arguments: the
//! one with longer patterns for them. What is still equal: the stricter one.

use std::cmp::Ordering;

use super::rule::Rule;
use crate::Pattern;

/// No pattern is less than any pattern, and that less than an exact name.
type Weight = Option<(bool, usize)>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Specificity {
    by_person: bool,
    arguments: usize,
    tool: Weight,
    source: Weight,
    actor: Weight,
}

impl Specificity {
    pub(super) fn of(rule: &Rule, by_person: bool) -> Self {
        Self {
            by_person,
            arguments: rule.arguments.len(),
            tool: weight(rule.tool.as_ref()),
            source: weight(rule.source.as_ref()),
            actor: weight(rule.actor.as_ref()),
        }
    }
}

fn weight(pattern: Option<&Pattern>) -> Weight {
    pattern.map(|pattern| (pattern.is_exact(), pattern.weight()))
}

/// Of two rules of the same specificity, whether `a` says more about the very same arguments. Nothing follows for
/// rules about different ones.
pub(super) fn narrows(a: &Rule, b: &Rule) -> bool {
    if !a.arguments.keys().eq(b.arguments.keys()) {
        return false;
    }
    let pairs = a.arguments.values().zip(b.arguments.values());
    let mut narrower = false;
    for (a, b) in pairs {
        match weight(Some(a)).cmp(&weight(Some(b))) {
            Ordering::Less => return false,
            Ordering::Equal => {}
            Ordering::Greater => narrower = true,
        }
    }
    narrower
}
