//! Everything that goes wrong on a connection, in every format: what it is called, what had come, and who is asked again.

use innkeeper_models::{ModelErrorKind as Kind, Timeouts};
use innkeeper_testkit::model_server::{
    Answer, Delivery, Fault, Format, Framing, ModelServer, Say, render,
};

use super::house::{House, after_event_with, channel, config};

fn say() -> Say {
    Say::deltas(["one ", "two"]).usage(3, 2)
}

/// One repetition.
fn patient(server: &ModelServer, format: Format) -> House {
    let mut config = config("one", server, format);
    config.retries = 1;
    config.timeouts = Timeouts {
        first_byte_ms: 60_000,
        idle_ms: 60_000,
        ..Timeouts::default()
    };
    House::new(vec![channel(config, format)])
}

#[tokio::test]
async fn before_the_first_word_it_is_tried_again() {
    let cases = Format::ALL.into_iter().flat_map(|format| {
        let silent = Say::nothing().then_error(529, "overloaded");
        let busy = Answer::error(503, "busy").header("retry-after-ms", "1");
        [
            Answer::say(say()).fault(Fault::HangUp),
            Answer::say(say()).fault(Fault::Reset),
            Answer::say(say()).fault(Fault::CloseAfter(0)),
            Answer::say(say()).fault(Fault::ResetAfter(0)),
            Answer::say(say()).fault(Fault::HalfChunkAfter(0)),
            Answer::say(say()).fault(Fault::BadChunkAfter(0)),
            Answer::say(say())
                .framing(Framing::UntilClose)
                .fault(Fault::CloseAfter(9)),
            Answer::say(silent),
            Answer::events(": only a comment\n\n"),
            Answer::status(200).body("{\"never\": "),
            Answer::raw("SSH-2.0-OpenSSH_9.9\r\n"),
            busy,
            Answer::error(429, "slow down").header("retry-after-ms", "1"),
        ]
        .map(|answer| (format, answer))
    });
    let asking = cases.map(|(format, answer)| async move {
        let server = ModelServer::start().await;
        let house = patient(&server, format);
        let what = format!("{format:?} {answer:?}");
        server.push(answer);
        server.push(Answer::say(say()));
        let reply = house
            .hello()
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(reply.text(), "one two", "{what}");
        assert_eq!(server.requests().len(), 2, "{what}");
        assert_eq!(house.reports.take()[0].attempts, 2, "{what}");
    });
    futures_util::future::join_all(asking).await;
}

#[tokio::test]
async fn after_the_first_word_it_is_told_with_what_had_come() {
    for format in Format::ALL {
        let body = render(format, Delivery::Stream, &say());
        let place = after_event_with(&body, "one ");
        let fails = say().then_error(529, "overloaded");
        let slow = say().then_error(429, "slow down");
        let nonsense = Fault::Insert(place, b"data: }{\n\n".to_vec());
        let cases = [
            (
                Answer::say(say()).fault(Fault::CloseAfter(place)),
                Kind::BrokenStream,
            ),
            (
                Answer::say(say()).fault(Fault::HalfChunkAfter(place)),
                Kind::BrokenStream,
            ),
            (
                Answer::say(say()).fault(Fault::BadChunkAfter(place)),
                Kind::BrokenStream,
            ),
            (
                Answer::say(say())
                    .framing(Framing::UntilClose)
                    .fault(Fault::CloseAfter(place)),
                Kind::BrokenStream,
            ),
            (
                Answer::say(say())
                    .fault(Fault::NoDone)
                    .fault(Fault::NoFinish),
                Kind::BrokenStream,
            ),
            (Answer::say(say()).fault(nonsense), Kind::Malformed),
            (Answer::say(fails), Kind::ServerError),
            (Answer::say(slow), Kind::RateLimited),
        ];
        for (answer, kind) in cases {
            let server = ModelServer::start().await;
            let house = patient(&server, format);
            let what = format!("{format:?} {answer:?}");
            server.push(answer);
            server.push(Answer::say(Say::text("never")));
            let error = house.hello().await.unwrap_err();
            assert_eq!(error.kind, kind, "{what}: {error}");
            assert!(!error.retryable(), "{what}");
            let arrived = error.arrived.expect(&what);
            assert!(
                ["one ", "one two"].contains(&arrived.text().as_str()),
                "{what}"
            );
            assert_eq!((server.requests().len(), server.unused()), (1, 1), "{what}");
        }
        // What was in the air when the connection was reset may be lost, but nothing is said twice.
        let server = ModelServer::start().await;
        let house = patient(&server, format);
        server.push(Answer::say(say()).fault(Fault::ResetAfter(place)));
        server.push(Answer::say(Say::text("again")));
        match house.hello().await {
            Ok(reply) => assert_eq!(reply.text(), "again"),
            Err(error) => assert_eq!(error.arrived.unwrap().text(), "one "),
        }
    }
}

