//! The workflow that a person means: a file, standard input, or a name in the library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innkeeper_engine::{Plan, Problem, Problems, Reading, Workflow};
use innkeeper_tools::workflow::{self, NotNamed, Seen};

use super::house::{Beside, House};
use crate::failure::{Failure, Place, WorkflowFault};
use crate::input::{Source, text_of};
use crate::limits::MAX_WORKFLOW_BYTES;
use crate::suggest::nearest;

/// A workflow as it was read, whatever is wrong with it.
pub(super) struct Found {
    /// As the person knows it: the path, or where the name led.
    pub(super) place: String,
    pub(super) workflow: Option<Arc<Workflow>>,
    /// Of the text; `checked` adds those of the plan.
    pub(super) problems: Problems,
    /// Where the groups in it are looked for.
    pub(super) groups: Beside,
}

/// A workflow that was held against the node types that there are.
pub(super) struct Checked {
    pub(super) plan: Option<Plan>,
    pub(super) problems: Problems,
}

impl Found {
    /// Blocks: groups are read from files.
    pub(super) fn checked(&self, house: &House) -> Checked {
        let mut problems = self.problems.clone();
        let Some(workflow) = &self.workflow else {
            return Checked {
                plan: None,
                problems,
            };
        };
        let prepared = house.engine.prepare(workflow, &self.groups);
        problems.extend(prepared.problems);
        Checked {
            plan: prepared.plan.filter(|_| !problems.has_errors()),
            problems,
        }
    }

    /// The workflow, or why it cannot be used.
    pub(super) fn readable(&self) -> Result<&Arc<Workflow>, Failure> {
        self.workflow
            .as_ref()
            .ok_or_else(|| broken(&self.place, &self.problems))
    }
}

pub(super) fn broken(place: &str, problems: &Problems) -> Failure {
    let first = problems.errors().next().map(Problem::to_string);
    let errors = problems.errors().count();
    Failure::Workflow(WorkflowFault::Broken {
        place: place.to_owned(),
        errors: errors.max(1),
        first: first.unwrap_or_else(|| "it is no workflow".to_owned()),
    })
}

/// Blocks: reads files.
pub(super) fn find(given: &str, house: &House) -> Result<Found, Failure> {
    match meant(given) {
        Meant::Text(source) => read(&source, house),
        Meant::Name => named(given, house),
    }
}

enum Meant {
    Text(Source),
    Name,
}

/// What looks like a path is one; a plain word is a file only if there is one.
fn meant(given: &str) -> Meant {
    let path = Path::new(given);
    let looks_like_path =
        given.contains(['/', '\\']) || path.extension().is_some_and(|ending| ending == "json");
    match given {
        "-" => Meant::Text(Source::Stdin),
        _ if looks_like_path || path.is_file() => Meant::Text(Source::File(PathBuf::from(given))),
        _ => Meant::Name,
    }
}

fn read(source: &Source, house: &House) -> Result<Found, Failure> {
    let text = text_of(source, MAX_WORKFLOW_BYTES, std::io::stdin().lock())?;
    let Reading { workflow, problems } = Workflow::read(&text);
    let (place, own) = match source {
        Source::Stdin => ("-".to_owned(), None),
        Source::File(path) => (path.to_string_lossy().into_owned(), path.parent()),
    };
    let own = own.map(|folder| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    });
    Ok(Found {
        place,
        workflow: workflow.map(Arc::new),
        problems,
        groups: house.groups_beside(own),
    })
}

fn named(name: &str, house: &House) -> Result<Found, Failure> {
    let items = house.library();
    match workflow::named(&items, name) {
        Ok(item) => Ok(Found {
            place: place_of(item),
            workflow: item.workflow.clone(),
            problems: item.problems.clone(),
            groups: house.groups_of(&item.place),
        }),
        Err(NotNamed::Unknown) => {
            // What can be typed without quotes is the better suggestion.
            let near = workflow::WAYS
                .iter()
                .find_map(|way| nearest(name, items.iter().filter_map(way)));
            Err(WorkflowFault::Unknown {
                name: name.to_owned(),
                near,
            }
            .into())
        }
        Err(NotNamed::Ambiguous(many)) => Err(WorkflowFault::Ambiguous {
            name: name.to_owned(),
            places: many.iter().map(|item| place_of(item)).collect(),
        }
        .into()),
    }
}

/// Its file, or what it is called among those that are shipped.
fn place_of(item: &Seen) -> String {
    match &item.path {
        Some(path) => path.to_string_lossy().into_owned(),
        None => format!("{}:{}", item.place.owner(), item.stem),
    }
}

/// A file that was to be written.
pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let place = Place::file(path);
    Failure::Workflow(WorkflowFault::Unwritable(
        place,
        crate::failure::cause(error),
    ))
}
