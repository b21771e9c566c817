use serde_json::json;

use super::*;

fn end(exit: i32, stdout: &str, stderr: &str) -> ScriptEnd {
    ScriptEnd {
        exit: ExitKind::Code(exit),
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.as_bytes().to_vec(),
        stderr_truncated: false,
        usage: innkeeper_sandbox::Usage::default(),
    }
}

#[test]
fn good_answers() {
    for (stdout, expected) in [
        ("", json!(null)),
        (" \n", json!(null)),
        ("null", json!(null)),
        ("42\n", json!(42)),
        (r#"{"a": [1, 2]}"#, json!({"a": [1, 2]})),
        ("\u{feff}{\"a\": 1}", json!({"a": 1})),
        ("  plain text \n\n", json!("  plain text")),
        ("{broken", json!("{broken")),
        (
            r#"{"success": "yes", "outputData": 1}"#,
            json!({"success": "yes", "outputData": 1}),
        ),
        (
            r#"{"success": true, "outputData": {"n": 1}}"#,
            json!({"n": 1}),
        ),
        (
            r#"{"success": true, "outputData": null, "extra": 1}"#,
            json!(null),
        ),
        (r#"{"success": true}"#, json!(null)),
        // Not the envelope after all: nothing of it is lost.
        (
            r#"{"success": true, "count": 3}"#,
            json!({"success": true, "count": 3}),
        ),
    ] {
        let answer = read(&end(0, stdout, "noise on stderr is no failure"));
        assert_eq!(answer.outcome.unwrap().value, expected, "{stdout}");
    }
}

#[test]
fn bad_ends() {
    for (exit, stdout, stderr, code, reason, message) in [
        (
            1,
            "",
            "Traceback\nValueError: no\n",
            ErrorCode::ToolExecutionFailed,
            "script.exit",
            "the script ended with exit code 1: Traceback\nValueError: no",
        ),
        (
            3,
            "{\"a\": 1}",
            "",
            ErrorCode::ToolExecutionFailed,
            "script.exit",
            "the script ended with exit code 3 and said nothing on stderr",
        ),
        (
            1,
            r#"{"success": true, "outputData": 1}"#,
            "x",
            ErrorCode::ToolExecutionFailed,
            "script.exit",
            "the script ended with exit code 1: x",
        ),
        (
            1,
            r#"{"success": false, "error": {"type": "ScriptError", "message": "no such column."}}"#,
            "noise",
            ErrorCode::ToolExecutionFailed,
            "script.script_error",
            "no such column",
        ),
        (
            0,
            r#"{"success": false, "error": {"type": "TimeoutError", "message": "slow"}}"#,
            "",
            ErrorCode::ToolTimeout,
            "script.timeout_error",
            "slow",
        ),
        (
            0,
            r#"{"success": false, "error": {"type": "DependencyError", "message": "no numpy"}}"#,
            "",
            ErrorCode::ToolUnavailable,
            "script.dependency_error",
            "no numpy",
        ),
        (
            0,
            r#"{"success": false, "error": {"type": "SecurityError", "message": "no"}}"#,
            "",
            ErrorCode::ToolPolicyDenied,
            "script.security_error",
            "no",
        ),
        (
            0,
            r#"{"success": false, "error": {"type": "ParameterValidationError", "message": "bad", "details": {"at": 1}}}"#,
            "",
            ErrorCode::ToolInvalidArguments,
            "script.parameter_validation_error",
            "bad ({\"at\":1})",
        ),
        (
            0,
            r#"{"success": false, "error": {"type": "Table Missing!", "message": "x", "details": "y"}}"#,
            "",
            ErrorCode::ToolExecutionFailed,
            "script.table_missing",
            "x (y)",
        ),
        (
            0,
            r#"{"success": false, "error": "just text"}"#,
            "",
            ErrorCode::ToolExecutionFailed,
            "script.script_error",
            "just text",
        ),
        (
            0,
            r#"{"success": false}"#,
            "",
            ErrorCode::ToolExecutionFailed,
            "script.script_error",
            "the script failed and did not say why",
        ),
        (
            0,
            r#"{"success": false}"#,
            "why\n",
            ErrorCode::ToolExecutionFailed,
            "script.script_error",
            "the script failed: why",
        ),
    ] {
        let error = read(&end(exit, stdout, stderr)).outcome.unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_deref(), error.message.as_str()),
            (code, Some(reason), message),
            "{stdout}"
        );
        assert_eq!(
            error.permanent,
            code == ErrorCode::ToolInvalidArguments,
            "{stdout}"
        );
    }
    let mut killed = end(0, "", "");
    killed.exit = ExitKind::Signal(9);
    let message = read(&killed).outcome.unwrap_err().message;
    assert!(message.contains("signal 9"), "{message}");
}

