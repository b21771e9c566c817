//! `innkeeper runs diff`: what a run has changed. In a pipe it is a patch; what it cannot say stands in lines with `#`.

use innkeeper_agent::instance::{DiffEnd, DiffQuery};
use innkeeper_agent::workspace::diff::{DiffNote, DiffTotals, FileDiff, FileStatus};

use super::find::{find, reading};
use crate::cli::RunsDiffArgs;
use crate::commands::Ended;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::output::{Colour, Screen};
use crate::table::Table;

pub(super) fn run(args: &RunsDiffArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let query = DiffQuery {
        from: DiffEnd::parse(&args.from)?,
        to: DiffEnd::parse(&args.to)?,
        paths: args.path.clone(),
    };
    let diff = reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        Ok(reader.diff(&run, &query).await?)
    })?;
    if screen.json {
        screen.document(&diff)?;
        return Ok(Ended::Done);
    }
    let compared = Compared {
        files: &diff.files,
        totals: &diff.totals,
    };
    print(&compared, args.stat, screen)?;
    Ok(Ended::Done)
}

/// What is different, whatever was compared.
pub(super) struct Compared<'d> {
    pub(super) files: &'d [FileDiff],
    pub(super) totals: &'d DiffTotals,
}

pub(super) fn print(diff: &Compared<'_>, counts: bool, screen: &Screen) -> Result<(), Failure> {
    if diff.files.is_empty() {
        screen.note("Nothing is different", "没有不同");
        return Ok(());
    }
    match counts {
        true => stat(diff, screen),
        false => lines(diff, screen),
    }
}

fn stat(diff: &Compared<'_>, screen: &Screen) -> Result<(), Failure> {
    let mut table = Table::plain();
    for file in diff.files {
        let counted = match (file.added_lines, file.removed_lines) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            _ => String::new(),
        };
        let path = match &file.old_path {
            Some(old) => format!("{old} → {}", file.path),
            None => file.path.clone(),
        };
        // A cut one is counted whole.
        let note = file.note.filter(|note| *note != DiffNote::Cut);
        let note = note.map_or("", |note| noted(note, screen));
        table.row([status(file.status, screen), &counted, &path, note]);
    }
    screen.table(&table)?;
    let totals = diff.totals;
    let files = totals.added + totals.modified + totals.deleted + totals.renamed;
    let (added, removed) = (totals.added_lines, totals.removed_lines);
    screen.text(&screen.pick(
        match files {
            1 => format!("1 file changed, {added} lines added, {removed} removed"),
            files => format!("{files} files changed, {added} lines added, {removed} removed"),
        },
        format!("改动了 {files} 个文件，增加 {added} 行，删除 {removed} 行"),
    ))
}

fn lines(diff: &Compared<'_>, screen: &Screen) -> Result<(), Failure> {
    for file in diff.files {
        let about = about(file, screen);
        if let Some(about) = &about {
            screen.painted(&[(Colour::Aside, about)])?;
        }
        let text = file.unified_diff.as_deref().unwrap_or_default();
        let lines = text.split_inclusive('\n').enumerate();
        let lines: Vec<(Colour, &str)> = lines
            .map(|(number, line)| (colour(number, line), line))
            .collect();
        screen.painted(&lines)?;
    }
    Ok(())
}

/// What the lines do not say by themselves.
fn about(file: &FileDiff, screen: &Screen) -> Option<String> {
    let path = message(&file.path);
    let mut said = Vec::new();
    if let Some(old) = &file.old_path {
        let (old, share) = (message(old), file.similarity.unwrap_or_default());
        said.push(screen.pick(
            format!("renamed from {old}, {share}% the same"),
            format!("由 {old} 改名，{share}% 相同"),
        ));
    }
    if let Some(note) = file.note {
        let word = status(file.status, screen);
        said.push(format!("{word}, {}", noted(note, screen)));
    } else if file.unified_diff.is_none() && file.old_path.is_none() {
        said.push(status(file.status, screen).to_owned());
    }
    (!said.is_empty()).then(|| format!("# {path}: {}\n", said.join("; ")))
}

/// The first two lines are the names.
fn colour(number: usize, line: &str) -> Colour {
    match line.as_bytes().first() {
        _ if number < 2 => Colour::Heading,
        Some(b'@') => Colour::Place,
        Some(b'+') => Colour::Added,
        Some(b'-') => Colour::Removed,
        Some(b'\\') => Colour::Aside,
        _ => Colour::Plain,
    }
}

pub(super) fn status(status: FileStatus, screen: &Screen) -> &'static str {
    match status {
        FileStatus::Added => screen.pick("added", "新增"),
        FileStatus::Modified => screen.pick("modified", "修改"),
        FileStatus::Deleted => screen.pick("deleted", "删除"),
        FileStatus::Renamed => screen.pick("renamed", "改名"),
        FileStatus::Unchanged => screen.pick("unchanged", "未变"),
    }
}

fn noted(note: DiffNote, screen: &Screen) -> &'static str {
    match note {
        DiffNote::Binary => screen.pick("it is no text", "不是文本"),
        DiffNote::TooLarge => screen.pick("too large to be compared", "太大，没有比较"),
        DiffNote::Cut => screen.pick("there is more than is shown", "后面还有，没有显示"),
        DiffNote::Omitted => screen.pick(
            "not compared: there is too much; name it with --path",
            "内容太多，没有比较；请用 --path 指定",
        ),
        DiffNote::Missing => screen.pick("its content is gone", "内容已丢失"),
    }
}
