//! Any text gives a reply whose spans fit, whatever the dialect; any JSON gives a reply or nothing.
#![no_main]

use innkeeper_protocol::{Dialect, limits, parse_response, parse_with};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = innkeeper_fuzz::text(bytes);
    for dialect in [
        Dialect::Auto,
        Dialect::Tam,
        Dialect::Action,
        Dialect::ToolCall,
    ] {
        let reply = parse_with(&text, dialect);
        let mut end = 0;
        for block in &reply.blocks {
            assert!(text.get(block.span.start..block.span.end).is_some());
            assert!(block.span.start >= end, "blocks overlap");
            end = block.span.end;
            assert!(!block.calls.is_empty() || !block.is_runnable());
        }
        for diagnostic in reply.all_diagnostics() {
            assert!(
                text.get(diagnostic.span.start..diagnostic.span.end)
                    .is_some()
            );
        }
        let warnings = reply
            .all_diagnostics()
            .iter()
            .filter(|d| !d.is_error())
            .count();
        assert!(warnings <= limits::MAX_DIAGNOSTICS + 3);
        assert!(serde_json::to_string(&reply).is_ok());
    }
    if let Ok(response) = serde_json::from_str(&text) {
        let _ = parse_response(&response);
    }
});
