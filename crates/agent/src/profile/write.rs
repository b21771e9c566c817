//! A profile as a file: schema version 2, or ComfyTavern's. What a reader would fill in anyway, and others would not know, is
//! left out.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::read::{KIND, VERSION, WORKFLOW};
use super::rules::{AgentRules, ProfileFormat, TextTurn};
use super::sections::{
    ContextPolicy, Delegation, Instructions, ModelChoice, Output, Plan, Preset, SkillRules,
    ToolRules, WorkspaceRules,
};
use super::{AgentProfile, id};

pub(super) fn document(profile: &AgentProfile) -> Json {
    match profile.agent.format {
        ProfileFormat::Tavern => tavern(profile),
        ProfileFormat::Comfy => comfy(profile),
    }
}

fn tavern(profile: &AgentProfile) -> Json {
    let mut file = Map::new();
    let mut put = |key: &str, value| {
        file.insert(key.to_owned(), value);
    };
    put("schemaVersion", json!(VERSION));
    put("kind", json!(KIND));
    put("id", json!(profile.id));
    put("displayName", json!(profile.display_name));
    if let Some(description) = &profile.description {
        put("description", json!(description));
    }
    put("preset", plain(&profile.preset));
    put("model", plain(&profile.model));
    put("run", run(profile));
    put("context", plain(&profile.context));
    put("delegation", plain(&profile.delegation));
    put("instructions", plain(&profile.instructions));
    put("tools", plain(&profile.tools));
    put("skills", plain(&profile.skills));
    put("workspace", plain(&profile.workspace));
    put("plan", plain(&profile.plan));
    put("output", plain(&profile.output));
    let rules = rules(&profile.agent, &AgentRules::default());
    if !rules.is_empty() {
        put("agent", Json::Object(rules));
    }
    Json::Object(file)
}

fn comfy(profile: &AgentProfile) -> Json {
    let mut kept = profile.agent.kept.clone();
    let written = kept.shift_remove("id");
    let same = |written: &Json| {
        written
            .as_str()
            .is_some_and(|text| id::adapted(text) == profile.id.as_str())
    };
    let mut file = Map::new();
    let mut put = |key: &str, value: Json| {
        file.insert(key.to_owned(), value);
    };
    put(
        "id",
        written.filter(same).unwrap_or_else(|| json!(profile.id)),
    );
    put("name", json!(profile.display_name));
    if let Some(description) = &profile.description {
        put("description", json!(description));
    }
    // These two mark the format, and old files have them near the top.
    for key in ["version", "schema_version"] {
        if let Some(value) = kept.shift_remove(key) {
            put(key, value);
        }
    }
    let rules = &profile.agent;
    if let Some(workflow) = &rules.deliberation_workflow {
        put("core_deliberation_workflow_id", json!(workflow));
    }
    for (key, value) in [
        ("initial_private_state_schema", &rules.private_state_schema),
        ("initial_private_state_values", &rules.private_state),
    ] {
        if !value.is_null() {
            put(key, value.clone());
        }
    }
    let allow = &profile.tools.allow;
    let is_workflow = |name: &&String| name.starts_with(WORKFLOW);
    let tools: Vec<_> = allow.iter().take_while(|name| !is_workflow(name)).collect();
    let skills = allow.iter().skip(tools.len()).take_while(is_workflow);
    let skills: Vec<_> = skills.map(|tool| workflow_id(tool)).collect();
    let further = allow.get(tools.len() + skills.len()..).unwrap_or_default();
    // Also what marks the format where nothing else does.
    put("tool_ids_inventory", json!(tools));
    if !skills.is_empty() {
        put("skill_workflow_ids_inventory", json!(skills));
    }
    for (key, value) in sections(profile, further) {
        put(key, value);
    }
    let default = AgentRules {
        text_turn: TextTurn::Answers,
        ..AgentRules::default()
    };
    let mut beside = self::rules(rules, &default);
    for key in ["deliberationWorkflow", "privateState", "privateStateSchema"] {
        beside.shift_remove(key);
    }
    if !beside.is_empty() {
        put("agent", Json::Object(beside));
    }
    for (key, value) in kept {
        file.entry(key).or_insert(value);
    }
    Json::Object(file)
}

/// The shortest text that is read as this tool again.
fn workflow_id(tool: &str) -> &str {
    match tool.strip_prefix(WORKFLOW) {
        Some(id) if !id.trim().is_empty() && !id.starts_with(WORKFLOW) => id,
        _ => tool,
    }
}

/// Sections of the other format that say something, for a file that can do without them.
fn sections(profile: &AgentProfile, allow: &[String]) -> Vec<(&'static str, Json)> {
    let tools = ToolRules {
        allow: allow.to_vec(),
        ..profile.tools.clone()
    };
    let run_default = json!({
        "presentation": "background",
        "directRunnable": true,
        "modelRetry": { "maxRetries": 3, "intervalMs": 3_000 },
    });
    let all = [
        ("preset", plain(&profile.preset), plain(&Preset::default())),
        (
            "model",
            plain(&profile.model),
            plain(&ModelChoice::default()),
        ),
        ("run", run(profile), run_default),
        (
            "context",
            plain(&profile.context),
            plain(&ContextPolicy::default()),
        ),
        (
            "delegation",
            plain(&profile.delegation),
            plain(&Delegation::default()),
        ),
        (
            "instructions",
            plain(&profile.instructions),
            plain(&Instructions::default()),
        ),
        ("tools", plain(&tools), plain(&ToolRules::default())),
        (
            "skills",
            plain(&profile.skills),
            plain(&SkillRules::default()),
        ),
        (
            "workspace",
            plain(&profile.workspace),
            plain(&WorkspaceRules::default()),
        ),
        ("plan", plain(&profile.plan), plain(&Plan::default())),
        ("output", plain(&profile.output), plain(&Output::default())),
    ];
    let said = all
        .into_iter()
        .filter(|(_, value, default)| value != default);
    said.map(|(key, value, _)| (key, value)).collect()
}

/// `stream` is of a later version: only where it is not what everyone has.
fn run(profile: &AgentProfile) -> Json {
    let mut run = plain(&profile.run);
    if let (Some(map), true) = (run.as_object_mut(), profile.run.stream) {
        map.shift_remove("stream");
    }
    run
}

/// What the block says beyond the defaults.
fn rules(rules: &AgentRules, default: &AgentRules) -> Map<String, Json> {
    let (Json::Object(mut said), Json::Object(unsaid)) = (plain(rules), plain(default)) else {
        return Map::new();
    };
    said.retain(|key, value| unsaid.get(key) != Some(value));
    for key in ["format", "kept"] {
        said.shift_remove(key);
    }
    said
}

/// These shapes have no keys but texts and no numbers that JSON has not.
fn plain(part: &impl Serialize) -> Json {
    serde_json::to_value(part).unwrap_or_default()
}

/// The document with its keys in the order that an older one has them; new keys come last.
pub(super) fn arranged(document: Json, like: &Json) -> Json {
    match (document, like) {
        (Json::Object(mut map), Json::Object(old)) => {
            let mut arranged = Map::new();
            for (key, old) in old {
                if let Some(value) = map.shift_remove(key) {
                    arranged.insert(key.clone(), self::arranged(value, old));
                }
            }
            arranged.extend(map);
            Json::Object(arranged)
        }
        (Json::Array(list), Json::Array(old)) => {
            let mut old = old.iter();
            let entries = list.into_iter().map(|entry| match old.next() {
                Some(old) => arranged(entry, old),
                None => entry,
            });
            Json::Array(entries.collect())
        }
        (other, _) => other,
    }
}
