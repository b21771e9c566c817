//! Finding servers on this machine, and telling what they really are: any of them can listen on any port.
//!
//! Only 127.0.0.1 is asked, all places at once, for a short time and a bounded answer. Nothing is changed there, and no
//! key is shown to anybody.

use std::net::{Ipv4Addr, SocketAddr};

use futures_util::future::join_all;
use reqwest::Client;
use reqwest::header::SERVER;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::http::listed;
use crate::limits::{
    DISCOVER_CONNECT, DISCOVER_WAIT, MAX_DISCOVER_BYTES, MAX_PLACES, MAX_QUOTED_CHARS,
    MAX_SHOWN_MODELS,
};
use crate::provider::Providers;
use crate::{HttpClient, ListedModel};

/// A port of this machine where a server may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub port: u16,
}

/// A server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The provider's id: `ollama`, `lmstudio`, `llamacpp`, `vllm`; `custom` where it could not be told.
    pub provider: &'static str,
    pub port: u16,
    /// What a channel takes as its address.
    pub base_url: String,
    /// By its own account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// It lists its models only to those who have a key.
    pub needs_key: bool,
    pub models: Vec<ListedModel>,
}

impl Place {
    /// Where servers of the known kinds usually are, each port once.
    pub fn usual(providers: &Providers) -> Vec<Self> {
        let ports = providers.iter().filter_map(|provider| provider.local_port);
        let mut places: Vec<Self> = ports.map(|port| Self { port }).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Servers in the order of the places. A place where nobody answers, or nobody who talks like OpenAI, is left out.
pub async fn discover(client: &HttpClient, places: &[Place]) -> Vec<Found> {
    let Ok(client) = client.here(DISCOVER_CONNECT).await else {
        return Vec::new();
    };
    let looks = places.iter().take(MAX_PLACES).map(|place| {
        let server = Server {
            client: client.clone(),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, place.port)),
        };
        async move {
            let found = tokio::time::timeout(DISCOVER_WAIT, server.look()).await;
            let mut found = found.ok().flatten()?;
            if found.provider == "ollama" {
                // It reads every model from the disk for that. What it has not told in time is not known.
                let _ = tokio::time::timeout(DISCOVER_WAIT, server.ask_ollama(&mut found)).await;
            }
            Some(found)
        }
    });
    join_all(looks).await.into_iter().flatten().collect()
}

struct Server {
    client: Client,
    address: SocketAddr,
}

/// What a server says to one question.
#[derive(Default)]
struct Answer {
    status: u16,
    server: String,
    body: Json,
}

impl Server {
    async fn look(&self) -> Option<Found> {
        // Nobody is there in most places: one question tells.
        let models = self.get("/v1/models").await?;
        let (ollama, lm_studio, llama_cpp, vllm) = tokio::join!(
            self.get("/api/version"),
            self.get("/api/v0/models"),
            self.get("/props"),
            self.get("/version"),
        );
        let told = Told {
            models,
            ollama: ollama.unwrap_or_default(),
            lm_studio: lm_studio.unwrap_or_default(),
            llama_cpp: llama_cpp.unwrap_or_default(),
            vllm: vllm.unwrap_or_default(),
        };
        told.found(self.address.port())
    }

    /// Its own list has names that are not in the other one, and how much a model holds is told one by one.
    async fn ask_ollama(&self, found: &mut Found) {
        if let Some(models) = self
            .get("/api/tags")
            .await
            .and_then(|tags| listed(&tags.body))
        {
            found.models = models;
        }
        let shown = found.models.iter_mut().take(MAX_SHOWN_MODELS);
        join_all(shown.map(|model| async {
            let asked = self.post("/api/show", &json!({"model": model.id})).await;
            let info = asked
                .as_ref()
                .and_then(|answer| answer.body.get("model_info"));
            let mut fields = info.and_then(Json::as_object).into_iter().flatten();
            let context = fields.find(|(name, _)| name.ends_with(".context_length"));
            model.context = context.and_then(|(_, tokens)| tokens.as_u64());
        }))
        .await;
    }

    async fn get(&self, path: &str) -> Option<Answer> {
        let url = format!("http://{}{path}", self.address);
        self.answer(self.client.get(url)).await
    }

