//! A channel as the settings write it.

use std::collections::BTreeMap;

use innkeeper_protocol::Pattern;
use serde::Deserialize;

use super::key_ref::{HeaderText, KeyRef, read_headers, read_keys};
use crate::Timeouts;
use crate::limits::{DEFAULT_RETRIES, MAX_RETRIES};
use crate::names::is_channel_name;
use crate::provider::{CallIds, GrammarField, Quirks, not_an_address};

/// One way to one provider. Several channels may lead to the same one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct ChannelConfig {
    pub name: String,
    /// The provider's id; the channel's name where it is not said.
    pub provider: String,
    pub base_url: Option<String>,
    pub keys: Vec<KeyRef>,
    pub headers: BTreeMap<String, HeaderText>,
    /// What it serves; everything if empty.
    pub models: Vec<Pattern>,
    /// Names here and names there.
    pub rename: BTreeMap<String, String>,
    pub disabled: bool,
    pub timeouts: Timeouts,
    /// Attempts beyond the first.
    pub retries: u32,
    /// Tokens that its models hold, where nobody else tells.
    pub context: Option<u64>,
    /// Asked for where the request does not say.
    pub max_tokens: Option<u32>,
    /// `false` for servers that cannot answer in pieces.
    pub stream: bool,
    pub quirks: QuirkChanges,
}

/// What is different here from the provider's [`Quirks`].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuirkChanges {
    pub max_tokens_field: Option<String>,
    pub developer_role: Option<bool>,
    pub stream_usage: Option<bool>,
    pub grammar: Option<GrammarField>,
    pub json_schema: Option<bool>,
    pub reasoning_back: Option<bool>,
    pub default_max_tokens: Option<u32>,
    pub message_fields: Option<Vec<String>>,
    pub not_sent: Option<Vec<String>>,
    pub seed_field: Option<String>,
    pub call_ids: Option<CallIds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    provider: Option<String>,
    base_url: Option<String>,
    #[serde(default, deserialize_with = "read_keys")]
    keys: Vec<KeyRef>,
    #[serde(default, deserialize_with = "read_headers")]
    headers: BTreeMap<String, HeaderText>,
    #[serde(default)]
    models: Vec<Pattern>,
    #[serde(default)]
    rename: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    timeouts: Timeouts,
    #[serde(default = "default_retries")]
    retries: u32,
    context: Option<u64>,
    max_tokens: Option<u32>,
    #[serde(default = "yes")]
    stream: bool,
    grammar: Option<GrammarField>,
    #[serde(default)]
    quirks: QuirkChanges,
}

const fn default_retries() -> u32 {
    DEFAULT_RETRIES
}

const fn yes() -> bool {
    true
}

impl TryFrom<Written> for ChannelConfig {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let name = written.name;
        if !is_channel_name(&name) {
            return Err(
                "`name` of a channel is made of letters, digits, dots, dashes and underlines"
                    .to_owned(),
            );
        }
        if let Some(why) = written.base_url.as_deref().and_then(not_an_address) {
            return Err(format!("`base_url` of the channel `{name}` {why}"));
        }
        // It is shown whole, and a key may stand there under any name.
        if written
            .base_url
            .as_deref()
            .is_some_and(|url| url.contains(['?', '#']))
        {
            return Err(format!(
                "`base_url` of the channel `{name}` has a part after `?` or `#`; it ends with the path"
            ));
        }
        if written.retries > MAX_RETRIES {
            return Err(format!(
                "`retries` of the channel `{name}` is at most {MAX_RETRIES}"
            ));
        }
        let zero = [
            ("context", written.context == Some(0)),
            ("max_tokens", written.max_tokens == Some(0)),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(format!("`{key}` of the channel `{name}` is at least 1"));
        }
        let mut quirks = written.quirks;
        quirks.grammar = written.grammar.or(quirks.grammar);
        Ok(Self {
            provider: written.provider.unwrap_or_else(|| name.clone()),
            name,
            base_url: written.base_url,
            keys: written.keys,
            headers: written.headers,
            models: written.models,
            rename: written.rename,
            disabled: written.disabled,
            timeouts: written.timeouts,
            retries: written.retries,
            context: written.context,
            max_tokens: written.max_tokens,
            stream: written.stream,
            quirks,
        })
    }
}

impl ChannelConfig {
    /// A channel of that name to the provider of that id, with nothing said besides.
    pub fn new(name: impl Into<String>, provider: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            provider: provider.into(),
            base_url: None,
            keys: Vec::new(),
            headers: BTreeMap::new(),
            models: Vec::new(),
            rename: BTreeMap::new(),
            disabled: false,
            timeouts: Timeouts::default(),
            retries: DEFAULT_RETRIES,
            context: None,
            max_tokens: None,
            stream: true,
            quirks: QuirkChanges::default(),
        }
    }
}

impl QuirkChanges {
    pub(super) fn apply(&self, quirks: &mut Quirks) {
        fn set<T: Clone>(to: &mut T, from: Option<&T>) {
            if let Some(from) = from {
                to.clone_from(from);
            }
        }
        set(&mut quirks.max_tokens_field, self.max_tokens_field.as_ref());
        set(&mut quirks.developer_role, self.developer_role.as_ref());
        set(&mut quirks.stream_usage, self.stream_usage.as_ref());
        set(&mut quirks.json_schema, self.json_schema.as_ref());
        set(&mut quirks.reasoning_back, self.reasoning_back.as_ref());
        set(&mut quirks.message_fields, self.message_fields.as_ref());
        set(&mut quirks.not_sent, self.not_sent.as_ref());
        set(&mut quirks.seed_field, self.seed_field.as_ref());
        set(&mut quirks.call_ids, self.call_ids.as_ref());
        quirks.grammar = self.grammar.or(quirks.grammar);
        quirks.default_max_tokens = self.default_max_tokens.or(quirks.default_max_tokens);
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
