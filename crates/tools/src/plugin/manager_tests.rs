use std::fs;
use std::path::Path;

use async_trait::async_trait;
use innkeeper_engine::{EngineOptions, ExecutionEngine, NodeManager};
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{Observation, parse, render_observation};
use innkeeper_store::{LocalBus, Store};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::builtin;
use crate::hook::{Hook, HookAction, HookError, HookPoint};
use crate::policy::{Nobody, Policy};
use crate::registry::Lookup;
use crate::script::{ScriptLimits, for_tests};
use crate::workflow::WorkflowParts;
use crate::{Caller, FileLayer, Parts, Reach, RunOptions, Secrets, SystemClock};

fn for_workflows(home: &Path, manager: &ToolManager) -> WorkflowService {
    WorkflowService::new(WorkflowParts {
        engine: ExecutionEngine::new(NodeManager::new(), EngineOptions::default()),
        home: home.to_owned(),
        models: None,
        bus: manager.bus().clone(),
    })
}

/// A home with a folder for plugins and all that plugins need.
struct House {
    home: TempDir,
    manager: ToolManager,
    plugins: PluginManager,
}

impl House {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = FileLayer::open(home.path()).unwrap();
        let manager = ToolManager::new(Parts {
            files: files.clone(),
            store: Store::in_memory().await.unwrap(),
            bus: Arc::new(LocalBus::default()),
            approver: Arc::new(Nobody),
            policy: Policy::default(),
            clock: Arc::new(SystemClock),
        });
        let tools = builtin::source(builtin::file::tools(&files)).unwrap();
        manager.registry().replace(builtin::SOURCE, tools).unwrap();
        let folder = home.path().join("plugins");
        fs::create_dir(&folder).unwrap();
        let secrets = Secrets::new(home.path().join("secrets.toml"));
        let plugins = PluginManager::new(PluginParts {
            manager: manager.clone(),
            loader: PluginLoader::new(vec![folder]),
            consents: Consents::new(home.path()),
            settings: Arc::new(PluginSettings::new(home.path(), secrets)),
            runner: Arc::new(for_tests()),
            files: Arc::new(files),
            data: home.path().join("plugin-data"),
            limits: ScriptLimits::default(),
            workflows: for_workflows(home.path(), &manager),
        });
        Self {
            home,
            manager,
            plugins,
        }
    }

    fn plugin(&self, name: &str, more: &str) -> std::path::PathBuf {
        let root = self.home.path().join("plugins").join(name);
        fs::create_dir_all(root.join("tools")).unwrap();
        let manifest = format!("name: {name}\nversion: \"1.0\"\ntools:\n  entry: ./tools\n{more}");
        write(&root.join("plugin.yaml"), &manifest);
        root
    }

    /// A tool that prints its standard input back.
    fn script_tool(&self, root: &Path, id: &str) {
        write(
            &root.join("echo.py"),
            "import sys\nprint(sys.stdin.read())\n",
        );
        let tool = json!({
            "id": id,
            "description": "Says it again.",
            "implementation": {"type": "script", "command": "python echo.py"},
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        });
        let name = id.replace([':', '.'], "-");
        write(
            &root.join(format!("tools/{name}.tool.json")),
            &tool.to_string(),
        );
    }

    fn standing(&self, name: &str) -> Standing {
        self.plugins.find(name).unwrap().state
    }

    fn accept(&self, name: &str) {
        let asked = self
            .plugins
            .find(name)
            .unwrap()
            .package
            .unwrap()
            .permissions;
        self.plugins.enable(name, &asked).unwrap();
    }

    fn has(&self, id: &str) -> bool {
        matches!(
            self.manager.registry().snapshot().find(id),
            Lookup::Found(_)
        )
    }

    async fn say(&self, text: &str) -> Vec<String> {
        let caller = Caller::agent("test", RunId::new("r"), Reach::everything());
        let run = self.manager.begin(caller, RunOptions::default());
        let said: Vec<Observation> = run.run_reply(&parse(text)).await;
        said.iter().map(render_observation).collect()
    }
}

/// In one go: whoever watches the folder never sees half a file.
fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}

