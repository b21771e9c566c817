//! `CodeInterpreter:execute`: one program, from its code to what came of it.

use std::ffi::OsStr;
use std::path::Path;

use async_trait::async_trait;
use innkeeper_sandbox::{Collected, End, Job, Limits, SandboxPolicy, Workspace, WorkspaceFile};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::files::{Shelf, take_in};
use super::language::{Language, policy};
use super::report::{Report, explained, millis};
use super::{CodeParts, refused, unfenced};
use crate::builtin::declare::{arguments, cancelled};
use crate::limits::{MAX_CODE_OUTPUT_BYTES, MAX_CODE_OUTPUT_FILES, MAX_CODE_STDIN_BYTES};
use crate::{Caller, Executor, Invocation, Revision, ToolError};

pub(super) struct Execute(pub(super) CodeParts);

#[derive(Deserialize)]
struct Arguments {
    language: Language,
    code: String,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

#[async_trait]
impl Executor for Execute {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let cancel = call.context.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            told = self.run(call) => told,
        }
    }

    /// Files may change between two calls, so code that takes some is always run.
    async fn revision(&self, arguments: &Map<String, Json>, _: &Caller) -> Option<Revision> {
        let files = arguments.get("files").and_then(Json::as_array);
        if files.is_some_and(|files| !files.is_empty()) {
            return None;
        }
        let language = Language::deserialize(arguments.get("language")?).ok()?;
        let CodeParts {
            interpreters,
            limits,
            ..
        } = &self.0;
        let interpreter = interpreters.locate(language.as_str()).await.ok()?;
        let runs = interpreter.revision().await?;
        let limits = format!("{limits:?}");
        let parts = [b"code".as_slice(), runs.as_bytes(), limits.as_bytes()];
        Some(Revision::of(parts))
    }

    /// Files are more than an answer, and code that failed or was stopped may do better.
    fn is_all_it_did(&self, result: &Json) -> bool {
        let beside = ["limit", "stdout_uri", "stderr_uri", "files_not_kept"];
        let made = result.get("files").and_then(Json::as_array);
        result.get("exit") == Some(&json!(0))
            && made.is_none_or(Vec::is_empty)
            && beside.iter().all(|key| result.get(key).is_none())
    }
}

impl Execute {
    async fn run(&self, call: Invocation) -> Result<Json, ToolError> {
        let parts = &self.0;
        let given: Arguments = arguments(call.arguments)?;
        let code = unfenced(&given.code)?;
        if given.stdin.len() > MAX_CODE_STDIN_BYTES {
            return Err(ToolError::invalid(format!(
                "'stdin' has more than {} MiB; put it into a file and name that in 'files'",
                MAX_CODE_STDIN_BYTES >> 20
            ))
            .because("code.too_large"));
        }
        let interpreter = parts.interpreters.locate(given.language.as_str()).await?;
        let mut laid = take_in(&parts.files, &call.context.caller, &given.files).await?;
        let file = own_name(given.language, &laid);
        laid.push(WorkspaceFile {
            name: file.clone(),
            bytes: code.as_bytes().to_vec(),
        });

        let time = parts.limits.timeout(given.timeout);
        let limits = Limits {
            wall: Some(time),
            ..parts.limits.room
        };
        let job = Job {
            program: given.language.program(&interpreter, &file),
            stdin: given.stdin.into_bytes(),
            policy: SandboxPolicy {
                workspace: Some(Workspace {
                    files: laid,
                    // One more: the code itself may come back under another name.
                    collect_files: MAX_CODE_OUTPUT_FILES + 1,
                    collect_bytes: MAX_CODE_OUTPUT_BYTES,
                }),
                limits,
                ..policy(&interpreter)
            },
            cancel: call.context.cancel.clone(),
            ..Job::default()
        };
        let outcome = parts.sandbox.run(job).await.map_err(|e| refused(&e))?;
        if outcome.end == End::Cancelled {
            return Err(cancelled());
        }

        let mut made = outcome.files;
        made.retain(|made| !is_code(made, code));
        let mut shelf = Shelf::new(&parts.files, &call.context);
        shelf.keep_all(made, outcome.files_left).await;
        let note = outcome
            .end
            .limit()
            .map(|limit| explained(limit, &limits, time, parts.limits.max_timeout));
        let usage = outcome.usage;
        let report = Report {
            end: outcome.end,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            stdout_truncated: outcome.stdout_truncated,
            stderr_truncated: outcome.stderr_truncated,
            notes: Vec::from_iter(note),
            usage: json!({
                "wall_ms": millis(usage.wall),
                "cpu_ms": millis(usage.cpu),
                "memory_bytes": usage.memory,
                "processes": usage.processes,
            }),
            session: None,
        };
        Ok(report.told(shelf).await)
    }
}

/// A name for the code that no file of the call has, nor one that differs in its ending alone: JavaScript may get another
/// one.
fn own_name(language: Language, laid: &[WorkspaceFile]) -> String {
    let stem = |name: &str| Path::new(name).file_stem().map(OsStr::to_owned);
    let mut name = language.file().to_owned();
    while laid.iter().any(|file| stem(&file.name) == stem(&name)) {
        name.insert(0, '_');
    }
    name
}

/// JavaScript is moved to `.mjs` if it is a module.
fn is_code(made: &Collected, code: &str) -> bool {
    made.name.ends_with(".mjs") && made.bytes.as_deref() == Some(code.as_bytes())
}

#[cfg(test)]
#[path = "execute_tests.rs"]
mod tests;
