//! What nodes do is judged like any call: those of plugins, and those that tell and hear events.

use std::fs;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::StreamExt;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::RunId;
use innkeeper_tools::builtin::event::{EventPublisher, NewEvent};
use innkeeper_tools::limits::MAX_WAITING_EVENTS;
use innkeeper_tools::plugin::{PluginNode, PluginSettings, read_plugin};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::registry::{Offer, Prepared};
use innkeeper_tools::script::{
    ExitKind, NoFiles, ScriptEnd, ScriptError, ScriptHost, ScriptJob, ScriptLimits, ScriptNode,
    ScriptPlugin, ScriptRunner, WorkerPool, node_type,
};
use innkeeper_tools::workflow::{BusPublisher, NodeExecutor};
use innkeeper_tools::{
    BudgetLimits, Caller, NodeReach, Pattern, ProjectId, Reach, RunOptions, Secrets, ToolRun,
};
use serde_json::{Value as Json, json};

use super::harness::{codes, result, soon, told};
use super::workflow_nodes::{Flows, around, request};

/// Remembers what it was told, and says it louder.
#[derive(Default)]
struct Crier(Mutex<Vec<Json>>);

#[async_trait]
impl ScriptRunner for Crier {
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        let told: Json = serde_json::from_slice(&job.stdin).unwrap();
        let word = told["inputs"]["word"].as_str().unwrap_or_default();
        let said = json!({"loud": word.to_uppercase()}).to_string();
        self.0.lock().unwrap().push(told);
        Ok(ScriptEnd {
            exit: ExitKind::Code(0),
            stdout: said.into_bytes(),
            stderr: Vec::new(),
            stderr_truncated: false,
            usage: Default::default(),
        })
    }

    async fn start(&self, _: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError> {
        Err(ScriptError::Cancelled)
    }
}

const NODE: &str = r#"{
  "type": "Cry", "description": "Says it louder",
  "implementation": {"type": "script", "command": "python s.py"},
  "inputs": {"word": {"dataFlowType": "STRING"}},
  "outputs": {"loud": {"dataFlowType": "STRING"}},
  "configSchema": {"pitch": {"dataFlowType": "STRING", "config": {"default": "high"}}}
}"#;

struct Town {
    flows: Flows,
    crier: Arc<Crier>,
}

impl Town {
    /// A plugin `town` with the node `town:Cry`, and a workflow of the project that uses it.
    async fn new() -> Self {
        let flows = Flows::new().await;
        let home = flows.world.home.path();
        let root = home.join("town");
        fs::create_dir_all(root.join("nodes")).unwrap();
        let manifest = "name: town\nversion: '1'\nnodes: {entry: nodes}\n";
        fs::write(root.join("plugin.yaml"), manifest).unwrap();
        fs::write(root.join("s.py"), "").unwrap();
        fs::write(root.join("nodes/n.node.json"), NODE).unwrap();
        let package = read_plugin(&root).unwrap();
        let crier = Arc::new(Crier::default());
        let host = ScriptHost {
            workers: WorkerPool::new(crier.clone()),
            runner: crier.clone(),
            settings: Arc::new(PluginSettings::new(
                home,
                Secrets::new(home.join("secrets.toml")),
            )),
            files: Arc::new(NoFiles),
            data: home.join("plugin-data"),
            limits: ScriptLimits::default(),
        };
        let plugin = ScriptPlugin {
            name: package.name.clone(),
            root: package.root.clone(),
            stamp: package.stamp,
            options: Vec::new(),
            granted: package.permissions.clone(),
        };
        let PluginNode {
            definition,
            command,
            ..
        } = package.nodes[0].clone();
        let node = ScriptNode::new(host, plugin, definition, command.unwrap());
        let nodes = flows.workflows.engine().nodes();
        nodes
            .replace("town", vec![node_type(Arc::new(node))])
            .unwrap();
        let own = around(
            "town:Cry",
            &[("word", "STRING")],
            &[("loud", "STRING")],
            json!({}),
        );
        flows.file("projects/default/workflows/own.json", &own);
        flows.reload();
        Self { flows, crier }
    }

    fn agent(&self, allow: &[&str], deny: &[&str], options: RunOptions) -> ToolRun {
        let patterns = |list: &[&str]| list.iter().map(|text| Pattern::new(*text)).collect();
        let reach = Reach {
            allow: patterns(allow),
            deny: patterns(deny),
        };
        let caller = Caller::agent("tester", RunId::new("r"), reach);
        self.flows.world.manager.begin(caller, options)
    }

    fn person(&self) -> ToolRun {
        let caller = Caller::person(RunId::new("r"));
        let manager = &self.flows.world.manager;
        manager.begin(caller, RunOptions::default())
    }

    fn cries(&self) -> usize {
        self.crier.0.lock().unwrap().len()
    }

