//! Two texts as a unified diff, in the form that `patch` and `git apply` take. A line ends with a line feed and with nothing
//! else, so whatever a text holds comes out as it was.

use std::time::Instant;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use crate::limits::DIFF_CONTEXT_LINES;

/// The paths before and after; none of a file that is not there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) old: Option<&'n str>,
    pub(super) new: Option<&'n str>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// Empty where nothing is different, or nothing fits.
    pub(super) text: String,
    /// All of them, also those that are not shown.
    pub(super) added: u64,
    pub(super) removed: u64,
    /// There is more than is shown. What is shown is whole by itself.
    pub(super) is_cut: bool,
}

/// At most so many bytes. After the deadline what is left is told in larger pieces, which is longer and still true.
pub(super) fn unified(
    old: &str,
    new: &str,
    names: Names<'_>,
    most: usize,
    deadline: Option<Instant>,
) -> Lines {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut lines = Lines::default();
    for operation in &operations {
        if !matches!(operation, DiffOp::Equal { .. }) {
            lines.added += operation.new_range().len() as u64;
            lines.removed += operation.old_range().len() as u64;
        }
    }
    if lines.added == 0 && lines.removed == 0 {
        return lines;
    }
    let head = format!(
        "--- {}\n+++ {}\n",
        shown("a", names.old),
        shown("b", names.new)
    );
    let mut left = most.saturating_sub(head.len());
    let mut hunks = String::new();
    for group in group_diff_ops(operations, DIFF_CONTEXT_LINES) {
        let hunk = Hunk::of(&group, &old, &new, left);
        lines.is_cut = hunk.is_cut;
        if !hunk.body.is_empty() {
            let text = hunk.text();
            left = left.saturating_sub(text.len());
            hunks.push_str(&text);
        }
        if lines.is_cut {
            break;
        }
    }
    if !hunks.is_empty() {
        lines.text = head + &hunks;
    }
    lines
}

/// A name with a space ends with a tab, so that `patch` knows where.
fn shown(side: &str, path: Option<&str>) -> String {
    match path {
        None => "/dev/null".to_owned(),
        Some(path) if path.contains(' ') => format!("{side}/{path}\t"),
        Some(path) => format!("{side}/{path}"),
    }
}

#[derive(Default)]
struct Hunk {
    body: String,
    /// The first line of it, from 0, and how many there are.
    old: (usize, usize),
    new: (usize, usize),
    is_cut: bool,
    has_change: bool,
}

/// Longest first line of a hunk.
const HEAD_BYTES: usize = 96;
const NO_LINE_END: &str = "\n\\ No newline at end of file\n";

impl Hunk {
    fn of(group: &[DiffOp], old: &[&str], new: &[&str], most: usize) -> Self {
        let mut hunk = Self::default();
        let Some(first) = group.first() else {
            return hunk;
        };
        hunk.old.0 = first.old_range().start;
        hunk.new.0 = first.new_range().start;
        let most = most.saturating_sub(HEAD_BYTES);
        for operation in group {
            let gone = old.get(operation.old_range()).unwrap_or_default();
            let come = new.get(operation.new_range()).unwrap_or_default();
            let fits = match operation {
                DiffOp::Equal { .. } => hunk.add(' ', gone, most),
                _ => hunk.add('-', gone, most) && hunk.add('+', come, most),
            };
            if !fits {
                hunk.is_cut = true;
                break;
            }
        }
        if !hunk.has_change {
            // Nothing but what surrounds a change that did not fit.
            hunk.body.clear();
        }
        hunk
    }

    /// Whether all of them fit.
    fn add(&mut self, sign: char, lines: &[&str], most: usize) -> bool {
        for line in lines {
            if self.body.len() + line.len() + 1 + NO_LINE_END.len() > most {
                return false;
            }
            self.body.push(sign);
            self.body.push_str(line);
            if !line.ends_with('\n') {
                self.body.push_str(NO_LINE_END);
            }
            self.old.1 += usize::from(sign != '+');
            self.new.1 += usize::from(sign != '-');
            self.has_change |= sign != ' ';
        }
        true
    }

    fn text(&self) -> String {
        let (old, new) = (range(self.old), range(self.new));
        format!("@@ -{old} +{new} @@\n{}", self.body)
    }
}

/// Lines are counted from 1; of none, the one before is named.
fn range((first, count): (usize, usize)) -> String {
    match count {
        0 => format!("{first},0"),
        1 => format!("{}", first + 1),
        count => format!("{},{count}", first + 1),
    }
}
