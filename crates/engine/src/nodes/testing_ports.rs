//! A model, tools and an event bus that do what a test tells them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use innkeeper_protocol::{
    ErrorCode, Locale, Observation, Protocol, ToolCallRequest, ToolDefinition, render_manifest,
};
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use crate::NodeError;
use crate::port::{
    BusEvent, BusEvents, EventPort, ModelCall, ModelChunks, ModelPort, Services, ToolListener,
    ToolPort,
};
use crate::stream::{Chunk, ChunkKind};

/// One answer of the model.
pub(crate) enum Turn {
    Chunks(Vec<Chunk>),
    Fails(NodeError),
    /// Says this much, then nothing more until it is stopped.
    Hangs(Vec<Chunk>),
}

/// Answers in turn, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    pub(crate) turns: Mutex<VecDeque<Turn>>,
    pub(crate) asked: Mutex<Vec<ModelCall>>,
    /// Fires when a turn that hangs has begun.
    pub(crate) hanging: tokio::sync::Notify,
}

impl ScriptedModel {
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::new(turns.into_iter().collect()),
            ..Self::default()
        })
    }

    /// Each answer in pieces of a few characters.
    pub(crate) fn saying(texts: &[&str]) -> Arc<Self> {
        Self::new(texts.iter().map(|text| Turn::Chunks(pieces(text))))
    }

    pub(crate) fn asked(&self, turn: usize) -> ModelCall {
        self.asked.lock().unwrap()[turn].clone()
    }
}

pub(crate) fn pieces(text: &str) -> Vec<Chunk> {
    let letters: Vec<char> = text.chars().collect();
    let mut chunks: Vec<Chunk> = letters
        .chunks(7)
        .map(|piece| Chunk::text(piece.iter().collect::<String>()))
        .collect();
    chunks.push(Chunk::new(ChunkKind::FinishReason, "stop"));
    chunks.push(Chunk::new(ChunkKind::Usage, json!({"total_tokens": 3})));
    chunks
}

#[async_trait]
impl ModelPort for ScriptedModel {
    async fn stream(
        &self,
        call: ModelCall,
        _: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        self.asked.lock().unwrap().push(call);
        let turn = self.turns.lock().unwrap().pop_front();
        match turn.expect("the model was asked more often than it has answers") {
            Turn::Chunks(chunks) => Ok(stream::iter(chunks.into_iter().map(Ok)).boxed()),
            Turn::Fails(error) => Err(error),
            Turn::Hangs(chunks) => {
                self.hanging.notify_one();
                let said = stream::iter(chunks.into_iter().map(Ok));
                Ok(said.chain(stream::pending()).boxed())
            }
        }
    }
}

type Answer = dyn Fn(&Map<String, Json>) -> Result<Json, (ErrorCode, String)> + Send + Sync;

/// Tools with answers, and a list of what was called.
#[derive(Default)]
pub(crate) struct ScriptedTools {
    tools: Vec<(Arc<ToolDefinition>, Box<Answer>)>,
    /// Pieces that every tool gives before its result, waiting for room.
    pub(crate) pieces: usize,
    pub(crate) called: Mutex<Vec<(String, Map<String, Json>)>>,
}

