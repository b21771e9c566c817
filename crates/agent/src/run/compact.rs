//! A request that is too long: its oldest part gives way to a summary before it goes out.
//!
//! Whoever puts a request together says that it is too long; a provider may find so too, once a round. What gives way is kept
//! as a content of the run, so that it can be read again word for word.

use std::sync::Arc;

use innkeeper_protocol::event::{ContextCompacted, InvocationId, RunEventKind};
use innkeeper_store::BlobId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::apply::Out;
use super::state::{Phase, RunFailure};
use super::{AgentRun, Misfit};
use crate::context;

/// By how much a request is too long, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Oversize {
    pub estimate: u64,
    /// What it should have at most.
    pub budget: u64,
    /// It must not go out with more than the budget: the profile says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hard: bool,
}

/// Why something has to give way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacting {
    /// The attempt that follows.
    pub(super) attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversize: Option<Oversize>,
    /// What the provider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RunFailure>,
}

/// What has given way, and what stands in its place: the first `up_to` messages but for those `kept`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    pub up_to: usize,
    pub kept: Vec<usize>,
    pub summary: Arc<Json>,
    pub summary_chars: u64,
    /// There was no room for all its words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    pub by: SummaryBy,
    /// The messages as a list, earlier summaries left out.
    pub dropped: BlobId,
    pub dropped_count: u64,
    /// Estimates.
    pub tokens_before: u64,
    pub tokens_after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `{prompt_tokens, completion_tokens, …}` of all requests that it took, also those in vain.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub usage: Json,
    #[serde(default)]
    pub requests: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Who wrote a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryBy {
    Model,
    /// Nobody could: it only says which tools were called and which files there are. Why not.
    Note(String),
}

/// Messages that are not sent any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    pub content: BlobId,
    pub count: u64,
    pub round: u32,
}

impl AgentRun {
    /// What is not sent any more, the oldest first.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Why what was asked last has to be made shorter.
    pub fn compacting(&self) -> Option<&Compacting> {
        match &self.phase {
            Phase::Compacting(compacting) => Some(compacting),
            _ => None,
        }
    }

    /// Once a round: a second refusal would not be about the length of what can give way.
    pub(super) fn may_shorten_again(&self) -> bool {
        self.created.profile.agent.compaction.enabled && self.refused_in != Some(self.spent.rounds)
    }

    pub(super) fn begin_compaction(
        &mut self,
        attempt: u32,
        oversize: Option<Oversize>,
        refusal: Option<RunFailure>,
    ) {
        if refusal.is_some() {
            self.refused_in = Some(self.spent.rounds);
        }
        self.phase = Phase::Compacting(Compacting {
            attempt,
            oversize,
            refusal,
        });
    }

    pub(super) fn check_compaction(&self, compaction: &Compaction) -> Result<(), Misfit> {
        self.check_phase(self.compacting().is_some())?;
        let Compaction { up_to, kept, .. } = compaction;
        let in_order = kept.iter().zip(kept.iter().skip(1)).all(|(a, b)| a < b);
        let fits = *up_to <= self.sent.len()
            && kept.len() < *up_to
            && in_order
            && kept.last().is_none_or(|last| last < up_to);
        fits.then_some(()).ok_or_else(|| {
            Misfit::unfit("What gives way is not a part of what was asked, or is nothing")
        })
    }

    pub(super) fn compacted(&mut self, compaction: &Compaction, out: &mut Out) {
        let Some(attempt) = self.compacting().map(|compacting| compacting.attempt) else {
            return;
        };
        let before = self.sent.len();
        let Compaction { up_to, kept, .. } = compaction;
        self.sent = context::shortened(&self.sent, *up_to, kept, &compaction.summary);
        self.dropped.push(Dropped {
            content: compaction.dropped.clone(),
            count: compaction.dropped_count,
            round: self.spent.rounds,
        });
        let profile = self.created.profile_id.as_str().to_owned();
        self.spent.count_compaction(&profile, compaction);
        let mut extra = Map::new();
        if let SummaryBy::Note(why) = &compaction.by {
            extra.insert("message".to_owned(), super::model::short(why).into());
        }
        if compaction.is_cut {
            extra.insert("summaryCut".to_owned(), true.into());
        }
        let event = ContextCompacted {
            round: self.spent.rounds,
            invocation_id: InvocationId::root(),
            messages_before: before as u64,
            messages_after: self.sent.len() as u64,
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after,
            dropped_ref: compaction.dropped.as_str().to_owned(),
            dropped_count: compaction.dropped_count,
            summary_chars: compaction.summary_chars,
            summary_by: match compaction.by {
                SummaryBy::Model => "model".to_owned(),
                SummaryBy::Note(_) => "note".to_owned(),
            },
            model: compaction.model.clone(),
            usage: compaction.usage.clone(),
            cost: compaction.cost,
            extra,
        };
        out.push(RunEventKind::ContextCompacted(event).into());
        // From here on it is a request like others.
        self.phase = Phase::Asked { attempt };
        if let Some(why) = self.spent.exhausted(&self.created.profile) {
            return self.fail(why.code, why.message, why.reason, out);
        }
        self.begin_attempt(attempt, out);
    }

    pub(super) fn compaction_skipped(&mut self, out: &mut Out) {
        if let Some(attempt) = self.compacting().map(|compacting| compacting.attempt) {
            self.begin_attempt(attempt, out);
        }
    }
}
