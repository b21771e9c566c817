use super::*;

#[test]
fn reasons_of_all_providers_are_understood() {
    let table = [
        ("stop", FinishReason::Stop),
        ("end_turn", FinishReason::Stop),
        ("STOP", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("MAX_TOKENS", FinishReason::Length),
        ("tool_use", FinishReason::ToolCalls),
        ("tool_calls", FinishReason::ToolCalls),
        ("SAFETY", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ];
    for (word, reason) in table {
        assert_eq!(FinishReason::read(word), reason, "{word}");
        assert_eq!(FinishReason::read(reason.as_str()), reason, "{word}");
    }
}

#[test]
fn chunks_have_the_kinds_of_workflows() {
    let usage = Usage {
        prompt_tokens: Some(3),
        completion_tokens: Some(4),
        ..Usage::default()
    };
    let table = [
        (
            ModelEvent::Text("a".into()),
            json!({"type": "text_chunk", "content": "a"}),
        ),
        (
            ModelEvent::Usage(usage),
            json!({"type": "usage_chunk",
                "content": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}),
        ),
        (
            ModelEvent::Finish(FinishReason::Stop),
            json!({"type": "finish_reason_chunk", "content": "stop"}),
        ),
        (
            ModelEvent::ToolCall {
                index: 1,
                id: None,
                name: Some("t".into()),
                arguments_delta: "{".into(),
            },
            json!({"type": "tool_call_chunk",
                "content": {"index": 1, "id": null, "function": {"name": "t", "arguments": "{"}}}),
        ),
        (
            ModelEvent::Reasoning("h".into()),
            json!({"type": "custom", "content": {"kind": "reasoning", "text": "h"}}),
        ),
    ];
    for (event, chunk) in table {
        assert_eq!(event.to_chunk(), chunk);
    }
}

#[test]
fn a_total_is_known_if_anything_is() {
    assert_eq!(Usage::default().total_tokens(), None);
    let sent = Usage {
        prompt_tokens: Some(u64::MAX),
        ..Usage::default()
    };
    assert_eq!(sent.total_tokens(), Some(u64::MAX));
    let mut counted = sent;
    counted.update(&Usage {
        completion_tokens: Some(2),
        ..Usage::default()
    });
    assert_eq!(counted.prompt_tokens, Some(u64::MAX));
    assert_eq!(counted.completion_tokens, Some(2));
}
