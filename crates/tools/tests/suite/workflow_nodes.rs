//! Nodes for tests of workflows, and a world with an engine that has them.

use std::borrow::Cow;
use std::fs;
use std::sync::Arc;

use innkeeper_engine::node::{NodeBuilder, any, object, text};
use innkeeper_engine::port::{BusEvent, ToolListener};
use innkeeper_engine::{EngineOptions, ExecutionEngine, NodeError, NodeManager, NodeType};
use innkeeper_protocol::{
    Argument, Outcome, Protocol, Span, ToolCallRequest, Value, render_observation,
};
use innkeeper_store::Store;
use innkeeper_tools::builtin;
use innkeeper_tools::policy::{Approver, Nobody};
use innkeeper_tools::registry::{Offer, Prepared};
use innkeeper_tools::workflow::{BusPublisher, WorkflowParts, WorkflowService};
use serde_json::{Value as Json, json};

use super::harness::World;

pub(super) struct Flows {
    pub(super) world: World,
    pub(super) workflows: WorkflowService,
}

impl Flows {
    pub(super) async fn new() -> Self {
        Self::with(Arc::new(Nobody)).await
    }

    pub(super) async fn with(approver: Arc<dyn Approver>) -> Self {
        let world = World::with(Store::in_memory().await.unwrap(), approver);
        let publisher = Arc::new(BusPublisher(world.bus.clone()));
        let events = builtin::event::tools(publisher).into_iter();
        let events = events
            .map(|(definition, executor)| Offer::new(Prepared::new(definition).unwrap(), executor));
        world.offer("builtin:events", events.collect());
        let nodes = NodeManager::new();
        nodes.replace("test", all()).unwrap();
        let workflows = WorkflowService::new(WorkflowParts {
            engine: ExecutionEngine::new(nodes, EngineOptions::default()),
            home: world.home.path().to_owned(),
            models: None,
            bus: world.bus.clone(),
        });
        workflows.reload(world.manager.registry());
        Self { world, workflows }
    }

    /// A file below the home folder.
    pub(super) fn file(&self, path: &str, content: &Json) {
        let path = self.world.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.to_string()).unwrap();
    }

    pub(super) fn library(&self, stem: &str, content: &Json) {
        self.file(&format!("library/workflows/{stem}.json"), content);
    }

    pub(super) fn reload(&self) {
        self.workflows.reload(self.world.manager.registry());
    }
}

/// A workflow in which one node stands between the inputs and the outputs: slots of the same names are connected.
pub(super) fn around(
    kind: &str,
    inputs: &[(&str, &str)],
    outputs: &[(&str, &str)],
    values: Json,
) -> Json {
    let slots = |list: &[(&str, &str)]| -> Json {
        let slot = |(key, flow): &(&str, &str)| {
            let (flow, is_stream) = match flow.strip_prefix('~') {
                Some(flow) => (flow, true),
                None => (*flow, false),
            };
            let mut slot = json!({"key": key, "dataFlowType": flow});
            if is_stream {
                slot["isStream"] = true.into();
            }
            ((*key).to_owned(), slot)
        };
        Json::Object(list.iter().map(slot).collect())
    };
    let edge = |from: &str, to: &str, key: &str| json!({"id": format!("{from}-{to}-{key}"), "source": from, "sourceHandle": key, "target": to, "targetHandle": key});
    let into = inputs.iter().map(|(key, _)| edge("in", "work", key));
    let out = outputs.iter().map(|(key, _)| edge("work", "out", key));
    json!({
        "name": "A workflow",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "work", "type": kind, "displayName": "The work", "inputValues": values},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": into.chain(out).collect::<Vec<_>>(),
        "interfaceInputs": slots(inputs),
        "interfaceOutputs": slots(outputs),
    })
}

/// A workflow that calls a tool with `arguments` and gives what came of it.
pub(super) fn calling(tool: &str, arguments: &Json) -> Json {
    let outputs = [("result", "WILDCARD"), ("told", "STRING")];
    let values = json!({"tool": tool, "arguments": arguments});
    around("test:Call", &[], &outputs, values)
}

