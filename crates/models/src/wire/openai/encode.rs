//! A request as a chat-completions body.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};

use super::super::WireRequest;
use super::messages;
use super::plain::Sent;
use crate::provider::{GrammarField, Quirks};
use crate::wire::overlay::lay_over;
use crate::wire::schema::is_strict;
use crate::{Constraint, ModelError, ModelErrorKind, ModelRequest, Sampling, ToolChoice, ToolSpec};

const PATH: &str = "chat/completions";

pub(in super::super) fn encode(
    request: &ModelRequest,
    quirks: &Quirks,
) -> Result<WireRequest, ModelError> {
    if let Some(raw) = &request.raw {
        return Ok(WireRequest {
            path: PATH.to_owned(),
            headers: Vec::new(),
            body: raw.as_str().as_bytes().to_vec(),
            streams: raw.streams(),
        });
    }
    let mut body = Map::new();
    // Only where extras change them is there a need to have them as a tree.
    let are_changed = request.extras.contains_key("tools");
    if !request.tools.is_empty() {
        if are_changed {
            body.insert("tools".into(), json!(Tools(&request.tools)));
        }
        if let Some(choice) = tool_choice(&request.tool_choice) {
            body.insert("tool_choice".into(), choice);
        }
    }
    body.extend(sampling(&request.sampling, quirks));
    if let Some(constraint) = &request.constraint {
        body.extend(constrained(constraint, quirks)?);
    }
    body.insert("stream".into(), request.stream.into());
    if request.stream && quirks.stream_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    lay_over(&mut body, &request.extras);
    let body = Body {
        // Servers with a single model need no name.
        model: Some(request.model.as_str()).filter(|model| !model.is_empty()),
        messages: messages::encode(&request.messages, quirks),
        tools: Some(Tools(&request.tools)).filter(|tools| !are_changed && !tools.0.is_empty()),
        others: &body,
    };
    let body = serde_json::to_vec(&body).map_err(|error| {
        let said = format!("the request cannot be written as JSON: {error}");
        ModelError::new(ModelErrorKind::Refused, said)
    })?;
    Ok(WireRequest {
        path: PATH.to_owned(),
        headers: Vec::new(),
        body,
        streams: request.stream,
    })
}

/// The fields that may be long are written where they lie.
#[derive(Serialize)]
struct Body<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'r str>,
    messages: Vec<Sent<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'r>>,
    #[serde(flatten)]
    others: &'r Map<String, Json>,
}

struct Tools<'r>(&'r [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Tool::of))
    }
}

#[derive(Serialize)]
struct Tool<'r> {
    r#type: &'static str,
    function: Function<'r>,
}

#[derive(Serialize)]
struct Function<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'r str,
    parameters: Cow<'r, Json>,
}

impl<'r> Tool<'r> {
    fn of(tool: &'r ToolSpec) -> Self {
        let parameters = match &*tool.parameters {
            Json::Null => Cow::Owned(json!({"type": "object", "properties": {}})),
            schema => Cow::Borrowed(schema),
        };
        Self {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters,
            },
        }
    }
}

/// `auto` is what happens anyway, and not every server knows the field.
fn tool_choice(choice: &ToolChoice) -> Option<Json> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

fn sampling<'a>(
    sampling: &'a Sampling,
    quirks: &'a Quirks,
) -> impl Iterator<Item = (String, Json)> + 'a {
    let number = |number: Option<f64>| number.filter(|number| number.is_finite()).map(Json::from);
    let max_tokens = sampling.max_tokens.or(quirks.default_max_tokens);
    let fields = [
        ("temperature", number(sampling.temperature)),
        (quirks.max_tokens_field.as_str(), max_tokens.map(Json::from)),
        ("top_p", number(sampling.top_p)),
        ("top_k", sampling.top_k.map(Json::from)),
        ("frequency_penalty", number(sampling.frequency_penalty)),
        ("presence_penalty", number(sampling.presence_penalty)),
        (quirks.seed_field.as_str(), sampling.seed.map(Json::from)),
        (
            "stop",
            (!sampling.stop.is_empty()).then(|| json!(sampling.stop)),
        ),
    ];
    fields
        .into_iter()
        .filter(|(name, _)| !quirks.not_sent.iter().any(|refused| refused == name))
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// `None` where the answer may be free.
fn constrained(
    constraint: &Constraint,
    quirks: &Quirks,
) -> Result<Option<(String, Json)>, ModelError> {
    let refused = |said: &str| Err(ModelError::new(ModelErrorKind::Refused, said));
    match (constraint, quirks.grammar) {
        (Constraint::Grammar(text) | Constraint::GrammarIfTaken(text), Some(field)) => {
            Ok(Some(match field {
                GrammarField::Grammar => ("grammar".into(), text.as_str().into()),
                GrammarField::StructuredOutputs => {
                    ("structured_outputs".into(), json!({"grammar": text}))
                }
            }))
        }
        (Constraint::GrammarIfTaken(_), None) => Ok(None),
        (Constraint::Grammar(_), None) => refused(
            "this provider is not known to hold answers to a grammar; if its server does, set `grammar` of \
             the channel to `grammar` (llama.cpp) or `structured_outputs` (vLLM), else leave the constraint out",
        ),
        (Constraint::Json(schema), _) if quirks.json_schema => {
            let mut format = json!({"name": "answer", "schema": schema});
            if is_strict(schema) {
                format["strict"] = json!(true);
            }
            let format = json!({"type": "json_schema", "json_schema": format});
            Ok(Some(("response_format".into(), format)))
        }
        // Older than schemas, and known where they are not.
        (Constraint::JsonObject, _) => {
            let format = json!({"type": "json_object"});
            Ok(Some(("response_format".into(), format)))
        }
        (Constraint::Json(_), _) => refused(
            "this provider is not known to hold answers to a JSON schema; if its server does, set \
             `quirks.json_schema` of the provider to true, else leave the constraint out",
        ),
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
