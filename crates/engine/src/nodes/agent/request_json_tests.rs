use innkeeper_protocol::parse;
use serde_json::json;

use super::*;

const REPLIES: [&str; 4] = [
    "<|[REQUEST_TOOL]|>\nrequest_id:»»»r-7«««\n  command_1:»»»File.Write«««\n  file_path_1:»»»a.md«««\n  content_1:»»»\n  # Title\n    indented\n\n  end\n  «««\n  type_hint_content_1:»»»raw«««\n  on_error_1:»»»continue«««\n  retry_1:»»»2«««\n  command_2:»»»Image.Show«««\n  uri_image_2:»»»user://cat.png«««\n  common_dir:»»»out«««\n<|[END_TOOL]|>",
    "<ACTION><Notes.Add><title>A &amp; B</title><tags><item>x</item><item>y</item></tags><deep><a><b>1</b></a></deep></Notes.Add></ACTION>",
    "<tool_call name=\"Weather\" id=\"c9\"><param name=\"city\">Paris</param></tool_call>",
    "<|[REQUEST_TOOL]|>command:»»»Say«««text:»»»  two blanks  «««<|[END_TOOL]|>",
];

#[test]
fn a_call_survives_the_trip_with_all_that_it_says() {
    for reply in REPLIES {
        let parsed = parse(reply);
        let calls: Vec<_> = parsed.calls().cloned().collect();
        assert!(!calls.is_empty(), "{reply}");
        for call in calls {
            let request = Request {
                call: call.into_owned(),
                block: 3,
            };
            let text = request.to_json().to_string();
            let back = Request::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
            // How a text lay in its block is gone; what it says in every reading is the same.
            assert_eq!(back.to_json(), request.to_json(), "{reply}");
            let (one, two) = (&request.call, &back.call);
            assert_eq!(two.params(), one.params());
            assert_eq!(
                (two.protocol, two.index, two.retry),
                (one.protocol, one.index, one.retry)
            );
            assert_eq!(
                (two.on_error, two.span, back.block),
                (one.on_error, one.span, 3)
            );
            assert_eq!(
                (&two.call_id, &two.request_id),
                (&one.call_id, &one.request_id)
            );
            for (a, b) in one.arguments.iter().zip(&two.arguments) {
                assert_eq!(
                    (&a.name, &a.written, a.source, a.hint, a.shared),
                    (&b.name, &b.written, b.source, b.hint, b.shared)
                );
                match (&a.value, &b.value) {
                    (Value::Text(a), Value::Text(b)) => {
                        assert_eq!(a.verbatim(), b.verbatim());
                        assert_eq!(a.trimmed(), b.trimmed());
                    }
                    (a, b) => assert_eq!(a, b),
                }
            }
        }
    }
}

#[test]
fn a_tool_and_its_parameters_are_enough() {
    for json in [
        json!({"tool": "T", "parameters": {"a": 1, "b": [true]}}),
        json!({"name": " T ", "arguments": {"a": 1, "b": [true]}}),
    ] {
        let request = Request::from_json(&json).unwrap();
        assert_eq!(request.call.tool, "T");
        assert_eq!(json!(request.call.params()), json!({"a": 1, "b": [true]}));
        assert_eq!((request.call.index, request.block), (1, 0));
    }
}

#[test]
fn parameters_that_were_changed_on_the_way_count() {
    let parsed = parse(REPLIES[0]);
    let calls: Vec<_> = parsed.calls().cloned().collect();
    let request = Request {
        call: calls[1].clone().into_owned(),
        block: 0,
    };
    let mut json = request.to_json();
    json["parameters"]["dir"] = "elsewhere".into();
    let changed = Request::from_json(&json).unwrap();
    assert_eq!(changed.call.params()["dir"], "elsewhere");
    assert!(
        changed
            .call
            .arguments
            .iter()
            .any(|one| one.source == Source::Uri)
    );
}

#[test]
fn what_is_no_call_is_an_error() {
    let mut deep = json!({"text": "x"});
    for _ in 0..200 {
        deep = json!({"items": [deep]});
    }
    for json in [
        json!({}),
        json!({"tool": " "}),
        json!(3),
        json!({"tool": "T", "parameters": 3}),
        json!({"tool": "T", "onError": "maybe"}),
        json!({"tool": "T", "arguments": [{"text": "x"}]}),
        json!({"tool": "T", "arguments": [{"name": "a", "tree": deep}]}),
        json!({"tool": "T", "arguments": [{"name": "a", "text": "x", "hint": "guess"}]}),
    ] {
        let error = Request::from_json(&json).unwrap_err();
        assert_eq!(error.code, "tool_call.malformed", "{json}");
    }
}
