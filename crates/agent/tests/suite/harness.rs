//! A house with a store on disk, a model that says what it is told to, and a few tools.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::stream;
use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{AgentParts, RunHandle, StartPrompt, StartRun};
use innkeeper_agent::workspace::{self, StatesInStore, Workspaces};
use innkeeper_agent::{chat, delegation, recall, skills, state};
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelPort};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use innkeeper_engine::{EngineOptions, ExecutionEngine, NodeError, NodeManager};
use innkeeper_protocol::event::{RunEvent, RunId};
use innkeeper_protocol::{Locale, ToolDefinition};
use innkeeper_store::journal::{EventRange, RunJournal};
use innkeeper_store::{LocalBus, Store};
use innkeeper_tools::policy::{Nobody, Policy};
use innkeeper_tools::workflow::{WorkflowExecutor, WorkflowParts, WorkflowService};
use innkeeper_tools::{
    Clock, Executor, FileLayer, Invocation, Parts, SystemClock, ToolError, ToolManager, builtin,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// In the home.
pub(crate) const DATABASE: &str = "innkeeper.db";

/// What the model says next.
pub(crate) enum Say {
    Text(String),
    Native(Vec<(&'static str, &'static str, Json)>),
    Fail(NodeError),
    /// Nothing, until the request is given up.
    Hang,
}

/// Says what it was told to, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Script {
    says: Mutex<VecDeque<Say>>,
    asked: Mutex<Vec<ModelCall>>,
    pub(crate) was_asked: Notify,
}

impl Script {
    pub(crate) fn say(&self, text: &str) {
        self.push(Say::Text(text.to_owned()));
    }

    pub(crate) fn push(&self, say: Say) {
        self.says.lock().unwrap().push_back(say);
    }

    /// Forgets what it was to say.
    pub(crate) fn clear(&self) {
        self.says.lock().unwrap().clear();
    }

    /// Messages of the request of that number, from 0.
    pub(crate) fn request(&self, number: usize) -> Vec<Json> {
        self.asked.lock().unwrap()[number].messages.to_vec()
    }

    /// How it was to answer that request.
    pub(crate) fn parameters(&self, number: usize) -> Json {
        Json::Object(self.asked.lock().unwrap()[number].parameters.clone())
    }

    /// The tools that were declared in that request.
    pub(crate) fn declared(&self, number: usize) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let tools = asked[number].tools.iter();
        tools.map(|tool| tool.id.to_string()).collect()
    }

    /// Until it has been asked so often.
    pub(crate) async fn asked_times(&self, times: usize) {
        while self.requests() < times {
            self.was_asked.notified().await;
        }
    }

    pub(crate) fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// What the model read last before it answered.
    pub(crate) fn last_message(&self, number: usize) -> String {
        let messages = self.request(number);
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

#[async_trait]
impl ModelPort for Script {
    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        self.asked.lock().unwrap().push(call);
        self.was_asked.notify_one();
        let say = self.says.lock().unwrap().pop_front();
        let chunks = match say {
            Some(Say::Text(text)) => vec![Ok(Chunk::text(text))],
            Some(Say::Native(calls)) => calls
                .into_iter()
                .enumerate()
                .map(|(index, (id, name, arguments))| {
                    let piece = json!({"index": index, "id": id, "name": name, "arguments": arguments.to_string()});
                    Ok(Chunk::new(ChunkKind::ToolCall, piece))
                })
                .collect(),
            Some(Say::Fail(error)) => return Err(error),
            Some(Say::Hang) => {
                cancel.cancelled().await;
                return Err(NodeError::invalid("run.cancelled", "given up"));
            }
            None => panic!("the model was asked once more than the script has answers"),
        };
        Ok(spoken(chunks))
    }
}

/// A stream that says this and is over.
pub(crate) fn spoken(mut chunks: Vec<Result<Chunk, NodeError>>) -> ModelChunks {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    chunks.push(Ok(Chunk::new(ChunkKind::Usage, usage)));
    chunks.push(Ok(Chunk::new(ChunkKind::FinishReason, "stop")));
    Box::pin(stream::iter(chunks))
}

/// A tool that gives back what a function makes of its arguments.
pub(crate) struct Does(pub(crate) fn(&Json) -> Result<Json, ToolError>);

#[async_trait]
impl Executor for Does {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        (self.0)(&Json::Object(call.arguments))
    }
}

/// Says when it was called, and waits until it is let go.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) entered: Notify,
    pub(crate) leave: Notify,
    pub(crate) calls: Mutex<u32>,
}

