//! `innkeeper runs memory …`: what runs of a chat have left for later ones.

use std::collections::BTreeSet;

use innkeeper_agent::instance::{RunReader, state};
use innkeeper_agent::workspace::persist::COPIED;
use innkeeper_agent::workspace::{
    PersistentState, PersistentStates, StateChat, StatesInStore, workspace_id,
};
use innkeeper_protocol::event::WorkspaceId;
use innkeeper_store::Store;
use innkeeper_store::journal::RunFilter;
use serde_json::json;

use super::cancel::with_runtime;
use super::delete::agreed;
use super::diff::{Compared, print};
use super::find::find;
use crate::cli::{
    ChatKind, MemoryCopyArgs, MemoryDiffArgs, MemoryListArgs, MemoryPruneArgs, MemoryShowArgs,
    RunsMemoryCommand,
};
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, message};
use crate::home::Home;
use crate::limits::RUNS_PAGE;
use crate::output::Screen;
use crate::platform::open_store_to_read;
use crate::runtime::block_on;
use crate::suggest::nearest;
use crate::table::Table;

pub(super) fn run(
    command: &RunsMemoryCommand,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    match command {
        RunsMemoryCommand::List(args) => list(args, home, screen)?,
        RunsMemoryCommand::Show(args) => show(args, home, screen)?,
        RunsMemoryCommand::Diff(args) => diff(args, home, screen)?,
        RunsMemoryCommand::Copy(args) => copy(args, home, screen)?,
        RunsMemoryCommand::Prune(args) => prune(args, home, screen)?,
    }
    Ok(Ended::Done)
}

/// What is known, for those who only look.
struct Known {
    store: Store,
    reader: RunReader,
    states: StatesInStore,
}

fn looking<T>(
    home: &Home,
    work: impl AsyncFnOnce(&Known) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let store = open_store_to_read(home).await?;
        let known = Known {
            reader: RunReader::new(&store),
            states: StatesInStore::new(store.states()),
            store,
        };
        let end = work(&known).await;
        known.store.close().await?;
        end
    })
}

const WORKSPACE: &str = "chat_";
const LAST: &str = "last";

/// A workspace by its id, by the name of its chat, or by one of its runs.
async fn workspace(
    reader: &RunReader,
    states: &dyn PersistentStates,
    given: &str,
) -> Result<WorkspaceId, Failure> {
    let given = given.trim();
    if given.starts_with(WORKSPACE) {
        return Ok(WorkspaceId::new(given));
    }
    if given != LAST
        && let Some(named) = named_chat(reader, states, given).await?
    {
        return Ok(named);
    }
    match find(reader, given).await {
        Ok(run) => Ok(reader.record(&run).await?.workspace_id),
        Err(Failure::Run(RunFault::Unknown { given, near })) => {
            Err(RunFault::NoChat { given, near }.into())
        }
        // All its runs may be gone, and those of all other chats.
        Err(Failure::Run(RunFault::None)) if given != LAST => Err(RunFault::NoChat {
            given: given.to_owned(),
            near: None,
        }
        .into()),
        Err(failure) => Err(failure),
    }
}

/// By the stable id that its runs know, or under which a memory is left of runs that are gone.
async fn named_chat(
    reader: &RunReader,
    states: &dyn PersistentStates,
    given: &str,
) -> Result<Option<WorkspaceId>, Failure> {
    let filter = RunFilter {
        stable_chat_id: Some(given.to_owned()),
        limit: RUNS_PAGE,
        ..RunFilter::default()
    };
    let runs = reader.list(&filter).await?.runs;
    let mut found: BTreeSet<WorkspaceId> = runs.into_iter().map(|run| run.workspace_id).collect();
    if let Some(session) = workspace_id(ChatKind::Session.as_str(), given)
        && !states.list(&session).await?.is_empty()
    {
        found.insert(session);
    }
    if found.len() > 1 {
        return Err(RunFault::SeveralChats {
            given: given.to_owned(),
            workspaces: found.iter().map(WorkspaceId::to_string).collect(),
        }
        .into());
    }
    Ok(found.pop_first())
}

