//! What came of the code, in words: the JSON that the model is shown.

use std::time::Duration;

use innkeeper_sandbox::{End, Limit, Limits};
use serde_json::{Map, Value as Json, json};

use super::files::Shelf;
use super::shown::{Weight, shown};
use crate::limits::{
    MAX_CODE_OUTPUT_FILES, MAX_CODE_SHOWN_RESULT, MAX_CODE_SHOWN_STDERR, MAX_CODE_SHOWN_STDOUT,
};

/// All that is told, before it is cut to what can be shown.
pub(super) struct Report {
    pub(super) end: End,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Not all that was printed is in `stdout`, `stderr`.
    pub(super) stdout_truncated: bool,
    pub(super) stderr_truncated: bool,
    pub(super) notes: Vec<String>,
    pub(super) usage: Json,
    /// What only a session has.
    pub(super) session: Option<SessionReport>,
}

pub(super) struct SessionReport {
    pub(super) result: Option<String>,
    pub(super) result_truncated: bool,
    pub(super) fresh: bool,
}

impl Report {
    /// Keeps what is too long to be shown, and writes it all down. What a model needs first stands first.
    pub(super) async fn told(mut self, mut shelf: Shelf<'_>) -> Json {
        let mut told = Map::new();
        told.insert("exit".to_owned(), json!(exit(self.end)));
        if let End::Signal(number) = self.end {
            told.insert("signal".to_owned(), signal(number).into());
        }
        if let Some(limit) = self.end.limit() {
            told.insert("limit".to_owned(), limit.as_str().into());
        }
        let mut truncated = Map::new();
        if let Some(session) = &mut self.session {
            told.insert("fresh".to_owned(), session.fresh.into());
            let mut cut = session.result_truncated;
            if let Some(result) = &session.result {
                let shown = shown(result, MAX_CODE_SHOWN_RESULT, Weight::Beginning);
                cut |= shown.cut;
                told.insert("result".to_owned(), shown.text.into());
            }
            truncated.insert("result".to_owned(), cut.into());
        }
        let streams = [
            (
                "stdout",
                self.stdout,
                self.stdout_truncated,
                MAX_CODE_SHOWN_STDOUT,
                Weight::Beginning,
            ),
            (
                "stderr",
                self.stderr,
                self.stderr_truncated,
                MAX_CODE_SHOWN_STDERR,
                Weight::End,
            ),
        ];
        for (name, bytes, lost, most, weight) in streams {
            let part = shown(&String::from_utf8_lossy(&bytes), most, weight);
            told.insert(name.to_owned(), part.text.into());
            truncated.insert(name.to_owned(), (part.cut || lost).into());
            if !part.cut {
                continue;
            }
            match shelf.keep(&format!("{name}.txt"), bytes).await {
                Ok(uri) => {
                    told.insert(format!("{name}_uri"), json!(uri));
                }
                Err(error) => self
                    .notes
                    .push(format!("all of {name} could not be kept: {error}")),
            }
        }
        if shelf.unnamed > 0 {
            self.notes.push(format!(
                "{} further files were not kept; at most {MAX_CODE_OUTPUT_FILES} are",
                shelf.unnamed
            ));
        }
        if !self.notes.is_empty() {
            told.insert("note".to_owned(), self.notes.join(". ").into());
        }
        told.insert("truncated".to_owned(), truncated.into());
        told.insert("usage".to_owned(), self.usage);
        told.insert("files".to_owned(), shelf.kept.into());
        if !shelf.not_kept.is_empty() {
            told.insert("files_not_kept".to_owned(), shelf.not_kept.into());
        }
        told.into()
    }
}

const fn exit(end: End) -> Option<i32> {
    match end {
        End::Exit(code) => Some(code),
        End::Limit { exit, .. } => exit,
        End::Signal(_) | End::Cancelled => None,
    }
}

fn signal(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

/// What a limit means, and what to do.
pub(super) fn explained(limit: Limit, limits: &Limits, time: Duration, most: Duration) -> String {
    let mib = |bytes: u64| bytes >> 20;
    match limit {
        Limit::Wall => format!(
            "It was stopped after {} s; give a longer 'timeout' (at most {} s) or do less in one call",
            time.as_secs(),
            most.as_secs()
        ),
        Limit::Cpu => format!(
            "It used more than {} s of processor time; do less in one call",
            limits.cpu.unwrap_or_default().as_secs()
        ),
        Limit::Memory => format!(
            "It needed more than {} MiB of memory; work on the data in smaller parts",
            mib(limits.memory)
        ),
        Limit::Processes => format!(
            "It had more than {} processes and threads at once; start fewer",
            limits.processes
        ),
        Limit::OpenFiles => format!(
            "It had more than {} files open at once; close those that are done with",
            limits.open_files
        ),
        Limit::FileSize => format!(
            "It made a file of more than {} MiB; make smaller ones",
            mib(limits.file_size)
        ),
        Limit::Disk => format!(
            "It filled its {} MiB for files; make less, and delete what is not needed",
            mib(limits.disk)
        ),
        Limit::Output => format!(
            "It printed more than {} MiB; print less, or write to a file in the working folder",
            mib(limits.output)
        ),
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
