//! What a host may read of a run: its files, and the papers of the run itself, under the paths that they always had.
//!
//! Files are read here. Papers are no files: whoever has the journal makes them, and [`HostPath`] says which is meant.

use std::collections::BTreeMap;
use std::fmt;

use innkeeper_protocol::ErrorCode;
use innkeeper_store::{BlobId, Contents};
use innkeeper_tools::ToolError;
use serde::Serialize;

use super::fault::{fault, invalid_path, is_directory, lost, storage};
use super::path::{WorkspacePath, is_below};
use super::plan::ROOTS;
use super::session::WorkspaceSession;
use super::state::FileInfo;
use super::text::Text;

/// A path of a run, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPath {
    /// In one of the five roots.
    File(WorkspacePath),
    Paper(Paper),
}

/// What a run has beside its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paper {
    /// `events.jsonl`
    Events,
    /// `run.json`
    Run,
    /// `manifest.json`: [`super::WorkspacePlan::manifest`]
    Manifest,
    /// `input/prompt_snapshot.json`: by its name without the ending.
    Input(String),
    /// `tool-args/call_<digits>.json`: of the call whose [`super::call_stem`] this is.
    ToolArguments(String),
    /// `tool-results/call_<digits>.json`
    ToolResult(String),
    /// `model-responses/round-001.json`, with the invocation in between where it is not the first.
    ModelResponse {
        invocation: Option<String>,
        round: u32,
    },
    /// `agent-results/inv_….json`: what an agent has returned to the one that it worked for.
    AgentResult(String),
    /// `checkpoints/cp_000001/checkpoint.json`, or a file as it was then.
    Checkpoint {
        id: String,
        file: Option<WorkspacePath>,
    },
}

impl HostPath {
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let path = WorkspacePath::parse(text).map_err(|why| invalid_path(text, why))?;
        if ROOTS.contains(&path.root()) {
            return Ok(Self::File(path));
        }
        paper(path.as_str())
            .map(Self::Paper)
            .ok_or_else(|| no_paper(path.as_str()))
    }
}

/// The path that it has.
impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events => f.write_str("events.jsonl"),
            Self::Run => f.write_str("run.json"),
            Self::Manifest => f.write_str("manifest.json"),
            Self::Input(name) => write!(f, "input/{name}.json"),
            Self::ToolArguments(stem) => write!(f, "tool-args/{stem}.json"),
            Self::ToolResult(stem) => write!(f, "tool-results/{stem}.json"),
            Self::ModelResponse {
                invocation: None,
                round,
            } => f.write_str(&model_response_path(*round)),
            Self::ModelResponse {
                invocation: Some(invocation),
                round,
            } => write!(f, "model-responses/{invocation}/round-{round:03}.json"),
            Self::AgentResult(invocation) => write!(f, "agent-results/{invocation}.json"),
            Self::Checkpoint { id, file: None } => write!(f, "checkpoints/{id}/checkpoint.json"),
            Self::Checkpoint {
                id,
                file: Some(file),
            } => write!(f, "checkpoints/{id}/{}", file.as_str()),
        }
    }
}

fn paper(path: &str) -> Option<Paper> {
    let names: Vec<&str> = path.split('/').collect();
    Some(match names.as_slice() {
        ["events.jsonl"] => Paper::Events,
        ["run.json"] => Paper::Run,
        ["manifest.json"] => Paper::Manifest,
        ["input", name] => Paper::Input(stem(name)?),
        ["tool-args", name] => Paper::ToolArguments(stem(name)?),
        ["tool-results", name] => Paper::ToolResult(stem(name)?),
        ["agent-results", name] => Paper::AgentResult(stem(name)?),
        ["model-responses", name] => Paper::ModelResponse {
            invocation: None,
            round: round(name)?,
        },
        ["model-responses", invocation, name] => Paper::ModelResponse {
            invocation: Some((*invocation).to_owned()),
            round: round(name)?,
        },
        ["checkpoints", id, "checkpoint.json"] => Paper::Checkpoint {
            id: (*id).to_owned(),
            file: None,
        },
        ["checkpoints", id, rest @ ..] if !rest.is_empty() => {
            let file = WorkspacePath::parse(&rest.join("/")).ok()?;
            Paper::Checkpoint {
                id: (*id).to_owned(),
                file: ROOTS.contains(&file.root()).then_some(file).map(Some)?,
            }
        }
        _ => return None,
    })
}

fn stem(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".json")?;
    (!stem.is_empty()).then(|| stem.to_owned())
}

fn round(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("round-")?.strip_suffix(".json")?;
    let is_number = digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The path under which hosts find the reply of a round.
pub fn model_response_path(round: u32) -> String {
    format!("model-responses/round-{round:03}.json")
}

/// A file as hosts are given it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFile {
    pub path: String,
    pub text: String,
    pub bytes: u64,
    pub chars: u64,
    pub words: u64,
    pub sha256: String,
}

impl HostFile {
    /// For papers too.
    pub fn new(path: impl Into<String>, text: String) -> Self {
        let info = FileInfo::of(BlobId::of(text.as_bytes()), &text);
        Self::of(path.into(), text, info)
    }

    fn of(path: String, text: String, info: FileInfo) -> Self {
        Self {
            path,
            text,
            bytes: info.bytes,
            chars: info.chars,
            words: info.words,
            sha256: info.sha256.as_str().to_owned(),
        }
    }
}

impl WorkspaceSession {
    /// Any file of the five roots, whatever the profile lets its agent see; with what open calls have done.
    pub async fn read_for_host(&self, path: &WorkspacePath) -> Result<HostFile, ToolError> {
        let name = path.as_str();
        let Some(info) = self.file(name) else {
            return Err(match self.is_folder(name) {
                true => is_directory(name),
                false => no_paper(name),
            });
        };
        let text = self.text(name, &info.sha256).await?;
        Ok(HostFile::of(
            name.to_owned(),
            text.as_str().to_owned(),
            info,
        ))
    }
}

/// The same for a run that is not live, or as it was at a checkpoint.
pub async fn read_for_host(
    contents: &dyn Contents,
    files: &BTreeMap<String, FileInfo>,
    path: &WorkspacePath,
) -> Result<HostFile, ToolError> {
    let name = path.as_str();
    let Some(info) = files.get(name) else {
        let is_folder = ROOTS.contains(&name) || files.keys().any(|file| is_below(file, name));
        return Err(match is_folder {
            true => is_directory(name),
            false => no_paper(name),
        });
    };
    read_content(contents, name, info).await
}

/// A content under the name that it has, or had.
pub async fn read_content(
    contents: &dyn Contents,
    name: &str,
    info: &FileInfo,
) -> Result<HostFile, ToolError> {
    let content = contents
        .blob(&info.sha256)
        .await
        .map_err(|error| storage(name, &error))?
        .ok_or_else(|| lost(name))?;
    let text = Text::new(name, content)?;
    Ok(HostFile::of(
        name.to_owned(),
        text.as_str().to_owned(),
        info.clone(),
    ))
}

/// Neither a file nor a paper.
pub fn no_paper(path: &str) -> ToolError {
    fault(
        ErrorCode::WorkspaceFileNotFound,
        "workspace.file_not_found",
        format!("The run has no '{path}'"),
    )
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
