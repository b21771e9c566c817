//! The sections that both tavern formats have, one function each: form and bounds. What the fields of one section mean
//! for those of another is `check.rs`'s.

use innkeeper_protocol::event::Presentation;
use serde_json::Value as Json;

use super::fields::{Fields, expected, text, whole};
use super::problem::CONTRACT;
use super::sections::{
    Artifact, ContextPolicy, Delegation, Instructions, ModelChoice, ModelMode, ModelRetry, Output,
    Plan, Preset, PresetMode, PresetRef, RunRules, SkillRules, ToolDescription, ToolRules,
    WorkspaceRules,
};
use crate::limits::{
    MAX_CONCURRENT_INVOCATIONS, MAX_HANDOFF_DEPTH, MAX_INVOCATIONS_PER_RUN, MAX_MODEL_RETRIES,
    MAX_PROFILE_COUNT, MAX_PROFILE_DESCRIPTION_CHARS, MAX_PROFILE_WAIT_MS, MAX_SKILL_CHARS,
    MAX_SYSTEM_PROMPT_CHARS,
};

const PRESENTATIONS: &[(&str, Presentation)] = &[
    ("foreground", Presentation::Foreground),
    ("background", Presentation::Background),
];

pub(super) fn preset(mut at: Fields<'_>) -> Preset {
    let modes = [
        ("currentPromptSnapshot", PresetMode::CurrentPromptSnapshot),
        ("ref", PresetMode::Ref),
        ("none", PresetMode::None),
    ];
    let mode = at.choice("mode", PresetMode::default(), CONTRACT, &modes);
    let reference = at.object_if_any("ref").map(|mut at| {
        let api_id = at.name("apiId", "agent.profile_preset_api_invalid");
        let name = at.name("name", "agent.profile_preset_name_required");
        for (key, given, reason) in [
            ("apiId", &api_id, "agent.profile_preset_api_invalid"),
            ("name", &name, "agent.profile_preset_name_required"),
        ] {
            if given.is_none() && !at.has(key) {
                at.error(
                    reason,
                    key,
                    "is missing: a preset is named by 'apiId' and 'name'",
                );
            }
        }
        at.end();
        PresetRef {
            api_id: api_id.unwrap_or_default(),
            name: name.unwrap_or_default(),
        }
    });
    if mode == PresetMode::Ref && reference.is_none() {
        let message = "is missing: with the mode 'ref' it names the preset";
        at.error("agent.profile_preset_ref_required", "ref", message);
    }
    let required = at.flag("required", false);
    at.end();
    Preset {
        mode,
        reference,
        required,
    }
}

pub(super) fn model(mut at: Fields<'_>) -> ModelChoice {
    let modes = [
        ("currentPromptSnapshot", ModelMode::CurrentPromptSnapshot),
        ("connectionRef", ModelMode::ConnectionRef),
        ("requiresConfiguration", ModelMode::RequiresConfiguration),
    ];
    let mode = at.choice("mode", ModelMode::default(), CONTRACT, &modes);
    let choice = ModelChoice {
        mode,
        connection_ref: at.name(
            "connectionRef",
            "agent.profile_model_connection_ref_required",
        ),
        model_id: at.name("modelId", "agent.profile_model_id_required"),
    };
    let fields = [
        (
            "connectionRef",
            choice.connection_ref.is_some(),
            "agent.profile_model_connection_ref_required",
        ),
        (
            "modelId",
            choice.model_id.is_some(),
            "agent.profile_model_id_required",
        ),
    ];
    for (key, given, missing) in fields {
        let surplus = match mode {
            ModelMode::ConnectionRef if !given => {
                at.error(
                    missing,
                    key,
                    "is missing: the mode 'connectionRef' needs it",
                );
                continue;
            }
            ModelMode::CurrentPromptSnapshot => "agent.profile_model_current_snapshot_extra_fields",
            ModelMode::RequiresConfiguration => {
                "agent.profile_model_requires_configuration_extra_fields"
            }
            ModelMode::ConnectionRef => continue,
        };
        if given {
            let message =
                "means nothing in this mode: take it out, or set the mode to 'connectionRef'";
            at.error(surplus, key, message);
        }
    }
    at.end();
    choice
}

pub(super) fn run(mut at: Fields<'_>, default: RunRules) -> RunRules {
    let rules = RunRules {
        presentation: at.choice(
            "presentation",
            default.presentation,
            "agent.presentation_invalid",
            PRESENTATIONS,
        ),
        direct_runnable: at.flag("directRunnable", default.direct_runnable),
        model_retry: model_retry(at.object("modelRetry")),
        stream: at.flag("stream", default.stream),
    };
    at.end();
    rules
}

