//! Language models for workflows: the engine's port over the models of this house.
//!
//! Owns how a node's request becomes a model's, and a model's pieces chunks of a stream. What models there are, and how
//! they are asked, is the models crate's. A workflow names a model; it never says where it is asked and with which key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::stream;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{
    CallGrammar, MODEL_ROLE, ModelCall, ModelChunks, ModelFound, ModelPort, PARTS_ROLE, RESPONSE_ID,
};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use innkeeper_models::{
    Constraint, Estimate, GrammarOptions, Message, ModelError, ModelErrorKind, ModelEvent,
    ModelReply, ModelRequest, ModelStream, Models, Part, Sampling, ToolChoice, ToolSpec, grammar,
    messages_from_chat_after, parts_to_chat,
};
use innkeeper_protocol::{
    Aliases, Locale, Manifest, Protocol, Provider, ToolDefinition, render_manifest,
};
use innkeeper_tools::Redactor;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use crate::limits::{
    MAX_CALLS_UNDER_GRAMMAR, MAX_DECLARED_LISTS, MAX_RESPONSE_ID_CHARS, TOLD_TOOLS_FROM,
};

/// What a node of older files hands on with its request. Where a model is asked is the owner's to say.
const NOT_FOLLOWED: &str = "api_settings";

/// Hears the name of the model that is asked where none was named.
pub type DefaultUsed = Arc<dyn Fn(&str) + Send + Sync>;

/// The engine's door to them.
pub struct EngineModels {
    models: Models,
    default_used: Option<DefaultUsed>,
    /// Of the names by which servers call themselves: words are searched for keys where they come in.
    redactor: Redactor,
    /// Lists of tools that were asked with lately, the last one first.
    declared: Mutex<VecDeque<Arc<Declared>>>,
}

/// Tools in the words of a provider. Every turn of an agent tells of the same ones.
struct Declared {
    tools: Vec<Arc<ToolDefinition>>,
    aliases: Aliases,
    specs: Vec<ToolSpec>,
}

impl Declared {
    fn of(tools: &[Arc<ToolDefinition>]) -> Self {
        let definitions = tools.iter().map(AsRef::as_ref);
        let protocol = Protocol::Native(Provider::OpenAi);
        let manifest = render_manifest(definitions, protocol, Locale::En);
        Self {
            specs: specs(&manifest),
            aliases: manifest.aliases,
            tools: tools.to_vec(),
        }
    }

