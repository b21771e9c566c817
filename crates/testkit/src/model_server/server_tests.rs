//! The server as a client sees it.

use std::sync::Once;

use reqwest::{Client, Response};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().expect("it is the first one");
    });
    Client::builder().no_proxy().build().expect("a client")
}

async fn ask(client: &Client, server: &ModelServer, body: &Json) -> reqwest::Result<Response> {
    let url = format!("{}/chat/completions", server.base_url(Format::OpenAi));
    client.post(url).body(body.to_string()).send().await
}

#[tokio::test]
async fn each_request_gets_the_next_answer_in_its_own_format_and_delivery() {
    let rows = [
        (
            "/v1/chat/completions",
            json!({}),
            Format::OpenAi,
            Delivery::Whole,
        ),
        (
            "/v1/chat/completions",
            json!({"stream": true, "stream_options": {"include_usage": true}}),
            Format::OpenAi,
            Delivery::Stream,
        ),
        (
            "/api/v1/chat/completions",
            json!({"stream": false}),
            Format::OpenAi,
            Delivery::Whole,
        ),
        (
            "/v1/messages",
            json!({}),
            Format::Anthropic,
            Delivery::Whole,
        ),
        (
            "/v1/messages",
            json!({"stream": true}),
            Format::Anthropic,
            Delivery::Stream,
        ),
        (
            "/v1beta/models/g:generateContent",
            json!({}),
            Format::Gemini,
            Delivery::Whole,
        ),
        (
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            json!({}),
            Format::Gemini,
            Delivery::Stream,
        ),
        (
            "/v1beta/models/g:streamGenerateContent",
            json!({}),
            Format::Gemini,
            Delivery::List,
        ),
    ];
    let server = ModelServer::start().await;
    let client = client();
    let say = Say::text("hé")
        .reasoning("hm")
        .call("c", "t", json!({"a": 1}))
        .usage(10, 5);
    for (path, body, format, delivery) in rows {
        server.push(Answer::say(say.clone()));
        let sent = client
            .post(format!("{}{path}", server.url()))
            .header("X-Who", "me")
            .body(body.to_string());
        let answer = sent.send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        let media_type = match delivery {
            Delivery::Stream => "text/event-stream",
            Delivery::Whole | Delivery::List => "application/json",
        };
        assert_eq!(answer.headers()["content-type"], media_type, "{path}");
        let bytes = answer.bytes().await.expect("a whole body");
        assert_eq!(bytes, render(format, delivery, &say), "{path}");

        let request = server.next_request().await;
        assert_eq!((request.method.as_str(), request.json()), ("POST", body));
        assert_eq!(request.header("x-WHO"), Some("me"));
        assert_eq!(path.split('?').next(), Some(request.path.as_str()));
    }
    assert_eq!(
        server.connections_opened(),
        1,
        "kept alive, whatever the framing"
    );
    assert_eq!(server.requests().len(), 8);
}

#[tokio::test]
async fn an_empty_script_says_so() {
    let server = ModelServer::start().await;
    let answer = ask(&client(), &server, &json!({}))
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 500);
    let text = answer.text().await.expect("a body");
    assert!(
        text.contains("script of the model server is empty"),
        "{text}"
    );
}

#[tokio::test]
async fn statuses_headers_and_computed_answers() {
    let server = ModelServer::start().await;
    let client = client();
    server.push(Answer::status(429).header("retry-after", "2").body("wait"));
    server.push(Answer::error(529, "busy"));
    server.push_for(|request| Answer::say(Say::text(request.json()["x"].to_string())));
    server.otherwise(|_| Answer::status(418));

    let answer = ask(&client, &server, &json!({})).await.expect("an answer");
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "2");
    assert_eq!(answer.text().await.expect("a body"), "wait");
    let answer = ask(&client, &server, &json!({})).await.expect("an answer");
    assert_eq!(answer.status(), 529);
    let body: Json = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
    assert_eq!(body["error"]["message"], "busy");
    let answer = ask(&client, &server, &json!({"x": 42}))
        .await
        .expect("an answer");
    assert!(
        answer
            .text()
            .await
            .expect("a body")
            .contains(r#""content":"42""#)
    );
    for _ in 0..2 {
        let answer = ask(&client, &server, &json!({})).await.expect("an answer");
        assert_eq!(answer.status(), 418);
    }
}

