//! Which events pass, and what the publisher gets.

use std::sync::Mutex;

use super::*;
use crate::builtin::testing::{call, check_definitions};

#[derive(Default)]
struct Board(Mutex<Vec<NewEvent>>);

#[async_trait]
impl EventPublisher for Board {
    async fn publish(&self, _: &Caller, event: NewEvent) -> Result<String, ToolError> {
        let mut board = self.0.lock().unwrap();
        board.push(event);
        Ok(format!("evt_{}", board.len()))
    }
}

#[test]
fn the_declaration_is_sound() {
    check_definitions(&tools(Arc::new(Board::default())));
}

#[tokio::test]
async fn events_reach_the_publisher_whole() {
    let board = Arc::new(Board::default());
    let tool = tools(Arc::clone(&board) as Arc<dyn EventPublisher>).remove(0);
    let told = json!({"type": "npc.anna.greets", "payload": {"to": "Bo"}, "target": "bo_1", "priority": "high"});
    assert_eq!(
        call(&tool, told).await,
        Ok(json!({"id": "evt_1", "type": "npc.anna.greets"}))
    );
    call(&tool, json!({"type": "tick"})).await.unwrap();
    let seen = board.0.lock().unwrap();
    let expected = NewEvent {
        kind: "npc.anna.greets".to_owned(),
        payload: json!({"to": "Bo"}),
        target: Some("bo_1".to_owned()),
        priority: Priority::High,
    };
    assert_eq!(seen[0], expected);
    assert_eq!(
        (&seen[1].payload, seen[1].priority),
        (&Json::Null, Priority::Normal)
    );
}

#[tokio::test]
async fn types_are_dotted_names() {
    let long = "x".repeat(MAX_EVENT_TYPE_CHARS);
    let deep = ["x"; MAX_EVENT_TYPE_PARTS + 1].join(".");
    for (kind, reason) in [
        ("world.time.hour_changed", None),
        ("npc.小红.说话", None),
        ("a-b.c_d.1", None),
        ("systematic.x", None),
        (long.as_str(), None),
        ("a..b", Some("event.invalid_type")),
        (".a", Some("event.invalid_type")),
        ("a.", Some("event.invalid_type")),
        ("a b", Some("event.invalid_type")),
        ("a.*", Some("event.invalid_type")),
        ("a/b", Some("event.invalid_type")),
        ("_a", Some("event.invalid_type")),
        ("a\nb", Some("event.invalid_type")),
        (deep.as_str(), Some("event.invalid_type")),
        ("system.time.tick", Some("event.reserved_type")),
        ("System.x", Some("event.reserved_type")),
        ("system", Some("event.reserved_type")),
    ] {
        let tool = tools(Arc::new(Board::default())).remove(0);
        let got = call(&tool, json!({"type": kind})).await;
        assert_eq!(
            got.err().and_then(|error| error.reason).as_deref(),
            reason,
            "{kind}"
        );
    }
    assert!(check_type("system.tick".to_owned(), false).is_ok());
    assert!(check_type("x".repeat(MAX_EVENT_TYPE_CHARS + 1), false).is_err());
}

#[tokio::test]
async fn payloads_are_bounded() {
    let tool = tools(Arc::new(Board::default())).remove(0);
    for (size, passes) in [
        (MAX_EVENT_PAYLOAD_BYTES - 2, true),
        (MAX_EVENT_PAYLOAD_BYTES - 1, false),
    ] {
        let got = call(&tool, json!({"type": "a", "payload": "x".repeat(size)})).await;
        assert_eq!(got.is_ok(), passes, "{size}");
    }
}
