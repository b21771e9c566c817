//! Which of two rules that both apply is the more specific one.
//!
//! First by what they say about arguments: a rule is more specific if it names all that the other names, each with
//! the same pattern or a special case of it. Where they say the same, by names: an exact tool before a pattern, then
//! the longer pattern; the same for the source, then for the actor. Rules of which neither is more specific stand side
//! by side, and the stricter one decides: so an *allow* never wins by being longer about something else.
//!
//! This order is transitive, which is why one more *deny* can never let more through: whatever it displaces, it
//! replaces by itself or by what displaced that already.

use super::rule::Rule;
use crate::Pattern;

pub(super) fn is_more_specific(a: &Rule, b: &Rule) -> bool {
    match (says_as_much(a, b), says_as_much(b, a)) {
        (true, false) => true,
        (true, true) => names(a) > names(b),
        (false, _) => false,
    }
}

/// Whether wherever the arguments fit `a`, they fit `b`.
fn says_as_much(a: &Rule, b: &Rule) -> bool {
    b.arguments.iter().all(|(name, wide)| {
        let narrow = a.arguments.get(name);
        narrow.is_some_and(|narrow| is_case_of(narrow, wide))
    })
}

/// A star of `narrow` can only be covered by a star of `wide`, which then covers all that it stands for.
fn is_case_of(narrow: &Pattern, wide: &Pattern) -> bool {
    wide.matches(narrow.as_str())
}

/// No pattern is less than any pattern, and that less than an exact name.
type Weight = Option<(bool, usize)>;

fn names(rule: &Rule) -> [Weight; 3] {
    [&rule.tool, &rule.source, &rule.actor].map(|pattern| {
        pattern
            .as_ref()
            .map(|pattern| (pattern.is_exact(), pattern.weight()))
    })
}
