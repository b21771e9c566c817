//! `innkeeper parse` on input that can be read: exit code 0 and a result, whatever the text says.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::process::{Folder, Run, fed, innkeeper, run};

#[track_caller]
fn result(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stderr, "");
    serde_json::from_str(&run.stdout).unwrap()
}

/// The result of a text without any call.
fn plain(text: &str) -> Value {
    json!({
        "responseText": text, "outsideText": text, "trailingText": "",
        "blocks": [], "warnings": [], "errors": [], "diagnostics": [],
    })
}

#[test]
fn the_same_from_file_dash_and_pipe() {
    let folder = Folder::new("sources");
    let file = folder.file("晚安 reply.txt", "晚安。\n".as_bytes());
    let expected = plain("晚安。");
    assert_eq!(result(&fed(innkeeper(&["parse", &file]), b"")), expected);
    assert_eq!(result(&run("parse -", "晚安。\n".as_bytes())), expected);
    assert_eq!(result(&run("parse", "晚安。\n".as_bytes())), expected);
}

#[test]
fn every_protocol_reads_text_without_calls() {
    for protocol in ["auto", "tam", "action", "tool-call", "tool_call"] {
        let line = format!("parse --protocol {protocol}");
        assert_eq!(
            result(&run(&line, b"Good evening.")),
            plain("Good evening.")
        );
    }
}

#[test]
fn global_options_stand_before_or_after_the_command() {
    let expected = run("parse", b"Good evening.").stdout;
    for line in [
        "--json --quiet --lang en --home /tmp parse",
        "parse --json --quiet --lang en --home /tmp",
        "--lang=zh parse - --json",
        "--json parse --json",
        "parse --json --json",
    ] {
        let run = run(line, b"Good evening.");
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
        assert_eq!(run.stdout, expected, "{line}");
    }
}

#[test]
fn piped_output_is_one_line() {
    let run = run("parse", b"one\ntwo\n");
    assert_eq!(run.stdout.lines().count(), 1);
    assert!(run.stdout.ends_with("}\n"));
}

#[test]
fn odd_but_legal_texts() {
    for text in [
        "",
        "\n \n",
        "a\0b",
        "\u{feff}hello",
        "a\r\nb",
        "🏨",
        "{\"tool_calls\": oops",
    ] {
        let run = run("parse", text.as_bytes());
        assert_eq!(result(&run), plain(text.trim()), "{text:?}");
    }
}

#[test]
fn a_batch_gives_one_line_for_each_line() {
    let input = "\"one\"\n  \"two\\nlines\"  \r\n\"\"\n\"三\"";
    let run = run("parse --jsonl", input.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let results: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(results, ["one", "two\nlines", "", "三"].map(plain));
}

#[test]
fn an_empty_batch_is_an_empty_result() {
    let run = run("parse --jsonl", b"");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), ""),
        "{}",
        run.stderr
    );
}

#[test]
fn a_batch_answers_each_line_before_the_next_is_sent() {
    let mut child = innkeeper(&["parse", "--jsonl"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for text in ["one", "two", "three"] {
        writeln!(stdin, "{}", json!(text)).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), plain(text));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = innkeeper(&["parse", "--jsonl"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let line = format!("{}\n", json!("x".repeat(100_000)));
    // Ends when the command has closed its end too.
    while stdin.write_all(line.as_bytes()).is_ok() {}
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let mut command = innkeeper(&["parse"]);
    command.stdout(std::fs::File::create("/dev/full").unwrap());
    let run = fed(command, b"Good evening.");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("[output.unwritable]"), "{}", run.stderr);
}
