//! What it costs that every state of a workspace can be found again:
//! `cargo bench -p innkeeper-benches --bench checkpoints`.
//!
//! A run with 1,000 files changes one of them again and again. Each step is on the disk when it returns, with the files as they
//! are then. The limit is the same steps without them.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use innkeeper_agent::instance::{DiffEnd, DiffQuery, RunReader};
use innkeeper_agent::workspace::state::{FileInfo, WorkspaceState};
use innkeeper_benches::{Bar, Failed, Patience, Row, Table, median};
use innkeeper_protocol::event::{
    CheckpointCreated, CheckpointId, EventId, Level, RunEvent, RunEventKind, RunId,
};
use innkeeper_store::journal::{Entry, RunRecord, RunUpdate};
use innkeeper_store::{Blob, Store};
use serde_json::json;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FILES: usize = 1_000;
/// What may be added to the disk by 10,000 checkpoints, and what one may take.
const MOST_BYTES: u64 = 50_000_000;
const MOST_TIME: Duration = Duration::from_millis(5);
const MOST_DIFF: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    innkeeper_benches::run(1_000, 10_000, measure)
}

async fn measure(table: &mut Table, count: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    table.head(&format!(
        "{count} checkpoints of {FILES} files, one change each (limit: the same steps without them)"
    ));
    let (plain, plain_bytes) = steps(&folder.path().join("plain.db"), count, false).await?;
    let path = folder.path().join("checkpoints.db");
    let (time, bytes) = steps(&path, count, true).await?;
    table.row(&Row::new("a step without a checkpoint", 0, plain));
    let with = Row::new("a step with one", 0, time).against(plain);
    table.row(&with.bar(Bar::AtMost(MOST_TIME)));
    let extra = bytes.saturating_sub(plain_bytes);
    let most = MOST_BYTES * count as u64 / 10_000;
    let verdict = if extra <= most { "ok" } else { "MISSED" };
    println!("  disk: {extra} bytes for the checkpoints, of {bytes}; at most {most} {verdict}");
    if extra > most {
        table
            .missed
            .push(format!("{extra} bytes for the checkpoints"));
    }

    table.head("Finding them again");
    let store = Store::open(&path).await?;
    let reader = RunReader::new(&store);
    let run = RunId::new("run_1");
    for (name, from, to) in [
        ("a diff of two neighbours", count / 2, count / 2 + 1),
        ("a diff of the first and the last", 1, count),
        ("a diff of two that are 100 apart", count - 130, count - 30),
    ] {
        let query = DiffQuery {
            from: DiffEnd::Checkpoint(id(from)),
            to: DiffEnd::Checkpoint(id(to)),
            paths: Vec::new(),
        };
        let mut times = Vec::new();
        for _ in 0..50 {
            let start = Instant::now();
            let diff = reader.diff(&run, &query).await?;
            times.push(start.elapsed());
            if diff.totals.modified != (to - from).min(FILES) as u64 || diff.totals.noted > 0 {
                return Err(format!("{name}: {:?}", diff.totals).into());
            }
        }
        let row = Row::new(
            format!("{name}, {} files", (to - from).min(FILES)),
            0,
            median(times),
        );
        table.row(&match to - from <= 100 {
            true => row.bar(Bar::AtMost(MOST_DIFF)),
            // A thousand files are compared line by line.
            false => row,
        });
    }
    store.close().await?;

    table.head("What the run itself does for one");
    let state = state();
    let listed = Patience::NORMAL.best(|| state.tree());
    table.row(&Row::new(format!("a list of {FILES} files"), 0, listed));
    Ok(())
}

fn id(number: usize) -> CheckpointId {
    CheckpointId::new(format!("cp_{number:06}"))
}

fn path(number: usize) -> String {
    format!("output/chapter-{:02}/scene-{number:04}.md", number % 40)
}

fn text(number: usize, version: usize) -> String {
    let lines = (0..20).map(|line| format!("Line {line} of the scene {number}, as it is told.\n"));
    lines.chain([format!("Version {version}\n")]).collect()
}

fn info(number: usize, version: usize) -> (Blob, FileInfo) {
    let text = text(number, version);
    let blob = Blob::new(text.as_bytes());
    let info = FileInfo::of(blob.id.clone(), &text);
    (blob, info)
}

fn state() -> WorkspaceState {
    let files = (0..FILES).map(|number| (path(number), info(number, 0).1));
    WorkspaceState {
        files: files.collect(),
        ..WorkspaceState::default()
    }
}

/// The median of a step, and what is on the disk then.
async fn steps(file: &Path, count: usize, with: bool) -> Result<(Duration, u64), Failed> {
    let store = Store::open(file).await?;
    let journal = store.journal();
    let run = RunId::new("run_1");
    let record: RunRecord = serde_json::from_value(json!({
        "runId": run, "workspaceId": "w", "stableChatId": "c", "chatRef": null, "generationType": "normal",
        "status": "created", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        "commitCount": 0, "lastSeq": 0
    }))?;
    let mut first = step(&run, 1);
    first.blobs = (0..FILES).map(|number| info(number, 0).0).collect();
    journal.create(record, first).await?;
    let mut state = state();
    let mut times = Vec::with_capacity(count);
    for version in 1..=count {
        let (blob, info) = info(version % FILES, version);
        state.files.insert(path(version % FILES), info);
        let mut entry = step(&run, version as u64 + 1);
        entry.blobs.push(blob);
        let start = Instant::now();
        if with {
            entry.trees.push(state.tree());
        }
        journal.append(entry).await?;
        times.push(start.elapsed());
    }
    store.close().await?;
    Ok((median(times), std::fs::metadata(file)?.len()))
}

/// Tells of the checkpoint before it.
fn step(run: &RunId, seq: u64) -> Entry {
    let kind = match seq {
        1 => RunEventKind::RunCancelRequested,
        seq => RunEventKind::CheckpointCreated(CheckpointCreated {
            checkpoint_id: id(seq as usize - 1),
            reason: "tool_workspace_write".to_owned(),
            extra: serde_json::Map::new(),
        }),
    };
    let event = RunEvent {
        seq,
        id: EventId::new(format!("evt_{seq:012}")),
        run_id: run.clone(),
        timestamp: "2026-01-01T00:00:00.123456789Z".into(),
        level: Level::Info,
        scope: None,
        kind,
    };
    Entry {
        run: run.clone(),
        input: json!([{"kind": "call_ended", "call": seq}])
            .to_string()
            .into(),
        events: vec![event],
        update: RunUpdate::default(),
        blobs: Vec::new(),
        trees: Vec::new(),
        snapshot: None,
    }
}
