//! How a command says that it is a worker, wherever it may say so; and when a plugin counts as changed.

use std::time::Duration;

use super::testing::{MINIMAL, Sample};
use super::{Implementation, ScriptCommand, ScriptProtocol};

/// The three places, with the same fields in each.
fn places(fields: &str) -> [Sample; 3] {
    [
        Sample::tool(&format!(
            r#"{{"id": "a", "description": "d", "implementation": {{"type": "script", "command": "python s.py", {fields}}}}}"#
        )),
        Sample::tool(&format!(
            r#"{{"toolId": "a", "description": "d", "handler": {{"type": "external-script", "scriptPath": "s.py", {fields}}}}}"#
        )),
        Sample::new(&format!(
            "{MINIMAL}services: [{{name: A.b, run: python s.py, {fields}}}]\n"
        )),
    ]
}

fn command(sample: &Sample) -> ScriptCommand {
    let package = sample.package();
    match (package.services.first(), package.tools.first()) {
        (Some(service), _) => service.command.clone(),
        (None, Some(tool)) => match &tool.implementation {
            Implementation::Script(command) => command.clone(),
            other => panic!("{other:?}"),
        },
        (None, None) => panic!("nothing was read"),
    }
}

#[test]
fn a_worker_is_declared() {
    let all = r#""protocol": "jsonrpc", "idleTimeout": 5000, "concurrency": 8"#;
    for (fields, protocol, idle, concurrency) in [
        (r#""protocol": "stdio""#, ScriptProtocol::Stdio, None, None),
        (
            r#""protocol": "jsonrpc""#,
            ScriptProtocol::JsonRpc,
            None,
            None,
        ),
        (all, ScriptProtocol::JsonRpc, Some(5), Some(8)),
    ] {
        for sample in places(fields) {
            assert_eq!(sample.read().warnings, []);
            let command = command(&sample);
            assert_eq!(command.program, "python");
            assert_eq!(command.protocol, protocol);
            assert_eq!(command.idle_timeout, idle.map(Duration::from_secs));
            assert_eq!(command.concurrency, concurrency);
        }
    }
}

#[test]
fn what_cannot_be_is_a_problem() {
    for (fields, field, says) in [
        (
            r#""protocol": "jsonrcp""#,
            "protocol",
            "'jsonrcp' is none of stdio, jsonrpc, did you mean 'jsonrpc'?",
        ),
        (
            r#""protocol": "jsonrpc", "idleTimeout": 999"#,
            "idleTimeout",
            "from 1000 to 3600000",
        ),
        (
            r#""protocol": "jsonrpc", "concurrency": 0"#,
            "concurrency",
            "from 1 to 64",
        ),
        (
            r#""protocol": "jsonrpc", "concurrency": "many""#,
            "concurrency",
            "expected a whole number",
        ),
    ] {
        for sample in places(fields) {
            let problem = sample.problem();
            let at = problem.field.unwrap_or_default();
            assert!(at.ends_with(field), "{fields}: {at}");
            assert!(
                problem.message.contains(says),
                "{fields}: {}",
                problem.message
            );
        }
    }
}

#[test]
fn what_only_workers_have_does_nothing_for_others() {
    for sample in places(r#""idleTimeout": 5000, "concurrency": 2"#) {
        let warnings = sample.read().warnings;
        let codes: Vec<_> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["plugin.no_effect"; 2]);
    }
}

#[test]
fn a_plugin_has_changed_when_one_of_its_files_has() {
    let sample = Sample::new(MINIMAL).file("lib/a.py", "1");
    let before = sample.package().stamp;
    assert_eq!(sample.package().stamp, before);
    let sample = sample.file("node_modules/x/y.js", "1");
    let with_folder = sample.package().stamp;
    let sample = sample.file("node_modules/x/y.js", "22");
    assert_eq!(sample.package().stamp, with_folder, "not looked into");
    let sample = sample.file("lib/a.py", "22");
    let changed = sample.package().stamp;
    assert_ne!(changed, with_folder);
    let moved = sample.folder().join("lib/b.py");
    std::fs::rename(sample.folder().join("lib/a.py"), moved).unwrap();
    assert_ne!(sample.package().stamp, changed);
}
