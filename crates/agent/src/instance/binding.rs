//! Which model a run asks, and what is told of a request: the same names that the request goes out under.

use std::sync::Arc;

use innkeeper_engine::port::{ModelFound, ModelPort};
use innkeeper_protocol::{Aliases, ErrorCode, Protocol, ToolDefinition};
use serde_json::{Map, Value as Json, json};

use super::AgentError;
use crate::profile::{AgentProfile, Dialect, ModelMode};
use crate::run::Created;

/// The name under which the model is asked; empty for the default. What was said for this run comes first, then the
/// profile, then what the host has chosen.
pub(super) fn model_name(created: &Created) -> String {
    let profile = &created.profile;
    match (&profile.agent.model, connection(profile)) {
        (Some(model), _) => model.clone(),
        (None, Some((connection, model))) => format!("{connection}/{model}"),
        (None, None) => {
            let chosen = profile.model.model_id.as_ref();
            chosen.unwrap_or(&created.model).clone()
        }
    }
}

fn connection(profile: &AgentProfile) -> Option<(&str, &str)> {
    let choice = &profile.model;
    let is_meant = choice.mode == ModelMode::ConnectionRef;
    let connection = choice.connection_ref.as_deref().filter(|_| is_meant)?;
    Some((connection, choice.model_id.as_deref().unwrap_or_default()))
}

/// A profile that names a connection runs over that one or not at all: another house must not read the conversation.
pub(super) fn check_connection(
    profile: &AgentProfile,
    models: Option<&Arc<dyn ModelPort>>,
) -> Result<(), AgentError> {
    let (Some((connection, model)), Some(models)) = (connection(profile), models) else {
        return Ok(());
    };
    if profile.agent.model.is_some() {
        return Ok(());
    }
    let (reason, message) = match models.find(&format!("{connection}/{model}")) {
        Ok(None) => return Ok(()),
        Ok(Some(found)) if found.channel == connection || found.provider == connection => {
            return Ok(());
        }
        Err(error) if error.code != "model.unknown" => {
            ("agent.profile_model_connection_invalid", error.message)
        }
        Ok(Some(_)) | Err(_) => (
            "agent.profile_model_connection_missing",
            format!("there is no channel '{connection}'"),
        ),
    };
    let message = format!(
        "the profile '{}' asks its model '{model}' over the connection '{connection}', which cannot be used: {message}; choose another in the profile, or connect it with 'innkeeper models'",
        profile.id
    );
    Err(AgentError::new(ErrorCode::AgentInvalidProfile, message).because(reason))
}

/// Before there is a run that could ask nobody.
pub(super) fn check_model(
    model: &str,
    models: Option<&Arc<dyn ModelPort>>,
) -> Result<(), AgentError> {
    match models.map(|models| models.find(model)) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(error)) => {
            let told = AgentError::new(ErrorCode::ModelRequestFailed, error.message);
            Err(told.because(error.code))
        }
    }
}

/// Who will be asked, for `agent_model_binding_resolved`. A model that cannot be found is told by its name; asking it says
/// why it cannot.
pub(super) fn binding(created: &Created, models: Option<&Arc<dyn ModelPort>>) -> Json {
    let name = model_name(created);
    let found = models.and_then(|models| models.find(&name).ok().flatten());
    let found = found.unwrap_or(ModelFound {
        model: name,
        ..ModelFound::default()
    });
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let choice = &created.profile.model;
    let mut told = Map::new();
    told.insert("mode".to_owned(), json!(choice.mode));
    for (key, value) in [
        ("chatCompletionSource", some(found.provider)),
        ("customApiFormat", found.format),
        ("modelId", some(found.model)),
        ("channel", some(found.channel)),
        ("connectionRef", choice.connection_ref.clone()),
    ] {
        if let Some(value) = value {
            told.insert(key.to_owned(), value.into());
        }
    }
    Json::Object(told)
}

/// What events tell of a request.
pub(super) fn request(binding: &Json, messages: usize, tools: usize) -> Json {
    json!({
        "chatCompletionSource": binding["chatCompletionSource"],
        "customApiFormat": binding["customApiFormat"],
        "model": binding["modelId"],
        "messageCount": messages,
        "toolCount": tools,
    })
}

/// The tools as they are told; `modelName` where the model calls them by another name than ours.
pub(super) fn specs(tools: &[Arc<ToolDefinition>], aliases: &Aliases) -> Json {
    let spec = |tool: &Arc<ToolDefinition>| {
        let mut spec = json!({
            "name": tool.id,
            "title": tool.display_name,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": tool.extra.get("annotations").cloned().unwrap_or_else(|| json!({})),
            "source": tool.source,
        });
        let name = aliases.alias_of(&tool.id);
        if name != tool.id.as_str() {
            spec["modelName"] = name.into();
        }
        if let Some(output) = &tool.output {
            spec["outputSchema"] = output.clone();
        }
        spec
    };
    tools.iter().map(spec).collect()
}

pub(super) fn aliases(tools: &[Arc<ToolDefinition>], dialect: Dialect) -> Aliases {
    let tools = tools.iter().map(AsRef::as_ref);
    Aliases::new(tools, protocol(dialect))
}

pub(super) fn protocol(dialect: Dialect) -> Protocol {
    match dialect {
        Dialect::Tam => Protocol::Tam,
        Dialect::Action => Protocol::Action,
        Dialect::Native => Protocol::Native(innkeeper_protocol::Provider::OpenAi),
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