#[tokio::test]
async fn silence_ends_in_time() {
    for format in Format::ALL {
        let body = render(format, Delivery::Stream, &say());
        let place = after_event_with(&body, "one ");
        for (fault, arrived) in [
            (Fault::Hang, None),
            (Fault::StallAfter(place), Some("one ")),
        ] {
            let server = ModelServer::start().await;
            let mut config = config("one", &server, format);
            config.timeouts.first_byte_ms = if arrived.is_some() { 20_000 } else { 30 };
            config.timeouts.idle_ms = 30;
            let house = House::new(vec![channel(config, format)]);
            server.push(Answer::say(say()).fault(fault));
            let error = house.hello().await.unwrap_err();
            assert_eq!(error.kind, Kind::Timeout, "{error}");
            let came = error.arrived.map(|arrived| arrived.text());
            assert_eq!(came.as_deref(), arrived);
            server.wait_for_disconnect().await;
        }
    }
}

#[tokio::test]
async fn what_harms_nothing_is_borne() {
    for format in Format::ALL {
        let body = render(format, Delivery::Stream, &say());
        let place = after_event_with(&body, "one ");
        let faults = [
            (Fault::GarbageAfter(place), "one two"),
            (
                Fault::Insert(place, b": still here\n\nretry: 5\n\n".to_vec()),
                "one two",
            ),
            (Fault::BadUtf8, "o\u{fffd}ne two"),
        ];
        for (fault, text) in faults {
            let server = ModelServer::start().await;
            server.push(Answer::say(say()).fault(fault.clone()));
            let reply = House::plain(&server, format).hello().await;
            assert_eq!(reply.unwrap().text(), text, "{format:?} {fault:?}");
        }
        let server = ModelServer::start().await;
        server.push(
            Answer::say(say())
                .delivery(Delivery::Whole)
                .fault(Fault::BadUtf8),
        );
        let reply = House::plain(&server, format).hello().await;
        assert_eq!(reply.unwrap().text(), "o\u{fffd}ne two", "{format:?}");
        // Pieces that were not asked for, and a whole where pieces were.
        for delivery in [Delivery::Whole, Delivery::Stream, Delivery::List] {
            let server = ModelServer::start().await;
            server.push(
                Answer::say(say())
                    .delivery(delivery)
                    .header("content-type", "text/plain"),
            );
            let reply = House::plain(&server, format).hello().await;
            assert_eq!(reply.unwrap().text(), "one two", "{format:?} {delivery:?}");
        }
    }
}

/// A status with words, what it is called, and whether the next channel is asked.
#[tokio::test]
async fn every_refusal_has_its_kind_and_goes_on_where_that_may_help() {
    for format in Format::ALL {
        let moved = Answer::status(307).header("location", "https://elsewhere.example/v1");
        let page = Answer::status(200)
            .body("<!doctype html><title>Welcome</title>")
            .header("content-type", "text/html");
        let cases = [
            (Answer::error(400, "no such field"), Kind::Refused, false),
            (Answer::error(422, "no such field"), Kind::Refused, false),
            (
                Answer::error(403, "your input was flagged"),
                Kind::Refused,
                false,
            ),
            (
                Answer::error(400, "prompt is too long"),
                Kind::ContextTooLong,
                true,
            ),
            (Answer::error(413, "32 MB"), Kind::ContextTooLong, true),
            (
                Answer::error(400, "Your credit balance is too low"),
                Kind::Unauthorized,
                true,
            ),
            (Answer::error(401, "who are you"), Kind::Unauthorized, true),
            (Answer::error(402, "pay first"), Kind::Unauthorized, true),
            (Answer::error(403, "not for you"), Kind::Unauthorized, true),
            (
                Answer::error(404, "model: tiny not found"),
                Kind::UnknownModel,
                true,
            ),
            (
                Answer::status(404).body("404 page not found"),
                Kind::Misdirected,
                true,
            ),
            (Answer::status(405), Kind::Misdirected, true),
            (moved, Kind::Misdirected, true),
            (page, Kind::Misdirected, true),
            (Answer::error(429, "slow"), Kind::RateLimited, true),
            (Answer::error(500, "oops"), Kind::ServerError, true),
            (Answer::error(503, "busy"), Kind::ServerError, true),
            (Answer::error(504, "late"), Kind::Timeout, true),
            (Answer::error(529, "overloaded"), Kind::ServerError, true),
        ];
        let (server, other) = (ModelServer::start().await, ModelServer::start().await);
        other.otherwise(|_| Answer::say(Say::text("from the other")));
        for (answer, kind, goes_on) in cases {
            let what = format!("{format:?} {answer:?}");
            // Keys that were refused are put aside, so each case has its own channels.
            let first = || channel(config("one", &server, format), format);
            server.push(answer.clone());
            let error = House::new(vec![first()]).hello().await.unwrap_err();
            assert_eq!(error.kind, kind, "{what}: {error}");
            assert!(error.arrived.is_none(), "{what}");
            let second = channel(config("two", &other, format), format);
            let house = House::new(vec![first(), second]);
            server.push(answer);
            let reply = house.hello().await;
            assert_eq!(reply.is_ok(), goes_on, "{what}: {reply:?}");
            let report = &house.reports.take()[0];
            let asked = if goes_on { "two" } else { "one" };
            assert_eq!(report.channel.as_deref(), Some(asked), "{what}");
            match reply {
                Ok(reply) => assert_eq!(reply.text(), "from the other"),
                Err(error) => assert_eq!(error.kind, kind, "{what}"),
            }
        }
    }
}
