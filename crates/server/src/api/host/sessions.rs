//! Conversations with an agent that belong to no chat of a tavern: a chat of this house each.

use std::sync::Arc;

use innkeeper_agent::instance::StartRun;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunStatus;
use innkeeper_store::journal::RunFilter;
use innkeeper_store::{ChatFilter, ChatKind, ChatPlace, ChatRecord, NewChat};
use innkeeper_tools::{ProjectId, UserId};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, off_the_road, unknown};
use crate::chats::{self, agent_extra, parsed, role};
use crate::house::House;
use crate::limits::CHAT_PAGE;
use crate::problem::Problem;

/// Under which name the profile lies that sessions are led with, unless they name one.
const PROFILE: &str = "agent-session";
const USUAL_PAGE: usize = 50;
const MOST_LISTED: usize = 200;

/// Those that a run is in as long as it is not over.
const AT_WORK: [RunStatus; 11] = [
    RunStatus::Created,
    RunStatus::InitializingWorkspace,
    RunStatus::AssemblingContext,
    RunStatus::CallingModel,
    RunStatus::DispatchingTool,
    RunStatus::AwaitingApproval,
    RunStatus::ApplyingWorkspacePatch,
    RunStatus::CreatingCheckpoint,
    RunStatus::AwaitingHostCommit,
    RunStatus::Finishing,
    RunStatus::Cancelling,
];

