//! `innkeeper doctor --repair`: saves what can be read of the database, after a person has said so.

use innkeeper_store::{RepairReport, Store};
use serde_json::{Value as Json, json};

use super::house::is_missing;
use super::runs::progress;
use crate::cli::DoctorArgs;
use crate::commands::Ended;
use crate::commands::runs::agreed;
use crate::failure::{Failure, Place};
use crate::home::Home;
use crate::output::Screen;
use crate::runtime::block_on;

pub(super) fn run(args: &DoctorArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let path = home.file("innkeeper.db");
    if is_missing(&path) {
        return Err(Failure::NotFound(Place::file(&path)));
    }
    if !args.yes {
        let place = Place::file(&path);
        let name = place.name(screen.lang);
        let asked = screen.pick(
            format!(
                "Go through {name} and cut off what is damaged? The file as it was is kept beside it. [y/N] "
            ),
            format!("检查 {name} 并切掉损坏的部分？原来的文件会保留在旁边。[y/N] "),
        );
        agreed(&asked)?;
    }
    let told = progress(screen);
    let report = block_on(async { Ok(Store::repair_telling(&path, &told).await?) })?;
    match screen.json {
        true => screen.document(&document(&report))?,
        false => screen.text(&report.to_string())?,
    }
    Ok(Ended::Done)
}

fn document(report: &RepairReport) -> Json {
    let runs = report.runs.iter().map(|run| {
        json!({
            "runId": run.run,
            "what": run.what,
            "keptEvents": run.kept_events,
            "lostEvents": run.lost_events,
            "readableEvents": run.readable_events,
            "isCut": run.is_cut,
        })
    });
    let tables = report.tables.iter();
    let contents = report.contents.iter();
    json!({
        "path": report.path,
        "wasSound": report.was_sound(),
        "keptAside": report.kept_aside,
        "wasSalvaged": report.was_salvaged,
        "tables": tables
            .map(|loss| json!({"table": loss.table, "rowsSaved": loss.rows_saved}))
            .collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
        "checkpoints": report.checkpoints,
        "contents": contents
            .map(|(id, what)| json!({"sha256": id.as_str(), "what": what}))
            .collect::<Vec<_>>(),
        "moreContents": report.more_contents,
    })
}
