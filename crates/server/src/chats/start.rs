//! A run that answers in a chat of this house.

use innkeeper_agent::chat::{Role, input_prefix};
use innkeeper_agent::instance::{ChatSource, RunHandle, StartPrompt, StartRun};
use innkeeper_protocol::ErrorCode;
use innkeeper_store::{ChatRecord, MessageChange};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::message::{Said, plain, role, text};
use super::{Wanted, conversation, edit, place_of, ref_of};
use crate::house::House;
use crate::problem::Problem;

/// The chat of this house that a run is to belong to, if it is one.
pub(crate) async fn chat_of(
    house: &House,
    chat_ref: Option<&Json>,
    stable_chat_id: Option<&str>,
) -> Result<Option<ChatRecord>, Problem> {
    let chats = house.store().chats();
    match (chat_ref.and_then(place_of), stable_chat_id) {
        (Some(place), _) => Ok(chats.find(&place).await?),
        (None, Some(id)) => Ok(chats.get(id.trim()).await?),
        (None, None) => Ok(None),
    }
}

/// The prompt is the chat, and what is said now goes into it first. Where the run cannot begin, the chat stays as it was.
pub(crate) async fn start(
    house: &House,
    chat: ChatRecord,
    said: Option<&str>,
    mut asked: StartRun,
) -> Result<RunHandle, Problem> {
    let chats = house.store().chats();
    let added = match said {
        None => None,
        Some(said) => Some(say(house, &chat, said).await?),
    };
    let started = async {
        let now = added.as_ref().unwrap_or(&chat);
        let lines = conversation(chats, now).await?;
        let kind = asked.generation_type.as_deref().unwrap_or("normal");
        asked.prompt = Some(StartPrompt::Conversation(prompt(&lines, kind)?));
        asked.chat_ref = Some(ref_of(&chat.place)).filter(|chat_ref| !chat_ref.is_null());
        asked.stable_chat_id = Some(chat.id.clone());
        asked.chat = ChatSource::Messages(lines);
        Ok(house.agents.start(asked).await?)
    };
    let started: Result<RunHandle, Problem> = started.await;
    if let (Err(_), Some(added)) = (&started, &added) {
        let unsaid = Wanted {
            base: Some(added.version),
            messages: vec![MessageChange::Remove { at: chat.messages }],
            ..Wanted::default()
        };
        // Where somebody has gone on with it meanwhile, it stays.
        let _ = edit(chats, &chat.id, unsaid).await;
    }
    started
}

async fn say(house: &House, chat: &ChatRecord, said: &str) -> Result<ChatRecord, Problem> {
    let metadata = super::parsed(&chat.metadata)?;
    let name = metadata.get("user_name").and_then(Json::as_str);
    let message = plain(&Said {
        role: Role::User,
        name: name.unwrap_or("User"),
        text: said,
        at: Timestamp::now(),
    });
    let wanted = Wanted {
        base: Some(chat.version),
        messages: vec![MessageChange::Append(message.to_string().into())],
        ..Wanted::default()
    };
    edit(house.store().chats(), &chat.id, wanted).await
}

fn prompt(lines: &[Json], generation_type: &str) -> Result<Vec<Json>, Problem> {
    let roles: Vec<Role> = lines.iter().map(role).collect();
    let seen = input_prefix(&roles, generation_type).map_err(|fault| {
        Problem::new(ErrorCode::AgentValidationError, fault.to_string()).because(fault.reason())
    })?;
    let seen = lines.get(..seen).unwrap_or_default();
    if seen.iter().all(|line| text(line).trim().is_empty()) {
        return Err(Problem::new(
            ErrorCode::AgentValidationError,
            "the chat is empty: say something with `message`, or write a message into it first",
        )
        .because("agent.prompt_snapshot_messages_required"));
    }
    Ok(seen
        .iter()
        .map(|line| json!({ "role": role(line), "content": text(line) }))
        .collect())
}
