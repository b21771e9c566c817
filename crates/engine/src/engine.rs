//! The engine: runs plans, as many at once as it may, and tells whoever follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::limits::{
    DEFAULT_CACHE_BYTES, DEFAULT_PARALLEL_NODES, DEFAULT_PARALLEL_RUNS, MAX_QUEUED_RUNS,
};
use crate::plan::{Plan, Prepared};
use crate::port::Services;
use crate::problem::Problems;
use crate::run::{
    CacheSize, EventBody, ExecutionStatus, Failure, Feed, Hub, Ledger, OutputSink, ResultCache,
    RunShared, State, Streams, Subscription, bind, output_value, run_region,
};
use crate::workflow::{Workflow, WorkflowSource};
use crate::{NodeError, NodeManager, Value};

/// What bounds an engine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Nodes of one run that may wait for something at once.
    pub parallel_nodes: usize,
    /// Runs at work at once; further ones wait.
    pub parallel_runs: usize,
    /// Bytes of results that are kept for later runs; 0 for none.
    pub cache_bytes: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            parallel_nodes: DEFAULT_PARALLEL_NODES,
            parallel_runs: DEFAULT_PARALLEL_RUNS,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

/// Cheap to clone; clones are the same engine.
#[derive(Clone)]
pub struct ExecutionEngine(Arc<Inside>);

struct Inside {
    nodes: NodeManager,
    options: EngineOptions,
    hub: Arc<Hub>,
    cache: Arc<ResultCache>,
    turns: Arc<Semaphore>,
    queued: AtomicUsize,
}

/// What one run is given.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// A new one if none is given.
    pub prompt_id: Option<String>,
    /// By the names of the interface.
    pub inputs: Map<String, Json>,
    /// More of them, which are shared and not copied.
    pub shared_inputs: Vec<(String, Value)>,
    pub services: Services,
    pub cancel: CancellationToken,
    pub timeout: Option<Duration>,
    pub sink: Option<Arc<dyn OutputSink>>,
    /// Results are shared only with runs of the same scope: a user, a project.
    pub cache_scope: Option<String>,
    /// Takes nothing that earlier runs have kept; what it makes is kept in its place.
    pub is_fresh: bool,
    /// Part of a run that has its turn already. It takes none of its own, or runs could wait for each other.
    pub is_nested: bool,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct ExecutionOutcome {
    pub prompt_id: Arc<str>,
    /// Complete, error or interrupted.
    pub status: ExecutionStatus,
    /// Those that there are, whatever else failed.
    pub outputs: Arc<Vec<(Arc<str>, Value)>>,
    /// Why it did not complete: the first failure, or what ended it.
    pub error: Option<NodeError>,
    /// Nodes that failed, as far as they are listed.
    pub failures: Vec<Failure>,
    /// How many failed.
    pub failed: usize,
}

impl ExecutionOutcome {
    pub fn output(&self, key: &str) -> Option<&Value> {
        let found = self.outputs.iter().find(|(known, _)| &**known == key);
        found.map(|(_, value)| value)
    }

    /// All outputs as one object.
    pub fn outputs_json(&self) -> Map<String, Json> {
        let outputs = self.outputs.iter();
        outputs
            .map(|(key, value)| (key.to_string(), value.as_json().clone()))
            .collect()
    }
}

/// Why a run did not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Arguments(Problems),
    #[error("{MAX_QUEUED_RUNS} runs are waiting already; try again later")]
    QueueFull,
}

/// A run under way.
pub struct Execution {
    pub prompt_id: Arc<str>,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<ExecutionOutcome>,
}

impl Execution {
    /// Stops it: everything under way ends.
    pub fn interrupt(&self) {
        self.cancel.cancel();
    }

    pub async fn outcome(self) -> ExecutionOutcome {
        let prompt_id = self.prompt_id.clone();
        match self.task.await {
            Ok(outcome) => outcome,
            Err(error) => ExecutionOutcome {
                prompt_id,
                status: ExecutionStatus::Error,
                outputs: Arc::default(),
                error: Some(NodeError::invalid("run.lost", error.to_string())),
                failures: Vec::new(),
                failed: 0,
            },
        }
    }
}

