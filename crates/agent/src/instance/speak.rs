//! What an agent says, for whoever shows it: on the bus as soon as it is on disk.

use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_store::journal::Written;
use innkeeper_store::{BusEvent, StoreError};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::drive::AgentInstance;
use super::log::Reader;
use crate::limits::MAX_SPOKEN_CHARS;
use crate::run::Created;
use crate::workspace::metrics;

/// Where answers are heard.
pub const RESPONSE_TOPIC: &str = "agent.response";

/// Who publishes what was said last.
#[derive(Clone, Default)]
pub(super) struct Spoken(Arc<Mutex<Option<JoinHandle<()>>>>);

impl AgentInstance {
    /// After the words of the turn before: panels show them in the order in which they were said.
    pub(super) fn speaks(&self, created: &Created, round: u32, words: &str) -> Reader {
        let payload = json!({
            "runId": created.run_id,
            "round": round,
            "profileId": created.profile_id,
            "stableChatId": created.stable_chat_id,
            "user": created.user,
            "project": created.project,
            "text": words.chars().take(MAX_SPOKEN_CHARS).collect::<String>(),
            "totalChars": metrics::chars(words),
            "truncated": words.chars().nth(MAX_SPOKEN_CHARS).is_some(),
        });
        let source = format!("agent:{}", created.profile_id);
        let event = BusEvent::new(RESPONSE_TOPIC, source, payload);
        let (shared, spoken) = (self.shared.clone(), self.spoken.clone());
        Box::new(move |written| {
            let (tell, told) = oneshot::channel();
            let bus = shared.parts.tools.bus().clone();
            let mut spoken = spoken.0.lock().unwrap_or_else(PoisonError::into_inner);
            let before = spoken.take();
            *spoken = Some(shared.follow_up(async move {
                let written = written.wait().await;
                let is_written = written.is_ok();
                // Whoever drives the run need not wait for it.
                drop(tell.send(written));
                if let Some(before) = before {
                    // It has said what it had to, or cannot any more.
                    let _ = before.await;
                }
                if is_written {
                    // Nothing depends on who listens; the journal has it.
                    let _ = bus.publish(event).await;
                }
            }));
            Written::new(async { told.await.unwrap_or(Err(StoreError::Closed)) })
        })
    }
}
