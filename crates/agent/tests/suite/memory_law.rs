//! Random courses of runs in chats, with rollbacks, undoing them, going on from there, swipes and deletions of messages,
//! deletions of runs and of what they left, copies from chat to chat, and restarts; beside a naive model that forgets nothing. Whatever came before,
//! the next run of a chat begins with what the model says.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_agent::instance::{
    ChatName, ChatSource, DiffEnd, RetentionQuery, RetentionSettings, Rollback, StartPrompt,
    StartRun,
};
use innkeeper_agent::workspace::{PersistentStates, StatesInStore, workspace_id};
use innkeeper_engine::NodeError;
use innkeeper_protocol::event::{RollbackScope, RunId, RunStatus, WorkspaceId};
use innkeeper_store::run_of_state;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::harness::{House, Say};
use super::undo::write;

/// The paths in `persist`: each is written once.
type Files = BTreeSet<String>;

/// What a run was at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
struct Copied {
    files: Files,
    /// The state that it had left by then.
    kept: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chat {
    /// By name, without a host.
    Named(u8),
    Hosted,
    None,
}

impl Chat {
    const ALL: [Self; 5] = [
        Self::Named(0),
        Self::Named(1),
        Self::Named(2),
        Self::Hosted,
        Self::None,
    ];

    fn name(number: u8) -> String {
        format!("evening {number}")
    }
}

/// What a person has copied from one chat by name to another.
struct CopiedState {
    to: u8,
    state: String,
    /// How many runs had been begun.
    after: usize,
}

struct Naive {
    run: RunId,
    chat: Chat,
    workspace: WorkspaceId,
    /// When it ended last.
    ended: u64,
    now: Copied,
    /// `start` and all checkpoints.
    at: BTreeMap<String, Copied>,
    checkpoints: u64,
    rollbacks: u64,
    undo: Option<String>,
    is_slim: bool,
    is_gone: bool,
}

impl Naive {
    fn keep(&mut self, copy: Copied) -> String {
        self.checkpoints += 1;
        let id = format!("cp_{:06}", self.checkpoints);
        self.at.insert(id.clone(), copy);
        id
    }

    fn state_id(&self) -> String {
        match self.rollbacks {
            0 => self.run.to_string(),
            number => format!("{}.{number}", self.run),
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_gone && !self.is_slim
    }
}

#[derive(Default)]
struct Model {
    /// In the order in which they were begun.
    runs: Vec<Naive>,
    /// The last one at the end.
    copies: Vec<CopiedState>,
    /// What each state holds.
    states: BTreeMap<String, Files>,
    /// Answers of the chat with a host, with the states that they name.
    messages: Vec<String>,
    time: u64,
    written: u64,
}

impl Model {
    /// What the next run of a chat begins with.
    fn base(&self, chat: Chat, swipes: bool) -> Option<String> {
        match chat {
            Chat::None => None,
            Chat::Hosted => {
                let seen = self.messages.len().saturating_sub(usize::from(swipes));
                self.messages[..seen].last().cloned()
            }
            Chat::Named(number) => {
                // The newest of what its runs have left and of what was copied to it.
                let runs = self.runs.iter().enumerate();
                let runs = runs.filter(|(_, run)| run.chat == chat);
                let kept = runs.filter_map(|(at, run)| Some((at + 1, run.now.kept.as_ref()?)));
                let copies = self.copies.iter().filter(|copy| copy.to == number);
                let copied = copies.map(|copy| (copy.after, &copy.state));
                let there = kept
                    .chain(copied)
                    .filter(|(_, state)| self.states.contains_key(*state));
                // Of equals the last is found, and that is a copy.
                there
                    .max_by_key(|(at, _)| *at)
                    .map(|(_, state)| state.clone())
            }
        }
    }

    fn files(&self, state: Option<&String>) -> Files {
        let files = state.and_then(|state| self.states.get(state));
        files.cloned().unwrap_or_default()
    }