/// What a chat is called, if one of its runs or states says so.
async fn name_of(known: &Known, workspace: &WorkspaceId) -> Result<Option<String>, Failure> {
    let filter = RunFilter {
        workspace_id: Some(workspace.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    if let Some(run) = known.reader.list(&filter).await?.runs.into_iter().next() {
        return Ok(Some(run.stable_chat_id));
    }
    let Some(newest) = known.states.list(workspace).await?.pop() else {
        return Ok(None);
    };
    let state = known.states.load(workspace, &newest).await?;
    let chat = state.and_then(|state| state.chat);
    Ok(chat.map(|chat| chat.stable_chat_id))
}

/// The last of them is that of the run begun last.
async fn named(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    given: &str,
) -> Result<String, Failure> {
    let ids = states.list(workspace).await?;
    chosen(given, &ids).ok_or_else(|| {
        RunFault::NoState {
            given: given.to_owned(),
            workspace: workspace.to_string(),
            near: nearest(given, ids.iter().map(String::as_str)),
        }
        .into()
    })
}

fn chosen(given: &str, ids: &[String]) -> Option<String> {
    let given = given.trim();
    if given == LAST {
        return ids.last().cloned();
    }
    if let Some(exact) = ids.iter().find(|id| *id == given) {
        return Some(exact.clone());
    }
    let fits = |id: &&String| {
        let bare = id.strip_prefix("run_").or(id.strip_prefix(COPIED));
        let bare = bare.unwrap_or(id);
        !given.is_empty() && (id.starts_with(given) || bare.starts_with(given))
    };
    match ids.iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [one] => Some((*one).clone()),
        _ => None,
    }
}

fn list(args: &MemoryListArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    looking(home, async |known| match &args.chat {
        None => chats(known, screen).await,
        Some(chat) => {
            let workspace = workspace(&known.reader, &known.states, chat).await?;
            states(known, &workspace, screen).await
        }
    })
}

async fn chats(known: &Known, screen: &Screen) -> Result<(), Failure> {
    let mut all: Vec<(WorkspaceId, u64)> = Vec::new();
    loop {
        let after = all.last().map(|(workspace, _)| workspace.as_str());
        let page = known.store.states().workspaces(after).await?;
        if page.is_empty() {
            break;
        }
        all.extend(page);
    }
    if screen.json {
        let mut chats = Vec::new();
        for (workspace, count) in &all {
            let name = name_of(known, workspace).await?;
            chats
                .push(json!({"workspaceId": workspace, "stableChatId": name, "stateCount": count}));
        }
        return screen.document(&json!({"workspaces": chats}));
    }
    if all.is_empty() {
        screen.note("No chat has a memory yet", "还没有聊天有记忆");
        return Ok(());
    }
    let mut table =
        Table::new(&screen.pick(["WORKSPACE", "CHAT", "STATES"], ["工作区", "聊天", "状态"]));
    for (workspace, count) in &all {
        let name = name_of(known, workspace).await?.unwrap_or_default();
        table.row([workspace.as_str(), &name, &count.to_string()]);
    }
    screen.table(&table)
}

async fn states(known: &Known, workspace: &WorkspaceId, screen: &Screen) -> Result<(), Failure> {
    let headings = screen.pick(
        ["STATE", "BASE", "FILES", "BYTES"],
        ["状态", "起点", "文件", "字节"],
    );
    let mut table = Table::new(&headings);
    let mut documents = Vec::new();
    for id in known.states.list(workspace).await? {
        let Some(state) = known.states.load(workspace, &id).await? else {
            continue;
        };
        let bytes: u64 = state.files.values().map(|file| file.bytes).sum();
        let base = state.base_state_id.as_deref().unwrap_or_default();
        let files = state.files.len();
        table.row([id.as_str(), base, &files.to_string(), &bytes.to_string()]);
        documents.push(json!({
            "stateId": id, "baseStateId": state.base_state_id, "fileCount": files, "byteCount": bytes,
        }));
    }
    match (screen.json, documents.is_empty()) {
        (true, _) => screen.document(&json!({"workspaceId": workspace, "states": documents})),
        (false, true) => {
            screen.note("This chat has no memory", "这个聊天没有记忆");
            Ok(())
        }
        (false, false) => screen.table(&table),
    }
}

fn show(args: &MemoryShowArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    looking(home, async |known| {
        let workspace = workspace(&known.reader, &known.states, &args.chat).await?;
        let id = named(&known.states, &workspace, &args.state).await?;
        let state = state(&known.states, &workspace, &id).await?;
        match &args.file {
            None => files(&state, screen),
            Some(path) => {
                let Some(info) = state.files.get(path) else {
                    return Err(RunFault::NoMemoryFile {
                        state: id,
                        path: path.clone(),
                        near: nearest(path, state.files.keys().map(String::as_str)),
                    }
                    .into());
                };
                let file = known.reader.content(path, info).await?;
                match screen.json {
                    true => screen.document(&file),
                    false => screen.text(&file.text),
                }
            }
        }
    })
}

fn files(state: &PersistentState, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.document(state);
    }
    if state.files.is_empty() {
        screen.note("It is empty", "它是空的");
        return Ok(());
    }
    let mut table = Table::new(&screen.pick(["FILE", "BYTES"], ["文件", "字节"]));
    for (path, file) in &state.files {
        table.row([path.as_str(), &file.bytes.to_string()]);
    }
    screen.table(&table)
}

fn diff(args: &MemoryDiffArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    let diff = looking(home, async |known| {
        let workspace = workspace(&known.reader, &known.states, &args.chat).await?;
        let id = async |given: &str| match given {
            "none" => Ok::<_, Failure>(None),
            given => named(&known.states, &workspace, given).await.map(Some),
        };
        let (from, to) = (id(&args.from).await?, id(&args.to).await?);
        let states = &known.states;
        let compared = known
            .reader
            .state_diff(states, &workspace, from.as_deref(), to.as_deref());
        Ok(compared.await?)
    })?;
    if screen.json {
        return screen.document(&diff);
    }
    let compared = Compared {
        files: &diff.files,
        totals: &diff.totals,
    };
    print(&compared, args.stat, screen)
}

