//! Expressions and templates that people write into workflows: Jinja, with a limit on steps, on the values that are
//! made on the way, and on what is written.

mod checks;
mod guard;
mod purse;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minijinja::value::{Object, Serde, Value as Jinja, ValueKind};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use self::purse::Purse;
use crate::limits::{
    EXPRESSION_FUEL, HEAVY_TEMPLATE_FUEL, MAX_EXPRESSION_BYTES, MAX_TEMPLATE_OUTPUT_BYTES,
};
use crate::{NodeError, Value};

/// What is wrong with an expression or template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExpressionError(String);

impl From<ExpressionError> for NodeError {
    fn from(error: ExpressionError) -> Self {
        Self::invalid("expression.failed", error.0)
    }
}

/// Names and what they stand for; only those that are asked for are turned into what Jinja knows.
pub trait Variables: Send + Sync + 'static {
    fn get(&self, name: &str) -> Option<Value>;
}

impl Variables for Map<String, Json> {
    fn get(&self, name: &str) -> Option<Value> {
        Map::get(self, name).cloned().map(Value::from)
    }
}

struct Names<V: ?Sized> {
    /// Lists, objects and long texts that were asked for: a loop asks again and again.
    known: Mutex<Vec<(Box<str>, Jinja)>>,
    variables: Arc<V>,
}

impl<V: Variables> Names<V> {
    fn of(variables: Arc<V>) -> Jinja {
        Jinja::from_object(Self {
            known: Mutex::default(),
            variables,
        })
    }
}

impl<V: Variables + ?Sized> fmt::Debug for Names<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl<V: Variables + ?Sized> Object for Names<V> {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        let name = key.as_str()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = known.iter().find(|(key, _)| **key == *name) {
            return Some(value.clone());
        }
        let value = self.variables.get(name)?;
        let found = Jinja::from(Serde(value.as_json()));
        let is_large = match value.as_json() {
            Json::Array(_) | Json::Object(_) => true,
            Json::String(text) => text.len() > 256,
            _ => false,
        };
        if is_large {
            known.push((name.into(), found.clone()));
        }
        Some(found)
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(EXPRESSION_FUEL));
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    checks::install(&mut environment);
    environment
}

fn check_length(text: &str, what: &str) -> Result<(), ExpressionError> {
    match text.len() > MAX_EXPRESSION_BYTES {
        true => Err(ExpressionError(format!(
            "the {what} is longer than {MAX_EXPRESSION_BYTES} bytes"
        ))),
        false => Ok(()),
    }
}

fn refused(refused: guard::Refused, what: &str) -> ExpressionError {
    match refused {
        guard::Refused::Jinja(error) => explained(&error, what),
        guard::Refused::Other(message) => ExpressionError(format!("the {what} fails: {message}")),
    }
}

