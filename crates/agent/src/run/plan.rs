//! From a reply to calls that are to run: their ids, and which of them are refused before anything happens.

use std::collections::HashSet;
use std::sync::Arc;

use innkeeper_protocol::event::CallId;
use innkeeper_protocol::{
    Block, Code, ErrorCode, Failure, Observation, Outcome, Protocol, Reply, Source, ToolCallRequest,
};
use serde_json::{Map, Value as Json};

use super::ceiling::Ceiling;
use super::delegate::{NO_TASK, RETURN_DENIED};
use super::fit::{FINISH_LAST, TOOL_AFTER_FINISH};
use super::names::call_key;
use super::spent::alike;
use super::turn::CallState;
use super::{AgentRun, ModelTurn, PlannedBlock, PlannedCall};
use crate::limits::{MAX_CALL_ID_BYTES, MAX_CALLS_PER_TURN};

/// Tools that bring a run to its end: they may be called when the run has no calls left for anything else, so that what
/// was written is not lost.
const CLOSING: [&str; 4] = ["workspace.commit", FINISH, RETURN, "agent.await"];
const FINISH: &str = "workspace.finish";
pub(super) const RETURN: &str = "task.return";
/// Behind these nothing else of a reply is run.
const LAST: [&str; 3] = [FINISH, RETURN, "agent.handoff"];

/// What kind of a turn it is, before any call has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnKind {
    /// Calls will run.
    Calls,
    /// Only words.
    Text,
    /// Neither words nor calls.
    Empty,
    /// The model wanted something, and none of it can be run.
    Refused,
}

pub(super) struct Plan {
    pub(super) blocks: Vec<PlannedBlock>,
    pub(super) notes: Vec<Observation>,
    pub(super) kind: TurnKind,
}

/// The calls of one reply so far.
struct Taken<'t> {
    /// That has them.
    turn: &'t ModelTurn,
    /// Refused ones included.
    seen: u32,
    runs: u32,
    provider_ids: HashSet<String>,
}

impl<'t> Taken<'t> {
    fn of(turn: &'t ModelTurn) -> Self {
        Self {
            turn,
            seen: 0,
            runs: 0,
            provider_ids: HashSet::new(),
        }
    }

    /// Which tool is called, as it calls itself.
    fn meant<'n>(&'n self, written: &'n str) -> &'n str {
        self.turn.meant.get(written).map_or(written, String::as_str)
    }
}

impl AgentRun {
    pub(super) fn plan(&mut self, turn: &ModelTurn, reply: &Reply<'_>) -> Plan {
        let bare = Reply {
            diagnostics: reply.diagnostics.clone(),
            ..Reply::text("")
        };
        let mut notes = Observation::of_reply(&bare);
        if lost_native_calls(turn, reply) {
            notes.push(Observation::error(
                "",
                ErrorCode::ModelInvalidToolCall,
                "A tool call of the reply has no readable name; call again with the tool's name and one JSON object",
            ));
        }
        let mut taken = Taken::of(turn);
        let mut blocks: Vec<_> = reply
            .blocks
            .iter()
            .map(|block| self.plan_block(block, turn.is_cut_off(), &mut taken))
            .collect();
        refuse_early_finish(&mut blocks, &reply.blocks, self.duty.is_some());
        let kind = if blocks.iter().any(|block| !block.ended) {
            TurnKind::Calls
        } else if !blocks.is_empty() || !notes.is_empty() {
            TurnKind::Refused
        } else if turn.text.trim().is_empty() {
            TurnKind::Empty
        } else {
            TurnKind::Text
        };
        Plan {
            blocks,
            notes,
            kind,
        }
    }

