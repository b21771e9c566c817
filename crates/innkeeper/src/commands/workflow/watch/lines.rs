//! A run as lines of text, one for each thing that happened: for logs, and wherever lines cannot be drawn over.

use std::sync::Arc;

use innkeeper_engine::{EventBody, ExecutionEvent, IterationStatus, NodeRef, Trace};

use super::board::{duration, share};
use crate::commands::workflow::progress::{
    Progress, State, beginning, name_of, skip_words, trace_words,
};
use crate::lang::Lang;
use crate::output::printable;

/// A node that begins and ends at once is one line, so its beginning waits for what comes next.
#[derive(Default)]
pub(super) struct Lines {
    begun: Option<(Arc<str>, String)>,
}

impl Lines {
    pub(super) fn of(
        &mut self,
        event: &ExecutionEvent,
        progress: &Progress,
        lang: Lang,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(node) = event.body.node() else {
            return lines;
        };
        let own = self
            .begun
            .as_ref()
            .is_some_and(|(id, _)| *id == node.info.id);
        let is_end = progress
            .row(node)
            .is_some_and(|row| !row.state.is_under_way());
        match self.begun.take() {
            Some(_) if own && is_end => {}
            Some((_, name)) => lines.push(line(State::Running.word(lang), &name, "")),
            None => {}
        }
        if let EventBody::NodeExecuting(node) = &event.body {
            self.begun = Some((node.info.id.clone(), name_in_loop(node)));
            return lines;
        }
        lines.extend(said(event, node, progress, lang));
        lines
    }

    /// What still waited.
    pub(super) fn rest(&mut self, lang: Lang) -> Option<String> {
        let (_, name) = self.begun.take()?;
        Some(line(State::Running.word(lang), &name, ""))
    }
}

fn said(event: &ExecutionEvent, node: &NodeRef, progress: &Progress, lang: Lang) -> Option<String> {
    let name = name_in_loop(node);
    let row = progress.row(node);
    let took = row
        .and_then(|row| row.took)
        .map(duration)
        .unwrap_or_default();
    let (word, about) = match &event.body {
        EventBody::NodeComplete { cached: true, .. } => (State::Cached.word(lang), String::new()),
        EventBody::NodeComplete { .. } => (State::Done.word(lang), took),
        EventBody::NodeBypassed { .. } => (State::Bypassed.word(lang), String::new()),
        EventBody::NodeSkipped { why, .. } => {
            let word = State::Skipped(*why).word(lang);
            (word, skip_words(*why, lang).to_owned())
        }
        EventBody::NodeError { error, retry, .. } => {
            let word = match retry {
                true => lang.pick("retry", "重试"),
                false => lang.pick("failed", "失败"),
            };
            (word, format!("{} [{}]", error.message, error.code))
        }
        EventBody::NodeProgress { value, max, .. } => {
            let share = share(*value, *max).map(|share| format!(" ({:.0}%)", share * 100.0));
            let said = format!("{value}/{max}{}", share.unwrap_or_default());
            (lang.pick("progress", "进度"), said)
        }
        EventBody::NodePreview { text, .. } => (lang.pick("preview", "预览"), beginning(text)),
        EventBody::LoopIteration {
            iteration, status, ..
        } => {
            let iteration = lang.pick(
                format!("iteration {iteration}"),
                format!("第 {iteration} 次"),
            );
            match status {
                IterationStatus::Started => (lang.pick("loop", "循环"), iteration),
                IterationStatus::Complete => return None,
                IterationStatus::Error { message } => {
                    (lang.pick("loop", "循环"), format!("{iteration}: {message}"))
                }
            }
        }
        EventBody::Trace {
            trace: Trace::ToolOutput { .. },
            ..
        } => return None,
        EventBody::Trace { trace, .. } => (
            lang.pick("agent", "智能体"),
            beginning(&trace_words(trace, lang)),
        ),
        _ => return None,
    };
    Some(line(word, &name, &about))
}

fn line(word: &str, name: &str, about: &str) -> String {
    let blanks = 9usize.saturating_sub(unicode_width::UnicodeWidthStr::width(word));
    let about = match about.is_empty() {
        true => String::new(),
        false => format!("  {about}"),
    };
    printable(&format!("{word}{} {name}{about}", " ".repeat(blanks))).replace(['\n', '\t'], " ")
}

/// With its iteration: `Ask #3`.
fn name_in_loop(node: &NodeRef) -> String {
    match node.iteration {
        Some(iteration) => format!("{} #{iteration}", name_of(node)),
        None => name_of(node),
    }
}
