//! Tools, calls, tasks, nodes and the audit log as programs meet them.

use std::io::Write;

use serde_json::{Value, json};

use super::home::{House, Plugin};
use super::server::Served;

const TAM: &str = "Hi!\n<|[REQUEST_TOOL]|>\ncommand:»»»Json.Query«««\njson:»»»{\"a\": 7}«««\nquery:»»»$.a«««\n<|[END_TOOL]|>";

fn ids(page: &Value) -> Vec<String> {
    let tools = page["tools"].as_array().unwrap();
    let ids = tools.iter().map(|tool| tool["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[test]
fn tools_are_listed_page_by_page_and_searched() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let all = served.get("/api/v1/tools?limit=500", &token).json();
    let every = ids(&all);
    assert!(every.contains(&"File.Read".to_owned()), "{every:?}");
    assert!(all.get("nextCursor").is_none());
    let mut paged = Vec::new();
    let mut after = String::new();
    loop {
        let page = served.get(&format!("/api/v1/tools?limit=7&after={after}"), &token);
        let page = page.json();
        paged.extend(ids(&page));
        match page["nextCursor"].as_str() {
            Some(cursor) => after = cursor.to_owned(),
            None => break,
        }
    }
    assert_eq!(paged, every);
    let files = served.get("/api/v1/tools?pattern=File.*&source=builtin", &token);
    let files = ids(&files.json());
    assert!(!files.is_empty() && files.iter().all(|id| id.starts_with("File.")));
    // As the command line finds them.
    let words = house.json(&["tools", "search", "delete a file"]);
    let found = served
        .get("/api/v1/tools?search=delete%20a%20file", &token)
        .json();
    assert_eq!(found["tools"][0]["id"], words[0]["id"], "{found}");
    assert!(found["tools"][0]["score"].is_number());
    for wrong in [
        "search=",
        "search=file&after=x",
        "limit=0",
        "limit=501",
        "limit=x",
        "words=x",
        "project=..",
    ] {
        let answer = served.get(&format!("/api/v1/tools?{wrong}"), &token);
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.body);
    }
}

#[test]
fn a_tool_is_read_under_any_of_its_names() {
    let house = House::new();
    house.write(
        "library/workflows/odd.json",
        &super::workflow::greet().replace("\"id\":\"greet\"", "\"id\":\"a/b.c\""),
    );
    let served = Served::start(&house, &[]);
    let token = served.token();
    let tool = served.get("/api/v1/tools/file.read", &token).json();
    assert_eq!(tool["id"], "File.Read");
    assert_eq!(tool, house.json(&["tools", "show", "File.Read"]));
    let odd = served.get("/api/v1/tools/workflow:a%2Fb.c", &token);
    assert_eq!(
        (odd.status, odd.json()["kind"].clone()),
        (200, json!("skill"))
    );
    let unknown = served.get("/api/v1/tools/File.Reed", &token);
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["code"], "tool.unknown");
    assert_eq!(unknown.json()["details"]["suggestions"][0], "File.Read");
}

#[test]
fn what_a_model_wrote_is_run_and_answered() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let parsed = served.post("/api/v1/calls/parse", &token, &json!({ "text": TAM }));
    assert_eq!(parsed.status, 200, "{}", parsed.body);
    assert_eq!(
        parsed.json()["blocks"][0]["commands"][0]["toolId"],
        "Json.Query"
    );
    let called = served
        .post("/api/v1/calls", &token, &json!({ "text": TAM }))
        .json();
    assert_eq!(called["failed"], false, "{called}");
    assert_eq!(called["observations"][0]["outcome"], "success");
    let told = called["observations"][0]["text"].as_str().unwrap();
    assert!(told.contains("executed successfully"), "{told}");
    // In another dialect than the one that was asked for there is no call.
    let none = json!({ "text": TAM, "format": "action" });
    let none = served.post("/api/v1/calls", &token, &none);
    assert_eq!(
        (none.status, none.json()["details"]["reason"].clone()),
        (400, json!("calls.none"))
    );
    // Under the name of the profile, so that rules can tell it apart.
    let log = served.get("/api/v1/audit?tool=Json.*", &token).json();
    assert_eq!(log["records"].as_array().unwrap().len(), 1, "{log}");
    assert_eq!(log["records"][0]["actor"], "agent:http");
    assert_eq!(log["records"][0]["run"], called["run"]);
}

