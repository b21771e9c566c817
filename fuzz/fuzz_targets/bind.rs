//! Whatever a model calls, fitting it to a definition gives a result.
#![no_main]

use std::sync::LazyLock;

use innkeeper_protocol::{ToolDefinition, bind, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static DEFINITION: LazyLock<ToolDefinition> = LazyLock::new(|| {
    ToolDefinition::new(
        "T",
        "Takes one of each.",
        json!({
            "type": "object",
            "properties": {
                "x": {"type": "string", "x-verbatim": true},
                "filePath": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "ok": {"type": "boolean"},
                "list": {"type": "array", "items": {"type": "integer"}},
                "object": {"type": "object", "properties": {"a": {"type": "number"}}},
                "either": {"type": ["string", "null"]},
                "uri_image": {"type": "string"},
                "input_0": {},
                "mode": {"enum": ["a", "b", 1]}
            },
            "required": ["x"]
        }),
    )
});

fuzz_target!(|bytes: &[u8]| {
    let text = innkeeper_fuzz::text(bytes);
    for block in &parse(&text).blocks {
        for call in &block.calls {
            let _ = bind(call, &DEFINITION);
        }
    }
});
