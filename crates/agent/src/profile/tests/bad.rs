//! Every rule once: what is changed in a good profile, and what is said about it.

use serde_json::{Value as Json, json};

use super::{comfy, version_1, with};
use crate::limits::{
    MAX_CONCURRENT_INVOCATIONS, MAX_INVOCATIONS_PER_RUN, MAX_MODEL_RETRIES, MAX_PROFILE_ID_CHARS,
};
use crate::profile::{AgentProfile, Severity};
use innkeeper_protocol::ErrorCode;

type Change = (&'static str, Json);

#[track_caller]
fn expect(base: Json, changes: &[Change], reason: &str, path: &str) {
    let json = changes.iter().fold(base, |json, (pointer, value)| {
        with(json, pointer, value.clone())
    });
    let error = AgentProfile::from_json(&json, None).expect_err(&format!("{reason} at {path}"));
    assert_eq!(error.code(), ErrorCode::AgentInvalidProfile);
    let all: Vec<_> = error
        .problems
        .iter()
        .map(|it| (it.reason, it.path.as_str()))
        .collect();
    assert_eq!(all, [(reason, path)], "{error}");
    assert!(
        error
            .problems
            .iter()
            .all(|it| it.severity == Severity::Error)
    );
    assert!(!error.to_string().ends_with('.'), "{error}");
}

fn each(rows: &[(&[Change], &str, &str)]) {
    for (changes, reason, path) in rows {
        let reason = match reason.split_once('.') {
            Some(_) => (*reason).to_owned(),
            None => format!("agent.profile_{reason}"),
        };
        expect(version_1(), changes, &reason, path);
    }
}

#[test]
fn who_it_is() {
    let long = "x".repeat(MAX_PROFILE_ID_CHARS + 1);
    each(&[
        (&[("/kind", json!("other"))], "kind_invalid", "$.kind"),
        (&[("/kind", Json::Null)], "kind_invalid", "$.kind"),
        (
            &[("/schemaVersion", json!(5))],
            "schema_unsupported",
            "$.schemaVersion",
        ),
        (
            &[("/schemaVersion", json!(0))],
            "schema_unsupported",
            "$.schemaVersion",
        ),
        (
            &[("/schemaVersion", json!("2"))],
            "schema_unsupported",
            "$.schemaVersion",
        ),
        (
            &[("/schemaVersion", Json::Null)],
            "schema_unsupported",
            "$.schemaVersion",
        ),
        (&[("/id", json!(""))], "id_empty", "$.id"),
        (&[("/id", Json::Null)], "id_empty", "$.id"),
        (&[("/id", json!(7))], "id_invalid", "$.id"),
        (&[("/id", json!("My-Writer"))], "id_invalid", "$.id"),
        (&[("/id", json!("a/../b"))], "id_invalid", "$.id"),
        (&[("/id", json!("写手"))], "id_invalid", "$.id"),
        (&[("/id", json!(long))], "id_too_long", "$.id"),
        (
            &[("/displayName", Json::Null)],
            "display_name_required",
            "$.displayName",
        ),
        (
            &[("/displayName", json!(" "))],
            "display_name_required",
            "$.displayName",
        ),
        (
            &[("/displayName", json!(1))],
            "contract_invalid",
            "$.displayName",
        ),
    ]);
}

#[test]
fn preset_and_model() {
    let preset = json!({"apiId": "openai", "name": "p"});
    each(&[
        (
            &[("/preset/mode", json!("other"))],
            "contract_invalid",
            "$.preset.mode",
        ),
        (
            &[("/preset/mode", json!("ref"))],
            "preset_ref_required",
            "$.preset.ref",
        ),
        (
            &[("/preset/ref", with(preset.clone(), "/apiId", json!(" ")))],
            "preset_api_invalid",
            "$.preset.ref.apiId",
        ),
        (
            &[("/preset/ref", with(preset.clone(), "/apiId", Json::Null))],
            "preset_api_invalid",
            "$.preset.ref.apiId",
        ),
        (
            &[("/preset/ref", with(preset, "/name", Json::Null))],
            "preset_name_required",
            "$.preset.ref.name",
        ),
        (
            &[("/model/connectionRef", json!("c"))],
            "model_current_snapshot_extra_fields",
            "$.model.connectionRef",
        ),
        (
            &[("/model/modelId", json!("m"))],
            "model_current_snapshot_extra_fields",
            "$.model.modelId",
        ),
        (
            &[
                ("/model/mode", json!("requiresConfiguration")),
                ("/model/modelId", json!("m")),
            ],
            "model_requires_configuration_extra_fields",
            "$.model.modelId",
        ),
        (
            &[
                ("/model/mode", json!("connectionRef")),
                ("/model/modelId", json!("m")),
            ],
            "model_connection_ref_required",
            "$.model.connectionRef",
        ),
        (
            &[
                ("/model/mode", json!("connectionRef")),
                ("/model/connectionRef", json!("c")),
            ],
            "model_id_required",
            "$.model.modelId",
        ),
    ]);
}

#[test]
fn run_and_context() {
    each(&[
        (
            &[("/run/presentation", json!("loud"))],
            "agent.presentation_invalid",
            "$.run.presentation",
        ),
        (
            &[("/run/modelRetry/maxRetries", json!(MAX_MODEL_RETRIES + 1))],
            "model_retry_invalid",
            "$.run.modelRetry.maxRetries",
        ),
        (
            &[("/run/modelRetry/intervalMs", json!(-1))],
            "model_retry_invalid",
            "$.run.modelRetry.intervalMs",
        ),
        (
            &[("/context/initialChatHistoryMessages", json!(-2))],
            "contract_invalid",
            "$.context.initialChatHistoryMessages",
        ),
        (
            &[("/context/includeActivatedWorldInfo", json!("yes"))],
            "contract_invalid",
            "$.context.includeActivatedWorldInfo",
        ),
        (
            &[("/instructions/agentSystemPrompt", json!(" \n"))],
            "system_prompt_empty",
            "$.instructions.agentSystemPrompt",
        ),
        (
            &[("/plan/mode", json!("graph"))],
            "agent.plan_mode_unsupported",
            "$.plan.mode",
        ),
        (
            &[("/plan/nodes", json!([{}]))],
            "agent.plan_nodes_unsupported",
            "$.plan.nodes",
        ),
    ]);
}

#[test]
fn delegation() {
    each(&[
        (
            &[("/delegation/allowAsSubagent", json!(true))],
            "delegation_callable_required",
            "$.delegation.callable",
        ),
        (
            &[("/delegation/callable", json!(true))],
            "delegation_target_mode_required",
            "$.delegation",
        ),
        (
            &[("/delegation/allowedCallers", json!([]))],
            "delegation_callers_empty",
            "$.delegation.allowedCallers",
        ),
        (
            &[("/delegation/allowedCallers", json!(["*", "Bad Id"]))],
            "id_invalid",
            "$.delegation.allowedCallers[1]",
        ),
        (
            &[("/delegation/descriptionForAgents", json!(""))],
            "delegation_description_empty",
            "$.delegation.descriptionForAgents",
        ),
        (
            &[("/delegation/maxConcurrentInvocations", json!(0))],
            "delegation_concurrency_invalid",
            "$.delegation.maxConcurrentInvocations",
        ),
        (
            &[("/delegation/maxInvocationsPerRun", json!(0))],
            "delegation_run_budget_invalid",
            "$.delegation.maxInvocationsPerRun",
        ),
        (
            &[(
                "/delegation/maxConcurrentInvocations",
                json!(MAX_CONCURRENT_INVOCATIONS + 1),
            )],
            "delegation_concurrency_invalid",
            "$.delegation.maxConcurrentInvocations",
        ),
        (
            &[(
                "/delegation/maxInvocationsPerRun",
                json!(MAX_INVOCATIONS_PER_RUN + 1),
            )],
            "delegation_run_budget_invalid",
            "$.delegation.maxInvocationsPerRun",
        ),
        (
            &[("/delegation/resultBudgetTokens", json!(0))],
            "delegation_result_budget_invalid",
            "$.delegation.resultBudgetTokens",
        ),
        (
            &[("/delegation/maxHandoffDepth", json!(0))],
            "handoff_depth_invalid",
            "$.delegation.maxHandoffDepth",
        ),
        (
            &[
                ("/run/directRunnable", json!(false)),
                ("/run/presentation", json!("background")),
            ],
            "direct_runnable_disabled_requires_delegation_target",
            "$.run.directRunnable",
        ),
        (
            &[
                ("/run/directRunnable", json!(false)),
                ("/delegation/callable", json!(true)),
                ("/delegation/allowAsSubagent", json!(true)),
            ],
            "subagent_only_background_required",
            "$.run.presentation",
        ),
    ]);
}

#[test]
fn tools() {
    each(&[
        (
            &[("/tools/allow", json!([]))],
            "tools_empty",
            "$.tools.allow",
        ),
        (
            &[("/tools/deny", json!(["workspace.write_file"]))],
            "output_writer_required",
            "$.tools.allow",
        ),
        (
            &[("/tools/deny", json!(["Workspace:Finish"]))],
            "finish_required",
            "$.tools.allow",
        ),
        (
            &[("/tools/deny", json!(["*.commit"]))],
            "commit_required",
            "$.tools.allow",
        ),
        (
            &[("/tools/allow/-", json!("task.return"))],
            "task_return_runtime_only",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!("agent.list"))],
            "agent_list_requires_delegation",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!("agent.delegate"))],
            "agent_delegate_requires_delegation",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!("agent.await"))],
            "agent_delegate_requires_delegation",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!("agent.handoff"))],
            "agent_handoff_requires_handoff",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!(""))],
            "contract_invalid",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/allow/-", json!(3))],
            "contract_invalid",
            "$.tools.allow[13]",
        ),
        (
            &[("/tools/maxRounds", json!(0))],
            "max_rounds_invalid",
            "$.tools.maxRounds",
        ),
        (
            &[("/tools/maxRounds", json!(1.5))],
            "contract_invalid",
            "$.tools.maxRounds",
        ),
        (
            &[("/tools/maxCallsPerRun", json!(0))],
            "max_calls_invalid",
            "$.tools.maxCallsPerRun",
        ),
        (
            &[("/tools/maxCallsPerTool", json!({"chat.search": 0}))],
            "tool_budget_invalid",
            "$.tools.maxCallsPerTool[\"chat.search\"]",
        ),
        (
            &[(
                "/tools/toolDescriptions",
                json!({"chat.search": {"description": " "}}),
            )],
            "tool_description_empty",
            "$.tools.toolDescriptions[\"chat.search\"].description",
        ),
        (
            &[(
                "/tools/toolDescriptions",
                json!({"chat.search": {"properties": []}}),
            )],
            "tool_properties_invalid",
            "$.tools.toolDescriptions[\"chat.search\"].properties",
        ),
        (
            &[(
                "/tools/toolDescriptions",
                json!({"chat.search": {"properties": {"query": 1}}}),
            )],
            "tool_properties_invalid",
            "$.tools.toolDescriptions[\"chat.search\"].properties.query",
        ),
        (
            &[(
                "/tools/toolDescriptions",
                json!({"chat.search": {"properties": {"query": ""}}}),
            )],
            "tool_property_description_empty",
            "$.tools.toolDescriptions[\"chat.search\"].properties.query",
        ),
    ]);
}

