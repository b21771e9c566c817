//! Against a real server on the loopback, under names that a test's resolver gives out.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request as Incoming;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::builtin::testing::{call, call_until, check_definitions};

/// What each name leads to; looked up in order, the last stays.
#[derive(Default)]
struct Names {
    table: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut table = self.table.lock().unwrap();
        let Some(answers) = table.get_mut(host) else {
            return Err(io::Error::other("no such name"));
        };
        match answers.len() {
            1 => Ok(answers[0].clone()),
            _ => Ok(answers.remove(0)),
        }
    }
}

/// Method, path and query, headers and body of a request.
type Entry = (String, String, HeaderMap, Bytes);
type Book = Arc<Mutex<Vec<Entry>>>;

/// A server, the names that lead to it, and a tool that asks it.
struct House {
    port: u16,
    names: Arc<Names>,
    policy: Arc<ArcSwap<HttpPolicy>>,
    arrived: Arc<Notify>,
    seen: Book,
    tool: Tool,
}

impl House {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let arrived = Arc::new(Notify::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (bell, book) = (Arc::clone(&arrived), Arc::clone(&seen));
        let app = axum::Router::new().fallback(move |request: Incoming| {
            let (bell, book) = (Arc::clone(&bell), Arc::clone(&book));
            async move { answer(request, port, bell, book).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        let names = Arc::new(Names::default());
        for name in ["a.test", "b.test", "secret.test", "public.test"] {
            names.lead(name, &[&["127.0.0.1"]]);
        }
        let policy = Arc::new(ArcSwap::from_pointee(policy(json!([
            {"host": "a.test", "ports": [port], "private": true},
            {"host": "b.test", "ports": [port], "private": true},
            {"host": "public.test", "ports": [port]},
            {"host": "gone.test", "ports": [port], "private": true},
        ]))));
        let tool =
            tools_with(Arc::clone(&policy), Arc::clone(&names) as Arc<dyn Resolver>).remove(0);
        Self {
            port,
            names,
            policy,
            arrived,
            seen,
            tool,
        }
    }

    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    async fn ask(&self, host: &str, path: &str, more: Json) -> Result<Json, ToolError> {
        let mut arguments = json!({"url": self.url(host, path)});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        call(&self.tool, arguments).await
    }

    async fn refused(&self, host: &str, path: &str) -> String {
        let error = self.ask(host, path, json!({})).await.expect_err(path);
        error.reason.unwrap_or_default()
    }

    fn requests(&self) -> Vec<Entry> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Names {
    fn lead(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(|text| text.parse().unwrap()).collect())
            .collect();
        self.table.lock().unwrap().insert(name.to_owned(), answers);
    }
}

fn policy(rules: Json) -> HttpPolicy {
    serde_json::from_value(json!({"allow": rules})).unwrap()
}

async fn answer(request: Incoming, port: u16, bell: Arc<Notify>, book: Book) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
    let path = parts.uri.path().to_owned();
    book.lock().unwrap().push((
        parts.method.to_string(),
        parts.uri.to_string(),
        parts.headers,
        body,
    ));
    if let Some(target) = path.strip_prefix("/to/") {
        let (status, target) = target.split_once('/').unwrap();
        let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
        let target = match target.split_once('@') {
            Some((host, path)) => format!("http://{host}:{port}/{path}"),
            None => format!("/{target}"),
        };
        return (status, [(header::LOCATION, target)], "moved").into_response();
    }
    if let Some(left) = path.strip_prefix("/count/") {
        let left: u32 = left.parse().unwrap();
        return match left {
            0 => "arrived".into_response(),
            left => (
                StatusCode::FOUND,
                [(header::LOCATION, format!("/count/{}", left - 1))],
            )
                .into_response(),
        };
    }
    match path.as_str() {
        "/json" => (
            [(header::CONTENT_TYPE, "application/json")],
            "{\"ok\":true}",
        )
            .into_response(),
        "/busy" => (
            StatusCode::TOO_MANY_REQUESTS,
            [(header::RETRY_AFTER, "3")],
            "later",
        )
            .into_response(),
        "/broken" => (StatusCode::INTERNAL_SERVER_ERROR, "oh").into_response(),
        "/loop" => (StatusCode::FOUND, [(header::LOCATION, "/loop2")]).into_response(),
        "/loop2" => (StatusCode::FOUND, [(header::LOCATION, "/loop")]).into_response(),
        "/endless" => stream(tokio::io::repeat(b'x')),
        "/never" => {
            bell.notify_one();
            std::future::pending().await
        }
        "/cut" => stream(Cut(false)),
        _ => "hello".into_response(),
    }
}

fn stream(body: impl AsyncRead + Send + 'static) -> Response {
    Body::from_stream(ReaderStream::new(body)).into_response()
}

/// A body that breaks off after its first piece.
struct Cut(bool);

impl AsyncRead for Cut {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let first = !std::mem::replace(&mut self.0, true);
        Poll::Ready(match first {
            true => {
                buffer.put_slice(b"half");
                Ok(())
            }
            false => Err(io::Error::other("gone")),
        })
    }
}

#[test]
fn the_declaration_is_sound() {
    check_definitions(&tools(Arc::default()));
}

#[tokio::test]
async fn answers_of_every_status_are_answers() {
    let house = House::open().await;
    let got = house
        .ask("a.test", "/json", json!({"query": {"q": "x y"}}))
        .await
        .unwrap();
    assert_eq!(got["json"], json!({"ok": true}));
    assert_eq!(
        (&got["status"], &got["statusText"]),
        (&json!(200), &json!("OK"))
    );
    assert_eq!(got["url"], house.url("a.test", "/json?q=x+y"));
    let (_, uri, headers, _) = house.requests().remove(0);
    assert_eq!(uri, "/json?q=x+y");
    assert_eq!(headers["host"], format!("a.test:{}", house.port));
    assert_eq!(headers["accept-encoding"], "identity");
    assert!(
        headers["user-agent"]
            .to_str()
            .unwrap()
            .starts_with("Innkeeper/")
    );
    assert!(!headers.contains_key("referer") && !headers.contains_key("cookie"));

    for (path, status, text) in [
        ("/busy", 429, "later"),
        ("/broken", 500, "oh"),
        ("/other", 200, "hello"),
    ] {
        let got = house.ask("a.test", path, json!({})).await.unwrap();
        assert_eq!(
            (&got["status"], &got["text"]),
            (&json!(status), &json!(text)),
            "{path}"
        );
    }
    let got = house
        .ask("a.test", "/json", json!({"method": "HEAD"}))
        .await
        .unwrap();
    assert_eq!(
        (&got["status"], &got["bytes"], &got["text"]),
        (&json!(200), &json!(0), &json!(""))
    );
    house.requests();
    let sent = json!({"method": "POST", "body": {"a": [1]}, "headers": {"X-Key": "k"}});
    house.ask("a.test", "/x", sent).await.unwrap();
    let (method, _, headers, body) = house.requests().remove(0);
    assert_eq!((method.as_str(), &body[..]), ("POST", &b"{\"a\":[1]}"[..]));
    assert_eq!(headers["x-key"], "k");
    assert_eq!(headers["content-type"], "application/json");
}

#[tokio::test]
async fn only_listed_hosts_are_even_looked_up() {
    let house = House::open().await;
    assert_eq!(
        house.refused("secret.test", "/").await,
        "http.host_not_allowed"
    );
    for literal in [
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "localhost",
    ] {
        assert_eq!(
            house.refused(literal, "/").await,
            "http.host_not_allowed",
            "{literal}"
        );
    }
    assert!(house.names.asked.lock().unwrap().is_empty());
    // The list changes under a living tool.
    house.policy.store(Arc::new(policy(
        json!([{"host": "127.0.0.1", "ports": [house.port]}]),
    )));
    assert_eq!(house.refused("a.test", "/").await, "http.host_not_allowed");
    for literal in ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]"] {
        assert_eq!(
            house.refused(literal, "/").await,
            "http.private_address",
            "{literal}"
        );
    }
    let open = json!([{"host": "127.0.0.1", "ports": [house.port], "private": true}]);
    house.policy.store(Arc::new(policy(open)));
    assert!(house.ask("0x7f.1", "/", json!({})).await.is_ok());
    let post =
        json!([{"host": "a.test", "ports": [house.port], "private": true, "methods": ["POST"]}]);
    house.policy.store(Arc::new(policy(post)));
    assert_eq!(
        house.refused("a.test", "/").await,
        "http.method_not_allowed"
    );
}

