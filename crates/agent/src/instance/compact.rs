//! A request that is too long: which part of it gives way, and who puts that into few words.
//!
//! Nothing is lost: what gives way is kept as a content of the run, and tools read it there (`recall/`).

use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_store::{Blob, Contents};
use innkeeper_tools::ToolError;
use serde_json::Value as Json;

use super::binding;
use super::drive::{AgentInstance, Gone};
use super::log::Brought;
use super::tap::{self, Heard};
use crate::context::{self, Cut, Dropping, Room, Talk};
use crate::limits::{
    LEAST_GAIN_PART, MAX_SUMMARY_TOKENS, MIN_SUMMARY_TOKENS, REFUSED_PARTS, SUMMARY_PART,
    WINDOW_PARTS,
};
use crate::profile::Dialect;
use crate::run::{Compacting, Compaction, Created, Dropped, Input, Oversize, SummaryBy, Wanted};
use crate::workspace::fault;

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

    pub(super) fn window(&self, model: &str) -> Option<u64> {
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
        let locale = self.shared.parts.locale;
        let dropping = |count: usize| Dropping {
            first: before,
            count: count as u64,
            tools: &further,
            can_read: !offer.recall().is_empty(),
            locale,
        };
        let around = context::tokens(&context::summary("", &dropping(sent.len())));
        let words = (budget / SUMMARY_PART).clamp(MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS);
        let room = Room {
            budget,
            beside,
            summary: around.saturating_add(words),
            least: around.saturating_add(MIN_SUMMARY_TOKENS),
            rounds: usize::try_from(rules.keep_rounds).unwrap_or(usize::MAX),
        };
        let is_worth = |cut: &Cut| {
            let fits = cut.tokens_after <= budget;
            let gain = estimate.saturating_sub(cut.tokens_after);
            match is_hard {
                true => fits,
                // A model that is asked for a few words in each round is no gain either.
                false => (fits && cut.summary == room.summary) || gain >= budget / LEAST_GAIN_PART,
            }
        };
        let cut = talk.cut(&room).filter(|_| rules.enabled);
        let Some(cut) = cut.filter(is_worth) else {
            let must = rules.enabled.then(|| talk.must_stay(&room));
            return self.too_long(&compacting, must, budget, is_hard).await;
        };
        let gone: Vec<Arc<Json>> = dropped(&sent, &cut);
        self.refresh_meter().await?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let words = cut.summary.saturating_sub(around);
        let said = self.summarise(&created, &gone, (words, budget, is_hard), &heard);
        let Some(said) = said.await else {
            let used = tap::lock(&heard).in_vain(None);
            return self.stopped_asking(used, Wanted::Summary).await;
        };
        self.meter.run.tell(&self.meter.own(Wanted::Summary));
        let kept: Vec<&Arc<Json>> = gone
            .iter()
            .filter(|message| !context::is_summary(message))
            .collect();
        let (words, by) = match said.words {
            Ok(words) => (words, SummaryBy::Model),
            Err(why) => {
                let most = usize::try_from(words).unwrap_or(usize::MAX);
                let files = files.iter().map(String::as_str);
                let words = context::note(&gone, files, most, locale);
                (words, SummaryBy::Note(why))
            }
        };
        let what = dropping(kept.len());
        let cut_words = context::cut_words(&words, &what, cut.at_most(budget));
        let is_cut = cut_words.is_some();
        let words = cut_words.unwrap_or(words);
        let message = context::summary(&words, &what);
        let content = Json::Array(kept.iter().map(|message| Json::clone(message)).collect());
        let blob = Blob::new(content.to_string().as_bytes());
        let after = cut.tokens_after - cut.summary + context::tokens(&message);
        let cost = said.usage.get("cost").and_then(Json::as_f64);
        let compaction = Compaction {
            up_to: cut.up_to,
            kept: cut.kept,
            summary: Arc::new(message),
            summary_chars: words.chars().count() as u64,
            is_cut,
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
            ) => (estimate > budget).then_some((budget, is_hard)),
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

    /// Nothing can give way, or not enough: so much must stay, or all of it.
    async fn too_long(
        &self,
        compacting: &Compacting,
        must: Option<u64>,
        budget: u64,
        is_hard: bool,
    ) -> Result<(), Gone> {
        let oversize = compacting.oversize.filter(|_| is_hard);
        let failed = match (&compacting.refusal, oversize) {
            (Some(refusal), _) => Input::Failed {
                code: refusal.code,
                message: refusal.message.clone(),
                reason: refusal.reason.clone(),
            },
            (None, Some(Oversize { estimate, .. })) => Input::Failed {
                code: ErrorCode::ModelContextTooLong,
                message: request_too_long(estimate, must, budget),
                reason: Some("agent.request_too_long".to_owned()),
            },
            (None, None) => return self.go_out_as_it_is().await,
        };
        self.fed(self.log.record(failed).await).await
    }
}

pub(super) fn part(whole: u64, (of, parts): (u64, u64)) -> u64 {
    whole / parts * of + whole % parts * of / parts
}

fn request_too_long(estimate: u64, must: Option<u64>, budget: u64) -> String {
    let why = match must {
        None => "agent.compaction.enabled is false, so that nothing gives way".to_owned(),
        Some(must) if must < estimate => format!(
            "about {must} of them must stay (instructions, tools, what was asked, the last round, and a few words on the rest)"
        ),
        Some(_) => "nothing of them can give way to something shorter (instructions, tools, what was asked and the last round \
             stay)"
            .to_owned(),
    };
    format!(
        "The next request has about {estimate} tokens, its profile gives it {budget}, and {why}; raise \
         agent.compaction.maxRequestTokens, offer fewer tools, or let tools give less at once"
    )
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
    fn parts_are_whole_numbers() {
        assert_eq!(part(100, (3, 4)), 75);
        assert_eq!(part(7, (2, 3)), 4);
        assert_eq!(part(u64::MAX, (1, 1)), u64::MAX);
    }
}
