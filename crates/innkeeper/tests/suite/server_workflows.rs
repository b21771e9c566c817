//! Workflows over HTTP: kept, checked, run, followed.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::home::House;
use super::server::{Answer, Served};
use super::workflow::greet;

fn put(served: &Served, token: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let mut all = vec![("Authorization", bearer.as_str())];
    all.extend_from_slice(headers);
    served.ask(&format!("PUT {path}"), &all, &body.to_string())
}

/// Ends when it is stopped.
fn slow() -> String {
    json!({
        "id": "slow", "name": "Slow",
        "nodes": [
            {"id": "wait", "type": "core:Delay", "inputValues": {"value": "late", "ms": 600_000}},
            {"id": "out", "type": "core:GroupOutput"}
        ],
        "edges": [
            {"id": "e", "source": "wait", "sourceHandle": "value", "target": "out", "targetHandle": "text"}
        ],
        "interfaceOutputs": {"text": {"dataFlowType": "STRING"}}
    })
    .to_string()
}

#[test]
fn a_workflow_is_kept_replaced_by_whoever_saw_it_and_thrown_away() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let path = "/api/v1/workflows/greet";
    let text = greet();
    let kept = put(&served, &token, path, &[], &json!({ "text": text }));
    assert_eq!(kept.status, 201, "{}", kept.body);
    assert_eq!(kept.json()["check"]["ok"], true, "{}", kept.body);
    let file = house.path().join("projects/default/workflows/greet.json");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    // It is a tool at once.
    assert_eq!(
        served.get("/api/v1/tools/workflow:greet", &token).status,
        200
    );

    let read = served.get(path, &token);
    assert_eq!(
        (read.json()["text"].clone(), read.json()["where"].clone()),
        (json!(text), json!("project"))
    );
    let revision = read.json()["revision"].as_str().unwrap().to_owned();
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{revision}\""));

    let other = text.replace("Good evening", "Good morning");
    for (headers, body, status) in [
        (vec![], json!({ "text": other }), 409),
        (vec![], json!({ "text": other, "revision": "0000" }), 409),
        (
            vec![("If-Match", "\"0000\"")],
            json!({ "text": other }),
            409,
        ),
        (
            vec![("If-Match", tag.as_str())],
            json!({ "text": other }),
            200,
        ),
        // What was right a moment ago.
        (
            vec![("If-Match", tag.as_str())],
            json!({ "text": text }),
            409,
        ),
        (vec![("If-Match", "*")], json!({ "text": text }), 200),
    ] {
        let answer = put(&served, &token, path, &headers, &body);
        assert_eq!(answer.status, status, "{headers:?} {body}: {}", answer.body);
    }
    let broken = put(
        &served,
        &token,
        path,
        &[("If-Match", "*")],
        &json!({ "text": "[1" }),
    );
    assert_eq!(
        (broken.status, broken.json()["details"]["reason"].clone()),
        (400, json!("workflow.broken"))
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    let bearer = format!("Bearer {token}");
    let gone = |tag: &str| {
        let headers = [("Authorization", bearer.as_str()), ("If-Match", tag)];
        served.ask(&format!("DELETE {path}"), &headers, "").status
    };
    assert_eq!(gone("\"0000\""), 409);
    assert_eq!(gone(&tag), 204);
    assert!(!file.exists());
    assert_eq!(gone("*"), 404);
    assert_eq!(served.get(path, &token).status, 404);
    assert_eq!(
        served.get("/api/v1/tools/workflow:greet", &token).status,
        404
    );
}

#[test]
fn no_name_leads_out_of_the_folder_of_workflows() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let body = json!({ "text": greet() });
    for id in [
        "..%2Fx",
        "%2e%2e%2Fx",
        "..%5Cx",
        ".x",
        "x.",
        "a%2Fb",
        "a%00b",
        "C:x",
        "x%20y",
        "%252e%252e%252Fx",
        "%2Fetc%2Fpasswd",
        "..%2F..%2Finnkeeper",
    ] {
        let answer = put(
            &served,
            &token,
            &format!("/api/v1/workflows/{id}"),
            &[],
            &body,
        );
        assert_eq!(answer.status, 400, "{id}: {}", answer.body);
    }
    for project in ["..", "a%2Fb", "%2e%2e", ""] {
        let path = format!("/api/v1/workflows/x?project={project}");
        assert_eq!(
            put(&served, &token, &path, &[], &body).status,
            400,
            "{project}"
        );
    }
    // What is shipped stays; a project has its own in its place.
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let deleted = served.ask("DELETE /api/v1/workflows/agent-loop", &headers, "");
    assert_eq!(deleted.status, 404);
    let read = house.json(&["access", "token", "reader", "--scope", "read"]);
    let read = read["token"].as_str().unwrap();
    assert_eq!(
        put(&served, read, "/api/v1/workflows/x", &[], &body).status,
        403
    );
}

