//! `innkeeper run`: a run from its beginning.

use innkeeper_agent::instance::{StartPrompt, StartRun};
use innkeeper_agent::profile::CHAT;
use innkeeper_protocol::event::Presentation;

use super::attend::{Attendant, Attended};
use super::house::House;
use super::prune::tidy;
use super::timeline::Timeline;
use super::{Ended, project};
use crate::approve::Approve;
use crate::cli::RunArgs;
use crate::failure::{Failure, Place, RunFault};
use crate::home::Home;
use crate::input::whole;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};

pub(super) fn run(args: &RunArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let (profile, message) = profile_and_message(args)?;
    let takes_stdin = message == "-";
    let asked = StartRun {
        profile_id: Some(profile),
        prompt: Some(StartPrompt::Message(said(message)?)),
        model: args.model.clone(),
        stable_chat_id: args.chat.clone(),
        protocol: args.protocol.map(Into::into),
        max_rounds: args.max_rounds,
        presentation: args.background.then_some(Presentation::Background),
        project: project(&args.project)?,
        ..StartRun::default()
    };
    let approve = approve(args.yes, takes_stdin);
    block_on(async {
        let house = House::open(home, approve.approver(screen), screen).await?;
        let stop = Stop::default();
        stop.listen();
        let ended = drive(&house, asked, approve, &stop, screen).await;
        if !stop.asked.is_cancelled() {
            tidy(&house.runtime, house.retention(), screen).await;
        }
        let closed = house.close(screen).await;
        let ended = ended?;
        closed.map(|()| ended)
    })
}

async fn drive(
    house: &House,
    asked: StartRun,
    approve: Approve,
    stop: &Stop,
    screen: &Screen,
) -> Result<Ended, Failure> {
    tell_unfinished(house, screen).await?;
    let handle = house.runtime.start(asked).await?;
    let attendant = Attendant::new(Attended {
        runtime: &house.runtime,
        store: house.store(),
        run: &handle.run_id,
        after: 0,
        screen,
        timeline: Timeline::new(screen),
        hears: true,
        approve,
    });
    attendant.await?.attend(&handle, stop).await
}

/// They are left alone: whoever starts one thing has not asked for others.
async fn tell_unfinished(house: &House, screen: &Screen) -> Result<(), Failure> {
    let count = house.runtime.journal().unfinished().await?.len();
    match count {
        0 => {}
        1 => screen.note(
            "1 run is unfinished; innkeeper runs resume --all goes on with it",
            "有 1 次运行没有结束；innkeeper runs resume --all 可以继续",
        ),
        count => screen.note(
            &format!("{count} runs are unfinished; innkeeper runs resume --all goes on with them"),
            &format!("有 {count} 次运行没有结束；innkeeper runs resume --all 可以继续"),
        ),
    }
    Ok(())
}

pub(super) fn approve(yes: bool, takes_stdin: bool) -> Approve {
    match (yes, takes_stdin) {
        (true, _) => Approve::Answered,
        (false, true) => Approve::Nobody,
        (false, false) => Approve::Person,
    }
}

fn profile_and_message(args: &RunArgs) -> Result<(String, String), RunFault> {
    let (named, message) = match (&args.first, &args.second) {
        (Some(profile), Some(message)) => (Some(profile), message),
        (Some(message), None) => (None, message),
        (None, _) => return Err(RunFault::NoMessage),
    };
    let profile = match (named, &args.profile) {
        (Some(_), Some(_)) => return Err(RunFault::TwoProfiles),
        (Some(profile), None) | (None, Some(profile)) => profile.as_str(),
        (None, None) => CHAT,
    };
    Ok((profile.to_owned(), message.clone()))
}

/// The words themselves, or what stands on standard input.
pub(super) fn said(message: String) -> Result<String, Failure> {
    let text = match message.as_str() {
        "-" => whole(std::io::stdin().lock(), Place::Stdin, MAX_MESSAGE_BYTES)?,
        _ => message,
    };
    match text.trim().is_empty() {
        true => Err(RunFault::NoMessage.into()),
        false => Ok(text),
    }
}