#[test]
fn one_tool_is_called_with_arguments_and_once_for_one_request() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let write = |text: &str, id: &str| {
        let arguments = json!({ "file_path": "note.txt", "content": text });
        let asked = json!({ "tool": "File.Write", "arguments": arguments, "requestId": id });
        served.post("/api/v1/calls", &token, &asked).json()
    };
    assert_eq!(write("one", "r1")["failed"], false);
    house.write("projects/default/note.txt", "changed");
    assert_eq!(write("one", "r1")["failed"], false);
    let read = json!({ "tool": "File.Read", "arguments": { "file_path": "note.txt" } });
    let read = served.post("/api/v1/calls", &token, &read).json();
    assert!(read.to_string().contains("changed"), "{read}");
    // The same id for something else.
    assert_eq!(write("two", "r1")["failed"], true);
    // Nobody is there to be asked.
    let delete = json!({ "tool": "File.Delete", "arguments": { "file_path": "note.txt" } });
    let refused = served.post("/api/v1/calls", &token, &delete).json();
    assert_eq!(refused["observations"][0]["outcome"], "denied", "{refused}");
    assert!(house.path().join("projects/default/note.txt").exists());
    let unknown = json!({ "tool": "Nope" });
    let unknown = served.post("/api/v1/calls", &token, &unknown).json();
    assert_eq!(unknown["observations"][0]["code"], "tool.unknown");
    for wrong in [
        json!({}),
        json!({ "text": "x", "tool": "y" }),
        json!({ "text": "x", "arguments": {} }),
        json!({ "tool": "x", "format": "tam" }),
        json!({ "tool": "x", "arguments": [] }),
        json!({ "tool": "x", "more": 1 }),
    ] {
        assert_eq!(
            served.post("/api/v1/calls", &token, &wrong).status,
            400,
            "{wrong}"
        );
    }
}

/// Ends when its pipe is written to.
fn sleeper(house: &House) -> std::path::PathBuf {
    house.plugin(&Plugin {
        name: "sleeper",
        tool: "Sleeper.Sleep",
        parameters: json!({ "type": "object", "properties": {} }),
        mode: "async",
        script: r#"cat > /dev/null; read line < "$INNKEEPER_DATA/pipe"; printf '{"success": true, "outputData": "%s"}' "$line""#,
        manifest: "",
    });
    house.pipe("sleeper")
}

#[test]
fn a_task_is_begun_waited_for_and_cancelled() {
    let house = House::new();
    let pipe = sleeper(&house);
    let served = Served::start(&house, &[]);
    let token = served.token();
    let begin = || {
        let asked = json!({ "tool": "Sleeper.Sleep", "wait": false });
        let called = served.post("/api/v1/calls", &token, &asked).json();
        assert_eq!(
            called["observations"][0]["outcome"], "async_started",
            "{called}"
        );
        let id = called["observations"][0]["taskId"].as_str().unwrap();
        (id.to_owned(), called["run"].as_str().unwrap().to_owned())
    };
    let (first, run) = begin();
    let listed = served.get("/api/v1/tasks?status=running", &token).json();
    assert_eq!(listed["tasks"][0]["taskId"], json!(first), "{listed}");
    let at_once = served.get(&format!("/api/v1/tasks/{first}"), &token).json();
    assert_eq!(at_once["status"], "running");
    let writing = std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(pipe).unwrap();
        pipe.write_all(b"woken\n").unwrap();
    });
    let ended = served
        .get(&format!("/api/v1/tasks/{first}?waitMs=30000"), &token)
        .json();
    writing.join().unwrap();
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert_eq!(ended["observation"]["result"], "woken");

    let (second, _) = begin();
    let cancelled = served.post(
        &format!("/api/v1/tasks/{second}/cancel"),
        &token,
        &json!({}),
    );
    assert_eq!(
        cancelled.json()["status"],
        "cancelled",
        "{}",
        cancelled.body
    );
    let of_run = served
        .get(&format!("/api/v1/tasks?run={run}"), &token)
        .json();
    assert_eq!(of_run["tasks"].as_array().unwrap().len(), 1, "{of_run}");
    assert!(of_run["tasks"][0].get("observation").is_none());
    assert_eq!(served.get("/api/v1/tasks/task_nope", &token).status, 404);
    let long = format!("/api/v1/tasks/{first}?waitMs=30001");
    assert_eq!(served.get(&long, &token).status, 400);
}