#[test]
fn workflows_are_listed_and_checked() {
    let house = House::new();
    house.write("library/workflows/greet.json", &greet());
    house.write(
        "projects/default/workflows/bad.json",
        &greet().replace("core:TextMerge", "core:Nope"),
    );
    let served = Served::start(&house, &[]);
    let token = served.token();
    let listed = served.get("/api/v1/workflows", &token).json();
    let ids: Vec<&str> = listed["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    let told = house.json(&["workflow", "list"]);
    assert_eq!(ids.len(), told.as_array().unwrap().len());
    // The project's own comes first, and hides that of the library.
    assert_eq!(listed["workflows"][0]["file"], "bad");
    assert_eq!(listed["workflows"][1]["hiddenBy"], "project", "{listed}");
    let page = served
        .get("/api/v1/workflows?limit=1&offset=1", &token)
        .json();
    assert_eq!(
        (page["workflows"][0].clone(), page["nextOffset"].clone()),
        (listed["workflows"][1].clone(), json!(2))
    );

    let bad = served.get("/api/v1/workflows/bad/check", &token).json();
    assert_eq!(bad["ok"], false, "{bad}");
    assert!(bad["problems"].to_string().contains("core:Nope"), "{bad}");
    let text = json!({ "text": greet() });
    let good = served.post("/api/v1/workflow-checks", &token, &text).json();
    assert_eq!(
        (good["ok"].clone(), good["nodes"].clone()),
        (json!(true), json!(3))
    );
    let nonsense = json!({ "text": "no workflow" });
    let nonsense = served.post("/api/v1/workflow-checks", &token, &nonsense);
    assert_eq!(
        (nonsense.status, nonsense.json()["ok"].clone()),
        (200, json!(false))
    );
    let shipped = served.get("/api/v1/workflows/agent-loop", &token).json();
    assert_eq!(shipped["where"], "shipped");
    assert!(shipped["text"].as_str().unwrap().contains("\"nodes\""));
}

#[test]
fn a_workflow_runs_and_tells_what_happened() {
    let house = House::new();
    house.write("library/workflows/greet.json", &greet());
    let served = Served::start(&house, &[]);
    let token = served.token();
    let asked = json!({ "workflow": "greet", "inputs": { "name": "Mei" }, "waitMs": 30_000 });
    let ran = served.post("/api/v1/executions", &token, &asked);
    assert_eq!(ran.status, 200, "{}", ran.body);
    let ran = ran.json();
    assert_eq!(ran["status"], "complete", "{ran}");
    assert_eq!(ran["outputs"]["text"], "Good evening, Mei");
    let id = ran["executionId"].as_str().unwrap();

    let path = format!("/api/v1/executions/{id}");
    assert_eq!(served.get(&path, &token).json(), ran);
    let events = served
        .get(&format!("{path}/events?limit=500"), &token)
        .json();
    let numbers: Vec<u64> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    let last = ran["lastSeq"].as_u64().unwrap();
    assert_eq!(
        (numbers, events["missed"].clone()),
        ((1..=last).collect(), json!(0))
    );
    let stream = served.get(&format!("{path}/events/stream?afterSeq=1"), &token);
    let told: Vec<Value> = stream
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: {\"type\""))
        .map(|rest| serde_json::from_str(&format!("{{\"type\"{rest}")).unwrap())
        .collect();
    assert_eq!(
        json!(told),
        json!(events["events"].as_array().unwrap()[1..])
    );
    assert!(stream.body.contains("event: end"), "{}", stream.body);
    let listed = served.get("/api/v1/executions", &token).json();
    assert_eq!(listed["executions"][0]["executionId"], json!(id));
    assert!(listed["executions"][0].get("outputs").is_none());

    // What was not kept runs as well.
    let asked = json!({ "text": greet(), "inputs": { "name": "Ada" }, "waitMs": 30_000 });
    assert_eq!(
        served.post("/api/v1/executions", &token, &asked).json()["outputs"]["text"],
        "Good evening, Ada"
    );
    for (wrong, status) in [
        (json!({}), 400),
        (json!({ "workflow": "greet", "text": greet() }), 400),
        (json!({ "workflow": "nope" }), 404),
        (json!({ "workflow": "greet" }), 400),
        (
            json!({ "workflow": "greet", "inputs": { "name": "x", "nope": 1 } }),
            400,
        ),
        (json!({ "workflow": "greet", "inputs": [] }), 400),
        (json!({ "workflow": "greet", "waitMs": 30_001 }), 400),
        (json!({ "workflow": "greet", "timeoutMs": 0 }), 400),
        (json!({ "text": "{" }), 400),
    ] {
        let answer = served.post("/api/v1/executions", &token, &wrong);
        assert_eq!(answer.status, status, "{wrong}: {}", answer.body);
    }
    assert_eq!(
        served.get("/api/v1/executions/exec_nope", &token).status,
        404
    );
}

