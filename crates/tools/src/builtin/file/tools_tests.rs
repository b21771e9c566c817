use std::collections::HashSet;

use innkeeper_protocol::ToolDefinition;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::file::house_tests::House;
use crate::limits::{MAX_TOOL_READ_BYTES, MAX_TOOL_READ_LINES};
use crate::{CallContext, Progress};

fn invocation(house: &House, tool: ToolDefinition, arguments: Json) -> Invocation {
    Invocation {
        tool: Arc::new(tool),
        arguments: arguments.as_object().cloned().unwrap_or_else(Map::new),
        context: CallContext {
            caller: Arc::new(house.agent.clone()),
            call_id: "call_1".to_owned(),
            asked_as: None,
            attempt: 1,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            run: None,
        },
    }
}

async fn call(house: &House, id: &str, arguments: Json) -> Result<Json, ToolError> {
    let (tool, executor) = tools(&house.files)
        .into_iter()
        .find(|(tool, _)| tool.id.as_str() == id)
        .unwrap();
    let schema = jsonschema::validator_for(&tool.parameters).unwrap();
    assert!(schema.is_valid(&arguments), "{id} {arguments}");
    executor.execute(invocation(house, tool, arguments)).await
}

#[test]
fn definitions_are_complete() {
    let house = House::new();
    let mut names = HashSet::new();
    for (tool, _) in tools(&house.files) {
        let id = tool.id.as_str();
        assert!(names.insert(id.to_owned()), "{id}");
        for alias in &tool.aliases {
            assert!(
                names.insert(alias.as_str().to_owned()),
                "{id} {}",
                alias.as_str()
            );
        }
        assert_eq!(tool.source, "builtin");
        assert!(
            !tool.permissions.is_empty() && !tool.description.is_empty(),
            "{id}"
        );
        assert_eq!(tool.parameters["additionalProperties"], false, "{id}");
        let schema = jsonschema::validator_for(&tool.parameters).unwrap();
        assert!(!tool.examples.is_empty(), "{id}");
        for example in &tool.examples {
            assert!(schema.is_valid(&json!(example.arguments)), "{id}");
        }
        for (name, schema) in tool.properties() {
            assert!(schema["description"].is_string(), "{id}.{name}");
            let verbatim = ["content", "search_string", "replace_string"].contains(&name);
            assert_eq!(schema["x-verbatim"] == true, verbatim, "{id}.{name}");
            assert_eq!(
                schema["x-path"] == true,
                name.ends_with("_path"),
                "{id}.{name}"
            );
        }
        let reads = ["File.Read", "File.List", "File.Search", "File.Stat"].contains(&id);
        assert_eq!(tool.execution.parallel, reads, "{id}");
        assert_eq!(
            tool.execution.idempotent,
            reads || id == "File.Write",
            "{id}"
        );
    }
    assert!(names.contains("FileOperator.WriteFile") && names.contains("FileOperator.AppendFile"));
}

