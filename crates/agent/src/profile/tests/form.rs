//! The form of profiles: unknown fields, wrong kinds of values, bounds.

use serde_json::json;

use super::{comfy, version_1, with};
use crate::limits::*;
use crate::profile::AgentProfile;

#[test]
fn unknown_fields_at_every_level() {
    for (pointer, path, near) in [
        ("/colour", "$.colour", None),
        ("/preset/requird", "$.preset.requird", Some("required")),
        ("/preset/ref", "$.preset.ref.nam", None),
        ("/model/model_id", "$.model.model_id", Some("modelId")),
        (
            "/run/direct_runnable",
            "$.run.direct_runnable",
            Some("directRunnable"),
        ),
        (
            "/run/modelRetry/maxRetry",
            "$.run.modelRetry.maxRetry",
            Some("maxRetries"),
        ),
        ("/context/x", "$.context.x", None),
        (
            "/delegation/canDelegat",
            "$.delegation.canDelegat",
            Some("canDelegate"),
        ),
        (
            "/instructions/systemPrompt",
            "$.instructions.systemPrompt",
            Some("agentSystemPrompt"),
        ),
        ("/tools/maxRound", "$.tools.maxRound", Some("maxRounds")),
        (
            "/tools/toolDescriptions/a/x",
            "$.tools.toolDescriptions.a.x",
            None,
        ),
        ("/skills/x", "$.skills.x", None),
        (
            "/workspace/visible",
            "$.workspace.visible",
            Some("visibleRoots"),
        ),
        ("/plan/x", "$.plan.x", None),
        ("/output/x", "$.output.x", None),
        (
            "/output/artifacts/0/titel",
            "$.output.artifacts[0].titel",
            None,
        ),
        ("/agent/dialect", "$.agent.dialect", None),
        (
            "/agent/budget/maxToken",
            "$.agent.budget.maxToken",
            Some("maxTokens"),
        ),
    ] {
        let value = match pointer {
            "/preset/ref" => json!({"apiId": "a", "name": "b", "nam": "c"}),
            _ => json!(true),
        };
        let error = AgentProfile::from_json(&with(version_1(), pointer, value), None).unwrap_err();
        let problem = &error.problems[0];
        assert_eq!(error.problems.len(), 1, "{error}");
        assert_eq!(problem.path, path);
        assert_eq!(problem.reason, "agent.profile_contract_invalid");
        if let Some(near) = near {
            let told = format!("did you mean '{near}'?");
            assert!(problem.message.contains(&told), "{problem}");
        }
    }
}

#[test]
fn everything_is_told_at_once() {
    let mut json = version_1();
    for (pointer, value) in [
        ("/id", json!("")),
        ("/tools/maxRounds", json!(0)),
        ("/tools/maxRoundz", json!(1)),
        ("/workspace/visibleRoots/0", json!("out")),
        ("/output/artifacts/0/id", json!("a b")),
    ] {
        json = with(json, pointer, value);
    }
    let error = AgentProfile::from_json(&json, None).unwrap_err();
    let paths: Vec<_> = error.problems.iter().map(|it| it.path.as_str()).collect();
    for path in [
        "$.id",
        "$.tools.maxRounds",
        "$.tools.maxRoundz",
        "$.workspace.visibleRoots[0]",
        "$.output.artifacts[0].id",
        "$.output.artifacts[0].path",
    ] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    assert!(error.to_string().contains("more"), "{error}");
}

#[test]
fn wrong_kinds_of_values_are_named_where_they_are() {
    for section in [
        "preset",
        "model",
        "run",
        "context",
        "delegation",
        "instructions",
        "tools",
        "skills",
        "workspace",
        "plan",
        "output",
        "agent",
    ] {
        for value in [json!([]), json!("x"), json!(1)] {
            let json = with(version_1(), &format!("/{section}"), value);
            let error = AgentProfile::from_json(&json, None).unwrap_err();
            assert_eq!(error.problems[0].path, format!("$.{section}"), "{error}");
        }
    }
    for json in [json!(null), json!([]), json!("x")] {
        let error = AgentProfile::from_json(&json, None).unwrap_err();
        assert_eq!(error.problems[0].path, "$");
    }
}

