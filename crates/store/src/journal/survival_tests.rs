//! Nothing that was acknowledged is lost, whatever happens to the process or the disk.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::tests::{begin, quiet, step};
use super::*;
use crate::Store;
use crate::content::Blob;
use crate::store::tests::{entry as audit_entry, folder};

const CHILD_DATABASE: &str = "INNKEEPER_TEST_JOURNAL";
const RUNS: usize = 6;

async fn numbers(store: &Store, run: &str) -> Vec<u64> {
    let mut seen = Vec::new();
    loop {
        let seq = seen.last().copied().unwrap_or(0);
        let page = EventRange::After { seq, limit: 100 };
        let events = store.journal().events(&run.into(), page).await.unwrap();
        if events.is_empty() {
            return seen;
        }
        seen.extend(events.iter().map(|event| event.seq));
    }
}

async fn continues(store: Store, run: String, tell: bool) {
    let record = store.journal().record(&run.as_str().into()).await.unwrap();
    let mut seq = record.unwrap().last_seq;
    for _ in 0..2_000 {
        let mut entry = step(&run, seq + 1..=seq + 2);
        entry.blobs = vec![Blob::new(format!("{run} {seq}").into_bytes())];
        store.journal().append(entry).await.unwrap();
        seq += 2;
        if tell {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nack {run} {seq}").unwrap();
        }
    }
}

#[tokio::test]
async fn a_process_to_be_killed_while_it_writes() {
    let Some(path) = std::env::var_os(CHILD_DATABASE) else {
        return;
    };
    let store = Store::open(Path::new(&path)).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for run in 0..RUNS {
        tasks.spawn(continues(store.clone(), format!("r{run}"), true));
    }
    tasks.join_all().await;
    std::io::stdin().lines().for_each(drop);
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_was_told_is_written() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for run in 0..RUNS {
        begin(&store, &format!("r{run}"), 1).await;
    }
    store.close().await.unwrap();
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "--exact"])
            .arg("journal::survival_tests::a_process_to_be_killed_while_it_writes")
            .env(CHILD_DATABASE, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged: HashMap<String, u64> = HashMap::new();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 40 * round;
        for line in lines {
            let line = line.unwrap();
            if let Some(("ack", rest)) = line.split_once(' ') {
                // The last line may be cut short by the kill.
                let Some((run, seq)) = rest.split_once(' ') else {
                    continue;
                };
                let Ok(seq) = seq.parse() else { continue };
                acknowledged.insert(run.to_owned(), seq);
                left -= 1;
                if left == 0 {
                    child.kill().unwrap();
                }
            }
        }
        child.wait().unwrap();
        assert!(left <= 0, "{left}");

        let store = Store::open(&path).await.unwrap();
        for (run, seq) in acknowledged {
            let found = numbers(&store, &run).await;
            let last = *found.last().unwrap();
            assert_eq!(found, (1..=last).collect::<Vec<_>>(), "{run}");
            // A number cut short is smaller, never larger.
            assert!(last >= seq, "{run}: {last} of {seq}");
            let record = store.journal().record(&run.as_str().into()).await.unwrap();
            assert_eq!(record.unwrap().last_seq, last);
        }
        let checked = store.check().await.unwrap();
        assert!(checked.is_sound(), "{checked}");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn on_a_full_disk_nothing_of_a_step_is_left_and_later_all_is_well() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for run in ["r", "small"] {
        begin(&store, run, 1).await;
    }
    let limit = async |sql: String| {
        let sql = sqlx::AssertSqlSafe(sql);
        sqlx::raw_sql(sql)
            .execute(&store.database().writer)
            .await
            .unwrap();
    };
    limit("PRAGMA max_page_count = 1".to_owned()).await;
    let large = Blob::new(vec![5; 60_000]);
    let carrying = Entry {
        blobs: vec![large.clone()],
        ..step("r", 2..=2)
    };
    let journal = store.journal();
    let (refused, logged) = tokio::join!(
        journal.append(carrying.clone()),
        store.audit().append(audit_entry("T")),
    );
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "store.disk_full");
    assert!(error.to_string().contains("make room"), "{error}");
    logged.unwrap();
    assert_eq!(numbers(&store, "r").await, [1]);
    assert_eq!(store.contents().blob(&large.id).await.unwrap(), None);

    limit("PRAGMA max_page_count = 4294967294".to_owned()).await;
    journal.append(carrying).await.unwrap();
    assert_eq!(numbers(&store, "r").await, [1, 2]);
    assert!(store.contents().blob(&large.id).await.unwrap().is_some());
    let checked = store.check().await.unwrap();
    assert!(checked.is_sound(), "{checked}");
    store.audit().append(audit_entry("T")).await.unwrap();
    assert_eq!(store.audit().verify().await.unwrap().records, 2);
}

