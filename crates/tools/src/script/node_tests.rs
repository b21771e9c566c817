use std::sync::Mutex;

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;

use super::*;
use crate::Secrets;
use crate::plugin::{PluginNode, PluginPackage, PluginSettings, read_plugin};
use crate::script::{
    ExitKind, NoFiles, ScriptEnd, ScriptError, ScriptJob, ScriptLimits, ScriptRunner, WorkerPool,
};

/// Prints what it was made with, and remembers what it was asked.
struct Parrot {
    stdout: String,
    asked: Mutex<Vec<ScriptJob>>,
}

#[async_trait]
impl ScriptRunner for Parrot {
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        self.asked.lock().unwrap().push(job);
        Ok(ScriptEnd {
            exit: ExitKind::Code(0),
            stdout: self.stdout.clone().into_bytes(),
            stderr: Vec::new(),
            stderr_truncated: false,
            usage: Default::default(),
        })
    }

    async fn start(&self, _: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError> {
        Err(ScriptError::Cancelled)
    }
}

struct House {
    home: tempfile::TempDir,
    package: PluginPackage,
}

impl House {
    fn new(node: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("p");
        std::fs::create_dir_all(root.join("nodes")).unwrap();
        let manifest = "name: p\nversion: '1'\nnodes: {entry: nodes}\n";
        std::fs::write(root.join("plugin.yaml"), manifest).unwrap();
        std::fs::write(root.join("s.py"), "").unwrap();
        std::fs::write(root.join("nodes/n.node.json"), node).unwrap();
        let package = read_plugin(&root).unwrap();
        Self { home, package }
    }

    fn node(&self, runner: Arc<dyn ScriptRunner>) -> ScriptNode {
        let home = self.home.path();
        let secrets = Secrets::new(home.join("secrets.toml"));
        let host = ScriptHost {
            workers: WorkerPool::new(runner.clone()),
            runner,
            settings: Arc::new(PluginSettings::new(home, secrets)),
            files: Arc::new(NoFiles),
            data: home.join("plugin-data"),
            limits: ScriptLimits::default(),
        };
        let plugin = ScriptPlugin {
            name: self.package.name.clone(),
            root: self.package.root.clone(),
            stamp: self.package.stamp,
            options: Vec::new(),
            granted: self.package.permissions.clone(),
        };
        let PluginNode {
            definition,
            command,
            ..
        } = self.package.nodes[0].clone();
        ScriptNode::new(host, plugin, definition, command.unwrap())
    }

    /// What it gave, and what it was told.
    async fn run(
        &self,
        stdout: &str,
        inputs: Json,
        config: Json,
    ) -> (Result<Json, ToolError>, Option<ScriptJob>) {
        let parrot = Arc::new(Parrot {
            stdout: stdout.to_owned(),
            asked: Mutex::default(),
        });
        let node = self.node(parrot.clone());
        let answer = node.run(map(inputs), map(config), context()).await;
        let asked = parrot.asked.lock().unwrap().pop();
        (answer.map(Json::Object), asked)
    }
}

fn map(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn context() -> NodeContext {
    NodeContext {
        caller: Arc::new(Caller::person(RunId::new("r"))),
        call_id: "c1".into(),
        attempt: 1,
        cancel: CancellationToken::new(),
        progress: Progress::default(),
    }
}

const NODE: &str = r#"{
  "type": "Sky", "description": "d",
  "implementation": {"type": "script", "command": "python s.py sky", "timeout": 7000},
  "inputs": {"place": {"dataFlowType": "STRING"}},
  "outputs": {"text": {"dataFlowType": "STRING"}, "days": {"dataFlowType": "INTEGER"}},
  "configSchema": {"units": {"dataFlowType": "STRING", "config": {"default": "metric"}},
                   "style": {"dataFlowType": "STRING"}},
  "configValues": {"style": "plain"}
}"#;

#[tokio::test]
async fn a_script_is_told_its_node_its_inputs_and_all_settings() {
    let house = House::new(NODE);
    let (_, asked) = house
        .run("{}", json!({"place": "Oslo"}), json!({"style": "odd"}))
        .await;
    let job = asked.unwrap();
    let told: Json = serde_json::from_slice(&job.stdin).unwrap();
    let expected = json!({
        "node": "p:Sky",
        "inputs": {"place": "Oslo"},
        "config": {"style": "odd", "units": "metric"},
    });
    assert_eq!(told, expected);
    assert_eq!(job.program, "python");
    assert_eq!(job.arguments, ["s.py", "sky"]);
    assert_eq!(job.directory, house.package.root);
    assert_eq!(job.limits.timeout.as_secs(), 7);
    let variable = |name: &str| {
        let found = job.environment.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.expose().to_owned())
    };
    assert_eq!(variable("INNKEEPER_TOOL").as_deref(), Some("p:Sky"));
    assert_eq!(variable("INNKEEPER_CALL_ID").as_deref(), Some("c1"));
    let (_, asked) = house.run("{}", json!({}), json!({})).await;
    let told: Json = serde_json::from_slice(&asked.unwrap().stdin).unwrap();
    assert_eq!(told["config"], json!({"style": "plain", "units": "metric"}));
}

