//! What the machine and the usual libraries can do with the same bytes.

use aho_corasick::{AhoCorasick, MatchKind};
use innkeeper_benches::{Patience, Row, Table};
use memchr::{memchr, memmem};
use quick_xml::Reader;
use quick_xml::events::Event;
use regex::Regex;

const MARKERS: [&str; 10] = [
    "<|[REQUEST_TOOL]|>",
    "<|[END_TOOL]|>",
    "<ACTION",
    "</ACTION",
    "<tool_call",
    "»»»",
    "«««",
    ">>>",
    "<<<",
    "「末」",
];

pub(crate) fn rows(table: &mut Table, text: &str, patience: Patience) {
    let bytes = text.as_bytes();
    let finder = memmem::Finder::new("«««");
    let limit = patience.best(|| finder.find_iter(bytes).count());
    let mut row = |name: &str, time| table.row(&Row::new(name, text.len(), time).against(limit));

    row("limit: memmem of the closing mark", limit);
    row(
        "limit: memchr of an absent byte",
        patience.best(|| memchr(0xFF, bytes)),
    );
    row(
        "limit: from_utf8",
        patience.best(|| std::str::from_utf8(bytes).is_ok()),
    );
    if let Ok(search) = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .build(MARKERS)
    {
        row(
            "aho-corasick, 10 markers, any case",
            patience.best(|| search.find_iter(text).count()),
        );
    }
    let block = Regex::new(r"(?is)<\|\[REQUEST_TOOL\]\|>(.*?)<\|\[END_TOOL\]\|>");
    let field = Regex::new(r"(?s)([^\s:]+):»»»(.*?)«««");
    if let (Ok(block), Ok(field)) = (block, field) {
        let fields = || -> usize {
            block
                .captures_iter(text)
                .filter_map(|found| found.get(1))
                .map(|body| field.captures_iter(body.as_str()).count())
                .sum()
        };
        row("regex, lazy framing of TAM", patience.best(fields));
    }
}

/// Nothing but the events of the XML block, without anything made of them.
pub(crate) fn xml_row(table: &mut Table, text: &str, patience: Patience) {
    let start = text.find("<ACTION>").unwrap_or(0);
    let end = text
        .rfind("</ACTION>")
        .map_or(text.len(), |at| at + "</ACTION>".len());
    let block = text.get(start..end).unwrap_or_default();
    let events = || {
        let mut reader = Reader::from_str(block);
        let mut count = 0;
        loop {
            match reader.read_event() {
                Ok(Event::Eof) | Err(_) => return count,
                Ok(_) => count += 1,
            }
        }
    };
    table.row(&Row::new(
        "quick-xml events of the ACTION",
        block.len(),
        patience.best(events),
    ));
}
