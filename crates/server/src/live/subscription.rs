//! One run that a connection follows.

use std::sync::Arc;

use innkeeper_protocol::event::{RunEvent, RunId};
use innkeeper_store::journal::Followed;
use serde::Serialize;
use serde_json::json;

use super::mouth::Mouth;
use super::rpc::told;
use crate::house::House;
use crate::problem::Problem;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    subscription: u64,
    event: &'a RunEvent,
}

/// Every event after `after`, in order, none twice; until the run is over or the connection is.
pub(super) async fn follow(house: Arc<House>, run: RunId, after: u64, number: u64, mouth: Mouth) {
    let mut follower = house.agents.follow(&run, after);
    let mut last = after;
    loop {
        match follower.next().await {
            Followed::Events(events) => {
                for event in events {
                    last = event.seq;
                    let told = told(
                        "run.event",
                        Told {
                            subscription: number,
                            event: &event,
                        },
                    );
                    if mouth.tell(told).await.is_err() {
                        return;
                    }
                }
            }
            Followed::Lagged { missed } => {
                let lag = json!({ "subscription": number, "afterSeq": last, "missed": missed });
                if mouth.tell_lag(told("run.lagged", lag)).await.is_err() {
                    return;
                }
            }
            Followed::End => {
                let end = json!({ "subscription": number, "lastSeq": last });
                let _ = mouth.say(told("run.end", end)).await;
                return;
            }
            Followed::Failed(error) => {
                let problem = Problem::from(error);
                let end = json!({ "subscription": number, "lastSeq": last, "problem": problem });
                let _ = mouth.say(told("run.end", end)).await;
                return;
            }
        }
    }
}

/// The turn that is being written, piece by piece. Pieces are not numbered: whoever misses one gets the whole again.
pub(super) async fn follow_live(house: Arc<House>, run: RunId, number: u64, mouth: Mouth) {
    let Some(mut follower) = house.agents.follow_live(&run) else {
        return;
    };
    while let Some(update) = follower.next().await {
        let live = json!({ "subscription": number, "update": update });
        if mouth.say(told("run.live", live)).await.is_err() {
            return;
        }
    }
}
