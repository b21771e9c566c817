use super::*;

fn read(head: &str) -> Result<Request, Refusal> {
    parse(head.as_bytes())
}

/// Host and port, and the head that is passed on.
fn forwarded(head: &str) -> (String, String) {
    let request = read(head).unwrap_or_else(|refusal| panic!("{head}: {}", refusal.why));
    let Way::Forward { head, .. } = request.way else {
        panic!("{head}: a tunnel");
    };
    let to = format!("{}:{}", request.host, request.port);
    (to, String::from_utf8(head).unwrap())
}

#[test]
fn connect_names_host_and_port() {
    for (target, expected) in [
        ("a.test:443", "a.test:443"),
        ("A.Test.:8443", "a.test:8443"),
        ("1.2.3.4:80", "1.2.3.4:80"),
        ("[::1]:80", "[::1]:80"),
    ] {
        let request = read(&format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n")).unwrap();
        assert_eq!(format!("{}:{}", request.host, request.port), expected);
        assert_eq!(request.way, Way::Tunnel);
    }
}

#[test]
fn a_request_is_passed_on_as_the_host_expects_it() {
    for (head, to, expected) in [
        (
            "GET http://A.test/x?y=http://b HTTP/1.1\r\nHost: evil.test\r\nAccept: */*\r\n\r\n",
            "a.test:80",
            "GET /x?y=http://b HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nAccept: */*\r\n\r\n",
        ),
        (
            "GET HTTP://a.test:8080 HTTP/1.0\r\n\r\n",
            "a.test:8080",
            "GET / HTTP/1.0\r\nHost: a.test:8080\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET http://[::1]?q HTTP/1.1\r\n\r\n",
            "[::1]:80",
            "GET /?q HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
        ),
        (
            "OPTIONS http://a.test HTTP/1.1\r\n\r\n",
            "a.test:80",
            "OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        ),
        (
            "POST http://a.test/ HTTP/1.1\r\nproxy-authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n\
             Connection: keep-alive, X-Secret\r\nConnection: X-Other\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n\
             x-secret: 1\r\nX-OTHER: 2\r\nX-Kept: caf\u{e9}\r\nContent-Length: 3\r\n\r\n",
            "a.test:80",
            "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nX-Kept: caf\u{e9}\r\nContent-Length: 3\r\n\r\n",
        ),
    ] {
        assert_eq!(forwarded(head), (to.to_owned(), expected.to_owned()));
    }
}

#[test]
fn a_body_is_announced_in_one_way() {
    for (lines, expected) in [
        ("", Body::Length(0)),
        ("Content-Length: 5\r\n", Body::Length(5)),
        ("transfer-encoding: Chunked\r\n", Body::chunked()),
    ] {
        let head = format!("POST http://a.test/ HTTP/1.1\r\n{lines}\r\n");
        let Way::Forward { body, .. } = read(&head).unwrap().way else {
            panic!("{lines}: a tunnel");
        };
        assert_eq!(body, expected);
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let request = |lines: &str| format!("POST http://a.test/ HTTP/1.1\r\n{lines}\r\n");
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\n\r\n");
    let connect = |target: &str| format!("CONNECT {target} HTTP/1.1\r\n\r\n");
    for (head, why) in [
        (
            request("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
            "both",
        ),
        (
            request("Content-Length: 1\r\nContent-Length: 1\r\n"),
            "twice",
        ),
        (request("Content-Length: 1, 1\r\n"), "one decimal"),
        (request("Content-Length: +1\r\n"), "one decimal"),
        (request("Content-Length: 0x1\r\n"), "one decimal"),
        (request("Content-Length:\r\n"), "one decimal"),
        (
            request("Content-Length: 9999999999999999999\r\n"),
            "one decimal",
        ),
        (
            request("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
            "twice",
        ),
        (request("Transfer-Encoding: gzip, chunked\r\n"), "'chunked'"),
        (request("Transfer-Encoding: xchunked\r\n"), "'chunked'"),
        (request("Transfer-Encoding: \"chunked\"\r\n"), "'chunked'"),
        (request("Transfer-Encoding: \u{b}chunked\r\n"), "malformed"),
        (request("Transfer-Encoding : chunked\r\n"), "malformed"),
        (
            request("Connection: close, Content-Length\r\nContent-Length: 4\r\n"),
            "must not name",
        ),
        (
            request("Connection: transfer-encoding\r\n"),
            "must not name",
        ),
        (request("Host: a.test\r\nHost: b.test\r\n"), "twice"),
        (request("X: a\r\n b\r\n"), "CR and LF"),
        (request("X: a\r\n\tb\r\n"), "CR and LF"),
        (request(" X: a\r\n"), "CR and LF"),
        (request("X: a\rContent-Length: 1\r\n"), "CR and LF"),
        (request("X: a\nContent-Length: 1\r\n"), "CR and LF"),
        (request("X: a\r\r\n"), "CR and LF"),
        (request("X: a\r b\r\n"), "CR and LF"),
        (request("X: a\0b\r\n"), "CR and LF"),
        (request("no colon\r\n"), "malformed"),
        (request(": empty\r\n"), "malformed"),
        (request("X\u{e9}: a\r\n"), "malformed"),
        (
            "POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "HTTP/1.1",
        ),
        (
            "GET http://a.test/ HTTP/2.0\r\n\r\n".to_owned(),
            "malformed",
        ),
        (
            "GET  http://a.test/ HTTP/1.1\r\n\r\n".to_owned(),
            "malformed",
        ),
        ("GET http://a.test/\r\n\r\n".to_owned(), "malformed"),
        ("GET http://a.test/ HTTP/1.1\n\n".to_owned(), "CR and LF"),
        ("\r\n\r\n".to_owned(), "malformed"),
        ("\u{16}\u{3}\u{1}\r\n\r\n".to_owned(), "malformed"),
        (get("/"), "this is a proxy"),
        (get("*"), "this is a proxy"),
        (get("a.test:80"), "this is a proxy"),
        (get("https://a.test/"), "CONNECT"),
        (get("ftp://a.test/"), "CONNECT"),
        (get("http:///x"), "a host name"),
        (get("http://granted@evil/"), "a user"),
        (get("http://granted:80@evil/"), "a user"),
        (get("http://evil\\@granted/"), "printable"),
        (get("http://evil#@granted/"), "printable"),
        (get("http://a.test:/"), "a port"),
        (get("http://a.test:99999/"), "a port"),
        (get("http://2130706433/"), "four decimal"),
        (get("http://0177.0.0.1/"), "four decimal"),
        (get("http://0x7f.0.0.1/"), "four decimal"),
        (get("http://127.1/"), "four decimal"),
        (get("http://::1/"), "a host name"),
        (get("http://a%2etest/"), "a host name"),
        (get("http://\u{ff41}.test/"), "printable"),
        (connect("a.test"), "a host and a port"),
        (connect("a.test:443/x"), "a port"),
        (connect("granted@evil:443"), "a user"),
        (connect("http://a.test:443"), "a port"),
    ] {
        let refusal = read(&head).expect_err(&head);
        assert_eq!(refusal.status, Status::BadRequest, "{head}");
        assert!(refusal.why.contains(why), "{head}: {}", refusal.why);
    }
    let many = request(&"X: 1\r\n".repeat(MAX_HEAD_LINES + 1));
    assert_eq!(read(&many).unwrap_err().status, Status::HeadTooLarge);
    assert!(read(&request(&"X: 1\r\n".repeat(MAX_HEAD_LINES))).is_ok());
}

#[test]
fn the_end_of_a_head_is_found_however_it_comes() {
    for (text, expected) in [
        ("GET\r\n\r\nrest", Some(7)),
        ("GET\n\nrest", Some(5)),
        ("GET\n\r\nrest", Some(6)),
        ("\r\n\r\n", Some(4)),
        ("GET\r\nX: 1\r\n", None),
        ("", None),
    ] {
        let bytes = text.as_bytes();
        assert_eq!(end(bytes, 0), expected, "{text:?}");
        let found = (1..=bytes.len()).find_map(|len| end(&bytes[..len], len - 1));
        assert_eq!(found, expected, "{text:?} byte by byte");
    }
}

/// What must hold of a head that is passed on, whatever it was made from.
fn is_sound(head: &[u8], host: &Host, port: u16) -> bool {
    let mut headers = [EMPTY_HEADER; MAX_HEAD_LINES + 2];
    let mut request = httparse::Request::new(&mut headers);
    let whole = request.parse(head) == Ok(httparse::Status::Complete(head.len()));
    let values = |name: &str| -> Vec<&[u8]> {
        let found = request.headers.iter();
        let found = found.filter(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value).collect()
    };
    let named = match port {
        80 => host.to_string(),
        port => format!("{host}:{port}"),
    };
    let path = request.path.unwrap_or_default();
    whole
        && !has_odd_lines(head)
        && (path.starts_with('/') || path == "*")
        && values("Host") == [named.as_bytes()]
        && values("Connection") == [b"close"]
        && values("Content-Length").len() + values("Transfer-Encoding").len() <= 1
        && values("Proxy-Authorization").is_empty()
}

#[test]
fn no_slip_in_a_head_makes_it_unsound() {
    let heads = [
        "POST http://a.test:8080/p?q HTTP/1.1\r\nHost: a.test\r\nConnection: x\r\nX: 1\r\nContent-Length: 3\r\n\r\n",
        "PUT http://[::1]/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nProxy-Authorization: x\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
    ];
    let slips: [&[u8]; 22] = [
        b"",
        b"\r",
        b"\n",
        b"\r\n",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b"\0",
        b":",
        b"@",
        b"/",
        b"\\",
        b"#",
        b"?",
        b"%",
        b",",
        b";",
        b"[",
        b".",
        b"\x7f",
        b"\xff",
        b"\r\nHost: b\r\nContent-Length: 0",
    ];
    let mut passed = 0;
    for head in heads {
        let head = head.as_bytes();
        for at in 0..head.len() {
            for slip in slips {
                for behind in [at, at + 1] {
                    let slipped = [&head[..at], slip, &head[behind..]].concat();
                    let whole = end(&slipped, 0).map_or(&slipped[..], |end| &slipped[..end]);
                    if let Ok(Request { host, port, way }) = parse(whole)
                        && let Way::Forward { head, .. } = way
                    {
                        let shown = String::from_utf8_lossy(&head);
                        assert!(is_sound(&head, &host, port), "{shown}");
                        passed += 1;
                    }
                }
            }
        }
    }
    assert!(passed > 1000, "{passed}");
}
