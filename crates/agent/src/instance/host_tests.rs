use serde_json::json;

use super::*;

fn reason<T: std::fmt::Debug>(result: Result<T, AgentError>) -> String {
    result.unwrap_err().reason.unwrap().to_string()
}

#[test]
fn a_chat_is_named_in_one_of_two_ways() {
    for good in [
        json!(null),
        json!({"kind": "character", "characterId": "anna", "fileName": "1"}),
        json!({"kind": "group", "chatId": "7"}),
    ] {
        assert_eq!(check_chat_ref(&good).map_err(|error| error.message), Ok(()));
    }
    for bad in [
        json!("anna"),
        json!({}),
        json!({"kind": "x"}),
        json!({"kind": "character", "characterId": "anna"}),
        json!({"kind": "character", "character_id": "anna", "file_name": "1"}),
        json!({"kind": "character", "characterId": "anna", "fileName": "1", "file_name": "1"}),
        json!({"kind": "character", "characterId": " ", "fileName": "1"}),
        json!({"kind": "group", "chatId": 7}),
        json!({"kind": "group", "chat_id": "7"}),
        json!({"kind": "group", "chatId": "x".repeat(MAX_ID_CHARS + 1)}),
    ] {
        assert_eq!(
            reason(check_chat_ref(&bad)),
            "agent.invalid_chat_ref",
            "{bad}"
        );
    }
}

#[test]
fn a_kind_of_generation_is_a_word() {
    for (given, taken) in [
        (None, "normal"),
        (Some("  "), "normal"),
        (Some(" swipe "), "swipe"),
        (Some("appendFinal"), "appendFinal"),
    ] {
        assert_eq!(generation_type(given).unwrap(), taken);
    }
    let long = "x".repeat(MAX_GENERATION_TYPE_CHARS + 1);
    for given in ["a b", "a/b", "../x", "\n", "普通", &long] {
        if given.trim().is_empty() {
            continue;
        }
        let refused = generation_type(Some(given));
        assert_eq!(reason(refused), "agent.invalid_generation_type", "{given}");
    }
}

#[test]
fn memory_is_that_of_the_newest_answer_which_the_run_sees() {
    let user = json!({"is_user": true, "mes": "Hi"});
    let answer = |agent: Json| json!({"mes": "Hello", "extra": {"tauritavern": {"agent": agent}}});
    let left = |id: &str| answer(json!({"persistStateStatus": "committed", "persistStateId": id}));
    let header = json!({"user_name": "u", "chat_metadata": {}});
    let chat = vec![header, left("a"), user.clone(), left("b")];
    for (kind, base) in [("normal", "b"), ("swipe", "a"), ("regenerate", "a")] {
        assert_eq!(
            base_of(&chat, kind).unwrap().as_deref(),
            Some(base),
            "{kind}"
        );
    }
    assert_eq!(base_of(&[], "normal").unwrap(), None);
    for (agent, code) in [
        (
            json!({"persistStateStatus": "x"}),
            "agent.persist_state_status_invalid",
        ),
        (
            json!({"persistStateStatus": "committed"}),
            "agent.persist_state_missing",
        ),
    ] {
        assert_eq!(
            reason(base_of(&[user.clone(), answer(agent)], "normal")),
            code
        );
    }
    assert_eq!(
        reason(base_of(&[user], "swipe")),
        "agent.swipe_target_invalid"
    );
}
