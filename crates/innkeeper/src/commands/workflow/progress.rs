//! How far a run is, node by node, as its events tell. Plain data: `watch.rs` draws it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_engine::{EventBody, ExecutionEvent, IterationStatus, NodeRef, Skip, Trace};

use crate::lang::Lang;
use crate::limits::{MAX_WATCHED_CHARS, MAX_WATCHED_NODES};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Running,
    /// It failed, and is to be tried again.
    Waiting(String),
    Done,
    Cached,
    Skipped(Skip),
    Bypassed,
    Failed(String),
}

impl State {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Running | Self::Waiting(_))
    }

    pub(super) fn word(&self, lang: Lang) -> &'static str {
        match self {
            Self::Running => lang.pick("running", "运行中"),
            Self::Waiting(_) => lang.pick("waiting", "等待重试"),
            Self::Done => lang.pick("done", "完成"),
            Self::Cached => lang.pick("cached", "缓存"),
            Self::Skipped(_) => lang.pick("skipped", "跳过"),
            Self::Bypassed => lang.pick("bypassed", "绕过"),
            Self::Failed(_) => lang.pick("failed", "失败"),
        }
    }
}

/// One node.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) began: Instant,
    /// Of the last time it ran.
    pub(super) took: Option<Duration>,
    /// Of how much, how much is done.
    pub(super) progress: Option<(f64, f64)>,
    pub(super) preview: String,
    /// Of a loop: how many have begun.
    pub(super) iterations: u64,
    /// Of a node inside a loop: how often it ran.
    pub(super) times: u64,
    pub(super) chunks: u64,
}

/// How many nodes ended how, each as often as it ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) done: u64,
    pub(super) cached: u64,
    pub(super) skipped: u64,
    pub(super) bypassed: u64,
    pub(super) failed: u64,
}

impl Totals {
    pub(super) fn ended(&self) -> u64 {
        self.done + self.cached + self.skipped + self.bypassed + self.failed
    }

    pub(super) fn add(&mut self, state: &State) {
        match state {
            State::Running | State::Waiting(_) => {}
            State::Done => self.done += 1,
            State::Cached => self.cached += 1,
            State::Skipped(_) => self.skipped += 1,
            State::Bypassed => self.bypassed += 1,
            State::Failed(_) => self.failed += 1,
        }
    }

    /// `12 done, 3 cached, 1 failed`
    pub(super) fn words(&self, lang: Lang) -> String {
        let parts = [
            (self.done, State::Done.word(lang)),
            (self.cached, State::Cached.word(lang)),
            (self.skipped, lang.pick("skipped", "跳过")),
            (self.bypassed, State::Bypassed.word(lang)),
            (self.failed, lang.pick("failed", "失败")),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        parts.join(lang.pick(", ", "，"))
    }
}

pub(super) struct Progress {
    rows: Vec<Row>,
    index: HashMap<Arc<str>, usize>,
    pub(super) totals: Totals,
    /// Nodes that have not begun, as far as the plan tells; those in loops count once.
    pub(super) planned: usize,
    pub(super) lost: u64,
    lang: Lang,
}

impl Progress {
    pub(super) fn new(planned: usize, lang: Lang) -> Self {
        Self {
            lang,
            rows: Vec::new(),
            index: HashMap::new(),
            totals: Totals::default(),
            planned,
            lost: 0,
        }
    }

    /// In the order in which they began.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn row(&self, node: &NodeRef) -> Option<&Row> {
        self.rows.get(*self.index.get(&node.info.id)?)
    }

