//! The crate `tool-parser`, which reads the formats of some twenty model families, on the same work: one call
//! with a value of the given size.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ::tool_parser::ToolParser;
use ::tool_parser::parsers::{QwenParser, QwenXmlParser};
use innkeeper_benches::{Patience, Row, Table};
use innkeeper_testkit::replies;
use serde_json::json;

/// Its futures are ready at once; nothing waits.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn filling(size: usize) -> String {
    let piece = replies::FILLINGS.first().map_or("", |(_, piece)| *piece);
    piece.repeat(size / piece.len().max(1))
}

fn xml(size: usize) -> String {
    let value = filling(size);
    format!(
        "I write.\n<tool_call>\n<function=write>\n<parameter=content>\n{value}</parameter>\n</function>\n</tool_call>\n"
    )
}

fn hermes(size: usize) -> String {
    let call = json!({"name": "write", "arguments": {"content": filling(size)}});
    format!("I write.\n<tool_call>\n{call}\n</tool_call>\n")
}

pub(crate) fn whole(table: &mut Table, size: usize, patience: Patience) {
    let text = xml(size);
    let parser = QwenXmlParser::new();
    let time = patience.best(|| now(parser.parse_complete(&text)).map(|found| found.is_ok()));
    table.row(&Row::new("peer tool-parser, qwen_xml", text.len(), time));
    let text = hermes(size);
    let parser = QwenParser::new();
    let time = patience.best(|| now(parser.parse_complete(&text)).map(|found| found.is_ok()));
    table.row(&Row::new("peer tool-parser, hermes JSON", text.len(), time));
}

pub(crate) fn streamed(table: &mut Table) {
    let tools: Vec<_> = serde_json::from_value(json!([{
        "type": "function",
        "function": {"name": "write", "parameters": {"type": "object", "properties": {"content": {"type": "string"}}}}
    }]))
    .unwrap_or_default();
    for (name, text, make) in [
        (
            "peer tool-parser, qwen_xml, 16 KB only",
            xml(16_000),
            (|| Box::new(QwenXmlParser::new())) as fn() -> Box<dyn ToolParser>,
        ),
        (
            "peer tool-parser, hermes JSON, 16 KB only",
            hermes(16_000),
            || Box::new(QwenParser::new()),
        ),
    ] {
        let pieces = super::run::pieces(&text);
        let time = Patience::QUICK.best(|| {
            let mut parser = make();
            for piece in &pieces {
                let _ = now(parser.parse_incremental(piece, tools.as_slice()));
            }
        });
        table.row(&Row::new(name, text.len(), time));
    }
}
