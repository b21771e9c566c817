//! RandomNumber: a number that stays, counts or changes.

use crate::node::{NodeBuilder, any, integer, text};
use crate::{NodeError, NodeType};

const MAX: i64 = u32::MAX as i64;

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "RandomNumber",
        "Math",
        "Random number",
        "A whole number from 0 to 4294967295 that is kept, counted up or down by one, or drawn anew in each run",
    );
    let mode = node.input(
        text("mode")
            .title("Mode")
            .about("固定 keeps the value, 增加 adds one, 减少 takes one, 随机 draws a number")
            .choice(&["固定", "增加", "减少", "随机"])
            .default("固定"),
    );
    let value = node.input(
        integer("value")
            .title("Value")
            .about("The number to begin with")
            .default(0)
            .range(0, MAX),
    );
    node.input(
        any("reroll")
            .title("Reroll")
            .about("A button of the canvas; a run takes no notice of it")
            .category("Trigger")
            .config("label", "Reroll"),
    );
    let number = node.output(integer("number").title("Number").about("The number"));
    node.effects();
    node.inline(move |io| {
        let value = io.get(value)?;
        if !(0..=MAX).contains(&value) {
            let message = format!("the input 'value' is {value}; it goes from 0 to {MAX}");
            return Err(NodeError::invalid("input.range", message));
        }
        let mode = io.get(mode)?;
        let found = match mode.as_str() {
            "固定" | "fixed" => value,
            "增加" | "increase" => (value + 1).min(MAX),
            "减少" | "decrease" => (value - 1).max(0),
            "随机" | "random" => drawn()?,
            other => {
                let message = format!(
                    "the mode '{other}' is unknown; there are 固定 (fixed), 增加 (increase), 减少 (decrease), 随机 (random)"
                );
                return Err(NodeError::invalid("random.mode", message));
            }
        };
        io.set(number, found);
        Ok(())
    })
}

fn drawn() -> Result<i64, NodeError> {
    getrandom::u32().map(i64::from).map_err(|error| {
        let message = format!("the system gives no random numbers: {error}");
        NodeError::failed("random.source", message)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use crate::testing::run_node;

    #[tokio::test]
    async fn modes() {
        for (mode, value, expected) in [
            ("固定", 7, 7),
            ("增加", 7, 8),
            ("减少", 7, 6),
            ("减少", 0, 0),
            ("增加", 4_294_967_295u64, 4_294_967_295u64),
            ("increase", 7, 8),
        ] {
            let inputs = json!({"mode": mode, "value": value});
            let out = run_node("core:RandomNumber", json!({}), inputs).await;
            assert_eq!(out.unwrap()["number"], expected, "{mode} {value}");
        }
        for wrong in [
            json!({"mode": "x"}),
            json!({"value": -1}),
            json!({"value": 1u64 << 32}),
        ] {
            let out = run_node("core:RandomNumber", json!({}), wrong.clone()).await;
            assert!(out.is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn random_differs() {
        let mut seen = HashSet::new();
        for _ in 0..8 {
            let inputs = json!({"mode": "随机", "value": 7});
            let out = run_node("core:RandomNumber", json!({}), inputs).await;
            seen.insert(out.unwrap()["number"].as_u64().unwrap());
        }
        assert!(seen.len() > 1, "{seen:?}");
        assert!(seen.iter().all(|number| *number <= u64::from(u32::MAX)));
    }
}
