use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limits::{MAX_DIFF_BYTES, MAX_RENAME_BYTES};

/// Trees that are made of texts, with what is in them at hand.
#[derive(Default)]
pub(super) struct Desk {
    contents: ContentsAtHand,
}

impl Desk {
    pub(super) fn tree(&mut self, files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| {
            let sha256 = BlobId::of(text.as_bytes());
            let content = Content::of(text.as_bytes());
            self.contents.insert(sha256.clone(), content);
            let bytes = text.len() as u64;
            ((*path).to_owned(), TreeFile { sha256, bytes })
        });
        Tree(files.collect())
    }

    pub(super) fn compare(
        &self,
        from: &Tree,
        to: &Tree,
        asked: &[&str],
    ) -> (Vec<FileDiff>, DiffTotals) {
        let asked: Vec<String> = asked.iter().map(|path| (*path).to_owned()).collect();
        let mut changes = changes(from, to, &asked);
        find_renames(&mut changes, &self.contents, None);
        changes.retain(|change| is_wanted(change, &asked));
        super::compare(&changes, &self.contents, &asked, None)
    }
}

fn one(old: &str, new: &str) -> FileDiff {
    let mut desk = Desk::default();
    let (from, to) = (
        desk.tree(&[("output/a.md", old)]),
        desk.tree(&[("output/a.md", new)]),
    );
    let (mut files, _) = desk.compare(&from, &to, &[]);
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// What `patch` does.
pub(super) fn patched(old: &str, diff: &str) -> String {
    let mut lines = diff.split_inclusive('\n').peekable();
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    assert!(lines.next().unwrap().starts_with("diff --git "));
    while lines.next_if(|line| !line.starts_with("@@ ")).is_some() {}
    while let Some(head) = lines.next() {
        let ranges = head
            .strip_prefix("@@ -")
            .unwrap()
            .strip_suffix(" @@\n")
            .unwrap();
        let (gone, come) = ranges.split_once(" +").unwrap();
        let range = |text: &str| -> (usize, usize) {
            let (first, count) = text.split_once(',').unwrap_or((text, "1"));
            (first.parse().unwrap(), count.parse().unwrap())
        };
        let ((first, gone), (_, come)) = (range(gone), range(come));
        let first = if gone == 0 { first } else { first - 1 };
        out.extend(old[at..first].iter().copied());
        at = first;
        let (mut seen_old, mut seen_new) = (0, 0);
        while seen_old < gone || seen_new < come {
            let line = lines.next().unwrap();
            let (sign, line) = line.split_at(1);
            let has_end = lines
                .next_if_eq(&"\\ No newline at end of file\n")
                .is_none();
            let line = if has_end {
                line
            } else {
                line.strip_suffix('\n').unwrap()
            };
            if sign != "+" {
                assert_eq!(old[at], line, "what is there is what the diff says");
                (at, seen_old) = (at + 1, seen_old + 1);
            }
            if sign != "-" {
                out.push_str(line);
                seen_new += 1;
            }
        }
    }
    out.extend(old[at..].iter().copied());
    out
}

#[test]
fn lines_are_told_in_the_form_that_patch_takes() {
    let numbers = |change: &str| -> String {
        (1..=20)
            .map(|n| {
                if n == 10 {
                    format!("{change}\n")
                } else {
                    format!("{n}\n")
                }
            })
            .collect()
    };
    for (old, new, expected) in [
        ("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ("a\n", "a\nb\n", "@@ -1 +1,2 @@\n a\n+b\n"),
        (
            "a",
            "a\n",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
        ),
        (
            "a\nb",
            "a\nc",
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        ),
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        // A carriage return is part of its line, wherever it stands.
        (
            "a\r\nb\rc\n",
            "a\nb\rc\n",
            "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\rc\n",
        ),
        (
            &numbers("ten"),
            &numbers("TEN"),
            "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-ten\n+TEN\n 11\n 12\n 13\n",
        ),
    ] {
        let file = one(old, new);
        let diff = file.unified_diff.unwrap();
        assert_eq!(
            diff,
            format!(
                "diff --git a/output/a.md b/output/a.md\n--- a/output/a.md\n+++ b/output/a.md\n{expected}"
            )
        );
        assert_eq!(patched(old, &diff), new);
    }
}

#[test]
fn every_status_has_its_form() {
    let mut desk = Desk::default();
    let long = "one line\nand another\nand a third one\n";
    let from = desk.tree(&[
        ("output/changed.md", "a\nb\n"),
        ("output/gone.md", "nobody\nneeds\nthis\n"),
        ("output/moved.md", "the same\n"),
        ("output/same.md", "same\n"),
        ("plan/old name.md", long),
        ("scratch/empty", ""),
    ]);
    let to = desk.tree(&[
        ("output/changed.md", "a\nc\nd\n"),
        ("output/new.md", "new\n"),
        ("output/same.md", "same\n"),
        ("plan/new.md", &format!("{long}and more\n")),
        ("scratch/also empty", ""),
        ("summaries/moved.md", "the same\n"),
    ]);
    let (files, totals) = desk.compare(&from, &to, &[]);
    let shown: Vec<_> = files
        .iter()
        .map(|file| {
            let lines = (file.added_lines.unwrap(), file.removed_lines.unwrap());
            let old_path = file.old_path.as_deref().unwrap_or_default();
            (
                file.path.as_str(),
                file.status,
                old_path,
                lines,
                file.similarity,
            )
        })
        .collect();
    use FileStatus::{Added, Deleted, Modified, Renamed};
    assert_eq!(
        shown,
        [
            ("output/changed.md", Modified, "", (2, 1), None),
            ("output/gone.md", Deleted, "", (0, 3), None),
            ("output/new.md", Added, "", (1, 0), None),
            ("plan/new.md", Renamed, "plan/old name.md", (1, 0), Some(89)),
            ("scratch/also empty", Added, "", (0, 0), None),
            ("scratch/empty", Deleted, "", (0, 0), None),
            (
                "summaries/moved.md",
                Renamed,
                "output/moved.md",
                (0, 0),
                Some(100)
            ),
        ]
    );
    let heads: Vec<_> = files
        .iter()
        .filter_map(|file| file.unified_diff.as_ref())
        .map(|diff| {
            let head = diff.lines().take_while(|line| !line.starts_with("@@"));
            head.collect::<Vec<_>>().join("|")
        })
        .collect();
    assert_eq!(
        heads,
        [
            "diff --git a/output/changed.md b/output/changed.md|--- a/output/changed.md|+++ b/output/changed.md",
            "diff --git a/output/gone.md b/output/gone.md|deleted file mode 100644|--- a/output/gone.md|+++ /dev/null",
            "diff --git a/output/new.md b/output/new.md|new file mode 100644|--- /dev/null|+++ b/output/new.md",
            "diff --git \"a/plan/old name.md\" b/plan/new.md|similarity index 89%|rename from plan/old name.md|rename to plan/new.md\
             |--- a/plan/old name.md\t|+++ b/plan/new.md",
            "diff --git \"a/scratch/also empty\" \"b/scratch/also empty\"|new file mode 100644|index 0000000..e69de29",
            "diff --git a/scratch/empty b/scratch/empty|deleted file mode 100644|index e69de29..0000000",
            "diff --git a/output/moved.md b/summaries/moved.md|similarity index 100%|rename from output/moved.md|rename to summaries/moved.md",
        ]
    );
    let expected = DiffTotals {
        added: 2,
        modified: 1,
        deleted: 2,
        renamed: 2,
        added_lines: 4,
        removed_lines: 4,
        noted: 0,
    };
    assert_eq!(totals, expected);
    let json = serde_json::to_value(&files[6]).unwrap();
    assert_eq!(json["status"], "renamed");
    assert_eq!(json["oldPath"], "output/moved.md");
}

#[test]
fn a_path_narrows_it_down() {
    let mut desk = Desk::default();
    let from = desk.tree(&[
        ("output/a.md", "a\n"),
        ("output/in/b.md", "b\n"),
        ("output/int.md", "c\n"),
        ("plan/p.md", "p\n"),
    ]);
    let to = desk.tree(&[
        ("output/a.md", "a\n"),
        ("output/in/b.md", "B\n"),
        ("output/int.md", "C\n"),
        ("scratch/p.md", "p\n"),
    ]);
    for (asked, expected) in [
        (
            &[][..],
            &["output/in/b.md", "output/int.md", "scratch/p.md"][..],
        ),
        (&["output/in"], &["output/in/b.md"]),
        (&["output"], &["output/in/b.md", "output/int.md"]),
        // Only one that is named itself is told although it is the same.
        (&["output/a.md"], &["output/a.md"]),
        (&["plan"], &["scratch/p.md"]),
        (
            &["scratch/p.md", "output/a.md"],
            &["output/a.md", "scratch/p.md"],
        ),
        (&["nowhere"], &[]),
    ] {
        let (files, _) = desk.compare(&from, &to, asked);
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, expected, "{asked:?}");
        let same = files.iter().find(|file| file.path == "output/a.md");
        assert!(same.is_none_or(|file| file.status == FileStatus::Unchanged));
    }
}

#[test]
fn what_is_not_compared_says_why() {
    let line = "x\n".repeat(MAX_DIFF_FILE_BYTES as usize / 2);
    let cut_at = "a line of a text that is long\n".repeat(MAX_FILE_DIFF_BYTES / 20);
    for (old, new, note, is_shown) in [
        ("a\0b", "text\n", Some(DiffNote::Binary), false),
        ("text\n", "\0", Some(DiffNote::Binary), false),
        ("a\n", &format!("{line}y"), Some(DiffNote::TooLarge), false),
        ("a\n", &cut_at, Some(DiffNote::Cut), true),
        (
            &"y".repeat(MAX_FILE_DIFF_BYTES),
            "b\n",
            Some(DiffNote::Omitted),
            false,
        ),
        ("a\n", "b\n", None, true),
    ] {
        let file = one(old, new);
        assert_eq!(file.note, note);
        assert_eq!(file.unified_diff.is_some(), is_shown, "{note:?}");
        let Some(diff) = file.unified_diff.filter(|_| note.is_some()) else {
            continue;
        };
        assert!(diff.len() <= MAX_FILE_DIFF_BYTES);
        assert!(diff.len() > MAX_FILE_DIFF_BYTES / 2, "it is used");
        // What is there is a patch by itself.
        let part = patched(old, &diff);
        assert!(new.starts_with(&part) && !part.is_empty());
        assert_eq!(file.added_lines, Some(new.lines().count() as u64));
    }
    let mut desk = Desk::default();
    let from = desk.tree(&[("a", "a\n"), ("b", "b\n")]);
    let to = desk.tree(&[("a", "A\n"), ("b", "B\n")]);
    desk.contents.insert(BlobId::of(b"A\n"), Content::Missing);
    desk.contents.remove(&BlobId::of(b"b\n"));
    let (files, totals) = desk.compare(&from, &to, &[]);
    let notes: Vec<_> = files.iter().map(|file| file.note).collect();
    assert_eq!(notes, [Some(DiffNote::Missing), Some(DiffNote::Omitted)]);
    assert_eq!(totals.noted, 2);
}

/// Whatever its lines are like: "name it" is no empty word.
#[test]
fn a_file_that_is_named_is_shown_whole() {
    let line = "y".repeat(MAX_FILE_DIFF_BYTES + 1);
    let old: String = (0..100).map(|n| format!("{n}\n")).collect();
    let changed = old
        .replace("10\n", &format!("{line}\n"))
        .replace("90\n", "ninety\n");
    let lines = format!("{} line\n", "another ".repeat(20));
    let lines = lines.repeat(MAX_DIFF_FILE_BYTES as usize / lines.len());
    for (old, new, note) in [
        ("", line.as_str(), DiffNote::Omitted),
        (&old, &changed, DiffNote::Cut),
        (&lines, "", DiffNote::Cut),
        (&lines, &lines.replace("line", "LINE"), DiffNote::Cut),
    ] {
        let mut desk = Desk::default();
        let (from, to) = (desk.tree(&[("p/a", old)]), desk.tree(&[("p/a", new)]));
        for asked in [&[][..], &["p"]] {
            let (files, _) = desk.compare(&from, &to, asked);
            assert_eq!(files[0].note, Some(note));
            let shown = files[0].unified_diff.as_deref().unwrap_or_default();
            assert!(shown.len() <= MAX_FILE_DIFF_BYTES);
            // One that does not fit hides no other.
            assert_eq!(shown.contains("+ninety\n"), new.contains("ninety"));
        }
        let (files, _) = desk.compare(&from, &to, &["p/a"]);
        assert_eq!(files[0].note, None);
        assert_eq!(patched(old, files[0].unified_diff.as_ref().unwrap()), new);
    }
}

/// What was asked for is read before anything else, and of the rest only what may have been renamed.
#[test]
fn what_is_wanted_is_read_first() {
    let mut desk = Desk::default();
    let long = "x".repeat(MAX_RENAME_BYTES as usize + 1);
    let from = desk.tree(&[("a", "1"), ("b", "22"), ("z/c", "333")]);
    let to = desk.tree(&[
        ("a", "4444"),
        ("d", &long),
        ("e", "55555"),
        ("z/c", "666666"),
        ("z/new", "7777777"),
    ]);
    let changes = changes(&from, &to, &[]);
    for (asked, expected) in [
        (&[][..], &[1, 4, 2, long.len(), 5, 3, 6, 7][..]),
        (&["z"], &[3, 6, 7, 2, 5]),
        (&["z/c"], &[3, 6]),
    ] {
        let asked: Vec<String> = asked.iter().map(|path| (*path).to_owned()).collect();
        let read: Vec<usize> = to_read(&changes, &asked)
            .iter()
            .map(|file| file.bytes as usize)
            .collect();
        assert_eq!(read, expected, "{asked:?}");
    }
    // More than is read at once: whoever names the last one gets it.
    let files = (0..40_u8).map(|number| {
        let (sha256, bytes) = (BlobId::of(&[number]), MAX_DIFF_FILE_BYTES);
        (format!("f{number:02}"), TreeFile { sha256, bytes })
    });
    let to = Tree(files.collect());
    let changes = super::changes(&Tree::default(), &to, &[]);
    let last = &to.0["f39"];
    let read = to_read(&changes, &[]);
    assert_eq!(read.len() as u64, MAX_DIFF_READ_BYTES / MAX_DIFF_FILE_BYTES);
    assert!(!read.contains(&last));
    assert_eq!(to_read(&changes, &["f39".to_owned()]), [last]);
}

#[test]
fn all_of_it_is_bounded_too() {
    let mut desk = Desk::default();
    let texts: Vec<(String, String)> = (0..2 * MAX_DIFF_BYTES / MAX_FILE_DIFF_BYTES)
        .map(|number| {
            (
                format!("f{number:03}"),
                format!("line of {number:03}\n").repeat(MAX_FILE_DIFF_BYTES / 16),
            )
        })
        .collect();
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let to = desk.tree(&texts);
    let (files, _) = desk.compare(&Tree::default(), &to, &[]);
    assert_eq!(files.len(), texts.len());
    let shown: usize = files
        .iter()
        .filter_map(|file| Some(file.unified_diff.as_ref()?.len()))
        .sum();
    assert!(
        (MAX_DIFF_BYTES / 2..=MAX_DIFF_BYTES).contains(&shown),
        "{shown}"
    );
    assert_eq!(files.last().unwrap().note, Some(DiffNote::Omitted));
    assert!(files.iter().all(|file| file.added_lines.is_some()));
    // And so is the time: what comes too late is named.
    let past = Instant::now() - Duration::from_secs(1);
    let changes = changes(&Tree::default(), &to, &[]);
    let (files, _) = super::compare(&changes, &desk.contents, &[], Some(past));
    assert!(
        files
            .iter()
            .all(|file| file.note == Some(DiffNote::Omitted))
    );
}

#[test]
fn a_new_name_is_found_by_what_is_in_it() {
    let text = |lines: std::ops::Range<u32>| -> String {
        lines.map(|n| format!("line {n:03}\n")).collect()
    };
    for (old, new, share) in [
        (text(0..10), text(0..10), Some(100)),
        (text(0..10), text(0..9), Some(94)),
        (text(0..10), text(4..14), Some(60)),
        (text(0..10), text(5..15), None),
        (text(0..10), text(0..40), None),
        (String::new(), String::new(), None),
        ("a\0b".repeat(10), "a\0b".repeat(9), None),
        (text(0..30_000), text(1..30_001), None),
    ] {
        assert!(text(0..30_000).len() as u64 > MAX_RENAME_BYTES);
        let mut desk = Desk::default();
        let (from, to) = (desk.tree(&[("old", &old)]), desk.tree(&[("new", &new)]));
        let (files, _) = desk.compare(&from, &to, &[]);
        let found = (files.len() == 1).then(|| files[0].similarity.unwrap());
        assert_eq!(found, share);
    }
    // Each file once, the best pair first, and one of the same name before others.
    let mut desk = Desk::default();
    let (a, b) = (text(0..10), text(0..8));
    let from = desk.tree(&[("p/x", "same"), ("q/y", "same"), ("r/old", &a)]);
    let to = desk.tree(&[("s/y", "same"), ("t/one", &b), ("t/two", &text(0..9))]);
    let (files, _) = desk.compare(&from, &to, &[]);
    let pairs: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.old_path.as_deref()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("p/x", None),
            ("s/y", Some("q/y")),
            ("t/one", None),
            ("t/two", Some("r/old"))
        ]
    );
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("a"),
        Just("b"),
        Just(""),
        Just("\r"),
        Just("- x"),
        Just("\\ No newline"),
        Just("@@")
    ];
    let line = (line, prop_oneof![9 => Just("\n"), 1 => Just("")]);
    proptest::collection::vec(line, 0..40)
        .prop_map(|lines| lines.iter().flat_map(|(line, end)| [*line, *end]).collect())
}

