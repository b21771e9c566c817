use super::*;
use crate::plugin::ScriptCommand;
use crate::plugin::testing::{MINIMAL, Sample, row};

const FIRST_FORM: &str = r#"{
  "id": "BilibiliFetch:getSubtitle",
  "displayName": "获取 Bilibili 视频字幕",
  "description": "输入 Bilibili 视频 URL 或 BV 号，获取字幕内容",
  "implementation": { "type": "script", "command": "python s.py --flag 'a b'", "protocol": "stdio", "timeout": 5000 },
  "parameters": {
    "type": "object",
    "properties": { "url": { "type": "string", "description": "…" } },
    "required": ["url"]
  },
  "output": { "type": "string" },
  "configSchema": [ { "key": "cookie", "type": "secret", "label": "Cookie" } ],
  "execution": { "mode": "async", "idempotent": true, "parallel": true },
  "aliases": ["Bilibili.Subtitle"],
  "tags": ["video"],
  "examples": [ { "situation": "s", "arguments": { "url": "BV1" } } ],
  "permissions": ["net:api.bilibili.com", "file:write:user://subtitles/"],
  "author": { "name": "x" }
}"#;

const FORM_B: &str = r#"{
  "toolId": "image.resize",
  "displayName": "Resize",
  "description": "Resizes an image",
  "version": "2.0",
  "handler": { "type": "external-script", "scriptPath": "./s.py", "language": "python" },
  "parameters": { "type": "object", "properties": { "width": { "type": "integer" } } },
  "output": { "type": "object" },
  "securityContext": {
    "fileAccess": { "allowRead": ["fam://user/images"], "allowWrite": ["user://out"] },
    "networkAccess": { "allowHosts": ["Example.com"] },
    "requiredCapabilities": ["images"]
  },
  "examples": [ { "description": "small", "input": { "width": 5 }, "expectedOutput": {} } ],
  "tags": ["image"]
}"#;

