//! `innkeeper runs cancel`: here if nobody drives the run, through its letterbox if somebody does.

use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{RunHandle, RunMessage};
use innkeeper_protocol::event::RunId;
use innkeeper_store::{Store, StoreError};
use innkeeper_tools::policy::Nobody;

use super::find::find;
use super::words::status_word;
use crate::cli::RunsCancelArgs;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault};
use crate::home::Home;
use crate::limits::{CANCEL_TIMEOUT, POLL_EVERY};
use crate::output::Screen;
use crate::platform::Platform;
use crate::runtime::block_on;

pub(super) fn run(args: &RunsCancelArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let handle = block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let runtime = platform.agents(screen.lang)?;
        let cancelled = cancelled(&runtime, platform.tools.store(), &args.run).await;
        runtime.close().await;
        platform.close().await?;
        cancelled
    })?;
    match screen.json {
        true => screen.document(&handle)?,
        false => {
            let status = status_word(handle.status, screen.lang);
            screen.text(&format!("{}  {status}", handle.run_id))?;
        }
    }
    Ok(Ended::Done)
}

async fn cancelled(
    runtime: &AgentRuntime,
    store: &Store,
    given: &str,
) -> Result<RunHandle, Failure> {
    let run = find(&runtime.reader(), given).await?;
    here_or_there(runtime, store, &run).await
}

/// Whoever drives it may have gone when the message arrives, so both ways are tried until one has led to an end.
pub(super) async fn here_or_there(
    runtime: &AgentRuntime,
    store: &Store,
    run: &RunId,
) -> Result<RunHandle, Failure> {
    let mut left = None;
    let until = tokio::time::Instant::now() + CANCEL_TIMEOUT;
    loop {
        let record = runtime.record(run).await?;
        if record.status.is_terminal() {
            return Ok(RunHandle::from(&record));
        }
        match store.claim_home().await {
            Ok(_lock) => {
                // What nobody has read must not hit the run when it is resumed.
                if let Some(number) = left {
                    store.control().settle(&[number]).await?;
                }
                runtime.cancel(run).await?;
                return Ok(runtime.wait(run).await?);
            }
            Err(StoreError::InUse { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if left.is_none() {
            left = Some(runtime.leave_message(run, &RunMessage::Cancel).await?);
        }
        if tokio::time::Instant::now() >= until {
            let run = run.to_string();
            return Err(RunFault::NotCancelled { run }.into());
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}
