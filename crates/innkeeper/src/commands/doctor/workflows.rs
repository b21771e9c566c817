//! Workflow files that cannot be read, and so are no tools.

use std::fs;
use std::path::{Path, PathBuf};

use innkeeper_engine::{Problem, WorkflowFolder};
use innkeeper_tools::ProjectId;

use super::Check;
use crate::failure::shown;
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::MAX_DOCTOR_PROJECTS;

const WORKFLOWS: &str = "workflows";

/// Those of the library and of the projects; what plugins bring is theirs to mend.
pub(super) fn look(home: &Home, lang: Lang) -> Check {
    let mut folders = vec![home.file("library").join(WORKFLOWS)];
    folders.extend(projects(&home.file("projects")));
    let (mut good, mut bad) = (0_usize, 0_usize);
    let mut first = None;
    // Each by itself: two projects may well use the same id.
    for folder in folders {
        for entry in WorkflowFolder::new([folder]).list() {
            let Some(problem) = entry.problems.errors().next() else {
                good += 1;
                continue;
            };
            bad += 1;
            first.get_or_insert_with(|| (entry.path.clone(), problem.clone()));
        }
    }
    match first {
        None => Check::ok(
            WORKFLOWS,
            lang.pick(
                format!("{good} in the library and in projects"),
                format!("流程库和项目中共 {good} 个"),
            ),
        ),
        Some((path, problem)) => broken((good, bad), &path, &problem, lang),
    }
}

fn broken((good, bad): (usize, usize), path: &Path, problem: &Problem, lang: Lang) -> Check {
    let path = shown(&path.to_string_lossy());
    let why = shown(&problem.to_string());
    let said = lang.pick(
        format!("{good} in order; {bad} cannot be used and so are no tools, first {path}: {why}"),
        format!("{good} 个正常；{bad} 个无法使用，因此不是工具，第一个是 {path}：{why}"),
    );
    let remedy = lang.pick(
        format!("innkeeper workflow check {path} shows all that is wrong"),
        format!("innkeeper workflow check {path} 会显示全部问题"),
    );
    Check::warn(WORKFLOWS, said, remedy)
}

/// Their folders of workflows; not where a link leads, which nobody else follows either.
fn projects(folder: &Path) -> Vec<PathBuf> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names = names.filter(|name| ProjectId::try_from(name.as_str()).is_ok());
    let mut names: Vec<String> = names.take(MAX_DOCTOR_PROJECTS).collect();
    names.sort();
    let projects = names.into_iter().map(|name| folder.join(name));
    projects
        .filter(|project| is_folder(project))
        .map(|project| project.join(WORKFLOWS))
        .filter(|folder| is_folder(folder))
        .collect()
}
