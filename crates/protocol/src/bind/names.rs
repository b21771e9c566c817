//! Which declared parameter an argument means.
//!
//! Owns spelling: normalised for TAM, exact elsewhere, and for TAM also step numbers and prefixes that may
//! turn out to be part of a declared name.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value as Json;

use super::members::{Lookup, Wanted};
use super::schema::View;
use crate::key::{normalise, split_number};
use crate::{Argument, Protocol, Source};

/// The parameters of a tool.
pub(super) struct Declared<'d> {
    /// What the schema itself says, and so what it requires.
    pub(super) view: View<'d>,
    /// With the properties that only some branch of a union names.
    all: View<'d>,
    pub(super) entries: Vec<(&'d str, &'d Json)>,
    exact: HashMap<&'d str, usize>,
    forms: HashMap<Cow<'d, str>, Vec<usize>>,
}

/// What an argument stands for.
pub(super) enum Target<'d> {
    Parameter {
        index: usize,
        by_uri: bool,
    },
    /// Welcome without being declared.
    Extra {
        name: String,
        wanted: Wanted<'d>,
        by_uri: bool,
    },
    /// It could be any of these.
    Ambiguous(Vec<usize>),
    Unknown,
}

/// The form in which declared names and keys meet: normalised, and with a `_` before a number at the end,
/// so that `role1` and `role_1` are one name.
pub(super) fn form(name: &str) -> Cow<'_, str> {
    let mut form = normalise(name);
    let stem = form.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    if stem > 0 && stem < form.len() && !form.get(..stem).is_some_and(|s| s.ends_with('_')) {
        form.to_mut().insert(stem, '_');
    }
    form
}

impl<'d> Declared<'d> {
    pub(super) fn read(parameters: &'d Json) -> Self {
        let view = View::read(parameters, parameters);
        let mut all = view.clone();
        for branch in view.union.into_iter().flatten() {
            all.absorb(&View::read(parameters, branch));
        }
        let mut declared = Self {
            entries: Vec::new(),
            exact: HashMap::new(),
            forms: HashMap::new(),
            view,
            all,
        };
        for (name, schema) in declared.all.properties() {
            let index = declared.entries.len();
            if declared.exact.contains_key(name) {
                continue;
            }
            declared.exact.insert(name, index);
            declared.forms.entry(form(name)).or_default().push(index);
            declared.entries.push((name, schema));
        }
        declared
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'d str> + use<'d, '_> {
        self.entries.iter().map(|(name, _)| *name)
    }

    /// Names that cannot be told apart, or that normalise to nothing (the empty form).
    pub(super) fn shared_forms(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.forms
            .iter()
            .filter(|(form, entries)| form.is_empty() || entries.len() > 1)
            .map(|(form, entries)| (form.as_ref(), entries.as_slice()))
    }

