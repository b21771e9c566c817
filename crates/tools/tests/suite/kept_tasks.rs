//! Tasks outlive the process that ran them: how they ended, or that nobody knows.

use std::path::Path;
use std::sync::Arc;

use innkeeper_protocol::event::RunId;
use innkeeper_store::Store;
use innkeeper_tools::TaskStatus;
use innkeeper_tools::policy::Nobody;
use tempfile::TempDir;

use super::harness::{World, codes, say, tam, task_id, told};

async fn world(path: &Path) -> World {
    World::with(Store::open(path).await.unwrap(), Arc::new(Nobody))
}

fn place() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("innkeeper.db");
    (folder, path)
}

/// What a run says of one of its tasks.
async fn asked(world: &World, run: &str, command: &str, id: &str) -> String {
    let field = match command {
        "task.await" => format!("type_hint_task_ids: json\n task_ids: [\"{id}\"]"),
        _ => format!("task_id: {id}"),
    };
    let said = say(
        &world.run(run),
        &tam(&format!("command: {command}\n {field}")),
    )
    .await;
    told(&said).remove(0)
}

#[tokio::test]
async fn an_end_is_known_to_the_next_process() {
    let (_folder, path) = place();
    let before = world(&path).await;
    before.open("a");
    let run = before.run("r");
    let said = say(&run, &tam("command: Gate.Async\n gate: a\n result: sunny")).await;
    let id = task_id(&said[0]);
    run.settle().await;
    let live = run.tasks();
    drop(run);
    before.manager.store().clone().close().await.unwrap();

    let after = world(&path).await;
    assert_eq!(after.manager.tasks().recover().await.unwrap(), 0);
    let known = after.manager.tasks().known(&RunId::new("r"), &id).await;
    assert_eq!(known.unwrap().as_ref(), live.first());
    for command in ["task.status", "task.await"] {
        let words = asked(&after, "r", command, &id).await;
        assert!(
            words.contains("succeeded") && words.contains("sunny"),
            "{words}"
        );
        let words = asked(&after, "another", command, &id).await;
        assert!(words.contains("has no task"), "{words}");
    }
    let said = say(&after.run("r"), &tam("command: task.list")).await;
    assert!(told(&said)[0].contains(&id), "{:?}", told(&said));
    // What was before is looked at, not told anew.
    assert!(after.run("r").finished_tasks().is_empty());
}

/// A runtime stands for a process: with it everything goes that was under way, and the locks that it held.
#[test]
fn a_task_that_was_cut_off_has_an_unknown_outcome() {
    let (_folder, path) = place();
    let process = || tokio::runtime::Runtime::new().unwrap();
    let first = process();
    let id = first.block_on(async {
        let before = world(&path).await;
        let run = before.run("r");
        let said = say(&run, &tam("command: Gate.Async\n gate: a")).await;
        let id = task_id(&said[0]);
        let mut never: std::pin::Pin<Box<std::future::Pending<()>>> =
            Box::pin(std::future::pending());
        before.until_at("a", &mut never).await;
        let known = before.manager.tasks().known(&RunId::new("r"), &id).await;
        assert_eq!(known.unwrap().unwrap().status, TaskStatus::Running);
        before.manager.store().clone().close().await.unwrap();
        id
    });
    drop(first);

    process().block_on(async {
        let after = world(&path).await;
        let words = asked(&after, "r", "task.status", &id).await;
        assert!(
            words.contains("failed") && words.contains("may have taken effect"),
            "{words}"
        );
        assert_eq!(after.manager.tasks().recover().await.unwrap(), 0, "once");
        let words = asked(&after, "r", "task.cancel", &id).await;
        assert!(words.contains("may have taken effect"), "{words}");
    });
}

#[tokio::test]
async fn a_task_that_cannot_be_written_down_does_not_begin() {
    let (_folder, path) = place();
    let world = world(&path).await;
    let run = world.run("r");
    world.manager.store().clone().close().await.unwrap();
    let said = say(&run, &tam("command: Gate.Async\n gate: a")).await;
    assert_ne!(codes(&said), ["started"]);
    assert!(run.tasks().is_empty());
    assert!(world.ran().is_empty());
}
