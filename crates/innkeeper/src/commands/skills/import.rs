//! `innkeeper skills import`: looked at, shown how far it is, and there.

use std::io::{self, Write};
use std::time::Instant;

use innkeeper_agent::skills::{Conflict, ImportInput, ImportPreview, ImportProgress, Skills};

use super::{failed, scope, show, strategy, tell};
use crate::cli::SkillsImportArgs;
use crate::commands::Ended;
use crate::failure::{Failure, Place};
use crate::home::Home;
use crate::limits::PROGRESS_EVERY;
use crate::output::Screen;

pub(super) fn run(
    args: &SkillsImportArgs,
    home: &Home,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let target = scope("--scope", &args.scope)?;
    if !args.source.exists() {
        return Err(Failure::NothingThere(Place::file(&args.source)));
    }
    let input = ImportInput::at(&args.source);
    if args.preview {
        let preview = skills.preview_import(&input, &target).map_err(failed)?;
        return shown(&preview, screen);
    }
    home.create()?;
    let mut line = Line::new(screen);
    let installed =
        skills.install_import_told(&input, &target, strategy(&args.conflict), &mut |progress| {
            line.show(progress);
        });
    line.clear();
    tell(&installed.map_err(failed)?, None, screen)
}

fn shown(preview: &ImportPreview, screen: &Screen) -> Result<Ended, Failure> {
    if screen.json {
        screen.document(preview)?;
        return Ok(Ended::Done);
    }
    show::about(&preview.skill, None, screen)?;
    show::list(&preview.files, screen)?;
    let (english, chinese) = match preview.conflict.kind {
        Conflict::New => ("It would be new", "它会是新的"),
        Conflict::Same => ("The same is there already", "已有相同的"),
        Conflict::Different => (
            "Another skill of that name is there: --replace would replace it, --skip leave it",
            "已有同名的另一个技能：--replace 会替换它，--skip 会保留它",
        ),
    };
    screen.note(english, chinese);
    Ok(Ended::Done)
}

/// One line on standard error that is written over itself, for imports that take long.
struct Line<'s> {
    screen: &'s Screen,
    last: Instant,
    is_shown: bool,
}

impl<'s> Line<'s> {
    fn new(screen: &'s Screen) -> Self {
        Self {
            screen,
            last: Instant::now(),
            is_shown: false,
        }
    }

    fn show(&mut self, progress: ImportProgress) {
        if !self.screen.shows_progress() || self.last.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.last = Instant::now();
        self.is_shown = true;
        let said = match progress {
            ImportProgress::Checked { files, of } => self.screen.pick(
                format!("looked at {files} of {of} files"),
                format!("已检查 {files}/{of} 个文件"),
            ),
            ImportProgress::Written { files, of } => self.screen.pick(
                format!("wrote {files} of {of} files"),
                format!("已写入 {files}/{of} 个文件"),
            ),
        };
        let _ = write!(io::stderr(), "\r\u{1b}[K{said}");
        let _ = io::stderr().flush();
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
