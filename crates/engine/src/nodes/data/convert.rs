//! `core:Convert`: a value as another type, where an edge would not do it by itself.

use serde_json::Value as Json;

use crate::flow::{coerce, kind};
use crate::node::{NodeBuilder, NodeType, any, convertible, text};
use crate::{DataFlowType, NodeError, Value};

const TYPES: &[(&str, Option<DataFlowType>)] = &[
    ("text", Some(DataFlowType::String)),
    ("integer", Some(DataFlowType::Integer)),
    ("float", Some(DataFlowType::Float)),
    ("boolean", Some(DataFlowType::Boolean)),
    ("object", Some(DataFlowType::Object)),
    ("array", Some(DataFlowType::Array)),
    ("json", None),
];

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "Convert",
        "Data",
        "Convert",
        "Gives a value as another type: a text as a number, a number as yes or no, JSON text as what it says",
    );
    let value = node.input(any("value").title("Value").required());
    let result = node.output(convertible("result").title("Result"));
    let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    node.setting(
        text("to")
            .title("To")
            .about("The type; json reads a text as JSON")
            .choice(&names),
    );
    node.inline(move |io| {
        let value = io.get(value)?;
        let to = match io.config_text("to") {
            "" => "text",
            to => to,
        };
        let Some((_, flow)) = TYPES.iter().find(|(name, _)| *name == to) else {
            let message = format!("'{to}' is no type to convert to; use {}", names.join(", "));
            return Err(NodeError::invalid("convert.type", message));
        };
        let turned = match flow {
            Some(DataFlowType::Integer) => rounded(&value),
            Some(flow) => coerce(*flow, value.clone()),
            None => parsed(&value),
        };
        let Some(turned) = turned else {
            let found = kind(value.as_json());
            let message = format!("{found} cannot be turned into {to}");
            return Err(NodeError::invalid("convert.value", message));
        };
        io.set(result, turned);
        Ok(())
    })
}

/// Whole numbers as they are, others without what stands behind the point.
fn rounded(value: &Value) -> Option<Value> {
    coerce(DataFlowType::Integer, value.clone()).or_else(|| {
        let number = coerce(DataFlowType::Float, value.clone())?.as_f64()?;
        coerce(DataFlowType::Integer, number.trunc().into())
    })
}

fn parsed(value: &Value) -> Option<Value> {
    match value.as_json() {
        Json::String(text) => serde_json::from_str::<Json>(text).ok().map(Value::from),
        _ => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::run_node;

    #[tokio::test]
    async fn values_are_turned() {
        for (to, value, expected) in [
            ("text", json!(3), Some(json!("3"))),
            ("integer", json!("3"), Some(json!(3))),
            ("integer", json!(3.9), Some(json!(3))),
            ("integer", json!("-3.9"), Some(json!(-3))),
            ("integer", json!(1e300), None),
            ("integer", json!("three"), None),
            ("float", json!("2.5"), Some(json!(2.5))),
            ("boolean", json!(1.0), Some(json!(true))),
            ("boolean", json!("no"), Some(json!(false))),
            ("boolean", json!("perhaps"), None),
            ("object", json!("{\"a\": 1}"), Some(json!({"a": 1}))),
            ("array", json!("[1, 2]"), Some(json!([1, 2]))),
            ("array", json!("{}"), None),
            ("json", json!("\"x\""), Some(json!("x"))),
            ("json", json!("{bad"), None),
        ] {
            let out = run_node("core:Convert", json!({"to": to}), json!({"value": value})).await;
            let found = out.map(|out| out.get("result").cloned()).ok().flatten();
            assert_eq!(found, expected, "{to} {value}");
        }
    }
}
