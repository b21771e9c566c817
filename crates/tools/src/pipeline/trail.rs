//! How far a call came, for the audit log: every call and every refusal leaves one entry, also when the run is
//! dropped in the middle of it.

use std::sync::Arc;
use std::time::Instant;

use innkeeper_protocol::{BoundCall, ErrorCode, Outcome, Source, ToolCallRequest, ToolDefinition};
use innkeeper_store::{AuditDecision, AuditEntry, AuditOutcome, OpenCall, Store};
use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use crate::ToolError;
use crate::limits::{MAX_AUDIT_MESSAGE_CHARS, MAX_AUDIT_NAME_CHARS, MAX_AUDIT_TEXT_CHARS};
use crate::redact::{REDACTED, Redactor, cut_arguments, redact_arguments};
use crate::registry::Tool;
use crate::run::ToolRun;

pub(crate) struct Trail {
    store: Store,
    redactor: Arc<Redactor>,
    entry: Option<AuditEntry>,
    /// It was written down before it ran.
    open: Option<OpenCall>,
    /// Values of arguments that must not be read anywhere in the entry.
    hidden: Vec<String>,
    /// Where arguments came from that were given by reference.
    uris: Vec<(String, String)>,
    /// Said of a call that has nothing else to say.
    note: Option<&'static str>,
    /// How often it was looked at whether it may be made.
    looks: u32,
    since: Instant,
}

impl Trail {
    pub(crate) fn begin(run: &ToolRun, request: &ToolCallRequest<'_>, call_id: &str) -> Self {
        let caller = &run.caller;
        let at: Timestamp = run.shared.clock.now();
        let redactor = run.shared.redactor.load_full();
        let name = cut(&redactor.redact_text(&request.tool), MAX_AUDIT_NAME_CHARS);
        Self {
            entry: Some(AuditEntry {
                at,
                user: caller.user.to_string(),
                actor: caller.actor.to_string(),
                project: caller.project.to_string(),
                run: caller.run.to_string(),
                call_id: call_id.to_owned(),
                request_id: request.request_id.as_deref().map(str::to_owned),
                tool: name,
                source: String::new(),
                arguments: Json::Object(Map::new()),
                outcome: AuditOutcome::Cancelled,
                error_code: None,
                message: None,
                duration_us: 0,
                decision: AuditDecision::None,
                rule: None,
                approved_by: None,
                attempts: 0,
                result_chars: 0,
            }),
            store: run.shared.store.clone(),
            open: None,
            redactor,
            hidden: Vec::new(),
            uris: Vec::new(),
            note: None,
            looks: 0,
            since: Instant::now(),
        }
    }

    pub(crate) fn found(&mut self, tool: &Tool) {
        if let Some(entry) = &mut self.entry {
            entry.tool = tool.definition().id.to_string();
            entry.source = tool.definition().source.clone();
        }
    }

    pub(super) fn fetched(&mut self, bound: &BoundCall) {
        let uris = bound.uris.iter();
        self.uris = uris
            .map(|(name, argument)| (format!("uri_{name}"), argument.uri.clone()))
            .collect();
    }

    /// Keeps them without anything that must not be read later.
    pub(crate) fn arguments_are(&mut self, tool: &Tool, arguments: &Map<String, Json>) {
        if tool.is_plain() {
            self.put(cut_arguments(arguments));
        } else {
            self.keep(tool.definition(), arguments);
        }
    }

    /// The same for a call that was not bound: as it was written, for whatever tool it was meant.
    pub(crate) fn written_are(&mut self, request: &ToolCallRequest<'_>, tool: Option<&Tool>) {
        let mut arguments = request.params();
        for argument in &request.arguments {
            if argument.source == Source::Uri {
                arguments.insert(format!("uri_{}", argument.name), argument.to_json());
            }
        }
        match tool {
            Some(tool) => self.keep(tool.definition(), &arguments),
            None => {
                let nothing = Json::Object(Map::new());
                let unknown = ToolDefinition::new(request.tool.as_ref(), "", nothing);
                self.keep(&unknown, &arguments);
            }
        }
    }

