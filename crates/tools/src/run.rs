//! One run: a caller, one snapshot of the registry, one budget, one way to stop it all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use innkeeper_engine::Kept;
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{
    Aliases, Block, BoundCall, ErrorCode, Locale, Manifest, Observation, Outcome, Protocol, Reply,
    ToolCallRequest, render_manifest,
};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::limits::{MAX_NESTED_CALLS, MAX_WAIT};
use crate::listener::{BlockOptions, BlockRan, CallPlace};
use crate::manager::Shared;
use crate::pipeline::ready::{self, Ready};
use crate::pipeline::trail::{Trail, unwritable};
use crate::pipeline::{call, stop};
use crate::registry::{Lookup, Scope, Snapshot};
use crate::task::{Entry, TaskRecord};
use crate::{
    BudgetLimits, CallListener, Caller, ModelMeter, Progress, SpillPlace, ToolError, block, mention,
};

/// What a run is given beyond its caller.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub budget: BudgetLimits,
    pub cancel: CancellationToken,
    pub results: ResultLength,
    /// Where long results go; files of the project if nothing else is said.
    pub spill: Option<Arc<dyn SpillPlace>>,
    /// Within what a `request_id` means one thing; the run's own id if nothing else is said.
    pub request_scope: Option<String>,
    /// Which nodes of plugins workflows may use that are called in this run.
    pub nodes: NodeReach,
    /// Workflows that are called in this run take nothing that earlier runs have kept.
    pub fresh: bool,
    /// What `tools.search` says of a tool.
    pub found: FoundTools,
    /// Counts what tools ask of models.
    pub meter: Option<Arc<dyn ModelMeter>>,
}

/// How much is told of a tool that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoundTools {
    /// All that a call needs. For people and programs.
    #[default]
    Whole,
    /// What it is for. Whoever runs the agent tells the model how to call it, in the words of its dialect.
    Named,
}

/// Whether an agent may use a plugin's node in a workflow without being allowed it by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeReach {
    /// Only those that its profile allows by their full type: a workflow may have been written by the agent itself.
    #[default]
    ByName,
    /// As any tool, by pattern too: a person has chosen the workflow.
    ByPattern,
}

/// How much of a result is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultLength {
    /// The beginning of a long one; the whole is kept in a file. For models.
    #[default]
    Capped,
    /// All of it. For people and programs.
    Whole,
}

/// A run at work. Clones are the same run.
#[derive(Clone)]
pub struct ToolRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) cancel: CancellationToken,
    pub(crate) request_scope: Arc<str>,
    pub(crate) results: ResultLength,
    pub(crate) spill: Option<Arc<dyn SpillPlace>>,
    pub(crate) nodes: NodeReach,
    /// Who hears how far calls are.
    pub(crate) progress: Progress,
    /// What the node that calls lends of the results that are kept.
    pub(crate) kept: Option<Kept>,
    pub(crate) is_fresh: bool,
    pub(crate) meter: Option<Arc<dyn ModelMeter>>,
    found: FoundTools,
    /// The call of a block that this is part of.
    pub(crate) place: Option<CallPlace>,
    /// Tools that are being called and call others, the outermost first.
    chain: Arc<[String]>,
    names: Arc<Mutex<HashMap<Protocol, Arc<Aliases>>>>,
    _end: Arc<End>,
}

impl fmt::Debug for ToolRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolRun({})", self.caller.run)
    }
}

/// With the last clone of a run go the answers that people gave for it, and what others keep for it.
pub(crate) struct End {
    shared: Arc<Shared>,
    run: RunId,
}

impl End {
    /// One for all that is begun under one id at a time.
    fn of(shared: &Arc<Shared>, run: &RunId) -> Arc<Self> {
        let mut open = shared.open_runs();
        open.retain(|_, end| end.strong_count() > 0);
        if let Some(end) = open.get(run).and_then(Weak::upgrade) {
            return end;
        }
        let end = Arc::new(Self {
            shared: shared.clone(),
            run: run.clone(),
        });
        open.insert(run.clone(), Arc::downgrade(&end));
        end
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.shared.approvals.end_run(&self.run);
        self.shared.run_ends.tell(&self.run);
    }
}

impl ToolRun {
    pub(crate) fn begin(shared: Arc<Shared>, caller: Caller, options: RunOptions) -> Self {
        let scope = options
            .request_scope
            .unwrap_or_else(|| format!("run:{}", caller.desk()));
        Self {
            _end: End::of(&shared, &caller.desk()),
            snapshot: shared.registry.snapshot_for(&Scope::of(&caller)),
            names: Arc::default(),
            progress: Progress::default(),
            kept: None,
            is_fresh: options.fresh,
            found: options.found,
            meter: options.meter,
            place: None,
            chain: Arc::default(),
            shared,
            budget: Arc::new(Budget::new(options.budget)),
            cancel: options.cancel,
            results: options.results,
            spill: options.spill,
            nodes: options.nodes,
            request_scope: scope.into(),
            caller: Arc::new(caller),
        }
    }

