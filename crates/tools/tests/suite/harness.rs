//! A small world to call tools in: a real store, real files, a real bus, and tools that remember who called them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{
    ErrorCode, ExecutionMode, Observation, Outcome, ToolDefinition, parse, render_observation,
};
use innkeeper_store::{AuditFilter, AuditRecord, LocalBus, Store};
use innkeeper_tools::builtin;
use innkeeper_tools::file::{FileLayer, WriteMode};
use innkeeper_tools::policy::{Approver, Nobody, Policy};
use innkeeper_tools::registry::{Offer, Prepared, Source};
use innkeeper_tools::{
    Caller, Executor, Invocation, Parts, Reach, RunOptions, SystemClock, ToolError, ToolManager,
    ToolRun,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::watch;

pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Json, ToolError>> + Send>>;

/// A tool made of a function.
struct Function<F>(Arc<Seen>, F);

#[async_trait]
impl<F: Fn(Arc<Seen>, Invocation) -> Answer + Send + Sync> Executor for Function<F> {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let id = call.tool.id.to_string();
        self.0.begin(&call);
        let answer = (self.1)(self.0.clone(), call).await;
        self.0.note(format!("end {id}"));
        answer
    }
}

/// What happened inside the tools, and the gates that hold some of them up.
#[derive(Default)]
pub(super) struct Seen {
    calls: Mutex<Vec<(String, Json)>>,
    events: Mutex<Vec<String>>,
    arrived: watch::Sender<BTreeSet<String>>,
    open: watch::Sender<BTreeSet<String>>,
}

impl Seen {
    fn begin(&self, call: &Invocation) {
        let id = call.tool.id.to_string();
        let arguments = Json::Object(call.arguments.clone());
        self.calls.lock().unwrap().push((id.clone(), arguments));
        self.note(format!("begin {id}"));
    }

    fn note(&self, event: String) {
        self.events.lock().unwrap().push(event);
    }

    pub(super) fn open(&self, gate: &str) {
        self.open.send_modify(|gates| {
            gates.insert(gate.to_owned());
        });
    }

    /// Says that it is there, and stays until it may go on.
    pub(super) async fn pass(&self, gate: &str) {
        self.arrived.send_modify(|gates| {
            gates.insert(gate.to_owned());
        });
        let mut open = self.open.subscribe();
        open.wait_for(|gates| gates.contains(gate)).await.unwrap();
    }
}