#[test]
fn files_and_logs_of_the_envelope() {
    let text = json!({
        "success": true,
        "logs": ["one", {"two": 2}],
        "files": [{"uri": "user://a.txt", "text": "é"}, {"uri": "user://b", "base64": "AP8="}],
    });
    let answer = read(&end(0, &text.to_string(), ""));
    assert_eq!(answer.logs, ["one", "{\"two\":2}"]);
    let output = answer.outcome.unwrap();
    assert_eq!(output.value, json!({"files": ["user://a.txt", "user://b"]}));
    let bytes: Vec<_> = output.files.into_iter().map(|file| file.bytes).collect();
    assert_eq!(bytes, ["é".as_bytes().to_vec(), vec![0, 255]]);

    let too_many: Vec<_> = (0..=MAX_SCRIPT_FILES)
        .map(|n| json!({"uri": n.to_string(), "text": ""}))
        .collect();
    for (files, problem) in [
        (json!({}), "a list"),
        (json!([{"text": "x"}]), "number 1 has no uri"),
        (json!([{"uri": "u"}]), "either text or base64"),
        (
            json!([{"uri": "u", "text": "", "base64": ""}]),
            "either text or base64",
        ),
        (json!([{"uri": "u", "base64": "!"}]), "no base64"),
        (json!(too_many), "more than 32"),
    ] {
        let text = json!({"success": true, "files": files}).to_string();
        let error = read(&end(0, &text, "")).outcome.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolResultInvalid);
        assert!(error.message.contains(problem), "{}", error.message);
    }
}

#[test]
fn what_is_told_is_bounded() {
    let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let lines = last_lines(many.as_bytes());
    assert_eq!(lines.lines().count(), MAX_SCRIPT_TOLD_LINES);
    assert!(lines.ends_with("line 99"));
    let long = format!("{}end", "é".repeat(5_000));
    let told = last_lines(long.as_bytes());
    assert_eq!(told.chars().count(), MAX_SCRIPT_MESSAGE_CHARS);
    assert!(told.ends_with("end"));
    let text =
        json!({"success": false, "error": {"message": long}, "logs": vec![""; 100]}).to_string();
    let answer = read(&end(0, &text, ""));
    assert_eq!(answer.logs.len(), MAX_SCRIPT_TOLD_LINES);
    assert_eq!(
        answer.outcome.unwrap_err().message.chars().count(),
        MAX_SCRIPT_MESSAGE_CHARS + 1
    );
}

#[test]
fn a_worker_answers_as_a_script_does() {
    for (value, expected) in [
        (json!(null), json!(null)),
        (json!("text"), json!("text")),
        (json!({"success": true, "outputData": [1]}), json!([1])),
        (json!({"success": "yes"}), json!({"success": "yes"})),
    ] {
        assert_eq!(of_value(value).outcome.unwrap().value, expected);
    }
    let answer = of_value(json!({
        "success": true,
        "logs": ["one"],
        "files": [{"uri": "user://a", "text": "x"}],
    }));
    assert_eq!(answer.logs, ["one"]);
    assert_eq!(answer.outcome.unwrap().files[0].bytes, b"x");
    let failed =
        of_value(json!({"success": false, "error": {"type": "SecurityError", "message": "no."}}));
    let error = failed.outcome.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::ToolPolicyDenied, "no")
    );
}

#[test]
fn errors_of_json_rpc_have_codes() {
    use ErrorCode::{ToolExecutionFailed, ToolInvalidArguments, ToolTimeout, ToolUnavailable};
    for (code, message, data, expected, reason, permanent) in [
        (
            1,
            "no.",
            json!(null),
            ToolExecutionFailed,
            "script.script_error",
            false,
        ),
        (
            1,
            "no",
            json!({"retryable": false}),
            ToolExecutionFailed,
            "script.script_error",
            true,
        ),
        (
            1,
            "no",
            json!({"type": "TimeoutError"}),
            ToolTimeout,
            "script.timeout_error",
            false,
        ),
        (
            1,
            "no",
            json!({"type": "DependencyError"}),
            ToolUnavailable,
            "script.dependency_error",
            false,
        ),
        (
            1,
            "no",
            json!({"type": "OutOfPaint"}),
            ToolExecutionFailed,
            "script.out_of_paint",
            false,
        ),
        (
            -32602,
            "no",
            json!(null),
            ToolInvalidArguments,
            "script.parameter_validation_error",
            true,
        ),
        (
            -32602,
            "no",
            json!({"type": "ScriptError"}),
            ToolExecutionFailed,
            "script.script_error",
            false,
        ),
        (
            -32601,
            "no",
            json!(null),
            ToolExecutionFailed,
            "script.worker_protocol",
            true,
        ),
        (
            -32601,
            "no",
            json!("text"),
            ToolExecutionFailed,
            "script.worker_protocol",
            true,
        ),
    ] {
        let error = of_rpc_error(code, message, &data);
        assert_eq!(error.code, expected, "{code} {data}");
        assert_eq!(error.reason.as_deref(), Some(reason), "{code} {data}");
        assert_eq!(error.permanent, permanent, "{code} {data}");
        assert!(error.message.ends_with("no"), "{}", error.message);
    }
    let silent = of_rpc_error(7, " ", &json!(null)).message;
    assert_eq!(silent, "the worker failed with code 7 and did not say why");
    let long = of_rpc_error(1, &"x".repeat(MAX_SCRIPT_MESSAGE_CHARS + 1), &json!(null)).message;
    assert_eq!(long.chars().count(), MAX_SCRIPT_MESSAGE_CHARS + 1);
}
