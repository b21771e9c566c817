//! What the engine costs beside the work of the nodes: `cargo bench -p innkeeper-benches --bench engine`.
//!
//! The nodes add small whole numbers, as those of the engines that it is measured beside do. With `INNKEEPER_BENCH_JSON`
//! set to a file, the rows that others have too are written there, a line of JSON each.

#[path = "engine/graphs.rs"]
mod graphs;
#[path = "engine/limits.rs"]
mod limits;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use graphs::{corner, counting, engine, run};
use innkeeper_benches::{Bar, Failed, Row, Table, median};
use innkeeper_engine::{ExecutionEngine, Heard, NoWorkflows, Plan, RunOptions};
use serde_json::{Value as Json, json};

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PER_NODE: Duration = Duration::from_nanos(500);
const PER_NODE_FOLLOWED: Duration = Duration::from_nanos(1_500);
const PER_TURN: Duration = Duration::from_micros(2);
/// Time for twice the nodes, divided by the time for these.
const LINEAR: f64 = 2.3;
/// The same for making a plan, whose tables outgrow the processor's cache between the two.
const LINEAR_PREPARING: f64 = 2.6;
const TURNS: usize = 10_000;
const CHUNKS: usize = 100_000;
const RUNS: usize = 1_000;
/// All waits together must not take longer than two of them, one after the other.
const OF_ONE_RUN: f64 = 0.5;
/// What a loop may grow by between its 1,000th and its 10,000th turn, each of which makes 16 KB.
const GROWTH: usize = 1 << 20;
const PAGE: usize = 4_096;
/// For one row.
const BUDGET: Duration = Duration::from_millis(800);

fn main() -> ExitCode {
    innkeeper_benches::run(20, 400, measure)
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    let engine = engine()?;
    let call = limits::call();
    let spawn = limits::spawn(rounds / 10).await;
    graphs_of_quick_nodes(table, &engine, rounds, call).await?;
    loops(table, &engine, rounds, call).await?;
    tasks_and_streams(table, &engine, rounds, spawn).await?;
    preparing(table, &engine)?;
    many_runs(table, &engine).await?;
    memory(table, &engine).await
}

/// The best and the median time of a run.
struct Times {
    best: Duration,
    median: Duration,
    rounds: usize,
}

/// Within a task, as a run that was started is. The result is checked each time.
async fn time(
    engine: &ExecutionEngine,
    plan: &Plan,
    rounds: usize,
    expected: &Json,
) -> Result<Times, Failed> {
    let (engine, plan, expected) = (engine.clone(), plan.clone(), expected.clone());
    let work = tokio::spawn(async move { time_here(&engine, &plan, rounds, &expected).await });
    Ok(work.await??)
}

async fn time_here(
    engine: &ExecutionEngine,
    plan: &Plan,
    rounds: usize,
    expected: &Json,
) -> Result<Times, String> {
    let start = Instant::now();
    let mut times = Vec::with_capacity(rounds);
    // The first ones fill the caches.
    for round in 0..rounds + 3 {
        let begin = Instant::now();
        let result = run(engine, plan).await?;
        let took = begin.elapsed();
        if result != *expected {
            return Err(format!("the result is {result}, not {expected}"));
        }
        if round >= 3 {
            times.push(took);
        }
        if round >= 3 && start.elapsed() > BUDGET {
            break;
        }
    }
    let rounds = times.len();
    let best = times.iter().min().copied().unwrap_or_default();
    let median = median(times);
    Ok(Times {
        best,
        median,
        rounds,
    })
}

/// A graph once, and twice as large.
struct Graph {
    /// What others call it too.
    name: &'static str,
    title: &'static str,
    nodes: usize,
    plan: Plan,
    expected: Json,
    double: Plan,
    double_expected: Json,
}