#[tokio::test]
async fn a_day_with_files() {
    let house = House::new();
    for (id, arguments, expected) in [
        (
            "File.Write",
            json!({"file_path": "/logs/today.log", "content": "start…\nanother line"}),
            json!({"path": "user://projects/default/logs/today.log", "bytes": 21, "created": true}),
        ),
        (
            "File.Append",
            json!({"file_path": "logs/today.log", "content": "\nthird"}),
            json!({"path": "user://projects/default/logs/today.log", "appended": 6, "bytes": 27}),
        ),
        (
            "File.Write",
            json!({"file_path": "/path/to/main.js", "content": "console.log(\"old\");\n"}),
            json!({"path": "user://projects/default/path/to/main.js", "bytes": 20, "created": true}),
        ),
        (
            "File.ApplyEdit",
            json!({
                "file_path": "/path/to/main.js",
                "search_string": "console.log(\"old\");",
                "replace_string": "console.log(\"new\");"
            }),
            json!({"path": "user://projects/default/path/to/main.js", "replacements": 1, "lines": [1], "bytes": 20}),
        ),
        (
            "File.List",
            json!({"depth": 3.0}),
            json!({"path": "user://projects/default", "truncated": false, "entries": [
                {"name": "logs", "kind": "directory"},
                {"name": "logs/today.log", "kind": "file", "size": 27},
                {"name": "path", "kind": "directory"},
                {"name": "path/to", "kind": "directory"},
                {"name": "path/to/main.js", "kind": "file", "size": 20},
            ]}),
        ),
        (
            "File.Search",
            json!({"query": "THIRD"}),
            json!({
                "path": "user://projects/default",
                "hits": [{"path": "user://projects/default/logs/today.log", "line": 3, "text": "third"}],
                "searchedFiles": 2,
                "truncated": false
            }),
        ),
        (
            "File.Search",
            json!({"query": "^th..d$", "regex": true, "context_lines": 1, "file_name": "*.log"}),
            json!({
                "path": "user://projects/default",
                "hits": [{
                    "path": "user://projects/default/logs/today.log",
                    "line": 3, "textLine": 2, "text": "another line\nthird"
                }],
                "searchedFiles": 1,
                "truncated": false
            }),
        ),
        (
            "File.Copy",
            json!({"file_path": "logs", "destination_path": "fam://project-x/logs"}),
            json!({"from": "user://projects/default/logs", "path": "user://projects/project-x/logs", "kind": "directory"}),
        ),
        (
            "File.Move",
            json!({"file_path": "path/to/main.js", "destination_path": "main.js"}),
            json!({"from": "user://projects/default/path/to/main.js", "path": "user://projects/default/main.js", "kind": "file"}),
        ),
    ] {
        let result = call(&house, id, arguments.clone()).await;
        assert_eq!(result.unwrap(), expected, "{id} {arguments}");
    }
    assert_eq!(house.get("main.js"), "console.log(\"new\");\n");
    let deleted = call(&house, "File.Delete", json!({"file_path": "main.js"}))
        .await
        .unwrap();
    assert_eq!(deleted["kind"], "file");
    let bin = house.files.recycled(&house.person).await.unwrap();
    assert_eq!(bin[0].by, "agent:tester");
    assert_eq!(deleted["recycleId"], json!(bin[0].id));
    let again = call(&house, "File.Delete", json!({"file_path": "main.js"})).await;
    assert_eq!(again.unwrap_err().code, ErrorCode::WorkspaceFileNotFound);
    let stat = call(&house, "File.Stat", json!({"file_path": "logs/today.log"}))
        .await
        .unwrap();
    assert_eq!((&stat["kind"], &stat["size"]), (&json!("file"), &json!(27)));
    assert!(stat["modified"].is_string());
}

#[tokio::test]
async fn long_files_are_read_in_parts() {
    let house = House::new();
    let lines = MAX_TOOL_READ_LINES as usize + 1;
    house.put("long", "x\r\n".repeat(lines));
    house.put("wide", "y".repeat(MAX_TOOL_READ_BYTES + 1));
    house.put("empty", "");
    for (arguments, content, fields) in [
        (
            json!({"file_path": "long"}),
            "x\r\n".repeat(lines - 1),
            json!({"startLine": 1, "endLine": lines - 1, "totalLines": lines, "truncated": true, "nextLine": lines}),
        ),
        (
            json!({"file_path": "long", "start_line": lines}),
            "x\r\n".to_owned(),
            json!({"startLine": lines, "endLine": lines, "truncated": false, "nextLine": null}),
        ),
        (
            json!({"file_path": "long", "start_line": 2, "line_count": 2}),
            "x\r\nx\r\n".to_owned(),
            json!({"endLine": 3, "truncated": true, "nextLine": 4}),
        ),
        (
            json!({"file_path": "wide"}),
            "y".repeat(MAX_TOOL_READ_BYTES),
            json!({"truncated": true, "nextLine": null, "note": "line 1 is longer than 262144 bytes and is cut there"}),
        ),
        (
            json!({"file_path": "empty"}),
            String::new(),
            json!({"startLine": 1, "endLine": 0, "totalLines": 0, "truncated": false}),
        ),
    ] {
        let result = call(&house, "File.Read", arguments.clone()).await.unwrap();
        assert!(result["content"] == content.as_str(), "{arguments}");
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&result[name], value, "{arguments} {name}");
        }
    }
    for path in ["long", "empty"] {
        let beyond = json!({"file_path": path, "start_line": lines + 1});
        let error = call(&house, "File.Read", beyond).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::WorkspaceInvalidRange, "{path}");
        assert!(error.message.contains("choose a smaller start_line"));
    }
}

