use std::sync::Mutex;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use serde_json::json;

use super::*;
use crate::hook::{Hook, HookAction, HookFailure, HookPoint, Hooks};
use crate::plugin::{
    ConfigKind, ConfigScope, HookDeclaration, NewValue, Permission, PluginSettings,
};
use crate::script::{ScriptHook, for_tests};
use crate::{CallContext, Caller, ProgressSink, Secret, Secrets};

/// Files in memory, and a note of what was asked for.
#[derive(Default)]
struct Shelf(Mutex<Vec<Touched>>);

/// URI, content, what was allowed.
type Touched = (String, Vec<u8>, Vec<String>);

impl Shelf {
    fn note(&self, uri: &str, bytes: &[u8], allowed: &[Pattern]) {
        let allowed = allowed.iter().map(|pattern| pattern.as_str().to_owned());
        let entry = (uri.to_owned(), bytes.to_vec(), allowed.collect());
        self.0.lock().unwrap().push(entry);
    }
}

#[async_trait]
impl ScriptFiles for Shelf {
    async fn read(
        &self,
        _: &Caller,
        uri: &str,
        allowed: &[Pattern],
        _: usize,
    ) -> Result<Vec<u8>, ToolError> {
        self.note(uri, b"", allowed);
        match uri {
            "user://text" => Ok("héllo".into()),
            "user://binary" => Ok(vec![0, 255]),
            "user://nul" => Ok(b"a\0".to_vec()),
            "user://large" => Ok(vec![0; crate::limits::MAX_SCRIPT_FILE_BYTES]),
            _ => Err(ToolError::failed("no such file")),
        }
    }

    async fn write(
        &self,
        _: &Caller,
        uri: &str,
        bytes: Vec<u8>,
        allowed: &[Pattern],
    ) -> Result<(), ToolError> {
        if uri.contains("forbidden") {
            return Err(ToolError::denied("not there"));
        }
        self.note(uri, &bytes, allowed);
        Ok(())
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<(Option<f64>, String)>>);

impl ProgressSink for Heard {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.0.lock().unwrap().push((fraction, message.to_owned()));
    }
}

struct House {
    _folder: tempfile::TempDir,
    host: ScriptHost,
    plugin: ScriptPlugin,
    shelf: Arc<Shelf>,
    heard: Arc<Heard>,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let settings = PluginSettings::new(&home, Secrets::new(home.join("secrets.toml")));
        let shelf = Arc::new(Shelf::default());
        let root = home.join("plugins/p");
        std::fs::create_dir_all(&root).unwrap();
        let runner: Arc<dyn ScriptRunner> = Arc::new(for_tests());
        let key = ConfigOption {
            key: "key".into(),
            kind: ConfigKind::Secret,
            label: "Key".into(),
            description: String::new(),
            default: None,
            scope: ConfigScope::User,
            options: Vec::new(),
            min: None,
            max: None,
            step: None,
            required: true,
            variable: "KEY".into(),
        };
        let secret = NewValue::Secret(Secret::new("hunter22"));
        settings
            .set("p", &key, ConfigScope::Instance, &UserId::default(), secret)
            .unwrap();
        Self {
            plugin: ScriptPlugin {
                name: "p".into(),
                root: root.clone(),
                stamp: 0,
                options: vec![key],
                granted: Permissions::default(),
            },
            host: ScriptHost {
                workers: WorkerPool::new(runner.clone()),
                runner,
                settings: Arc::new(settings),
                files: shelf.clone(),
                data: home.join("plugin-data"),
                limits: ScriptLimits::default(),
            },
            _folder: folder,
            shelf,
            heard: Arc::default(),
        }
    }

    async fn call(&self, code: &str, arguments: Json) -> Result<Json, ToolError> {
        let parameters = json!({"type": "object", "properties": {
            "file": {"type": "string", "x-file": true},
            "other": {"type": "string", "x-file": true},
            "plain": {"type": "string"},
        }});
        let call = Invocation {
            tool: Arc::new(ToolDefinition::new("P:tool", "", parameters)),
            arguments: arguments.as_object().unwrap().clone(),
            context: CallContext {
                caller: Arc::new(Caller::person(RunId::new("run_1"))),
                call_id: "call-1".into(),
                asked_as: None,
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::to(self.heard.clone()),
                run: None,
            },
        };
        let executor = ScriptExecutor::new(self.host.clone(), self.plugin.clone(), python(code));
        executor.execute(call).await
    }
}

