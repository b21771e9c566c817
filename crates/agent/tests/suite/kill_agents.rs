//! The same for a run in which others work: killed at any record, everybody goes on where they were, and what may not be done
//! twice is not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelPort};
use innkeeper_engine::stream::Chunk;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunStatus};
use innkeeper_store::Store;
use serde_json::Value as Json;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::cast::{agents, call, delegate, name, task_return, write_file};
use super::child::{Ending, Stage, Told, arguments, finished, own_stage, say};
use super::harness::{DATABASE, check_journal, open, spoken, start};
use super::story::{Outside, host, tools};
use super::verdict::{Acknowledged, Files, check_told, events, files, only_run};
use super::watched::{Fate, Fuse, Moment, Watched};

const FUSE: &str = "INNKEEPER_TEST_AGENTS_FUSE";
const WORKERS: [&str; 2] = ["helper", "friend"];

fn turns(who: &str) -> Vec<String> {
    match who {
        "boss" => vec![
            WORKERS.map(|who| delegate(who, "Pay for it.")).join("\n"),
            call("agent.await", &[("mode", "allCompleted")]),
            write_file("output/main.md", "All is paid."),
            "Done.".to_owned(),
        ],
        who => vec![
            write_file(&format!("scratch/{who}.md"), "I am about to pay."),
            call("pay", &[("order", who)]),
            task_return("I have tried."),
        ],
    }
}

/// What each says follows from how often it has spoken.
struct Speakers;

#[async_trait]
impl ModelPort for Speakers {
    async fn stream(
        &self,
        call: ModelCall,
        _: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let messages = call.messages.to_vec();
        let own = |message: &&Json| message["role"] == "assistant";
        let spoke = messages.iter().filter(own).count();
        let who = name(&messages);
        match turns(&who).get(spoke) {
            Some(text) => Ok(spoken(vec![Ok(Chunk::text(text.clone()))])),
            None => Err(NodeError::invalid(
                "story.over",
                format!("{who} has no turn {spoke}"),
            )),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_in_which_several_work() {
    let (Some(fuse), Some(stage)) = (std::env::var(FUSE).ok(), own_stage()) else {
        return;
    };
    let fuse: Option<Fuse> = fuse.parse().ok();
    let count = Arc::new(AtomicU64::new(0));
    let (home, outside) = (stage.home(), stage.outside());
    agents(&home);
    let fate = move |record| match fuse {
        Some(fuse) if fuse.record == record => Fate::Kills(fuse.moment),
        _ => Fate::Passes,
    };
    let (manager, runtime) = open(&home, Arc::new(Speakers), tools(&outside), |journal| {
        Arc::new(Watched::new(journal, count.clone(), fate))
    })
    .await;
    for recovered in runtime.recover().await.unwrap() {
        assert_eq!(recovered.problem, None);
    }
    let run = match only_run(manager.store()).await {
        Some(run) => run,
        None => start(&runtime, "boss", "Pay").await.run_id,
    };
    let tell = |event: &RunEvent| say(&format!("ack {}", serde_json::to_string(event).unwrap()));
    let status = host(&runtime, &run, &outside, tell).await;
    assert!(status.is_terminal(), "the run has stopped: {status:?}");
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    say(&format!("over {}", count.load(Ordering::SeqCst)));
}

async fn told(stage: &Stage, fuse: Option<Fuse>) -> Told {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(
        "suite::kill_agents::a_process_in_which_several_work",
    ));
    stage.surroundings(&mut command);
    let fuse = fuse.map_or("none".to_owned(), |fuse| fuse.to_string());
    command.env(FUSE, fuse);
    finished(command).await
}

async fn check_end(home: &Path, outside: &Outside, told: &Acknowledged) -> Files {
    let store = Store::open(&home.join(DATABASE)).await.unwrap();
    let run = only_run(&store).await.expect("there is no run");
    let events = events(&store, &run).await;
    check_journal(&events);
    check_told(told, &events);
    let record = store.journal().record(&run).await.unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", events.last());
    let paid = outside.lines("pay");
    let mut ends: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for event in &events {
        if let RunEventKind::ToolCallCompleted(end) | RunEventKind::ToolCallFailed(end) =
            &event.kind
        {
            ends.entry(end.call_id.as_str())
                .or_default()
                .push(end.is_error);
            if end.name == "pay" {
                let of_call = |line: &&String| line.split(' ').next() == Some(end.call_id.as_str());
                let done = paid.iter().filter(of_call).count();
                match end.is_error {
                    false => assert_eq!(done, 1, "{}", end.call_id),
                    true => assert!(done <= 1, "{}", end.call_id),
                }
            }
        }
    }
    assert!(ends.values().all(|ends| ends.len() == 1), "{ends:?}");
    for who in WORKERS {
        let times = paid.iter().filter(|line| line.ends_with(who)).count();
        assert!(times <= 1, "{who} has paid {times} times");
    }
    let completed = events
        .iter()
        .filter(|event| event.kind.name() == "agent_task_completed");
    assert_eq!(completed.count(), WORKERS.len());
    let files = files(&store, &run).await;
    let checked = store.check().await.unwrap();
    assert!(checked.is_sound(), "{checked}");
    store.close().await.unwrap();
    files
}

async fn undisturbed() -> (u64, Files) {
    let stage = Stage::new();
    let told = told(&stage, None).await;
    let Ending::Over(records) = told.ending else {
        panic!("{}", told.all);
    };
    let files = check_end(&stage.home(), &stage.outside(), &told.acknowledged).await;
    // A result and a file of each, and what the boss wrote.
    assert_eq!(files.len(), 5, "{files:?}");
    (records, files)
}

async fn killed(fuse: Fuse, expected: &Files) {
    let stage = Stage::new();
    let mut acknowledged = Acknowledged::new();
    for fuse in [Some(fuse), None] {
        let told = told(&stage, fuse).await;
        told.follows(&acknowledged);
        assert!(
            matches!(told.ending, Ending::Killed | Ending::Over(_)),
            "killed {fuse:?}: {}",
            told.all
        );
        acknowledged.extend(told.acknowledged);
    }
    let files = check_end(&stage.home(), &stage.outside(), &acknowledged).await;
    assert_eq!(files, *expected, "killed {fuse}");
}

#[tokio::test]
async fn agents_that_are_killed_at_some_records_come_to_the_same_end() {
    let (records, files) = undisturbed().await;
    let some = (1..=records).filter(|record| record % 5 == 3);
    for (record, turn) in some.zip(0..) {
        let moment = Moment::ALL[turn % Moment::ALL.len()];
        killed(Fuse { moment, record }, &files).await;
    }
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn agents_that_are_killed_at_any_record_come_to_the_same_end() {
    let (records, files) = undisturbed().await;
    for record in 1..=records {
        for moment in Moment::ALL {
            killed(Fuse { moment, record }, &files).await;
        }
    }
}
