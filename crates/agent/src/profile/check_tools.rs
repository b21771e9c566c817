//! The rules about tools: which an agent must see, which it may name, what may be said of them.
//!
//! Which tools there are is known only to whoever has a registry; without one, the rules that need it are left out.

use innkeeper_protocol::event::Presentation;

use super::fields::{below, short};
use super::problem::{Findings, did_you_mean};
use super::rules::ProfileFormat;
use super::tool_names::{HOUSE_TOOLS, is_of_the_house};
use super::{AgentProfile, ToolNames, read::WORKFLOW};

const UNKNOWN: &str = "agent.profile_unknown_tool";

pub(super) fn tools(profile: &AgentProfile, tools: Option<&dyn ToolNames>, found: &Findings) {
    needed(profile, found);
    listed(profile, found);
    if let Some(tools) = tools {
        existing(profile, tools, found);
        visible(profile, tools, found);
        pinned(profile, tools, found);
        described(profile, tools, found);
    }
}

/// Without these a run could not come to an end that anyone sees.
fn needed(profile: &AgentProfile, found: &Findings) {
    const PATH: &str = "$.tools.allow";
    let in_text = profile.answers_in_text();
    if profile.tools.allow.is_empty() && !in_text {
        let message = "must not be empty: name the tools that the agent may use";
        found.error("agent.profile_tools_empty", PATH, message);
        return;
    }
    let must_see = |tool: &str, reason, why: &str| {
        if !profile.shows_name(tool) {
            found.error(
                reason,
                PATH,
                format!("'{tool}' must be allowed and not denied: {why}"),
            );
        }
    };
    if !in_text {
        let why = "the agent writes its output with it";
        must_see(
            "workspace.write_file",
            "agent.profile_output_writer_required",
            why,
        );
    }
    if !profile.run.direct_runnable {
        return;
    }
    if !in_text {
        let why = "the agent ends its run with it";
        must_see("workspace.finish", "agent.profile_finish_required", why);
    }
    if profile.run.presentation == Presentation::Foreground {
        let why = "a foreground agent publishes its message with it";
        must_see("workspace.commit", "agent.profile_commit_required", why);
    }
}

/// Names that may not stand in `allow`, or not yet.
fn listed(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.delegation;
    for (at, name) in profile.tools.allow.iter().enumerate() {
        let path = || allow_path(profile, at);
        if name == "task.return" {
            let message = "is given by the runtime to agents that work for others: take it out";
            found.error("agent.profile_task_return_runtime_only", &path(), message);
            continue;
        }
        if !profile.shows_name(name) {
            continue;
        }
        let (reason, flag) = match name.as_str() {
            "agent.list" if !rules.can_delegate && !rules.can_handoff => (
                "agent.profile_agent_list_requires_delegation",
                "delegation.canDelegate or delegation.canHandoff",
            ),
            "agent.delegate" | "agent.await" if !rules.can_delegate => (
                "agent.profile_agent_delegate_requires_delegation",
                "delegation.canDelegate",
            ),
            "agent.handoff" if !rules.can_handoff => (
                "agent.profile_agent_handoff_requires_handoff",
                "delegation.canHandoff",
            ),
            _ => continue,
        };
        let message = format!("'{name}' needs {flag}: set it to true, or take the tool out");
        found.error(reason, &path(), message);
    }
}

/// Tools of plugins and workflows come and go, so one that is not here is told and left out. A name of the house's
/// own families can only be a slip of the pen.
fn existing(profile: &AgentProfile, tools: &dyn ToolNames, found: &Findings) {
    let allow = profile.tools.allow.iter().enumerate();
    let allow = allow.map(|(at, name)| (allow_path(profile, at), name));
    let deny = profile.tools.deny.iter().enumerate();
    let deny = deny.map(|(at, name)| (format!("$.tools.deny[{at}]"), name));
    for (path, name) in allow.chain(deny) {
        let known = name.contains('*')
            || HOUSE_TOOLS.contains(&name.as_str())
            || tools.find(name).is_some();
        if known {
            continue;
        }
        let shown = short(name);
        if is_of_the_house(name) {
            let near = did_you_mean(name, HOUSE_TOOLS.into_iter());
            found.error(UNKNOWN, &path, format!("there is no tool '{shown}'{near}"));
            continue;
        }
        let near = match tools.nearest(name) {
            Some(near) => format!(", did you mean '{near}'?"),
            None => ": the agent goes without it until it is there".to_owned(),
        };
        found.warning(
            UNKNOWN,
            &path,
            format!("there is no tool '{shown}' now{near}"),
        );
    }
}

