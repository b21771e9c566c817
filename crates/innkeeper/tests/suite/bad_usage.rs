//! Wrong usage: exit code 2, nothing on stdout, exactly one line on stderr with place, cause and remedy.

use std::fs::File;

use super::process::{Folder, Run, fed, innkeeper, run};

/// Each row: command line, standard input, what the line must contain.
type Row<'a> = (&'a str, &'a [u8], &'a [&'a str]);

#[track_caller]
fn assert_refused(what: &str, run: &Run, fragments: &[&str]) {
    assert_eq!(run.code, Some(2), "{what}: {}", run.stderr);
    assert_eq!(run.stdout, "", "{what}");
    assert_one_line(what, run, fragments);
}

#[track_caller]
fn assert_one_line(what: &str, run: &Run, fragments: &[&str]) {
    assert_eq!(run.stderr.lines().count(), 1, "{what}: {:?}", run.stderr);
    assert!(run.stderr.ends_with('\n'), "{what}: {:?}", run.stderr);
    assert!(
        run.stderr.starts_with("innkeeper: "),
        "{what}: {}",
        run.stderr
    );
    for fragment in fragments {
        assert!(
            run.stderr.contains(fragment),
            "{what}: no {fragment:?} in {}",
            run.stderr
        );
    }
}

#[test]
fn command_lines_that_cannot_be_understood() {
    let rows: &[Row] = &[
        (
            "",
            b"",
            &[
                "no command",
                "innkeeper parse FILE",
                "--help",
                "[cli.usage]",
            ],
        ),
        ("--json", b"", &["no command"]),
        (
            "prase",
            b"",
            &["unknown command 'prase'", "did you mean parse?"],
        ),
        ("dance", b"", &["unknown command 'dance'", "--help"]),
        (
            "parse --protcol tam",
            b"",
            &["unknown option '--protcol'", "did you mean --protocol?"],
        ),
        ("parse -x", b"", &["unknown option '-x'"]),
        (
            "parse --protocol xml",
            b"",
            &["'xml'", "--protocol", "auto, tam, action, tool-call"],
        ),
        (
            "parse --protocol toolcall",
            b"",
            &["'toolcall'", "did you mean tool-call?"],
        ),
        (
            "parse --protocol",
            b"",
            &["--protocol", "needs a value", "auto, tam"],
        ),
        ("parse --protocol=", b"", &["--protocol", "auto, tam"]),
        ("parse --lang de", b"", &["'de'", "--lang", "en, zh"]),
        ("--home", b"", &["--home", "needs a value"]),
        ("parse a.txt b.txt", b"", &["'b.txt'", "too many"]),
        ("parse --json=yes", b"", &["--json"]),
    ];
    for (line, input, fragments) in rows {
        assert_refused(line, &run(line, input), fragments);
    }
    let nameless = fed(innkeeper(&["parse", ""]), b"");
    assert_refused("empty name", &nameless, &["[FILE] needs a value"]);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new("unreadable");
    let inside_file = format!("{}/x.txt", folder.file("file.txt", b"text"));
    let folder_name = folder.path("").into_os_string().into_string().unwrap();
    let missing = folder
        .path("missing.txt")
        .into_os_string()
        .into_string()
        .unwrap();
    let binary = folder.file("picture.png", b"\x89PNG\r\n\x1a\n\0\0");
    let late = folder.file("late.txt", b"fine so far \xff");
    let latin = folder.file("latin1.txt", b"caf\xe9");
    let cut = folder.file("cut.txt", "字".as_bytes().get(..2).unwrap());
    let rows: &[(&str, &[&str])] = &[
        (
            &missing,
            &["no such file", "check the path", "[input.not_found]"],
        ),
        (&folder_name, &["is a folder", "[input.is_directory]"]),
        (&inside_file, &["cannot be read", "[input.unreadable]"]),
        (
            &binary,
            &["not text", "byte 0 ", "UTF-8", "[input.not_text]"],
        ),
        (&late, &["byte 12 "]),
        (&latin, &["byte 3 "]),
        (&cut, &["byte 0 "]),
    ];
    for (file, fragments) in rows {
        for words in [
            vec!["parse", file],
            vec!["parse", "--protocol", "tam", file],
        ] {
            let run = fed(innkeeper(&words), b"");
            assert_refused(file, &run, fragments);
            assert!(run.stderr.contains(file), "{}", run.stderr);
        }
    }
}

#[test]
fn a_file_over_the_limit_is_refused_unread() {
    let folder = Folder::new("huge");
    let name = folder.file("huge.txt", b"");
    // Sparse: it takes no room on the disk.
    let file = File::options().write(true).open(&name).unwrap();
    file.set_len(256 * 1024 * 1024 + 1).unwrap();
    let run = fed(innkeeper(&["parse", &name]), b"");
    assert_refused(
        "huge",
        &run,
        &["huge.txt", "256 MiB", "--jsonl", "[input.too_large]"],
    );
}

#[test]
fn standard_input_that_is_no_text() {
    for line in ["parse", "parse -"] {
        let run = run(line, b"ab\xc3\x28");
        assert_refused(line, &run, &["standard input", "byte 2 ", "UTF-8"]);
    }
}

#[test]
fn a_file_name_cannot_break_the_line_or_the_terminal() {
    for name in ["no\nsuch\nfile", "no\u{1b}[2Jfile", "no\u{2028}file"] {
        let run = fed(innkeeper(&["parse", name]), b"");
        assert_refused(name, &run, &["no such file"]);
        assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    }
    let run = fed(innkeeper(&["parse", "--new\nline"]), b"");
    assert_refused("option", &run, &["unknown option"]);
}

#[test]
fn a_bad_line_stops_the_batch_after_the_results_before_it() {
    let good = "\"Good evening.\"\n";
    for (bad, fragments) in [
        ("", &["is blank", "one JSON string on every line"][..]),
        ("  \t", &["is blank"][..]),
        ("{\"text\":1}", &["expected a JSON string", "an object"][..]),
        ("[1]", &["an array"][..]),
        ("-12", &["a number"][..]),
        ("null", &["true, false or null"][..]),
        ("hello", &["text without quotes"][..]),
        ("\"open", &["not a JSON string", "column 5"][..]),
        ("\"a\" \"b\"", &["not a JSON string", "column 5"][..]),
        ("\"\\ud800\"", &["not a JSON string"][..]),
        ("\"tab\tinside\"", &["not a JSON string"][..]),
    ] {
        let input = format!("{good}{good}{bad}\n{good}");
        let run = run("parse --jsonl", input.as_bytes());
        assert_eq!(run.code, Some(2), "{bad:?}");
        assert_eq!(run.stdout.lines().count(), 2, "{bad:?}: {}", run.stdout);
        assert_one_line(bad, &run, fragments);
        assert_one_line(bad, &run, &["standard input: line 3: ", "[input.bad_line]"]);
    }
    let run = run("parse --jsonl", b"\"a\"\n\"b\xff\"\n");
    assert_eq!(run.code, Some(2));
    assert_one_line("bytes", &run, &["line 2: byte 2 "]);
}

#[test]
fn a_line_over_the_limit_names_itself() {
    let mut input = b"\"first\"\n\"".to_vec();
    input.resize(input.len() + 64 * 1024 * 1024, b'x');
    input.extend_from_slice(b"\"\n");
    let run = run("parse --jsonl", &input);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stdout.lines().count(), 1);
    assert_one_line("long", &run, &["line 2: is longer than 64 MiB"]);
}

#[test]
fn the_same_in_chinese() {
    let rows: &[Row] = &[
        ("--lang zh", b"", &["没有给出命令"]),
        (
            "--lang zh prase",
            b"",
            &["未知命令“prase”", "是否想用 parse？"],
        ),
        (
            "parse --lang=zh --protcol tam",
            b"",
            &["未知选项", "--protocol"],
        ),
        (
            "parse --lang zh --protocol xml",
            b"",
            &["不接受“xml”", "可选值：auto, tam"],
        ),
        (
            "parse --lang zh /no/such/file",
            b"",
            &["/no/such/file：文件不存在", "[input.not_found]"],
        ),
        (
            "parse --lang zh",
            b"\xff",
            &["标准输入：", "第 0 字节", "UTF-8"],
        ),
        (
            "parse --lang zh --jsonl",
            b"7\n",
            &["标准输入：第 1 行：", "数字"],
        ),
    ];
    for (line, input, fragments) in rows {
        assert_refused(line, &run(line, input), fragments);
    }
    let mut command = innkeeper(&["parse", "/no/such/file"]);
    command.env("LC_ALL", "zh_CN.UTF-8");
    assert_refused("by locale", &fed(command, b""), &["文件不存在"]);
}
