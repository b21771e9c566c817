//! `innkeeper state schema`.

use innkeeper_agent::instance::AgentError;
use innkeeper_protocol::ErrorCode;
use serde_json::{Value as Json, json};

use super::{chat, failed, worlds};
use crate::cli::StateSchemaArgs;
use crate::commands::Ended;
use crate::failure::{Failure, Place};
use crate::home::Home;
use crate::input::{open, whole};
use crate::limits::MAX_STATE_SCHEMA_BYTES;
use crate::output::Screen;
use crate::platform::open_store;
use crate::runtime::block_on;

pub(super) fn run(args: &StateSchemaArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let schema = args.file.as_deref().map(read).transpose()?;
    let is_set = schema.is_some();
    let workspace = block_on(async {
        let store = open_store(home).await?;
        let set = async {
            let chat = chat(&store, &args.chat, args.kind).await?;
            let set = worlds(&store).set_schema(&chat.workspace, schema).await;
            set.map(|()| chat.workspace).map_err(failed)
        };
        let set = set.await;
        store.close().await?;
        set
    })?;
    match (screen.json, is_set) {
        (true, _) => screen.document(&json!({"workspaceId": workspace, "schema": is_set}))?,
        (false, true) => screen.note(
            "The world is held to this schema from now on",
            "世界状态从此必须符合这个 schema",
        ),
        (false, false) => screen.note(
            "The world is held to no schema any more",
            "世界状态不再需要符合 schema",
        ),
    }
    Ok(Ended::Done)
}

fn read(path: &std::path::Path) -> Result<Json, Failure> {
    let place = Place::file(path);
    let file = open(path, &place, Some(MAX_STATE_SCHEMA_BYTES))?;
    let text = whole(file, place, MAX_STATE_SCHEMA_BYTES)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("this is no JSON that can be read: {error}");
        AgentError::new(ErrorCode::AgentValidationError, message)
            .because("state.schema_invalid")
            .into()
    })
}
