//! Chats of this house, as `api.chat` of a page asks for them.

use std::sync::Arc;

use innkeeper_agent::chat::{Role, SearchQuery};
use innkeeper_protocol::ErrorCode;
use innkeeper_store::{ChatRecord, ChatValue, Chats};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Dto, unknown};
use crate::chats::{self, Wanted, parsed, place_of, role, text};
use crate::house::House;
use crate::limits::{CHAT_PAGE, MAX_PUBLISH_TRIES};
use crate::problem::Problem;

const USUAL_PAGE: usize = 50;
const MAX_SCAN: u64 = 100_000;

pub(super) async fn run(command: &str, dto: Dto, house: &House) -> Result<Value, Problem> {
    let store = house.store().chats();
    let asked: OfChat = dto.read()?;
    let place = place_of(&asked.chat_ref).ok_or_else(|| {
        Problem::new(
            ErrorCode::AgentValidationError,
            "chatRef: write {kind: 'character', characterId, fileName} or {kind: 'group', chatId}",
        )
        .because("agent.invalid_chat_ref")
    })?;
    let chat = store.find(&place).await?;
    let chat = chat.ok_or_else(|| chats::no_chat(&place.name))?;
    let rest = Dto(Value::Object(asked.rest));
    match command {
        "read_chat_stable_id" => Ok(json!({ "stableId": chat.id })),
        "read_chat_summary" => summary(store, &chat, rest.read()?).await,
        "read_chat_metadata" => parsed(&chat.metadata),
        "set_chat_metadata_extension" => set_extension(store, &chat, rest.read()?).await,
        "search_chat_messages" => search(store, &chat, rest.read()?).await,
        "find_last_chat_message" => find_last(store, &chat, rest.read()?).await,
        "read_chat_history_tail" | "read_chat_history_before" => {
            history(store, &chat, rest.read()?).await
        }
        "list_chat_store_keys" => {
            let asked: Keys = rest.read()?;
            let prefix = asked.prefix.unwrap_or_default();
            let keys = store.keys(&chat.id, &asked.namespace, &prefix).await?;
            Ok(json!({ "keys": keys }))
        }
        _ => value(command, store, &chat, rest.read()?).await,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfChat {
    chat_ref: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    #[serde(default)]
    include_metadata: bool,
}

async fn summary(store: &Chats, chat: &ChatRecord, asked: Summary) -> Result<Value, Problem> {
    let last = chats::read(store, &chat.id, chat.messages.saturating_sub(1), 1).await?;
    let last = last.messages.first();
    let mut summary = json!({
        "chatRef": chats::ref_of(&chat.place),
        "stableId": chat.id,
        "messageCount": chat.messages,
        "createdAt": chat.created_at,
        "updatedAt": chat.updated_at,
        "version": chat.version,
        "lastMessage": last.map(text),
    });
    if asked.include_metadata {
        summary["metadata"] = parsed(&chat.metadata)?;
    }
    Ok(summary)
}

#[derive(Deserialize)]
struct Extension {
    namespace: String,
    value: Option<Value>,
}

async fn set_extension(
    store: &Chats,
    chat: &ChatRecord,
    asked: Extension,
) -> Result<Value, Problem> {
    for _ in 0..MAX_PUBLISH_TRIES {
        let chat = chats::get(store, &chat.id).await?;
        let mut metadata = parsed(&chat.metadata)?;
        if !metadata["extensions"].is_object() {
            metadata["extensions"] = json!({});
        }
        let extensions = metadata["extensions"].as_object_mut();
        if let Some(extensions) = extensions {
            match &asked.value {
                Some(value) => extensions.insert(asked.namespace.clone(), value.clone()),
                None => extensions.remove(&asked.namespace),
            };
        }
        let wanted = Wanted {
            base: Some(chat.version),
            metadata: Some(metadata.to_string().into()),
            ..Wanted::default()
        };
        match chats::edit(store, &chat.id, wanted).await {
            Ok(_) => return Ok(Value::Null),
            Err(problem) if problem.code == ErrorCode::HttpConflict => {}
            Err(problem) => return Err(problem),
        }
    }
    Err(chats::moved(chat.version))
}

#[derive(Deserialize)]
struct Search {
    query: String,
    limit: Option<i64>,
    #[serde(default)]
    filters: Option<Filters>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Filters {
    role: Option<String>,
    start_index: Option<u64>,
    end_index: Option<u64>,
    scan_limit: Option<i64>,
}

async fn search(store: &Chats, chat: &ChatRecord, asked: Search) -> Result<Value, Problem> {
    let filters = asked.filters.unwrap_or_default();
    let query = SearchQuery {
        query: &asked.query,
        limit: asked.limit,
        role: role_named(filters.role.as_deref())?,
        first: filters.start_index,
        last: filters.end_index,
        scanned: filters.scan_limit,
    };
    let lines = chats::read(store, &chat.id, 0, usize::MAX).await?.messages;
    let hits = innkeeper_agent::chat::search_messages(&lines, &query)?;
    Ok(json!({ "query": asked.query, "hits": hits }))
}

fn role_named(name: Option<&str>) -> Result<Option<Role>, Problem> {
    match name {
        None => Ok(None),
        Some(name) => match Role::parse(name) {
            Some(role) => Ok(Some(role)),
            None => Err(Problem::new(
                ErrorCode::AgentValidationError,
                "role must be one of: user, assistant, system",
            )),
        },
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    role: Option<String>,
    #[serde(default)]
    has_top_level_keys: Vec<String>,
    #[serde(default)]
    has_extra_keys: Vec<String>,
    scan_limit: Option<u64>,
}

/// From the newest on.
async fn find_last(store: &Chats, chat: &ChatRecord, asked: Last) -> Result<Value, Problem> {
    let wanted = role_named(asked.role.as_deref())?;
    let mut left = asked.scan_limit.unwrap_or(MAX_SCAN).min(MAX_SCAN);
    let mut end = chat.messages;
    while end > 0 && left > 0 {
        let count = (CHAT_PAGE as u64).min(end).min(left);
        let page = chats::read(store, &chat.id, end - count, CHAT_PAGE.min(count as usize)).await?;
        for (at, message) in page.messages.iter().enumerate().rev() {
            let has = |key: &String| message.get(key).is_some();
            let has_extra = |key: &String| {
                message
                    .get("extra")
                    .is_some_and(|extra| extra.get(key).is_some())
            };
            if wanted.is_none_or(|wanted| wanted == role(message))
                && asked.has_top_level_keys.iter().all(has)
                && asked.has_extra_keys.iter().all(has_extra)
            {
                let index = page.first + at as u64;
                return Ok(json!({ "index": index, "message": message }));
            }
        }
        end -= count;
        left -= count;
    }
    Ok(Value::Null)
}

#[derive(Deserialize)]
struct History {
    cursor: Option<Value>,
    limit: Option<usize>,
}

/// A cursor is the number of the first message that was given; pages need not know that.
async fn history(store: &Chats, chat: &ChatRecord, asked: History) -> Result<Value, Problem> {
    let limit = asked.limit.unwrap_or(USUAL_PAGE).clamp(1, CHAT_PAGE);
    let end = match asked.cursor {
        None | Some(Value::Null) => chat.messages,
        Some(cursor) => {
            let end = cursor.get("before").and_then(Value::as_u64);
            let end = end.ok_or_else(|| {
                Problem::new(
                    ErrorCode::AgentValidationError,
                    "cursor: give the cursor of the page before, as it is",
                )
            })?;
            end.min(chat.messages)
        }
    };
    let from = end.saturating_sub(limit as u64);
    let count = usize::try_from(end - from).unwrap_or(limit);
    let page = chats::read(store, &chat.id, from, count).await?;
    let cursor = (from > 0).then(|| json!({ "before": from }));
    Ok(json!({
        "messages": page.messages,
        "startIndex": from,
        "totalCount": chat.messages,
        "cursor": cursor,
        "hasMore": from > 0,
    }))
}

#[derive(Deserialize)]
struct Keys {
    namespace: String,
    prefix: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    namespace: String,
    key: String,
    #[serde(default)]
    value: Value,
    new_key: Option<String>,
}

async fn value(
    command: &str,
    store: &Chats,
    chat: &ChatRecord,
    asked: Stored,
) -> Result<Value, Problem> {
    let stored = |value: Option<Arc<str>>, seen: Option<Option<Arc<str>>>| ChatValue {
        chat: chat.id.clone(),
        namespace: asked.namespace.clone(),
        key: asked.key.clone(),
        value,
        seen,
    };
    match command {
        "read_chat_store_json" => {
            let found = store.value(&chat.id, &asked.namespace, &asked.key).await?;
            let found = found.as_deref().map(parsed).transpose()?;
            Ok(json!({ "value": found, "exists": found.is_some() }))
        }
        "write_chat_store_json" => {
            let text: Arc<str> = asked.value.to_string().into();
            store.set_value(stored(Some(text), None)).await?;
            Ok(Value::Null)
        }
        // Two who merge at once are both in it.
        "update_chat_store_json" => {
            for _ in 0..MAX_PUBLISH_TRIES {
                let seen = store.value(&chat.id, &asked.namespace, &asked.key).await?;
                let there = seen.as_deref().map(parsed).transpose()?;
                let merged = merge(there.unwrap_or_default(), asked.value.clone());
                let text: Arc<str> = merged.to_string().into();
                if store.set_value(stored(Some(text), Some(seen))).await? {
                    return Ok(json!({ "value": merged }));
                }
            }
            Err(chats::moved(chat.version))
        }
        "delete_chat_store_json" => {
            store.set_value(stored(None, None)).await?;
            Ok(Value::Null)
        }
        "rename_chat_store_key" => {
            let new_key = asked.new_key.as_deref().unwrap_or_default().trim();
            let wrong = |code, message| Err(Problem::new(code, message));
            if new_key.is_empty() {
                return wrong(ErrorCode::AgentValidationError, "newKey is required");
            }
            let renamed = store.rename_value(&chat.id, &asked.namespace, &asked.key, new_key);
            match renamed.await? {
                true => Ok(Value::Null),
                false => wrong(ErrorCode::AgentNotFound, "nothing is kept under that key"),
            }
        }
        _ => Err(unknown(command)),
    }
}

/// Objects into one another, everything else in the place of what was there.
fn merge(there: Value, new: Value) -> Value {
    match (there, new) {
        (Value::Object(mut there), Value::Object(new)) => {
            for (key, value) in new {
                let old = there.remove(&key).unwrap_or_default();
                there.insert(key, merge(old, value));
            }
            Value::Object(there)
        }
        (_, new) => new,
    }
}
