//! Which values fit into which slots: what may be connected, and how a value is turned into what a slot takes.

use serde_json::{Map, Number, Value as Json};

use crate::{DataFlowType, Value};

/// What a slot says of itself, for the question whether two slots may be connected.
#[derive(Debug, Clone, Copy)]
pub struct SlotKind<'s> {
    pub flow: DataFlowType,
    pub match_categories: &'s [String],
}

/// Whether an edge from one to the other makes sense. A stream and a value always fit each other: a stream is
/// collected, a value is a stream of one chunk.
pub fn fits(from: SlotKind<'_>, to: SlotKind<'_>) -> bool {
    use DataFlowType::{Boolean, ConvertibleAny, Float, Integer, String, Wildcard};
    let shared = from
        .match_categories
        .iter()
        .any(|one| !is_hint(one) && to.match_categories.contains(one));
    let any = |kind: SlotKind<'_>| matches!(kind.flow, Wildcard | ConvertibleAny);
    let has = |kind: SlotKind<'_>, name: &str| kind.match_categories.iter().any(|one| one == name);
    shared
        || any(from)
        || any(to)
        || from.flow == to.flow
        || matches!(
            (from.flow, to.flow),
            (Integer, Float) | (Integer | Float | Boolean, String)
        )
        // What a list of options gives is a text to everyone else.
        || (has(from, "ComboOption") && to.flow == String)
        || (has(to, "ComboOption") && from.flow == String)
        || has(from, "BehaviorWildcard")
        || has(to, "BehaviorWildcard")
        || has(to, "BehaviorConvertible")
}

/// Words for the canvas that say nothing about the value.
fn is_hint(category: &str) -> bool {
    matches!(category, "UiBlock" | "CanPreview" | "NoDefaultEdit")
}

/// The value as the slot takes it: itself where it fits, turned where that loses nothing; `None` where neither.
pub fn coerce(flow: DataFlowType, value: Value) -> Option<Value> {
    if flow.accepts(value.as_json()) {
        return Some(match (flow, value.as_json()) {
            // 3.0 is a whole number, and whoever takes whole numbers wants to see 3.
            (DataFlowType::Integer, Json::Number(number)) if number.is_f64() => whole(number)?,
            _ => value,
        });
    }
    let turned = match (flow, value.as_json()) {
        (_, Json::Null) => return None,
        (DataFlowType::String, _) => Json::from(value.to_text()),
        (DataFlowType::Integer | DataFlowType::Float, Json::Bool(yes)) => {
            Json::from(i64::from(*yes))
        }
        (DataFlowType::Integer, Json::String(text)) => {
            let number: Number = text.trim().parse().ok()?;
            return whole(&number);
        }
        (DataFlowType::Float, Json::String(text)) => {
            Json::Number(text.trim().parse::<Number>().ok()?)
        }
        (DataFlowType::Boolean, Json::Number(number)) => Json::from(number.as_f64() != Some(0.0)),
        (DataFlowType::Boolean, Json::String(text)) => match text.trim() {
            "true" | "True" | "TRUE" | "1" | "yes" => Json::from(true),
            "false" | "False" | "FALSE" | "0" | "no" | "" => Json::from(false),
            _ => return None,
        },
        (DataFlowType::Object | DataFlowType::Array, Json::String(text)) => {
            let parsed: Json = serde_json::from_str(text).ok()?;
            if !flow.accepts(&parsed) {
                return None;
            }
            parsed
        }
        _ => return None,
    };
    Some(turned.into())
}

fn whole(number: &Number) -> Option<Value> {
    if number.is_i64() || number.is_u64() {
        return Some(Json::Number(number.clone()).into());
    }
    let number = number.as_f64()?;
    // Beyond 2^53 a float names no single whole number.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0)
        .then(|| Value::from(number as i64))
}

/// What a slot holds when nothing was said: its `default`, else the first suggestion, else nothing of its type.
pub fn effective_default(flow: DataFlowType, is_stream: bool, config: &Map<String, Json>) -> Value {
    if is_stream {
        return Value::null();
    }
    if let Some(default) = config.get("default") {
        return default.clone().into();
    }
    if let Some(Json::Array(suggestions)) = config.get("suggestions")
        && let Some(first) = suggestions.first()
    {
        return first.get("value").unwrap_or(first).clone().into();
    }
    empty(flow)
}

/// Nothing, as each type knows it.
pub fn empty(flow: DataFlowType) -> Value {
    match flow {
        DataFlowType::String => "".into(),
        DataFlowType::Integer => 0i64.into(),
        DataFlowType::Float => 0.0.into(),
        DataFlowType::Boolean => false.into(),
        DataFlowType::Object => Map::new().into(),
        DataFlowType::Array => Vec::<Json>::new().into(),
        DataFlowType::Binary | DataFlowType::Wildcard | DataFlowType::ConvertibleAny => {
            Value::null()
        }
    }
}

/// What a value is, in words.
pub fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
