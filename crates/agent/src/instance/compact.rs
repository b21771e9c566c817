//! A request that is too long: which part of it gives way, and who puts that into few words.
//!
//! Nothing is lost: what gives way is kept as a content of the run, and tools read it there (`recall/`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{MODEL_ROLE, Messages, ModelCall, ModelPort};
use innkeeper_engine::stream::{Chunk, ChunkKind};
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_store::{Blob, Contents};
use innkeeper_tools::ToolError;
use serde_json::{Map, Value as Json};

use super::binding;
use super::drive::{AgentInstance, Gone};
use super::log::Brought;
use super::tap::{self, Heard, Tap};
use crate::context::{self, Cut, Dropping, Room, Talk};
use crate::limits::{
    LEAST_GAIN_PART, MAX_SUMMARY_TOKENS, MAX_TRANSCRIPT_TOKENS, REFUSED_PARTS, SUMMARY_PART,
    SUMMARY_REPLY_TOKENS, WINDOW_PARTS,
};
use crate::profile::Dialect;
use crate::run::{Compacting, Compaction, Created, Dropped, Input, Oversize, SummaryBy, Wanted};
use crate::workspace::fault;

/// What the model made of what gives way.
struct Said {
    /// Or why there are none.
    words: Result<String, String>,
    model: Option<String>,
    requests: u32,
    usage: Map<String, Json>,
}

impl AgentInstance {
    /// Tokens that a request should have at most, and whether it must not have more; nothing where nobody knows.
    pub(super) fn request_budget(&self, created: &Created) -> Option<(u64, bool)> {
        let rules = &created.profile.agent.compaction;
        let share = match rules.enabled {
            true => self.window(&binding::model_name(created)),
            false => None,
        };
        let share = share.map(|window| part(window, WINDOW_PARTS));
        match (rules.max_request_tokens, share) {
            (Some(most), Some(share)) if share < most => Some((share, false)),
            (Some(most), _) => Some((most, true)),
            (None, share) => Some((share?, false)),
        }
    }

    fn window(&self, model: &str) -> Option<u64> {
        let models = self.shared.parts.workflows.models()?;
        models.find(model).ok()??.context
    }

    /// Tools that are declared beside the messages; in the dialects that are text they are among them.
    pub(super) fn beside(&self, tools: &[Arc<ToolDefinition>], dialect: Dialect) -> u64 {
        match dialect {
            Dialect::Native => context::tokens_of_tools(tools),
            Dialect::Tam | Dialect::Action => 0,
        }
    }

