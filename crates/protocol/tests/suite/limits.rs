//! Each number of `limits.rs` that bounds the parser, reached and crossed.

use innkeeper_protocol::limits::*;
use innkeeper_protocol::{Reply, parse, parse_response};
use serde_json::json;

use super::laws;

fn codes(reply: &Reply<'_>) -> Vec<&'static str> {
    let mut codes: Vec<_> = reply
        .all_diagnostics()
        .iter()
        .map(|d| d.code.as_str())
        .collect();
    codes.dedup();
    codes
}

fn tam(body: &str) -> String {
    format!("<|[REQUEST_TOOL]|>\ncommand:»»»T«««\n{body}<|[END_TOOL]|>\n")
}

fn fields(count: usize) -> String {
    (0..count).map(|n| format!("k{n}x:»»»v«««\n")).collect()
}

#[test]
fn fields_of_a_block() {
    // The command is a field too.
    let text = tam(&fields(MAX_FIELDS - 1));
    assert_eq!(codes(&parse(&text)), [""; 0]);
    assert_eq!(
        parse(&text).blocks[0].calls[0].arguments.len(),
        MAX_FIELDS - 1
    );
    let text = tam(&fields(MAX_FIELDS));
    assert!(codes(&parse(&text)).contains(&"too_many_parameters"));
    assert!(!parse(&text).blocks[0].is_runnable());
}

#[test]
fn blocks_of_a_reply() {
    let text = tam("").repeat(MAX_BLOCKS);
    assert_eq!(parse(&text).blocks.len(), MAX_BLOCKS);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    let text = tam("").repeat(MAX_BLOCKS + 1);
    assert_eq!(parse(&text).blocks.len(), MAX_BLOCKS);
    assert!(codes(&parse(&text)).contains(&"too_many_blocks"));
}

#[test]
fn calls_of_an_action() {
    let action = |count| format!("<ACTION>{}</ACTION>", "<T/>".repeat(count));
    let text = action(MAX_CALLS);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    assert_eq!(parse(&text).blocks[0].calls.len(), MAX_CALLS);
    let text = action(MAX_CALLS + 1);
    assert!(codes(&parse(&text)).contains(&"too_many_calls"));
    assert!(!parse(&text).blocks[0].is_runnable());
}

#[test]
fn calls_of_a_native_reply() {
    let response = |count| {
        let calls = vec![json!({"type": "tool_use", "id": "1", "name": "t", "input": {}}); count];
        json!({"role": "assistant", "content": calls})
    };
    let reply = parse_response(&response(MAX_CALLS)).unwrap();
    assert_eq!(codes(&reply), [""; 0]);
    assert_eq!(
        reply
            .blocks
            .iter()
            .map(|block| block.calls.len())
            .sum::<usize>(),
        MAX_CALLS
    );
    let reply = parse_response(&response(MAX_CALLS + 1)).unwrap();
    assert!(codes(&reply).contains(&"too_many_calls"));
    assert!(
        reply
            .blocks
            .iter()
            .map(|block| block.calls.len())
            .sum::<usize>()
            <= MAX_CALLS
    );
}

#[test]
fn depth_of_xml() {
    let action = |levels| {
        format!(
            "<ACTION><T>{}x{}</T></ACTION>",
            "<a>".repeat(levels),
            "</a>".repeat(levels)
        )
    };
    let text = action(MAX_DEPTH);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    let text = action(MAX_DEPTH + 1);
    assert!(codes(&parse(&text)).contains(&"nesting_too_deep"));
    assert!(!parse(&text).blocks[0].is_runnable());
    // Far beyond: an error, never a stack overflow.
    let text = action(100_000);
    assert!(!parse(&text).blocks[0].is_runnable());
}

#[test]
fn elements_of_an_xml_block() {
    let action = |count| format!("<ACTION><T>{}</T></ACTION>", "<a/>".repeat(count));
    // The call is an element too.
    let text = action(MAX_ELEMENTS - 1);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    let text = action(MAX_ELEMENTS + 1);
    assert!(codes(&parse(&text)).contains(&"too_many_parameters"));
    assert!(!parse(&text).blocks[0].is_runnable());
}

#[test]
fn diagnostics_of_a_reply() {
    let text = tam(&"k:»»»v««« junk\n".repeat(MAX_DIAGNOSTICS * 3));
    let reply = parse(&text);
    laws::bounded(&reply).unwrap();
    assert!(codes(&reply).contains(&"more_diagnostics"));
    // Spread over many blocks it is no different.
    let text = tam("k:»»»v««« junk\nk:»»»v«««\n").repeat(MAX_BLOCKS);
    laws::bounded(&parse(&text)).unwrap();
}

#[test]
fn quotes_in_messages() {
    let junk = "很长的一行 words ".repeat(500);
    let text = tam(&format!("{junk}\ntype_hint_x:»»»{junk}«««\n"));
    for diagnostic in parse(&text).all_diagnostics() {
        let length = diagnostic.message.chars().count();
        assert!(
            length < MAX_QUOTE_CHARS + 300,
            "{length} characters: {}",
            diagnostic.message
        );
    }
}
