//! What agents keep and share, as whole runs: what the model is told, what is kept, what goes back with the chat.

use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{RunHandle, StartPrompt, StartRun};
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunStatus};
use innkeeper_store::journal::EventRange;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::harness::{Script, check_journal, open, profile, write};

struct Inn {
    home: TempDir,
    script: Arc<Script>,
    runtime: AgentRuntime,
}

impl Inn {
    async fn open() -> Self {
        let home = tempfile::tempdir().unwrap();
        let script = Arc::new(Script::default());
        let (_, runtime) = open(home.path(), script.clone(), Vec::new(), |journal| journal).await;
        Self {
            home,
            script,
            runtime,
        }
    }

    fn profile(&self, id: &str, protocol: &str, change: impl FnOnce(&mut Json)) {
        profile(self.home.path(), id, protocol, change);
    }

    /// A run of the session, from where the last one was unless said otherwise.
    async fn start(&self, profile: &str, base: Option<&RunHandle>) -> RunHandle {
        let asked = StartRun {
            profile_id: Some(profile.to_owned()),
            prompt: Some(StartPrompt::Message("Go on".to_owned())),
            stable_chat_id: Some("evening".to_owned()),
            persist_base_state_id: base.map(|run| run.run_id.to_string()),
            ..StartRun::default()
        };
        self.runtime.start(asked).await.unwrap()
    }

    /// Says these words, one after the other, and gives what the model was sent first and last.
    async fn run(&self, profile: &str, base: Option<&RunHandle>, says: &[&str]) -> Told {
        let before = self.script.requests();
        for say in says {
            self.script.say(say);
        }
        let run = self.start(profile, base).await;
        let run = self.runtime.wait(&run.run_id).await.unwrap();
        let range = EventRange::After { seq: 0, limit: 500 };
        let events = self.runtime.events(&run.run_id, range).await.unwrap();
        assert_eq!(run.status, RunStatus::Completed, "{:?}", events.last());
        check_journal(&events);
        let opening = self.script.request(before)[0]["content"].to_string();
        let heard = (before + 1..self.script.requests()).map(|at| self.script.last_message(at));
        Told {
            run,
            opening,
            heard: heard.collect(),
            events,
        }
    }
}

struct Told {
    run: RunHandle,
    opening: String,
    /// What the model was told after each of its turns but the last.
    heard: Vec<String>,
    events: Vec<RunEvent>,
}

impl Told {
    fn states(&self) -> Vec<(&str, u64, &[String])> {
        let told = self.events.iter().filter_map(|event| match &event.kind {
            RunEventKind::StateUpdated(it) => Some((it.scope.as_str(), it.version, &it.paths[..])),
            _ => None,
        });
        told.collect()
    }
}

