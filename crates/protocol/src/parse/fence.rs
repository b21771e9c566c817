//! Code fences around calls: where the text before a call really ends, and whether a fence follows it.

use memchr::{memchr, memrchr};

use super::cursor::Input;
use super::marks::FINDERS;
use super::tam_line::is_fence;
use crate::limits::MAX_FENCE_INFO_BYTES;

const FENCE: &str = "```";

/// The end of a piece of text that is being read, kept without reading anything twice.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Margin {
    /// Where the piece begins.
    pub(super) piece: usize,
    /// End of its last character that is no white space.
    solid: usize,
    /// A line break follows that character.
    line_ended: bool,
    /// Everything before this place has been looked at.
    seen: usize,
    /// Lines that open or close a code block, and where the last of them begins.
    fences: usize,
    last_fence: usize,
}

impl Margin {
    pub(super) fn at(piece: usize) -> Self {
        Self {
            piece,
            solid: piece,
            seen: piece,
            ..Self::default()
        }
    }

    /// Takes note of the text up to `to`.
    pub(super) fn note(&mut self, input: Input<'_>, to: usize) {
        self.count_fences(input, to);
        let fresh = input.slice(self.seen, to);
        let trimmed = fresh.trim_end();
        if !trimmed.is_empty() {
            self.solid = self.seen + trimmed.len();
            self.line_ended = false;
        }
        let rest = fresh.as_bytes().get(trimmed.len()..).unwrap_or_default();
        self.line_ended |= memchr(b'\n', rest).is_some();
        if input.text.is_char_boundary(to) {
            self.seen = to;
        }
    }

    fn count_fences(&mut self, input: Input<'_>, to: usize) {
        let from = self.seen.saturating_sub(FENCE.len() - 1).max(self.piece);
        let rest = input.bytes().get(from..to).unwrap_or_default();
        for offset in FINDERS.fence.find_iter(rest) {
            let line = self.line_before(input, from + offset);
            if let Some(line) = line.filter(|&line| self.fences == 0 || line > self.last_fence) {
                self.fences += 1;
                self.last_fence = line;
            }
        }
    }

    /// Where the line begins in which only blanks stand before `at`.
    fn line_before(&self, input: Input<'_>, at: usize) -> Option<usize> {
        let before = input.bytes().get(self.piece..at)?;
        let blanks = before
            .iter()
            .rev()
            .take(MAX_FENCE_INFO_BYTES)
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let line = at - blanks;
        (line == self.piece || input.bytes().get(line - 1) == Some(&b'\n')).then_some(line)
    }

    /// Where the line begins that opens a code fence directly before the present place, if there is one.
    pub(super) fn opening_fence(&self, input: Input<'_>) -> Option<usize> {
        let text = input.slice(self.piece, self.solid);
        let bytes = text.as_bytes();
        let window = bytes.len().saturating_sub(MAX_FENCE_INFO_BYTES + 16);
        let line = memrchr(b'\n', bytes.get(window..).unwrap_or_default())
            .map(|newline| window + newline + 1)
            .or((window == 0).then_some(0))?;
        let fence = text.get(line..)?.trim_start_matches([' ', '\t']);
        let info = fence.trim_start_matches(['`', '~']);
        let start = self.piece + line;
        // A bare fence closes a code block if one is open.
        let bare = info.trim().is_empty();
        let closes =
            bare && self.line_ended && self.fences.is_multiple_of(2) && self.last_fence == start;
        (is_fence(fence) && !info.contains('`') && !closes).then_some(start)
    }

    /// Up to where the text before `probe` can be shown: what follows may become a fence around a call.
    pub(super) fn settled(&self, input: Input<'_>, probe: usize) -> usize {
        let fence = self.opening_fence(input).or_else(|| {
            // One or two backticks at the beginning of a line may become a fence.
            let text = input.slice(self.piece, probe);
            let bare = text
                .strip_suffix("``")
                .or_else(|| text.strip_suffix('`'))
                .unwrap_or(text);
            self.line_before(input, self.piece + bare.len())
        });
        fence.unwrap_or(probe).min(probe)
    }
}

/// Whether a fenced block is followed by its closing fence.
pub(super) enum Closing {
    Yes {
        next: usize,
    },
    No,
    /// More text is needed; look again from here.
    Wait {
        at: usize,
    },
}

pub(super) fn closing(input: Input<'_>, at: usize) -> Closing {
    /// Longest line that is taken for a closing fence, in bytes.
    const LONGEST: usize = 64;
    let rest = input.text.get(at..).unwrap_or_default();
    let solid = rest.trim_start();
    let start = at + (rest.len() - solid.len());
    let line = solid
        .bytes()
        .take(LONGEST)
        .take_while(|&byte| byte != b'\n')
        .count();
    let whole = line < solid.len() || input.complete;
    let line = solid.get(..line).unwrap_or_default();
    let ticks = line.trim_end_matches([' ', '\t', '\r']);
    let possible = line.len() < LONGEST && ticks.bytes().all(|byte| matches!(byte, b'`' | b'~'));
    match (possible, whole) {
        (true, false) => Closing::Wait {
            at: if solid.is_empty() { start } else { at },
        },
        (true, true) if ticks.len() >= FENCE.len() => Closing::Yes {
            next: start + line.len(),
        },
        _ => Closing::No,
    }
}
