//! Nodes of plugins whose results are kept: only the script's work is saved, never a decision about it.

use std::fs;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_engine::{EventBody, Heard};
use innkeeper_protocol::Observation;
use innkeeper_protocol::event::RunId;
use innkeeper_sandbox::{Sandbox, SandboxOptions};
use innkeeper_store::AuditOutcome;
use innkeeper_tools::hook::{Hook, HookAction, HookError, HookPoint};
use innkeeper_tools::plugin::{ConfigScope, NewValue, PluginSettings, read_plugin};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::registry::Source;
use innkeeper_tools::script::{
    Interpreters, SandboxRunner, ScriptFiles, ScriptHost, ScriptLimits, ScriptNode, ScriptPlugin,
    WorkerPool, node_type,
};
use innkeeper_tools::{Caller, Pattern, ProjectId, RunOptions, Secret, Secrets, ToolError, UserId};
use serde_json::{Value as Json, json};

use super::harness::{codes, result, told};
use super::workflow_nodes::{Flows, request};

const MANIFEST: &str = "\
name: inn
version: '1'
nodes: {entry: nodes}
permissions: {files: {write: [project]}}
configOptions:
  - {key: sugar, type: string, label: Sugar}
  - {key: cellar, type: secret, label: Cellar}
";

/// Writes down each time that it is run.
const SCRIPT: &str = r#"
import json, os, sys
told = json.load(sys.stdin)
word = told["inputs"]["word"]
notes = os.path.join(os.environ["INNKEEPER_DATA"], "ran")
with open(notes, "a") as ran:
    ran.write(word + "\n")
drink = {"drink": word + told["config"]["mark"]}
if word == "bad" or (word == "flaky" and open(notes).read() == "flaky\n"):
    print(json.dumps({"success": False, "error": {"type": "E", "message": "spilt"}}))
elif word == "file":
    files = [{"uri": "a.txt", "text": "made"}]
    print(json.dumps({"success": True, "outputData": drink, "files": files}))
else:
    print(json.dumps(drink))
"#;

fn node(name: &str, deterministic: Option<bool>, output: Json) -> Json {
    let mut node = json!({
        "type": name,
        "inputs": {"word": {"dataFlowType": "STRING"}},
        "outputs": {"drink": output},
        "configSchema": {"mark": {"dataFlowType": "STRING", "config": {"default": "!"}}},
        "implementation": {"type": "script", "command": "python brew.py"},
    });
    if let Some(deterministic) = deterministic {
        node["deterministic"] = deterministic.into();
    }
    node
}

/// Takes every file.
struct AnyFiles;

#[async_trait]
impl ScriptFiles for AnyFiles {
    async fn read(
        &self,
        _: &Caller,
        _: &str,
        _: &[Pattern],
        _: usize,
    ) -> Result<Vec<u8>, ToolError> {
        Ok(Vec::new())
    }

    async fn write(&self, _: &Caller, _: &str, _: Vec<u8>, _: &[Pattern]) -> Result<(), ToolError> {
        Ok(())
    }
}

struct Inn {
    flows: Flows,
    settings: Arc<PluginSettings>,
}

