//! Laws of states, and their tools in a live run.

mod laws;
mod tools;
mod world;

use std::sync::Arc;

use innkeeper_protocol::event::{Presentation, WorkspaceId};
use innkeeper_store::Store;
use innkeeper_tools::SystemClock;
use serde_json::Value as Json;

use super::*;
use crate::run::{Created, Input};

fn created(agent: Json) -> Created {
    let changes = serde_json::json!({"agent": agent});
    let Input::Created(created) = crate::run::testing::created(Presentation::Background, changes)
    else {
        panic!("a run begins with this");
    };
    let mut created = Arc::unwrap_or_clone(created);
    created.private_state = Json::Object(created.profile.initial_private_state());
    created
}

async fn worlds() -> Worlds {
    let store = Store::in_memory().await.unwrap();
    Worlds::new(store.worlds(), Arc::new(SystemClock))
}

fn chat() -> WorkspaceId {
    WorkspaceId::new("chat_1")
}
