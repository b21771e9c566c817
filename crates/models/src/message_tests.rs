use serde_json::json;

use super::*;

#[test]
fn every_part_has_one_form_and_comes_back() {
    let message = Message {
        role: Role::Assistant,
        name: Some("Mia".into()),
        parts: vec![
            Part::reasoning("hm"),
            Part::Opaque {
                provider: "anthropic".into(),
                value: json!({"signature": "s"}),
            },
            Part::text("hello"),
            Part::ToolCall(ToolCall {
                id: "c".into(),
                name: "dice_roll".into(),
                arguments: "{\"formula\":".into(),
            }),
            Part::ToolResult(ToolResult {
                call_id: "c".into(),
                name: None,
                content: "7".into(),
                is_error: true,
            }),
            Part::Image(Image {
                url: "data:image/png;base64,AA".into(),
                detail: None,
            }),
        ],
    };
    let json = json!({
        "role": "assistant",
        "name": "Mia",
        "parts": [
            {"type": "reasoning", "text": "hm"},
            {"type": "opaque", "provider": "anthropic", "value": {"signature": "s"}},
            {"type": "text", "text": "hello"},
            {"type": "tool_call", "id": "c", "name": "dice_roll", "arguments": "{\"formula\":"},
            {"type": "tool_result", "call_id": "c", "content": "7", "is_error": true},
            {"type": "image", "url": "data:image/png;base64,AA"},
        ],
    });
    assert_eq!(serde_json::to_value(&message).unwrap(), json);
    assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
    assert_eq!(message.text(), "hello\n7");
}

#[test]
fn arguments_are_an_object_or_nothing() {
    let read = |arguments: &str| {
        let call = ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: arguments.into(),
        };
        call.arguments_object().map(Json::Object)
    };
    assert_eq!(read(""), Some(json!({})));
    assert_eq!(read(" {\"a\": 1}"), Some(json!({"a": 1})));
    for wrong in ["{\"a\":", "[1]", "\"a\"", "null"] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}

#[test]
fn an_image_may_be_its_own_address() {
    let data = |url: &str| {
        let image = Image {
            url: url.into(),
            detail: None,
        };
        image
            .inline_data()
            .map(|(kind, data)| format!("{kind}|{data}"))
    };
    assert_eq!(
        data("data:image/png;base64,AA=="),
        Some("image/png|AA==".into())
    );
    assert_eq!(data("data:image/svg+xml,<svg/>"), None);
    assert_eq!(data("https://example.org/a.png"), None);
}