#[derive(Debug, Clone)]
enum Act {
    /// Steps of these runs at once, each with so many events.
    Append(Vec<(usize, u64)>),
    Snapshot(usize),
    Follow(usize),
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let steps = prop::collection::vec((0..RUNS, 0..4_u64), 1..12);
    let act = prop_oneof![
        6 => steps.prop_map(Act::Append),
        1 => (0..RUNS).prop_map(Act::Snapshot),
        1 => (0..RUNS).prop_map(Act::Follow),
        1 => Just(Act::Reopen),
    ];
    prop::collection::vec(act, 1..30)
}

/// What must be there.
#[derive(Default)]
struct Model {
    last: u64,
    inputs: Vec<String>,
    /// How many inputs the snapshot covers.
    snapshot: Option<usize>,
}

async fn behaves(acts: Vec<Act>) {
    let (_folder, path) = folder();
    let mut store = Store::open(&path).await.unwrap();
    let name = |run: usize| format!("r{run}");
    let mut models: Vec<Model> = Vec::new();
    for run in 0..RUNS {
        let first = Entry {
            input: "0".into(),
            ..step(&name(run), 1..=1)
        };
        let record = super::tests::record(&name(run));
        store.journal().create(record, first).await.unwrap();
        models.push(Model {
            last: 1,
            inputs: vec!["0".to_owned()],
            snapshot: None,
        });
    }
    let mut followers: Vec<(usize, Follower, Vec<u64>)> = Vec::new();
    for act in acts {
        match act {
            Act::Append(steps) => {
                let mut entries: HashMap<usize, Vec<Entry>> = HashMap::new();
                for (run, events) in steps {
                    let model = &mut models[run];
                    let input = model.inputs.len().to_string();
                    let mut entry = quiet(&name(run), &input);
                    let new = model.last + 1..=model.last + events;
                    entry.events = step(&name(run), new).events;
                    model.last += events;
                    model.inputs.push(input);
                    entries.entry(run).or_default().push(entry);
                }
                // Many runs at once, each in its own order.
                let journal = &store.journal();
                let appends = entries.into_values().map(async |entries| {
                    for entry in entries {
                        journal.append(entry).await.unwrap();
                    }
                });
                futures_util::future::join_all(appends).await;
            }
            Act::Snapshot(run) => {
                let model = &mut models[run];
                let mut entry = quiet(&name(run), &model.inputs.len().to_string());
                entry.snapshot = Some(format!("s{}", model.inputs.len()).into());
                model.inputs.push(entry.input.to_string());
                model.snapshot = Some(model.inputs.len());
                store.journal().append(entry).await.unwrap();
            }
            Act::Follow(run) => {
                let follower = store.journal().follow(&name(run).as_str().into(), 0);
                followers.push((run, follower, Vec::new()));
            }
            Act::Reopen => {
                for (run, follower, seen) in &mut followers {
                    catch_up(follower, seen, models[*run].last).await;
                }
                followers.clear();
                store.close().await.unwrap();
                store = Store::open(&path).await.unwrap();
            }
        }
    }
    for (run, follower, seen) in &mut followers {
        catch_up(follower, seen, models[*run].last).await;
    }
    for (run, model) in models.iter().enumerate() {
        let id = RunId::new(name(run));
        assert_eq!(
            numbers(&store, &name(run)).await,
            (1..=model.last).collect::<Vec<_>>()
        );
        let replay = store.journal().replay(&id).await.unwrap().unwrap();
        assert_eq!(replay.record.last_seq, model.last);
        let covered = model.snapshot.unwrap_or(0);
        let inputs: Vec<_> = replay.inputs.iter().map(ToString::to_string).collect();
        assert_eq!(inputs, model.inputs[covered..]);
        assert_eq!(replay.snapshot.is_some(), model.snapshot.is_some());
    }
    assert!(store.check().await.unwrap().is_sound());
}

/// Every event once, in order.
async fn catch_up(follower: &mut Follower, seen: &mut Vec<u64>, last: u64) {
    while seen.len() < last as usize {
        match follower.next().await {
            Followed::Events(events) => seen.extend(events.iter().map(|event| event.seq)),
            Followed::Lagged { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(*seen, (1..=last).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_in_whatever_order_is_read_back(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(behaves(acts));
    }
}
