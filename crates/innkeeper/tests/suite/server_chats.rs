//! Chats that the house keeps itself: written by people and by runs, over HTTP and by the commands of the host API.

use serde_json::{Value, json};

use super::home::House;
use super::server::{Answer, Served};

struct Guest<'a> {
    served: &'a Served,
    token: String,
}

impl Guest<'_> {
    fn send(&self, line: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.served.ask(line, &[("Authorization", &bearer)], &body)
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.send(&format!("GET /api/v1{path}"), &Value::Null);
        assert_eq!(answer.status, 200, "{path} {}", answer.body);
        answer.json()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(&format!("POST /api/v1{path}"), body);
        assert!(answer.status < 300, "{path} {}", answer.body);
        answer.json()
    }

    fn invoke(&self, command: &str, dto: Value) -> Answer {
        self.send(
            &format!("POST /api/v1/host/{command}"),
            &json!({ "dto": dto }),
        )
    }

    fn told(&self, command: &str, dto: Value) -> Value {
        let answer = self.invoke(command, dto);
        assert_eq!(answer.status, 200, "{command} {}", answer.body);
        answer.json()
    }

    /// A run from its start to its end.
    fn run(&self, asked: &Value) -> Value {
        let run = self.post("/runs", asked)["runId"].clone();
        let run = run.as_str().unwrap();
        self.send(
            &format!("GET /api/v1/runs/{run}/events/stream"),
            &Value::Null,
        );
        self.get(&format!("/runs/{run}"))
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let page = self.get(&format!("/chats/{chat}/messages"));
        let messages = page["messages"].as_array().unwrap().iter();
        messages
            .map(|one| one["message"]["mes"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn mei(file: &str) -> Value {
    json!({ "kind": "character", "characterId": "mei", "fileName": file })
}

#[test]
fn a_run_answers_in_a_chat_of_the_house_and_is_taken_back_from_it() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let asked = json!({ "chatRef": mei("tea"), "metadata": { "character_name": "Mei" } });
    let chat = guest.post("/chats", &asked)["chatId"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked = json!({ "stableChatId": chat, "message": "write a letter about tea" });
    let first = guest.run(&asked);
    assert_eq!(first["status"], "completed", "{first}");
    assert_eq!(first["chatRef"], mei("tea"));
    let page = guest.get(&format!("/chats/{chat}/messages"));
    let [said, answer] = page["messages"].as_array().unwrap().as_slice() else {
        panic!("{page}");
    };
    assert_eq!(said["message"]["is_user"], true);
    let answer = &answer["message"];
    assert_eq!(
        (&answer["name"], &answer["is_user"]),
        (&json!("Mei"), &json!(false))
    );
    let extra = &answer["extra"]["tauritavern"]["agent"];
    assert_eq!(
        (&extra["version"], &extra["runId"]),
        (&json!(2), &first["runId"])
    );
    assert_eq!(first["committedMessage"]["messageIndex"], 1);

    let swipe = json!({ "stableChatId": chat, "generationType": "swipe" });
    let second = guest.run(&swipe);
    let page = guest.get(&format!("/chats/{chat}/messages"));
    assert_eq!(page["total"], 2);
    assert_eq!(
        page["messages"][1]["message"]["swipes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let back = format!("/runs/{}/rollback", second["runId"].as_str().unwrap());
    guest.post(
        &back,
        &json!({ "checkpointId": "start", "scope": "committed-message" }),
    );
    // It is taken out by whoever follows the run, a moment later.
    loop {
        let page = guest.get(&format!("/chats/{chat}/messages"));
        let message = &page["messages"][1]["message"];
        if message["swipes"].as_array().unwrap().len() == 1 {
            assert_eq!(
                message["extra"]["tauritavern"]["agent"]["runId"],
                first["runId"]
            );
            break;
        }
        std::thread::yield_now();
    }
    let nothing = json!({ "chatRef": mei("tea"), "generationType": "swipe", "message": "and?" });
    let refused = guest.send("POST /api/v1/runs", &nothing);
    assert_eq!(
        refused.json()["details"]["reason"],
        "agent.swipe_target_invalid"
    );
    assert_eq!(
        guest.texts(&chat).len(),
        2,
        "what was said for nothing is unsaid"
    );
}

#[test]
fn chats_are_made_read_changed_branched_and_deleted() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let lines: Vec<Value> = (0..5)
        .map(|at| json!({ "name": "u", "is_user": at % 2 == 0, "mes": format!("m{at}") }))
        .collect();
    let made = guest.post(
        "/chats",
        &json!({ "chatRef": mei("one"), "messages": lines }),
    );
    let chat = made["chatId"].as_str().unwrap();
    assert_eq!(
        (&made["messageCount"], &made["version"]),
        (&json!(5), &json!(1))
    );
    let again = guest.send(
        "POST /api/v1/chats",
        &json!({ "chatRef": mei("one.jsonl") }),
    );
    assert_eq!(
        (again.status, again.json()["code"].clone()),
        (409, json!("http.conflict"))
    );
    for body in [
        json!({ "chatRef": { "kind": "character", "characterId": "x" } }),
        json!({ "chatRef": { "kind": "else" } }),
        json!({ "messages": [{ "name": "no text" }] }),
    ] {
        let refused = guest.send("POST /api/v1/chats", &body);
        assert_eq!(refused.status, 400, "{body} {}", refused.body);
    }
    let older = guest.get(&format!("/chats/{chat}/messages?before=3&limit=2"));
    let indices: Vec<&Value> = older["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["index"])
        .collect();
    assert_eq!(indices, [&json!(1), &json!(2)]);

    let said = json!({ "text": "six", "version": 1 });
    let place = guest.post(&format!("/chats/{chat}/messages"), &said);
    assert_eq!(place, json!({ "index": 5, "version": 2 }));
    let late = guest.send(&format!("POST /api/v1/chats/{chat}/messages"), &said);
    assert_eq!(
        (late.status, late.json()["details"]["version"].clone()),
        (409, json!(2))
    );
    let edited = json!({ "message": { "name": "u", "is_user": true, "mes": "edited" } });
    let line = format!("PUT /api/v1/chats/{chat}/messages/1");
    assert_eq!(guest.send(&line, &edited).status, 200);
    let line = format!("DELETE /api/v1/chats/{chat}/messages/0");
    assert_eq!(guest.send(&line, &Value::Null).status, 204);
    let branched = guest.post(
        &format!("/chats/{chat}/branch"),
        &json!({ "chatRef": mei("two"), "upTo": 1 }),
    );
    let branch = branched["chatId"].as_str().unwrap();
    let line = format!("DELETE /api/v1/chats/{chat}/messages/3?andAfter=true");
    assert_eq!(guest.send(&line, &Value::Null).status, 204);
    assert_eq!(guest.texts(chat), ["edited", "m2", "m3"]);
    assert_eq!(guest.texts(branch), ["edited", "m2"]);
    let line = format!("PATCH /api/v1/chats/{branch}");
    let renamed = guest.send(&line, &json!({ "chatRef": mei("one") }));
    assert_eq!(renamed.status, 409);
    let listed = guest.get("/chats?characterId=mei&limit=1");
    assert_eq!(listed["chats"][0]["chatId"], json!(chat));
    let next = &listed["nextCursor"];
    let (at, id) = (
        next["beforeUpdatedAt"].as_str().unwrap(),
        next["beforeChatId"].as_str().unwrap(),
    );
    let rest = guest.get(&format!(
        "/chats?characterId=mei&beforeUpdatedAt={at}&beforeChatId={id}"
    ));
    assert_eq!(rest["chats"].as_array().unwrap().len(), 1);
    assert_eq!(
        guest
            .send(&format!("DELETE /api/v1/chats/{chat}"), &Value::Null)
            .status,
        204
    );
    let gone = guest.send(&format!("GET /api/v1/chats/{chat}"), &Value::Null);
    assert_eq!(
        (gone.status, gone.json()["code"].clone()),
        (404, json!("chat.not_found"))
    );
}

#[test]
fn pages_read_and_note_what_they_need_of_a_chat() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let lines: Vec<Value> = (0..120)
        .map(|at| json!({ "name": "u", "is_user": at % 2 == 0, "mes": format!("word{at} tea"), "extra": { "n": at } }))
        .collect();
    let made = guest.post(
        "/chats",
        &json!({ "chatRef": mei("one"), "messages": lines }),
    );
    let of = |mut dto: Value| {
        dto["chatRef"] = mei("one");
        dto
    };
    let stable = guest.told("read_chat_stable_id", of(json!({})));
    assert_eq!(stable["stableId"], made["chatId"]);
    let tail = guest.told("read_chat_history_tail", of(json!({ "limit": 100 })));
    assert_eq!(tail["messages"].as_array().unwrap().len(), 100);
    let before = guest.told(
        "read_chat_history_before",
        of(json!({ "cursor": tail["cursor"], "limit": 100 })),
    );
    assert_eq!(
        (
            before["messages"].as_array().unwrap().len(),
            &before["cursor"]
        ),
        (20, &Value::Null)
    );
    let last = guest.told(
        "find_last_chat_message",
        of(json!({ "role": "user", "hasExtraKeys": ["n"] })),
    );
    assert_eq!(last["index"], 118);
    let hits = guest.told(
        "search_chat_messages",
        of(json!({ "query": "word37", "limit": 3 })),
    );
    assert_eq!(hits["hits"][0]["index"], 37);
    let key = |value: Value| of(json!({ "namespace": "ext", "key": "k", "value": value }));
    guest.told("write_chat_store_json", key(json!({ "a": { "b": 1 } })));
    let merged = guest.told("update_chat_store_json", key(json!({ "a": { "c": 2 } })));
    assert_eq!(merged["value"], json!({ "a": { "b": 1, "c": 2 } }));
    guest.told(
        "rename_chat_store_key",
        of(json!({ "namespace": "ext", "key": "k", "newKey": "l" })),
    );
    let keys = guest.told("list_chat_store_keys", of(json!({ "namespace": "ext" })));
    assert_eq!(keys["keys"], json!(["l"]));
    guest.told(
        "delete_chat_store_json",
        of(json!({ "namespace": "ext", "key": "l" })),
    );
    let found = guest.told(
        "read_chat_store_json",
        of(json!({ "namespace": "ext", "key": "l" })),
    );
    assert_eq!(found["exists"], false);
    guest.told(
        "set_chat_metadata_extension",
        of(json!({ "namespace": "ext", "value": { "x": 1 } })),
    );
    let metadata = guest.told("read_chat_metadata", of(json!({})));
    assert_eq!(metadata["extensions"]["ext"]["x"], 1);
    let unknown = guest.invoke("read_chat_summary", json!({ "chatRef": mei("nope") }));
    assert_eq!(
        (unknown.status, unknown.json()["code"].clone()),
        (404, json!("chat.not_found"))
    );
    let wrong = guest.invoke("read_chat_summary", json!({ "chatRef": { "kind": "x" } }));
    assert_eq!(wrong.json()["details"]["reason"], "agent.invalid_chat_ref");
}

#[test]
fn a_session_is_a_conversation_with_an_agent_alone() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let asked = json!({ "profileId": "innkeeper" });
    let session = guest.told("create_agent_session", asked)["session"]["id"].clone();
    let of = |mut dto: Value| {
        dto["sessionId"] = session.clone();
        dto
    };
    let empty = guest.invoke("send_agent_session_message", of(json!({ "text": "  " })));
    assert_eq!(
        empty.json()["details"]["reason"],
        "agent.session_message_required"
    );
    let sent = guest.told("send_agent_session_message", of(json!({ "text": "hello" })));
    let run = sent["runId"].as_str().unwrap();
    guest.send(
        &format!("GET /api/v1/runs/{run}/events/stream"),
        &Value::Null,
    );
    let read = loop {
        let read = guest.told("read_agent_session", of(json!({})));
        if read["messages"].as_array().unwrap().len() == 2 {
            break read;
        }
        std::thread::yield_now();
    };
    assert_eq!(read["messages"][0]["message"]["mes"], "hello");
    assert_eq!(
        (&read["messages"][1]["runId"], &read["messages"][1]["seq"]),
        (&json!(run), &json!(2))
    );
    assert_eq!(read["activeRun"], Value::Null);
    let older = guest.told("read_agent_session", of(json!({ "beforeSeq": 2 })));
    assert_eq!(older["messages"].as_array().unwrap().len(), 1);
    assert_eq!(
        guest.told("list_agent_sessions", Value::Null)["sessions"][0]["id"],
        session
    );
    guest.told("delete_agent_session", of(json!({})));
    let gone = guest.invoke("read_agent_session", of(json!({})));
    assert_eq!(gone.json()["details"]["reason"], "agent.session_not_found");
}

#[test]
fn settings_of_retention_are_changed_from_a_page_by_whoever_may() {
    let house = House::new();
    house.settings("# mine\n[retention]\nkeep_recent_terminal_runs = 30\n");
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let wanted = json!({ "agent": { "retention": { "keep_full_recent_runs": 5 } } });
    let changed = guest.told("update_tauritavern_settings", wanted.clone());
    let expected = json!({ "auto_prune_enabled": false, "keep_recent_terminal_runs": 30, "keep_full_recent_runs": 5 });
    assert_eq!(changed["agent"]["retention"], expected);
    let read = guest.told("get_tauritavern_settings", Value::Null);
    assert_eq!(read["agent"]["retention"], expected);
    let text = std::fs::read_to_string(house.path().join("innkeeper.toml")).unwrap();
    assert!(text.starts_with("# mine\n"), "{text}");
    let wrong = json!({ "agent": { "retention": { "keep_full_recent_runs": 31 } } });
    assert_eq!(
        guest.invoke("update_tauritavern_settings", wrong).status,
        400
    );
    let made = house.json(&["access", "token", "hands", "--scope", "run"]);
    let hands = Guest {
        served: &served,
        token: made["token"].as_str().unwrap().to_owned(),
    };
    assert_eq!(
        hands.invoke("update_tauritavern_settings", wanted).status,
        403
    );
}

#[test]
fn a_reply_that_is_complete_is_changed_in_the_same_run() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let guest = Guest {
        served: &served,
        token: served.token(),
    };
    let chat = guest.post("/chats", &json!({ "chatRef": mei("tea") }))["chatId"].clone();
    let run = guest.run(&json!({ "stableChatId": chat, "message": "write a letter about tea" }));
    let id = &run["runId"];
    let stands = guest.told("read_agent_run_checkpoint", json!({ "runId": id }));
    assert_eq!(
        (&stands["nextStep"], &stands["terminalSeq"]),
        (&json!("finished"), &run["lastSeq"])
    );
    let old = json!({ "runId": id, "expectedTerminalSeq": 3 });
    let moved = guest.invoke("resume_agent_run", old);
    assert_eq!(
        moved.json()["details"]["reason"],
        "agent.resume_checkpoint_mismatch"
    );
    let done = guest.invoke("resume_agent_run", json!({ "runId": id }));
    assert_eq!(done.json()["details"]["reason"], "agent.resume_unavailable");
    let fix = json!({
        "runId": id, "expectedTerminalSeq": run["lastSeq"], "additionalRounds": 5,
        "revision": { "guidance": "shorter" },
    });
    let handle = guest.told("resume_agent_run", fix);
    assert_eq!(&handle["runId"], id);
    assert!(
        handle["afterSeq"].as_u64() > run["lastSeq"].as_u64(),
        "{handle}"
    );
}
