use std::time::Duration;

use tokio::time::Instant;

use super::*;
use crate::{Message, ModelErrorKind, Rehearsal, Script};

const SCRIPT: &str = r"
scenes:
  - {when: {equals: twice}, reply: {text: better, fault: {kind: rate_limited, retry_after_ms: 700, attempts: 2}}}
  - {when: {equals: once}, reply: {text: better, fault: {kind: server_error, attempts: 1}}}
  - {when: {equals: always}, reply: {fault: timeout}}
  - {when: {equals: refused}, reply: {text: better, fault: {kind: refused, attempts: 1}}}
  - {when: {equals: late}, reply: {text: one and two, chunk: 4, fault: {kind: broken_stream, after_deltas: 1, attempts: 1}}}
  - {when: {equals: long}, reply: {text: better, fault: {kind: rate_limited, retry_after_ms: 3600000, attempts: 1}}}
";

/// What came of it, and after how long.
async fn ask(line: &str) -> (Result<String, ModelErrorKind>, Duration) {
    let model = Retrying::new(Rehearsal::new(Script::read(SCRIPT).unwrap()));
    let request = ModelRequest::new("", vec![Message::user(line)]);
    let start = Instant::now();
    let reply = model.stream(request, CancellationToken::new()).collect();
    let reply = reply.await.map(|reply| reply.text());
    (reply.map_err(|error| error.kind), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_asked_again_and_nothing_else() {
    let better = || Ok("better".to_owned());
    let table = [
        ("twice", better(), Duration::from_millis(1400)),
        ("once", better(), RETRYING_WAIT),
        (
            "always",
            Err(ModelErrorKind::Timeout),
            RETRYING_WAIT + RETRYING_WAIT * 2,
        ),
        ("refused", Err(ModelErrorKind::Refused), Duration::ZERO),
        // Somebody has seen its beginning.
        ("late", Err(ModelErrorKind::BrokenStream), Duration::ZERO),
        ("long", Err(ModelErrorKind::RateLimited), Duration::ZERO),
    ];
    for (line, wanted, waited) in table {
        let (reply, took) = ask(line).await;
        assert_eq!(reply, wanted, "{line}");
        // Timers count whole milliseconds.
        assert_eq!(took.as_millis() / 10, waited.as_millis() / 10, "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_when_the_request_is_cancelled() {
    let model = Retrying::new(Rehearsal::new(Script::read(SCRIPT).unwrap()));
    assert_eq!(
        (model.id(), format!("{model:?}").as_str()),
        ("rehearsal", "Retrying(\"rehearsal\")")
    );
    let cancel = CancellationToken::new();
    let request = ModelRequest::new("", vec![Message::user("always")]);
    let mut stream = model.stream(request, cancel.clone());
    let (event, ()) = tokio::join!(stream.next(), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    let error = event.unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
}
