//! What our client costs beside a bare HTTP stream: `cargo bench -p innkeeper-benches --bench models`.
//!
//! Both send the same request to the same server, by turns. The bare one reads the bytes and drops them; ours gives out
//! what they say. The server is a process of its own, and so are those that read 1,000 streams at once, so that the
//! memory of one is not taken for that of another.

#[path = "models/crowd.rs"]
mod crowd;
#[path = "models/server.rs"]
mod server;
#[path = "models/sides.rs"]
mod sides;

use std::process::ExitCode;
use std::time::Duration;

use innkeeper_benches::{Bar, Failed, Row, Table, median};
use innkeeper_testkit::model_server::{Bench, Format};
use server::Server;
use sides::{Read, Sides};

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much later the first token may come, at the median.
const LATER: Duration = Duration::from_millis(1);
/// Part of the bare stream's speed.
const OF_BARE: f64 = 0.9;
/// About what a token of English has.
const TOKEN_BYTES: usize = 4;
/// Some thousand tokens a second, one stream alone: more than any server of models sends.
const AT_A_PACE: Bench = Bench {
    tokens: 1_000,
    bytes_per_token: TOKEN_BYTES,
    tokens_per_write: 8,
    pause: Duration::from_millis(1),
};
/// As fast as the server can, which has them ready.
const AT_ONCE: Bench = Bench {
    tokens: 20_000,
    tokens_per_write: 1,
    pause: Duration::ZERO,
    ..AT_A_PACE
};
fn main() -> ExitCode {
    match role() {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        None => innkeeper_benches::run(40, 400, measure),
    }
}

/// What this process is for, if it was started by another one of these.
fn role() -> Option<Result<(), Failed>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first()?.as_str() {
        server::ROLE => Some(server::serve(&args)),
        crowd::ROLE => Some(crowd::read(&args)),
        _ => None,
    }
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    first_token(table, rounds * 5).await?;
    // The pace is the server's in the first. In the others the bare client drops bytes as fast as they come, and what is
    // told is the price of reading them: no server of models comes near.
    let many = Bench {
        tokens_per_write: 64,
        ..AT_ONCE
    };
    let servers = [
        (
            "A reply of 1,000 tokens from a server that waits 1 ms before every eight (limit: a bare HTTP stream)",
            AT_A_PACE,
            Some(OF_BARE),
        ),
        (
            "20,000 tokens that are there already, a write for each (limit: a bare HTTP stream)",
            AT_ONCE,
            None,
        ),
        ("The same, a write for 64 of them", many, None),
    ];
    for (title, bench, bar) in servers {
        throughput(table, rounds / 20, title, bench, bar).await?;
    }
    crowd::measure(table)
}

async fn first_token(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    table.head(
        "The first token of a reply, at the median (limit: the first byte of a bare HTTP stream)",
    );
    let server = Server::start(Bench::new(16, TOKEN_BYTES))?;
    for format in Format::ALL {
        let sides = Sides::new(&server, format).await?;
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for (one, other) in sides.by_turns(rounds).await? {
            bare.push(one.first);
            ours.push(other.first);
        }
        let (bare, ours) = (median(bare), median(ours));
        let name = sides::name(format);
        table.row(&Row::new(format!("{name}, bare"), 0, bare));
        table.row(&Row::new(format!("{name}, ours"), 0, ours).against(bare));
        let later = Row::new("  later by", 0, ours.saturating_sub(bare));
        table.row(&later.bar(Bar::AtMost(LATER)));
    }
    Ok(())
}

async fn throughput(
    table: &mut Table,
    rounds: usize,
    title: &str,
    bench: Bench,
    bar: Option<f64>,
) -> Result<(), Failed> {
    table.head(title);
    let server = Server::start(bench)?;
    for format in Format::ALL {
        let sides = Sides::new(&server, format).await?;
        let turns = sides.by_turns(rounds).await?;
        let row = |who: &str, reads: &[Read]| {
            let best = reads.iter().map(|read| read.whole).min();
            let best = best.unwrap_or_default();
            let speed = bench.tokens as f64 / best.as_secs_f64() / 1e3;
            let name = format!("{}, {who} ({speed:.1} k tokens/s)", sides::name(format));
            let bytes = turns.first().map_or(0, |(bare, _)| bare.bytes);
            Row::new(name, bytes, best)
        };
        let (bare, ours): (Vec<Read>, Vec<Read>) = turns.iter().copied().unzip();
        let bare = row("bare", &bare);
        table.row(&bare);
        let ours = row("ours", &ours).against(bare.time);
        table.row(&match bar {
            Some(bar) => ours.bar(Bar::OfLimit(bar)),
            None => ours,
        });
        let ratios = turns.iter().map(|(bare, ours)| {
            Duration::from_secs_f64(ours.whole.as_secs_f64() / bare.whole.as_secs_f64())
        });
        let ratio = 1.0 / median(ratios.collect()).as_secs_f64();
        println!(
            "    {ratio:.3} of the bare stream at the median of {} pairs",
            turns.len()
        );
    }
    Ok(())
}
