use super::*;
use crate::plugin::testing::{Sample, WITH_TOOLS};

fn tool(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "description": "d", "implementation": {{"type": "service", "service": "A.b"}}}}"#
    )
}

#[test]
fn names_that_cannot_be_told_apart_name_both_files() {
    for (second, says) in [
        ("File.Read", "'File.Read' is also in tools/a.tool.json"),
        (
            "file:read",
            "'file:read' cannot be told from 'File.Read' in tools/a.tool.json",
        ),
    ] {
        let sample = Sample::new(WITH_TOOLS)
            .file("tools/a.tool.json", tool("File.Read"))
            .file("tools/sub/b.tool.json", tool(second));
        let problem = sample.problem();
        assert_eq!(problem.file, "tools/sub/b.tool.json");
        assert_eq!(problem.code, "plugin.duplicate_tool");
        assert_eq!(
            (problem.line, problem.column, problem.field.as_deref()),
            (Some(1), Some(8), Some("id"))
        );
        assert!(problem.message.contains(says), "{problem}");
    }
}

#[test]
fn a_name_in_two_spellings_is_told() {
    let text = r#"{"id": "File.Read", "description": "d", "aliases": ["x", "file:read"],
        "implementation": {"type": "service", "service": "A.b"}}"#;
    let problem = Sample::tool(text).problem();
    assert_eq!(problem.field.as_deref(), Some("aliases[1]"));
    assert!(
        problem
            .message
            .contains("only another spelling of 'File.Read'"),
        "{problem}"
    );
}

#[test]
fn tools_are_found_one_folder_deep() {
    let package = Sample::new(WITH_TOOLS)
        .file("tools/a.tool.json", tool("a"))
        .file("tools/sub/b.tool.json", tool("b"))
        .file("tools/sub/deep/c.tool.json", tool("c"))
        .file("tools/node_modules/d.tool.json", tool("d"))
        .file("tools/other.json", "not read")
        .package();
    let ids: Vec<_> = package
        .tools
        .iter()
        .map(|tool| tool.definition.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn too_many_tools_are_told_in_one_message() {
    let mut sample = Sample::new(WITH_TOOLS);
    for index in 0..=MAX_PLUGIN_TOOLS {
        sample = sample.file(
            &format!("tools/{index}.tool.json"),
            tool(&format!("t{index}")),
        );
    }
    let problem = sample.problem();
    assert_eq!(problem.code, "plugin.too_many_tools");
    assert_eq!(
        problem.to_string(),
        "tools: there are 201 tool files; a plugin has at most 200 tools"
    );
}
