use super::*;
use crate::node::NodeInfo;

fn node() -> NodeRef {
    NodeRef {
        info: Arc::new(NodeInfo {
            id: "a".into(),
            full_type: "test:A".into(),
            display_name: None,
            mode: None,
            config: serde_json::Map::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }),
        iteration: None,
    }
}

/// What a subscriber hears that comes only after everything: how many were lost, and the numbers of the rest.
fn late(subscription: &mut Subscription) -> (u64, Vec<u64>) {
    let (mut lost, mut numbers) = (0, Vec::new());
    while let Some(heard) = subscription.try_next() {
        match heard {
            Heard::Lost(count) => {
                assert!(numbers.is_empty(), "it is told before what comes after");
                lost += count;
            }
            Heard::Event(event) => numbers.push(event.seq),
        }
    }
    (lost, numbers)
}

#[test]
fn whoever_is_slow_holds_so_much_and_is_told_what_it_lost() {
    let long = "é".repeat(1 << 20);
    // What is told how often, and which bound it comes to.
    let cases = [
        (String::new(), EVENT_CAPACITY + 10),
        (
            long,
            3 * MAX_EVENT_BYTES / crate::limits::MAX_EVENT_VALUE_BYTES,
        ),
    ];
    for (text, times) in cases {
        let hub = Arc::new(Hub::default());
        let feed = Feed::new(hub.clone(), "run".into());
        let mut slow = hub.subscribe(None);
        let mut quick = hub.subscribe(Some("run".into()));
        let events = NodeEvents {
            feed: feed.clone(),
            node: node(),
        };
        for told in 1..=times {
            let tool = "t".to_owned();
            events.trace(Trace::ToolRunning {
                call_id: text.clone(),
                tool,
            });
            let state = slow.queue.lock();
            assert!(state.events.len() <= EVENT_CAPACITY);
            assert!(state.bytes <= MAX_EVENT_BYTES);
            assert_eq!(state.lost + state.events.len() as u64, told as u64);
            drop(state);
            // Who keeps up loses nothing, however slow others are.
            assert_eq!(late(&mut quick), (0, vec![told as u64]));
        }
        let weights = |state: &QueueState| state.events.iter().map(|event| event.weight).sum();
        let weighed: usize = weights(&slow.queue.lock());
        assert_eq!(slow.queue.lock().bytes, weighed);
        let (lost, numbers) = late(&mut slow);
        assert!(lost > 0 && !numbers.is_empty());
        let expected: Vec<u64> = (lost + 1..=times as u64).collect();
        assert_eq!(numbers, expected, "the oldest are lost, and no others");
        assert_eq!(slow.queue.lock().bytes, 0);
    }
}
