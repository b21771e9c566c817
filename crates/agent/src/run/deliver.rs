//! What comes back from a task: files arrive in a folder of the caller's workspace, with one checkpoint; and the caller is
//! told as much of the result as its profile lets it read at once.

use innkeeper_protocol::event::{InvocationId, RunEventKind, TaskReturned, WorkspaceFileWritten};
use serde_json::{Map, Value as Json, json};

use super::apply::Out;
use super::child::Child;
use super::model::fields;
use super::rollback::TAKEN_BACK;
use super::{AgentRun, Draft, Input, TaskStatus};
use crate::limits::{
    MAX_DELIVERED_NAMED, MAX_WORKSPACE_BYTES, MAX_WORKSPACE_FILES, MAX_WORKSPACE_PATH_BYTES,
    MAX_WORKSPACE_PATH_SEGMENTS,
};
use crate::state::{STATE_FOLDER, private_state_path};
use crate::workspace::is_below;
use crate::workspace::state::{FileChange, FileInfo, How, WorkspaceChange};

impl Child {
    /// Where its files arrive.
    pub fn folder(&self) -> String {
        format!("summaries/{}/", self.workspace_key)
    }

    pub fn summary_ref(&self) -> String {
        format!("summaries/{}-result.md", self.workspace_key)
    }

    /// A path of the child as its caller knows it.
    pub fn arrived_as(&self, path: &str) -> String {
        let there = format!("{}{path}", self.folder());
        match self.delivered.iter().any(|(known, _)| *known == there) {
            true => there,
            false => path.to_owned(),
        }
    }

    /// For the caller, in the words of `agent.await`.
    pub fn report(&self, id: &InvocationId) -> Json {
        if !self.standing.is_whole() {
            return json!({
                "taskId": self.task,
                "agentId": self.profile_id,
                "status": TaskStatus::Cancelled.as_str(),
                "error": {"code": "agent.task_taken_back", "message": TAKEN_BACK},
            });
        }
        let mut report = fields(json!({
            "taskId": self.task,
            "agentId": self.profile_id,
            "status": self.status.as_str(),
        }));
        if let Some(error) = &self.error {
            let code = error.reason.as_deref().unwrap_or(error.code.as_str());
            let error = json!({"code": code, "message": error.message});
            report.insert("error".to_owned(), error);
        }
        if let Some(result) = &self.result {
            let artifacts: Vec<Json> = result
                .artifacts
                .iter()
                .map(|artifact| {
                    Json::Object(fields(json!({
                        "path": self.arrived_as(&artifact.path),
                        "kind": artifact.kind,
                        "role": artifact.role,
                    })))
                })
                .collect();
            let list = |list: &[Json]| (!list.is_empty()).then(|| Json::from(list));
            let words = |list: &[String]| (!list.is_empty()).then(|| Json::from(list));
            report.extend(fields(json!({
                "summary": result.summary,
                "confidence": result.confidence,
                "artifacts": list(&artifacts),
                "findings": list(&result.findings),
                "warnings": words(&result.warnings),
                "suggestedNextActions": words(&result.suggested_next_actions),
                "questionsForCaller": words(&result.questions_for_caller),
                "summaryRef": self.summary_ref(),
                "resultRef": self.result_ref(id),
            })));
        }
        if !self.delivered.is_empty() {
            let named = self.delivered.iter().take(MAX_DELIVERED_NAMED);
            let paths: Vec<&str> = named.map(|(path, _)| path.as_str()).collect();
            report.insert("files".to_owned(), json!(paths));
            let more = self.delivered.len().saturating_sub(MAX_DELIVERED_NAMED);
            if more > 0 {
                report.insert("filesNotNamed".to_owned(), json!(more));
            }
        }
        if self.left_out > 0 {
            report.insert("filesLeftOut".to_owned(), json!(self.left_out));
        }
        Json::Object(within(report, self.result_budget))
    }
}