#[tokio::test]
async fn public_names_do_not_lead_inside() {
    let house = House::open().await;
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fd00::1",
        "0.0.0.0",
    ] {
        house.names.lead("public.test", &[&[address]]);
        assert_eq!(
            house.refused("public.test", "/").await,
            "http.private_address",
            "{address}"
        );
        // One bad address spoils the rest.
        house.names.lead("public.test", &[&["1.1.1.1", address]]);
        assert_eq!(
            house.refused("public.test", "/").await,
            "http.private_address",
            "{address}"
        );
    }
    for address in ["0.0.0.0", "224.0.0.1", "::", "ff02::1"] {
        house.names.lead("a.test", &[&[address]]);
        assert_eq!(
            house.refused("a.test", "/").await,
            "http.private_address",
            "{address}"
        );
    }
    assert!(house.requests().is_empty());
    house.names.lead("a.test", &[&[]]);
    assert_eq!(house.refused("a.test", "/").await, "http.dns");
    assert_eq!(house.refused("gone.test", "/").await, "http.dns");
}

#[tokio::test]
async fn each_request_looks_up_once_and_stays_with_what_it_saw() {
    let house = House::open().await;
    // The second answer would be refused; the connection must not ask for it.
    house
        .names
        .lead("a.test", &[&["127.0.0.1"], &["224.0.0.1"]]);
    assert!(house.ask("a.test", "/", json!({})).await.is_ok());
    assert_eq!(house.names.asked.lock().unwrap().len(), 1);
    assert_eq!(house.refused("a.test", "/").await, "http.private_address");
}

