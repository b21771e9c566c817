//! What the parts of a profile demand of each other. Each rule has the name under which pages and extensions know it.
//!
//! Form and bounds of single fields were seen to by reading. Tools are in `check_tools.rs`, the private state in
//! `check_state.rs`.

use std::collections::HashSet;

use innkeeper_protocol::event::Presentation;

use super::fields::short;
use super::problem::{CONTRACT, Findings, did_you_mean};
use super::sections::{Artifact, MESSAGE_BODY, ROOTS};
use super::{AgentProfile, ToolNames, check_state, check_tools, id};

const ROOT_INVALID: &str = "agent.profile_workspace_root_invalid";

pub(super) fn profile(profile: &AgentProfile, tools: Option<&dyn ToolNames>, found: &Findings) {
    delegation(profile, found);
    direct_runs(profile, found);
    check_tools::tools(profile, tools, found);
    skills(profile, found);
    workspace(profile, found);
    output(profile, found);
    check_state::private_state(profile, found);
}

fn delegation(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.delegation;
    let target = rules.allow_as_subagent || rules.allow_as_handoff_target;
    if target && !rules.callable {
        found.error(
            "agent.profile_delegation_callable_required",
            "$.delegation.callable",
            "must be true for an agent that others may call: set it, or take 'allowAsSubagent' and 'allowAsHandoffTarget' out",
        );
    }
    if rules.callable && !target {
        found.error(
            "agent.profile_delegation_target_mode_required",
            "$.delegation",
            "a callable agent needs 'allowAsSubagent' or 'allowAsHandoffTarget'",
        );
    }
    if rules.allow_nested_delegation {
        // Profiles of taverns may have it; it had no effect there either.
        found.warning(
            "agent.profile_nested_delegation_unsupported",
            "$.delegation.allowNestedDelegation",
            "has no effect: an agent that works on a task gives no tasks in its turn; let the first agent give all of them",
        );
    }
    if rules.allowed_callers.is_empty() {
        found.error(
            "agent.profile_delegation_callers_empty",
            "$.delegation.allowedCallers",
            "must name someone: ids of profiles, or '*' for everyone",
        );
    }
    for (at, caller) in rules.allowed_callers.iter().enumerate() {
        if caller != "*"
            && let Some((reason, message)) = id::fault(caller)
        {
            found.error(
                reason,
                &format!("$.delegation.allowedCallers[{at}]"),
                message,
            );
        }
    }
}

/// A profile that people cannot start must be one that agents can.
fn direct_runs(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.delegation;
    if profile.run.direct_runnable {
        return;
    }
    if !rules.callable || !(rules.allow_as_subagent || rules.allow_as_handoff_target) {
        found.error(
            "agent.profile_direct_runnable_disabled_requires_delegation_target",
            "$.run.directRunnable",
            "nobody could start this agent: let others call it (delegation.callable and a target mode), or set it to true",
        );
    }
    if !rules.allow_as_handoff_target && profile.run.presentation == Presentation::Foreground {
        found.error(
            "agent.profile_subagent_only_background_required",
            "$.run.presentation",
            "must be 'background' for an agent that only works for other agents",
        );
    }
}

fn skills(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.skills;
    if rules.visible.is_empty() {
        found.error(
            "agent.profile_skill_visible_empty",
            "$.skills.visible",
            "must not be empty: '*' shows all skills; to show none, put '*' into 'deny'",
        );
    }
    for (key, list) in [("visible", &rules.visible), ("deny", &rules.deny)] {
        for (at, name) in list.iter().enumerate() {
            if name != "*" && id::fault(name).is_some() {
                found.error(
                    "agent.profile_skill_name_invalid",
                    &format!("$.skills.{key}[{at}]"),
                    format!(
                        "'{}' is no name of a skill: use '*', or lower-case letters, digits, '-' and '_'",
                        short(name)
                    ),
                );
            }
        }
    }
    if rules.max_read_chars_per_call > rules.max_read_chars_per_run {
        found.error(
            "agent.profile_skill_budget_invalid",
            "$.skills.maxReadCharsPerCall",
            format!(
                "{} is more than the {} characters of the whole run",
                rules.max_read_chars_per_call, rules.max_read_chars_per_run
            ),
        );
    }
}

