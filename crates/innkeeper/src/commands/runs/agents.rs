//! The agents of a run as a tree, and one task with what came of it.

use std::collections::BTreeMap;

use innkeeper_agent::instance::RunReader;
use innkeeper_agent::run::{DelegationEdge, InvocationView, TimelineProjection};
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind, RunId, TaskId};
use serde_json::Value as Json;

use crate::failure::{Failure, in_words};
use crate::output::Screen;
use crate::table::Table;

/// Who works for whom; nothing where there is only one agent.
pub(super) fn tree(timeline: &TimelineProjection, names: &Names, screen: &Screen) -> Option<Table> {
    if timeline.invocations.len() < 2 {
        return None;
    }
    let headings = screen.pick(
        [
            "AGENT",
            "STATUS",
            "ROUNDS",
            "CALLS",
            "TASK",
            "ABOUT",
            "INVOCATION",
        ],
        ["智能体", "状态", "轮", "调用", "任务", "内容", "智能体 ID"],
    );
    let mut table = Table::new(&headings);
    for main in &timeline.foreground_invocation_ids {
        let own = |agent: &&InvocationView| agent.invocation_id == *main;
        let below = |agent: &&InvocationView| {
            agent.kind == "subagent" && agent.parent_invocation_id.as_ref() == Some(main)
        };
        let all = timeline.invocations.iter();
        for agent in all.clone().filter(own).chain(all.filter(below)) {
            let edge = edge_to(timeline, &agent.invocation_id);
            let sign = match agent.kind {
                "subagent" => "  └ ",
                "handoff" => "→ ",
                _ => "",
            };
            let name = names.called(&agent.invocation_id);
            let is_taken_back = edge.is_some_and(|edge| edge.taken_back);
            table.row([
                format!("{sign}{}", name.unwrap_or(agent.profile_id.as_str())).as_str(),
                &standing(agent.status, is_taken_back, screen),
                &agent.rounds.to_string(),
                &agent.calls.to_string(),
                edge.map_or("", |edge| edge.task_id.as_str()),
                edge.map_or("", |edge| edge.title.as_str()),
                agent.invocation_id.as_str(),
            ]);
        }
    }
    Some(table)
}

/// The task by which an agent came to the run.
fn edge_to<'t>(timeline: &'t TimelineProjection, id: &InvocationId) -> Option<&'t DelegationEdge> {
    let mut edges = timeline.delegation_edges.iter();
    edges.find(|edge| edge.target_invocation_id == *id)
}

/// What agents of a run are called: by profile; those that work on tasks by the name of their folder, which tells several of
/// one profile apart.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<InvocationId, Name>);

#[derive(Debug)]
struct Name {
    text: String,
    /// Of one that works on a task.
    has_task: bool,
}

impl Names {
    /// Who did it.
    pub(super) fn of(&self, event: &RunEvent) -> &str {
        let scope = event.scope.as_ref();
        let name = scope.and_then(|scope| self.called(&scope.invocation_id));
        name.unwrap_or_default()
    }

    pub(super) fn called(&self, id: &InvocationId) -> Option<&str> {
        self.0.get(id).map(|name| name.text.as_str())
    }

    /// The same only of those that work on tasks.
    pub(super) fn at_task(&self, id: &InvocationId) -> Option<&str> {
        let name = self.0.get(id).filter(|name| name.has_task);
        name.map(|name| name.text.as_str())
    }

    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Whom an event brings into the run.
    pub(super) fn hear(&mut self, event: &RunEvent) {
        match &event.kind {
            RunEventKind::AgentInvocationCreated(created) => {
                let name = Name {
                    text: created.profile_id.to_string(),
                    has_task: created.kind == "subagent",
                };
                // Whoever is known already may be known by more than the profile.
                let id = created.invocation_id.clone();
                self.0.entry(id).or_insert(name);
            }
            RunEventKind::AgentDelegateStarted(given) => {
                let related = event.scope.as_ref();
                let related = related.and_then(|scope| scope.related_invocation_ids.first());
                let key = given.extra.get("workspaceKey").and_then(Json::as_str);
                let name = related.and_then(|id| self.0.get_mut(id));
                if let (Some(name), Some(key)) = (name, key) {
                    key.clone_into(&mut name.text);
                }
            }
            _ => {}
        }
    }
}

pub(super) fn names(timeline: &TimelineProjection) -> Names {
    let agents = timeline.invocations.iter().map(|agent| {
        let has_task = agent.kind == "subagent";
        let edge = edge_to(timeline, &agent.invocation_id);
        let text = match edge.filter(|_| has_task) {
            Some(edge) => edge.workspace_key.clone(),
            None => agent.profile_id.to_string(),
        };
        (agent.invocation_id.clone(), Name { text, has_task })
    });
    Names(agents.collect())
}

/// The same of a run of which only its events are kept.
pub(super) fn named_in(events: &[RunEvent]) -> Names {
    let mut names = Names::default();
    events.iter().for_each(|event| names.hear(event));
    names
}

fn standing(word: &str, is_taken_back: bool, screen: &Screen) -> String {
    let word = status(word, screen);
    match is_taken_back {
        true => screen.pick(format!("{word}, taken back"), format!("{word}，已撤回")),
        false => word,
    }
}

pub(super) fn status(status: &str, screen: &Screen) -> String {
    let chinese = match status {
        "created" | "queued" => "等待中",
        "running" => "工作中",
        "completed" => "完成",
        "failed" => "失败",
        "cancelled" => "已取消",
        "transferred" => "已移交",
        other => other,
    };
    screen.pick(status, chinese).to_owned()
}

pub(super) async fn task(
    reader: &RunReader,
    run: &RunId,
    task: &TaskId,
    screen: &Screen,
) -> Result<(), Failure> {
    let detail = reader.task_detail(run, task).await?;
    if screen.json {
        return screen.document(&detail);
    }
    let mut table = Table::plain().wrapped();
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    let is_taken_back = detail["task"]["takenBack"] == true;
    let word = detail["task"]["status"].as_str().unwrap_or_default();
    let status = Json::from(standing(word, is_taken_back, screen));
    let why = detail["task"]["error"]["message"].as_str();
    let why = Json::from(in_words(why.unwrap_or_default(), screen.lang));
    for (english, chinese, value) in [
        ("task", "任务", &detail["task"]["taskId"]),
        ("agent", "智能体", &detail["task"]["targetProfileId"]),
        ("status", "状态", &status),
        ("about", "内容", &detail["title"]),
        ("rounds", "轮数", &detail["rounds"]),
        ("calls", "调用", &detail["calls"]),
        ("tokens", "词元", &detail["tokens"]),
        ("failure", "原因", &why),
        ("summary", "摘要", &detail["result"]["summary"]),
    ] {
        let value = text(value);
        if !value.is_empty() {
            table.told([screen.pick(english, chinese), &value]);
        }
    }
    for file in detail["files"].as_array().into_iter().flatten() {
        table.told([
            screen.pick("file", "文件"),
            file.as_str().unwrap_or_default(),
        ]);
    }
    screen.table(&table)
}
