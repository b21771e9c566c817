//! A run with all that a crash could lose or do twice: files written, extended and patched, payments, a bell that rings in
//! the background, papers that a person lets it sign or not, two commits, and something kept for later.
//!
//! What the model says follows from how often it has spoken, so that it goes on the same way after a crash, whatever it is
//! told of calls that were cut off.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{ApproveToolCall, HostAnswer, StartPrompt, StartRun, WaitError};
use innkeeper_agent::profile::BuiltIn;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelPort};
use innkeeper_engine::stream::Chunk;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId, RunStatus};
use innkeeper_protocol::{ExecutionMode, ToolDefinition};

use innkeeper_store::journal::Followed;
use innkeeper_tools::policy::Policy;
use innkeeper_tools::{Executor, Invocation, ToolError, builtin};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::harness::{spoken, write};

const MAIN: &str = "output/main.md";
const NOTES: &str = "persist/notes.md";
/// Payments of the story.
pub(crate) const ORDERS: [&str; 3] = ["one", "two", "three"];
pub(crate) const COMMITS: usize = 2;
/// A paper that the person lets it sign, and one that they do not.
const LEASE: &str = "lease";
const DEBT: &str = "debt";

/// Signing is asked about.
pub(crate) fn policy() -> Policy {
    let rules = json!([{"tool": "*", "decision": "allow"}, {"tool": "sign", "decision": "ask"}]);
    Policy::read(rules.as_array().unwrap().clone()).unwrap()
}

