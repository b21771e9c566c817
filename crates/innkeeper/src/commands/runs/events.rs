//! `innkeeper runs events`: the journal of a run, and what is added to it.

use innkeeper_agent::instance::RunReader;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind, RunId};
use innkeeper_store::journal::EventRange;
use serde_json::Value as Json;

use super::find::{find, reading};
use super::words::{line, status_word};
use crate::cli::RunsEventsArgs;
use crate::commands::Ended;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::{EVENTS_PAGE, MAX_WATCHED_CHARS, POLL_EVERY};
use crate::output::Screen;

pub(super) fn run(args: &RunsEventsArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        let invocation = args.invocation.as_deref().map(InvocationId::new);
        let invocation = invocation.as_ref();
        let mut seen = first(args, reader, &run, invocation, screen).await?;
        if !args.follow {
            return Ok(Ended::Done);
        }
        loop {
            let record = reader.record(&run).await?;
            seen = all_after(reader, &run, invocation, seen, usize::MAX, screen).await?;
            // Of one agent, the last event of the run may be none.
            let is_all = seen >= record.last_seq || invocation.is_some();
            if record.status.is_terminal() && is_all {
                return Ok(Ended::Done);
            }
            // Another process writes them; nobody tells us.
            tokio::time::sleep(POLL_EVERY).await;
        }
    })
}

async fn first(
    args: &RunsEventsArgs,
    reader: &RunReader,
    run: &RunId,
    invocation: Option<&InvocationId>,
    screen: &Screen,
) -> Result<u64, Failure> {
    let after = match args.after {
        Some(after) => after,
        None if invocation.is_some() => {
            let last = EventRange::Last { limit: args.limit };
            let known = match invocation {
                Some(invocation) => reader.events_of(run, invocation, last).await?,
                None => Vec::new(),
            };
            known.first().map_or(0, |first| first.seq.saturating_sub(1))
        }
        None => {
            let last = reader.record(run).await?.last_seq;
            last.saturating_sub(u64::try_from(args.limit).unwrap_or(u64::MAX))
        }
    };
    all_after(reader, run, invocation, after, args.limit, screen).await
}

/// Gives the number of the last.
async fn all_after(
    reader: &RunReader,
    run: &RunId,
    invocation: Option<&InvocationId>,
    after: u64,
    limit: usize,
    screen: &Screen,
) -> Result<u64, Failure> {
    let (mut seen, mut left) = (after, limit);
    while left > 0 {
        let range = EventRange::After {
            seq: seen,
            limit: EVENTS_PAGE.min(left),
        };
        let events = match invocation {
            None => reader.events(run, range).await?,
            Some(invocation) => reader.events_of(run, invocation, range).await?,
        };
        let Some(last) = events.last() else { break };
        seen = last.seq;
        left = left.saturating_sub(events.len());
        for event in &events {
            match screen.json {
                true => screen.document(event)?,
                false => screen.text(&row(event, screen.lang))?,
            }
        }
    }
    Ok(seen)
}

/// Number, time, type, and what it says.
fn row(event: &RunEvent, lang: Lang) -> String {
    let about = match (&event.kind, line(event, lang)) {
        (RunEventKind::StatusChanged(to), _) => status_word(to.status, lang).to_owned(),
        (_, Some(line)) => line.text,
        (_, None) => payload(event),
    };
    let about: String = message(&about).chars().take(MAX_WATCHED_CHARS).collect();
    // To the millisecond; a time of another form is shown as it is.
    let time = event.timestamp.to_string();
    let time = match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        Err(_) => message(&time),
    };
    let kind = message(event.kind.name());
    format!("{:>6}  {time}  {kind:<30}  {about}", event.seq)
        .trim_end()
        .to_owned()
}

fn payload(event: &RunEvent) -> String {
    let mut whole = serde_json::to_value(event).unwrap_or_default();
    match whole.get_mut("payload").map(Json::take) {
        Some(Json::Object(mut fields)) => {
            // The same in almost all of them.
            fields.shift_remove("eventScope");
            fields.shift_remove("invocationId");
            Json::Object(fields).to_string()
        }
        None | Some(Json::Null) => String::new(),
        Some(payload) => payload.to_string(),
    }
}
