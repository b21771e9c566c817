use std::cell::Cell;

use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::mpsc;

use super::*;
use crate::WireFormat;
use crate::http::Timeouts;
use crate::http::fake::{
    EVENTS, KEY, Server, StandStill, answer, ask, endpoint, events, next, read, send,
};

/// The answer, what is read of it, and what is said about its end.
type Row = (String, &'static str, Option<(ModelErrorKind, &'static str)>);

async fn check(rows: Vec<Row>) {
    for (sent, text, end) in rows {
        let server = Server::saying(sent.clone()).await;
        let (read, error) = ask(&server.endpoint()).await;
        let head: String = sent.chars().take(200).collect();
        assert_eq!(read, text, "{head}");
        match (error, end) {
            (None, None) => {}
            (Some(error), Some((kind, message))) => {
                assert_eq!(error.kind, kind, "{head}: {error}");
                assert!(error.message.contains(message), "{head}: {error}");
                assert!(!error.message.contains(KEY));
            }
            (error, end) => panic!("{head}: {error:?} is not {end:?}"),
        }
    }
}

#[tokio::test]
async fn the_first_byte_tells_how_an_answer_is_read() {
    let page = Some((
        ModelErrorKind::Misdirected,
        "answered with a web page; the base URL",
    ));
    let json = "content-type: application/json; charset=utf-8\r\n";
    let plain = "content-type: text/plain\r\n";
    check(vec![
        (events("data: a\n\ndata: b\n\ndata: [DONE]\n\n"), "ab", None),
        (
            events("\u{feff}\n data\n\ndata: a\n\ndata: [DONE]\n\n"),
            "a",
            None,
        ),
        (events(": hi\n\ndata: a\n\ndata: [DONE]\n\n"), "a", None),
        (events(r#"{"error":1}"#), r#"whole {"error":1}"#, None),
        (
            answer("200 OK", json, "\n {\"a\":1}"),
            r#"whole {"a":1}"#,
            None,
        ),
        (answer("200 OK", json, "[1]"), "whole [1]", None),
        (answer("200 OK", json, "\"x\""), "whole \"x\"", None),
        (
            answer("200 OK", json, "data: a\n\ndata: [DONE]\n\n"),
            "a",
            None,
        ),
        (
            answer("201 Created", plain, "data: a\n\ndata: [DONE]\n\n"),
            "a",
            None,
        ),
        (answer("200 OK", plain, "{}"), "whole {}", None),
        (answer("200 OK", "", "{}"), "whole {}", None),
        (
            answer("200 OK", "", "event: x\ndata: a\n\ndata: [DONE]\n\n"),
            "a",
            None,
        ),
        (
            answer("200 OK", "content-type: text/html\r\n", "<!doctype html>"),
            "",
            page,
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_is_cut_off_is_told_with_what_had_come() {
    let broken = |cause| Some((ModelErrorKind::BrokenStream, cause));
    let long = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 1000\r\n\r\n";
    check(vec![
        (
            format!("{long}data: a\n\ndata: b"),
            "a",
            broken("Fake (127.0.0.1:"),
        ),
        (
            format!("{long}data: a\n\n"),
            "a",
            broken("stopped before its end"),
        ),
        (
            format!("{EVENTS}9\r\ndata: a\n\n\r\nff\r\ndata: b"),
            "a",
            broken("stopped before its end"),
        ),
        (
            format!("{EVENTS}9\r\ndata: a\n\n\r\nzz\r\n"),
            "a",
            broken("stopped before its end"),
        ),
        (EVENTS.to_owned(), "", broken("stopped before its end")),
        // Ended as it should, but the format misses something.
        (
            events("data: a\n\n"),
            "a",
            broken("Fake: the decoder wants more"),
        ),
        (events("\n\n"), "", broken("answered with nothing at all")),
        (events(""), "", broken("answered with nothing at all")),
        (
            "HTTP/1.1 204 No Content\r\n\r\n".into(),
            "",
            broken("nothing at all"),
        ),
        (
            format!("{}{{\"a\":", long.replace("event-stream", "plain")),
            "",
            broken("stopped before"),
        ),
        // The model itself had finished: the rest is no loss.
        (
            format!("{long}data: a\n\ndata: [FINISH]\n\ndata: x"),
            "a",
            None,
        ),
        (
            format!("{long}data: a\n\ndata: [DONE]\n\ndata: x"),
            "a",
            None,
        ),
        (events("data: a\n\ndata: [FINISH]\n\n"), "a", None),
        // No empty line after the last event.
        (events("data: a\n\ndata: [DONE]"), "a", None),
        // No length: the close is the end.
        (
            "HTTP/1.1 200 OK\r\n\r\ndata: a\n\ndata: [FINISH]\n\n".into(),
            "a",
            None,
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_the_decoder_says_comes_after_its_events_and_without_the_key() {
    let body = format!("data: a\n\ndata: bad:wrong {KEY}!\n\ndata: never\n\n");
    let server = Server::saying(events(&body)).await;
    let (text, error) = ask(&server.endpoint()).await;
    let error = error.unwrap();
    assert_eq!(text, "abad:wrong [key]!");
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert_eq!(error.message, "Fake: wrong [key]!");
}

#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
    for (body, text) in [
        ("data: ä\n\ndata: b\n\ndata: [DONE]\n\n", "äb"),
        ("\u{feff}data: a\n\ndata: [DONE]\n\n", "a"),
        ("\u{feff}{\"a\":1}", r#"whole {"a":1}"#),
    ] {
        let server = Server::start(move |mut conn| async move {
            conn.request().await?;
            for byte in events(body).bytes() {
                conn.write([byte]).await?;
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await;
        assert_eq!(ask(&server.endpoint()).await, (text.into(), None));
    }
}

#[tokio::test]
async fn claims_and_floods_beyond_the_bound_are_stopped() {
    let claim =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1073741824\r\n\r\n{";
    check(vec![(
        claim.to_owned(),
        "",
        Some((ModelErrorKind::TooLarge, "more than 33554432 bytes")),
    )])
    .await;
    let server = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.write(EVENTS.replace("event-stream", "plain")).await?;
        let much = format!("[{}", " ".repeat(1024 * 1024));
        loop {
            conn.chunk(&much).await?;
        }
    })
    .await;
    let (text, error) = ask(&server.endpoint()).await;
    assert_eq!(
        (text.as_str(), error.unwrap().kind),
        ("", ModelErrorKind::TooLarge)
    );
}

#[tokio::test(start_paused = true)]
async fn requests_in_a_row_share_a_connection() {
    let server = Server::start(|mut conn| async move {
        for turn in 0.. {
            conn.request().await?;
            match turn % 3 {
                // The end of the body comes on its own, as most servers write it.
                0 => {
                    conn.write(EVENTS).await?;
                    conn.chunk("data: a\n\n").await?;
                    conn.chunk("data: [DONE]\n\n").await?;
                    tokio::task::yield_now().await;
                    conn.write("0\r\n\r\n").await?;
                }
                1 => conn.write(answer("200 OK", "", "{}")).await?,
                _ => conn.write(answer("500 Oh", "", "{}")).await?,
            }
        }
        Ok(())
    })
    .await;
    let _still = StandStill::new();
    let endpoint = server.endpoint();
    for _ in 0..3 {
        assert_eq!(ask(&endpoint).await, ("a".into(), None));
        assert_eq!(ask(&endpoint).await, ("whole {}".into(), None));
        assert!(ask(&endpoint).await.1.is_some());
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_close_after_the_end_is_left() {
    let server = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.write(EVENTS).await?;
        conn.chunk("data: a\n\ndata: [DONE]\n\n").await?;
        conn.nothing_more().await
    })
    .await;
    let still = StandStill::new();
    let before = tokio::time::Instant::now();
    let mut attempt = send(&server.endpoint());
    assert!(next(&mut attempt).await.unwrap().is_ok());
    drop(still);
    assert_eq!(read(attempt).await, (String::new(), None));
    assert!(before.elapsed() <= LINGER * 2);
}

/// An answer whose pieces come when the test says so.
fn reading(pieces: impl Stream<Item = String> + Send + 'static) -> Reading {
    let timeouts = Timeouts::default();
    Reading {
        endpoint: endpoint("http://127.0.0.1:9/v1", timeouts),
        body: Some(Box::pin(pieces.map(|piece| Ok(piece.into())))),
        clock: Clock::start(timeouts),
        form: Form::Unknown {
            says_json: false,
            marks: 0,
        },
        decoder: WireFormat::OpenAi.decoder(),
        out: Vec::new(),
        failed: None,
        parting: None,
    }
}

async fn next_of(reading: &mut Reading) -> Option<Item> {
    std::future::poll_fn(|cx| reading.poll_next(cx)).await
}

async fn all_of(mut reading: Reading) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(item) = next_of(&mut reading).await {
        all.push(match item {
            Ok(ModelEvent::Text(text)) => text,
            Ok(ModelEvent::Reasoning(text)) => format!("({text})"),
            Ok(ModelEvent::ToolCall {
                arguments_delta, ..
            }) => format!("call {arguments_delta}"),
            Ok(ModelEvent::Started { .. }) => "started".into(),
            Ok(ModelEvent::Usage(_)) => "usage".into(),
            Ok(ModelEvent::Finish(reason)) => reason.as_str().into(),
            Ok(ModelEvent::Opaque { .. }) => "opaque".into(),
            Err(error) => error.kind.reason().into(),
        });
    }
    all
}

fn delta(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"r\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n"
    )
}

fn content(text: &str) -> String {
    delta(&format!("{{\"content\":\"{text}\"}}"))
}

#[tokio::test]
async fn words_that_are_there_together_go_out_together_and_in_order() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"n","arguments":"{}"}}]}"#;
    let thought = |text| delta(&format!("{{\"reasoning\":\"{text}\"}}"));
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n".to_owned();
    let done = "data: [DONE]\n\n".to_owned();
    let rows = [
        (
            vec![content("a"), content("b"), content("c")],
            "started abc model.broken_stream",
        ),
        (
            vec![
                thought("a"),
                thought("b"),
                content("c"),
                content("d"),
                thought("e"),
                done.clone(),
            ],
            "started (ab) cd (e)",
        ),
        (
            vec![
                content("a"),
                content("b"),
                delta(call),
                content("c"),
                content("d"),
                done.clone(),
            ],
            "started ab call {} cd",
        ),
        (
            vec![
                content("a"),
                content("b"),
                usage,
                content("c"),
                content("d"),
                done,
            ],
            "started ab usage cd",
        ),
        (
            vec![
                content("a"),
                content("b"),
                "data: {\"error\":{\"message\":\"x\"}}\n\n".into(),
            ],
            "started ab model.server_error",
        ),
    ];
    for (pieces, wanted) in rows {
        let whole = pieces.concat();
        assert_eq!(
            all_of(reading(stream::iter(pieces))).await.join(" "),
            wanted
        );
        // And however they are cut.
        for at in 0..=whole.len() {
            let cut = [&whole[..at], &whole[at..]].map(str::to_owned);
            assert_eq!(
                all_of(reading(stream::iter(cut))).await.join(" "),
                wanted,
                "{at}"
            );
        }
    }
}

#[tokio::test]
async fn nothing_waits_for_what_is_not_there_yet() {
    let (send, mut pieces) = mpsc::unbounded_channel();
    let mut reading = reading(stream::poll_fn(move |cx| pieces.poll_recv(cx)));
    send.send(content("a")).unwrap();
    let started = next_of(&mut reading).now_or_never().unwrap();
    assert!(matches!(started, Some(Ok(ModelEvent::Started { .. }))));
    for text in ["a", "b", "c"] {
        let event = next_of(&mut reading).now_or_never().unwrap();
        assert_eq!(event, Some(Ok(ModelEvent::Text(text.into()))));
        assert_eq!(next_of(&mut reading).now_or_never(), None);
        // Half an event says nothing; its rest does.
        let more = content(if text == "a" { "b" } else { "c" });
        let (half, rest) = more.split_at(more.len() - 1);
        send.send(half.to_owned()).unwrap();
        assert_eq!(next_of(&mut reading).now_or_never(), None);
        send.send(rest.to_owned()).unwrap();
    }
}

#[tokio::test]
async fn a_flood_is_handed_out_in_bounded_parts() {
    thread_local!(static READ: Cell<usize> = const { Cell::new(0) });
    for (length, most) in [
        (1, MAX_GATHERED_PIECES),
        (MAX_GATHERED_BYTES / 4, 4),
        (MAX_GATHERED_BYTES * 4, 1),
    ] {
        let words = "x".repeat(length);
        let flood = stream::repeat_with(move || {
            READ.set(READ.get() + 1);
            content(&words)
        });
        let mut reading = reading(flood);
        assert!(matches!(
            next_of(&mut reading).await,
            Some(Ok(ModelEvent::Started { .. }))
        ));
        for part in 1..4 {
            let event = next_of(&mut reading).await;
            assert!(matches!(&event, Some(Ok(ModelEvent::Text(_)))));
            let read = READ.get();
            assert!(read <= part * most, "{length}: {read}");
        }
        READ.set(0);
    }
}