fn call(tool: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n");
    for (name, value) in arguments {
        text.push_str(&format!("{name}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

fn write_file(path: &str, content: &str, mode: &str) -> String {
    let arguments = [("path", path), ("content", content), ("mode", mode)];
    call("workspace.write_file", &arguments)
}

fn patch(path: &str, old: &str, new: &str) -> String {
    let arguments = [("path", path), ("old_string", old), ("new_string", new)];
    call("workspace.apply_patch", &arguments)
}

fn turns() -> Vec<String> {
    let [one, two, three] = ORDERS.map(|order| call("pay", &[("order", order)]));
    vec![
        write_file(MAIN, "# The Inn\n\nIt rained.", "replace"),
        one,
        write_file(MAIN, "\n\nThe door opened.", "append"),
        call("ring", &[("bell", "front door")]),
        call("workspace.read_file", &[("path", MAIN)]),
        patch(MAIN, "It rained.", "It had rained for a week."),
        call("look", &[("at", "the weather")]),
        [
            call(
                "core:UpdatePrivateState",
                &[("path", "nights"), ("op", "increment")],
            ),
            call(
                "world:RequestStateUpdate",
                &[("path", "guests"), ("op", "increment")],
            ),
        ]
        .join("\n"),
        // Several calls in one reply: some of them may be over when the process ends.
        [
            write_file(NOTES, "The guest is Ann.", "replace"),
            two,
            write_file("scratch/plan.md", "Let her in.", "replace"),
        ]
        .join("\n"),
        call("workspace.commit", &[]),
        patch(NOTES, "Ann", "Anna"),
        call("look", &[("at", "the guest")]),
        three,
        call("sign", &[("paper", LEASE)]),
        write_file(MAIN, "\n\nA guest came in.", "append"),
        call("sign", &[("paper", DEBT)]),
        call("workspace.commit", &[]),
        call("workspace.finish", &[]),
    ]
}

/// Plays the model.
pub(crate) struct Teller;

#[async_trait]
impl ModelPort for Teller {
    async fn stream(
        &self,
        call: ModelCall,
        _: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let own = |message: &&Json| message["role"] == "assistant";
        let spoke = call.messages.iter().filter(own).count();
        match turns().get(spoke) {
            Some(text) => Ok(spoken(vec![Ok(Chunk::text(text.clone()))])),
            None => Err(NodeError::invalid(
                "story.over",
                format!("the story has no turn {spoke}"),
            )),
        }
    }
}

/// What lies outside of the home: what the tools did, and the messages of the host.
#[derive(Clone)]
pub(crate) struct Outside(PathBuf);

impl Outside {
    pub(crate) fn at(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        Self(folder.to_owned())
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn add(&self, name: &str, line: &str) {
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .open(self.0.join(name))
            .unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
        file.sync_data().unwrap();
    }

    /// The host publishes what is offered, once for each id.
    fn publish(&self, commit: &str, call: &str, sha256: &str) -> HostAnswer {
        let known = self.lines("commits");
        let at = known
            .iter()
            .position(|line| line.split(' ').next() == Some(commit));
        let at = at.unwrap_or_else(|| {
            self.add("commits", &format!("{commit} {call} {sha256}"));
            known.len()
        });
        HostAnswer::Saved {
            message_id: at.to_string(),
            message_index: Some(at as u64),
        }
    }
}

struct Does(Outside);

#[async_trait]
impl Executor for Does {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let id = call.context.asked_as.as_deref().unwrap_or_default();
        let what = call.arguments.values().next().and_then(Json::as_str);
        let line = format!("{id} {}", what.unwrap_or_default());
        self.0.add(call.tool.id.as_str(), &line);
        Ok(json!("done"))
    }
}

pub(crate) fn tools(outside: &Outside) -> Vec<builtin::Tool> {
    let tool = |name: &str, argument: &str| {
        let schema = json!({"type": "object", "properties": {argument: {"type": "string"}}});
        ToolDefinition::new(name, format!("Does what '{name}' says"), schema)
    };
    let (pay, mut ring, mut look, sign) = (
        tool("pay", "order"),
        tool("ring", "bell"),
        tool("look", "at"),
        tool("sign", "paper"),
    );
    ring.execution.mode = ExecutionMode::Async;
    look.execution.idempotent = true;
    let all = [pay, ring, look, sign].into_iter();
    all.map(|tool| -> builtin::Tool { (tool, Arc::new(Does(outside.clone()))) })
        .collect()
}

pub(crate) fn asked(home: &Path) -> StartRun {
    let folder = home.join("agent_profiles");
    std::fs::create_dir_all(&folder).unwrap();
    let writer = BuiltIn::find("default-writer").unwrap().text;
    let mut profile: Json = serde_json::from_str(writer).unwrap();
    profile["id"] = json!("story");
    profile["run"]["modelRetry"] = json!({"maxRetries": 0, "intervalMs": 1});
    profile["tools"]["allow"] = json!([
        "workspace.*",
        "core:UpdatePrivateState",
        "world:RequestStateUpdate",
        "pay",
        "ring",
        "look",
        "sign"
    ]);
    profile["agent"]["protocol"] = json!("tam");
    write(&folder.join("story.json"), &profile);
    StartRun {
        profile_id: Some("story".to_owned()),
        prompt: Some(StartPrompt::Message("Tell me of the inn".to_owned())),
        chat_ref: Some(json!({"kind": "character", "characterId": "anna", "fileName": "1"})),
        stable_chat_id: Some("abc".to_owned()),
        ..StartRun::default()
    }
}

/// Plays the host of a run that is at work, until it is over or stops: hears all from the beginning, and answers.
pub(crate) async fn host(
    runtime: &AgentRuntime,
    run: &RunId,
    outside: &Outside,
    mut hears: impl FnMut(&RunEvent),
) -> RunStatus {
    let mut follower = runtime.follow(run, 0);
    let mut stopped = std::pin::pin!(runtime.wait(run));
    let mut left = None;
    loop {
        let followed = tokio::select! {
            followed = follower.next() => followed,
            handle = &mut stopped, if left.is_none() => {
                let status = match handle {
                    Ok(handle) => handle.status,
                    Err(WaitError::Stopped { .. }) => runtime.record(run).await.unwrap().status,
                    Err(error) => panic!("{error}"),
                };
                match status.is_terminal() {
                    true => left = Some(status),
                    false => return status,
                }
                continue;
            }
        };
        match followed {
            Followed::Events(events) => {
                for event in events {
                    hears(&event);
                    answer(runtime, run, outside, &event).await;
                }
            }
            Followed::Lagged { .. } => {}
            Followed::End => return runtime.record(run).await.unwrap().status,
            Followed::Failed(error) => panic!("{error}"),
        }
    }
}

async fn answer(runtime: &AgentRuntime, run: &RunId, outside: &Outside, event: &RunEvent) {
    let answered = match &event.kind {
        RunEventKind::ChatCommitRequested(asked) => {
            let (commit, call) = (asked.commit_id.as_str(), asked.call_id.as_str());
            let saved = outside.publish(commit, call, &asked.sha256);
            runtime.resolve_commit(run, &asked.commit_id, saved).await
        }
        RunEventKind::PersistentStateMetadataUpdateRequested(asked) => {
            let update = asked.update_id.as_str();
            runtime.resolve_metadata(run, update, None).await
        }
        RunEventKind::ToolCallAwaitingApproval(asked) => {
            let call = asked.call_id.clone();
            let approved = asked.extra["arguments"]["paper"] == LEASE;
            outside.add(if approved { "allowed" } else { "refused" }, call.as_str());
            let answer = ApproveToolCall::new(run.clone(), call, approved);
            runtime.approve(answer).await.map(drop)
        }
        _ => return,
    };
    // Old questions are heard again after a restart, when the run may be over; and its journal may be what fails.
    if let Err(error) = answered {
        eprintln!("the run does not take the host's answer: {error}");
    }
}
