//! `innkeeper workflow list`: what can be found by name.

use std::collections::HashMap;

use innkeeper_engine::InterfaceSlot;
use innkeeper_tools::workflow::{Place, Seen};
use serde_json::{Value as Json, json};

use super::house::in_house;
use super::{Ended, project};
use crate::cli::WorkflowListArgs;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;

/// Slots that a line names, unless more must be given.
const FEW_SLOTS: usize = 4;

pub(super) fn run(args: &WorkflowListArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let project = project(&args.project.project)?;
    let items = in_house(home, &project, |house| Ok(house.library()))?;
    let mut places: HashMap<&str, &Place> = HashMap::new();
    let mut rows = Vec::with_capacity(items.len());
    for item in &items {
        let name = item.id().unwrap_or(&item.stem);
        let nearest = *places.entry(name).or_insert(&item.place);
        let nearer = (*nearest != item.place).then(|| nearest.owner());
        rows.push(Row::of(item, nearer));
    }
    if screen.json {
        let records: Vec<&Json> = rows.iter().map(|row| &row.record).collect();
        screen.document(&records)?;
        return Ok(Ended::Done);
    }
    if rows.is_empty() {
        let folder = home
            .file("projects")
            .join(project.to_string())
            .join("workflows");
        let folder = folder.display();
        screen.note(
            &format!("There are no workflows; put their files into {folder}"),
            &format!("还没有工作流；请把文件放到 {folder}"),
        );
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["WORKFLOW", "NAME", "WHERE", "PROBLEMS", "INPUTS → OUTPUTS"],
        ["工作流", "名称", "位置", "问题", "输入 → 输出"],
    );
    let mut table = Table::new(&headings);
    for row in &rows {
        table.row([
            row.id.as_str(),
            &row.name,
            &row.owner,
            &row.problems(screen),
            &row.interface,
        ]);
    }
    screen.table(&table)?;
    if let Some(row) = rows.iter().find(|row| row.errors > 0) {
        let id = &row.stem;
        screen.note(
            &format!("innkeeper workflow check {id} says what is wrong with it"),
            &format!("innkeeper workflow check {id} 会说明其中的问题"),
        );
    }
    Ok(Ended::Done)
}

struct Row {
    /// What it can be called by: its id, or else its file's name.
    id: String,
    stem: String,
    name: String,
    owner: String,
    interface: String,
    errors: usize,
    warnings: usize,
    is_duplicate: bool,
    nearer: Option<String>,
    record: Json,
}

impl Row {
    /// `nearer`: whose workflow of the same name is found before it.
    fn of(item: &Seen, nearer: Option<String>) -> Self {
        let owner = item.place.owner();
        let workflow = item.workflow.as_deref();
        let (inputs, outputs) = match workflow {
            Some(workflow) => (workflow.inputs.as_slice(), workflow.outputs.as_slice()),
            None => (&[][..], &[][..]),
        };
        let errors = item.problems.errors().count();
        let warnings = item.problems.list.len() - errors;
        let mut problems = item.problems.list.iter();
        let is_duplicate = problems.any(|problem| problem.code == "folder.shared_id");
        let record = json!({
            "id": item.id(),
            "stem": item.stem,
            "name": item.name(),
            "description": workflow.and_then(|workflow| workflow.description.as_deref()),
            "where": owner,
            "path": item.path,
            "inputs": inputs.iter().map(slot).collect::<Vec<_>>(),
            "outputs": outputs.iter().map(slot).collect::<Vec<_>>(),
            "errors": errors,
            "warnings": warnings,
            "duplicate": is_duplicate,
            "hiddenBy": nearer,
            "problems": item.problems.list,
        });
        Self {
            id: item.id().unwrap_or(&item.stem).to_owned(),
            stem: item.stem.clone(),
            name: item.name().unwrap_or_default().to_owned(),
            owner,
            interface: interface(inputs, outputs),
            errors,
            warnings,
            is_duplicate,
            nearer,
            record,
        }
    }

    fn problems(&self, screen: &Screen) -> String {
        let mut words = Vec::new();
        if self.is_duplicate {
            words.push(screen.pick("id used twice".to_owned(), "ID 重复".to_owned()));
        }
        if let Some(nearer) = &self.nearer {
            words.push(screen.pick(format!("hidden by {nearer}"), format!("被 {nearer} 的遮住")));
        }
        let errors = self.errors - usize::from(self.is_duplicate);
        if errors > 0 {
            words.push(screen.pick(format!("errors: {errors}"), format!("错误 {errors}")));
        }
        if self.warnings > 0 {
            let warnings = self.warnings;
            words.push(screen.pick(format!("warnings: {warnings}"), format!("警告 {warnings}")));
        }
        words.join(screen.pick(", ", "，"))
    }
}

/// `topic, length? → report`
fn interface(inputs: &[InterfaceSlot], outputs: &[InterfaceSlot]) -> String {
    let inputs = named(inputs, |slot| match slot.required {
        true => slot.key.clone(),
        false => format!("{}?", slot.key),
    });
    let outputs = named(outputs, |slot| slot.key.clone());
    match (inputs.is_empty(), outputs.is_empty()) {
        (true, true) => String::new(),
        _ => format!("{inputs} → {outputs}").trim().to_owned(),
    }
}

/// The first few, all that must be given among them, and how many more there are.
fn named(slots: &[InterfaceSlot], name: impl Fn(&InterfaceSlot) -> String) -> String {
    let needed = slots.iter().filter(|slot| slot.required).count();
    let mut room = FEW_SLOTS.saturating_sub(needed);
    let mut shown = Vec::new();
    for slot in slots {
        if !slot.required {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        shown.push(name(slot));
    }
    match slots.len() - shown.len() {
        0 => {}
        more => shown.push(format!("+{more}")),
    }
    shown.join(", ")
}

pub(super) fn slot(slot: &InterfaceSlot) -> Json {
    json!({
        "key": slot.key,
        "type": slot.flow.as_str(),
        "required": slot.required,
        "stream": slot.is_stream,
        "default": slot.config.get("default"),
        "displayName": slot.display_name,
        "description": slot.description,
    })
}