fn problems(standing: Standing) -> Vec<(&'static str, String)> {
    match standing {
        Standing::Broken { problems } => problems
            .into_iter()
            .map(|problem| (problem.code, problem.message))
            .collect(),
        other => panic!("not broken: {other:?}"),
    }
}

const CALL: &str = "<ACTION><Echo><text>good evening</text></Echo></ACTION>";

/// The platform's own timer is as long, and must not come first.
#[tokio::test]
async fn a_script_that_is_out_of_time_is_heard_to_its_end() {
    let house = House::new().await;
    let root = house.plugin("slow", "");
    write(
        &root.join("slow.py"),
        "import sys, time\nprint('counting sheep', file=sys.stderr, flush=True)\ntime.sleep(600)\n",
    );
    for (id, protocol) in [("Slow", "stdio"), ("SlowWorker", "jsonrpc")] {
        let tool = json!({
            "id": id,
            "description": "Takes long.",
            "implementation": {
                "type": "script", "command": "python slow.py", "timeout": 2_000, "protocol": protocol,
            },
        });
        write(
            &root.join(format!("tools/{id}.tool.json")),
            &tool.to_string(),
        );
    }
    house.plugins.reload();
    house.accept("slow");
    for id in ["Slow", "SlowWorker"] {
        let said = house.say(&format!("<ACTION><{id}/></ACTION>")).await;
        let [said] = said.as_slice() else {
            panic!("{said:?}");
        };
        for part in ["tool.timeout", "2000 ms", "counting sheep"] {
            assert!(said.contains(part), "no {part} in {said}");
        }
    }
}

#[tokio::test]
async fn a_plugin_waits_until_a_person_has_accepted_what_it_asks_for() {
    let house = House::new().await;
    let root = house.plugin("echo", "");
    house.script_tool(&root, "Echo");
    house.plugins.reload();
    let Standing::Pending { new } = house.standing("echo") else {
        panic!("{:?}", house.standing("echo"));
    };
    assert_eq!(
        new.iter().map(|one| one.as_str()).collect::<Vec<_>>(),
        ["run:python"]
    );
    assert!(!house.has("Echo"));

    let too_little = house.plugins.enable("echo", &Permissions::default());
    assert!(matches!(too_little, Err(PluginError::NotAccepted { .. })));
    house.accept("echo");
    assert_eq!(house.standing("echo"), Standing::Enabled);
    assert_eq!(
        house.say(CALL).await,
        ["Observation: Tool Echo executed successfully. Result: {\"text\":\"good evening\"}"]
    );

    house.plugins.disable("echo").unwrap();
    assert!(!house.has("Echo"));
    house.accept("echo");

    // The next version asks for more.
    house.plugin("echo", "permissions:\n  network: [example.com]\n");
    house.plugins.reload();
    let Standing::Pending { new } = house.standing("echo") else {
        panic!("{:?}", house.standing("echo"));
    };
    assert!(new.has("net:example.com") && !new.has("run:python"));
    assert!(!house.has("Echo"));
}