#[test]
fn skills_workspace_and_output() {
    let artifact = |key: &str, value: Json| {
        let artifact = version_1().pointer("/output/artifacts/0").unwrap().clone();
        with(artifact, &format!("/{key}"), value)
    };
    let two = |second: Json| json!([artifact("id", json!("main")), second]);
    let only = |key: &str, value: Json| json!([artifact(key, value)]);
    let at = |key: &str, value: Json| [("/output/artifacts", only(key, value))];
    each(&[
        (
            &[("/skills/visible", json!([]))],
            "skill_visible_empty",
            "$.skills.visible",
        ),
        (
            &[("/skills/visible", json!(["Bad Name"]))],
            "skill_name_invalid",
            "$.skills.visible[0]",
        ),
        (
            &[("/skills/deny", json!(["../x"]))],
            "skill_name_invalid",
            "$.skills.deny[0]",
        ),
        (
            &[("/skills/maxReadCharsPerCall", json!(0))],
            "skill_budget_invalid",
            "$.skills.maxReadCharsPerCall",
        ),
        (
            &[("/skills/maxReadCharsPerCall", json!(80_001))],
            "skill_budget_invalid",
            "$.skills.maxReadCharsPerCall",
        ),
        (
            &[
                ("/workspace/visibleRoots/0", json!("outputs")),
                ("/workspace/visibleRoots/-", json!("output")),
            ],
            "workspace_root_invalid",
            "$.workspace.visibleRoots[0]",
        ),
        (
            &[("/workspace/visibleRoots/-", json!("plan"))],
            "workspace_root_invalid",
            "$.workspace.visibleRoots[5]",
        ),
        (
            &[
                ("/workspace/visibleRoots", json!(["output"])),
                ("/workspace/writableRoots", json!(["output", "plan"])),
            ],
            "workspace_root_invalid",
            "$.workspace.writableRoots[1]",
        ),
        (
            &[("/output/artifacts", json!([]))],
            "output_empty",
            "$.output.artifacts",
        ),
        (
            &[("/output", Json::Null)],
            "output_empty",
            "$.output.artifacts",
        ),
        (
            &at("id", json!("a b")),
            "artifact_id_invalid",
            "$.output.artifacts[0].id",
        ),
        (
            &at("id", Json::Null),
            "artifact_id_invalid",
            "$.output.artifacts[0].id",
        ),
        (
            &at("kind", json!("")),
            "output_kind_required",
            "$.output.artifacts[0].kind",
        ),
        (
            &at("assemblyOrder", json!("first")),
            "contract_invalid",
            "$.output.artifacts[0].assemblyOrder",
        ),
        (
            &at("path", json!("/etc/passwd")),
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &at("path", json!("output/../x")),
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &at("path", json!("C:\\x\\y")),
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &at("path", json!("output")),
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &at("path", json!("elsewhere/x")),
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &[("/workspace/writableRoots", json!(["plan"]))],
            "output_path_denied",
            "$.output.artifacts[0].path",
        ),
        (
            &[(
                "/output/artifacts",
                two(with(artifact("id", json!("b")), "/path", json!("plan/b"))),
            )],
            "output_duplicate_message_body",
            "$.output.artifacts[1].target",
        ),
    ]);
    // Two at once, because a second artifact is always also a second text.
    for (second, expected) in [
        (
            artifact("path", json!("plan/b")),
            "agent.profile_output_duplicate_id",
        ),
        (
            with(
                artifact("id", json!("b")),
                "/path",
                json!("output/./main.md"),
            ),
            "agent.profile_output_duplicate_path",
        ),
    ] {
        let json = with(version_1(), "/output/artifacts", two(second));
        let error = AgentProfile::from_json(&json, None).unwrap_err();
        assert!(
            error.problems.iter().any(|it| it.reason == expected),
            "{error}"
        );
    }
    let other = with(
        version_1(),
        "/output/artifacts",
        only("target", json!("messageExtra")),
    );
    let error = AgentProfile::from_json(&other, None).unwrap_err();
    assert_eq!(error.reason(), "agent.profile_output_message_body_missing");
    let nothing = with(
        version_1(),
        "/workspace",
        json!({"visibleRoots": [], "writableRoots": []}),
    );
    let error = AgentProfile::from_json(&nothing, None).unwrap_err();
    assert_eq!(error.reason(), "agent.profile_workspace_visible_empty");
}

