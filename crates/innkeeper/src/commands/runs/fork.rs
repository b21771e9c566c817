//! `innkeeper runs fork`: a new run from a checkpoint of another.

use innkeeper_agent::instance::{DiffEnd, Fork};
use innkeeper_protocol::event::RunId;

use super::attend::{Attendant, Attended};
use super::cancel::with_runtime;
use super::find::find;
use super::house::House;
use super::start::{approve, said};
use super::timeline::Timeline;
use crate::approve::Approve;
use crate::cli::RunsForkArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};

pub(super) fn run(args: &RunsForkArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let at = DiffEnd::parse(&args.checkpoint)?;
    let takes_stdin = args.tell.as_deref() == Some("-");
    let told = args.tell.clone().map(said).transpose()?;
    let approve = approve(args.yes, takes_stdin);
    if args.no_start {
        return made(args, (at, told), home, screen);
    }
    block_on(async {
        let house = House::open(home, approve.approver(screen), screen).await?;
        let stop = Stop::default();
        stop.listen();
        let ended = drive(&house, args, (at, told), approve, &stop, screen).await;
        let closed = house.close(screen).await;
        let ended = ended?;
        closed.map(|()| ended)
    })
}

/// Made only: whoever drives the runs of this home is not in its way.
fn made(
    args: &RunsForkArgs,
    (at, told): (DiffEnd, Option<String>),
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let (from, handle) = with_runtime(home, screen, async |runtime, _| {
        let from = find(&runtime.reader(), &args.run).await?;
        let handle = runtime.fork(asked(args, &from, at, told)).await?;
        Ok((from, handle))
    })?;
    let run = &handle.run_id;
    match screen.json {
        true => screen.document(&handle)?,
        false => {
            screen.text(run.as_str())?;
            screen.note(
                &format!("branched off from {from}; innkeeper runs resume {run} starts it"),
                &format!("已从 {from} 分出；innkeeper runs resume {run} 可开始运行"),
            );
        }
    }
    Ok(Ended::Done)
}

fn asked(args: &RunsForkArgs, from: &RunId, at: DiffEnd, told: Option<String>) -> Fork {
    Fork {
        run: from.clone(),
        at,
        told,
        profile: args.profile.clone(),
        model: args.model.clone(),
        starts: !args.no_start,
    }
}

async fn drive(
    house: &House,
    args: &RunsForkArgs,
    (at, told): (DiffEnd, Option<String>),
    approve: Approve,
    stop: &Stop,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let runtime = &house.runtime;
    let from = find(&runtime.reader(), &args.run).await?;
    let handle = runtime.fork(asked(args, &from, at, told)).await?;
    let run = &handle.run_id;
    let attendant = Attendant::new(Attended {
        runtime,
        store: house.store(),
        run,
        after: 0,
        approve,
        screen,
        timeline: Timeline::new(screen),
        hears: true,
    });
    attendant.await?.attend(&handle, stop).await
}
