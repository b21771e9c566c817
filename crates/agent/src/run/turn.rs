//! One turn: what the model said, and what becomes of its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::CallId;
use innkeeper_protocol::{ErrorCode, Observation, Outcome, Reply, add_native_calls, parse};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::ModelUse;
use super::approval::Asked;

/// A reply as it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelTurn {
    pub text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Native calls, as chat completions write them, under the tools' own names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Json>,
    /// The message as it goes back to the provider, opaque parts included.
    pub message: Json,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// `{prompt_tokens, completion_tokens, …}` as far as they are known.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub usage: Json,
    /// In dollars; of those requests whose price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How often models were asked for it, and how often nobody knows for what price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<(u32, u32)>,
    /// Tools by the names under which it calls them, where they call themselves otherwise.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub meant: BTreeMap<String, String>,
}

impl ModelTurn {
    /// What was understood of it. Its blocks stand in the order of the planned ones.
    pub fn read(&self) -> Reply<'_> {
        let mut reply = parse(&self.text);
        if !self.tool_calls.is_empty() {
            add_native_calls(&mut reply, &Json::Array(self.tool_calls.clone()));
        }
        reply
    }

    /// It ended because it was as long as it may be.
    pub fn is_cut_off(&self) -> bool {
        let reason = self.finish_reason.as_deref().unwrap_or_default();
        ["length", "max_tokens", "max_output_tokens"]
            .iter()
            .any(|name| reason.eq_ignore_ascii_case(name))
    }

    pub(super) fn used(&self) -> ModelUse {
        let used = ModelUse::of(1, &self.usage, self.cost);
        match self.requests {
            Some((requests, unpriced)) => ModelUse {
                requests,
                unpriced,
                ..used
            },
            None => used,
        }
    }
}

/// What the model said last, and what came of it so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub round: u32,
    pub reply: Arc<ModelTurn>,
    pub blocks: Vec<PlannedBlock>,
    /// What the model must be told beyond its calls: of its text as a whole, and by the guards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Observation>,
    /// What it should do instead of what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge: Option<Nudge>,
}

impl Turn {
    pub fn calls(&self) -> impl Iterator<Item = &PlannedCall> {
        self.blocks.iter().flat_map(|block| &block.calls)
    }

    /// The block that is to run, or runs.
    pub(super) fn current(&self) -> Option<usize> {
        self.blocks.iter().position(|block| !block.ended)
    }
}

/// Why the model is asked again although it called nothing. The words are the context builder's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "nudge",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Nudge {
    /// It answered in plain text where only tools count. Its text is kept in that file, if there was room for it.
    ToolCallRequired {
        captured: Option<String>,
        attempt: u32,
    },
    /// It said nothing at all.
    EmptyTurn,
}

/// Calls of one block of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedBlock {
    pub calls: Vec<PlannedCall>,
    /// All has been said of it.
    pub ended: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Observation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedCall {
    /// The provider's, or one made from round and position; unique in the run.
    pub call: CallId,
    /// The provider's as it came: what the answer to a native call has to name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Step number in its block.
    pub index: u32,
    /// As the model wrote it.
    pub tool: String,
    /// Which tool that is, where it calls itself otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
    /// As written, by name; for the journal and for the guard against repetition.
    pub arguments: Arc<Json>,
    pub state: CallState,
    /// What people were asked about it, and what they said, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
}

impl PlannedCall {
    /// The tool as it calls itself, as far as that is known.
    pub fn meant(&self) -> &str {
        self.meant.as_deref().unwrap_or(&self.tool)
    }

    pub fn observation(&self) -> Option<&Arc<Observation>> {
        match &self.state {
            CallState::Ended { observation, .. } => Some(observation),
            _ => None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.observation().is_none()
    }

    /// A finish that stood before other calls: refused, but no reason not to run them.
    pub fn is_early_finish(&self) -> bool {
        let outcome = self.observation().map(|observation| &observation.outcome);
        matches!(outcome, Some(Outcome::Error(failure)) if failure.code == ErrorCode::AgentToolAfterFinish)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "state",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum CallState {
    Waiting,
    AwaitingApproval {
        approval_id: String,
    },
    Started {
        idempotent: bool,
    },
    /// Where it goes on in the background, the observation says under which task.
    Ended {
        observation: Arc<Observation>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full: Option<Arc<Json>>,
    },
}