impl ExecutionEngine {
    pub fn new(nodes: NodeManager, options: EngineOptions) -> Self {
        Self(Arc::new(Inside {
            nodes,
            hub: Arc::default(),
            cache: Arc::new(ResultCache::new(options.cache_bytes)),
            turns: Arc::new(Semaphore::new(options.parallel_runs.max(1))),
            queued: AtomicUsize::new(0),
            options,
        }))
    }

    pub fn nodes(&self) -> &NodeManager {
        &self.0.nodes
    }

    /// Checks a workflow with the node types that there are now.
    pub fn prepare(&self, workflow: &Arc<Workflow>, source: &dyn WorkflowSource) -> Prepared {
        Plan::prepare(workflow, &self.0.nodes.types(), source)
    }

    /// The events of all runs from now on.
    pub fn subscribe(&self) -> Subscription {
        self.0.hub.subscribe(None)
    }

    /// The events of one run, which may not have begun.
    pub fn subscribe_to(&self, prompt_id: impl Into<Arc<str>>) -> Subscription {
        self.0.hub.subscribe(Some(prompt_id.into()))
    }

    pub fn cache_size(&self) -> CacheSize {
        self.0.cache.size()
    }

    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// Begins a run as a task of its own.
    pub fn start(&self, plan: &Plan, options: RunOptions) -> Result<Execution, StartError> {
        let run = self.ready(plan, options)?;
        let (prompt_id, cancel) = (run.shared.feed.prompt_id.clone(), run.shared.cancel.clone());
        let task = tokio::spawn(run.run());
        Ok(Execution {
            prompt_id,
            cancel,
            task,
        })
    }

    /// Runs to the end, within the caller's own task.
    pub async fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
    ) -> Result<ExecutionOutcome, StartError> {
        Ok(self.ready(plan, options)?.run().await)
    }

    fn ready(&self, plan: &Plan, options: RunOptions) -> Result<Run, StartError> {
        let mut state = State::new(&plan.0);
        let given = options.inputs.into_iter();
        let given = given.map(|(key, json)| (key, Value::from(json)));
        let given = given.chain(options.shared_inputs).collect();
        bind(&plan.0, given, &mut state).map_err(StartError::Arguments)?;
        if self.0.queued.load(Ordering::Relaxed) >= MAX_QUEUED_RUNS {
            return Err(StartError::QueueFull);
        }
        let prompt_id: Arc<str> = match options.prompt_id {
            Some(id) => id.into(),
            None => uuid::Uuid::now_v7().simple().to_string().into(),
        };
        let shared = Arc::new(RunShared {
            feed: Feed::new(self.0.hub.clone(), prompt_id),
            ledger: Ledger::new(),
            services: options.services,
            // Of its own, so that the end of this run is not the end of others.
            cancel: options.cancel.child_token(),
            cache: self.0.cache.clone(),
            parallel: self.0.options.parallel_nodes.max(1),
            turns: Arc::new(Semaphore::new(self.0.options.parallel_nodes.max(1))),
            cache_scope: options.cache_scope.unwrap_or_default().into(),
            is_fresh: options.is_fresh,
            sink: options.sink,
        });
        Ok(Run {
            ending: Ending(Some(shared.clone())),
            inside: self.0.clone(),
            plan: plan.clone(),
            shared,
            state,
            timeout: options.timeout,
            is_nested: options.is_nested,
        })
    }
}

