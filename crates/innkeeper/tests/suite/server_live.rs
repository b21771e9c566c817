//! What is told over the socket while it happens, and what the other end is asked for.

use serde_json::{Value, json};

use super::home::House;
use super::server::Served;
use super::socket::Socket;

fn start(served: &Served, token: &str, asked: Value) -> String {
    let started = served.post("/api/v1/runs", token, &asked);
    assert_eq!(started.status, 201, "{}", started.body);
    started.json()["runId"].as_str().unwrap().to_owned()
}

/// When the run is over.
fn ended(served: &Served, token: &str, run: &str) -> Value {
    served.get(&format!("/api/v1/runs/{run}/events/stream"), token);
    served.get(&format!("/api/v1/runs/{run}"), token).json()
}

#[test]
fn every_event_of_many_runs_comes_once_and_in_order_also_after_a_break() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let mut socket = Socket::open(&served, &token);
    let hello = || json!({ "message": "hello", "profileId": "innkeeper" });
    let runs: Vec<String> = (0..3).map(|_| start(&served, &token, hello())).collect();
    let mut names = Vec::new();
    for run in &runs {
        let answer = socket.call("run.subscribe", json!({ "runId": run, "afterSeq": 0 }));
        names.push(answer.unwrap()["subscription"].clone());
    }
    let mut seen = vec![0; runs.len()];
    let mut ends = 0;
    while ends < runs.len() {
        let told = socket.next();
        let at = names
            .iter()
            .position(|name| *name == told["params"]["subscription"])
            .unwrap();
        match told["method"].as_str().unwrap() {
            "run.event" => {
                let seq = told["params"]["event"]["seq"].as_u64().unwrap();
                assert_eq!(seq, seen[at] + 1);
                seen[at] = seq;
            }
            "run.end" => ends += 1,
            "run.lagged" => {}
            other => panic!("{other}"),
        }
    }
    for (run, last) in runs.iter().zip(seen) {
        let record = served.get(&format!("/api/v1/runs/{run}"), &token).json();
        assert_eq!(record["lastSeq"], json!(last));
    }
    drop(socket);
    let mut again = Socket::open(&served, &token);
    let asked = json!({ "runId": runs[0], "afterSeq": 3 });
    again.call("run.subscribe", asked).unwrap();
    assert_eq!(again.next_of("run.event")["params"]["event"]["seq"], 4);
    let unknown = again.call("run.subscribe", json!({ "runId": "run_nope" }));
    assert_eq!(unknown.unwrap_err()["data"]["code"], "agent.not_found");
    let none = again.call("no.such", json!({})).unwrap_err();
    assert_eq!(none["code"], -32601);
}

#[test]
fn a_client_that_looks_after_a_chat_is_asked_to_publish_and_asked_again_by_whoever_comes_next() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let chat = json!({ "kind": "character", "characterId": "mei", "fileName": "elsewhere" });
    let asked = json!({
        "message": "write a letter about tea", "profileId": "default-writer",
        "chatRef": chat, "stableChatId": "of-a-tavern",
    });
    let mut first = Socket::open(&served, &token);
    let others = json!({ "methods": ["chat.commit"], "stableChatIds": ["another"] });
    first.call("client.serve", others).unwrap();
    let run = start(&served, &token, asked);
    let mut second = Socket::open(&served, &token);
    let ours = json!({ "methods": ["chat.commit"], "stableChatIds": ["of-a-tavern"] });
    second.call("client.serve", ours.clone()).unwrap();
    let wish = second.next_of("chat.commit");
    assert_eq!(wish["params"]["runId"], json!(run));
    assert!(
        wish["params"]["text"].as_str().unwrap().contains("tea"),
        "{wish}"
    );
    // Gone without an answer: the wish is offered to whoever comes next.
    drop(second);
    let mut third = Socket::open(&served, &token);
    third.call("client.serve", ours).unwrap();
    let again = third.next_of("chat.commit");
    assert_eq!(again["params"]["commitId"], wish["params"]["commitId"]);
    third.answer(&again, json!({ "messageId": 7 }));
    let pages = json!({ "dto": { "runId": run } });
    // The page that published it also notes which memory belongs to it.
    let noted = served.post(
        "/api/v1/host/read_agent_run_events",
        &token,
        &json!({ "dto": { "runId": run, "afterSeq": 0, "limit": 500 } }),
    );
    assert_eq!(noted.status, 200);
    let record = served.get(&format!("/api/v1/runs/{run}"), &token).json();
    assert_ne!(record["status"], "failed", "{record}");
    assert_eq!(
        served
            .post("/api/v1/host/cancel_agent_run", &token, &pages)
            .status,
        200
    );
    assert_eq!(first.call("ping", json!({})), Ok(json!({})));
}

