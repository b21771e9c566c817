//! APISettings, OpenAI and OpenAIChat: nodes of older files. They ask through the same door as the others.
//!
//! A key never travels along an edge, where it would be shown, kept and logged. Nor does a workflow say where a model is
//! asked and by which secret: a file from elsewhere could send a secret to any address. The owner's settings say that;
//! what APISettings gives is checked, and goes no further.

use serde_json::{Map, Value as Json, json};

use super::ask::{Live, ask, messages, object_of};
use crate::limits::MAX_SECRET_NAME_CHARS;
use crate::node::{In, NodeBuilder, NodeType, TaskIo, any, boolean, float, integer, object, text};
use crate::port::ModelCall;
use crate::{NodeError, Value};

pub(super) fn settings() -> NodeType {
    let mut node = NodeBuilder::core(
        "APISettings",
        "LLM",
        "API settings",
        "What older files say of where a model is asked. It is not followed: the owner's settings connect models",
    );
    let from_environment = node.input(
        boolean("use_env_vars")
            .title("From the environment")
            .about("The address of OPENAI_API_BASE and the secret OPENAI_API_KEY")
            .default(true),
    );
    let base_url = node.input(text("base_url").title("Address"));
    let api_key = node.input(
        text("api_key")
            .title("Secret")
            .about("Name of the secret that holds the key, like OPENAI_API_KEY"),
    );
    let out = node.output(
        object("api_settings")
            .title("Settings")
            .about("{base_url, secret, use_env_vars}"),
    );
    node.inline(move |io| {
        let is_environment = io.get(from_environment)?;
        let (url, secret) = match is_environment {
            true => (String::new(), "OPENAI_API_KEY".to_owned()),
            false => (io.get(base_url)?, io.get(api_key)?),
        };
        check_name(&secret)?;
        io.set(
            out,
            json!({"base_url": address(&url), "secret": secret, "use_env_vars": is_environment}),
        );
        Ok(())
    })
}

/// A bare host is taken to speak OpenAI's language under `/v1`.
fn address(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    match rest.contains('/') {
        true => url.to_owned(),
        false => format!("{scheme}://{rest}/v1"),
    }
}

fn check_name(name: &str) -> Result<(), NodeError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    // Keys of the known providers begin like this; none of them is a name that a person would choose.
    let is_key = ["sk-", "sk_", "AIza", "gsk_", "xai-", "hf_"]
        .iter()
        .any(|begin| name.starts_with(begin));
    match name.len() <= MAX_SECRET_NAME_CHARS && name.chars().all(is_plain) && !is_key {
        true => Ok(()),
        false => Err(NodeError::invalid(
            "llm.key_in_workflow",
            "'api_key' takes the name of a secret, not the key: keep the key among the secrets and write its name here",
        )),
    }
}

/// What both nodes have in common.
#[derive(Clone, Copy)]
struct Common {
    settings: In<Value>,
    model: In<String>,
    temperature: In<f64>,
    max_tokens: In<i64>,
    system_prompt: In<String>,
}

impl Common {
    fn declare(node: &mut NodeBuilder) -> Self {
        Self {
            settings: node.input(
                any("api_settings")
                    .title("API settings")
                    .about("Kept for older files and not followed: the owner's settings say where a model is asked"),
            ),
            model: node.input(
                text("model")
                    .title("Model")
                    .about("Empty for the default model"),
            ),
            temperature: node.input(
                float("temperature")
                    .title("Temperature")
                    .default(0.7)
                    .range(0, 2),
            ),
            max_tokens: node.input(integer("max_tokens").title("Most tokens").default(2048)),
            system_prompt: node.input(text("system_prompt").title("System prompt").multiline()),
        }
    }