#[test]
fn whoever_goes_away_cancels_what_they_began() {
    let house = House::new();
    let pipe = sleeper(&house);
    let served = Served::start(&house, &[]);
    let token = served.token();
    let body = json!({ "tool": "Sleeper.Sleep" }).to_string();
    let mut stream = served.connect();
    let request = format!(
        "POST /api/v1/calls HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    // Opened for writing once the script reads: then it is at work.
    let _writing = std::fs::File::options().write(true).open(pipe).unwrap();
    let listed = served.get("/api/v1/tasks", &token).json();
    let task = listed["tasks"][0]["taskId"].as_str().unwrap().to_owned();
    drop(stream);
    let ended = served
        .get(&format!("/api/v1/tasks/{task}?waitMs=30000"), &token)
        .json();
    assert_eq!(ended["status"], "cancelled", "{ended}");
}

#[test]
fn nodes_are_told_of() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let all = served.get("/api/v1/nodes", &token).json();
    let told = house.json(&["workflow", "nodes"]);
    assert_eq!(all["nodes"], told);
    let few = served.get("/api/v1/nodes?search=merge", &token).json();
    assert!(few["nodes"].as_array().unwrap().len() < told.as_array().unwrap().len());
    let one = served.get("/api/v1/nodes/core:TextMerge", &token).json();
    assert_eq!(one["type"], "core:TextMerge");
    assert_eq!(
        one["inputs"],
        house.json(&["workflow", "nodes", "core:TextMerge"])["inputs"]
    );
    assert_eq!(served.get("/api/v1/nodes/core:Nope", &token).status, 404);
}