pub(super) async fn run(command: &str, dto: Dto, house: Arc<House>) -> Result<Value, Problem> {
    match command {
        "create_agent_session" => create(dto.read()?, &house).await,
        "list_agent_sessions" => list(&house).await,
        "read_agent_session" => read(dto.read()?, &house).await,
        "send_agent_session_message" => send(dto.read()?, house).await,
        "delete_agent_session" => delete(dto.read()?, &house).await,
        "load_agent_session_profile" => {
            let profile = off_the_road(house, |house| Ok(profile(house))).await?;
            Ok(json!({ "profile": profile }))
        }
        "save_agent_session_profile" => {
            let asked: Save = dto.read()?;
            off_the_road(house, move |house| save(house, asked.profile)).await
        }
        _ => Err(unknown(command)),
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Create {
    profile_id: Option<String>,
}

fn shown(chat: &ChatRecord) -> Result<Value, Problem> {
    let metadata = parsed(&chat.metadata)?;
    Ok(json!({
        "id": chat.id,
        "createdAt": chat.created_at,
        "updatedAt": chat.updated_at,
        "messageCount": chat.messages,
        "profileId": metadata.get("profileId"),
    }))
}

async fn create(asked: Option<Create>, house: &House) -> Result<Value, Problem> {
    let profile = asked.unwrap_or_default().profile_id;
    let id = format!("session_{}", uuid::Uuid::now_v7().simple());
    let metadata = match profile {
        Some(profile) => json!({ "profileId": profile }),
        None => json!({}),
    };
    let made = house.store().chats().create(NewChat {
        place: ChatPlace {
            kind: ChatKind::Session,
            owner: String::new(),
            name: id.clone(),
        },
        id,
        metadata: metadata.to_string().into(),
        messages: Vec::new(),
        created_at: Timestamp::now(),
    });
    let made = made.await?.ok_or_else(chats::taken)?;
    Ok(json!({ "session": shown(&made)? }))
}

async fn list(house: &House) -> Result<Value, Problem> {
    let filter = ChatFilter {
        kind: Some(ChatKind::Session),
        limit: MOST_LISTED,
        ..ChatFilter::default()
    };
    let sessions = house.store().chats().list(&filter).await?;
    let sessions: Result<Vec<Value>, Problem> = sessions.iter().map(shown).collect();
    Ok(json!({ "sessions": sessions? }))
}

async fn find(house: &House, id: &str) -> Result<ChatRecord, Problem> {
    let chat = house.store().chats().get(id).await?;
    chat.filter(|chat| chat.place.kind == ChatKind::Session)
        .ok_or_else(|| {
            let id: String = id.chars().take(120).collect();
            Problem::new(
                ErrorCode::AgentNotFound,
                format!("there is no session '{id}'"),
            )
            .because("agent.session_not_found")
        })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    session_id: String,
    before_seq: Option<u64>,
    limit: Option<usize>,
}

async fn read(asked: Read, house: &House) -> Result<Value, Problem> {
    let chat = find(house, &asked.session_id).await?;
    let limit = asked.limit.unwrap_or(USUAL_PAGE).clamp(1, CHAT_PAGE);
    // Numbers are counted from 1.
    let end = asked.before_seq.map_or(chat.messages, |seq| {
        seq.saturating_sub(1).min(chat.messages)
    });
    let from = end.saturating_sub(limit as u64);
    let count = usize::try_from(end - from).unwrap_or(limit);
    let page = chats::read(house.store().chats(), &chat.id, from, count).await?;
    let messages = page.messages.iter().zip(from + 1..).map(|(message, seq)| {
        let run = agent_extra(message).and_then(|extra| extra.get("runId"));
        json!({
            "seq": seq,
            "runId": run,
            "createdAt": message.get("send_date"),
            "role": role(message),
            "message": message,
        })
    });
    let messages: Vec<Value> = messages.collect();
    let active = active(house, &chat.id).await?;
    Ok(json!({
        "session": shown(&chat)?,
        "messages": messages,
        "lastSeq": chat.messages,
        "nextBeforeSeq": (from > 0).then_some(from + 1),
        "activeRun": active,
    }))
}

/// The run that answers now.
async fn active(house: &House, session: &str) -> Result<Option<Value>, Problem> {
    let filter = RunFilter {
        stable_chat_id: Some(session.to_owned()),
        workspace_id: None,
        statuses: AT_WORK.to_vec(),
        before: None,
        limit: 1,
    };
    let page = house.agents.list(&filter).await?;
    let run = page.runs.first();
    Ok(run.map(|run| json!({ "runId": run.run_id, "status": run.status })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Send {
    session_id: String,
    text: String,
}

async fn send(asked: Send, house: Arc<House>) -> Result<Value, Problem> {
    let text = asked.text.trim();
    if text.is_empty() {
        return Err(
            Problem::new(ErrorCode::AgentValidationError, "message text is required")
                .because("agent.session_message_required"),
        );
    }
    let chat = find(&house, &asked.session_id).await?;
    if let Some(run) = active(&house, &chat.id).await? {
        let id = run["runId"].as_str().unwrap_or_default();
        return Err(Problem::new(
            ErrorCode::HttpConflict,
            format!(
                "the run '{id}' still answers in this session; wait for it, guide it or cancel it"
            ),
        )
        .because("agent.session_busy"));
    }
    let metadata = parsed(&chat.metadata)?;
    let named = metadata.get("profileId").and_then(Value::as_str);
    let profile = match named {
        Some(profile) => Some(profile.to_owned()),
        None => {
            let saved = off_the_road(house.clone(), |house| Ok(profile(house))).await?;
            saved.map(|_| PROFILE.to_owned())
        }
    };
    let run = StartRun {
        profile_id: profile,
        ..StartRun::default()
    };
    let session = chat.id.clone();
    let handle = chats::start(&house, chat, Some(text), run).await?;
    Ok(json!({ "sessionId": session, "runId": handle.run_id, "status": handle.status }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delete {
    session_id: String,
}

async fn delete(asked: Delete, house: &House) -> Result<Value, Problem> {
    let chat = find(house, &asked.session_id).await?;
    house.store().chats().remove(&chat.id).await?;
    Ok(Value::Null)
}

#[derive(Deserialize)]
struct Save {
    profile: Value,
}

fn profile(house: &House) -> Option<Value> {
    let profiles = house
        .agents
        .profiles_of(&UserId::default(), &ProjectId::default());
    let snapshot = house.tools.registry().snapshot();
    let loaded = profiles.load(PROFILE, Some(&*snapshot)).ok()?;
    serde_json::to_value(loaded.profile).ok()
}

fn save(house: &House, mut profile: Value) -> Result<Value, Problem> {
    let Some(fields) = profile.as_object_mut() else {
        return Err(
            Problem::new(ErrorCode::AgentValidationError, "profile must be an object")
                .because("agent.session_profile_missing"),
        );
    };
    fields.insert("id".to_owned(), PROFILE.into());
    super::profiles::save(house, &profile)?;
    Ok(Value::Null)
}
