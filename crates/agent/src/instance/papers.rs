//! The papers of a run: what a host finds beside the files of its workspace, under the paths that events name.
//!
//! None of them is a file. Each is made from the journal when it is asked for, so it says what is on disk and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::{CallId, InvocationId, RunEventKind, RunId, TaskId};
use innkeeper_protocol::{ErrorCode, Observation};
use innkeeper_store::journal::EventRange;
use innkeeper_tools::ToolError;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::AgentError;
use super::compare::number;
use super::reading::RunReader;
use super::result_paper::{outcome, result_of};
use super::retelling::{Moment, Retelling};
use super::runtime::AgentRuntime;
use crate::limits::{MAX_EVENTS_PAGE, MAX_PAPER_BYTES};
use crate::run::{AgentRun, Created, Draft, Input, PlannedCall, Turn};
use crate::workspace::host::{HostFile, HostPath, Paper, no_paper, read_for_host};
use crate::workspace::state::FileInfo;
use crate::workspace::{WorkspacePath, WorkspacePlan, call_stem};

impl AgentRuntime {
    /// See [`RunReader::file`].
    pub async fn read_workspace_file(
        &self,
        run: &RunId,
        path: &str,
    ) -> Result<HostFile, AgentError> {
        self.reader().file(run, path).await
    }
}

impl RunReader {
    /// What a host reads: a file of the workspace, whether its agent sees it or not, or a paper of the run
    /// (`events.jsonl`, `tool-args/call_….json` …). As the journal has it now, also of a run that is at work.
    pub async fn file(&self, run: &RunId, path: &str) -> Result<HostFile, AgentError> {
        let record = self.record(run).await?;
        let path = HostPath::parse(path)?;
        let paper = match &path {
            HostPath::File(path) => {
                let state = self.state(run).await?;
                return Ok(self.read(&state.workspace().files, path).await?);
            }
            HostPath::Paper(paper) => paper,
        };
        let name = paper.to_string();
        let text = match paper {
            Paper::Events => Some(self.events_text(run, &name).await?),
            Paper::Run => Some(pretty(&record)?),
            Paper::Manifest => {
                let profile = &self.created(run).await?.profile;
                Some(pretty(&WorkspacePlan::of(profile).manifest(profile))?)
            }
            Paper::Input(input) => self.input_text(run, input).await?,
            Paper::ToolArguments(stem) => self.arguments_text(run, stem).await?,
            Paper::ToolResult(stem) => self.result_text(run, stem).await?,
            Paper::ModelResponse { invocation, round } => {
                let invocation = match invocation {
                    Some(invocation) => InvocationId::new(invocation),
                    None => InvocationId::root(),
                };
                self.response_text(run, &invocation, *round).await?
            }
            Paper::AgentResult(invocation) => {
                let state = self.state(run).await?;
                let record = state.result_record(&InvocationId::new(invocation));
                record.map(|record| pretty(&record)).transpose()?
            }
            Paper::Checkpoint { id, file } => {
                let checkpoint = self.find(run, |moment| moment.checkpoint(id)).await?;
                let checkpoint = checkpoint.ok_or_else(|| no_paper(&name))?;
                match file {
                    None => Some(pretty(&checkpoint.document)?),
                    Some(file) => {
                        let read = self.read(&checkpoint.files, file).await;
                        let read = read.map_err(|error| match error.code {
                            ErrorCode::WorkspaceFileNotFound => no_paper(&name),
                            _ => error,
                        })?;
                        return Ok(HostFile { path: name, ..read });
                    }
                }
            }
        };
        let text = text.ok_or_else(|| no_paper(&name))?;
        fits(&name, text.len())?;
        Ok(HostFile::new(name, text))
    }

    async fn read(
        &self,
        files: &BTreeMap<String, FileInfo>,
        path: &WorkspacePath,
    ) -> Result<HostFile, ToolError> {
        read_for_host(&*self.contents, files, path).await
    }

    async fn events_text(&self, run: &RunId, name: &str) -> Result<String, AgentError> {
        let mut text = String::new();
        let mut seq = 0;
        loop {
            let limit = MAX_EVENTS_PAGE;
            let page = self.events(run, EventRange::After { seq, limit }).await?;
            let Some(last) = page.last() else {
                return Ok(text);
            };
            seq = last.seq;
            for event in &page {
                text.push_str(&serde_json::to_string(event).map_err(unwritable)?);
                text.push('\n');
            }
            fits(name, text.len())?;
        }
    }