#[tokio::test]
async fn refusals_keep_their_codes() {
    let house = House::new();
    house.put("folder/x", "x");
    house.put("x.bin", b"\xff");
    for (id, arguments, code, reason) in [
        (
            "File.Read",
            json!({"file_path": "../x"}),
            ErrorCode::WorkspacePathDenied,
            "file.leaves_root",
        ),
        (
            "File.Read",
            json!({"file_path": "system://config/x"}),
            ErrorCode::WorkspacePathDenied,
            "file.system_denied",
        ),
        (
            "File.Write",
            json!({"file_path": "fam://system/logs/x", "content": ""}),
            ErrorCode::WorkspacePathDenied,
            "file.system_denied",
        ),
        (
            "File.Read",
            json!({"file_path": "http://x/y"}),
            ErrorCode::WorkspacePathDenied,
            "file.invalid_path",
        ),
        (
            "File.Read",
            json!({"file_path": "folder"}),
            ErrorCode::WorkspacePathIsDirectory,
            "file.is_directory",
        ),
        (
            "File.Write",
            json!({"file_path": "folder", "content": ""}),
            ErrorCode::WorkspacePathIsDirectory,
            "file.is_directory",
        ),
        (
            "File.Read",
            json!({"file_path": "x.bin"}),
            ErrorCode::ToolInvalidArguments,
            "file.not_text",
        ),
        (
            "File.Read",
            json!({"file_path": "no"}),
            ErrorCode::WorkspaceFileNotFound,
            "file.not_found",
        ),
        (
            "File.Search",
            json!({"query": "(", "regex": true}),
            ErrorCode::ToolInvalidArguments,
            "file.invalid_query",
        ),
        (
            "File.Delete",
            json!({"file_path": "/"}),
            ErrorCode::WorkspacePathDenied,
            "file.protected",
        ),
        (
            "File.Copy",
            json!({"file_path": "x.bin", "destination_path": "folder"}),
            ErrorCode::ToolInvalidArguments,
            "file.exists",
        ),
        (
            "File.ApplyEdit",
            json!({"file_path": "no", "search_string": "a", "replace_string": "b"}),
            ErrorCode::WorkspaceFileNotFound,
            "file.not_found",
        ),
        (
            "File.ApplyEdit",
            json!({"file_path": "folder/x", "search_string": "a", "replace_string": "b"}),
            ErrorCode::WorkspacePatchFailed,
            "file.edit_not_found",
        ),
    ] {
        let error = call(&house, id, arguments.clone()).await.unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_deref()),
            (code, Some(reason)),
            "{id} {arguments}"
        );
        assert!(error.permanent, "{id} {arguments}");
    }
    assert_eq!(house.get("folder/x"), "x");
}

#[tokio::test]
async fn a_cancelled_call_does_nothing() {
    let house = House::new();
    for (tool, executor) in tools(&house.files) {
        let arguments = json!({"file_path": "x", "content": "x"});
        let call = invocation(&house, tool, arguments);
        call.context.cancel.cancel();
        let error = executor.execute(call).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolCancelled);
    }
    assert!(house.names(".", 1).await.is_empty());
}

#[tokio::test]
async fn a_file_that_is_no_text_comes_as_base64() {
    let house = House::new();
    house.put("cat.png", [0x89, b'P', 0xff, 0]);
    let asked = json!({"file_path": "cat.png", "encoding": "base64"});
    let result = call(&house, "File.Read", asked).await.unwrap();
    assert_eq!(result["content"], "iVD/AA==");
    assert_eq!(result["bytes"], 4);
    let error = call(&house, "File.Read", json!({"file_path": "cat.png"})).await;
    assert!(error.is_err());
}