/// What is said of a tool must be said of one that the agent can call.
fn visible(profile: &AgentProfile, tools: &dyn ToolNames, found: &Findings) {
    let reach = profile.reach();
    let shows = |name: &str| match tools.find(name) {
        Some(tool) => reach.includes(tool),
        None => profile.shows_name(name),
    };
    let hidden = |name: &String| !shows(name);
    for name in profile
        .tools
        .max_calls_per_tool
        .keys()
        .filter(|it| hidden(it))
    {
        found.error(
            "agent.profile_tool_budget_invisible",
            &below("$.tools.maxCallsPerTool", name),
            "the agent cannot call this tool: allow it, or take the number out",
        );
    }
    let budget = &profile.agent.budget;
    let tokens = budget.max_tokens_per_tool.keys();
    let tokens = tokens.map(|name| ("$.agent.budget.maxTokensPerTool", name));
    let cost = budget.max_cost_per_tool.keys();
    let cost = cost.map(|name| ("$.agent.budget.maxCostPerTool", name));
    for (path, name) in tokens.chain(cost).filter(|(_, name)| hidden(name)) {
        found.error(
            "agent.profile_tool_budget_invisible",
            &below(path, name),
            "the agent cannot call this tool: allow it, or take the number out",
        );
    }
    for name in profile
        .tools
        .tool_descriptions
        .keys()
        .filter(|it| hidden(it))
    {
        found.error(
            "agent.profile_tool_description_invisible",
            &below("$.tools.toolDescriptions", name),
            "the agent cannot call this tool: allow it, or take the description out",
        );
    }
}

/// A pin that cannot be told of would only look like one. Patterns may fit nothing at the moment.
fn pinned(profile: &AgentProfile, tools: &dyn ToolNames, found: &Findings) {
    let reach = profile.reach();
    for (at, name) in profile.agent.offer.pins.iter().enumerate() {
        let path = format!("$.agent.offer.pins[{at}]");
        match tools.find(name) {
            _ if name.contains('*') => {}
            Some(tool) if reach.includes(tool) => {}
            Some(_) => found.error(
                "agent.profile_pin_invisible",
                &path,
                "the agent cannot call this tool: allow it, or take the pin out",
            ),
            None => {
                let shown = short(name);
                let message =
                    format!("there is no tool '{shown}' now: it is told of once it is there");
                found.warning(UNKNOWN, &path, message);
            }
        }
    }
}

fn described(profile: &AgentProfile, tools: &dyn ToolNames, found: &Findings) {
    for (name, words) in &profile.tools.tool_descriptions {
        let Some(tool) = tools.find(name) else {
            continue;
        };
        let path = below(&below("$.tools.toolDescriptions", name), "properties");
        let declared: Vec<&str> = tool.properties().map(|(name, _)| name).collect();
        if declared.is_empty() && !words.properties.is_empty() {
            let message = format!("'{}' takes no parameters that could be described", tool.id);
            found.error("agent.profile_tool_property_schema_invalid", &path, message);
            continue;
        }
        for property in words.properties.keys() {
            if !declared.contains(&property.as_str()) {
                let near = did_you_mean(property, declared.iter().copied());
                let message = format!("'{}' has no parameter '{}'{near}", tool.id, short(property));
                found.error(
                    "agent.profile_unknown_tool_property",
                    &below(&path, property),
                    message,
                );
            }
        }
    }
}

/// Where the file has the entry: a ComfyTavern profile has two lists before this one.
fn allow_path(profile: &AgentProfile, at: usize) -> String {
    let allow = &profile.tools.allow;
    if profile.agent.format == ProfileFormat::Tavern {
        return format!("$.tools.allow[{at}]");
    }
    let is_workflow = |name: &&String| name.starts_with(WORKFLOW);
    let tools = allow.iter().take_while(|name| !is_workflow(name)).count();
    let skills = allow.iter().skip(tools).take_while(is_workflow).count();
    if at < tools {
        format!("$.tool_ids_inventory[{at}]")
    } else if at < tools + skills {
        format!("$.skill_workflow_ids_inventory[{}]", at - tools)
    } else {
        format!("$.tools.allow[{}]", at - tools - skills)
    }
}
