use serde_json::json;

use super::*;
use crate::plugin::testing::Sample;
use crate::plugin::{Implementation, PluginProblem};

fn sample(command: &serde_json::Value) -> Sample {
    let tool = json!({"id": "t", "description": "d", "implementation": {"type": "script", "command": command}});
    Sample::tool(&tool.to_string())
}

fn good(command: serde_json::Value) -> ScriptCommand {
    let package = sample(&command).package();
    match package.tools.into_iter().next().unwrap().implementation {
        Implementation::Script(command) => command,
        other => panic!("{other:?}"),
    }
}

fn bad(command: serde_json::Value) -> PluginProblem {
    let problem = sample(&command).problem();
    assert_eq!(
        problem.field.as_deref(),
        Some("implementation.command"),
        "{command}"
    );
    problem
}

#[test]
fn commands_are_split_into_words() {
    for (command, program, arguments) in [
        (json!("python s.py"), "python", vec!["s.py"]),
        (
            json!("python -u ./s.py --x='a b' \"c d\""),
            "python",
            vec!["-u", "./s.py", "--x=a b", "c d"],
        ),
        (json!("uv run s.py"), "uv", vec!["run", "s.py"]),
        (json!("python -m package"), "python", vec!["-m", "package"]),
        (
            json!(["python", "s.py", "a && b", "$HOME"]),
            "python",
            vec!["s.py", "a && b", "$HOME"],
        ),
        (
            json!("python3.12 -W ignore s.py"),
            "python3.12",
            vec!["-W", "ignore", "s.py"],
        ),
        (
            json!("python3.12 -W ignore s.py"),
            "python3.12",
            vec!["-W", "ignore", "s.py"],
        ),
        (json!("jq .x"), "jq", vec![".x"]),
        (
            json!("python s.py https://example.com/a/../../b"),
            "python",
            vec!["s.py", "https://example.com/a/../../b"],
        ),
        (
            json!("python s.py cost:5$"),
            "python",
            vec!["s.py", "cost:5$"],
        ),
    ] {
        let found = good(command);
        assert_eq!(found.program, program);
        assert_eq!(found.arguments, arguments);
    }
}

#[test]
fn what_needs_a_shell_is_refused() {
    for command in [
        json!("python s.py | sort"),
        json!("python s.py > out"),
        json!("python s.py 2>&1"),
        json!("python s.py && rm x"),
        json!("python s.py ; rm x"),
        json!("python s.py; rm x"),
        json!("python s.py &"),
        json!("python s.py $(id)"),
        json!("python s.py --x=$(id)"),
        json!("python s.py `id`"),
        json!("python s.py $HOME"),
        json!("python s.py ${HOME}"),
        json!("A=1 python s.py"),
        json!("sh -c 'python s.py'"),
        json!(["bash", "-c", "python s.py"]),
    ] {
        let problem = bad(command.clone());
        assert_eq!(problem.code, "plugin.shell_command", "{command}: {problem}");
        assert!(problem.message.contains("shell"), "{command}: {problem}");
    }
}

#[test]
fn commands_stay_in_the_folder() {
    for (command, code, says) in [
        (json!("python ../s.py"), "plugin.path_outside", "leads out"),
        (
            json!("python /etc/passwd"),
            "plugin.path_outside",
            "is absolute",
        ),
        (json!("python ~/s.py"), "plugin.path_outside", "is absolute"),
        (
            json!("python s.py --data=../../x"),
            "plugin.path_outside",
            "leads out",
        ),
        (
            json!("python -I../x s.py"),
            "plugin.path_outside",
            "leads out",
        ),
        (
            json!("python s.py a/../../x"),
            "plugin.path_outside",
            "leads out",
        ),
        (
            json!(["python", "s.py", "..\\x"]),
            "plugin.path_outside",
            "leads out",
        ),
        (json!("python s.py .."), "plugin.path_outside", "leads out"),
        (
            json!("/usr/bin/python s.py"),
            "plugin.path_outside",
            "is absolute",
        ),
        (json!("../bin/x"), "plugin.path_outside", "leads out"),
        (
            json!("python missing.py"),
            "plugin.path_missing",
            "no file 'missing.py'",
        ),
        (
            json!("python3.12 -u missing.py"),
            "plugin.path_missing",
            "no file 'missing.py'",
        ),
        (
            json!("python missing.py s.py"),
            "plugin.path_missing",
            "no file 'missing.py'",
        ),
        (
            json!("./bin/missing"),
            "plugin.path_missing",
            "no file './bin/missing'",
        ),
        (json!("python"), "plugin.bad_command", "name the script"),
        (json!("python -u"), "plugin.bad_command", "name the script"),
        (json!(""), "plugin.bad_command", "is empty"),
        (json!([]), "plugin.bad_command", "is empty"),
        (json!("python 's.py"), "plugin.bad_command", "not closed"),
        (
            json!("-x s.py"),
            "plugin.bad_command",
            "the program comes first",
        ),
        (
            json!(["python", "s.py", "a\nb"]),
            "plugin.bad_command",
            "control character",
        ),
        (
            json!("x ".repeat(3_000)),
            "plugin.bad_command",
            "longer than 4096",
        ),
        (
            json!("x ".repeat(200)),
            "plugin.bad_command",
            "more than 100 words",
        ),
        (json!(5), "plugin.wrong_type", "expected a text"),
    ] {
        let problem = bad(command.clone());
        assert_eq!(problem.code, code, "{command}: {problem}");
        assert!(problem.message.contains(says), "{command}: {problem}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_of_the_plugin_must_be_executable() {
    use std::os::unix::fs::PermissionsExt;

    let sample = sample(&json!("bin/run --fast")).file("bin/run", "#!/bin/sh\n");
    let path = sample.folder().join("bin/run");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(sample.problem().message.contains("chmod +x"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let package = sample.package();
    assert!(package.permissions.has("run:./bin/run"));
    let Implementation::Script(command) = &package.tools[0].implementation else {
        panic!("no script");
    };
    assert_eq!(command.program, "./bin/run");
}
