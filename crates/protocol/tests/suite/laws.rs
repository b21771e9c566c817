//! What holds for every text, however strange.
//!
//! Each law is a function that returns what it found broken, so that vectors, random soups and mutations can
//! all be held against all of them.

use innkeeper_protocol::{Code, Dialect, Protocol, Reply, Span, limits, parse_with};
use innkeeper_testkit::replies::pieces;

use super::marks::{self, Mark};
use super::streams::{Heard, Streamed, cut_at, stream};

pub(crate) type Verdict = Result<(), String>;

macro_rules! law {
    ($holds:expr, $($say:tt)+) => {
        if !$holds { return Err(format!($($say)+)); }
    };
}

/// Every law, with the cuttings that are most likely to hurt.
pub(crate) fn check(text: &str, dialect: Dialect) -> Verdict {
    let reply = parse_with(text, dialect);
    well_formed(text, &reply)?;
    accounts_for_the_text(text, &reply)?;
    let whole = stream(dialect, [text]);
    same(&reply, &whole, &whole, "in one piece")?;
    shows_no_mark(&whole, dialect)?;
    for size in [1, 2, 3, 7] {
        let cut = stream(dialect, pieces(text, size));
        same(&reply, &whole, &cut, &format!("in pieces of {size}"))?;
        shows_no_mark(&cut, dialect)?;
    }
    let halves = stream(dialect, cut_at(text, text.len() / 2));
    same(&reply, &whole, &halves, "in halves")
}

/// The same laws for one cutting only.
pub(crate) fn check_cutting(text: &str, dialect: Dialect, cuts: &[usize]) -> Verdict {
    let reply = parse_with(text, dialect);
    let whole = stream(dialect, [text]);
    let mut rest = text;
    let mut parts = Vec::new();
    for &cut in cuts {
        let [head, tail] = cut_at(rest, cut);
        parts.push(head);
        rest = tail;
    }
    parts.push(rest);
    let cut = stream(dialect, parts);
    same(&reply, &whole, &cut, &format!("cut after {cuts:?}"))?;
    shows_no_mark(&cut, dialect)
}

/// A stream tells the same as parsing the whole text, however it was cut.
fn same(reply: &Reply<'_>, whole: &Streamed, cut: &Streamed, how: &str) -> Verdict {
    law!(
        cut.reply == *reply,
        "streamed {how} gives another reply\n  whole:  {}\n  stream: {}",
        json(reply),
        json(&cut.reply)
    );
    law!(
        cut.calls() == whole.calls(),
        "streamed {how} tells other calls\n  whole:  {:?}\n  stream: {:?}",
        whole.calls(),
        cut.calls()
    );
    law!(
        cut.text() == whole.text(),
        "streamed {how} shows another text\n  whole:  {:?}\n  stream: {:?}",
        whole.text(),
        cut.text()
    );
    law!(
        cut.text().trim() == reply.outside_text,
        "streamed {how} shows another text than outsideText\n  outside: {:?}\n  stream:  {:?}",
        reply.outside_text,
        cut.text()
    );
    finishes_each_block_once(cut, how)
}

fn finishes_each_block_once(cut: &Streamed, how: &str) -> Verdict {
    let mut finished = 0;
    for event in &cut.events {
        match event {
            Heard::Finished { block, parsed } => {
                law!(
                    *block == finished,
                    "streamed {how}: block {block} finished out of turn"
                );
                law!(
                    cut.reply.blocks.get(*block) == Some(parsed.as_ref()),
                    "streamed {how}: block {block} finished as {parsed:?}, but the reply has {:?}",
                    cut.reply.blocks.get(*block)
                );
                finished += 1;
            }
            Heard::Started { block, .. } | Heard::Delta { block, .. } => {
                law!(
                    *block == finished,
                    "streamed {how}: heard of block {block} while {finished} is the open one"
                );
            }
            Heard::Text(_) | Heard::End => {}
        }
    }
    law!(
        finished == cut.reply.blocks.len(),
        "streamed {how}: {finished} blocks finished, {} in the reply",
        cut.reply.blocks.len()
    );
    let ends = cut
        .events
        .iter()
        .filter(|event| **event == Heard::End)
        .count();
    law!(
        ends == 1 && cut.events.last() == Some(&Heard::End),
        "streamed {how}: {ends} endings, the last event is {:?}",
        cut.events.last()
    );
    Ok(())
}

/// Spans fit the text, lists are bounded, and nothing that is wrong would run.
fn well_formed(text: &str, reply: &Reply<'_>) -> Verdict {
    law!(reply.raw_text == text, "the raw text is not the text");
    for diagnostic in reply.all_diagnostics() {
        fits(text, diagnostic.span, diagnostic.code.as_str())?;
        law!(
            !diagnostic.message.trim().is_empty(),
            "{:?} says nothing",
            diagnostic.code
        );
        law!(
            diagnostic.severity == diagnostic.code.severity(),
            "{:?} has another severity than its code",
            diagnostic.code
        );
    }
    bounded(reply)?;
    law!(
        reply.blocks.len() <= limits::MAX_BLOCKS,
        "{} blocks are too many",
        reply.blocks.len()
    );
    let mut end = 0;
    for block in &reply.blocks {
        fits(text, block.span, "block")?;
        law!(
            block.span.start >= end,
            "blocks overlap at {}",
            block.span.start
        );
        law!(
            block.span.start < block.span.end,
            "an empty block at {}",
            block.span.start
        );
        end = block.span.end;
        law!(
            !block.calls.is_empty() || !block.is_runnable(),
            "a block without calls and without an error"
        );
        for call in &block.calls {
            fits(text, call.span, "call")?;
            law!(
                call.protocol == block.protocol,
                "a call of another protocol than its block"
            );
            law!(
                !call.tool.is_empty() || !block.is_runnable(),
                "a call without a tool would run"
            );
            law!(
                call.tool.trim() == call.tool,
                "the tool's name is not trimmed: {:?}",
                call.tool
            );
            for argument in &call.arguments {
                fits(text, argument.span, "argument")?;
            }
        }
        if block.protocol == Protocol::Tam {
            law!(
                block.calls.is_sorted_by_key(|call| call.index),
                "steps are not in the order of their numbers"
            );
        }
    }
    let json = json(reply);
    for list in ["warnings"] {
        let codes = json[list].as_array().cloned().unwrap_or_default();
        for (at, code) in codes.iter().enumerate() {
            law!(
                !codes[..at].contains(code),
                "{code} is listed twice in {list}"
            );
        }
    }
    Ok(())
}

