//! Rows of texts in aligned columns, as wide as the letters really are. Whatever the texts hold, each row is
//! one line and cannot rewrite the screen.

use unicode_width::UnicodeWidthStr;

use crate::failure::{message, told};

/// Blank columns between two columns of text.
const GAP: usize = 2;
/// The last column keeps at least this much, however narrow the screen is.
const MIN_LAST: usize = 20;

pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// What the screen has no room for goes on in the next line, instead of being cut.
    wraps: bool,
    has_headings: bool,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|text| (*text).to_owned()).collect();
        Self {
            rows: vec![headings],
            wraps: false,
            has_headings: true,
        }
    }

    /// No headings: names on the left, what they are on the right.
    pub(crate) fn plain() -> Self {
        Self {
            rows: Vec::new(),
            wraps: false,
            has_headings: false,
        }
    }

    /// For texts that are there to be read.
    pub(crate) fn wrapped(mut self) -> Self {
        self.wraps = true;
        self
    }

    pub(crate) fn row<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) {
        self.rows.push(cells.into_iter().map(told).collect());
    }

    /// A row of sentences that were made by another part of the platform and may be longer.
    pub(crate) fn told<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) {
        self.rows.push(cells.into_iter().map(message).collect());
    }

    /// `width`: of the screen, if there is one. The last column is cut or wrapped to fit; where not even that helps, the
    /// cells of a row stand below each other.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
        let before: usize = widths.iter().map(|width| width + GAP).sum();
        if let Some(width) = width.filter(|width| columns > 1 && before + MIN_LAST > *width) {
            return self.stacked(width);
        }
        let left = width.map(|width| width.saturating_sub(before));
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                match widths.get(at) {
                    Some(width) => {
                        line.push_str(cell);
                        let blanks = width.saturating_sub(cell.width()) + GAP;
                        line.extend(std::iter::repeat_n(' ', blanks));
                    }
                    None if self.wraps => {
                        let indent = format!("\n{}", " ".repeat(before));
                        line.push_str(&wrapped(cell, left).join(&indent));
                    }
                    None => line.push_str(&fitted(cell, left)),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

impl Table {
    /// As many cells on a line as fit, and the last on lines of its own. Headings would stand above nothing.
    fn stacked(&self, width: usize) -> String {
        const INDENT: &str = "  ";
        let mut out = String::new();
        let rows = self.rows.iter().skip(usize::from(self.has_headings));
        for row in rows {
            let Some((last, cells)) = row.split_last() else {
                continue;
            };
            let mut line = String::new();
            for cell in cells.iter().filter(|cell| !cell.is_empty()) {
                if line.width() + GAP + cell.width() > width && !line.trim().is_empty() {
                    out.push_str(line.trim_end());
                    out.push('\n');
                    INDENT.clone_into(&mut line);
                } else if !line.is_empty() {
                    line.extend(std::iter::repeat_n(' ', GAP));
                }
                line.push_str(cell);
            }
            let room = Some(width.saturating_sub(INDENT.width()).max(MIN_LAST));
            let told = match self.wraps {
                _ if last.is_empty() => Vec::new(),
                true => wrapped(last, room),
                false => vec![fitted(last, room)],
            };
            out.push_str(line.trim_end());
            for line in told {
                out.push('\n');
                out.push_str(INDENT);
                out.push_str(&line);
            }
            out.push('\n');
        }
        out
    }
}

/// Broken between words, and within one that is longer than a line.
fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| text.width() > *width) else {
        return vec![text.to_owned()];
    };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let room = lines.last().map_or(0, |line| match line.is_empty() {
            true => width,
            false => width.saturating_sub(line.width() + 1),
        });
        if word.width() > room && word.width() <= width {
            lines.push(String::new());
        }
        for (at, c) in word.chars().enumerate() {
            let Some(line) = lines.last_mut() else {
                continue;
            };
            if at == 0 && !line.is_empty() {
                line.push(' ');
            }
            let mut buffer = [0; 4];
            if line.width() + c.encode_utf8(&mut buffer).width() > width {
                lines.push(c.to_string());
            } else {
                line.push(c);
            }
        }
    }
    lines
}

fn fitted(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| text.width() > *width) else {
        return text.to_owned();
    };
    let mut out = String::new();
    for c in text.chars() {
        let mut buffer = [0; 4];
        if out.width() + c.encode_utf8(&mut buffer).width() + 1 > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_width_not_by_letters() {
        let mut table = Table::new(&["A", "B"]);
        table.row(["文件", "x"]);
        table.row(["abc", ""]);
        assert_eq!(table.render(None), "A     B\n文件  x\nabc\n");
    }

    #[test]
    fn the_last_column_is_cut_to_the_screen() {
        let mut table = Table::plain();
        table.row(["name", &"字".repeat(30)]);
        let line = table.render(Some(40));
        assert!(line.trim_end().width() <= 40, "{line}");
        assert!(line.ends_with("…\n"));
        assert_eq!(table.render(None).trim_end().width(), 66);
    }

    #[test]
    fn the_last_column_is_wrapped_where_it_is_to_be_read() {
        let mut table = Table::plain().wrapped();
        table.row(["name", "the quick brown fox jumps over the lazy dog"]);
        table.row(["字", &"字".repeat(30)]);
        let text = table.render(Some(30));
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        let words: Vec<_> = text.lines().take(2).collect();
        assert_eq!(
            words,
            ["name  the quick brown fox", "      jumps over the lazy dog"]
        );
        assert_eq!(text.matches('字').count(), 31);
    }

    #[test]
    fn where_the_columns_do_not_fit_they_stand_below_each_other() {
        let mut table = Table::new(&["TOOL", "SOURCE", "DESCRIPTION"]);
        table.row(["workflow:summarise", "workflow:shipped", &"字".repeat(30)]);
        table.row(["a", "b", ""]);
        let text = table.render(Some(40));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "workflow:summarise  workflow:shipped");
        assert!(lines[1].starts_with("  字") && lines[1].ends_with('…'));
        assert_eq!(lines[2..], ["a  b"]);
        let narrow = table.render(Some(24));
        assert!(narrow.lines().all(|line| line.width() <= 24), "{narrow}");
        assert!(narrow.starts_with("workflow:summarise\n  workflow:shipped\n"));
        assert!(table.render(Some(80)).starts_with("TOOL "));
    }

    #[test]
    fn a_cell_cannot_break_its_line() {
        let mut table = Table::plain();
        table.row(["a\nb", "c\u{1b}[2Jd"]);
        let line = table.render(None);
        assert_eq!(line.lines().count(), 1);
        assert!(!line.contains('\u{1b}'));
    }
}
