//! `innkeeper workflow check`: everything that is wrong with workflows. Runs nothing.

use std::collections::{HashSet, VecDeque};

use innkeeper_engine::{NodeTypes, Problem, Workflow, WorkflowSource};
use serde_json::{Value as Json, json};

use super::find::{Checked, Found, find};
use super::house::{House, in_house};
use super::{Ended, project};
use crate::cli::WorkflowCheckArgs;
use crate::failure::{Failure, shown};
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;

/// What a group's node is called, and where it names its workflow.
pub(super) const GROUP: &str = "core:NodeGroup";
pub(super) const GROUP_REFERENCE: &str = "referencedWorkflowId";
/// Groups that are listed.
const MAX_GROUPS: usize = 1_000;

pub(super) fn run(
    args: &WorkflowCheckArgs,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let project = project(&args.project.project)?;
    let reports = in_house(home, &project, |house| {
        let given = args.workflows.iter();
        given
            .map(|given| report(given, house))
            .collect::<Result<Vec<_>, _>>()
    })?;
    if screen.json {
        let all: Vec<Json> = reports.iter().map(Report::record).collect();
        screen.document(&all)?;
    } else {
        reports.iter().try_for_each(|report| report.tell(screen))?;
    }
    match reports.iter().any(|report| report.errors > 0) {
        true => Ok(Ended::Failed),
        false => Ok(Ended::Done),
    }
}

struct Report {
    found: Found,
    checked: Checked,
    groups: Vec<Group>,
    errors: usize,
    warnings: usize,
}

/// A workflow that it uses, directly or within another.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    reference: String,
    /// `None` if there is none.
    found: Option<(Option<String>, String)>,
}

fn report(given: &str, house: &House) -> Result<Report, Failure> {
    let found = find(given, house)?;
    let checked = found.checked(house);
    let types = house.engine.nodes().types();
    let groups = match &found.workflow {
        Some(workflow) => groups(workflow, &types, &found.groups),
        None => Vec::new(),
    };
    let errors = checked.problems.errors().count();
    Ok(Report {
        warnings: checked.problems.list.len() - errors,
        found,
        checked,
        groups,
        errors,
    })
}

/// All that it refers to, nearest first, each once.
fn groups(workflow: &Workflow, types: &NodeTypes, source: &dyn WorkflowSource) -> Vec<Group> {
    let mut waiting: VecDeque<String> = references(workflow, types).collect();
    let (mut seen, mut groups) = (HashSet::new(), Vec::new());
    while let Some(reference) = waiting.pop_front() {
        if groups.len() == MAX_GROUPS || !seen.insert(reference.clone()) {
            continue;
        }
        let found = source.find(&reference).ok();
        if let Some(inner) = &found {
            waiting.extend(references(inner, types));
        }
        groups.push(Group {
            reference,
            found: found.map(|inner| (inner.id.clone(), inner.name.clone())),
        });
    }
    groups
}

fn references<'w>(
    workflow: &'w Workflow,
    types: &'w NodeTypes,
) -> impl Iterator<Item = String> + 'w {
    let groups = workflow.nodes.iter().filter(|node| {
        let kind = types.get(&node.full_type);
        kind.is_some_and(|kind| kind.full_type() == GROUP)
    });
    groups.filter_map(|node| Some(node.config.get(GROUP_REFERENCE)?.as_str()?.to_owned()))
}

impl Report {
    fn record(&self) -> Json {
        let workflow = self.found.workflow.as_deref();
        let groups = self.groups.iter().map(|group| {
            let found = group.found.as_ref();
            json!({
                "reference": group.reference,
                "found": found.is_some(),
                "id": found.and_then(|(id, _)| id.as_deref()),
                "name": found.map(|(_, name)| name),
            })
        });
        json!({
            "ok": self.errors == 0,
            "path": self.found.place,
            "id": workflow.and_then(|workflow| workflow.id.as_deref()),
            "name": workflow.map(|workflow| &workflow.name),
            "nodes": workflow.map(|workflow| workflow.nodes.len()),
            "plannedNodes": self.checked.plan.as_ref().map(innkeeper_engine::Plan::len),
            "errors": self.errors,
            "warnings": self.warnings,
            "problems": self.checked.problems.list,
            "more": self.checked.problems.more,
            "groups": groups.collect::<Vec<_>>(),
        })
    }

    fn tell(&self, screen: &Screen) -> Result<(), Failure> {
        if screen.quiet && self.errors == 0 {
            return Ok(());
        }
        screen.text(&self.headline(screen))?;
        let mut table = Table::plain().wrapped();
        for problem in &self.checked.problems.list {
            let kind = match problem.is_error() {
                true => screen.pick("error", "错误"),
                false => screen.pick("warning", "警告"),
            };
            let said = format!("{} [{}]", problem.message, problem.code);
            table.told([&*format!("  {kind}"), &place(problem, screen), &said]);
        }
        if !self.checked.problems.is_empty() {
            screen.table(&table)?;
        }
        if self.checked.problems.more > 0 {
            let more = self.checked.problems.more;
            screen.text(&screen.pick(format!("  and {more} more"), format!("  另有 {more} 处")))?;
        }
        if !self.groups.is_empty() {
            let names: Vec<String> = self.groups.iter().map(Group::words).collect();
            let names = names.join(", ");
            screen
                .text(&screen.pick(format!("  groups: {names}"), format!("  节点组：{names}")))?;
        }
        Ok(())
    }

    fn headline(&self, screen: &Screen) -> String {
        let place = shown(&self.found.place);
        let (errors, warnings) = (self.errors, self.warnings);
        let Some(workflow) = self.found.workflow.as_deref() else {
            return screen.pick(
                format!("{place}: no workflow (errors: {errors}, warnings: {warnings})"),
                format!("{place}：不是工作流（错误 {errors}，警告 {warnings}）"),
            );
        };
        let (name, nodes) = (shown(&workflow.name), workflow.nodes.len());
        match errors {
            0 => screen.pick(
                format!("{place}: '{name}' is in order (nodes: {nodes}, warnings: {warnings})"),
                format!("{place}：“{name}”没有错误（节点 {nodes}，警告 {warnings}）"),
            ),
            _ => screen.pick(
                format!("{place}: '{name}' cannot run (errors: {errors}, warnings: {warnings})"),
                format!("{place}：“{name}”无法运行（错误 {errors}，警告 {warnings}）"),
            ),
        }
    }
}

impl Group {
    fn words(&self) -> String {
        let reference = shown(&self.reference);
        match &self.found {
            Some((_, name)) if *name != self.reference => format!("{} ({reference})", shown(name)),
            Some(_) => reference,
            None => format!("{reference} (?)"),
        }
    }
}

/// `Merge_1.text`, `line 3, column 7`, or both.
fn place(problem: &Problem, screen: &Screen) -> String {
    let node = match (&problem.node, &problem.slot) {
        (Some(node), Some(slot)) => format!("{node}.{slot}"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => String::new(),
    };
    let Some((line, column)) = problem.position else {
        return node;
    };
    let position = screen.pick(
        format!("line {line}, column {column}"),
        format!("第 {line} 行第 {column} 列"),
    );
    match node.is_empty() {
        true => position,
        false => format!("{node} ({position})"),
    }
}
