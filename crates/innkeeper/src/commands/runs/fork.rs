//! `innkeeper runs fork`: a new run from a checkpoint of another.

use innkeeper_agent::instance::{DiffEnd, Fork};

use super::attend::{Attendant, Attended};
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
    let asked = Fork {
        run: from.clone(),
        at,
        told,
        profile: args.profile.clone(),
        model: args.model.clone(),
        starts: !args.no_start,
    };
    let handle = runtime.fork(asked).await?;
    let run = &handle.run_id;
    if args.no_start {
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
        return Ok(Ended::Done);
    }
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