fn explained(error: &minijinja::Error, what: &str) -> ExpressionError {
    let place = error.line().map(|line| format!(" in line {line}"));
    let place = place.unwrap_or_default();
    if error.kind() == ErrorKind::OutOfFuel {
        return ExpressionError(format!(
            "the {what} fails{place}: it takes more than {EXPRESSION_FUEL} steps; let it go through less"
        ));
    }
    let detail = error.detail().unwrap_or_default();
    let colon = if detail.is_empty() { "" } else { ": " };
    // What went wrong with writing is told by whoever was written to.
    let source = std::error::Error::source(error);
    let source = source.map(|source| format!(": {source}"));
    ExpressionError(format!(
        "the {what} fails{place}: {}{colon}{detail}{}",
        error.kind(),
        source.unwrap_or_default()
    ))
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// A value computed from others: `count > 3 and name`.
pub struct Expression {
    text: String,
    compiled: minijinja::Expression<'static, 'static>,
}

impl Expression {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        check_length(text, "expression")?;
        let guarded = guard::expression(text).map_err(|error| refused(error, "expression"))?;
        let environment: &'static Environment<'static> = &ENVIRONMENT;
        let compiled = environment
            .compile_expression_owned(guarded)
            .map_err(|error| explained(&error, "expression"))?;
        Ok(Self {
            text: text.to_owned(),
            compiled,
        })
    }

    pub fn eval<V: Variables>(&self, variables: Arc<V>) -> Result<Value, ExpressionError> {
        let found = self.result(variables)?;
        checks::weight(&found, MAX_TEMPLATE_OUTPUT_BYTES)
            .map_err(|error| explained(&error, "expression"))?;
        serde_json::to_value(&found)
            .map(Value::from)
            .map_err(|error| ExpressionError(format!("the expression gives no value: {error}")))
    }

    /// As a number, yes being 1 and no being 0; `None` if it gives something else. May be infinite, or not a number.
    pub fn eval_number<V: Variables>(
        &self,
        variables: Arc<V>,
    ) -> Result<Option<f64>, ExpressionError> {
        let found = self.result(variables)?;
        Ok(match found.kind() {
            ValueKind::Number => f64::try_from(found).ok(),
            ValueKind::Bool => Some(f64::from(u8::from(found.is_true()))),
            _ => None,
        })
    }

    /// Whether it holds.
    pub fn holds<V: Variables>(&self, variables: Arc<V>) -> Result<bool, ExpressionError> {
        Ok(self.result(variables)?.is_true())
    }

    fn result<V: Variables>(&self, variables: Arc<V>) -> Result<Jinja, ExpressionError> {
        Purse::CONDITION.open(None);
        self.compiled
            .eval(Names::of(variables))
            .map_err(|error| explained(&error, "expression"))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({})", self.text)
    }
}

/// A text with gaps: `Hello {{ name }}`.
pub struct Template {
    environment: Environment<'static>,
    /// The same, with the few steps that may be taken in place.
    in_place: Environment<'static>,
}

const NAME: &str = "template";

impl Template {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        check_length(text, "template")?;
        let guarded = guard::template(text).map_err(|error| refused(error, "template"))?;
        let mut environment = ENVIRONMENT.clone();
        environment
            .add_template_owned(NAME, guarded)
            .map_err(|error| explained(&error, "template"))?;
        let mut in_place = environment.clone();
        in_place.set_fuel(Some(HEAVY_TEMPLATE_FUEL));
        Ok(Self {
            environment,
            in_place,
        })
    }

    /// May take its time: not for a thread that others wait for. `stop` ends it.
    pub fn render<V: Variables>(
        &self,
        variables: Arc<V>,
        stop: &CancellationToken,
    ) -> Result<String, ExpressionError> {
        Purse::TEMPLATE.open(Some(stop));
        filled(&self.environment, variables).map_err(|error| explained(&error, "template"))
    }

    /// For where others wait: `None` if it turns out to be more than a little work.
    pub fn render_in_place<V: Variables>(
        &self,
        variables: Arc<V>,
    ) -> Result<Option<String>, ExpressionError> {
        Purse::FIRST_TRY.open(None);
        match filled(&self.in_place, variables) {
            Ok(text) => Ok(Some(text)),
            Err(error) if purse::was_empty() || error.kind() == ErrorKind::OutOfFuel => Ok(None),
            Err(error) => Err(explained(&error, "template")),
        }
    }
}

fn filled<V: Variables>(
    environment: &Environment<'static>,
    variables: Arc<V>,
) -> Result<String, minijinja::Error> {
    let template = environment.get_template(NAME)?;
    let mut page = Page(Vec::new());
    template.render_captured_to(Names::of(variables), &mut page)?;
    let broken = |error: std::string::FromUtf8Error| {
        minijinja::Error::new(ErrorKind::WriteFailure, error.to_string())
    };
    String::from_utf8(page.0).map_err(broken)
}

/// Takes no more than a template may write.
struct Page(Vec<u8>);

impl Write for Page {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.0.len() + text.len() > MAX_TEMPLATE_OUTPUT_BYTES {
            let message = format!("it writes more than {MAX_TEMPLATE_OUTPUT_BYTES} bytes");
            return Err(io::Error::other(message));
        }
        self.0.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