    fn plan_block(
        &mut self,
        block: &Block<'_>,
        cut_off: bool,
        taken: &mut Taken<'_>,
    ) -> PlannedBlock {
        let mut notes = Observation::of_block(block);
        let is_native = matches!(block.protocol, Protocol::Native(_));
        let is_cut = cut_off && block.is_runnable() && is_unfinished(block);
        if is_cut {
            notes.push(cut_off_note());
        }
        if is_cut || !block.is_runnable() {
            // A native call has to be answered by itself; of a text, what was wrong is told once.
            let calls = match is_native {
                true => block.calls.as_slice(),
                false => &[],
            };
            let refused = calls.iter().map(|call| {
                let why = Failure::new(
                    ErrorCode::ToolSkipped,
                    "The reply could not be read as a whole, so nothing of it was run",
                );
                self.planned(call, Some(why), taken)
            });
            return PlannedBlock {
                calls: refused.collect(),
                ended: true,
                notes,
            };
        }
        let calls: Vec<_> = block
            .calls
            .iter()
            .map(|call| {
                let refusal = self.refusal(call, taken);
                if refusal.is_none() {
                    taken.runs += 1;
                    self.count_call(taken.meant(&call.tool));
                }
                self.planned(call, refusal, taken)
            })
            .collect();
        let ended = !calls.iter().any(PlannedCall::is_open);
        PlannedBlock {
            calls,
            ended,
            // Whoever runs the block tells them with its end.
            notes: if ended { notes } else { Vec::new() },
        }
    }

    /// Why a call is not run, if it is not.
    fn refusal(&self, call: &ToolCallRequest<'_>, taken: &Taken<'_>) -> Option<Failure> {
        let refused = |code, reason: &str, message: String| {
            Some(Failure {
                reason: Some(reason.to_owned()),
                ..Failure::new(code, message)
            })
        };
        if let Some(id) = &call.call_id
            && taken.provider_ids.contains(id.as_ref())
        {
            return refused(
                ErrorCode::ProtocolMalformed,
                "agent.duplicate_call_id",
                format!("Two calls of this reply have the id '{id}'; only the first was run"),
            );
        }
        if taken.runs >= MAX_CALLS_PER_TURN {
            return refused(
                ErrorCode::ToolSkipped,
                "agent.too_many_calls",
                format!("A reply may make {MAX_CALLS_PER_TURN} calls; make the rest in the next"),
            );
        }
        let tool = taken.meant(&call.tool);
        if let Some(failure) = self.not_for_children(tool) {
            return Some(failure);
        }
        let profile = &self.created.profile;
        let is_closing = CLOSING.iter().any(|name| alike(name, tool));
        let is_under_ceiling = self.ceiling.as_ref().is_none_or(Ceiling::has_calls);
        if !is_closing && (self.left().calls == 0 || !is_under_ceiling) {
            return refused(
                ErrorCode::ToolBudgetExhausted,
                "agent.tool_budget_exhausted",
                match self.duty {
                    None => format!(
                        "This run may call tools {} times, and has; publish what there is and finish",
                        profile.tools.max_calls_per_run
                    ),
                    Some(_) => {
                        "No calls are left for this task; give what you have with task.return"
                            .to_owned()
                    }
                },
            );
        }
        let of_caller = self.ceiling.as_ref();
        let own = self.spent.left_of_tool(profile, tool);
        let own = own.filter(|(_, left)| *left == 0).map(|(name, _)| name);
        if let Some(name) = own.or_else(|| of_caller?.forbids(tool)) {
            return refused(
                ErrorCode::ToolBudgetExhausted,
                "agent.tool_budget_exhausted",
                format!("This run may not call {name} any more"),
            );
        }
        let (tokens, cost) = self.spent.left_for_tool(profile, tool);
        let is_spent = tokens == Some(0) || cost.is_some_and(|cost| cost <= 0.0);
        if is_spent || of_caller.is_some_and(|most| most.has_no_models(tool)) {
            return refused(
                ErrorCode::ToolBudgetExhausted,
                "agent.tool_model_budget_exhausted",
                format!(
                    "{} has asked models for all that this run's profile lets it; go on without it",
                    call.tool
                ),
            );
        }
        None
    }

    /// Before it runs: what is taken of a limit is nobody else's any more.
    fn count_call(&mut self, tool: &str) {
        self.spent.count_call(&self.created.profile, tool);
        if let Some(ceiling) = &mut self.ceiling {
            ceiling.take(tool);
        }
    }

    fn planned(
        &mut self,
        call: &ToolCallRequest<'_>,
        refusal: Option<Failure>,
        taken: &mut Taken<'_>,
    ) -> PlannedCall {
        taken.seen += 1;
        let provider_id = call.call_id.as_deref().map(str::to_owned);
        if let Some(id) = &provider_id {
            taken.provider_ids.insert(id.clone());
        }
        let state = match refusal {
            None => CallState::Waiting,
            Some(failure) => CallState::Ended {
                observation: Arc::new(Observation {
                    call_id: provider_id.clone(),
                    index: call.index,
                    ..Observation::new(call.tool.as_ref(), Outcome::Error(failure))
                }),
                full: None,
            },
        };
        PlannedCall {
            call: self.name_call(provider_id.as_deref(), taken.seen),
            provider_id,
            index: call.index,
            tool: call.tool.to_string(),
            meant: taken.turn.meant.get(call.tool.as_ref()).cloned(),
            arguments: Arc::new(written(call)),
            state,
            asked: Vec::new(),
        }
    }

