//! The tools in a live run: staged, journaled, hidden, told.

use innkeeper_protocol::event::CallId;
use innkeeper_tools::registry::Lookup;
use innkeeper_tools::{Registry, builtin};
use serde_json::json;

use super::*;
use crate::workspace::Workspaces;
use crate::workspace::state::How;
use crate::workspace::testing::House;

const READ: &str = "core:ReadPrivateState";
const UPDATE: &str = "core:UpdatePrivateState";
const FILE: &str = "persist/.state/writer.json";

async fn house(agent: Json) -> (House, Arc<StateDesk>) {
    let house = House::new(&[]);
    let desk = StateDesk::new(&created(agent), worlds().await, Arc::new(SystemClock));
    let desk = Arc::new(desk);
    *house.door.states.lock().unwrap() = Some(desk.clone());
    (house, desk)
}

#[tokio::test]
async fn a_private_state_takes_effect_with_the_end_of_its_call() {
    let (house, _) = house(json!({"privateState": {"gold": 30}})).await;
    let read = async || house.call(READ, json!({})).await.unwrap();
    assert_eq!(read().await, json!({"value": {"gold": 30}, "version": 0}));
    let spend = json!({"path": "gold", "op": "increment", "value": -5, "expected_version": 0});
    let answer = house.open_call("c1", UPDATE, spend.clone()).await.unwrap();
    assert_eq!(
        answer,
        json!({"version": 1, "paths": ["/gold"], "value": 25})
    );
    // A call that came to nothing has changed nothing.
    house.journal("c1", false).await;
    assert_eq!(read().await["version"], 0);

    house.open_call("c2", UPDATE, spend.clone()).await.unwrap();
    let taken = house.journal("c2", true).await;
    let [file] = taken.change.files.as_slice() else {
        panic!("{taken:?}");
    };
    let how = How::State {
        call: CallId::new("c2"),
        version: 1,
        paths: vec!["/gold".to_owned()],
    };
    assert_eq!((file.path.as_str(), &file.how), (FILE, &how));
    assert_eq!(read().await, json!({"value": {"gold": 25}, "version": 1}));

    let error = house.call(UPDATE, spend).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("state.version_conflict"));
    assert!(
        error
            .message
            .contains("version 1, not 0; since then /gold changed")
    );
    // What changes nothing writes nothing.
    let same = json!({"path": "gold", "value": 25});
    let answer = house.open_call("c3", UPDATE, same).await.unwrap();
    assert_eq!(answer, json!({"version": 1, "paths": []}));
    assert!(house.journal("c3", true).await.change.is_empty());

    let kept: Json = serde_json::from_str(&house.text_of(FILE).await).unwrap();
    assert_eq!(kept["history"][0]["by"]["callId"], "c2");
    assert_eq!(
        kept["history"][0]["changes"],
        json!([{"path": "/gold", "before": 30, "after": 25}])
    );
}

#[tokio::test]
async fn several_changes_are_answered_by_path() {
    let (house, _) = house(json!({})).await;
    let answer = house.call(
        UPDATE,
        json!({"operations": [
            {"op": "set", "path": "mood.level", "value": 3},
            {"op": "append", "path": "seen", "value": "the inn"},
            {"op": "append", "path": "seen", "value": "the well"},
        ]}),
    );
    assert_eq!(
        answer.await.unwrap(),
        json!({"version": 1, "paths": ["/mood", "/seen"],
            "value": {"/mood": {"level": 3}, "/seen": ["the inn", "the well"]}})
    );
    let answer = house.call(
        UPDATE,
        json!({"operations": [
            {"op": "remove", "path": "/mood/level"},
            {"op": "append", "path": "seen", "value": "the barn"},
        ]}),
    );
    assert_eq!(
        answer.await.unwrap(),
        json!({"version": 2, "paths": ["/mood/level", "/seen/2"],
            "value": {"/mood/level": null, "/seen/2": "the barn"}})
    );
    let long = "x".repeat(crate::limits::MAX_ANSWERED_VALUE_BYTES);
    let answer = house.call(UPDATE, json!({"path": "long", "value": long}));
    assert_eq!(
        answer.await.unwrap(),
        json!({"version": 3, "paths": ["/long"]})
    );
}

#[tokio::test]
async fn an_update_that_breaks_the_profiles_schema_is_refused_whole() {
    let schema = json!({"properties": {"gold": {"type": "integer", "default": 1}}});
    let (house, _) = house(json!({"privateStateSchema": schema})).await;
    let both = json!({"operations": [
        {"op": "set", "path": "mood", "value": "calm"},
        {"op": "set", "path": "gold", "value": "much"},
    ]});
    let (_, reason) = house.refused(UPDATE, both).await;
    assert_eq!(reason, "state.schema_violation");
    let state = house.call(READ, json!({})).await.unwrap();
    assert_eq!(state, json!({"value": {"gold": 1}, "version": 0}));
}

