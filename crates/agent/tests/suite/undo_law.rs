//! Random courses of writes, patches, deletions, checkpoints, rollbacks and forks in a house on disk, beside a naive model that copies
//! every file and every message at each checkpoint.

use std::collections::BTreeMap;

use innkeeper_agent::instance::{DiffEnd, DiffQuery, Fork};
use innkeeper_agent::workspace::diff::FileStatus;
use innkeeper_protocol::event::{RunId, RunStatus};
use innkeeper_store::BlobId;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::harness::{House, names};
use super::undo::{call, patch, text, to, write};

type Files = BTreeMap<String, String>;

/// Everything that a run was.
#[derive(Debug, Clone, Default)]
struct Copied {
    files: Files,
    /// What its model has been told and has said.
    said: Vec<Json>,
    is_complete: bool,
}

struct Naive {
    run: RunId,
    now: Copied,
    at: BTreeMap<String, Copied>,
    checkpoints: u64,
    undo: Option<String>,
}

impl Naive {
    fn keep(&mut self, copy: Copied) -> String {
        self.checkpoints += 1;
        let id = format!("cp_{:06}", self.checkpoints);
        self.at.insert(id.clone(), copy);
        id
    }

    fn any(&self, by: u8) -> String {
        let at = usize::from(by) % self.at.len();
        self.at.keys().nth(at).unwrap().clone()
    }
}

/// What the model does in one go, and what becomes of the files.
fn replies(files: &Files, does: &[(u8, u8)]) -> Vec<(String, Files)> {
    let mut files = files.clone();
    let mut replies = Vec::new();
    for (n, (what, by)) in does.iter().enumerate() {
        let path = format!("output/{}.md", by % 3);
        let new = format!("{n} {what} {by}\nline");
        let reply = match files.get(&path) {
            Some(_) if what % 5 == 3 => {
                files.remove(&path);
                call("workspace.delete_file", &[("path", &path)])
            }
            Some(old) if what.is_multiple_of(2) => {
                let old = old.lines().next().unwrap().to_owned();
                let patched = format!("patched {n} {by}");
                let text = files[&path].replacen(&old, &patched, 1);
                files.insert(path.clone(), text);
                patch(&path, &old, &patched)
            }
            _ => {
                files.insert(path.clone(), new.clone());
                write(&path, &new)
            }
        };
        replies.push((reply, files.clone()));
    }
    replies
}

/// The run is at work until it is complete.
async fn works(
    house: &House,
    naive: &mut Naive,
    does: &[(u8, u8)],
    begin: impl AsyncFnOnce() -> RunId,
) {
    let first = house.script.requests();
    let replies = replies(&naive.now.files, does);
    for (reply, _) in &replies {
        house.script.say(reply);
    }
    house.script.say("Done.");
    naive.run = begin().await;
    let (handle, events) = house.end_of(&naive.run).await;
    assert_eq!(
        handle.status,
        RunStatus::Completed,
        "{:?} {:?}",
        names(&events),
        events.last()
    );
    let said = |at: usize, reply: &str| {
        let mut said = house.script.request(first + at);
        said.push(json!({"role": "assistant", "content": reply}));
        said
    };
    // It goes on from what it knew.
    let asked = house.script.request(first);
    assert_eq!(asked[..naive.now.said.len()], naive.now.said[..]);
    if naive.at.is_empty() {
        naive.at.insert(
            "start".to_owned(),
            Copied {
                said: asked,
                ..Copied::default()
            },
        );
    }
    for (at, (reply, files)) in replies.iter().enumerate() {
        naive.keep(Copied {
            files: files.clone(),
            said: said(at, reply),
            is_complete: false,
        });
    }
    naive.now = Copied {
        files: replies
            .last()
            .map_or(naive.now.files.clone(), |(_, files)| files.clone()),
        said: said(replies.len(), "Done."),
        is_complete: true,
    };
}

