//! The agents of a run as a tree, and one task with what came of it.

use std::collections::BTreeMap;

use innkeeper_agent::instance::RunReader;
use innkeeper_agent::run::TimelineProjection;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind, RunId, TaskId};
use serde_json::Value as Json;

use crate::failure::Failure;
use crate::output::Screen;
use crate::table::Table;

/// Who works for whom; nothing where there is only one agent.
pub(super) fn tree(timeline: &TimelineProjection, screen: &Screen) -> Option<Table> {
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
        ["智能体", "状态", "轮", "调用", "任务", "内容", "INVOCATION"],
    );
    let mut table = Table::new(&headings);
    let foreground = timeline.foreground_invocation_ids.iter();
    for main in foreground {
        let own = |id: &&innkeeper_agent::run::InvocationView| id.invocation_id == *main;
        let below = |id: &&innkeeper_agent::run::InvocationView| {
            id.kind == "subagent" && id.parent_invocation_id.as_ref() == Some(main)
        };
        let all = timeline.invocations.iter();
        for agent in all.clone().filter(own).chain(all.filter(below)) {
            let mut edges = timeline.delegation_edges.iter();
            let edge = edges.find(|edge| edge.target_invocation_id == agent.invocation_id);
            let sign = match agent.kind {
                "subagent" => "  └ ",
                "handoff" => "→ ",
                _ => "",
            };
            let name = format!("{sign}{}", agent.profile_id);
            table.row([
                name.as_str(),
                &status(agent.status, screen),
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

/// What agents of a run are called in its tables; nothing where there is only one.
pub(super) struct Names(BTreeMap<InvocationId, String>);

impl Names {
    /// Who did it.
    pub(super) fn of(&self, event: &RunEvent) -> &str {
        let scope = event.scope.as_ref();
        let name = scope.and_then(|scope| self.0.get(&scope.invocation_id));
        name.map_or("", String::as_str)
    }

    /// All of a row, or all but its first column where that would always say the same.
    pub(super) fn without_agent<'r, T>(&self, row: &'r [T]) -> &'r [T] {
        match self.0.len() {
            0 | 1 => row.get(1..).unwrap_or_default(),
            _ => row,
        }
    }
}

/// By profile; those that work on tasks by the name of their folder, which tells several of one profile apart.
pub(super) fn names(timeline: &TimelineProjection) -> Names {
    let agents = timeline.invocations.iter();
    Names(
        agents
            .map(|agent| {
                let mut edges = timeline.delegation_edges.iter();
                let edge = edges.find(|edge| edge.target_invocation_id == agent.invocation_id);
                let name = match edge.filter(|_| agent.kind == "subagent") {
                    Some(edge) => edge.workspace_key.clone(),
                    None => agent.profile_id.to_string(),
                };
                (agent.invocation_id.clone(), name)
            })
            .collect(),
    )
}

/// The same of a run of which only its events are kept.
pub(super) fn named_in(events: &[RunEvent]) -> Names {
    let created = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::AgentInvocationCreated(created) => Some(created),
        _ => None,
    });
    Names(
        created
            .map(|agent| (agent.invocation_id.clone(), agent.profile_id.to_string()))
            .collect(),
    )
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
    for (english, chinese, value) in [
        ("task", "任务", &detail["task"]["taskId"]),
        ("agent", "智能体", &detail["task"]["targetProfileId"]),
        ("status", "状态", &detail["task"]["status"]),
        ("about", "内容", &detail["title"]),
        ("rounds", "轮数", &detail["rounds"]),
        ("calls", "调用", &detail["calls"]),
        ("tokens", "词元", &detail["tokens"]),
        ("failure", "原因", &detail["task"]["error"]["message"]),
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