    async fn post(&self, path: &str, body: &Json) -> Option<Answer> {
        let url = format!("http://{}{path}", self.address);
        self.answer(self.client.post(url).body(body.to_string()))
            .await
    }

    /// Nothing where nobody listens, or the answer is no JSON of a bearable size.
    async fn answer(&self, request: reqwest::RequestBuilder) -> Option<Answer> {
        let mut response = request.send().await.ok()?;
        let server = response.headers().get(SERVER);
        let server = server.and_then(|server| server.to_str().ok());
        let server = server.unwrap_or_default().to_ascii_lowercase();
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.ok()? {
            if body.len() + piece.len() > MAX_DISCOVER_BYTES {
                return None;
            }
            body.extend_from_slice(&piece);
        }
        Some(Answer {
            status,
            server,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }
}

/// All answers of one server.
struct Told {
    models: Answer,
    ollama: Answer,
    lm_studio: Answer,
    llama_cpp: Answer,
    vllm: Answer,
}

impl Told {
    fn found(&self, port: u16) -> Option<Found> {
        let listing = listed(&self.models.body).filter(|_| self.models.is_ok());
        let needs_key = matches!(self.models.status, 401 | 403);
        let kind = self.kind();
        // Anything may listen on 8000 and 8080. A server of models has a list of them.
        if listing.is_none() && kind.is_none() && !self.looks_like_openai() {
            return None;
        }
        let mut models = listing.unwrap_or_default();
        let version = match kind {
            Some("ollama") => self.ollama.text("/version"),
            Some("llamacpp") => self.llama_cpp.text("/build_info"),
            Some("vllm") => self.vllm.text("/version"),
            _ => None,
        };
        match kind {
            Some("lmstudio") => models = chat_models(&self.lm_studio.body),
            Some("llamacpp") => {
                // What is loaded counts, not what the model was made for.
                let loaded = self
                    .llama_cpp
                    .body
                    .pointer("/default_generation_settings/n_ctx");
                let loaded = loaded.and_then(Json::as_u64).filter(|tokens| *tokens > 0);
                for model in &mut models {
                    model.context = loaded.or(model.context);
                }
            }
            _ => {}
        }
        Some(Found {
            provider: kind.unwrap_or("custom"),
            port,
            base_url: format!("http://127.0.0.1:{port}/v1"),
            version,
            needs_key,
            models,
        })
    }

    /// By what no other kind says.
    fn kind(&self) -> Option<&'static str> {
        if self.ollama.is_ok() && self.ollama.text("/version").is_some() {
            return Some("ollama");
        }
        // It answers everything with 200, and others list their models under any path.
        let listed = self.lm_studio.body.get("data").and_then(Json::as_array);
        let is_its_own = |list: &Vec<Json>| list.iter().all(|entry| entry.get("state").is_some());
        if self.lm_studio.is_ok() && listed.is_some_and(is_its_own) {
            return Some("lmstudio");
        }
        let props = self.llama_cpp.body.get("default_generation_settings");
        let says_so = self.models.server.starts_with("llama.cpp");
        if says_so || self.llama_cpp.is_ok() && props.is_some() {
            return Some("llamacpp");
        }
        self.is_owned_by("vllm").then_some("vllm")
    }

    fn is_owned_by(&self, owner: &str) -> bool {
        let first = self.models.body.pointer("/data/0/owned_by");
        first.and_then(Json::as_str) == Some(owner)
    }

    /// It refuses in OpenAI's words.
    fn looks_like_openai(&self) -> bool {
        matches!(self.models.status, 401 | 403) && self.models.body.get("error").is_some()
    }
}

impl Answer {
    fn is_ok(&self) -> bool {
        self.status == 200
    }

    fn text(&self, place: &str) -> Option<String> {
        let text = self.body.pointer(place)?.as_str()?;
        let cleaned = text.chars().filter(|c| !c.is_control());
        Some(cleaned.take(MAX_QUOTED_CHARS).collect())
    }
}

/// Those that talk; others make vectors of texts.
fn chat_models(listing: &Json) -> Vec<ListedModel> {
    let entries = listing.get("data").and_then(Json::as_array);
    let talks = |entry: &&Json| entry.get("type").and_then(Json::as_str) != Some("embeddings");
    let talking: Vec<&Json> = entries.into_iter().flatten().filter(talks).collect();
    listed(&json!({ "data": talking })).unwrap_or_default()
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