pub(crate) struct Gated(pub(crate) Arc<Gate>);

#[async_trait]
impl Executor for Gated {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        *self.0.calls.lock().unwrap() += 1;
        self.0.entered.notify_one();
        self.0.leave.notified().await;
        Ok(json!("done"))
    }
}

pub(crate) struct House {
    pub(crate) home: Arc<TempDir>,
    pub(crate) script: Arc<Script>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) tools: ToolManager,
    pub(crate) runtime: AgentRuntime,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new()).await
    }

    /// With tools beside those that every house here has.
    pub(crate) async fn with(tools: Vec<builtin::Tool>) -> Self {
        Self::in_home(Arc::new(tempfile::tempdir().unwrap()), tools).await
    }

    /// Another process on the same home, after this one has let go.
    pub(crate) async fn again(self) -> Self {
        self.again_with(Vec::new()).await
    }

    pub(crate) async fn again_with(self, tools: Vec<builtin::Tool>) -> Self {
        self.runtime.close().await;
        self.tools.store().clone().close().await.unwrap();
        Self::in_home(self.home.clone(), tools).await
    }

    pub(crate) async fn in_home(home: Arc<TempDir>, tools: Vec<builtin::Tool>) -> Self {
        let (script, gate) = (Arc::new(Script::default()), Arc::new(Gate::default()));
        let mut own = own_tools(&gate);
        own.extend(tools);
        let (tools, runtime) = open(home.path(), script.clone(), own, |journal| journal).await;
        Self {
            home,
            script,
            gate,
            tools,
            runtime,
        }
    }

    /// A profile of the house.
    pub(crate) fn profile(&self, id: &str, protocol: &str) {
        self.profile_with(id, protocol, |_| {});
    }

    pub(crate) fn profile_with(&self, id: &str, protocol: &str, change: impl FnOnce(&mut Json)) {
        profile(self.home.path(), id, protocol, change);
    }

    pub(crate) async fn start(&self, profile: &str, message: &str) -> RunHandle {
        start(&self.runtime, profile, message).await
    }

    /// Starts and waits for the end.
    pub(crate) async fn run(&self, profile: &str, message: &str) -> (RunHandle, Vec<RunEvent>) {
        let handle = self.start(profile, message).await;
        self.end_of(&handle.run_id).await
    }

    pub(crate) async fn end_of(&self, run: &RunId) -> (RunHandle, Vec<RunEvent>) {
        let handle = self.runtime.wait(run).await.unwrap();
        (handle, self.events(run).await)
    }

    pub(crate) async fn events(&self, run: &RunId) -> Vec<RunEvent> {
        let range = EventRange::After { seq: 0, limit: 500 };
        self.runtime.events(run, range).await.unwrap()
    }
}

pub(crate) fn profile(home: &Path, id: &str, protocol: &str, change: impl FnOnce(&mut Json)) {
    let folder = home.join("agent_profiles");
    std::fs::create_dir_all(&folder).unwrap();
    let mut profile = json!({
        "schemaVersion": 2,
        "kind": "tauritavern.agentProfile",
        "id": id,
        "displayName": id,
        "run": {"presentation": "background", "modelRetry": {"maxRetries": 1, "intervalMs": 1}},
        "tools": {"allow": ["*"], "deny": ["workspace.commit"]},
        "agent": {"protocol": protocol, "textTurn": "answers"},
    });
    change(&mut profile);
    write(&folder.join(format!("{id}.json")), &profile);
}

pub(crate) async fn start(runtime: &AgentRuntime, profile: &str, message: &str) -> RunHandle {
    let asked = StartRun {
        profile_id: Some(profile.to_owned()),
        prompt: Some(StartPrompt::Message(message.to_owned())),
        ..StartRun::default()
    };
    runtime.start(asked).await.unwrap()
}

/// A house on that home, with a journal that may be watched.
pub(crate) async fn open(
    home: &Path,
    models: Arc<dyn ModelPort>,
    own: Vec<builtin::Tool>,
    watched: impl FnOnce(Arc<dyn RunJournal>) -> Arc<dyn RunJournal>,
) -> (ToolManager, AgentRuntime) {
    open_at(home, models, own, watched, Arc::new(SystemClock)).await
}

