//! Which format a file has, and the two formats whole.
//!
//! A tavern profile with a field that nobody knows is refused: it may have been meant to forbid something. A ComfyTavern
//! profile may say anything beyond, and keeps it.

use innkeeper_protocol::event::{Presentation, ProfileId};
use serde_json::Value as Json;

use super::fields::{Fields, expected};
use super::id::{self, check_id};
use super::problem::{CONTRACT, Findings, InvalidProfile, Problem};
use super::read_rules::{agent, object};
use super::read_sections as sections;
use super::rules::{AgentRules, ProfileFormat, TextTurn};
use super::sections::{RunRules, ToolRules};
use super::{AgentProfile, ToolNames, check, json};
use crate::limits::MAX_PROFILE_DESCRIPTION_CHARS;

pub(super) const KIND: &str = "tauritavern.agentProfile";
/// The newest version that is understood. Versions 3 and 4 differ in names of tools and in what may be left out.
const NEWEST: u64 = 4;
/// The version that is written.
pub(super) const VERSION: u64 = 2;

const COMFY_MARKS: [&str; 5] = [
    "schema_version",
    "core_deliberation_workflow_id",
    "tool_ids_inventory",
    "skill_workflow_ids_inventory",
    "initial_private_state_values",
];

/// A profile that can be used, and what its author may want to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub profile: AgentProfile,
    pub warnings: Vec<Problem>,
}

pub(super) fn text(text: &str, tools: Option<&dyn ToolNames>) -> Result<Reading, InvalidProfile> {
    match json::parse(text) {
        Ok(json) => document(&json, tools),
        Err(why) => {
            let found = Findings::default();
            found.error(
                CONTRACT,
                "$",
                format!("this is no JSON that can be read: {why}"),
            );
            reading(None, found)
        }
    }
}

pub(super) fn document(
    json: &Json,
    tools: Option<&dyn ToolNames>,
) -> Result<Reading, InvalidProfile> {
    let found = Findings::default();
    if !json::fits(json) {
        found.error(CONTRACT, "$", "is too large or too deep for a profile");
        return reading(None, found);
    }
    let profile = match format(json, &found) {
        Some(ProfileFormat::Tavern) => Some(tavern(json, &found)),
        Some(ProfileFormat::Comfy) => Some(comfy(json, &found)),
        None => None,
    };
    if let Some(profile) = &profile {
        check::profile(profile, tools, &found);
    }
    reading(profile, found)
}

fn reading(profile: Option<AgentProfile>, found: Findings) -> Result<Reading, InvalidProfile> {
    let warnings = found.verdict()?;
    match profile {
        Some(profile) => Ok(Reading { profile, warnings }),
        None => Err(InvalidProfile { problems: warnings }),
    }
}

/// By its fields; the name of the file says nothing.
pub(super) fn format(json: &Json, found: &Findings) -> Option<ProfileFormat> {
    let Json::Object(map) = json else {
        found.error(CONTRACT, "$", expected("an object", json));
        return None;
    };
    let kind = map.get("kind");
    if kind.is_some_and(|kind| kind == KIND) {
        return Some(ProfileFormat::Tavern);
    }
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    if kind.is_none() && !has(&["schemaVersion"]) && has(&COMFY_MARKS) {
        return Some(ProfileFormat::Comfy);
    }
    let message = format!(
        "must be '{KIND}'; a ComfyTavern profile has 'schema_version' and 'core_deliberation_workflow_id' instead"
    );
    found.error("agent.profile_kind_invalid", "$.kind", message);
    None
}

fn tavern(json: &Json, found: &Findings) -> AgentProfile {
    let mut at = Fields::new(Some(json), "$".to_owned(), found);
    at.raw("kind");
    let version = version(&mut at);
    let id = check_id(at.raw("id"), "$.id", found);
    let display_name = at.name("displayName", "agent.profile_display_name_required");
    if display_name.is_none() && !at.has("displayName") {
        let message = "is missing: people choose the agent by it";
        at.error(
            "agent.profile_display_name_required",
            "displayName",
            message,
        );
    }
    let mut profile = AgentProfile {
        id,
        display_name: display_name.unwrap_or_default(),
        description: at.text("description", MAX_PROFILE_DESCRIPTION_CHARS),
        ..shared(&mut at, RunRules::default(), AgentRules::default())
    };
    if version > VERSION {
        without_prefixes(&mut profile.tools);
    }
    at.end();
    profile
}

