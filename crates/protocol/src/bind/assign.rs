//! Gives every argument of a call to the parameter it means, each parameter once.

use std::collections::{HashMap, HashSet};

use super::members::Wanted;
use super::names::{Declared, Target, shown};
use super::problem::{Faults, Place, Problem, ProblemCode, list, quote_name, quote_text};
use super::suggest::Nearest;
use crate::call::read_retry;
use crate::limits::MAX_RETRY;
use crate::{Argument, OnError, Source, ToolCallRequest, TypeHint, Value};

/// An argument in its place.
#[derive(Clone, Copy)]
pub(super) struct Given<'r> {
    pub(super) argument: &'r Argument<'r>,
    pub(super) by_uri: bool,
}

/// All arguments in their places. Parameters are in declared order.
pub(super) struct Assigned<'r, 'd> {
    pub(super) parameters: Vec<Option<Given<'r>>>,
    pub(super) extras: Vec<(String, Wanted<'d>, Given<'r>)>,
    pub(super) on_error: OnError,
    pub(super) retry: u8,
    /// Names whose `type_hint_` turned out to be a parameter, so that it is no hint.
    pub(super) unhinted: HashSet<&'r str>,
}

pub(super) fn assign<'r, 'd>(
    request: &'r ToolCallRequest<'r>,
    declared: &Declared<'d>,
    faults: &mut Faults,
) -> Assigned<'r, 'd> {
    let mut desk = Desk {
        request,
        declared,
        faults,
        nearest: None,
        extra_places: HashMap::new(),
        assigned: Assigned {
            parameters: vec![None; declared.entries.len()],
            extras: Vec::new(),
            on_error: request.on_error,
            retry: request.retry,
            unhinted: HashSet::new(),
        },
    };
    desk.take_modifiers();
    // A step's own argument wins over a shared one, so they are placed first.
    let (shared, own): (Vec<_>, Vec<_>) = request
        .arguments
        .iter()
        .partition(|argument| argument.shared);
    for argument in own.into_iter().chain(shared) {
        desk.take(argument);
    }
    desk.assigned
}

struct Desk<'r, 'd, 'f> {
    request: &'r ToolCallRequest<'r>,
    declared: &'f Declared<'d>,
    faults: &'f mut Faults,
    /// Made for the first unknown name.
    nearest: Option<Nearest<'d>>,
    extra_places: HashMap<String, usize>,
    assigned: Assigned<'r, 'd>,
}

impl<'r, 'd> Desk<'r, 'd, '_> {
    /// A declared name wins over what a modifier means; then the modifier does not apply.
    fn take_modifiers(&mut self) {
        for modifier in &self.request.modifiers {
            let target = self
                .declared
                .target(self.request.protocol, self.request.index, modifier);
            let Target::Parameter { index, .. } = target else {
                self.check_modifier(modifier);
                continue;
            };
            match modifier.name.as_ref() {
                "on_error" => self.assigned.on_error = OnError::default(),
                "retry" => self.assigned.retry = 0,
                name => self
                    .assigned
                    .unhinted
                    .extend(name.strip_prefix("type_hint_")),
            }
            self.place(index, modifier, false);
        }
    }

    /// The parser could not refuse it: the name might have been a parameter of this tool.
    fn check_modifier(&mut self, modifier: &Argument<'_>) {
        let Value::Text(text) = &modifier.value else {
            return;
        };
        let said = text.trimmed();
        let (valid, expected) = match modifier.name.as_ref() {
            "on_error" => (
                OnError::read(&said).is_some(),
                "stop or continue".to_owned(),
            ),
            "retry" => (
                read_retry(&said).is_some(),
                format!("a whole number from 0 to {MAX_RETRY}"),
            ),
            _ => (
                TypeHint::read(&said).is_some(),
                TypeHint::ALL.map(TypeHint::as_str).join(", "),
            ),
        };
        if valid {
            return;
        }
        self.faults.push(|| Problem {
            code: ProblemCode::InvalidValue,
            path: pointer(&modifier.name),
            received: quote_text(&said),
            suggestion: None,
            message: format!(
                "{} must be {expected}, received {}",
                quote_name(&modifier.name),
                quote_text(&said)
            ),
            expected,
        });
    }

    fn take(&mut self, argument: &'r Argument<'r>) {
        let target = self
            .declared
            .target(self.request.protocol, self.request.index, argument);
        match target {
            Target::Parameter { index, by_uri } => self.place(index, argument, by_uri),
            Target::Extra {
                name,
                wanted,
                by_uri,
            } => self.place_extra(name, wanted, Given { argument, by_uri }),
            Target::Ambiguous(entries) => self.ambiguous(argument, &entries),
            // Shared arguments are for all steps of a block; one that this tool has no use for is no slip.
            Target::Unknown if argument.shared => {}
            Target::Unknown => self.unknown(argument),
        }
    }

    fn place(&mut self, index: usize, argument: &'r Argument<'r>, by_uri: bool) {
        let name = self.declared.name(index);
        let Some(slot) = self.assigned.parameters.get_mut(index) else {
            return;
        };
        match *slot {
            None => *slot = Some(Given { argument, by_uri }),
            Some(first) => self.twice(name, first, Given { argument, by_uri }),
        }
    }

    fn place_extra(&mut self, name: String, wanted: Wanted<'d>, given: Given<'r>) {
        let first = self
            .extra_places
            .get(&name)
            .and_then(|at| self.assigned.extras.get(*at))
            .map(|(_, _, first)| *first);
        match first {
            Some(first) => self.twice(&name, first, given),
            None => {
                self.extra_places
                    .insert(name.clone(), self.assigned.extras.len());
                self.assigned.extras.push((name, wanted, given));
            }
        }
    }

    fn twice(&mut self, name: &str, first: Given<'_>, second: Given<'_>) {
        if second.argument.shared && !first.argument.shared {
            return;
        }
        let written = |given: Given<'_>| quote_name(&given.argument.written);
        let code = if first.by_uri == second.by_uri {
            ProblemCode::DuplicateParameter
        } else {
            ProblemCode::ConflictingUri
        };
        self.faults.push(|| Problem {
            code,
            path: pointer(name),
            expected: "one value".to_owned(),
            received: format!("{} and {}", written(first), written(second)),
            suggestion: None,
            message: format!(
                "Parameter {} is given twice, as {} and as {}",
                quote_name(name),
                written(first),
                written(second)
            ),
        });
    }

    fn ambiguous(&mut self, argument: &Argument<'_>, entries: &[usize]) {
        let names = list(
            entries
                .iter()
                .map(|index| quote_name(self.declared.name(*index))),
        );
        self.faults.push(|| Problem {
            code: ProblemCode::AmbiguousParameter,
            path: pointer(&argument.name),
            message: format!(
                "Parameter {} could be any of {names}",
                quote_name(&argument.name)
            ),
            expected: names,
            received: quote_name(&argument.name),
            suggestion: None,
        });
    }

    fn unknown(&mut self, argument: &Argument<'_>) {
        let declared = self.declared;
        let nearest = &mut self.nearest;
        self.faults.push(|| {
            let nearest = nearest.get_or_insert_with(|| Nearest::among(declared.names()));
            let suggestion = nearest.to(&argument.name).map(|name| {
                let text = match argument.source {
                    Source::Inline => name.to_owned(),
                    Source::Uri => format!("uri_{name}"),
                };
                (name, text)
            });
            let mut place = Place::default();
            place.name(&argument.name);
            place.unknown(&shown(argument), suggestion, declared.names())
        });
    }
}

fn pointer(name: &str) -> String {
    let mut place = Place::default();
    place.name(name);
    place.pointer()
}
