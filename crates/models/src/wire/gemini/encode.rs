//! A request in Gemini's words.

use serde_json::{Map, Value as Json, json};

use super::{OWN, PART, SIGNATURE, TAIL};
use crate::provider::Quirks;
use crate::trouble::refused;
use crate::wire::overlay::lay_over;
use crate::wire::schema::gemini_parameters;
use crate::wire::talk::{Answer, Item, Side, Talk, name_of};
use crate::wire::{WireRequest, written};
use crate::{Constraint, Image, ModelError, ModelRequest, ToolCall, ToolChoice, ToolSpec};

/// What Google has given out for calls that its models did not make themselves: from Gemini 3 on, a call without a
/// signature is refused.
const NOT_OURS: &str = "skip_thought_signature_validator";

/// Fields of its own that people put into payloads of OpenAI's shape.
const KNOWN: [&str; 4] = [
    "cachedContent",
    "generationConfig",
    "safetySettings",
    "toolConfig",
];

pub(in crate::wire) fn encode(
    request: &ModelRequest,
    _quirks: &Quirks,
) -> Result<WireRequest, ModelError> {
    let request = written(request, &KNOWN)?;
    let talk = Talk::read(&request.messages, &OWN);

    let mut body = Map::new();
    if !talk.instructions.is_empty() {
        let parts: Vec<Json> = talk
            .instructions
            .iter()
            .map(|said| json!({"text": said}))
            .collect();
        body.insert("systemInstruction".into(), json!({"parts": parts}));
    }
    body.insert("contents".into(), contents(talk, strict(&request.model))?);
    if !request.tools.is_empty() {
        let tools: Vec<Json> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
        if let Some(calling) = calling(&request.tool_choice) {
            body.insert(
                "toolConfig".into(),
                json!({"functionCallingConfig": calling}),
            );
        }
    }
    let config = generation_config(&request)?;
    if !config.is_empty() {
        body.insert("generationConfig".into(), Json::Object(config));
    }
    lay_over(&mut body, &request.extras);
    Ok(WireRequest {
        path: path(&request.model, request.stream)?,
        headers: Vec::new(),
        body: Json::Object(body).to_string().into_bytes(),
        streams: request.stream,
    })
}

fn path(model: &str, stream: bool) -> Result<String, ModelError> {
    let (kind, name) = match model.split_once('/') {
        Some((kind @ ("models" | "tunedModels"), name)) => (kind, name),
        _ => ("models", model),
    };
    if name.is_empty() {
        return Err(refused(
            "no model is named; name one, such as `gemini-2.5-flash`",
        ));
    }
    let mut path = format!("{kind}/");
    for byte in name.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            byte => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path.push_str(match stream {
        true => ":streamGenerateContent?alt=sse",
        false => ":generateContent",
    });
    Ok(path)
}

/// From Gemini 3 on, calls must be signed and images stand inside the results they belong to.
fn strict(model: &str) -> bool {
    let Some((_, generation)) = model
        .rsplit('/')
        .next()
        .and_then(|name| name.split_once("gemini-"))
    else {
        return false;
    };
    let digits: String = generation
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits
        .parse::<u32>()
        .is_ok_and(|generation| generation >= 3)
}

fn contents(talk: Talk<'_>, strict: bool) -> Result<Json, ModelError> {
    let mut contents = Vec::new();
    for turn in talk.turns {
        let mut parts = Vec::new();
        // Images of results, for models that do not take them inside.
        let mut beside = Vec::new();
        let mut called = false;
        for item in turn.items {
            if !matches!(item, Item::Answer(_)) {
                parts.append(&mut beside);
            }
            match item {
                Item::Text { text, signed } => said(&text, signed, &mut parts),
                Item::Reasoning { text, signed } => thought(text, signed, &mut parts),
                Item::Call { id, call, signed } => {
                    let signature = signed.and_then(|signed| signed.get(SIGNATURE));
                    // Of calls made together only the first is signed.
                    let ours = json!(NOT_OURS);
                    let signature = signature.or((strict && !called).then_some(&ours));
                    called = true;
                    let call = json!({"id": id, "name": name_of(call), "args": args(call)});
                    parts.push(sign(json!({"functionCall": call}), signature));
                }
                Item::Answer(answer) => {
                    let images = answer.images.iter().map(|shown| image(shown));
                    let images = images.collect::<Result<Vec<_>, _>>()?;
                    let mut response = response(&answer);
                    if strict && !images.is_empty() {
                        response["parts"] = json!(images);
                    } else {
                        beside.extend(images);
                    }
                    parts.push(json!({"functionResponse": response}));
                }
                Item::Image(shown) => parts.push(image(shown)?),
                Item::Opaque(value) => parts.push(value.get(PART).unwrap_or(value).clone()),
            }
        }
        parts.append(&mut beside);
        let role = match turn.side {
            Side::User => "user",
            Side::Model => "model",
        };
        contents.push(json!({"role": role, "parts": parts}));
    }
    Ok(Json::Array(contents))
}

