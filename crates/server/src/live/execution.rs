//! One execution of a workflow that a connection follows.

use innkeeper_engine::ExecutionEvent;
use serde::Serialize;
use serde_json::json;

use super::mouth::Mouth;
use super::rpc::told;
use crate::executions::{Followed, Follower};

#[derive(Serialize)]
struct Told<'a> {
    subscription: u64,
    event: &'a ExecutionEvent,
}

/// Every event that is still kept, in order, none twice; until the execution is over or the connection is.
pub(super) async fn follow_execution(mut follower: Follower, number: u64, mouth: Mouth) {
    let mut last = follower.last();
    loop {
        match follower.next().await {
            Followed::Events(events) => {
                for event in events {
                    last = event.seq;
                    let event = Told {
                        subscription: number,
                        event: &event,
                    };
                    if mouth.tell(told("workflow.event", event)).await.is_err() {
                        return;
                    }
                }
            }
            Followed::Lagged { missed } => {
                let lag = json!({ "subscription": number, "afterSeq": last, "missed": missed });
                if mouth.tell_lag(told("workflow.lagged", lag)).await.is_err() {
                    return;
                }
            }
            Followed::End => {
                let end = json!({ "subscription": number, "lastSeq": last });
                let _ = mouth.say(told("workflow.end", end)).await;
                return;
            }
        }
    }
}
