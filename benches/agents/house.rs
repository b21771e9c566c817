//! A house as the binary puts it together, with one model and one tool of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use innkeeper_agent::instance::{AgentParts, RunHandle, StartPrompt, StartRun};
use innkeeper_agent::workspace::{self, StatesInMemory, Workspaces};
use innkeeper_agent::{AgentRuntime, EngineModels};
use innkeeper_benches::Failed;
use innkeeper_engine::{EngineOptions, ExecutionEngine, NodeManager};
use innkeeper_models::provider::{Auth, Provider, Quirks};
use innkeeper_models::{
    Channel, ChannelConfig, HttpClient, KeyLookup, KeyRef, KeySource, Models, Router, WireFormat,
};
use innkeeper_protocol::event::RunStatus;
use innkeeper_protocol::{Locale, Secret, ToolDefinition};
use innkeeper_store::{LocalBus, Store};
use innkeeper_tools::policy::{Nobody, Policy};
use innkeeper_tools::workflow::{WorkflowParts, WorkflowService};
use innkeeper_tools::{
    Executor, FileLayer, Invocation, Parts, Redactor, SystemClock, ToolError, ToolManager, builtin,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::RUNS;

const MODEL: &str = "bench/model";

pub(crate) struct House {
    home: TempDir,
    tools: ToolManager,
    pub(crate) runtime: AgentRuntime,
}

/// What its tool is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each call is on the disk before it is made.
    Acts,
    /// One that is cut off can simply be made again.
    Reads,
}

/// Says what it was told.
struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        Ok(call.arguments.get("text").cloned().unwrap_or_default())
    }
}

struct NoSecrets;

impl KeySource for NoSecrets {
    fn secret(&self, _: &str) -> Result<Option<Secret>, String> {
        Ok(None)
    }
}

impl House {
    /// Beside this program, which lies on a disk; the folder for temporary files may be memory.
    pub(crate) async fn open(url: &str, kind: Kind) -> Result<Self, Failed> {
        let own = std::env::current_exe()?;
        let home = tempfile::tempdir_in(own.parent().unwrap_or(Path::new(".")))?;
        let store = Store::open(&home.path().join("innkeeper.db")).await?;
        let rule = json!({"tool": "*", "decision": "allow"});
        let tools = ToolManager::new(Parts {
            files: FileLayer::open(home.path())?,
            store,
            bus: Arc::new(LocalBus::new()),
            approver: Arc::new(Nobody),
            policy: Policy::new(vec![serde_json::from_value(rule)?])?,
            clock: Arc::new(SystemClock),
        });
        let workflows = WorkflowService::new(WorkflowParts {
            engine: ExecutionEngine::new(NodeManager::new(), EngineOptions::default()),
            home: home.path().to_owned(),
            models: Some(Arc::new(EngineModels::new(
                models(url)?,
                Redactor::default(),
            ))),
            bus: tools.bus().clone(),
        });
        let workspaces = Workspaces::default();
        let mut echo = ToolDefinition::new(
            "echo",
            "Says what it was told",
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        );
        echo.execution.idempotent = true;
        if kind == Kind::Reads {
            echo.source = builtin::SOURCE.to_owned();
        }
        let offered = workspace::tools(&workspaces)
            .into_iter()
            .chain([(echo, Arc::new(Echo) as Arc<dyn Executor>)]);
        let source = builtin::source(offered)?;
        tools.registry().replace(builtin::SOURCE, source)?;
        let runtime = AgentRuntime::new(AgentParts {
            tools: tools.clone(),
            workflows,
            home: home.path().to_owned(),
            workspaces,
            persist: Arc::new(StatesInMemory::default()),
            clock: Arc::new(SystemClock),
            locale: Locale::En,
        })?;
        Ok(Self {
            home,
            tools,
            runtime,
        })
    }

    pub(crate) fn profile(&self, id: &str, tools: &[&str]) -> Result<(), Failed> {
        let folder = self.home.path().join("agent_profiles");
        std::fs::create_dir_all(&folder)?;
        let profile = json!({
            "schemaVersion": 2,
            "kind": "tauritavern.agentProfile",
            "id": id,
            "displayName": id,
            "run": {"presentation": "background", "modelRetry": {"maxRetries": 0, "intervalMs": 1}},
            "tools": {"allow": tools},
            "workspace": {"visibleRoots": ["output"], "writableRoots": ["output"]},
            "agent": {"protocol": "native", "textTurn": "answers"},
        });
        let path = folder.join(format!("{id}.json"));
        Ok(std::fs::write(path, profile.to_string())?)
    }

    pub(crate) async fn start(&self, profile: &str) -> Result<RunHandle, Failed> {
        let asked = StartRun {
            profile_id: Some(profile.to_owned()),
            prompt: Some(StartPrompt::Message(
                "Who stayed here last year?".to_owned(),
            )),
            model: Some(MODEL.to_owned()),
            ..StartRun::default()
        };
        Ok(self.runtime.start(asked).await?)
    }

    /// So many runs at once, from beginning to end.
    pub(crate) async fn wave(&self, profile: &str) -> Result<(), Failed> {
        let runs = (0..RUNS).map(|_| async {
            let run = self.start(profile).await?.run_id;
            let ended = self.runtime.wait(&run).await?;
            if ended.status != RunStatus::Completed {
                let record = self.runtime.record(&run).await?;
                return Err(format!("a run has ended as {record:?}").into());
            }
            Ok::<_, Failed>(())
        });
        try_join_all(runs).await.map(drop)
    }

    pub(crate) async fn close(self) -> Result<(), Failed> {
        self.runtime.close().await;
        Ok(self.tools.store().clone().close().await?)
    }
}

/// With all that a call passes: key, routing, price table and the guard of the context window.
fn models(url: &str) -> Result<Models, Failed> {
    let provider = Provider {
        id: "bench".into(),
        label: "Bench".into(),
        format: WireFormat::OpenAi,
        base_url: Some(format!("{url}/v1")),
        key_url: None,
        key_env: None,
        auth: Auth::Usual,
        headers: BTreeMap::new(),
        local_port: None,
        quirks: Quirks::default(),
    };
    let mut config = ChannelConfig::new("bench", "bench");
    config.keys = KeyRef::read("${BENCH_KEY}").into_iter().collect();
    config.context = Some(200_000);
    let keys = KeyLookup {
        secrets: &NoSecrets,
        env: &|_| Some("not-a-key".to_owned()),
    };
    let channel = Arc::new(Channel::new(provider, config, &keys, HttpClient::new()?));
    let router = Router::new(vec![channel], Vec::new(), BTreeMap::new())?;
    Ok(Models::new().with_router(router))
}
