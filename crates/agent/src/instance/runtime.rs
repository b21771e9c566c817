//! All runs of this house: those at work here, and the way to those that are not.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use innkeeper_engine::{NoWorkflows, Plan};
use innkeeper_protocol::event::{RunId, RunStatus, WorkspaceId};
use innkeeper_protocol::{ErrorCode, Locale};
use innkeeper_store::journal::{Follower, RunFilter, RunJournal, RunPage, RunRecord};
use innkeeper_store::{Contents, StoreError};
use innkeeper_tools::workflow::WorkflowService;
use innkeeper_tools::{Clock, ProjectId, ToolManager, UserId};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::drive::AgentInstance;
use super::live::LiveFollower;
use super::log::Fault;
use super::offer::Offers;
use super::{AgentError, WaitError};
use crate::limits::MAX_LIVE_RUNS;
use crate::profile::Profiles;
use crate::skills::Skills;
use crate::state::Worlds;
use crate::workspace::{PersistentStates, Workspaces};

/// What a runtime is put together from.
pub struct AgentParts {
    pub tools: ToolManager,
    pub workflows: WorkflowService,
    /// Where profiles and projects lie.
    pub home: PathBuf,
    pub workspaces: Workspaces,
    pub persist: Arc<dyn PersistentStates>,
    pub clock: Arc<dyn Clock>,
    /// Of prompts.
    pub locale: Locale,
}

/// Cheap to clone; clones are the same runtime.
#[derive(Clone)]
pub struct AgentRuntime(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) parts: AgentParts,
    pub(super) persist: Arc<dyn PersistentStates>,
    pub(super) journal: Arc<dyn RunJournal>,
    pub(super) contents: Arc<dyn Contents>,
    /// The built-in one.
    pub(super) deliberation: Plan,
    pub(super) offers: Offers,
    pub(super) skills: Skills,
    pub(super) worlds: Worlds,
    alive: Mutex<HashMap<RunId, Alive>>,
    /// Held by whoever reads a run from its journal, until the run is driven.
    pub(super) taking_up: tokio::sync::Mutex<()>,
    /// Runs that stopped here because they could not be written down, until they are taken up again.
    faults: Mutex<HashMap<RunId, Fault>>,
    /// Fires when this process lets go of its runs.
    pub(super) closing: CancellationToken,
    tasks: TaskTracker,
    driven: OnceLock<DrivenListener>,
}

type DrivenListener = Box<dyn Fn(&RunId) + Send + Sync>;

pub(super) struct Alive {
    instance: Arc<AgentInstance>,
    /// There when it is not driven any more.
    left: watch::Receiver<Option<Left>>,
}

/// How a run was left.
#[derive(Clone)]
enum Left {
    /// It is over, waits for a person, or the process lets go of it.
    AsItIs,
    /// It could not be written down.
    Stopped(Fault),
}

/// How a run is told apart, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunHandle {
    pub run_id: RunId,
    pub workspace_id: WorkspaceId,
    pub stable_chat_id: String,
    pub generation_type: String,
    pub status: RunStatus,
}

impl From<&RunRecord> for RunHandle {
    fn from(record: &RunRecord) -> Self {
        Self {
            run_id: record.run_id.clone(),
            workspace_id: record.workspace_id.clone(),
            stable_chat_id: record.stable_chat_id.clone(),
            generation_type: record.generation_type.clone(),
            status: record.status,
        }
    }
}

impl AgentRuntime {
    pub fn new(parts: AgentParts) -> Result<Self, AgentError> {
        let journal = parts.tools.store().journal();
        Self::with_journal(parts, journal)
    }

