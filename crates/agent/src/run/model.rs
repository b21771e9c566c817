//! Asking the model: requests, failures and pauses, and what a reply begins.

use std::sync::Arc;

use innkeeper_engine::port::PARTS_FIELD;
use innkeeper_protocol::event::{
    GuidanceApplied, InvocationId, ModelCallAttempt, ModelCallAttemptFailed,
    ModelCallRetryScheduled, ModelCompleted, ModelRequestCreated, ModelResponseStored,
    ProviderStateUpdated, RunEventKind, RunStatus, ToolCallRequested,
};
use innkeeper_protocol::{ErrorCode, Reply};
use innkeeper_tools::builtin::text::count;
use serde_json::{Map, Value as Json, json};

use super::apply::Out;
use super::guidance::preview;
use super::names::{arguments_path, response_path};
use super::plan::Plan;
use super::state::{Phase, RunFailure};
use super::{AgentRun, Draft, ModelTurn, Oversize, PlannedCall, Turn};
use crate::limits::{MAX_EVENT_MESSAGE_CHARS, MAX_NARRATION_CHARS};

impl AgentRun {
    /// `sent` is already what is asked.
    pub(super) fn model_asked(
        &mut self,
        guidance: usize,
        request: &Json,
        oversize: Option<&Oversize>,
        out: &mut Out,
    ) {
        self.spent.rounds += 1;
        self.turn = None;
        self.awaits.clear();
        self.set_back = None;
        let round = self.spent.rounds;
        if guidance > 0 {
            let applied: Vec<_> = self.guidance.drain(..guidance).collect();
            let texts: Vec<_> = applied.iter().map(|piece| piece.text.as_str()).collect();
            let counted: Vec<_> = texts.iter().map(|text| count(text)).collect();
            let client_ids = applied.iter().filter_map(|piece| piece.client_id.clone());
            let event = GuidanceApplied {
                guidance_ids: applied.iter().map(|piece| piece.id.clone()).collect(),
                client_guidance_ids: client_ids.collect(),
                invocation_id: InvocationId::root(),
                round,
                count: applied.len() as u64,
                chars: counted.iter().map(|counted| counted.chars as u64).sum(),
                words: counted.iter().map(|counted| counted.words as u64).sum(),
                preview: preview(&texts.join(" ")),
                message_index: self.sent.len().saturating_sub(1) as u64,
                request_message_count: self.sent.len() as u64,
                status: "applied".to_owned(),
                extra: Map::new(),
            };
            out.push(RunEventKind::UserGuidanceApplied(event).into());
        }
        self.turn_to(RunStatus::CallingModel, out);
        let created = ModelRequestCreated {
            round,
            invocation_id: InvocationId::root(),
            request: request.clone(),
            extra: Map::new(),
        };
        out.push(RunEventKind::ModelRequestCreated(created).into());
        if self.is_out_for_all() {
            return self.begin_attempt(1, out);
        }
        match oversize {
            None => self.begin_attempt(1, out),
            Some(oversize) => self.begin_compaction(1, Some(*oversize), None),
        }
    }

    /// The same request once more, or for the first time.
    pub(super) fn begin_attempt(&mut self, attempt: u32, out: &mut Out) {
        self.phase = Phase::Asked { attempt };
        if self.is_out_for_all()
            && let Some(why) = self.spent.exhausted(&self.created.profile)
        {
            return self.fail(why.code, why.message, why.reason, out);
        }
        let started = ModelCallAttempt {
            round: self.spent.rounds,
            invocation_id: InvocationId::root(),
            attempt,
            max_retries: self.created.profile.run.model_retry.max_retries,
            extra: Map::new(),
        };
        out.push(RunEventKind::ModelCallAttemptStarted(started).into());
    }

    /// Those who work for it have used up what is left to everybody, after it was decided that the model is asked.
    fn is_out_for_all(&self) -> bool {
        let mut children = self.children.values();
        children.any(|child| child.run().shares_limits())
            && self.spent.exhausted(&self.created.profile).is_some()
    }

    pub(super) fn model_failed(
        &mut self,
        code: ErrorCode,
        message: &str,
        reason: Option<&str>,
        retryable: bool,
        arrived: &str,
        out: &mut Out,
    ) {
        let Phase::Asked { attempt } = self.phase else {
            return;
        };
        let retry = &self.created.profile.run.model_retry;
        let (max_retries, interval_ms) = (retry.max_retries, retry.interval_ms);
        let exhausted = self.spent.exhausted(&self.created.profile);
        let shortens = code == ErrorCode::ModelContextTooLong && self.may_shorten_again();
        let will_retry = shortens || (retryable && attempt <= max_retries && exhausted.is_none());
        let failed = ModelCallAttemptFailed {
            round: self.spent.rounds,
            invocation_id: InvocationId::root(),
            attempt,
            max_retries,
            retryable,
            will_retry,
            message: short(message),
            extra: fields(json!({
                "code": code.as_str(),
                "reason": reason,
                "arrivedChars": arrived.chars().count(),
            })),
        };
        out.push(RunEventKind::ModelCallAttemptFailed(failed).into());
        if shortens {
            let refusal = RunFailure {
                code,
                message: message.to_owned(),
                reason: reason.map(str::to_owned),
            };
            return self.begin_compaction(attempt + 1, None, Some(refusal));
        }
        if !will_retry {
            return match exhausted.filter(|_| retryable && attempt <= max_retries) {
                Some(why) => self.fail(why.code, why.message, why.reason, out),
                None => self.fail(code, message.to_owned(), reason.map(str::to_owned), out),
            };
        }
        let attempt = attempt + 1;
        self.phase = Phase::Resting { attempt };
        let scheduled = ModelCallRetryScheduled {
            round: self.spent.rounds,
            next_attempt: attempt,
            interval_ms,
            extra: Map::new(),
        };
        out.push(RunEventKind::ModelCallRetryScheduled(scheduled).into());
    }