fn script(tool: &PluginTool) -> &ScriptCommand {
    match &tool.implementation {
        Implementation::Script(command) => command,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_form_is_read() {
    let sample = Sample::tool(FIRST_FORM);
    let reading = sample.read();
    assert_eq!(reading.warnings, []);
    let package = reading.outcome.unwrap();
    let tool = &package.tools[0];
    let definition = &tool.definition;
    assert_eq!(definition.id.as_str(), "BilibiliFetch:getSubtitle");
    assert_eq!(definition.aliases, [ToolId::from("Bilibili.Subtitle")]);
    assert_eq!(definition.display_name, "获取 Bilibili 视频字幕");
    assert_eq!(definition.source, "plugin:p");
    assert_eq!(definition.kind, ToolKind::Tool);
    assert!(definition.is_required("url"));
    assert_eq!(definition.output, Some(json!({"type": "string"})));
    assert_eq!(definition.execution.mode, ExecutionMode::Async);
    assert_eq!(definition.execution.timeout_ms, Some(5000));
    assert!(definition.execution.idempotent && definition.execution.parallel);
    assert_eq!(definition.tags, ["video"]);
    assert_eq!(definition.examples[0].situation, "s");
    assert_eq!(
        definition.extra,
        *json!({"author": {"name": "x"}}).as_object().unwrap()
    );
    assert_eq!(tool.config[0].variable, "COOKIE");
    assert_eq!(tool.file, Path::new("tools/t.tool.json"));
    let command = script(tool);
    assert_eq!(command.program, "python");
    assert_eq!(command.arguments, ["s.py", "--flag", "a b"]);
    assert_eq!(command.timeout, Some(Duration::from_secs(5)));
    assert_eq!(command.hosts, ["api.bilibili.com"]);
    let asked: Vec<_> = package.permissions.iter().map(|p| p.as_str()).collect();
    let expected = [
        "file:write:user://subtitles/",
        "net:api.bilibili.com",
        "run:python",
    ];
    assert_eq!(asked, expected);
    assert_eq!(definition.permissions, expected);
}

#[test]
fn the_second_form_is_read() {
    let reading = Sample::tool(FORM_B).read();
    assert_eq!(reading.warnings, []);
    let package = reading.outcome.unwrap();
    let tool = &package.tools[0];
    assert_eq!(tool.definition.id.as_str(), "image.resize");
    assert_eq!(tool.definition.extra["version"], "2.0");
    assert_eq!(tool.definition.examples[0].situation, "small");
    assert_eq!(tool.definition.examples[0].arguments["width"], 5);
    let command = script(tool);
    assert_eq!(
        (command.program.as_str(), &command.arguments[..]),
        ("python", &["s.py".to_owned()][..])
    );
    assert_eq!(command.read, ["user://images"]);
    assert_eq!(command.write, ["user://out"]);
    assert_eq!(command.hosts, ["example.com"]);
    let asked: Vec<_> = package.permissions.iter().map(|p| p.as_str()).collect();
    assert_eq!(
        asked,
        [
            "capability:images",
            "file:read:user://images",
            "file:write:user://out",
            "net:example.com",
            "run:python"
        ]
    );
}

#[test]
fn every_implementation_is_read() {
    for (text, expected) in [
        (
            r#"{"id": "t", "description": "d", "implementation": {"type": "workflow", "workflowId": "workflow:w"}}"#,
            Implementation::Workflow { id: "w".into() },
        ),
        (
            r#"{"id": "t", "description": "d", "implementation": {"type": "node", "nodeType": "core:Merge"}}"#,
            Implementation::Node {
                full_type: "core:Merge".into(),
            },
        ),
        (
            r#"{"id": "t", "description": "d", "implementation": {"type": "service", "service": "Http.Request"}}"#,
            Implementation::Service {
                name: "Http.Request".into(),
            },
        ),
        (
            r#"{"toolId": "t", "description": "d",
                "handler": {"type": "service-method", "serviceName": "Http", "methodName": "Request"}}"#,
            Implementation::Service {
                name: "Http.Request".into(),
            },
        ),
    ] {
        let reading = Sample::tool(text).read();
        assert_eq!(reading.warnings, [], "{text}");
        let package = reading.outcome.unwrap();
        let tool = &package.tools[0];
        assert_eq!(tool.implementation, expected, "{text}");
        let inferred = matches!(
            expected,
            Implementation::Node { .. } | Implementation::Workflow { .. }
        );
        assert_eq!(
            tool.definition.parameters.get("properties").is_none(),
            inferred,
            "{text}"
        );
    }
}

#[test]
fn a_script_may_be_named_from_the_tool_file_or_from_the_plugin() {
    for (path, expected) in [
        ("../s.py", "s.py"),
        ("s.py", "s.py"),
        ("./beside.py", "tools/beside.py"),
        ("tools/beside.py", "tools/beside.py"),
    ] {
        let text = FORM_B.replace("./s.py", path);
        let sample = Sample::tool(&text).file("tools/beside.py", "");
        let package = sample.package();
        assert_eq!(script(&package.tools[0]).arguments, [expected], "{path}");
    }
    for (path, code) in [
        ("../../s.py", "plugin.path_outside"),
        ("/etc/passwd", "plugin.path_outside"),
        ("other.py", "plugin.path_missing"),
    ] {
        let sample = Sample::tool(&FORM_B.replace("./s.py", path)).file("../s.py", "");
        let problem = sample.problem();
        assert_eq!(problem.code, code, "{path}");
        assert_eq!(problem.field.as_deref(), Some("handler.scriptPath"));
    }
}

#[test]
fn the_language_follows_from_the_file() {
    for (file, program) in [("x.py", "python"), ("x.mjs", "node"), ("x.ts", "bun")] {
        let text = FORM_B
            .replace("./s.py", file)
            .replace(", \"language\": \"python\"", "");
        let package = Sample::tool(&text).file(file, "").package();
        assert_eq!(script(&package.tools[0]).program, program);
    }
}

#[test]
fn every_mistake_is_named_with_its_place() {
    const SCRIPT: &str = r#""implementation": {"type": "script", "command": "python s.py"}"#;
    for (row, uses_script) in [
        (
            row(
                r#""x": 1"#,
                "1:1",
                "plugin.no_tool_id",
                "the tool has no id",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "toolId": "b""#,
                "1:23 toolId",
                "plugin.two_tool_ids",
                "either id or toolId",
            ),
            false,
        ),
        (
            row(
                r#""id": "a b""#,
                "1:8 id",
                "plugin.bad_tool_id",
                "'a b' is no id",
            ),
            true,
        ),
        (
            row(r#""id": """#, "1:8 id", "plugin.bad_tool_id", "is no id"),
            true,
        ),
        (
            row(
                r#""id": 5"#,
                "1:8 id",
                "plugin.wrong_type",
                "expected a text",
            ),
            true,
        ),
        (
            row(
                r#""id": "workflow:x""#,
                "1:1",
                "plugin.bad_tool_id",
                "only workflows",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "aliases": ["b c"]"#,
                "1:25 aliases[0]",
                "plugin.bad_tool_id",
                "is no id",
            ),
            true,
        ),
        (
            row(
                r#""id": "a""#,
                "1:1 implementation",
                "plugin.missing_field",
                "is missing",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {}"#,
                "1:31 implementation.type",
                "plugin.missing_field",
                "is missing",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "scrip"}"#,
                "1:40 implementation.type",
                "plugin.bad_value",
                "did you mean 'script'?",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "script"}"#,
                "1:31 implementation.command",
                "plugin.missing_field",
                "is missing",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "script", "command": "python s.py", "protocol": "http"}"#,
                "1:88 implementation.protocol",
                "plugin.bad_value",
                "'http' is none of stdio, jsonrpc",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "script", "command": "python s.py", "timeout": 0}"#,
                "1:87 implementation.timeout",
                "plugin.bad_value",
                "from 1 to 3600000",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "node"}"#,
                "1:31 implementation.nodeType",
                "plugin.missing_field",
                "is missing",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "implementation": {"type": "service", "service": "a b"}"#,
                "1:62 implementation.service",
                "plugin.bad_value",
                "no name of a service",
            ),
            false,
        ),
        (
            row(
                r#""toolId": "a""#,
                "1:1 handler",
                "plugin.missing_field",
                "is missing",
            ),
            false,
        ),
        (
            row(
                r#""toolId": "a", "handler": {"type": "external-script", "scriptPath": "s.py", "language": "cobol"}"#,
                "1:90 handler.language",
                "plugin.bad_value",
                "none of python, nodejs, bun",
            ),
            false,
        ),
        (
            row(
                r#""id": "a", "parameters": []"#,
                "1:27 parameters",
                "plugin.bad_schema",
                "expected a JSON Schema",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "strin"}"#,
                "1:36 parameters.type",
                "plugin.bad_schema",
                "no JSON Schema",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "object", "properties": {"x": {"type": 5}}}"#,
                "1:75 parameters.properties.x.type",
                "plugin.bad_schema",
                "no JSON Schema",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "object", "properties": {"x": {"pattern": "("}}}"#,
                "1:78 parameters.properties.x.pattern",
                "plugin.bad_schema",
                "",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1/s"}}}"#,
                "1:75 parameters.properties.x.$ref",
                "plugin.remote_reference",
                "nothing is fetched",
            ),
            true,
        ),
        (
            row(
                r##""id": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}}"##,
                "1:75 parameters.properties.x.$ref",
                "plugin.remote_reference",
                "copy it into $defs",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "string"}"#,
                "1:27 parameters",
                "tool.not_an_object_schema",
                "of an object",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"type": "object", "properties": {"playerId": {}, "player_id": {}}}"#,
                "1:27 parameters",
                "tool.name_collision",
                "'playerId' and 'player_id'",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"$schema": "http://127.0.0.1/s"}"#,
                "1:27 parameters",
                "plugin.bad_schema",
                "",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "parameters": {"$schema": 5}"#,
                "1:39 parameters.$schema",
                "plugin.bad_schema",
                "",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "output": 5"#,
                "1:23 output",
                "plugin.bad_schema",
                "expected a JSON Schema",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "execution": {"mode": "fast"}"#,
                "1:35 execution.mode",
                "plugin.bad_value",
                "sync, async",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "permissions": ["all"]"#,
                "1:29 permissions[0]",
                "plugin.bad_permission",
                "write net:",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "securityContext": {"fileAccess": {"allowRead": ["/etc/passwd"]}}"#,
                "1:62 securityContext.fileAccess.allowRead[0]",
                "plugin.bad_permission",
                "write user://",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "examples": [{}]"#,
                "1:26 examples[0].arguments",
                "plugin.missing_field",
                "how the tool is called",
            ),
            true,
        ),
        (
            row(
                r#""id": "a", "examples": [{"input": 5}]"#,
                "1:36 examples[0].input",
                "plugin.wrong_type",
                "expected a map",
            ),
            true,
        ),
    ] {
        let tail = if uses_script {
            format!(", {SCRIPT}")
        } else {
            String::new()
        };
        let text = format!("{{{}{tail}}}", row.text);
        row.check("tools/t.tool.json", &Sample::tool(&text).problem());
    }
}

