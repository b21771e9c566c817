//! Turns and calls of a run, as its events tell them, with a mark at those that were taken back.

use innkeeper_protocol::event::{RunEvent, RunEventKind, ToolCallEnded};
use serde_json::{Value as Json, json};

use super::agents::Names;
use super::undone::Undone;
use super::words::{complaint, duration};
use crate::output::Screen;
use crate::table::Table;

pub(super) struct Happened<'e> {
    pub(super) events: &'e [RunEvent],
    pub(super) undone: &'e Undone,
}

impl Happened<'_> {
    pub(super) fn turns(&self) -> Vec<Json> {
        let turns = self.events.iter().filter_map(|event| match &event.kind {
            RunEventKind::ModelCompleted(turn) => Some(json!({
                "round": turn.round,
                "invocationId": turn.invocation_id,
                "calls": turn.tool_call_count,
                "words": turn.text_words,
                "reasoningWords": turn.reasoning_words,
                "narration": turn.narration,
                "takenBack": self.undone.has(event),
            })),
            _ => None,
        });
        turns.collect()
    }

    pub(super) fn calls(&self) -> Vec<Json> {
        let calls = self.events.iter().filter_map(|event| {
            let mut call = json!(ended(event)?);
            call["takenBack"] = self.undone.has(event).into();
            Some(call)
        });
        calls.collect()
    }

    pub(super) fn turn_table(&self, names: &Names, screen: &Screen) -> Option<Table> {
        let turns = self.events.iter().filter_map(|event| match &event.kind {
            RunEventKind::ModelCompleted(turn) => Some((event, turn)),
            _ => None,
        });
        let rows = turns.map(|(event, turn)| {
            let cells = vec![
                turn.round.to_string(),
                turn.tool_call_count.to_string(),
                turn.text_words.to_string(),
                turn.narration.clone().unwrap_or_default(),
            ];
            (event, cells)
        });
        let headings = screen.pick(
            ["ROUND", "CALLS", "WORDS", "SAID"],
            ["轮", "调用", "词数", "说了"],
        );
        self.table(&headings, rows.collect(), names, screen)
    }

    pub(super) fn call_table(&self, names: &Names, screen: &Screen) -> Option<Table> {
        let calls = self.events.iter();
        let calls = calls.filter_map(|event| Some((event, ended(event)?)));
        let rows = calls.map(|(event, call)| {
            let outcome = match &call.error_code {
                Some(code) => format!("{} [{code}]", complaint(call, screen.lang)),
                None => screen.pick("ok", "成功").to_owned(),
            };
            let cells = vec![
                call.round.to_string(),
                call.name.clone(),
                duration(call.elapsed_ms),
                outcome,
            ];
            (event, cells)
        });
        let headings = screen.pick(
            ["ROUND", "TOOL", "TOOK", "OUTCOME"],
            ["轮", "工具", "用时", "结果"],
        );
        self.table(&headings, rows.collect(), names, screen)
    }

    /// A column for what would be the same in every row is left out: the mark where nothing was taken back, the agent where
    /// there is only one.
    fn table(
        &self,
        headings: &[&str],
        rows: Vec<(&RunEvent, Vec<String>)>,
        names: &Names,
        screen: &Screen,
    ) -> Option<Table> {
        if rows.is_empty() {
            return None;
        }
        let has_marks = rows.iter().any(|(event, _)| self.undone.has(event));
        let first = |mark: &'static str, agent: &str| {
            let mark = has_marks.then(|| mark.to_owned());
            let agent = names.are_several().then(|| agent.to_owned());
            mark.into_iter().chain(agent)
        };
        let heads: Vec<String> = first("", screen.pick("AGENT", "智能体"))
            .chain(headings.iter().map(|heading| (*heading).to_owned()))
            .collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = Table::new(&heads);
        for (event, cells) in rows {
            let mark = match self.undone.has(event) {
                true => screen.pick("taken back", "已撤回"),
                false => "",
            };
            let row: Vec<String> = first(mark, names.of(event)).chain(cells).collect();
            table.row(row.iter().map(String::as_str));
        }
        Some(table)
    }
}

fn ended(event: &RunEvent) -> Option<&ToolCallEnded> {
    match &event.kind {
        RunEventKind::ToolCallCompleted(call) | RunEventKind::ToolCallFailed(call) => Some(call),
        _ => None,
    }
}