#[test]
fn an_execution_at_work_is_followed_over_the_socket_and_cancelled() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let asked = json!({ "text": slow() });
    let began = served.post("/api/v1/executions", &token, &asked);
    assert_eq!(began.status, 202, "{}", began.body);
    let id = began.json()["executionId"].as_str().unwrap().to_owned();

    let mut socket = Socket::open(&served, &token);
    socket.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "workflow.subscribe", "params": { "executionId": id } }));
    // The answer and the first events race each other.
    let mut answered = false;
    let mut first = 0;
    while !answered || first == 0 {
        let heard = socket.hear();
        answered |= heard["id"] == 1;
        if heard["method"] == "workflow.event" && first == 0 {
            first = heard["params"]["event"]["seq"].as_u64().unwrap();
        }
    }
    assert_eq!(first, 1);
    let cancelled = served
        .post(
            &format!("/api/v1/executions/{id}/cancel"),
            &token,
            &json!({}),
        )
        .json();
    assert_eq!(cancelled["status"], "interrupted", "{cancelled}");
    let end = loop {
        let heard = socket.hear();
        if heard["method"] == "workflow.end" {
            break heard;
        }
    };
    assert_eq!(end["params"]["lastSeq"], cancelled["lastSeq"]);
    socket.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "workflow.subscribe", "params": { "executionId": "nope" } }));
    assert_eq!(socket.hear()["error"]["data"]["code"], "http.not_found");
}

#[test]
fn closing_the_server_ends_what_is_at_work() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let began = served.post("/api/v1/executions", &token, &json!({ "text": slow() }));
    assert_eq!(began.status, 202);
    assert_eq!(served.stop(), Some(0));
}

/// As little of a WebSocket as it takes to talk.
struct Socket(TcpStream);

impl Socket {
    fn open(served: &Served, token: &str) -> Self {
        let mut stream = served.connect();
        let request = format!(
            "GET /api/v1/ws HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: innkeeper.v1\r\n\r\n",
            served.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(
            head.starts_with(b"HTTP/1.1 101"),
            "{}",
            String::from_utf8_lossy(&head)
        );
        Self(stream)
    }

    /// Masked with zeros, as a client must mask.
    fn say(&mut self, message: &Value) {
        let text = message.to_string();
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.0.write_all(&frame).unwrap();
    }

    fn hear(&mut self) -> Value {
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head).unwrap();
            let length = match head[1] {
                126 => {
                    let mut long = [0; 2];
                    self.0.read_exact(&mut long).unwrap();
                    u64::from(u16::from_be_bytes(long))
                }
                127 => {
                    let mut long = [0; 8];
                    self.0.read_exact(&mut long).unwrap();
                    u64::from_be_bytes(long)
                }
                short => u64::from(short),
            };
            let mut text = vec![0; usize::try_from(length).unwrap()];
            self.0.read_exact(&mut text).unwrap();
            if head[0] & 0x0f == 1 {
                return serde_json::from_slice(&text).unwrap();
            }
        }
    }
}
