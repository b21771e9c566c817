//! What is left of runs, and of what they share, when some of them are slimmed and removed.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_protocol::event::{RunEvent, RunId};
use proptest::prelude::*;

use super::*;
use crate::journal::tests::{begin, last, quiet, record, resumed, step};
use crate::journal::{EventRange, StepPlace};
use crate::store::tests::{behind_its_back, execute, folder};
use crate::{Blob, BlobId, StateRecord, Store, Tree, TreeFile};

fn blob(text: &str) -> Blob {
    Blob {
        id: BlobId::of(text.as_bytes()),
        content: text.as_bytes().into(),
    }
}

/// A run of three events that brought these contents, and is over.
async fn over(store: &Store, run: &str, contents: &[&str]) {
    let mut first = step(run, 1..=1);
    first.blobs = contents.iter().map(|text| blob(text)).collect();
    store.journal().create(record(run), first).await.unwrap();
    let mut second = step(run, 2..=2);
    second.snapshot = Some(format!(r#"{{"run":"{run}"}}"#).into());
    store.journal().append(second).await.unwrap();
    store.journal().append(last(run, 3)).await.unwrap();
}

async fn events(store: &Store, run: &str) -> Vec<RunEvent> {
    let range = EventRange::After { seq: 0, limit: 100 };
    store.journal().events(&run.into(), range).await.unwrap()
}

async fn slim(store: &Store, run: &str) -> Option<Weight> {
    let keeping = store.retention();
    let seen = keeping.verify(&run.into()).await.unwrap();
    keeping.slim(&run.into(), seen).await.unwrap()
}

#[tokio::test]
async fn a_slim_run_keeps_what_happened_and_nothing_else() {
    let store = Store::in_memory().await.unwrap();
    over(&store, "a", &["only a has this", "both have this"]).await;
    over(&store, "b", &["both have this"]).await;
    let run = RunId::new("a");
    let before = (
        events(&store, "a").await,
        store.journal().record(&run).await.unwrap().unwrap(),
    );
    let page = store.retention().ended(None, 10).await.unwrap();
    let place = |id: &str| {
        page.iter()
            .find(|ended| ended.run.as_str() == id)
            .unwrap()
            .place
    };
    let weights = store
        .retention()
        .weigh(&[place("a"), place("b")])
        .await
        .unwrap();
    let planned = &weights[&place("a")];
    assert_eq!(
        planned.contents,
        Weight {
            pieces: 1,
            bytes: 15
        }
    );
    assert_eq!(weights[&place("b")].contents, Weight::default());
    assert_eq!(planned.problem, None);

    let gone = slim(&store, "a").await.unwrap();
    assert_eq!(gone, planned.heavy);
    assert!(gone.bytes > 0 && gone.pieces == 4, "{gone:?}");
    assert_eq!(events(&store, "a").await, before.0);
    let after = store.journal().record(&run).await.unwrap().unwrap();
    assert!(after.is_slim);
    assert_eq!(
        RunRecord {
            is_slim: false,
            ..after
        },
        before.1
    );

    let slimmed = StoreError::RunSlimmed("a".to_owned());
    let journal = store.journal();
    assert_eq!(journal.replay(&run).await, Err(slimmed.clone()));
    let inputs = journal.inputs(&run, StepPlace::default(), 10).await;
    assert_eq!(inputs, Err(slimmed.clone()));
    for entry in [resumed("a", 4..=4), quiet("a", "{}")] {
        assert_eq!(journal.append(entry).await, Err(slimmed.clone()));
    }
    let swept = store.contents().sweep().await.unwrap();
    assert_eq!((swept.contents, swept.bytes), (1, 15));
    let has = async |text: &str| {
        let id = BlobId::of(text.as_bytes());
        store.contents().blob(&id).await.unwrap().is_some()
    };
    assert!(!has("only a has this").await && has("both have this").await);
    // Done again it changes nothing.
    assert_eq!(slim(&store, "a").await, Some(Weight::default()));
    assert!(store.check().await.unwrap().is_sound());
    assert!(journal.delete(&run).await.unwrap());
    assert_eq!(journal.record(&run).await.unwrap(), None);
}

#[tokio::test]
async fn what_has_changed_since_it_was_seen_stays() {
    let store = Store::in_memory().await.unwrap();
    let keeping = store.retention();
    over(&store, "a", &[]).await;
    let run = RunId::new("a");
    let seen = keeping.verify(&run).await.unwrap();
    store.journal().append(resumed("a", 4..=4)).await.unwrap();
    assert_eq!(keeping.slim(&run, seen).await.unwrap(), None);
    assert_eq!(
        keeping
            .remove(&run, seen, &Belongings::default())
            .await
            .unwrap(),
        None
    );
    // Nor is one without an end touched, however it was seen.
    let seen = keeping.verify(&run).await.unwrap();
    assert_eq!(keeping.slim(&run, seen).await.unwrap(), None);
    assert_eq!(
        keeping
            .remove(&run, seen, &Belongings::default())
            .await
            .unwrap(),
        None
    );
    store.journal().append(last("a", 5)).await.unwrap();
    let seen = keeping.verify(&run).await.unwrap();
    assert!(keeping.slim(&run, seen).await.unwrap().is_some());
    assert!(
        keeping
            .remove(&run, seen, &Belongings::default())
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(
        keeping
            .remove(&run, seen, &Belongings::default())
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn runs_are_ranked_by_their_end_and_unfinished_ones_are_apart() {
    let store = Store::in_memory().await.unwrap();
    for (run, end) in [("a", 9), ("b", 3), ("c", 6)] {
        begin(&store, run, end - 1).await;
        store.journal().append(last(run, end)).await.unwrap();
    }
    begin(&store, "d", 1).await;
    let keeping = store.retention();
    let counts = keeping.counts().await.unwrap();
    assert_eq!((counts.ended, counts.unfinished), (3, 1));
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = keeping.ended(after, 2).await.unwrap();
        let Some(end) = page.last() else { break };
        after = Some(end.place);
        found.extend(page.into_iter().map(|ended| ended.run.to_string()));
    }
    assert_eq!(found, ["a", "c", "b"]);
    let open = keeping.unfinished(10).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].run.as_str(), "d");
}

#[tokio::test]
async fn damage_is_seen_before_anything_is_taken_away() {
    let store = Store::in_memory().await.unwrap();
    over(&store, "a", &[]).await;
    over(&store, "b", &[]).await;
    let database = store.database();
    for sql in [
        "UPDATE journal SET lines = replace(lines, 'event 2 of a', 'event 2 of x') WHERE run = 1",
        "DELETE FROM journal WHERE run = 2 AND after_seq = 1",
    ] {
        sqlx::query(sql).execute(&database.writer).await.unwrap();
    }
    let keeping = store.retention();
    for run in ["a", "b"] {
        let error = keeping.verify(&run.into()).await.unwrap_err();
        assert_eq!(error.code(), "store.corrupt", "{run}");
    }
    let page = keeping.ended(None, 10).await.unwrap();
    let places: Vec<EndedPlace> = page.iter().map(|ended| ended.place).collect();
    let weights = keeping.weigh(&places).await.unwrap();
    for ended in &page {
        let problem = &weights[&ended.place].problem;
        assert_eq!(problem.is_some(), ended.run.as_str() == "b", "{problem:?}");
    }
}

#[tokio::test]
async fn a_repair_knows_slim_runs() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    over(&store, "a", &["text"]).await;
    over(&store, "b", &[]).await;
    slim(&store, "a").await.unwrap();
    slim(&store, "b").await.unwrap();
    assert!(store.check().await.unwrap().is_sound());
    store.close().await.unwrap();
    let mut behind = behind_its_back(&path).await;
    // What the journal says of it wins.
    execute(
        &mut behind,
        "UPDATE run_states SET is_slim = 0 WHERE run = 1",
    )
    .await;
    execute(
        &mut behind,
        "DELETE FROM journal WHERE run = 2 AND after_seq = 2",
    )
    .await;
    drop(behind);
    Store::repair(&path).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    for run in ["a", "b"] {
        let record = store.journal().record(&run.into()).await.unwrap().unwrap();
        assert!(record.is_slim, "{run}");
    }
    // It has lost its end, but there is nothing to go on with.
    assert_eq!(store.journal().unfinished().await.unwrap(), []);
    assert_eq!(events(&store, "b").await.len(), 2);
    assert!(store.journal().delete(&"b".into()).await.unwrap());
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_state_goes_unless_a_run_without_an_end_needs_it() {
    let store = Store::in_memory().await.unwrap();
    over(&store, "one", &["memory"]).await;
    let state = |id: &str| StateRecord {
        workspace: "ws_1".into(),
        state: id.to_owned(),
        record: "{}".into(),
        contents: BTreeSet::from([BlobId::of(b"memory")]),
    };
    for id in ["one", "two", "three"] {
        store.states().put(state(id)).await.unwrap();
    }
    let based = |run: &str, base: &str| {
        let mut record = record(run);
        record.persist_base_state_id = Some(base.to_owned());
        (record, step(run, 1..=1))
    };
    let (open, first) = based("three", "one");
    store.journal().create(open, first).await.unwrap();
    let (ended, first) = based("four", "two");
    store.journal().create(ended, first).await.unwrap();
    store.journal().append(last("four", 2)).await.unwrap();
    let asked = ["one", "two", "three", "gone"].map(str::to_owned);
    let workspace = "ws_1".into();
    let removed = store.states().prune(&workspace, &asked).await.unwrap();
    assert_eq!(removed, ["two"]);
    assert_eq!(
        store.states().workspaces(None).await.unwrap(),
        [(workspace.clone(), 2)]
    );
    // What is left of the other states goes too; the run that began with one of them still has its files.
    store.journal().append(last("three", 2)).await.unwrap();
    let removed = store.states().prune(&workspace, &asked).await.unwrap();
    assert_eq!(removed, ["one", "three"]);
    store.journal().delete(&"one".into()).await.unwrap();
    store.contents().sweep().await.unwrap();
    let id = BlobId::of(b"memory");
    assert!(store.contents().blob(&id).await.unwrap().is_some());
    for run in ["three", "four"] {
        store.journal().delete(&run.into()).await.unwrap();
    }
    store.contents().sweep().await.unwrap();
    assert_eq!(store.contents().blob(&id).await.unwrap(), None);
}

#[derive(Debug, Clone)]
enum Deed {
    /// Begins, with these contents, and with a checkpoint of them all.
    Run(Vec<u8>),
    /// Keeps the contents of a run under its id.
    State(usize),
    Slim(usize),
    Remove(usize),
    Prune(usize),
    Sweep,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        3 => proptest::collection::vec(0..6_u8, 0..4).prop_map(Deed::Run),
        2 => (0..8_usize).prop_map(Deed::State),
        2 => (0..8_usize).prop_map(Deed::Slim),
        1 => (0..8_usize).prop_map(Deed::Remove),
        1 => (0..8_usize).prop_map(Deed::Prune),
        1 => Just(Deed::Sweep),
    ];
    proptest::collection::vec(deed, 1..24)
}

/// A run as somebody would remember it who copies everything.
struct Remembered {
    id: String,
    contents: BTreeSet<String>,
    events: Vec<RunEvent>,
    is_slim: bool,
}

async fn tried(deeds: Vec<Deed>) {
    let store = Store::in_memory().await.unwrap();
    let mut runs: Vec<Remembered> = Vec::new();
    let mut states: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (number, deed) in deeds.into_iter().enumerate() {
        match deed {
            Deed::Run(contents) => {
                let id = format!("run_{number}");
                let texts: BTreeSet<String> = contents.iter().map(u8::to_string).collect();
                let named: Vec<&str> = texts.iter().map(String::as_str).collect();
                let mut first = step(&id, 1..=1);
                first.blobs = named.iter().map(|text| blob(text)).collect();
                let files = texts.iter().map(|text| {
                    let file = TreeFile {
                        sha256: BlobId::of(text.as_bytes()),
                        bytes: 1,
                    };
                    (format!("output/{text}.md"), file)
                });
                first.trees = vec![Tree(files.collect())];
                store.journal().create(record(&id), first).await.unwrap();
                store.journal().append(last(&id, 2)).await.unwrap();
                let events = events(&store, &id).await;
                runs.push(Remembered {
                    id,
                    contents: texts,
                    events,
                    is_slim: false,
                });
            }
            Deed::State(of) => {
                let Some(run) = runs.get(of).filter(|run| !run.is_slim) else {
                    continue;
                };
                let kept = StateRecord {
                    workspace: "ws_1".into(),
                    state: run.id.clone(),
                    record: "{}".into(),
                    contents: run
                        .contents
                        .iter()
                        .map(|text| BlobId::of(text.as_bytes()))
                        .collect(),
                };
                store.states().put(kept).await.unwrap();
                states.insert(run.id.clone(), run.contents.clone());
            }
            Deed::Slim(of) => {
                let Some(run) = runs.get_mut(of) else {
                    continue;
                };
                assert!(slim(&store, &run.id).await.is_some());
                run.is_slim = true;
            }
            Deed::Remove(of) => {
                if of >= runs.len() {
                    continue;
                }
                let run = runs.remove(of);
                let seen = store
                    .retention()
                    .verify(&run.id.as_str().into())
                    .await
                    .unwrap();
                let gone = store
                    .retention()
                    .remove(&run.id.as_str().into(), seen, &Belongings::default())
                    .await;
                assert!(gone.unwrap().is_some());
            }
            Deed::Prune(of) => {
                let Some(id) = states.keys().nth(of).cloned() else {
                    continue;
                };
                let gone = store
                    .states()
                    .prune(&"ws_1".into(), std::slice::from_ref(&id))
                    .await;
                assert_eq!(gone.unwrap(), std::slice::from_ref(&id));
                states.remove(&id);
            }
            Deed::Sweep => drop(store.contents().sweep().await.unwrap()),
        }
    }
    store.contents().sweep().await.unwrap();
    let whole = runs
        .iter()
        .filter(|run| !run.is_slim)
        .map(|run| &run.contents);
    let held: BTreeSet<&String> = whole.chain(states.values()).flatten().collect();
    for text in (0..6_u8).map(|number| number.to_string()) {
        let found = store
            .contents()
            .blob(&BlobId::of(text.as_bytes()))
            .await
            .unwrap();
        assert_eq!(found.is_some(), held.contains(&text), "content {text}");
    }
    for run in &runs {
        assert_eq!(events(&store, &run.id).await, run.events);
        let id = RunId::new(run.id.as_str());
        let record = store.journal().record(&id).await.unwrap().unwrap();
        assert_eq!(record.is_slim, run.is_slim);
        assert_eq!(store.journal().replay(&id).await.is_ok(), !run.is_slim);
    }
    for (id, contents) in &states {
        let found = store
            .states()
            .get(&"ws_1".into(), id)
            .await
            .unwrap()
            .unwrap();
        let expected = contents.iter().map(|text| BlobId::of(text.as_bytes()));
        assert_eq!(found.contents, expected.collect());
    }
    let counts = store.retention().counts().await.unwrap();
    assert_eq!(counts.ended, runs.len() as u64);
    assert!(store.check().await.unwrap().is_sound());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever goes, what is kept reads as before, and what nobody holds is gone.
    #[test]
    fn what_is_kept_reads_as_before(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(tried(deeds));
    }
}
