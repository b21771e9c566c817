//! Which part of a conversation gives way when it is too long. Pure.
//!
//! What is cut off is a beginning, up to a place where no call is parted from its result. What is pinned stays, word for word
//! and in its order; the summary of the rest stands behind it. So nothing has to be remembered of an earlier cut: its summary
//! is a message like others, and what was pinned then is pinned again.

use std::sync::Arc;

use innkeeper_protocol::parse;
use serde_json::Value as Json;

use super::opening::{is_instruction, talk};
use super::turn::GUIDANCE;
use crate::run::Created;

/// A conversation, and what has to be known of it to shorten it. One entry for each message.
#[derive(Debug, Clone)]
pub struct Talk<'m> {
    pub messages: &'m [Arc<Json>],
    /// Estimated tokens.
    pub weights: Vec<u64>,
    pub pins: Vec<bool>,
    /// Whether a message belongs to the one before it.
    pub joined: Vec<bool>,
    /// Where what is asked stands.
    pub asked: Option<usize>,
}

/// How much room there is, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What a request may have.
    pub budget: u64,
    /// What it has beside its messages.
    pub beside: u64,
    /// What the summary should have, with all that is said around it.
    pub summary: u64,
    /// What it must have to say anything at all.
    pub least: u64,
    /// So many of the last rounds stay if they can. The last of all stays in any case.
    pub rounds: usize,
}

/// The first `up_to` messages give way but for those that are `kept`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub up_to: usize,
    pub kept: Vec<usize>,
    /// Of what gives way.
    pub dropped_tokens: u64,
    /// What the summary may have.
    pub summary: u64,
    /// Of the request afterwards, with a summary as long as it may be.
    pub tokens_after: u64,
}

impl Cut {
    /// What a summary may have that is longer than was asked for: as much again, if that fits and is a gain.
    pub fn at_most(&self, budget: u64) -> u64 {
        let stays = self.tokens_after - self.summary;
        let most = budget
            .saturating_sub(stays)
            .min(self.dropped_tokens.saturating_sub(1));
        most.min(self.summary.saturating_mul(2)).max(self.summary)
    }
}

impl<'m> Talk<'m> {
    pub fn of(created: &Created, messages: &'m [Arc<Json>]) -> Self {
        let asked = asked(created, messages);
        let pins = pins(created, messages);
        let joined = joined(messages, &pins);
        Self {
            weights: messages.iter().map(|one| super::tokens(one)).collect(),
            pins: whole(&pins, &joined, messages),
            joined,
            asked,
            messages,
        }
    }

    pub fn tokens(&self) -> u64 {
        self.weights
            .iter()
            .fold(0, |sum, one| sum.saturating_add(*one))
    }

    /// Down to half of the budget where that can be, so that it need not be done again soon. Where it is hard to make room,
    /// first the rounds give way that should have stayed, then the summary becomes shorter. Nothing where nothing can give
    /// way, or where a summary would take the place of something shorter.
    pub fn cut(&self, room: &Room) -> Option<Cut> {
        let replies = self.replies();
        let rounds = room.rounds.clamp(1, replies.len().max(1));
        let mut with_rounds = (1..=rounds)
            .rev()
            .map(|rounds| self.cut_before(self.latest(&replies, rounds), room));
        let fitting = with_rounds.find(|cut| {
            cut.as_ref()
                .is_some_and(|cut| cut.tokens_after <= room.budget)
        });
        fitting.flatten().or_else(|| {
            self.tightest(room)
                .or_else(|| self.cut_before(self.latest(&replies, 1), room))
        })
    }

    /// What a request has at least, whatever gives way.
    pub fn must_stay(&self, room: &Room) -> u64 {
        let all = self.tokens().saturating_add(room.beside);
        let dropped = self.last_border().map_or(0, |(_, dropped)| dropped);
        let stays = all.saturating_sub(dropped).saturating_add(room.least);
        stays.min(all)
    }