#[tokio::test]
async fn a_plugin_that_asks_for_nothing_is_on_at_once() {
    let house = House::new().await;
    let root = house.plugin("reader", "");
    let tool = json!({
        "id": "Reader.Read",
        "description": "Reads.",
        "implementation": {"type": "service", "service": "File.Read"},
        "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    });
    write(&root.join("tools/read.tool.json"), &tool.to_string());
    house.plugins.reload();
    assert_eq!(house.standing("reader"), Standing::Enabled);
    house.say("<ACTION><File.Write><file_path>a.txt</file_path><content>salt</content></File.Write></ACTION>").await;
    let said = house
        .say("<ACTION><Reader.Read><file_path>a.txt</file_path></Reader.Read></ACTION>")
        .await;
    assert!(said[0].contains("salt"), "{said:?}");
}

/// A service under a new name is still that service: rules and profiles that speak of it hold.
#[tokio::test]
async fn another_name_for_a_service_is_no_way_around_its_rules() {
    let house = House::new().await;
    let root = house.plugin("tidy", "");
    let tool = json!({
        "id": "Tidy.Up",
        "description": "Tidies up.",
        "implementation": {"type": "service", "service": "File.Delete"},
        "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    });
    write(&root.join("tools/tidy.tool.json"), &tool.to_string());
    house.plugins.reload();
    assert_eq!(house.standing("tidy"), Standing::Enabled);
    house.say("<ACTION><File.Write><file_path>a.txt</file_path><content>salt</content></File.Write></ACTION>").await;
    let call = "<ACTION><Tidy.Up><file_path>a.txt</file_path></Tidy.Up></ACTION>";
    let said = house.say(call).await;
    assert!(said[0].contains("nobody could be asked"), "{said:?}");

    let allowed = json!({"tool": "*", "decision": "allow"});
    house
        .manager
        .set_policy(Policy::read(vec![allowed]).unwrap());
    let reach = Reach {
        deny: vec!["File.Delete".into()],
        ..Reach::everything()
    };
    let caller = Caller::agent("x", RunId::new("r"), reach);
    let run = house.manager.begin(caller, RunOptions::default());
    let said = run.run_reply(&parse(call)).await;
    assert!(said[0].error_code().is_some(), "{said:?}");
    let read = "<ACTION><File.Read><file_path>a.txt</file_path></File.Read></ACTION>";
    assert!(house.say(read).await[0].contains("salt"));
    let guard = Source {
        hooks: vec![Arc::new(Guard)],
        ..Source::default()
    };
    house.manager.registry().replace("guard", guard).unwrap();
    let said = house.say(call).await;
    assert!(said[0].contains("guarded File.Delete"), "{said:?}");
    house.manager.registry().remove("guard");
    let said = house.say(call).await;
    assert!(said[0].contains("successfully"), "{said:?}");
}

/// Refuses every deletion.
struct Guard;

#[async_trait]
impl Hook for Guard {
    fn name(&self) -> &str {
        "guard"
    }
    fn point(&self) -> HookPoint {
        HookPoint::ToolBeforeCall
    }
    fn concerns(&self, subject: &str) -> bool {
        subject == "File.Delete"
    }
    async fn run(&self, subject: &serde_json::Value) -> Result<HookAction, HookError> {
        Ok(HookAction::Refuse {
            reason: format!("guarded {}", subject["service"].as_str().unwrap()),
        })
    }
}

#[tokio::test]
async fn a_name_that_is_taken_breaks_the_later_plugin_only() {
    let house = House::new().await;
    for (name, id) in [
        ("a", "Echo"),
        ("b", "Echo"),
        ("c", "File.Write"),
        ("d", "Other"),
    ] {
        let root = house.plugin(name, "");
        house.script_tool(&root, id);
    }
    house.plugins.reload();
    for name in ["a", "b", "c", "d"] {
        if let Standing::Pending { .. } = house.standing(name) {
            house.accept(name);
        }
    }
    assert_eq!(house.standing("a"), Standing::Enabled);
    assert_eq!(house.standing("d"), Standing::Enabled);
    for (name, owner) in [("b", "plugin:a"), ("c", "builtin")] {
        let problems = problems(house.standing(name));
        assert_eq!(problems[0].0, "tool.id_taken");
        assert!(problems[0].1.contains(owner), "{problems:?}");
    }
    assert!(house.has("Other"));
}

/// The only plugin there is: what it had before it broke must not outlive it.
#[tokio::test]
async fn a_plugin_that_breaks_and_goes_leaves_nothing_behind() {
    let house = House::new().await;
    let root = house.plugin("a", "");
    house.script_tool(&root, "Echo");
    house.plugins.reload();
    house.accept("a");
    assert!(house.has("Echo"));
    house.script_tool(&root, "File.Write");
    house.plugins.reload();
    assert_eq!(problems(house.standing("a"))[0].0, "tool.id_taken");
    assert!(!house.has("Echo"));
    house.plugins.disable("a").unwrap();
    assert!(!house.has("Echo"));
}

#[tokio::test]
async fn a_service_is_replaced_only_with_the_permission() {
    let house = House::new().await;
    let services = "services:\n  - name: File.Stat\n    run: python stat.py\n";
    let root = house.plugin("stat", services);
    write(&root.join("stat.py"), "print('{\"size\": 42}')\n");
    house.plugins.reload();
    assert_eq!(problems(house.standing("stat"))[0].0, "tool.service_taken");

    let granted = format!("{services}permissions:\n  services:\n    override: [File.Stat]\n");
    house.plugin("stat", &granted);
    house.plugins.reload();
    house.accept("stat");
    assert_eq!(house.standing("stat"), Standing::Enabled);
    let call = "<ACTION><File.Stat><file_path>nothing</file_path></File.Stat></ACTION>";
    let said = house.say(call).await;
    assert!(said[0].ends_with("Result: {\"size\":42}"), "{said:?}");
    house.plugins.disable("stat").unwrap();
    assert!(house.say(call).await[0].contains("workspace.file_not_found"));
}

#[tokio::test]
async fn a_hook_of_a_plugin_is_asked() {
    let house = House::new().await;
    let more = "permissions:\n  hooks: [\"tool:before-call\"]\nhooks:\n  - on: hook:server:tool:before-call\n    run: python guard.py\n    tools: [\"File.*\"]\n";
    let root = house.plugin("guard", more);
    let guard = r#"import json, sys
subject = json.load(sys.stdin)
if "secret" in subject["arguments"].get("file_path", ""):
    print(json.dumps({"action": "refuse", "reason": "that file is not yours"}))
else:
    print(json.dumps({"action": "continue"}))
"#;
    write(&root.join("guard.py"), guard);
    house.plugins.reload();
    house.accept("guard");
    let write_to = |name: &str| {
        format!(
            "<ACTION><File.Write><file_path>{name}</file_path><content>x</content></File.Write></ACTION>"
        )
    };
    let said = house.say(&write_to("secret.txt")).await;
    assert!(said[0].contains("that file is not yours"), "{said:?}");
    assert!(
        !house
            .home
            .path()
            .join("projects/default/secret.txt")
            .exists()
    );
    assert!(house.say(&write_to("plain.txt")).await[0].contains("successfully"));
}

/// What the guide shows is what people begin with.
#[tokio::test]
async fn the_hooks_of_the_guide_do_what_it_says() {
    let guide = include_str!("../../../../docs/plugins.md");
    let (_, guard) = guide
        .split_once("```python file=scripts/guard.py\n")
        .unwrap();
    let (guard, _) = guard.split_once("```").unwrap();
    let mut actions = guide
        .lines()
        .filter(|line| line.starts_with("{ \"action\": \"change\""));
    let change = actions.next().unwrap();
    let more = "permissions:\n  hooks: [\"tool:before-call\"]\nhooks:\n  - on: tool:before-call\n    run: python guard.py\n    tools: [\"File.*\"]\n";
    let call = |path: &str| {
        format!(
            "<ACTION><File.Write><file_path>{path}</file_path><content>x</content></File.Write></ACTION>"
        )
    };
    let house = House::new().await;
    let root = house.plugin("guard", more);
    write(&root.join("guard.py"), guard);
    house.plugins.reload();
    house.accept("guard");
    for (path, passes) in [
        ("user://safe/a.txt", true),
        ("user://other/a.txt", false),
        ("user://safe/../a.txt", false),
        ("a.txt", false),
    ] {
        let said = house.say(&call(path)).await;
        assert_eq!(said[0].contains("successfully"), passes, "{said:?}");
    }
    let moved = "<ACTION><File.Move><file_path>user://safe/a.txt</file_path><destination_path>user://b.txt</destination_path></File.Move></ACTION>";
    let said = house.say(moved).await;
    assert!(said[0].contains("user://b.txt is not below"), "{said:?}");

    write(&root.join("guard.py"), &format!("print(r'''{change}''')\n"));
    house.plugins.reload();
    assert!(house.say(&call("elsewhere.txt")).await[0].contains("successfully"));
    let read = "<ACTION><File.Read><file_path>user://safe/a.txt</file_path></File.Read></ACTION>";
    house.plugins.disable("guard").unwrap();
    let said = house.say(read).await;
    assert!(said[0].contains("All of the arguments"), "{said:?}");
}

#[tokio::test]
async fn folders_are_followed_without_a_restart() {
    let house = House::new().await;
    house.plugins.reload();
    let registry = house.manager.registry();
    let _watch = house.plugins.watch().unwrap();
    let mut changes = registry.changes();

    let root = house.plugin("reader", "");
    let tool = |id: &str| {
        json!({
            "id": id,
            "description": "Reads.",
            "implementation": {"type": "service", "service": "File.Read"},
            "parameters": {"type": "object"},
        })
        .to_string()
    };
    write(&root.join("tools/read.tool.json"), &tool("Reader.One"));
    until(&mut changes, || house.has("Reader.One")).await;
    let before = registry.snapshot();

    write(&root.join("tools/read.tool.json"), &tool("Reader.Two"));
    until(&mut changes, || {
        house.has("Reader.Two") && !house.has("Reader.One")
    })
    .await;
    assert!(
        matches!(before.find("Reader.One"), Lookup::Found(_)),
        "a run keeps what it has"
    );

    fs::remove_dir_all(&root).unwrap();
    until(&mut changes, || !house.has("Reader.Two")).await;
}

async fn until(changes: &mut tokio::sync::watch::Receiver<u64>, holds: impl Fn() -> bool) {
    while !holds() {
        changes.changed().await.unwrap();
    }
}

#[tokio::test]
async fn who_is_not_there_is_named_with_who_is_near() {
    let house = House::new().await;
    house.plugin("signet", "");
    house.plugins.reload();
    let error = house.plugins.find("signte").unwrap_err().to_string();
    assert_eq!(error, "there is no plugin 'signte'; did you mean 'signet'?");
}

#[tokio::test]
async fn a_guard_that_cannot_be_asked_says_no() {
    let hooks = "permissions:\n  hooks: [\"tool:before-call\"]\nhooks:\n  - on: tool:before-call\n    run: python guard.py\n    tools: [\"File.Write\"]\n";
    let write_to =
        "<ACTION><File.Write><file_path>a</file_path><content>x</content></File.Write></ACTION>";
    let list = "<ACTION><File.List></File.List></ACTION>";
    type Break = fn(&House);
    let ways: [(&str, Break); 3] = [
        ("broken", |house| {
            write(&house.home.path().join("plugins/guard/plugin.yaml"), "x: [");
        }),
        ("asks for more", |house| {
            let manifest = house.home.path().join("plugins/guard/plugin.yaml");
            let text = fs::read_to_string(&manifest).unwrap();
            write(
                &manifest,
                &text.replace("permissions:", "permissions:\n  network: [a.example]"),
            );
        }),
        ("cannot be told", |house| {
            write(&house.home.path().join("config/plugins.json"), "{");
        }),
    ];
    for (why, break_it) in ways {
        let house = House::new().await;
        let root = house.plugin("guard", hooks);
        write(
            &root.join("guard.py"),
            "print('{\"action\": \"continue\"}')\n",
        );
        house.plugins.reload();
        house.accept("guard");
        assert!(
            house.say(write_to).await[0].contains("successfully"),
            "{why}"
        );
        break_it(&house);
        house.plugins.reload();
        let said = house.say(write_to).await;
        assert!(
            said[0].contains("tool.policy_denied") && said[0].contains(why),
            "{said:?}"
        );
        // Only what it guards, where that is known.
        let other = house.say(list).await;
        assert_eq!(
            other[0].contains("successfully"),
            why != "cannot be told",
            "{other:?}"
        );
        if why == "broken" {
            house.plugins.disable("guard").unwrap();
            assert!(house.say(write_to).await[0].contains("successfully"));
        }
    }
}

#[tokio::test]
async fn a_name_that_looks_like_another_is_taken() {
    let house = House::new().await;
    for (name, id) in [
        ("a", "File:Write"),
        ("b", "file.write"),
        ("c", "Free.Name"),
        ("d", "free:name"),
    ] {
        let root = house.plugin(name, "");
        house.script_tool(&root, id);
    }
    house.plugins.reload();
    for name in ["a", "b"] {
        assert_eq!(
            problems(house.standing(name))[0].0,
            "tool.id_taken",
            "{name}"
        );
    }
    house.accept("c");
    let standing = house.standing("d");
    let Standing::Broken { problems } = standing else {
        panic!("{standing:?}");
    };
    assert_eq!(problems[0].file, "tools/free-name.tool.json");
}

#[tokio::test]
async fn tools_that_are_workflows_and_nodes_go_to_the_engine() {
    let house = House::new().await;
    let root = house.plugin("flow", "");
    fs::create_dir(root.join("workflows")).unwrap();
    let workflow = json!({
        "name": "Summary",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [{"id": "e", "source": "in", "sourceHandle": "text", "target": "out", "targetHandle": "text"}],
        "interfaceInputs": {"text": {"key": "text", "dataFlowType": "STRING", "required": true}},
        "interfaceOutputs": {"text": {"key": "text", "dataFlowType": "STRING"}},
    });
    write(&root.join("workflows/summary.json"), &workflow.to_string());
    for (id, implementation) in [
        (
            "Flow.Summary",
            json!({"type": "workflow", "workflowId": "summary"}),
        ),
        (
            "Flow.Gone",
            json!({"type": "workflow", "workflowId": "gone"}),
        ),
        (
            "Flow.Node",
            json!({"type": "node", "nodeType": "test:Gone"}),
        ),
    ] {
        let tool = json!({
            "id": id,
            "description": "Goes to the engine.",
            "implementation": implementation,
        });
        write(
            &root.join(format!("tools/{id}.tool.json")),
            &tool.to_string(),
        );
    }
    house.plugins.reload();
    assert_eq!(house.standing("flow"), Standing::Enabled);
    assert!(
        house.has("workflow:summary"),
        "{:?}",
        house.plugins.0.parts.workflows.list()
    );
    let text = "<Flow.Summary><text>hello</text></Flow.Summary>";
    for (call, told) in [
        (text, "Result: hello"),
        (
            "<Flow.Summary></Flow.Summary>",
            "Missing required parameter 'text'",
        ),
        ("<Flow.Gone></Flow.Gone>", "there is no workflow 'gone'"),
        (
            "<Flow.Node></Flow.Node>",
            "there is no node type 'test:Gone'",
        ),
    ] {
        let said = house.say(&format!("<ACTION>{call}</ACTION>")).await;
        assert!(said[0].contains(told), "{call}: {said:?}");
    }
    house.plugins.disable("flow").unwrap();
    assert!(!house.has("workflow:summary"));
}

#[tokio::test]
async fn a_worker_stays_until_its_plugin_changes() {
    let worker = |word: &str| {
        format!(
            "import json, sys\ncount = 0\nfor line in sys.stdin:\n    call = json.loads(line)\n    if call['method'] != 'call':\n        continue\n    count += 1\n    print(json.dumps({{'jsonrpc': '2.0', 'id': call['id'], 'result': '{word} %d' % count}}), flush=True)\n"
        )
    };
    let house = House::new().await;
    let root = house.plugin("stays", "");
    write(&root.join("count.py"), &worker("first"));
    for id in ["Count.One", "Count.Other"] {
        let tool = json!({
            "id": id,
            "description": "Counts.",
            "implementation": {"type": "script", "command": "python count.py", "protocol": "jsonrpc"},
            "parameters": {"type": "object"},
        });
        write(
            &root.join(format!("tools/{id}.tool.json")),
            &tool.to_string(),
        );
    }
    house.plugins.reload();
    house.accept("stays");
    let said = async |id: &str, expected: &str| {
        let said = house.say(&format!("<ACTION><{id}></{id}></ACTION>")).await;
        assert!(said[0].contains(expected), "{expected}: {said:?}");
    };
    // Tools with the same command share it.
    said("Count.One", "first 1").await;
    said("Count.Other", "first 2").await;
    // What happens to another plugin is no concern of this one.
    house.plugin("other", "");
    house.plugins.reload();
    said("Count.One", "first 3").await;
    write(&root.join("count.py"), &worker("second"));
    house.plugins.reload();
    said("Count.One", "second 1").await;
    house.plugins.disable("stays").unwrap();
    house.accept("stays");
    said("Count.One", "second 1").await;
}

#[path = "manager_node_tests.rs"]
mod nodes;