    /// The same run for what a tool calls while it is called itself: the same caller, tools and budget. Results are
    /// given whole, for they are worked on; what comes of the outer call is cut as ever.
    pub fn within(&self, tool: &str) -> Result<Self, ToolError> {
        let mut chain = self.chain.to_vec();
        chain.push(tool.to_owned());
        if chain.len() > MAX_NESTED_CALLS {
            let message = format!(
                "tools that call tools are nested more than {MAX_NESTED_CALLS} deep: {}; let one of them do its work without calling the next",
                chain.join(" → ")
            );
            return Err(ToolError::failed(message)
                .because("tool.nested_too_deep")
                .permanent());
        }
        Ok(Self {
            chain: chain.into(),
            results: ResultLength::Whole,
            progress: Progress::default(),
            place: self.place.clone().map(|place| CallPlace {
                listener: None,
                ..place
            }),
            ..self.keeping_nothing()
        })
    }

    /// The same run for calls that are always made.
    pub(crate) fn keeping_nothing(&self) -> Self {
        Self {
            kept: None,
            ..self.clone()
        }
    }

    /// The same run for calls whose results a node keeps.
    pub(crate) fn keeping(&self, kept: Option<Kept>) -> Self {
        Self {
            kept,
            ..self.clone()
        }
    }

    /// Whether its calls are made by a tool that is being called.
    pub fn is_nested(&self) -> bool {
        !self.chain.is_empty()
    }

    /// A single call to its very end: a task is waited for. `cancel` stops this call and nothing else.
    pub async fn run_to_end(
        &self,
        request: &ToolCallRequest<'_>,
        progress: Progress,
        cancel: &CancellationToken,
    ) -> Observation {
        self.stoppable(progress, cancel, |run| async move {
            run.pass_to_end(request).await
        })
        .await
    }

    /// What a node does, on the way of every call. `cancel` stops this and nothing else.
    pub(crate) async fn run_ready(
        &self,
        call: Ready,
        progress: Progress,
        cancel: &CancellationToken,
    ) -> Result<Json, Outcome> {
        self.stoppable(progress, cancel, |run| async move {
            ready::pass(&run, call).await
        })
        .await
    }

    async fn stoppable<F: Future>(
        &self,
        progress: Progress,
        cancel: &CancellationToken,
        work: impl FnOnce(Self) -> F,
    ) -> F::Output {
        let own = self.cancel.child_token();
        // Also where nobody waits any more.
        let _stop = own.clone().drop_guard();
        let run = Self {
            cancel: own.clone(),
            progress,
            ..self.clone()
        };
        let mut work = std::pin::pin!(work(run));
        tokio::select! {
            biased;
            end = &mut work => end,
            () = cancel.cancelled() => {
                own.cancel();
                work.await
            }
        }
    }

    async fn pass_to_end(&self, request: &ToolCallRequest<'_>) -> Observation {
        let passed = call::pass(self, request, None).await;
        let Some(task) = passed.task else {
            return passed.observation;
        };
        task.release();
        // Whoever waits here is told here, and not once more with the run's other tasks.
        task.mark_told();
        let observation = passed.observation;
        match self.wait_for(&task).await {
            Ok(record) => record.observation.unwrap_or(observation),
            Err(outcome) => Observation {
                outcome,
                ..observation
            },
        }
    }