#[test]
fn fields_that_are_slips_or_without_effect_are_warnings() {
    const REST: &str = r#""id": "a", "description": "d", "implementation": {"type": "script", "command": "python s.py""#;
    for (text, at, code, says) in [
        (
            format!(r#"{{{REST}}}, "tag": []}}"#),
            "1:97 tag",
            "plugin.unknown_key",
            "did you mean 'tags'?",
        ),
        (
            format!(r#"{{{REST}}}, "source": "builtin"}}"#),
            "1:107 source",
            "plugin.no_effect",
            "ignored",
        ),
        (
            format!(r#"{{{REST}, "timeout": 30}}}}"#),
            "1:107 implementation.timeout",
            "plugin.unlikely_value",
            "milliseconds",
        ),
        (
            r#"{"id": "a", "implementation": {"type": "service", "service": "A.b"}}"#.to_owned(),
            "1:1",
            "plugin.unlikely_value",
            "no description",
        ),
        (
            FORM_B.replace("\"language\"", "\"entryPoint\": \"main\", \"language\""),
            "6:81 handler.entryPoint",
            "plugin.no_effect",
            "run as a whole",
        ),
    ] {
        let reading = Sample::tool(&text).read();
        let package = reading.outcome.unwrap();
        assert_ne!(package.tools[0].definition.source, "builtin");
        assert_eq!(reading.warnings.len(), 1, "{text}: {:?}", reading.warnings);
        let text: &'static str = Box::leak(text.into_boxed_str());
        row(text, at, code, says).check("tools/t.tool.json", &reading.warnings[0]);
    }
}

#[test]
fn schemas_may_nest_and_refer_to_themselves() {
    for (open, close) in [("{\"not\": ", "}"), ("{\"properties\": {\"a\": ", "}}")] {
        let depth = 110 / open.matches('{').count();
        let deep = format!("{}{{}}{}", open.repeat(depth), close.repeat(depth));
        let text = format!(
            r#"{{"id": "t", "description": "d", "implementation": {{"type": "service", "service": "A.b"}},
                "parameters": {{"type": "object", "properties": {{"x": {deep}}}}}}}"#
        );
        assert_eq!(Sample::tool(&text).package().tools.len(), 1);
    }
    for schema in [
        r##"{"type": "object", "properties": {"x": {"$ref": "#"}}}"##,
        r##"{"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}}"##,
    ] {
        let text = format!(
            r#"{{"id": "t", "description": "d", "implementation": {{"type": "service", "service": "A.b"}},
                "parameters": {schema}}}"#
        );
        assert_eq!(Sample::tool(&text).package().tools.len(), 1, "{schema}");
    }
}

#[test]
fn what_the_plugin_asks_for_holds_for_its_tools() {
    let manifest =
        format!("{MINIMAL}tools: {{entry: tools}}\npermissions: {{network: [a.example]}}\n");
    let package = Sample::tool(FIRST_FORM)
        .file("plugin.yaml", manifest)
        .package();
    assert_eq!(
        script(&package.tools[0]).hosts,
        ["a.example", "api.bilibili.com"]
    );
}
