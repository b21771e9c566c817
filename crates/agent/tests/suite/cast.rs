//! A house in which several agents speak: each has its own lines, told apart by its system prompt.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_agent::AgentRuntime;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelPort};
use innkeeper_engine::stream::Chunk;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId};
use innkeeper_protocol::{ToolDefinition, event::RunStatus};
use innkeeper_store::journal::{EventRange, Followed};
use innkeeper_tools::{ToolManager, builtin};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::harness::{Gate, Gated, open, profile, spoken, start};

pub(crate) enum Line {
    Says(String),
    Fails,
    Hangs,
}

/// Who says what next, by name.
#[derive(Default)]
pub(crate) struct Cast {
    lines: Mutex<HashMap<String, VecDeque<Line>>>,
    /// What each was asked.
    asked: Mutex<Vec<(String, Vec<Json>)>>,
    pub(crate) was_asked: Notify,
}

impl Cast {
    pub(crate) fn says(&self, who: &str, text: impl Into<String>) {
        self.line(who, Line::Says(text.into()));
    }

    pub(crate) fn line(&self, who: &str, line: Line) {
        let mut lines = self.lines.lock().unwrap();
        lines.entry(who.to_owned()).or_default().push_back(line);
    }

    /// All that this one has read in its request of that number, from 0.
    pub(crate) fn read(&self, who: &str, number: usize) -> String {
        let asked = self.asked.lock().unwrap();
        let mut own = asked.iter().filter(|(name, _)| name == who);
        let (_, messages) = own
            .nth(number)
            .unwrap_or_else(|| panic!("{who} was not asked {number} times"));
        let texts = messages
            .iter()
            .filter_map(|message| message["content"].as_str());
        texts.collect::<Vec<_>>().join("\n---\n")
    }

    pub(crate) fn times(&self, who: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(name, _)| name == who).count()
    }

    pub(crate) async fn until_asked(&self, who: &str, times: usize) {
        loop {
            let asked = self.was_asked.notified();
            if self.times(who) >= times {
                return;
            }
            asked.await;
        }
    }
}

#[async_trait]
impl ModelPort for Cast {
    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let messages = call.messages.to_vec();
        let who = name(&messages);
        self.asked.lock().unwrap().push((who.clone(), messages));
        self.was_asked.notify_waiters();
        let line = {
            let mut lines = self.lines.lock().unwrap();
            lines.get_mut(&who).and_then(VecDeque::pop_front)
        };
        match line {
            Some(Line::Says(text)) => Ok(spoken(vec![Ok(Chunk::text(text))])),
            Some(Line::Fails) => Err(NodeError::invalid("model.forbidden", "not allowed")),
            Some(Line::Hangs) => {
                cancel.cancelled().await;
                Err(NodeError::invalid("run.cancelled", "given up"))
            }
            None => panic!("{who} was asked once more than it has lines"),
        }
    }
}

/// `You are boss.` is the boss.
pub(crate) fn name(messages: &[Json]) -> String {
    let texts = messages
        .iter()
        .filter(|message| message["role"] == "system");
    let texts = texts.filter_map(|message| message["content"].as_str());
    let all = texts.collect::<Vec<_>>().join("\n");
    let rest = all.split("You are ").nth(1).unwrap_or_default();
    rest.split('.').next().unwrap_or_default().to_owned()
}