fn version(at: &mut Fields<'_>) -> u64 {
    const KEY: &str = "schemaVersion";
    let version = at.raw(KEY).and_then(Json::as_u64);
    let message = match version {
        Some(version @ 1..=NEWEST) => return version,
        Some(newer) if newer > NEWEST => {
            format!("{newer} is newer than the versions 1 to {NEWEST} that are understood here")
        }
        _ => format!("must be a version from 1 to {NEWEST}"),
    };
    at.error("agent.profile_schema_unsupported", KEY, message);
    VERSION
}

/// Later versions say where a tool comes from: `builtin:workspace.read_file`.
fn without_prefixes(tools: &mut ToolRules) {
    const PREFIX: &str = "builtin:";
    let plain = |name: String| name.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(name);
    for list in [&mut tools.allow, &mut tools.deny] {
        *list = std::mem::take(list).into_iter().map(plain).collect();
    }
    let descriptions = std::mem::take(&mut tools.tool_descriptions).into_iter();
    tools.tool_descriptions = descriptions.map(|(name, it)| (plain(name), it)).collect();
    let budgets = std::mem::take(&mut tools.max_calls_per_tool).into_iter();
    tools.max_calls_per_tool = budgets.map(|(name, it)| (plain(name), it)).collect();
}

fn comfy(json: &Json, found: &Findings) -> AgentProfile {
    let mut at = Fields::new(Some(json), "$".to_owned(), found);
    let raw_id = at.raw("id");
    // Ids of ComfyTavern may have capitals and dots. The way it was written is kept.
    let adapted = raw_id.and_then(Json::as_str).map(id::adapted);
    let id = match adapted {
        Some(adapted) if !adapted.is_empty() => check_id(Some(&adapted.into()), "$.id", found),
        _ => check_id(raw_id, "$.id", found),
    };
    let display_name = at.name("name", "agent.profile_display_name_required");
    if display_name.is_none() && !at.has("name") {
        let message = "is missing: people choose the agent by it";
        at.error("agent.profile_display_name_required", "name", message);
    }
    let description = at.text("description", MAX_PROFILE_DESCRIPTION_CHARS);
    let rules = AgentRules {
        format: ProfileFormat::Comfy,
        text_turn: TextTurn::Answers,
        deliberation_workflow: at.name("core_deliberation_workflow_id", CONTRACT),
        private_state: object(&mut at, "initial_private_state_values").unwrap_or_default(),
        private_state_schema: object(&mut at, "initial_private_state_schema").unwrap_or_default(),
        ..AgentRules::default()
    };
    let mut allow = at.names("tool_ids_inventory").unwrap_or_default();
    let skills = at.names("skill_workflow_ids_inventory").unwrap_or_default();
    allow.extend(skills.into_iter().map(workflow_tool));
    let run = RunRules {
        presentation: Presentation::Background,
        ..RunRules::default()
    };
    let mut profile = AgentProfile {
        id,
        display_name: display_name.unwrap_or_default(),
        description,
        ..shared(&mut at, run, rules)
    };
    allow.append(&mut profile.tools.allow);
    profile.tools.allow = allow;
    let unknown = at.unknown();
    profile.agent.kept = unknown
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(written) = raw_id.filter(|written| **written != profile.id.as_str()) {
        profile.agent.kept.insert("id".to_owned(), written.clone());
    }
    profile
}

/// The workflow as the tool it is.
pub(super) fn workflow_tool(id: String) -> String {
    match id.starts_with(WORKFLOW) {
        true => id,
        false => format!("{WORKFLOW}{id}"),
    }
}

pub(super) const WORKFLOW: &str = "workflow:";

/// The sections that may stand in either format. Who the agent is, the caller fills in.
fn shared(at: &mut Fields<'_>, run: RunRules, rules: AgentRules) -> AgentProfile {
    AgentProfile {
        id: ProfileId::new(""),
        display_name: String::new(),
        description: None,
        preset: sections::preset(at.object("preset")),
        model: sections::model(at.object("model")),
        run: sections::run(at.object("run"), run),
        context: sections::context(at.object("context")),
        delegation: sections::delegation(at.object("delegation")),
        instructions: sections::instructions(at.object("instructions")),
        tools: sections::tools(at.object("tools")),
        skills: sections::skills(at.object("skills")),
        workspace: sections::workspace(at.object("workspace")),
        plan: sections::plan(at.object("plan")),
        output: sections::output(at.object("output")),
        agent: agent(at.object("agent"), rules),
    }
}
