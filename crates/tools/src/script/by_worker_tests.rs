//! Real workers in real sandboxes.

use std::sync::Mutex;

use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{ErrorCode, ToolDefinition};

use super::*;
use crate::plugin::{
    ConfigKind, ConfigOption, ConfigScope, NewValue, Permissions, PluginSettings, ScriptCommand,
    ScriptProtocol, Template, new_plugin,
};
use crate::script::{
    NoFiles, ScriptHost, ScriptLimits, ScriptPlugin, ScriptRunner, WorkerPool, for_tests,
};
use crate::{CallContext, Caller, Executor, Secret, Secrets, UserId};

#[derive(Default)]
struct Heard(Mutex<Vec<Json>>);

impl ProgressSink for Heard {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.0.lock().unwrap().push(json!([fraction, message]));
    }

    fn partial(&self, piece: &Json) {
        self.0.lock().unwrap().push(json!({"piece": piece}));
    }
}

struct House {
    _folder: tempfile::TempDir,
    executor: ScriptExecutor,
    heard: Arc<Heard>,
}

impl House {
    fn new(program: &str, file: &str, code: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let root = home.join("plugins/p");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join(file), code).unwrap();
        let settings = PluginSettings::new(&home, Secrets::new(home.join("secrets.toml")));
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
        let runner: Arc<dyn ScriptRunner> = Arc::new(for_tests());
        let host = ScriptHost {
            workers: WorkerPool::new(runner.clone()),
            runner,
            settings: Arc::new(settings),
            files: Arc::new(NoFiles),
            data: home.join("plugin-data"),
            limits: ScriptLimits::default(),
        };
        let plugin = ScriptPlugin {
            name: "p".into(),
            root,
            stamp: 0,
            options: vec![key],
            granted: Permissions::default(),
        };
        let command = ScriptCommand {
            program: program.into(),
            arguments: vec![file.into()],
            protocol: ScriptProtocol::JsonRpc,
            concurrency: Some(2),
            ..ScriptCommand::default()
        };
        Self {
            _folder: folder,
            executor: ScriptExecutor::new(host, plugin, command),
            heard: Arc::default(),
        }
    }

    fn both() -> [Self; 2] {
        [
            Self::new("python", "w.py", PYTHON),
            Self::new("node", "w.mjs", NODE),
        ]
    }

    fn invocation(&self, arguments: Json) -> Invocation {
        Invocation {
            tool: Arc::new(ToolDefinition::new("P:tool", "", json!({"type": "object"}))),
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
        }
    }

    async fn call(&self, arguments: Json) -> Result<Json, ToolError> {
        self.executor.execute(self.invocation(arguments)).await
    }

    fn heard(&self) -> Vec<Json> {
        std::mem::take(&mut *self.heard.0.lock().unwrap())
    }
}

const PYTHON: &str = r#"
import json, os, sys
count = 0
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
print("this is no message")
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] != "call":
        continue
    id, params = message["id"], message["params"]
    arguments = params["arguments"]
    do = arguments.get("do")
    count += 1
    if do == "die":
        print("no key " + os.environ["KEY"], file=sys.stderr)
        sys.exit(3)
    if do == "hang":
        send(method="progress", params={"id": id, "message": "hanging"})
        while True:
            pass
    if do == "fail":
        send(id=id, error={"code": 1, "message": "bad key " + os.environ["KEY"], "data": {"type": "DependencyError", "retryable": False}})
    elif do == "stream":
        send(method="progress", params={"id": id, "fraction": 0.5, "message": "with " + os.environ["KEY"]})
        send(method="partial", params={"id": id, "data": {"text": os.environ["KEY"]}})
        send(id=id, result={"success": True, "outputData": os.environ["KEY"], "logs": ["done"]})
    else:
        environment = sorted(k for k in os.environ if k.startswith("INNKEEPER_"))
        send(id=id, result={"count": count, "params": params, "environment": environment})
"#;