#[test]
fn the_log_is_read_and_checked() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    for _ in 0..3 {
        let asked = json!({ "tool": "Nope" });
        assert_eq!(served.post("/api/v1/calls", &token, &asked).status, 200);
    }
    let first = served
        .get("/api/v1/audit?limit=2&outcome=error", &token)
        .json();
    assert_eq!(first["records"].as_array().unwrap().len(), 2, "{first}");
    let before = first["nextCursor"].as_u64().unwrap();
    let rest = served
        .get(&format!("/api/v1/audit?before={before}"), &token)
        .json();
    assert_eq!(rest["records"].as_array().unwrap().len(), 1, "{rest}");
    assert!(rest.get("nextCursor").is_none());
    let sound = served.get("/api/v1/audit/verify", &token).json();
    assert_eq!(
        (sound["records"].clone(), sound["broken"].clone()),
        (json!(3), Value::Null)
    );
    for wrong in ["outcome=nope", "since=yesterday", "before=x", "user=me"] {
        assert_eq!(
            served.get(&format!("/api/v1/audit?{wrong}"), &token).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn figures_are_told_in_the_form_of_prometheus() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    assert_eq!(served.get("/api/v1/tools/Nope%2FNope", &token).status, 404);
    let asked = json!({ "tool": "Nope" });
    assert_eq!(served.post("/api/v1/calls", &token, &asked).status, 200);
    assert_eq!(served.ask("GET /api/v1/metrics", &[], "").status, 401);
    let read = |line: &str| {
        let answer = served.get("/api/v1/metrics", &token);
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
        assert!(!answer.body.contains("Nope"), "no path is a label");
        let found = answer
            .body
            .lines()
            .find_map(|found| found.strip_prefix(line));
        let found = found.unwrap_or_else(|| panic!("{line}\n{}", answer.body));
        found.trim().parse::<f64>().unwrap()
    };
    assert_eq!(read("innkeeper_build_info{version=\"0.1.0\"}"), 1.0);
    assert_eq!(
        read(
            "innkeeper_http_requests_total{method=\"GET\",route=\"/api/v1/tools/{toolId}\",status=\"404\"}"
        ),
        1.0
    );
    assert_eq!(
        read(
            "innkeeper_http_request_duration_seconds_count{method=\"POST\",route=\"/api/v1/calls\"}"
        ),
        1.0
    );
    assert_eq!(read("innkeeper_tool_calls_total{outcome=\"error\"}"), 1.0);
    assert_eq!(served.post("/api/v1/calls", &token, &asked).status, 200);
    assert_eq!(read("innkeeper_tool_calls_total{outcome=\"error\"}"), 2.0);
    assert_eq!(read("innkeeper_tool_calls_total{outcome=\"error\"}"), 2.0);
    assert_eq!(
        read("innkeeper_runs_unfinished{status=\"awaiting_approval\"}"),
        0.0
    );
    assert!(read("process_resident_memory_bytes") > 1_000_000.0);
    assert!(read("innkeeper_connections_open") >= 1.0);
}

#[test]
fn channels_are_made_tested_and_removed_and_keys_are_never_told() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let secret = "sk-very-secret-0123456789";
    let asked = json!({
        "provider": "custom", "name": "lab", "baseUrl": "http://127.0.0.1:9/v1", "models": ["qwen"], "key": secret,
    });
    let run = house.json(&["access", "token", "runner", "--scope", "run"]);
    let run = run["token"].as_str().unwrap();
    assert_eq!(
        served.post("/api/v1/models/channels", run, &asked).status,
        403
    );
    let added = served.post("/api/v1/models/channels", &token, &asked);
    assert_eq!(added.status, 201, "{}", added.body);
    assert_eq!(
        (
            added.json()["state"].clone(),
            added.json()["models"][0]["name"].clone()
        ),
        (json!("ready"), json!("qwen"))
    );
    let again = served.post("/api/v1/models/channels", &token, &asked);
    assert_eq!(
        (again.status, again.json()["details"]["reason"].clone()),
        (409, json!("models.channel_exists"))
    );
    for (wrong, status) in [
        (json!({ "provider": "nope" }), 400),
        (json!({ "provider": "custom", "name": "x" }), 400),
        (
            json!({ "provider": "custom", "name": "rehearsal", "baseUrl": "http://127.0.0.1:9/v1" }),
            400,
        ),
        (json!({ "provider": "ollama", "name": "a b\n" }), 400),
        (json!({ "provider": "openai", "key": "a b" }), 400),
        (
            json!({ "provider": "openai", "key": "k", "keyEnv": "K" }),
            400,
        ),
        (json!({ "provider": "openai", "keyEnv": "sk-12 34" }), 400),
    ] {
        let answer = served.post("/api/v1/models/channels", &token, &wrong);
        assert_eq!(answer.status, status, "{wrong}: {}", answer.body);
    }
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let other = "sk-other-secret-9876543210";
    let key = json!({ "key": other }).to_string();
    let set = served.ask("PUT /api/v1/models/channels/lab/key", &headers, &key);
    assert_eq!(set.status, 204, "{}", set.body);
    assert!(
        std::fs::read_to_string(house.path().join("secrets.toml"))
            .unwrap()
            .contains(other)
    );

    let listed = served.get("/api/v1/models", &token);
    assert_eq!(
        listed.json()["channels"][0]["name"],
        "lab",
        "{}",
        listed.body
    );
    let tested = served.post(
        "/api/v1/models/test",
        &token,
        &json!({ "model": "lab/qwen" }),
    );
    assert_eq!(
        (tested.status, tested.json()["ok"].clone()),
        (200, json!(false)),
        "{}",
        tested.body
    );
    let rehearsed = served
        .post(
            "/api/v1/models/test",
            &token,
            &json!({ "model": "rehearsal" }),
        )
        .json();
    assert_eq!(rehearsed["ok"], true, "{rehearsed}");
    assert!(!rehearsed["text"].as_str().unwrap().is_empty());
    let unknown = served.post(
        "/api/v1/models/test",
        &token,
        &json!({ "model": "nope/nope" }),
    );
    assert_eq!(unknown.status, 400, "{}", unknown.body);
    // A list is not taken for the fields in their order.
    let list = served.post("/api/v1/models/test", &token, &json!([null, null]));
    assert_eq!(list.status, 400, "{}", list.body);
    assert!(
        served
            .get("/api/v1/models/providers", &token)
            .body
            .contains("\"ollama\"")
    );
    for told in [&added.body, &listed.body, &tested.body] {
        assert!(!told.contains(secret) && !told.contains(other), "{told}");
    }
    let removed = served.ask("DELETE /api/v1/models/channels/lab", &headers, "");
    assert_eq!(removed.status, 204, "{}", removed.body);
    assert!(
        !std::fs::read_to_string(house.path().join("secrets.toml"))
            .unwrap_or_default()
            .contains(other)
    );
    assert_eq!(
        served.get("/api/v1/models/channels/lab", &token).status,
        404
    );
    assert_eq!(
        served
            .ask("DELETE /api/v1/models/channels/lab", &headers, "")
            .status,
        404
    );
}
