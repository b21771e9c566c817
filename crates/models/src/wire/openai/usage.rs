//! Tokens and money, wherever a server puts them.

use serde_json::{Map, Value as Json};

use crate::{Cost, Usage};

/// What a chunk or a whole answer tells of it, besides what llama.cpp has measured.
pub(super) fn told(answer: &Map<String, Json>) -> Option<Usage> {
    let at_choice = || answer.get("choices")?.get(0)?.get("usage");
    let places = [
        answer.get("usage"),
        answer.get("x_groq").and_then(|groq| groq.get("usage")),
        at_choice(),
    ];
    places
        .into_iter()
        .flatten()
        .map(read)
        .find(|usage| *usage != Usage::default())
}

fn read(usage: &Json) -> Usage {
    let cached = usage
        .pointer("/prompt_tokens_details/cached_tokens")
        .or_else(|| usage.get("prompt_cache_hit_tokens"));
    let reasoning = usage.pointer("/completion_tokens_details/reasoning_tokens");
    let cost = usage.get("cost").and_then(Json::as_f64);
    let prompt = count(usage.get("prompt_tokens"));
    let mut completion = count(usage.get("completion_tokens"));
    // Nearly all count thoughts among what was made; xAI counts them beside it, as its sum tells. All are paid for.
    if let (Some(read), Some(made), Some(thought), Some(total)) = (
        prompt,
        completion,
        count(reasoning),
        count(usage.get("total_tokens")),
    ) {
        let sum = made.saturating_add(thought);
        if total == read.saturating_add(sum) {
            completion = Some(sum);
        }
    }
    Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        cached_tokens: count(cached),
        reasoning_tokens: count(reasoning),
        cost: cost.and_then(Cost::from_dollars),
    }
}

/// llama.cpp counts what it has read and made even where nobody asks for `usage`.
pub(super) fn measured(answer: &Map<String, Json>) -> Option<Usage> {
    let timings = answer.get("timings")?;
    let cached = count(timings.get("cache_n"));
    // `prompt_n` leaves out what it still remembered.
    let prompt = count(timings.get("prompt_n"));
    let usage = Usage {
        prompt_tokens: prompt.map(|read| read.saturating_add(cached.unwrap_or_default())),
        completion_tokens: count(timings.get("predicted_n")),
        cached_tokens: cached,
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}

/// Some write `12.0`, and -1 for what they do not know.
fn count(json: Option<&Json>) -> Option<u64> {
    let json = json?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |number: f64| (0.0..9e15).contains(&number).then_some(number as u64);
    json.as_u64().or_else(|| whole(json.as_f64()?))
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