pub(crate) fn call(tool: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n");
    for (name, value) in arguments {
        text.push_str(&format!("{name}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

pub(crate) fn delegate(agent: &str, objective: &str) -> String {
    let task = json!({"objective": objective}).to_string();
    call("agent.delegate", &[("agentId", agent), ("task", &task)])
}

pub(crate) fn task_return(summary: &str) -> String {
    call("task.return", &[("summary", summary)])
}

pub(crate) fn write_file(path: &str, content: &str) -> String {
    call(
        "workspace.write_file",
        &[("path", path), ("content", content)],
    )
}

pub(crate) struct Stage {
    pub(crate) home: Arc<TempDir>,
    pub(crate) cast: Arc<Cast>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) tools: ToolManager,
    pub(crate) runtime: AgentRuntime,
}

impl Stage {
    /// With a boss who may do everything, and two who work for it.
    pub(crate) async fn new() -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        agents(home.path());
        Self::in_home(home).await
    }

    /// Another process on the same home, after this one has let go.
    pub(crate) async fn again(self) -> Self {
        self.runtime.close().await;
        self.tools.store().clone().close().await.unwrap();
        Self::in_home(self.home.clone()).await
    }

    pub(crate) async fn in_home(home: Arc<TempDir>) -> Self {
        let (cast, gate) = (Arc::new(Cast::default()), Arc::new(Gate::default()));
        let (tools, runtime) = open(home.path(), cast.clone(), vec![gated(&gate)], |journal| {
            journal
        })
        .await;
        Self {
            home,
            cast,
            gate,
            tools,
            runtime,
        }
    }

    pub(crate) async fn start(&self) -> RunId {
        start(&self.runtime, "boss", "Do it").await.run_id
    }

    pub(crate) async fn end(&self, run: &RunId) -> (RunStatus, Vec<RunEvent>) {
        let handle = self.runtime.wait(run).await.unwrap();
        (handle.status, self.events(run).await)
    }

    pub(crate) async fn events(&self, run: &RunId) -> Vec<RunEvent> {
        let range = EventRange::After { seq: 0, limit: 500 };
        self.runtime.events(run, range).await.unwrap()
    }

    /// Until an event of that name has been told.
    pub(crate) async fn told(&self, run: &RunId, name: &str) {
        let mut follower = self.runtime.follow(run, 0);
        loop {
            match follower.next().await {
                Followed::Events(events) => {
                    if events.iter().any(|event| event.kind.name() == name) {
                        return;
                    }
                }
                Followed::Lagged { .. } => {}
                Followed::End | Followed::Failed(_) => panic!("{name} was never told"),
            }
        }
    }

    pub(crate) async fn file(&self, run: &RunId, path: &str) -> String {
        let file = self.runtime.read_workspace_file(run, path).await;
        file.unwrap_or_else(|error| panic!("{path}: {error}")).text
    }
}

pub(crate) fn gated(gate: &Arc<Gate>) -> builtin::Tool {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    (
        ToolDefinition::new("gate", "Waits", schema),
        Arc::new(Gated(gate.clone())),
    )
}

pub(crate) fn agents(home: &Path) {
    let says = |who: &str| json!(format!("You are {who}."));
    profile(home, "boss", "tam", |profile| {
        profile["instructions"] = json!({"agentSystemPrompt": says("boss")});
        profile["delegation"] = json!({"canDelegate": true, "canHandoff": true});
    });
    for who in ["helper", "friend"] {
        profile(home, who, "tam", |profile| {
            profile["instructions"] = json!({"agentSystemPrompt": says(who)});
            profile["delegation"] = json!({"callable": true, "allowAsSubagent": true,
                "allowAsHandoffTarget": who == "friend"});
        });
    }
}

/// Names of the events of one agent, in their order.
pub(crate) fn of_agent<'e>(events: &'e [RunEvent], invocation: &str) -> Vec<&'e str> {
    let own = events.iter().filter(|event| {
        let scope = event.scope.as_ref();
        scope.is_some_and(|scope| scope.invocation_id.as_str() == invocation)
    });
    own.map(|event| event.kind.name()).collect()
}

/// Ids of agents that got a task, and of their tasks, in the order in which they were given.
pub(crate) fn given(events: &[RunEvent]) -> Vec<(String, String)> {
    let tasks = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::AgentTaskRegistered(task) => Some((
            task.child_invocation_id.as_ref()?.to_string(),
            task.task_id.to_string(),
        )),
        _ => None,
    });
    tasks.collect()
}