proptest! {
    #[test]
    fn applying_a_diff_gives_the_new_text(old in text(), new in text()) {
        let names = Names { old: Some("a"), new: Some("a"), similarity: None };
        let lines = diff_lines::unified(&old, &new, names, usize::MAX, None);
        prop_assert!(!lines.is_cut);
        if old == new {
            prop_assert_eq!(lines.text, "");
        } else {
            prop_assert_eq!(patched(&old, &lines.text), new.clone());
            let count = |text: &str| text.split_inclusive('\n').count() as u64;
            prop_assert_eq!(count(&old) + lines.added, count(&new) + lines.removed);
        }
    }
}

/// One thing that happens to files.
#[derive(Debug, Clone)]
enum Deed {
    Write(u8, String),
    Append(u8, String),
    Delete(u8),
    Move(u8, u8),
    Checkpoint,
}

fn deed() -> impl Strategy<Value = Deed> {
    let file = || 0..6_u8;
    prop_oneof![
        3 => (file(), text()).prop_map(|(file, text)| Deed::Write(file, text)),
        2 => (file(), text()).prop_map(|(file, text)| Deed::Append(file, text)),
        1 => file().prop_map(Deed::Delete),
        1 => (file(), file()).prop_map(|(from, to)| Deed::Move(from, to)),
        3 => Just(Deed::Checkpoint),
    ]
}