    fn is_of(&self, tools: &[Arc<ToolDefinition>]) -> bool {
        let mut pairs = self.tools.iter().zip(tools);
        self.tools.len() == tools.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl EngineModels {
    pub fn new(models: Models, redactor: Redactor) -> Self {
        Self {
            models,
            default_used: None,
            redactor,
            declared: Mutex::default(),
        }
    }

    fn declared(&self, tools: &[Arc<ToolDefinition>]) -> Arc<Declared> {
        let lock = || self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = lock();
            let place = known.iter().position(|declared| declared.is_of(tools));
            if let Some(declared) = place.and_then(|place| known.remove(place)) {
                known.push_front(declared.clone());
                return declared;
            }
        }
        let declared = Arc::new(Declared::of(tools));
        let mut known = lock();
        known.push_front(declared.clone());
        known.truncate(MAX_DECLARED_LISTS);
        declared
    }

    #[must_use]
    pub fn on_default(mut self, used: DefaultUsed) -> Self {
        self.default_used = Some(used);
        self
    }
}

#[async_trait]
impl ModelPort for EngineModels {
    fn find(&self, model: &str) -> Result<Option<ModelFound>, NodeError> {
        let refused = |error: ModelError| told(&error, &Offered::default());
        if let Some((known, rest)) = self.models.registered_as(model) {
            let (answers, _) = self.models.resolve(model).map_err(refused)?;
            let model = match rest.is_empty() {
                true => answers.id().to_owned(),
                false => rest.to_owned(),
            };
            return Ok(Some(ModelFound {
                channel: known.to_owned(),
                provider: known.to_owned(),
                format: None,
                model,
                context: None,
            }));
        }
        self.models.resolve(model).map_err(refused)?;
        let Some(router) = self.models.router() else {
            return Ok(None);
        };
        let candidates = router
            .candidates(self.models.meant(model))
            .map_err(refused)?;
        // Those that lack something are passed over when it is asked.
        let ready = candidates
            .iter()
            .find(|found| found.channel.ready().is_ok());
        Ok(ready.or(candidates.first()).map(|found| {
            let provider = found.channel.provider();
            let format = serde_json::to_value(provider.format).ok();
            ModelFound {
                channel: found.channel.name().to_owned(),
                provider: provider.id.clone(),
                format: format.and_then(|format| Some(format.as_str()?.to_owned())),
                model: found.model.clone(),
                context: router.window(found),
            }
        }))
    }

    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let resolved = self.models.resolve(&call.model);
        let (model, rest) = resolved.map_err(|error| told(&error, &Offered::default()))?;
        if call.model.trim().is_empty()
            && let (Some(used), Some(name)) = (&self.default_used, self.models.default_name())
        {
            used(name);
        }
        let provider_name = rest.to_owned();
        let declared = self.declared(&call.tools);
        let offered = Offered {
            natively: call.tools.clone(),
            in_words: call.told_tools.clone(),
        };
        let mut request = request(call, &declared)?;
        request.model = provider_name;
        let answer = Answer {
            named: Some(model.id().to_owned()),
            name: model.id().to_owned(),
            stream: Some(model.stream(request, cancel)),
            declared,
            offered,
            redactor: self.redactor.clone(),
        };
        Ok(Box::pin(stream::unfold(answer, |mut answer| async {
            Some((answer.next().await?, answer))
        })))
    }
}

struct Answer {
    /// Who answers, until it has been said; a provider may say more.
    named: Option<String>,
    name: String,
    /// `None` once it is over.
    stream: Option<ModelStream>,
    declared: Arc<Declared>,
    offered: Offered,
    redactor: Redactor,
}

/// The tools of a request.
#[derive(Default)]
struct Offered {
    natively: Vec<Arc<ToolDefinition>>,
    /// Among the messages.
    in_words: Vec<Arc<ToolDefinition>>,
}

impl Offered {
    /// About how many tokens it takes to tell of them.
    fn tokens(&self) -> u64 {
        let native = match self.natively.as_slice() {
            [] => 0,
            all => {
                let request = ModelRequest {
                    tools: Declared::of(all).specs,
                    ..ModelRequest::default()
                };
                Estimate::of_request(&request).likely
            }
        };
        let words = match self.in_words.as_slice() {
            [] => 0,
            all => {
                let tools = all.iter().map(AsRef::as_ref);
                let manifest = render_manifest(tools, Protocol::Tam, Locale::En);
                Estimate::of_text(manifest.text().unwrap_or_default()).likely
            }
        };
        native.saturating_add(words)
    }
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Chunk, NodeError>> {
        if let Some(name) = self.named.take() {
            return Some(Ok(marked(MODEL_ROLE, Chunk::new(ChunkKind::Custom, name))));
        }
        loop {
            match self.stream.as_mut()?.next().await {
                Some(Ok(mut event)) => {
                    if let ModelEvent::Started { model, response_id } = &mut event {
                        *model = match model.is_empty() {
                            true => self.name.clone(),
                            false => self.redactor.redact_text(model).into_owned(),
                        };
                        *response_id = response_id.take().and_then(|id| self.shown_id(&id));
                    }
                    if let Some(chunk) = chunk(event, &self.declared.aliases) {
                        return Some(Ok(chunk));
                    }
                }
                Some(Err(error)) => {
                    self.stream = None;
                    return Some(Err(told(&error, &self.offered)));
                }
                None => {
                    let reply = self.stream.take()?.collect().await.ok()?;
                    return parts(reply, &self.declared.aliases).map(Ok);
                }
            }
        }
    }
}

