//! One turn of thinking: the deliberation workflow runs with the conversation, and what the model said comes back as it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_engine::port::{ModelPort, Services, ToolPort};
use innkeeper_engine::{ExecutionOutcome, ExecutionStatus, NodeError, Plan, RunOptions, Value};
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::ToolError;
use serde_json::{Map, Value as Json, json};

use super::binding;
use super::drive::{AgentInstance, Gone};
use super::log::{Brought, RecordError};
use super::offer::{Offered, Told};
use super::tap::{self, Heard, Tap};
use crate::context;
use crate::profile::Dialect;
use crate::run::{Created, Input, ModelTurn, ModelUse, Wanted};

/// Names under which a workflow of one's own may give its text, the first that is there.
const TEXTS: [&str; 6] = [
    "full_text",
    "text",
    "llm_text_output",
    "responseText",
    "response_text",
    "reply",
];

/// Names under which it may ask for what the agent knows about itself, and for what came of its last turn.
const PRIVATE_STATE: [&str; 3] = ["private_state", "privateState", "PrivateState"];
const WORLD_STATE: [&str; 3] = ["world_state", "worldState", "WorldState"];
const OBSERVATIONS: [&str; 3] = ["observations", "last_observations", "Observations"];

/// The conversation as workflows take it: what one turn adds is put to what the turn before has made.
#[derive(Default)]
pub(super) struct Conversation(Mutex<(Vec<Arc<Json>>, Value)>);

impl Conversation {
    fn of(&self, sent: &[Arc<Json>]) -> Value {
        let mut known = self.lock();
        let (before, value) = std::mem::take(&mut *known);
        let goes_on = sent.len() >= before.len()
            && before
                .iter()
                .zip(sent)
                .all(|(one, other)| Arc::ptr_eq(one, other));
        let (value, new) = match goes_on {
            true => (value, sent.get(before.len()..).unwrap_or_default()),
            false => (Value::null(), sent),
        };
        let value = value.extended(new.iter().map(|message| Json::clone(message)));
        *known = (sent.to_vec(), value.clone());
        value
    }

