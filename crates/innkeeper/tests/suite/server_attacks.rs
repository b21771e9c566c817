//! What must not get in, as a table: each is refused with the right status, and nothing else breaks.

use std::io::{Read, Write};

use serde_json::json;

use super::home::House;
use super::server::Served;

#[test]
fn the_server_answers_under_its_own_names_only() {
    let house = House::new();
    let served = Served::start(&house, &["--host-name", "inn.example:8443"]);
    let port = served.address.rsplit_once(':').unwrap().1.to_owned();
    let host =
        |host: &str| format!("GET /api/v1/health HTTP/1.1\r\nConnection: close\r\n{host}\r\n");
    for (line, status) in [
        (format!("Host: {}\r\n", served.address), 200),
        (format!("Host: localhost:{port}\r\n"), 200),
        (format!("Host: LOCALHOST:{port}\r\n"), 200),
        ("Host: inn.example:8443\r\n".into(), 200),
        ("Host: evil.example\r\n".into(), 421),
        (format!("Host: evil.example:{port}\r\n"), 421),
        (format!("Host: 127.0.0.1.evil.example:{port}\r\n"), 421),
        (format!("Host: localhost:{port}@evil.example\r\n"), 421),
        ("Host: localhost\r\n".into(), 421),
        ("Host: \r\n".into(), 421),
        (String::new(), 421),
        (format!("Host: {0}\r\nHost: {0}\r\n", served.address), 421),
    ] {
        let answer = served.raw(host(&line).as_bytes());
        let is_refused = answer.status == status || (status == 421 && answer.status == 400);
        assert!(is_refused, "{line:?}: {} {}", answer.status, answer.body);
    }
}

#[test]
fn pages_of_other_origins_get_nothing() {
    let house = House::new();
    let served = Served::start(&house, &["--allow-origin", "http://localhost:8000"]);
    let token = format!("Bearer {}", served.token());
    let own = format!("http://{}", served.address);
    for (origin, status) in [
        (own.as_str(), 200),
        ("http://localhost:8000", 200),
        ("http://localhost:8001", 403),
        ("https://localhost:8000", 403),
        ("http://localhost:8000.evil.example", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
    ] {
        for path in ["GET /api/v1/runs", "GET /api/v1/health"] {
            let headers = [("Origin", origin), ("Authorization", token.as_str())];
            let answer = served.ask(path, &headers, "");
            assert_eq!(answer.status, status, "{origin:?} {path}");
        }
    }
    let preflight = [
        ("Origin", "http://localhost:8000"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let answer = served.ask("OPTIONS /api/v1/runs", &preflight, "");
    assert_eq!(answer.status, 204);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("http://localhost:8000")
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

#[test]
fn nobody_comes_in_without_a_token_that_opens_the_door() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let mut other = token.clone();
    let place = other.len() - 3..other.len() - 2;
    let wrong = if &other[place.clone()] == "A" {
        "B"
    } else {
        "A"
    };
    other.replace_range(place, wrong);
    let long = "x".repeat(10_000);
    for shown in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer ink_",
        &format!("Bearer {other}"),
        &format!("Basic {token}"),
        &format!("Bearer {long}"),
    ] {
        let answer = served.ask("GET /api/v1/runs", &[("Authorization", shown)], "");
        assert_eq!(answer.status, 401, "{shown}: {}", answer.body);
        assert!(answer.header("www-authenticate").is_some());
    }
    assert_eq!(served.ask("GET /api/v1/runs", &[], "").status, 401);
    assert_eq!(
        served
            .ask(&format!("GET /api/v1/runs?token={token}"), &[], "")
            .status,
        401
    );
    assert_eq!(served.get("/api/v1/runs", &token).status, 200);
}

#[test]
fn whoever_guesses_is_slowed_down() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let mut statuses = Vec::new();
    for _ in 0..60 {
        let guess = json!({ "code": "QK7M-2TRX-9ZPA" }).to_string();
        statuses.push(served.ask("POST /api/v1/session/pair", &[], &guess).status);
    }
    assert_eq!(statuses[0], 401);
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn no_path_leads_out_of_a_workspace() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let started = served.post("/api/v1/runs", &token, &json!({ "message": "hello" }));
    let run = started.json()["runId"].as_str().unwrap().to_owned();
    for path in [
        "../secrets.toml",
        "..%2Fsecrets.toml",
        "%2e%2e/secrets.toml",
        "%252e%252e%252fsecrets.toml",
        "output/../../secrets.toml",
        "output/..%5c..%5csecrets.toml",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "C:%5CWindows%5Cwin.ini",
        "C:/Windows/win.ini",
        "%5C%5Cserver%5Cshare",
        "output/%00secrets",
        "%c0%ae%c0%ae/secrets.toml",
        "%c0%af",
        "CON",
        "output/NUL.txt",
        "output/x::$DATA",
        "~/secrets.toml",
        "",
        ".",
        "output",
    ] {
        let answer = served.get(&format!("/api/v1/runs/{run}/file?path={path}"), &token);
        assert!(
            (400..500).contains(&answer.status),
            "{path}: {} {}",
            answer.status,
            answer.body
        );
        assert!(!answer.body.contains("root:"), "{path}");
    }
    for path in [
        "/api/v1/runs/..%2F..%2Fhealth",
        "/api/v1/../../etc/passwd",
        "/api/v1/runs/%2e%2e/events",
        "/docs/errors/..%2F..%2Fsecrets",
        "/docs/errors/%c0%ae",
    ] {
        let answer = served.get(path, &token);
        assert!(
            (400..500).contains(&answer.status),
            "{path}: {} {}",
            answer.status,
            answer.body
        );
    }
}

#[test]
fn bodies_are_bounded_in_size_depth_and_kind() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = format!("Bearer {}", served.token());
    let bearer = ("Authorization", token.as_str());
    let large = json!({ "message": "x".repeat(5 * 1024 * 1024) }).to_string();
    let deep = format!(
        "{{\"promptSnapshot\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for (body, headers, status) in [
        (large.as_str(), vec![bearer], 413),
        (deep.as_str(), vec![bearer], 400),
        ("{", vec![bearer], 400),
        ("{\"message\":\"\\ud800\"}", vec![bearer], 400),
        ("[]", vec![bearer], 400),
        ("{\"message\":\"hi\",\"other\":1}", vec![bearer], 400),
        (
            "message=hi",
            vec![
                bearer,
                ("Content-Type", "application/x-www-form-urlencoded"),
            ],
            415,
        ),
        (
            "{\"message\":\"hi\"}",
            vec![bearer, ("Content-Type", "text/plain")],
            415,
        ),
    ] {
        let answer = served.ask("POST /api/v1/runs", &headers, body);
        let start: String = body.chars().take(40).collect();
        assert_eq!(answer.status, status, "{start}: {}", answer.body);
    }
    // The length is a lie, and whoever told it is not waited for.
    let lying = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: {token}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{{}}",
        served.address
    );
    assert_eq!(served.raw(lying.as_bytes()).status, 413);
    assert_eq!(served.ask("GET /api/v1/health", &[], "").status, 200);
}