    fn ended(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn path(&mut self) -> String {
        self.written += 1;
        format!("persist/{}.md", self.written)
    }
}

fn asked(model: &Model, chat: Chat, swipes: bool) -> StartRun {
    let answer = |state: &String| {
        json!({"name": "a", "is_user": false, "mes": "Hello", "extra": {"tauritavern": {"agent": {
            "persistStateStatus": "committed", "persistStateId": state}}}})
    };
    let start = StartRun {
        profile_id: Some("worker".to_owned()),
        prompt: Some(StartPrompt::Message("Go on".to_owned())),
        ..StartRun::default()
    };
    match chat {
        Chat::None => start,
        Chat::Named(number) => StartRun {
            stable_chat_id: Some(Chat::name(number)),
            ..start
        },
        Chat::Hosted => {
            let mut messages: Vec<Json> = vec![json!({"name": "u", "is_user": true, "mes": "Hi"})];
            messages.extend(model.messages.iter().map(answer));
            StartRun {
                chat_ref: Some(json!({"kind": "group", "chatId": "1"})),
                stable_chat_id: Some(Chat::name(0)),
                chat: ChatSource::Messages(messages),
                generation_type: swipes.then(|| "swipe".to_owned()),
                ..start
            }
        }
    }
}

async fn persisted(house: &House, run: &RunId, at: &DiffEnd) -> Files {
    let tree = house.runtime.reader().files_at(run, at).await.unwrap();
    let paths = tree.0.into_keys();
    paths.filter(|path| path.starts_with("persist/")).collect()
}

/// A run begins in the chat, writes a file, and is complete, or fails.
async fn begins(house: &House, model: &mut Model, chat: Chat, swipes: bool, fails: bool) {
    // Only an answer can be written anew.
    let swipes = swipes && chat == Chat::Hosted && !model.messages.is_empty();
    let base = model.base(chat, swipes);
    let begun = model.files(base.as_ref());
    let path = model.path();
    house.script.say(&write(&path, "text"));
    match fails {
        false => house.script.say("Done."),
        true => house
            .script
            .push(Say::Fail(NodeError::invalid("model.bad", "no"))),
    }
    let run = house
        .runtime
        .start(asked(model, chat, swipes))
        .await
        .unwrap();
    let (handle, events) = house.end_of(&run.run_id).await;
    let expected = match fails {
        false => RunStatus::Completed,
        true => RunStatus::Failed,
    };
    assert_eq!(handle.status, expected, "{:?}", events.last());
    assert_eq!(
        persisted(house, &run.run_id, &DiffEnd::Start).await,
        begun,
        "{chat:?} begins with {base:?}"
    );
    let mut naive = Naive {
        run: run.run_id.clone(),
        chat,
        workspace: run.workspace_id.clone(),
        ended: model.ended(),
        now: Copied::default(),
        at: BTreeMap::new(),
        checkpoints: 0,
        rollbacks: 0,
        undo: None,
        is_slim: false,
        is_gone: false,
    };
    let start = Copied {
        files: begun,
        kept: None,
    };
    naive.at.insert("start".to_owned(), start.clone());
    naive.now = start;
    wrote(model, &mut naive, path, fails);
    if chat == Chat::Hosted && !fails {
        if swipes {
            model.messages.pop();
        }
        model.messages.push(run.run_id.to_string());
    }
    model.runs.push(naive);
}

fn wrote(model: &mut Model, naive: &mut Naive, path: String, fails: bool) {
    naive.now.files.insert(path);
    naive.keep(naive.now.clone());
    if !fails {
        let state = naive.state_id();
        model.states.insert(state.clone(), naive.now.files.clone());
        naive.now.kept = Some(state);
    }
}

/// The run is set back there.
async fn goes_back(house: &House, model: &mut Model, which: usize, to: &str, scope: RollbackScope) {
    let ended = model.ended();
    let naive = &mut model.runs[which];
    let asked = Rollback {
        run: naive.run.clone(),
        to: DiffEnd::parse(to).unwrap(),
        scope,
        reason: None,
        planned_at: None,
    };
    let receipt = house.runtime.rollback(asked).await.unwrap();
    let before = naive.keep(naive.now.clone());
    assert_eq!(receipt.rolled_back.before_checkpoint_id.as_str(), before);
    naive.now = naive.at[to].clone();
    naive.keep(naive.now.clone());
    naive.undo = Some(before);
    naive.rollbacks += 1;
    naive.ended = ended;
}

/// A run that is not complete goes on and writes another file.
async fn goes_on(house: &House, model: &mut Model, which: usize) {
    let path = model.path();
    house.script.say(&write(&path, "text"));
    house.script.say("Done.");
    let run = model.runs[which].run.clone();
    house
        .runtime
        .resume(&run, None, Some("go on"))
        .await
        .unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", events.last());
    let ended = model.ended();
    let mut naive = model.runs.remove(which);
    naive.ended = ended;
    wrote(model, &mut naive, path, false);
    model.runs.insert(which, naive);
}

/// What one chat by name remembers is brought to another, which may be new.
async fn copies(house: &House, model: &mut Model, from: u8, to: u8) {
    let name = |number: u8| ChatName {
        chat_ref: Json::Null,
        stable_chat_id: Chat::name(number),
    };
    let (source, target) = (name(from), name(to));
    let done = house.runtime.copy_chat_states(&source, &target).await;
    let done = done.unwrap();
    let (base, there) = (
        model.base(Chat::Named(from), false),
        model.base(Chat::Named(to), false),
    );
    let counts = (done.copied_state_count, done.kept_state_count);
    let Some(base) = base else {
        assert_eq!((counts, done.state_id), ((0, 0), there));
        return;
    };
    let is_copy = |state: &String| model.copies.iter().any(|copy| copy.state == *state);
    let files = model.states[&base].clone();
    if let Some(there) = there.filter(is_copy)
        && model.states[&there] == files
    {
        assert_eq!((counts, done.state_id), ((0, 1), Some(there)));
        return;
    }
    assert_eq!(counts, (1, 0));
    let state = done.state_id.unwrap();
    model.states.insert(state.clone(), files);
    model.copies.push(CopiedState {
        to,
        state,
        after: model.runs.len(),
    });
}

async fn prunes(house: &House, model: &mut Model, recent: u32, full: u32) {
    let query = RetentionQuery {
        retention: Some(RetentionSettings {
            auto_prune_enabled: false,
            keep_recent_terminal_runs: recent,
            keep_full_recent_runs: full,
        }),
        detail_limit: None,
    };
    let keeping = house.runtime.retention();
    let outcome = keeping.apply(&query, &|_| {}).await.unwrap();
    assert_eq!(outcome.failed_run_count, 0, "{:?}", outcome.failed_runs);
    let mut there: Vec<&mut Naive> = model.runs.iter_mut().filter(|run| !run.is_gone).collect();
    there.sort_by_key(|run| std::cmp::Reverse(run.ended));
    for (rank, run) in there.into_iter().enumerate() {
        run.is_gone = rank >= recent as usize;
        run.is_slim |= rank >= full as usize;
    }
    // Nothing is left that nobody can come to.
    assert_eq!(outcome.after_plan.orphaned_state_count, 0);
    for number in 0..3 {
        let workspace = workspace_id("session", &Chat::name(number)).unwrap();
        let states = house.tools.store().states();
        let kept = states.list(&workspace, None).await.unwrap();
        let there = |state: &&String| {
            let run = run_of_state(state).0;
            let mut runs = model.runs.iter();
            runs.any(|naive| naive.run.as_str() == run && !naive.is_gone)
        };
        let of_nobody = kept.iter().filter(|state| !there(state));
        assert!(of_nobody.count() <= 1, "{kept:?}");
    }
}

async fn check(house: &House, model: &Model) {
    let reader = house.runtime.reader();
    let states = StatesInStore::new(house.tools.store().states());
    for run in &model.runs {
        if run.is_gone {
            if run.chat == Chat::None {
                let left = states.list(&run.workspace).await.unwrap();
                assert!(left.is_empty(), "{}", run.run);
            }
            continue;
        }
        assert_eq!(reader.kept_state(&run.run).await.unwrap(), run.now.kept);
        if run.is_whole() {
            let replayed = reader.state(&run.run).await.unwrap();
            assert_eq!(replayed.kept_state(), run.now.kept.as_deref());
            let files = persisted(house, &run.run, &DiffEnd::Now).await;
            assert_eq!(files, run.now.files);
        }
    }
    for number in 0..3 {
        let workspace = workspace_id("session", &Chat::name(number)).unwrap();
        let stands = reader.standing_state(&states, &workspace).await.unwrap();
        assert_eq!(stands, model.base(Chat::Named(number), false), "{number}");
    }
}

async fn course(ops: Vec<(u8, u8, u8)>) {
    let mut house = House::new().await;
    house.profile_with("worker", "tam", |profile| {
        profile["tools"]["maxRounds"] = 200.into();
        profile["run"]["modelRetry"]["maxRetries"] = 0.into();
    });
    let mut model = Model::default();
    for (op, by, how) in ops {
        let whole: Vec<usize> = (0..model.runs.len())
            .filter(|at| model.runs[*at].is_whole())
            .collect();
        let which = (!whole.is_empty()).then(|| whole[usize::from(by) % whole.len()]);
        match (op % 14, which) {
            (4 | 5, Some(which)) => {
                let at = usize::from(how) % model.runs[which].at.len();
                let to = model.runs[which].at.keys().nth(at).unwrap().clone();
                let scope = match how % 2 {
                    0 => RollbackScope::Workspace,
                    _ => RollbackScope::CommittedMessage,
                };
                goes_back(&house, &mut model, which, &to, scope).await;
            }
            (6 | 7, Some(which)) => {
                if let Some(undo) = model.runs[which].undo.clone() {
                    let scope = RollbackScope::Workspace;
                    goes_back(&house, &mut model, which, &undo, scope).await;
                }
            }
            (8, Some(which)) if model.runs[which].now.kept.is_none() => {
                goes_on(&house, &mut model, which).await;
            }
            (9, _) => {
                let recent = u32::from(how % 5);
                let full = recent.min(u32::from(by % 4));
                prunes(&house, &mut model, recent, full).await;
            }
            (10, _) => {
                let there: Vec<usize> = (0..model.runs.len())
                    .filter(|at| !model.runs[*at].is_gone)
                    .collect();
                if !there.is_empty() {
                    let naive = &mut model.runs[there[usize::from(by) % there.len()]];
                    assert!(house.runtime.delete(&naive.run).await.unwrap());
                    naive.is_gone = true;
                }
            }
            (11, Some(which)) if how % 2 == 0 => {
                // A person removes what a run has left.
                let naive = &model.runs[which];
                if let Some(state) = naive.now.kept.clone() {
                    let states = [state.clone()];
                    let gone = house.runtime.prune_states(&naive.workspace, &states);
                    gone.await.unwrap();
                    model.states.remove(&state);
                }
            }
            (11, _) => match by % 3 {
                0 => drop(model.messages.pop()),
                _ => house = house.again().await,
            },
            (12 | 13, _) => {
                let (from, by) = (by % 3, 1 + how % 2);
                copies(&house, &mut model, from, (from + by) % 3).await;
            }
            _ => {
                let chat = Chat::ALL[usize::from(by) % 5];
                begins(&house, &mut model, chat, how % 4 == 0, how % 5 == 1).await;
            }
        }
        check(&house, &model).await;
    }
    for chat in Chat::ALL {
        begins(&house, &mut model, chat, false, false).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_next_run_begins_with_what_a_model_says_that_forgets_nothing(
        ops in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 4..24)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(course(ops));
    }
}