impl ScriptedTools {
    pub(crate) fn with(
        mut self,
        name: &str,
        answer: impl Fn(&Map<String, Json>) -> Result<Json, (ErrorCode, String)> + Send + Sync + 'static,
    ) -> Self {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}, "file_path": {"type": "string"}}});
        let tool = ToolDefinition::new(name, format!("About {name}"), schema);
        self.tools.push((Arc::new(tool), Box::new(answer)));
        self
    }

    /// Files by path, which can be read whole, written and added to.
    pub(crate) fn with_files(self, files: &Arc<Mutex<Map<String, Json>>>) -> Self {
        let path =
            |arguments: &Map<String, Json>| arguments["file_path"].as_str().unwrap().to_owned();
        let (read, write, append) = (files.clone(), files.clone(), files.clone());
        self.with("File.Read", move |arguments| {
            let path = path(arguments);
            match read.lock().unwrap().get(&path) {
                Some(content) => Ok(
                    json!({"path": path, "content": content, "totalLines": 1, "truncated": false}),
                ),
                None => Err((
                    ErrorCode::WorkspaceFileNotFound,
                    format!("there is no '{path}'"),
                )),
            }
        })
        .with("File.Write", move |arguments| {
            let content = arguments["content"].clone();
            write.lock().unwrap().insert(path(arguments), content);
            Ok(json!({"path": path(arguments), "bytes": 3, "created": true}))
        })
        .with("File.Append", move |arguments| {
            let mut files = append.lock().unwrap();
            let old = files
                .get(&path(arguments))
                .and_then(Json::as_str)
                .unwrap_or_default();
            let new = format!("{old}{}", arguments["content"].as_str().unwrap());
            files.insert(path(arguments), new.clone().into());
            Ok(json!({"path": path(arguments), "bytes": new.len()}))
        })
    }

    pub(crate) fn names_called(&self) -> Vec<String> {
        let called = self.called.lock().unwrap();
        called.iter().map(|(name, _)| name.clone()).collect()
    }
}

#[async_trait]
impl ToolPort for ScriptedTools {
    fn list(&self) -> Vec<Arc<ToolDefinition>> {
        self.tools.iter().map(|(tool, _)| tool.clone()).collect()
    }

    fn manifest(
        &self,
        tools: &[Arc<ToolDefinition>],
        protocol: Protocol,
        locale: Locale,
    ) -> String {
        let manifest = render_manifest(tools.iter().map(Arc::as_ref), protocol, locale);
        manifest.text().unwrap_or_default().to_owned()
    }

    async fn call(
        &self,
        request: ToolCallRequest<'static>,
        heard: Arc<dyn ToolListener>,
        _: CancellationToken,
    ) -> Observation {
        let arguments = request.params();
        let tool = request.tool.to_string();
        self.called
            .lock()
            .unwrap()
            .push((tool.clone(), arguments.clone()));
        let Some((_, answer)) = self
            .tools
            .iter()
            .find(|(known, _)| known.id.as_str() == tool)
        else {
            return Observation::unknown_tool(tool, Vec::new());
        };
        heard.partial(&json!(format!("{tool} is at work")));
        for number in 0..self.pieces {
            if let Some(room) = heard.room() {
                room.await;
            }
            heard.partial(&json!(format!("<{number}>")));
        }
        tokio::task::yield_now().await;
        match answer(&arguments) {
            Ok(result) => Observation::success(tool, result),
            Err((code, message)) => Observation::error(tool, code, message),
        }
    }
}

/// Gives the same events to everyone who asks, and keeps those that are published.
#[derive(Default)]
pub(crate) struct ScriptedBus {
    pub(crate) events: Vec<BusEvent>,
    pub(crate) published: Mutex<Vec<BusEvent>>,
    pub(crate) names: Mutex<Vec<String>>,
}

#[async_trait]
impl EventPort for ScriptedBus {
    async fn publish(&self, event: BusEvent) -> Result<String, NodeError> {
        self.published.lock().unwrap().push(event);
        Ok("event-1".to_owned())
    }

    async fn subscribe(&self, names: Vec<String>) -> Result<BusEvents, NodeError> {
        *self.names.lock().unwrap() = names;
        Ok(stream::iter(self.events.clone())
            .chain(stream::pending())
            .boxed())
    }
}

pub(crate) fn services(model: &Arc<ScriptedModel>, tools: &Arc<ScriptedTools>) -> Services {
    Services {
        tools: Some(tools.clone()),
        models: Some(model.clone()),
        ..Services::default()
    }
}

pub(crate) fn with_tools(tools: &Arc<ScriptedTools>) -> Services {
    Services {
        tools: Some(tools.clone()),
        ..Services::default()
    }
}

pub(crate) fn with_model(model: &Arc<ScriptedModel>) -> Services {
    Services {
        models: Some(model.clone()),
        ..Services::default()
    }
}
