use innkeeper_protocol::ErrorCode as Code;
use serde_json::json;

use super::super::testing::House;
use crate::limits::*;

const LIST: &str = "workspace.list_files";
const SEARCH: &str = "workspace.search_files";
const READ: &str = "workspace.read_file";
const WRITE: &str = "workspace.write_file";
const PATCH: &str = "workspace.apply_patch";
const COMMIT: &str = "workspace.commit";

/// Every refusal of every tool, in the order in which they are looked for.
#[tokio::test]
async fn refusals() {
    let lines = "line\n".repeat(MAX_READ_LINES as usize + 1);
    let large = "x".repeat(MAX_FULL_READ_BYTES as usize + 1);
    let house = House::new(&[
        ("output/a.md", "one two one"),
        ("output/lines.md", &lines),
        ("output/large.md", &large),
        ("output/empty.md", ""),
        ("plan/p.md", "plan"),
        ("summaries/s.md", "hidden"),
    ]);
    let too_long = "x".repeat(MAX_WORKSPACE_FILE_BYTES as usize + 1);
    for (tool, arguments, code, reason) in [
        (
            LIST,
            json!({"depth": 5, "path": "nowhere"}),
            Code::ToolInvalidArguments,
            "list_depth_too_large",
        ),
        (
            LIST,
            json!({"depth": 0}),
            Code::ToolInvalidArguments,
            "list_depth_invalid",
        ),
        (
            LIST,
            json!({"path": "../x"}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            LIST,
            json!({"path": "summaries"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            LIST,
            json!({"path": "input"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            LIST,
            json!({"path": "output/none"}),
            Code::WorkspaceFileNotFound,
            "path_not_found",
        ),
        (
            SEARCH,
            json!({"query": " "}),
            Code::ToolInvalidArguments,
            "search_query_empty",
        ),
        (
            SEARCH,
            json!({"query": "x".repeat(MAX_QUERY_CHARS + 1)}),
            Code::ToolInvalidArguments,
            "search_query_too_long",
        ),
        (
            SEARCH,
            json!({"query": "a", "limit": 51}),
            Code::ToolInvalidArguments,
            "search_limit_too_large",
        ),
        (
            SEARCH,
            json!({"query": "a", "limit": 0}),
            Code::ToolInvalidArguments,
            "search_limit_invalid",
        ),
        (
            SEARCH,
            json!({"query": "a", "context_lines": 6}),
            Code::ToolInvalidArguments,
            "search_context_too_large",
        ),
        (
            SEARCH,
            json!({"query": "a", "context_lines": -1}),
            Code::ToolInvalidArguments,
            "search_context_invalid",
        ),
        (
            SEARCH,
            json!({"query": "a", "path": "/x"}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            SEARCH,
            json!({"query": "a", "path": "summaries"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            SEARCH,
            json!({"query": "a", "path": "output/none"}),
            Code::WorkspaceFileNotFound,
            "path_not_found",
        ),
        (
            READ,
            json!({"path": "", "start_line": 1, "max_chars": 1}),
            Code::WorkspaceInvalidRange,
            "mixed_read_range",
        ),
        (
            READ,
            json!({"path": "x", "start_line": 0}),
            Code::WorkspaceInvalidRange,
            "invalid_line_range",
        ),
        (
            READ,
            json!({"path": "x", "line_count": 0}),
            Code::WorkspaceInvalidRange,
            "invalid_line_range",
        ),
        (
            READ,
            json!({"path": "x", "start_char": -1}),
            Code::WorkspaceInvalidRange,
            "invalid_char_range",
        ),
        (
            READ,
            json!({"path": "x", "max_chars": 0}),
            Code::WorkspaceInvalidRange,
            "invalid_char_range",
        ),
        (
            READ,
            json!({"path": "x", "line_count": 1201}),
            Code::WorkspaceReadTooLarge,
            "read_line_count_too_large",
        ),
        (
            READ,
            json!({"path": "x", "max_chars": 80_001}),
            Code::WorkspaceReadTooLarge,
            "read_char_count_too_large",
        ),
        (
            READ,
            json!({"path": "C:\\x"}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            READ,
            json!({"path": "summaries/s.md"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            READ,
            json!({"path": "run.json"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            READ,
            json!({"path": "output"}),
            Code::WorkspacePathIsDirectory,
            "path_is_directory",
        ),
        (
            READ,
            json!({"path": "output/none.md"}),
            Code::WorkspaceFileNotFound,
            "file_not_found",
        ),
        (
            READ,
            json!({"path": "output/lines.md"}),
            Code::WorkspaceReadTooLarge,
            "read_too_large",
        ),
        (
            READ,
            json!({"path": "output/large.md"}),
            Code::WorkspaceReadTooLarge,
            "read_too_large",
        ),
        (
            READ,
            json!({"path": "output/large.md", "start_line": 1}),
            Code::WorkspaceReadTooLarge,
            "read_too_large",
        ),
        (
            READ,
            json!({"path": "output/a.md", "start_line": 2}),
            Code::WorkspaceInvalidRange,
            "invalid_line_range",
        ),
        (
            READ,
            json!({"path": "output/a.md", "start_char": 11}),
            Code::WorkspaceInvalidRange,
            "invalid_char_range",
        ),
        (
            READ,
            json!({"path": "output/empty.md", "start_line": 2}),
            Code::WorkspaceInvalidRange,
            "invalid_line_range",
        ),
        (
            WRITE,
            json!({"path": "/", "content": "", "mode": "add"}),
            Code::WorkspaceModeInvalid,
            "write_mode_invalid",
        ),
        (
            WRITE,
            json!({"path": "a/../b", "content": ""}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            WRITE,
            json!({"path": "summaries/s.md", "content": ""}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            WRITE,
            json!({"path": "output", "content": ""}),
            Code::WorkspacePathDenied,
            "path_not_writable",
        ),
        (
            WRITE,
            json!({"path": "plan/p.md", "content": ""}),
            Code::WorkspacePathDenied,
            "path_not_writable",
        ),
        (
            WRITE,
            json!({"path": "output/a.md/b.md", "content": ""}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            WRITE,
            json!({"path": "output/a.md", "content": ""}),
            Code::WorkspaceWriteRequiresRead,
            "write_requires_read",
        ),
        (
            WRITE,
            json!({"path": "output/b.md", "content": too_long}),
            Code::WorkspaceWriteTooLarge,
            "file_too_large",
        ),
        (
            WRITE,
            json!({"path": "output/a.md", "content": too_long, "mode": "append"}),
            Code::WorkspaceWriteTooLarge,
            "file_too_large",
        ),
        (
            PATCH,
            json!({"path": "/", "old_string": "", "new_string": ""}),
            Code::WorkspacePatchFailed,
            "patch_empty_old_string",
        ),
        (
            PATCH,
            json!({"path": "/", "old_string": "a", "new_string": "a"}),
            Code::WorkspacePatchFailed,
            "patch_no_change",
        ),
        (
            PATCH,
            json!({"path": "/", "old_string": "a", "new_string": "b"}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            PATCH,
            json!({"path": "plan/p.md", "old_string": "a", "new_string": "b"}),
            Code::WorkspacePathDenied,
            "path_not_writable",
        ),
        (
            PATCH,
            json!({"path": "output/none", "old_string": "a", "new_string": "b"}),
            Code::WorkspaceFileNotFound,
            "file_not_found",
        ),
        (
            PATCH,
            json!({"path": "output/a.md", "old_string": "a", "new_string": "b"}),
            Code::WorkspaceWriteRequiresRead,
            "patch_requires_read",
        ),
        (
            COMMIT,
            json!({"mode": "add", "path": "/"}),
            Code::CommitModeInvalid,
            "commit_mode_invalid",
        ),
        (
            COMMIT,
            json!({"path": "/"}),
            Code::WorkspacePathDenied,
            "invalid_path",
        ),
        (
            COMMIT,
            json!({"path": "summaries/s.md"}),
            Code::WorkspacePathDenied,
            "path_not_visible",
        ),
        (
            COMMIT,
            json!({"path": "output"}),
            Code::WorkspacePathIsDirectory,
            "path_is_directory",
        ),
        (
            COMMIT,
            json!({"path": "output/none.md"}),
            Code::WorkspaceFileNotFound,
            "file_not_found",
        ),
        (
            COMMIT,
            json!({}),
            Code::WorkspaceRequiredArtifactMissing,
            "file_not_found",
        ),
    ] {
        let told = format!(
            "{tool} {}",
            arguments.to_string().chars().take(90).collect::<String>()
        );
        let refused = house.refused(tool, arguments).await;
        assert_eq!(refused, (code, format!("workspace.{reason}")), "{told}");
    }
    // Nothing was done by any of them.
    assert_eq!(house.session.files().len(), 6);
    assert_eq!(house.session.state().reads.len(), 0);
}
