//! What somebody could fill, hold up or get around, as a table: bytes, sockets, tokens that fell, files of plugins.

use serde_json::{Value, json};
use tungstenite::Message;

use super::home::{House, players};
use super::server::Served;
use super::socket::Socket;

#[test]
fn strangers_send_little_and_nobody_sends_lists_for_objects() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let long = json!({ "code": "A".repeat(20_000) }).to_string();
    assert_eq!(
        served.ask("POST /api/v1/session/pair", &[], &long).status,
        413
    );
    // Refused by what it says, before a byte of it has come.
    let said = format!(
        "POST /api/v1/session/pair HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\nConnection: close\r\n\r\n",
        served.address
    );
    assert_eq!(served.raw(said.as_bytes()).status, 413);
    let token = served.token();
    let bearer = format!("Bearer {token}");
    for (path, body, status) in [
        ("/api/v1/access/tokens", r#"["a","read",null]"#, 400),
        ("/api/v1/runs", r#"["innkeeper","hi"]"#, 400),
        (
            "/api/v1/access/tokens",
            r#"{"name":"a","scope":"read","expiresInSeconds":0}"#,
            400,
        ),
        (
            "/api/v1/access/tokens",
            r#"{"name":"a","scope":"read","expiresInSeconds":18446744073709551615}"#,
            400,
        ),
        (
            "/api/v1/access/tokens",
            r#"{"name":"a","scope":"read"} {}"#,
            400,
        ),
        ("/api/v1/host/list_agent_runs", r#"{"dto":[1]}"#, 400),
        (
            "/api/v1/access/tokens",
            r#"{"name":"a","scope":"read","expiresInSeconds":60}"#,
            201,
        ),
    ] {
        let headers = [("Authorization", bearer.as_str())];
        let answer = served.ask(&format!("POST {path}"), &headers, body);
        assert_eq!(answer.status, status, "{body} {}", answer.body);
    }
    let utf_16 = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json; charset=utf-16"),
    ];
    assert_eq!(served.ask("POST /api/v1/runs", &utf_16, "{}").status, 415);
}

#[test]
fn the_address_in_the_first_line_counts_too() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let host = &served.address;
    for (target, status) in [
        (format!("http://{host}/api/v1/health"), 200),
        ("http://evil.example/api/v1/health".to_owned(), 421),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(served.raw(request.as_bytes()).status, status, "{target}");
    }
}

#[test]
fn whoever_guesses_keeps_nobody_else_out() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let wrong = format!("ink_{}_{}", "a".repeat(12), "b".repeat(43));
    let statuses: Vec<u16> = (0..40)
        .map(|_| served.get("/api/v1/runs", &wrong).status)
        .collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(served.get("/api/v1/runs", &token).status, 200);
    let slowed = served.get("/api/v1/runs", &wrong);
    assert_eq!(slowed.header("retry-after"), Some("1"));
}

#[test]
fn what_is_said_over_a_socket_comes_back_short() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let mut socket = Socket::open(&served, &token);
    let long = "\u{7f}".repeat(900_000);
    let asked = |id: Value, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    for (message, code) in [
        (asked(json!(1), &long).to_string(), -32601),
        (asked(json!(long), "ping").to_string(), -32600),
        (asked(json!([1]), "ping").to_string(), -32600),
        (json!(long).to_string(), -32600),
        (json!(["2.0", 5, "ping", {}]).to_string(), -32600),
        ("{".repeat(900_000), -32700),
    ] {
        socket.send_raw(Message::Text(message.into()));
        let answer = socket.next();
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        assert!(answer.to_string().len() < 3_000);
    }
    socket.send_raw(Message::Text(asked(Value::Null, "ping").to_string().into()));
    assert_eq!(socket.next()["result"], json!({}));
    let list = socket.call("run.subscribe", json!(["run_x", 0, false]));
    assert_eq!(list.unwrap_err()["data"]["code"], "http.invalid_request");
}

#[test]
fn what_a_token_opened_closes_when_it_falls() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let made = house.json(&["access", "token", "guest", "--scope", "read"]);
    let token = made["token"].as_str().unwrap();
    let mut socket = Socket::open(&served, token);
    assert_eq!(socket.call("ping", json!({})), Ok(json!({})));
    house.run(&["access", "revoke", made["id"].as_str().unwrap()]);
    assert_eq!(socket.closed(), Some(1008));
}

#[test]
fn sockets_are_connections_as_long_as_they_last() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let mut sockets: Vec<Socket> = (0..20).map(|_| Socket::open(&served, &token)).collect();
    // Whoever is answered has been counted.
    for socket in &mut sockets {
        assert_eq!(socket.call("ping", json!({})), Ok(json!({})));
    }
    let figures = served.get("/api/v1/metrics", &token);
    assert_eq!(figures.status, 200);
    let open = figures
        .body
        .lines()
        .find_map(|line| line.strip_prefix("innkeeper_sockets_open "))
        .map(str::to_owned);
    assert_eq!(open.as_deref(), Some("20"), "{}", figures.body);
    drop(sockets);
}