    /// All that can give way does, and the summary has what is left.
    fn tightest(&self, room: &Room) -> Option<Cut> {
        let (up_to, dropped) = self.last_border()?;
        let stays = (self.tokens() - dropped).saturating_add(room.beside);
        let summary = room.budget.checked_sub(stays)?.min(room.summary);
        if summary < room.least || summary >= dropped {
            return None;
        }
        Some(Cut {
            up_to,
            kept: self.pinned_before(up_to),
            dropped_tokens: dropped,
            summary,
            tokens_after: stays + summary,
        })
    }

    /// The last place at which it may be cut, and what would give way there.
    fn last_border(&self) -> Option<(usize, u64)> {
        let latest = self.latest(&self.replies(), 1);
        let mut borders = self.joined.iter().enumerate().take(latest + 1);
        let (up_to, _) = borders.rfind(|(_, joined)| !**joined)?;
        let free = self.weights.iter().zip(&self.pins).take(up_to);
        let free = free.filter(|(_, pinned)| !**pinned);
        let dropped = free.fold(0_u64, |sum, (weight, _)| sum.saturating_add(*weight));
        Some((up_to, dropped))
    }

    fn pinned_before(&self, up_to: usize) -> Vec<usize> {
        let pins = self.pins.iter().enumerate().take(up_to);
        pins.filter(|(_, pinned)| **pinned)
            .map(|(at, _)| at)
            .collect()
    }

    fn cut_before(&self, latest: usize, room: &Room) -> Option<Cut> {
        let mut best = None;
        let mut dropped = 0_u64;
        let all = self.tokens();
        let entries = self.weights.iter().zip(&self.pins).enumerate();
        for (at, (weight, pinned)) in entries {
            if at > latest {
                break;
            }
            let is_border = self.joined.get(at) == Some(&false);
            if is_border && dropped > room.summary {
                let after = room.beside + room.summary + (all - dropped);
                best = Some((at, dropped, after));
                if after <= room.budget / 2 {
                    break;
                }
            }
            if !pinned {
                dropped = dropped.saturating_add(*weight);
            }
        }
        best.map(|(up_to, dropped_tokens, tokens_after)| Cut {
            up_to,
            kept: self.pinned_before(up_to),
            dropped_tokens,
            summary: room.summary,
            tokens_after,
        })
    }

    /// Where rounds begin since what is asked.
    fn replies(&self) -> Vec<usize> {
        let since = self.asked.unwrap_or(0) + 1;
        let replies = self.messages.iter().enumerate().skip(since);
        replies
            .filter(|(_, message)| role(message) == "assistant")
            .map(|(at, _)| at)
            .collect()
    }

    /// The last place at which it may be cut: before the last so many rounds, or before what is asked.
    fn latest(&self, replies: &[usize], rounds: usize) -> usize {
        let first = replies.len().saturating_sub(rounds);
        let last = self.messages.len().saturating_sub(1);
        replies
            .get(first)
            .copied()
            .unwrap_or_else(|| self.asked.unwrap_or(last))
    }
}

/// The conversation afterwards.
pub fn shortened(
    messages: &[Arc<Json>],
    up_to: usize,
    kept: &[usize],
    summary: &Arc<Json>,
) -> Vec<Arc<Json>> {
    let before = kept.iter().filter_map(|at| messages.get(*at));
    let rest = messages.get(up_to..).unwrap_or_default();
    before
        .chain(std::iter::once(summary))
        .chain(rest)
        .cloned()
        .collect()
}

