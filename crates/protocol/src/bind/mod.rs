//! Fits a call to a tool: declared spelling, declared types.
//!
//! Owns everything between "the model wrote this" and "the tool gets that", except for ranges, patterns and
//! the other promises of a JSON Schema, which the validator checks on the result. Looks nothing up and
//! fetches nothing.

mod assign;
mod choice;
mod coerce;
mod declaration;
mod describe;
mod hint;
mod input;
mod members;
mod names;
mod problem;
mod scalar;
mod schema;
mod structure;
mod suggest;

#[cfg(test)]
mod bind_tests;
#[cfg(test)]
mod coerce_tests;
#[cfg(test)]
mod hint_tests;
#[cfg(test)]
mod names_tests;
#[cfg(test)]
mod property_tests;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use assign::{Given, assign};
use coerce::Coercer;
pub use declaration::{DeclarationError, check_declaration};
use describe::describe;
use input::Input;
use members::Wanted;
use names::Declared;
pub use problem::{BindError, Problem, ProblemCode};
use problem::{Faults, quote_text};

use crate::{OnError, ToolCallRequest, ToolDefinition, ToolId, TypeHint, Value};

/// A call that fits its tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundCall {
    pub tool: ToolId,
    /// Step number in its block; 1 for a single call.
    pub index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Declared names with values of their declared types, in the declared order. Bytes that came as base64
    /// stay base64, since JSON has no bytes.
    pub arguments: Map<String, Json>,
    /// Parameters to be fetched before the call; [`bind_value`] types what was fetched.
    pub uris: BTreeMap<String, UriArgument>,
    pub on_error: OnError,
    pub retry: u8,
}

/// A parameter that is supplied by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UriArgument {
    pub uri: String,
    /// How to read what is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<TypeHint>,
}

/// Fits a request to a tool: declared spelling, declared types. Reports every problem at once.
///
/// TAM names are compared by normalised form, all others exactly. A parameter that is left out gets its
/// declared default; a default that does not fit its own schema is as good as none. Every argument of the
/// result has a declared type, and binding the result again changes nothing.
pub fn bind(
    request: &ToolCallRequest<'_>,
    definition: &ToolDefinition,
) -> Result<BoundCall, BindError> {
    match bind_partly(request, definition) {
        (bound, None) => Ok(bound),
        (_, Some(error)) => Err(error),
    }
}

/// The same where some arguments do not fit: the others are there all the same, so that a validator can look
/// at them too and the model hears of everything at once.
pub fn bind_partly(
    request: &ToolCallRequest<'_>,
    definition: &ToolDefinition,
) -> (BoundCall, Option<BindError>) {
    let declared = Declared::read(&definition.parameters);
    let mut faults = Faults::default();
    let assigned = assign(request, &declared, &mut faults);
    let mut binder = Binder {
        coercer: Coercer::new(&definition.parameters),
        required: declared.view.required().collect(),
        unhinted: assigned.unhinted,
        faults,
        arguments: Map::new(),
        uris: BTreeMap::new(),
    };
    let request_id = request.request_id.as_deref().and_then(|id| {
        let index = declared.find(request.protocol, "request_id")?;
        Some((index, id))
    });
    for (index, (&(name, schema), given)) in declared
        .entries
        .iter()
        .zip(&assigned.parameters)
        .enumerate()
    {
        match (given, request_id) {
            (Some(given), _) => binder.put(name, Wanted::Fitting(schema), *given),
            (None, Some((at, id))) if at == index => {
                let fitted = binder
                    .coercer
                    .fit_at(name, Wanted::Fitting(schema), Input::Text(id));
                binder.keep(name, fitted);
            }
            (None, _) => binder.leave_out(name, Some(schema)),
        }
    }
    for (name, wanted, given) in &assigned.extras {
        binder.put(name, *wanted, *given);
    }
    // A schema may require a name that it does not describe.
    let extras: HashSet<&str> = assigned
        .extras
        .iter()
        .map(|extra| extra.0.as_str())
        .collect();
    for name in declared.view.required() {
        if declared.find_exact(name).is_none() && !extras.contains(name) {
            binder.leave_out(name, None);
        }
    }
    let error = (!binder.faults.is_empty()).then(|| binder.faults.into_error(&definition.id));
    let bound = BoundCall {
        tool: definition.id.clone(),
        index: request.index,
        call_id: request.call_id.as_deref().map(str::to_owned),
        request_id: request.request_id.as_deref().map(str::to_owned),
        arguments: binder.arguments,
        uris: binder.uris,
        on_error: assigned.on_error,
        retry: assigned.retry,
    };
    (bound, error)
}