pub(super) struct World {
    pub(super) manager: ToolManager,
    pub(super) bus: Arc<LocalBus>,
    pub(super) seen: Arc<Seen>,
    // Kept for as long as its files are needed.
    pub(super) home: TempDir,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(Store::in_memory().await.unwrap(), Arc::new(Nobody))
    }

    pub(super) fn with(store: Store, approver: Arc<dyn Approver>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let bus = Arc::new(LocalBus::new());
        let manager = ToolManager::new(Parts {
            files: FileLayer::open(home.path()).unwrap(),
            store,
            bus: bus.clone(),
            approver,
            policy: Policy::default(),
            clock: Arc::new(SystemClock),
        });
        let world = Self {
            manager,
            bus,
            seen: Arc::default(),
            home,
        };
        world.offer("plugin:test", super::tools::all(&world));
        let builtins = builtin::file::tools(world.manager.files())
            .into_iter()
            .chain(builtin::task::tools(world.manager.tasks()))
            .map(|(definition, executor)| Offer::new(Prepared::new(definition).unwrap(), executor))
            .collect();
        world.offer("builtin", builtins);
        world
    }

    pub(super) fn offer(&self, source: &str, tools: Vec<Offer>) {
        let source_of = Source {
            tools,
            ..Source::default()
        };
        self.manager.registry().replace(source, source_of).unwrap();
    }

    /// A tool of this world, made of a function.
    pub(super) fn tool(
        &self,
        id: &str,
        mode: ExecutionMode,
        parameters: Json,
        work: impl Fn(Arc<Seen>, Invocation) -> Answer + Send + Sync + 'static,
    ) -> Offer {
        let mut definition = ToolDefinition::new(id, "For tests.", parameters);
        definition.source = "plugin:test".to_owned();
        definition.execution.mode = mode;
        self.defined(definition, work)
    }

    pub(super) fn defined(
        &self,
        definition: ToolDefinition,
        work: impl Fn(Arc<Seen>, Invocation) -> Answer + Send + Sync + 'static,
    ) -> Offer {
        let executor = Arc::new(Function(self.seen.clone(), work));
        Offer::new(Prepared::new(definition).unwrap(), executor)
    }

    /// An agent's run that may call everything.
    pub(super) fn run(&self, id: &str) -> ToolRun {
        self.run_with(id, RunOptions::default())
    }

    pub(super) fn run_with(&self, id: &str, options: RunOptions) -> ToolRun {
        let caller = Caller::agent("tester", RunId::new(id), Reach::everything());
        self.manager.begin(caller, options)
    }

    /// What comes of a text, in a run of its own.
    pub(super) async fn say(&self, text: &str) -> Vec<Observation> {
        say(&self.run("run-1"), text).await
    }

    /// The ids of the tools that were asked, in order.
    pub(super) fn ran(&self) -> Vec<String> {
        let calls = self.seen.calls.lock().unwrap();
        calls.iter().map(|(id, _)| id.clone()).collect()
    }

    /// The arguments of the calls of one tool, in order.
    pub(super) fn given(&self, tool: &str) -> Vec<Json> {
        let calls = self.seen.calls.lock().unwrap();
        let of_tool = calls.iter().filter(|(id, _)| id == tool);
        of_tool.map(|(_, arguments)| arguments.clone()).collect()
    }

    /// The texts that `Echo` was given.
    pub(super) fn echoed(&self) -> Vec<String> {
        let given = self.given("Echo");
        given.iter().map(|call| text_of(&call["text"])).collect()
    }

    pub(super) fn events(&self) -> Vec<String> {
        self.seen.events.lock().unwrap().clone()
    }

    pub(super) fn open(&self, gate: &str) {
        self.seen.open(gate);
    }

    /// Works on `running` until a tool stands at the gate. What ends before did not wait.
    pub(super) async fn until_at<T>(
        &self,
        gate: &str,
        running: &mut Pin<Box<impl Future<Output = T>>>,
    ) {
        let mut arrived = self.seen.arrived.subscribe();
        tokio::select! {
            _ = running.as_mut() => panic!("it ended before anyone came to the gate {gate}"),
            came = soon(arrived.wait_for(|gates| gates.contains(gate))) => drop(came.unwrap()),
        }
    }

    /// Gives `running` every chance to go on, and sees that it does not end.
    pub(super) async fn still_waits<T>(&self, running: &mut Pin<Box<impl Future<Output = T>>>) {
        for _ in 0..200 {
            tokio::select! {
                biased;
                _ = running.as_mut() => panic!("it did not wait; so far: {:?}", self.events()),
                () = tokio::task::yield_now() => {}
            }
            // A turn of the blocking pool, so that files and the store have had theirs.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        }
    }

    /// The rows of the audit log, oldest first.
    pub(super) async fn audit(&self) -> Vec<AuditRecord> {
        self.manager.store().flush().await.unwrap();
        let rows = self.manager.store().audit();
        let mut rows = rows.query(AuditFilter::default()).await.unwrap();
        rows.sort_by_key(|row| row.id);
        rows
    }

    pub(super) async fn write(&self, path: &str, content: &str) {
        let uri = self.uri(path);
        let bytes = content.as_bytes().to_vec();
        let files = self.manager.files();
        files.write(&uri, bytes, WriteMode::Replace).await.unwrap();
    }

    pub(super) async fn read(&self, path: &str) -> Option<String> {
        let files = self.manager.files();
        files.read_text(&self.uri(path), 1 << 24).await.ok()
    }

    fn uri(&self, path: &str) -> innkeeper_tools::FileUri {
        let caller = Caller::person(RunId::new("setup"));
        self.manager.files().resolve(&caller, path).unwrap()
    }
}

/// What should come at once, and would otherwise hold up the tests for ever.
pub(super) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let limit = std::time::Duration::from_secs(30);
    let work = tokio::time::timeout(limit, work).await;
    work.expect("it never came")
}

pub(super) async fn say(run: &ToolRun, text: &str) -> Vec<Observation> {
    run.run_reply(&parse(text)).await
}

/// `key: value` lines as a TAM block.
pub(super) fn tam(lines: &str) -> String {
    let mut block = String::from("<|[REQUEST_TOOL]|>\n");
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once(':').unwrap();
        block.push_str(&format!("{key}:»»»{}«««\n", value.trim()));
    }
    block + "<|[END_TOOL]|>\n"
}

/// What the model reads.
pub(super) fn told(observations: &[Observation]) -> Vec<String> {
    observations.iter().map(render_observation).collect()
}

/// One word for each observation: `ok`, `started`, `note`, or the code of the error.
pub(super) fn codes(observations: &[Observation]) -> Vec<&'static str> {
    let word = |observation: &Observation| match &observation.outcome {
        Outcome::Success { .. } => "ok",
        Outcome::AsyncStarted { .. } => "started",
        Outcome::Notice { .. } => "note",
        _ => observation.error_code().map_or("?", ErrorCode::as_str),
    };
    observations.iter().map(word).collect()
}

pub(super) fn result(observation: &Observation) -> &Json {
    match &observation.outcome {
        Outcome::Success { result, .. } => result,
        other => panic!("no success: {other:?}"),
    }
}

pub(super) fn task_id(observation: &Observation) -> String {
    match &observation.outcome {
        Outcome::AsyncStarted { task_id } => task_id.clone(),
        other => panic!("no task: {other:?}"),
    }
}

pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A schema of an object with these properties and no others.
pub(super) fn object(properties: Json, required: &[&str]) -> Json {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