    fn keep(&mut self, tool: &ToolDefinition, arguments: &Map<String, Json>) {
        let kept = redact_arguments(tool, arguments);
        for (name, value) in arguments {
            if let Some(shown) = kept.get(name) {
                hidden_in(value, shown, &mut self.hidden);
            }
        }
        self.put(kept);
    }

    fn put(&mut self, mut kept: Map<String, Json>) {
        for (name, uri) in &self.uris {
            kept.insert(name.clone(), cut(uri, MAX_AUDIT_TEXT_CHARS).into());
        }
        let mut kept = Json::Object(kept);
        self.redactor.redact_json(&mut kept);
        if let Some(entry) = &mut self.entry {
            entry.arguments = kept;
        }
    }

    pub(super) fn call_id(&self) -> &str {
        self.entry
            .as_ref()
            .map_or("", |entry| entry.call_id.as_str())
    }

    pub(super) fn arguments(&self) -> &Json {
        static NOTHING: Json = Json::Null;
        self.entry
            .as_ref()
            .map_or(&NOTHING, |entry| &entry.arguments)
    }

    /// The which look this is, from 0: it tells the questions of one call apart.
    pub(super) fn next_look(&mut self) -> u32 {
        let look = self.looks;
        self.looks += 1;
        look
    }

    pub(super) fn looks(&self) -> u32 {
        self.looks
    }

    pub(super) fn look_again_from(&mut self, look: u32) {
        self.looks = look;
    }

    /// Of several decisions the strictest is kept.
    pub(super) fn decided(&mut self, decision: AuditDecision, rule: &str) {
        let rank = |decision| match decision {
            AuditDecision::None => 0,
            AuditDecision::Allow => 1,
            AuditDecision::Ask => 2,
            AuditDecision::Deny => 3,
        };
        if let Some(entry) = &mut self.entry
            && rank(decision) >= rank(entry.decision)
        {
            entry.decision = decision;
            entry.rule = Some(rule.to_owned());
        }
    }

    pub(super) fn approved(&mut self, by: &str) {
        if let Some(entry) = &mut self.entry {
            entry.approved_by = Some(by.to_owned());
        }
    }

    pub(crate) fn tried(&mut self, attempts: u32) {
        if let Some(entry) = &mut self.entry {
            entry.attempts = attempts;
        }
    }

    /// Nothing was started.
    pub(super) fn answered_from_kept(&mut self) {
        self.note = Some("answered with a result that was kept; nothing was started");
    }

    pub(crate) fn result_chars(&mut self, chars: u64) {
        if let Some(entry) = &mut self.entry {
            entry.result_chars = chars;
        }
    }

    /// A copy that goes on with the task, while this one says that it was started.
    pub(crate) fn fork(&mut self) -> Self {
        Self {
            open: self.open.take(),
            store: self.store.clone(),
            redactor: self.redactor.clone(),
            entry: self.entry.clone(),
            hidden: self.hidden.clone(),
            uris: self.uris.clone(),
            note: self.note,
            looks: self.looks,
            since: self.since,
        }
    }

    /// Writes the entry. `Err` where the log cannot be written: then nothing may run any more.
    pub(crate) async fn close(mut self, outcome: &Outcome) -> Result<(), String> {
        let Some(entry) = self.take(Some(outcome)) else {
            return Ok(());
        };
        let audit = self.store.audit();
        let written = match self.open.take() {
            Some(open) => audit.close(open, entry).await,
            None => audit.append(entry).await,
        };
        written.map_err(|error| error.to_string())
    }

    /// Writes down, to the disk, that the call is about to be made: should the process end in the middle of it, it
    /// is not forgotten, and a log that cannot be written keeps it from being made.
    pub(super) async fn begin_effect(&mut self) -> Result<(), Outcome> {
        let Some(entry) = self.entry.clone() else {
            return Ok(());
        };
        match self.store.audit().begin(entry).await {
            Ok(open) => {
                self.open = Some(open);
                Ok(())
            }
            Err(error) => Err(unwritable(&error.to_string())),
        }
    }

