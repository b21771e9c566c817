//! `innkeeper runs checkpoint`: the files of a run as they are now, to be found again. Here if nobody drives the run, through
//! its letterbox if somebody does.

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{CheckpointView, RunMessage, new_request};
use innkeeper_protocol::event::RunId;
use innkeeper_store::Store;

use super::cancel::{Elsewhere, with_runtime};
use super::find::find;
use crate::cli::RunsCheckpointArgs;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault};
use crate::home::Home;
use crate::output::Screen;

pub(super) fn run(
    args: &RunsCheckpointArgs,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let note = args.note.as_deref().unwrap_or_default();
    let made = with_runtime(home, screen, async |runtime, store| {
        let run = find(&runtime.reader(), &args.run).await?;
        made(runtime, store, &run, note).await
    })?;
    match screen.json {
        true => screen.document(&made)?,
        false => {
            let (run, id) = (&made.run_id, &made.id);
            screen.text(&screen.pick(
                format!("{id}; innkeeper runs rollback {run} {id} goes back to it"),
                format!("{id}；innkeeper runs rollback {run} {id} 可退回到这里"),
            ))?;
        }
    }
    Ok(Ended::Done)
}

async fn made(
    runtime: &AgentRuntime,
    store: &Store,
    run: &RunId,
    note: &str,
) -> Result<CheckpointView, Failure> {
    // What is wrong with it is told here, and not left to a process that can tell nobody.
    runtime.check_checkpoint(run, note).await?;
    let after = runtime.record(run).await?.last_seq;
    let request_id = new_request();
    let message = RunMessage::Checkpoint {
        request_id: request_id.clone(),
        note: (!note.trim().is_empty()).then(|| note.to_owned()),
    };
    let reader = runtime.reader();
    let mut elsewhere = Elsewhere::new(runtime, store, run);
    loop {
        let lock = elsewhere.claimed().await?;
        // In this order: a run that takes no more may have made it just before.
        let taken = runtime.check_checkpoint(run, note).await;
        if let Some(made) = reader.requested(run, after, &request_id).await? {
            return Ok(made);
        }
        taken?;
        if lock.is_some() {
            runtime.note_checkpoint(run, &request_id, note).await?;
            continue;
        }
        if !elsewhere.told(&message).await? {
            elsewhere.withdraw().await?;
            let run = run.to_string();
            return Err(RunFault::NotHeard { run }.into());
        }
    }
}