#[tokio::test]
async fn faults_break_the_answer_where_they_should() {
    let server = ModelServer::start().await;
    let client = client();
    let say = || Answer::say(Say::text("hello"));
    let whole = render(Format::OpenAi, Delivery::Stream, &Say::text("hello"));
    let body = json!({"stream": true});

    for fault in [Fault::HangUp, Fault::Reset] {
        server.push(say().fault(fault.clone()));
        assert!(ask(&client, &server, &body).await.is_err(), "{fault:?}");
    }
    let breaking = [
        (Fault::CloseAfter(10), 10),
        (Fault::ResetAfter(10), 0),
        (Fault::HalfChunkAfter(10), 10),
        (Fault::BadChunkAfter(10), 10),
    ];
    for (fault, at_least) in breaking {
        server.push(say().fault(fault.clone()));
        let mut answer = ask(&client, &server, &body).await.expect("a head");
        let mut came = Vec::new();
        let broke = loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => came.extend_from_slice(&bytes),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(broke, "{fault:?}");
        assert!(
            whole.starts_with(&came) && came.len() >= at_least,
            "{fault:?}: {}",
            came.len()
        );
    }
    for (fault, strange) in [
        (Fault::BadUtf8, &b"h\xffello"[..]),
        (Fault::GarbageAfter(9), b"!garbage"),
        (Fault::Insert(3, b"\0".to_vec()), b"dat\0a:"),
    ] {
        server.push(say().fault(fault.clone()));
        let answer = ask(&client, &server, &body).await.expect("a head");
        let bytes = answer.bytes().await.expect("all of it");
        assert!(
            bytes.windows(strange.len()).any(|window| window == strange),
            "{fault:?}"
        );
    }
    for (fault, missing) in [(Fault::NoDone, "[DONE]"), (Fault::NoFinish, r#""stop""#)] {
        server.push(say().fault(fault.clone()));
        let answer = ask(&client, &server, &body).await.expect("a head");
        assert!(
            !answer.text().await.expect("all of it").contains(missing),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn a_stalled_answer_goes_on_when_released() {
    let server = ModelServer::start().await;
    server.push(Answer::say(Say::text("hello")).fault(Fault::StallAfter(10)));
    let mut answer = ask(&client(), &server, &json!({"stream": true}))
        .await
        .expect("a head");
    let first = answer
        .chunk()
        .await
        .expect("no error")
        .expect("a beginning");
    assert_eq!(first.len(), 10);
    server.release();
    let rest = answer.bytes().await.expect("the rest");
    assert!(rest.ends_with(b"data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let server = ModelServer::start().await;
    for fault in [Fault::Hang, Fault::StallAfter(10)] {
        server.push(Answer::say(Say::text("hello")).fault(fault));
        let mut stream = TcpStream::connect(server.address())
            .await
            .expect("a connection");
        let text = b"POST /v1/chat/completions HTTP/1.1\r\n\r\n";
        stream.write_all(text).await.expect("sent");
        server.next_request().await;
        assert_eq!(server.connections_open(), 1);
        drop(stream);
        server.wait_for_disconnect().await;
        assert_eq!(server.connections_open(), 0);
    }
}

#[tokio::test]
async fn raw_bytes_and_odd_requests() {
    let server = ModelServer::start().await;
    let rows: [(&[u8], &[u8], &[u8]); 3] = [
        (b"POST /x?a=1&b HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi", b"hi", b"NO HTTP\n"),
        (b"POST /x?a=1&b HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;e=f\r\nh\r\n1\r\ni\r\n0\r\n\r\n", b"hi", b""),
        (b"GET /x?a=1&b HTTP/1.1\r\n\r\n", b"", b"\xff"),
    ];
    for (sent, body, raw) in rows {
        server.push(Answer::raw(raw).cut_every(1));
        let mut stream = TcpStream::connect(server.address())
            .await
            .expect("a connection");
        for byte in sent {
            stream.write_all(&[*byte]).await.expect("sent");
        }
        let mut came = Vec::new();
        stream.read_to_end(&mut came).await.expect("all of it");
        assert_eq!(came, raw);
        let request = server.next_request().await;
        assert_eq!(
            (
                request.body.as_slice(),
                request.param("a"),
                request.param("b"),
                request.param("c")
            ),
            (body, Some("1"), Some(""), None)
        );
    }
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("a connection");
    stream
        .write_all(b"\x16\x03\x01 what\r\n\r\n")
        .await
        .expect("sent");
    let mut came = String::new();
    stream.read_to_string(&mut came).await.expect("all of it");
    assert!(
        came.starts_with("HTTP/1.1 400 ") && came.ends_with("this is no HTTP request\n"),
        "{came}"
    );
}

#[tokio::test]
async fn dropping_the_server_ends_its_connections() {
    let server = ModelServer::start().await;
    server.push(Answer::say(Say::text("hello")).fault(Fault::StallAfter(10)));
    let mut answer = ask(&client(), &server, &json!({"stream": true}))
        .await
        .expect("a head");
    assert!(answer.chunk().await.expect("no error").is_some());
    let address = server.address();
    drop(server);
    assert!(answer.chunk().await.is_err());
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_does_not_hurry_the_server() {
    let server = ModelServer::start().await;
    server.push(Answer::say(Say::text("hello")));
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("a connection");
    let before = tokio::time::Instant::now();
    let sent = async { stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await };
    let (request, sent) = tokio::join!(server.next_request(), sent);
    sent.expect("sent");
    assert_eq!(request.path, "/");
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
}

#[tokio::test]
async fn a_bench_answers_everybody_alike_and_records_nothing() {
    let server = ModelServer::bench(Bench {
        tokens_per_write: 7,
        ..Bench::new(100, 4)
    })
    .await;
    let client = client();
    for _ in 0..3 {
        let answer = ask(&client, &server, &json!({"stream": true}))
            .await
            .expect("a head");
        let text = answer.text().await.expect("all of it");
        assert_eq!(text.matches(r#"{"content":"xxxx"}"#).count(), 100);
        assert!(text.ends_with("data: [DONE]\n\n"));
    }
    assert_eq!(
        (server.connections_opened(), server.requests().len()),
        (1, 0)
    );
}

#[tokio::test]
async fn the_reply_of_a_turn_depends_on_the_results_in_the_request() {
    let replies = ["one", "two", "three"].map(Say::text);
    let server = ModelServer::turns(replies.into()).await;
    let client = client();
    for (results, said) in [
        (2, "three"),
        (0, "one"),
        (1, "two"),
        (0, "one"),
        (7, "three"),
    ] {
        let messages = vec![json!({"role": "tool", "content": "x"}); results];
        let body = json!({"stream": true, "messages": messages});
        let answer = ask(&client, &server, &body).await.expect("a head");
        let text = answer.text().await.expect("all of it");
        assert!(text.contains(&format!(r#""content":"{said}""#)), "{text}");
    }
    assert_eq!(
        (server.connections_opened(), server.requests().len()),
        (1, 0)
    );
}

#[tokio::test]
async fn a_bench_serves_many_at_once_in_every_format() {
    const CLIENTS: usize = 100;
    let server = ModelServer::bench(Bench::new(20, 3)).await;
    let mut streams = Vec::new();
    for _ in 0..CLIENTS {
        let stream = TcpStream::connect(server.address()).await;
        streams.push(stream.expect("a connection"));
    }
    let asked = [
        ("/v1/chat/completions", r#"{"stream":true}"#, "[DONE]"),
        ("/v1/messages", r#"{"stream":true}"#, "message_stop"),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "{}",
            "STOP",
        ),
    ];
    for (path, body, _) in asked {
        for stream in &mut streams {
            let length = body.len();
            let text = format!("POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(text.as_bytes()).await.expect("sent");
        }
    }
    for stream in &mut streams {
        // What was asked before is answered before the end.
        stream.shutdown().await.expect("no more to ask");
        let mut came = String::new();
        stream.read_to_string(&mut came).await.expect("all of it");
        assert_eq!(came.matches(r#""xxx""#).count(), 3 * 20);
        for (path, _, end) in asked {
            assert_eq!(came.matches(end).count().min(1), 1, "{path}");
        }
    }
    assert_eq!(server.connections_opened(), CLIENTS);
}

#[tokio::test]
async fn a_list_of_models_does_not_use_up_the_script() {
    let server = ModelServer::start().await;
    let client = client();
    server.push(Answer::status(503));
    let url = format!("{}/models", server.base_url(Format::OpenAi));
    let answer = client.get(&url).send().await.expect("an answer");
    assert_eq!(answer.status(), 503, "nothing is listed yet");

    server.push(Answer::say(Say::text("hello")));
    server.set_kind(Kind::Ollama);
    server.set_models(["a", "b"]);
    let answer = client.get(&url).send().await.expect("an answer");
    let text = answer.text().await.expect("a body");
    assert!(
        text.contains("library") && text.contains(r#""id":"b""#),
        "{text}"
    );
    assert_eq!((server.unused(), server.requests().len()), (1, 2));
    let answer = ask(&client, &server, &json!({})).await.expect("an answer");
    assert!(answer.text().await.expect("a body").contains("hello"));
}
