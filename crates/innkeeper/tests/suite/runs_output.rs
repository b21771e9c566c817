//! Where the results of runs go: files, pipes and readers that go away, disks that take no more.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use super::home::House;
use super::process::Run;
use super::runs::whole_journal;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];

#[test]
fn an_export_goes_into_what_was_named() {
    let house = House::new();
    house.run(&["run", "hello"]);
    let expected = house.run(&["runs", "export", "last"]).stdout;
    let export = |name: &str| {
        let path = house.path().join(name);
        let words = ["runs", "export", "last", "-o", path.to_str().unwrap()];
        let run = house.run(&words);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        path
    };

    let file = house.write("target.json", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("target.json", house.path().join("link.json")).unwrap();
    let link = export("link.json");
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);

    let pipe = house.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    export("pipe");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap(), expected);
}

/// Standard output is closed before anything is written to it.
fn unread(house: &House, words: &[&str]) -> Run {
    let mut child = house.command(words).stdin(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    ended(child)
}

/// Nothing can be written to it.
fn unwritable(house: &House, words: &[&str]) -> Run {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = house.command(words);
    ended(command.stdin(Stdio::null()).stdout(full).spawn().unwrap())
}

fn ended(child: std::process::Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_run_whose_results_nobody_can_have_is_cancelled_and_says_so() {
    let json = [&LETTER[..], &["--json"]].concat();
    for words in [&LETTER[..], &json] {
        for (run, cause) in [
            (
                unread as fn(&House, &[&str]) -> Run,
                "standard output was closed",
            ),
            (unwritable, "standard output cannot be written (No space"),
        ] {
            let house = House::new();
            let run = run(&house, words);
            assert_eq!(run.code, Some(1), "{words:?}: {}", run.stderr);
            let last = run.stderr.lines().last().unwrap();
            assert!(last.contains(cause), "{words:?}: {last}");
            assert!(last.ends_with("[output.unwritable]"), "{last}");
            let summary = run.stderr.lines().rev().nth(1).unwrap();
            assert!(summary.starts_with("cancelled · "), "{}", run.stderr);
            assert!(summary.contains("→ innkeeper runs resume run_"));
            whole_journal(&house, "last");

            // Nothing is lost: whoever goes on with it has the letter.
            let resumed = house.run(&["runs", "resume", "last"]);
            assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
            assert!(
                resumed.stdout.starts_with("Dear guest"),
                "{}",
                resumed.stderr
            );
        }
    }
}

#[test]
fn a_run_that_is_over_counts_as_it_ended_though_nobody_read_its_answer() {
    let house = House::new();
    let done = unread(&house, &["run", "hello"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let last = done.stderr.lines().last().unwrap();
    assert!(last.starts_with("completed · "), "{}", done.stderr);
    let failed = unread(
        &house,
        &["run", "default-writer", "hello", "--max-rounds", "1"],
    );
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    let full = unwritable(&house, &["run", "hello"]);
    assert_eq!(full.code, Some(1), "{}", full.stderr);
    assert!(full.stderr.contains("[output.unwritable]"));
    assert_eq!(house.json(&["runs", "list"])[0]["status"], "completed");
}

#[test]
fn a_disk_that_takes_no_more_is_named_and_the_run_goes_on_later() {
    let mut stopped = 0;
    // So large may a file become, in blocks of 512 bytes: the run stops at one place or another, or cannot begin.
    for blocks in [160, 240, 320, 400] {
        let house = House::new();
        house.run(&["run", "hello"]);
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_innkeeper")])
            .args(LETTER)
            .env("LC_ALL", "C")
            .env("INNKEEPER_HOME", house.path())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let Some(code) = output.status.code() else {
            panic!("{blocks}: ended by {}: {stderr}", output.status);
        };
        if code != 0 {
            assert_eq!(code, 1, "{blocks}: {stderr}");
            let last = stderr.lines().last().unwrap();
            assert!(last.contains("[store."), "{blocks}: {stderr}");
            stopped += usize::from(last.contains("has stopped: "));
        }
        let resumed = house.run(&["runs", "resume", "--all"]);
        assert_eq!(resumed.code, Some(0), "{blocks}: {}", resumed.stderr);
    }
    assert!(stopped > 0, "no run was stopped in the middle");
}
