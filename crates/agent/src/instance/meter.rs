//! What is asked of models in one run, by its agents and by their tools, and how much of that they may: one meter for all of
//! them, so that what one uses is there for nobody else.
//!
//! What is counted goes into the journal with a reply or with the end of a call; until then it is only here. The journal has
//! the last word: whoever is about to ask looks there first ([`RunMeter::refresh`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::ModelCall;
use innkeeper_protocol::event::InvocationId;
use innkeeper_tools::ModelMeter;
use serde_json::{Map, Value as Json};
use tokio::sync::Notify;

use super::tap::add;
use crate::context;
use crate::run::{AgentRun, Allowance, ModelUse, Wanted};

#[derive(Debug, Default)]
pub(crate) struct RunMeter {
    counted: Mutex<Counted>,
    /// Told when there may be more left than before.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    /// What is left by the journal, to whom.
    left: Vec<Allowance>,
    /// Whoever has the run.
    root: Option<InvocationId>,
    /// Which tool a call is of.
    calls: HashMap<String, String>,
    /// What the journal does not know.
    open: HashMap<Asker, BTreeMap<u64, Request>>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// An agent, for its next reply.
    Agent(InvocationId),
    /// An agent, for a summary.
    Summary(InvocationId),
    /// What the deliberation of an agent has called.
    Deliberation(InvocationId),
    Call {
        agent: InvocationId,
        call: String,
    },
}

impl Asker {
    fn agent(&self) -> &InvocationId {
        match self {
            Self::Agent(agent)
            | Self::Summary(agent)
            | Self::Deliberation(agent)
            | Self::Call { agent, .. } => agent,
        }
    }
}

#[derive(Debug)]
struct Request {
    /// As far as it is known.
    usage: Json,
    /// What it will take at least, as long as nobody knows.
    reserved: u64,
    told: Option<Told>,
}

/// With what it goes into the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Reply,
    CallEnd,
    TaskEnd,
}

/// Why a request does not go out.
enum Not {
    /// What is under way may leave nothing for it.
    Yet,
    AnyMore(NodeError),
}

impl Counted {
    fn draws_on(&self, asker: &Asker, left: &Allowance) -> bool {
        let is_its = left.agent == *asker.agent() || Some(&left.agent) == self.root.as_ref();
        let tool = match asker {
            Asker::Call { call, .. } => self.calls.get(call).map(String::as_str),
            Asker::Agent(_) | Asker::Summary(_) | Asker::Deliberation(_) => None,
        };
        is_its && left.is_for(tool)
    }

    fn try_ask(&mut self, asker: &Asker, reserved: u64) -> Result<u64, Not> {
        for left in self.left.iter().filter(|left| self.draws_on(asker, left)) {
            let mut used = (0, 0.0);
            let mut expected = 0_u64;
            let others = self.open.iter();
            for (other, requests) in others.filter(|(other, _)| self.draws_on(other, left)) {
                for request in requests.values() {
                    let (tokens, cost) = spent(&request.usage);
                    used = (u64::saturating_add(used.0, tokens), used.1 + cost);
                    // What one waits for must not wait for it: parts of one call may be each other's.
                    if other != asker {
                        expected = expected.saturating_add(request.reserved);
                    }
                }
            }
            if is_used_up(left, used.0, used.1) {
                return Err(Not::AnyMore(refusal(left)));
            }
            if is_used_up(left, used.0.saturating_add(expected), used.1) {
                return Err(Not::Yet);
            }
        }
        self.requests += 1;
        let request = Request {
            usage: Json::Null,
            reserved,
            told: None,
        };
        let open = self.open.entry(asker.clone()).or_default();
        open.insert(self.requests, request);
        Ok(self.requests)
    }
}

impl RunMeter {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the journal says now. What it has by now is not counted here any more.
    pub(crate) fn refresh(&self, run: &AgentRun) {
        let mut counted = self.lock();
        counted.left = run.allowances();
        counted.root = Some(run.invocation().clone());
        let is_written = |asker: &Asker, told: Option<Told>| match (asker, told) {
            (_, None) => false,
            (Asker::Call { call, .. }, Some(Told::TaskEnd)) => !run.is_in_background(call),
            (Asker::Call { call, .. }, Some(_)) => !run.is_open_call(call),
            (Asker::Agent(agent) | Asker::Deliberation(agent), Some(_)) => {
                !run.of_invocation(agent).is_asked()
            }
            (Asker::Summary(agent), Some(_)) => run.of_invocation(agent).compacting().is_none(),
        };
        counted.open.retain(|asker, requests| {
            requests.retain(|_, request| !is_written(asker, request.told));
            !requests.is_empty()
        });
        counted
            .calls
            .retain(|call, _| run.is_open_call(call) || run.is_in_background(call));
        drop(counted);
        self.freed.notify_waiters();
    }

    /// A call is about to be run.
    pub(crate) fn begin(&self, call: &str, tool: &str) {
        self.lock().calls.insert(call.to_owned(), tool.to_owned());
    }

