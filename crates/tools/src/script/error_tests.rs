use super::*;

fn over_limit(limit: Limit, stderr: &str) -> ToolError {
    ToolError::from(ScriptError::Limit {
        limit,
        limits: ScriptLimits::default(),
        stderr: stderr.into(),
    })
}

#[test]
fn every_limit_is_named_with_its_size_and_the_remedy() {
    let expected = |limit| match limit {
        Limit::Wall => ("60000 ms", "less", "sandbox.limit.wall"),
        Limit::Cpu => ("60 s of processor", "`cpu_seconds`", "sandbox.limit.cpu"),
        Limit::Memory => ("512 MiB of memory", "`memory_mb`", "sandbox.limit.memory"),
        Limit::Processes => ("64 processes", "`processes`", "sandbox.limit.processes"),
        Limit::OpenFiles => ("256 files", "`open_files`", "sandbox.limit.open_files"),
        Limit::FileSize => ("64 MiB", "`file_mb`", "sandbox.limit.file_size"),
        Limit::Disk => ("256 MiB", "`disk_mb`", "sandbox.limit.disk"),
        Limit::Output => ("16 MiB", "less", "script.output_too_large"),
    };
    for limit in Limit::ALL {
        let (size, remedy, reason) = expected(limit);
        let error = over_limit(limit, "");
        for part in [size, remedy, &format!("(limit: {limit})")] {
            assert!(error.message.contains(part), "no {part} in {error}");
        }
        assert_eq!(error.reason.as_deref(), Some(reason));
        assert!(!error.may_pass(), "{error}");
    }
}

#[test]
fn sizes_are_told_as_they_are() {
    for (bytes, text) in [
        (1 << 20, "1 MiB"),
        (1_000, "1000 bytes"),
        (512 << 20, "512 MiB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn the_last_words_are_told() {
    let error = over_limit(Limit::Memory, "Traceback\nMemoryError\n");
    assert!(
        error.message.ends_with("stderr: Traceback\nMemoryError"),
        "{error}"
    );
    let error = ToolError::from(ScriptError::Timeout {
        after: Duration::from_millis(1_500),
        stderr: b"still waiting\n".to_vec(),
    });
    assert_eq!(error.code, ErrorCode::ToolTimeout);
    assert!(error.message.contains("1500 ms") && error.message.ends_with("still waiting"));
    assert!(error.may_pass());
}

#[test]
fn what_kept_a_script_from_running_has_a_name() {
    let sandbox = ScriptError::Sandbox;
    for (error, code, reason, may_pass, parts) in [
        (
            ScriptError::NoSandbox {
                layer: Layer::UserNamespace,
                why: "not permitted".into(),
                remedy: "set kernel.x to 1".into(),
            },
            ErrorCode::ToolUnavailable,
            "sandbox.unavailable",
            false,
            &[
                "user namespace: not permitted",
                "set kernel.x to 1",
                "innkeeper doctor",
            ][..],
        ),
        (
            sandbox(SandboxError::Root {
                path: "/a".into(),
                why: "gone".into(),
            }),
            ErrorCode::ToolUnavailable,
            "sandbox.root",
            false,
            &["/a: gone"],
        ),
        (
            sandbox(SandboxError::Policy { why: "odd".into() }),
            ErrorCode::ToolUnavailable,
            "sandbox.policy",
            false,
            &["odd"],
        ),
        (
            sandbox(SandboxError::Failed {
                why: "no memory".into(),
            }),
            ErrorCode::ToolExecutionFailed,
            "sandbox.failed",
            true,
            &["no memory"],
        ),
    ] {
        let error = ToolError::from(error);
        assert_eq!((error.code, error.reason.as_deref()), (code, Some(reason)));
        assert_eq!(error.may_pass(), may_pass, "{error}");
        for part in parts {
            assert!(error.message.contains(part), "no {part} in {error}");
        }
    }
}
