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
    /// Of a file under a new name: how much is the same, in percent.
    pub(super) similarity: Option<u64>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// Empty where nothing is different, not even the name, or nothing fits.
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
    let mut left = most.saturating_sub(names.longest_head());
    let mut hunks = String::new();
    // How many more lines there are by now than before.
    let mut more = 0;
    for group in group_diff_ops(operations, DIFF_CONTEXT_LINES) {
        let hunk = Hunk::of(&group, &old, &new, left);
        lines.is_cut |= hunk.is_cut;
        if hunk.has_change {
            // A patch that leaves something out counts without it.
            let text = hunk.text(more);
            more += hunk.new.cast_signed() - hunk.old.1.cast_signed();
            left = left.saturating_sub(text.len());
            hunks.push_str(&text);
        }
    }
    let has_head = !hunks.is_empty() || (!lines.is_cut && names.is_change());
    if has_head && names.longest_head() <= most {
        lines.text = names.head(lines.is_cut, !hunks.is_empty()) + &hunks;
    } else if has_head {
        lines.is_cut = true;
    }
    lines
}

impl Names<'_> {
    /// Whether there is something to do even where no line is different.
    fn is_change(&self) -> bool {
        self.old != self.new
    }

    /// What `git` writes before the lines: without it, no new name and no empty file can be told.
    fn head(&self, is_cut: bool, has_lines: bool) -> String {
        let (old, new) = (self.old.or(self.new), self.new.or(self.old));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let mut head = format!(
            "diff --git {} {}\n",
            bounded(&format!("a/{old}")),
            bounded(&format!("b/{new}"))
        );
        // What is deleted in part is still there.
        let stays = self.new.is_none() && is_cut;
        match (self.old, self.new) {
            (None, _) => {
                head.push_str("new file mode 100644\n");
                if !has_lines {
                    head.push_str(&format!("index {NO_FILE}..{NO_CONTENT}\n"));
                }
            }
            (Some(_), None) if !stays => {
                head.push_str("deleted file mode 100644\n");
                if !has_lines {
                    head.push_str(&format!("index {NO_CONTENT}..{NO_FILE}\n"));
                }
            }
            (Some(_), None) => {}
            (Some(old), Some(new)) if old != new => {
                let same = self.similarity.unwrap_or_default();
                let (old, new) = (quoted(old), quoted(new));
                head.push_str(&format!(
                    "similarity index {same}%\nrename from {old}\nrename to {new}\n"
                ));
            }
            (Some(_), Some(_)) => {}
        }
        if has_lines {
            let new = if stays { self.old } else { self.new };
            head.push_str(&format!(
                "--- {}\n+++ {}\n",
                shown("a", self.old),
                shown("b", new)
            ));
        }
        head
    }

    fn longest_head(&self) -> usize {
        self.head(true, true)
            .len()
            .max(self.head(false, true).len())
    }
}

/// A name with a space ends with a tab, so that `patch` knows where.
fn shown(side: &str, path: Option<&str>) -> String {
    match path {
        None => "/dev/null".to_owned(),
        Some(path) if path.contains(' ') && !path.contains('"') => format!("{side}/{path}\t"),
        Some(path) => quoted(&format!("{side}/{path}")),
    }
}

/// In the first line nothing else says where a name ends.
fn bounded(name: &str) -> String {
    match name.contains(' ') && !name.contains('"') {
        true => format!("\"{name}\""),
        false => quoted(name),
    }
}

/// A name in which a quotation mark would be taken for its end.
fn quoted(name: &str) -> String {
    match name.contains('"') {
        false => name.to_owned(),
        true => format!("\"{}\"", name.replace('"', "\\\"")),
    }
}

#[derive(Default)]
struct Hunk {
    body: String,
    /// The first line of it before, from 0, and how many there are.
    old: (usize, usize),
    /// How many there are after.
    new: usize,
    is_cut: bool,
    has_change: bool,
}

