//! `innkeeper state set`.

use innkeeper_agent::instance::AgentError;
use innkeeper_agent::profile::Profiles;
use innkeeper_agent::state::Author;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::ProfileId;
use innkeeper_store::Store;
use innkeeper_tools::UserId;
use innkeeper_tools::builtin::state::{Change, Updated, read_json};
use serde_json::Value as Json;

use super::{chat, failed, kept, left, worlds};
use crate::cli::StateSetArgs;
use crate::commands::{Ended, project};
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;
use crate::visible::visible;

pub(super) fn run(args: &StateSetArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let value = args.value.as_deref().map(|text| {
        let read = read_json(text).map_err(failed)?;
        Ok::<Json, Failure>(read.unwrap_or_else(|| Json::String(text.to_owned())))
    });
    let value = value.transpose()?;
    let change = Change::new(args.op.as_str(), &args.path, value).map_err(failed)?;
    let updated = block_on(async {
        let store = open_store(home).await?;
        let updated = update(&store, args, home, &[change]).await;
        store.close().await?;
        updated
    })?;
    if screen.json {
        screen.document(&updated)?;
        return Ok(Ended::Done);
    }
    let (version, paths) = (updated.version, visible(&updated.paths.join(", ")));
    match updated.paths.is_empty() {
        true => screen.note(
            &format!("It was so already, at version {version}"),
            &format!("本来就是这样，版本 {version}"),
        ),
        false => screen.note(
            &format!("Changed: {paths}; it is at version {version} now"),
            &format!("已更改：{paths}；现在是版本 {version}"),
        ),
    }
    Ok(Ended::Done)
}

async fn update(
    store: &Store,
    args: &StateSetArgs,
    home: &Home,
    changes: &[Change],
) -> Result<Updated, Failure> {
    let chat = chat(store, &args.chat).await?;
    let expected = args.expected_version;
    let Some(wanted) = &args.private else {
        let worlds = worlds(store);
        let updated = worlds.update(&chat.workspace, Author::Person, None, changes, expected);
        return updated.await.map_err(failed);
    };
    // Nobody else may leave or correct anything meanwhile.
    let _lock = store.claim_home().await?;
    let project = project(&args.project)?;
    let profiles = Profiles::of_project(home.path(), &UserId::default(), &project);
    let loaded = profiles.load(wanted, None).map_err(|error| {
        let refused = AgentError::new(error.code(), error.to_string());
        match error.reason() {
            Some(reason) => refused.because(reason),
            None => refused,
        }
    })?;
    let profile = &loaded.profile;
    let schema = &profile.agent.private_state_schema;
    let initial = Json::Object(profile.initial_private_state());
    let kept = kept(store);
    let state = left(store, &chat).await?.ok_or_else(|| {
        let message = match &chat.run {
            Some(run) => format!(
                "the run '{run}' has left nothing to this chat: it is not complete, or what it left was taken back"
            ),
            None => "no run of this chat is complete, so none has left a private state to correct"
                .to_owned(),
        };
        AgentError::new(ErrorCode::AgentNotFound, message).because("state.not_kept")
    })?;
    let of = (
        &ProfileId::new(wanted.as_str()),
        initial,
        (!schema.is_null()).then_some(schema),
    );
    let updated = kept.update(&chat.workspace, &state, of, changes, expected);
    updated.await.map_err(failed)
}