    pub(super) async fn compact(&self) -> Result<(), Gone> {
        let read = self.log.read(|run| {
            let files: Vec<String> = run.workspace().files.keys().cloned().collect();
            let before: u64 = run.dropped().iter().map(|dropped| dropped.count).sum();
            (
                run.created().clone(),
                run.sent().to_vec(),
                run.compacting().cloned(),
                (files, before),
            )
        });
        let (created, sent, compacting, (files, before)) = read.await?;
        let Some(compacting) = compacting else {
            return Ok(());
        };
        let rules = &created.profile.agent.compaction;
        let (offer, dialect) = (self.offer(), created.profile.agent.protocol);
        let mut tools = self.told().await?.to_vec();
        // From here on these are told too.
        let new = offer.recall().iter();
        let new = new.filter(|tool| !tools.iter().any(|told| told.id == tool.id));
        let new: Vec<_> = new.cloned().collect();
        tools.extend(new);
        let talk = Talk::of(&created, &sent);
        let beside = self.beside(&tools, dialect);
        let estimate = talk.tokens().saturating_add(beside);
        let Some((budget, is_hard)) = self.goal(&created, &compacting, estimate) else {
            return self.go_out_as_it_is().await;
        };
        let further = self.further(offer.recall(), dialect);
        let text = |text: &str| innkeeper_models::Estimate::of_text(text).likely;
        let summary = (budget / SUMMARY_PART).min(MAX_SUMMARY_TOKENS);
        let room = Room {
            budget,
            beside,
            // With what is said around it.
            summary: summary.saturating_add(100).saturating_add(text(&further)),
            rounds: usize::try_from(rules.keep_rounds).unwrap_or(usize::MAX),
        };
        let is_worth = |cut: &Cut| {
            let gain = estimate.saturating_sub(cut.tokens_after);
            cut.tokens_after <= budget || (!is_hard && gain >= budget / LEAST_GAIN_PART)
        };
        let cut = talk.cut(&room).filter(|_| rules.enabled);
        let Some(cut) = cut.filter(is_worth) else {
            return self.too_long(&compacting, estimate, budget, is_hard).await;
        };
        let gone: Vec<Arc<Json>> = dropped(&sent, &cut);
        self.refresh_meter().await?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let said = self.summarise(&created, &gone, (summary, budget), &heard);
        let Some(said) = said.await else {
            let used = tap::lock(&heard).in_vain(None);
            return self.stopped_asking(used, Wanted::Summary).await;
        };
        self.meter.run.tell(&self.meter.own(Wanted::Summary));
        let kept: Vec<&Arc<Json>> = gone
            .iter()
            .filter(|message| !context::is_summary(message))
            .collect();
        let locale = self.shared.parts.locale;
        let what = Dropping {
            first: before,
            count: kept.len() as u64,
            tools: &further,
            can_read: !offer.recall().is_empty(),
            locale,
        };
        let made = said.words.and_then(|words| {
            let message = context::summary(&words, &what);
            let long = context::tokens(&message);
            let after = cut.tokens_after - room.summary + long;
            match long < cut.dropped_tokens && (after <= budget || long <= room.summary) {
                true => Ok((message, words.chars().count())),
                false => Err("the summary was too long to be of use".to_owned()),
            }
        });
        let (message, chars, by) = match made {
            Ok((message, chars)) => (message, chars, SummaryBy::Model),
            Err(why) => {
                let most = usize::try_from(summary).unwrap_or(usize::MAX);
                let files = files.iter().map(String::as_str);
                let words = context::note(&gone, files, most, locale);
                let chars = words.chars().count();
                (context::summary(&words, &what), chars, SummaryBy::Note(why))
            }
        };
        let content = Json::Array(kept.iter().map(|message| Json::clone(message)).collect());
        let blob = Blob::new(content.to_string().as_bytes());
        let after = cut.tokens_after - room.summary + context::tokens(&message);
        let cost = said.usage.get("cost").and_then(Json::as_f64);
        let compaction = Compaction {
            up_to: cut.up_to,
            kept: cut.kept,
            summary: Arc::new(message),
            summary_chars: chars as u64,
            by,
            dropped: blob.id.clone(),
            dropped_count: kept.len() as u64,
            tokens_before: estimate,
            tokens_after: after,
            model: said.model,
            requests: said.requests,
            cost,
            usage: match said.usage.is_empty() {
                true => Json::Null,
                false => Json::Object(said.usage),
            },
        };
        let brought = Brought { blobs: vec![blob] };
        let input = Input::Compacted(Arc::new(compaction));
        self.fed(self.log.record_with(input, brought).await).await?;
        self.refresh_meter().await
    }

    /// What the request is to come down to, and whether it must.
    fn goal(
        &self,
        created: &Created,
        compacting: &Compacting,
        estimate: u64,
    ) -> Option<(u64, bool)> {
        let own = self.request_budget(created);
        match (compacting.oversize, &compacting.refusal) {
            (
                Some(Oversize {
                    budget, is_hard, ..
                }),
                _,
            ) => Some((budget, is_hard)),
            // Whatever was thought of what it holds, this was too much.
            (None, Some(_)) => {
                let less = part(estimate, REFUSED_PARTS);
                Some((own.map_or(less, |(own, _)| own.min(less)), false))
            }
            (None, None) => own.filter(|(budget, _)| estimate > *budget),
        }
    }

