//! What is called a patch is one: applied by the programs that people apply patches with.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::tests::{Desk, patched};
use super::*;

type Files<'t> = &'t [(&'t str, &'t str)];

/// Those that are there. A machine without them says so.
fn appliers() -> Vec<(&'static str, &'static [&'static str])> {
    let all: [(&str, &[&str]); 2] = [
        ("git", &["apply", "--whitespace=nowarn", "-"]),
        ("patch", &["-p1", "--silent", "--no-backup-if-mismatch"]),
    ];
    let is_there = |name: &str| {
        let version = Command::new(name).arg("--version").output();
        let is_there = version.is_ok_and(|version| version.status.success());
        if !is_there {
            eprintln!(
                "SKIPPED: no `{name}` on this machine, so nobody applies our patches with it"
            );
        }
        is_there
    };
    all.into_iter().filter(|(name, _)| is_there(name)).collect()
}

fn apply(program: &str, arguments: &[&str], at: &Path, text: &str) -> Result<(), String> {
    use std::io::Write as _;

    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(at)
        .env("GIT_CEILING_DIRECTORIES", at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writing = std::thread::spawn(move || {
        // Whoever has seen enough does not read on.
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn read(at: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(at).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn owned(files: Files<'_>) -> BTreeMap<String, String> {
    let files = files.iter();
    files
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

/// What every applier makes of the whole diff, with what should come of it.
fn check(case: &str, from: Files<'_>, to: Files<'_>, expected: &BTreeMap<String, String>) {
    let mut desk = Desk::default();
    let (old, new) = (desk.tree(from), desk.tree(to));
    let (files, _) = desk.compare(&old, &new, &[]);
    let text: String = files
        .iter()
        .filter_map(|file| file.unified_diff.clone())
        .collect();
    for (program, arguments) in appliers() {
        let place = tempfile::tempdir().unwrap();
        for (path, content) in from {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let applied = apply(program, arguments, place.path(), &text);
        let head: String = text.chars().take(600).collect();
        assert_eq!(applied, Ok(()), "{case}, {program}:\n{head}");
        assert!(
            read(place.path()) == *expected,
            "{case}: {program} made something else of\n{head}"
        );
    }
}

#[test]
fn patches_are_applied_to_the_right_files() {
    let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let longer = long.replace("line 7\n", "line seven\n");
    let cases: [(&str, Files<'_>, Files<'_>); 9] = [
        (
            "each status at once",
            &[
                ("output/changed.md", "a\nb\n"),
                ("output/gone.md", "nobody\nneeds\nthis\n"),
                ("output/moved.md", "the same\n"),
                ("output/z.md", "after the new name\n"),
                ("plan/old name.md", &long),
                ("scratch/empty", ""),
            ],
            &[
                ("output/changed.md", "a\nc\nd\n"),
                ("output/new.md", "new\n"),
                ("output/n/moved.md", "the same\n"),
                ("output/z.md", "after the new name, changed\n"),
                ("plan/new.md", &longer),
                ("scratch/also empty", ""),
            ],
        ),
        (
            "a new name alone",
            &[("a/x.md", "x\n")],
            &[("b/y.md", "x\n")],
        ),
        (
            "two change places in a way",
            &[("a.md", &long), ("c.md", "x\n")],
            &[("b.md", &longer), ("a.md", "x\n")],
        ),
        (
            "an empty file comes",
            &[("a", "a\n")],
            &[("a", "a\n"), ("b", "")],
        ),
        (
            "an empty file goes",
            &[("a", "a\n"), ("b", "")],
            &[("a", "a\n")],
        ),
        ("emptied", &[("a", "a\n")], &[("a", "")]),
        ("filled", &[("a", "")], &[("a", "a")]),
        (
            "names",
            &[
                ("p/中文 名.md", "一\n"),
                ("p/it's \"it\".md", "a\n"),
                ("\"q\"", &long),
            ],
            &[
                ("p/中文 名.md", "二\n"),
                ("p/it's \"it\".md", "b\n"),
                ("r \"s\"", &longer),
            ],
        ),
        (
            "ends of lines",
            &[("a", "a\r\nb\rc\n"), ("b", "a"), ("c", "a\n- b\n@@ x\n")],
            &[("a", "a\nb\rc\n"), ("b", "a\n"), ("c", "a\n-- b\n@@ y")],
        ),
    ];
    for (case, from, to) in cases {
        check(case, from, to, &owned(to));
    }
}

/// A part of a patch is a patch too: it leads to a part of what came about.
#[test]
fn what_is_cut_can_be_applied() {
    let lines = |word: &str| -> String {
        (0..MAX_FILE_DIFF_BYTES / 80)
            .map(|n| format!("{word} {n}{}\n", " and so on".repeat(8)))
            .collect()
    };
    let (one, other) = (lines("one"), lines("other"));
    let late = one.replace("one 9 ", &"much\n".repeat(MAX_FILE_DIFF_BYTES / 4));
    let late = late.replace("one 2000 ", "not shown ");
    for (case, old, new) in [
        ("a deletion", Some(&one), None),
        ("an addition", None, Some(&other)),
        ("another text", Some(&one), Some(&other)),
        ("much in between", Some(&one), Some(&late)),
        ("emptied", Some(&one), Some(&String::new())),
    ] {
        let from: Vec<(&str, &str)> = old.iter().map(|text| ("p/a", text.as_str())).collect();
        let to: Vec<(&str, &str)> = new.iter().map(|text| ("p/a", text.as_str())).collect();
        let mut desk = Desk::default();
        let (before, after) = (desk.tree(&from), desk.tree(&to));
        let (files, _) = desk.compare(&before, &after, &[]);
        assert_eq!(files[0].note, Some(DiffNote::Cut), "{case}");
        let old = old.map(String::as_str).unwrap_or_default();
        let part = patched(old, files[0].unified_diff.as_ref().unwrap());
        assert_ne!(part, old, "{case}");
        check(case, &from, &to, &owned(&[("p/a", &part)]));
    }
}