    /// With a journal other than that of the store, or one that is watched.
    pub fn with_journal(
        parts: AgentParts,
        journal: Arc<dyn RunJournal>,
    ) -> Result<Self, AgentError> {
        let shipped = innkeeper_engine::shipped::find("deliberation");
        let engine = parts.workflows.engine();
        let plan = shipped.and_then(|workflow| engine.prepare(&workflow, &NoWorkflows).plan);
        let deliberation = plan.ok_or_else(|| {
            let message =
                "the built-in deliberation workflow cannot be run; this is a bug, please report it";
            AgentError::new(ErrorCode::AgentInternalError, message)
        })?;
        Ok(Self(Arc::new(Shared {
            persist: parts.persist.clone(),
            contents: parts.tools.store().contents(),
            journal,
            deliberation,
            offers: Offers::default(),
            skills: Skills::new(&parts.home),
            worlds: Worlds::new(parts.tools.store().worlds(), parts.clock.clone()),
            alive: Mutex::default(),
            taking_up: tokio::sync::Mutex::default(),
            faults: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            driven: OnceLock::new(),
            parts,
        })))
    }

    /// Tells of each run from the moment at which it is driven here: begun, taken up, resumed, answered or rolled back. Whoever
    /// sees to what runs ask of their host begins to follow it then. Told once for all; a second listener hears nothing.
    pub fn on_driven(&self, listener: impl Fn(&RunId) + Send + Sync + 'static) {
        drop(self.0.driven.set(Box::new(listener)));
    }

    pub fn profiles_of(&self, user: &UserId, project: &ProjectId) -> Profiles {
        Profiles::of_project(&self.0.parts.home, user, project)
    }

    /// Those of the house. They work on files: whoever is async asks from a thread of its own.
    pub fn skills(&self) -> &Skills {
        &self.0.skills
    }

    /// What the agents of each chat share.
    pub fn worlds(&self) -> &Worlds {
        &self.0.worlds
    }

    pub fn journal(&self) -> &Arc<dyn RunJournal> {
        &self.0.journal
    }

    /// What happens in a run, from after `seq` on.
    pub fn follow(&self, run: &RunId, after: u64) -> Follower {
        self.0.journal.follow(run, after)
    }

    /// The turn that a run is writing; nothing of one that is not at work here.
    pub fn follow_live(&self, run: &RunId) -> Option<LiveFollower> {
        Some(self.0.alive(run)?.live.follow())
    }

    pub async fn list(&self, filter: &RunFilter) -> Result<RunPage, AgentError> {
        Ok(self.0.journal.runs(filter).await?)
    }

    pub async fn record(&self, run: &RunId) -> Result<RunRecord, AgentError> {
        let record = self.0.journal.record(run).await?;
        record.ok_or_else(|| AgentError::no_run(run.as_str()))
    }

