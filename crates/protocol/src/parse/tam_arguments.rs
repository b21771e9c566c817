//! The parameters of one step: what each name asks for, each once, shared ones filled in.

use std::borrow::Cow;
use std::collections::HashMap;

use super::notes::{Notes, quote};
use crate::call::read_retry;
use crate::limits::MAX_RETRY;
use crate::{Argument, Code, OnError, ToolCallRequest, TypeHint, Value};

/// What a parameter name asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Value,
    Uri,
    TypeHint,
    OnError,
    Retry,
}

impl Kind {
    /// The kind, and the name it leaves: `uri_image` supplies `image`; hints keep their whole name.
    pub(super) fn of(name: Cow<'_, str>) -> (Self, Cow<'_, str>) {
        match name.as_ref() {
            "on_error" => (Self::OnError, name),
            "retry" => (Self::Retry, name),
            other if names_something(other, "type_hint_") => (Self::TypeHint, name),
            other if names_something(other, "uri_") => (Self::Uri, tail(&name, "uri_".len())),
            _ => (Self::Value, name),
        }
    }
}

/// `uri_image` and `uri_7` do; `uri_` is an ordinary name. Whoever asks has taken a step's number off before, so that
/// a number that is left is a name.
pub(super) fn names_something(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty())
}

/// Arguments by kind and name, each once, in the order of their last appearance's first place.
#[derive(Default)]
pub(super) struct Arguments<'t> {
    pub(super) list: Vec<(Kind, Argument<'t>)>,
    /// Only filled when the list is long enough for a search to be slow.
    index: HashMap<(Kind, String), usize>,
}

const SMALL: usize = 32;

impl<'t> Arguments<'t> {
    fn find(&self, kind: Kind, name: &str) -> Option<usize> {
        if self.list.len() < SMALL {
            self.list
                .iter()
                .position(|(have, argument)| *have == kind && argument.name == name)
        } else {
            self.index.get(&(kind, name.to_owned())).copied()
        }
    }

    pub(super) fn add(&mut self, (kind, argument): (Kind, Argument<'t>), notes: &mut Notes) {
        if let Some(at) = self.find(kind, &argument.name) {
            notes.add_with(Code::DuplicateKey, argument.span, || {
                format!(
                    "'{}' is given more than once; the last value counts.",
                    quote(&argument.written)
                )
            });
            if let Some(slot) = self.list.get_mut(at) {
                *slot = (kind, argument);
            }
            return;
        }
        if self.list.is_empty() {
            self.list.reserve(8);
        }
        self.list.push((kind, argument));
        let length = self.list.len();
        if length == SMALL {
            self.index = (self.list.iter().enumerate())
                .map(|(at, (kind, argument))| ((*kind, argument.name.to_string()), at))
                .collect();
        } else if length > SMALL
            && let Some((kind, argument)) = self.list.last()
        {
            self.index
                .insert((*kind, argument.name.to_string()), length - 1);
        }
    }

    pub(super) fn check_uris(&self, notes: &mut Notes) {
        for (kind, argument) in &self.list {
            if *kind == Kind::Uri && self.find(Kind::Value, &argument.name).is_some() {
                notes.add_with(Code::ConflictingUri, argument.span, || {
                    format!(
                        "'{name}' is given both as a value and by reference (uri_{name}); give one of them.",
                        name = quote(&argument.name)
                    )
                });
            }
        }
    }

    /// Shared arguments go to a step that has none of its own of that name, whatever their kind.
    pub(super) fn with_shared(mut self, shared: &Self) -> Self {
        if shared.list.is_empty() {
            return self;
        }
        let added: Vec<_> = shared
            .list
            .iter()
            .filter(|(kind, argument)| match kind {
                Kind::Value | Kind::Uri => {
                    self.find(Kind::Value, &argument.name).is_none()
                        && self.find(Kind::Uri, &argument.name).is_none()
                }
                _ => self.find(*kind, &argument.name).is_none(),
            })
            .cloned()
            .collect();
        self.list.extend(added);
        self
    }

    pub(super) fn apply(self, call: &mut ToolCallRequest<'t>, notes: &mut Notes) {
        let mut hints: Vec<(Cow<'t, str>, TypeHint)> = Vec::new();
        call.arguments.reserve_exact(self.list.len());
        for (kind, argument) in self.list {
            if matches!(kind, Kind::Value | Kind::Uri) {
                call.arguments.push(argument);
                continue;
            }
            let Value::Text(text) = &argument.value else {
                continue;
            };
            let said = text.trimmed();
            match kind {
                Kind::Value | Kind::Uri => {}
                Kind::TypeHint => match TypeHint::read(&said) {
                    Some(hint) => hints.push((tail(&argument.name, "type_hint_".len()), hint)),
                    None => notes.add_with(Code::UnknownTypeHint, argument.span, || {
                        format!(
                            "'{}' is no type hint; use text, json, base64, number, boolean or raw.",
                            quote(&said)
                        )
                    }),
                },
                Kind::OnError => match OnError::read(&said) {
                    Some(on_error) => call.on_error = on_error,
                    None => notes.add_with(Code::InvalidOnError, argument.span, || {
                        format!("on_error is '{}'; use stop or continue.", quote(&said))
                    }),
                },
                Kind::Retry => match read_retry(&said) {
                    Some(times) => call.retry = times,
                    None => notes.add_with(Code::InvalidRetry, argument.span, || {
                        format!(
                            "retry is '{}'; use a whole number from 0 to {MAX_RETRY}.",
                            quote(&said)
                        )
                    }),
                },
            }
            call.modifiers.push(argument);
        }
        hints.sort_by(|a, b| a.0.cmp(&b.0));
        for argument in &mut call.arguments {
            argument.hint = hints
                .binary_search_by(|(name, _)| name.cmp(&argument.name))
                .ok()
                .and_then(|at| hints.get(at))
                .map(|(_, hint)| *hint);
        }
    }
}

/// A key without its first `skip` bytes, borrowed where the key is.
pub(super) fn tail<'t>(key: &Cow<'t, str>, skip: usize) -> Cow<'t, str> {
    match key {
        Cow::Borrowed(key) => Cow::Borrowed(key.get(skip..).unwrap_or_default()),
        Cow::Owned(key) => Cow::Owned(key.get(skip..).unwrap_or_default().to_owned()),
    }
}

/// The same from the front.
pub(super) fn head<'t>(key: &Cow<'t, str>, length: usize) -> Cow<'t, str> {
    match key {
        Cow::Borrowed(key) => Cow::Borrowed(key.get(..length).unwrap_or_default()),
        Cow::Owned(key) => Cow::Owned(key.get(..length).unwrap_or_default().to_owned()),
    }
}