type Files = std::collections::BTreeMap<String, String>;

fn done(files: &mut Files, deed: &Deed) {
    let path = |file: &u8| format!("output/{file}.md");
    match deed {
        Deed::Write(file, text) => drop(files.insert(path(file), text.clone())),
        Deed::Append(file, text) => files.entry(path(file)).or_default().push_str(text),
        Deed::Delete(file) => drop(files.remove(&path(file))),
        Deed::Move(from, to) => {
            let moved = files.remove(&path(from));
            files.extend(moved.map(|text| (path(to), text)));
        }
        Deed::Checkpoint => {}
    }
}

/// What somebody makes of it who has only the files before and the diff.
fn followed(before: &Files, diff: &[FileDiff]) -> Files {
    let mut files = before.clone();
    for file in diff {
        let old_path = file.old_path.as_ref().unwrap_or(&file.path);
        let old = before.get(old_path).cloned().unwrap_or_default();
        let new = match &file.unified_diff {
            Some(diff) => patched(&old, diff),
            None => old,
        };
        match file.status {
            FileStatus::Deleted => {
                assert_eq!(new, "");
                files.remove(&file.path);
            }
            FileStatus::Renamed => {
                files.remove(old_path);
                files.insert(file.path.clone(), new);
            }
            _ => drop(files.insert(file.path.clone(), new)),
        }
    }
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_happened_a_diff_leads_from_any_checkpoint_to_any_other(deeds in proptest::collection::vec(deed(), 1..40)) {
        let mut files = Files::new();
        let mut checkpoints = vec![files.clone()];
        for deed in &deeds {
            done(&mut files, deed);
            if matches!(deed, Deed::Checkpoint) {
                checkpoints.push(files.clone());
            }
        }
        let mut desk = Desk::default();
        let trees: Vec<Tree> = checkpoints
            .iter()
            .map(|files| {
                let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                desk.tree(&files)
            })
            .collect();
        for (before, from) in checkpoints.iter().zip(&trees) {
            for (after, to) in checkpoints.iter().zip(&trees) {
                let (diff, totals) = desk.compare(from, to, &[]);
                prop_assert_eq!(&followed(before, &diff), after);
                prop_assert_eq!(totals.noted, 0);
                prop_assert_eq!(diff.is_empty(), before == after);
                prop_assert!(diff.iter().all(|file| file.status != FileStatus::Unchanged));
            }
        }
    }
}