#[tokio::test]
async fn no_file_tool_sees_a_private_state() {
    let (house, _) = house(json!({})).await;
    let note = json!({"path": "secret", "value": "the key is under the mat"});
    house.call(UPDATE, note).await.unwrap();
    let listed = house.call("workspace.list_files", json!({"depth": 3}));
    assert!(!listed.await.unwrap().to_string().contains(".state"));
    let found = house.call("workspace.search_files", json!({"query": "mat"}));
    assert!(!found.await.unwrap().to_string().contains("under"));
    for (tool, arguments) in [
        ("workspace.read_file", json!({"path": FILE})),
        (
            "workspace.read_file",
            json!({"path": "persist/./.state//writer.json"}),
        ),
        (
            "workspace.write_file",
            json!({"path": FILE, "content": "{}"}),
        ),
        (
            "workspace.write_file",
            json!({"path": "persist/.state", "content": "{}"}),
        ),
        ("workspace.list_files", json!({"path": "persist/.state"})),
    ] {
        let (_, reason) = house.refused(tool, arguments.clone()).await;
        assert_eq!(reason, "workspace.path_not_visible", "{tool} {arguments}");
    }
}

#[tokio::test]
async fn what_a_call_did_to_the_world_is_told_with_its_end() {
    let (house, desk) = house(json!({})).await;
    let tool = "world:RequestStateUpdate";
    let open = json!({"path": "door", "value": "open"});
    let answer = house.open_call("c1", tool, open).await.unwrap();
    assert_eq!(
        answer,
        json!({"version": 1, "paths": ["/door"], "value": "open"})
    );
    let change = WorldChange {
        version: 1,
        paths: vec!["/door".to_owned()],
    };
    assert_eq!(desk.take(&CallId::new("c1")), [change]);
    assert!(desk.take(&CallId::new("c1")).is_empty());
    let read = house.call("world:ReadState", json!({"path": "door"}));
    assert_eq!(read.await.unwrap(), json!({"value": "open", "version": 1}));
}

#[tokio::test]
async fn a_call_that_another_process_makes_again_is_known() {
    let worlds = worlds().await;
    let knock = json!({"path": "knocks", "op": "increment"});
    for _ in 0..2 {
        // The first one was cut off before its end was journaled.
        let house = House::new(&[]);
        let desk = StateDesk::new(&created(json!({})), worlds.clone(), Arc::new(SystemClock));
        *house.door.states.lock().unwrap() = Some(Arc::new(desk));
        let tool = "world:RequestStateUpdate";
        let answer = house.open_call("c1", tool, knock.clone()).await.unwrap();
        assert_eq!(
            answer,
            json!({"version": 1, "paths": ["/knocks"], "value": 1})
        );
    }
    assert_eq!(
        worlds.read(&chat()).await.unwrap().value,
        json!({"knocks": 1})
    );
}

#[test]
fn requests_of_one_call_are_told_apart() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let worlds = runtime.block_on(worlds());
    let desk = StateDesk::new(&created(json!({})), worlds, Arc::new(SystemClock));
    let call = CallId::new("c1");
    let asked: Vec<String> = ["a", "b", "a", "c"]
        .map(|one| desk.request(&call, one))
        .into();
    assert_eq!(
        asked,
        ["run_1/c1/0", "run_1/c1/1", "run_1/c1/0", "run_1/c1/2"]
    );
}

/// The names of document 3 and of the documents that the ComfyTavern sheet gathers.
#[test]
fn all_names_of_the_documents_are_known() {
    let registry = Registry::default();
    let source = builtin::source(tools(&Workspaces::default())).unwrap();
    registry.replace(builtin::SOURCE, source).unwrap();
    let snapshot = registry.snapshot();
    for (name, id) in [
        ("core:ReadPrivateState", READ),
        ("ReadPrivateStateTool", READ),
        ("core.ReadPrivateState", READ),
        ("readprivatestatetool", READ),
        ("core:UpdatePrivateState", UPDATE),
        ("UpdatePrivateStateTool", UPDATE),
        ("world:ReadState", "world:ReadState"),
        ("ReadWorldStateTool", "world:ReadState"),
        ("core:ReadWorldState", "world:ReadState"),
        ("world:RequestStateUpdate", "world:RequestStateUpdate"),
        ("RequestWorldStateUpdateTool", "world:RequestStateUpdate"),
        ("UpdateWorldStateTool", "world:RequestStateUpdate"),
        ("world:UpdateState", "world:RequestStateUpdate"),
    ] {
        match snapshot.find(name) {
            Lookup::Found(tool) => assert_eq!(tool.definition().id.as_str(), id, "{name}"),
            _ => panic!("{name} is not known"),
        }
    }
}