/// Longest first line of a hunk.
const HEAD_BYTES: usize = 96;
/// How `git` names no file, and a file in which there is nothing: `patch` wants to know of the latter.
const NO_FILE: &str = "0000000";
const NO_CONTENT: &str = "e69de29";
const NO_LINE_END: &str = "\n\\ No newline at end of file\n";

/// A line of a hunk, and its sign.
type Signed<'l> = (char, &'l str);

impl Hunk {
    fn of(group: &[DiffOp], old: &[&str], new: &[&str], most: usize) -> Self {
        let first = group.first().map_or(0, |first| first.old_range().start);
        let most = most.saturating_sub(HEAD_BYTES);
        let mut lines: Vec<Signed<'_>> = Vec::new();
        for operation in group {
            let gone = old.get(operation.old_range()).unwrap_or_default();
            let come = new.get(operation.new_range()).unwrap_or_default();
            match operation {
                DiffOp::Equal { .. } => lines.extend(gone.iter().map(|line| (' ', *line))),
                _ => {
                    lines.extend(gone.iter().map(|line| ('-', *line)));
                    lines.extend(come.iter().map(|line| ('+', *line)));
                }
            }
        }
        let size: usize = lines.iter().map(written).sum();
        if size <= most {
            return Self::made(first, &lines, false);
        }
        Self::made(first, &part(lines, first, old, most), true)
    }

    fn made(first: usize, lines: &[Signed<'_>], is_cut: bool) -> Self {
        let mut hunk = Self {
            old: (first, 0),
            is_cut,
            ..Self::default()
        };
        for (sign, line) in lines {
            hunk.body.push(*sign);
            hunk.body.push_str(line);
            if !line.ends_with('\n') {
                hunk.body.push_str(NO_LINE_END);
            }
            hunk.old.1 += usize::from(*sign != '+');
            hunk.new += usize::from(*sign != '-');
            hunk.has_change |= *sign != ' ';
        }
        hunk
    }

    fn text(&self, more: isize) -> String {
        let start = self.old.0.saturating_add_signed(more);
        let (old, new) = (range(self.old), range((start, self.new)));
        format!("@@ -{old} +{new} @@\n{}", self.body)
    }
}

fn written((_, line): &Signed<'_>) -> usize {
    let end = if line.ends_with('\n') {
        0
    } else {
        NO_LINE_END.len()
    };
    1 + line.len() + end
}

/// As many lines of a hunk as fit together with what follows them before: without that, whoever applies it takes the last of
/// them for the end of the file. Nothing where no change fits.
fn part<'l>(
    mut lines: Vec<Signed<'l>>,
    first: usize,
    old: &[&'l str],
    most: usize,
) -> Vec<Signed<'l>> {
    let mut size: usize = lines.iter().map(written).sum();
    let mut next = first + lines.iter().filter(|(sign, _)| *sign != '+').count();
    while let Some(line) = lines.pop() {
        size -= written(&line);
        next -= usize::from(line.0 != '+');
        // A line without an end is the last: nothing may be put after it.
        let is_open = |line: &Signed<'_>| line.0 != '-' && !line.1.ends_with('\n');
        if size > most
            || lines
                .iter()
                .next_back()
                .is_none_or(|last| last.0 == ' ' || is_open(last))
        {
            continue;
        }
        let after = old.iter().skip(next).take(DIFF_CONTEXT_LINES);
        let after: Vec<Signed<'_>> = after.map(|line| (' ', *line)).collect();
        if size + after.iter().map(written).sum::<usize>() <= most {
            lines.extend(after);
            return lines;
        }
    }
    Vec::new()
}

/// Lines are counted from 1; of none, the one before is named.
fn range((first, count): (usize, usize)) -> String {
    match count {
        0 => format!("{first},0"),
        1 => format!("{}", first + 1),
        count => format!("{},{count}", first + 1),
    }
}