async fn graphs_of_quick_nodes(
    table: &mut Table,
    engine: &ExecutionEngine,
    rounds: usize,
    call: Duration,
) -> Result<(), Failed> {
    table.head("For each node, run in place (limit: a call through a box)");
    table.row(&Row::new("a call through a box", 0, call));
    let add = "bench:Add";
    let all = [
        Graph {
            name: "chain",
            title: "a chain of 1,000",
            nodes: 1_000,
            plan: graphs::chain(engine, add, 1_000)?.plan(engine)?,
            expected: json!(1_000),
            double: graphs::chain(engine, add, 2_000)?.plan(engine)?,
            double_expected: json!(2_000),
        },
        Graph {
            name: "fan",
            title: "a fan of 1,000",
            nodes: 1_000,
            plan: graphs::fan(engine, add, 1_000)?.plan(engine)?,
            expected: json!(2_000),
            double: graphs::fan(engine, add, 2_000)?.plan(engine)?,
            double_expected: json!(4_000),
        },
        Graph {
            name: "grid",
            title: "a grid of 10,000",
            nodes: 10_000,
            plan: graphs::grid(engine, 100, 100)?.plan(engine)?,
            expected: json!(corner(100, 100)),
            double: graphs::grid(engine, 200, 100)?.plan(engine)?,
            double_expected: json!(corner(200, 100)),
        },
    ];
    for graph in &all {
        let once = time(engine, &graph.plan, rounds, &graph.expected).await?;
        hand_in(graph.name, graph.nodes, &once, &graph.expected)?;
        // By turns, so that a machine that is busy for a while is busy for both.
        let (mut best, mut best_twice) = (once.best, Duration::MAX);
        for _ in 0..4 {
            let twice = time(engine, &graph.double, rounds / 4, &graph.double_expected).await?;
            let once = time(engine, &graph.plan, rounds / 4, &graph.expected).await?;
            (best, best_twice) = (best.min(once.best), best_twice.min(twice.best));
        }
        let ratio = best_twice.as_secs_f64() / best.as_secs_f64();
        let row = Row::new(graph.title, 0, per(once.best, graph.nodes))
            .against(call)
            .doubling(Some(ratio))
            .bar(Bar::AtMost(PER_NODE))
            .bar(Bar::Doubling(LINEAR));
        table.row(&row);
        median_row(table, &once, graph.nodes);
    }
    table.head("The same, and somebody follows every event");
    let mut events = engine.subscribe();
    let follower = tokio::spawn(async move {
        loop {
            if let Heard::Lost(lost) = events.next().await {
                println!("  {lost} events were lost: the one who follows is too slow");
            }
        }
    });
    for graph in &all {
        let once = time(engine, &graph.plan, rounds, &graph.expected).await?;
        let row = Row::new(graph.title, 0, per(once.best, graph.nodes))
            .against(call)
            .bar(Bar::AtMost(PER_NODE_FOLLOWED));
        table.row(&row);
        median_row(table, &once, graph.nodes);
    }
    follower.abort();
    // Aborted is not gone: until it is, events are still made.
    let _ = follower.await;
    Ok(())
}

async fn loops(
    table: &mut Table,
    engine: &ExecutionEngine,
    rounds: usize,
    call: Duration,
) -> Result<(), Failed> {
    table.head("For each turn of a loop, beyond its body (limit: a call through a box)");
    let expected = json!(TURNS);
    let body = graphs::chain(engine, "bench:Add", TURNS)?.plan(engine)?;
    let body = time(engine, &body, rounds, &expected).await?;
    let turns = counting(engine, TURNS, false)?.plan(engine)?;
    let turns = time(engine, &turns, rounds, &expected).await?;
    hand_in("loop", TURNS, &turns, &expected)?;
    let beyond = |times: &Times| per(times.best.saturating_sub(body.best), TURNS);
    let row = Row::new("10,000 turns", 0, beyond(&turns));
    table.row(&row.against(call).bar(Bar::AtMost(PER_TURN)));
    table.row(&Row::new("  the body included", 0, per(turns.best, TURNS)));
    let until = counting(engine, TURNS, true)?.plan(engine)?;
    let until = time(engine, &until, rounds, &expected).await?;
    table.row(&Row::new("  until an expression holds", 0, beyond(&until)));
    Ok(())
}

async fn tasks_and_streams(
    table: &mut Table,
    engine: &ExecutionEngine,
    rounds: usize,
    spawn: Duration,
) -> Result<(), Failed> {
    table.head("For each node that is a task (limit: a task begun and awaited)");
    table.row(&Row::new("a task, begun and awaited", 0, spawn));
    let chain = graphs::chain(engine, "bench:AddTask", 1_000)?.plan(engine)?;
    let chain = time(engine, &chain, rounds, &json!(1_000)).await?;
    table.row(&Row::new("a chain of 1,000 tasks", 0, per(chain.best, 1_000)).against(spawn));
    let fan = graphs::fan(engine, "bench:AddTask", 1_000)?.plan(engine)?;
    let fan = time(engine, &fan, rounds, &json!(2_000)).await?;
    table.row(&Row::new("a fan of 1,000 tasks", 0, per(fan.best, 1_000)).against(spawn));

    table.head("For each chunk of a stream");
    for readers in [1, 4] {
        let plan = graphs::streaming(engine, CHUNKS, readers)?.plan(engine)?;
        let times = time(engine, &plan, rounds, &json!(CHUNKS * readers)).await?;
        let speed = CHUNKS as f64 / times.best.as_secs_f64() / 1e6;
        let name = format!("{readers} who read ({speed:.1} million chunks/s)");
        table.row(&Row::new(name, 0, per(times.best, CHUNKS)));
    }
    Ok(())
}