impl Answer {
    /// Words of a server: no keys, and no more than an id has.
    fn shown_id(&self, id: &str) -> Option<String> {
        let id: String = id.chars().take(MAX_RESPONSE_ID_CHARS).collect();
        let id = self.redactor.redact_text(id.trim()).into_owned();
        (!id.is_empty()).then_some(id)
    }
}

/// What the provider wants back as it was, for the message that the answer becomes.
fn parts(mut reply: ModelReply, aliases: &Aliases) -> Option<Chunk> {
    for part in &mut reply.parts {
        if let Part::ToolCall(call) = part
            && let Some(own) = aliases.resolve(&call.name)
        {
            call.name = own.to_string();
        }
    }
    let parts = parts_to_chat(&reply.parts)?;
    Some(marked(PARTS_ROLE, Chunk::new(ChunkKind::Custom, parts)))
}

fn marked(role: &str, chunk: Chunk) -> Chunk {
    let extra = Map::from_iter([("role".to_owned(), role.into())]);
    Chunk {
        extra: Some(Arc::new(extra)),
        ..chunk
    }
}

/// A conversation as a provider is told it. Every turn of an agent goes on from the one before.
struct Told {
    declared: Arc<Declared>,
    messages: Vec<Arc<Message>>,
}

/// Only what is new is read.
fn messages(call: &ModelCall, declared: &Arc<Declared>) -> Result<Vec<Arc<Message>>, NodeError> {
    let is_of = |told: &Arc<Told>| {
        Arc::ptr_eq(&told.declared, declared) && told.messages.len() <= call.messages.len()
    };
    let told = call.messages.reading::<Told>().filter(is_of);
    let mut messages = told.map_or_else(Vec::new, |told| told.messages.clone());
    let new = match call.messages.as_json() {
        Json::Null => Ok(Vec::new()),
        list => messages_from_chat_after(list, messages.len()),
    };
    let new = new.map_err(|error| NodeError::invalid("model.messages", error.to_string()))?;
    messages.extend(new.into_iter().map(|mut message| {
        rename_calls(&mut message, &declared.aliases);
        Arc::new(message)
    }));
    call.messages.keep_reading(Arc::new(Told {
        declared: declared.clone(),
        messages: messages.clone(),
    }));
    Ok(messages)
}

fn request(call: ModelCall, declared: &Arc<Declared>) -> Result<ModelRequest, NodeError> {
    let messages = messages(&call, declared)?;
    let constraint = call.grammar.as_ref().map(constraint).transpose()?;
    let mut parameters = call.parameters;
    parameters.shift_remove(NOT_FOLLOWED);
    Ok(ModelRequest {
        tools: declared.specs.clone(),
        tool_choice: tool_choice(parameters.shift_remove("tool_choice")),
        sampling: sampling(&mut parameters)?,
        extras: parameters,
        constraint: constraint.flatten(),
        messages,
        ..ModelRequest::default()
    })
}

/// Nothing where the model may answer freely. Whether a server takes it is settled where it is asked: a model may have
/// several, and only some of them can.
fn constraint(wanted: &CallGrammar) -> Result<Option<Constraint>, NodeError> {
    let tools: Vec<_> = wanted.tools.iter().map(AsRef::as_ref).collect();
    let options = GrammarOptions {
        // An agent has to be able to answer, too.
        free_text: true,
        max_calls: MAX_CALLS_UNDER_GRAMMAR,
    };
    match (grammar(&tools, wanted.dialect, options), wanted.required) {
        (Ok(form), true) => Ok(Some(Constraint::Grammar(form))),
        (Ok(form), false) => Ok(Some(Constraint::GrammarIfTaken(form))),
        (Err(_), false) => Ok(None),
        (Err(error), true) => {
            let message = format!("no grammar can be made for the answer: {error}");
            Err(NodeError::invalid("model.grammar", message))
        }
    }
}

