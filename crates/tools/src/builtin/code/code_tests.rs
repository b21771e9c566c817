//! What both tools have in common, and a house to run them in.

use innkeeper_protocol::event::RunId;
use innkeeper_sandbox::SandboxOptions;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::builtin::testing::{check_definitions, fits, invocation, named};
use crate::file::house_tests::House;
use crate::{Invocation, RunEnds};

/// Asked once where they are, and not for every test.
static INTERPRETERS: std::sync::LazyLock<Interpreters> =
    std::sync::LazyLock::new(Interpreters::default);

/// The tools in a house of their own, with a real sandbox.
pub(super) struct Lab {
    pub(super) house: House,
    pub(super) tools: Vec<Tool>,
    pub(super) ends: RunEnds,
    pub(super) sessions: Arc<Sessions>,
}

impl Lab {
    pub(super) fn new() -> Self {
        Self::with(CodeLimits::default())
    }

    pub(super) fn with(limits: CodeLimits) -> Self {
        let options = SandboxOptions::new(innkeeper_testkit::room::launcher());
        Self::of(Sandbox::new(options), INTERPRETERS.clone(), limits)
    }

    pub(super) fn of(sandbox: Sandbox, interpreters: Interpreters, limits: CodeLimits) -> Self {
        let house = House::new();
        let ends = RunEnds::default();
        let sessions = Arc::new(Sessions::new(limits.sessions, limits.session_idle));
        let parts = CodeParts {
            sandbox,
            interpreters,
            files: house.files.clone(),
            run_ends: ends.clone(),
            limits,
        };
        Self {
            house,
            tools: with_sessions(parts, sessions.clone()),
            sessions,
            ends,
        }
    }

    pub(super) async fn run(&self, language: &str, code: &str) -> Json {
        self.execute(json!({"language": language, "code": code}))
            .await
            .unwrap()
    }

    pub(super) async fn execute(&self, arguments: Json) -> Result<Json, ToolError> {
        self.call("CodeInterpreter:execute", arguments, |_| {})
            .await
    }

    pub(super) async fn cell(&self, code: &str) -> Json {
        self.session(json!({"code": code})).await.unwrap()
    }

    pub(super) async fn cell_of(&self, run: &str, code: &str) -> Json {
        let run = RunId::new(run);
        self.call("CodeInterpreter:session", json!({"code": code}), |call| {
            Arc::make_mut(&mut call.context.caller).run = run;
        })
        .await
        .unwrap()
    }

    pub(super) async fn session(&self, arguments: Json) -> Result<Json, ToolError> {
        self.call("CodeInterpreter:session", arguments, |_| {})
            .await
    }

    /// As the house would call it: what goes in and what comes out fit their schemas.
    pub(super) async fn call(
        &self,
        id: &str,
        arguments: Json,
        change: impl FnOnce(&mut Invocation),
    ) -> Result<Json, ToolError> {
        let tool = named(&self.tools, id);
        assert_eq!(fits(&tool.0.parameters, &arguments), Ok(()), "{arguments}");
        let mut call = invocation(tool, arguments, CancellationToken::new());
        change(&mut call);
        let told = tool.1.execute(call).await;
        if let Ok(told) = &told {
            let output = tool.0.output.as_ref().unwrap();
            assert_eq!(fits(output, told), Ok(()), "{told}");
        }
        if let Err(error) = &told {
            assert!(!error.message.ends_with('.'), "{}", error.message);
        }
        told
    }
}

#[test]
fn definitions_are_complete() {
    let options = SandboxOptions::new("/nowhere");
    let lab = Lab::of(
        Sandbox::new(options),
        Interpreters::on(None),
        CodeLimits::default(),
    );
    check_definitions(&lab.tools);
    for (tool, _) in &lab.tools {
        let id = &tool.id;
        assert!(!tool.execution.idempotent, "{id}");
        let whole = tool.execution.timeout_ms.unwrap();
        let most = &tool.parameters["properties"]["timeout"]["maximum"];
        assert!(whole > most.as_u64().unwrap() * 1000, "{id}");
        assert_eq!(tool.parameters["properties"]["files"]["x-file"], true);
        assert_eq!(tool.parameters["properties"]["code"]["x-verbatim"], true);
        assert_eq!(tool.permissions, ["code:execute"], "{id}");
    }
    let parallel: Vec<_> = lab
        .tools
        .iter()
        .map(|(tool, _)| tool.execution.parallel)
        .collect();
    assert_eq!(parallel, [true, false]);
}

#[test]
fn fences_are_no_code() {
    for (written, code) in [
        ("print(1)", "print(1)"),
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("\n```\nprint(1)\n```\n", "print(1)\n"),
        ("```python\n```", ""),
        ("```js\na\n```js\nb\n```", "a\n```js\nb\n"),
        ("```not a word!\nx\n```", "```not a word!\nx\n```"),
        ("```python\nprint(1)", "```python\nprint(1)"),
        ("```python print(1)```", "```python print(1)```"),
        ("x = '''\n```\n'''", "x = '''\n```\n'''"),
    ] {
        assert_eq!(unfenced(written).unwrap(), code, "{written}");
    }
    let long = "x".repeat(MAX_CODE_BYTES + 1);
    let error = unfenced(&long).unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("code.too_large"));
    assert!(unfenced(&long[1..]).is_ok());
}

#[test]
fn every_way_a_sandbox_refuses_has_its_reason() {
    let why = || "why".to_owned();
    let path = || "/x".into();
    for (error, reason) in [
        (
            SandboxError::Unavailable {
                layer: innkeeper_sandbox::Layer::UserNamespace,
                why: why(),
                remedy: why(),
            },
            Some("sandbox.unavailable"),
        ),
        (
            SandboxError::Root {
                path: path(),
                why: why(),
            },
            Some("sandbox.root"),
        ),
        (SandboxError::Policy { why: why() }, Some("sandbox.policy")),
        (
            SandboxError::Program {
                path: path(),
                why: why(),
            },
            Some("sandbox.program"),
        ),
        (SandboxError::Failed { why: why() }, Some("sandbox.failed")),
        (SandboxError::Cancelled, None),
    ] {
        let told = refused(&error);
        assert_eq!(told.reason.as_deref(), reason, "{error}");
        assert_eq!(told.may_pass(), reason == Some("sandbox.failed"), "{error}");
    }
}

#[test]
fn code_is_bounded_as_scripts_are() {
    let scripts = ScriptLimits {
        cpu: Duration::from_secs(7),
        memory_bytes: 5 << 20,
        processes: 3,
        open_files: 11,
        file_bytes: 13,
        disk_bytes: 17,
        ..ScriptLimits::default()
    };
    let CodeLimits {
        room, session_cpu, ..
    } = CodeLimits::from(&scripts);
    assert_eq!(room.cpu, Some(scripts.cpu));
    assert_eq!(session_cpu, Duration::from_secs(70));
    assert_eq!(
        (room.memory, room.processes, room.open_files),
        (5 << 20, 3, 11)
    );
    assert_eq!((room.file_size, room.disk), (13, 17));
}
