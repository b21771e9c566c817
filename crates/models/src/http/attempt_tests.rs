use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use tokio::sync::{Notify, oneshot};

use super::*;
use crate::ModelErrorKind;
use crate::http::HttpClient;
use crate::http::fake::{EVENTS, KEY, Server, ask, events, next, read, send};
use crate::limits::HOLD_FROM;

#[tokio::test]
async fn a_request_carries_what_it_should() {
    let (seen, asked) = oneshot::channel();
    let seen = std::sync::Mutex::new(Some(seen));
    let server = Server::start(move |mut conn| {
        let seen = seen.lock().unwrap().take().unwrap();
        async move {
            let _ = seen.send(conn.request().await?);
            conn.write(events("data: [DONE]\n\n")).await
        }
    })
    .await;
    ask(&server.endpoint()).await;
    let request = asked.await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, r#"{"hello":1}"#);
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        "accept-encoding: identity",
        "accept: text/event-stream, application/json;q=0.9",
        "content-type: application/json",
        "x-format: plain",
        &format!("authorization: Bearer {KEY}"),
        &format!("user-agent: innkeeper/{version}"),
    ] {
        assert!(head.lines().any(|found| found == line), "{line}: {head}");
    }
}

/// Fails instead of hanging.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = std::time::Duration::from_secs(20);
    tokio::time::timeout(limit, what).await.unwrap()
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_read_and_dropping_it_closes_the_connection() {
    for begins in [false, true] {
        let (gone, went) = oneshot::channel();
        let gone = std::sync::Mutex::new(Some(gone));
        let asked = Arc::new(Notify::new());
        let heard = Arc::clone(&asked);
        let server = Server::start(move |mut conn| {
            let gone = gone.lock().unwrap().take().unwrap();
            let heard = Arc::clone(&heard);
            async move {
                conn.request().await?;
                if begins {
                    conn.write(EVENTS).await?;
                    conn.chunk("data: a\n\n").await?;
                }
                heard.notify_one();
                conn.closed().await;
                let _ = gone.send(());
                Ok(())
            }
        })
        .await;
        let mut attempt = send(&server.endpoint());
        tokio::task::yield_now().await;
        assert_eq!(server.connections(), 0);
        if begins {
            let event = soon(next(&mut attempt)).await.unwrap().unwrap();
            assert_eq!(event, ModelEvent::Text("a".into()));
        } else {
            // It waits for the head of the answer.
            soon(async {
                tokio::select! {
                    () = asked.notified() => {}
                    item = next(&mut attempt) => panic!("{item:?}"),
                }
            })
            .await;
        }
        drop(attempt);
        soon(went).await.unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_sent_fails_before_a_connection_is_made() {
    let server = Server::saying(events("data: [DONE]\n\n")).await;
    let rows = [
        (
            "../../admin",
            KEY,
            ModelErrorKind::Misdirected,
            "would leave its base URL",
        ),
        (
            "chat",
            "a\r\nx-evil: 1",
            ModelErrorKind::Unauthorized,
            "a line break",
        ),
        (
            "chat",
            "schlüssel",
            ModelErrorKind::Unauthorized,
            "characters that no key has",
        ),
        ("chat", "  ", ModelErrorKind::Unauthorized, "is empty"),
    ];
    for (path, key, kind, message) in rows {
        let wrote = Arc::new(AtomicBool::new(false));
        let write = Arc::clone(&wrote);
        let attempt = begin(
            server.endpoint(),
            Some(Secret::new(key)),
            String::new(),
            move || {
                write.store(true, Ordering::SeqCst);
                let wire = WireRequest {
                    path: path.into(),
                    headers: Vec::new(),
                    body: Vec::new(),
                    streams: true,
                };
                Ok((wire, crate::WireFormat::OpenAi.decoder()))
            },
        );
        let error = read(attempt).await.1.unwrap();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(message), "{error}");
        assert!(!error.message.contains(key.trim()) || key.trim().is_empty());
        assert!(wrote.load(Ordering::SeqCst));
    }
    assert_eq!(server.connections(), 0);
    let client = HttpClient::new().unwrap();
    assert_eq!(format!("{client:?}"), "HttpClient");
}

#[tokio::test]
async fn a_key_that_comes_back_in_pieces_is_hidden_and_nothing_else_is_lost() {
    let (one, two) = KEY.split_at(8);
    for (body, said, fails) in [
        (
            format!("data: you sent {one}\n\ndata: {two}.\n\ndata: [DONE]\n\n"),
            "you sent [key].",
            false,
        ),
        // What looked like one goes out at the end, whatever the end is.
        (
            format!("data: you sent {}\n\ndata: [DONE]\n\n", &KEY[..5]),
            "you sent sk-ma",
            false,
        ),
        (
            format!("data: you sent {}\n\n", &KEY[..5]),
            "you sent sk-ma",
            true,
        ),
        (format!("data: bad:{KEY}\n\n"), "bad:[key]", true),
    ] {
        let server = Server::saying(events(&body)).await;
        let (text, error) = ask(&server.endpoint()).await;
        assert_eq!(text, said);
        assert_eq!(error.is_some(), fails, "{error:?}");
        assert!(!format!("{error:?}").contains(KEY));
    }
}

/// As real formats do, which make one piece of those that come together.
#[tokio::test]
async fn a_key_in_pieces_that_became_one_is_hidden_too() {
    let content = |text: &str| {
        format!(
            "data: {{\"id\":\"r\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    // How many of the events leave in each write.
    for together in 1..=KEY.len() + 2 {
        let letters = KEY.chars().map(|letter| content(&letter.to_string()));
        let events: Vec<String> = std::iter::once(content("you sent "))
            .chain(letters)
            .chain([content(".")])
            .collect();
        let server = Server::start(move |mut conn| {
            let writes: Vec<String> = events.chunks(together).map(<[String]>::concat).collect();
            async move {
                conn.request().await?;
                conn.write(EVENTS).await?;
                for write in writes {
                    conn.chunk(&write).await?;
                    tokio::task::yield_now().await;
                }
                conn.chunk("data: [DONE]\n\n").await?;
                conn.write("0\r\n\r\n").await
            }
        })
        .await;
        let attempt = begin(
            server.endpoint(),
            Some(Secret::new(KEY)),
            String::new(),
            || {
                let wire = WireRequest {
                    path: "chat".into(),
                    headers: Vec::new(),
                    body: Vec::new(),
                    streams: true,
                };
                Ok((wire, crate::WireFormat::OpenAi.decoder()))
            },
        );
        let said: Vec<Item> = attempt.collect().await;
        let text: String = said
            .into_iter()
            .filter_map(|item| match item.unwrap() {
                ModelEvent::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        // A few letters of it may be out before it looks like a key.
        let shown = (0..HOLD_FROM).map(|n| format!("you sent {}[key].", &KEY[..n]));
        assert!(
            shown.into_iter().any(|shown| shown == text),
            "{together}: {text}"
        );
    }
}