/// Findings are counted. An error is kept even where warnings no longer are, since a block with an error must
/// not run.
pub(crate) fn bounded(reply: &Reply<'_>) -> Verdict {
    let all = reply.all_diagnostics();
    let errors = all
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .count();
    let warnings = all.len() - errors;
    law!(
        warnings <= limits::MAX_DIAGNOSTICS + 3,
        "{warnings} warnings are too many"
    );
    law!(
        errors <= limits::MAX_DIAGNOSTICS + limits::MAX_BLOCKS,
        "{errors} errors are too many"
    );
    Ok(())
}

fn fits(text: &str, span: Span, what: &str) -> Verdict {
    law!(
        text.get(span.start..span.end).is_some(),
        "{what}: span {span:?} does not fit a text of {} bytes",
        text.len()
    );
    Ok(())
}

/// Nothing is shown that was not written, and nothing is lost without a word.
fn accounts_for_the_text(text: &str, reply: &Reply<'_>) -> Verdict {
    let mut outside = String::new();
    let mut at = 0;
    for block in &reply.blocks {
        outside.push_str(text.get(at..block.span.start).unwrap_or_default());
        at = block.span.end;
    }
    outside.push_str(text.get(at..).unwrap_or_default());

    let mut left = outside.chars();
    for c in reply.outside_text.chars().filter(|c| !c.is_whitespace()) {
        law!(
            left.any(|l| l == c),
            "outsideText shows {c:?}, which stands in no outside piece"
        );
    }
    let fenced = text.contains("```");
    if !fenced && reply.all_diagnostics().is_empty() {
        law!(
            reply.outside_text == outside.trim(),
            "something was lost without a word\n  outside: {:?}\n  shown:   {:?}",
            outside.trim(),
            reply.outside_text
        );
        let before = reply
            .blocks
            .first()
            .map_or(text.len(), |block| block.span.start);
        law!(
            reply.response_text == text.get(..before).unwrap_or_default().trim(),
            "responseText is not what stands before the first block: {:?}",
            reply.response_text
        );
        let after = reply
            .blocks
            .last()
            .map_or(text.len(), |block| block.span.end);
        law!(
            reply.trailing_text == text.get(after..).unwrap_or_default().trim(),
            "trailingText is not what stands after the last block: {:?}",
            reply.trailing_text
        );
    }
    Ok(())
}

/// No person sees a mark, nor the beginning of one while it may still become one.
fn shows_no_mark(streamed: &Streamed, dialect: Dialect) -> Verdict {
    let reads_tam = matches!(dialect, Dialect::Auto | Dialect::Tam);
    let gave_up = streamed
        .reply
        .all_diagnostics()
        .iter()
        .any(|diagnostic| diagnostic.code == Code::TooManyBlocks);
    if !reads_tam || gave_up {
        return Ok(());
    }
    if let Some(leaked) = &streamed.leaked {
        return Err(format!(
            "half a mark was shown before it was known to be none: {leaked:?}"
        ));
    }
    let written = without_stray_ends(&streamed.reply);
    for text in streamed.stretches() {
        for (start, _) in text.match_indices('<') {
            let (head, tail) = text.split_at(start);
            if let Mark::Whole(length) = marks::read(tail) {
                // What stood on both sides of a removed end mark may look like one that nobody wrote.
                if !written.contains(tail.get(..length).unwrap_or_default()) {
                    continue;
                }
                let after = tail.get(length..).unwrap_or_default();
                law!(
                    head.trim_end_matches([' ', '\t']).ends_with('`')
                        && after.trim_start_matches([' ', '\t']).starts_with('`'),
                    "a mark was shown: {text:?}"
                );
            }
        }
    }
    Ok(())
}

/// The text with a line break in place of each end mark that ended nothing and was taken out.
fn without_stray_ends(reply: &Reply<'_>) -> String {
    let mut written = String::new();
    let mut from = 0;
    for diagnostic in reply.all_diagnostics() {
        if diagnostic.code == Code::MissingStartMarker {
            let Span { start, end } = diagnostic.span;
            written.push_str(&reply.raw_text[from..start]);
            written.push('\n');
            from = end;
        }
    }
    written + &reply.raw_text[from..]
}

/// The pieces of an argument, put together, do not depend on the cutting either.
pub(crate) fn tells_the_same_arguments(text: &str, dialect: Dialect) -> Verdict {
    let whole = stream(dialect, [text]).arguments();
    for size in [1, 3, 7] {
        let cut = stream(dialect, pieces(text, size)).arguments();
        law!(
            cut == whole,
            "streamed in pieces of {size} tells other arguments\n  whole:  {whole:?}\n  stream: {cut:?}"
        );
    }
    Ok(())
}

pub(crate) fn json(reply: &Reply<'_>) -> serde_json::Value {
    serde_json::to_value(reply).unwrap()
}
