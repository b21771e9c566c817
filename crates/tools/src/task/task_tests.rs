use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::limits::{MAX_KEPT_TASKS, MAX_RUNNING_TASKS};
use crate::{ProgressSink, SystemClock};

fn tasks() -> Tasks {
    Tasks::new(Arc::new(SystemClock))
}

fn start(tasks: &Tasks, run: &str) -> Result<(TaskId, Arc<Entry>), crate::ToolError> {
    tasks.start("T", &RunId::new(run), "c", vec![], CancellationToken::new())
}

fn end(entry: Arc<Entry>, observation: Observation, full: Option<serde_json::Value>) {
    let record = entry.ended_as(observation);
    Completion::of(entry).complete(record, full);
}

fn success() -> Observation {
    Observation::success("T", "done")
}

#[tokio::test]
async fn an_end_is_waited_for_and_told_once() {
    let tasks = tasks();
    let (id, entry) = start(&tasks, "r").unwrap();
    entry.report(Some(0.5), "half way");
    let record = tasks.list(&RunId::new("r")).remove(0);
    assert_eq!(record.task_id, id);
    assert_eq!(record.status, TaskStatus::Running);
    assert_eq!(record.progress.unwrap().fraction, Some(0.5));
    assert!(entry.tell().is_none());

    let waiting = tokio::spawn({
        let entry = entry.clone();
        async move { entry.ended().await }
    });
    end(entry.clone(), success(), Some(json!("done")));
    assert_eq!(waiting.await.unwrap().status, TaskStatus::Succeeded);
    assert_eq!(entry.full(), Some(json!("done")));
    assert!(entry.tell().is_some());
    assert!(entry.tell().is_none());
}

#[test]
fn a_result_that_nobody_can_refer_to_is_not_kept() {
    let tasks = tasks();
    let (_, before) = start(&tasks, "r").unwrap();
    let (_, after) = start(&tasks, "r").unwrap();
    before.release();
    for entry in [&before, &after] {
        end(entry.clone(), success(), Some(json!("done")));
    }
    assert_eq!(before.full(), None);
    assert!(after.full().is_some());
    after.release();
    assert_eq!(after.full(), None);
}

#[tokio::test]
async fn a_task_that_is_dropped_has_ended() {
    let tasks = tasks();
    let (_, entry) = start(&tasks, "r").unwrap();
    drop(Completion::of(entry.clone()));
    let record = entry.ended().await;
    assert_eq!(record.status, TaskStatus::Failed);
    let outcome = record.observation.unwrap().outcome;
    assert!(matches!(
        outcome,
        innkeeper_protocol::Outcome::OutcomeUnknown { .. }
    ));
}

#[test]
fn a_run_sees_its_own_tasks() {
    let tasks = tasks();
    let (id, _) = start(&tasks, "mine").unwrap();
    assert!(tasks.entry(&RunId::new("mine"), id.as_str()).is_some());
    assert!(tasks.entry(&RunId::new("yours"), id.as_str()).is_none());
    assert!(tasks.list(&RunId::new("yours")).is_empty());
}

#[test]
fn the_table_is_bounded() {
    let tasks = tasks();
    for _ in 0..MAX_RUNNING_TASKS {
        start(&tasks, "r").unwrap();
    }
    assert!(start(&tasks, "r").is_err());
    for _ in 0..MAX_KEPT_TASKS + 10 {
        let (_, entry) = start(&tasks, "other").unwrap();
        end(entry, success(), None);
    }
    assert_eq!(tasks.list(&RunId::new("r")).len(), MAX_RUNNING_TASKS);
    assert!(tasks.list(&RunId::new("other")).len() < MAX_KEPT_TASKS);
}

#[test]
fn a_record_goes_to_disk_and_back() {
    let tasks = tasks();
    let (_, entry) = start(&tasks, "r").unwrap();
    entry.report(None, "…");
    entry.partial(&json!({"piece": 1}));
    let record = entry.record();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<TaskRecord>(&text).unwrap(), record);
    end(entry.clone(), success(), None);
    let record = entry.record();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<TaskRecord>(&text).unwrap(), record);
}

#[test]
fn pieces_are_kept_until_the_whole_is_there() {
    let tasks = tasks();
    for (outcome, pieces) in [
        (success(), 0),
        (
            Observation::new(
                "T",
                innkeeper_protocol::Outcome::Cancelled {
                    reason: "somebody stopped it".to_owned(),
                },
            ),
            1,
        ),
    ] {
        let (_, entry) = start(&tasks, "r").unwrap();
        entry.partial(&json!("of the first try"));
        entry.start_over();
        entry.partial(&json!("of the second"));
        assert_eq!(entry.record().partial.pieces, [json!("of the second")]);
        end(entry.clone(), outcome, None);
        assert_eq!(entry.record().partial.pieces.len(), pieces);
    }
}

#[tokio::test]
async fn tasks_of_plain_calls_do_not_pile_up_on_disk() {
    let store = innkeeper_store::Store::in_memory().await.unwrap();
    let kept = store.tasks();
    let ended = |id: &str| innkeeper_store::TaskRecord {
        task: TaskId::new(id),
        run: RunId::new("a call"),
        is_final: true,
        record: "{}".into(),
    };
    let recent = format!("task_{}", uuid::Uuid::now_v7().simple());
    for id in ["task_0000000000017000a", recent.as_str()] {
        kept.put(ended(id)).await.unwrap();
    }
    let tasks = Tasks::kept(Arc::new(SystemClock), kept.clone());
    let (_, entry) = start(&tasks, "r").unwrap();
    tasks.keep(&entry.record()).await.unwrap();
    let left = kept.of_run(&RunId::new("a call")).await.unwrap();
    let left: Vec<_> = left.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(left, [recent.as_str()]);
}
