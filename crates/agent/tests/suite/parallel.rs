//! Several calls of one reply: side by side where their tools allow it, and none at all where one of them is written wrongly.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunStatus};
use innkeeper_store::journal::Followed;
use innkeeper_tools::{Executor, Invocation, ToolError, builtin};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

use super::harness::{House, Say, check_journal, names};

/// Neither can end before both are at work.
#[derive(Default)]
struct Pair {
    is_at_work: Notify,
    leave: Notify,
}

#[async_trait]
impl Executor for Pair {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        match call.tool.id.as_str() {
            "slow" => {
                self.is_at_work.notify_one();
                self.leave.notified().await;
                Ok(json!("slowly"))
            }
            _ => {
                self.is_at_work.notified().await;
                Ok(json!("quickly"))
            }
        }
    }
}

/// Remembers what was paid.
#[derive(Default)]
struct Purse(Mutex<Vec<Json>>);

#[async_trait]
impl Executor for Purse {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let paid = Json::Object(call.arguments);
        self.0.lock().unwrap().push(paid.clone());
        Ok(paid)
    }
}

fn tool(name: &str, executor: &Arc<impl Executor + 'static>) -> builtin::Tool {
    let schema = json!({"type": "object", "properties": {"order": {"type": "string"}}});
    let mut tool = ToolDefinition::new(name, format!("Does what '{name}' says"), schema);
    tool.execution.parallel = true;
    (tool, executor.clone())
}

/// What happened to which call, in order.
fn steps(events: &[RunEvent]) -> Vec<(&str, &str)> {
    let told = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::ToolCallRequested(call) => Some(("requested", call.call_id.as_str())),
        RunEventKind::ToolCallStarted(call) => Some(("started", call.call_id.as_str())),
        RunEventKind::ToolCallCompleted(call) => Some(("completed", call.call_id.as_str())),
        RunEventKind::ToolCallFailed(call) => Some(("failed", call.call_id.as_str())),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn native_calls_run_side_by_side_and_are_answered_in_their_order() {
    let pair = Arc::new(Pair::default());
    let house = House::with(vec![tool("slow", &pair), tool("quick", &pair)]).await;
    house.profile("native", "native");
    house.script.push(Say::Native(vec![
        ("a", "slow", json!({})),
        ("b", "quick", json!({})),
    ]));
    house.script.say("Done.");
    let run = house.start("native", "Look").await.run_id;
    // The second is over, and on disk, while the first is still at work.
    let mut follower = house.runtime.follow(&run, 0);
    'told: loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended early");
        };
        for event in events {
            if let RunEventKind::ToolCallCompleted(end) = &event.kind {
                assert_eq!(end.call_id.as_str(), "b");
                break 'told;
            }
        }
    }
    pair.leave.notify_one();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(
        steps(&events),
        [
            ("requested", "a"),
            ("requested", "b"),
            ("started", "a"),
            ("started", "b"),
            ("completed", "b"),
            ("completed", "a"),
        ]
    );
    let request = house.script.request(1);
    let answers: Vec<_> = request
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let text = message["content"].as_str().unwrap();
            (message["tool_call_id"].as_str().unwrap(), text)
        })
        .collect();
    let [("a", slow), ("b", quick)] = answers[..] else {
        panic!("{answers:?}");
    };
    assert!(
        slow.contains("slowly") && quick.contains("quickly"),
        "{answers:?}"
    );
    // Its journal makes the same run again.
    let state = house.runtime.reader().state(&run).await.unwrap();
    assert_eq!(
        (state.status(), state.spent().calls),
        (RunStatus::Completed, 2)
    );
}

/// The second call gives a value twice, which only its tool could settle.
const DOUBTFUL: &str = "<|[REQUEST_TOOL]|>
command_1:»»»pay«««
order_1:»»»one«««
command_2:»»»pay«««
order_2:»»»two«««
uri_order_2:»»»file://three«««
<|[END_TOOL]|>";

#[tokio::test]
async fn a_block_that_is_refused_as_a_whole_runs_nothing_and_answers_every_call() {
    let purse = Arc::new(Purse::default());
    let house = House::with(vec![tool("pay", &purse)]).await;
    house.profile("worker", "tam");
    house.script.say(DOUBTFUL);
    house.script.say("I see.");
    let (handle, events) = house.run("worker", "Pay").await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(*purse.0.lock().unwrap(), [] as [Json; 0]);
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            RunEventKind::ToolCallStarted(call) => panic!("{call:?}"),
            RunEventKind::ToolCallFailed(end) => end.error_code.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 2, "{:?}", steps(&events));
    assert_eq!(ends[0], "tool.skipped");
    let told = house.script.last_message(1);
    assert!(told.contains("no step was run"), "{told}");
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    assert_eq!(state.spent().rounds, 2);
}