    pub(super) fn rested(&mut self, out: &mut Out) {
        if let Phase::Resting { attempt } = self.phase {
            self.begin_attempt(attempt, out);
        }
    }

    pub(super) fn model_replied(&mut self, turn: &Arc<ModelTurn>, out: &mut Out) {
        let round = self.spent.rounds;
        let profile = self.created.profile_id.as_str().to_owned();
        self.spent.count_model(&profile, &turn.used());

        let reply = turn.read();
        let plan = self.plan(turn, &reply);
        out.push(RunEventKind::ModelResponseStored(stored(round, turn)).into());
        out.extend(self.provider_state(round, turn).map(Draft::new));
        out.push(RunEventKind::ModelCompleted(completed(round, turn, &reply, &plan)).into());
        let calls = plan.blocks.iter().flat_map(|block| &block.calls);
        out.extend(
            calls.map(|call| RunEventKind::ToolCallRequested(requested(round, call, turn)).into()),
        );
        let Plan {
            blocks,
            notes,
            kind,
        } = plan;
        let refused: Vec<_> = blocks
            .iter()
            .flat_map(|block| &block.calls)
            .filter_map(|call| {
                Some((
                    call.call.clone(),
                    call.tool.clone(),
                    call.observation()?.clone(),
                ))
            })
            .collect();
        self.turn = Some(Turn {
            round,
            reply: turn.clone(),
            blocks,
            notes,
            nudge: None,
        });
        for (call, tool, observation) in &refused {
            self.tell_end(call, tool, observation, 0, out);
        }
        self.conclude_or_act(kind, out);
    }
}

impl AgentRun {
    /// What the provider keeps of the conversation, or wants back with it; nothing where it said nothing of the kind.
    fn provider_state(&self, round: u32, turn: &ModelTurn) -> Option<RunEventKind> {
        let parts = turn.message.get(PARTS_FIELD).and_then(Json::as_array);
        if turn.response_id.is_none() && parts.is_none() {
            return None;
        }
        let source = &self.binding["chatCompletionSource"];
        let continuation = parts.map(|parts| json!({"provider": source, "partCount": parts.len()}));
        let state = json!({
            "sessionId": format!("{}:{}", self.run_id(), InvocationId::root()),
            "chatCompletionSource": source,
            "providerFormat": self.binding["customApiFormat"],
            "messageCursor": self.sent.len(),
            "lastResponseId": turn.response_id,
            "nativeContinuation": continuation,
        });
        Some(RunEventKind::ProviderStateUpdated(ProviderStateUpdated {
            round,
            provider_state: Json::Object(fields(state)),
            extra: Map::new(),
        }))
    }
}

fn stored(round: u32, turn: &ModelTurn) -> ModelResponseStored {
    ModelResponseStored {
        round,
        invocation_id: InvocationId::root(),
        path: response_path(round),
        response_id: turn.response_id.clone(),
        model: Some(turn.model.clone()).filter(|model| !model.is_empty()),
        extra: Map::new(),
    }
}

fn completed(round: u32, turn: &ModelTurn, reply: &Reply<'_>, plan: &Plan) -> ModelCompleted {
    let calls: usize = plan.blocks.iter().map(|block| block.calls.len()).sum();
    let text = count(&turn.text);
    let spoken = match reply.blocks.is_empty() {
        true => text,
        false => count(&reply.outside_text),
    };
    let reasoning = count(&turn.reasoning);
    let narration = Some(reply.response_text.trim())
        .filter(|text| calls > 0 && !text.is_empty())
        .map(|text| text.chars().take(MAX_NARRATION_CHARS).collect());
    ModelCompleted {
        round,
        invocation_id: InvocationId::root(),
        model_response_path: Some(response_path(round)),
        tool_call_count: calls as u64,
        text_chars: text.chars as u64,
        text_words: text.words as u64,
        has_assistant_text: !reply.outside_text.trim().is_empty(),
        assistant_text_chars: spoken.chars as u64,
        assistant_text_words: spoken.words as u64,
        has_reasoning: !turn.reasoning.is_empty(),
        reasoning_chars: reasoning.chars as u64,
        reasoning_words: reasoning.words as u64,
        narration,
        extra: fields(json!({
            "finishReason": turn.finish_reason,
            "usage": turn.usage,
            "cost": turn.cost,
        })),
    }
}

fn requested(round: u32, call: &PlannedCall, turn: &ModelTurn) -> ToolCallRequested {
    let native = call.provider_id.as_deref().and_then(|id| {
        let mut calls = turn.tool_calls.iter();
        calls.find(|native| native.get("id").and_then(Json::as_str) == Some(id))
    });
    ToolCallRequested {
        round,
        invocation_id: InvocationId::root(),
        call_id: call.call.clone(),
        name: call.tool.clone(),
        arguments_ref: Some(arguments_path(&call.call)),
        provider_metadata: native.map(metadata),
        extra: Map::new(),
    }
}

/// All that the provider said of a call beside its name and its arguments.
fn metadata(native: &Json) -> Json {
    let mut rest = native.as_object().cloned().unwrap_or_default();
    rest.shift_remove("function");
    Json::Object(rest)
}

/// A message of someone else, short enough for an event.
pub(super) fn short(message: &str) -> String {
    message.chars().take(MAX_EVENT_MESSAGE_CHARS).collect()
}

/// Keys beyond those that every reader knows; what is null is left out.
pub(super) fn fields(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            fields
        }
        _ => Map::new(),
    }
}