    /// The tools of this run, as they were when it began.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    pub(crate) fn found(&self) -> FoundTools {
        // What a workflow looks for, it works on.
        match self.is_nested() {
            true => FoundTools::Whole,
            false => self.found,
        }
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The names under which a dialect knows the tools of this run; made when they are first needed.
    pub fn aliases(&self, protocol: Protocol) -> Arc<Aliases> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names
            .entry(protocol)
            .or_insert_with(|| {
                let tools = self.snapshot.definitions(&self.caller.reach);
                Arc::new(Aliases::new(tools, protocol))
            })
            .clone()
    }

    /// What this run's model is told of its tools.
    pub fn manifest(&self, protocol: Protocol, locale: Locale) -> Manifest {
        let tools = self.snapshot.definitions(&self.caller.reach);
        render_manifest(tools, protocol, locale)
    }

    /// The call in the tool's own names, where the model used those of its dialect.
    pub(crate) fn restored<'r>(
        &self,
        call: &'r ToolCallRequest<'r>,
    ) -> Cow<'r, ToolCallRequest<'r>> {
        let as_written = match self.snapshot.find(&call.tool) {
            Lookup::Found(tool) => !tool.has_odd_names(),
            Lookup::Unknown { .. } => false,
        };
        if as_written {
            return Cow::Borrowed(call);
        }
        let mut own = call.clone();
        self.aliases(call.protocol).restore(&mut own);
        Cow::Owned(own)
    }

    /// Everything that a model asked for, block after block, and everything it must be told about its text.
    pub async fn run_reply(&self, reply: &Reply<'_>) -> Vec<Observation> {
        let mut said: Vec<Observation> = Vec::new();
        let text = Reply {
            blocks: Vec::new(),
            ..reply.clone()
        };
        said.extend(Observation::of_reply(&text));
        for block in &reply.blocks {
            said.extend(self.run_block(block).await);
        }
        said
    }

    /// The steps of a block, in order.
    pub async fn run_block(&self, block: &Block<'_>) -> Vec<Observation> {
        block::run(self, block).await
    }

    /// The same, told to a listener call by call, and from where it was left.
    pub async fn run_block_with(&self, block: &Block<'_>, options: BlockOptions) -> BlockRan {
        block::run_with(self, block, options).await
    }

    /// The same run for one call of a block.
    pub(crate) fn at(&self, place: CallPlace) -> Self {
        Self {
            place: Some(place),
            ..self.clone()
        }
    }

    pub(crate) fn listener(&self) -> Option<(&Arc<dyn CallListener>, usize)> {
        let place = self.place.as_ref()?;
        Some((place.listener.as_ref()?, place.position))
    }

    /// A single call that stands in no block.
    pub async fn run_call(&self, request: &ToolCallRequest<'_>) -> Observation {
        let passed = call::pass(self, request, None).await;
        if let Some(task) = passed.task {
            task.release();
        }
        passed.observation
    }

    /// What became of tasks that ended since this was last asked: for the agent's next turn.
    pub fn finished_tasks(&self) -> Vec<Observation> {
        self.entries()
            .iter()
            .filter_map(|entry| entry.tell())
            .collect()
    }

    /// Waits until a task of this run has ended whose end was not given yet.
    pub async fn any_task_ended(&self) {
        let mut open = self.entries();
        open.retain(|entry| !entry.is_told());
        if open.is_empty() {
            return std::future::pending().await;
        }
        let mut ends = Vec::with_capacity(open.len());
        for entry in &open {
            ends.push(Box::pin(entry.ended()));
        }
        futures_util::future::select_all(ends).await;
    }

    /// Waits until no task of this run is at work.
    pub async fn settle(&self) {
        for entry in self.entries() {
            entry.ended().await;
        }
    }

    pub fn tasks(&self) -> Vec<TaskRecord> {
        self.shared.tasks.list(&self.caller.desk())
    }

    /// Stops everything that this run has under way.
    pub fn stop(&self) {
        self.cancel.cancel();
    }

    fn entries(&self) -> Vec<Arc<Entry>> {
        self.shared.tasks.entries(&self.caller.desk())
    }

    pub(crate) fn stopped(&self) -> Outcome {
        Outcome::Cancelled {
            reason: "the run was stopped".to_owned(),
        }
    }

    /// Nothing begins in a run that is being stopped, and nothing runs that could not be written down.
    pub(crate) async fn check_open(&self) -> Result<(), Outcome> {
        if self.cancel.is_cancelled() {
            return Err(self.stopped());
        }
        let Some(why) = self.shared.audit_fault() else {
            return Ok(());
        };
        // What went wrong may have been mended since.
        match self.shared.store.flush().await {
            Ok(()) => {
                self.shared.audit_mended();
                Ok(())
            }
            Err(_) => Err(unwritable(&why)),
        }
    }

    pub(crate) async fn note(&self, trail: Trail, outcome: &Outcome) {
        if let Err(why) = trail.close(outcome).await {
            self.shared.audit_failed(why);
        }
    }

    /// The audit entry of a call that never came as far as the pipeline.
    pub(crate) async fn note_unrun(&self, request: &ToolCallRequest<'_>, outcome: &Outcome) {
        let call_id = self.shared.next_call();
        let mut trail = Trail::begin(self, request, &call_id);
        let tool = match self.snapshot.find(&request.tool) {
            Lookup::Found(tool) => Some(tool.as_ref()),
            Lookup::Unknown { .. } => None,
        };
        if let Some(tool) = tool {
            trail.found(tool);
        }
        trail.written_are(request, tool);
        self.note(trail, outcome).await;
    }

    /// A call that mentions a file which a task is still making waits for that task, whatever comes of it:
    /// whether the file is needed is for the tool to say.
    pub(crate) async fn wait_for_promised(&self, bound: &BoundCall) -> Result<(), Outcome> {
        for entry in self.entries() {
            if !entry.is_running() {
                continue;
            }
            let promises = entry.record().promises;
            if promises.is_empty() {
                continue;
            }
            let files = &self.shared.files;
            let is_promised = |text: &str| {
                files
                    .resolve(&self.caller, text)
                    .is_ok_and(|uri| promises.contains(&uri.to_string()))
            };
            let by_uri = bound
                .uris
                .values()
                .any(|argument| is_promised(&argument.uri));
            let mentioned = by_uri
                || bound
                    .arguments
                    .values()
                    .any(|value| mention::any(value, &is_promised));
            if mentioned {
                self.wait_for(&entry).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn wait_for(&self, entry: &Entry) -> Result<TaskRecord, Outcome> {
        tokio::select! {
            ended = tokio::time::timeout(MAX_WAIT, entry.ended()) => ended.map_err(|_| {
                stop(
                    ErrorCode::ToolTimeout,
                    format!(
                        "task {} did not end within {} minutes; ask for it with task.status",
                        entry.record().task_id,
                        MAX_WAIT.as_secs() / 60
                    ),
                )
            }),
            () = self.cancel.cancelled() => Err(self.stopped()),
        }
    }
}