#[tokio::test]
async fn answers_are_held_against_the_declared_outputs() {
    let house = House::new(NODE);
    for (stdout, expected) in [
        (
            r#"{"text": "blue", "days": 2}"#,
            json!({"text": "blue", "days": 2}),
        ),
        (
            r#"{"success": true, "outputData": {"days": 2.0}}"#,
            json!({"text": null, "days": 2.0}),
        ),
        (
            r#"{"days": 1, "text": null}"#,
            json!({"text": null, "days": 1}),
        ),
        ("", json!({"text": null, "days": null})),
    ] {
        let (answer, _) = house.run(stdout, json!({}), json!({})).await;
        assert_eq!(answer, Ok(expected), "{stdout}");
    }
    for (stdout, says) in [
        (
            r#"{"text": 1}"#,
            "the node p:Sky gave a number for the output 'text', which is of the type STRING",
        ),
        (r#"{"days": 1.5}"#, "'days', which is of the type INTEGER"),
        (
            r#"{"text": "a", "sky": 1, "sea": 2}"#,
            "does not declare: 'sky', 'sea'; declared are: text, days",
        ),
        ("blue", "answered with a text"),
        ("[1]", "(text, days)"),
    ] {
        let (answer, _) = house.run(stdout, json!({}), json!({})).await;
        let error = answer.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolResultInvalid);
        assert_eq!(error.reason.as_deref(), Some("node.outputs"));
        assert!(!error.may_pass());
        assert!(error.message.contains(says), "{error}");
    }
    let failure = r#"{"success": false, "error": {"type": "ScriptError", "message": "no sky"}}"#;
    let (answer, _) = house.run(failure, json!({}), json!({})).await;
    assert_eq!(answer.unwrap_err().message, "no sky");
}

#[tokio::test]
async fn a_node_with_dynamic_slots_may_give_more() {
    let house = House::new(&NODE.replace(
        r#""type": "Sky","#,
        r#""type": "Sky", "dynamicSlots": true,"#,
    ));
    let (answer, _) = house.run(r#"{"more": 1}"#, json!({}), json!({})).await;
    let expected = json!({"text": null, "days": null, "more": 1});
    assert_eq!(answer, Ok(expected));
}

#[tokio::test]
async fn the_mode_decides_what_comes_out() {
    let house = House::new(
        r#"{
          "type": "Calc", "description": "d",
          "implementation": {"type": "script", "command": "python s.py"},
          "configSchema": {"way": {"dataFlowType": "STRING"}},
          "modes": {
            "add": {"inputs": {}, "outputs": {"sum": {"dataFlowType": "FLOAT"}}},
            "split": {"inputs": {}, "outputs": {"parts": {"dataFlowType": "ARRAY"}}}
          },
          "defaultModeId": "add", "modeConfigKey": "way"
        }"#,
    );
    for (config, mode, stdout, expected) in [
        (json!({}), "add", r#"{"sum": 1}"#, json!({"sum": 1})),
        (
            json!({"way": "split"}),
            "split",
            r#"{"parts": []}"#,
            json!({"parts": []}),
        ),
    ] {
        let (answer, asked) = house.run(stdout, json!({}), config).await;
        assert_eq!(answer, Ok(expected));
        let told: Json = serde_json::from_slice(&asked.unwrap().stdin).unwrap();
        assert_eq!(told["mode"], json!(mode));
    }
    for way in [json!("divide"), json!(3)] {
        let (answer, asked) = house.run("{}", json!({}), json!({"way": way})).await;
        let error = answer.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some("node.unknown_mode"));
        assert!(error.message.contains("there are: add, split"), "{error}");
        assert!(asked.is_none(), "nothing is run");
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<Json>>);

impl ProgressSink for Heard {
    fn report(&self, _: Option<f64>, message: &str) {
        self.0.lock().unwrap().push(message.into());
    }

    fn partial(&self, piece: &Json) {
        self.0.lock().unwrap().push(piece.clone());
    }
}

#[test]
fn only_declared_pieces_get_through() {
    let heard = Arc::new(Heard::default());
    let pieces = Pieces {
        streams: vec![("text".into(), DataFlowType::String)],
        progress: Progress::to(heard.clone()),
        fault: Mutex::default(),
    };
    pieces.report(None, "begun");
    pieces.partial(&json!({"text": "a"}));
    assert_eq!(pieces.fault(), None);
    for (piece, says) in [
        (json!("a"), "gave a text as a piece"),
        (json!({"other": "a"}), "'other', which is no stream output"),
        (
            json!({"text": 1}),
            "a number as a piece of 'text', which is of the type STRING",
        ),
    ] {
        pieces.partial(&piece);
        pieces.partial(&json!({"later": 1}));
        let fault = pieces.fault().unwrap();
        assert!(fault.contains(says), "{fault}");
    }
    pieces.partial(&json!(1));
    pieces.start_over();
    assert_eq!(pieces.fault(), None, "what came before counts no more");
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(heard, [json!("begun"), json!({"text": "a"})]);
}