#[test]
#[cfg(unix)]
fn nothing_of_a_plugin_is_served_but_the_files_of_its_page() {
    let house = House::new();
    let mut plugin = players();
    plugin.manifest =
        "frontend:\n  type: vanilla\n  vanilla:\n    rootDir: web\n    entry: main.js\n";
    house.write("plugins/players/web/main.js", "export {};");
    house.write("plugins/players/web/deep/a.svg", "<svg/>");
    house.write("plugins/players/web/.env", "KEY=1");
    house.put(&plugin);
    let secrets = house.write("secrets.toml", "[models]\nx = \"sk-12345678\"\n");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o600)).unwrap();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let base = "/api/v1/plugins/players/assets";
    let off = served.get(&format!("{base}/main.js"), &token);
    assert_eq!(off.status, 404, "it is not on yet: {}", off.body);
    let asked = served.get("/api/v1/plugins/players", &token).json();
    assert_eq!(asked["state"], "pending", "{asked}");
    let enable = "/api/v1/plugins/players/enable";
    let nothing = served.post(enable, &token, &json!({ "permissions": [] }));
    assert_eq!(
        (nothing.status, nothing.json()["details"]["reason"].clone()),
        (409, json!("plugin.not_accepted"))
    );
    let granted = json!({ "permissions": asked["permissions"] });
    assert_eq!(
        served.post(enable, &token, &granted).json()["state"],
        "enabled"
    );

    // Laid there once it was on: before, it would not have been taken.
    let web = house.path().join("plugins/players/web");
    std::os::unix::fs::symlink("../plugin.yaml", web.join("link.yaml")).unwrap();
    std::os::unix::fs::symlink(&secrets, web.join("secrets.js")).unwrap();
    std::os::unix::fs::symlink(house.path(), web.join("home")).unwrap();
    let script = served.get(&format!("{base}/main.js"), &token);
    assert_eq!((script.status, script.body.as_str()), (200, "export {};"));
    assert_eq!(
        script.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    assert!(
        script
            .header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
    assert_eq!(
        served.get(&format!("{base}/deep/a.svg"), &token).status,
        200
    );
    for path in [
        "",
        "/",
        "deep",
        "deep/",
        ".env",
        "../plugin.yaml",
        "..%2Fplugin.yaml",
        "%2e%2e/plugin.yaml",
        "..%252Fplugin.yaml",
        "..%c0%afplugin.yaml",
        "..\\plugin.yaml",
        "..%5Cplugin.yaml",
        "C:/main.js",
        "main.js::$DATA",
        "main.js%00.png",
        "main.js.",
        "main.js%20",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "link.yaml",
        "secrets.js",
        "home/secrets.toml",
        "deep/../../plugin.yaml",
        "./main.js/..",
        "nope.js",
    ] {
        let answer = served.get(&format!("{base}/{path}"), &token);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {} {}",
            answer.status,
            answer.body
        );
        assert!(
            !answer.body.contains("sk-1234") && !answer.body.contains("version:"),
            "{path}"
        );
    }
    assert_eq!(
        served.ask(&format!("GET {base}/main.js"), &[], "").status,
        401
    );
    let off = served.post("/api/v1/plugins/players/disable", &token, &json!({}));
    // With such links in it, it could not be switched on again.
    assert_eq!(
        (off.status, off.json()["state"].clone()),
        (200, json!("broken"))
    );
    assert_eq!(served.get(&format!("{base}/main.js"), &token).status, 404);
}

#[test]
fn files_are_reached_by_their_addresses_and_nothing_else_is() {
    let house = House::new();
    let served = Served::start(&house, &[]);
    let token = served.token();
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/octet-stream"),
    ];
    let place = "uri=user%3A%2F%2Fnotes%2Fa.bin";
    let written = served.ask(
        &format!("PUT /api/v1/files/content?{place}"),
        &headers,
        "bytes",
    );
    assert_eq!(written.status, 200, "{}", written.body);
    let again = served.ask(
        &format!("PUT /api/v1/files/content?{place}&create=true"),
        &headers,
        "other",
    );
    assert_eq!(again.status, 409, "{}", again.body);
    let read = served.get(&format!("/api/v1/files/content?{place}"), &token);
    assert_eq!((read.status, read.body.as_str()), (200, "bytes"));
    assert_eq!(read.header("content-disposition"), Some("attachment"));
    let listed = served
        .get("/api/v1/files?uri=user%3A%2F%2Fnotes", &token)
        .json();
    assert_eq!(listed["entries"][0]["size"], 5);
    let moved = json!({ "from": "user://notes/a.bin", "to": "user://notes/b.bin" });
    assert_eq!(
        served.post("/api/v1/files/move", &token, &moved).status,
        200
    );
    let gone = served.ask(
        "DELETE /api/v1/files?uri=user%3A%2F%2Fnotes%2Fb.bin",
        &headers[..1],
        "",
    );
    let id = gone.json()["id"].as_str().unwrap().to_owned();
    let restored = served.post(
        &format!("/api/v1/files/recycled/{id}/restore"),
        &token,
        &json!({}),
    );
    assert_eq!(restored.json()["uri"], "user://notes/b.bin");
    for uri in [
        "user://../secrets.toml",
        "user://..%2Fsecrets.toml",
        "/etc/passwd",
        "file:///etc/passwd",
        "user://a/../../b",
        "user://%00",
        "user://C:\\x",
        "nope://x",
        "",
        "user://notes/b.bin/x",
    ] {
        let query: String = uri.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for path in [
            "/api/v1/files",
            "/api/v1/files/stat",
            "/api/v1/files/content",
        ] {
            let answer = served.get(&format!("{path}?uri={query}"), &token);
            assert!(
                matches!(answer.status, 400 | 403 | 404),
                "{path} {uri}: {} {}",
                answer.status,
                answer.body
            );
        }
    }
}