    /// Before a request goes out; waits as long as others may leave nothing for it.
    pub(crate) async fn ask(&self, asker: &Asker, asked: &ModelCall) -> Result<u64, NodeError> {
        let is_limited = {
            let counted = self.lock();
            let mut left = counted.left.iter();
            left.any(|left| left.tokens.is_some() && counted.draws_on(asker, left))
        };
        let reserved = match is_limited {
            true => {
                let messages = asked.messages.iter().map(context::tokens);
                messages.fold(context::tokens_of_tools(&asked.tools), u64::saturating_add)
            }
            false => 0,
        };
        loop {
            let freed = self.freed.notified();
            match self.lock().try_ask(asker, reserved) {
                Ok(request) => return Ok(request),
                Err(Not::AnyMore(refusal)) => return Err(refusal),
                Err(Not::Yet) => {}
            }
            freed.await;
        }
    }

    pub(crate) fn used(&self, asker: &Asker, request: u64, usage: &Json) {
        let mut counted = self.lock();
        let open = counted.open.entry(asker.clone()).or_default();
        let request = open.entry(request).or_insert(Request {
            usage: Json::Null,
            reserved: 0,
            told: None,
        });
        request.usage = usage.clone();
        request.reserved = 0;
        drop(counted);
        self.freed.notify_waiters();
    }

    /// Nothing more comes of it.
    pub(crate) fn ended(&self, asker: &Asker, request: u64) {
        let mut counted = self.lock();
        let open = counted.open.get_mut(asker);
        if let Some(request) = open.and_then(|open| open.get_mut(&request)) {
            request.reserved = 0;
        }
        drop(counted);
        self.freed.notify_waiters();
    }

    /// What an agent asked itself is about to be written down.
    pub(crate) fn tell(&self, asker: &Asker) {
        let mut counted = self.lock();
        for request in counted.open.get_mut(asker).into_iter().flatten() {
            request.1.told.get_or_insert(Told::Reply);
        }
    }

    fn take(&self, asker: &Asker, told: Told) -> Option<ModelUse> {
        let mut counted = self.lock();
        let open = counted.open.get_mut(asker)?.values_mut();
        let (mut usage, mut requests, mut unpriced) = (Map::new(), 0, 0);
        for request in open.filter(|request| request.told.is_none()) {
            request.told = Some(told);
            requests += 1;
            if let Json::Object(own) = &request.usage {
                add(&mut usage, own);
                unpriced += u32::from(!own.contains_key("cost"));
            }
        }
        drop(counted);
        (requests > 0).then(|| ModelUse {
            requests,
            cost: usage.get("cost").and_then(Json::as_f64),
            usage: Json::Object(usage),
            unpriced,
        })
    }
}

/// The part of one agent in it.
#[derive(Debug)]
pub(crate) struct AgentMeter {
    pub(crate) run: Arc<RunMeter>,
    pub(crate) agent: InvocationId,
}

impl AgentMeter {
    /// Who asks for that.
    pub(crate) fn own(&self, wanted: Wanted) -> Asker {
        match wanted {
            Wanted::Reply => Asker::Agent(self.agent.clone()),
            Wanted::Summary => Asker::Summary(self.agent.clone()),
        }
    }

    fn asker(&self, call: Option<&str>) -> Asker {
        let agent = self.agent.clone();
        match call {
            None => Asker::Deliberation(agent),
            Some(call) => Asker::Call {
                agent,
                call: call.to_owned(),
            },
        }
    }

    /// What a call has used, for the journal: it counts here until it stands there.
    pub(crate) fn take_call(&self, call: &str) -> Option<ModelUse> {
        self.run.take(&self.asker(Some(call)), Told::CallEnd)
    }

    /// What a call has used in the background since it was said to go on there.
    pub(crate) fn take_task(&self, call: &str) -> Option<ModelUse> {
        self.run.take(&self.asker(Some(call)), Told::TaskEnd)
    }

    /// What its deliberation has called used.
    pub(crate) fn take_deliberation(&self) -> Option<ModelUse> {
        self.run.take(&self.asker(None), Told::Reply)
    }
}

#[async_trait]
impl ModelMeter for AgentMeter {
    async fn asking(&self, call: Option<&str>, asked: &ModelCall) -> Result<u64, NodeError> {
        self.run.ask(&self.asker(call), asked).await
    }

    fn used(&self, call: Option<&str>, request: u64, usage: &Json) {
        self.run.used(&self.asker(call), request, usage);
    }

    fn ended(&self, call: Option<&str>, request: u64) {
        self.run.ended(&self.asker(call), request);
    }
}

fn is_used_up(left: &Allowance, tokens: u64, cost: f64) -> bool {
    left.tokens.is_some_and(|left| left <= tokens) || left.cost.is_some_and(|left| left <= cost)
}

fn refusal(left: &Allowance) -> NodeError {
    match left.tool {
        None => NodeError::invalid(
            "agent.model_budget_exhausted",
            "the run has used all the tokens or dollars that its profile gives it, so no more models are asked in it; \
             raise agent.budget.maxTokens or maxCost, or resume the run to grant as much again",
        ),
        Some(_) => NodeError::invalid(
            "agent.tool_model_budget_exhausted",
            "this tool has asked models for all that the profile lets it; raise agent.budget.maxTokensPerTool or \
             maxCostPerTool, or resume the run to grant as much again",
        ),
    }
}

/// Tokens and dollars.
fn spent(usage: &Json) -> (u64, f64) {
    let own = ModelUse::of(1, usage, usage.get("cost").and_then(Json::as_f64));
    (own.tokens(), own.cost.unwrap_or_default())
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