fn model_retry(mut at: Fields<'_>) -> ModelRetry {
    const INVALID: &str = "agent.profile_model_retry_invalid";
    let default = ModelRetry::default();
    let retries = at.whole(
        "maxRetries",
        default.max_retries.into(),
        0..=MAX_MODEL_RETRIES,
        INVALID,
    );
    let retry = ModelRetry {
        max_retries: narrow(retries),
        interval_ms: at.whole(
            "intervalMs",
            default.interval_ms,
            0..=MAX_PROFILE_WAIT_MS,
            INVALID,
        ),
    };
    at.end();
    retry
}

pub(super) fn context(mut at: Fields<'_>) -> ContextPolicy {
    const KEY: &str = "initialChatHistoryMessages";
    let default = ContextPolicy::default();
    let policy = ContextPolicy {
        initial_chat_history_messages: match at.raw(KEY) {
            Some(value) if value.as_i64() == Some(-1) => -1,
            Some(value) => {
                let path = at.at(KEY);
                let count = whole(value, 0..=MAX_PROFILE_COUNT, CONTRACT, &path, at.found());
                count.map_or(-1, |count| i64::try_from(count).unwrap_or(-1))
            }
            None => default.initial_chat_history_messages,
        },
        include_activated_world_info: at.flag(
            "includeActivatedWorldInfo",
            default.include_activated_world_info,
        ),
    };
    at.end();
    policy
}

pub(super) fn delegation(mut at: Fields<'_>) -> Delegation {
    let default = Delegation::default();
    let mut count =
        |key, default: u32, most, reason| narrow(at.whole(key, default.into(), 1..=most, reason));
    let max_concurrent_invocations = count(
        "maxConcurrentInvocations",
        default.max_concurrent_invocations,
        MAX_CONCURRENT_INVOCATIONS,
        "agent.profile_delegation_concurrency_invalid",
    );
    let max_invocations_per_run = count(
        "maxInvocationsPerRun",
        default.max_invocations_per_run,
        MAX_INVOCATIONS_PER_RUN,
        "agent.profile_delegation_run_budget_invalid",
    );
    let result_budget_tokens = count(
        "resultBudgetTokens",
        default.result_budget_tokens,
        MAX_PROFILE_COUNT,
        "agent.profile_delegation_result_budget_invalid",
    );
    let max_handoff_depth = count(
        "maxHandoffDepth",
        default.max_handoff_depth,
        MAX_HANDOFF_DEPTH,
        "agent.profile_handoff_depth_invalid",
    );
    let description_for_agents = at.text("descriptionForAgents", MAX_PROFILE_DESCRIPTION_CHARS);
    if description_for_agents
        .as_ref()
        .is_some_and(|text| text.trim().is_empty())
    {
        let message = "must not be blank: say what the agent is good for, or leave it out";
        at.error(
            "agent.profile_delegation_description_empty",
            "descriptionForAgents",
            message,
        );
    }
    let delegation = Delegation {
        can_delegate: at.flag("canDelegate", false),
        can_handoff: at.flag("canHandoff", false),
        callable: at.flag("callable", false),
        allow_as_subagent: at.flag("allowAsSubagent", false),
        allow_as_handoff_target: at.flag("allowAsHandoffTarget", false),
        allow_nested_delegation: at.flag("allowNestedDelegation", false),
        allowed_callers: at
            .names("allowedCallers")
            .unwrap_or(default.allowed_callers),
        description_for_agents,
        max_concurrent_invocations,
        max_invocations_per_run,
        result_budget_tokens,
        max_handoff_depth,
    };
    at.end();
    delegation
}

pub(super) fn instructions(mut at: Fields<'_>) -> Instructions {
    const KEY: &str = "agentSystemPrompt";
    let prompt = at.text(KEY, MAX_SYSTEM_PROMPT_CHARS);
    if prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        let message = "must not be blank: write a prompt, or null for the generated one";
        at.error("agent.profile_system_prompt_empty", KEY, message);
    }
    at.end();
    Instructions {
        agent_system_prompt: prompt,
    }
}

pub(super) fn tools(mut at: Fields<'_>) -> ToolRules {
    let default = ToolRules::default();
    let found = at.found();
    let max_rounds = at.whole(
        "maxRounds",
        default.max_rounds.into(),
        1..=MAX_PROFILE_COUNT,
        "agent.profile_max_rounds_invalid",
    );
    let max_calls_per_run = at.whole(
        "maxCallsPerRun",
        default.max_calls_per_run.into(),
        1..=MAX_PROFILE_COUNT,
        "agent.profile_max_calls_invalid",
    );
    let rules = ToolRules {
        allow: at.names("allow").unwrap_or_default(),
        deny: at.names("deny").unwrap_or_default(),
        tool_descriptions: at.map("toolDescriptions", CONTRACT, |value, path| {
            Some(tool_description(Fields::new(
                Some(value),
                path.to_owned(),
                found,
            )))
        }),
        max_rounds: narrow(max_rounds),
        max_calls_per_run: narrow(max_calls_per_run),
        max_calls_per_tool: at.map("maxCallsPerTool", CONTRACT, |value, path| {
            const INVALID: &str = "agent.profile_tool_budget_invalid";
            whole(value, 1..=MAX_PROFILE_COUNT, INVALID, path, found).map(narrow)
        }),
    };
    // Of later versions: how much of an MCP tool's result goes into the prompt. The runtime has a bound of its own.
    at.whole("mcpResultInlineCharLimit", 0, 0..=MAX_SKILL_CHARS, CONTRACT);
    at.end();
    rules
}

