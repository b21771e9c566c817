//! A request in Anthropic's words.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use super::OWN;
use crate::limits::DEFAULT_MAX_TOKENS;
use crate::provider::Quirks;
use crate::trouble::refused;
use crate::wire::overlay::lay_over;
use crate::wire::schema::{anthropic_input, anthropic_output};
use crate::wire::talk::{Answer, Item, Side, Talk, Turn, name_of};
use crate::wire::{WireRequest, written};
use crate::{
    Constraint, Image, ModelError, ModelRequest, ToolCall, ToolChoice, ToolSpec, WireFormat,
};

/// Fields of its own that people put into payloads of OpenAI's shape.
const KNOWN: [&str; 5] = [
    "container",
    "context_management",
    "mcp_servers",
    "output_config",
    "thinking",
];

pub(in crate::wire) fn encode(
    request: &ModelRequest,
    quirks: &Quirks,
) -> Result<WireRequest, ModelError> {
    let request = written(request, &KNOWN)?;
    let talk = Talk::read(&request.messages, &OWN);
    let max_tokens = request.sampling.max_tokens;
    let max_tokens = max_tokens.or(quirks.default_max_tokens);

    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert(
        "max_tokens".into(),
        json!(max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)),
    );
    if !talk.instructions.is_empty() {
        let system = talk.instructions.iter().map(|said| text(said));
        body.insert("system".into(), system.collect());
    }
    body.insert("messages".into(), messages(talk)?);
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        if let Some(choice) = tool_choice(&request.tool_choice) {
            body.insert("tool_choice".into(), choice);
        }
    }
    sampling(&request, &mut body);
    if let Some(constraint) = &request.constraint
        && let Some(config) = output_config(constraint)?
    {
        body.insert("output_config".into(), config);
    }
    body.insert("stream".into(), json!(request.stream));
    lay_over(&mut body, &request.extras);
    Ok(WireRequest {
        path: "messages".into(),
        headers: WireFormat::Anthropic.headers(),
        body: Json::Object(body).to_string().into_bytes(),
        streams: request.stream,
    })
}

fn messages(talk: Talk<'_>) -> Result<Json, ModelError> {
    let mut messages: Vec<(Side, Vec<Json>)> = Vec::new();
    for Turn { side, items } in talk.turns {
        let mut blocks = Vec::with_capacity(items.len());
        for item in items {
            blocks.extend(block(side, item)?);
        }
        if side == Side::Model {
            // A turn must not end in a thought. One does where the answer was cut off there.
            while blocks.last().is_some_and(is_thought) {
                blocks.pop();
            }
        }
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, said)) if *last == side => said.extend(blocks),
            _ => messages.push((side, blocks)),
        }
    }
    // The beginning of an answer that the model is to go on with must not end in blanks.
    if let Some((Side::Model, blocks)) = messages.last_mut()
        && let Some(Json::String(said)) = blocks.last_mut().and_then(|last| last.get_mut("text"))
    {
        said.truncate(said.trim_end().len());
    }
    let write = |(side, blocks): (Side, Vec<Json>)| {
        let role = match side {
            Side::User => "user",
            Side::Model => "assistant",
        };
        json!({"role": role, "content": blocks})
    };
    Ok(messages.into_iter().map(write).collect())
}

fn is_thought(block: &Json) -> bool {
    matches!(
        block.get("type").and_then(Json::as_str),
        Some("thinking" | "redacted_thinking")
    )
}

/// `None` for what is not sent.
fn block(side: Side, item: Item<'_>) -> Result<Option<Json>, ModelError> {
    Ok(Some(match item {
        Item::Text { text: said, .. } => text(&said),
        // It signs whole blocks, which come as they were.
        Item::Reasoning { .. } => return Ok(None),
        Item::Call { id, call, .. } => json!({
            "type": "tool_use",
            "id": id,
            "name": name_of(call),
            "input": input(call),
        }),
        Item::Answer(answer) => result(&answer)?,
        Item::Image(shown) if side == Side::User => image(shown)?,
        // Its own side may not show images.
        Item::Image(shown) => match shown.url.starts_with("data:") {
            true => text("[image]"),
            false => text(&format!("[image: {}]", shown.url)),
        },
        Item::Opaque(block) => block.clone(),
    }))
}

