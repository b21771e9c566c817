//! A message in the form that taverns write, and what it says of the run that wrote it. Pure.

use innkeeper_agent::chat::Role;
use innkeeper_agent::workspace::host::HostFile;
use innkeeper_protocol::event::{ChatCommitRequested, MetadataUpdateRequested};
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

/// Something said, without anything else.
pub(crate) struct Said<'a> {
    pub(crate) role: Role,
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) at: Timestamp,
}

pub(crate) fn plain(said: &Said<'_>) -> Json {
    json!({
        "name": said.name,
        "is_user": said.role == Role::User,
        "is_system": said.role == Role::System,
        "send_date": said.at.to_string(),
        "mes": said.text,
        "extra": {},
    })
}

pub(crate) fn role(message: &Json) -> Role {
    let is = |name: &str| message.get(name).and_then(Json::as_bool) == Some(true);
    if is("is_user") {
        Role::User
    } else if is("is_system") {
        Role::System
    } else {
        Role::Assistant
    }
}

pub(crate) fn text(message: &Json) -> &str {
    let text = message.get("mes").and_then(Json::as_str);
    text.unwrap_or_default()
}

/// `extra.tauritavern.agent`, of version 1 or 2.
pub(crate) fn agent_extra(message: &Json) -> Option<&Map<String, Json>> {
    message.pointer("/extra/tauritavern/agent")?.as_object()
}

pub(super) fn is_of_run(message: &Json, run: &str) -> bool {
    let of = agent_extra(message).and_then(|extra| extra.get("runId"));
    of.and_then(Json::as_str) == Some(run)
}

pub(super) fn commits(extra: &Map<String, Json>) -> &[Json] {
    let commits = extra.get("commits").and_then(Json::as_array);
    commits.map_or(&[], Vec::as_slice)
}

pub(super) fn holds_commit(message: &Json, commit: &str) -> bool {
    agent_extra(message).is_some_and(|extra| {
        let is_it = |one: &Json| one.get("commitId").and_then(Json::as_str) == Some(commit);
        extra.get("commitId").and_then(Json::as_str) == Some(commit)
            || commits(extra).iter().any(is_it)
    })
}

/// What is said of a commit, after those that the message holds already.
pub(super) fn next_extra(
    commit: &ChatCommitRequested,
    file: &HostFile,
    earlier: Option<&Map<String, Json>>,
    swipe: Option<usize>,
) -> Json {
    let mut all = earlier.map_or_else(Vec::new, |extra| commits(extra).to_vec());
    let numbers = all
        .iter()
        .filter_map(|one| one.get("seq").and_then(Json::as_u64));
    let seq = numbers.max().unwrap_or_default() + 1;
    let mut entry = json!({
        "seq": seq,
        "commitId": commit.commit_id,
        "checkpointId": commit.checkpoint_id,
        "path": commit.path,
        "mode": commit.mode,
        "bytes": file.bytes,
        "chars": file.chars,
        "words": file.words,
        "sha256": file.sha256,
    });
    if let Some(reason) = &commit.reason {
        entry["reason"] = reason.as_str().into();
    }
    all.push(entry);
    let rollback = earlier.and_then(|extra| extra.get("rollback")).cloned();
    let rollback = rollback.unwrap_or_else(|| match swipe {
        Some(swipe) => json!({ "strategy": "deleteSwipe", "swipeId": swipe }),
        None => json!({ "strategy": "deleteMessage" }),
    });
    json!({
        "version": 2,
        "runId": commit.run_id,
        "workspaceId": commit.workspace_id,
        "stableChatId": commit.stable_chat_id,
        "profileId": commit.profile_id,
        "persistBaseStateId": commit.persist_base_state_id,
        "persistStateStatus": "not_committed",
        "checkpointId": commit.checkpoint_id,
        "commitId": commit.commit_id,
        "commitSeq": seq,
        "commits": all,
        "rollback": rollback,
        "artifacts": [{
            "path": commit.path,
            "target": "message_body",
            "bytes": file.bytes,
            "chars": file.chars,
            "words": file.words,
            "sha256": file.sha256,
        }],
    })
}