#[test]
fn heads_are_bounded_too() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let many: String = (0..200)
        .map(|number| format!("X-{number}: 1\r\n"))
        .collect();
    let long = format!("X: {}\r\n", "y".repeat(100_000));
    for headers in [many, long] {
        let request = format!(
            "GET /api/v1/health HTTP/1.1\r\nHost: {}\r\n{headers}\r\n",
            served.address
        );
        let answer = served.raw(request.as_bytes());
        assert_eq!(answer.status, 431, "{}", answer.body);
    }
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let answer = served.raw(garbage);
        assert!(
            answer.status == 0 || answer.status == 400,
            "{garbage:?}: {}",
            answer.status
        );
    }
    assert_eq!(served.ask("GET /api/v1/health", &[], "").status, 200);
}

#[test]
fn every_answer_is_closed_to_other_pages() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    for path in [
        "GET /api/v1/health",
        "GET /api/v1/runs",
        "GET /nothing",
        "PUT /api/v1/health",
    ] {
        let answer = served.ask(path, &[], "");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(answer.header("x-request-id").unwrap().starts_with("req_"));
    }
}

#[test]
fn the_server_can_be_stopped_while_somebody_listens() {
    let house = House::new();
    super::runs_process::script(&house, super::runs_process::NEVER);
    let served = Served::start(&house, &[]);
    let token = served.token();
    let started = served.post("/api/v1/runs", &token, &json!({ "message": "hello" }));
    let run = started.json()["runId"].as_str().unwrap().to_owned();
    let mut listener = served.connect();
    let request = format!(
        "GET /api/v1/runs/{run}/events/stream HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        served.address
    );
    listener.write_all(request.as_bytes()).unwrap();
    let mut first = [0; 16];
    listener.read_exact(&mut first).unwrap();
    assert_eq!(served.stop(), Some(0));
    let mut rest = Vec::new();
    let _ = listener.read_to_end(&mut rest);
    // Parked, not ended.
    let unfinished = house.json(&["runs", "list", "--status", "unfinished"]);
    assert_eq!(unfinished[0]["runId"], json!(run));
}