    /// Until the run is over, or is not driven here any more: it waits for a person, or the house is closing.
    ///
    /// A run that has stopped since it could not be written down is an error, whenever that was.
    pub async fn wait(&self, run: &RunId) -> Result<RunHandle, WaitError> {
        let left = self.0.lock().get(run).map(|alive| alive.left.clone());
        let cause = match left {
            Some(mut left) => match left.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Left::Stopped(fault))) => fault.get(),
                // Whoever drove it is gone as well if this fails.
                Ok(Some(Left::AsItIs) | None) | Err(_) => None,
            },
            None => self.fault(run),
        };
        match cause {
            Some(cause) => Err(WaitError::Stopped {
                run: run.clone(),
                cause,
            }),
            None => Ok(RunHandle::from(&self.record(run).await?)),
        }
    }

    pub fn is_alive(&self, run: &RunId) -> bool {
        self.0.alive(run).is_some()
    }

    /// Whether a run waits for people and is kept in its journal only. It is alive all the same.
    pub async fn is_resting(&self, run: &RunId) -> bool {
        match self.0.alive(run) {
            Some(instance) => instance.log.peek(|_| ()).await.is_none(),
            None => false,
        }
    }

    /// Lets go of a run of which nothing is under way but questions to people, and says whether that was so. Nothing of it
    /// begins here any more; it goes on, with what was answered meanwhile, when somebody takes it up.
    pub async fn leave_asking(&self, run: &RunId) -> Result<bool, AgentError> {
        let Some(instance) = self.0.alive(run) else {
            return Ok(false);
        };
        if !instance.log.seal_if_only_asking().await? {
            return Ok(false);
        }
        instance.cancel.cancel();
        self.wait(run).await?;
        Ok(true)
    }

    /// Why a run has stopped here without being over: it could not be written down. Once that is mended,
    /// [`AgentRuntime::recover`] takes it up. Whoever waits for it is told ([`WaitError::Stopped`]).
    pub fn fault(&self, run: &RunId) -> Option<StoreError> {
        self.0.faults().get(run).and_then(Fault::get)
    }

    /// Lets go of all runs: none is cancelled, and each goes on from where it was when they are next recovered.
    pub async fn close(&self) {
        self.0.closing.cancel();
        for instance in self.0.all() {
            instance.cancel.cancel();
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Alive>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn alive(&self, run: &RunId) -> Option<Arc<AgentInstance>> {
        self.lock().get(run).map(|alive| alive.instance.clone())
    }

    fn faults(&self) -> MutexGuard<'_, HashMap<RunId, Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self, run: &RunId, fault: Fault) {
        let mut faults = self.faults();
        // A house that cannot write anything has more to worry about than the names of all its runs.
        if faults.len() < MAX_LIVE_RUNS {
            faults.insert(run.clone(), fault);
        }
    }

    fn all(&self) -> Vec<Arc<AgentInstance>> {
        self.lock()
            .values()
            .map(|alive| alive.instance.clone())
            .collect()
    }

    /// Room for one more run at work.
    pub(super) fn check_room(&self) -> Result<(), AgentError> {
        if self.closing.is_cancelled() {
            let message = "the house is closing; start the run again when it is open";
            return Err(AgentError::new(ErrorCode::AgentTransient, message));
        }
        match self.lock().len() < MAX_LIVE_RUNS {
            true => Ok(()),
            false => Err(AgentError::new(
                ErrorCode::AgentTransient,
                format!(
                    "{MAX_LIVE_RUNS} runs are at work already; wait for one to end or cancel one"
                ),
            )),
        }
    }

    /// Done beside the runs, and before the house is closed.
    pub(super) fn follow_up(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.tasks.spawn(work)
    }

    /// Drives a run from now on. One that is driven already goes on as it does.
    pub(super) fn launch(self: &Arc<Self>, instance: Arc<AgentInstance>) {
        let run = instance.log.id().clone();
        let (gone, left) = watch::channel(None);
        {
            let mut alive = self.lock();
            if alive.contains_key(&run) {
                return;
            }
            alive.insert(
                run.clone(),
                Alive {
                    instance: instance.clone(),
                    left,
                },
            );
        }
        self.faults().remove(&run);
        self.parts.workspaces.open(&run, instance.session.clone());
        if let Some(listener) = self.driven.get() {
            listener(&run);
        }
        let shared = self.clone();
        self.tasks.spawn(async move {
            let mut leaving = Leaving {
                shared: shared.clone(),
                run,
                gone,
                left: Left::AsItIs,
            };
            let mut instance = instance;
            instance.drive().await;
            while let Some(next) = instance.successor().await {
                shared.succeed(&leaving.run, &next);
                instance = next;
                instance.drive().await;
            }
            if instance.log.fault().is_some() {
                let fault = instance.log.fault_cell();
                shared.stopped(&leaving.run, fault.clone());
                leaving.left = Left::Stopped(fault);
            }
            drop(leaving);
        });
    }
}

impl Shared {
    /// Another agent has the run now.
    fn succeed(&self, run: &RunId, next: &Arc<AgentInstance>) {
        if let Some(alive) = self.lock().get_mut(run) {
            alive.instance = next.clone();
        }
        self.parts.workspaces.open(run, next.session.clone());
    }
}

/// Also where driving it panics.
struct Leaving {
    shared: Arc<Shared>,
    run: RunId,
    gone: watch::Sender<Option<Left>>,
    left: Left,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.shared.parts.workspaces.close(&self.run);
        self.shared.lock().remove(&self.run);
        self.gone.send_replace(Some(self.left.clone()));
    }
}
