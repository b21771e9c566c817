use serde_json::json;

use super::super::test_reading::{delta, stream};
use super::*;

#[test]
fn tokens_and_money_are_found_wherever_they_are() {
    let usage = |prompt: u64, completion: u64| Usage {
        prompt_tokens: Some(prompt),
        completion_tokens: Some(completion),
        ..Usage::default()
    };
    let plain = json!({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12});
    let table = [
        (json!({"choices": [], "usage": plain}), usage(5, 7)),
        (json!({"usage": plain}), usage(5, 7)),
        (
            json!({"choices": [{"delta": {}, "usage": plain}]}),
            usage(5, 7),
        ),
        (
            json!({"choices": [], "x_groq": {"usage": plain}}),
            usage(5, 7),
        ),
        // Thoughts beside what was made, and among it.
        (
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 112,
                "completion_tokens_details": {"reasoning_tokens": 100}}}),
            Usage {
                reasoning_tokens: Some(100),
                ..usage(5, 107)
            },
        ),
        (
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 107, "total_tokens": 112,
                "completion_tokens_details": {"reasoning_tokens": 100}}}),
            Usage {
                reasoning_tokens: Some(100),
                ..usage(5, 107)
            },
        ),
        (
            json!({"usage": {"prompt_tokens": 5.0, "completion_tokens": 7}}),
            usage(5, 7),
        ),
        (
            json!({"usage": {
                "prompt_tokens": 5, "completion_tokens": 7, "cost": 0.00125,
                "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2},
            }}),
            Usage {
                cached_tokens: Some(3),
                reasoning_tokens: Some(2),
                cost: Some(Cost::from_nanodollars(1_250_000)),
                ..usage(5, 7)
            },
        ),
        (
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_cache_hit_tokens": 4,
                "prompt_tokens_details": null, "cost": -1}}),
            Usage {
                cached_tokens: Some(4),
                ..usage(5, 7)
            },
        ),
        (
            json!({"timings": {"cache_n": 2, "prompt_n": 3, "predicted_n": 7, "predicted_ms": 1.5}}),
            Usage {
                cached_tokens: Some(2),
                ..usage(5, 7)
            },
        ),
        (
            json!({"usage": plain, "timings": {"prompt_n": 100, "predicted_n": 100}}),
            usage(5, 7),
        ),
    ];
    for (chunk, wanted) in table {
        let said = delta(json!({"content": "a"}));
        let first = stream(&[chunk.clone(), said.clone()]).unwrap();
        assert_eq!(first.usage, Some(wanted), "{chunk}");
        let last = stream(&[said, chunk.clone()]).unwrap();
        assert_eq!(last.usage, Some(wanted), "{chunk}");
    }
    for nothing in [
        json!(null),
        json!({}),
        json!({"prompt_tokens": -1}),
        json!("many"),
        json!([1]),
    ] {
        let chunk = json!({"choices": [{"delta": {"content": "a"}}], "usage": nothing});
        assert_eq!(stream(&[chunk]).unwrap().usage, None, "{nothing}");
    }
    let later = [
        json!({"usage": plain}),
        json!({"timings": {"prompt_n": 100}}),
    ];
    assert_eq!(stream(&later).unwrap().usage, Some(usage(5, 7)));
}
