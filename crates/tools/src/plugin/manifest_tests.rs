use std::time::Duration;

use super::*;
use crate::Pattern;
use crate::hook::{HookFailure, HookPoint};
use crate::plugin::testing::{MINIMAL, Sample, row};
use crate::plugin::{ConfigScope, PluginPackage};

const FULL: &str = r#"
name: p
displayName: 我的插件
version: 1.0.0
description: Does things.
nodes: { entry: ./nodes }
tools: { entry: tools/ }
frontend:
  build:
    entry: dist/index.js
    styles: [dist/style.css]
permissions:
  hooks: ["hook:client:workflow:before-execute", "tool:before-call", "hook:server:db:before-save"]
  ui:
    wrap: ["ui:BaseNode"]
    inject: ["node:header:right"]
    override: ["ui:ContextMenu"]
  services:
    override: [Http.Request]
  files:
    read: ["fam://user/notes", "user://a/"]
    write: ["fam://lab/out.txt"]
  network: [API.Example.com, "*.example.org"]
hooks:
  - on: tool:before-call
    run: python s.py --hook
    order: -5
    timeoutMs: 500
    onFailure: continue
    tools: ["File.*"]
services:
  - name: Weather.Today
    run: [python, s.py, "|"]
    timeoutMs: 2000
configOptions:
  - { key: extensions.p.apiKey, type: secret, label: Key, scope: instance, required: true }
  - { key: depth, type: slider, label: Depth, min: 0, max: 10, step: 1, defaultValue: 3 }
  - { key: mode, type: select, label: Mode, options: [fast, { label: Slow one, value: slow }], defaultValue: slow }
"#;

fn full() -> PluginPackage {
    let sample = Sample::new(FULL)
        .file("nodes/x.ts", "")
        .file("tools/readme.txt", "")
        .file("dist/index.js", "")
        .file("dist/style.css", "");
    let reading = sample.read();
    let codes: Vec<_> = reading
        .warnings
        .iter()
        .map(|warning| warning.code)
        .collect();
    assert_eq!(
        codes,
        ["plugin.no_effect", "plugin.frontend_path"],
        "{:#?}",
        reading.warnings
    );
    assert!(reading.warnings[0].message.contains("no *.node.json"));
    reading.outcome.unwrap()
}

#[test]
fn every_field_is_read() {
    let package = full();
    assert_eq!(package.name, "p");
    assert_eq!(package.display_name, "我的插件");
    assert_eq!(package.version, "1.0.0");
    assert_eq!(package.description, "Does things.");
    assert_eq!(package.nodes, []);
    assert_eq!(
        package.frontend,
        Some(Frontend {
            entry: "dist/index.js".into(),
            styles: vec!["dist/style.css".into()],
            root: "dist".into()
        })
    );
    let asked: Vec<_> = package.permissions.iter().map(|p| p.as_str()).collect();
    assert_eq!(
        asked,
        [
            "file:read:user://a/",
            "file:read:user://notes",
            "file:write:user://projects/lab/out.txt",
            "hook:client:workflow:before-execute",
            "hook:server:db:before-save",
            "hook:server:tool:before-call",
            "net:*.example.org",
            "net:api.example.com",
            "run:python",
            "service:override:Http.Request",
            "ui:inject:ui:node:header:post",
            "ui:override:ui:ContextMenu",
            "ui:wrap:ui:BaseNode",
        ]
    );
}

#[test]
fn hooks_and_services_carry_what_the_plugin_asks_for() {
    let package = full();
    let hook = &package.hooks[0];
    assert_eq!(hook.point, HookPoint::ToolBeforeCall);
    assert_eq!(hook.command.program, "python");
    assert_eq!(hook.command.arguments, ["s.py", "--hook"]);
    assert_eq!(hook.command.read, ["user://notes", "user://a/"]);
    assert_eq!(hook.command.write, ["user://projects/lab/out.txt"]);
    assert_eq!(hook.command.hosts, ["api.example.com", "*.example.org"]);
    assert_eq!(hook.order, -5);
    assert_eq!(hook.timeout, Duration::from_millis(500));
    assert_eq!(hook.on_failure, HookFailure::Continue);
    assert_eq!(hook.tools, [Pattern::new("File.*")]);
    let service = &package.services[0];
    assert_eq!(service.name, "Weather.Today");
    assert_eq!(service.command.arguments, ["s.py", "|"]);
    assert_eq!(service.command.timeout, Some(Duration::from_secs(2)));
    assert_eq!(service.command.hosts, hook.command.hosts);
}

