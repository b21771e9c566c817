//! Where workflows lie, and which one a name means.
//!
//! A project's own come first, then the library of the house, then what plugins bring, then what is shipped. The first
//! place that has a workflow with that id, or a file of that name, decides: one there that cannot be read is an error, not
//! a reason to look further. Only where no place has one is the first that is titled so taken.
//!
//! What all have sees what all have: a project's files are no part of a workflow that lies elsewhere.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_engine::{
    FindError, Problems, Workflow, WorkflowEntry, WorkflowFolder, WorkflowSource, shipped,
};
use serde::Serialize;

use super::PluginWorkflows;
use crate::limits::MAX_WORKFLOW_PROJECTS;
use crate::registry::Scope;
use crate::{ProjectId, UserId};

const WORKFLOWS: &str = "workflows";
const PROJECTS: &str = "projects";
const USERS: &str = "users";
const LIBRARY: &str = "library";

/// Where a workflow comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "name")]
pub enum Place {
    Project(String),
    Library,
    Plugin(String),
    Shipped,
}

impl Place {
    /// Whose it is, in one word: `project`, `library`, `plugin:scribe`, `shipped`.
    pub fn owner(&self) -> String {
        match self {
            Self::Project(_) => "project".to_owned(),
            Self::Library => "library".to_owned(),
            Self::Plugin(name) => format!("plugin:{name}"),
            Self::Shipped => "shipped".to_owned(),
        }
    }

    /// The source of its tools, as rules name it.
    pub fn source(&self) -> String {
        match self {
            Self::Project(name) => format!("workflow:project:{name}"),
            Self::Library => "workflow:library".to_owned(),
            Self::Plugin(name) => format!("workflow:plugin:{name}"),
            Self::Shipped => "workflow:shipped".to_owned(),
        }
    }
}

/// All folders that there are, with what was read from them.
pub(super) struct Places {
    home: PathBuf,
    plugins: Mutex<Arc<Vec<PluginWorkflows>>>,
    /// By path; each reads a file again only when it changed.
    folders: Mutex<HashMap<PathBuf, WorkflowFolder>>,
}

/// The places that one project sees, in order.
#[derive(Clone)]
pub(super) struct View {
    folders: Vec<(Place, WorkflowFolder)>,
}

impl Places {
    pub(super) fn new(home: PathBuf) -> Self {
        Self {
            home,
            plugins: Mutex::default(),
            folders: Mutex::default(),
        }
    }

    pub(super) fn set_plugins(&self, plugins: Vec<PluginWorkflows>) {
        *self.plugins.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(plugins);
    }

    /// What everyone sees, and what this project adds to it.
    pub(super) fn view(&self, scope: Option<&Scope>) -> View {
        let mut places = Vec::new();
        if let Some(scope) = scope
            && let Some(folder) = self.project_folder(scope)
        {
            places.push((Place::Project(scope.project.to_string()), folder));
        }
        places.push((Place::Library, self.home.join(LIBRARY).join(WORKFLOWS)));
        let plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let plugins = plugins.clone();
        places.extend(plugins.iter().map(|plugin| {
            let place = Place::Plugin(plugin.name.clone());
            (place, plugin.root.join(WORKFLOWS))
        }));
        let mut known = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        // Projects and plugins come and go.
        if known.len() > 2 * MAX_WORKFLOW_PROJECTS {
            known.clear();
        }
        let folders = places.into_iter().map(|(place, path)| {
            let folder = known.entry(path.clone());
            let folder = folder.or_insert_with(|| WorkflowFolder::new([path]));
            (place, folder.clone())
        });
        View {
            folders: folders.collect(),
        }
    }

    /// Only where it is a folder of the project itself: a link could lead anywhere.
    fn project_folder(&self, scope: &Scope) -> Option<PathBuf> {
        let project = self.projects_of(&scope.user).join(scope.project.as_str());
        let folder = project.join(WORKFLOWS);
        (is_folder(&project) && is_folder(&folder)).then_some(folder)
    }

    fn projects_of(&self, user: &UserId) -> PathBuf {
        match *user == UserId::default() {
            true => self.home.join(PROJECTS),
            false => self.home.join(USERS).join(user.as_str()).join(PROJECTS),
        }
    }

