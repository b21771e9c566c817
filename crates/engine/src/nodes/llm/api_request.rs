//! LlmApiRequest: asks a model, with or without tools of the provider's own kind.

use innkeeper_protocol::{Protocol, Provider};
use serde_json::Map;

use super::ask::{Live, ask, conversation, object_of};
use crate::node::{
    NodeBuilder, NodeContext, NodeType, any, array, boolean, float, integer, object, text,
};
use crate::nodes::agent::toolbox;
use crate::port::{CallGrammar, ModelCall};
use crate::{NodeError, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "LlmApiRequest",
        "LLM",
        "Ask a model",
        "Sends messages to a language model; the answer comes whole, and piece by piece if 'stream' is on",
    );
    node.alias("core:LlmApiRequestNode");
    let asked = node.input(
        any("messages")
            .title("Messages")
            .about("A list of {role, content}, JSON text of one, or what the user says")
            .category("ChatHistory")
            .required(),
    );
    let tools = node.input(
        array("tools")
            .title("Tools")
            .about("For native calls only: what AvailableTools gives as native_tools"),
    );
    let model = node.input(
        text("model")
            .title("Model")
            .about("Empty for the default model"),
    );
    let parameters = node.input(
        any("parameters")
            .title("Parameters")
            .about("What the provider takes; beats the single settings"),
    );
    let temperature = node.input(
        float("temperature")
            .title("Temperature")
            .range(0, 2)
            .optional(),
    );
    let max_tokens = node.input(integer("max_tokens").title("Most tokens").optional());
    let top_p = node.input(float("top_p").title("Top p").range(0, 1).optional());
    let seed = node.input(integer("seed").title("Seed").optional());
    let in_pieces = node.input(boolean("stream").title("Stream").default(true));
    let grammar = node.input(
        text("grammar")
            .title("Grammar")
            .about("Holds calls in the text to their form. auto: where the server can; on: or it fails; off")
            .category("ComboOption")
            .choice(&["off", "auto", "on"])
            .default("off"),
    );
    let dialect = node.input(
        text("dialect")
            .title("Dialect")
            .about("Of the grammar: tam or action, as the prompt teaches. native needs none")
            .category("ComboOption")
            .choice(&["tam", "action", "native"])
            .default("tam"),
    );
    let told_tools = node.input(array("told_tools").title("Tools of the prompt").about(
        "For the grammar, and for errors about the length: what AvailableTools gives as tools",
    ));
    let response = node.output(
        object("response")
            .title("Response")
            .about("{text, choices, usage, cost, tool_calls, model, finish_reason}"),
    );
    let response_text = node.output(text("responseText").title("Text"));
    let usage = node.output(object("usage").title("Usage"));
    let tool_calls = node.output(
        array("tool_calls")
            .title("Tool calls")
            .about("Native calls, as OpenAI writes them"),
    );
    let stream = node.output(
        text("stream_output")
            .title("Stream")
            .about("The text as it comes; in one piece if 'stream' is off")
            .stream(),
    );
    let reasoning = node.output(
        text("reasoning_stream")
            .title("Reasoning")
            .about("What the model thinks aloud, if it tells")
            .stream(),
    );
    node.effects();
    node.task(move |mut io| async move {
        let mut settings = Map::new();
        if let Some(value) = io.get(temperature)? {
            settings.insert("temperature".into(), value.into());
        }
        if let Some(value) = io.get(max_tokens)? {
            settings.insert("max_tokens".into(), value.into());
        }
        if let Some(value) = io.get(top_p)? {
            settings.insert("top_p".into(), value.into());
        }
        if let Some(value) = io.get(seed)? {
            settings.insert("seed".into(), value.into());
        }
        settings.extend(object_of(&io.get(parameters)?, "parameters")?);
        let offered = io.get(tools)?;
        let form = (io.get(grammar)?, io.get(dialect)?);
        let told = io.get(told_tools)?;
        let grammar = call_grammar(io.context(), &form.0, &form.1, &told)?;
        let told = match form.1.as_str() {
            "native" => Vec::new(),
            // Without a grammar nothing depends on them.
            _ => toolbox::definitions(io.context(), &told).unwrap_or_default(),
        };
        let call = ModelCall {
            model: io.get(model)?,
            messages: conversation(&io.get(asked)?, "messages")?,
            tools: toolbox::definitions(io.context(), &offered)?,
            told_tools: told,
            parameters: settings,
            grammar,
        };
        let live = Live {
            text: Some(io.writer(stream)),
            reasoning: Some(io.writer(reasoning)),
            in_pieces: io.get(in_pieces)?,
        };
        let answer = ask(io.context(), call, live).await?;
        io.set(response, answer.response());
        io.set(usage, answer.usage_object());
        io.set(response_text, answer.text);
        io.set(tool_calls, answer.tool_calls);
        io.done()
    })
}

fn call_grammar(
    context: &NodeContext,
    wanted: &str,
    dialect: &str,
    tools: &[Value],
) -> Result<Option<CallGrammar>, NodeError> {
    let required = match wanted {
        "" | "off" => return Ok(None),
        "auto" => false,
        "on" => true,
        other => {
            let message = format!("the grammar '{other}' is none of off, auto and on");
            return Err(NodeError::invalid("llm.grammar", message));
        }
    };
    let dialect = match dialect {
        "tam" => Protocol::Tam,
        "action" => Protocol::Action,
        "native" => Protocol::Native(Provider::OpenAi),
        other => {
            let message = format!("the dialect '{other}' is none of tam, action and native");
            return Err(NodeError::invalid("llm.grammar", message));
        }
    };
    Ok(Some(CallGrammar {
        tools: toolbox::definitions(context, tools)?,
        dialect,
        required,
    }))
}
