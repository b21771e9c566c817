//! Help and version: on stdout, exit code 0, complete.

use super::process::run;

#[test]
fn help_names_everything_and_shows_examples() {
    for (line, fragments) in [
        (
            "--help",
            &[
                "parse",
                "--home <DIR>",
                "--json",
                "--quiet",
                "--lang",
                "Examples:",
                "6 another process",
                "130",
            ][..],
        ),
        ("-h", &["parse", "Examples:"][..]),
        (
            "parse --help",
            &[
                "[FILE]",
                "--protocol",
                "auto",
                "tam",
                "action",
                "tool-call",
                "--jsonl",
                "--lang",
                "Examples:",
                "Exit codes:",
            ][..],
        ),
        (
            "--lang zh --help",
            &["命令:", "parse", "--lang <LANG>", "用法：", "示例："][..],
        ),
        (
            "parse --lang zh --help",
            &[
                "参数:",
                "[FILE]",
                "--protocol",
                "--json",
                "示例：",
                "退出码：",
            ][..],
        ),
        (
            "call --help",
            &[
                "[FILE]",
                "--yes",
                "--allow <PATTERN>",
                "--deny",
                "--project",
                "Exit codes:",
                "130",
            ][..],
        ),
        (
            "tools --help",
            &["list", "show", "call", "manifest", "audit", "grants"][..],
        ),
        (
            "models --help",
            &[
                "list",
                "add",
                "remove",
                "test",
                "discover",
                "score",
                "Exit codes:",
            ][..],
        ),
        (
            "models add --help",
            &[
                "--key-env <VAR>",
                "--key-stdin",
                "--base-url",
                "never an argument",
            ][..],
        ),
        (
            "--lang zh models score --help",
            &["--dialect", "--grammar", "示例：", "退出码："][..],
        ),
        (
            "plugin --help",
            &[
                "list",
                "show",
                "check",
                "new",
                "enable",
                "disable",
                "permissions",
                "config",
            ][..],
        ),
        (
            "workflow --help",
            &["run", "check", "list", "graph", "nodes", "Exit codes:"][..],
        ),
        (
            "workflow run --help",
            &[
                "--input <NAME=VALUE>",
                "--inputs",
                "--watch",
                "--events",
                "--fresh",
                "--timeout",
                "130",
            ][..],
        ),
        (
            "--lang zh workflow graph --help",
            &["--format", "--groups", "示例："][..],
        ),
        (
            "profiles --help",
            &["list", "show", "agent_profiles", "Exit codes:"][..],
        ),
        (
            "--lang zh profiles show --help",
            &["<ID>", "--project", "示例："][..],
        ),
        ("runs export --help", &["created", "files (of"][..]),
        ("doctor --help", &["sandbox", "warn", "Exit codes:"][..]),
        ("--lang zh doctor --help", &["沙箱", "退出码："][..]),
        (
            "plugin config --help",
            &["show", "set", "unset", "<NAME>", "Secrets"][..],
        ),
        (
            "--lang zh tools audit --help",
            &["用法：", "--since <TIME>", "--verify", "示例：", "退出码："][..],
        ),
        (
            "--lang zh plugin config x set --help",
            &["<KEY>", "--instance", "示例："][..],
        ),
        ("--lang zh --version", &["innkeeper "][..]),
        ("--version", &["innkeeper ", env!("CARGO_PKG_VERSION")][..]),
        ("-V", &["innkeeper "][..]),
    ] {
        let run = run(line, b"");
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
        assert_eq!(run.stderr, "", "{line}");
        for fragment in fragments {
            assert!(
                run.stdout.contains(fragment),
                "{line}: no {fragment:?} in {}",
                run.stdout
            );
        }
    }
}

/// In the order in which they are typed, in both languages.
#[test]
fn arguments_are_listed_as_they_are_typed() {
    for line in ["runs diff --help", "--lang zh runs diff --help"] {
        let help = run(line, b"");
        let list = help
            .stdout
            .rsplit_once("[RUN]")
            .or(help.stdout.rsplit_once("<RUN>"));
        let (_, after) = list.unwrap();
        let places = ["[FROM]", "[TO]"].map(|name| after.find(name));
        assert!(
            places[0].is_some() && places[0] < places[1],
            "{line}: {}",
            help.stdout
        );
    }
}
