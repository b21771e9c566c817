//! What people say to a run that is at work.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{GuidanceDiscarded, GuidanceSubmitted, RunEventKind};
use innkeeper_tools::builtin::text::count;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::apply::Out;
use super::guard::digest;
use super::model::fields;
use super::state::Phase;
use super::{AgentRun, Misfit};
use crate::limits::{
    MAX_GUIDANCE_CHARS, MAX_GUIDANCE_PREVIEW_CHARS, MAX_KNOWN_GUIDANCE, MAX_PENDING_GUIDANCE,
    MAX_PENDING_GUIDANCE_CHARS,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guidance {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub text: String,
}

/// A piece that was taken, for whoever hands it in once more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Guided {
    id: String,
    client_id: String,
    text: u64,
}

impl AgentRun {
    /// Under which id this piece was taken before.
    pub fn guided(&self, client_id: &str, text: &str) -> Option<&str> {
        let text = digest(&text);
        let known = self.guided.iter().rev();
        let mut known = known.filter(|known| known.client_id == client_id && known.text == text);
        known.next().map(|known| known.id.as_str())
    }

    pub(super) fn check_guidance(&self, client_id: Option<&str>, text: &str) -> Result<(), Misfit> {
        if client_id.is_some_and(|client_id| self.guided(client_id, text).is_some()) {
            return Err(Misfit::already("This guidance has been taken"));
        }
        if matches!(self.phase, Phase::Persisting | Phase::Updating { .. }) {
            return Err(Misfit::refused(
                ErrorCode::AgentGuidanceInvalid,
                "agent.guidance_mailbox_closed",
                "The run is finishing and asks its model nothing more; start another",
            ));
        }
        if text.trim().is_empty() {
            return Err(Misfit::refused(
                ErrorCode::AgentGuidanceInvalid,
                "agent.guidance_empty",
                "Guidance needs some text",
            ));
        }
        let chars = text.chars().count();
        if chars > MAX_GUIDANCE_CHARS {
            return Err(Misfit::refused(
                ErrorCode::AgentGuidanceInvalid,
                "agent.guidance_too_large",
                format!(
                    "Guidance has {chars} characters, and at most {MAX_GUIDANCE_CHARS} are taken"
                ),
            ));
        }
        let lengths = self.guidance.iter().map(|piece| piece.text.chars().count());
        if self.guidance.len() >= MAX_PENDING_GUIDANCE
            || lengths.sum::<usize>() + chars > MAX_PENDING_GUIDANCE_CHARS
        {
            return Err(Misfit::refused(
                ErrorCode::AgentGuidanceMailboxFull,
                "agent.guidance_mailbox_full",
                format!(
                    "{} pieces of guidance wait for the next request; wait until they are told",
                    self.guidance.len()
                ),
            ));
        }
        Ok(())
    }

    pub(super) fn guidance_submitted(
        &mut self,
        id: &str,
        client_id: Option<&str>,
        text: &str,
        out: &mut Out,
    ) {
        self.guidance.push(Guidance {
            id: id.to_owned(),
            client_id: client_id.map(str::to_owned),
            text: text.to_owned(),
        });
        if let Some(client_id) = client_id {
            if self.guided.len() >= MAX_KNOWN_GUIDANCE {
                self.guided.remove(0);
            }
            self.guided.push(Guided {
                id: id.to_owned(),
                client_id: client_id.to_owned(),
                text: digest(&text),
            });
        }
        // A person has changed what the model knows.
        self.repeated = None;
        self.barren = 0;
        let counted = count(text);
        let submitted = GuidanceSubmitted {
            guidance_id: id.to_owned(),
            client_guidance_id: client_id.map(str::to_owned),
            text: text.to_owned(),
            extra: fields(json!({
                "preview": preview(text),
                "chars": counted.chars,
                "words": counted.words,
                "pendingCount": self.guidance.len(),
            })),
        };
        out.push(RunEventKind::UserGuidanceSubmitted(submitted).into());
        // Somebody who waits for a task can hear it at once.
        if self.phase == Phase::Waiting {
            self.go_on(out);
        }
    }

    pub(super) fn discard_guidance(&mut self, reason: &str, out: &mut Out) {
        if self.guidance.is_empty() {
            return;
        }
        let ids: Vec<_> = self.guidance.drain(..).map(|piece| piece.id).collect();
        let discarded = GuidanceDiscarded {
            reason: reason.to_owned(),
            extra: Map::from_iter([("guidanceIds".to_owned(), json!(ids))]),
        };
        out.push(RunEventKind::UserGuidanceDiscarded(discarded).into());
    }
}

/// One line of it.
pub(super) fn preview(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_GUIDANCE_PREVIEW_CHARS).collect()
}