#[test]
fn our_own_block() {
    each(&[
        (
            &[("/agent/protocol", json!("xml"))],
            "contract_invalid",
            "$.agent.protocol",
        ),
        (
            &[("/agent/textTurn", json!("answer"))],
            "contract_invalid",
            "$.agent.textTurn",
        ),
        (
            &[("/agent/afterCrash", json!("stop"))],
            "contract_invalid",
            "$.agent.afterCrash",
        ),
        (
            &[("/agent/grammar", json!(true))],
            "contract_invalid",
            "$.agent.grammar",
        ),
        (
            &[("/agent/budget/maxTokens", json!(0))],
            "contract_invalid",
            "$.agent.budget.maxTokens",
        ),
        (
            &[("/agent/budget/maxCost", json!(-1))],
            "contract_invalid",
            "$.agent.budget.maxCost",
        ),
        (
            &[("/agent/budget/maxWallTimeMs", json!(0))],
            "contract_invalid",
            "$.agent.budget.maxWallTimeMs",
        ),
        (
            &[("/agent/parameters", json!({"tools": []}))],
            "contract_invalid",
            "$.agent.parameters",
        ),
        (
            &[("/agent/privateState", json!([]))],
            "contract_invalid",
            "$.agent.privateState",
        ),
        (
            &[("/agent/kept", json!({}))],
            "contract_invalid",
            "$.agent.kept",
        ),
        (
            &[("/agent/format", json!("comfy"))],
            "contract_invalid",
            "$.agent.format",
        ),
        (
            &[("/agent/privateStateSchema", json!({"type": "objekt"}))],
            "private_state_schema_invalid",
            "$.agent.privateStateSchema.type",
        ),
        (
            &[(
                "/agent/privateStateSchema",
                json!({"$ref": "https://example.invalid/x"}),
            )],
            "private_state_schema_invalid",
            "$.agent.privateStateSchema",
        ),
        (
            &[
                (
                    "/agent/privateStateSchema",
                    json!({"properties": {"a b": {"items": {"type": "string"}}}}),
                ),
                ("/agent/privateState", json!({"a b": ["x", 2]})),
            ],
            "private_state_invalid",
            "$.agent.privateState[\"a b\"][1]",
        ),
        (
            &[("/agent/privateStateSchema", json!({"required": ["gold"]}))],
            "private_state_invalid",
            "$.agent.privateState",
        ),
    ]);
}

