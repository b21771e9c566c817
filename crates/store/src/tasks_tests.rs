use super::*;
use crate::Store;
use crate::journal::tests::begin;
use crate::store::tests::folder;

fn task(id: &str, run: &str, record: &str) -> TaskRecord {
    TaskRecord {
        task: TaskId::new(id),
        run: RunId::new(run),
        is_final: false,
        record: record.into(),
    }
}

#[tokio::test]
async fn a_task_changes_until_it_is_final() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let tasks = store.tasks();
    let mut first = task("t1", "r", "1");
    assert_eq!(tasks.put(first.clone()).await, Ok(true));
    first.record = "2".into();
    first.is_final = true;
    assert_eq!(tasks.put(first.clone()).await, Ok(true));
    assert_eq!(tasks.put(task("t1", "r", "3")).await, Ok(false));
    let second = task("t2", "r", "x");
    tasks.put(second.clone()).await.unwrap();
    tasks.put(task("t3", "other", "y")).await.unwrap();
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let tasks = store.tasks();
    assert_eq!(tasks.get(&first.task).await, Ok(Some(first.clone())));
    assert_eq!(tasks.get(&"none".into()).await, Ok(None));
    assert_eq!(tasks.of_run(&"r".into()).await, Ok(vec![first, second]));
    assert_eq!(tasks.forget(&"t2".into()).await, Ok(true));
    assert_eq!(tasks.forget(&"t2".into()).await, Ok(false));
}

#[tokio::test]
async fn the_next_one_finds_what_the_dead_left_open() {
    let (_folder, path) = folder();
    let gone = Store::open(&path).await.unwrap();
    let alive = Store::open(&path).await.unwrap();
    let done = TaskRecord {
        is_final: true,
        ..task("done", "r", "d")
    };
    for task in [task("left", "r", "l"), done] {
        gone.tasks().put(task).await.unwrap();
    }
    let own = task("own", "r", "o");
    alive.tasks().put(own).await.unwrap();
    assert_eq!(alive.tasks().abandoned().await, Ok(vec![]));
    gone.close().await.unwrap();
    let expected = vec![task("left", "r", "l")];
    assert_eq!(alive.tasks().abandoned().await, Ok(expected));
    // Whoever puts it has it.
    alive.tasks().put(task("left", "r", "mine")).await.unwrap();
    assert_eq!(alive.tasks().abandoned().await, Ok(vec![]));
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_a_deleted_run_takes_its_tasks_along() {
    let store = Store::in_memory().await.unwrap();
    let huge = task("t", "r", &"x".repeat(MAX_TASK_BYTES + 1));
    let long = task(&"x".repeat(MAX_RECORD_ID_CHARS + 1), "r", "x");
    for refused in [huge, long] {
        let error = store.tasks().put(refused).await.unwrap_err();
        assert_eq!(error.code(), "store.too_large");
    }
    begin(&store, "r", 1).await;
    store.tasks().put(task("t", "r", "x")).await.unwrap();
    store.journal().delete(&"r".into()).await.unwrap();
    assert_eq!(store.tasks().get(&"t".into()).await, Ok(None));
}

#[tokio::test]
async fn loose_tasks_are_bounded_by_age_and_number_and_those_of_runs_stay() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "run_kept", 1).await;
    let tasks = store.tasks();
    let ended = |id: &str, run: &str| TaskRecord {
        is_final: true,
        ..task(id, run, "x")
    };
    for id in ["t1", "t2", "t5", "t6", "t7"] {
        tasks.put(ended(id, "a call")).await.unwrap();
    }
    tasks.put(ended("t0", "run_kept")).await.unwrap();
    tasks.put(task("t3", "a call", "at work")).await.unwrap();

    assert_eq!(tasks.prune(&"t5".into(), 10).await, Ok(2));
    assert_eq!(tasks.prune(&"t5".into(), 10).await, Ok(0));
    assert_eq!(tasks.prune(&"t0".into(), 2).await, Ok(1));
    let left = tasks.of_run(&"a call".into()).await.unwrap();
    let left: Vec<_> = left.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(left, ["t6", "t7", "t3"]);
    assert!(tasks.get(&"t0".into()).await.unwrap().is_some());
}
