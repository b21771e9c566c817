//! What was found and what was done, in words.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use innkeeper_protocol::event::RunId;

use super::contents::Missing;
use crate::BlobId;

/// What a look at everything found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub damage: Vec<Damage>,
    /// Contents of which a repair has said before that they are gone: nothing more can be done about them.
    pub known_losses: Vec<(BlobId, String)>,
    /// Contents that are missing, too, and not named.
    pub more_contents: u64,
}

/// How many bytes of large contents have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckProgress {
    pub bytes: u64,
    pub of: u64,
}

impl CheckReport {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file itself, in SQLite's words.
    File(String),
    /// As a repair would leave it.
    Run(RunRepair),
    Content((BlobId, String)),
    /// So many shortcuts to the files of checkpoints. What they say is in the journals of their runs.
    Checkpoints(u64),
}

/// A run that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRepair {
    pub run: RunId,
    pub what: String,
    /// 0: nothing is left of it.
    pub kept_events: u64,
    /// As far as it is known.
    pub lost_events: u64,
    /// Those of the lost ones that are what was written, only behind something that is not: they are in the copy.
    pub readable_events: u64,
    /// It has no end any more, and what it did after its last event may have taken effect.
    pub is_cut: bool,
}

/// A table that could not be read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLoss {
    pub table: String,
    pub rows_saved: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    pub path: PathBuf,
    /// The file as it was before; `None`: nothing had to be changed.
    pub kept_aside: Option<PathBuf>,
    /// SQLite could not read the file, so that a new one was made of what could be read.
    pub was_salvaged: bool,
    pub tables: Vec<TableLoss>,
    pub runs: Vec<RunRepair>,
    /// Shortcuts to the files of checkpoints that were removed. Nothing is lost: the journals of their runs say the same.
    pub checkpoints: u64,
    /// Those that are gone; nothing can be done about them but to bring them again.
    pub contents: Vec<(BlobId, String)>,
    /// Those that are gone, too, and not named.
    pub more_contents: u64,
}

impl RepairReport {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            kept_aside: None,
            was_salvaged: false,
            tables: Vec::new(),
            runs: Vec::new(),
            checkpoints: 0,
            contents: Vec::new(),
            more_contents: 0,
        }
    }

    pub(super) fn lack(&mut self, missing: Missing) {
        self.more_contents = missing.more;
        self.contents = missing.named();
    }

    /// Nothing had to be changed, and nothing is missing.
    pub fn was_sound(&self) -> bool {
        self.kept_aside.is_none() && self.contents.is_empty()
    }
}

/// A text from the file, which may hold anything, without what could rewrite a screen or pass for another line.
struct Plain<'t>(&'t str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character.is_control() {
                true => write!(f, "{}", character.escape_unicode())?,
                false => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(what) => write!(f, "the file: {}", Plain(what)),
            Self::Run(run) => run.fmt(f),
            Self::Content((id, what)) => write!(f, "content {}: {}", id.as_str(), Plain(what)),
            Self::Checkpoints(count) => write!(
                f,
                "the shortcuts to the files of {count} checkpoints are not what was written; they are read from the journals of their runs"
            ),
        }
    }
}

impl fmt::Display for RunRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, what) = (Plain(self.run.as_str()), Plain(&self.what));
        write!(f, "run '{run}': {what}; ")?;
        match (self.kept_events, self.lost_events) {
            (0, _) => write!(f, "nothing of it is left")?,
            (kept, 0) => write!(f, "all {kept} events are kept")?,
            (kept, lost) => write!(f, "events 1 to {kept} are kept, {lost} are lost")?,
        }
        if self.readable_events > 0 {
            let readable = self.readable_events;
            write!(f, " ({readable} of them can still be read in the copy)")?;
        }
        if self.is_cut {
            let kept = self.kept_events;
            write!(
                f,
                "; what it did after event {kept} may have taken effect and would be done again, so it waits for \
                 'innkeeper runs resume {run}'"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match (&self.kept_aside, self.was_salvaged) {
            (None, _) if self.contents.is_empty() => write!(f, "{path} is sound")?,
            (None, _) => write!(f, "{path} is sound, but contents are missing")?,
            (Some(aside), true) => write!(
                f,
                "{path} could not be used as it was: a new one was made of what could be read; the old one is {}",
                aside.display()
            )?,
            (Some(aside), false) => {
                write!(
                    f,
                    "{path} was repaired; as it was before it is {}",
                    aside.display()
                )?;
            }
        }
        for table in &self.tables {
            let TableLoss { table, rows_saved } = table;
            let table = Plain(table);
            match rows_saved {
                0 => write!(f, "\ntable '{table}': nothing of it could be read")?,
                rows => write!(f, "\ntable '{table}': only {rows} rows could be read")?,
            }
        }
        for run in &self.runs {
            write!(f, "\n{run}")?;
        }
        if self.checkpoints > 0 {
            write!(
                f,
                "\nthe shortcuts to the files of {} checkpoints were removed; nothing is lost, the journals of their runs have them",
                self.checkpoints
            )?;
        }
        for (id, what) in &self.contents {
            write!(f, "\ncontent {}: {}", id.as_str(), Plain(what))?;
        }
        match self.more_contents {
            0 => Ok(()),
            more => write!(f, "\nand {more} more contents"),
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return f.write_str("all is sound");
        }
        for (number, damage) in self.damage.iter().enumerate() {
            let line = if number == 0 { "" } else { "\n" };
            write!(f, "{line}{damage}")?;
        }
        Ok(())
    }
}
