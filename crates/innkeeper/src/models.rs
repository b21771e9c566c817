//! Language models for workflows: the engine's port over the models of this house.
//!
//! Owns how a node's request becomes a model's, and a model's pieces chunks of a stream. What models there are, and how
//! they are asked, is the models crate's.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelPort};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use innkeeper_models::{
    ModelError, ModelErrorKind, ModelEvent, ModelRequest, Models, Rehearsal, Sampling, Script,
    ScriptError, ToolChoice, ToolSpec, messages_from_chat,
};
use innkeeper_protocol::{Aliases, Locale, Manifest, Protocol, Provider, render_manifest};
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

/// What the rehearsal model is called.
const REHEARSAL: &str = "rehearsal";

/// All models that there are. The rehearsal model plays its own script, or that of the settings. Blocks.
pub(crate) fn open(script: Option<&Path>) -> Result<Models, ScriptError> {
    let rehearsal = match script {
        Some(path) => Rehearsal::new(Script::read_file(path)?),
        None => Rehearsal::demo()?,
    };
    Ok(Models::new().with(REHEARSAL, Arc::new(rehearsal)))
}

/// The engine's door to them.
pub(crate) struct EngineModels(pub(crate) Models);

#[async_trait]
impl ModelPort for EngineModels {
    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let resolved = self.0.resolve(&call.model);
        let (model, rest) = resolved.map_err(|error| told(&error))?;
        let provider_name = rest.to_owned();
        let tools = call.tools.iter().map(AsRef::as_ref);
        let manifest = render_manifest(tools, Protocol::Native(Provider::OpenAi), Locale::En);
        let mut request = request(call, &manifest)?;
        request.model = provider_name;
        let aliases = manifest.aliases;
        let chunks = model.stream(request, cancel).filter_map(move |event| {
            let chunk = match event {
                Ok(event) => chunk(event, &aliases).map(Ok),
                Err(error) => Some(Err(told(&error))),
            };
            std::future::ready(chunk)
        });
        Ok(Box::pin(chunks))
    }
}

fn request(call: ModelCall, manifest: &Manifest) -> Result<ModelRequest, NodeError> {
    let messages = messages_from_chat(&Json::Array(call.messages))
        .map_err(|error| NodeError::invalid("model.messages", error.to_string()))?;
    let mut parameters = call.parameters;
    Ok(ModelRequest {
        tools: tools(manifest),
        tool_choice: tool_choice(parameters.shift_remove("tool_choice")),
        sampling: sampling(&mut parameters)?,
        extras: parameters,
        ..ModelRequest::new("", messages)
    })
}

/// Under the names that a provider can carry.
fn tools(manifest: &Manifest) -> Vec<ToolSpec> {
    let declared = manifest.declarations().and_then(Json::as_array);
    let tools = declared.into_iter().flatten().filter_map(|tool| {
        let function = tool.get("function").unwrap_or(tool);
        let text = |key: &str| function.get(key).and_then(Json::as_str);
        Some(ToolSpec {
            name: text("name")?.to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            parameters: function.get("parameters").cloned().unwrap_or_default(),
        })
    });
    tools.collect()
}

fn tool_choice(written: Option<Json>) -> ToolChoice {
    let Some(written) = written else {
        return ToolChoice::Auto;
    };
    match written.as_str() {
        Some("none") => ToolChoice::None,
        Some("required" | "any") => ToolChoice::Required,
        Some(_) => ToolChoice::Auto,
        None => match written.pointer("/function/name").and_then(Json::as_str) {
            Some(name) => ToolChoice::Tool(name.to_owned()),
            None => ToolChoice::Auto,
        },
    }
}

/// Takes out what every provider knows; the rest goes to this one as it is.
fn sampling(parameters: &mut Map<String, Json>) -> Result<Sampling, NodeError> {
    let mut known = Map::new();
    for key in ["temperature", "max_tokens", "top_p", "seed", "stop"] {
        match parameters.shift_remove(key) {
            None | Some(Json::Null) => {}
            // One word to stop at, or several.
            Some(Json::String(word)) if key == "stop" => {
                known.insert(key.to_owned(), json!([word]));
            }
            Some(value) => {
                known.insert(key.to_owned(), value);
            }
        }
    }
    serde_json::from_value(Json::Object(known)).map_err(|error| {
        let message = format!(
            "the parameters of the model do not fit: {error}; temperature and top_p are numbers, max_tokens and seed whole ones, stop is a text or a list of them"
        );
        NodeError::invalid("model.parameters", message)
    })
}

/// Nothing for what only tells of the connection.
fn chunk(event: ModelEvent, aliases: &Aliases) -> Option<Chunk> {
    match event {
        ModelEvent::Text(text) if text.is_empty() => None,
        ModelEvent::Text(text) => Some(Chunk::text(text)),
        ModelEvent::Reasoning(text) => Some(Chunk {
            extra: Some(Arc::new(Map::from_iter([(
                "role".to_owned(),
                "reasoning".into(),
            )]))),
            ..Chunk::new(ChunkKind::Custom, text)
        }),
        ModelEvent::ToolCall {
            index,
            id,
            name,
            arguments_delta,
        } => {
            let mut piece = json!({"index": index, "arguments": arguments_delta});
            if let Some(id) = id {
                piece["id"] = id.into();
            }
            if let Some(name) = name {
                let own = aliases.resolve(&name).map(ToString::to_string);
                piece["name"] = own.unwrap_or(name).into();
            }
            Some(Chunk::new(ChunkKind::ToolCall, piece))
        }
        ModelEvent::Usage(usage) => Some(Chunk::new(ChunkKind::Usage, json!(usage))),
        ModelEvent::Finish(reason) => {
            let reason = reason.as_str().to_owned();
            Some(Chunk::new(ChunkKind::FinishReason, reason))
        }
        ModelEvent::Started { .. } | ModelEvent::Opaque { .. } => None,
    }
}

fn told(error: &ModelError) -> NodeError {
    let message = error.message.clone();
    match error.kind {
        ModelErrorKind::Cancelled => NodeError::invalid("run.cancelled", message),
        kind if kind.may_pass() => NodeError::failed(error.reason(), message),
        _ => NodeError::invalid(error.reason(), message),
    }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
