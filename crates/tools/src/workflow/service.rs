//! The engine among the tools: finds workflows, keeps them ready, and runs them for whoever calls.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use innkeeper_engine::port::{ModelPort, Services};
use innkeeper_engine::{ExecutionEngine, ExecutionOutcome, Plan, RunOptions, WorkflowSource};
use innkeeper_store::EventBus;
use serde_json::{Map, Value as Json};

use super::catalogue::WorkflowStatus;
use super::event_port::RunEvents;
use super::outcome::{not_found, not_ready, start_error};
use super::places::{Place, Places};
use super::plans::{Plans, Ready};
use super::told::{Pieces, followed};
use super::tool_port::RunTools;
use crate::meter::Metered;
use crate::registry::Scope;
use crate::{CallContext, Caller, ToolError, ToolRun};

/// What a service is put together from.
pub struct WorkflowParts {
    pub engine: ExecutionEngine,
    /// Where projects and the library lie.
    pub home: PathBuf,
    /// Nodes that ask a language model fail without.
    pub models: Option<Arc<dyn ModelPort>>,
    pub bus: Arc<dyn EventBus>,
}

/// Cheap to clone; clones are the same service.
#[derive(Clone)]
pub struct WorkflowService(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) engine: ExecutionEngine,
    pub(super) places: Places,
    pub(super) catalogue: ArcSwap<Vec<WorkflowStatus>>,
    plans: Plans,
    models: Option<Arc<dyn ModelPort>>,
    bus: Arc<dyn EventBus>,
}

/// A plugin that is on, and may have workflows in its folder `workflows`.
#[derive(Debug, Clone)]
pub struct PluginWorkflows {
    pub name: String,
    pub root: PathBuf,
}

/// For whom a workflow runs: what nodes of plugins ask their context for.
#[derive(Debug, Clone)]
pub(crate) struct WorkflowHost {
    pub(crate) run: ToolRun,
    pub(crate) leave: NodeLeave,
}

/// What has been decided about the nodes of plugins before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeLeave {
    /// Nothing: they stand in a workflow.
    Workflow,
    /// The only node there is stands behind a tool of its own plugin, which may be called.
    Tool,
    /// The only node there is was called by its own name, and has passed the pipeline.
    Passed,
}

impl WorkflowService {
    pub fn new(parts: WorkflowParts) -> Self {
        Self(Arc::new(Inner {
            engine: parts.engine,
            places: Places::new(parts.home),
            catalogue: ArcSwap::default(),
            plans: Plans::default(),
            models: parts.models,
            bus: parts.bus,
        }))
    }

    pub fn engine(&self) -> &ExecutionEngine {
        &self.0.engine
    }

    /// Whom nodes ask for text; nobody in a house without models.
    pub fn models(&self) -> Option<&Arc<dyn ModelPort>> {
        self.0.models.as_ref()
    }

    /// Where the groups of a workflow are looked for: of one that lies in a project, there too. What it does blocks.
    pub fn source(&self, project: Option<&Scope>) -> Arc<dyn WorkflowSource> {
        Arc::new(self.0.places.view(project))
    }

    /// The workflow of that id in that place, as the place is now, ready to run. Blocks.
    fn prepare(
        &self,
        scope: &Scope,
        place: Option<&Place>,
        reference: &str,
    ) -> Result<Ready, ToolError> {
        let scope = matches!(place, Some(Place::Project(_))).then_some(scope);
        let view = self.0.places.view(scope);
        let found = match place {
            Some(place) => view.find_at(place, reference),
            None => view.find(reference),
        };
        let workflow = found.map_err(|error| not_found(&error))?;
        let prepared = self.0.plans.prepare(&self.0.engine, scope, &view, workflow);
        prepared.map_err(|problems| not_ready(reference, &problems))
    }

    /// The same from where nothing may block.
    pub(super) async fn prepared(
        &self,
        caller: &Caller,
        place: Option<&Place>,
        reference: &str,
    ) -> Result<Ready, ToolError> {
        let (service, scope) = (self.clone(), Scope::of(caller));
        let (place, name) = (place.cloned(), reference.to_owned());
        let work = move || service.prepare(&scope, place.as_ref(), &name);
        let work = tokio::task::spawn_blocking(work).await;
        work.unwrap_or_else(|error| Err(ToolError::failed(error.to_string())))
    }

    /// A workflow that the caller can see, ready to run. For whoever runs one by itself and not as a call.
    pub async fn plan(&self, caller: &Caller, reference: &str) -> Result<Plan, ToolError> {
        Ok(self.prepared(caller, None, reference).await?.plan)
    }

    /// All that the nodes of a run may ask for. `run` has been taken one level deeper for them.
    pub fn services(&self, run: ToolRun) -> Services {
        self.services_by(run, NodeLeave::Workflow)
    }

    fn services_by(&self, run: ToolRun, leave: NodeLeave) -> Services {
        Services {
            tools: Some(Arc::new(RunTools(run.clone()))),
            models: self.models_for(&run),
            events: Some(Arc::new(RunEvents {
                bus: self.0.bus.clone(),
                run: run.clone(),
            })),
            host: Some(Arc::new(WorkflowHost { run, leave })),
        }
    }

    /// What a call asks is counted as its own.
    fn models_for(&self, run: &ToolRun) -> Option<Arc<dyn ModelPort>> {
        let models = self.0.models.clone()?;
        let Some(meter) = run.meter.clone() else {
            return Some(models);
        };
        let call = run.place.as_ref();
        Some(Arc::new(Metered {
            models,
            meter,
            call: call.and_then(|place| place.asked_as.clone()),
        }))
    }

    /// Runs a plan as part of a call, under the name that is told where calls are nested.
    pub(super) async fn run(
        &self,
        name: &str,
        plan: &Plan,
        inputs: Map<String, Json>,
        outputs: usize,
        context: &CallContext,
        leave: NodeLeave,
    ) -> Result<ExecutionOutcome, ToolError> {
        let outer = context.run.as_ref();
        let run = outer.map(|run| run.within(name)).transpose()?;
        let prompt_id = match context.attempt {
            1 => context.call_id.clone(),
            attempt => format!("{}-{attempt}", context.call_id),
        };
        let progress = &context.progress;
        let options = RunOptions {
            prompt_id: Some(prompt_id.clone()),
            inputs,
            shared_inputs: Vec::new(),
            services: match run {
                Some(run) => self.services_by(run, leave),
                // Nothing can be asked for where nobody could say whether it may be.
                None => Services {
                    models: self.0.models.clone(),
                    ..Services::default()
                },
            },
            cancel: context.cancel.clone(),
            timeout: None,
            cache_scope: Some(Scope::of(&context.caller).kept_under()),
            sink: progress.is_heard().then(|| {
                Arc::new(Pieces {
                    progress: progress.clone(),
                    is_bare: outputs == 1,
                }) as Arc<_>
            }),
            is_fresh: outer.is_some_and(|run| run.is_fresh),
            is_nested: outer.is_some_and(ToolRun::is_nested),
        };
        let engine = &self.0.engine;
        let outcome = match progress.is_heard() {
            // Nobody listens, so nothing need be told.
            false => engine.run(plan, options).await,
            true => {
                let events = engine.subscribe_to(prompt_id);
                followed(events, progress, engine.run(plan, options)).await
            }
        };
        outcome.map_err(|error| start_error(&error))
    }
}
