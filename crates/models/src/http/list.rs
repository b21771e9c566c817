//! Which models a server has, by its own list.

use std::collections::HashSet;

use innkeeper_protocol::Secret;
use reqwest::Response;
use serde::Serialize;
use serde_json::Value as Json;
use url::form_urlencoded::byte_serialize;

use super::attempt::refusal;
use super::endpoint::Endpoint;
use super::failure::{cut_off, not_sent};
use super::place::may_be_wrong;
use crate::limits::{LIST_WAIT, MAX_LIST_BYTES, MAX_LIST_PAGES, MAX_LISTED, MAX_MODEL_NAME_BYTES};
use crate::trouble::misdirected;
use crate::{ModelError, ModelErrorKind, WireFormat};

/// A model as its server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedModel {
    pub id: String,
    /// How many tokens it takes in, prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
}

/// Where OpenAI-compatible servers write the context, the surest first: what is loaded counts more than what the model
/// was made for.
const CONTEXT: [&str; 9] = [
    "/loaded_context_length",
    "/meta/n_ctx",
    "/max_model_len",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/top_provider/context_length",
    "/max_input_tokens",
    "/meta/n_ctx_train",
];

impl Endpoint {
    /// In the server's order, each once.
    pub(crate) async fn list_models(
        &self,
        key: Option<&Secret>,
    ) -> Result<Vec<ListedModel>, ModelError> {
        // Certificates are read before the clock starts.
        let client = self.pool().await?;
        let longest = LIST_WAIT.min(self.timeouts.total());
        let listed = tokio::time::timeout(longest, self.list_pages(client, key)).await;
        let listed = listed.unwrap_or_else(|_| {
            Err(ModelError::new(
                ModelErrorKind::Timeout,
                format!(
                    "{} did not list its models within {} ms; is the base URL right?",
                    self.who(),
                    longest.as_millis()
                ),
            ))
        });
        listed.map_err(|mut error| {
            error.message = self.mask(key).apply(error.message);
            error
        })
    }

    async fn list_pages(
        &self,
        client: reqwest::Client,
        key: Option<&Secret>,
    ) -> Result<Vec<ListedModel>, ModelError> {
        let wire = self.format.headers();
        let mut models = Vec::new();
        let mut seen = HashSet::new();
        let mut after = None;
        for _ in 0..MAX_LIST_PAGES {
            let url = self.url(&path(self.format, after.as_deref()))?;
            let sent = client
                .get(url)
                .headers(self.headers("application/json", &wire, key)?)
                .send();
            let response = sent.await.map_err(|error| not_sent(self, error))?;
            if !response.status().is_success() {
                return Err(refusal(self, key, "", response).await);
            }
            let body = self.page(response).await?;
            let page: Json = serde_json::from_slice(&body).map_err(|_| self.unreadable())?;
            let listed = entries(&page).ok_or_else(|| self.unreadable())?;
            let read = listed.iter().filter_map(|entry| read(self.format, entry));
            models.extend(read.filter(|model| seen.insert(model.id.clone())));
            if models.len() >= MAX_LISTED {
                models.truncate(MAX_LISTED);
                break;
            }
            let next = next_page(self.format, &page);
            // A server that turns in circles has no more to say.
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        Ok(models)
    }

    async fn page(&self, mut response: Response) -> Result<Vec<u8>, ModelError> {
        let too_large = || {
            ModelError::new(
                ModelErrorKind::TooLarge,
                format!(
                    "the list of models of {} has more than {MAX_LIST_BYTES} bytes; is the base URL right?",
                    self.who()
                ),
            )
        };
        if response.content_length().unwrap_or_default() > MAX_LIST_BYTES as u64 {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(bytes) = response
            .chunk()
            .await
            .map_err(|error| cut_off(self, error))?
        {
            if body.len() + bytes.len() > MAX_LIST_BYTES {
                return Err(too_large());
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    fn unreadable(&self) -> ModelError {
        let doubt = may_be_wrong(&self.base);
        misdirected(format!(
            "{} answered with something that is no list of models; {doubt}",
            self.label
        ))
    }
}

fn path(format: WireFormat, after: Option<&str>) -> String {
    let after = after.map(|after| byte_serialize(after.as_bytes()).collect::<String>());
    match (format, after) {
        (WireFormat::OpenAi, _) => "models".to_owned(),
        (WireFormat::Anthropic, None) => "models?limit=1000".to_owned(),
        (WireFormat::Anthropic, Some(after)) => format!("models?limit=1000&after_id={after}"),
        (WireFormat::Gemini, None) => "models?pageSize=1000".to_owned(),
        (WireFormat::Gemini, Some(after)) => format!("models?pageSize=1000&pageToken={after}"),
    }
}

/// The models of one page of an OpenAI-compatible list; nothing where it is no list.
pub(crate) fn listed(page: &Json) -> Option<Vec<ListedModel>> {
    let entries = entries(page)?.iter();
    let models = entries.filter_map(|entry| read(WireFormat::OpenAi, entry));
    Some(models.take(MAX_LISTED).collect())
}

/// The list itself: some servers send it bare.
fn entries(page: &Json) -> Option<&Vec<Json>> {
    let named = ["data", "models"]
        .into_iter()
        .find_map(|name| page.get(name));
    match named.unwrap_or(page) {
        Json::Array(entries) => Some(entries),
        // Gemini leaves out what is empty.
        Json::Object(fields) if fields.is_empty() => {
            static NONE: Vec<Json> = Vec::new();
            Some(&NONE)
        }
        _ => None,
    }
}

fn next_page(format: WireFormat, page: &Json) -> Option<String> {
    let text = |name: &str| page.get(name).and_then(Json::as_str);
    let next = match format {
        WireFormat::OpenAi => None,
        WireFormat::Anthropic => match page.get("has_more") {
            Some(Json::Bool(true)) => text("last_id"),
            _ => None,
        },
        WireFormat::Gemini => text("nextPageToken"),
    };
    next.filter(|next| !next.is_empty()).map(str::to_owned)
}

fn read(format: WireFormat, entry: &Json) -> Option<ListedModel> {
    let id = ["id", "name"].into_iter().find_map(|name| entry.get(name));
    let id = id.or(Some(entry)).and_then(Json::as_str)?.trim();
    let (id, context) = match format {
        WireFormat::OpenAi | WireFormat::Anthropic => {
            let context = CONTEXT
                .into_iter()
                .find_map(|at| entry.pointer(at)?.as_u64());
            (id, context.filter(|context| *context > 0))
        }
        WireFormat::Gemini => {
            let methods = entry.get("supportedGenerationMethods");
            if let Some(Json::Array(methods)) = methods
                && !methods.iter().any(|method| method == "generateContent")
            {
                return None;
            }
            let id = id.strip_prefix("models/").unwrap_or(id);
            (id, entry.get("inputTokenLimit").and_then(Json::as_u64))
        }
    };
    let sound =
        !id.is_empty() && id.len() <= MAX_MODEL_NAME_BYTES && !id.contains(char::is_control);
    sound.then(|| ListedModel {
        id: id.to_owned(),
        context,
    })
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
