//! Puts a reply together: the blocks, and the text around them.

use std::borrow::Cow;

use super::notes::Notes;
use super::read_block;
use super::scanner::Scanner;
use crate::limits::MAX_DIAGNOSTICS;
use crate::{Block, Code, Reply, Span};

pub(super) fn reply<'t>(text: &'t str, scanner: Scanner) -> Reply<'t> {
    let first = scanner.blocks.first().map(|block| block.span.start);
    let last = scanner.blocks.last().map(|block| block.span.end);
    let pieces = scanner.pieces;
    let mut notes = scanner.notes;

    let mut blocks: Vec<_> = scanner
        .blocks
        .into_iter()
        .map(|raw| read_block(text, raw))
        .collect();
    bound_warnings(&mut blocks, &mut notes);
    let mixed = blocks.iter().find(|block| {
        blocks
            .first()
            .is_some_and(|first| first.protocol != block.protocol)
    });
    if let Some(block) = mixed {
        notes.add(
            Code::MixedProtocolsUsed,
            block.span,
            "The reply calls tools in more than one way; the calls run in the order in which they stand.",
        );
    }
    let Some((first, last)) = first.zip(last) else {
        let outside = joined(text, &pieces);
        return Reply {
            raw_text: text.into(),
            response_text: outside.clone(),
            outside_text: outside,
            trailing_text: "".into(),
            blocks,
            diagnostics: notes.finish(),
        };
    };
    let before = pieces.partition_point(|piece| piece.end <= first);
    let after = pieces.partition_point(|piece| piece.start < last);
    Reply {
        raw_text: text.into(),
        response_text: joined(text, pieces.get(..before).unwrap_or_default()),
        outside_text: joined(text, &pieces),
        trailing_text: joined(text, pieces.get(after..).unwrap_or_default()),
        blocks,
        diagnostics: notes.finish(),
    }
}

/// A reply keeps no more warnings in all than a block may have. Errors always stay.
fn bound_warnings(blocks: &mut [Block<'_>], notes: &mut Notes) {
    let mut room = MAX_DIAGNOSTICS.saturating_sub(notes.warnings());
    let mut cut = None;
    for block in blocks {
        block.diagnostics.retain(|diagnostic| {
            if diagnostic.is_error() {
                return true;
            }
            let keep = room > 0;
            room = room.saturating_sub(1);
            if !keep {
                cut.get_or_insert(diagnostic.span);
            }
            keep
        });
    }
    if let Some(span) = cut {
        notes.add(
            Code::MoreDiagnostics,
            span,
            "Further remarks on later blocks are not listed.",
        );
    }
}

/// The pieces put together, trimmed; borrowed where only one says anything.
fn joined<'t>(text: &'t str, pieces: &[Span]) -> Cow<'t, str> {
    let mut solid = pieces
        .iter()
        .map(|piece| piece.of(text).trim())
        .filter(|piece| !piece.is_empty());
    match (solid.next(), solid.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(only),
        _ => {
            let whole: String = pieces.iter().map(|piece| piece.of(text)).collect();
            Cow::Owned(whole.trim().to_owned())
        }
    }
}