    pub(super) fn hear(&mut self, event: &ExecutionEvent, now: Instant) {
        let Some(node) = event.body.node() else {
            return;
        };
        let end = match &event.body {
            EventBody::NodeComplete { cached: true, .. } => Some(State::Cached),
            EventBody::NodeComplete { .. } => Some(State::Done),
            EventBody::NodeSkipped { why, .. } => Some(State::Skipped(*why)),
            EventBody::NodeBypassed { .. } => Some(State::Bypassed),
            EventBody::NodeError { error, retry, .. } => Some(match retry {
                true => State::Waiting(error.message.clone()),
                false => State::Failed(error.message.clone()),
            }),
            _ => None,
        };
        if let Some(end) = &end {
            self.totals.add(end);
        }
        let lang = self.lang;
        let Some(row) = self.entry(node, now) else {
            return;
        };
        if let Some(end) = end {
            row.took = Some(now.saturating_duration_since(row.began));
            row.state = end;
            return;
        }
        match &event.body {
            EventBody::NodeExecuting(_) => {
                row.state = State::Running;
                row.began = now;
                row.took = None;
                row.times += 1;
                row.progress = None;
                row.preview.clear();
                row.chunks = 0;
            }
            EventBody::NodeProgress { value, max, .. } => row.progress = Some((*value, *max)),
            EventBody::NodePreview { text, .. } => row.preview = beginning(text),
            EventBody::NodeYield { chunk, .. } => row.chunks += u64::from(chunk.is_some()),
            EventBody::LoopIteration {
                iteration,
                status: IterationStatus::Started,
                ..
            } => row.iterations = *iteration,
            EventBody::Trace { trace, .. } => row.preview = beginning(&trace_words(trace, lang)),
            _ => {}
        }
    }

    fn entry(&mut self, node: &NodeRef, now: Instant) -> Option<&mut Row> {
        if let Some(index) = self.index.get(&node.info.id) {
            return self.rows.get_mut(*index);
        }
        if self.rows.len() >= MAX_WATCHED_NODES {
            return None;
        }
        self.index.insert(node.info.id.clone(), self.rows.len());
        self.rows.push(Row {
            name: short_name(node),
            state: State::Running,
            began: now,
            took: None,
            progress: None,
            preview: String::new(),
            iterations: 0,
            times: 0,
            chunks: 0,
        });
        self.rows.last_mut()
    }
}

/// `Greeting (TextMerge_1)`, or the id alone.
pub(super) fn name_of(node: &NodeRef) -> String {
    let id = &node.info.id;
    match node.info.display_name.as_deref() {
        Some(name) if !name.is_empty() && name != &**id => format!("{name} ({id})"),
        _ => id.to_string(),
    }
}

/// What it is called, or else the end of its path.
pub(super) fn short_name(node: &NodeRef) -> String {
    let name = node.info.display_name.as_deref();
    let name = name.filter(|name| !name.is_empty());
    let end = || node.info.id.rsplit('/').next().unwrap_or_default();
    name.unwrap_or_else(end).to_owned()
}

pub(super) fn skip_words(why: Skip, lang: Lang) -> &'static str {
    match why {
        Skip::BranchNotTaken => lang.pick("its branch was not taken", "未走此分支"),
        Skip::UpstreamFailed => lang.pick("what it needs failed", "所依赖的节点失败"),
    }
}

/// A step of an agent in words.
pub(super) fn trace_words(trace: &Trace, lang: Lang) -> String {
    match trace {
        Trace::Thinking { model } if model.is_empty() => lang.pick("thinking…", "思考中…").into(),
        Trace::Thinking { model } => lang.pick(
            format!("thinking… ({model})"),
            format!("思考中…（{model}）"),
        ),
        Trace::Replied { text } => lang.pick(format!("replied: {text}"), format!("回复：{text}")),
        Trace::ToolSelected { tool, arguments } => lang.pick(
            format!("chose {tool} {arguments}"),
            format!("选择工具 {tool} {arguments}"),
        ),
        Trace::ToolRunning { tool, .. } => {
            lang.pick(format!("running {tool}…"), format!("正在运行 {tool}…"))
        }
        Trace::ToolOutput { tool, piece, .. } => {
            let piece = piece
                .as_str()
                .map_or_else(|| piece.to_string(), str::to_owned);
            format!("{tool}: {piece}")
        }
        Trace::ToolFinished {
            tool,
            success,
            summary,
            ..
        } => match success {
            true => lang.pick(format!("{tool}: {summary}"), format!("{tool}：{summary}")),
            false => lang.pick(
                format!("{tool} failed: {summary}"),
                format!("{tool} 失败：{summary}"),
            ),
        },
    }
}

/// On one line, and not for ever.
pub(super) fn beginning(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut out = String::new();
    let mut chars = 0;
    for word in words.by_ref() {
        if !out.is_empty() {
            out.push(' ');
        }
        for c in word.chars() {
            if chars == MAX_WATCHED_CHARS {
                out.push('…');
                return out;
            }
            chars += 1;
            out.push(c);
        }
    }
    out
}
