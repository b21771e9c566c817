//! Workflows and nodes as tools, and the tools that workflows call.

use std::sync::{Arc, Mutex};

use innkeeper_engine::port::ToolPort;
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{Observation, Protocol};
use innkeeper_tools::registry::{Lookup, Scope};
use innkeeper_tools::workflow::{Place, RunTools};
use innkeeper_tools::{
    Caller, Pattern, Progress, ProgressSink, ProjectId, Reach, RunOptions, ToolRun,
};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::harness::{codes, result, soon, told};
use super::workflow_nodes::{Flows, around, calling, request};

impl Flows {
    fn person(&self) -> ToolRun {
        let caller = Caller::person(RunId::new("r"));
        self.world.manager.begin(caller, RunOptions::default())
    }

    pub(super) fn agent(&self, allow: &[&str]) -> ToolRun {
        let reach = Reach {
            allow: allow.iter().map(|text| Pattern::new(*text)).collect(),
            deny: Vec::new(),
        };
        let caller = Caller::agent("tester", RunId::new("r"), reach);
        self.world.manager.begin(caller, RunOptions::default())
    }

    pub(super) async fn call(&self, tool: &str, arguments: Json) -> Observation {
        self.person().run_call(&request(tool, &arguments)).await
    }

    fn tools(&self) -> Vec<String> {
        let run = self.person();
        let tools = RunTools(run).list();
        let tools = tools.iter().map(|tool| tool.id.to_string());
        let shipped = innkeeper_engine::shipped::list();
        let is_shipped = |id: &String| {
            shipped
                .iter()
                .any(|one| *id == format!("workflow:{}", one.id))
        };
        let own = tools.filter(|id| id.starts_with("workflow:") && !is_shipped(id));
        own.collect()
    }
}

pub(super) fn shout() -> Json {
    let mut workflow = around(
        "test:Shout",
        &[("text", "STRING"), ("mark", "STRING")],
        &[("loud", "STRING")],
        json!({}),
    );
    workflow["id"] = "shout".into();
    workflow["description"] = "Says it louder.".into();
    workflow["interfaceInputs"]["text"]["required"] = true.into();
    workflow["interfaceInputs"]["mark"]["config"] = json!({"default": "!"});
    workflow
}

#[tokio::test]
async fn a_workflow_is_a_tool_with_the_schema_of_its_interface() {
    let flows = Flows::new().await;
    flows.library("anything", &shout());
    assert!(flows.tools().is_empty(), "nobody looked yet");
    flows.reload();
    assert_eq!(flows.tools(), ["workflow:shout"]);
    let snapshot = flows.world.manager.registry().snapshot();
    let Lookup::Found(tool) = snapshot.find("workflow:shout") else {
        panic!("registered");
    };
    let definition = tool.definition();
    assert_eq!(definition.description, "Says it louder.");
    assert_eq!(definition.source, "workflow:library");
    assert_eq!(definition.parameters["required"], json!(["text"]));
    assert_eq!(definition.parameters["properties"]["mark"]["default"], "!");

    let said = flows.call("workflow:shout", json!({"text": "tea"})).await;
    assert_eq!(result(&said), "TEA!");
    let said = flows
        .call("workflow:shout", json!({"text": "tea", "mark": "?"}))
        .await;
    assert_eq!(result(&said), "TEA?");
    let missing = flows.call("workflow:shout", json!({})).await;
    assert_eq!(codes(&[missing]), ["tool.invalid_arguments"]);
}

#[tokio::test]
async fn several_outputs_are_an_object() {
    let flows = Flows::new().await;
    let outputs = [("letters", "~STRING"), ("count", "INTEGER")];
    let workflow = around("test:Pieces", &[("text", "STRING")], &outputs, json!({}));
    flows.library("spell", &workflow);
    flows.reload();
    let said = flows.call("workflow:spell", json!({"text": "tea"})).await;
    assert_eq!(result(&said), &json!({"letters": "tea", "count": 3}));
}

