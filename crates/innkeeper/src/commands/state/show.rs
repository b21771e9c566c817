//! `innkeeper state show`.

use innkeeper_agent::instance::AgentError;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::builtin::state::{StatePath, look_up};
use serde_json::{Value as Json, json};

use super::{chat, failed, no_state, private, worlds};
use crate::cli::StateShowArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store_to_read;
use crate::runtime::block_on;
use crate::visible;

pub(super) fn run(args: &StateShowArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let path = StatePath::parse(args.path.as_deref().unwrap_or_default()).map_err(failed)?;
    let shown = block_on(async {
        let store = open_store_to_read(home).await?;
        let shown = gather(&store, args, &path).await;
        store.close().await?;
        shown
    })?;
    if screen.json {
        screen.document(&shown)?;
        return Ok(Ended::Done);
    }
    if let Some(world) = shown.get("world") {
        let version = &world["version"];
        screen.text(&screen.pick(
            format!("World, version {version}"),
            format!("世界状态，版本 {version}"),
        ))?;
        screen.text(&visible::json(&world["value"]))?;
    }
    for state in shown["private"].as_array().into_iter().flatten() {
        let (profile, version) = (state["profileId"].as_str(), &state["version"]);
        let profile = profile.unwrap_or_default();
        screen.text(&screen.pick(
            format!("Private state of {profile}, version {version}"),
            format!("{profile} 的私有状态，版本 {version}"),
        ))?;
        screen.text(&visible::json(&state["value"]))?;
    }
    Ok(Ended::Done)
}

fn nowhere(path: &StatePath) -> Failure {
    let message =
        format!("neither the world nor a private state of this chat has anything at '{path}'");
    AgentError::new(ErrorCode::AgentNotFound, message)
        .because("state.path_not_found")
        .into()
}

async fn gather(
    store: &innkeeper_store::Store,
    args: &StateShowArgs,
    path: &StatePath,
) -> Result<Json, Failure> {
    let chat = chat(store, &args.chat).await?;
    // Where both are asked for, what is missing in one of them may stand in the other.
    let is_one = args.world || args.private.is_some();
    let at = |value: &Json| match look_up(value, path) {
        Ok(value) => Ok(Some(value.clone())),
        Err(error) if is_one => Err(failed(error)),
        Err(_) => Ok(None),
    };
    let mut shown = json!({"workspaceId": chat.workspace});
    if args.private.is_none() {
        let world = worlds(store).read(&chat.workspace).await.map_err(failed)?;
        if let Some(value) = at(&world.value)? {
            shown["world"] = json!({"version": world.version, "value": value});
            if let Some(schema) = world.schema {
                shown["world"]["schema"] = schema;
            }
        }
    }
    if !args.world {
        let mut all = Vec::new();
        for state in private(store, &chat).await? {
            let is_meant = match &args.private {
                None => true,
                Some(wanted) => state.profile_id.as_str() == wanted,
            };
            if is_meant && let Some(value) = at(&state.value)? {
                let (profile, version) = (&state.profile_id, state.version);
                all.push(json!({"profileId": profile, "version": version, "value": value}));
            }
        }
        match &args.private {
            Some(wanted) if all.is_empty() => return Err(no_state(wanted)),
            _ => shown["private"] = Json::Array(all),
        }
    }
    let is_empty = shown["private"].as_array().is_none_or(Vec::is_empty);
    match !is_one && shown.get("world").is_none() && is_empty {
        true => Err(nowhere(path)),
        false => Ok(shown),
    }
}
