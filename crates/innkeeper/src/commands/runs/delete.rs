//! `innkeeper runs delete`: a run is gone for good, after a person has said so.

use serde_json::json;

use super::cancel::{deleted, with_runtime};
use super::find::{find, reading};
use crate::ask;
use crate::cli::RunsDeleteArgs;
use crate::commands::Ended;
use crate::failure::{Failure, Place, RunFault, shown};
use crate::home::Home;
use crate::output::Screen;

pub(super) fn run(args: &RunsDeleteArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let record = reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        Ok(reader.record(&run).await?)
    })?;
    let (run, title) = (record.run_id, shown(&record.title));
    if !args.yes {
        let asked = screen.pick(
            format!("Delete {run} ({title}) with its events and files? [y/N] "),
            format!("删除 {run}（{title}）及其事件和文件？[y/N] "),
        );
        agreed(&asked)?;
    }
    let deleted = with_runtime(home, screen, async |runtime, store| {
        deleted(runtime, store, &run).await
    })?;
    match screen.json {
        true => screen.document(&json!({"runId": run, "deleted": deleted}))?,
        false => screen.note(&format!("{run} is gone"), &format!("{run} 已删除")),
    }
    Ok(Ended::Done)
}

/// Fails where nobody can be asked, and where they say no.
pub(in crate::commands) fn agreed(question: &str) -> Result<(), Failure> {
    if !ask::somebody_is_there() {
        return Err(RunFault::NeedsYes.into());
    }
    let answer = ask::line(question).map_err(|error| Failure::reading(Place::Stdin, error))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    match answer.as_str() {
        "y" | "yes" | "是" => Ok(()),
        _ => Err(RunFault::Declined.into()),
    }
}