/// What of it fits into so many tokens. What is longer is cut, and says where the whole stands.
pub(super) fn within(report: Map<String, Json>, tokens: u32) -> Map<String, Json> {
    let budget = u64::from(tokens);
    let whole: u64 = report.values().map(|value| cost(&value.to_string())).sum();
    if whole <= budget {
        return report;
    }
    // Who, what and where first; then as much as there is room for.
    const KEPT: [&str; 7] = [
        "taskId",
        "agentId",
        "status",
        "error",
        "summaryRef",
        "resultRef",
        "confidence",
    ];
    let mut left = budget;
    let mut cut = Map::new();
    for (name, value) in &report {
        if KEPT.contains(&name.as_str()) {
            left = left.saturating_sub(cost(&value.to_string()));
            cut.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in report {
        if KEPT.contains(&name.as_str()) {
            continue;
        }
        let taken = match value {
            Json::String(text) => {
                let text = first_tokens(&text, left);
                left = left.saturating_sub(cost(&text));
                Json::String(text)
            }
            Json::Array(items) => {
                let mut kept = Vec::new();
                for item in items {
                    let price = cost(&item.to_string());
                    if price > left {
                        break;
                    }
                    left -= price;
                    kept.push(item);
                }
                Json::Array(kept)
            }
            other => other,
        };
        cut.insert(name, taken);
    }
    cut.insert("truncated".to_owned(), true.into());
    cut
}

/// A rough count that errs on the side of too many: four letters of ours, or one of a denser script.
fn cost(text: &str) -> u64 {
    let quarters: u64 = text.chars().map(quarter).sum();
    quarters.div_ceil(4)
}

fn quarter(character: char) -> u64 {
    match character.is_ascii() {
        true => 1,
        false => 4,
    }
}

fn first_tokens(text: &str, tokens: u64) -> String {
    let mut left = tokens.saturating_mul(4);
    text.chars()
        .take_while(|character| {
            let price = quarter(*character);
            let fits = price <= left;
            left = left.saturating_sub(price);
            fits
        })
        .collect()
}

impl AgentRun {
    /// A child that has come to its end leaves what it wrote.
    pub(super) fn deliver(&mut self, id: &InvocationId, child: &mut Child, out: &mut Out) {
        let recorded = child.result.as_ref().map(|_| TaskReturned {
            task_id: child.task.clone(),
            parent_invocation_id: child.parent.clone(),
            child_invocation_id: id.clone(),
            status: child.status.as_str().to_owned(),
            result_ref: child.result_ref(id),
            summary_ref: Some(child.summary_ref()),
            extra: Map::new(),
        });
        if let Some(recorded) = &recorded {
            let kind = RunEventKind::TaskReturnRecorded(recorded.clone());
            out.push(Draft::between(kind, id, &[&child.parent]));
        }
        self.take_files(child, out);
        if let Some(recorded) = recorded {
            let kind = RunEventKind::TaskReturnCompleted(recorded);
            out.push(Draft::between(kind, &child.parent, &[id]));
        }
    }

    fn take_files(&mut self, child: &mut Child, out: &mut Out) {
        let folder = child.folder();
        let mut coming: Vec<(String, FileInfo)> = Vec::new();
        if let Some(result) = &child.result {
            coming.push((child.summary_ref(), result.file.clone()));
        }
        let files = child.run.workspace.files.iter();
        // What an agent keeps for itself is not its caller's.
        let is_new = |path: &str, file: &FileInfo| {
            !is_below(path, STATE_FOLDER) && child.base.get(path) != Some(&file.sha256)
        };
        let changed = files.filter(|(path, file)| is_new(path, file));
        coming.extend(changed.map(|(path, file)| (format!("{folder}{path}"), file.clone())));
        for (path, file) in coming {
            match self.takes(&path, &file) {
                true => child.delivered.push((path, file)),
                false => child.left_out = child.left_out.saturating_add(1),
            }
        }
        if child.delivered.is_empty() {
            return;
        }
        for (path, file) in &child.delivered {
            let written = WorkspaceFileWritten {
                invocation_id: self.invocation.clone(),
                path: path.clone(),
                mode: "replace".to_owned(),
                chars: file.chars,
                words: file.words,
                sha256: file.sha256.as_str().to_owned(),
                extra: fields(json!({"bytes": file.bytes, "taskId": child.task})),
            };
            let kind = RunEventKind::WorkspaceFileWritten(written);
            out.push(Draft::between(kind, &self.invocation, &[]));
        }
        self.checkpoint("task_return", out);
    }

    /// What a child has noted with the end of a call. It belongs to the agent in this chat, and not to the task: the next one
    /// of its profile finds it, also beside it. Those of other agents are not touched.
    pub(super) fn take_private_state(&mut self, child: &Child, input: &Input) {
        let Input::CallEnded { change, .. } = input else {
            return;
        };
        let path = private_state_path(&child.profile_id);
        let own = change.files.iter().filter(|file| file.path == path);
        for file in own.filter(|_| child.keeps_state) {
            self.change_file(file);
        }
    }

    /// Says whether there was room.
    fn takes(&mut self, path: &str, file: &FileInfo) -> bool {
        let has_room = self.has_room(path, file);
        if has_room {
            self.change_file(&FileChange {
                old: self.workspace.files.get(path).cloned(),
                path: path.to_owned(),
                how: How::Captured,
                new: Some(file.clone()),
            });
        }
        has_room
    }

    fn has_room(&self, path: &str, file: &FileInfo) -> bool {
        let files = &self.workspace.files;
        let below = format!("{path}/");
        let mut next = files.range(below.clone()..).map(|(name, _)| name);
        let is_folder = next.next().is_some_and(|name| name.starts_with(&below));
        let mut ways = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        let others = || files.iter().filter(|(name, _)| *name != path);
        let held: u64 = others().map(|(_, file)| file.bytes).sum();
        path.len() <= MAX_WORKSPACE_PATH_BYTES
            && path.split('/').count() <= MAX_WORKSPACE_PATH_SEGMENTS
            && !is_folder
            && !ways.any(|way| files.contains_key(way))
            && others().count() < MAX_WORKSPACE_FILES
            && held.saturating_add(file.bytes) <= MAX_WORKSPACE_BYTES
    }

    /// What tasks have left in the workspace with these events: for whoever keeps its contents at hand.
    pub fn delivered(&self, told: &[Draft]) -> Option<WorkspaceChange> {
        let tasks = told.iter().filter_map(|draft| match &draft.kind {
            RunEventKind::AgentTaskCompleted(ended) | RunEventKind::AgentTaskFailed(ended) => {
                ended.child_invocation_id.as_ref()
            }
            _ => None,
        });
        let children = tasks.filter_map(|id| self.children.get(id));
        let files: Vec<FileChange> = children
            .filter(|child| child.status != TaskStatus::Cancelled)
            .flat_map(|child| &child.delivered)
            .map(|(path, file)| FileChange {
                path: path.clone(),
                how: How::Captured,
                old: None,
                new: Some(file.clone()),
            })
            .collect();
        (!files.is_empty()).then_some(WorkspaceChange {
            files,
            reads: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_report_is_cut_to_its_budget_and_says_so() {
        let report = |summary: &str| {
            fields(
                json!({"taskId": "t", "status": "completed", "summary": summary,
                "findings": ["one", "two"], "summaryRef": "summaries/a-result.md"}),
            )
        };
        assert_eq!(within(report("short"), 1_000), report("short"));
        for (summary, tokens) in [("x".repeat(10_000), 100), ("茶".repeat(10_000), 100)] {
            let cut = within(report(&summary), tokens);
            assert_eq!(cut["truncated"], true);
            assert_eq!(cut["summaryRef"], "summaries/a-result.md");
            let told = cut["summary"].as_str().unwrap();
            assert!(
                !told.is_empty() && cost(told) <= u64::from(tokens),
                "{told}"
            );
            assert!(summary.starts_with(told));
        }
    }
}
