//! JsonSelector: parts of a JSON value, by a path.

use serde_json::Value as Json;
use serde_json_path::JsonPath;

use crate::limits::{MAX_JSON_PATH_BYTES, MAX_PATH_CHOICES, MAX_PATH_DESCENTS, MAX_SELECTED};
use crate::node::{NodeBuilder, any, array, boolean, convertible, text};
use crate::nodes::bound::Bound;
use crate::nodes::heavy::heavy;
use crate::{NodeError, NodeType, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "JsonSelector",
        "Data",
        "JSON selector",
        "Takes parts out of a JSON value by a path",
    );
    node.alias("core:JsonSelectorNode");
    let json = node.input(
        any("json")
            .title("JSON")
            .about("A value, or JSON text")
            .category("Json")
            .required(),
    );
    let path = node.input(
        text("path")
            .title("Path")
            .about("JSONPath such as $.items[*].name, or names with dots such as items.0.name; nothing is the whole value"),
    );
    let default = node.input(
        any("default")
            .title("Default")
            .about("The value where nothing is found"),
    );
    let value = node.output(
        convertible("value")
            .title("Value")
            .about("The first that was found, else the default"),
    );
    let found = node.output(
        boolean("found")
            .title("Found")
            .about("Whether anything was found"),
    );
    let all = node.output(array("all").title("All").about("Everything that was found"));
    node.task(move |mut io| async move {
        let (json, path) = (io.get(json)?, io.get(path)?);
        if path.len() > MAX_JSON_PATH_BYTES {
            let message = format!("the path is longer than {MAX_JSON_PATH_BYTES} bytes");
            return Err(NodeError::invalid("json_path.too_long", message));
        }
        let weight = json.weight();
        let chosen = heavy(weight, move || select(&json, &path)).await?;
        io.set(found, !chosen.is_empty());
        let first = match chosen.first() {
            Some(first) => first.clone().into(),
            None => io.get(default)?,
        };
        io.set(value, first);
        io.set(all, chosen);
        io.done()
    })
}

fn select(json: &Value, path: &str) -> Result<Vec<Json>, NodeError> {
    let parsed;
    let root = match json.as_json() {
        Json::String(text) => match serde_json::from_str::<Json>(text) {
            Ok(json) => {
                parsed = json;
                &parsed
            }
            // A text that is no JSON is a value like any other.
            Err(_) => json.as_json(),
        },
        json => json,
    };
    let path = path.trim();
    if !path.starts_with('$') {
        return Ok(by_names(root, path).cloned().into_iter().collect());
    }
    check_cost(path)?;
    let path = JsonPath::parse(path).map_err(|error| {
        NodeError::invalid(
            "json_path.syntax",
            format!("the path {path:?} is wrong: {error}"),
        )
    })?;
    let nodes = path.query(root);
    if nodes.len() > MAX_SELECTED {
        let message = format!(
            "the path finds {} values; {MAX_SELECTED} is the most, so make it more exact",
            nodes.len()
        );
        return Err(NodeError::invalid("json_path.too_many", message));
    }
    // What lies in each other is found, and copied, once for each level.
    let mut bound = Bound::default();
    nodes.iter().try_for_each(|found| bound.add_json(found))?;
    Ok(nodes.into_iter().cloned().collect())
}

/// A short path can ask for more than anyone can compute: what multiplies is counted before it is run.
fn check_cost(path: &str) -> Result<(), NodeError> {
    let bare = without_texts(path);
    let mut product = 1usize;
    let mut open: Vec<usize> = Vec::new();
    for char in bare.chars() {
        match char {
            '[' => open.push(1),
            ',' => open.last_mut().into_iter().for_each(|count| *count += 1),
            ']' => product = product.saturating_mul(open.pop().unwrap_or(1)),
            _ => {}
        }
    }
    let why = if bare.matches("..").count() > MAX_PATH_DESCENTS {
        format!("it has '..' more than {MAX_PATH_DESCENTS} times")
    } else if product > MAX_PATH_CHOICES {
        format!("its lists of names multiply to more than {MAX_PATH_CHOICES}")
    } else if bare.matches('$').count() > 1 {
        "it begins at the root again inside of a filter".to_owned()
    } else if bare.contains("match(") || bare.contains("search(") {
        "it has a regular expression; use the node core:Regex".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("the path {path:?} costs too much: {why}");
    Err(NodeError::invalid("json_path.too_costly", message))
}

/// The path with nothing between quotes.
fn without_texts(path: &str) -> String {
    let mut bare = String::with_capacity(path.len());
    let mut quote = None;
    let mut chars = path.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(open), char) if char == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(char),
            (None, char) if char.is_whitespace() => {}
            (None, char) => bare.push(char),
        }
    }
    bare
}

