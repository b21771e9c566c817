//! How a loop goes on and when it ends, as its settings say.

use serde_json::{Map, Value as Json};

use crate::expression::Expression;
use crate::limits::{DEFAULT_ITERATIONS, MAX_ITERATIONS};

#[derive(Debug)]
pub(crate) struct LoopSettings {
    pub(crate) max_iterations: Option<u64>,
    /// Ends the loop when it holds after an iteration.
    pub(crate) until: Option<Expression>,
    /// Ends the loop when it does not hold before one.
    pub(crate) while_: Option<Expression>,
    pub(crate) on_error: OnError,
    collect: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    /// The loop fails.
    Stop,
    /// The error is kept, and the next iteration begins with what the last good one left.
    Collect,
}

impl LoopSettings {
    /// `Err` with the setting and what is wrong with it.
    pub(crate) fn read(config: &Map<String, Json>) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            max_iterations: max_iterations(config)?,
            until: expression(config, "until")?,
            while_: expression(config, "while")?,
            on_error: on_error(config)?,
            collect: names(config, "collect")?,
        })
    }

    pub(crate) fn collected(&self) -> &[String] {
        &self.collect
    }

    pub(crate) fn collects(&self, key: &str) -> bool {
        self.collect.iter().any(|known| known == key)
    }

    /// Where neither a setting nor an input says.
    pub(crate) fn default_iterations(&self, items: Option<usize>) -> u64 {
        match (self.max_iterations, items) {
            (Some(most), _) => most,
            (None, Some(items)) => (items as u64).min(MAX_ITERATIONS),
            (None, None) => DEFAULT_ITERATIONS,
        }
    }
}

fn max_iterations(config: &Map<String, Json>) -> Result<Option<u64>, (&'static str, String)> {
    const KEY: &str = "maxIterations";
    let value = config.get(KEY).or(config.get("max_iterations"));
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match value.as_u64() {
        Some(most) if (1..=MAX_ITERATIONS).contains(&most) => Ok(Some(most)),
        _ => Err((
            KEY,
            format!("{value} is no number of iterations; use 1 to {MAX_ITERATIONS}"),
        )),
    }
}

fn expression(
    config: &Map<String, Json>,
    key: &'static str,
) -> Result<Option<Expression>, (&'static str, String)> {
    match config.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Json::String(text)) => match Expression::parse(text) {
            Ok(expression) => Ok(Some(expression)),
            Err(error) => Err((key, error.to_string())),
        },
        Some(_) => Err((
            key,
            "it has to be an expression, written as text".to_owned(),
        )),
    }
}

fn on_error(config: &Map<String, Json>) -> Result<OnError, (&'static str, String)> {
    match config.get("onError") {
        None | Some(Json::Null) => Ok(OnError::Stop),
        Some(Json::String(text)) if text == "stop" => Ok(OnError::Stop),
        Some(Json::String(text)) if text == "collect" => Ok(OnError::Collect),
        Some(other) => Err((
            "onError",
            format!("{other} is neither \"stop\" nor \"collect\""),
        )),
    }
}

fn names(
    config: &Map<String, Json>,
    key: &'static str,
) -> Result<Vec<String>, (&'static str, String)> {
    let bad = || (key, "it has to be a list of names".to_owned());
    match config.get(key) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(list)) => list
            .iter()
            .map(|one| one.as_str().map(str::to_owned).ok_or_else(bad))
            .collect(),
        Some(_) => Err(bad()),
    }
}