    /// A run that waits has no need of it.
    pub(super) fn forget(&self) {
        *self.lock() = Default::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Vec<Arc<Json>>, Value)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentInstance {
    pub(super) async fn deliberate(&self, round: u32) -> Result<(), Gone> {
        let (created, sent) = self
            .log
            .read(|run| (run.created().clone(), run.sent().to_vec()))
            .await?;
        let told = self.told().await?;
        let dialect = created.profile.agent.protocol;
        self.refresh_meter().await?;
        self.live.begin(round, Self::text_dialect(dialect));
        let heard = Arc::new(Mutex::new(Heard::default()));
        let said = tokio::select! {
            // Whoever is stopped in the middle has not failed.
            biased;
            () = self.cancel.cancelled() => {
                self.live.end();
                let used = tap::lock(&heard).in_vain(self.meter.take_deliberation());
                return self.stopped_asking(used, Wanted::Reply).await;
            }
            said = self.think(&created, &sent, told, &heard) => said,
        };
        self.meter.run.tell(&self.meter.own(Wanted::Reply));
        let (input, words) = match said {
            Ok(mut turn) => {
                turn.meant = self.own_names(&turn, dialect);
                let words = turn.read().response_text.trim().to_owned();
                (Input::ModelReplied(Arc::new(turn)), words)
            }
            Err(failed) => (*failed, String::new()),
        };
        // A call that must not be made twice waits for the disk by itself.
        // What one agent says to another is not said to people.
        let held = match words.is_empty() || self.is_child {
            true => self.log.hold(input, Brought::default()).await,
            false => {
                let speaks = self.speaks(&created, round, &words);
                self.log.hold_for(input, speaks).await
            }
        };
        self.live.end();
        self.fed(held).await?;
        self.refresh_meter().await
    }

    /// Given up in the middle: what it took is paid all the same.
    pub(super) async fn stopped_asking(
        &self,
        used: Option<ModelUse>,
        wanted: Wanted,
    ) -> Result<(), Gone> {
        self.meter.run.tell(&self.meter.own(wanted));
        let Some(used) = used else { return Ok(()) };
        let input = Input::AskingStopped { used, wanted };
        // It goes to the disk with the end of the run; one that does not take it any more is over.
        match self.log.hold(input, Brought::default()).await {
            Err(RecordError::Journal(_)) => Err(Gone),
            Ok(()) | Err(RecordError::Misfit(_)) => Ok(()),
        }
    }

    /// Tools that call themselves otherwise than the model calls them.
    fn own_names(&self, turn: &ModelTurn, dialect: Dialect) -> BTreeMap<String, String> {
        let offer = self.offer();
        let reply = turn.read();
        let calls = reply.blocks.iter().flat_map(|block| &block.calls);
        let other = calls.filter_map(|call| {
            let meant = self.meant(&offer, dialect, &call.tool)?;
            (meant != call.tool).then(|| (call.tool.to_string(), meant))
        });
        other.collect()
    }

    async fn think(
        &self,
        created: &Created,
        sent: &[Arc<Json>],
        told: Offered,
        heard: &Arc<Mutex<Heard>>,
    ) -> Result<ModelTurn, Box<Input>> {
        let plan = self.plan(created).await.map_err(|error| refused(&error))?;
        let mut inputs = inputs(created, sent, &told);
        self.put_states(&plan, &mut inputs)
            .await
            .map_err(|error| refused(&error))?;
        // A workflow of one's own takes what it has a use for.
        inputs.retain(|name, _| plan.takes(name));
        let options = RunOptions {
            inputs,
            shared_inputs: match plan.takes("messages") {
                true => vec![("messages".to_owned(), self.conversation.of(sent))],
                false => Vec::new(),
            },
            services: self
                .services(created, told, heard.clone())
                .map_err(|error| refused(&error))?,
            cancel: self.cancel.child_token(),
            is_nested: true,
            ..RunOptions::default()
        };
        let engine = self.shared.parts.workflows.engine();
        let ran = engine.run(&plan, options).await;
        let heard = tap::lock(heard);
        // What tools asked that the deliberation itself has called.
        let nested = self.meter.take_deliberation();
        match ran {
            Ok(outcome) if outcome.status == ExecutionStatus::Complete => {
                said(&outcome, &heard, nested)
            }
            Ok(outcome) => {
                let unknown =
                    || NodeError::failed("model.request_failed", "the deliberation failed");
                let error = outcome.error.unwrap_or_else(unknown);
                Err(failed(&error, &heard.text, heard.in_vain(nested)))
            }
            Err(error) => {
                let error = NodeError::invalid("agent.deliberation", error.to_string());
                Err(failed(&error, "", heard.in_vain(nested)))
            }
        }
    }

    /// As they are now; read only where the workflow has a use for them.
    async fn put_states(
        &self,
        plan: &Plan,
        inputs: &mut Map<String, Json>,
    ) -> Result<(), ToolError> {
        let taken = |names: [&'static str; 3]| names.into_iter().filter(|name| plan.takes(name));
        if taken(PRIVATE_STATE).next().is_some() {
            let state = self.states.private_state(&self.session).await?;
            inputs.extend(taken(PRIVATE_STATE).map(|name| (name.to_owned(), state.clone())));
        }
        if taken(WORLD_STATE).next().is_some() {
            let state = self.states.world_state().await?;
            inputs.extend(taken(WORLD_STATE).map(|name| (name.to_owned(), state.clone())));
        }
        Ok(())
    }

    async fn plan(&self, created: &Created) -> Result<Plan, ToolError> {
        match &created.profile.agent.deliberation_workflow {
            None => Ok(self.shared.deliberation.clone()),
            Some(workflow) => {
                let workflows = &self.shared.parts.workflows;
                workflows.plan(self.tools.caller(), workflow).await
            }
        }
    }

    fn services(
        &self,
        created: &Created,
        offered: Offered,
        heard: Arc<Mutex<Heard>>,
    ) -> Result<Services, ToolError> {
        let run = self.tools.within("deliberation")?;
        let services = self.shared.parts.workflows.services(run);
        // What is asked here is counted by listening in, and not as the use of a tool.
        let models = self.shared.parts.workflows.models().cloned();
        let models = models.map(|models| -> Arc<dyn ModelPort> {
            Arc::new(Tap {
                models,
                live: created.profile.run.stream.then(|| self.live.clone()),
                heard,
                meter: self.meter.run.clone(),
                asker: self.meter.own(Wanted::Reply),
            })
        });
        let tools = services
            .tools
            .map(|tools| -> Arc<dyn ToolPort> { Arc::new(Told { tools, offered }) });
        Ok(Services {
            models,
            tools,
            ..services
        })
    }
}

/// All that a deliberation may ask for.
fn inputs(created: &Created, sent: &[Arc<Json>], told: &Offered) -> Map<String, Json> {
    let rules = &created.profile.agent;
    let mut parameters = created.parameters.clone();
    parameters.extend(rules.parameters.clone());
    let names = || -> Json { told.iter().map(|tool| json!(tool.id)).collect() };
    let mut inputs = Map::new();
    let mut put = |name: &str, value: Json| inputs.insert(name.to_owned(), value);
    put("model", binding::model_name(created).into());
    put("parameters", Json::Object(parameters));
    put("dialect", json!(rules.protocol));
    if rules.protocol == Dialect::Native {
        put("tools", names());
    }
    if let Some(grammar) = &rules.grammar {
        put("grammar", grammar.as_str().into());
        put("told_tools", names());
    }
    let observations = context::observations(sent);
    for name in OBSERVATIONS {
        put(name, observations.clone().into());
    }
    inputs
}

/// What a deliberation gave: the whole response, or a text under one of the usual names.
fn said(
    outcome: &ExecutionOutcome,
    heard: &Heard,
    nested: Option<ModelUse>,
) -> Result<ModelTurn, Box<Input>> {
    let response = outcome.output("response").map(|value| value.as_json());
    let response = response.filter(|value| value.is_object());
    let text = |name: &str| {
        response
            .and_then(|response| response.get(name))
            .and_then(Json::as_str)
    };
    let named = TEXTS.iter().find_map(|name| outcome.output(name));
    let only = match outcome.outputs.as_slice() {
        [(_, value)] => Some(value),
        _ => None,
    };
    let own = named.or(only).and_then(|value| value.as_json().as_str());
    let Some(words) = text("text").or(own) else {
        let error = NodeError::invalid(
            "agent.deliberation",
            "the deliberation workflow has no output 'full_text' or 'response'; give it one",
        );
        return Err(failed(&error, "", heard.in_vain(nested)));
    };
    let calls = response
        .and_then(|response| response.get("tool_calls"))
        .and_then(Json::as_array);
    let message = response.and_then(|response| response.pointer("/choices/0/message"));
    let mut usage = heard.usage();
    let mut requests = (heard.requests, heard.unpriced());
    if let Some(nested) = nested {
        if let Json::Object(more) = &nested.usage {
            tap::add(&mut usage, more);
        }
        requests.0 = requests.0.saturating_add(nested.requests);
        requests.1 = requests.1.saturating_add(nested.unpriced);
    }
    Ok(ModelTurn {
        text: words.to_owned(),
        reasoning: text("reasoning").unwrap_or_default().to_owned(),
        tool_calls: calls.cloned().unwrap_or_default(),
        message: message
            .cloned()
            .unwrap_or_else(|| json!({"role": "assistant", "content": words})),
        model: text("model").unwrap_or_default().to_owned(),
        response_id: text("id")
            .map(str::to_owned)
            .or_else(|| heard.response_id.clone()),
        finish_reason: text("finish_reason").map(str::to_owned),
        requests: (requests != (1, 0)).then_some(requests),
        meant: BTreeMap::new(),
        cost: usage.get("cost").and_then(Json::as_f64),
        usage: match usage.is_empty() {
            true => Json::Null,
            false => Json::Object(usage),
        },
    })
}

fn refused(error: &ToolError) -> Box<Input> {
    let code = error.reason.clone();
    let code = code.unwrap_or_else(|| error.code.to_string());
    failed(&NodeError::invalid(code, error.message.clone()), "", None)
}

fn failed(error: &NodeError, arrived: &str, used: Option<ModelUse>) -> Box<Input> {
    let code = match error.code.as_str() {
        "model.rate_limited" | "model.overloaded" => ErrorCode::ModelProviderRateLimited,
        "model.unauthorized" | "model.forbidden" => ErrorCode::ModelUnauthorized,
        "model.context_too_long" => ErrorCode::ModelContextTooLong,
        "agent.model_budget_exhausted" => ErrorCode::ToolBudgetExhausted,
        "model.malformed" => ErrorCode::ModelUpstreamInvalidResponse,
        other => other.parse().unwrap_or(ErrorCode::ModelRequestFailed),
    };
    Box::new(Input::ModelFailed {
        code,
        message: error.message.clone(),
        reason: (error.code != code.as_str()).then(|| error.code.clone()),
        retryable: !error.permanent,
        arrived: (!arrived.is_empty()).then(|| arrived.to_owned()),
        used,
    })
}
