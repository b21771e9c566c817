//! What models cost and how much they hold: a table that ships, and the user's own entries over it.
//!
//! Money is counted in whole billionths of a dollar (`cost`). What is not known is not guessed at: a model that no
//! entry fits has no price, and neither has one that runs on one's own machines, unless the user says what it costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::Pattern;
use serde::Deserialize;

use crate::limits::MAX_PRICE;
use crate::provider::Provider;
use crate::{Cost, Usage};

const SHIPPED: &str = include_str!("prices.toml");

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Price(f64);

/// What is known of models whose name fits a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelInfo {
    pub input: Option<Price>,
    pub output: Option<Price>,
    /// Of what the provider still remembered; `input` where this is missing.
    pub cached_input: Option<Price>,
    /// Tokens of conversation and reply together.
    pub context: Option<u64>,
    /// Tokens of one reply.
    pub max_output: Option<u32>,
}

/// The shipped table with the user's entries over it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ModelTable {
    own: Arc<[(Pattern, ModelInfo)]>,
    shipped: Arc<[(Pattern, ModelInfo)]>,
}

#[derive(Deserialize)]
struct Shipped {
    #[serde(rename = "date")]
    _date: String,
    models: BTreeMap<String, ModelInfo>,
}

impl TryFrom<f64> for Price {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        match (0.0..=MAX_PRICE).contains(&dollars) {
            true => Ok(Self(dollars)),
            false => Err(format!(
                "a price is a number of dollars per million tokens, from 0 to {MAX_PRICE}"
            )),
        }
    }
}

impl Price {
    pub const fn dollars_per_million(self) -> f64 {
        self.0
    }

    /// Billionths of a billionth of a dollar: exact to a thousandth of a cent per million.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn attodollars_per_token(self) -> u128 {
        (self.0 * 1e8).round() as u128 * 10_000
    }
}

impl ModelInfo {
    /// What so many tokens cost; `None` without a price or without a count.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        usage.prompt_tokens.or(usage.completion_tokens)?;
        let (input, output) = (self.input?, self.output?);
        let sent = usage.prompt_tokens.unwrap_or_default();
        let cached = usage.cached_tokens.unwrap_or_default().min(sent);
        let received = usage.completion_tokens.unwrap_or_default();
        let of = |tokens: u64, price: Price| {
            u128::from(tokens).saturating_mul(price.attodollars_per_token())
        };
        let attodollars = of(sent - cached, input)
            .saturating_add(of(cached, self.cached_input.unwrap_or(input)))
            .saturating_add(of(received, output));
        let nanodollars = attodollars.saturating_add(500_000_000) / 1_000_000_000;
        Some(Cost::from_nanodollars(
            u64::try_from(nanodollars).unwrap_or(u64::MAX),
        ))
    }

    fn has_price(&self) -> bool {
        self.input.is_some() && self.output.is_some()
    }
}

impl ModelTable {
    /// The table that ships.
    pub fn shipped() -> Self {
        let shipped = toml::from_str::<Shipped>(SHIPPED).map(|table| table.models);
        Self {
            own: Arc::default(),
            shipped: by_weight(shipped.unwrap_or_default()),
        }
    }

    /// With the user's entries, which win: `[models.info."pattern"]`.
    #[must_use]
    pub fn with(mut self, own: BTreeMap<String, ModelInfo>) -> Self {
        self.own = by_weight(own);
        self
    }

    /// What the user says of a model, whose patterns may fit `channel/model`, `provider/model` or `model`.
    pub(crate) fn own(&self, channel: &str, provider: &Provider, model: &str) -> ModelInfo {
        let names = [
            format!("{channel}/{model}").to_lowercase(),
            format!("{}/{model}", provider.id).to_lowercase(),
            model.to_lowercase(),
        ];
        find(&self.own, &names)
    }

    /// What ships of it. Names of resellers (`openai/gpt-5` at OpenRouter) count as those of the vendor.
    pub(crate) fn known(&self, provider: &Provider, model: &str) -> ModelInfo {
        let names = [
            format!("{}/{model}", provider.id).to_lowercase(),
            model.to_lowercase(),
        ];
        let found = find(&self.shipped, &names);
        match provider.is_local() {
            true => ModelInfo {
                input: None,
                output: None,
                cached_input: None,
                ..found
            },
            false => found,
        }
    }

    /// Both: the user's word first, then what ships.
    pub fn info(&self, channel: &str, provider: &Provider, model: &str) -> ModelInfo {
        let own = self.own(channel, provider, model);
        let known = self.known(provider, model);
        let price = if own.has_price() { own } else { known };
        ModelInfo {
            context: own.context.or(known.context),
            max_output: own.max_output.or(known.max_output),
            ..price
        }
    }
}

/// The most specific first; of equals the exact one.
fn by_weight(entries: BTreeMap<String, ModelInfo>) -> Arc<[(Pattern, ModelInfo)]> {
    let mut entries: Vec<_> = entries
        .into_iter()
        .map(|(pattern, info)| (Pattern::new(pattern.to_lowercase()), info))
        .collect();
    entries.sort_by_key(|(pattern, _)| std::cmp::Reverse((pattern.is_exact(), pattern.weight())));
    entries.into()
}

/// Prices come from one entry together; sizes each from the most specific entry that tells.
fn find(entries: &[(Pattern, ModelInfo)], names: &[String]) -> ModelInfo {
    let mut found = ModelInfo::default();
    let fitting = entries
        .iter()
        .filter(|(pattern, _)| names.iter().any(|name| pattern.matches(name)));
    for (_, info) in fitting {
        if !found.has_price() && info.has_price() {
            found = ModelInfo {
                context: found.context,
                max_output: found.max_output,
                ..*info
            };
        }
        found.context = found.context.or(info.context);
        found.max_output = found.max_output.or(info.max_output);
    }
    found
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