#[test]
fn comfy_profiles_are_checked_in_their_own_words() {
    for (pointer, value, reason, path) in [
        ("/id", json!("商人"), "id_invalid", "$.id"),
        ("/id", Json::Null, "id_empty", "$.id"),
        ("/name", Json::Null, "display_name_required", "$.name"),
        (
            "/tool_ids_inventory",
            json!("x"),
            "contract_invalid",
            "$.tool_ids_inventory",
        ),
        (
            "/tool_ids_inventory/-",
            json!("task.return"),
            "task_return_runtime_only",
            "$.tool_ids_inventory[2]",
        ),
        (
            "/skill_workflow_ids_inventory/0",
            json!(1),
            "contract_invalid",
            "$.skill_workflow_ids_inventory[0]",
        ),
        (
            "/initial_private_state_values/gold",
            json!(-1),
            "private_state_invalid",
            "$.initial_private_state_values.gold",
        ),
        (
            "/initial_private_state_schema/properties/gold",
            json!({"type": 1}),
            "private_state_schema_invalid",
            "$.initial_private_state_schema.properties.gold.type",
        ),
        (
            "/tools",
            json!({"max_rounds": 1}),
            "contract_invalid",
            "$.tools.max_rounds",
        ),
    ] {
        expect(
            comfy(),
            &[(pointer, value)],
            &format!("agent.profile_{reason}"),
            path,
        );
    }
}

/// Profiles of taverns have it, and it had no effect there.
#[test]
fn what_has_no_effect_is_a_warning() {
    let json = with(
        version_1(),
        "/delegation",
        json!({"allowNestedDelegation": true}),
    );
    let reading = AgentProfile::from_json(&json, None).unwrap();
    let told: Vec<_> = reading
        .warnings
        .iter()
        .map(|it| (it.severity, it.reason, it.path.as_str()))
        .collect();
    let expected = (
        Severity::Warning,
        "agent.profile_nested_delegation_unsupported",
        "$.delegation.allowNestedDelegation",
    );
    assert_eq!(told, [expected]);
}
