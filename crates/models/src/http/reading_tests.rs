use super::*;
use crate::http::fake::{EVENTS, KEY, Server, StandStill, answer, ask, events, next, read, send};

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
        (events("data: a\n\n"), "a", broken("the decoder wants more")),
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
    assert_eq!(error.message, "wrong [key]!");
}

#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
    let server = Server::start(|mut conn| async move {
        conn.request().await?;
        let body = "data: ä\n\ndata: b\n\ndata: [DONE]\n\n";
        for byte in events(body).bytes() {
            conn.write([byte]).await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    })
    .await;
    assert_eq!(ask(&server.endpoint()).await, ("äb".into(), None));
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