#[test]
fn the_bounds_hold() {
    let many = |count: usize| (0..count).map(|at| format!("t{at}")).collect::<Vec<_>>();
    let full = |mut list: Vec<String>| {
        let rest = [
            "workspace.write_file",
            "workspace.finish",
            "workspace.commit",
        ];
        list.truncate(list.len() - rest.len());
        list.extend(rest.map(str::to_owned));
        list
    };
    for (pointer, path, most, too_much) in [
        (
            "/displayName",
            "$.displayName",
            json!("x".repeat(MAX_PROFILE_NAME_CHARS)),
            json!("x".repeat(MAX_PROFILE_NAME_CHARS + 1)),
        ),
        (
            "/description",
            "$.description",
            json!("界".repeat(MAX_PROFILE_DESCRIPTION_CHARS)),
            json!("界".repeat(MAX_PROFILE_DESCRIPTION_CHARS + 1)),
        ),
        (
            "/instructions/agentSystemPrompt",
            "$.instructions.agentSystemPrompt",
            json!("x".repeat(MAX_SYSTEM_PROMPT_CHARS)),
            json!("x".repeat(MAX_SYSTEM_PROMPT_CHARS + 1)),
        ),
        (
            "/tools/maxRounds",
            "$.tools.maxRounds",
            json!(MAX_PROFILE_COUNT),
            json!(MAX_PROFILE_COUNT + 1),
        ),
        (
            "/run/modelRetry/intervalMs",
            "$.run.modelRetry.intervalMs",
            json!(MAX_PROFILE_WAIT_MS),
            json!(MAX_PROFILE_WAIT_MS + 1),
        ),
        (
            "/skills/maxReadCharsPerRun",
            "$.skills.maxReadCharsPerRun",
            json!(MAX_SKILL_CHARS),
            json!(MAX_SKILL_CHARS + 1),
        ),
    ] {
        super::read(&with(version_1(), pointer, most));
        let error =
            AgentProfile::from_json(&with(version_1(), pointer, too_much), None).unwrap_err();
        assert_eq!(error.problems[0].path, path, "{error}");
    }
    super::read(&with(
        version_1(),
        "/tools/allow",
        json!(full(many(MAX_PROFILE_ENTRIES))),
    ));
    let error = with(
        version_1(),
        "/tools/allow",
        json!(many(MAX_PROFILE_ENTRIES + 1)),
    );
    let error = AgentProfile::from_json(&error, None).unwrap_err();
    assert_eq!(error.problems[0].path, "$.tools.allow", "{error}");

    let fields = (0..MAX_PROFILE_PROBLEMS + 10).map(|at| (format!("x{at}"), json!(1)));
    let mut json = version_1();
    json.as_object_mut().unwrap().extend(fields);
    let error = AgentProfile::from_json(&json, None).unwrap_err();
    assert_eq!(error.problems.len(), MAX_PROFILE_PROBLEMS);
}

#[test]
fn texts_that_are_no_json_for_a_profile() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let within =
        |value: String| format!(r#"{{"schema_version":1,"id":"a","name":"A","x":{value}}}"#);
    assert!(AgentProfile::read(&within(deep(MAX_PROFILE_DEPTH - 1)), None).is_ok());
    for (text, told) in [
        (within(deep(MAX_PROFILE_DEPTH)), "levels"),
        (within(deep(100_000)), "levels"),
        (
            within(format!("\"{}\"", "x".repeat(MAX_PROFILE_BYTES))),
            "bytes",
        ),
        (within("1, \"x\": 2".to_owned()), "twice"),
        (within("1".to_owned()) + "{}", "trailing"),
        (String::new(), "EOF"),
        ("{".to_owned(), "EOF"),
    ] {
        let error = AgentProfile::read(&text, None).unwrap_err();
        assert_eq!(error.problems[0].path, "$");
        assert!(error.to_string().contains(told), "{told}: {error}");
    }
    // What came as JSON is held to the same.
    let mut value = json!(1);
    for _ in 0..=MAX_PROFILE_DEPTH {
        value = json!([value]);
    }
    assert!(AgentProfile::from_json(&with(comfy(), "/x", value), None).is_err());
    let large = json!("x".repeat(MAX_PROFILE_BYTES));
    assert!(AgentProfile::from_json(&with(comfy(), "/x", large), None).is_err());
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"properties": {"next": {"$ref": "#"}}}),
    ] {
        let json = with(version_1(), "/agent/privateStateSchema", schema);
        let json = with(json, "/agent/privateState", json!({"next": {"next": {}}}));
        // Good or bad, but an answer.
        let _ = AgentProfile::from_json(&json, None);
    }
}