#[tokio::test]
async fn redirects_pass_the_same_checks() {
    let house = House::open().await;
    for (path, reason) in [
        ("/to/302/secret.test@x", "http.host_not_allowed"),
        ("/to/307/127.0.0.1@x", "http.host_not_allowed"),
        ("/to/302/public.test@x", "http.private_address"),
        ("/to/302/u:p@a.test@x", "http.invalid_url"),
        ("/loop", "http.too_many_redirects"),
        ("/count/6", "http.too_many_redirects"),
    ] {
        assert_eq!(house.refused("a.test", path).await, reason, "{path}");
    }
    let got = house.ask("a.test", "/count/5", json!({})).await.unwrap();
    assert_eq!(got["text"], "arrived");
    assert_eq!(got["url"], house.url("a.test", "/count/0"));
}

#[tokio::test]
async fn secrets_stay_with_their_origin() {
    let house = House::open().await;
    let headers = json!({"headers": {"Authorization": "s", "Cookie": "s", "X-Api-Key": "s", "Accept": "text/plain"}});
    house
        .ask("a.test", "/to/302/b.test@x", headers.clone())
        .await
        .unwrap();
    house.ask("a.test", "/to/302/x", headers).await.unwrap();
    let seen = house.requests();
    let has = |index: usize, name: &str| seen[index].2.contains_key(name);
    for name in ["authorization", "cookie", "x-api-key"] {
        let carried: Vec<bool> = (0..4).map(|index| has(index, name)).collect();
        assert_eq!(carried, [true, false, true, true], "{name}");
    }
    assert!(has(1, "accept"));

    let post = json!({"method": "POST", "body": "data"});
    house
        .ask("a.test", "/to/303/x", post.clone())
        .await
        .unwrap();
    house.ask("a.test", "/to/308/x", post).await.unwrap();
    let seen = house.requests();
    let shape: Vec<_> = seen
        .iter()
        .map(|(method, _, _, body)| (method.as_str(), body.len()))
        .collect();
    assert_eq!(shape, [("POST", 4), ("GET", 0), ("POST", 4), ("POST", 4)]);
}

#[tokio::test]
async fn endless_bodies_are_cut() {
    let house = House::open().await;
    for max in [1, 999, 1_000, 1_001, 100_000] {
        let got = house
            .ask("a.test", "/endless", json!({"max_bytes": max}))
            .await
            .unwrap();
        assert_eq!(
            (&got["bytes"], &got["truncated"]),
            (&json!(max), &json!(true)),
            "{max}"
        );
    }
    let whole = house
        .ask("a.test", "/x", json!({"max_bytes": 5}))
        .await
        .unwrap();
    assert_eq!(
        (&whole["text"], &whole["truncated"]),
        (&json!("hello"), &json!(false))
    );
    assert_eq!(house.refused("a.test", "/cut").await, "http.interrupted");
    let post = json!({"method": "POST"});
    let error = house.ask("a.test", "/cut", post).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolOutcomeUnknown);
}

#[tokio::test]
async fn waiting_ends() {
    let house = House::open().await;
    for (method, code) in [
        ("GET", ErrorCode::ToolTimeout),
        ("PUT", ErrorCode::ToolTimeout),
        ("POST", ErrorCode::ToolOutcomeUnknown),
    ] {
        let slow = json!({"method": method, "timeout_ms": 2_000});
        let error = house.ask("a.test", "/never", slow).await.unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_deref()),
            (code, Some("http.timeout")),
            "{method}"
        );
    }
    let cancel = CancellationToken::new();
    let house = House::open().await;
    let asked = json!({"url": house.url("a.test", "/never")});
    let (answer, ()) = tokio::join!(call_until(&house.tool, asked, cancel.clone()), async {
        house.arrived.notified().await;
        cancel.cancel();
    });
    assert_eq!(answer.unwrap_err().code, ErrorCode::ToolCancelled);
}

#[tokio::test]
async fn failures_of_the_way_are_told_apart() {
    let house = House::open().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let open = json!([{"host": "a.test", "ports": [port, house.port], "private": true}]);
    house.policy.store(Arc::new(policy(open)));
    let url = format!("http://a.test:{port}/secret?key=1");
    let error = call(&house.tool, json!({"url": url})).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("http.refused"));
    assert!(
        error.message.contains("a.test") && !error.message.contains("secret"),
        "{error}"
    );
    assert!(error.may_pass());
    // A server that does not speak TLS.
    let url = format!("https://a.test:{}/secret", house.port);
    let error = call(&house.tool, json!({"url": url})).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("http.tls"), "{error}");
    assert!(!error.message.contains("secret"), "{error}");
}