fn sign(mut part: Json, signature: Option<&Json>) -> Json {
    if let Some(signature) = signature {
        part[SIGNATURE] = signature.clone();
    }
    part
}

/// A text in the pieces that were signed apart.
fn split<'t>(text: &'t str, signed: &Json) -> (&'t str, &'t str) {
    let tail = signed.get(TAIL).and_then(Json::as_u64);
    let tail = tail.and_then(|tail| usize::try_from(tail).ok());
    let at = tail.and_then(|tail| text.len().checked_sub(tail));
    at.and_then(|at| text.split_at_checked(at))
        .unwrap_or(("", text))
}

fn said(text: &str, signed: Option<&Json>, parts: &mut Vec<Json>) {
    let Some(signed) = signed else {
        parts.push(json!({"text": text}));
        return;
    };
    let (before, text) = split(text, signed);
    if !before.is_empty() {
        parts.push(json!({"text": before}));
    }
    parts.push(sign(json!({"text": text}), signed.get(SIGNATURE)));
}

/// Thoughts that are not signed need not come back.
fn thought(text: &str, signed: &Json, parts: &mut Vec<Json>) {
    let (_, text) = split(text, signed);
    let part = json!({"text": text, "thought": true});
    parts.push(sign(part, signed.get(SIGNATURE)));
}

/// They must be an object. What is none is sent as `{"_raw": "…"}`, so that the model sees what it wrote.
fn args(call: &ToolCall) -> Json {
    match call.arguments_object() {
        Some(arguments) => Json::Object(arguments),
        None => json!({"_raw": call.arguments}),
    }
}

fn response(answer: &Answer<'_>) -> Json {
    let key = match answer.is_error {
        true => "error",
        false => "result",
    };
    json!({"id": answer.id, "name": answer.name, "response": {key: answer.content}})
}

fn image(image: &Image) -> Result<Json, ModelError> {
    if let Some((media_type, data)) = image.inline_data() {
        let media_type = media_type.split(';').next().unwrap_or_default();
        return Ok(json!({"inlineData": {"mimeType": media_type, "data": data}}));
    }
    if !["http://", "https://", "gs://"]
        .iter()
        .any(|scheme| image.url.starts_with(scheme))
    {
        return Err(refused(
            "an image cannot be sent: its address is neither http(s) nor a data: URL in base64; give one of these",
        ));
    }
    let mut file = json!({"fileUri": image.url});
    if let Some(media_type) = media_type(&image.url) {
        file["mimeType"] = json!(media_type);
    }
    Ok(json!({"fileData": file}))
}

/// By the ending of an address, which may have a query.
fn media_type(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

fn tool(tool: &ToolSpec) -> Json {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(tool.name));
    if !tool.description.is_empty() {
        fields.insert("description".into(), json!(tool.description));
    }
    if let Some(parameters) = gemini_parameters(&tool.parameters) {
        fields.insert("parameters".into(), parameters);
    }
    Json::Object(fields)
}

fn calling(choice: &ToolChoice) -> Option<Json> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Tool(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
    }
}

fn generation_config(request: &ModelRequest) -> Result<Map<String, Json>, ModelError> {
    let sampling = &request.sampling;
    let number = |value: Option<f64>| {
        value
            .filter(|value| value.is_finite())
            .map(|value| json!(value))
    };
    let stop: Vec<&String> = sampling
        .stop
        .iter()
        .filter(|stop| !stop.is_empty())
        .collect();
    let fields = [
        ("maxOutputTokens", sampling.max_tokens.map(Json::from)),
        ("temperature", number(sampling.temperature)),
        ("topP", number(sampling.top_p)),
        ("topK", sampling.top_k.map(Json::from)),
        ("stopSequences", (!stop.is_empty()).then(|| json!(stop))),
        ("seed", sampling.seed.map(Json::from)),
        ("presencePenalty", number(sampling.presence_penalty)),
        ("frequencyPenalty", number(sampling.frequency_penalty)),
    ];
    let mut config: Map<String, Json> = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    match &request.constraint {
        None | Some(Constraint::GrammarIfTaken(_)) => {}
        Some(Constraint::JsonObject) => {
            config.insert("responseMimeType".into(), json!("application/json"));
        }
        Some(Constraint::Json(schema)) => {
            config.insert("responseMimeType".into(), json!("application/json"));
            // Unlike `responseSchema` it takes JSON Schema, so nothing that holds the answer is lost.
            let mut schema = schema.clone();
            if let Some(fields) = schema.as_object_mut() {
                fields.shift_remove("$schema");
            }
            config.insert("responseJsonSchema".into(), schema);
        }
        Some(Constraint::Grammar(_)) => {
            return Err(refused(
                "Gemini's format takes no grammar; use native tools, a JSON schema, or a llama.cpp or vLLM server",
            ));
        }
    }
    Ok(config)
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