fn tool_description(mut at: Fields<'_>) -> ToolDescription {
    const KEY: &str = "description";
    let found = at.found();
    let description = at.text(KEY, MAX_PROFILE_DESCRIPTION_CHARS);
    let remedy = "must not be blank: describe it, or leave it out";
    if description
        .as_ref()
        .is_some_and(|text| text.trim().is_empty())
    {
        at.error("agent.profile_tool_description_empty", KEY, remedy);
    }
    let properties = at.map(
        "properties",
        "agent.profile_tool_properties_invalid",
        |value: &Json, path| {
            if !value.is_string() {
                let reason = "agent.profile_tool_properties_invalid";
                found.error(reason, path, expected("a text", value));
                return None;
            }
            let words = text(value, MAX_PROFILE_DESCRIPTION_CHARS, path, found)?;
            if words.trim().is_empty() {
                found.error(
                    "agent.profile_tool_property_description_empty",
                    path,
                    remedy,
                );
            }
            Some(words)
        },
    );
    at.end();
    ToolDescription {
        description,
        properties,
    }
}

pub(super) fn skills(mut at: Fields<'_>) -> SkillRules {
    const INVALID: &str = "agent.profile_skill_budget_invalid";
    let default = SkillRules::default();
    let rules = SkillRules {
        visible: at.names("visible").unwrap_or(default.visible),
        deny: at.names("deny").unwrap_or(default.deny),
        max_read_chars_per_call: at.whole(
            "maxReadCharsPerCall",
            default.max_read_chars_per_call,
            1..=MAX_SKILL_CHARS,
            INVALID,
        ),
        max_read_chars_per_run: at.whole(
            "maxReadCharsPerRun",
            default.max_read_chars_per_run,
            1..=MAX_SKILL_CHARS,
            INVALID,
        ),
    };
    at.end();
    rules
}

pub(super) fn workspace(mut at: Fields<'_>) -> WorkspaceRules {
    let default = WorkspaceRules::default();
    let rules = WorkspaceRules {
        visible_roots: at.names("visibleRoots").unwrap_or(default.visible_roots),
        writable_roots: at.names("writableRoots").unwrap_or(default.writable_roots),
    };
    at.end();
    rules
}

pub(super) fn plan(mut at: Fields<'_>) -> Plan {
    let mode = at.choice(
        "mode",
        "none",
        "agent.plan_mode_unsupported",
        &[("none", "none")],
    );
    let beta = at.flag("beta", true);
    let nodes = at.list("nodes");
    if !nodes.is_empty() {
        let message = "must be empty: plans with nodes are not run";
        at.error("agent.plan_nodes_unsupported", "nodes", message);
    }
    at.end();
    Plan {
        mode: mode.to_owned(),
        beta,
        nodes: nodes.into_iter().map(|(_, node)| node.clone()).collect(),
    }
}

pub(super) fn output(mut at: Fields<'_>) -> Output {
    let found = at.found();
    let entries = at.list("artifacts");
    let artifacts = entries
        .into_iter()
        .map(|(path, entry)| artifact(Fields::new(Some(entry), path, found)));
    let output = Output {
        artifacts: artifacts.collect(),
    };
    at.end();
    output
}

fn artifact(mut at: Fields<'_>) -> Artifact {
    const ORDER: &str = "assemblyOrder";
    let mut needed = |key, reason| {
        let given = at.name(key, reason);
        if given.is_none() && !at.has(key) {
            at.error(reason, key, "is missing");
        }
        given.unwrap_or_default()
    };
    let artifact = Artifact {
        id: needed("id", "agent.profile_artifact_id_invalid"),
        path: needed("path", "agent.profile_output_path_denied"),
        kind: needed("kind", "agent.profile_output_kind_required"),
        target: needed("target", CONTRACT),
        required: at.flag("required", false),
        assembly_order: match at.raw(ORDER) {
            None => 0,
            Some(value) => value.as_i64().unwrap_or_else(|| {
                at.error(CONTRACT, ORDER, expected("a whole number", value));
                0
            }),
        },
    };
    at.end();
    artifact
}

/// For numbers that the bounds keep well below.
pub(super) fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
