use std::collections::HashSet;

use super::*;

#[test]
fn names_are_dotted_unique_and_read_back() {
    let mut seen = HashSet::new();
    for &code in ErrorCode::ALL {
        let name = code.as_str();
        let (group, rest) = name.split_once('.').expect(name);
        assert!(
            [
                "agent",
                "protocol",
                "tool",
                "workspace",
                "chat",
                "worldinfo",
                "skill",
                "model",
                "commit",
                "http"
            ]
            .contains(&group),
            "{name}"
        );
        assert!(
            !rest.is_empty()
                && rest
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{name}"
        );
        assert!(seen.insert(name), "{name} twice");
        assert_eq!(name.parse(), Ok(code));
        let json = serde_json::to_string(&code).unwrap();
        assert_eq!(json, format!("\"{name}\""));
        assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), code);
    }
    assert!("tool.nonsense".parse::<ErrorCode>().is_err());
    assert!(serde_json::from_str::<ErrorCode>("\"tool.nonsense\"").is_err());
}

#[test]
fn the_names_of_the_agent_api_are_there() {
    for name in [
        "agent.phase2b_chat_completion_required",
        "agent.external_tools_unsupported_phase2b",
        "agent.external_tool_turns_unsupported_phase2b",
        "agent.presentation_invalid",
        "agent.invalid_profile",
        "tool.policy_denied",
        "workspace.path_denied",
        "workspace.required_artifact_missing",
        "model.request_failed",
        "commit.save_failed",
    ] {
        assert!(name.parse::<ErrorCode>().is_ok(), "{name}");
    }
}

#[test]
fn who_is_told_and_whether_to_try_again() {
    for (code, retryable, tells_model) in [
        (ErrorCode::ToolInvalidArguments, false, true),
        (ErrorCode::ToolUnknown, false, true),
        (ErrorCode::ToolTimeout, true, true),
        (ErrorCode::ToolOutcomeUnknown, false, true),
        (ErrorCode::ProtocolMalformed, false, true),
        (ErrorCode::ModelRequestFailed, true, false),
        (ErrorCode::ModelProviderRateLimited, true, false),
        (ErrorCode::AgentCancelled, false, false),
        (ErrorCode::AgentToolAfterFinish, false, true),
        (ErrorCode::AgentGuidanceMailboxFull, true, false),
        (ErrorCode::AgentMaxToolRoundsExceeded, false, false),
    ] {
        assert_eq!(code.retryable(), retryable, "{code}");
        assert_eq!(code.tells_model(), tells_model, "{code}");
    }
}

#[test]
fn every_code_has_a_section_for_readers() {
    let page = include_str!("../../../docs/errors.md");
    let mut sections = HashSet::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("### ") else {
            continue;
        };
        assert!(sections.insert(name), "two sections {name}");
        assert!(
            name.parse::<ErrorCode>().is_ok(),
            "section {name} has no code"
        );
        let text: String = lines
            .clone()
            .take_while(|line| !line.starts_with('#'))
            .collect();
        assert!(text.trim().len() > 40, "section {name} says nothing");
        let code: ErrorCode = name.parse().unwrap();
        let last = text.rsplit('*').nth(1).unwrap_or_default();
        assert_eq!(
            last.contains("Told to the model"),
            code.tells_model(),
            "{name}: {last}"
        );
        assert_eq!(
            last.contains("retryable"),
            code.retryable(),
            "{name}: {last}"
        );
    }
    for code in ErrorCode::ALL {
        assert!(sections.contains(code.as_str()), "no section {code}");
    }
}