fn workspace(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.workspace;
    if rules.visible_roots.is_empty() {
        found.error(
            "agent.profile_workspace_visible_empty",
            "$.workspace.visibleRoots",
            format!("must name at least one of {}", ROOTS.join(", ")),
        );
    }
    for (key, list) in [
        ("visibleRoots", &rules.visible_roots),
        ("writableRoots", &rules.writable_roots),
    ] {
        let mut seen = HashSet::new();
        for (at, root) in list.iter().enumerate() {
            let path = format!("$.workspace.{key}[{at}]");
            if !ROOTS.contains(&root.as_str()) {
                let near = match did_you_mean(root, ROOTS.into_iter()) {
                    none if none.is_empty() => format!(": there are {}", ROOTS.join(", ")),
                    near => near,
                };
                let message = format!("'{}' is no root{near}", short(root));
                found.error(ROOT_INVALID, &path, message);
            } else if !seen.insert(root) {
                found.error(ROOT_INVALID, &path, format!("'{root}' is named twice"));
            } else if !rules.visible_roots.contains(root) {
                let message = format!(
                    "'{root}' is writable but not visible: add it to 'visibleRoots' or take it out"
                );
                found.error(ROOT_INVALID, &path, message);
            }
        }
    }
}

fn output(profile: &AgentProfile, found: &Findings) {
    const PATH: &str = "$.output.artifacts";
    let artifacts = &profile.output.artifacts;
    // Whoever answers in words needs no file for it.
    if artifacts.is_empty() && profile.answers_in_text() {
        return;
    }
    if artifacts.is_empty() {
        let message =
            "must have one artifact with the target 'messageBody': the text of the message";
        found.error("agent.profile_output_empty", PATH, message);
        return;
    }
    let bodies = artifacts.iter().filter(|it| it.target == MESSAGE_BODY);
    if bodies.count() == 0 {
        let message = "one artifact must have the target 'messageBody'";
        found.error("agent.profile_output_message_body_missing", PATH, message);
    }
    let mut ids = HashSet::new();
    let mut paths = HashSet::new();
    let mut has_body = false;
    for (at, artifact) in artifacts.iter().enumerate() {
        let at = |key: &str| format!("{PATH}[{at}].{key}");
        if !artifact.id.is_empty() && !is_artifact_id(&artifact.id) {
            let message = "must be 1 to 128 ASCII letters, digits, '-' and '_'";
            found.error("agent.profile_artifact_id_invalid", &at("id"), message);
        }
        if !ids.insert(&artifact.id) {
            let message = format!("'{}' is taken by an artifact before", short(&artifact.id));
            found.error("agent.profile_output_duplicate_id", &at("id"), message);
        }
        if !paths.insert(plain_path(&artifact.path)) {
            let message = format!("'{}' is taken by an artifact before", short(&artifact.path));
            found.error("agent.profile_output_duplicate_path", &at("path"), message);
        }
        match artifact.target.as_str() {
            MESSAGE_BODY if has_body => {
                let message = "only one artifact can be the text of the message";
                found.error(
                    "agent.profile_output_duplicate_message_body",
                    &at("target"),
                    message,
                );
            }
            MESSAGE_BODY => has_body = true,
            "" => {}
            other => {
                let message = format!("must be 'messageBody', not '{}'", short(other));
                found.error(CONTRACT, &at("target"), message);
            }
        }
        if let Err(why) = reachable(profile, artifact) {
            found.error("agent.profile_output_path_denied", &at("path"), why);
        }
    }
}

fn reachable(profile: &AgentProfile, artifact: &Artifact) -> Result<(), String> {
    // That it is missing was told.
    if artifact.path.is_empty() {
        return Ok(());
    }
    let Some(path) = plain_path(&artifact.path) else {
        return Err(format!(
            "'{}' is no path of a workspace: it must be relative and without '..'",
            short(&artifact.path)
        ));
    };
    let Some((root, _)) = path.split_once('/') else {
        return Err(format!(
            "'{}' must be a file in one of the roots, like 'output/main.md'",
            short(&path)
        ));
    };
    let rules = &profile.workspace;
    for (list, what) in [
        (&rules.visible_roots, "visible"),
        (&rules.writable_roots, "writable"),
    ] {
        if !list.iter().any(|known| known == root) {
            return Err(format!(
                "its root '{}' is not {what} for the agent",
                short(root)
            ));
        }
    }
    Ok(())
}

/// With `/` between the names and no `.` among them.
fn plain_path(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let bytes = path.as_bytes();
    let drive = bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic);
    if path.starts_with('/') || drive || path.contains(|c: char| c.is_control()) {
        return None;
    }
    let names = path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".");
    let names: Vec<_> = names.collect();
    (!names.is_empty() && !names.contains(&"..")).then(|| names.join("/"))
}

fn is_artifact_id(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !id.is_empty() && id.len() <= 128 && id.chars().all(fits)
}
