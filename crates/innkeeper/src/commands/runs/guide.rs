//! `innkeeper runs guide`: a word to a run that another process drives. It is left in that process's letterbox, and the
//! journal of the run tells whether it was heard.

use innkeeper_agent::instance::{AgentError, RunMessage, RunReader};
use innkeeper_agent::run::{AgentRun, Input, Stamped};
use innkeeper_protocol::event::{RunEventKind, RunId};
use innkeeper_store::journal::EventRange;
use innkeeper_store::{Store, StoreError};
use serde::Serialize;

use super::find::find;
use super::start::said;
use crate::cli::RunsGuideArgs;
use crate::commands::Ended;
use crate::commands::holder::holder;
use crate::failure::{Failure, RunFault};
use crate::home::Home;
use crate::limits::{EVENTS_PAGE, GUIDE_TIMEOUT, POLL_EVERY};
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Heard {
    run_id: RunId,
    guidance_id: String,
    client_guidance_id: String,
    status: &'static str,
    /// Number of the event that says so.
    seq: u64,
}

pub(super) fn run(args: &RunsGuideArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let text = said(args.text.clone())?;
    let heard = block_on(async {
        let store = open_store(home).await?;
        let heard = tell(&store, home, &args.run, text.trim()).await;
        store.close().await?;
        heard
    })?;
    match screen.json {
        true => screen.document(&heard)?,
        false => {
            let run = &heard.run_id;
            screen.text(&screen.pick(
                format!("{run} is told with its next request"),
                format!("将随下一次请求转告 {run}"),
            ))?;
        }
    }
    Ok(Ended::Done)
}

async fn tell(store: &Store, home: &Home, given: &str, text: &str) -> Result<Heard, Failure> {
    let reader = RunReader::new(store);
    let run = find(&reader, given).await?;
    let after = reader.record(&run).await?.last_seq;
    is_taken(&reader, &run, text).await?;
    if holder(home).is_none() {
        return Err(not_driven(&run).into());
    }
    let id = format!("cli_{}", uuid::Uuid::now_v7().simple());
    let message = RunMessage::Guide {
        text: text.to_owned(),
        client_guidance_id: id.clone(),
    };
    let message = serde_json::to_value(&message).unwrap_or_default();
    let control = store.control();
    let number = control.send(&run, message).await?;
    let until = tokio::time::Instant::now() + GUIDE_TIMEOUT;
    loop {
        // In this order: what is settled was written to the journal before.
        let waiting = control.waiting(number.saturating_sub(1)).await?;
        let is_settled = waiting.iter().all(|message| message.number != number);
        if let Some(heard) = heard(&reader, &run, after, &id).await? {
            return Ok(heard);
        }
        if is_settled {
            is_taken(&reader, &run, text).await?;
            return Err(not_driven(&run).into());
        }
        if tokio::time::Instant::now() >= until {
            // It must not be told when nobody expects it any more.
            control.settle(&[number]).await?;
            let last = heard(&reader, &run, after, &id).await?;
            let run = run.to_string();
            return last.ok_or_else(|| RunFault::NotHeard { run }.into());
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// As the run would say itself, so that the cause is told and not only that nothing came of it.
async fn is_taken(reader: &RunReader, run: &RunId, text: &str) -> Result<(), Failure> {
    let record = reader.record(run).await?;
    if record.is_slim {
        // Going on with it is no way out.
        return Err(AgentError::from(StoreError::RunSlimmed(run.to_string())).into());
    }
    if record.status.is_terminal() {
        let run = run.to_string();
        return Err(RunFault::Over { run }.into());
    }
    let mut state: AgentRun = reader.state(run).await?;
    let guidance = Stamped {
        at: jiff::Timestamp::now(),
        input: Input::GuidanceSubmitted {
            guidance_id: String::new(),
            client_guidance_id: None,
            text: text.to_owned(),
        },
    };
    let refused = state.apply(&guidance).map(drop);
    Ok(refused.map_err(AgentError::from)?)
}

async fn heard(
    reader: &RunReader,
    run: &RunId,
    after: u64,
    id: &str,
) -> Result<Option<Heard>, Failure> {
    let mut seen = after;
    loop {
        let range = EventRange::After {
            seq: seen,
            limit: EVENTS_PAGE,
        };
        let events = reader.events(run, range).await?;
        let Some(last) = events.last() else {
            return Ok(None);
        };
        seen = last.seq;
        for event in &events {
            let RunEventKind::UserGuidanceSubmitted(guidance) = &event.kind else {
                continue;
            };
            if guidance.client_guidance_id.as_deref() == Some(id) {
                return Ok(Some(Heard {
                    run_id: run.clone(),
                    guidance_id: guidance.guidance_id.clone(),
                    client_guidance_id: id.to_owned(),
                    status: "queued",
                    seq: event.seq,
                }));
            }
        }
    }
}

fn not_driven(run: &RunId) -> RunFault {
    RunFault::NotDriven {
        run: run.to_string(),
    }
}