fn python(code: &str) -> ScriptCommand {
    ScriptCommand {
        program: "python".into(),
        arguments: vec!["-c".into(), code.into()],
        ..ScriptCommand::default()
    }
}

#[tokio::test]
async fn arguments_go_in_and_the_result_comes_out() {
    let house = House::new();
    let code = "import json, os, sys; print(json.dumps([json.load(sys.stdin), {k: v for k, v in os.environ.items() if k.startswith('INNKEEPER')}]))";
    let result = house
        .call(code, json!({"plain": "grüße 王"}))
        .await
        .unwrap();
    assert_eq!(
        result,
        json!([
            {"plain": "grüße 王"},
            {
                "INNKEEPER_CALL_ID": "call-1",
                "INNKEEPER_TOOL": "P:tool",
                "INNKEEPER_PROJECT": "default",
                "INNKEEPER_USER": "default",
                "INNKEEPER_PLUGIN": "p",
                "INNKEEPER_DATA": house.host.data.join("p"),
            },
        ])
    );
}

#[tokio::test]
async fn a_script_that_tells_its_secret_is_not_heard() {
    let house = House::new();
    let code = r#"
import base64, json, os, sys
key = os.environ["KEY"]
print("@progress " + json.dumps({"fraction": 0.5, "message": "with " + key}), file=sys.stderr)
print("@progress nonsense " + key, file=sys.stderr)
if json.load(sys.stdin).get("plain") == "fail":
    sys.exit("bad key " + key)
print(json.dumps({"success": True, "logs": ["log " + key], "outputData": {key: [key, base64.b64encode(key.encode()).decode()]}}))
"#;
    let result = house.call(code, json!({})).await.unwrap();
    assert_eq!(
        result.as_object().unwrap().keys().next().unwrap(),
        "[secret p.KEY]"
    );
    assert_eq!(result["[secret p.KEY]"][0], "[secret p.KEY]");
    assert!(
        result["[secret p.KEY]"][1]
            .as_str()
            .unwrap()
            .contains("[secret p.KEY]")
    );
    let heard = house.heard.0.lock().unwrap().clone();
    assert_eq!(
        heard,
        [
            (Some(0.5), "with [secret p.KEY]".into()),
            (None, "log [secret p.KEY]".into())
        ]
    );
    let error = house
        .call(code, json!({"plain": "fail"}))
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "the script ended with exit code 1: @progress nonsense [secret p.KEY]\nbad key [secret p.KEY]"
    );
}

#[tokio::test]
async fn a_missing_setting_refuses_the_call() {
    let mut house = House::new();
    house.plugin.options[0].key = "other_key".into();
    let error = house.call("print(1)", json!({})).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("plugin.setting_missing"));
    assert!(
        error
            .message
            .contains("innkeeper plugin config p set other_key"),
        "{error}"
    );
}

#[tokio::test]
async fn files_go_in_as_content() {
    let house = House::new();
    let code = "import sys; print(sys.stdin.read())";
    let arguments =
        json!({"file": "user://text", "other": "user://binary", "plain": "user://text"});
    assert_eq!(
        house.call(code, arguments).await.unwrap(),
        json!({
            "file": {"uri": "user://text", "size": 6, "text": "héllo"},
            "other": {"uri": "user://binary", "size": 2, "base64": "AP8="},
            "plain": "user://text",
        })
    );
    assert_eq!(
        house
            .call(code, json!({"file": "user://nul"}))
            .await
            .unwrap(),
        json!({"file": {"uri": "user://nul", "size": 2, "base64": "YQA="}})
    );
    let error = house
        .call(code, json!({"file": "user://none"}))
        .await
        .unwrap_err();
    assert_eq!(error.message, "no such file");
}

