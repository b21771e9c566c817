//! What a node gets, and how Rust types are made from it.

use serde_json::{Map, Value as Json};

use super::NodeError;
use crate::stream::StreamReader;
use crate::{Value, flow};

/// What came into one slot.
#[derive(Debug, Default)]
pub enum Input {
    /// Nothing was connected, set or assumed.
    #[default]
    Absent,
    Value(Value),
    /// A multi input: what its connections brought, in their order.
    Many(Vec<Value>),
    Stream(StreamReader),
}

impl Input {
    pub fn as_value(&self) -> Value {
        match self {
            Self::Absent | Self::Stream(_) => Value::null(),
            Self::Value(value) => value.clone(),
            Self::Many(values) => values.clone().into(),
        }
    }
}

/// A type that a slot's input can be taken as.
pub trait FromInput: Sized {
    /// `None` if it is something else.
    fn from_input(input: &mut Input) -> Option<Self>;
    /// In words, for the error.
    const WANTED: &'static str;
}

/// A type that a JSON value can be read as.
pub trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
    const WANTED: &'static str;
}

macro_rules! by_value {
    ($($type:ty, $wanted:literal, $from:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                let from: fn(&Value) -> Option<Self> = $from;
                from(value)
            }
            const WANTED: &'static str = $wanted;
        }

        impl FromInput for $type {
            fn from_input(input: &mut Input) -> Option<Self> {
                match input {
                    Input::Value(value) => Self::from_value(value),
                    _ => None,
                }
            }
            const WANTED: &'static str = $wanted;
        }
    )*};
}

by_value! {
    String, "a text", |value| value.as_str().map(str::to_owned);
    bool, "true or false", |value| value.as_json().as_bool();
    i64, "a whole number", |value| {
        let json = value.as_json();
        json.as_i64().or_else(|| flow::coerce(crate::DataFlowType::Integer, value.clone())?.as_json().as_i64())
    };
    f64, "a number", |value| value.as_f64();
    Map<String, Json>, "an object", |value| value.as_json().as_object().cloned();
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
    const WANTED: &'static str = "a value";
}

impl FromInput for Value {
    fn from_input(input: &mut Input) -> Option<Self> {
        Some(input.as_value())
    }
    const WANTED: &'static str = "a value";
}

impl<T: FromInput> FromInput for Option<T> {
    fn from_input(input: &mut Input) -> Option<Self> {
        match input {
            Input::Absent => Some(None),
            Input::Value(value) if value.is_null() => Some(None),
            input => T::from_input(input).map(Some),
        }
    }
    const WANTED: &'static str = T::WANTED;
}

impl<T: FromValue> FromInput for Vec<T> {
    fn from_input(input: &mut Input) -> Option<Self> {
        match input {
            Input::Many(values) => values.iter().map(T::from_value).collect(),
            Input::Value(value) => match value.as_json() {
                Json::Array(list) => list
                    .iter()
                    .map(|one| T::from_value(&Value::from(one.clone())))
                    .collect(),
                _ => None,
            },
            Input::Absent => Some(Vec::new()),
            Input::Stream(_) => None,
        }
    }
    const WANTED: &'static str = "a list";
}

impl FromInput for StreamReader {
    fn from_input(input: &mut Input) -> Option<Self> {
        match std::mem::take(input) {
            Input::Stream(reader) => Some(reader),
            _ => None,
        }
    }
    const WANTED: &'static str = "a stream";
}

/// The error for an input that is not what the slot takes.
pub(crate) fn wrong_input(slot: &str, wanted: &str, found: &Input) -> NodeError {
    let found = match found {
        Input::Absent => "nothing",
        Input::Value(value) => flow::kind(value.as_json()),
        Input::Many(_) => "several values",
        Input::Stream(_) => "a stream",
    };
    NodeError::invalid(
        "input.type",
        format!("the input '{slot}' takes {wanted}, and got {found}"),
    )
}
