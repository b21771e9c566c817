use serde_json::json;

use super::super::test_reading::{bytes, delta, stream, whole};
use crate::ModelErrorKind;
use crate::limits::MAX_SERVER_WORDS;

#[test]
fn errors_inside_an_answer_keep_their_meaning() {
    use ModelErrorKind::{
        ContextTooLong, RateLimited, Refused, ServerError, Timeout, Unauthorized,
    };
    let table = [
        (json!({"message": "Slow down.", "code": 429}), RateLimited),
        (
            json!({"message": "x", "code": "rate_limit_exceeded"}),
            RateLimited,
        ),
        (json!({"message": "Rate limit reached"}), RateLimited),
        (
            json!({"message": "x", "type": "insufficient_quota", "code": 429}),
            Unauthorized,
        ),
        (json!({"message": "x", "code": 402}), Unauthorized),
        (
            json!({"message": "x", "code": "context_length_exceeded", "type": "invalid_request_error"}),
            ContextTooLong,
        ),
        (
            json!({"message": "x", "code": 400, "type": "exceed_context_size_error"}),
            ContextTooLong,
        ),
        (
            json!({"message": "This model's maximum context length is 5", "code": 400}),
            ContextTooLong,
        ),
        (
            json!({"message": "x", "type": "invalid_request_error", "code": "invalid_api_key"}),
            Unauthorized,
        ),
        (
            json!({"message": "x", "type": "authentication_error"}),
            Unauthorized,
        ),
        (json!({"message": "x", "code": "403"}), Unauthorized),
        (
            json!({"message": "x", "type": "overloaded_error"}),
            ServerError,
        ),
        (json!({"message": "x", "code": 503}), ServerError),
        (json!({"message": "x", "code": 504}), Timeout),
        (
            json!({"message": "x", "type": "invalid_request_error", "code": null}),
            Refused,
        ),
        (
            json!({"message": "x", "type": "BadRequestError", "code": 400}),
            Refused,
        ),
        (json!({"message": "x"}), ServerError),
        (json!("x"), ServerError),
        (json!({"odd": [1]}), ServerError),
        (json!(5), ServerError),
    ];
    for (error, kind) in table {
        let shapes = [
            json!({"error": error}),
            json!([{"error": error}]),
            json!({"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": error}]}),
        ];
        for shape in shapes {
            let failed = stream(&[delta(json!({"content": "a"})), shape.clone()]).unwrap_err();
            assert_eq!(failed.kind, kind, "{shape}");
            assert!(
                failed.message.starts_with("the server broke off its reply"),
                "{failed}"
            );
            assert!(!failed.message.contains(".;"), "{failed}");
            assert_eq!(whole(&shape).unwrap_err().kind, kind, "{shape}");
        }
    }
    let older = json!({"object": "error", "message": "x", "code": 401});
    assert_eq!(whole(&older).unwrap_err().kind, Unauthorized);
    for named in [
        "event: error\ndata: Rate limit\n\n",
        "event: error\ndata: {\"code\": 429}\n\n",
    ] {
        assert_eq!(bytes(named).unwrap_err().kind, RateLimited, "{named}");
    }
    let silent = json!({"choices": [{"delta": {}, "finish_reason": "error"}]});
    let error = stream(&[silent]).unwrap_err();
    assert_eq!(error.kind, ServerError);
    assert!(error.message.contains("without saying why"), "{error}");
    let long = json!({"error": {"message": "x\n".repeat(MAX_SERVER_WORDS)}});
    let error = stream(&[long]).unwrap_err();
    assert!(error.message.chars().count() < MAX_SERVER_WORDS + 100);
    assert!(!error.message.contains('\n'));
}