/// The same at another time.
pub(crate) async fn open_at(
    home: &Path,
    models: Arc<dyn ModelPort>,
    own: Vec<builtin::Tool>,
    watched: impl FnOnce(Arc<dyn RunJournal>) -> Arc<dyn RunJournal>,
    clock: Arc<dyn Clock>,
) -> (ToolManager, AgentRuntime) {
    let store = Store::open(&home.join(DATABASE)).await.unwrap();
    let journal = watched(store.journal());
    let tools = ToolManager::new(Parts {
        files: FileLayer::open(home).unwrap(),
        store,
        bus: Arc::new(LocalBus::new()),
        approver: Arc::new(Nobody),
        policy: anything(),
        clock: Arc::new(SystemClock),
    });
    let workflows = WorkflowService::new(WorkflowParts {
        engine: ExecutionEngine::new(NodeManager::new(), EngineOptions::default()),
        home: home.to_owned(),
        models: Some(models),
        bus: tools.bus().clone(),
    });
    let workspaces = Workspaces::default();
    // Most houses here have a world of their own.
    let has_world = |(tool, _): &builtin::Tool| tool.id.as_str() == "ReadWorldStateTool";
    let states = match own.iter().any(has_world) {
        true => Vec::new(),
        false => state::tools(&workspaces),
    };
    let offered = workspace::tools(&workspaces)
        .into_iter()
        .chain(chat::tools(&workspaces))
        .chain(skills::tools(&workspaces))
        .chain(delegation::tools(&workspaces))
        .chain(states)
        .chain(recall::tools(&workspaces))
        .chain(asking(home, &workflows))
        .chain(own);
    let source = builtin::source(offered).unwrap();
    tools.registry().replace(builtin::SOURCE, source).unwrap();
    let parts = AgentParts {
        tools: tools.clone(),
        workflows,
        home: home.to_owned(),
        workspaces,
        persist: Arc::new(StatesInStore::new(tools.store().states())),
        clock,
        locale: Locale::En,
    };
    let runtime = AgentRuntime::with_journal(parts, journal).unwrap();
    (tools, runtime)
}

/// The workflow `asks` as a tool, in a home that has one.
fn asking(home: &Path, workflows: &WorkflowService) -> Option<builtin::Tool> {
    let file = home.join("library").join("workflows").join("asks.json");
    file.exists().then(|| {
        let parameters = json!({"type": "object", "properties": {"question": {"type": "string"}}});
        let executor = WorkflowExecutor {
            workflows: workflows.clone(),
            workflow: "asks".to_owned(),
            place: None,
        };
        let tool: builtin::Tool = (
            ToolDefinition::new("asks", "Asks a model", parameters),
            Arc::new(executor),
        );
        tool
    })
}

fn anything() -> Policy {
    let rule = json!({"tool": "*", "decision": "allow"});
    Policy::new(vec![serde_json::from_value(rule).unwrap()]).unwrap()
}

pub(crate) fn write(path: &Path, json: &Json) {
    std::fs::write(path, serde_json::to_string_pretty(json).unwrap()).unwrap();
}

fn own_tools(gate: &Arc<Gate>) -> Vec<builtin::Tool> {
    let text = |names: &[&str]| {
        let properties: serde_json::Map<String, Json> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    };
    let mut world = ToolDefinition::new(
        "ReadWorldStateTool",
        "Reads a value from the shared world state",
        text(&["path", "default_value"]),
    );
    world.execution.idempotent = true;
    let mut files = json!({"type": "object", "properties": {"args": {"type": "object", "properties": {
        "file": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}}
    }}}});
    files["required"] = json!(["args"]);
    let player = json!({"type": "object", "properties": {"player_id": {"type": "string"}},
        "required": ["player_id"], "additionalProperties": false});
    vec![
        (world, Arc::new(Does(|_| Ok(json!("sunny"))))),
        (
            ToolDefinition::new("read_file", "Reads files", files),
            Arc::new(Does(|arguments| Ok(arguments["args"]["file"].clone()))),
        ),
        (
            ToolDefinition::new("GetPlayerInfo", "Tells about a player", player),
            Arc::new(Does(|arguments| {
                Ok(json!(format!(
                    "{} is Ann",
                    arguments["player_id"].as_str().unwrap()
                )))
            })),
        ),
        (
            ToolDefinition::new("gate", "Waits", text(&[])),
            Arc::new(Gated(gate.clone())),
        ),
    ]
}

/// Names of events, without those that only tell of progress.
pub(crate) fn names(events: &[RunEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// What must hold for the journal of every run that is over.
pub(crate) fn check_journal(events: &[RunEvent]) {
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "there is a gap");
    }
    let terminal: Vec<u64> = events
        .iter()
        .filter(|event| event.is_terminal())
        .map(|event| event.seq)
        .collect();
    assert_eq!(terminal, [events.len() as u64], "{:?}", names(events));
}
