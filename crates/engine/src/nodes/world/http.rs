//! HttpRequest.

use serde_json::{Map, Value as Json};

use super::call::call;
use crate::NodeError;
use crate::node::{NodeBuilder, NodeType, any, boolean, integer, object, text};

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "HttpRequest",
        "World",
        "HTTP request",
        "Asks a host that is on the allow-list. A status of 404 or 500 is an answer too",
    );
    node.alias("core:HttpRequestNode");
    let url = node.input(text("url").title("URL").required());
    let method = node.input(text("method").title("Method").choice(METHODS));
    let headers = node.input(object("headers").title("Headers"));
    let query = node.input(
        object("query")
            .title("Query")
            .about("Added to the URL after '?', properly escaped"),
    );
    let body = node.input(
        any("body")
            .title("Body")
            .about("A text, or JSON that is sent as application/json"),
    );
    let timeout = node.input(integer("timeout_ms").title("Timeout").optional());
    let status = node.output(integer("status").title("Status"));
    let ok = node.output(boolean("ok").title("OK").about("The status is 200 to 299"));
    let content = node.output(
        any("body")
            .title("Body")
            .about("JSON as it is, a text as text, anything else as base64"),
    );
    let as_text = node.output(text("text").title("Text").about("The body as text"));
    let answered = node.output(object("headers").title("Headers"));
    let response = node.output(object("response").title("Response"));
    node.setting(
        boolean("failOnStatus")
            .title("Fail on status")
            .about("A status of 400 and more is an error of the node")
            .default(false),
    );
    node.effects();
    node.task(move |mut io| async move {
        let mut arguments = Map::new();
        arguments.insert("url".into(), io.get(url)?.into());
        arguments.insert("method".into(), io.get(method)?.into());
        for (key, map) in [("headers", io.get(headers)?), ("query", io.get(query)?)] {
            if !map.is_empty() {
                arguments.insert(key.into(), map.into());
            }
        }
        let sent = io.get(body)?;
        if !sent.is_null() {
            arguments.insert("body".into(), sent.into_json());
        }
        if let Some(limit) = io.get(timeout)? {
            arguments.insert("timeout_ms".into(), limit.into());
        }
        let answer = call(io.context(), "Http.Request", arguments).await?;
        let code = answer
            .get("status")
            .and_then(Json::as_i64)
            .unwrap_or_default();
        let found = ["json", "text", "base64"]
            .iter()
            .find_map(|key| answer.get(*key))
            .cloned()
            .unwrap_or_default();
        if code >= 400 && io.config("failOnStatus").as_bool() == Some(true) {
            let message = format!("the host answered with the status {code}");
            // Of the client's errors, only these pass by themselves.
            return Err(match matches!(code, 408 | 425 | 429) || code >= 500 {
                true => NodeError::failed("http.status", message),
                false => NodeError::invalid("http.status", message),
            });
        }
        io.set(status, code);
        io.set(ok, (200..300).contains(&code));
        let found = crate::Value::from(found);
        io.set(as_text, found.to_text());
        io.set(content, found);
        let map = answer.get("headers").and_then(Json::as_object).cloned();
        io.set(answered, map.unwrap_or_default());
        io.set(response, answer);
        io.done()
    })
}