/// When the time is over everything is stopped, and its end waited for.
async fn in_time(
    work: impl Future<Output = Result<(), NodeError>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<(), NodeError> {
    tokio::pin!(work);
    tokio::select! {
        end = &mut work => return end,
        () = tokio::time::sleep(limit) => {}
    }
    let was_stopped = cancel.is_cancelled();
    cancel.cancel();
    match work.await {
        Err(error) if error.is_cancelled() && !was_stopped => {
            let message = format!("the run did not end within {} s", limit.as_secs_f64());
            Err(NodeError::failed("run.timeout", message))
        }
        end => end,
    }
}

/// A run in the queue; one that is dropped waits no more.
struct Waiting(Arc<Inside>);

impl Waiting {
    fn new(inside: &Arc<Inside>) -> Self {
        inside.queued.fetch_add(1, Ordering::Relaxed);
        Self(inside.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sees to it that a run ends once, also one that is dropped before its time.
struct Ending(Option<Arc<RunShared>>);

impl Ending {
    fn tell(mut self, bodies: impl FnOnce() -> [EventBody; 2]) {
        if let Some(shared) = self.0.take() {
            shared.feed.tell_last(bodies);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else {
            return;
        };
        shared.cancel.cancel();
        shared.feed.tell_last(|| {
            let last = EventBody::Status {
                status: ExecutionStatus::Interrupted,
                error: Some(NodeError::cancelled()),
            };
            [EventBody::InterfaceOutputs(Arc::default()), last]
        });
    }
}

struct Run {
    ending: Ending,
    inside: Arc<Inside>,
    plan: Plan,
    shared: Arc<RunShared>,
    state: State,
    timeout: Option<Duration>,
    is_nested: bool,
}

impl Run {
    async fn run(mut self) -> ExecutionOutcome {
        self.tell(EventBody::Accepted);
        let turns = self.inside.turns.clone();
        let turn = match turns.try_acquire() {
            _ if self.is_nested => None,
            Ok(turn) => Some(turn),
            Err(_) => {
                self.status(ExecutionStatus::Queued, None);
                let waiting = Waiting::new(&self.inside);
                self.tell_queue();
                let turn = tokio::select! {
                    turn = turns.acquire() => turn.ok(),
                    () = self.shared.cancel.cancelled() => None,
                };
                drop(waiting);
                self.tell_queue();
                match turn {
                    Some(turn) => Some(turn),
                    None => return self.end(Err(NodeError::cancelled())),
                }
            }
        };
        self.status(ExecutionStatus::Running, None);
        let end = self.work().await;
        // Whatever a node left behind ends with the run.
        self.shared.cancel.cancel();
        drop(turn);
        self.end(end)
    }

    async fn work(&mut self) -> Result<(), NodeError> {
        let (plan, shared) = (self.plan.clone(), self.shared.clone());
        let mut parts = vec![shared.ledger.join()];
        let state = &mut self.state;
        let work = run_region(&shared, &plan.0, state, None, Streams::Run, &mut parts);
        match self.timeout {
            None => work.await,
            Some(limit) => in_time(work, limit, &shared.cancel).await,
        }
    }

    fn tell(&self, body: EventBody) {
        if self.shared.feed.is_followed() {
            self.shared.feed.tell(body);
        }
    }

    fn status(&self, status: ExecutionStatus, error: Option<NodeError>) {
        self.tell(EventBody::Status { status, error });
    }

    fn tell_queue(&self) {
        let free = self.inside.turns.available_permits();
        self.tell(EventBody::Queue {
            running: self
                .inside
                .options
                .parallel_runs
                .max(1)
                .saturating_sub(free),
            pending: self.inside.queued.load(Ordering::Relaxed),
        });
    }

    fn end(self, end: Result<(), NodeError>) -> ExecutionOutcome {
        let outputs = self.plan.0.outputs.iter();
        let outputs = outputs.filter_map(|output| {
            let value = output_value(&output.input, &self.state)?;
            Some((output.key.clone(), value))
        });
        let outputs = Arc::new(outputs.collect::<Vec<_>>());
        let failures = self.state.failures().to_vec();
        let (status, error) = match end {
            Err(error) if error.is_cancelled() => (ExecutionStatus::Interrupted, Some(error)),
            Err(error) => (ExecutionStatus::Error, Some(error)),
            Ok(()) => match failures.first() {
                Some(failure) => {
                    let error = NodeError {
                        message: format!("{}: {}", failure.node, failure.error.message),
                        ..failure.error.clone()
                    };
                    (ExecutionStatus::Error, Some(error))
                }
                None => (ExecutionStatus::Complete, None),
            },
        };
        self.ending.tell(|| {
            let last = EventBody::Status {
                status,
                error: error.clone(),
            };
            [EventBody::InterfaceOutputs(outputs.clone()), last]
        });
        ExecutionOutcome {
            prompt_id: self.shared.feed.prompt_id.clone(),
            status,
            outputs,
            error,
            failed: self.state.failed(),
            failures,
        }
    }
}

#[cfg(test)]
#[path = "engine_tests/mod.rs"]
mod tests;