#[derive(Default)]
struct Heard {
    pieces: Mutex<Vec<Json>>,
    far: Mutex<Vec<(Option<f64>, String)>>,
}

impl ProgressSink for Heard {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.far
            .lock()
            .unwrap()
            .push((fraction, message.to_owned()));
    }

    fn partial(&self, piece: &Json) {
        self.pieces.lock().unwrap().push(piece.clone());
    }
}

#[tokio::test]
async fn a_stream_output_is_heard_piece_by_piece() {
    let both = [("letters", "~STRING"), ("count", "INTEGER")];
    for (outputs, pieces) in [
        (&both[..1], json!(["t", "e", "a"])),
        (
            &both,
            json!([{"letters": "t"}, {"letters": "e"}, {"letters": "a"}]),
        ),
    ] {
        let flows = Flows::new().await;
        let workflow = around("test:Pieces", &[("text", "STRING")], outputs, json!({}));
        flows.library("spell", &workflow);
        flows.reload();
        let heard = Arc::new(Heard::default());
        let run = flows.person();
        let asked = request("workflow:spell", &json!({"text": "tea"}));
        let progress = Progress::to(heard.clone());
        let said = run
            .run_to_end(&asked, progress, &CancellationToken::new())
            .await;
        assert_eq!(codes(&[said]), ["ok"]);
        assert_eq!(json!(*heard.pieces.lock().unwrap()), pieces);
        let far = heard.far.lock().unwrap();
        assert_eq!(far.first(), Some(&(Some(0.0), "The work".to_owned())));
        assert_eq!(far.len(), 3);
    }
}

#[tokio::test]
async fn a_failure_names_the_node_and_its_reason() {
    for code in ["test.broken", "may.pass"] {
        let flows = Flows::new().await;
        let outputs = [("never", "STRING")];
        flows.library(
            "bad",
            &around("test:Fail", &[], &outputs, json!({"code": code})),
        );
        flows.reload();
        let said = flows.call("workflow:bad", json!({})).await;
        assert_eq!(
            codes(std::slice::from_ref(&said)),
            ["tool.execution_failed"]
        );
        let text = &told(std::slice::from_ref(&said))[0];
        assert!(
            text.contains("work") && text.contains("the glass fell"),
            "{text}"
        );
        let record = serde_json::to_value(&said).unwrap();
        assert_eq!(record["reason"], code);
    }
}

#[tokio::test]
async fn what_cannot_run_is_no_tool_and_says_why() {
    let flows = Flows::new().await;
    let mut round = shout();
    round["id"] = "round".into();
    round["edges"][0]["source"] = "work".into();
    round["edges"][0]["sourceHandle"] = "loud".into();
    flows.library("round", &round);
    flows.file("library/workflows/broken.json", &json!([1]));
    flows.library("good", &shout());
    let mut again = shout();
    again["name"] = "Another".into();
    flows.file("projects/default/workflows/mine.json", &again);
    flows.reload();
    assert_eq!(flows.tools(), ["workflow:shout"]);
    let list = flows.workflows.list();
    let why = |stem: &str| {
        let of = |path: &std::path::PathBuf| path.file_stem().unwrap() == stem;
        let mut all = list.iter();
        let found = all.find(|one| one.path.as_ref().is_some_and(of));
        found.unwrap().why_not()
    };
    assert!(why("broken").is_some());
    assert_eq!(why("good"), None);
    assert_eq!(why("mine"), None);
    assert!(why("round").unwrap().contains("work"), "{:?}", why("round"));
    let said = flows.call("workflow:round", json!({})).await;
    assert_eq!(codes(&[said]), ["tool.unknown"]);
}

