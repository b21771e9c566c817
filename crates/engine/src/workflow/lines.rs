//! From a place in a text to its line and column, without going through the text for each.

/// Bytes between two places whose line and column are remembered.
const STRIDE: usize = 16 << 10;

pub(super) struct Lines<'t> {
    text: &'t str,
    /// Line and column at the first character of each stride, and where that is.
    known: Vec<(usize, usize, usize)>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut known = vec![(0, 1, 1)];
        let (mut line, mut column) = (1, 1);
        for (at, character) in text.char_indices() {
            if at >= known.len() * STRIDE {
                known.push((at, line, column));
            }
            (line, column) = after(character, line, column);
        }
        Self { text, known }
    }

    /// Both from 1.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let next = self.known.partition_point(|(start, _, _)| *start <= at);
        let known = self.known.get(next.saturating_sub(1));
        let (start, mut line, mut column) = known.copied().unwrap_or((0, 1, 1));
        let between = self.text.get(start..at).unwrap_or_default();
        for character in between.chars() {
            (line, column) = after(character, line, column);
        }
        (line, column)
    }
}

fn after(character: char, line: usize, column: usize) -> (usize, usize) {
    match character {
        '\n' => (line + 1, 1),
        // A byte order mark is not seen.
        '\u{feff}' if (line, column) == (1, 1) => (line, column),
        _ => (line, column + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one_in_characters() {
        let lines = Lines::new("\u{feff}ab\r\nüx");
        assert_eq!(lines.place(3), (1, 1));
        assert_eq!(lines.place(4), (1, 2));
        assert_eq!(lines.place(7), (2, 1));
        assert_eq!(lines.place(9), (2, 2));
    }

    #[test]
    fn strides_change_nothing() {
        let text = "é123456\n".repeat(9_000);
        let lines = Lines::new(&text);
        assert!(lines.known.len() > 3);
        let mut expected = (1, 1);
        for (at, character) in text.char_indices() {
            if at % 1_021 == 0 {
                assert_eq!(lines.place(at), expected, "{at}");
            }
            expected = after(character, expected.0, expected.1);
        }
    }
}