/// Fits one value to a declared parameter: what was fetched for a [`UriArgument`], or typed by a person.
///
/// A name that the tool does not declare takes any value.
pub fn bind_value(
    definition: &ToolDefinition,
    name: &str,
    value: &Value<'_>,
    hint: Option<TypeHint>,
) -> Result<Json, BindError> {
    let declared = Declared::read(&definition.parameters);
    let wanted = declared
        .find_exact(name)
        .and_then(|index| declared.entries.get(index))
        .map_or(Wanted::Anything, |(_, schema)| Wanted::Fitting(schema));
    let mut coercer = Coercer::new(&definition.parameters);
    coercer
        .fit_value(name, wanted, value, hint)
        .map_err(|faults| faults.into_error(&definition.id))
}

struct Binder<'r, 'd> {
    coercer: Coercer<'d>,
    required: HashSet<&'d str>,
    unhinted: HashSet<&'r str>,
    faults: Faults,
    arguments: Map<String, Json>,
    uris: BTreeMap<String, UriArgument>,
}

impl<'d> Binder<'_, 'd> {
    fn put(&mut self, name: &str, wanted: Wanted<'d>, given: Given<'_>) {
        let argument = given.argument;
        let hint = argument
            .hint
            .filter(|_| !self.unhinted.contains(argument.name.as_ref()));
        if given.by_uri {
            return self.put_uri(name, &argument.value, hint);
        }
        let fitted = self.coercer.fit_value(name, wanted, &argument.value, hint);
        // Models send null for "not given".
        if fitted.is_err() && argument.value == Value::Json(Json::Null) {
            let default = match wanted {
                Wanted::Fitting(schema) => self.coercer.default(schema),
                Wanted::Anything | Wanted::Perhaps(_) => None,
            };
            match default {
                Some(default) => return self.keep(name, Ok(default)),
                None if !self.required.contains(name) => return,
                None => {}
            }
        }
        self.keep(name, fitted);
    }

    fn keep(&mut self, name: &str, fitted: Result<Json, Faults>) {
        match fitted {
            Ok(value) => {
                self.arguments.insert(name.to_owned(), value);
            }
            Err(faults) => self.faults.extend(faults),
        }
    }

    fn put_uri(&mut self, name: &str, value: &Value<'_>, hint: Option<TypeHint>) {
        let uri = match value.to_json() {
            Json::String(uri) => uri,
            other => other.to_string(),
        };
        let uri = uri.trim();
        if uri.is_empty() || uri.contains(char::is_control) {
            self.coercer.place.name(name);
            let place = &self.coercer.place;
            self.faults
                .push(|| place.problem(ProblemCode::WrongType, "a URI", quote_text(uri)));
            self.coercer.place.leave();
            return;
        }
        let uri = uri.to_owned();
        self.uris.insert(name.to_owned(), UriArgument { uri, hint });
    }

    fn leave_out(&mut self, name: &str, schema: Option<&'d Json>) {
        if let Some(default) = schema.and_then(|schema| self.coercer.default(schema)) {
            self.arguments.insert(name.to_owned(), default);
            return;
        }
        let is_meant = self.faults.list().iter().any(|problem| {
            problem.code == ProblemCode::UnknownParameter
                && problem.suggestion.as_deref() == Some(name)
        });
        if is_meant || !self.required.contains(name) {
            return;
        }
        let expected = match schema {
            Some(schema) => describe(&self.coercer.view(schema)),
            None => "any value".to_owned(),
        };
        self.coercer.place.name(name);
        let place = &self.coercer.place;
        self.faults.push(|| place.missing(expected));
        self.coercer.place.leave();
    }
}