#[tokio::test]
async fn a_project_has_its_own_first_and_nobody_elses() {
    let flows = Flows::new().await;
    let fixed = |word: &str| {
        let mut workflow = around(
            "test:Shout",
            &[],
            &[("loud", "STRING")],
            json!({"text": word}),
        );
        workflow["id"] = "greet".into();
        workflow
    };
    flows.library("greet", &fixed("house"));
    flows.file("projects/inn/workflows/greet.json", &fixed("inn"));
    let mut secret = fixed("secret");
    secret["id"] = "secret".into();
    flows.file("projects/inn/workflows/secret.json", &secret);
    flows.reload();
    for (project, greeting, has_secret) in [("default", "HOUSE!", false), ("inn", "INN!", true)] {
        let mut caller = Caller::person(RunId::new("r"));
        caller.project = ProjectId::try_from(project).unwrap();
        let registry = flows.world.manager.registry();
        let found = registry.snapshot_for(&Scope::of(&caller));
        let is_found = matches!(found.find("workflow:secret"), Lookup::Found(_));
        assert_eq!(is_found, has_secret, "{project}");
        let run = flows.world.manager.begin(caller, RunOptions::default());
        let said = run.run_call(&request("workflow:greet", &json!({}))).await;
        assert_eq!(result(&said), greeting, "{project}");
    }
    let places: Vec<_> = flows
        .workflows
        .list()
        .iter()
        .map(|one| one.place.clone())
        .collect();
    let inn = Place::Project("inn".into());
    assert_eq!(places.first(), Some(&Place::Library));
    assert_eq!(places.iter().filter(|place| **place == inn).count(), 2);
    assert_eq!(
        places
            .iter()
            .filter(|place| **place == Place::Library)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_file_that_changes_is_run_as_it_is() {
    let flows = Flows::new().await;
    let fixed = |word: &str| {
        let outputs = [("loud", "STRING")];
        around("test:Shout", &[], &outputs, json!({"text": word}))
    };
    flows.library("say", &fixed("one"));
    flows.reload();
    for _ in 0..2 {
        let said = flows.call("workflow:say", json!({})).await;
        assert_eq!(result(&said), "ONE!");
    }
    flows.library("say", &fixed("three"));
    let said = flows.call("workflow:say", json!({})).await;
    assert_eq!(result(&said), "THREE!");
    std::fs::remove_file(flows.world.home.path().join("library/workflows/say.json")).unwrap();
    let said = flows.call("workflow:say", json!({})).await;
    assert!(told(&[said])[0].contains("there is no workflow 'say'"));
}

#[tokio::test]
async fn nodes_can_be_called_by_who_knows_them() {
    let flows = Flows::new().await;
    for (run, tool, code) in [
        (flows.person(), "test:Shout", "ok"),
        (flows.person(), "node:test:Shout", "ok"),
        (flows.agent(&["*"]), "test:Shout", "tool.policy_denied"),
        (flows.agent(&["test:*"]), "test:Shout", "tool.policy_denied"),
        (flows.agent(&["test:Shout"]), "test:Shout", "ok"),
        (
            flows.agent(&["test:Shout"]),
            "test:Pieces",
            "tool.policy_denied",
        ),
        (flows.person(), "core:GroupInput", "tool.unknown"),
        (flows.person(), "test:Nothing", "tool.unknown"),
    ] {
        let said = run.run_call(&request(tool, &json!({"text": "tea"}))).await;
        assert_eq!(codes(&[said]), [code], "{tool} by {:?}", run.caller().reach);
    }
    let said = flows
        .call("test:Shout", json!({"text": "tea", "mark": "?"}))
        .await;
    assert_eq!(result(&said), "TEA?");
    for wrong in [
        json!({}),
        json!({"text": "tea", "mark": "#"}),
        json!({"text": "tea", "x": 1}),
    ] {
        let said = flows.call("test:Shout", wrong.clone()).await;
        assert_eq!(codes(&[said]), ["tool.invalid_arguments"], "{wrong}");
    }
    let said = flows.call("test:Pieces", json!({"text": "tea"})).await;
    assert_eq!(result(&said), &json!({"letters": "tea", "count": 3}));
}

#[tokio::test]
async fn nodes_are_listed_for_those_alone_who_name_them() {
    let flows = Flows::new().await;
    let lists = |run: ToolRun| {
        let tools = RunTools(run).list();
        tools.iter().any(|tool| tool.id.as_str() == "test:Shout")
    };
    assert!(!lists(flows.person()));
    assert!(!lists(flows.agent(&["*"])));
    assert!(lists(flows.agent(&["test:Shout"])));
    let run = flows.agent(&["test:Shout"]);
    let manifest = run.manifest(Protocol::Action, innkeeper_protocol::Locale::En);
    assert!(manifest.text().unwrap().contains("What to shout"));
    assert!(
        flows
            .world
            .manager
            .registry()
            .snapshot()
            .tools()
            .all(|tool| !tool.is_hidden())
    );
}

#[tokio::test]
async fn a_registered_tool_comes_before_a_node_of_the_same_name() {
    let flows = Flows::new().await;
    let mine = flows.world.tool(
        "test:Shout",
        innkeeper_protocol::ExecutionMode::Sync,
        json!({"type": "object"}),
        |_, _| Box::pin(async { Ok("the tool".into()) }),
    );
    flows.world.offer("plugin:other", vec![mine]);
    let said = flows.call("test:Shout", json!({})).await;
    assert_eq!(result(&said), "the tool");
}

#[tokio::test]
async fn a_workflow_calls_tools_as_its_caller() {
    let flows = Flows::new().await;
    flows.library("ask", &calling("Echo", &json!({"text": "hi"})));
    flows.reload();
    for (run, worked) in [
        (flows.person(), true),
        (flows.agent(&["*"]), true),
        (flows.agent(&["workflow:*", "Echo"]), true),
        (flows.agent(&["workflow:*"]), false),
    ] {
        let before = flows.world.ran().len();
        let said = run.run_call(&request("workflow:ask", &json!({}))).await;
        assert_eq!(codes(std::slice::from_ref(&said)), ["ok"]);
        let told = result(&said)["told"].as_str().unwrap().to_owned();
        assert_eq!(
            flows.world.ran().len() - before,
            usize::from(worked),
            "{told}"
        );
        assert_eq!(told.contains("tool.policy_denied"), !worked, "{told}");
    }
    // Both calls are in the audit log, under the same run and actor.
    let rows = flows.world.audit().await;
    let of = |tool: &str| rows.iter().filter(|row| row.entry.tool == tool).count();
    assert_eq!((of("workflow:ask"), of("Echo")), (4, 4));
    assert!(rows.iter().all(|row| row.entry.run == "r"));
}

#[tokio::test]
async fn what_a_workflow_calls_counts_for_its_caller() {
    let flows = Flows::new().await;
    flows.library("ask", &calling("Echo", &json!({"text": "hi"})));
    flows.reload();
    let options = RunOptions {
        budget: innkeeper_tools::BudgetLimits {
            max_calls: Some(3),
            per_tool: Vec::new(),
        },
        ..RunOptions::default()
    };
    let run = flows
        .world
        .manager
        .begin(Caller::person(RunId::new("r")), options);
    let asked = request("workflow:ask", &json!({}));
    let first = run.run_call(&asked).await;
    assert!(
        result(&first)["told"]
            .as_str()
            .unwrap()
            .contains("successfully")
    );
    let second = run.run_call(&asked).await;
    let told = result(&second)["told"].as_str().unwrap();
    assert!(told.contains("tool.budget_exhausted"), "{told}");
}

#[tokio::test]
async fn an_async_tool_is_waited_for_and_told_once() {
    let flows = Flows::new().await;
    flows.library("wait", &calling("Gate.Async", &json!({"gate": "g"})));
    flows.reload();
    flows.world.open("g");
    let run = flows.person();
    let said = soon(run.run_call(&request("workflow:wait", &json!({})))).await;
    let told = result(&said)["told"].as_str().unwrap().to_owned();
    assert!(told.contains("Gate.Async executed successfully"), "{told}");
    assert!(run.finished_tasks().is_empty());
}

#[tokio::test]
async fn a_workflow_that_calls_itself_ends_with_the_chain() {
    let flows = Flows::new().await;
    let mut workflow = calling("workflow:again", &json!({}));
    workflow["id"] = "again".into();
    flows.library("again", &workflow);
    flows.reload();
    let said = soon(flows.call("workflow:again", json!({}))).await;
    let told = result(&said).to_string();
    assert!(told.contains("nested more than"), "{told}");
    assert!(told.contains("workflow:again → workflow:again"), "{told}");
}

#[tokio::test]
async fn stopping_a_run_stops_the_workflow_and_what_it_calls() {
    let flows = Flows::new().await;
    flows.library("wait", &calling("Gate.Sync", &json!({"gate": "g"})));
    flows.reload();
    let run = flows.person();
    let asked = request("workflow:wait", &json!({}));
    let mut running = Box::pin(run.run_call(&asked));
    flows.world.until_at("g", &mut running).await;
    run.stop();
    let said = soon(running).await;
    assert_eq!(codes(&[said]), ["tool.cancelled"]);
    let events = flows.world.events();
    assert!(!events.contains(&"end Gate.Sync".to_owned()), "{events:?}");
}

#[tokio::test]
async fn events_are_heard_in_the_same_project() {
    let flows = Flows::new().await;
    let outputs = [("heard", "WILDCARD")];
    flows.library(
        "listen",
        &around("test:Listen", &[], &outputs, json!({"type": "npc.*"})),
    );
    let outputs = [("id", "STRING")];
    let input = [("type", "STRING")];
    flows.library("talk", &around("test:Talk", &input, &outputs, json!({})));
    flows.reload();
    let elsewhere = {
        let mut caller = Caller::person(RunId::new("elsewhere"));
        caller.project = ProjectId::try_from("elsewhere").unwrap();
        flows.world.manager.begin(caller, RunOptions::default())
    };
    let heard = Arc::new(Heard::default());
    let run = flows.person();
    let listen = request("workflow:listen", &json!({}));
    let never = CancellationToken::new();
    let mut listening = Box::pin(run.run_to_end(&listen, Progress::to(heard.clone()), &never));
    // It says that it listens.
    while heard.far.lock().unwrap().is_empty() {
        tokio::select! {
            biased;
            _ = listening.as_mut() => panic!("nothing was said yet"),
            () = tokio::task::yield_now() => {}
        }
    }
    let say = |kind: &str| request("workflow:talk", &json!({"type": kind}));
    for (run, kind) in [
        (&elsewhere, "npc.bert.greets"),
        (&run, "weather.rain"),
        (&run, "npc.anna.greets"),
    ] {
        let said = run.run_call(&say(kind)).await;
        assert_eq!(
            codes(std::slice::from_ref(&said)),
            ["ok"],
            "{:?}",
            told(&[said])
        );
    }
    let said = soon(listening).await;
    let expected = json!({"type": "npc.anna.greets", "payload": {"said": "hello"}});
    assert_eq!(result(&said), &expected);
    let agent = flows.agent(&["*"]);
    let said = agent.run_call(&say("system.alarm")).await;
    assert!(told(&[said])[0].contains("come from the system alone"));
    let said = agent.run_call(&say("not a type")).await;
    assert!(told(&[said])[0].contains("no type of event"));
}

#[tokio::test]
async fn what_ships_is_there_and_can_be_replaced() {
    let flows = Flows::new().await;
    let list = flows.workflows.list();
    for shipped in innkeeper_engine::shipped::list() {
        let status = list.iter().find(|one| one.id == shipped.id).unwrap();
        assert_eq!(status.why_not(), None, "{}", shipped.id);
    }
    let mut mine = shout();
    mine["id"] = "summarise".into();
    flows.library("mine", &mine);
    flows.reload();
    let said = flows
        .call("workflow:summarise", json!({"text": "tea"}))
        .await;
    assert_eq!(result(&said), "TEA!");
}
