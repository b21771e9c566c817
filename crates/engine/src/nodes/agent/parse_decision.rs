//! ParseLlmDecision: what a model decided, told apart into words for the person and calls for the tools.

use innkeeper_protocol::{
    Dialect, Observation, Reply, add_native_calls, parse_with, render_observation,
};
use serde_json::{Value as Json, json};

use super::request_json::Request;
use super::toolbox;
use crate::node::{NodeBuilder, NodeType, any, array, boolean, object, text};
use crate::port::PARTS_FIELD;
use crate::{NodeError, Trace, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "ParseLlmDecision",
        "Agent",
        "Parse decision",
        "Reads a model's answer: its words, and the tools that it asks for. Calls in the text come first; native calls count where the text has none",
    );
    node.alias("core:ParseLlmDecisionNode");
    let response = node.input(
        any("response")
            .title("Response")
            .about("What LlmApiRequest gives as response, or a text")
            .required(),
    );
    let tools = node.input(
        array("tools")
            .title("Tools")
            .about(
                "Those that the model was told of: names in its prompt are turned back with them",
            )
            .optional(),
    );
    node.setting(
        text("dialect")
            .title("Dialect")
            .about("Which ways of calling are looked for in the text")
            .choice(&["auto", "tam", "action", "tool-call"]),
    );
    let whole = node.output(
        text("llm_text_output")
            .title("Text")
            .about("All that the model wrote, calls included"),
    );
    let requests = node.output(
        array("tool_call_requests")
            .title("Tool calls")
            .about("In the order in which they are to run; may be empty"),
    );
    let before = node.output(
        text("response_text")
            .title("Words")
            .about("What stands before the first call: what the person is told"),
    );
    let has_calls = node.output(boolean("has_calls").title("Has calls"));
    let is_final = node.output(
        boolean("is_final")
            .title("Is final")
            .about("There is nothing to call and nothing to set right: this is the reply"),
    );
    let remarks = node.output(
        text("remarks")
            .title("Remarks")
            .about("What the model must be told about calls that could not be read"),
    );
    let message = node.output(
        object("message")
            .title("Message")
            .about("The answer as a message for the chat history"),
    );
    let warnings = node.output(array("warnings").title("Warnings"));
    node.effects();
    node.task(move |mut io| async move {
        let answer = io.get(response)?;
        let said = words(&answer)?;
        let dialect = match io.config_text("dialect") {
            "" | "auto" => Dialect::Auto,
            "tam" => Dialect::Tam,
            "action" => Dialect::Action,
            "tool-call" => Dialect::ToolCall,
            other => {
                let message =
                    format!("the dialect '{other}' is none of auto, tam, action and tool-call");
                return Err(NodeError::invalid("decision.dialect", message));
            }
        };
        let mut decision = decide(parse_with(&said, dialect), native(&answer));
        let tools = match io.get(tools)? {
            Some(tools) => toolbox::definitions(io.context(), &tools)?,
            None => io
                .context()
                .tools()
                .map(|port| port.list())
                .unwrap_or_default(),
        };
        for request in &mut decision.requests {
            toolbox::restore(std::slice::from_mut(&mut request.call), &tools);
        }
        let final_reply = decision.requests.is_empty() && decision.remarks.is_empty();
        for request in &decision.requests {
            io.context().trace(Trace::ToolSelected {
                tool: request.call.tool.to_string(),
                arguments: request.call.params().into(),
            });
        }
        if final_reply {
            io.context().trace(Trace::Replied {
                text: decision.words.clone(),
            });
        }
        let mut told = json!({"role": "assistant", "content": said});
        if decision.is_native {
            told["tool_calls"] = native(&answer).clone();
        }
        let parts = format!("/choices/0/message/{PARTS_FIELD}");
        if let Some(parts) = answer.as_json().pointer(&parts) {
            told[PARTS_FIELD] = parts.clone();
        }
        io.set(message, told);
        io.set(before, decision.words);
        io.set(has_calls, !decision.requests.is_empty());
        io.set(is_final, final_reply);
        io.set(remarks, decision.remarks);
        io.set(warnings, decision.warnings);
        let list: Vec<Json> = decision.requests.iter().map(Request::to_json).collect();
        io.set(requests, list);
        io.set(whole, said);
        io.done()
    })
}

struct Decision {
    requests: Vec<Request>,
    words: String,
    remarks: String,
    warnings: Vec<Json>,
    /// The calls are the provider's, not the text's.
    is_native: bool,
}

fn decide(reply: Reply<'_>, native: &Json) -> Decision {
    let mut reply = reply;
    let mut warnings: Vec<Json> = Vec::new();
    let has_native = native.as_array().is_some_and(|calls| !calls.is_empty());
    let mut is_native = false;
    if has_native {
        if reply.calls().next().is_some() {
            warnings.push(json!({
                "code": "native_calls_ignored",
                "message": "the model called tools in its text and natively; those in the text were taken",
            }));
        } else {
            add_native_calls(&mut reply, native);
            is_native = true;
        }
    }
    let diagnostics = reply.all_diagnostics();
    warnings.extend(diagnostics.iter().map(|diagnostic| json!(diagnostic)));
    let remarks: Vec<String> = Observation::of_reply(&reply)
        .iter()
        .map(render_observation)
        .collect();
    let blocks = (0u64..).zip(&reply.blocks);
    let runnable = blocks.filter(|(_, block)| block.is_runnable());
    let requests = runnable.flat_map(|(number, block)| {
        block.calls.iter().map(move |call| Request {
            call: call.clone().into_owned(),
            block: number,
        })
    });
    let requests: Vec<_> = requests.collect();
    Decision {
        words: reply.response_text.to_string(),
        // Native calls that cannot be read are told of as well, and are none that were taken.
        is_native: is_native && !requests.is_empty(),
        requests,
        remarks: remarks.join("\n"),
        warnings,
    }
}

/// What the model wrote.
fn words(answer: &Value) -> Result<String, NodeError> {
    let text = match answer.as_json() {
        Json::String(text) => return Ok(text.clone()),
        Json::Null => return Ok(String::new()),
        Json::Object(map) => map,
        _ => {
            let message = "'response' has to be a text, or what LlmApiRequest gives as response";
            return Err(NodeError::invalid("decision.response", message));
        }
    };
    let first = || {
        let message = text.get("choices")?.get(0)?.get("message")?;
        message.get("content")
    };
    let found = text
        .get("text")
        .or_else(|| text.get("content"))
        .or_else(first);
    Ok(found.and_then(Json::as_str).unwrap_or_default().to_owned())
}

fn native(answer: &Value) -> &Json {
    const NONE: &Json = &Json::Null;
    let json = answer.as_json();
    let first = || {
        json.get("choices")?
            .get(0)?
            .get("message")?
            .get("tool_calls")
    };
    json.get("tool_calls")
        .filter(|calls| calls.is_array())
        .or_else(first)
        .unwrap_or(NONE)
}