fn text(said: &str) -> Json {
    json!({"type": "text", "text": said})
}

/// It must be an object. What is none is sent as `{"_raw": "…"}`, so that the model sees what it wrote.
fn input(call: &ToolCall) -> Json {
    match call.arguments_object() {
        Some(arguments) => Json::Object(arguments),
        None => json!({"_raw": call.arguments}),
    }
}

fn result(answer: &Answer<'_>) -> Result<Json, ModelError> {
    let content = match answer.images.as_slice() {
        [] => json!(answer.content),
        images => {
            let said = (!answer.content.trim().is_empty()).then(|| Ok(text(answer.content)));
            let blocks = said
                .into_iter()
                .chain(images.iter().map(|shown| image(shown)));
            blocks.collect::<Result<Json, _>>()?
        }
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": answer.id, "content": content});
    if answer.is_error {
        block["is_error"] = json!(true);
    }
    Ok(block)
}

fn image(image: &Image) -> Result<Json, ModelError> {
    let Some((media_type, data)) = image.inline_data() else {
        if image.url.starts_with("http://") || image.url.starts_with("https://") {
            return Ok(json!({"type": "image", "source": {"type": "url", "url": image.url}}));
        }
        return Err(refused(
            "an image cannot be sent: its address is neither http(s) nor a data: URL in base64; give one of these",
        ));
    };
    let media_type = media_type.split(';').next().unwrap_or_default();
    let media_type = match media_type.to_ascii_lowercase() {
        jpeg if jpeg == "image/jpg" => Cow::Borrowed("image/jpeg"),
        other => Cow::Owned(other),
    };
    let kind = match &*media_type {
        "application/pdf" => "document",
        _ => "image",
    };
    let source = json!({"type": "base64", "media_type": media_type, "data": data});
    Ok(json!({"type": kind, "source": source}))
}

fn tool(tool: &ToolSpec) -> Json {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert("description".into(), json!(tool.description));
    }
    fields.insert("input_schema".into(), anthropic_input(&tool.parameters));
    Json::Object(fields)
}

fn tool_choice(choice: &ToolChoice) -> Option<Json> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Tool(name) => Some(json!({"type": "tool", "name": name})),
    }
}

/// It knows neither penalties nor a seed, nor a temperature above 1. Newer models refuse `temperature` and `top_p` side
/// by side.
fn sampling(request: &ModelRequest, body: &mut Map<String, Json>) {
    let sampling = &request.sampling;
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    match (finite(sampling.temperature), finite(sampling.top_p)) {
        (Some(value), _) => {
            body.insert("temperature".into(), json!(value.clamp(0.0, 1.0)));
        }
        (None, Some(value)) => {
            body.insert("top_p".into(), json!(value));
        }
        (None, None) => {}
    }
    if let Some(top_k) = sampling.top_k {
        body.insert("top_k".into(), json!(top_k));
    }
    let blank = |stop: &&String| stop.trim().is_empty();
    let stop: Vec<&String> = sampling.stop.iter().filter(|stop| !blank(stop)).collect();
    if !stop.is_empty() {
        body.insert("stop_sequences".into(), json!(stop));
    }
}

/// `None` where the answer may be free.
fn output_config(constraint: &Constraint) -> Result<Option<Json>, ModelError> {
    match constraint {
        Constraint::Json(schema) => {
            let schema = anthropic_output(schema).map_err(|place| {
                refused(format!(
                    "Anthropic holds an answer to named properties only, and the JSON schema wants an object with names \
                     of its own choice at {place}; name its properties there, or make it a list of {{name, value}}"
                ))
            })?;
            Ok(Some(
                json!({"format": {"type": "json_schema", "schema": schema}}),
            ))
        }
        Constraint::JsonObject => Err(refused(
            "Anthropic's format knows no JSON object of any kind; give a JSON schema with the properties that are wanted, \
             or ask for JSON in the prompt",
        )),
        Constraint::GrammarIfTaken(_) => Ok(None),
        Constraint::Grammar(_) => Err(refused(
            "Anthropic's format takes no grammar; use native tools, a JSON schema, or a llama.cpp or vLLM server",
        )),
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
