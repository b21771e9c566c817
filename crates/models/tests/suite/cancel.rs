//! Whoever stops listening ends the connection.

use innkeeper_models::{ModelErrorKind, ModelEvent};
use innkeeper_testkit::model_server::{Answer, Delivery, Fault, Format, ModelServer, Say, render};
use tokio_util::sync::CancellationToken;

use super::house::{House, after_event_with, hello};

const STREAMS: usize = 100;

fn stalls(format: Format) -> Answer {
    let say = Say::deltas(["one", "two"]);
    let body = render(format, Delivery::Stream, &say);
    let place = after_event_with(&body, "one");
    Answer::say(say).fault(Fault::StallAfter(place))
}

#[tokio::test]
async fn a_cancelled_stream_leaves_the_server() {
    for format in Format::ALL {
        for before_the_head in [true, false] {
            let server = ModelServer::start().await;
            let house = House::plain(&server, format);
            server.push(match before_the_head {
                true => Answer::say(Say::text("never")).fault(Fault::Hang),
                false => stalls(format),
            });
            let cancel = CancellationToken::new();
            let model = house.models.get("tiny").unwrap();
            let mut stream = model.stream(hello(), cancel.clone());
            if !before_the_head {
                while !matches!(stream.next().await.unwrap().unwrap(), ModelEvent::Text(_)) {}
                cancel.cancel();
            }
            let cancels = async {
                server.next_request().await;
                cancel.cancel();
            };
            let (error, ()) = tokio::join!(stream.collect(), cancels);
            let error = error.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Cancelled);
            let arrived = error.arrived.map(|arrived| arrived.text());
            assert_eq!(arrived.as_deref(), (!before_the_head).then_some("one"));
            server.wait_for_disconnect().await;
            assert_eq!(server.connections_open(), 0);
            assert_eq!(house.reports.take().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_hundred_cancelled_streams_leave_no_connection() {
    let server = ModelServer::start().await;
    let house = House::plain(&server, Format::OpenAi);
    server.otherwise(|_| stalls(Format::OpenAi));
    let cancel = CancellationToken::new();
    let model = house.models.get("tiny").unwrap();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = model.stream(hello(), cancel.child_token());
        while !matches!(stream.next().await.unwrap().unwrap(), ModelEvent::Text(_)) {}
        streams.push(stream);
    }
    assert_eq!(server.connections_open(), STREAMS);
    // One half by the token, the other by not being wanted any more.
    let dropped = streams.split_off(STREAMS / 2);
    drop(dropped);
    cancel.cancel();
    for stream in streams {
        assert_eq!(
            stream.collect().await.unwrap_err().kind,
            ModelErrorKind::Cancelled
        );
    }
    for _ in 0..STREAMS {
        server.wait_for_disconnect().await;
    }
    assert_eq!(server.connections_open(), 0);
    assert_eq!(server.connections_opened(), STREAMS);
}