    /// The projects that have workflows of their own, by name.
    pub(super) fn projects(&self) -> Vec<Scope> {
        let mut users: Vec<UserId> = names(&self.home.join(USERS));
        users.retain(|user| *user != UserId::default());
        users.insert(0, UserId::default());
        let projects = users.into_iter().flat_map(|user| {
            let projects: Vec<ProjectId> = names(&self.projects_of(&user));
            let scopes = projects.into_iter().map(move |project| Scope {
                user: user.clone(),
                project,
            });
            scopes.collect::<Vec<_>>()
        });
        let with_folder = projects.filter(|scope| self.project_folder(scope).is_some());
        with_folder.take(MAX_WORKFLOW_PROJECTS).collect()
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

/// What a folder holds that has a good name, in order.
fn names<T: TryFrom<String> + Ord>(folder: &Path) -> Vec<T> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names = names.filter_map(|name| T::try_from(name).ok());
    // The first of them by name, whatever order the file system has; never many more in memory.
    let mut first = BTreeSet::new();
    for name in names {
        first.insert(name);
        if first.len() > 10 * MAX_WORKFLOW_PROJECTS {
            first.pop_last();
        }
    }
    first.into_iter().collect()
}

/// A workflow file, or a workflow that is shipped.
#[derive(Debug, Clone)]
pub struct Seen {
    pub place: Place,
    /// None for one that is shipped.
    pub path: Option<PathBuf>,
    /// The file's name without its ending.
    pub stem: String,
    /// None where it could not be read at all.
    pub workflow: Option<Arc<Workflow>>,
    pub problems: Problems,
}

impl Seen {
    pub fn id(&self) -> Option<&str> {
        self.workflow.as_ref()?.id.as_deref()
    }

    pub fn name(&self) -> Option<&str> {
        Some(&self.workflow.as_ref()?.name)
    }

    /// Its place and the id in the file, if that can be one of a tool, which has no blanks.
    pub(super) fn by_id(&self) -> Option<(String, String)> {
        let id = self.id()?.to_owned();
        let is_word = !id.is_empty() && !id.contains(|c: char| c.is_whitespace() || c.is_control());
        is_word.then(|| (self.place.source(), id))
    }
}

impl View {
    /// What the project has itself.
    pub(super) fn own(&self) -> Vec<Seen> {
        let of_project = self.folders.iter();
        let of_project = of_project.filter(|(place, _)| matches!(place, Place::Project(_)));
        seen(of_project).collect()
    }

    /// Everything, place by place.
    pub(super) fn list(&self) -> Vec<Seen> {
        let shipped = shipped::list().iter().map(|shipped| Seen {
            place: Place::Shipped,
            path: None,
            stem: shipped.id.to_owned(),
            workflow: Some(shipped.workflow.clone()),
            problems: Problems::default(),
        });
        seen(self.folders.iter()).chain(shipped).collect()
    }
}

fn seen<'f>(
    folders: impl Iterator<Item = &'f (Place, WorkflowFolder)>,
) -> impl Iterator<Item = Seen> {
    folders.flat_map(|(place, folder)| {
        let entries = folder.list().into_iter();
        entries.map(|entry: WorkflowEntry| Seen {
            place: place.clone(),
            stem: entry.stem.clone(),
            path: Some(entry.path),
            workflow: entry.reading.workflow.clone().map(Arc::new),
            problems: entry.problems,
        })
    })
}

impl View {
    /// The workflow of one place that has this id, or else this file name; its title does not count.
    pub(super) fn find_at(&self, place: &Place, id: &str) -> Result<Arc<Workflow>, FindError> {
        let unknown = || FindError::Unknown {
            reference: id.to_owned(),
            hint: String::new(),
        };
        if *place == Place::Shipped {
            return shipped::find(id).ok_or_else(unknown);
        }
        let mut folders = self.folders.iter();
        let folder = folders.find(|(known, _)| known == place);
        match folder {
            Some((_, folder)) if has(folder, id) => folder.find(id),
            _ => Err(unknown()),
        }
    }

    /// The workflow that is meant, and where it lies.
    pub(super) fn locate(&self, reference: &str) -> Result<(Place, Arc<Workflow>), FindError> {
        let mut hint = String::new();
        let mut titled = None;
        for (place, folder) in &self.folders {
            let found = match folder.find(reference) {
                Err(FindError::Unknown { hint: own, .. }) => {
                    if hint.is_empty() {
                        hint = own;
                    }
                    continue;
                }
                found => found.map(|workflow| (place.clone(), workflow)),
            };
            if has(folder, reference) {
                return found;
            }
            titled.get_or_insert(found);
        }
        let by_title = || {
            let mut all = shipped::list().iter();
            let one = all.find(|shipped| shipped.workflow.name == reference);
            one.map(|shipped| shipped.workflow.clone())
        };
        let of_house = |workflow| Ok((Place::Shipped, workflow));
        let by_id = shipped::find(reference).map(of_house);
        let found = by_id.or(titled).or_else(|| by_title().map(of_house));
        found.unwrap_or_else(|| {
            Err(FindError::Unknown {
                reference: reference.to_owned(),
                hint,
            })
        })
    }
}

/// Whether something there has this id or file name.
fn has(folder: &WorkflowFolder, reference: &str) -> bool {
    let is_it = |entry: &WorkflowEntry| entry.id() == Some(reference) || entry.stem == reference;
    folder.list().iter().any(is_it)
}

impl WorkflowSource for View {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        self.locate(reference).map(|(_, workflow)| workflow)
    }
}