#[test]
fn options_of_both_key_styles_are_read() {
    let package = full();
    let keys: Vec<_> = package
        .config
        .iter()
        .map(|o| (o.key.as_str(), o.variable.as_str()))
        .collect();
    assert_eq!(
        keys,
        [("apiKey", "API_KEY"), ("depth", "DEPTH"), ("mode", "MODE")]
    );
    assert_eq!(package.config[0].scope, ConfigScope::Instance);
    assert!(package.config[0].required);
    assert_eq!(package.config[1].default, Some(3.into()));
    let labels: Vec<_> = package.config[2]
        .options
        .iter()
        .map(|c| c.label.as_str())
        .collect();
    assert_eq!(labels, ["fast", "Slow one"]);
}

#[test]
fn a_minimal_manifest_will_do() {
    let package = Sample::new(MINIMAL).package();
    assert_eq!(package.display_name, "p");
    assert!(package.permissions.is_empty());
    assert!(package.tools.is_empty());
}

#[test]
fn an_unquoted_version_keeps_its_digits() {
    let reading = Sample::new("name: p\nversion: 1.10 # the tenth\n").read();
    assert_eq!(reading.outcome.unwrap().version, "1.10");
    let warning = &reading.warnings[0];
    assert_eq!(warning.code, "plugin.unquoted_version");
    assert_eq!(
        warning.to_string(),
        "plugin.yaml:2: version: this is a number to YAML; write version: \"1.10\""
    );
}

#[test]
fn unknown_fields_are_warnings() {
    for (text, at, says) in [
        (
            "name: p\nversion: '1'\ntool: {entry: tools}\n",
            "3:1 tool",
            "did you mean 'tools'?",
        ),
        (
            "name: p\nversion: '1'\nzebra: 1\n",
            "3:1 zebra",
            "is ignored",
        ),
        (
            "name: p\nversion: '1'\npermissions:\n  ui:\n    wraps: []\n",
            "5:5 permissions.ui.wraps",
            "did you mean 'wrap'?",
        ),
        (
            "name: p\nversion: '1'\nconfigOptions:\n- {key: a, type: string, labl: A}\n",
            "4:26 configOptions[0].labl",
            "did you mean 'label'?",
        ),
    ] {
        let reading = Sample::new(text).read();
        assert!(reading.outcome.is_ok(), "{text}");
        assert_eq!(reading.warnings.len(), 1, "{:?}", reading.warnings);
        row(text, at, "plugin.unknown_key", says).check("plugin.yaml", &reading.warnings[0]);
    }
}

