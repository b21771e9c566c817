//! What gives way of a conversation, put into few words by a model.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{MODEL_ROLE, Messages, ModelCall, ModelPort};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use serde_json::{Map, Value as Json};

use super::binding;
use super::compact::part;
use super::drive::AgentInstance;
use super::tap::{self, Heard, Tap};
use crate::context;
use crate::limits::{MAX_TRANSCRIPT_TOKENS, SUMMARY_REPLY_TOKENS, WINDOW_PARTS};
use crate::run::{Created, Wanted};

/// What the model made of what gives way.
pub(super) struct Said {
    /// Or why there are none.
    pub(super) words: Result<String, String>,
    pub(super) model: Option<String>,
    pub(super) requests: u32,
    pub(super) usage: Map<String, Json>,
}

impl AgentInstance {
    /// Asks as often as for any reply. Nothing where the run is being stopped.
    pub(super) async fn summarise(
        &self,
        created: &Created,
        gone: &[Arc<Json>],
        (summary, budget, is_hard): (u64, u64, bool),
        heard: &Arc<Mutex<Heard>>,
    ) -> Option<Said> {
        let own = created.profile.agent.compaction.model.clone();
        let model = own.unwrap_or_else(|| binding::model_name(created));
        let room = self.window(&model).map(|window| part(window, WINDOW_PARTS));
        let most = match (room, is_hard) {
            (Some(room), false) => room,
            // No request has more than the profile says, and this is one.
            (Some(room), true) => room.min(budget),
            (None, _) => budget,
        };
        let most = most.min(MAX_TRANSCRIPT_TOKENS);
        // Words are longer than tokens.
        let words = summary * 2 / 3;
        let locale = self.shared.parts.locale;
        let messages = context::summary_request(gone, words, most, locale);
        let mut said = Said {
            words: Err("there is no model to ask".to_owned()),
            model: None,
            requests: 0,
            usage: Map::new(),
        };
        if let Some(models) = self.shared.parts.workflows.models() {
            let tap = Tap {
                models: models.clone(),
                live: None,
                heard: heard.clone(),
                meter: self.meter.run.clone(),
                asker: self.meter.own(Wanted::Summary),
            };
            let retry = &created.profile.run.model_retry;
            for attempt in 0..=retry.max_retries {
                let call = ModelCall {
                    model: model.clone(),
                    messages: Messages::from(messages.clone()),
                    parameters: Map::from_iter([(
                        "max_tokens".to_owned(),
                        SUMMARY_REPLY_TOKENS.min(most / 2).max(summary).into(),
                    )]),
                    ..ModelCall::default()
                };
                let asked = tokio::select! {
                    // Whoever is stopped in the middle has not failed.
                    biased;
                    () = self.cancel.cancelled() => return None,
                    asked = ask(&tap, call, self.cancel.child_token()) => asked,
                };
                match asked {
                    Ok((words, model)) => {
                        said.model = model;
                        said.words = match words.is_empty() {
                            true => Err("the model gave no summary".to_owned()),
                            false => Ok(words),
                        };
                        break;
                    }
                    Err(error) => {
                        let is_last = error.permanent || attempt == retry.max_retries;
                        said.words = Err(error.message);
                        if is_last {
                            break;
                        }
                    }
                }
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(retry.interval_ms)) => {}
                    () = self.cancel.cancelled() => return None,
                }
            }
        }
        let heard = tap::lock(heard);
        said.requests = heard.requests;
        said.usage = heard.usage();
        Some(said)
    }
}

/// One request to its end: what was said, and by whom.
async fn ask(
    models: &Tap,
    call: ModelCall,
    cancel: tokio_util::sync::CancellationToken,
) -> Result<(String, Option<String>), NodeError> {
    let mut chunks = models.stream(call, cancel).await?;
    let (mut text, mut model) = (String::new(), None);
    while let Some(chunk) = chunks.next().await {
        let chunk: Chunk = chunk?;
        let role = chunk.extra.as_ref().and_then(|extra| extra.get("role"));
        match chunk.kind {
            ChunkKind::Text => text.push_str(&chunk.content.to_text()),
            ChunkKind::Custom if role.and_then(Json::as_str) == Some(MODEL_ROLE) => {
                model = Some(chunk.content.to_text().to_string());
            }
            _ => {}
        }
    }
    Ok((without_thoughts(&text).trim().to_owned(), model))
}

/// Some servers give what a model thinks as a part of its words.
fn without_thoughts(text: &str) -> &str {
    const END: &str = "</think>";
    match text.trim_start().starts_with("<think>") {
        true => text.rsplit_once(END).map_or("", |(_, words)| words),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_no_summary() {
        for (text, words) in [
            ("She left.", "She left."),
            ("<think>hm\n</think>\n\nShe left.", "\n\nShe left."),
            ("\n<think>hm", ""),
            ("She said <think> aloud", "She said <think> aloud"),
        ] {
            assert_eq!(without_thoughts(text), words);
        }
    }
}