/// What becomes of it when the run's memory is kept.
pub(super) fn with_state(extra: &Map<String, Json>, update: &MetadataUpdateRequested) -> Json {
    let mut extra = extra.clone();
    if let Some(base) = &update.base_state_id {
        extra.insert("persistBaseStateId".to_owned(), base.as_str().into());
    }
    extra.insert("persistStateStatus".to_owned(), "committed".into());
    extra.insert("persistStateId".to_owned(), update.state_id.as_str().into());
    extra.insert("persistChangeCount".to_owned(), update.change_count.into());
    Json::Object(extra)
}

/// Puts it into the message, and into the swipe that is shown.
pub(super) fn write_extra(message: &mut Json, agent: &Json) {
    let shown = shown_swipe(message);
    put(message, agent);
    let swipe = message
        .get_mut("swipe_info")
        .and_then(|infos| infos.get_mut(shown));
    if let Some(swipe) = swipe {
        put(swipe, agent);
    }
}

fn put(holder: &mut Json, agent: &Json) {
    let Some(holder) = holder.as_object_mut() else {
        return;
    };
    let mut extra = taken(holder, "extra");
    let mut tavern = taken(&mut extra, "tauritavern");
    tavern.insert("agent".to_owned(), agent.clone());
    extra.insert("tauritavern".to_owned(), tavern.into());
    holder.insert("extra".to_owned(), extra.into());
}

fn taken(holder: &mut Map<String, Json>, name: &str) -> Map<String, Json> {
    match holder.remove(name) {
        Some(Json::Object(fields)) => fields,
        _ => Map::new(),
    }
}

pub(super) fn shown_swipe(message: &Json) -> usize {
    let shown = message.get("swipe_id").and_then(Json::as_u64);
    shown
        .and_then(|shown| usize::try_from(shown).ok())
        .unwrap_or_default()
}

/// The text, also of the swipe that is shown.
pub(super) fn set_text(message: &mut Json, text: &str) {
    let shown = shown_swipe(message);
    message["mes"] = text.into();
    let swipe = message
        .get_mut("swipes")
        .and_then(|swipes| swipes.get_mut(shown));
    if let Some(swipe) = swipe {
        *swipe = text.into();
    }
}

/// One more way to say it, which is shown from now on. Gives its number.
pub(super) fn add_swipe(message: &mut Json, text: &str, at: Timestamp) -> usize {
    let first = message["mes"].clone();
    let info = json!({ "send_date": message["send_date"], "extra": message["extra"] });
    let list = |message: &mut Json, name: &str, first: Json| match message
        .get_mut(name)
        .and_then(Json::as_array_mut)
    {
        Some(list) if !list.is_empty() => {}
        _ => message[name] = json!([first]),
    };
    list(message, "swipes", first);
    list(message, "swipe_info", info);
    let number = message["swipes"].as_array().map_or(0, Vec::len);
    if let Some(swipes) = message["swipes"].as_array_mut() {
        swipes.push(text.into());
    }
    if let Some(infos) = message["swipe_info"].as_array_mut() {
        infos.resize(number, json!({ "extra": {} }));
        infos.push(json!({ "send_date": at.to_string(), "extra": {} }));
    }
    message["swipe_id"] = number.into();
    message["mes"] = text.into();
    message["send_date"] = at.to_string().into();
    message["extra"] = json!({});
    number
}

/// The one that the run has added goes; the one before it is shown. Says whether there is another.
pub(super) fn drop_swipe(message: &mut Json) -> bool {
    let at = agent_extra(message)
        .and_then(|extra| extra.get("rollback")?.get("swipeId")?.as_u64())
        .and_then(|at| usize::try_from(at).ok())
        .unwrap_or_else(|| shown_swipe(message));
    let Some(swipes) = message.get_mut("swipes").and_then(Json::as_array_mut) else {
        return false;
    };
    if swipes.len() < 2 || at >= swipes.len() {
        return false;
    }
    swipes.remove(at);
    let shown = at.saturating_sub(1).min(swipes.len() - 1);
    let text = swipes[shown].clone();
    let info = message.get_mut("swipe_info").and_then(Json::as_array_mut);
    let info = info.and_then(|infos| {
        if at < infos.len() {
            infos.remove(at);
        }
        infos.get(shown).cloned()
    });
    message["mes"] = text;
    message["swipe_id"] = shown.into();
    let info = info.unwrap_or_default();
    message["extra"] = info.get("extra").cloned().unwrap_or_else(|| json!({}));
    if let Some(date) = info.get("send_date") {
        message["send_date"] = date.clone();
    }
    true
}
