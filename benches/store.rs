//! What it costs that a run survives: `cargo bench -p innkeeper-benches --bench store`.
//!
//! Every append is on the disk when it returns, so the limit of one run is what the disk takes to say so; many runs share
//! that. Reading and appending must not become slower as a run grows.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_benches::{Bar, Failed, Row, Table, median};
use innkeeper_protocol::event::{EventId, Level, RunEvent, RunEventKind, RunId};
use innkeeper_store::Store;
use innkeeper_store::journal::{Entry, EventRange, RunJournal, RunRecord, RunUpdate};
use serde_json::json;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Events of the long run.
const LONG: u64 = 1_000_000;
/// How soon its last 100 must be there.
const LAST: Duration = Duration::from_millis(5);
/// How much of its speed an append must keep when the run is long.
const KEPT: f64 = 0.5;
/// Steps of one run that are under way at once while it is made long.
const UNDER_WAY: usize = 64;

fn main() -> ExitCode {
    innkeeper_benches::run(200, 2_000, measure)
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    table
        .head("Appending a step of three events, on the disk when it returns (limit: fsync alone)");
    let alone = fsync(folder.path(), rounds.min(500))?;
    table.row(&Row::new("8 KiB and an fsync", 0, alone));
    let store = Store::open(&folder.path().join("many.db")).await?;
    for runs in [1, 50, 500] {
        let each = (rounds * 50 / runs).clamp(20, rounds);
        let time = append(&store, runs, each).await?;
        let rate = 1.0 / time.as_secs_f64();
        let name = format!("{runs} runs at once, {rate:.0} steps a second");
        table.row(&Row::new(name, 0, time).against(alone));
    }
    store.close().await?;

    table.head("One long run (limit: the same run when it was short)");
    let store = Store::open(&folder.path().join("long.db")).await?;
    let journal = store.journal();
    let run = RunId::new("long");
    create(&journal, "long").await?;
    grow(&journal, 1, 1_000, 2).await?;
    let (short, seq) = appends(&journal, rounds.min(500)).await?;
    table.row(&Row::new("append at 1,000 events", 0, short));
    let steps = if rounds < 1_000 { LONG / 10 } else { LONG };
    grow(&journal, seq, steps - 100_000.min(steps / 2), 10).await?;
    let seq = last(&journal, &run).await?;
    grow(&journal, seq, steps, 2).await?;
    let seq = last(&journal, &run).await?;
    let (long, _) = appends(&journal, rounds.min(500)).await?;
    table.row(
        &Row::new(format!("append at {seq} events"), 0, long)
            .against(short)
            .bar(Bar::OfLimit(KEPT)),
    );
    for (name, range) in [
        ("the last 100 events", EventRange::Last { limit: 100 }),
        (
            "100 from the middle",
            EventRange::After {
                seq: seq / 2,
                limit: 100,
            },
        ),
    ] {
        let mut times = Vec::new();
        for _ in 0..rounds.min(300) {
            let start = Instant::now();
            let events = journal.events(&run, range).await?;
            times.push(start.elapsed());
            if events.len() != 100 {
                return Err(format!("{} events", events.len()).into());
            }
        }
        let name = format!("{name} of {seq}");
        table.row(&Row::new(name, 0, median(times)).bar(Bar::AtMost(LAST)));
    }
    store.close().await?;
    Ok(())
}

