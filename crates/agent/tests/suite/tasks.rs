//! Calls that went on in the background when their process was killed: what had ended has its own end, what was cut off an
//! unknown one; whoever takes the run up, and for whatever reason.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId, RunStatus};
use innkeeper_protocol::{ExecutionMode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError, ToolManager, builtin};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value as Json, json};
use tokio::process::Command;

use super::child::{Ending, Stage, arguments, finished, own_stage};
use super::harness::{Script, check_journal, open, profile, start};
use super::story::Outside;
use super::verdict::only_run;

const TASKS: &str = "INNKEEPER_TEST_TASKS";

/// Two go on in the background; during the third the process ends.
const WORK: &str = "<|[REQUEST_TOOL]|>
command_1:»»»ring«««
command_2:»»»brew«««
command_3:»»»fall«««
<|[END_TOOL]|>";

/// Ends at once, never, or with the process.
struct Does {
    outside: Outside,
    /// The house that it works in.
    house: Arc<OnceLock<ToolManager>>,
}

#[async_trait]
impl Executor for Does {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let name = call.tool.id.as_str();
        self.outside.add(name, "once");
        match name {
            "ring" => Ok(json!("ding dong")),
            "brew" => std::future::pending().await,
            // Only the first process falls.
            _ if std::env::var_os(TASKS).is_none() => Ok(json!("still here")),
            _ => {
                until_one_has_ended(self.house.get().unwrap()).await;
                kill_process(getpid(), Signal::KILL).unwrap();
                std::future::pending().await
            }
        }
    }
}

/// On disk.
async fn until_one_has_ended(house: &ToolManager) {
    let run = only_run(house.store()).await.unwrap();
    loop {
        let tasks = house.store().tasks().of_run(&run).await.unwrap();
        if tasks.iter().any(|task| task.is_final) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

fn tools(outside: &Outside, house: &Arc<OnceLock<ToolManager>>) -> Vec<builtin::Tool> {
    let tool = |name: &str, mode| {
        let schema = json!({"type": "object", "properties": {}});
        let mut tool = ToolDefinition::new(name, format!("Does what '{name}' says"), schema);
        tool.execution.mode = mode;
        let does = Does {
            outside: outside.clone(),
            house: house.clone(),
        };
        (tool, Arc::new(does) as Arc<dyn Executor>)
    };
    vec![
        tool("ring", ExecutionMode::Async),
        tool("brew", ExecutionMode::Async),
        tool("fall", ExecutionMode::Sync),
    ]
}

async fn house(
    home: &Path,
    outside: &Outside,
    script: &Arc<Script>,
) -> (ToolManager, innkeeper_agent::AgentRuntime) {
    let own = Arc::new(OnceLock::new());
    let opened = open(home, script.clone(), tools(outside, &own), |journal| {
        journal
    })
    .await;
    assert!(own.set(opened.0.clone()).is_ok());
    opened
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_falls() {
    let (Some(_), Some(stage)) = (std::env::var_os(TASKS), own_stage()) else {
        return;
    };
    let script = Arc::new(Script::default());
    script.say(WORK);
    let (_, runtime) = house(&stage.home(), &stage.outside(), &script).await;
    profile(&stage.home(), "worker", "tam", |_| {});
    let run = start(&runtime, "worker", "Work").await.run_id;
    runtime.wait(&run).await.unwrap();
}

/// What takes the run up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Recover,
    Resume,
    Guide,
    Cancel,
}

/// Error codes of the ends of tasks, by tool.
fn ends(events: &[RunEvent]) -> Vec<(&str, Option<&str>)> {
    let ends = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::ToolTaskEnded(end) => Some((end.name.as_str(), end.error_code.as_deref())),
        _ => None,
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    ends
}

async fn taken_up(by: By) {
    let stage = Stage::new();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(arguments("suite::tasks::a_process_that_falls"))
        .env(TASKS, "1");
    stage.surroundings(&mut command);
    let told = finished(command).await;
    assert_eq!(told.ending, Ending::Killed, "{}", told.all);

    let script = Arc::new(Script::default());
    script.say("I see.");
    let outside = stage.outside();
    let (tools, runtime) = house(&stage.home(), &outside, &script).await;
    let run: RunId = only_run(tools.store()).await.unwrap();
    match by {
        By::Recover => assert_eq!(runtime.recover().await.unwrap()[0].problem, None),
        By::Resume => drop(runtime.resume(&run, None, None).await.unwrap()),
        By::Guide => drop(runtime.guide(&run, "be quick", None).await.unwrap()),
        By::Cancel => drop(runtime.cancel(&run).await.unwrap()),
    }
    let status = runtime.wait(&run).await.unwrap().status;
    let events = super::verdict::events(tools.store(), &run).await;
    check_journal(&events);
    let unknown = Some("tool.outcome_unknown");
    assert_eq!(ends(&events), [("brew", unknown), ("ring", None)], "{by:?}");
    let recovered = events
        .iter()
        .filter(|event| matches!(event.kind, RunEventKind::RunRecovered(_)));
    assert_eq!(recovered.count(), 1, "{by:?}");
    for name in ["ring", "brew", "fall"] {
        assert_eq!(
            outside.lines(name).len(),
            1,
            "{name} was done again by {by:?}"
        );
    }
    check_papers(&runtime, &run, &events).await;
    if by == By::Cancel {
        assert_eq!((status, script.requests()), (RunStatus::Cancelled, 0));
    } else {
        assert_eq!((status, script.requests()), (RunStatus::Completed, 1));
        let request = Json::from(script.request(0)).to_string();
        assert!(request.contains("ding dong"), "{by:?}: {request}");
        assert!(
            request.contains("it may have taken effect"),
            "{by:?}: {request}"
        );
    }
    runtime.close().await;
    tools.store().clone().close().await.unwrap();
}

/// The result of a call that went on in the background tells what it came to.
async fn check_papers(runtime: &innkeeper_agent::AgentRuntime, run: &RunId, events: &[RunEvent]) {
    for event in events {
        let RunEventKind::ToolTaskEnded(end) = &event.kind else {
            continue;
        };
        let path = innkeeper_agent::run::names::result_path(&end.call_id);
        let paper = runtime.read_workspace_file(run, &path).await.unwrap().text;
        let paper: Json = serde_json::from_str(&paper).unwrap();
        assert_eq!(paper["task"]["taskId"], end.task_id.as_str());
        let result = &paper["task"]["result"];
        assert_eq!(result["isError"], end.is_error, "{paper}");
        if end.name == "ring" {
            assert_eq!(result["content"], "ding dong");
        }
    }
}

#[tokio::test]
async fn tasks_of_a_process_that_was_killed_have_their_own_ends_or_unknown_ones() {
    for by in [By::Recover, By::Resume, By::Guide, By::Cancel] {
        taken_up(by).await;
    }
}