async fn check(house: &House, naive: &Naive, by: u8) {
    let reader = house.runtime.reader();
    let ids: Vec<&String> = naive.at.keys().collect();
    for (id, copy) in &naive.at {
        let tree = reader
            .files_at(&naive.run, &DiffEnd::parse(id).unwrap())
            .await
            .unwrap();
        let held = tree.0.iter().map(|(path, file)| (path, &file.sha256));
        let expected: Vec<_> = copy
            .files
            .iter()
            .map(|(path, text)| (path, BlobId::of(text.as_bytes())))
            .collect();
        assert!(
            held.eq(expected.iter().map(|(path, id)| (*path, id))),
            "{id}"
        );
    }
    let now = reader.files_at(&naive.run, &DiffEnd::Now).await.unwrap();
    assert_eq!(now.0.len(), naive.now.files.len());
    for (path, expected) in &naive.now.files {
        assert_eq!(
            text(house, &naive.run, path).await.as_ref(),
            Some(expected),
            "{path}"
        );
    }
    // Any two are different in what the copies say.
    let (from, to) = (
        ids[usize::from(by) % ids.len()],
        ids[usize::from(by / 7) % ids.len()],
    );
    let query = DiffQuery {
        from: DiffEnd::parse(from).unwrap(),
        to: DiffEnd::parse(to).unwrap(),
        paths: Vec::new(),
    };
    let diff = reader.diff(&naive.run, &query).await.unwrap();
    let (old, new) = (&naive.at[from].files, &naive.at[to].files);
    let mut touched: Vec<&String> = diff.files.iter().map(|file| &file.path).collect();
    let olds = diff.files.iter().filter_map(|file| file.old_path.as_ref());
    touched.extend(olds);
    touched.sort();
    let mut expected: Vec<&String> = old
        .keys()
        .chain(new.keys())
        .filter(|path| old.get(*path) != new.get(*path))
        .collect();
    expected.sort();
    expected.dedup();
    assert_eq!(touched, expected, "{from} {to}");
    assert!(
        diff.files
            .iter()
            .all(|file| file.status != FileStatus::Unchanged)
    );
}

/// What is done, to what, and what the model does then.
type Op = (u8, u8, Vec<(u8, u8)>);

async fn course(ops: Vec<Op>) {
    let mut house = House::new().await;
    house.profile_with("worker", "tam", |profile| {
        profile["tools"]["maxRounds"] = 200.into();
    });
    let start = |run: RunId| Naive {
        run,
        now: Copied::default(),
        at: BTreeMap::new(),
        checkpoints: 0,
        undo: None,
    };
    let mut all: Vec<Naive> = Vec::new();
    for (op, by, does) in ops {
        if all.is_empty() {
            let mut naive = start(RunId::new("none"));
            works(&house, &mut naive, &does, async || {
                house.start("worker", "Go").await.run_id
            })
            .await;
            all.push(naive);
        }
        let which = usize::from(by) % all.len();
        match op % 5 {
            // Back, perhaps by undoing; then on from there.
            0..=2 => {
                let naive = &mut all[which];
                let id = match &naive.undo {
                    Some(undo) if op % 5 == 1 => undo.clone(),
                    _ => naive.any(by / 3),
                };
                let receipt = house.runtime.rollback(to(&naive.run, &id)).await.unwrap();
                let before = naive.keep(naive.now.clone());
                naive.now = naive.at[&id].clone();
                let after = naive.keep(naive.now.clone());
                assert_eq!(receipt.rolled_back.before_checkpoint_id.as_str(), before);
                assert_eq!(receipt.after_checkpoint_id.as_str(), after);
                naive.undo = Some(before);
                check(&house, naive, by).await;
                if by.is_multiple_of(4) {
                    house = house.again().await;
                }
                if naive.now.is_complete {
                    continue;
                }
                let (runtime, run) = (house.runtime.clone(), naive.run.clone());
                works(&house, naive, &does, async move || {
                    runtime.resume(&run, None, Some("go on")).await.unwrap();
                    run
                })
                .await;
            }
            _ => {
                let naive = &all[which];
                let id = naive.any(by / 3);
                let fork = Fork {
                    at: DiffEnd::parse(&id).unwrap(),
                    starts: false,
                    ..Fork::of(naive.run.clone())
                };
                let copy = naive.at[&id].clone();
                let mut forked = start(house.runtime.fork(fork).await.unwrap().run_id);
                forked.now = Copied {
                    is_complete: false,
                    ..copy
                };
                let begun = forked.now.clone();
                forked.keep(begun.clone());
                forked.at.insert("start".to_owned(), begun);
                let (runtime, run) = (house.runtime.clone(), forked.run.clone());
                works(&house, &mut forked, &does, async move || {
                    runtime.recover_run(&run).await.unwrap();
                    run
                })
                .await;
                all.push(forked);
            }
        }
        check(&house, &all[which], by).await;
    }
    for naive in &all {
        check(&house, naive, 3).await;
    }
    // A fork needs nothing of what it came from.
    if all.len() > 1 {
        let first = all.remove(0);
        assert!(house.runtime.journal().delete(&first.run).await.unwrap());
        house.tools.store().contents().sweep().await.unwrap();
        for naive in &all {
            check(&house, naive, 5).await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn files_diffs_and_conversations_are_those_of_a_model_that_copies_everything(
        ops in proptest::collection::vec((any::<u8>(), any::<u8>(), proptest::collection::vec((any::<u8>(), any::<u8>()), 1..3)), 1..6)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(course(ops));
    }
}
