//! GenericLlmRequest: the older way to ask a model, with ComfyTavern's slots.

use serde_json::Map;

use super::ask::{Live, ask, conversation, object_of};
use crate::node::{NodeBuilder, NodeType, any, boolean, float, integer, object, text};
use crate::port::ModelCall;

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "GenericLlmRequest",
        "LLM",
        "Model request",
        "Sends messages to a language model and gives its answer, whole and as a stream",
    );
    let asked = node.input(
        any("messages")
            .title("Messages")
            .category("ChatHistory")
            .default("[]"),
    );
    let parameters = node.input(
        any("parameters")
            .title("Parameters")
            .about("Beats the single settings")
            .default("{}"),
    );
    let model = node.input(text("activated_model_id").title("Model"));
    let temperature = node.input(
        float("temperature")
            .title("Temperature")
            .default(0.7)
            .range(0, 2),
    );
    let max_tokens = node.input(integer("max_tokens").title("Most tokens").default(2048));
    let top_p = node.input(float("top_p").title("Top p").default(1.0).range(0, 1));
    let seed = node.input(
        integer("seed")
            .title("Seed")
            .about("Sent if it is more than 0")
            .default(0),
    );
    let in_pieces = node.input(boolean("stream").title("Stream").default(false));
    let response = node.output(object("response").title("Response"));
    let response_text = node.output(text("responseText").title("Text"));
    let usage = node.output(object("usage").title("Usage"));
    let stream = node.output(text("stream_output").title("Stream").stream());
    node.effects();
    node.task(move |mut io| async move {
        let mut settings = Map::new();
        settings.insert("temperature".into(), io.get(temperature)?.into());
        settings.insert("max_tokens".into(), io.get(max_tokens)?.into());
        settings.insert("top_p".into(), io.get(top_p)?.into());
        let number = io.get(seed)?;
        if number > 0 {
            settings.insert("seed".into(), number.into());
        }
        settings.extend(object_of(&io.get(parameters)?, "parameters")?);
        let call = ModelCall {
            model: io.get(model)?,
            messages: conversation(&io.get(asked)?, "messages")?,
            parameters: settings,
            ..ModelCall::default()
        };
        let live = Live {
            text: Some(io.writer(stream)),
            reasoning: None,
            in_pieces: io.get(in_pieces)?,
        };
        let answer = ask(io.context(), call, live).await?;
        io.set(response, answer.response());
        io.set(usage, answer.usage_object());
        io.set(response_text, answer.text);
        io.done()
    })
}
