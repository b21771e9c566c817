//! The models and channels of a house, as the doors need them. Who asks models, and where their keys are kept, is wired in by
//! the binary. A key goes in here and never comes out.

use async_trait::async_trait;
use innkeeper_tools::Secret;
use serde::{Deserialize, Deserializer, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::Problem;

#[async_trait]
pub trait ModelDesk: Send + Sync {
    /// As the settings have it now.
    async fn list(&self) -> Result<ModelList, Problem>;

    /// Whom a channel can be made for.
    async fn providers(&self) -> Result<Vec<ProviderAbout>, Problem>;

    /// One real reply. `cancel` ends it.
    async fn test(
        &self,
        asked: ModelQuestion,
        cancel: CancellationToken,
    ) -> Result<ModelAnswer, Problem>;

    async fn add(&self, channel: NewChannel) -> Result<(), Problem>;

    /// With its key, unless that is to stay or another channel uses it.
    async fn remove(&self, channel: String, keeps_key: bool) -> Result<(), Problem>;

    /// In the place of one that is kept.
    async fn set_key(&self, channel: String, key: Secret) -> Result<(), Problem>;

    /// Since the process began.
    fn used(&self) -> ModelUse;
}

/// What models have used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelUse {
    pub calls: u64,
    pub failed: u64,
    pub sent_tokens: u64,
    pub received_tokens: u64,
    pub dollars: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelList {
    /// Who answers where no model is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    pub channels: Vec<ChannelAbout>,
    /// Models without a channel.
    pub registered: Vec<String>,
    /// What in the settings leads nowhere.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelState {
    Ready,
    NotReady,
    Disabled,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Channel)]
pub struct ChannelAbout {
    pub name: String,
    pub provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    pub state: ChannelState,
    /// What it lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Which of its keys cannot be found.
    pub missing_keys: Vec<String>,
    /// Those that the settings name; it may serve others.
    pub models: Vec<ModelAbout>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChannelModel)]
pub struct ModelAbout {
    pub name: String,
    /// Tokens that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Dollars for a million tokens that are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Provider)]
pub struct ProviderAbout {
    pub id: String,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable where its key is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Where keys are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_url: Option<String>,
    /// A server of this machine.
    pub local: bool,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = TestModel)]
pub struct ModelQuestion {
    /// The default one if none is named.
    pub model: Option<String>,
    #[schema(min_length = 1, max_length = 16_000)]
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TestedModel)]
pub struct ModelAnswer {
    /// It answered to the end.
    pub ok: bool,
    /// The model that was asked.
    pub asked: String,
    /// What came, also of a reply that broke.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_tokens: Option<u64>,
    /// In dollars, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ModelProblem>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelProblem {
    /// Stable.
    pub code: String,
    pub message: String,
}

/// Not printable: it may hold a key.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChannel {
    /// `openai`, `ollama`, `custom` …
    pub provider: String,
    /// The provider's if nothing is said.
    pub name: Option<String>,
    /// Address with the version; needed where the provider has none of its own.
    pub base_url: Option<String>,
    /// Models that it serves, with `*` for any text; all if nothing is said.
    pub models: Option<Vec<String>>,
    /// The one of them that answers where no model is named.
    pub default: Option<String>,
    /// Kept among the secrets of the house, and never told again.
    #[serde(default, deserialize_with = "perhaps_secret")]
    #[schema(value_type = Option<String>, write_only)]
    pub key: Option<Secret>,
    /// The environment variable that holds the key; not with `key`.
    pub key_env: Option<String>,
}

/// A key as it stands in a request.
pub(crate) fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    String::deserialize(from).map(Secret::new)
}

fn perhaps_secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(Secret::new))
}
