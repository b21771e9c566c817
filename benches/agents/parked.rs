//! Runs that wait for their host, in a process that does nothing else.

use std::process::Command;

use innkeeper_benches::resources::{open_many, resident};
use innkeeper_benches::{Failed, Table};
use innkeeper_protocol::event::{RunEventKind, RunId};
use innkeeper_store::journal::Followed;

use super::house::{House, Kind};
use super::server::Script;

pub(crate) const ROLE: &str = "--park";

const PARKED: usize = 10_000;
/// Runs that are on their way to where they wait.
const AT_ONCE: usize = 50;
const MOST_KB: usize = 300 << 10;
/// Events that are shown of a run that does something else.
const LAST_TOLD: usize = 12;

pub(crate) fn measure(table: &mut Table) -> Result<(), Failed> {
    println!("\n{PARKED} runs that have written a file and wait for their host to publish it");
    let server = Script::Publish.server()?;
    let parked = Command::new(std::env::current_exe()?)
        .args([ROLE, &server.url])
        .output()?;
    if !parked.status.success() {
        return Err(String::from_utf8_lossy(&parked.stderr).trim().into());
    }
    let said = String::from_utf8_lossy(&parked.stdout).into_owned();
    let numbers: Result<Vec<usize>, _> = said.split_whitespace().map(str::parse).collect();
    let [at_rest, settled, peak] = numbers?[..] else {
        return Err(format!("the parked ones said: {said}").into());
    };
    let more = peak.saturating_sub(at_rest);
    let verdict = match more <= MOST_KB {
        true => "ok",
        false => "MISSED",
    };
    println!(
        "  {:.1} MB resident at rest, {:.1} MB with all of them, {:.1} MB at most: {:.1} KB a run  <= {} MB {verdict}",
        at_rest as f64 / 1024.0,
        settled as f64 / 1024.0,
        peak as f64 / 1024.0,
        more as f64 / PARKED as f64,
        MOST_KB >> 10,
    );
    if more > MOST_KB {
        table
            .missed
            .push(format!("{PARKED} parked runs: {more} KB resident"));
    }
    Ok(())
}

/// Parks them, and says what that took.
pub(crate) fn park(args: &[String]) -> Result<(), Failed> {
    let url = args.get(1).ok_or("the parked ones want a model")?;
    open_many()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let house = House::open(url, Kind::Acts).await?;
        house.profile("writer", &["workspace.write_file", "workspace.commit"])?;
        // What is made once is there already.
        parked(&house, 1).await?;
        let at_rest = resident("VmRSS")?;
        for _ in 0..PARKED / AT_ONCE {
            parked(&house, AT_ONCE).await?;
        }
        println!("{at_rest} {} {}", resident("VmRSS")?, resident("VmHWM")?);
        house.close().await
    })
}

async fn parked(house: &House, count: usize) -> Result<(), Failed> {
    let mut begun = Vec::with_capacity(count);
    for _ in 0..count {
        begun.push(house.start("writer").await?.run_id);
    }
    for run in &begun {
        asks_its_host(house, run).await?;
    }
    Ok(())
}

async fn asks_its_host(house: &House, run: &RunId) -> Result<(), Failed> {
    let mut follower = house.runtime.follow(run, 0);
    let mut told = Vec::new();
    while let Followed::Events(events) = follower.next().await {
        let asks = |kind: &RunEventKind| matches!(kind, RunEventKind::ChatCommitRequested(_));
        if events.iter().any(|event| asks(&event.kind)) {
            return Ok(());
        }
        told.extend(events);
    }
    let last = told.iter().rev().take(LAST_TOLD).map(|event| &event.kind);
    let last: Vec<_> = last.collect();
    Err(format!("the run {run} has not asked its host, newest first: {last:?}").into())
}
