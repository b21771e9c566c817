//! Math: a formula over numbers.

use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use super::finite;
use crate::expression::Expression;
use crate::node::{NodeBuilder, float, text};
use crate::nodes::text::Recent;
use crate::{DataFlowType, NodeError, NodeType, flow};

static RECENT: LazyLock<Recent<Expression>> = LazyLock::new(Recent::new);

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "Math",
        "Math",
        "Math",
        "Computes an expression; inputs of any name are the numbers that it uses",
    );
    let expression = node.input(
        text("expression")
            .title("Expression")
            .about("Such as (a + b) / 2, with + - * / // % ** and the filters round, abs, min, max, sum, int")
            .required(),
    );
    let result = node.output(float("result").title("Result").about("A number"));
    node.dynamic();
    let own = expression.index() + 1;
    node.inline(move |io| {
        let text = io.get(expression)?;
        let parsed = RECENT.get(&text, Expression::parse)?;
        let mut numbers = serde_json::Map::new();
        for index in own..io.info().inputs.len() {
            let key = io.info().inputs.get(index).map(|slot| slot.key.to_string());
            let value = io.input(index).as_value();
            let (Some(key), false) = (key, value.is_null()) else {
                continue;
            };
            // A list of numbers is for min, max and sum.
            let number = match value.as_json() {
                Json::Array(list) if list.iter().all(Json::is_number) => Some(value.clone()),
                _ => flow::coerce(DataFlowType::Float, value.clone()),
            };
            let Some(number) = number else {
                let found = flow::kind(value.as_json());
                let message = format!(
                    "the input '{key}' takes a number or a list of numbers, and got {found}"
                );
                return Err(NodeError::invalid("input.type", message));
            };
            numbers.insert(key, number.into_json());
        }
        let found = parsed.eval_number(Arc::new(numbers))?;
        let Some(found) = found else {
            let message =
                format!("the expression {text:?} gives no number; check the names it uses");
            return Err(NodeError::invalid("math.no_number", message));
        };
        let found = finite(found, "the expression")?;
        io.set(result, found);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::run_node;

    #[tokio::test]
    async fn formulas() {
        for (expression, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(a + b) / 2", 2.5),
            ("a ** 3 - b", 5.0),
            ("7 // a", 3.0),
            ("-7 % b", 2.0),
            ("[a, b, 10]|max", 10.0),
            ("list|sum", 6.0),
            ("a if a > b else b", 3.0),
            ("text * 2", 9.0),
            ("2.345|round(2)", 2.35),
            ("a > 1", 1.0),
        ] {
            let inputs =
                json!({"expression": expression, "a": 2, "b": 3, "list": [1, 2, 3], "text": "4.5"});
            let out = run_node("core:Math", json!({}), inputs).await;
            assert_eq!(
                out.unwrap()["result"].as_f64(),
                Some(expected),
                "{expression}"
            );
        }
        for (expression, code) in [
            ("1 / 0", "expression.failed"),
            ("1 // 0", "expression.failed"),
            ("1 % 0", "expression.failed"),
            ("1e308 * 10", "math.overflow"),
            ("(-8.0) ** 0.5", "math.undefined"),
            ("'text'", "math.no_number"),
            ("unknown", "math.no_number"),
            ("1 +", "expression.failed"),
            ("", "expression.failed"),
        ] {
            let inputs = json!({"expression": expression});
            let out = run_node("core:Math", json!({}), inputs).await;
            assert_eq!(out.unwrap_err().code, code, "{expression}");
        }
        let wrong = json!({"expression": "a", "a": {"no": "number"}});
        let out = run_node("core:Math", json!({}), wrong).await;
        assert_eq!(out.unwrap_err().code, "input.type");
    }
}
