//! `innkeeper state schema`.

use innkeeper_agent::instance::AgentError;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::WorkspaceId;
use serde_json::{Value as Json, json};

use super::{chat, failed, worlds};
use crate::cli::StateSchemaArgs;
use crate::commands::Ended;
use crate::failure::{Failure, Place};
use crate::home::Home;
use crate::input::{open, whole};
use crate::limits::MAX_STATE_SCHEMA_BYTES;
use crate::output::Screen;
use crate::platform::{open_store, open_store_to_read};
use crate::runtime::block_on;

pub(super) fn run(args: &StateSchemaArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match (&args.file, args.remove) {
        (Some(file), _) => set(args, Some(read(file)?), home, screen)?,
        (None, true) => set(args, None, home, screen)?,
        (None, false) => show(args, home, screen)?,
    }
    Ok(Ended::Done)
}

fn show(args: &StateSchemaArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    let (workspace, schema) = block_on(async {
        let store = open_store_to_read(home).await?;
        let found = async {
            let chat = chat(&store, &args.chat).await?;
            let world = worlds(&store).read(&chat.workspace).await;
            let schema = world.map_err(failed)?.schema;
            Ok::<(WorkspaceId, Option<Json>), Failure>((chat.workspace, schema))
        };
        let found = found.await;
        store.close().await?;
        found
    })?;
    match (screen.json, schema) {
        (true, schema) => screen.document(&json!({"workspaceId": workspace, "schema": schema})),
        (false, Some(schema)) => screen.indented(&schema),
        (false, None) => {
            screen.note(
                "The world is held to no schema",
                "世界状态不需要符合 schema",
            );
            Ok(())
        }
    }
}

fn set(
    args: &StateSchemaArgs,
    schema: Option<Json>,
    home: &Home,
    screen: &Screen,
) -> Result<(), Failure> {
    let told = schema.clone();
    let workspace = block_on(async {
        let store = open_store(home).await?;
        let set = async {
            let chat = chat(&store, &args.chat).await?;
            let set = worlds(&store).set_schema(&chat.workspace, schema).await;
            set.map(|()| chat.workspace).map_err(failed)
        };
        let set = set.await;
        store.close().await?;
        set
    })?;
    match (screen.json, told) {
        (true, told) => screen.document(&json!({"workspaceId": workspace, "schema": told}))?,
        (false, Some(_)) => screen.note(
            "The world is held to this schema from now on",
            "世界状态从此必须符合这个 schema",
        ),
        (false, None) => screen.note(
            "The world is held to no schema any more",
            "世界状态不再需要符合 schema",
        ),
    }
    Ok(())
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