    pub(super) fn name(&self, index: usize) -> &'d str {
        self.entries.get(index).map_or("", |(name, _)| name)
    }

    pub(super) fn find_exact(&self, name: &str) -> Option<usize> {
        self.exact.get(name).copied()
    }

    pub(super) fn find(&self, protocol: Protocol, name: &str) -> Option<usize> {
        match self.exact.get(name) {
            Some(index) => Some(*index),
            None if protocol.normalises_keys() => {
                match self.forms.get(form(name).as_ref())?.as_slice() {
                    [index] => Some(*index),
                    _ => None,
                }
            }
            None => None,
        }
    }

    pub(super) fn target(
        &self,
        protocol: Protocol,
        step: u32,
        argument: &Argument<'_>,
    ) -> Target<'d> {
        if protocol.normalises_keys() {
            return self.normalised_target(step, argument);
        }
        let by_uri = argument.source == Source::Uri;
        let index = self.exact.get(argument.name.as_ref()).copied();
        match index.or_else(|| self.unwritable(protocol, &argument.name)) {
            Some(index) => Target::Parameter { index, by_uri },
            None => self.extra(&argument.name, by_uri),
        }
    }

    fn normalised_target(&self, step: u32, argument: &Argument<'_>) -> Target<'d> {
        for reading in readings(step, argument) {
            let Some(entries) = self.forms.get(form(&reading.name).as_ref()) else {
                continue;
            };
            let by_uri = reading.by_uri;
            return match (entries.as_slice(), self.exact.get(reading.name.as_ref())) {
                ([index], _) => Target::Parameter {
                    index: *index,
                    by_uri,
                },
                (_, Some(index)) => Target::Parameter {
                    index: *index,
                    by_uri,
                },
                (entries, None) => Target::Ambiguous(entries.to_vec()),
            };
        }
        self.extra(&argument.name, argument.source == Source::Uri)
    }

    /// An ACTION tag cannot spell a declared name that is no XML name; whatever tag normalises to it is
    /// as exact as it gets.
    fn unwritable(&self, protocol: Protocol, name: &str) -> Option<usize> {
        if protocol != Protocol::Action {
            return None;
        }
        match self.forms.get(form(name).as_ref())?.as_slice() {
            [index] if !is_xml_name(self.name(*index)) => Some(*index),
            _ => None,
        }
    }

    fn extra(&self, name: &str, by_uri: bool) -> Target<'d> {
        match self.all.parameter(name) {
            Lookup::Open(wanted) => Target::Extra {
                name: name.to_owned(),
                wanted,
                by_uri,
            },
            Lookup::Declared(_) | Lookup::Silent | Lookup::Unknown => Target::Unknown,
        }
    }
}

/// A name that a TAM key may stand for.
struct Reading<'a> {
    name: Cow<'a, str>,
    by_uri: bool,
}

/// The readings of a TAM key, the likeliest first. A declared name wins over the meaning of a prefix, so
/// prefixes come off one by one; at each stage the name is tried without and with its number. Which of the
/// two comes first follows the parser: it took the number off where a numbered command has it.
fn readings<'a>(step: u32, argument: &'a Argument<'_>) -> Vec<Reading<'a>> {
    let is_uri = argument.source == Source::Uri;
    let name = argument.name.as_ref();
    let mut stages: Vec<Reading<'a>> = Vec::with_capacity(6);
    let mut stage = |prefix: &str, by_uri| {
        let name = match prefix {
            "" => Cow::Borrowed(name),
            prefix => Cow::Owned(format!("{prefix}{name}")),
        };
        stages.push(Reading { name, by_uri });
    };
    match (argument.shared, is_uri) {
        (true, true) => {
            stage("common_uri_", false);
            stage("uri_", false);
        }
        (true, false) => stage("common_", false),
        (false, true) => stage("uri_", false),
        (false, false) => {}
    }
    stage("", is_uri);

    let whole = stages.first().map(|reading| reading.name.clone());
    let number = whole
        .as_deref()
        .and_then(|whole| argument.written.strip_prefix(whole))
        .map(|tail| tail.trim_start_matches('_').to_owned())
        .filter(|digits| !digits.is_empty());
    let mut readings = Vec::with_capacity(stages.len() * 2);
    for Reading { name, by_uri } in stages {
        let other = match &number {
            Some(number) => Some(format!("{name}_{number}")),
            None => split_number(&name)
                .filter(|(_, number)| *number == step)
                .map(|(stem, _)| stem.to_owned()),
        };
        readings.push(Reading { name, by_uri });
        readings.extend(other.map(|name| Reading {
            name: Cow::Owned(name),
            by_uri,
        }));
    }
    readings
}

/// The key as it would be declared: with prefixes, without step number.
pub(super) fn shown(argument: &Argument<'_>) -> String {
    let common = if argument.shared { "common_" } else { "" };
    let uri = if argument.source == Source::Uri {
        "uri_"
    } else {
        ""
    };
    format!("{common}{uri}{}", argument.name)
}

fn is_xml_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}
