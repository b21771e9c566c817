use std::sync::Arc;

use futures_util::stream;

use super::*;
use crate::limits::MAX_REPLY_BYTES;

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.into()))
}

fn broken() -> Result<ModelEvent, ModelError> {
    Err(ModelError::new(ModelErrorKind::BrokenStream, "gone"))
}

fn stream_of(events: Vec<Result<ModelEvent, ModelError>>) -> ModelStream {
    ModelStream::new("m", CancellationToken::new(), stream::iter(events))
}

#[tokio::test]
async fn what_was_read_before_belongs_to_the_whole() {
    let mut stream = stream_of(vec![text("a"), text("b")]);
    assert_eq!(stream.next().await, Some(text("a")));
    let reply = stream.collect().await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("ab", "m"));
}

#[tokio::test]
async fn an_error_is_the_end_and_holds_what_came() {
    let mut stream = stream_of(vec![text("a"), broken(), text("b")]);
    assert_eq!(stream.next().await, Some(text("a")));
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.arrived.as_ref().unwrap().text(), "a");
    assert!(!error.retryable(), "it would be seen twice");
    assert_eq!(stream.next().await, None);
    let after = stream.collect().await.unwrap_err();
    assert_eq!(after.kind, ModelErrorKind::BrokenStream);
}

#[tokio::test]
async fn before_the_first_piece_trying_again_is_fine() {
    let started = Ok(ModelEvent::Started {
        model: "x".into(),
        response_id: None,
    });
    let error = stream_of(vec![started, broken()])
        .collect()
        .await
        .unwrap_err();
    assert_eq!(error.arrived, None);
    assert!(error.retryable());
    let refused = ModelError::new(ModelErrorKind::Refused, "no");
    let error = ModelStream::failed("m", refused).collect().await;
    assert!(!error.unwrap_err().retryable());
}

#[tokio::test]
async fn cancelling_ends_a_stream_that_waits() {
    let cancel = CancellationToken::new();
    let held = Arc::new(());
    let source = {
        let held = held.clone();
        let first = stream::iter([text("a")]);
        let rest = stream::poll_fn(move |_| {
            let _ = &held;
            Poll::Pending
        });
        futures_util::StreamExt::chain(first, rest)
    };
    let mut stream = ModelStream::new("m", cancel.clone(), source);
    assert_eq!(stream.next().await, Some(text("a")));
    let waiting = tokio::spawn(async move {
        let event = stream.next().await;
        (event, stream)
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    cancel.cancel();
    let (event, mut stream) = waiting.await.unwrap();
    let error = event.unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    assert_eq!(error.code().as_str(), "agent.cancelled");
    assert_eq!(error.arrived.unwrap().text(), "a");
    assert_eq!(Arc::strong_count(&held), 1, "the source is gone");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn cancelling_wakes_whoever_waits_now() {
    let cancel = CancellationToken::new();
    let mut stream = ModelStream::new("m", cancel.clone(), stream::pending());
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut stream).poll_next(&mut nobody).is_pending());
    for _ in 0..2 {
        let mut waits = tokio::spawn(async move {
            tokio::select! {
                event = stream.next() => Err(event),
                () = tokio::task::yield_now() => Ok(stream),
            }
        });
        stream = (&mut waits).await.unwrap().unwrap();
    }
    let waiting = tokio::spawn(async move { stream.next().await });
    tokio::task::yield_now().await;
    cancel.cancel();
    let limit = std::time::Duration::from_secs(20);
    let event = tokio::time::timeout(limit, waiting).await.unwrap().unwrap();
    assert_eq!(event.unwrap().unwrap_err().kind, ModelErrorKind::Cancelled);
}

#[tokio::test]
async fn a_cancelled_request_says_nothing_more() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let stream = ModelStream::new("m", cancel, stream::iter([text("a")]));
    let error = stream.collect().await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    assert_eq!(error.arrived, None);
}

#[tokio::test]
async fn an_endless_reply_is_stopped() {
    let piece = "x".repeat(1024 * 1024);
    let endless = stream::repeat_with(move || Ok(ModelEvent::Text(piece.clone())));
    let stream = ModelStream::new("m", CancellationToken::new(), endless);
    let error = stream.collect().await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
    assert_eq!(error.arrived.unwrap().text().len(), MAX_REPLY_BYTES);
}

#[test]
fn a_stream_can_be_handed_to_another_task() {
    fn sendable<T: Send + Unpin + 'static>() {}
    sendable::<ModelStream>();
    sendable::<std::sync::Arc<dyn crate::Model>>();
}

#[test]
fn the_page_about_models_lists_every_kind_of_error() {
    let page = include_str!("../../../docs/models.md");
    for kind in ModelErrorKind::ALL {
        let may_pass = if kind.may_pass() { "yes" } else { "no" };
        let row = format!("| `{}` | `{}` | {may_pass} |", kind.reason(), kind.code());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn kinds_have_names_of_their_own() {
    let mut names: Vec<_> = ModelErrorKind::ALL
        .iter()
        .map(|kind| kind.reason())
        .collect();
    assert!(names.iter().all(|name| name.starts_with("model.")));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ModelErrorKind::ALL.len());
}