    /// The first thing that `look` finds in the story of the run.
    async fn find<T>(
        &self,
        run: &RunId,
        mut look: impl FnMut(&Moment<'_>) -> Option<T>,
    ) -> Result<Option<T>, AgentError> {
        let mut told = Retelling::of(self, run);
        while let Some(moment) = told.next().await? {
            if let Some(found) = look(&moment) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What it began with.
    async fn created(&self, run: &RunId) -> Result<Arc<Created>, AgentError> {
        let created = self.find(run, |moment| Some(moment.run.created().clone()));
        let created = created.await?;
        created.ok_or_else(|| AgentError::no_run(run.as_str()))
    }

    async fn input_text(&self, run: &RunId, name: &str) -> Result<Option<String>, AgentError> {
        let document = match name {
            "prompt_snapshot" => Some(prompt_snapshot(&*self.created(run).await?)),
            "resolved_profile" => Some(self.created(run).await?.profile.to_json()),
            // Once the workspace is there.
            "persist_snapshot" => self.find(run, persist_snapshot).await?,
            "resolved_skills" => self.find(run, resolved_skills).await?,
            _ => None,
        };
        document.map(|document| pretty(&document)).transpose()
    }

    async fn arguments_text(&self, run: &RunId, stem: &str) -> Result<Option<String>, AgentError> {
        let arguments = |moment: &Moment<'_>| Some(moment.asked_for(stem)?.arguments.clone());
        let arguments = self.find(run, arguments).await?;
        arguments.map(|arguments| pretty(&*arguments)).transpose()
    }

    async fn result_text(&self, run: &RunId, stem: &str) -> Result<Option<String>, AgentError> {
        let mut told = Retelling::of(self, run);
        let mut call = None;
        let mut result: Option<Map<String, Json>> = None;
        while let Some(moment) = told.next().await? {
            if call.is_none() {
                call = moment.asked_for(stem).map(|call| call.call.clone());
            }
            let Some(call) = &call else { continue };
            if let Some(call) = moment.ended(call) {
                result = result_of(call);
            }
            match (&mut result, moment.task_ended(call)) {
                (Some(result), Some((task, observation))) => {
                    let ended = outcome(observation, None);
                    result.insert("task".to_owned(), json!({"taskId": task, "result": ended}));
                    break;
                }
                (Some(result), None) if !result.contains_key("task") => break,
                _ => {}
            }
        }
        result.map(|result| pretty(&result)).transpose()
    }

    async fn response_text(
        &self,
        run: &RunId,
        invocation: &InvocationId,
        round: u32,
    ) -> Result<Option<String>, AgentError> {
        let mut turns = self.turns(run).await?;
        while let Some(turn) = turns.next().await? {
            if turn.round == round && turn.invocation_id == *invocation {
                let document = json!({
                    "round": round,
                    "invocationId": invocation,
                    "response": turn.reply,
                });
                return pretty(&document).map(Some);
            }
        }
        Ok(None)
    }
}

/// The workspace as it was.
struct Checkpoint {
    document: Json,
    files: BTreeMap<String, FileInfo>,
}

impl Moment<'_> {
    fn asked_for(&self, stem: &str) -> Option<&PlannedCall> {
        let is_asked = |draft: &&Draft| match &draft.kind {
            RunEventKind::ToolCallRequested(asked) => call_stem(asked.call_id.as_str()) == stem,
            _ => false,
        };
        let draft = self.drafts.iter().find(is_asked)?;
        match &draft.kind {
            RunEventKind::ToolCallRequested(asked) => self.call(draft, &asked.call_id),
            _ => None,
        }
    }

    /// The agent that it is told of.
    fn part(&self, draft: &Draft) -> &AgentRun {
        let scope = draft.scope.as_ref();
        scope.map_or(self.run, |scope| {
            self.run.of_invocation(&scope.invocation_id)
        })
    }

    fn ended(&self, id: &CallId) -> Option<&PlannedCall> {
        let mut drafts = self.drafts.iter();
        let stored = drafts.find(|draft| match &draft.kind {
            RunEventKind::ToolResultStored(stored) => stored.call_id == *id,
            _ => false,
        })?;
        self.call(stored, id)
    }

    fn call(&self, draft: &Draft, id: &CallId) -> Option<&PlannedCall> {
        let mut calls = self.part(draft).turn().into_iter().flat_map(Turn::calls);
        calls.find(|call| call.call == *id)
    }

    /// The end of what the call began in the background.
    fn task_ended(&self, call: &CallId) -> Option<(&TaskId, &Observation)> {
        let (draft, task) = self.drafts.iter().find_map(|draft| match &draft.kind {
            RunEventKind::ToolTaskEnded(ended) if ended.call_id == *call => {
                Some((draft, &ended.task_id))
            }
            _ => None,
        })?;
        let mut arrived = self.part(draft).arrived().iter().rev();
        let end = arrived.find(|end| end.task.as_deref() == Some(task.as_str()))?;
        Some((task, end))
    }

    fn checkpoint(&self, id: &str) -> Option<Checkpoint> {
        let mut drafts = self.drafts.iter().zip(self.first_seq..);
        let (created, seq) = drafts.find_map(|(draft, seq)| match &draft.kind {
            RunEventKind::CheckpointCreated(created) if created.checkpoint_id.as_str() == id => {
                Some((created, seq))
            }
            _ => None,
        })?;
        let (run, _) = self.at_checkpoint(&created.checkpoint_id)?;
        let files = run.workspace().files.clone();
        Some(Checkpoint {
            document: json!({
                "id": id,
                "seq": number(&created.checkpoint_id),
                "runId": self.run.run_id(),
                "createdAt": self.stamped.at,
                "reason": created.reason,
                "eventSeq": seq,
                "files": files.iter().map(|(path, info)| described(path, info)).collect::<Vec<_>>(),
            }),
            files,
        })
    }
}

fn persist_snapshot(moment: &Moment<'_>) -> Option<Json> {
    let Input::WorkspaceReady { files, .. } = &moment.stamped.input else {
        return None;
    };
    let files = files.iter().map(|(path, info)| described(path, info));
    Some(json!({
        "baseStateId": moment.run.created().persist_base_state_id,
        "files": files.collect::<Vec<_>>(),
    }))
}

fn resolved_skills(moment: &Moment<'_>) -> Option<Json> {
    moment.drafts.iter().find_map(|draft| match &draft.kind {
        RunEventKind::SkillScopesResolved(skills) => Some(json!({
            "scopes": skills.scopes,
            "refs": skills.refs,
            "effectiveSkills": skills.effective_skills,
        })),
        _ => None,
    })
}

/// In the form in which hosts send it: a run can be begun with it again.
fn prompt_snapshot(created: &Created) -> Json {
    let mut payload = Map::new();
    payload.insert("messages".to_owned(), json!(created.messages));
    if !created.model.is_empty() {
        payload.insert("model".to_owned(), json!(created.model));
    }
    payload.extend(created.parameters.clone());
    let mut snapshot = Map::new();
    snapshot.insert("contextPolicy".to_owned(), json!(created.profile.context));
    snapshot.insert("chatCompletionPayload".to_owned(), Json::Object(payload));
    if let Some(world_info) = &created.world_info {
        snapshot.insert("worldInfoActivation".to_owned(), world_info.clone());
    }
    Json::Object(snapshot)
}

fn described(path: &str, info: &FileInfo) -> Json {
    json!({
        "path": path,
        "sha256": info.sha256,
        "bytes": info.bytes,
        "chars": info.chars,
        "words": info.words,
    })
}

fn pretty(document: &impl Serialize) -> Result<String, AgentError> {
    serde_json::to_string_pretty(document).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> AgentError {
    AgentError::new(ErrorCode::AgentInternalError, error.to_string())
}

fn fits(name: &str, bytes: usize) -> Result<(), AgentError> {
    if bytes <= MAX_PAPER_BYTES {
        return Ok(());
    }
    let message = format!(
        "'{name}' of the run has more than {MAX_PAPER_BYTES} bytes; read its events or its turns page by page"
    );
    Err(AgentError::new(ErrorCode::WorkspaceReadTooLarge, message)
        .because("workspace.read_too_large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_that_is_too_long_is_refused() {
        assert_eq!(fits("events.jsonl", MAX_PAPER_BYTES), Ok(()));
        let error = fits("events.jsonl", MAX_PAPER_BYTES + 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::WorkspaceReadTooLarge);
        assert!(error.message.contains("'events.jsonl'"), "{error}");
    }
}
