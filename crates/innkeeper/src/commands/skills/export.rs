//! `innkeeper skills export`: into a file that is there whole, or stays as it was.

use std::io::{self, Write as _};

use innkeeper_agent::skills::Skills;
use serde_json::json;

use super::{failed, scope};
use crate::cli::SkillsExportArgs;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, cause, shown};
use crate::output::Screen;
use crate::save::Saved;

pub(super) fn run(
    args: &SkillsExportArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let scope = scope("--scope", &args.scope)?;
    // Before a file is begun for a skill that is not there.
    let archive = skills.archive(&scope, &args.name).map_err(failed)?;
    let name = shown(&args.output.to_string_lossy());
    let unwritable = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Run(RunFault::Unwritable {
            file: name.clone(),
            why: cause(&error),
        }),
    };
    let mut saved = Saved::open(&args.output).map_err(unwritable)?;
    saved.write_all(&archive.bytes).map_err(unwritable)?;
    saved.finish().map_err(unwritable)?;
    let (file_name, sha256) = (archive.file_name, archive.sha256);
    match screen.json {
        true => screen.document(&json!({
            "fileName": file_name,
            "path": args.output,
            "sha256": sha256,
        }))?,
        false => screen.note(
            &format!("{} → {name} (sha256 {sha256})", args.name),
            &format!("{} → {name}（sha256 {sha256}）", args.name),
        ),
    }
    Ok(Ended::Done)
}
