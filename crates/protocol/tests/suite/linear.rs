//! Inputs made to hurt. Here they must only return, within the bounds; how long they take is measured by
//! `cargo bench -p innkeeper-benches`, where a ratio can be trusted.

use innkeeper_protocol::{Dialect, Reply, limits, parse, parse_with};
use innkeeper_testkit::replies::pieces;
use innkeeper_testkit::{HOSTILE, hostile};

use super::laws;
use super::streams::stream;

const SIZE: usize = if cfg!(debug_assertions) {
    200_000
} else {
    1_000_000
};
const STREAMED: usize = if cfg!(debug_assertions) {
    16_000
} else {
    64_000
};
const VALUE: usize = if cfg!(debug_assertions) {
    5_000_000
} else {
    50_000_000
};

fn bounded(name: &str, reply: &Reply<'_>) {
    if let Err(verdict) = laws::bounded(reply) {
        panic!("{name}: {verdict}");
    }
    assert!(
        reply.blocks.len() <= limits::MAX_BLOCKS,
        "{name}: {} blocks",
        reply.blocks.len()
    );
    for block in &reply.blocks {
        assert!(
            block.calls.len() <= limits::MAX_CALLS.max(limits::MAX_FIELDS),
            "{name}: {} calls",
            block.calls.len()
        );
        for diagnostic in &block.diagnostics {
            assert!(
                diagnostic.message.len() < 2_000,
                "{name}: a message of {} bytes",
                diagnostic.message.len()
            );
        }
    }
}

#[test]
fn hostile_inputs_return_within_bounds() {
    for hostile in HOSTILE {
        let text = (hostile.make)(SIZE);
        assert!(
            text.len() >= SIZE / 2,
            "{}: only {} bytes",
            hostile.name,
            text.len()
        );
        bounded(hostile.name, &parse(&text));
    }
}

#[test]
fn hostile_inputs_return_in_every_dialect() {
    for hostile in HOSTILE {
        let text = (hostile.make)(SIZE / 10);
        for dialect in [Dialect::Tam, Dialect::Action, Dialect::ToolCall] {
            bounded(hostile.name, &parse_with(&text, dialect));
        }
    }
}

#[test]
fn hostile_inputs_stream_to_the_same_reply() {
    for hostile in HOSTILE {
        let text = (hostile.make)(STREAMED);
        let streamed = stream(Dialect::Auto, pieces(&text, 7));
        assert!(streamed.reply == parse(&text), "{}", hostile.name);
    }
}

#[test]
fn a_huge_value_comes_back_whole_and_borrowed() {
    let filling = "长 text, «quoted» <b>, a: b\n".repeat(VALUE / 32);
    let text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»T«««\nx:»»»{filling}«««\n<|[END_TOOL]|>");
    let reply = parse(&text);
    let argument = &reply.blocks[0].calls[0].arguments[0];
    let innkeeper_protocol::Value::Text(value) = &argument.value else {
        panic!("a TAM value is text");
    };
    assert!(value.raw() == filling);
    let inside = text
        .as_bytes()
        .as_ptr_range()
        .contains(&value.raw().as_ptr());
    assert!(inside, "the value was copied");
    assert!(reply.all_diagnostics().is_empty());
}

#[test]
fn names_of_hostile_inputs_are_their_own() {
    let mut names: Vec<_> = hostile::HOSTILE
        .iter()
        .map(|hostile| hostile.name)
        .collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Large texts are read in windows; where a window ends must not matter.
#[test]
fn a_large_text_is_read_as_a_small_one() {
    let call = "<|[REQUEST_TOOL]|>\ncommand:»»»T«««\nx:»»»天地 <<< ««« y«««\n<|[END_TOOL]|>\n";
    let mut text = String::new();
    while text.len() < 5_000_000 {
        text.push_str(call);
        text.push_str(&"玄黄 words < and > more\n".repeat(2_111 + text.len() % 97));
    }
    let whole = innkeeper_protocol::parse(&text);
    let mut stream = innkeeper_protocol::Stream::new(innkeeper_protocol::Dialect::Auto);
    stream.feed(&text, &mut |_| {});
    assert_eq!(stream.finish(&mut |_| {}), whole);
    assert_eq!(whole.blocks.len(), text.matches(call).count());
    assert!(
        whole
            .calls()
            .all(|call| call.params()["x"] == "天地 <<< ««« y")
    );
}
