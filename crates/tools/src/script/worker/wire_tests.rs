use super::*;

fn stray(line: &str) -> Incoming {
    Incoming::Stray(line.to_owned())
}

fn told(code: i64, message: &str, data: Json) -> Result<Json, RpcError> {
    Err(RpcError {
        code,
        message: message.to_owned(),
        data,
    })
}

#[test]
fn messages_are_read() {
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}"#,
            Incoming::Answer {
                id: 1,
                outcome: Ok(json!({"a": [1]})),
            },
        ),
        (
            // Both are there in the answers of some libraries, and one of them is null.
            r#" {"jsonrpc":"2.0","id":2,"result":null,"error":null} "#,
            Incoming::Answer {
                id: 2,
                outcome: Ok(Json::Null),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no","data":{"type":"X"}},"result":null}"#,
            Incoming::Answer {
                id: 3,
                outcome: told(-1, "no", json!({"type": "X"})),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"error":{}}"#,
            Incoming::Answer {
                id: 4,
                outcome: told(0, "", Json::Null),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"progress","params":{"id":1,"fraction":0.5,"message":"half"}}"#,
            Incoming::Progress {
                id: 1,
                fraction: Some(0.5),
                message: "half".into(),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"progress","id":null,"params":{"id":1}}"#,
            Incoming::Progress {
                id: 1,
                fraction: None,
                message: String::new(),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"partial","params":{"id":1,"data":null}}"#,
            Incoming::Partial {
                id: 1,
                data: Json::Null,
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"log","params":{"message":"hello"}}"#,
            Incoming::Log {
                id: None,
                message: "hello".into(),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"log","params":{"id":7,"message":"hello"}}"#,
            Incoming::Log {
                id: Some(7),
                message: "hello".into(),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","method":"sampling","id":"x"}"#,
            Incoming::Request {
                id: json!("x"),
                method: "sampling".into(),
            },
        ),
        (r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#, Incoming::Batch),
    ] {
        assert_eq!(read(line.as_bytes()), expected, "{line}");
    }
}

#[test]
fn everything_else_is_stray() {
    for line in [
        "hello",
        "null",
        "7",
        "[]",
        "[1, 2]",
        "{}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":-1,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":"one","result":1}"#,
        r#"{"id":1,"result":1,"of":"a record"}"#,
        r#"{"id":1}"#,
        r#"{"jsonrpc":"2.0","method":"progress","params":{"id":1,"fraction":NaN}}"#,
        r#"{"jsonrpc":"2.0","result":{"id":2,"x":NaN},"id":1}"#,
        r#"{"jsonrpc":"2.0","id":1"#,
        r#"{"id":1,"result":NaN}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"2.0","method":"unheard","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"log"}"#,
        r#"{"jsonrpc":"2.0","method":"log","params":["x"]}"#,
        r#"{"jsonrpc":"2.0","method":"log","params":{"message":7}}"#,
        r#"{"jsonrpc":"2.0","method":"progress","params":{"fraction":1}}"#,
        r#"{"jsonrpc":"2.0","method":"partial","params":{"id":1}}"#,
    ] {
        assert_eq!(read(line.as_bytes()), stray(line), "{line}");
    }
    // Deeper than anybody reads, and no text at all.
    let deep = "[".repeat(10_000);
    assert_eq!(read(deep.as_bytes()), stray(&deep));
    assert_eq!(read(b"\xff\x00"), stray("\u{fffd}\0"));
}

#[test]
fn an_answer_that_cannot_be_read_says_whose_it_is() {
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"both"}}"#,
            "both a result and an error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":"no"}"#,
            "both",
        ),
        (r#"{"jsonrpc":"2.0","id":7,"error":"text"}"#, "no object"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "neither"),
        (r#"{"jsonrpc":"2.0","id":7,"error":null}"#, "neither"),
        (r#"{"jsonrpc":"2.0","id":"7","result":1}"#, "its id"),
        (r#"{"jsonrpc":"2.0","id":7.0,"result":1}"#, "its id"),
        (r#"{"id":7,"result":1}"#, "jsonrpc"),
        (r#"{"jsonrpc":"1.0","id":7,"error":{}}"#, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":7,"result":NaN}"#, "no JSON"),
        (
            r#"{"jsonrpc": "2.0", "result": Infinity, "id" : 7 }"#,
            "no JSON",
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":1} trailing"#, "no JSON"),
        (r#"{"jsonrpc":"2.0","id":7,"result":"cut"#, "no JSON"),
    ] {
        match read(line.as_bytes()) {
            Incoming::Malformed { id: 7, why } => assert!(why.contains(expected), "{line}: {why}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    let latin = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"caf\xe9\"}";
    let why = "it is not UTF-8".to_owned();
    assert_eq!(read(latin), Incoming::Malformed { id: 7, why });
}

#[test]
fn requests_are_one_line_to_everybody() {
    let params = json!({"text": "a\nb\r\u{2028}\u{2029}\u{85}c", "深": 1.5});
    let line = request(u64::MAX, "call", &params);
    let text = String::from_utf8(line).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.ends_with('\n'));
    assert!(
        !text
            .trim_end_matches('\n')
            .contains(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}'])
    );
    let message: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(
        message,
        json!({"jsonrpc": "2.0", "id": u64::MAX, "method": "call", "params": params})
    );
}

#[test]
fn cancel_is_a_notification_and_a_refusal_is_an_answer() {
    let message: Json = serde_json::from_slice(&cancel(5)).unwrap();
    assert_eq!(
        message,
        json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 5}})
    );
    let message: Json = serde_json::from_slice(&refusal(&json!("x"), "m")).unwrap();
    assert_eq!(message["id"], "x");
    assert_eq!(message["error"]["code"], -32601);
}

proptest::proptest! {
    /// Whatever comes, reading comes back, and what was written is read again.
    #[test]
    fn anything_can_be_read(bytes: Vec<u8>, id: u64, text: String) {
        read(&bytes);
        let line = json!({"jsonrpc": "2.0", "id": id, "result": text}).to_string();
        let expected = Incoming::Answer { id, outcome: Ok(json!(text)) };
        proptest::prop_assert_eq!(read(line.as_bytes()), expected);
    }
}