fn fsync(folder: &Path, rounds: usize) -> Result<Duration, Failed> {
    let mut file = File::create(folder.join("fsync"))?;
    // Room that is there already, as in the log that SQLite writes to.
    file.write_all(&[7; 8 * 1024 * 1024])?;
    file.sync_all()?;
    let mut times = Vec::new();
    for round in 0..rounds as u64 {
        let start = Instant::now();
        file.seek(SeekFrom::Start(round % 1_000 * 8 * 1024))?;
        file.write_all(&[8; 8 * 1024])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(median(times))
}

fn event(run: &RunId, seq: u64) -> RunEvent {
    RunEvent {
        seq,
        id: EventId::new(format!("evt_{seq:012}")),
        run_id: run.clone(),
        timestamp: "2026-01-01T00:00:00.123456789Z".into(),
        level: Level::Info,
        scope: None,
        kind: RunEventKind::Other {
            kind: "tool_call_completed".to_owned(),
            payload: json!({"round": seq, "invocationId": "inv_root", "callId": format!("call_{seq}"),
                "name": "workspace.write_file", "isError": false, "elapsedMs": 3, "resourceRefs": ["output/main.md"]}),
        },
    }
}

fn step(run: &RunId, after: u64, events: u64) -> Entry {
    let input =
        json!({"type": "call_ended", "callId": format!("call_{after}"), "text": "x".repeat(400)});
    Entry {
        run: run.clone(),
        input: input.to_string().into(),
        events: (after + 1..=after + events)
            .map(|seq| event(run, seq))
            .collect(),
        update: RunUpdate::default(),
        blobs: Vec::new(),
        trees: Vec::new(),
        snapshot: None,
    }
}

async fn create(journal: &Arc<dyn RunJournal>, run: &str) -> Result<(), Failed> {
    let record: RunRecord = serde_json::from_value(json!({
        "runId": run, "workspaceId": "w", "stableChatId": "c", "chatRef": null, "generationType": "normal",
        "status": "created", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        "commitCount": 0, "lastSeq": 0
    }))?;
    let first = step(&RunId::new(run), 0, 1);
    Ok(journal.create(record, first).await?)
}

/// The time that one step takes on average while so many runs go on at once.
async fn append(store: &Store, runs: usize, each: usize) -> Result<Duration, Failed> {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..runs {
        let name = format!("of_{runs}_{number}");
        create(&store.journal(), &name).await?;
    }
    let start = Instant::now();
    for number in 0..runs {
        let journal = store.journal();
        let run = RunId::new(format!("of_{runs}_{number}"));
        tasks.spawn(async move {
            for round in 0..each as u64 {
                journal.append(step(&run, 1 + round * 3, 3)).await?;
            }
            Ok::<_, innkeeper_store::StoreError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let steps = u32::try_from(runs * each)?;
    Ok(start.elapsed() / steps)
}

/// Makes the run longer, to at least this number.
async fn grow(
    journal: &Arc<dyn RunJournal>,
    mut seq: u64,
    to: u64,
    events: u64,
) -> Result<(), Failed> {
    let run = RunId::new("long");
    let mut under_way = std::collections::VecDeque::new();
    while seq < to || !under_way.is_empty() {
        if seq < to && under_way.len() < UNDER_WAY {
            let (journal, entry) = (journal.clone(), step(&run, seq, events));
            seq += events;
            // Polled once here, in order, so that they are written in order.
            let append = async move { journal.append(entry).await };
            let mut append = Box::pin(tokio::task::unconstrained(append));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            match append.as_mut().poll(&mut context) {
                std::task::Poll::Ready(done) => done?,
                std::task::Poll::Pending => under_way.push_back(append),
            }
        } else if let Some(append) = under_way.pop_front() {
            append.await?;
        }
    }
    Ok(())
}

async fn last(journal: &Arc<dyn RunJournal>, run: &RunId) -> Result<u64, Failed> {
    let record = journal.record(run).await?.ok_or("the run is there")?;
    Ok(record.last_seq)
}

/// One after another; the median, and the number of the last event.
async fn appends(journal: &Arc<dyn RunJournal>, rounds: usize) -> Result<(Duration, u64), Failed> {
    let run = RunId::new("long");
    let mut seq = last(journal, &run).await?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let entry = step(&run, seq, 3);
        let start = Instant::now();
        journal.append(entry).await?;
        times.push(start.elapsed());
        seq += 3;
    }
    Ok((median(times), seq))
}