impl Inn {
    /// A plugin with a real script, and a workflow of the library in which one node takes what the other gives.
    async fn new() -> Self {
        let flows = Flows::new().await;
        let home = flows.world.home.path();
        let inn = Self {
            settings: Arc::new(PluginSettings::new(
                home,
                Secrets::new(home.join("secrets.toml")),
            )),
            flows,
        };
        inn.write("plugin.yaml", MANIFEST);
        inn.write("brew.py", SCRIPT);
        let (value, stream) = (
            json!({"dataFlowType": "STRING"}),
            json!({"dataFlowType": "STRING", "isStream": true}),
        );
        for (name, deterministic, output) in [
            ("Brew", Some(true), &value),
            ("Guess", None, &value),
            ("Lie", Some(false), &value),
            ("Pour", Some(true), &stream),
        ] {
            let node = node(name, deterministic, output.clone());
            inn.write(&format!("nodes/{name}.node.json"), &node.to_string());
        }
        inn.load();
        inn.workflow(["Brew", "Brew"], |_| {});
        inn
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.flows.world.home.path().join("inn").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The plugin as it is now.
    fn load(&self) {
        let home = self.flows.world.home.path();
        let launcher = innkeeper_testkit::room::launcher();
        let sandbox = Sandbox::new(SandboxOptions::new(launcher));
        let runner = Arc::new(SandboxRunner::new(sandbox, Interpreters::default()));
        let host = ScriptHost {
            workers: WorkerPool::new(runner.clone()),
            runner,
            settings: self.settings.clone(),
            files: Arc::new(AnyFiles),
            data: home.join("plugin-data"),
            limits: ScriptLimits::default(),
        };
        let package = read_plugin(&home.join("inn")).unwrap();
        let plugin = ScriptPlugin {
            name: package.name.clone(),
            root: package.root.clone(),
            stamp: package.stamp,
            options: package.config.clone(),
            granted: package.permissions.clone(),
        };
        let nodes = package.nodes.iter().map(|node| {
            let command = node.command.clone().unwrap();
            let definition = node.definition.clone();
            let node = ScriptNode::new(host.clone(), plugin.clone(), definition, command);
            node_type(Arc::new(node))
        });
        let engine = self.flows.workflows.engine();
        engine.nodes().replace("inn", nodes.collect()).unwrap();
    }

    fn workflow(&self, kinds: [&str; 2], change: impl FnOnce(&mut Json)) {
        let edge = |from: (&str, &str), to: (&str, &str)| {
            let id = format!("{}-{}", from.0, to.0);
            json!({"id": id, "source": from.0, "sourceHandle": from.1, "target": to.0, "targetHandle": to.1})
        };
        let node = |id: &str, kind: &str| json!({"id": id, "type": format!("inn:{kind}")});
        let mut workflow = json!({
            "name": "Brewing",
            "nodes": [
                node("first", kinds[0]),
                node("second", kinds[1]),
                {"id": "in", "type": "core:GroupInput"},
                {"id": "out", "type": "core:GroupOutput"},
            ],
            "edges": [
                edge(("in", "word"), ("first", "word")),
                edge(("first", "drink"), ("second", "word")),
                edge(("second", "drink"), ("out", "drink")),
            ],
            "interfaceInputs": {"word": {"dataFlowType": "STRING"}},
            "interfaceOutputs": {"drink": {"dataFlowType": "STRING"}},
        });
        change(&mut workflow);
        self.flows.library("brewing", &workflow);
        self.flows.reload();
    }

    async fn run_as(&self, caller: Caller, options: RunOptions, word: &str) -> Observation {
        let run = self.flows.world.manager.begin(caller, options);
        let asked = request("workflow:brewing", &json!({ "word": word }));
        run.run_call(&asked).await
    }

    async fn run(&self, word: &str) -> Observation {
        let caller = Caller::person(RunId::new("r"));
        self.run_as(caller, RunOptions::default(), word).await
    }

    /// What the script was run with since this was last asked.
    fn ran(&self) -> Vec<String> {
        let notes = self.flows.world.home.path().join("plugin-data/inn/ran");
        let ran = fs::read_to_string(&notes).unwrap_or_default();
        let _ = fs::remove_file(notes);
        ran.lines().map(str::to_owned).collect()
    }

    fn rules(&self, rules: Json) {
        let rules = Policy::read(rules.as_array().unwrap().clone()).unwrap();
        self.flows.world.manager.set_policy(rules);
    }
}

#[tokio::test]
async fn an_edited_workflow_runs_only_what_changed() {
    let inn = Inn::new().await;
    let engine = inn.flows.workflows.engine().clone();
    let mark_second = |mark: &str| {
        inn.workflow(["Brew", "Brew"], |workflow| {
            workflow["nodes"][1]["configValues"] = json!({ "mark": mark });
        });
    };
    let mut rows = Vec::new();
    for (mark, word, ran, drink) in [
        ("!", "tea", &["tea", "tea!"][..], "tea!!"),
        ("!", "tea", &[], "tea!!"),
        ("?", "tea", &["tea!"], "tea!?"),
        ("!", "tea", &[], "tea!!"),
        ("?", "ale", &["ale", "ale!"], "ale!?"),
    ] {
        mark_second(mark);
        let mut events = engine.subscribe();
        let said = inn.run(word).await;
        assert_eq!(
            result(&said),
            drink,
            "{:?}",
            told(std::slice::from_ref(&said))
        );
        assert_eq!(inn.ran(), ran, "{mark} {word}");
        // Each is told as what it was.
        let mut cached = Vec::new();
        while let Some(Heard::Event(event)) = events.try_next() {
            if let EventBody::NodeComplete {
                node, cached: yes, ..
            } = &event.body
                && node.info.full_type.starts_with("inn:")
            {
                cached.push(*yes);
            }
        }
        let expected = [ran.len() < 2, ran.is_empty()];
        assert_eq!(cached, expected, "{mark} {word}");
        rows.extend(expected);
    }
    // And the log shows every call, and where its answer came from.
    let audit = inn.flows.world.audit().await;
    let shown: Vec<_> = audit
        .iter()
        .filter(|row| row.entry.tool == "inn:Brew")
        .map(|row| {
            assert_eq!(row.entry.outcome, AuditOutcome::Success);
            let message = row.entry.message.as_deref().unwrap_or_default();
            let is_kept = message.contains("a result that was kept");
            assert_eq!(is_kept, row.entry.attempts == 0, "{message}");
            is_kept
        })
        .collect();
    assert_eq!(shown, rows);
}

/// What was kept by one is for nobody else, and for nothing else.
#[tokio::test]
async fn it_runs_anew_where_anything_differs() {
    let inn = Inn::new().await;
    let option = |key: &str| {
        let package = read_plugin(&inn.flows.world.home.path().join("inn")).unwrap();
        let mut options = package.config.into_iter();
        options.find(|option| option.key == key).unwrap()
    };
    let set = |key: &str, value: NewValue| {
        let user = Caller::person(RunId::new("r")).user;
        let settings = &inn.settings;
        settings
            .set("inn", &option(key), ConfigScope::User, &user, value)
            .unwrap();
    };
    let both = ["tea", "tea!"];
    let person = || Caller::person(RunId::new("r"));
    let usual = RunOptions::default;
    assert_eq!(result(&inn.run("tea").await), "tea!!");
    assert_eq!(inn.ran(), both);

    let mut caller = person();
    caller.user = UserId::try_from("somebody-else").unwrap();
    inn.run_as(caller, usual(), "tea").await;
    assert_eq!(inn.ran(), both, "another user");

    let mut caller = person();
    caller.project = ProjectId::try_from("elsewhere").unwrap();
    inn.run_as(caller, usual(), "tea").await;
    assert_eq!(inn.ran(), both, "another project");

    for sugar in ["one", "two"] {
        set("sugar", NewValue::Plain(sugar.into()));
        inn.run("tea").await;
        assert_eq!(inn.ran(), both, "another setting: {sugar}");
    }
    for place in ["under the stairs", "behind the barrel"] {
        set("cellar", NewValue::Secret(Secret::new(place)));
        inn.run("tea").await;
        assert_eq!(inn.ran(), both, "another secret: {place}");
    }

    let fresh = RunOptions {
        fresh: true,
        ..usual()
    };
    inn.run_as(person(), fresh, "tea").await;
    assert_eq!(inn.ran(), both, "a fresh run");

    inn.load();
    inn.run("tea").await;
    assert_eq!(inn.ran(), [""; 0], "the same plugin, loaded again");

    inn.write("brew.py", &format!("{SCRIPT}\n# edited\n"));
    inn.run("tea").await;
    assert_eq!(inn.ran(), both, "an edited script");
    inn.write("brew.py", &format!("{SCRIPT}\n# edited again\n"));
    inn.load();
    inn.run("tea").await;
    assert_eq!(inn.ran(), both, "an edited plugin");
    for mark in ["node_modules/.package-lock.json", ".venv/pyvenv.cfg"] {
        inn.write(mark, "installed");
        inn.run("tea").await;
        assert_eq!(inn.ran(), both, "other dependencies: {mark}");
        inn.run("tea").await;
        assert_eq!(inn.ran(), [""; 0], "{mark}");
    }

    inn.workflow(["Brew", "Brew"], |workflow| {
        workflow["nodes"][0]["execution"] = json!({ "cache": false });
    });
    inn.run("tea").await;
    assert_eq!(inn.ran(), ["tea"], "a node that wants nothing kept");
}

#[tokio::test]
async fn what_must_not_be_kept_is_not() {
    for (kinds, word, ran) in [
        // Who does not say so is not believed to be.
        (["Guess", "Brew"], "tea", &["tea"][..]),
        (["Lie", "Brew"], "tea", &["tea"]),
        (["Pour", "Brew"], "tea", &["tea"]),
        // Files that were written are not written by a result.
        (["Brew", "Brew"], "file", &["file"]),
        (["Brew", "Brew"], "bad", &["bad"]),
    ] {
        let inn = Inn::new().await;
        // Nor where the workflow asks for it.
        inn.workflow(kinds, |workflow| {
            workflow["nodes"][0]["execution"] = json!({ "cache": true });
        });
        let first = inn.run(word).await;
        inn.ran();
        let again = inn.run(word).await;
        assert_eq!(inn.ran(), ran, "{kinds:?} {word}");
        assert_eq!(codes(&[again]), codes(&[first]), "{kinds:?} {word}");
    }
}

/// The failure of a first try is not kept; the good end of the second is.
#[tokio::test]
async fn what_works_the_second_time_is_kept_as_it_worked() {
    let inn = Inn::new().await;
    inn.workflow(["Brew", "Brew"], |workflow| {
        workflow["nodes"][0]["execution"] = json!({ "retry": 2, "retryDelayMs": 1 });
    });
    let said = inn.run("flaky").await;
    assert_eq!(
        result(&said),
        "flaky!!",
        "{:?}",
        told(std::slice::from_ref(&said))
    );
    assert_eq!(inn.ran(), ["flaky", "flaky", "flaky!"]);
    assert_eq!(result(&inn.run("flaky").await), "flaky!!");
    assert_eq!(inn.ran(), [""; 0]);
}

#[tokio::test]
async fn a_rule_holds_for_what_is_kept() {
    let inn = Inn::new().await;
    inn.run("tea").await;
    inn.ran();
    for (rule, why) in [
        (json!({"tool": "inn:Brew", "decision": "deny"}), "forbids"),
        (
            json!({"tool": "inn:Brew", "arguments": {"word": "tea!"}, "decision": "deny"}),
            "forbids",
        ),
        (json!({"source": "plugin:inn", "decision": "ask"}), "nobody"),
    ] {
        inn.rules(json!([rule]));
        let said = inn.run("tea").await;
        let text = told(&[said]).remove(0);
        assert!(text.contains(why), "{rule}: {text}");
        assert_eq!(inn.ran(), [""; 0]);
    }
    let audit = inn.flows.world.audit().await;
    let denied = audit
        .iter()
        .filter(|row| row.entry.tool == "inn:Brew" && row.entry.outcome == AuditOutcome::Denied);
    assert_eq!(denied.count(), 3);
    inn.rules(json!([]));
    assert_eq!(result(&inn.run("tea").await), "tea!!");
    assert_eq!(inn.ran(), [""; 0]);
}

/// Says what is put into it.
struct Says(HookPoint, Mutex<Option<HookAction>>);

#[async_trait]
impl Hook for Says {
    fn name(&self) -> &str {
        "test:says"
    }
    fn point(&self) -> HookPoint {
        self.0
    }
    fn concerns(&self, subject: &str) -> bool {
        subject == "inn:Brew"
    }
    async fn run(&self, _: &Json) -> Result<HookAction, HookError> {
        let action = self.1.lock().unwrap().clone();
        Ok(action.unwrap_or(HookAction::Continue))
    }
}

#[tokio::test]
async fn hooks_are_asked_about_what_is_kept() {
    let inn = Inn::new().await;
    let before = Arc::new(Says(HookPoint::ToolBeforeCall, Mutex::default()));
    let after = Arc::new(Says(HookPoint::ToolAfterCall, Mutex::default()));
    let source = Source {
        hooks: vec![before.clone(), after.clone()],
        ..Source::default()
    };
    let registry = inn.flows.world.manager.registry();
    registry.replace("plugin:hooks", source).unwrap();
    let say = |hook: &Says, action: Option<HookAction>| *hook.1.lock().unwrap() = action;

    // What is withheld is not kept.
    let refuse = HookAction::Refuse {
        reason: "not today".to_owned(),
    };
    say(&after, Some(refuse.clone()));
    for _ in 0..2 {
        let text = told(&[inn.run("tea").await]).remove(0);
        assert!(text.contains("not today"), "{text}");
        assert_eq!(inn.ran(), ["tea"]);
    }
    say(&after, None);
    assert_eq!(result(&inn.run("tea").await), "tea!!");
    assert_eq!(inn.ran(), ["tea", "tea!"]);

    // What a hook makes of the arguments is what counts.
    let milk = HookAction::Change {
        value: json!({"word": "milk"}),
    };
    say(&before, Some(milk));
    assert_eq!(result(&inn.run("tea").await), "milk!");
    assert_eq!(inn.ran(), ["milk"]);
    say(&before, Some(refuse));
    let text = told(&[inn.run("tea").await]).remove(0);
    assert!(text.contains("not today"), "{text}");
    say(&before, None);

    // And of what was kept, each time.
    let water = HookAction::Change {
        value: json!({"drink": "water"}),
    };
    say(&after, Some(water));
    assert_eq!(result(&inn.run("milk").await), "water");
    assert_eq!(inn.ran(), ["milk", "water"]);
    say(&after, None);
    assert_eq!(result(&inn.run("milk").await), "milk!!");
    assert_eq!(inn.ran(), ["milk!"]);
}
