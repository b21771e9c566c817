//! `innkeeper runs events`: the journal of a run, and what is added to it.

use innkeeper_agent::instance::RunReader;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind, RunId};
use innkeeper_store::journal::EventRange;
use serde_json::Value as Json;

use super::agents::{self, Names};
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
        let mut told = Told {
            reader,
            run: &run,
            invocation,
            names: known(reader, &run, screen).await,
            screen,
        };
        let mut seen = told.first(args).await?;
        if !args.follow {
            return Ok(Ended::Done);
        }
        loop {
            let record = reader.record(&run).await?;
            seen = told.all_after(seen, usize::MAX).await?;
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

/// Who there was. A journal that cannot be read to its end names its agents as it goes.
async fn known(reader: &RunReader, run: &RunId, screen: &Screen) -> Names {
    if screen.json {
        return Names::default();
    }
    let timeline = reader.timeline(run).await;
    timeline
        .map(|timeline| agents::names(&timeline))
        .unwrap_or_default()
}

/// Events as they are told.
struct Told<'r> {
    reader: &'r RunReader,
    run: &'r RunId,
    /// Only of this agent.
    invocation: Option<&'r InvocationId>,
    names: Names,
    screen: &'r Screen,
}

impl Told<'_> {
    async fn first(&mut self, args: &RunsEventsArgs) -> Result<u64, Failure> {
        let after = match (args.after, self.invocation) {
            (Some(after), _) => after,
            (None, Some(invocation)) => {
                let last = EventRange::Last { limit: args.limit };
                let known = self.reader.events_of(self.run, invocation, last).await?;
                known.first().map_or(0, |first| first.seq.saturating_sub(1))
            }
            (None, None) => {
                let last = self.reader.record(self.run).await?.last_seq;
                last.saturating_sub(u64::try_from(args.limit).unwrap_or(u64::MAX))
            }
        };
        self.all_after(after, args.limit).await
    }

    /// Gives the number of the last.
    async fn all_after(&mut self, after: u64, limit: usize) -> Result<u64, Failure> {
        let (mut seen, mut left) = (after, limit);
        while left > 0 {
            let range = EventRange::After {
                seq: seen,
                limit: EVENTS_PAGE.min(left),
            };
            let events = match self.invocation {
                None => self.reader.events(self.run, range).await?,
                Some(invocation) => self.reader.events_of(self.run, invocation, range).await?,
            };
            let Some(last) = events.last() else { break };
            seen = last.seq;
            left = left.saturating_sub(events.len());
            for event in &events {
                self.names.hear(event);
                match self.screen.json {
                    true => self.screen.document(event)?,
                    false => self
                        .screen
                        .text(&row(event, &self.names, self.screen.lang))?,
                }
            }
        }
        Ok(seen)
    }
}

/// Number, time, type, and what it says.
fn row(event: &RunEvent, names: &Names, lang: Lang) -> String {
    let about = match (&event.kind, line(event, names, lang)) {
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
