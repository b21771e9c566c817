//! The server as programs meet it: a real process, and bytes over a real connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::home::House;

/// `innkeeper serve` at work; ended with the test.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    link: String,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Served {
    pub(crate) fn start(house: &House, words: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", "0", "--json"];
        all.extend_from_slice(words);
        let mut child = house
            .command(&all)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it said nothing");
        let told: Value = serde_json::from_str(&line).unwrap();
        let url = told["url"].as_str().unwrap();
        Self {
            child,
            address: url.strip_prefix("http://").unwrap().to_owned(),
            link: told["link"].as_str().unwrap().to_owned(),
        }
    }

    pub(crate) fn code(&self) -> &str {
        self.link.split_once("#pair=").unwrap().1
    }

    /// As it is, byte by byte; read until the other end closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // One that is refused may be closed before all of it is sent.
        let _ = stream.write_all(request);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        answer(&String::from_utf8_lossy(&text))
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// With its own Host and no other header but those given.
    pub(crate) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
            if !headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                request.push_str("Content-Type: application/json\r\n");
            }
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.raw(request.as_bytes())
    }

    /// Of whoever followed the link.
    pub(crate) fn token(&self) -> String {
        let paired = json!({ "code": self.code() }).to_string();
        let answer = self.ask("POST /api/v1/session/pair", &[], &paired);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.ask(&format!("GET {path}"), &[("Authorization", &bearer)], "")
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let body = body.to_string();
        self.ask(
            &format!("POST {path}"),
            &[("Authorization", &bearer)],
            &body,
        )
    }

    /// As Ctrl-C does it.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    Answer {
        status: status.unwrap_or_default(),
        head: head.to_owned(),
        body: match chunked {
            true => unchunked(body),
            false => body.to_owned(),
        },
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_default();
        let Some(piece) = rest.get(..size).filter(|piece| !piece.is_empty()) else {
            break;
        };
        whole.push_str(piece);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

#[test]
fn whoever_follows_the_link_comes_in_once() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    assert_eq!(
        served.ask("GET /api/v1/health", &[], "").json()["status"],
        "ok"
    );
    let paired = json!({ "code": served.code().to_lowercase() }).to_string();
    let first = served.ask("POST /api/v1/session/pair", &[], &paired);
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(first.json()["scope"], "admin");
    let again = served.ask("POST /api/v1/session/pair", &[], &paired);
    assert_eq!(
        (again.status, again.json()["code"].clone()),
        (401, json!("http.pairing_refused"))
    );

    let token = first.json()["token"].as_str().unwrap().to_owned();
    let who = served.get("/api/v1/session", &token);
    assert_eq!(
        (who.status, who.json()["user"].clone()),
        (200, json!("default"))
    );
    let listed = house.json(&["access", "list"]);
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "{listed}");
    assert!(!listed.to_string().contains(&token[17..]), "{listed}");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn a_session_is_a_cookie_that_only_our_own_page_can_use() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let paired = json!({ "code": served.code(), "session": true }).to_string();
    let came_in = served.ask("POST /api/v1/session/pair", &[], &paired);
    assert!(came_in.json().get("token").is_none(), "{}", came_in.body);
    let cookie = came_in.header("set-cookie").unwrap();
    for wanted in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(wanted), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let own = format!("http://{}", served.address);
    let code = json!({ "name": "phone", "scope": "read" }).to_string();
    for (headers, status) in [
        (vec![("Origin", own.as_str())], 201),
        (vec![("Sec-Fetch-Site", "same-origin")], 201),
        // What a form of another site sends: no origin that could be checked, or a foreign one.
        (vec![], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Origin", "http://evil.example")], 403),
        (vec![("Origin", "null")], 403),
    ] {
        let mut all = vec![("Cookie", cookie.as_str())];
        all.extend(headers.clone());
        let answer = served.ask("POST /api/v1/access/codes", &all, &code);
        assert_eq!(answer.status, status, "{headers:?} {}", answer.body);
    }
    let out = [("Cookie", cookie.as_str()), ("Origin", own.as_str())];
    assert_eq!(served.ask("DELETE /api/v1/session", &out, "").status, 204);
    assert_eq!(served.ask("GET /api/v1/session", &out, "").status, 401);
}

#[test]
fn a_token_goes_as_far_as_its_scope_and_no_further() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let made = |scope: &str| {
        let made = house.json(&["access", "token", scope, "--scope", scope]);
        (
            made["id"].as_str().unwrap().to_owned(),
            made["token"].as_str().unwrap().to_owned(),
        )
    };
    let (_, read) = made("read");
    let (run_id, run) = made("run");
    let (_, admin) = made("admin");
    let start = json!({ "message": "hello" });
    for (token, reads, runs, rules) in [
        (&read, 200, 403, 403),
        (&run, 200, 201, 403),
        (&admin, 200, 201, 200),
    ] {
        assert_eq!(served.get("/api/v1/runs", token).status, reads);
        assert_eq!(served.post("/api/v1/runs", token, &start).status, runs);
        assert_eq!(served.get("/api/v1/access/tokens", token).status, rules);
    }
    let refused = served.post("/api/v1/runs", &read, &start);
    assert_eq!(refused.json()["details"]["needed"], "run");
    // Revoked from elsewhere, at once.
    house.run(&["access", "revoke", &run_id]);
    assert_eq!(served.get("/api/v1/runs", &run).status, 401);
}

#[test]
fn a_run_is_started_followed_and_read_over_http() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let hello = json!({ "message": "hello", "profileId": "innkeeper" });
    let started = served.post("/api/v1/runs", &token, &hello);
    assert_eq!(started.status, 201, "{}", started.body);
    let run = started.json()["runId"].as_str().unwrap().to_owned();
    // The stream ends when the run does.
    let stream = served.get(&format!("/api/v1/runs/{run}/events/stream"), &token);
    assert_eq!(stream.status, 200);
    let told: Vec<Value> = stream
        .body
        .split("\n\n")
        .filter(|block| block.contains("event: event"))
        .filter_map(|block| block.lines().find_map(|line| line.strip_prefix("data: ")))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let numbers: Vec<u64> = told
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(stream.body.contains("event: end"), "{}", stream.body);

    let read = served.get(&format!("/api/v1/runs/{run}/events?limit=500"), &token);
    assert_eq!(read.json()["events"], json!(told));
    let record = served.get(&format!("/api/v1/runs/{run}"), &token).json();
    assert_eq!(record["status"], "completed");
    let listed = served.get("/api/v1/runs?statuses=completed", &token).json();
    assert_eq!(listed["runs"][0]["runId"], json!(run));
    let unknown = served.get("/api/v1/runs/run_nope", &token);
    assert_eq!(
        (unknown.status, unknown.json()["code"].clone()),
        (404, json!("agent.not_found"))
    );
}