pub(super) fn request(tool: &str, arguments: &Json) -> ToolCallRequest<'static> {
    let mut request = ToolCallRequest::new(Protocol::ToolCall, Cow::Owned(tool.to_owned()));
    let fields = arguments.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| {
        Argument::exact(name.clone(), Value::Json(value.clone()), Span::default())
    });
    request.arguments = fields.collect();
    request
}

fn node(name: &str) -> NodeBuilder {
    NodeBuilder::new("test", name, "Test", name, "For tests")
}

fn all() -> Vec<NodeType> {
    vec![shout(), pieces(), call(), fail(), talk(), listen()]
}

fn shout() -> NodeType {
    let mut node = node("Shout");
    let word = node.input(text("text").required().about("What to shout"));
    let mark = node.input(text("mark").default("!").choice(&["!", "?"]));
    let out = node.output(text("loud"));
    node.inline(move |io| {
        let (word, mark) = (io.get(word)?, io.get(mark)?);
        io.set(out, word.to_uppercase() + &mark);
        Ok(())
    })
}

/// Says a text letter by letter.
fn pieces() -> NodeType {
    let mut node = node("Pieces");
    let word = node.input(text("text"));
    let out = node.output(text("letters").stream());
    let count = node.output(any("count"));
    node.effects();
    node.task(move |mut io| async move {
        let word = io.get(word)?;
        let writer = io.writer(out);
        for (done, letter) in word.chars().enumerate() {
            io.context().progress(done as f64, word.len() as f64);
            writer.text(letter).await?;
        }
        io.set(count, word.len() as u64);
        io.done()
    })
}

fn call() -> NodeType {
    let mut node = node("Call");
    let tool = node.input(text("tool"));
    let arguments = node.input(object("arguments"));
    let (result, told) = (node.output(any("result")), node.output(text("told")));
    node.effects();
    node.task(move |mut io| async move {
        let (tool, arguments) = (io.get(tool)?, io.get(arguments)?);
        let request = request(&tool, &Json::Object(arguments));
        let tools = io.context().tools()?.clone();
        let heard: Arc<dyn ToolListener> = Arc::new(Previews(io.context().clone()));
        let observation = tools
            .call(request, heard, io.context().cancel.clone())
            .await;
        io.set(told, render_observation(&observation));
        if let Outcome::Success { result: value, .. } = observation.outcome {
            io.set(result, value);
        }
        io.done()
    })
}

struct Previews(innkeeper_engine::node::NodeContext);

impl ToolListener for Previews {
    fn partial(&self, piece: &Json) {
        self.0.preview(piece.to_string());
    }
}

fn fail() -> NodeType {
    let mut node = node("Fail");
    let code = node.input(text("code").default("test.broken"));
    let out = node.output(text("never"));
    node.effects();
    node.inline(move |io| {
        let code = io.get(code)?;
        let _ = out;
        match code.strip_prefix("may.") {
            Some(_) => Err(NodeError::failed(code, "the glass fell")),
            None => Err(NodeError::invalid(code, "the glass fell")),
        }
    })
}

fn talk() -> NodeType {
    let mut node = node("Talk");
    let kind = node.input(text("type"));
    let id = node.output(text("id"));
    node.effects();
    node.task(move |mut io| async move {
        let event = BusEvent {
            kind: io.get(kind)?,
            payload: json!({"said": "hello"}),
        };
        let bus = io.context().event_bus()?.clone();
        let given = bus.publish(event).await?;
        io.set(id, given);
        io.done()
    })
}

/// Waits for one event.
fn listen() -> NodeType {
    use futures_util::StreamExt;
    let mut node = node("Listen");
    let kind = node.input(text("type"));
    let heard = node.output(any("heard"));
    node.effects();
    node.task(move |mut io| async move {
        let names = vec![io.get(kind)?];
        let bus = io.context().event_bus()?.clone();
        let mut events = bus.subscribe(names).await?;
        io.context().progress(1.0, 2.0);
        let event = events.next().await;
        if let Some(event) = event {
            io.set(heard, json!({"type": event.kind, "payload": event.payload}));
        }
        io.done()
    })
}
