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

#[test]
fn marks_and_stray_lines_of_a_reply() {
    let text = tam(&format!("x:»»»{}«««\n", "»»» ".repeat(MAX_MARKS / 2)));
    assert!(!codes(&parse(&text)).contains(&"too_many_parameters"));
    for body in [
        format!("x:»»»{}«««\n", "»»» ".repeat(MAX_MARKS + 1)),
        "stray\n".repeat(MAX_MARKS + 1),
    ] {
        let text = tam(&body);
        let reply = parse(&text);
        assert!(codes(&reply).contains(&"too_many_parameters"));
        assert!(!reply.blocks[0].is_runnable());
        assert_eq!(
            reply.trailing_text, "",
            "the end mark is found all the same"
        );
    }
}

#[test]
fn shared_arguments_of_all_steps() {
    let block = |steps: usize, shared: usize| {
        let steps: String = (1..=steps)
            .map(|n| format!("command_{n}:»»»T«««\n"))
            .collect();
        let shared: String = (0..shared)
            .map(|n| format!("common_s{n}x:»»»v«««\n"))
            .collect();
        format!("<|[REQUEST_TOOL]|>\n{steps}{shared}<|[END_TOOL]|>")
    };
    let steps = MAX_FIELDS / 2;
    let text = block(steps, MAX_ARGUMENTS / steps - 1);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    let text = block(steps, MAX_ARGUMENTS / steps + 1);
    assert!(codes(&parse(&text)).contains(&"too_many_parameters"));
}

#[test]
fn attributes_of_a_tag() {
    let call = |count: usize| {
        let attributes: String = (0..count).map(|n| format!(" a{n}=\"1\"")).collect();
        format!("<ACTION><T{attributes}/></ACTION>")
    };
    let text = call(MAX_ATTRIBUTES);
    assert_eq!(codes(&parse(&text)), [""; 0]);
    assert_eq!(
        parse(&text).blocks[0].calls[0].arguments.len(),
        MAX_ATTRIBUTES
    );
    assert!(codes(&parse(&call(MAX_ATTRIBUTES + 1))).contains(&"too_many_parameters"));
}

#[test]
fn comments_of_a_block() {
    for (text, kept) in [
        (tam(&"# c\n".repeat(MAX_COMMENTS)), MAX_COMMENTS),
        (tam(&"# c\n".repeat(MAX_COMMENTS + 1)), MAX_COMMENTS),
        (
            format!(
                "<ACTION>{}<T/></ACTION>",
                "<!--c-->".repeat(MAX_COMMENTS + 1)
            ),
            MAX_COMMENTS,
        ),
    ] {
        assert_eq!(parse(&text).blocks[0].comments.len(), kept);
    }
}

#[test]
fn marks_that_begin_nothing() {
    let text = format!(
        "{}{}",
        "<|[END_TOOL]|>".repeat(MAX_FALSE_STARTS - 1),
        tam("")
    );
    assert_eq!(parse(&text).blocks.len(), 1);
    let text = format!("{}{}", "<|[END_TOOL]|>".repeat(MAX_FALSE_STARTS), tam(""));
    assert!(codes(&parse(&text)).contains(&"too_many_blocks"));
    assert!(parse(&text).blocks.is_empty());
}

#[test]
fn blanks_in_a_mark_and_bytes_of_a_tag() {
    let marked =
        |blanks: usize| format!("<{}|[REQUEST_TOOL]|>\ncommand:»»»T«««", " ".repeat(blanks));
    assert_eq!(parse(&marked(MAX_BLANKS)).blocks.len(), 1);
    assert_eq!(parse(&marked(MAX_BLANKS + 1)).blocks.len(), 0);
    let tagged = |bytes: usize| {
        format!(
            "<tool_call name=\"t\" x=\"{}\"></tool_call>",
            "y".repeat(bytes)
        )
    };
    assert_eq!(parse(&tagged(MAX_TAG_BYTES - 32)).blocks.len(), 1);
    assert_eq!(parse(&tagged(MAX_TAG_BYTES + 1)).blocks.len(), 0);
}

#[test]
fn the_info_of_a_fence() {
    let fenced = |bytes: usize| format!("```{}\n{}```", "i".repeat(bytes), tam(""));
    assert_eq!(parse(&fenced(MAX_FENCE_INFO_BYTES)).outside_text, "");
    assert_ne!(parse(&fenced(MAX_FENCE_INFO_BYTES + 32)).outside_text, "");
}
