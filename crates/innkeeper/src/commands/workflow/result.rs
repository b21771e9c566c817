//! What a run gives, on standard output: as it comes, and at its end.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use innkeeper_engine::stream::Chunk;
use innkeeper_engine::{ExecutionOutcome, ExecutionStatus};
use serde_json::{Value as Json, json};

use super::Ended;
use super::watch::Watch;
use crate::failure::{Failure, WorkflowFault};
use crate::models::Used;
use crate::output::Screen;

/// Prints outputs that stream while the run goes on.
pub(super) struct Printer {
    /// The workflow has one output: no name is needed.
    is_only: bool,
    streamed: HashSet<String>,
    /// Lines that are not yet whole.
    open: HashMap<String, String>,
    /// Of a single output that is written as it comes: whether a line is open.
    is_line_open: bool,
}

impl Printer {
    pub(super) fn new(outputs: usize) -> Self {
        Self {
            is_only: outputs == 1,
            streamed: HashSet::new(),
            open: HashMap::new(),
            is_line_open: false,
        }
    }

    /// The line that grows, for whoever draws.
    pub(super) fn tail(&self) -> &str {
        self.open.values().next().map_or("", String::as_str)
    }

    pub(super) fn chunk(
        &mut self,
        key: &str,
        chunk: &Chunk,
        watch: Option<&mut Watch>,
        screen: &Screen,
    ) -> Result<(), Failure> {
        if !chunk.is_content() {
            return Ok(());
        }
        self.streamed.insert(key.to_owned());
        let text = match chunk.content.as_json() {
            Json::String(text) => text.clone(),
            other => format!("{other}\n"),
        };
        let watch = watch.filter(|watch| watch.is_drawn() && screen.is_terminal());
        // Bare text may be written letter by letter where nobody draws over the same screen.
        if self.is_only && watch.is_none() {
            if let Some(last) = text.chars().last() {
                self.is_line_open = last != '\n';
            }
            return screen.piece(&text);
        }
        let open = self.open.entry(key.to_owned()).or_default();
        open.push_str(&text);
        let Some(end) = open.rfind('\n') else {
            return Ok(());
        };
        let rest = open.split_off(end + 1);
        let whole = std::mem::replace(open, rest);
        let whole = self.named(key, &whole);
        match watch {
            Some(watch) => watch.above(|| screen.text(&whole)),
            None => screen.text(&whole),
        }
    }

    fn named(&self, key: &str, text: &str) -> String {
        if self.is_only {
            return text.to_owned();
        }
        text.lines()
            .map(|line| format!("{key}: {line}\n"))
            .collect()
    }

    /// Ends the lines that are open.
    pub(super) fn finish(&mut self, screen: &Screen) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_line_open) {
            screen.piece("\n")?;
        }
        for (key, rest) in std::mem::take(&mut self.open) {
            if !rest.is_empty() {
                screen.text(&self.named(&key, &rest))?;
            }
        }
        Ok(())
    }

    /// What was not printed as it came.
    pub(super) fn rest(&self, outcome: &ExecutionOutcome, screen: &Screen) -> Result<(), Failure> {
        let outputs = outcome.outputs.iter();
        let outputs = outputs.filter(|(key, _)| !self.streamed.contains(&**key));
        for (key, value) in outputs {
            match (self.is_only, value.as_json()) {
                (true, Json::Null) => {}
                (true, Json::String(text)) => screen.text(text)?,
                (true, other) => screen.indented(other)?,
                (false, other) => screen.text(&labelled(key, other))?,
            }
        }
        Ok(())
    }
}

/// `key: value`; what has several lines stands below its name.
fn labelled(key: &str, value: &Json) -> String {
    let text = match value {
        Json::String(text) => text.trim_end_matches('\n').to_owned(),
        Json::Object(_) | Json::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => other.to_string(),
    };
    match text.contains('\n') {
        false => format!("{key}: {text}"),
        true => {
            let lines = text.lines().map(|line| format!("  {line}\n"));
            format!("{key}:\n{}", lines.collect::<String>())
        }
    }
}

/// The whole end as one document.
pub(super) fn document(outcome: &ExecutionOutcome, used: &Used, took: Duration) -> Json {
    let failures = outcome.failures.iter().map(|failure| {
        json!({
            "node": failure.node,
            "message": failure.error.message,
            "code": failure.error.code,
        })
    });
    json!({
        "status": outcome.status,
        "outputs": outcome.outputs_json(),
        "error": outcome.error.as_ref().map(|error| json!({
            "message": error.message,
            "code": error.code,
        })),
        "failures": failures.collect::<Vec<_>>(),
        "failed": outcome.failed,
        "usage": used.json(),
        "promptId": outcome.prompt_id,
        "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// How the command ends; where nobody has been told yet what went wrong, that is the failure.
pub(super) fn ended(outcome: &ExecutionOutcome, is_told: bool) -> Result<Ended, Failure> {
    match outcome.status {
        ExecutionStatus::Complete => Ok(Ended::Done),
        ExecutionStatus::Interrupted => Ok(Ended::Interrupted),
        _ if is_told => Ok(Ended::Failed),
        _ => {
            let error = outcome.error.as_ref();
            let message = error.map(|error| error.message.clone());
            let code = error.map(|error| error.code.clone());
            Err(WorkflowFault::Failed {
                message: message.unwrap_or_default(),
                code: code.unwrap_or_default(),
                more: outcome.failed.saturating_sub(1),
            }
            .into())
        }
    }
}