    async fn go_out_as_it_is(&self) -> Result<(), Gone> {
        let skipped = self.log.record(Input::CompactionSkipped).await;
        self.fed(skipped).await
    }

    /// Nothing can give way, or not enough.
    async fn too_long(
        &self,
        compacting: &Compacting,
        estimate: u64,
        budget: u64,
        is_hard: bool,
    ) -> Result<(), Gone> {
        let failed = match &compacting.refusal {
            Some(refusal) => Input::Failed {
                code: refusal.code,
                message: refusal.message.clone(),
                reason: refusal.reason.clone(),
            },
            None if is_hard => Input::Failed {
                code: ErrorCode::ModelContextTooLong,
                message: format!(
                    "The next request has about {estimate} tokens, its profile gives it {budget}, and what must stay (instructions, \
                     tools, what was asked, the last round) is more than that; raise agent.compaction.maxRequestTokens, offer fewer \
                     tools, or let tools give less at once"
                ),
                reason: Some("agent.request_too_long".to_owned()),
            },
            None => return self.go_out_as_it_is().await,
        };
        self.fed(self.log.record(failed).await).await
    }

    /// Asks as often as for any reply. Nothing where the run is being stopped.
    async fn summarise(
        &self,
        created: &Created,
        gone: &[Arc<Json>],
        (summary, budget): (u64, u64),
        heard: &Arc<Mutex<Heard>>,
    ) -> Option<Said> {
        let own = created.profile.agent.compaction.model.clone();
        let model = own.unwrap_or_else(|| binding::model_name(created));
        let room = self.window(&model).map(|window| part(window, WINDOW_PARTS));
        let most = room.unwrap_or(budget).min(MAX_TRANSCRIPT_TOKENS);
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

fn part(whole: u64, (of, parts): (u64, u64)) -> u64 {
    whole / parts * of + whole % parts * of / parts
}

fn dropped(sent: &[Arc<Json>], cut: &Cut) -> Vec<Arc<Json>> {
    let mut kept = cut.kept.iter().peekable();
    let first = sent.iter().take(cut.up_to).enumerate();
    first
        .filter(|(at, _)| kept.next_if_eq(&at).is_none())
        .map(|(_, message)| message.clone())
        .collect()
}

/// What has given way, read once for all tools that look at it.
#[derive(Default)]
pub(crate) struct KeptDropped(Mutex<Option<Read>>);

/// Which parts, and all their messages.
type Read = (Vec<Dropped>, Arc<Vec<Json>>);

impl KeptDropped {
    pub(crate) async fn read(
        &self,
        contents: &dyn Contents,
        dropped: &[Dropped],
    ) -> Result<Arc<Vec<Json>>, ToolError> {
        let known = self.lock().clone();
        if let Some((parts, messages)) = known
            && parts == dropped
        {
            return Ok(messages);
        }
        let gone = |why: &str| {
            fault(
                ErrorCode::WorkspaceStorageFailed,
                "context.unreadable",
                format!("What was left out of the conversation cannot be read: {why}"),
            )
        };
        let mut messages = Vec::new();
        for part in dropped {
            let content = contents.blob(&part.content).await;
            let content = content.map_err(|error| gone(&error.to_string()))?;
            let content = content.ok_or_else(|| gone("it is not kept any more"))?;
            let list: Vec<Json> =
                serde_json::from_slice(&content).map_err(|error| gone(&error.to_string()))?;
            messages.extend(list);
        }
        let messages = Arc::new(messages);
        *self.lock() = Some((dropped.to_vec(), messages.clone()));
        Ok(messages)
    }

    /// A run that waits has no need of it.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Read>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn parts_are_whole_numbers() {
        assert_eq!(part(100, (3, 4)), 75);
        assert_eq!(part(7, (2, 3)), 4);
        assert_eq!(part(u64::MAX, (1, 1)), u64::MAX);
    }
}