/// Calls of earlier turns stand under the tools' own names, which no provider can carry.
fn rename_calls(message: &mut Message, aliases: &Aliases) {
    for part in &mut message.parts {
        match part {
            Part::ToolCall(call) => call.name = carried(&call.name, aliases),
            Part::ToolResult(result) => {
                if let Some(name) = &mut result.name {
                    *name = carried(name, aliases);
                }
            }
            Part::Text { .. } | Part::Reasoning { .. } | Part::Image(_) | Part::Opaque { .. } => {}
        }
    }
}

fn carried(name: &str, aliases: &Aliases) -> String {
    match aliases.resolve(name) {
        Some(tool) => aliases.alias_of(tool).to_owned(),
        // It is not offered any more; that it was called still has to be told.
        None => name
            .chars()
            .map(
                |c| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
                    true => c,
                    false => '_',
                },
            )
            .collect(),
    }
}

/// Under the names that a provider can carry.
fn specs(manifest: &Manifest) -> Vec<ToolSpec> {
    let declared = manifest.declarations().and_then(Json::as_array);
    let tools = declared.into_iter().flatten().filter_map(|tool| {
        let function = tool.get("function").unwrap_or(tool);
        let text = |key: &str| function.get(key).and_then(Json::as_str);
        Some(ToolSpec {
            name: text("name")?.to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            parameters: function
                .get("parameters")
                .cloned()
                .unwrap_or_default()
                .into(),
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
    for key in [
        "temperature",
        "max_tokens",
        "top_p",
        "top_k",
        "frequency_penalty",
        "presence_penalty",
        "seed",
        "stop",
    ] {
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
            "the parameters of the model do not fit: {error}; temperature, top_p and penalties are numbers, max_tokens, top_k and seed whole ones, stop is a text or a list of them"
        );
        NodeError::invalid("model.parameters", message)
    })
}

/// Nothing for what means nothing to a node. What is the provider's own comes with the parts, at the end.
fn chunk(event: ModelEvent, aliases: &Aliases) -> Option<Chunk> {
    match event {
        ModelEvent::Text(text) if text.is_empty() => None,
        ModelEvent::Text(text) => Some(Chunk::text(text)),
        ModelEvent::Reasoning(text) => {
            Some(marked("reasoning", Chunk::new(ChunkKind::Custom, text)))
        }
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
        ModelEvent::Started { model, .. } if model.is_empty() => None,
        ModelEvent::Started { model, response_id } => {
            let mut extra = Map::from_iter([("role".to_owned(), MODEL_ROLE.into())]);
            if let Some(id) = response_id {
                extra.insert(RESPONSE_ID.to_owned(), id.into());
            }
            Some(Chunk {
                extra: Some(Arc::new(extra)),
                ..Chunk::new(ChunkKind::Custom, model)
            })
        }
        ModelEvent::Opaque { .. } => None,
    }
}

fn told(error: &ModelError, offered: &Offered) -> NodeError {
    let mut message = error.message.clone();
    if error.kind == ModelErrorKind::ContextTooLong {
        let count = offered.natively.len() + offered.in_words.len();
        let tokens = offered.tokens();
        if count > 1 && tokens >= TOLD_TOOLS_FROM {
            message.push_str(&format!(
                "; about {tokens} tokens of it tell of {count} tools: offer fewer, as agent-loop does with --input \
                 allow='[\"dice.*\"]'"
            ));
        }
    }
    match error.kind {
        ModelErrorKind::Cancelled => NodeError::invalid("run.cancelled", message),
        kind if kind.may_pass() => NodeError::failed(error.reason(), message),
        _ => NodeError::invalid(error.reason(), message),
    }
}

#[cfg(test)]
#[path = "model_port_tests.rs"]
mod tests;
