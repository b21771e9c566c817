//! Rows of texts in aligned columns, as wide as the letters really are. Whatever the texts hold, each row is
//! one line and cannot rewrite the screen.

use unicode_width::UnicodeWidthStr;

use crate::failure::shown;

/// Blank columns between two columns of text.
const GAP: usize = 2;
/// The last column keeps at least this much, however narrow the screen is.
const MIN_LAST: usize = 20;

pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|text| (*text).to_owned()).collect();
        Self {
            rows: vec![headings],
        }
    }

    /// No headings: names on the left, what they are on the right.
    pub(crate) fn plain() -> Self {
        Self { rows: Vec::new() }
    }

    pub(crate) fn row<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) {
        self.rows.push(cells.into_iter().map(shown).collect());
    }

    /// `width`: of the screen, if there is one; only the last column is cut to fit.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
        let before: usize = widths.iter().map(|width| width + GAP).sum();
        let left = width.map(|width| width.saturating_sub(before).max(MIN_LAST));
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
                    None => line.push_str(&fitted(cell, left)),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
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
    fn a_cell_cannot_break_its_line() {
        let mut table = Table::plain();
        table.row(["a\nb", "c\u{1b}[2Jd"]);
        let line = table.render(None);
        assert_eq!(line.lines().count(), 1);
        assert!(!line.contains('\u{1b}'));
    }
}