    fn take(&mut self, outcome: Option<&Outcome>) -> Option<AuditEntry> {
        let mut entry = self.entry.take()?;
        entry.duration_us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(outcome) = outcome {
            let (kind, code, message) = described(outcome);
            let faults = faults(outcome);
            let message = faults.as_deref().or(message).or(self.note);
            entry.outcome = kind;
            entry.error_code = code.map(|code| code.as_str().to_owned());
            entry.message = message.map(|text| {
                let mut text = self.redactor.redact_text(text).into_owned();
                for value in &self.hidden {
                    text = text.replace(value, REDACTED);
                }
                cut(&text, MAX_AUDIT_MESSAGE_CHARS)
            });
        }
        Some(entry)
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if let Some(entry) = self.take(None) {
            let audit = self.store.audit();
            // Nobody is left who could be told that the log is full.
            let _ = match self.open.take() {
                Some(open) => audit.try_close(open, entry),
                None => audit.try_append(entry),
            };
        }
    }
}

/// Nothing runs that could not be written down.
pub(crate) fn unwritable(why: &str) -> Outcome {
    Outcome::from(
        ToolError::unavailable(format!(
            "the audit log cannot be written, so no tool may run ({why})"
        ))
        .because("audit.unavailable")
        .permanent(),
    )
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Collects the texts that stand in `value` and not in what is shown of it.
fn hidden_in(value: &Json, shown: &Json, hidden: &mut Vec<String>) {
    match (value, shown) {
        (Json::Object(fields), Json::Object(shown)) => {
            for (name, field) in fields {
                if let Some(shown) = shown.get(name) {
                    hidden_in(field, shown, hidden);
                }
            }
        }
        (Json::Array(items), Json::Array(shown)) => {
            for (item, shown) in items.iter().zip(shown) {
                hidden_in(item, shown, hidden);
            }
        }
        (value, Json::String(shown)) if shown == REDACTED => {
            let text = match value {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            if !text.is_empty() {
                hidden.push(text);
            }
        }
        _ => {}
    }
}

/// What is wrong with which parameter, without the values: one may be secret.
fn faults(outcome: &Outcome) -> Option<String> {
    let Outcome::Error(failure) = outcome else {
        return None;
    };
    if failure.problems.is_empty() {
        return None;
    }
    let each = failure
        .problems
        .iter()
        .map(|problem| format!("{} at {}", problem.code, problem.path));
    Some(each.collect::<Vec<_>>().join("; "))
}

fn described(outcome: &Outcome) -> (AuditOutcome, Option<ErrorCode>, Option<&str>) {
    match outcome {
        Outcome::Success { .. } | Outcome::Notice { .. } => (AuditOutcome::Success, None, None),
        Outcome::AsyncStarted { task_id } => (AuditOutcome::Started, None, Some(task_id)),
        Outcome::Error(failure) => {
            let kind = match failure.code {
                ErrorCode::ToolPolicyDenied | ErrorCode::ToolBudgetExhausted => {
                    AuditOutcome::Denied
                }
                ErrorCode::ToolSkipped => AuditOutcome::Skipped,
                _ => AuditOutcome::Error,
            };
            (kind, Some(failure.code), Some(&failure.message))
        }
        Outcome::Denied { reason } => (
            AuditOutcome::Denied,
            Some(ErrorCode::ToolApprovalDenied),
            Some(reason),
        ),
        Outcome::Cancelled { reason } => (
            AuditOutcome::Cancelled,
            Some(ErrorCode::ToolCancelled),
            Some(reason),
        ),
        Outcome::OutcomeUnknown { message } => (
            AuditOutcome::OutcomeUnknown,
            Some(ErrorCode::ToolOutcomeUnknown),
            Some(message),
        ),
    }
}