#[test]
fn whoever_may_only_read_serves_nobody() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let made = house.json(&["access", "token", "eyes", "--scope", "read"]);
    let mut socket = Socket::open(&served, made["token"].as_str().unwrap());
    for (method, params) in [
        ("client.serve", json!({ "methods": ["chat.commit"] })),
        ("channel.open", json!({ "channel": "page-1" })),
    ] {
        let refused = socket.call(method, params).unwrap_err();
        assert_eq!(refused["data"]["code"], "http.forbidden", "{method}");
    }
    let token = served.token();
    let mut socket = Socket::open(&served, &token);
    let unknown = socket.call("client.serve", json!({ "methods": ["rm"] }));
    assert_eq!(unknown.unwrap_err()["data"]["code"], "http.invalid_request");
}

#[test]
fn a_tool_that_a_page_brings_is_called_back_and_goes_with_the_page() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let definition = json!({
        "dto": {
            "extensionId": "weather", "name": "today", "description": "The weather today.",
            "inputSchema": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
            "contexts": ["session"],
        },
        "channel": "page-1",
    });
    let path = "/api/v1/host/register_agent_extension_tool";
    let closed = served.post(path, &token, &definition);
    assert_eq!(
        (closed.status, closed.json()["details"]["reason"].clone()),
        (503, json!("extension.tool_unavailable"))
    );
    let mut page = Socket::open(&served, &token);
    page.call("channel.open", json!({ "channel": "page-1" }))
        .unwrap();
    let brought = served.post(path, &token, &definition).json();
    assert_eq!(brought["toolId"], "extension:weather.today", "{brought}");
    let listed = || {
        let specs = served
            .post("/api/v1/host/list_agent_tool_specs", &token, &json!({}))
            .json();
        let mut tools = specs["tools"].as_array().unwrap().iter();
        tools.any(|tool| tool["id"] == "extension:weather.today")
    };
    assert!(listed());
    let off = json!({ "dto": { "toolId": "extension:weather.today", "enabled": false } });
    let switch = "/api/v1/host/set_agent_extension_tool_enabled";
    assert_eq!(served.post(switch, &token, &off).status, 200);
    assert!(!listed());
    let on = json!({ "dto": { "toolId": "extension:weather.today", "enabled": true } });
    assert_eq!(served.post(switch, &token, &on).status, 200);
    assert!(listed());
    let mut other = Socket::open(&served, &token);
    let taken = other.call("channel.open", json!({ "channel": "page-1" }));
    assert_eq!(taken.unwrap_err()["data"]["code"], "http.conflict");
    drop(page);
    // The server notices at once, but not before we ask.
    while listed() {
        std::thread::yield_now();
    }
    assert_eq!(served.post(switch, &token, &on).status, 503);
}

#[test]
fn a_run_of_no_chat_publishes_into_its_own_journal() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let asked = json!({ "message": "write a letter about tea", "profileId": "default-writer" });
    let run = start(&served, &token, asked);
    let record = ended(&served, &token, &run);
    assert_eq!(
        (&record["status"], &record["commitCount"]),
        (&json!("completed"), &json!(1))
    );
}
