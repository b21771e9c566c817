//! What is different in the workspace of a run between two of its moments: its start, its checkpoints, and now.
//!
//! The files of a checkpoint are looked up in the store; where it does not have them at hand, the run is told again from its
//! journal, which is the truth. Both work for runs that are at work, over, or driven by another process.

use std::time::Instant;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CheckpointId, RunId};
use innkeeper_store::{Tree, TreeFile};
use serde::{Serialize, Serializer};

use super::AgentError;
use super::reading::RunReader;
use super::retelling::Retelling;
use super::runtime::AgentRuntime;
use crate::limits::{DIFF_TIME, MAX_DIFF_PATHS};
use crate::run::{Input, names};
use crate::workspace::diff::{self, Content, ContentsAtHand, DiffTotals, FileDiff};
use crate::workspace::state::{FileInfo, tree_of};
use crate::workspace::{ROOTS, WorkspacePath};

/// A moment of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffEnd {
    /// With what earlier runs left in `persist`.
    Start,
    Checkpoint(CheckpointId),
    /// As the journal has it.
    Now,
}

impl DiffEnd {
    /// `start`, `now`, `cp_000012`, or the number of a checkpoint.
    pub fn parse(text: &str) -> Result<Self, AgentError> {
        let text = text.trim();
        let number = text.strip_prefix("cp_").unwrap_or(text);
        match (text, number.parse::<u64>()) {
            ("start", _) => Ok(Self::Start),
            ("now", _) => Ok(Self::Now),
            (_, Ok(number)) if number > 0 => Ok(Self::Checkpoint(names::checkpoint_id(number))),
            _ => {
                let message = format!(
                    "'{text}' is no checkpoint; name one like cp_000001, or 'start' or 'now'"
                );
                Err(AgentError::new(ErrorCode::AgentValidationError, message)
                    .because("agent.checkpoint_invalid"))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Start => "start",
            Self::Checkpoint(id) => id.as_str(),
            Self::Now => "now",
        }
    }
}

impl Serialize for DiffEnd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What is to be compared: everything there was from the start until now, if nothing is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffQuery {
    pub from: DiffEnd,
    pub to: DiffEnd,
    /// Files or folders; empty for all. A file that is named and is the same is told as unchanged.
    pub paths: Vec<String>,
}

impl Default for DiffQuery {
    fn default() -> Self {
        Self {
            from: DiffEnd::Start,
            to: DiffEnd::Now,
            paths: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDiff {
    pub run_id: RunId,
    pub from_checkpoint_id: DiffEnd,
    pub to_checkpoint_id: DiffEnd,
    pub files: Vec<FileDiff>,
    pub totals: DiffTotals,
}

impl AgentRuntime {
    /// See [`RunReader::diff`].
    pub async fn read_diff(&self, run: &RunId, query: &DiffQuery) -> Result<RunDiff, AgentError> {
        self.reader().diff(run, query).await
    }
}

impl RunReader {
    /// Bounded in bytes and in time; a file whose lines are not all there says why.
    pub async fn diff(&self, run: &RunId, query: &DiffQuery) -> Result<RunDiff, AgentError> {
        self.record(run).await?;
        let asked = paths(&query.paths)?;
        let from = self.files_at(run, &query.from).await?;
        let to = self.files_at(run, &query.to).await?;
        for asked in &asked {
            let mut known = from.0.keys().chain(to.0.keys());
            let is_there = ROOTS.contains(&asked.as_str());
            if !is_there && !known.any(|path| diff::is_in(path, asked)) {
                return Err(nothing_at(asked, query));
            }
        }
        let (files, totals) = self.compared(&from, &to, asked).await?;
        Ok(RunDiff {
            run_id: run.clone(),
            from_checkpoint_id: query.from.clone(),
            to_checkpoint_id: query.to.clone(),
            files,
            totals,
        })
    }

    /// Bounded in bytes and in time.
    pub(super) async fn compared(
        &self,
        from: &Tree,
        to: &Tree,
        asked: Vec<String>,
    ) -> Result<(Vec<FileDiff>, DiffTotals), AgentError> {
        let changes = diff::changes(from, to, &asked);
        let contents = self.contents_of(diff::to_read(&changes, &asked)).await;
        let deadline = Instant::now() + DIFF_TIME;
        let compared = tokio::task::spawn_blocking(move || {
            let mut changes = changes;
            diff::find_renames(&mut changes, &contents, Some(deadline));
            changes.retain(|change| diff::is_wanted(change, &asked));
            diff::compare(&changes, &contents, &asked, Some(deadline))
        });
        compared
            .await
            .map_err(|error| AgentError::new(ErrorCode::AgentInternalError, error.to_string()))
    }

    /// What the workspace held.
    pub async fn files_at(&self, run: &RunId, end: &DiffEnd) -> Result<Tree, AgentError> {
        let id = match end {
            DiffEnd::Start => return self.files_at_start(run).await,
            DiffEnd::Now => return Ok(self.state(run).await?.workspace().tree()),
            DiffEnd::Checkpoint(id) => id,
        };
        // What cannot be read there is in the journal all the same.
        if let Ok(Some(tree)) = self.contents.checkpoint(run, id).await {
            return Ok(tree);
        }
        let last = self.state(run).await?.workspace().checkpoints;
        let exists = (1..=last).contains(&number(id));
        let found = match exists {
            true => self.files_by_journal(run, id).await?,
            false => None,
        };
        found.ok_or_else(|| no_checkpoint(run, id, last))
    }

    async fn files_at_start(&self, run: &RunId) -> Result<Tree, AgentError> {
        let mut told = Retelling::of(self, run);
        while let Some(moment) = told.next().await? {
            // One that was branched off has them before it was ever started.
            if let Some(fork) = &moment.run.created().fork {
                return Ok(tree_of(&fork.files));
            }
            if let Input::WorkspaceReady { files, .. } = &moment.stamped.input {
                let files = files.iter().map(|(path, info)| (path.clone(), file(info)));
                return Ok(Tree(files.collect()));
            }
        }
        Ok(Tree::default())
    }

    async fn files_by_journal(
        &self,
        run: &RunId,
        id: &CheckpointId,
    ) -> Result<Option<Tree>, AgentError> {
        let mut told = Retelling::of(self, run);
        while let Some(moment) = told.next().await? {
            if let Some((run, _)) = moment.at_checkpoint(id) {
                return Ok(Some(run.workspace().tree()));
            }
        }
        Ok(None)
    }

    /// What is gone spoils the comparison of its file alone.
    async fn contents_of(&self, files: Vec<&TreeFile>) -> ContentsAtHand {
        let mut contents = ContentsAtHand::new();
        for file in files {
            let content = match self.contents.blob(&file.sha256).await {
                Ok(Some(bytes)) => Content::of(&bytes),
                Ok(None) | Err(_) => Content::Missing,
            };
            contents.insert(file.sha256.clone(), content);
        }
        contents
    }
}

pub(super) fn file(info: &FileInfo) -> TreeFile {
    TreeFile {
        sha256: info.sha256.clone(),
        bytes: info.bytes,
    }
}

/// 0 of what is no id of ours.
pub(super) fn number(id: &CheckpointId) -> u64 {
    let number = id.as_str().strip_prefix("cp_").map(str::parse);
    number.and_then(Result::ok).unwrap_or_default()
}

fn paths(asked: &[String]) -> Result<Vec<String>, AgentError> {
    let refused = |message: String| {
        AgentError::new(ErrorCode::WorkspacePathDenied, message).because("workspace.invalid_path")
    };
    if asked.len() > MAX_DIFF_PATHS {
        let message = format!(
            "{} paths are too many; name at most {MAX_DIFF_PATHS}, or a folder",
            asked.len()
        );
        return Err(refused(message));
    }
    let paths = asked.iter().map(|text| match WorkspacePath::parse(text) {
        Ok(path) => Ok(path.as_str().to_owned()),
        Err(fault) => Err(refused(format!(
            "the path '{text}' cannot be compared: {fault}"
        ))),
    });
    paths.collect()
}

fn nothing_at(path: &str, query: &DiffQuery) -> AgentError {
    let (from, to) = (query.from.as_str(), query.to.as_str());
    let message = format!(
        "there is no '{path}' in the workspace, neither at '{from}' nor at '{to}'; leave the path out to see what is different"
    );
    AgentError::new(ErrorCode::WorkspaceFileNotFound, message).because("workspace.file_not_found")
}

pub(super) fn no_checkpoint(run: &RunId, id: &CheckpointId, last: u64) -> AgentError {
    let those = match last {
        0 => "it has none".to_owned(),
        last => format!("its last is {}", names::checkpoint_id(last)),
    };
    let message = format!(
        "the run '{run}' has no checkpoint '{id}': {those}; `innkeeper runs checkpoints {run}` lists them"
    );
    AgentError::new(ErrorCode::AgentNotFound, message).because("agent.checkpoint_not_found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_named_by_people() {
        for (text, expected) in [
            ("start", Ok("start")),
            (" now ", Ok("now")),
            ("cp_000012", Ok("cp_000012")),
            ("cp_12", Ok("cp_000012")),
            ("12", Ok("cp_000012")),
            ("1234567", Ok("cp_1234567")),
            ("0", Err("agent.checkpoint_invalid")),
            ("cp_", Err("agent.checkpoint_invalid")),
            ("-1", Err("agent.checkpoint_invalid")),
            ("", Err("agent.checkpoint_invalid")),
            ("yesterday", Err("agent.checkpoint_invalid")),
        ] {
            let end = DiffEnd::parse(text);
            let found = end.as_ref().map(DiffEnd::as_str);
            let found = found.map_err(|error| error.reason.clone().unwrap_or_default());
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
    }
}
