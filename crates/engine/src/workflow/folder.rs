//! Workflow files in folders: what there is, and which one is meant. Files are read again only when they changed.
//!
//! All of it blocks; whoever is asynchronous calls it where that is allowed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::folder_file::{self, Stamp};
use super::{FindError, Reading, Workflow, WorkflowSource};
use crate::problem::{Problem, Problems, did_you_mean};

/// The `*.json` files of some folders.
#[derive(Debug, Clone, Default)]
pub struct WorkflowFolder {
    pub folders: Vec<PathBuf>,
    known: Arc<Mutex<HashMap<PathBuf, Known>>>,
}

/// One file of a folder, or a folder that cannot be looked at.
#[derive(Debug, Clone)]
pub struct WorkflowEntry {
    pub path: PathBuf,
    /// The file's name without its ending.
    pub stem: String,
    pub reading: Arc<Reading>,
    /// Those of the reading, and what is wrong among the files.
    pub problems: Problems,
    /// The file itself, whatever links lead to it.
    place: PathBuf,
    shared: Arc<OnceLock<Arc<Workflow>>>,
}

#[derive(Debug, Clone)]
struct Known {
    stamp: Stamp,
    reading: Arc<Reading>,
    /// The workflow by itself, once someone asked for it.
    shared: Arc<OnceLock<Arc<Workflow>>>,
}

impl WorkflowEntry {
    pub fn id(&self) -> Option<&str> {
        self.workflow()?.id.as_deref()
    }

    pub fn name(&self) -> Option<&str> {
        Some(&self.workflow()?.name)
    }

    pub fn description(&self) -> Option<&str> {
        self.workflow()?.description.as_deref()
    }

    fn workflow(&self) -> Option<&Workflow> {
        self.reading.workflow.as_ref()
    }

    fn found(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        let problems = &self.reading.problems;
        if let (Some(workflow), false) = (self.workflow(), problems.has_errors()) {
            let shared = self.shared.get_or_init(|| Arc::new(workflow.clone()));
            return Ok(Arc::clone(shared));
        }
        let first = problems.errors().next().map(Problem::to_string);
        let more = problems.errors().count().saturating_sub(1);
        let why = first.unwrap_or_else(|| "it is no workflow".to_owned());
        Err(FindError::Broken {
            reference: reference.to_owned(),
            place: self.path.display().to_string(),
            why: match more {
                0 => why,
                more => format!("{why} (and {more} more)"),
            },
        })
    }
}

impl WorkflowFolder {
    pub fn new(folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            folders: folders.into_iter().map(Into::into).collect(),
            known: Arc::default(),
        }
    }

    /// Every workflow file, folder by folder, by name. Folders that do not exist are empty.
    pub fn list(&self) -> Vec<WorkflowEntry> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        for folder in &self.folders {
            // A folder that is given twice, perhaps in two spellings, is looked at once.
            let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            if seen.insert(real) {
                self.list_folder(folder, &mut entries);
            }
        }
        let paths: HashSet<&Path> = entries.iter().map(|entry| entry.path.as_path()).collect();
        self.known()
            .retain(|path, _| paths.contains(path.as_path()));
        report_shared_ids(&mut entries);
        entries
    }

    fn list_folder(&self, folder: &Path, entries: &mut Vec<WorkflowEntry>) {
        let files = match folder_file::files(folder) {
            Ok(files) => files,
            Err(problem) => {
                entries.extend(problem.map(|problem| unread(folder.to_owned(), problem)));
                return;
            }
        };
        for path in files.paths {
            let entry = match folder_file::stamp(&files.folder, &path) {
                Ok(stamp) => self.entry(path, stamp),
                Err(problem) => unread(path, problem),
            };
            entries.push(entry);
        }
        entries.extend(
            files
                .problem
                .map(|problem| unread(folder.to_owned(), problem)),
        );
    }

    fn entry(&self, path: PathBuf, stamp: Stamp) -> WorkflowEntry {
        let known = self.known().get(&path).cloned();
        let known = known.filter(|known| known.stamp == stamp);
        let known = known.unwrap_or_else(|| {
            let reading = match folder_file::text(&stamp.place) {
                Ok(text) => Workflow::read(&text),
                Err(problem) => broken(problem),
            };
            let known = Known {
                stamp,
                reading: Arc::new(reading),
                shared: Arc::default(),
            };
            self.known().insert(path.clone(), known.clone());
            known
        });
        WorkflowEntry {
            stem: stem(&path),
            path,
            problems: known.reading.problems.clone(),
            place: known.stamp.place,
            reading: known.reading,
            shared: known.shared,
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkflowSource for WorkflowFolder {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        let entries = self.list();
        let by_id = |entry: &&WorkflowEntry| entry.id() == Some(reference);
        let by_stem = |entry: &&WorkflowEntry| entry.stem == reference;
        let by_name = |entry: &&WorkflowEntry| entry.name() == Some(reference);
        let ways: [&dyn Fn(&&WorkflowEntry) -> bool; 3] = [&by_id, &by_stem, &by_name];
        for way in ways {
            let mut found: Vec<_> = entries.iter().filter(way).collect();
            // A file and a link to it are one workflow.
            found.sort_by_key(|entry| &entry.place);
            found.dedup_by_key(|entry| &entry.place);
            match found.as_slice() {
                [] => {}
                [one] => return one.found(reference),
                many => {
                    let places = many.iter().map(|entry| entry.path.display().to_string());
                    return Err(FindError::Ambiguous {
                        reference: reference.to_owned(),
                        places: places.collect(),
                    });
                }
            }
        }
        let names = entries.iter().flat_map(|entry| {
            let names = [entry.id(), Some(entry.stem.as_str()), entry.name()];
            names.into_iter().flatten()
        });
        Err(FindError::Unknown {
            reference: reference.to_owned(),
            hint: did_you_mean(reference, names),
        })
    }
}

/// An id names one workflow; where two files claim it, neither is found by it.
fn report_shared_ids(entries: &mut [WorkflowEntry]) {
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if let Some(id) = entry.id() {
            by_id.entry(id.to_owned()).or_default().push(index);
        }
    }
    for (id, indices) in by_id {
        // Two files are enough to go on with: a thousand copies must not make a million lines.
        let mut places = indices.iter().filter_map(|index| entries.get(*index));
        let Some(one) = places.next() else {
            continue;
        };
        let Some(two) = places.find(|entry| entry.place != one.place) else {
            continue;
        };
        let (one, two) = ((one.place.clone(), one.path.clone()), two.path.clone());
        for index in indices {
            let Some(entry) = entries.get_mut(index) else {
                continue;
            };
            let other = if entry.place == one.0 { &two } else { &one.1 };
            let other = other.display();
            let message = format!("{other} has the id '{id}' too; give one of them another");
            let problem = Problem::error("folder.shared_id", message).slot("id");
            entry.problems.add(problem);
        }
    }
}

fn unread(path: PathBuf, problem: Problem) -> WorkflowEntry {
    let reading = broken(problem);
    WorkflowEntry {
        stem: stem(&path),
        place: path.clone(),
        path,
        problems: reading.problems.clone(),
        reading: Arc::new(reading),
        shared: Arc::default(),
    }
}

fn broken(problem: Problem) -> Reading {
    let mut problems = Problems::default();
    problems.add(problem);
    Reading {
        workflow: None,
        problems,
    }
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
