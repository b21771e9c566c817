use serde_json::json;

use super::*;

fn read(snapshot: &Json) -> Result<Prompt, AgentError> {
    of_snapshot(snapshot, &ContextPolicy::default())
}

fn said() -> Json {
    json!([{"role": "system", "content": "You are Anna"}, {"role": "user", "content": "Hi"}])
}

#[test]
fn a_snapshot_is_taken_in_each_of_its_forms() {
    let payload = json!({"messages": said(), "model": "m1", "temperature": 0.7, "stream": true, "chat_completion_source": "openai"});
    let mut canonical =
        json!({"messages": said(), "generationParameters": {"temperature": 0.7, "model": "m1"}});
    canonical["contextPolicy"] =
        json!({"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": true});
    for snapshot in [
        json!({"chatCompletionPayload": payload}),
        json!({"chat_completion_payload": payload}),
        json!({"generateData": payload, "contextPolicy": null}),
        json!({"generate_data": payload}),
        payload.clone(),
        canonical,
    ] {
        let prompt = read(&snapshot).unwrap();
        assert_eq!(Json::from(prompt.messages), said(), "{snapshot}");
        assert_eq!(prompt.model, "m1", "{snapshot}");
        assert_eq!(
            Json::Object(prompt.parameters),
            json!({"temperature": 0.7}),
            "{snapshot}"
        );
    }
}

#[test]
fn what_only_the_hosts_own_provider_may_know_is_not_taken() {
    let mut payload = json!({"messages": said(), "temperature": 0.7, "max_tokens": 100, "stop": ["x"], "logit_bias": {}});
    for secret in [
        "reverse_proxy",
        "proxy_password",
        "custom_url",
        "custom_include_headers",
        "custom_include_body",
        "custom_exclude_body",
        "azure_base_url",
        "secret_id",
        "api_key",
        "access_token",
        "vertexai_auth_mode",
        "user_name",
        "anything_else",
    ] {
        payload[secret] = json!("sk-very-secret");
    }
    for snapshot in [
        json!({"chatCompletionPayload": payload}),
        payload.clone(),
        json!({"messages": said(), "generationParameters": payload}),
    ] {
        let taken = read(&snapshot).unwrap();
        let names: Vec<_> = taken.parameters.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["temperature", "max_tokens", "stop", "logit_bias"],
            "{snapshot}"
        );
        assert!(
            !format!("{taken:?}").contains("sk-very-secret"),
            "{snapshot}"
        );
    }
}

#[test]
fn what_an_agent_cannot_begin_with_is_refused_by_name() {
    let with = |extra: Json| {
        let mut payload = json!({"messages": said()});
        for (name, value) in extra.as_object().unwrap() {
            payload[name] = value.clone();
        }
        json!({"chatCompletionPayload": payload})
    };
    for (snapshot, code, reason) in [
        (
            json!(null),
            "agent.prompt_snapshot_invalid",
            "agent.prompt_snapshot_required",
        ),
        (
            json!({}),
            "agent.prompt_snapshot_invalid",
            "agent.prompt_snapshot_required",
        ),
        (
            json!({"chatCompletionPayload": 1}),
            "agent.prompt_snapshot_invalid",
            "agent.invalid_prompt_snapshot",
        ),
        (
            json!({"prompt": "Once upon"}),
            "agent.phase2b_chat_completion_required",
            "agent.tool_loop_requires_messages",
        ),
        (
            with(
                json!({"messages": [{"role": "user", "content": [{"type": "text", "_tauritavern_agent_prompt_marker": 1}]}]}),
            ),
            "agent.prompt_snapshot_invalid",
            "agent.prompt_marker_unmaterialized",
        ),
        (
            with(json!({"tools": [{}]})),
            "agent.external_tools_unsupported_phase2b",
            "",
        ),
        (
            with(json!({"tool_choice": null})),
            "agent.external_tools_unsupported_phase2b",
            "agent.external_tool_choice_unsupported_phase2b",
        ),
        (
            with(json!({"messages": [{"role": "tool"}]})),
            "agent.external_tool_turns_unsupported_phase2b",
            "",
        ),
        (
            with(json!({"messages": [{"role": "assistant", "tool_calls": [{}]}]})),
            "agent.external_tool_turns_unsupported_phase2b",
            "",
        ),
        (
            with(json!({"messages": "x"})),
            "agent.phase2b_chat_completion_required",
            "agent.tool_loop_requires_messages",
        ),
        (
            with(json!({"messages": []})),
            "agent.prompt_snapshot_invalid",
            "agent.prompt_snapshot_messages_required",
        ),
        (
            with(json!({"messages": [{"content": "x"}]})),
            "agent.prompt_snapshot_invalid",
            "agent.invalid_model_message",
        ),
        (
            with(json!({MARKER: 1})),
            "agent.prompt_snapshot_invalid",
            "agent.prompt_marker_unmaterialized",
        ),
        (
            json!({"chatCompletionPayload": {"messages": said()}, "contextPolicy": {"initialChatHistoryMessages": 3}}),
            "agent.prompt_snapshot_invalid",
            "agent.context_policy_mismatch",
        ),
        (
            json!({"chatCompletionPayload": {"messages": said()}, "contextPolicy": 3}),
            "agent.prompt_snapshot_invalid",
            "agent.invalid_context_policy_snapshot",
        ),
        (
            json!({"chatCompletionPayload": {"messages": said()}, "worldInfoActivation": {}}),
            "agent.prompt_snapshot_invalid",
            "agent.invalid_worldinfo_activation_snapshot",
        ),
    ] {
        let error = read(&snapshot).unwrap_err();
        assert_eq!(error.code.as_str(), code, "{snapshot}");
        assert_eq!(error.reason.unwrap_or_default(), reason, "{snapshot}");
    }
}

#[test]
fn an_empty_list_of_tools_harms_nobody() {
    let snapshot = json!({"messages": said(), "tools": []});
    assert!(read(&snapshot).unwrap().parameters.is_empty());
}

#[test]
fn what_is_too_much_is_refused() {
    let many = vec![json!({"role": "user", "content": "x"}); MAX_PROMPT_MESSAGES + 1];
    assert!(read(&json!({"messages": many})).is_err());
    let long = "x".repeat(MAX_PROMPT_BYTES);
    assert!(read(&json!({"messages": [{"role": "user", "content": long}]})).is_err());
    assert!(of_message(" \n").is_err());
    assert!(of_message("x").is_ok());
}
