//! What a command on workflows needs of the platform: the engine, the shelves where workflows are found, and what a
//! run may reach.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innkeeper_engine::port::Services;
use innkeeper_engine::{
    ExecutionEngine, FindError, Problems, Workflow, WorkflowFolder, WorkflowSource, shipped,
};
use innkeeper_protocol::event::RunId;
use innkeeper_tools::plugin::Standing;
use innkeeper_tools::policy::{Approver, Nobody};
use innkeeper_tools::registry::Scope;
use innkeeper_tools::{Caller, NodeReach, ProjectId, Reach, RunOptions};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::home::Home;
use crate::platform::Platform;
use crate::runtime::block_on;

/// The profile under whose name the tools of a run are called; rules and grants may name it. The person began the run,
/// but what its nodes call may well be a model's wish: it is asked about as an agent's is.
const PROFILE: &str = "cli";
/// The owner of what lies in the project.
const PROJECT: &str = "project";

pub(super) struct House {
    platform: Platform,
    project: ProjectId,
    pub(super) engine: ExecutionEngine,
    pub(super) library: Library,
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
            library: Library::of(home, project, &platform),
            project: project.clone(),
            platform,
        })
    }

    pub(super) async fn close(self) -> Result<(), Failure> {
        self.platform.close().await
    }

    /// Where the groups of a workflow are looked for that was named by its file: beside it, then as for the project.
    pub(super) fn groups_beside(&self, folder: Option<PathBuf>) -> Beside {
        Beside {
            own: folder.map(|folder| WorkflowFolder::new([folder])),
            all: self.platform.workflows.source(Some(&self.scope())),
        }
    }

    /// The same for one that was found on a shelf: what all have is not made of what a project has.
    pub(super) fn groups_of(&self, item: &Item) -> Beside {
        let scope = self.scope();
        let scope = (item.owner == PROJECT).then_some(&scope);
        Beside {
            own: None,
            all: self.platform.workflows.source(scope),
        }
    }

    fn scope(&self) -> Scope {
        Scope {
            project: self.project.clone(),
            ..Scope::default()
        }
    }

    /// What the nodes of one run may reach, for as long as it is not cancelled.
    pub(super) fn services(&self, name: &str, run: RunId, cancel: &CancellationToken) -> Services {
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

/// All that can be found by name, nearest first, with what is wrong with it: for people who look.
pub(super) struct Library(Vec<Shelf>);

/// A folder of workflows, and whose it is.
struct Shelf {
    owner: String,
    folder: WorkflowFolder,
}

/// A workflow of the library.
pub(super) struct Item {
    /// `project`, `library`, `plugin:scribe`, `shipped`.
    pub(super) owner: String,
    /// None for one that is shipped.
    pub(super) path: Option<PathBuf>,
    pub(super) stem: String,
    /// None if the file is none.
    pub(super) workflow: Option<Arc<Workflow>>,
    pub(super) problems: Problems,
}

impl Library {
    fn of(home: &Home, project: &ProjectId, platform: &Platform) -> Self {
        let shelf = |owner: String, folder: PathBuf| Shelf {
            owner,
            folder: WorkflowFolder::new([folder.join("workflows")]),
        };
        let own = home.file("projects").join(project.as_str());
        let mut shelves = Vec::new();
        // A link could lead anywhere; runs do not follow it either.
        if is_folder(&own) && is_folder(&own.join("workflows")) {
            shelves.push(shelf(PROJECT.to_owned(), own));
        }
        shelves.push(shelf("library".to_owned(), home.file("library")));
        let plugins = platform.plugins.plugins();
        let enabled = plugins
            .iter()
            .filter(|plugin| plugin.state == Standing::Enabled);
        shelves.extend(enabled.map(|plugin| {
            let owner = format!("plugin:{}", plugin.name);
            shelf(owner, plugin.folder.clone())
        }));
        Self(shelves)
    }

    /// Everything, shelf by shelf. Blocks.
    pub(super) fn list(&self) -> Vec<Item> {
        let files = self.0.iter().flat_map(|shelf| {
            let entries = shelf.folder.list().into_iter();
            entries.map(|entry| Item {
                owner: shelf.owner.clone(),
                stem: entry.stem.clone(),
                workflow: entry.reading.workflow.clone().map(Arc::new),
                problems: entry.problems,
                path: Some(entry.path),
            })
        });
        let shipped = shipped::list().iter().map(|one| Item {
            owner: "shipped".to_owned(),
            path: None,
            stem: one.id.to_owned(),
            workflow: Some(one.workflow.clone()),
            problems: Problems::default(),
        });
        files.chain(shipped).collect()
    }
}

impl Item {
    pub(super) fn id(&self) -> Option<&str> {
        self.workflow.as_ref()?.id.as_deref()
    }

    pub(super) fn name(&self) -> Option<&str> {
        Some(&self.workflow.as_ref()?.name)
    }

    /// Its file, or what it is called among those that are shipped.
    pub(super) fn place(&self) -> String {
        match &self.path {
            Some(path) => path.to_string_lossy().into_owned(),
            None => format!("{}:{}", self.owner, self.stem),
        }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
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
