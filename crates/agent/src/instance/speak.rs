//! What an agent says, for whoever shows it: on the bus as soon as it is on disk.

use std::sync::{Mutex, PoisonError};

use innkeeper_store::BusEvent;
use serde_json::json;
use tokio::task::JoinHandle;

use super::drive::AgentInstance;
use super::log::Receipt;
use crate::limits::MAX_SPOKEN_CHARS;
use crate::run::Created;
use crate::workspace::metrics;

/// Where answers are heard.
pub const RESPONSE_TOPIC: &str = "agent.response";

/// Who publishes what was said last.
#[derive(Default)]
pub(super) struct Spoken(Mutex<Option<JoinHandle<()>>>);

impl AgentInstance {
    /// After the words of the turn before: panels show them in the order in which they were said.
    pub(super) fn speak(&self, created: &Created, round: u32, words: &str, receipt: Receipt) {
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
        let bus = self.shared.parts.tools.bus().clone();
        let mut spoken = self.spoken.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = spoken.take();
        *spoken = Some(self.shared.follow_up(async move {
            if let Some(before) = before {
                // It has said what it had to, or cannot any more.
                let _ = before.await;
            }
            if receipt.written().await.is_ok() {
                // Nothing depends on who listens; the journal has it.
                let _ = bus.publish(event).await;
            }
        }));
    }
}