    /// The provider's id if the run has none like it; some providers count from zero in every reply.
    fn name_call(&mut self, provider_id: Option<&str>, position: u32) -> CallId {
        let is_usable = |id: &&str| !id.trim().is_empty() && id.len() <= MAX_CALL_ID_BYTES;
        if let Some(id) = provider_id.filter(is_usable)
            && self.calls.insert(call_key(id))
        {
            return CallId::new(id);
        }
        let own = format!("call_{}_{position}", self.spent.rounds);
        let mut id = own.clone();
        let mut again = 1;
        while !self.calls.insert(call_key(&id)) {
            again += 1;
            id = format!("{own}_{again}");
        }
        CallId::new(id)
    }
}

/// A finish with calls behind it ends nothing, and does not keep them from being run.
fn refuse_early_finish(planned: &mut [PlannedBlock], written: &[Block<'_>], owes_return: bool) {
    let mut is_followed = false;
    for (planned, written) in planned.iter_mut().zip(written).rev() {
        let mut has_refused = false;
        for call in planned.calls.iter_mut().rev().filter(|call| call.is_open()) {
            let is_last = LAST.iter().any(|name| alike(name, call.meant()));
            if !is_followed || !is_last {
                is_followed = true;
                continue;
            }
            // To call it again would be refused as well.
            let is_denied = !owes_return && alike(RETURN, call.meant());
            let (code, reason, message) = match is_denied {
                true => (ErrorCode::AgentDelegationDenied, RETURN_DENIED, NO_TASK),
                false => (
                    ErrorCode::AgentToolAfterFinish,
                    TOOL_AFTER_FINISH,
                    FINISH_LAST,
                ),
            };
            let failure = Failure {
                reason: Some(reason.to_owned()),
                ..Failure::new(code, message)
            };
            let observation = Observation {
                call_id: call.provider_id.clone(),
                index: call.index,
                ..Observation::new(call.tool.as_str(), Outcome::Error(failure))
            };
            call.state = CallState::Ended {
                observation: Arc::new(observation),
                full: None,
            };
            has_refused = true;
        }
        if has_refused && !planned.calls.iter().any(PlannedCall::is_open) {
            planned.ended = true;
            planned.notes = Observation::of_block(written);
        }
    }
}

/// The block has no end of its own: it ran to the end of the text.
fn is_unfinished(block: &Block<'_>) -> bool {
    let mut codes = block.diagnostics.iter().map(|diagnostic| diagnostic.code);
    codes.any(|code| code == Code::MissingEndMarker)
}

/// Half a value would be written as if it were whole.
fn cut_off_note() -> Observation {
    let failure = Failure {
        reason: Some("agent.reply_cut_off".to_owned()),
        ..Failure::new(
            ErrorCode::ProtocolMalformed,
            "The reply was cut off by its length limit in the middle of a call, so the call was not run; write it again, shorter or in parts",
        )
    };
    Observation::new("", Outcome::Error(failure))
}

/// Calls outside the text of which the parser could make nothing at all.
fn lost_native_calls(turn: &ModelTurn, reply: &Reply<'_>) -> bool {
    let is_native = |block: &Block<'_>| matches!(block.protocol, Protocol::Native(_));
    let mut said = reply.diagnostics.iter();
    !turn.tool_calls.is_empty()
        && !reply.blocks.iter().any(is_native)
        && !said.any(|diagnostic| diagnostic.code == Code::RepeatedNativeCall)
}

fn written(call: &ToolCallRequest<'_>) -> Json {
    let fields = call.arguments.iter().map(|argument| {
        let name = match argument.source {
            Source::Inline => argument.name.to_string(),
            Source::Uri => format!("uri_{}", argument.name),
        };
        (name, argument.to_json())
    });
    Json::Object(fields.collect::<Map<_, _>>())
}
