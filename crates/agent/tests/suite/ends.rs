//! Runs that end while something of them is still under way, and replies that want too much at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use innkeeper_agent::instance::{StartPrompt, StartRun};
use innkeeper_protocol::event::{RunEventKind, RunStatus};
use innkeeper_protocol::{ExecutionMode, ToolDefinition};
use innkeeper_store::journal::RunFilter;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::harness::{House, Say, check_journal, names};

const NAP: &str = "<|[REQUEST_TOOL]|>
command:»»»nap«««
<|[END_TOOL]|>";
const FINISH: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.finish«««
<|[END_TOOL]|>";

/// Never ends by itself. Counts how many are at it.
struct Nap(Arc<AtomicU32>);

struct Asleep(Arc<AtomicU32>);

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Executor for Nap {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _asleep = Asleep(self.0.clone());
        std::future::pending().await
    }
}

#[tokio::test]
async fn nothing_goes_on_in_the_background_of_a_run_that_is_over() {
    for (says, rounds, status) in [
        (&[NAP, FINISH][..], 9, RunStatus::Completed),
        (&[NAP][..], 1, RunStatus::Failed),
    ] {
        let asleep = Arc::new(AtomicU32::new(0));
        let schema = json!({"type": "object", "properties": {}});
        let mut nap = ToolDefinition::new("nap", "Sleeps", schema);
        nap.execution.mode = ExecutionMode::Async;
        let house = House::with(vec![(nap, Arc::new(Nap(asleep.clone())))]).await;
        house.profile_with("worker", "tam", |profile| {
            profile["tools"]["maxRounds"] = json!(rounds);
        });
        for say in says {
            house.script.say(say);
        }
        let (handle, events) = house.run("worker", "Work").await;
        assert_eq!(handle.status, status);
        check_journal(&events);
        assert_eq!(asleep.load(Ordering::SeqCst), 0, "{status:?}");
        let ended = events.iter().find_map(|event| match &event.kind {
            RunEventKind::ToolTaskEnded(ended) => ended.message.clone(),
            _ => None,
        });
        // What the task itself came to.
        assert_eq!(ended.as_deref(), Some("the run was stopped"), "{status:?}");
        let tasks = house.tools.store().tasks().of_run(&handle.run_id).await;
        assert!(tasks.unwrap().iter().all(|task| task.is_final));
    }
}

#[tokio::test]
async fn a_finish_in_the_middle_loses_nothing() {
    let write = json!({"path": "output/a.md", "content": "kept"});
    let tam = "<|[REQUEST_TOOL]|>
command_1:»»»workspace.finish«««
command_2:»»»workspace.write_file«««
path_2:»»»output/a.md«««
content_2:»»»kept«««
<|[END_TOOL]|>";
    let action = "<ACTION><workspace.finish/><workspace.write_file><path>output/a.md</path><content>kept</content></workspace.write_file></ACTION>";
    for (dialect, first) in [
        ("tam", Say::Text(tam.to_owned())),
        ("action", Say::Text(action.to_owned())),
        (
            "native",
            Say::Native(vec![
                ("a", "workspace.finish", json!({})),
                ("b", "workspace.write_file", write),
            ]),
        ),
    ] {
        let house = House::new().await;
        house.profile(dialect, dialect);
        house.script.push(first);
        match dialect {
            "native" => house
                .script
                .push(Say::Native(vec![("c", "workspace.finish", json!({}))])),
            _ => house.script.say(FINISH),
        }
        let (handle, events) = house.run(dialect, "Write").await;
        assert_eq!(handle.status, RunStatus::Completed, "{dialect}");
        check_journal(&events);
        let told = names(&events);
        assert!(
            told.contains(&"workspace_file_written"),
            "{dialect}: {told:?}"
        );
        let codes: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                RunEventKind::ToolCallFailed(end) => end.error_code.as_deref(),
                _ => None,
            })
            .collect();
        assert_eq!(codes, ["agent.tool_after_finish"], "{dialect}");
    }
}

#[tokio::test]
async fn a_run_whose_chat_cannot_be_read_is_not_begun() {
    let house = House::new().await;
    let asked = StartRun {
        prompt: Some(StartPrompt::Snapshot(
            json!({"chatCompletionPayload": {"messages": [{"role": "user"}]}}),
        )),
        chat_ref: Some(json!({"kind": "character", "characterId": "anna", "fileName": "1"})),
        stable_chat_id: Some("abc".to_owned()),
        ..StartRun::default()
    };
    let refused = house.runtime.start(asked).await.unwrap_err();
    assert_eq!(
        refused.reason.as_deref(),
        Some("agent.chat_message_invalid_json")
    );
    let page = house.runtime.list(&RunFilter::default()).await.unwrap();
    assert!(page.runs.is_empty());
}