fn copy(args: &MemoryCopyArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    let (done, is_new) = with_runtime(home, screen, async |runtime, store| {
        let reader = runtime.reader();
        let states = StatesInStore::new(store.states());
        let source = workspace(&reader, &states, &args.chat).await?;
        let (target, new) = match workspace(&reader, &states, &args.target).await {
            Err(Failure::Run(RunFault::NoChat { given, near })) => {
                let (target, chat) = new_chat(&given).ok_or(RunFault::NoChat { given, near })?;
                (target, Some(chat))
            }
            known => (known?, None),
        };
        let is_new = new.is_some();
        let done = runtime.copy_states(&source, &target, new).await?;
        Ok((done, is_new))
    })?;
    if screen.json {
        return screen.document(&done);
    }
    let (copied, kept) = (done.copied_state_count, done.kept_state_count);
    screen.text(&screen.pick(
        format!("{copied} states copied, {kept} were there"),
        format!("复制了 {copied} 个状态，已有 {kept} 个"),
    ))?;
    if let Some(state) = &done.state_id {
        let chat = message(args.target.trim());
        screen.note(
            &match is_new {
                true => format!("The chat '{chat}' is new; its first run begins with {state}"),
                false => format!("The next run of '{chat}' begins with {state}"),
            },
            &match is_new {
                true => format!("聊天“{chat}”是新的；它的第一次运行从 {state} 开始"),
                false => format!("“{chat}”的下一次运行从 {state} 开始"),
            },
        );
    }
    Ok(())
}

/// A chat of `innkeeper run --chat` that no run knows yet. What looks like a run or a workspace is none.
fn new_chat(given: &str) -> Option<(WorkspaceId, StateChat)> {
    let given = given.trim();
    let is_taken = given == LAST || given.starts_with("run_") || given.starts_with(WORKSPACE);
    let kind = ChatKind::Session.as_str();
    let workspace = workspace_id(kind, given).filter(|_| !is_taken)?;
    let chat = StateChat {
        kind: kind.to_owned(),
        stable_chat_id: given.to_owned(),
    };
    Some((workspace, chat))
}

fn prune(args: &MemoryPruneArgs, home: &Home, screen: &Screen) -> Result<(), Failure> {
    let (workspace, ids) = looking(home, async |known| {
        let workspace = workspace(&known.reader, &known.states, &args.chat).await?;
        let mut ids = Vec::new();
        for given in &args.states {
            ids.push(named(&known.states, &workspace, given).await?);
        }
        Ok((workspace, ids))
    })?;
    if !args.yes {
        let (count, list) = (ids.len(), ids.join(", "));
        agreed(&screen.pick(
            format!("Remove {count} states of {workspace} ({list})? [y/N] "),
            format!("删除 {workspace} 的 {count} 个状态（{list}）？[y/N] "),
        ))?;
    }
    let done = with_runtime(home, screen, async |runtime, _| {
        Ok(runtime.prune_states(&workspace, &ids).await?)
    })?;
    if screen.json {
        return screen.document(&done);
    }
    for id in &done.in_use_state_ids {
        screen.note(
            &format!("{id} stays: a run without an end needs it"),
            &format!("{id} 保留：没有结束的运行需要它"),
        );
    }
    let count = done.removed_state_ids.len();
    screen.text(&screen.pick(
        format!("{count} states removed"),
        format!("删除了 {count} 个状态"),
    ))
}

#[cfg(test)]
mod tests {
    use super::{chosen, new_chat};

    #[test]
    fn what_looks_like_a_run_is_no_new_chat() {
        for name in ["last", "run_0197aa", "chat_84134139c4785d9f", "", " "] {
            assert!(new_chat(name).is_none(), "{name}");
        }
        let (_, chat) = new_chat("branch").unwrap();
        assert_eq!(
            (chat.kind.as_str(), chat.stable_chat_id.as_str()),
            ("session", "branch")
        );
    }

    #[test]
    fn states_are_named_like_runs() {
        let ids = ["copy_0199dd", "run_0197aa", "run_0197bb", "run_0198cc"].map(str::to_owned);
        for (given, expected) in [
            ("last", Some("run_0198cc")),
            ("run_0197aa", Some("run_0197aa")),
            ("0198", Some("run_0198cc")),
            (" run_0197b", Some("run_0197bb")),
            ("0199", Some("copy_0199dd")),
            ("0197", None),
            ("", None),
            ("none", None),
        ] {
            assert_eq!(chosen(given, &ids).as_deref(), expected, "{given}");
        }
        assert_eq!(chosen("last", &[]), None);
    }
}