fn preparing(table: &mut Table, engine: &ExecutionEngine) -> Result<(), Failed> {
    table.head("For each node, made ready to run");
    let patience = innkeeper_benches::Patience::LONG;
    let best = |workflow| patience.best(|| engine.prepare(&workflow, &NoWorkflows));
    let pairs = [
        (
            "a chain of 1,000",
            1_000,
            graphs::chain(engine, "bench:Add", 1_000)?.workflow(),
            graphs::chain(engine, "bench:Add", 2_000)?.workflow(),
        ),
        (
            "a grid of 10,000",
            10_000,
            graphs::grid(engine, 100, 100)?.workflow(),
            graphs::grid(engine, 200, 100)?.workflow(),
        ),
    ];
    for (title, nodes, once, twice) in pairs {
        let (once, twice) = (best(once), best(twice));
        let ratio = twice.as_secs_f64() / once.as_secs_f64();
        let row = Row::new(title, 0, per(once, nodes)).doubling(Some(ratio));
        table.row(&row.bar(Bar::Doubling(LINEAR_PREPARING)));
    }
    Ok(())
}

async fn many_runs(table: &mut Table, engine: &ExecutionEngine) -> Result<(), Failed> {
    table.head("Runs of ten nodes, one of which waits for 50 ms (limit: one such run)");
    let plan = graphs::waiting(engine)?.plan(engine)?;
    let one = time(engine, &plan, 5, &json!(10)).await?.best;
    table.row(&Row::new("one run", 0, one));
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begin = Instant::now();
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            runs.push(engine.start(&plan, RunOptions::default())?);
        }
        for run in runs {
            let outcome = run.outcome().await;
            if outcome.output("result").map(|value| value.as_json()) != Some(&json!(10)) {
                return Err(format!("a run ended with {:?}", outcome.error).into());
            }
        }
        best = best.min(begin.elapsed());
    }
    let row = Row::new("1,000 runs at once", 0, best).against(one);
    table.row(&row.bar(Bar::OfLimit(OF_ONE_RUN)));
    Ok(())
}

async fn memory(table: &mut Table, engine: &ExecutionEngine) -> Result<(), Failed> {
    println!("\nMemory of a loop that makes 16 KB a turn");
    let plan = graphs::weighing(engine)?.plan(engine)?;
    run(engine, &plan).await?;
    let early = graphs::PAGES_EARLY.load(Ordering::Relaxed) * PAGE;
    let late = graphs::PAGES_LATE.load(Ordering::Relaxed) * PAGE;
    let grown = late.saturating_sub(early);
    let verdict = if grown <= GROWTH { "ok" } else { "MISSED" };
    println!(
        "  {} KB at turn 1,000, {} KB at turn 10,000: {} KB more  <= {} KB {verdict}",
        early >> 10,
        late >> 10,
        grown >> 10,
        GROWTH >> 10
    );
    if grown > GROWTH {
        table.missed.push(format!("the loop grew by {grown} bytes"));
    }
    Ok(())
}

fn per(time: Duration, nodes: usize) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 / nodes as f64).round() as u64)
}

fn median_row(table: &mut Table, times: &Times, nodes: usize) {
    table.row(&Row::new("  at the median", 0, per(times.median, nodes)));
}

/// A row that others have too.
fn hand_in(graph: &str, nodes: usize, times: &Times, result: &Json) -> Result<(), Failed> {
    let Some(path) = std::env::var_os("INNKEEPER_BENCH_JSON") else {
        return Ok(());
    };
    let row = json!({
        "peer": "innkeeper",
        "version": env!("CARGO_PKG_VERSION"),
        "graph": graph,
        "nodes": nodes,
        "rounds": times.rounds,
        "best_ns_per_node": times.best.as_nanos() as f64 / nodes as f64,
        "median_ns_per_node": times.median.as_nanos() as f64 / nodes as f64,
        "result": result,
    });
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path)?;
    writeln!(file, "{row}")?;
    Ok(())
}