/// What stays, whatever gives way: instructions, what is asked, what people said since, and what the profile wants.
pub fn pins(created: &Created, messages: &[Arc<Json>]) -> Vec<bool> {
    let mut pins: Vec<bool> = messages
        .iter()
        .map(|message| is_instruction(message) || is_guidance(message))
        .collect();
    let mut pin = |at: usize| {
        if let Some(pin) = pins.get_mut(at) {
            *pin = true;
        }
    };
    if let Some(at) = asked(created, messages) {
        let tail = last_asked(created);
        let stays = messages.iter().skip(at).zip(tail);
        let count = stays.take_while(|(one, other)| ***one == **other).count();
        (at..at + count).for_each(&mut pin);
    }
    let first = usize::try_from(created.profile.agent.compaction.keep_first).unwrap_or(usize::MAX);
    let talk = talk(
        &created.messages,
        created.is_snapshot,
        &created.profile.context,
    );
    let mut wanted = talk
        .iter()
        .filter(|message| !is_instruction(message))
        .take(first)
        .peekable();
    for (at, message) in messages.iter().enumerate() {
        if wanted.next_if(|wanted| **wanted == **message).is_some() {
            pin(at);
        }
    }
    pins
}

/// The last words of the user that the run began with, and what stands behind them.
fn last_asked(created: &Created) -> &[Json] {
    let last = created
        .messages
        .iter()
        .rposition(|message| role(message) == "user");
    let from = last.unwrap_or(created.messages.len().saturating_sub(1));
    created.messages.get(from..).unwrap_or_default()
}

fn asked(created: &Created, messages: &[Arc<Json>]) -> Option<usize> {
    let asked = last_asked(created).first()?;
    messages.iter().rposition(|message| **message == *asked)
}

/// Whether each message belongs to the one before it: the results of native calls, and the message that tells what came of
/// calls in the text. A message that is pinned by itself is nobody's result.
pub fn joined(messages: &[Arc<Json>], pins: &[bool]) -> Vec<bool> {
    let mut joined: Vec<bool> = messages
        .iter()
        .map(|message| matches!(role(message), "tool" | "function"))
        .collect();
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        if role(message) != "assistant" || !has_calls(message) {
            at += 1;
            continue;
        }
        let behind = messages.iter().enumerate().skip(at + 1);
        let until = behind
            .take_while(|(_, message)| role(message) != "assistant")
            .filter(|(_, message)| matches!(role(message), "tool" | "function"));
        let mut last = until.map(|(at, _)| at).last().unwrap_or(at);
        // A summary may stand behind calls that are pinned, and is nobody's result either.
        let next = messages
            .get(last + 1)
            .filter(|next| role(next) == "user" && !super::is_summary(next));
        if next.is_some() && pins.get(last + 1) != Some(&true) {
            last += 1;
        }
        if let Some(results) = joined.get_mut(at + 1..=last) {
            results.fill(true);
        }
        at = last + 1;
    }
    if let Some(first) = joined.first_mut() {
        *first = false;
    }
    joined
}

/// Of calls and their results, all are pinned or none.
fn whole(pins: &[bool], joined: &[bool], messages: &[Arc<Json>]) -> Vec<bool> {
    let mut pins = pins.to_vec();
    let mut from = 0;
    while from < pins.len() {
        let more = joined.iter().skip(from + 1).take_while(|joined| **joined);
        let to = from + more.count();
        let group = messages.iter().zip(&pins).skip(from).take(to - from + 1);
        let mut spoken = group.filter(|(message, _)| !is_instruction(message));
        if to > from && spoken.any(|(_, pinned)| *pinned) {
            pins.iter_mut()
                .skip(from)
                .take(to - from + 1)
                .for_each(|pin| *pin = true);
        }
        from = to + 1;
    }
    pins
}

pub(super) fn role(message: &Json) -> &str {
    let role = message.get("role").and_then(Json::as_str);
    role.unwrap_or_default()
}

fn is_guidance(message: &Json) -> bool {
    let text = message.get("content").and_then(Json::as_str);
    role(message) == "user" && text.is_some_and(|text| text.starts_with(GUIDANCE))
}

/// In any dialect, whether or not they could be read.
fn has_calls(message: &Json) -> bool {
    let native = message.get("tool_calls").and_then(Json::as_array);
    let is_native = native.is_some_and(|calls| !calls.is_empty());
    is_native
        || message.get("function_call").is_some_and(Json::is_object)
        || !parse(&super::summary::text(message)).blocks.is_empty()
}
