//! `innkeeper state …`: what agents keep for themselves and share, seen and corrected. What a state is, and what becomes of
//! it, is the agents' crate; here is what a person types and sees.

mod delete;
mod history;
mod schema;
mod set;
mod show;

use std::sync::Arc;

use innkeeper_agent::instance::{AgentError, RunReader};
use innkeeper_agent::state::{KeptState, KeptStates, Worlds};
use innkeeper_agent::workspace::{StatesInStore, workspace_id};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{RunId, WorkspaceId};
use innkeeper_store::Store;
use innkeeper_tools::{SystemClock, ToolError};

use super::{Ended, runs};
use crate::cli::{ChatArgs, StateCommand};
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;

pub(crate) fn run(command: &StateCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match command {
        StateCommand::Show(args) => show::run(args, home, screen),
        StateCommand::History(args) => history::run(args, home, screen),
        StateCommand::Set(args) => set::run(args, home, screen),
        StateCommand::Delete(args) => delete::run(args, home, screen),
        StateCommand::Schema(args) => schema::run(args, home, screen),
    }
}

fn failed(error: ToolError) -> Failure {
    AgentError::from(error).into()
}

/// The chat that is meant, and the run if it was named by one.
struct Chat {
    workspace: WorkspaceId,
    run: Option<RunId>,
}

async fn chat(store: &Store, args: &ChatArgs) -> Result<Chat, Failure> {
    if let Some(given) = &args.named.run {
        let reader = RunReader::new(store);
        let run = runs::find(&reader, given).await?;
        let workspace = reader.record(&run).await?.workspace_id;
        return Ok(Chat {
            workspace,
            run: Some(run),
        });
    }
    let given = args.named.chat.as_deref().unwrap_or_default().trim();
    let workspace = workspace_id(args.kind.as_str(), given).ok_or_else(|| {
        let message = "stableChatId cannot be the name of a workspace: it is empty or too long";
        AgentError::new(ErrorCode::AgentValidationError, message)
            .because("agent.invalid_stable_chat_id")
    })?;
    Ok(Chat {
        workspace,
        run: None,
    })
}

fn worlds(store: &Store) -> Worlds {
    Worlds::new(store.worlds(), Arc::new(SystemClock))
}

fn kept(store: &Store) -> KeptStates {
    KeptStates::new(
        Arc::new(StatesInStore::new(store.states())),
        store.contents(),
        Arc::new(SystemClock),
    )
}

/// What the run that was named has left, or what the next run of the chat begins with.
async fn left(store: &Store, chat: &Chat) -> Result<Option<String>, Failure> {
    let reader = RunReader::new(store);
    let states = StatesInStore::new(store.states());
    Ok(match &chat.run {
        Some(run) => reader.kept_state(run).await?,
        None => reader.standing_state(&states, &chat.workspace).await?,
    })
}

/// Private states as they are in the run that was named, or as the next run of the chat begins with them.
async fn private(store: &Store, chat: &Chat) -> Result<Vec<KeptState>, Failure> {
    let kept = kept(store);
    if let Some(run) = &chat.run {
        let run = RunReader::new(store).state(run).await?;
        let files = run.workspace().files.iter();
        return kept.read(files).await.map_err(failed);
    }
    match left(store, chat).await? {
        Some(state) => kept.list(&chat.workspace, &state).await.map_err(failed),
        None => Ok(Vec::new()),
    }
}

fn no_state(profile: &str) -> Failure {
    let message = format!(
        "the agent '{profile}' has no private state in this chat: it has changed nothing of what its profile gives it"
    );
    AgentError::new(ErrorCode::AgentNotFound, message)
        .because("state.not_kept")
        .into()
}
