//! One argument's value under its hint, its declared default, and what is read verbatim.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::coerce::Coercer;
use super::input::Input;
use super::members::Wanted;
use super::problem::{Faults, ProblemCode, quote_text};
use super::scalar;
use super::schema::{Types, View};
use crate::{Text, TypeHint, Value};

impl<'s> Coercer<'s> {
    /// The declared default, where it fits: a wrong one is as good as none.
    pub(super) fn default(&self, schema: &'s Json) -> Option<Json> {
        let default = self.view(schema).keyword("default")?;
        // With a purse of its own: what the arguments cost must not decide whether it is filled in.
        Self::new(self.root)
            .fit(schema, Input::Json(default))
            .ok()
            .map(|fit| fit.value)
    }

    pub(super) fn fit_at(
        &mut self,
        name: &str,
        wanted: Wanted<'s>,
        input: Input<'_>,
    ) -> Result<Json, Faults> {
        self.place.name(name);
        let fitted = self.fit_wanted(wanted, input).map(|fit| fit.value);
        self.place.leave();
        fitted
    }

    pub(super) fn fit_value(
        &mut self,
        name: &str,
        wanted: Wanted<'s>,
        value: &Value<'_>,
        hint: Option<TypeHint>,
    ) -> Result<Json, Faults> {
        match value {
            Value::Json(json) => self.fit_at(name, wanted, Input::Json(json)),
            Value::Tree(tree) => self.fit_at(name, wanted, Input::Tree(tree)),
            Value::Text(text) => self.fit_text(name, wanted, text, hint),
        }
    }

    /// TAM text under its hint.
    fn fit_text(
        &mut self,
        name: &str,
        wanted: Wanted<'s>,
        text: &Text<'_>,
        hint: Option<TypeHint>,
    ) -> Result<Json, Faults> {
        let trimmed = text.trimmed();
        let value = match hint {
            None | Some(TypeHint::Text) => {
                let view = self.wanted_view(wanted);
                if !view.is_some_and(|view| view.is_verbatim() && view.types().has(Types::STRING)) {
                    return self.fit_at(name, wanted, Input::Text(&trimmed));
                }
                Ok(text.verbatim().into())
            }
            Some(TypeHint::Raw) => Ok(text.verbatim().into()),
            Some(TypeHint::Json) => return self.fit_json(name, wanted, &trimmed),
            Some(TypeHint::Number) => scalar::number(&trimmed)
                .map(|reading| reading.value.into())
                .map_err(|error| match error {
                    scalar::NumberError::NotANumber => (ProblemCode::WrongType, "a number".into()),
                    scalar::NumberError::OutOfRange => {
                        (ProblemCode::OutOfRange, "a 64-bit number".into())
                    }
                }),
            Some(TypeHint::Boolean) => scalar::boolean(&trimmed)
                .map(|reading| reading.value.into())
                .ok_or((ProblemCode::WrongType, Cow::Borrowed("a boolean"))),
            Some(TypeHint::Base64) => scalar::base64(&trimmed)
                .map(Json::from)
                .map_err(|why| (ProblemCode::InvalidBase64, format!("base64 ({why})").into())),
        };
        match value {
            Ok(value) => self.fit_at(name, wanted, Input::Json(&value)),
            Err((code, expected)) => Err(self.refuse(name, code, &expected, quote_text(&trimmed))),
        }
    }

    /// A string parameter gets the JSON as it was written, once it is known to be JSON.
    fn fit_json(&mut self, name: &str, wanted: Wanted<'s>, text: &str) -> Result<Json, Faults> {
        let value = scalar::json(text).map_err(|error| {
            let received = format!("broken JSON ({error})");
            self.refuse(name, ProblemCode::InvalidJson, "JSON", received)
        })?;
        let fitted = self.fit_at(name, wanted, Input::Json(&value));
        if fitted.is_err() && (value.is_array() || value.is_object()) {
            let text = Json::from(scalar::unfenced(text));
            let view = self.wanted_view(wanted);
            if view.is_some_and(|view| view.types().has(Types::STRING)) {
                return self.fit_at(name, wanted, Input::Json(&text)).or(fitted);
            }
        }
        fitted
    }

    fn wanted_view(&self, wanted: Wanted<'s>) -> Option<View<'s>> {
        match wanted {
            Wanted::Anything => None,
            Wanted::Fitting(schema) | Wanted::Perhaps(schema) => Some(self.view(schema)),
        }
    }

    fn refuse(&mut self, name: &str, code: ProblemCode, expected: &str, got: String) -> Faults {
        self.place.name(name);
        let problem = self.place.problem(code, expected, got);
        self.place.leave();
        problem.into()
    }
}