#[tokio::test]
async fn files_come_out_as_content_within_what_was_granted() {
    let code = r#"
import json
print(json.dumps({"success": True, "files": [{"uri": "user://projects/default/a", "text": "A"}, {"uri": "user://b", "base64": "AP8="}]}))
"#;
    for (granted, wanted, allowed) in [
        (&[][..], &[][..], &[][..]),
        (&["file:read:user://*"], &["user://*"], &[]),
        (
            &["file:write:project"],
            &["project"],
            &["user://projects/default/*"],
        ),
        (
            &["file:write:user://x/*", "file:write:shared://y"],
            &[],
            &["shared://y", "user://x/*"],
        ),
        (
            &["file:write:user://x/*", "file:write:shared://y"],
            &["shared://y"],
            &["shared://y"],
        ),
        (&["file:write:user://x/*"], &["user://*"], &[]),
    ] {
        let mut house = House::new();
        house.plugin.granted = granted.iter().map(|text| Permission::new(*text)).collect();
        let mut command = python(code);
        command.write = wanted.iter().map(|uri| (*uri).to_owned()).collect();
        let executor = ScriptExecutor::new(house.host.clone(), house.plugin.clone(), command);
        let call = Invocation {
            tool: Arc::new(ToolDefinition::new("P:tool", "", json!({}))),
            arguments: Default::default(),
            context: CallContext {
                caller: Arc::new(Caller::person(RunId::new("run_1"))),
                call_id: "c".into(),
                asked_as: None,
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::default(),
                run: None,
            },
        };
        let result = executor.execute(call).await.unwrap();
        assert_eq!(
            result,
            json!({"files": ["user://projects/default/a", "user://b"]})
        );
        let written = house.shelf.0.lock().unwrap().clone();
        let allowed: Vec<_> = allowed.iter().map(|uri| (*uri).to_owned()).collect();
        assert_eq!(
            written,
            [
                (
                    "user://projects/default/a".to_owned(),
                    b"A".to_vec(),
                    allowed.clone()
                ),
                ("user://b".to_owned(), vec![0, 255], allowed),
            ]
        );
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_says_what_was() {
    let house = House::new();
    let code = r#"print('{"success": true, "files": [{"uri": "user://a", "text": "A"}, {"uri": "user://forbidden", "text": ""}]}')"#;
    let error = house.call(code, json!({})).await.unwrap_err();
    assert_eq!(
        error.message,
        "not there; already written by this call: user://a"
    );
    assert_eq!(error.code, ErrorCode::ToolPolicyDenied);
}

#[tokio::test]
async fn a_script_gets_the_hosts_that_were_granted() {
    let mut house = House::new();
    let granted = ["net:*.example.com", "net:localhost"];
    house.plugin.granted = granted.iter().map(|text| Permission::new(*text)).collect();
    for (wanted, expected) in [
        (&[][..], &["*.example.com", "localhost"][..]),
        (&["a.example.com", "evil.com"], &["a.example.com"]),
        (&["evil.com"], &[]),
    ] {
        let mut command = python("");
        command.hosts = wanted.iter().map(|host| (*host).to_owned()).collect();
        assert_eq!(hosts(&house.plugin, &command), expected, "{wanted:?}");
    }
}

#[tokio::test]
async fn a_script_can_be_a_hook() {
    let house = House::new();
    let code = r#"
import json, os, sys
subject = json.load(sys.stdin)
kind = subject["arguments"]["kind"]
if kind == "crash":
    sys.exit("crashed with " + os.environ["KEY"])
if kind == "silent":
    sys.exit(0)
print(json.dumps({
    "continue": {"action": "continue"},
    "change": {"action": "change", "value": {"hook": os.environ["INNKEEPER_HOOK"], "user": os.environ["INNKEEPER_USER"], "tool": os.environ["INNKEEPER_TOOL"]}},
    "refuse": {"action": "refuse", "reason": "no " + os.environ["KEY"]},
    "unknown": {"action": "dance"},
}[kind]))
"#;
    let hook = |on_failure| {
        ScriptHook::new(
            house.host.clone(),
            house.plugin.clone(),
            HookDeclaration {
                point: HookPoint::ToolBeforeCall,
                command: python(code),
                order: 3,
                timeout: Duration::from_secs(3600),
                on_failure,
                tools: vec![Pattern::new("File.*")],
            },
        )
    };
    let strict = hook(HookFailure::Refuse);
    assert_eq!((strict.name(), strict.order()), ("p:tool:before-call", 3));
    assert!(strict.concerns("File.Write") && strict.concerns("file:write"));
    assert!(!strict.concerns("Http.Get"));
    assert!(strict.timeout() <= crate::limits::MAX_HOOK_TIMEOUT);

    let subject = |kind: &str| json!({"tool": "File.Write", "arguments": {"kind": kind}, "caller": {"user": "alice"}});
    assert_eq!(
        strict.run(&subject("continue")).await,
        Ok(HookAction::Continue)
    );
    let value =
        json!({"hook": "hook:server:tool:before-call", "user": "alice", "tool": "File.Write"});
    assert_eq!(
        strict.run(&subject("change")).await,
        Ok(HookAction::Change { value })
    );
    let reason = "no [secret p.KEY]".to_owned();
    assert_eq!(
        strict.run(&subject("refuse")).await,
        Ok(HookAction::Refuse { reason })
    );
    for (kind, problem) in [
        ("crash", "exit code 1: crashed with [secret p.KEY]"),
        ("silent", "did not print"),
        ("unknown", "did not print"),
    ] {
        let error = strict.run(&subject(kind)).await.unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }

    for (on_failure, passes) in [(HookFailure::Refuse, false), (HookFailure::Continue, true)] {
        let hooks = Hooks::new([Arc::new(hook(on_failure)) as Arc<dyn Hook>]);
        let mut subject = subject("silent");
        let asked = hooks
            .ask(
                HookPoint::ToolBeforeCall,
                &["File.Write"],
                &mut subject,
                |_, _| Ok(()),
            )
            .await;
        assert_eq!(asked.is_ok(), passes);
    }
}

#[tokio::test]
async fn a_hook_that_is_out_of_time_is_heard_to_its_end() {
    let house = House::new();
    let code =
        "import sys, time; print('at ' + 'the gate', file=sys.stderr, flush=True); time.sleep(600)";
    let declaration = HookDeclaration {
        point: HookPoint::ToolBeforeCall,
        command: python(code),
        order: 0,
        timeout: Duration::from_secs(2),
        on_failure: HookFailure::Refuse,
        tools: Vec::new(),
    };
    let hook = ScriptHook::new(house.host.clone(), house.plugin.clone(), declaration);
    let hooks = Hooks::new([Arc::new(hook) as Arc<dyn Hook>]);
    let asked = hooks
        .ask(
            HookPoint::ToolBeforeCall,
            &["T"],
            &mut json!({"tool": "T"}),
            |_, _| Ok(()),
        )
        .await;
    let reason = asked.unwrap_err().reason;
    assert!(
        reason.contains("2000 ms") && reason.ends_with("at the gate"),
        "{reason}"
    );
}

#[tokio::test]
async fn what_goes_in_is_bounded() {
    let house = House::new();
    let large = "x".repeat(MAX_SCRIPT_INPUT_BYTES);
    for arguments in [
        json!({"plain": large}),
        json!({"file": "user://large", "other": "user://text"}),
    ] {
        let error = house.call("print(1)", arguments).await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some("script.input_too_large"));
    }
}

#[test]
fn a_script_has_the_time_it_was_given_and_no_more() {
    for (command_says, tool_says, expected) in [
        (None, None, DEFAULT_SCRIPT_TIMEOUT),
        (None, Some(5_000), Duration::from_secs(5)),
        (Some(3), Some(5_000), Duration::from_secs(3)),
        (Some(7), Some(5_000), Duration::from_secs(5)),
        (Some(1_000_000), None, MAX_SCRIPT_TIMEOUT),
        (None, Some(u64::MAX), MAX_SCRIPT_TIMEOUT),
    ] {
        let mut command = python("");
        command.timeout = command_says.map(Duration::from_secs);
        let mut tool = ToolDefinition::new("T", "", json!({}));
        tool.execution.timeout_ms = tool_says;
        assert_eq!(timeout(&command, &tool), expected);
    }
}

/// Ends as it is told to.
struct Fixed(Result<ScriptEnd, ScriptError>);

#[async_trait]
impl ScriptRunner for Fixed {
    async fn run(&self, _: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        self.0.clone()
    }

    async fn start(&self, _: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError> {
        Err(ScriptError::Cancelled)
    }
}

#[tokio::test]
async fn a_secret_on_the_edge_of_stderr_is_not_shown_in_part() {
    for (stderr, truncated, expected) in [
        ("a hunter22 b", false, "exit code 1: a [secret p.KEY] b"),
        (
            "22\nnext hunter22",
            true,
            "exit code 1: next [secret p.KEY]",
        ),
        ("22", true, "exit code 1 and said nothing"),
    ] {
        let mut house = House::new();
        house.host.runner = Arc::new(Fixed(Ok(ScriptEnd {
            exit: crate::script::ExitKind::Code(1),
            stdout: Vec::new(),
            stderr: stderr.into(),
            stderr_truncated: truncated,
            usage: innkeeper_sandbox::Usage::default(),
        })));
        let error = house.call("", json!({})).await.unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    // One that would be cut in the middle to fit the message, had it not been hidden before.
    let padding = "x".repeat(crate::limits::MAX_SCRIPT_MESSAGE_CHARS - 4);
    let mut house = House::new();
    house.host.runner = Arc::new(Fixed(Err(ScriptError::Limit {
        limit: innkeeper_sandbox::Limit::Memory,
        limits: ScriptLimits::default(),
        stderr: format!("hunter22{padding}").into(),
    })));
    let error = house.call("", json!({})).await.unwrap_err();
    assert!(!error.message.contains("er22"), "{error}");
    assert_eq!(error.reason.as_deref(), Some("sandbox.limit.memory"));
}

#[tokio::test]
async fn a_plugin_keeps_its_data_in_a_folder_of_its_own() {
    let house = House::new();
    let code = r#"
import json, os, sys
folder = os.environ["INNKEEPER_DATA"]
path = os.path.join(folder, "count")
count = int(open(path).read()) if os.path.exists(path) else 0
open(path, "w").write(str(count + 1))
def refused(path):
    try:
        open(path, "w")
    except OSError:
        return True
open(folder + "/../other", "w").close()
print(json.dumps([count, folder, os.getcwd(), refused("here")]))
"#;
    let data = house.host.data.join("p");
    assert!(!data.exists());
    for count in 0..2 {
        let result = house.call(code, json!({})).await.unwrap();
        assert_eq!(result, json!([count, data, house.plugin.root, true]));
    }
    // What lies beside it is not what it seems: it was written to nowhere.
    assert!(!house.host.data.join("other").exists());
    assert_eq!(std::fs::read_to_string(data.join("count")).unwrap(), "2");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_made_refuses_the_call() {
    let house = House::new();
    std::fs::write(&house.host.data, "a file").unwrap();
    let error = house.call("print(1)", json!({})).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("script.data_folder"));
    assert!(error.message.contains("plugin-data"), "{error}");
    let house = House::new();
    std::fs::remove_dir(&house.plugin.root).unwrap();
    let error = house.call("print(1)", json!({})).await.unwrap_err();
    assert!(error.message.contains("plugins/p"), "{error}");
}

#[tokio::test]
async fn folders_may_be_named_in_a_roundabout_way() {
    let mut house = House::new();
    let root = house.plugin.root.clone();
    house.plugin.root = root.join("../../plugins/p");
    house.host.data = house.host.data.join("../data");
    let code = "import os; print(os.getcwd(), os.path.isdir(os.environ['INNKEEPER_DATA']))";
    let result = house.call(code, json!({})).await.unwrap();
    assert_eq!(result, json!(format!("{} True", root.display())));
}
