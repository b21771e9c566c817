use std::sync::{Arc, Mutex};

use serde_json::{Map, Value as Json, json};

use super::tree::Tree;
use crate::NodeError;
use crate::nodes::testing_ports::{ScriptedTools, with_tools};
use crate::testing::run_node_with;

type Files = Arc<Mutex<Map<String, Json>>>;

async fn run(files: &Files, node: &str, inputs: Json) -> Result<Map<String, Json>, NodeError> {
    let tools = Arc::new(ScriptedTools::default().with_files(files));
    run_node_with(node, json!({}), inputs, with_tools(&tools)).await
}

fn user(text: &str) -> Json {
    json!({"role": "user", "content": text})
}

#[tokio::test]
async fn what_is_written_is_read_again() {
    let files = Files::default();
    let place = json!({"session": "evening", "project": "inn"});
    let read = run(&files, "core:ReadChatHistory", place.clone())
        .await
        .unwrap();
    assert_eq!(
        (&read["messages"], &read["exists"], &read["version"]),
        (&json!([]), &json!(false), &json!(0))
    );

    let mut write = place.clone();
    write["messages"] =
        json!([user("a"), {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}]);
    let written = run(&files, "core:WriteChatHistory", write).await.unwrap();
    assert_eq!(
        (&written["version"], &written["path"]),
        (&json!(1), &json!("user://projects/inn/chats/evening.json"))
    );

    let mut write = place.clone();
    write["messages"] = "b".into();
    write["expected_version"] = 1.into();
    let written = run(&files, "core:WriteChatHistory", write.clone())
        .await
        .unwrap();
    assert_eq!(written["version"], 2);
    let error = run(&files, "core:WriteChatHistory", write)
        .await
        .unwrap_err();
    assert_eq!(error.code, "chat.version_conflict");

    let read = run(&files, "core:ReadChatHistory", place.clone())
        .await
        .unwrap();
    let wanted = json!([user("a"), {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}, user("b")]);
    assert_eq!(read["messages"], wanted);
    assert_eq!(read["version"], 2);
    let tree = &read["tree"];
    let root = tree["rootNodeIds"][0].as_str().unwrap();
    assert_eq!(tree["nodes"][root]["children"].as_array().unwrap().len(), 1);
    assert_eq!(tree["nodes"][root]["status"], "complete");

    let mut newest = place;
    newest["max_messages"] = 1.into();
    let read = run(&files, "core:ReadChatHistory", newest).await.unwrap();
    assert_eq!(read["messages"], json!([user("b")]));
}

fn tree(json: Json) -> Tree {
    Tree::read(&json.to_string(), "f").unwrap()
}

fn node(id: &str, parent: Option<&str>, enabled: bool) -> Json {
    json!({"id": id, "parentId": parent, "role": "user", "content": id, "isEnabled": enabled, "children": []})
}

#[test]
fn only_the_active_branch_is_read() {
    let nodes = json!({
        "a": node("a", None, true), "b": node("b", Some("a"), true), "c": node("c", Some("a"), true),
        "d": node("d", Some("c"), false), "e": node("e", Some("d"), true),
    });
    let json = json!({"sessionId": "s", "version": 4, "nodes": nodes, "rootNodeIds": ["a"], "activeLeafId": "e", "x": 1});
    let found = tree(json.clone());
    assert_eq!(
        json!(found.active().unwrap()),
        json!([user("a"), user("c"), user("e")])
    );
    // What we do not know is kept.
    assert_eq!(found.to_json(), json);
}

#[test]
fn a_broken_tree_does_not_hang() {
    for nodes in [
        json!({"a": node("a", Some("b"), true), "b": node("b", Some("a"), true)}),
        json!({"a": node("a", Some("a"), true)}),
    ] {
        let error = tree(json!({"nodes": nodes, "activeLeafId": "a"}))
            .active()
            .unwrap_err();
        assert_eq!(error.code, "chat.broken");
        assert!(error.message.contains("'a'"), "{error}");
    }
    let mut last = tree(json!({"nodes": {}, "version": u64::MAX}));
    last.append(Vec::new()).unwrap();
    assert_eq!(last.version(), u64::MAX);
    let lost = tree(json!({"nodes": {}, "activeLeafId": "gone"}));
    assert_eq!(lost.active(), Ok(Vec::new()));
    for text in ["", "[]", "{}", "{\"nodes\": []}"] {
        assert_eq!(
            Tree::read(text, "f").unwrap_err().code,
            "chat.broken",
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_chat_that_leads_round_is_neither_read_nor_written() {
    let files = Files::default();
    let broken =
        json!({"nodes": {"a": node("a", Some("a"), true)}, "activeLeafId": "a"}).to_string();
    let path = "chats/round.json";
    files
        .lock()
        .unwrap()
        .insert(path.into(), broken.clone().into());
    for kind in ["Read", "Write"] {
        let inputs = json!({"session": "round", "messages": "x"});
        let error = run(&files, &format!("core:{kind}ChatHistory"), inputs).await;
        assert_eq!(error.unwrap_err().code, "chat.broken", "{kind}");
    }
    assert_eq!(files.lock().unwrap()[path], broken);
}

#[tokio::test]
async fn names_lead_nowhere_else() {
    let files = Files::default();
    for (session, project) in [
        ("../x", ""),
        ("a/b", ""),
        ("", ""),
        (".hidden", ""),
        ("ok", "../p"),
        (" a", ""),
    ] {
        let inputs = json!({"session": session, "project": project});
        let error = run(&files, "core:ReadChatHistory", inputs)
            .await
            .unwrap_err();
        assert_eq!(error.code, "chat.name", "{session} {project}");
    }
    let inputs = json!({"session": "夜 1", "messages": "x"});
    let written = run(&files, "core:WriteChatHistory", inputs).await.unwrap();
    assert_eq!(written["path"], "chats/夜 1.json");
}

#[tokio::test]
async fn writers_at_the_same_time_lose_nothing() {
    let files = Files::default();
    let writes = (0..20).map(|number| {
        let inputs = json!({"session": "busy", "messages": number.to_string()});
        run(&files, "core:WriteChatHistory", inputs)
    });
    for end in futures_util::future::join_all(writes).await {
        end.unwrap();
    }
    let read = run(&files, "core:ReadChatHistory", json!({"session": "busy"}))
        .await
        .unwrap();
    assert_eq!(
        (&read["version"], read["messages"].as_array().unwrap().len()),
        (&json!(20), 20)
    );
}