/// `items.0.name`; numbers count from the end where they are negative.
fn by_names<'j>(root: &'j Json, path: &str) -> Option<&'j Json> {
    if path.is_empty() {
        return Some(root);
    }
    path.split('.').try_fold(root, |json, name| match json {
        Json::Object(map) => map.get(name),
        Json::Array(list) => {
            let index: i64 = name.parse().ok()?;
            let index = match usize::try_from(index) {
                Ok(index) => index,
                Err(_) => list.len().checked_sub(usize::try_from(-index).ok()?)?,
            };
            list.get(index)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use crate::testing::run_node;

    async fn run(json: Json, path: &str) -> Result<Json, String> {
        let inputs = json!({"json": json, "path": path, "default": "none"});
        let out = run_node("core:JsonSelector", json!({}), inputs).await;
        let out = out.map_err(|error| error.code)?;
        Ok(json!([out["value"], out["found"], out["all"]]))
    }

    #[tokio::test]
    async fn paths() {
        let store = json!({"items": [{"n": 1}, {"n": 2}], "a.b": {"c": null}, "0": "zero"});
        for (path, expected) in [
            ("$.items[*].n", json!([1, true, [1, 2]])),
            ("$.items[?@.n > 1].n", json!([2, true, [2]])),
            ("$..n", json!([1, true, [1, 2]])),
            ("$['a.b'].c", json!([null, true, [null]])),
            ("$.nothing", json!(["none", false, []])),
            ("items.1.n", json!([2, true, [2]])),
            ("items.-1.n", json!([2, true, [2]])),
            ("items.-3.n", json!(["none", false, []])),
            ("items.x", json!(["none", false, []])),
            ("0", json!(["zero", true, ["zero"]])),
            ("items.0.n.deep", json!(["none", false, []])),
        ] {
            assert_eq!(
                run(store.clone(), path).await,
                Ok(expected.clone()),
                "{path}"
            );
            let text = Json::String(store.to_string());
            assert_eq!(run(text, path).await, Ok(expected), "{path} in text");
        }
        assert_eq!(
            run(json!("plain"), "").await,
            Ok(json!(["plain", true, ["plain"]]))
        );
        for path in [
            "$..*..*..*",
            "$[*,*][*,*][*,*][*,*][*,*]",
            "$..[?$..n]",
            "$..[?match(@.n, 'a')]",
            "$..[?search (@.n, 'a')]",
        ] {
            let found = run(store.clone(), path).await;
            assert_eq!(found, Err("json_path.too_costly".to_owned()), "{path}");
        }
        for path in ["$['items','0']", "$['..,$,match(..']", "$['a\\'..[..$']"] {
            assert!(run(store.clone(), path).await.is_ok(), "{path}");
        }
        assert_eq!(run(store, "$.[").await, Err("json_path.syntax".to_owned()));
        let long = "a".repeat(crate::limits::MAX_JSON_PATH_BYTES + 1);
        assert_eq!(
            run(json!({}), &long).await,
            Err("json_path.too_long".to_owned())
        );
        let mut nested = json!("x".repeat(1 << 20));
        for _ in 0..100 {
            nested = json!([nested]);
        }
        assert_eq!(run(nested, "$..*").await, Err("value.too_large".to_owned()));
        let many = vec![0; crate::limits::MAX_SELECTED + 1];
        assert_eq!(
            run(json!(many), "$[*]").await,
            Err("json_path.too_many".to_owned())
        );
    }
}