    fn call(self, io: &mut TaskIo, before: Vec<Json>, user: Json) -> Result<ModelCall, NodeError> {
        let mut parameters = Map::new();
        parameters.insert("temperature".into(), io.get(self.temperature)?.into());
        parameters.insert("max_tokens".into(), io.get(self.max_tokens)?.into());
        let settings = object_of(&io.get(self.settings)?, "api_settings")?;
        if settings.contains_key("api_key") {
            check_name(
                settings
                    .get("api_key")
                    .and_then(Json::as_str)
                    .unwrap_or_default(),
            )?;
        }
        let mut asked = Vec::new();
        let system = io.get(self.system_prompt)?;
        if !system.is_empty() {
            asked.push(json!({"role": "system", "content": system}));
        }
        asked.extend(before);
        asked.push(user);
        Ok(ModelCall {
            model: io.get(self.model)?,
            messages: asked.into(),
            parameters,
            ..ModelCall::default()
        })
    }
}

/// What the user says, with a picture beside it if there is one.
fn said(words: String, image: &Value) -> Json {
    let url = match image.as_json() {
        Json::String(url) if !url.is_empty() => Some(url.as_str()),
        Json::Object(map) => map.get("url").and_then(Json::as_str),
        _ => None,
    };
    match url {
        None => json!({"role": "user", "content": words}),
        Some(url) => json!({"role": "user", "content": [
            {"type": "text", "text": words},
            {"type": "image_url", "image_url": {"url": url}},
        ]}),
    }
}

pub(super) fn openai() -> NodeType {
    let mut node = NodeBuilder::core("OpenAI", "LLM", "OpenAI", "One question to a model");
    let common = Common::declare(&mut node);
    let prompt = node.input(text("prompt").title("Prompt").multiline());
    let history = node.input(any("history").title("History").category("ChatHistory"));
    let image = node.input(
        any("image")
            .title("Image")
            .about("A URL, also one that holds the data itself"),
    );
    let in_pieces = node.input(boolean("stream").title("Stream").default(false));
    let response = node.output(text("response").title("Response"));
    let stream = node.output(text("stream_output").title("Stream").stream());
    node.effects();
    node.task(move |mut io| async move {
        let before = messages(&io.get(history)?, "history")?;
        let user = said(io.get(prompt)?, &io.get(image)?);
        let call = common.call(&mut io, before, user)?;
        let live = Live {
            text: Some(io.writer(stream)),
            reasoning: None,
            in_pieces: io.get(in_pieces)?,
        };
        let answer = ask(io.context(), call, live).await?;
        io.set(response, answer.text);
        io.done()
    })
}

pub(super) fn chat() -> NodeType {
    let mut node = NodeBuilder::core(
        "OpenAIChat",
        "LLM",
        "OpenAI chat",
        "One turn of a conversation; what was said before comes in as external_history, and nothing is kept in the node",
    );
    let common = Common::declare(&mut node);
    let is_cleared = node.input(
        boolean("clear_history")
            .title("Begin anew")
            .about("What was said before is left out")
            .default(false),
    );
    let input = node.input(text("user_input").title("User").multiline());
    let history = node.input(
        any("external_history")
            .title("History")
            .category("ChatHistory"),
    );
    let image = node.input(any("image").title("Image"));
    let conversation = node.output(text("full_conversation").title("Conversation"));
    let output = node.output(text("current_output").title("Answer"));
    let new_history = node.output(
        text("history")
            .title("History")
            .about("JSON text of the messages, this turn included")
            .category("ChatHistory"),
    );
    node.effects();
    node.task(move |mut io| async move {
        let before = match io.get(is_cleared)? {
            true => Vec::new(),
            false => messages(&io.get(history)?, "external_history")?,
        };
        let user = said(io.get(input)?, &io.get(image)?);
        let call = common.call(&mut io, before.clone(), user.clone())?;
        let answer = ask(io.context(), call, Live::default()).await?;
        let mut turns = before;
        turns.push(user);
        turns.push(answer.message());
        let lines: Vec<String> = turns.iter().map(line).collect();
        io.set(conversation, lines.join("\n\n"));
        io.set(output, answer.text);
        io.set(new_history, Json::Array(turns).to_string());
        io.done()
    })
}

fn line(message: &Json) -> String {
    let role = message.get("role").and_then(Json::as_str);
    let content = match message.get("content") {
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(Json::String(text)) => text.clone(),
        _ => String::new(),
    };
    format!("{}: {content}", role.unwrap_or_default())
}