#[test]
fn every_mistake_is_named_with_its_place() {
    // Each follows two good lines, so the first line here is the third of the file.
    let rows = [
        row(
            "tools: {entry: nowhere}",
            "3:16 tools.entry",
            "plugin.path_missing",
            "there is no folder 'nowhere'",
        ),
        row(
            "tools: {entry: s.py}",
            "3:16 tools.entry",
            "plugin.path_missing",
            "there is no folder 's.py'",
        ),
        row(
            "tools: {entry: /etc}",
            "3:16 tools.entry",
            "plugin.path_outside",
            "'/etc' is absolute",
        ),
        row(
            "tools: {entry: ~/x}",
            "3:16 tools.entry",
            "plugin.path_outside",
            "is absolute",
        ),
        row(
            "tools: {entry: 'C:\\x'}",
            "3:16 tools.entry",
            "plugin.path_outside",
            "is absolute",
        ),
        row(
            "tools: {entry: ../q}",
            "3:16 tools.entry",
            "plugin.path_outside",
            "leads out",
        ),
        row(
            "tools: {entry: 'a\\..\\..\\q'}",
            "3:16 tools.entry",
            "plugin.path_outside",
            "leads out",
        ),
        row(
            "nodes: {entry: a/../../q}",
            "3:16 nodes.entry",
            "plugin.path_outside",
            "leads out",
        ),
        row(
            "nodes: {}",
            "3:8 nodes.entry",
            "plugin.missing_field",
            "the field is missing",
        ),
        row(
            "nodes: ./nodes",
            "3:8 nodes",
            "plugin.wrong_type",
            "expected a map of fields, found a text",
        ),
        row(
            "displayName: [a]",
            "3:14 displayName",
            "plugin.wrong_type",
            "expected a text, found a list",
        ),
        row(
            "displayName: 5",
            "3:14 displayName",
            "plugin.wrong_type",
            "put it in quotes",
        ),
        row(
            "displayName: \"a\\nb\"",
            "3:14 displayName",
            "plugin.bad_value",
            "one line",
        ),
        row(
            "permissions: {hooks: [tool:before-call, hook:server:tool:befor-call]}",
            "3:41 permissions.hooks[1]",
            "plugin.unknown_hook",
            "did you mean 'hook:server:tool:before-call'?",
        ),
        row(
            "permissions: {hooks: [hook:client:auth:logn]}",
            "3:23 permissions.hooks[0]",
            "plugin.unknown_hook",
            "did you mean 'hook:client:auth:login'?",
        ),
        row(
            "permissions: {hooks: all}",
            "3:22 permissions.hooks",
            "plugin.wrong_type",
            "expected a list",
        ),
        row(
            "permissions: {ui: {wrap: ['a b']}}",
            "3:27 permissions.ui.wrap[0]",
            "plugin.bad_permission",
            "no name of a part",
        ),
        row(
            "permissions: {services: {override: ['../x']}}",
            "3:37 permissions.services.override[0]",
            "plugin.bad_permission",
            "no name of a service",
        ),
        row(
            "permissions: {network: ['https://example.com']}",
            "3:25 permissions.network[0]",
            "plugin.bad_permission",
            "without scheme",
        ),
        row(
            "permissions: {network: ['example.com:80']}",
            "3:25 permissions.network[0]",
            "plugin.bad_permission",
            "without scheme, port",
        ),
        row(
            "permissions: {files: {read: ['/etc']}}",
            "3:30 permissions.files.read[0]",
            "plugin.bad_permission",
            "write user://",
        ),
        row(
            "permissions: {files: {read: ['user://a/../../b']}}",
            "3:30 permissions.files.read[0]",
            "plugin.bad_permission",
            "no clean path",
        ),
        row(
            "permissions: {files: {write: ['system://x']}}",
            "3:31 permissions.files.write[0]",
            "plugin.bad_permission",
            "no plugin reaches system://",
        ),
        row(
            "permissions: {files: {write: ['fam://system/x']}}",
            "3:31 permissions.files.write[0]",
            "plugin.bad_permission",
            "no plugin reaches system://",
        ),
        row(
            "hooks: [{on: tool:before-call, run: python s.py}]",
            "3:14 hooks[0].on",
            "plugin.hook_not_requested",
            "add it to permissions.hooks",
        ),
        row(
            "hooks: [{on: auth:login, run: python s.py}]",
            "3:14 hooks[0].on",
            "plugin.unknown_hook",
            "runs in the page",
        ),
        row(
            "hooks: [{on: tool:before-cal, run: python s.py}]",
            "3:14 hooks[0].on",
            "plugin.unknown_hook",
            "did you mean 'tool:before-call'?",
        ),
        row(
            "permissions: {hooks: [tool:after-call]}\nhooks: [{on: tool:after-call}]",
            "4:9 hooks[0].run",
            "plugin.missing_field",
            "is missing",
        ),
        row(
            "permissions: {hooks: [tool:after-call]}\nhooks: [{on: tool:after-call, run: python s.py, timeoutMs: 60000}]",
            "4:60 hooks[0].timeoutMs",
            "plugin.bad_value",
            "from 1 to 10000",
        ),
        row(
            "permissions: {hooks: [tool:after-call]}\nhooks: [{on: tool:after-call, run: python s.py, onFailure: ignore}]",
            "4:60 hooks[0].onFailure",
            "plugin.bad_value",
            "'ignore' is none of refuse, continue",
        ),
        row(
            "services: [{name: a b, run: python s.py}]",
            "3:19 services[0].name",
            "plugin.bad_value",
            "no name",
        ),
        row(
            "services:\n- {name: A.b, run: python s.py}\n- {name: A.b, run: python s.py}",
            "5:10 services[1].name",
            "plugin.duplicate_service",
            "there twice",
        ),
        row(
            "services: [5]",
            "3:12 services[0]",
            "plugin.wrong_type",
            "expected a map",
        ),
    ];
    for row in rows {
        let sample = Sample::new(&format!("{MINIMAL}{}\n", row.text));
        row.check("plugin.yaml", &sample.problem());
    }
}

