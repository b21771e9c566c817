//! Providers as data: where they are, how they talk, and in what they differ from the format they follow.
//!
//! Owns what is known of one. Which there are, and the files they stand in, is `file`.

mod file;

use std::collections::BTreeMap;

use serde::Deserialize;

pub(crate) use self::file::not_an_address;
pub use self::file::{ProviderProblem, Providers};
use crate::WireFormat;

/// One vendor or kind of server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// `deepseek`
    pub id: String,
    /// `DeepSeek`
    pub label: String,
    pub format: WireFormat,
    /// With the version: `https://api.deepseek.com/v1`. A channel may name another, and must where this is missing.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Where a person gets a key.
    #[serde(default)]
    pub key_url: Option<String>,
    /// The environment variable that usually holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    #[serde(default)]
    pub auth: Auth,
    /// Sent with every request; no secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The port where a server of this kind is found on this machine.
    #[serde(default)]
    pub local_port: Option<u16>,
    #[serde(default)]
    pub quirks: Quirks,
}

impl Provider {
    /// Runs on one's own machines.
    pub const fn is_local(&self) -> bool {
        self.local_port.is_some()
    }
}

/// How the key is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// As the format does: `Authorization: Bearer` for OpenAI's, `x-api-key` for Anthropic's, `x-goog-api-key` for
    /// Gemini's.
    #[default]
    Usual,
    Bearer,
    /// In the header of that name.
    Header(String),
    /// It wants none. A key that is given is shown as usual.
    None,
}

/// In what a server differs from the format it follows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The field for `max_tokens`: `max_completion_tokens` at OpenAI itself.
    pub max_tokens_field: String,
    /// Knows the role `developer`; elsewhere it is written as `system`.
    pub developer_role: bool,
    /// Counts tokens of a stream only when asked (`stream_options.include_usage`).
    pub stream_usage: bool,
    /// How it takes a grammar; not at all if missing.
    pub grammar: Option<GrammarField>,
    /// Takes `response_format` with a JSON schema.
    pub json_schema: bool,
    /// Wants thoughts back with the messages they belong to (`reasoning_content`).
    pub reasoning_back: bool,
    /// Sent where the request does not say, because the provider insists: Anthropic's `max_tokens`.
    pub default_max_tokens: Option<u32>,
    /// Fields of messages and calls that are its own and go back to it as they came (`reasoning_details`). All others
    /// stay here: they were made by somebody else, and many servers refuse what they do not know.
    pub message_fields: Vec<String>,
    /// Fields of a request or of its messages that it refuses, though others take them: `top_k`, `name`.
    pub not_sent: Vec<String>,
    /// The field for `seed`: `random_seed` at Mistral.
    pub seed_field: String,
    /// What the ids of calls may look like.
    pub call_ids: CallIds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    #[default]
    Any,
    /// Nine letters and digits. Others are turned into such, each always into the same.
    Nine,
}

/// Where a grammar stands in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrammarField {
    /// `grammar`, as llama.cpp takes it.
    Grammar,
    /// `structured_outputs.grammar`, as vLLM takes it.
    StructuredOutputs,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            max_tokens_field: "max_tokens".into(),
            developer_role: false,
            stream_usage: true,
            grammar: None,
            json_schema: true,
            reasoning_back: false,
            default_max_tokens: None,
            message_fields: Vec::new(),
            not_sent: Vec::new(),
            seed_field: "seed".into(),
            call_ids: CallIds::Any,
        }
    }
}
