//! What a command on workflows needs of the platform: the engine, the workflows that can be found, and what a run may
//! reach.

use std::path::PathBuf;
use std::sync::Arc;

use innkeeper_engine::port::Services;
use innkeeper_engine::{ExecutionEngine, FindError, Workflow, WorkflowFolder, WorkflowSource};
use innkeeper_protocol::event::RunId;
use innkeeper_tools::policy::{Approver, Nobody};
use innkeeper_tools::registry::Scope;
use innkeeper_tools::workflow::{Place, Seen};
use innkeeper_tools::{Caller, NodeReach, ProjectId, Reach, RunOptions};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::home::Home;
use crate::models::Used;
use crate::platform::Platform;
use crate::runtime::block_on;

/// The profile under whose name the tools of a run are called; rules and grants may name it. The person began the run,
/// but what its nodes call may well be a model's wish: it is asked about as an agent's is.
const PROFILE: &str = "cli";

pub(super) struct House {
    platform: Platform,
    project: ProjectId,
    pub(super) engine: ExecutionEngine,
}

/// One run of a workflow.
pub(super) struct RunOf<'r> {
    pub(super) name: &'r str,
    pub(super) run: RunId,
    pub(super) cancel: &'r CancellationToken,
    /// Also the workflows that it calls take nothing that was kept.
    pub(super) fresh: bool,
}

impl House {
    pub(super) async fn open(
        home: &Home,
        project: &ProjectId,
        approver: Arc<dyn Approver>,
    ) -> Result<Self, Failure> {
        let platform = Platform::open(home, approver).await?;
        Ok(Self {
            engine: platform.workflows.engine().clone(),
            project: project.clone(),
            platform,
        })
    }

    pub(super) async fn close(self) -> Result<(), Failure> {
        self.platform.close().await
    }

    /// What the models have used so far.
    pub(super) fn used(&self) -> Used {
        self.platform.tally.used()
    }

    /// Why the rehearsal has answered, if that may surprise.
    pub(super) fn rehearsal_note(&self) -> Option<&[String; 2]> {
        let note = self.platform.not_ready.as_ref();
        note.filter(|_| self.platform.tally.rehearsed())
    }

    /// All that can be found by name, nearest first. Blocks.
    pub(super) fn library(&self) -> Vec<Seen> {
        self.platform.workflows.look(Some(&self.scope()))
    }

    /// Where the groups of a workflow are looked for that was named by its file: beside it, then as for the project.
    pub(super) fn groups_beside(&self, folder: Option<PathBuf>) -> Beside {
        Beside {
            own: folder.map(|folder| WorkflowFolder::new([folder])),
            all: self.platform.workflows.source(Some(&self.scope())),
        }
    }

    /// The same for one that was found by name: what all have is not made of what a project has.
    pub(super) fn groups_of(&self, place: &Place) -> Beside {
        let scope = self.scope();
        let scope = matches!(place, Place::Project(_)).then_some(&scope);
        Beside {
            own: None,
            all: self.platform.workflows.source(scope),
        }
    }

    pub(super) fn scope(&self) -> Scope {
        Scope {
            project: self.project.clone(),
            ..Scope::default()
        }
    }

    /// What the nodes of one run may reach, for as long as it is not cancelled.
    pub(super) fn services(&self, of: RunOf<'_>) -> Services {
        let RunOf {
            name,
            run,
            cancel,
            fresh,
        } = of;
        let mut caller = Caller::agent(PROFILE, run, Reach::everything());
        caller.project = self.project.clone();
        let run = self.platform.tools.begin(
            caller,
            RunOptions {
                budget: self.platform.budget.clone(),
                cancel: cancel.clone(),
                request_scope: Some(format!("{PROFILE}:{}", self.project)),
                // A person has named the workflow.
                nodes: NodeReach::ByPattern,
                fresh,
                ..RunOptions::default()
            },
        );
        // The first level is never too deep.
        let run = run.within(name).unwrap_or(run);
        self.platform.workflows.services(run)
    }
}

/// Looks at workflows in a house; what it does may block.
pub(super) fn in_house<T>(
    home: &Home,
    project: &ProjectId,
    work: impl FnOnce(&House) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let house = House::open(home, project, Arc::new(Nobody)).await?;
        let end = tokio::task::block_in_place(|| work(&house));
        house.close().await?;
        end
    })
}

/// The files beside a workflow first, then those that are found by name.
pub(super) struct Beside {
    own: Option<WorkflowFolder>,
    all: Arc<dyn WorkflowSource>,
}

impl WorkflowSource for Beside {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        if let Some(own) = &self.own {
            match own.find(reference) {
                Err(FindError::Unknown { .. }) => {}
                found => return found,
            }
        }
        self.all.find(reference)
    }
}
