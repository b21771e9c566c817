use std::sync::Arc;

use innkeeper_protocol::ErrorCode as Code;
use serde_json::{Value as Json, json};

use super::*;
use crate::limits::*;
use crate::workspace::testing::House;

const SEARCH: &str = "chat.search";
const READ: &str = "chat.read_messages";
const WORLD: &str = "worldinfo.read_activated";

fn line(who: &str, text: &str) -> Json {
    json!({
        "name": who, "mes": text, "is_user": who == "Ann", "is_system": who == "System",
        "send_date": "2026-01-01",
    })
}

fn house(messages: &[Json]) -> House {
    let house = House::new(&[]);
    let view = ChatView::of_chat(messages, "normal").unwrap();
    *house.door.chat.lock().unwrap() = Some(Arc::new(view));
    house
}

#[test]
fn both_forms_of_messages_are_read() {
    let header = json!({"user_name": "Ann", "character_name": "Bo", "chat_metadata": {}});
    let lines = [
        header,
        line("Ann", "hi"),
        line("Bo", "ho"),
        line("System", "note"),
    ];
    let view = ChatView::of_chat(&lines, "normal").unwrap();
    let roles: Vec<Role> = view.messages().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::System]);
    assert_eq!(view.messages()[0].send_date.as_deref(), Some("2026-01-01"));
    assert_eq!(
        ChatView::of_chat(&lines, "swipe").unwrap().messages().len(),
        1
    );
    assert_eq!(
        ChatView::of_chat(&lines, "regenerate")
            .unwrap()
            .messages()
            .len(),
        2
    );

    let prompt = [
        json!({"role": "system", "content": "rules"}),
        json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]}),
        json!({"role": "assistant", "content": null}),
    ];
    let view = ChatView::of_snapshot(&prompt).unwrap();
    let texts: Vec<&str> = view
        .messages()
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(texts, ["rules", "a\nb", ""]);

    for (broken, reason) in [
        (
            json!({"mes": 7, "is_user": true}),
            "agent.chat_message_invalid_json",
        ),
        (json!("text"), "agent.chat_message_invalid_json"),
        (
            json!({"role": "user", "content": 7}),
            "agent.chat_message_invalid_json",
        ),
    ] {
        let fault = ChatView::of_chat(&[broken], "normal").unwrap_err();
        assert_eq!(fault.reason(), reason);
    }
    let fault = ChatView::of_chat(&[line("Ann", "hi")], "swipe").unwrap_err();
    assert_eq!(fault.reason(), "agent.swipe_target_invalid");
}