fn tam(tool: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n");
    for (name, value) in arguments {
        text.push_str(&format!("{name}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

fn with_gold(profile: &mut Json) {
    profile["agent"]["privateState"] = json!({"gold": 30});
    profile["agent"]["privateStateSchema"] =
        json!({"properties": {"gold": {"type": "integer", "minimum": 0}}});
}

#[tokio::test]
async fn the_next_run_knows_what_the_last_one_noted_and_swiping_takes_it_back() {
    let inn = Inn::open().await;
    inn.profile("keeper", "tam", with_gold);
    let note = tam(
        "UpdatePrivateStateTool",
        &[("key", "guest"), ("value", "Ann")],
    );
    let first = inn.run("keeper", None, &[&note, "Noted."]).await;
    assert!(
        first
            .opening
            .contains(r#"Your private state:\n{\"gold\":30}"#),
        "{}",
        first.opening
    );
    assert_eq!(
        first.heard,
        [
            r#"Observation: Tool core:UpdatePrivateState executed successfully. Result: {"version":1,"paths":["/guest"],"value":"Ann"}"#
        ]
    );
    assert_eq!(first.states(), [("private", 1, &["/guest".to_owned()][..])]);

    // What does not fit is refused whole, and what is text but meant as a number is taken as one.
    let pay = |by: &str| {
        tam(
            "core:UpdatePrivateState",
            &[("path", "gold"), ("value", by)],
        )
    };
    let second = inn
        .run("keeper", None, &[&pay("-1"), &pay("25"), "Paid."])
        .await;
    assert!(
        second
            .opening
            .contains(r#"{\"gold\":30,\"guest\":\"Ann\"}"#),
        "{}",
        second.opening
    );
    assert!(
        second.heard[0].contains("would not fit its schema at '/gold'"),
        "{:?}",
        second.heard
    );
    assert!(
        second.heard[1].contains(r#""version":2,"paths":["/gold"],"value":25"#),
        "{:?}",
        second.heard
    );

    let look = tam("ReadPrivateStateTool", &[]);
    for (base, gold, version) in [
        (None, 25, 2),
        (Some(&first.run), 30, 1),
        (Some(&second.run), 25, 2),
    ] {
        let told = inn.run("keeper", base, &[&look, "So it is."]).await;
        let expected = json!({"value": {"gold": gold, "guest": "Ann"}, "version": version});
        assert!(
            told.heard[0].ends_with(&expected.to_string()),
            "{:?}",
            told.heard
        );
        assert!(
            told.opening.contains(&format!(r#"{{\"gold\":{gold},"#)),
            "{}",
            told.opening
        );
    }
    // Another agent of the same chat has its own.
    inn.profile("guest", "tam", |_| {});
    let told = inn.run("guest", None, &[&look, "Nothing."]).await;
    assert!(
        told.heard[0].ends_with(r#"{"value":{},"version":0}"#),
        "{:?}",
        told.heard
    );
    assert!(
        !told.opening.contains("Your private state:"),
        "{}",
        told.opening
    );
}

#[tokio::test]
async fn agents_of_a_chat_share_a_world_in_the_words_of_the_action_protocol() {
    let inn = Inn::open().await;
    inn.profile("ann", "action", |_| {});
    inn.profile("bob", "action", |_| {});
    let look = "Okay, I need to check the current weather.
<ACTION>
    <ReadWorldStateTool>
        <path>environment.weather.current_conditions</path>
        <default_value>unknown</default_value>
    </ReadWorldStateTool>
</ACTION>";
    let change = "<ACTION>
    <RequestWorldStateUpdateTool>
        <path>environment.weather.current_conditions</path>
        <value>sunny</value>
        <expected_version>0</expected_version>
    </RequestWorldStateUpdateTool>
</ACTION>";
    let ann = inn
        .run("ann", None, &[look, change, "The sun is out."])
        .await;
    assert_eq!(
        ann.heard[0],
        r#"Observation: Tool world:ReadState executed successfully. Result: {"value":"unknown","version":0,"missing":true}"#
    );
    assert_eq!(
        ann.states(),
        [("world", 1, &["/environment".to_owned()][..])]
    );
    // Bob has not seen what Ann did.
    let bob = inn.run("bob", None, &[change, look, "So it is."]).await;
    assert!(
        bob.heard[0]
            .contains("is at version 1, not 0; since then /environment changed: read it again"),
        "{:?}",
        bob.heard
    );
    assert!(
        bob.heard[1].ends_with(r#"{"value":"sunny","version":1}"#),
        "{:?}",
        bob.heard
    );
    assert!(bob.states().is_empty());
    let history = inn
        .runtime
        .worlds()
        .history(&ann.run.workspace_id, 9)
        .await
        .unwrap();
    let history = serde_json::to_value(&history).unwrap();
    assert_eq!(history[0]["by"]["runId"], ann.run.run_id.as_str());
    assert_eq!(history[0]["by"]["profileId"], "ann");
}

#[tokio::test]
async fn a_native_call_changes_several_things_at_once() {
    let inn = Inn::open().await;
    inn.profile("keeper", "native", with_gold);
    inn.script.push(super::harness::Say::Native(vec![(
        "call_1",
        "core__UpdatePrivateState",
        json!({"operations": [
            {"op": "increment", "path": "gold", "value": -2},
            {"op": "merge", "path": "rooms", "value": {"1": "Ann"}},
            {"op": "append", "path": "log", "value": "Ann came"},
        ], "expected_version": 0}),
    )]));
    let told = inn.run("keeper", None, &["Done."]).await;
    let paths = ["/gold", "/rooms", "/log"].map(str::to_owned);
    assert_eq!(told.states(), [("private", 1, &paths[..])]);
}

#[tokio::test]
async fn runs_at_the_same_time_lose_nothing_in_the_world() {
    let inn = Inn::open().await;
    inn.profile("ann", "tam", |_| {});
    let knock = tam(
        "world:RequestStateUpdate",
        &[("path", "knocks"), ("op", "increment")],
    );
    // One after the other in each run, and all runs beside each other.
    const RUNS: usize = 4;
    let twice = [knock.as_str(), knock.as_str()].join("\n");
    for _ in 0..RUNS {
        inn.script.say(&twice);
    }
    for _ in 0..RUNS {
        inn.script.say("Done.");
    }
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(inn.start("ann", None).await);
    }
    for run in &runs {
        let run = inn.runtime.wait(&run.run_id).await.unwrap();
        assert_eq!(run.status, RunStatus::Completed);
    }
    let world = inn
        .runtime
        .worlds()
        .read(&runs[0].workspace_id)
        .await
        .unwrap();
    // Whichever run says what: each of the replies is given once.
    let knocks = world.value["knocks"].as_u64().unwrap();
    assert_eq!((knocks, world.version), (2 * RUNS as u64, 2 * RUNS as u64));
    let mut told = 0;
    for run in &runs {
        let range = EventRange::After { seq: 0, limit: 500 };
        let events = inn.runtime.events(&run.run_id, range).await.unwrap();
        told += events
            .iter()
            .filter(|event| event.kind.name() == "state_updated")
            .count();
    }
    assert_eq!(told as u64, knocks);
}

#[tokio::test]
async fn a_large_private_state_is_told_in_part() {
    let inn = Inn::open().await;
    inn.profile("keeper", "tam", |profile| {
        profile["agent"]["privateState"] =
            json!({"mood": "calm", "novel": "x".repeat(50_000), "gold": 3});
    });
    let told = inn.run("keeper", None, &["Hello."]).await;
    assert!(told.opening.len() < 40_000, "{}", told.opening.len());
    let part = r#"{\"mood\":\"calm\",\"gold\":3}\n1 more are too long to be shown here: novel. Read them with core:ReadPrivateState."#;
    assert!(told.opening.contains(part), "{}", told.opening);
}

/// Asks with both states as the settings of the request.
fn think() -> Json {
    let edge = |id: &str, from: (&str, &str), to: (&str, &str)| json!({"id": id, "source": from.0, "sourceHandle": from.1, "target": to.0, "targetHandle": to.1});
    let node = |id: &str, kind: &str| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}});
    let slot =
        |key: &str, flow: &str| json!({"key": key, "displayName": key, "dataFlowType": flow});
    json!({
        "id": "think", "name": "Think", "version": "1.0.0",
        "nodes": [
            node("in", "core:GroupInput"), node("say", "core:CreateMessage"),
            node("ask", "core:LlmApiRequest"), node("out", "core:GroupOutput"),
        ],
        "edges": [
            edge("e1", ("in", "WorldState"), ("say", "content")),
            edge("e2", ("say", "messages"), ("ask", "messages")),
            edge("e3", ("in", "private_state"), ("ask", "parameters")),
            edge("e4", ("ask", "responseText"), ("out", "full_text")),
        ],
        "viewport": {"x": 0, "y": 0, "zoom": 1},
        "interfaceInputs": {
            "WorldState": slot("WorldState", "STRING"),
            "private_state": slot("private_state", "OBJECT"),
        },
        "interfaceOutputs": {"full_text": slot("full_text", "STRING")},
    })
}

#[tokio::test]
async fn a_deliberation_is_given_both_states_as_they_are() {
    let inn = Inn::open().await;
    let folder = inn.home.path().join("library").join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    write(&folder.join("think.json"), &think());
    inn.profile("thinker", "tam", |profile| {
        profile["agent"]["deliberationWorkflow"] = json!("think");
        profile["agent"]["privateState"] = json!({"mood": "calm"});
    });
    let feel = tam(
        "core:UpdatePrivateState",
        &[("path", "mood"), ("value", "glad")],
    );
    let open = tam(
        "world:RequestStateUpdate",
        &[("path", "door"), ("value", "open")],
    );
    let says = [feel.as_str(), open.as_str(), "Come in."];
    inn.run("thinker", None, &says).await;
    let parameters: Vec<Json> = (0..3).map(|at| inn.script.parameters(at)).collect();
    let mood = |mood: &str| json!({"mood": mood});
    assert_eq!(parameters, [mood("calm"), mood("glad"), mood("glad")]);
    let worlds: Vec<String> = (0..3).map(|at| inn.script.last_message(at)).collect();
    assert_eq!(worlds, ["{}", "{}", r#"{"door":"open"}"#]);
}
