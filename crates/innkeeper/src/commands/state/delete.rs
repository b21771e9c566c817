//! `innkeeper state delete`: what a chat has kept is gone for its later runs, after a person has said so.

use innkeeper_agent::instance::AgentError;
use innkeeper_agent::workspace::{PersistentStates, StatesInStore};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{ProfileId, WorkspaceId};
use innkeeper_store::{Store, run_of_state};
use serde::Serialize;

use super::{Chat, chat, failed, kept, no_state};
use crate::cli::StateDeleteArgs;
use crate::commands::Ended;
use crate::commands::runs::agreed;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::{open_store, open_store_to_read};
use crate::runtime::block_on;

/// What is meant, or what is gone.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    workspace_id: Option<WorkspaceId>,
    /// Whose private state it is; none: all that the states hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_id: Option<ProfileId>,
    world: bool,
    state_ids: Vec<String>,
    /// They stay: a run without an end needs them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_use_state_ids: Vec<String>,
}

pub(super) fn run(args: &StateDeleteArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let found = block_on(async {
        let store = open_store_to_read(home).await?;
        let found = look(&store, args).await;
        store.close().await?;
        found
    })?;
    if !args.yes {
        agreed(&question(&found, screen))?;
    }
    let gone = block_on(async {
        let store = open_store(home).await?;
        let gone = delete(&store, args).await;
        store.close().await?;
        gone
    })?;
    if screen.json {
        screen.document(&gone)?;
        return Ok(Ended::Done);
    }
    for id in &gone.in_use_state_ids {
        screen.note(
            &format!("{id} stays: a run without an end needs it"),
            &format!("{id} 保留：没有结束的运行需要它"),
        );
    }
    let count = gone.state_ids.len();
    screen.note(
        &format!(
            "Deleted: {}",
            match (gone.world, count) {
                (true, 0) => "the world".to_owned(),
                (true, count) => format!("the world and {count} states"),
                (false, count) => format!("from {count} states"),
            }
        ),
        &format!(
            "已删除：{}",
            match (gone.world, count) {
                (true, 0) => "世界状态".to_owned(),
                (true, count) => format!("世界状态和 {count} 个状态"),
                (false, count) => format!("涉及 {count} 个状态"),
            }
        ),
    );
    Ok(Ended::Done)
}

fn question(found: &Found, screen: &Screen) -> String {
    let count = found.state_ids.len();
    match (&found.profile_id, found.world) {
        (Some(profile), _) => screen.pick(
            format!("Delete the private state of {profile} from {count} states? [y/N] "),
            format!("从 {count} 个状态中删除 {profile} 的私有状态？[y/N] "),
        ),
        (None, true) if count == 0 => screen.pick(
            "Delete the world with its history and its schema? [y/N] ".to_owned(),
            "删除世界状态及其历史和 schema？[y/N] ".to_owned(),
        ),
        (None, true) => screen.pick(
            format!("Delete the world and {count} states with their files? [y/N] "),
            format!("删除世界状态和 {count} 个状态及其文件？[y/N] "),
        ),
        (None, false) => screen.pick(
            format!("Delete {count} states with their files? [y/N] "),
            format!("删除 {count} 个状态及其文件？[y/N] "),
        ),
    }
}

/// Fails where there is nothing of it.
async fn look(store: &Store, args: &StateDeleteArgs) -> Result<Found, Failure> {
    let chat = chat(store, &args.chat).await?;
    let (what, states) = (&args.what, StatesInStore::new(store.states()));
    let mut found = Found {
        workspace_id: Some(chat.workspace.clone()),
        ..Found::default()
    };
    if what.world || what.all {
        found.world = store.worlds().get(&chat.workspace).await?.is_some();
    }
    if what.all || what.private.is_some() {
        found.state_ids = of_chat(&states, &chat).await?;
    }
    if let Some(profile) = &what.private {
        let profile = ProfileId::new(profile.as_str());
        let kept = kept(store);
        let holding = kept.holding(&chat.workspace, &profile, &found.state_ids);
        found.state_ids = holding.await.map_err(failed)?;
        if found.state_ids.is_empty() {
            return Err(no_state(profile.as_str()));
        }
        found.profile_id = Some(profile);
    }
    match found.world || !found.state_ids.is_empty() {
        true => Ok(found),
        false => {
            let message = "there is nothing of it in this chat, so nothing was deleted";
            Err(AgentError::new(ErrorCode::AgentNotFound, message)
                .because("state.not_kept")
                .into())
        }
    }
}

/// All of its states, or those of the run that was named.
async fn of_chat(states: &StatesInStore, chat: &Chat) -> Result<Vec<String>, Failure> {
    let mut ids = states.list(&chat.workspace).await?;
    if let Some(run) = &chat.run {
        ids.retain(|id| run_of_state(id).0 == run.as_str());
    }
    Ok(ids)
}

async fn delete(store: &Store, args: &StateDeleteArgs) -> Result<Found, Failure> {
    // Nobody else may leave or correct anything meanwhile.
    let _lock = store.claim_home().await?;
    // What is there may have changed while a person was asked.
    let mut found = look(store, args).await?;
    let Some(workspace) = found.workspace_id.clone() else {
        return Ok(found);
    };
    if found.world {
        store.worlds().remove(&workspace).await?;
    }
    match &found.profile_id {
        Some(profile) => {
            let kept = kept(store);
            let forgotten = kept.forget(&workspace, profile, &found.state_ids);
            forgotten.await.map_err(failed)?;
        }
        None => {
            let states = StatesInStore::new(store.states());
            let gone = states.prune(&workspace, &found.state_ids).await?;
            found.in_use_state_ids = std::mem::take(&mut found.state_ids);
            found.in_use_state_ids.retain(|id| !gone.contains(id));
            found.state_ids = gone;
        }
    }
    Ok(found)
}
