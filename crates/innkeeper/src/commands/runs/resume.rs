//! `innkeeper runs resume` and `innkeeper run --resume`: a run from where it was.

use futures_util::future::join_all;
use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::RunHandle;
use innkeeper_protocol::event::RunId;

use super::attend::{Attendant, Attended};
use super::find::find;
use super::house::House;
use super::start::{approve, said};
use super::timeline::Timeline;
use crate::approve::Approve;
use crate::cli::{RunArgs, RunsResumeArgs};
use crate::commands::Ended;
use crate::failure::{Failure, shown};
use crate::home::Home;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};

pub(super) fn run(args: &RunsResumeArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let approve = approve(args.yes, false);
    block_on(async {
        let house = House::open(home, approve.approver(screen), screen).await?;
        let stop = Stop::default();
        stop.listen();
        let ended = match &args.run {
            Some(run) => one(&house, run, (args.rounds, None), approve, &stop, screen).await,
            None => all(&house, approve, &stop, screen).await,
        };
        let closed = house.close(screen).await;
        let ended = ended?;
        closed.map(|()| ended)
    })
}

pub(super) fn with_message(
    args: &RunArgs,
    run: &str,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let takes_stdin = args.first.as_deref() == Some("-");
    let message = args.first.clone().map(said).transpose()?;
    let approve = approve(args.yes, takes_stdin);
    block_on(async {
        let house = House::open(home, approve.approver(screen), screen).await?;
        let stop = Stop::default();
        stop.listen();
        let ended = one(&house, run, (None, message), approve, &stop, screen).await;
        let closed = house.close(screen).await;
        let ended = ended?;
        closed.map(|()| ended)
    })
}

async fn one(
    house: &House,
    given: &str,
    (rounds, message): (Option<u32>, Option<String>),
    approve: Approve,
    stop: &Stop,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let runtime = &house.runtime;
    let run = find(&runtime.reader(), given).await?;
    let after = take_up(runtime, &run, rounds, message.as_deref()).await?;
    let attendant = Attendant::new(Attended {
        runtime,
        store: house.store(),
        run: &run,
        after,
        screen,
        timeline: Timeline::new(screen),
        hears: true,
        approve,
    });
    let handle = RunHandle::from(&runtime.record(&run).await?);
    attendant.await?.attend(&handle, stop).await
}

/// One that was interrupted goes on; one that stopped, or waits for a person, is told to. Gives the number of the event
/// after which it goes on.
///
/// The message is left before the run goes on wherever it takes one, so that the next request to its model has it.
async fn take_up(
    runtime: &AgentRuntime,
    run: &RunId,
    rounds: Option<u32>,
    message: Option<&str>,
) -> Result<u64, Failure> {
    let record = runtime.record(run).await?;
    let mut message = message;
    if !record.status.is_terminal() {
        let state = runtime.reader().state(run).await?;
        // One that was left while it was being cancelled comes to that end first, and takes no word before.
        if !state.is_cancelling()
            && let Some(message) = message.take()
        {
            runtime.guide(run, message, None).await?;
        } else if !state.is_paused() {
            if rounds.is_some() && !state.is_cancelling() {
                // It has rounds, and says so.
                runtime.resume(run, rounds, None).await?;
            }
            runtime.recover_run(run).await?;
        }
        let stops = state.is_cancelling() || runtime.reader().state(run).await?.is_paused();
        if !stops {
            return Ok(record.last_seq);
        }
        runtime.wait(run).await?;
    }
    let after = runtime.record(run).await?.last_seq;
    runtime.resume(run, rounds, message).await?;
    Ok(after)
}

/// All that have no end, side by side.
async fn all(
    house: &House,
    approve: Approve,
    stop: &Stop,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let runtime = &house.runtime;
    let unfinished = runtime.journal().unfinished().await?;
    if unfinished.is_empty() {
        screen.note("No run is unfinished", "没有未结束的运行");
        return Ok(Ended::Done);
    }
    // One alone needs no name before each line.
    let names: Vec<&str> = match unfinished.as_slice() {
        [_] => vec![""],
        several => several.iter().map(|record| short(&record.run_id)).collect(),
    };
    if unfinished.len() > 1 && !screen.json {
        for (record, name) in unfinished.iter().zip(&names) {
            let (run, title) = (&record.run_id, shown(&record.title));
            let line = format!("{name} = {run}  {title}");
            screen.note(&line, &line);
        }
    }
    let mut worst = Ended::Done;
    let mut left = Vec::new();
    for recovered in runtime.recover().await? {
        if let Some(problem) = recovered.problem {
            let said = format!("{}: {}", recovered.run, shown(&problem.message));
            screen.note(&said, &said);
            worst = Ended::Failed;
            left.push(recovered.run);
        }
    }
    let taken_up = unfinished
        .iter()
        .zip(&names)
        .filter(|(record, _)| !left.contains(&record.run_id));
    let attended = taken_up.map(|(record, name)| async {
        let attendant = Attendant::new(Attended {
            runtime,
            store: house.store(),
            run: &record.run_id,
            after: record.last_seq,
            screen,
            timeline: match name.is_empty() {
                true => Timeline::new(screen),
                false => Timeline::of(screen, name),
            },
            hears: name.is_empty(),
            approve,
        });
        attendant.await?.attend(&record.into(), stop).await
    });
    for (ended, name) in join_all(attended).await.into_iter().zip(&names) {
        match ended {
            Ok(Ended::Done) => {}
            Ok(other) if worst == Ended::Done => worst = other,
            Ok(_) => {}
            Err(failure @ Failure::Run(_)) => {
                let line = format!("{name} {}", failure.line(screen.lang));
                screen.note(line.trim_start(), line.trim_start());
                worst = Ended::Failed;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(worst)
}

/// The end of an id tells runs apart that were begun in the same second.
fn short(run: &RunId) -> &str {
    let text = run.as_str();
    let from = text.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or(text)
}
