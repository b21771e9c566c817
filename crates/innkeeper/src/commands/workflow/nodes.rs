//! `innkeeper workflow nodes`: the node types, and one of them in full.

use innkeeper_engine::{
    Keeping, NodeDefinition, NodeInput, NodeShape, NodeSlot, NodeType, NodeTypes,
};
use serde_json::{Value as Json, json};

use super::house::in_house;
use super::{Ended, project};
use crate::cli::NodesArgs;
use crate::failure::{Failure, WorkflowFault};
use crate::home::Home;
use crate::output::Screen;
use crate::suggest::nearest;
use crate::table::Table;

pub(super) fn run(args: &NodesArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let types = in_house(home, &project("default")?, |house| {
        Ok(house.engine.nodes().types())
    })?;
    match &args.kind {
        Some(name) => show(find(name, &types)?, screen)?,
        None => list(args, &types, screen)?,
    }
    Ok(Ended::Done)
}

/// By its full name, or by the part behind the colon if that is enough.
fn find<'t>(name: &str, types: &'t NodeTypes) -> Result<&'t NodeType, Failure> {
    if let Some(kind) = types.get(name) {
        return Ok(kind);
    }
    let mut short = types
        .iter()
        .filter(|kind| kind.definition.name.eq_ignore_ascii_case(name));
    if let (Some(only), None) = (short.next(), short.next()) {
        return Ok(only);
    }
    let full: Vec<String> = types
        .iter()
        .map(|kind| kind.full_type().to_owned())
        .collect();
    let names = types.iter().map(|kind| kind.definition.name.as_str());
    let near = nearest(name, full.iter().map(String::as_str).chain(names));
    let name = name.to_owned();
    Err(WorkflowFault::UnknownNode { name, near }.into())
}

fn list(args: &NodesArgs, types: &NodeTypes, screen: &Screen) -> Result<(), Failure> {
    let found: Vec<&NodeDefinition> = types
        .iter()
        .map(|kind| &kind.definition)
        .filter(|definition| is_wanted(args, definition))
        .collect();
    if screen.json {
        let all: Vec<Json> = found.iter().map(|definition| brief(definition)).collect();
        return screen.document(&all);
    }
    if found.is_empty() {
        screen.note(
            "No node type fits; innkeeper workflow nodes shows all",
            "没有符合条件的节点类型；innkeeper workflow nodes 会列出全部",
        );
        return Ok(());
    }
    let headings = screen.pick(
        ["TYPE", "CATEGORY", "TITLE", "DESCRIPTION"],
        ["类型", "类别", "标题", "说明"],
    );
    let mut table = Table::new(&headings);
    for definition in found {
        table.row([
            definition.full_type().as_str(),
            &definition.category,
            &definition.display_name,
            &definition.description,
        ]);
    }
    screen.table(&table)
}

fn is_wanted(args: &NodesArgs, definition: &NodeDefinition) -> bool {
    let category = args
        .category
        .as_deref()
        .is_none_or(|category| definition.category.eq_ignore_ascii_case(category));
    let search = args.search.as_deref().is_none_or(|text| {
        let text = text.to_lowercase();
        let texts = [
            &definition.full_type(),
            &definition.display_name,
            &definition.description,
        ];
        texts.iter().any(|one| one.to_lowercase().contains(&text))
    });
    category && search
}

fn brief(definition: &NodeDefinition) -> Json {
    json!({
        "type": definition.full_type(),
        "category": definition.category,
        "displayName": definition.display_name,
        "description": definition.description,
        "modes": definition.modes.iter().map(|mode| &mode.id).collect::<Vec<_>>(),
        "deterministic": definition.deterministic,
        "dynamicSlots": definition.dynamic_slots,
        "deprecated": definition.deprecated,
        "experimental": definition.experimental,
    })
}

