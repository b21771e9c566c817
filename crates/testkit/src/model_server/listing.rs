//! Which models there are, as the three formats and the local servers tell it.

use serde_json::{Value as Json, json};

use super::answer::Answer;
use super::request::Request;

/// As what the server is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// Nothing but the listings of the three formats.
    #[default]
    Plain,
    Ollama,
    LlamaCpp,
    LmStudio,
    Vllm,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) kind: Kind,
    pub(super) models: Vec<String>,
}

/// What every local model here can hold, in tokens.
const CONTEXT: u64 = 8192;
const CREATED: u64 = 1_750_000_000;
const DATE: &str = "2025-06-15T12:00:00Z";

impl Listing {
    /// Nothing where it is no question about models or about the server itself.
    pub(super) fn answer(&self, request: &Request) -> Option<Answer> {
        let path = request.path.as_str();
        match (request.method.as_str(), self.kind) {
            ("GET", _) => {}
            ("POST", Kind::Ollama) if path == "/api/show" => return Some(self.show(request)),
            _ => return None,
        }
        let listing = path.ends_with("/models").then(|| self.list(request));
        let own = match (self.kind, path) {
            (Kind::Ollama, "/") => Some(text(200, "Ollama is running")),
            (Kind::Ollama, "/api/version") => Some(Answer::json(&json!({"version": "0.12.6"}))),
            (Kind::Ollama, "/api/tags") => Some(Answer::json(&self.tags())),
            (Kind::LlamaCpp, "/health") => Some(Answer::json(&json!({"status": "ok"}))),
            (Kind::LlamaCpp, "/props") => Some(Answer::json(&self.props())),
            (Kind::LmStudio, "/api/v0/models") => Some(Answer::json(&self.lm_studio())),
            (Kind::Vllm, "/health") => Some(text(200, "")),
            (Kind::Vllm, "/version") => Some(Answer::json(&json!({"version": "0.11.0"}))),
            _ => None,
        };
        let answer = own.or(listing).unwrap_or_else(|| self.unknown(request));
        Some(match self.kind {
            Kind::LlamaCpp => answer.header("server", "llama.cpp"),
            Kind::Vllm => answer.header("server", "uvicorn"),
            Kind::Plain | Kind::Ollama | Kind::LmStudio => answer,
        })
    }

    /// The format is told by what its clients send.
    fn list(&self, request: &Request) -> Answer {
        if request.path.starts_with("/v1beta/") {
            self.gemini(request)
        } else if request.header("anthropic-version").is_some() {
            self.anthropic(request)
        } else {
            let data: Vec<Json> = self.models.iter().map(|id| self.openai(id)).collect();
            Answer::json(&json!({"object": "list", "data": data}))
        }
    }

    fn openai(&self, id: &str) -> Json {
        let mut model = json!({"id": id, "object": "model", "created": CREATED});
        let more = match self.kind {
            Kind::Plain => json!({"owned_by": "scripted"}),
            Kind::Ollama => json!({"owned_by": "library"}),
            Kind::LmStudio => json!({"owned_by": "organization_owner"}),
            Kind::LlamaCpp => json!({
                "owned_by": "llamacpp",
                "meta": {"n_ctx_train": CONTEXT, "n_embd": 576, "n_params": 135_000_000, "n_vocab": 49_152},
            }),
            Kind::Vllm => json!({
                "owned_by": "vllm", "root": id, "parent": null, "max_model_len": CONTEXT, "permission": [],
            }),
        };
        if let (Some(model), Some(more)) = (model.as_object_mut(), more.as_object()) {
            model.extend(more.clone());
        }
        model
    }

    fn anthropic(&self, request: &Request) -> Answer {
        let after = request.param("after_id");
        let known = |after| self.models.iter().position(|id| id == after);
        let from = after.map_or(Some(0), |after| known(after).map(|at| at + 1));
        let Some(from) = from else {
            return Answer::error(400, "after_id is no model of the list");
        };
        let page = self.page(from, number(request, "limit").unwrap_or(20));
        let model = |id| json!({"type": "model", "id": id, "display_name": id, "created_at": DATE});
        Answer::json(&json!({
            "data": page.iter().map(model).collect::<Vec<_>>(),
            "has_more": from + page.len() < self.models.len(),
            "first_id": page.first(),
            "last_id": page.last(),
        }))
    }