    /// Tool, outcome and rule of all calls.
    async fn audit(&self) -> Vec<(String, String)> {
        let rows = self.flows.world.audit().await.into_iter();
        rows.map(|row| (row.entry.tool, format!("{:?}", row.entry.outcome)))
            .collect()
    }
}

fn rows(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(tool, outcome): &(&str, &str)| ((*tool).to_owned(), (*outcome).to_owned());
    rows.iter().map(owned).collect()
}

#[tokio::test]
async fn an_agent_uses_a_node_of_a_plugin_only_if_it_is_allowed_by_name() {
    let by_pattern = || RunOptions {
        nodes: NodeReach::ByPattern,
        ..RunOptions::default()
    };
    for (allow, deny, options, good) in [
        (&["workflow:*"][..], &[][..], RunOptions::default(), false),
        (&["*"], &[], RunOptions::default(), false),
        (&["workflow:*", "town:*"], &[], RunOptions::default(), false),
        (
            &["workflow:*", "town:Cry"],
            &[],
            RunOptions::default(),
            true,
        ),
        (
            &["workflow:*", "node:town:Cry"],
            &[],
            RunOptions::default(),
            true,
        ),
        (
            &["workflow:*", "town:Cry"],
            &["town:*"],
            RunOptions::default(),
            false,
        ),
        (&["*"], &[], by_pattern(), true),
        (&["workflow:*"], &[], by_pattern(), false),
        (&["*"], &["town:cry"], by_pattern(), false),
    ] {
        let town = Town::new().await;
        let run = town.agent(allow, deny, options);
        let said = run
            .run_call(&request("workflow:own", &json!({"word": "tea"})))
            .await;
        let case = format!("{allow:?} {deny:?} {:?}", told(std::slice::from_ref(&said)));
        assert_eq!(town.cries(), usize::from(good), "{case}");
        let (outcome, of_workflow) = match good {
            true => ("Success", "Success"),
            false => ("Denied", "Error"),
        };
        let expected = rows(&[("town:Cry", outcome), ("workflow:own", of_workflow)]);
        let mut audit = town.audit().await;
        audit.sort();
        assert_eq!(audit, expected, "{case}");
        match good {
            true => assert_eq!(result(&said), "TEA", "{case}"),
            false => {
                let text = told(std::slice::from_ref(&said)).remove(0);
                // Which node, of which type, and what to do about it.
                assert!(
                    text.contains("work: ") && text.contains("'town:Cry'"),
                    "{text}"
                );
                assert!(text.contains("leave the node out"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_person_uses_every_node_and_each_run_of_it_is_written_down() {
    let town = Town::new().await;
    for _ in 0..2 {
        let asked = request("workflow:own", &json!({"word": "tea"}));
        let said = town.person().run_call(&asked).await;
        assert_eq!(result(&said), "TEA");
    }
    // Nothing says that it always gives the same.
    assert_eq!(town.cries(), 2);
    let of_node = |row: &&(String, String)| row.0 == "town:Cry";
    assert_eq!(town.audit().await.iter().filter(of_node).count(), 2);
    let told = town.crier.0.lock().unwrap().pop().unwrap();
    assert_eq!(
        (&told["node"], &told["inputs"], &told["config"]),
        (
            &json!("town:Cry"),
            &json!({"word": "tea"}),
            &json!({"pitch": "high"})
        )
    );
}

#[tokio::test]
async fn a_node_that_is_called_by_its_name_is_judged_once() {
    let town = Town::new().await;
    let said = town
        .person()
        .run_call(&request("town:Cry", &json!({"word": "tea"})))
        .await;
    assert_eq!(result(&said), "TEA");
    assert_eq!(town.audit().await, rows(&[("town:Cry", "Success")]));
}

#[tokio::test]
async fn rules_and_budgets_hold_for_nodes_of_plugins() {
    let rules = |text: &str| {
        let rules = serde_json::from_value(json!([serde_json::from_str::<Json>(text).unwrap()]));
        Policy::new(rules.unwrap()).unwrap()
    };
    let one = BudgetLimits {
        max_calls: Some(1),
        ..BudgetLimits::default()
    };
    for (rule, budget, expected) in [
        (
            r#"{"tool": "town:Cry", "arguments": {"word": "secret*"}, "decision": "deny"}"#,
            BudgetLimits::default(),
            "forbids it",
        ),
        (
            r#"{"source": "plugin:town", "decision": "ask"}"#,
            BudgetLimits::default(),
            "nobody",
        ),
        (r#"{"tool": "Other", "decision": "deny"}"#, one, "1 times"),
    ] {
        let town = Town::new().await;
        town.flows.world.manager.set_policy(rules(rule));
        let options = RunOptions {
            budget,
            ..RunOptions::default()
        };
        let run = town.agent(&["workflow:*", "town:Cry"], &[], options);
        let asked = request("workflow:own", &json!({"word": "secret tea"}));
        let said = run.run_call(&asked).await;
        let text = told(&[said]).remove(0);
        assert!(text.contains(expected), "{rule}: {text}");
        assert_eq!(town.cries(), 0, "{rule}");
        let denied = ("town:Cry".to_owned(), "Denied".to_owned());
        assert!(town.audit().await.contains(&denied), "{rule}");
    }
}

#[tokio::test]
async fn events_are_told_and_heard_by_leave() {
    let publish = json!({"type": "npc.x", "payload": {"a": 1}});
    let subscribe = json!({"names": "npc.*", "timeout_ms": 1});
    for (kind, values, tool, allow, good) in [
        (
            "core:PublishEvent",
            &publish,
            "event:Publish",
            &["workflow:*"][..],
            false,
        ),
        (
            "core:PublishEvent",
            &publish,
            "event:Publish",
            &["workflow:*", "event:*"],
            true,
        ),
        (
            "core:SubscribeEvent",
            &subscribe,
            "event:Subscribe",
            &["workflow:*", "event:Publish"],
            false,
        ),
        (
            "core:SubscribeEvent",
            &subscribe,
            "event:Subscribe",
            &["workflow:*", "event:Subscribe"],
            true,
        ),
    ] {
        let town = Town::new().await;
        let own = around(kind, &[], &[], values.clone());
        town.flows.file("projects/default/workflows/own.json", &own);
        town.flows.reload();
        let run = town.agent(allow, &[], RunOptions::default());
        let said = run.run_call(&request("workflow:own", &json!({}))).await;
        let text = told(std::slice::from_ref(&said)).remove(0);
        assert_eq!(codes(&[said]) == ["ok"], good, "{kind} {allow:?}: {text}");
        let outcome = if good { "Success" } else { "Denied" };
        let row = (tool.to_owned(), outcome.to_owned());
        let audit = town.audit().await;
        assert!(audit.contains(&row), "{kind} {allow:?}: {audit:?}");
    }
}

#[tokio::test]
async fn a_plugin_makes_tools_of_its_own_nodes_alone() {
    for (tool, source, deny, good) in [
        ("Town.Say", "plugin:town", &[][..], true),
        ("Town.Say", "plugin:town", &["town:Cry"], false),
        ("Other.Say", "plugin:other", &[], false),
    ] {
        let town = Town::new().await;
        let parameters = json!({"type": "object", "properties": {"word": {"type": "string"}}});
        let mut definition = ToolDefinition::new(tool, "Says it louder.", parameters);
        definition.source = source.to_owned();
        let executor = NodeExecutor {
            workflows: town.flows.workflows.clone(),
            full_type: "town:Cry".to_owned(),
        };
        let offer = Offer::new(Prepared::new(definition).unwrap(), Arc::new(executor));
        town.flows.world.offer(source, vec![offer]);
        let run = town.agent(&[tool], deny, RunOptions::default());
        let said = run.run_call(&request(tool, &json!({"word": "tea"}))).await;
        let case = format!("{tool} {deny:?} {:?}", told(&[said]));
        assert_eq!(town.cries(), usize::from(good), "{case}");
        let outcome = if good { "Success" } else { "Denied" };
        let row = ("town:Cry".to_owned(), outcome.to_owned());
        assert!(town.audit().await.contains(&row), "{case}");
    }
}

#[tokio::test]
async fn only_what_is_for_a_listener_is_ever_missed() {
    let town = Town::new().await;
    let world = &town.flows.world;
    let events = town.flows.workflows.services(town.person()).events.unwrap();
    let mut heard = events.subscribe(vec!["npc.*".to_owned()]).await.unwrap();
    let tell = async |project: &str, number: usize| {
        let mut caller = Caller::person(RunId::new("r"));
        caller.project = ProjectId::try_from(project).unwrap();
        let event = NewEvent::checked(&caller, format!("npc.{number}"), Json::Null).unwrap();
        let bus = BusPublisher(world.bus.clone());
        bus.publish(&caller, event).await.unwrap();
        tokio::task::yield_now().await;
    };
    // Far more than a bus keeps, and none of it is ours.
    for number in 0..20_000 {
        tell("elsewhere", number).await;
    }
    for number in 0..MAX_WAITING_EVENTS + 5 {
        tell("default", number).await;
    }
    for number in 0..MAX_WAITING_EVENTS {
        let event = soon(heard.next()).await.unwrap();
        assert_eq!(event.kind, format!("npc.{number}"));
    }
    let event = soon(heard.next()).await.unwrap();
    assert_eq!(
        (event.kind.as_str(), event.payload),
        ("system.events.missed", json!({"missed": 5}))
    );
    tell("default", 7).await;
    assert_eq!(soon(heard.next()).await.unwrap().kind, "npc.7");
}
