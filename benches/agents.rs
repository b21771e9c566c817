//! What a turn of an agent costs beside the HTTP requests that it cannot do without:
//! `cargo bench -p innkeeper-benches --bench agents`.
//!
//! Everything is real but the model: the client over HTTP, the engine with the built-in deliberation, the tools with policy
//! and audit, and the store on a disk with full durability. The model is a process of its own that answers at once. The bare
//! side sends the very same bodies to the same server and drops what it gets.

#[path = "agents/bare.rs"]
mod bare;
#[path = "agents/house.rs"]
mod house;
#[path = "agents/parked.rs"]
mod parked;
#[path = "agents/server.rs"]
mod server;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bare::Bare;
use house::{House, Kind};
use innkeeper_benches::{Bar, Failed, Row, Table, resources};
use server::Script;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs at once.
const RUNS: usize = 50;
/// Turns of a run that call a tool; one more ends it.
const TURNS: usize = 20;
/// What has to be reached, and what is aimed at, in turns a second over all runs.
const LEAST: u32 = 3_000;
const AIM: u32 = 5_000;

fn main() -> ExitCode {
    match role() {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        None => innkeeper_benches::run(4, 12, measure),
    }
}

/// What this process is for, if it was started by another one of these.
fn role() -> Option<Result<(), Failed>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first()?.as_str() {
        server::ROLE => Some(server::serve(&args)),
        parked::ROLE => Some(parked::park(&args)),
        _ => None,
    }
}

async fn measure(table: &mut Table, waves: usize) -> Result<(), Failed> {
    turns(table, waves).await?;
    parked::measure(table)
}

async fn turns(table: &mut Table, waves: usize) -> Result<(), Failed> {
    table.head(&format!(
        "A turn that calls a tool, {RUNS} runs of {TURNS} at once (limit: the same requests in a bare HTTP loop)"
    ));
    let server = Script::Turns.server()?;
    let bare = Bare::new(&server.url).await?;
    let acts = House::open(&server.url, Kind::Acts).await?;
    let reads = House::open(&server.url, Kind::Reads).await?;
    for house in [&acts, &reads] {
        house.profile("bench", &["echo"])?;
    }
    let mut best = [Wave::default(); 3];
    for _ in 0..waves {
        let [best_bare, best_acts, best_reads] = &mut best;
        best_bare.take(Wave::of(bare.wave()).await?);
        best_acts.take(Wave::of(acts.wave("bench")).await?);
        best_reads.take(Wave::of(reads.wave("bench")).await?);
    }
    acts.close().await?;
    reads.close().await?;
    let [best_bare, best_acts, best_reads] = best;
    table.row(&best_bare.row("bare"));
    for (what, wave) in [("acts", best_acts), ("reads", best_reads)] {
        table.row(
            &wave
                .row(&format!("durable, the tool {what}"))
                .against(best_bare.turn())
                .bar(Bar::AtMost(Duration::from_secs(1) / LEAST))
                .bar(Bar::AtMost(Duration::from_secs(1) / AIM)),
        );
    }
    for (who, wave) in [
        ("bare", best_bare),
        ("acts", best_acts),
        ("reads", best_reads),
    ] {
        println!(
            "    {who}: {:.0} µs of processor time a turn in this process",
            wave.processor.as_secs_f64() * 1e6 / (RUNS * TURNS) as f64
        );
    }
    Ok(())
}

/// All runs, once.
#[derive(Clone, Copy, Default)]
struct Wave {
    time: Duration,
    processor: Duration,
}

impl Wave {
    async fn of(work: impl Future<Output = Result<(), Failed>>) -> Result<Self, Failed> {
        let (processor, start) = (resources::processor()?, Instant::now());
        work.await?;
        Ok(Self {
            time: start.elapsed(),
            processor: resources::processor()?.saturating_sub(processor),
        })
    }

    fn take(&mut self, other: Self) {
        if self.time.is_zero() || other.time < self.time {
            *self = other;
        }
    }

    /// On average; runs go side by side.
    fn turn(&self) -> Duration {
        self.time.div_f64((RUNS * TURNS) as f64)
    }

    fn row(&self, who: &str) -> Row {
        let rate = 1.0 / self.turn().as_secs_f64();
        Row::new(format!("{who} ({rate:.0} turns/s)"), 0, self.turn())
    }
}