fn show(kind: &NodeType, screen: &Screen) -> Result<(), Failure> {
    let definition = &kind.definition;
    if screen.json {
        let mut record = brief(definition);
        if let Json::Object(fields) = &mut record {
            fields.insert("modeKey".into(), json!(definition.mode_key));
            fields.insert("defaultMode".into(), json!(definition.default_mode));
            let modes = definition.modes.iter().map(|mode| {
                let mut record = shape(&mode.shape);
                if let Json::Object(fields) = &mut record {
                    fields.insert("id".into(), json!(mode.id));
                    fields.insert("displayName".into(), json!(mode.display_name));
                    fields.insert("description".into(), json!(mode.description));
                }
                record
            });
            fields.insert("modes".into(), modes.collect());
            if let Json::Object(slots) = shape(&definition.shape) {
                fields.extend(slots);
            }
        }
        return screen.document(&record);
    }
    let mut about = Table::plain().wrapped();
    about.row([screen.pick("Type", "类型"), &definition.full_type()]);
    for (name, value) in [
        (screen.pick("Title", "标题"), &definition.display_name),
        (screen.pick("Category", "类别"), &definition.category),
    ] {
        about.row([name, value]);
    }
    about.told([screen.pick("About", "说明"), &definition.description]);
    let results = match kind.keeping() {
        Keeping::Always => None,
        Keeping::Never => Some(screen.pick(
            "made anew each time".to_owned(),
            "每次都重新产生".to_owned(),
        )),
        Keeping::If(setting) => Some(screen.pick(
            format!("made anew each time, unless the setting '{setting}' is true"),
            format!("每次都重新产生，除非设置 {setting} 为 true"),
        )),
    };
    if let Some(words) = results {
        about.row([screen.pick("Results", "结果"), &words]);
    }
    if definition.dynamic_slots {
        let words = screen.pick("a workflow may add some", "工作流可以增加");
        about.row([screen.pick("Slots", "插槽"), words]);
    }
    screen.table(&about)?;
    tables(&definition.shape, screen)?;
    for mode in &definition.modes {
        let is_default = definition.default_mode.as_deref() == Some(&mode.id);
        let default = match is_default {
            true => screen.pick(" (default)", "（默认）"),
            false => "",
        };
        let key = definition.mode_key.as_deref().unwrap_or("mode");
        let (id, title) = (&mode.id, &mode.display_name);
        screen.text(&format!("\n{key} = {id}{default}: {title}"))?;
        tables(&mode.shape, screen)?;
    }
    Ok(())
}

fn tables(shape: &NodeShape, screen: &Screen) -> Result<(), Failure> {
    let inputs = [
        (screen.pick("INPUT", "输入"), &shape.inputs),
        (screen.pick("SETTING", "设置"), &shape.config),
    ];
    for (title, slots) in inputs {
        if slots.is_empty() {
            continue;
        }
        let [kind, needed, default, about] = screen.pick(
            ["TYPE", "NEEDED", "DEFAULT", "DESCRIPTION"],
            ["类型", "必需", "默认值", "说明"],
        );
        let mut table = Table::new(&[title, kind, needed, default, about]).wrapped();
        for input in slots {
            let needed = match input.required {
                true => screen.pick("yes", "是"),
                false => "",
            };
            let default = input.config.get("default");
            let default = default.filter(|default| !default.is_null());
            let default = default.map(plainly).unwrap_or_default();
            table.row([
                input.slot.key.as_str(),
                &type_of(input),
                needed,
                &default,
                &words(&input.slot),
            ]);
        }
        screen.text("")?;
        screen.table(&table)?;
    }
    if shape.outputs.is_empty() {
        return Ok(());
    }
    let headings = screen.pick(["OUTPUT", "TYPE", "DESCRIPTION"], ["输出", "类型", "说明"]);
    let mut table = Table::new(&headings).wrapped();
    for slot in &shape.outputs {
        table.row([slot.key.as_str(), &flow(slot), &words(slot)]);
    }
    screen.text("")?;
    screen.table(&table)
}

fn words(slot: &NodeSlot) -> String {
    let title = slot
        .display_name
        .as_deref()
        .filter(|title| *title != slot.key);
    match (title, slot.description.as_deref()) {
        (Some(title), Some(about)) => format!("{title}: {about}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => String::new(),
    }
}

fn flow(slot: &NodeSlot) -> String {
    match slot.is_stream {
        true => format!("{} stream", slot.flow),
        false => slot.flow.to_string(),
    }
}

/// `STRING`, `STRING, several`, `one|other`.
fn type_of(input: &NodeInput) -> String {
    let choices = choices(input);
    let one = match choices.is_empty() {
        true => flow(&input.slot),
        false => choices.iter().map(plainly).collect::<Vec<_>>().join("|"),
    };
    match input.multi {
        true => format!("{one}, several"),
        false => one,
    }
}

fn choices(input: &NodeInput) -> Vec<Json> {
    let is_choice = input
        .slot
        .match_categories
        .iter()
        .any(|one| one == "ComboOption");
    let suggestions = input.config.get("suggestions").and_then(Json::as_array);
    let suggestions = suggestions.filter(|_| is_choice).map(Vec::as_slice);
    let value = |one: &Json| one.get("value").unwrap_or(one).clone();
    suggestions.unwrap_or_default().iter().map(value).collect()
}

fn shape(shape: &NodeShape) -> Json {
    let slot = |slot: &NodeSlot| {
        json!({
            "key": slot.key,
            "type": slot.flow.as_str(),
            "stream": slot.is_stream,
            "displayName": slot.display_name,
            "description": slot.description,
            "matchCategories": slot.match_categories,
        })
    };
    let input = |input: &NodeInput| {
        let mut record = slot(&input.slot);
        if let Json::Object(fields) = &mut record {
            fields.insert("required".into(), input.required.into());
            fields.insert("multi".into(), input.multi.into());
            fields.insert("config".into(), input.config.clone().into());
        }
        record
    };
    json!({
        "inputs": shape.inputs.iter().map(input).collect::<Vec<_>>(),
        "outputs": shape.outputs.iter().map(slot).collect::<Vec<_>>(),
        "settings": shape.config.iter().map(input).collect::<Vec<_>>(),
    })
}

fn plainly(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