    fn gemini(&self, request: &Request) -> Answer {
        let from = number(request, "pageToken").unwrap_or(0);
        let page = self.page(from, number(request, "pageSize").unwrap_or(50));
        let model = |id: &String| {
            json!({
                "name": format!("models/{id}"), "version": "001", "displayName": id,
                "inputTokenLimit": CONTEXT, "outputTokenLimit": CONTEXT / 2,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        };
        let models: Vec<Json> = page.iter().map(model).collect();
        let next = from + page.len();
        Answer::json(&match next < self.models.len() {
            true => json!({"models": models, "nextPageToken": next.to_string()}),
            false => json!({"models": models}),
        })
    }

    fn page(&self, from: usize, size: usize) -> &[String] {
        let from = from.min(self.models.len());
        let to = from.saturating_add(size.max(1)).min(self.models.len());
        &self.models[from..to]
    }

    fn tags(&self) -> Json {
        let model = |id: &String| {
            json!({
                "name": id, "model": id, "modified_at": DATE, "size": 91_739_413, "digest": "0".repeat(64),
                "details": details(),
            })
        };
        json!({"models": self.models.iter().map(model).collect::<Vec<_>>()})
    }

    fn show(&self, request: &Request) -> Answer {
        let asked = serde_json::from_slice(&request.body).unwrap_or(Json::Null);
        let name = asked.get("model").or_else(|| asked.get("name"));
        let name = name.and_then(Json::as_str).unwrap_or_default();
        if !self.models.iter().any(|id| id == name) {
            let error = json!({"error": format!("model '{name}' not found")});
            return Answer::status(404).body(error.to_string());
        }
        Answer::json(&json!({
            "details": details(),
            "model_info": {"general.architecture": "llama", "llama.context_length": CONTEXT},
            "capabilities": ["completion", "tools"],
        }))
    }

    fn props(&self) -> Json {
        json!({
            "default_generation_settings": {"id": 0, "n_ctx": CONTEXT, "is_processing": false},
            "total_slots": 1,
            "model_path": self.models.first(),
            "chat_template": "",
            "build_info": "b6000-00000000",
        })
    }

    fn lm_studio(&self) -> Json {
        let model = |(at, id): (usize, &String)| {
            json!({
                "id": id, "object": "model", "type": "llm", "publisher": "scripted", "arch": "llama",
                "compatibility_type": "gguf", "quantization": "Q4_K_M",
                "state": if at == 0 { "loaded" } else { "not-loaded" }, "max_context_length": CONTEXT,
            })
        };
        let data: Vec<Json> = self.models.iter().enumerate().map(model).collect();
        json!({"object": "list", "data": data})
    }

    /// LM Studio says 200 to everything.
    fn unknown(&self, request: &Request) -> Answer {
        match self.kind {
            Kind::LmStudio => {
                let place = format!("{} {}", request.method, request.path);
                Answer::json(&json!({"error": format!("Unexpected endpoint or method. ({place})")}))
            }
            Kind::Ollama => text(404, "404 page not found"),
            Kind::Plain | Kind::LlamaCpp | Kind::Vllm => Answer::error(404, "Not Found"),
        }
    }
}

fn details() -> Json {
    json!({
        "format": "gguf", "family": "llama", "families": ["llama"], "parameter_size": "134.52M",
        "quantization_level": "Q4_K_M",
    })
}

fn text(status: u16, text: &str) -> Answer {
    Answer::status(status)
        .body(text)
        .header("content-type", "text/plain; charset=utf-8")
}

fn number(request: &Request, name: &str) -> Option<usize> {
    request.param(name)?.parse().ok()
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
