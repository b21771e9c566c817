//! `innkeeper runs export`: all of a run in one document, written as it is read, so that no run is too long for it.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use innkeeper_agent::instance::RunReader;
use innkeeper_protocol::event::RunId;
use innkeeper_store::journal::EventRange;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::find::{find, reading};
use crate::cli::RunsExportArgs;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, cause, shown};
use crate::home::Home;
use crate::limits::EVENTS_PAGE;
use crate::output::Screen;
use crate::save::Saved;

/// Of the document.
const FORMAT: &str = "innkeeper.run";
const VERSION: u32 = 1;

pub(super) fn run(args: &RunsExportArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        match &args.output {
            None => {
                let mut out = Document::new(io::stdout().lock(), Failure::writing);
                write(reader, &run, &mut out).await?;
            }
            Some(path) => {
                to_file(reader, &run, path).await?;
                let name = shown(&path.to_string_lossy());
                screen.note(&format!("{run} → {name}"), &format!("{run} → {name}"));
            }
        }
        Ok(Ended::Done)
    })
}

async fn to_file(reader: &RunReader, run: &RunId, path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.kind() {
        // It was a pipe, and nobody wants more of it.
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Run(RunFault::Unwritable {
            file: shown(&path.to_string_lossy()),
            why: cause(&error),
        }),
    };
    let mut out = Document::new(Saved::open(path).map_err(failed)?, failed);
    write(reader, run, &mut out).await?;
    out.into_inner()?.finish().map_err(failed)
}

async fn write<W: Write, F: Fn(io::Error) -> Failure>(
    reader: &RunReader,
    run: &RunId,
    out: &mut Document<W, F>,
) -> Result<(), Failure> {
    let record = reader.record(run).await?;
    // Of a slim run there is what happened, and nothing to put beside it.
    let state = match record.is_slim {
        true => None,
        false => Some(reader.state(run).await?),
    };
    out.raw("{")?;
    out.field("format", &FORMAT)?;
    out.field("version", &VERSION)?;
    out.field("record", &record)?;
    if let Some(state) = &state {
        out.field("created", state.created())?;
        out.field("spent", state.spent())?;
        out.field("failure", &state.failure())?;
        out.field("commits", &state.commits().collect::<Vec<_>>())?;
    }

    out.list("events")?;
    let mut seen = 0;
    while seen < record.last_seq {
        let limit = EVENTS_PAGE.min(usize::try_from(record.last_seq - seen).unwrap_or(EVENTS_PAGE));
        let range = EventRange::After { seq: seen, limit };
        let events = reader.events(run, range).await?;
        let Some(last) = events.last() else { break };
        seen = last.seq;
        for event in &events {
            out.item(event)?;
        }
    }
    out.end_list()?;

    let Some(state) = state else {
        out.raw("\n}\n")?;
        return out.flush();
    };
    out.list("turns")?;
    let mut turns = reader.turns(run).await?;
    while let Some(turn) = turns.next().await? {
        out.item(&json!({
            "invocationId": turn.invocation_id,
            "round": turn.round,
            "request": {"keep": turn.keep, "add": turn.add},
            "reply": turn.reply,
        }))?;
    }
    out.end_list()?;

    out.list("files")?;
    for (path, info) in &state.workspace().files {
        let file: Json = match reader.content(path, info).await {
            Ok(file) => json!(file),
            Err(error) => json!({
                "path": path, "sha256": info.sha256, "bytes": info.bytes, "lost": error.message,
            }),
        };
        out.item(&file)?;
    }
    out.end_list()?;
    out.raw("\n}\n")?;
    out.flush()
}

/// JSON that is written piece by piece.
struct Document<W: Write, F: Fn(io::Error) -> Failure> {
    out: BufWriter<W>,
    failed: F,
    /// Something stands before the next field or item.
    follows: bool,
}

impl<W: Write, F: Fn(io::Error) -> Failure> Document<W, F> {
    fn new(out: W, failed: F) -> Self {
        Self {
            out: BufWriter::new(out),
            failed,
            follows: false,
        }
    }

    fn raw(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes()).map_err(&self.failed)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| (self.failed)(error.into()))
    }

    fn next(&mut self, indent: &str) -> Result<(), Failure> {
        let comma = if self.follows { "," } else { "" };
        self.follows = true;
        self.raw(&format!("{comma}\n{indent}"))
    }

    fn field(&mut self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.next("  ")?;
        self.raw(&format!("\"{name}\": "))?;
        self.value(value)
    }

    fn list(&mut self, name: &str) -> Result<(), Failure> {
        self.next("  ")?;
        self.raw(&format!("\"{name}\": ["))?;
        self.follows = false;
        Ok(())
    }

    fn item(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.next("    ")?;
        self.value(value)
    }

    fn end_list(&mut self) -> Result<(), Failure> {
        self.follows = true;
        self.raw("]")
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(&self.failed)
    }

    fn into_inner(self) -> Result<W, Failure> {
        let inner = self.out.into_inner();
        inner.map_err(|error| (self.failed)(error.into_error()))
    }
}
