use serde_json::json;

use super::*;
use crate::limits::{MAX_PAYLOAD_BYTES, MAX_TOPIC_CHARS};

fn event(topic: &str) -> BusEvent {
    BusEvent::new(topic, "test", json!({"n": 1}))
}

async fn publish(bus: &LocalBus, topics: &[&str]) {
    for topic in topics {
        bus.publish(event(topic)).await.unwrap();
    }
}

/// What there is, without waiting for more.
fn waiting(subscription: &mut Subscription) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let mut next = std::pin::pin!(subscription.next());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match next.as_mut().poll(&mut context) {
            std::task::Poll::Pending => return seen,
            std::task::Poll::Ready(Received::Event(delivery)) => {
                seen.push(format!("{} {}", delivery.seq, delivery.event.topic));
            }
            std::task::Poll::Ready(Received::Lagged { missed }) => {
                seen.push(format!("missed {missed}"));
            }
            std::task::Poll::Ready(Received::Closed) => {
                seen.push("closed".into());
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn each_hears_its_topics_in_order() {
    let bus = LocalBus::new();
    publish(&bus, &["before"]).await;
    let mut all = bus.subscribe("*".into());
    let mut tasks = bus.subscribe("task.*".into());
    let mut one = bus.subscribe("world.rain".into());
    publish(&bus, &["task.started", "world.rain", "task.completed"]).await;
    assert_eq!(
        waiting(&mut all),
        ["2 task.started", "3 world.rain", "4 task.completed"]
    );
    assert_eq!(waiting(&mut tasks), ["2 task.started", "4 task.completed"]);
    assert_eq!(waiting(&mut one), ["3 world.rain"]);
    assert_eq!(waiting(&mut one), [""; 0]);
    drop(bus);
    assert_eq!(waiting(&mut all), ["closed"]);
}

#[tokio::test]
async fn what_was_said_can_be_heard_again() {
    let bus = LocalBus::new();
    publish(&bus, &["a", "b", "c"]).await;
    for (after, expected) in [
        (0, &["1 a", "2 b", "3 c"][..]),
        (2, &["3 c"]),
        (3, &[]),
        // From before a restart.
        (u64::MAX, &[]),
    ] {
        let mut again = bus.subscribe_after("*".into(), after);
        assert_eq!(waiting(&mut again), expected, "{after}");
    }
    let mut ahead = bus.subscribe_after("*".into(), 99);
    publish(&bus, &["d"]).await;
    assert_eq!(waiting(&mut ahead), ["4 d"]);
    let mut last = bus.subscribe_after("*".into(), 3);
    drop(bus);
    assert_eq!(waiting(&mut last), ["4 d", "closed"]);
}

#[tokio::test]
async fn the_slow_are_told_what_they_missed() {
    let bus = LocalBus::new();
    let mut slow = bus.subscribe("task.*".into());
    let mut quick = bus.subscribe("task.*".into());
    for number in 0..MAX_KEPT_EVENTS + 10 {
        let topic = if number == MAX_KEPT_EVENTS {
            "task.x"
        } else {
            "noise"
        };
        bus.publish(event(topic)).await.unwrap();
        waiting(&mut quick);
    }
    assert_eq!(
        waiting(&mut slow),
        [
            "missed 10".to_owned(),
            format!("{} task.x", MAX_KEPT_EVENTS + 1)
        ]
    );
    assert_eq!(waiting(&mut quick), [""; 0]);
    let mut beginning = bus.subscribe_after("task.*".into(), 0);
    assert_eq!(waiting(&mut beginning)[0], "missed 10");
}

#[tokio::test]
async fn few_large_events_push_out_old_ones_too() {
    let bus = LocalBus::new();
    let payload = json!("x".repeat(MAX_PAYLOAD_BYTES - 2));
    let fit = MAX_KEPT_BYTES / MAX_PAYLOAD_BYTES;
    for _ in 0..fit + 3 {
        let event = BusEvent::new("large", "test", payload.clone());
        bus.publish(event).await.unwrap();
    }
    let mut beginning = bus.subscribe_after("*".into(), 0);
    assert_eq!(waiting(&mut beginning).first().unwrap(), "missed 3");
    assert!(lock(&bus.ring).bytes <= MAX_KEPT_BYTES);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let bus = LocalBus::new();
    let long = "x".repeat(MAX_TOPIC_CHARS + 1);
    for topic in ["", "a b", "task.*", "a\n", long.as_str()] {
        let refused = bus.publish(event(topic)).await;
        assert!(matches!(refused, Err(BusError::Topic(_))), "{topic}");
    }
    let nobody = BusEvent::new("t", "", json!(null));
    assert!(matches!(
        bus.publish(nobody).await,
        Err(BusError::Source(_))
    ));
    let large = BusEvent::new("t", "test", json!("x".repeat(MAX_PAYLOAD_BYTES)));
    assert!(matches!(
        bus.publish(large).await,
        Err(BusError::TooLarge { .. })
    ));
    assert_eq!(bus.last_seq(), 0);
}

#[test]
fn topics_are_matched_by_stars() {
    for (pattern, topic, expected) in [
        ("*", "a", true),
        ("task.*", "task.completed", true),
        ("task.*", "tasks", false),
        ("*.completed", "task.completed", true),
        ("*.completed", "task.completed.x", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*a", "a", false),
        ("a**c", "ac", true),
        ("task", "task", true),
        ("task", "task.x", false),
    ] {
        assert_eq!(
            Pattern::new(pattern).matches(topic),
            expected,
            "{pattern} {topic}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_listen_come_and_go() {
    let bus = Arc::new(LocalBus::new());
    let events = 1_000_u64;
    let mut listeners = tokio::task::JoinSet::new();
    for number in 0..50 {
        let mut subscription = bus.subscribe_after("*".into(), 0);
        listeners.spawn(async move {
            let mut expected = 1;
            while expected <= events {
                // Every other one goes away in the middle.
                if number % 2 == 1 && expected == 100 {
                    return;
                }
                match subscription.next().await {
                    Received::Event(delivery) => assert_eq!(delivery.seq, expected),
                    other => panic!("{other:?}"),
                }
                expected += 1;
            }
        });
    }
    let mut publishers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let bus = bus.clone();
        publishers.spawn(async move {
            for _ in 0..events / 4 {
                bus.publish(event("t")).await.unwrap();
            }
        });
    }
    publishers.join_all().await;
    listeners.join_all().await;
}
