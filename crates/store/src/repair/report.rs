//! What was found and what was done, in words.

use std::fmt;
use std::path::{Path, PathBuf};

use innkeeper_protocol::event::RunId;

use crate::BlobId;

/// What a look at everything found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub damage: Vec<Damage>,
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
    /// Those that are gone; nothing can be done about them but to bring them again.
    pub contents: Vec<(BlobId, String)>,
}

impl RepairReport {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            kept_aside: None,
            was_salvaged: false,
            tables: Vec::new(),
            runs: Vec::new(),
            contents: Vec::new(),
        }
    }

    /// Nothing had to be changed, and nothing is missing.
    pub fn was_sound(&self) -> bool {
        self.kept_aside.is_none() && self.contents.is_empty()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(what) => write!(f, "the file: {what}"),
            Self::Run(run) => run.fmt(f),
            Self::Content((id, what)) => write!(f, "content {}: {what}", id.as_str()),
        }
    }
}

impl fmt::Display for RunRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run '{}': {}; ", self.run, self.what)?;
        match (self.kept_events, self.lost_events) {
            (0, _) => write!(f, "nothing of it is left"),
            (kept, 0) => write!(f, "all {kept} events are kept"),
            (kept, lost) => write!(f, "events 1 to {kept} are kept, {lost} are lost"),
        }
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match (&self.kept_aside, self.was_salvaged) {
            (None, _) => write!(f, "{path} is sound")?,
            (Some(aside), true) => write!(
                f,
                "{path} could not be read whole: a new one was made of what could be read; the old one is {}",
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
            write!(f, "\ntable '{table}': only {rows_saved} rows could be read")?;
        }
        for run in &self.runs {
            write!(f, "\n{run}")?;
        }
        for (id, what) in &self.contents {
            write!(f, "\ncontent {}: {what}", id.as_str())?;
        }
        Ok(())
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