const NODE: &str = r#"
import { createInterface } from "node:readline";
let count = 0;
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const { KEY } = process.env;
console.log("this is no message");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method !== "call") continue;
  count += 1;
  switch (params.arguments.do) {
    case "die":
      console.error("no key " + KEY);
      process.exit(3);
    case "hang":
      send({ method: "progress", params: { id, message: "hanging" } });
      // Until what was said is out: nobody else would write it.
      await new Promise((done) => process.stdout.write("", done));
      for (;;) {}
    case "fail":
      send({ id, error: { code: 1, message: "bad key " + KEY, data: { type: "DependencyError", retryable: false } } });
      break;
    case "stream":
      send({ method: "progress", params: { id, fraction: 0.5, message: "with " + KEY } });
      send({ method: "partial", params: { id, data: { text: KEY } } });
      send({ id, result: { success: true, outputData: KEY, logs: ["done"] } });
      break;
    default: {
      const environment = Object.keys(process.env).filter((name) => name.startsWith("INNKEEPER_")).sort();
      send({ id, result: { count, params, environment } });
    }
  }
}
"#;

#[tokio::test]
async fn a_worker_remembers_and_is_told_who_asks() {
    for house in House::both() {
        // Line ends to some readers of lines.
        let text = "grüße 王 \u{2028}\u{2029}\u{85}\r\n\u{b}";
        for count in 1..=3 {
            let result = house.call(json!({"text": text})).await.unwrap();
            assert_eq!(
                result,
                json!({
                    "count": count,
                    "params": {
                        "tool": "P:tool",
                        "arguments": {"text": text},
                        "context": {
                            "callId": "call-1",
                            "user": "default",
                            "project": "default",
                            "attempt": 1,
                        },
                    },
                    "environment": ["INNKEEPER_DATA", "INNKEEPER_PLUGIN", "INNKEEPER_USER"],
                })
            );
        }
    }
}

#[tokio::test]
async fn a_worker_that_tells_its_secret_is_not_heard() {
    for house in House::both() {
        let result = house.call(json!({"do": "stream"})).await.unwrap();
        assert_eq!(result, "[secret p.KEY]");
        assert_eq!(
            json!(house.heard()),
            json!([
                [0.5, "with [secret p.KEY]"],
                {"piece": {"text": "[secret p.KEY]"}},
                [null, "done"],
            ])
        );
        let error = house.call(json!({"do": "fail"})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolUnavailable);
        assert_eq!(error.message, "bad key [secret p.KEY]");
        assert_eq!(error.reason.as_deref(), Some("script.dependency_error"));
        assert!(error.permanent);
    }
}

#[tokio::test]
async fn a_worker_that_dies_is_started_again() {
    for house in House::both() {
        for _ in 0..2 {
            assert_eq!(house.call(json!({})).await.unwrap()["count"], 1);
            let error = house.call(json!({"do": "die"})).await.unwrap_err();
            assert_eq!(error.reason.as_deref(), Some("script.worker_died"));
            assert_eq!(
                error.message,
                "the worker ended with exit code 3 before it answered; it said: this is no message\nno key [secret p.KEY]"
            );
            assert!(error.may_pass());
        }
    }
}

#[tokio::test]
async fn a_worker_that_hangs_is_ended_with_the_call() {
    for house in House::both() {
        assert_eq!(house.call(json!({})).await.unwrap()["count"], 1);
        let call = house.invocation(json!({"do": "hang"}));
        let cancel = call.context.cancel.clone();
        let watching = async {
            // It is at work once it says so.
            while house.heard().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(house.executor.execute(call), watching);
        assert_eq!(result.unwrap_err().code, ErrorCode::ToolCancelled);
        // The next one waits for its turn, and finds that the worker was ended, or is one of two in it and told so.
        let mut next = house.call(json!({})).await;
        if next.is_err() {
            next = house.call(json!({})).await;
        }
        assert_eq!(next.unwrap()["count"], 1, "a new one");
    }
}

#[tokio::test]
async fn what_plugin_new_makes_works() {
    for (template, program, script) in [
        (Template::PythonWorker, "python", "greet.py"),
        (Template::NodeWorker, "node", "greet.mjs"),
    ] {
        let parent = tempfile::tempdir().unwrap();
        let folder = new_plugin(parent.path(), "new", template).unwrap();
        let code = std::fs::read_to_string(folder.join("scripts").join(script)).unwrap();
        let house = House::new(program, script, &code);
        for name in ["Ada", "王"] {
            let result = house.call(json!({"name": name})).await.unwrap();
            assert_eq!(result, format!("Hello, {name}!"));
            assert_eq!(json!(house.heard()), json!([[0.5, "Taking a breath"]]));
        }
        let python = template == Template::PythonWorker;
        match house.call(json!({})).await {
            Ok(greeting) => assert_eq!(greeting, "Hello, undefined!"),
            Err(error) => assert_eq!((python, error.message.as_str()), (true, "'name'")),
        }
    }
}
