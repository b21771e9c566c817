//! `task.return`: the result of a task, given by the agent that worked on it. Only such an agent has this tool.

use std::fmt::Write;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_store::{Blob, BlobId};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::arguments::{held, invalid, list, optional, required, texts};
use super::no_agents;
use crate::declare::{Nature, answer, declare, examples, object};
use crate::limits::{MAX_RETURN_CHARS, MAX_RETURN_ENTRIES, MAX_SUMMARY_CHARS};
use crate::run::{ReturnStatus, ReturnedArtifact, TaskReturn};
use crate::workspace::state::FileInfo;
use crate::workspace::{WorkspacePath, WorkspaceSession, Workspaces};

pub(super) fn definition() -> ToolDefinition {
    let words = |what: &str| json!({"type": "string", "description": what});
    let list =
        |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    ToolDefinition {
        examples: examples(&[(
            "The task is done.",
            json!({"summary": "Tea came to Europe in 1610, by way of Amsterdam.", "confidence": "high"}),
        )]),
        ..declare(
            "task.return",
            "Give the result",
            "Gives the result of your task to the agent that you work for, and ends your work. Call it last; nothing after it is run.",
            Nature::Control,
            object(
                json!({
                    "summary": words("What you did and found: all that the other agent needs to go on."),
                    "status": words("completed (if left out), or failed if it could not be done."),
                    "confidence": words("How sure you are: low, medium or high."),
                    "artifacts": {
                        "type": "array",
                        "description": "Files that you wrote and that matter.",
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["path"],
                            "properties": {
                                "path": words("Its path."),
                                "kind": words("What it is: markdown, json …"),
                                "role": words("What it is for.")
                            }
                        }
                    },
                    "findings": {"type": "array", "description": "What you found, one by one: texts, or objects."},
                    "warnings": list("What the other agent should beware of."),
                    "suggestedNextActions": list("What should be done next."),
                    "questionsForCaller": list("What you could not decide.")
                }),
                &["summary"],
            ),
            answer(&[("status", "string")]),
        )
    }
}

pub(super) struct Return(pub(super) Workspaces);

#[async_trait]
impl Executor for Return {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let place = self.0.desk(&call)?;
        let door = place.session.door()?;
        let desk = door.agents().ok_or_else(|| no_agents(&call))?;
        let (result, blob) = read(&call.arguments, &place.session)?;
        let status = result.status;
        desk.give_back(&place.call, result, blob).await?;
        Ok(json!({"status": status}))
    }
}

const ALL: &str = "arguments";

fn read(
    fields: &Map<String, Json>,
    session: &WorkspaceSession,
) -> Result<(TaskReturn, Blob), ToolError> {
    let status = match optional(fields, ALL, "status", MAX_RETURN_CHARS)?.as_deref() {
        None | Some("completed") => ReturnStatus::Completed,
        Some("failed") => ReturnStatus::Failed,
        Some(_) => return Err(invalid("status must be completed or failed".to_owned())),
    };
    let confidence = optional(fields, ALL, "confidence", MAX_RETURN_CHARS)?;
    if let Some(confidence) = &confidence
        && !["low", "medium", "high"].contains(&confidence.as_str())
    {
        return Err(invalid("confidence must be low, medium or high".to_owned()));
    }
    let findings = list(fields, ALL, "findings", MAX_RETURN_ENTRIES)?;
    for (at, finding) in findings.iter().enumerate() {
        let text = finding.to_string();
        held(&format!("{ALL}.findings[{at}]"), &text, MAX_RETURN_CHARS)?;
    }
    let lists = |name: &str| texts(fields, ALL, name, MAX_RETURN_ENTRIES, MAX_RETURN_CHARS);
    let mut result = TaskReturn {
        status,
        summary: required(fields, ALL, "summary", MAX_SUMMARY_CHARS)?,
        confidence,
        artifacts: artifacts(fields, session)?,
        findings: findings.to_vec(),
        warnings: lists("warnings")?,
        suggested_next_actions: lists("suggestedNextActions")?,
        questions_for_caller: lists("questionsForCaller")?,
        // Of the text below.
        file: FileInfo::of(BlobId::of(b""), ""),
    };
    let text = paper(&result);
    let blob = Blob::new(text.as_bytes());
    result.file = FileInfo::of(blob.id.clone(), &text);
    Ok((result, blob))
}

/// Files that are there, and that the agent sees.
fn artifacts(
    fields: &Map<String, Json>,
    session: &WorkspaceSession,
) -> Result<Vec<ReturnedArtifact>, ToolError> {
    let mut all = Vec::new();
    let entries = list(fields, ALL, "artifacts", MAX_RETURN_ENTRIES)?;
    for (at, entry) in entries.iter().enumerate() {
        let of = format!("artifacts[{at}]");
        let Json::Object(fields) = entry else {
            return Err(invalid(format!("{of} is no object: write {{\"path\": …}}")));
        };
        let path = required(fields, &of, "path", MAX_RETURN_CHARS)?;
        let parsed = WorkspacePath::parse(&path).ok();
        let seen = parsed.filter(|path| session.plan().sees(path.as_str()));
        let Some(seen) = seen else {
            let message = format!("{of}: '{path}' is not in a folder that you see");
            return Err(ToolError::new(ErrorCode::WorkspacePathDenied, message)
                .because("workspace.path_not_visible")
                .permanent());
        };
        if session.file(seen.as_str()).is_none() {
            let message =
                format!("{of}: there is no file '{seen}': write it first, or leave it out");
            return Err(ToolError::new(ErrorCode::WorkspaceFileNotFound, message)
                .because("workspace.file_not_found")
                .permanent());
        }
        all.push(ReturnedArtifact {
            path: seen.to_string(),
            kind: optional(fields, &of, "kind", MAX_RETURN_CHARS)?,
            role: optional(fields, &of, "role", MAX_RETURN_CHARS)?,
        });
    }
    Ok(all)
}

/// The result as a file that is read like any other.
fn paper(result: &TaskReturn) -> String {
    let mut text = format!("{}\n", result.summary);
    let mut section = |head: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n## {head}\n\n");
            for entry in entries {
                let _ = writeln!(text, "- {entry}");
            }
        }
    };
    let findings = result.findings.iter().map(|finding| match finding {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    });
    section("Findings", findings.collect());
    let artifacts = result.artifacts.iter().map(|artifact| {
        let about = artifact.role.as_deref().or(artifact.kind.as_deref());
        match about {
            Some(about) => format!("{}: {about}", artifact.path),
            None => artifact.path.clone(),
        }
    });
    section("Files", artifacts.collect());
    section("Warnings", result.warnings.clone());
    section("Next", result.suggested_next_actions.clone());
    section("Questions", result.questions_for_caller.clone());
    text
}