#[tokio::test]
async fn searches_give_the_best_and_the_newest_first() {
    let house = house(&[
        line("Ann", "Where is the silver key?"),
        line("Bo", "A key of SILVER hangs here"),
        line("Ann", "just a key"),
        line("System", "银钥匙"),
    ]);
    let found = |arguments: Json| async {
        let answer = house.call(SEARCH, arguments).await.unwrap();
        let hits = answer["hits"].as_array().unwrap().clone();
        hits.iter()
            .map(|hit| hit["index"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    for (arguments, hits) in [
        (json!({"query": "silver key"}), vec![1, 0, 2]),
        (json!({"query": "silver key", "limit": 1}), vec![1]),
        (json!({"query": "silver key", "role": "user"}), vec![0, 2]),
        (
            json!({"query": "key silver", "start_message": 1}),
            vec![1, 2],
        ),
        (json!({"query": "key silver", "end_message": 1}), vec![1, 0]),
        (json!({"query": "key silver", "scan_limit": 2}), vec![2]),
        (json!({"query": "银钥"}), vec![3]),
        (json!({"query": "nothing at all"}), vec![]),
    ] {
        assert_eq!(found(arguments.clone()).await, hits, "{arguments}");
    }
    let answer = house
        .call(SEARCH, json!({"query": "hangs silver"}))
        .await
        .unwrap();
    let hit = &answer["hits"][0];
    assert_eq!(hit["ref"], "chat:current#1");
    assert_eq!(
        (&hit["role"], &hit["score"]),
        (&json!("assistant"), &json!(1.0))
    );
    assert_eq!(
        (&hit["chars"], &hit["words"], &hit["bytes"]),
        (&json!(26), &json!(6), &json!(26))
    );
}

#[tokio::test]
async fn messages_are_read_whole_or_in_parts() {
    let long = "字".repeat(MAX_ITEM_CHARS + 1);
    let house = house(&[line("Ann", "one 二😀"), line("Bo", &long), line("Bo", "")]);
    let answer = house
        .call(READ, json!({"messages": [{"index": 0}, {"index": 0, "start_char": 4, "max_chars": 1}, {"index": 2}, {"index": 1, "start_char": 1}]}))
        .await
        .unwrap();
    assert_eq!(answer["totalMessages"], 3);
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(
        messages[0],
        json!({
            "index": 0, "role": "user", "name": "Ann", "sendDate": "2026-01-01",
            "ref": "chat:current#0:chars=0..6", "bytes": 11, "chars": 6, "words": 2,
            "totalBytes": 11, "totalChars": 6, "totalWords": 2,
            "startChar": 0, "endChar": 6, "truncated": false, "text": "one 二😀",
        })
    );
    assert_eq!(
        (&messages[1]["text"], &messages[1]["truncated"]),
        (&json!("二"), &json!(true))
    );
    assert_eq!(messages[1]["ref"], "chat:current#0:chars=4..5");
    assert_eq!(messages[2]["text"], "");
    assert_eq!(messages[3]["chars"], MAX_ITEM_CHARS);
}

#[tokio::test]
async fn refusals() {
    let long = "x".repeat(MAX_ITEM_CHARS + 1);
    let whole = "x".repeat(MAX_ITEM_CHARS);
    let house = house(&[line("Ann", "hi"), line("Bo", &long), line("Bo", &whole)]);
    let entry = |uid: u64, content: &str| json!({"world": "W", "uid": uid, "content": content});
    let batch = json!({"entries": [entry(1, "hi"), entry(2, &long), entry(3, &whole)]});
    *house.door.world_info.lock().unwrap() = Some(Arc::new(batch));
    let read = |list: Json| json!({"messages": list});
    let entries = |list: Json| json!({"entries": list});
    for (tool, arguments, code, reason) in [
        (
            SEARCH,
            json!({"query": ""}),
            Code::ToolInvalidArguments,
            "chat.search_query_empty",
        ),
        (
            SEARCH,
            json!({"query": "x".repeat(MAX_QUERY_CHARS + 1)}),
            Code::ToolInvalidArguments,
            "chat.search_query_too_long",
        ),
        (
            SEARCH,
            json!({"query": "x", "limit": 51}),
            Code::ToolInvalidArguments,
            "chat.search_limit_invalid",
        ),
        (
            READ,
            read(json!([{"index": 3}])),
            Code::ChatMessageNotFound,
            "chat.message_not_found",
        ),
        (
            READ,
            read(json!([{"index": -1}])),
            Code::ChatMessageNotFound,
            "chat.message_not_found",
        ),
        (
            READ,
            read(json!([{"index": 0, "start_char": 2}])),
            Code::ChatInvalidMessageRange,
            "chat.invalid_message_range",
        ),
        (
            READ,
            read(json!([{"index": 0, "start_char": -1}])),
            Code::ChatInvalidMessageRange,
            "chat.invalid_message_range",
        ),
        (
            READ,
            read(json!([{"index": 0, "max_chars": 0}])),
            Code::ChatInvalidMessageRange,
            "chat.invalid_message_range",
        ),
        (
            READ,
            read(json!([{"index": 0, "max_chars": 8001}])),
            Code::ChatReadTooLarge,
            "chat.read_too_large",
        ),
        (
            READ,
            read(json!([{"index": 1}])),
            Code::ChatReadTooLarge,
            "chat.read_too_large",
        ),
        (
            READ,
            read(json!([{"index": 2}, {"index": 2}, {"index": 2}])),
            Code::ChatReadTooLarge,
            "chat.read_too_large",
        ),
        (
            WORLD,
            entries(json!([{"ref": "worldinfo:W#9"}])),
            Code::WorldinfoEntryNotFound,
            "worldinfo.entry_not_found",
        ),
        (
            WORLD,
            entries(json!([{"ref": "worldinfo:W#1", "start_char": 2}])),
            Code::WorldinfoInvalidEntryRange,
            "worldinfo.invalid_entry_range",
        ),
        (
            WORLD,
            entries(json!([{"ref": "worldinfo:W#2"}])),
            Code::WorldinfoReadTooLarge,
            "worldinfo.read_too_large",
        ),
        (
            WORLD,
            entries(
                json!([{"ref": "worldinfo:W#3"}, {"ref": "worldinfo:W#3"}, {"ref": "worldinfo:W#3"}]),
            ),
            Code::WorldinfoReadTooLarge,
            "worldinfo.read_too_large",
        ),
    ] {
        let told = format!(
            "{tool} {}",
            arguments.to_string().chars().take(90).collect::<String>()
        );
        assert_eq!(
            house.refused(tool, arguments).await,
            (code, reason.to_owned()),
            "{told}"
        );
    }
    let two = read(json!([{"index": 2}, {"index": 2}]));
    house.call(READ, two).await.unwrap();
    *house.door.chat.lock().unwrap() = None;
    *house.door.world_info.lock().unwrap() = None;
    assert_eq!(
        house.refused(SEARCH, json!({"query": "x"})).await.0,
        Code::ChatNotFound
    );
    assert_eq!(
        house.refused(READ, read(json!([{"index": 0}]))).await.0,
        Code::ChatNotFound
    );
    assert_eq!(
        house.refused(WORLD, json!({})).await.0,
        Code::WorldinfoActivationUnavailable
    );
}

#[test]
fn no_more_is_asked_for_than_may_be() {
    let house = House::new(&[]);
    for (tool, list, item) in [
        (READ, "messages", json!({"index": 0})),
        (WORLD, "entries", json!({"ref": "x"})),
    ] {
        let (definition, _) = house
            .tools()
            .iter()
            .find(|(tool_, _)| tool_.id.as_str() == tool)
            .unwrap();
        let validator = jsonschema::validator_for(&definition.parameters).unwrap();
        let most = vec![item.clone(); MAX_READ_ITEMS];
        assert!(validator.is_valid(&json!({list: most})), "{tool}");
        let more = vec![item; MAX_READ_ITEMS + 1];
        assert!(!validator.is_valid(&json!({list: more})), "{tool}");
        assert!(!validator.is_valid(&json!({list: [{"odd": 1}]})), "{tool}");
        assert!(!validator.is_valid(&json!({"odd": 1})), "{tool}");
    }
}

#[tokio::test]
async fn world_info_is_listed_and_read() {
    let house = House::new(&[]);
    let batch = json!({
        "timestampMs": 5, "trigger": "normal",
        "entries": [
            {"world": "The Inn", "uid": 7, "displayName": "Cellar", "constant": true, "content": "地窖 dark", "position": 4},
            {"world": "The Inn", "uid": "8", "content": "b", "position": "before"},
            {"world": "The Inn", "uid": 9, "content": "c"},
            {"world": "The Inn", "uid": "9", "content": "d"},
        ],
    });
    *house.door.world_info.lock().unwrap() = Some(Arc::new(batch));
    let index = house.call(WORLD, json!({})).await.unwrap();
    assert_eq!(
        (
            &index["mode"],
            &index["timestampMs"],
            &index["totalEntries"]
        ),
        (&json!("index"), &json!(5), &json!(4))
    );
    let refs: Vec<&str> = index["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["ref"].as_str().unwrap())
        .collect();
    assert_eq!(
        refs,
        [
            "worldinfo:The Inn#7",
            "worldinfo:The Inn#8",
            "worldinfo:activated#2",
            "worldinfo:activated#3"
        ]
    );
    assert_eq!(
        index["entries"][0],
        json!({
            "world": "The Inn", "uid": "7", "displayName": "Cellar", "constant": true, "position": "depth",
            "ref": "worldinfo:The Inn#7", "totalBytes": 11, "totalChars": 7, "totalWords": 3,
        })
    );
    assert_eq!(index["entries"][1]["displayName"], "8");
    assert_eq!(index["entries"][2]["position"], Json::Null);
    let asked = json!({"entries": [{"ref": "worldinfo:The Inn#7", "start_char": 1, "max_chars": 1}, {"ref": "worldinfo:activated#3"}]});
    let read = house.call(WORLD, asked).await.unwrap();
    assert_eq!(
        (&read["mode"], &read["entries"][0]["content"]),
        (&json!("content"), &json!("窖"))
    );
    assert_eq!(
        (
            &read["entries"][0]["truncated"],
            &read["entries"][0]["totalChars"]
        ),
        (&json!(true), &json!(7))
    );
    assert_eq!(read["entries"][1]["content"], "d");
}