#[test]
fn names_and_versions_are_checked() {
    for row in [
        row(
            "version: '1'",
            "1:1 name",
            "plugin.missing_field",
            "write 'name: p'",
        ),
        row("name: p", "1:1 version", "plugin.missing_field", "add it"),
        row(
            "name: q\nversion: '1'",
            "1:7 name",
            "plugin.name_mismatch",
            "the folder is 'p'",
        ),
        row(
            "name: a b\nversion: '1'",
            "1:7 name",
            "plugin.bad_name",
            "is no name",
        ),
        row(
            "name: 5\nversion: '1'",
            "1:7 name",
            "plugin.wrong_type",
            "put it in quotes",
        ),
        row(
            "name: p\nversion: ''",
            "2:10 version",
            "plugin.bad_value",
            "1 to 64",
        ),
        row(
            "name: p\nversion: [1]",
            "2:10 version",
            "plugin.wrong_type",
            "expected a text",
        ),
        row(
            "- name",
            "1:1",
            "plugin.wrong_type",
            "expected a map of fields, found a list",
        ),
    ] {
        let sample = Sample::new(row.text);
        row.check("plugin.yaml", &sample.problem());
    }
}

#[test]
fn all_problems_come_at_once() {
    let text = "name: p\nversion: '1'\ndisplayName: 1\ntools: {entry: tools}\nhooks: 3\n";
    let sample = Sample::new(text).file("tools/a.tool.json", "{}");
    let found: Vec<_> = sample.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "plugin.yaml:3: displayName: expected a text (put it in quotes), found a number",
            "plugin.yaml:5: hooks: expected a list, found a number",
            "tools/a.tool.json:1: the tool has no id; add \"id\" (with implementation) or \"toolId\" (with handler)",
        ]
    );
}

#[test]
fn a_list_without_end_is_refused() {
    let hooks = vec!["tool:before-call"; 201].join(", ");
    let text = format!("{MINIMAL}permissions: {{hooks: [{hooks}]}}\n");
    let problem = Sample::new(&text).problem();
    assert_eq!(problem.code, "plugin.too_many");
    assert_eq!(problem.field.as_deref(), Some("permissions.hooks"));
}

#[test]
fn unknown_parts_of_the_page_are_warnings() {
    let text = format!("{MINIMAL}permissions: {{ui: {{wrap: [ui:BaseNod]}}}}\n");
    let reading = Sample::new(&text).read();
    assert!(
        reading
            .outcome
            .unwrap()
            .permissions
            .has("ui:wrap:ui:BaseNod")
    );
    assert_eq!(reading.warnings[0].code, "plugin.unknown_target");
    assert!(
        reading.warnings[0]
            .message
            .ends_with("did you mean 'ui:BaseNode'?")
    );
}

#[test]
fn tools_that_the_manifest_forgot_are_a_warning() {
    let reading = Sample::new(MINIMAL).file("tools/t.tool.json", "{}").read();
    assert!(reading.outcome.unwrap().tools.is_empty());
    assert_eq!(reading.warnings.len(), 1);
    assert_eq!(reading.warnings[0].code, "plugin.no_effect");
    assert!(reading.warnings[0].message.contains("entry: ./tools"));
}
