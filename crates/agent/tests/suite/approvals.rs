//! Calls that a person is asked about: what comes of every answer, whenever the process is another one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{AgentError, ApproveToolCall, PendingApproval};
use innkeeper_agent::run::Remember;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::{CallId, RunEvent, RunEventKind, RunId, RunStatus};
use innkeeper_store::journal::{EventRange, Followed};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::{Clock, Executor, Invocation, ToolError, ToolManager, builtin};
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::harness::{Say, Script, check_journal, names, open_at, profile, start};

const DAY: i64 = 86_400;

/// Stands still unless somebody puts it forward.
pub(super) struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let seconds = 1_800_000_000 + self.0.load(Ordering::SeqCst);
        Timestamp::from_second(seconds).unwrap()
    }
}

/// What the tools did, in whatever process; and where they stop if they are to be cut off.
#[derive(Default)]
pub(super) struct World {
    done: Mutex<Vec<(String, Json)>>,
    pub(super) holds: AtomicBool,
    pub(super) entered: Notify,
}

struct Acts(Arc<World>);

#[async_trait]
impl Executor for Acts {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let (tool, arguments) = (call.tool.id.to_string(), Json::Object(call.arguments));
        self.0.done.lock().unwrap().push((tool, arguments.clone()));
        if self.0.holds.load(Ordering::SeqCst) {
            self.0.entered.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(json!({"done with": arguments}))
    }
}

/// One after the other on the same home.
pub(super) struct Inn {
    home: Arc<TempDir>,
    pub(super) world: Arc<World>,
    clock: Arc<TestClock>,
    pub(super) script: Arc<Script>,
    pub(super) tools: ToolManager,
    pub(super) runtime: AgentRuntime,
    rules: Json,
}

fn tools(world: &Arc<World>) -> Vec<builtin::Tool> {
    let schema = json!({"type": "object", "required": ["to"], "additionalProperties": false,
        "properties": {"to": {"type": "string"}, "pin": {"type": "string"}, "count": {"type": "integer"}}});
    let tool =
        |name: &str| ToolDefinition::new(name, format!("Does what '{name}' says"), schema.clone());
    let mut look = tool("look");
    look.source = builtin::SOURCE.to_owned();
    look.permissions = vec!["file:read".to_owned()];
    let mut note = tool("note");
    note.execution.idempotent = true;
    let mut print = tool("print");
    print.parameters["properties"]["document"] = json!({"type": "string", "x-file": true});
    let mut side = tool("side");
    side.execution.parallel = true;
    let all = [look, tool("pay"), note, print, side];
    all.map(|tool| -> builtin::Tool { (tool, Arc::new(Acts(world.clone()))) })
        .into()
}

fn policy(rules: &Json) -> Policy {
    Policy::read(rules.as_array().unwrap().clone()).unwrap()
}

pub(super) fn asks() -> Json {
    json!([
        {"tool": "*", "decision": "allow"},
        {"name": "careful", "tool": "look", "decision": "ask", "reason": "it is new", "expires": "24h"},
        {"name": "careful", "tool": "pay", "decision": "ask", "expires": "24h"},
        {"name": "careful", "tool": "note", "decision": "ask", "expires": "24h"},
        {"name": "careful", "tool": "print", "decision": "ask", "expires": "24h"},
        {"name": "careful", "tool": "side", "decision": "ask"},
        {"name": "reading", "tool": "File.Read", "decision": "ask", "expires": "24h"},
        {"name": "never", "tool": "*", "arguments": {"to": "forbidden"}, "decision": "deny"},
    ])
}

impl Inn {
    pub(super) async fn new(rules: Json) -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        let clock = Arc::new(TestClock(AtomicI64::new(0)));
        Self::open(home, Arc::default(), clock, rules).await
    }

    async fn open(
        home: Arc<TempDir>,
        world: Arc<World>,
        clock: Arc<TestClock>,
        rules: Json,
    ) -> Self {
        profile(home.path(), "worker", "tam", |_| {});
        profile(home.path(), "native", "native", |_| {});
        let script = Arc::new(Script::default());
        let (tools, runtime) = open_at(
            home.path(),
            script.clone(),
            tools(&world),
            |journal| journal,
            clock.clone(),
        )
        .await;
        tools.set_policy(policy(&rules));
        Self {
            home,
            world,
            clock,
            script,
            tools,
            runtime,
            rules,
        }
    }

    /// Another process on the same home.
    pub(super) async fn again(self) -> Self {
        self.runtime.close().await;
        self.tools.store().clone().close().await.unwrap();
        Self::open(self.home, self.world, self.clock, self.rules).await
    }

    pub(super) async fn events(&self, run: &RunId) -> Vec<RunEvent> {
        let range = EventRange::After { seq: 0, limit: 500 };
        self.runtime.events(run, range).await.unwrap()
    }

    /// Until so many questions of the run wait.
    pub(super) async fn asked(&self, run: &RunId, count: usize) -> Vec<PendingApproval> {
        let mut follower = self.runtime.follow(run, 0);
        loop {
            let waiting = self.runtime.pending_approvals(Some(run)).await.unwrap();
            if waiting.len() >= count {
                return waiting;
            }
            match follower.next().await {
                Followed::Events(_) | Followed::Lagged { .. } => {}
                end => panic!("{end:?}: {:?}", names(&self.events(run).await)),
            }
        }
    }

    pub(super) async fn end(&self, run: &RunId) -> (RunStatus, Vec<RunEvent>) {
        let handle = self.runtime.wait(run).await.unwrap();
        let events = self.events(run).await;
        if handle.status.is_terminal() {
            check_journal(&events);
        }
        (handle.status, events)
    }

    pub(super) fn done(&self) -> usize {
        self.world.done.lock().unwrap().len()
    }
}

pub(super) fn call(tool: &str) -> String {
    let document = match tool {
        "print" => "document:»»»user://projects/default/a.txt«««\n",
        _ => "",
    };
    format!(
        "<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\nto:»»»Ann«««\npin:»»»1234«««\n{document}<|[END_TOOL]|>"
    )
}

pub(super) fn map(json: Json) -> Map<String, Json> {
    json.as_object().unwrap().clone()
}

pub(super) fn yes(asked: &PendingApproval) -> ApproveToolCall {
    ApproveToolCall::new(asked.run_id.clone(), asked.call_id.clone(), true)
}

pub(super) fn count(events: &[RunEvent], name: &str) -> usize {
    names(events).iter().filter(|known| **known == name).count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Once,
    Run,
    Always,
    Deny,
    Edit,
    EditInvalid,
    EditForbidden,
    Expire,
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restart {
    None,
    BeforeAnswer,
    /// The answer is written down where nobody drives the run.
    BeforeStart,
    AfterStart,
}

/// What came of a cell.
#[derive(Debug, PartialEq)]
struct Came {
    ran: usize,
    /// Questions that were put, and how they were answered.
    asked: usize,
    approved: usize,
    denied: usize,
    /// A word of what the model was told.
    told: &'static str,
    status: RunStatus,
}

const TOOLS: [&str; 4] = ["look", "pay", "note", "print"];
const ANSWERS: [Answer; 9] = [
    Answer::Once,
    Answer::Run,
    Answer::Always,
    Answer::Deny,
    Answer::Edit,
    Answer::EditInvalid,
    Answer::EditForbidden,
    Answer::Expire,
    Answer::Nobody,
];
const RESTARTS: [Restart; 4] = [
    Restart::None,
    Restart::BeforeAnswer,
    Restart::BeforeStart,
    Restart::AfterStart,
];

/// The table, in words.
fn stated(tool: &str, answer: Answer, restart: Restart) -> Option<Came> {
    // `print` is asked about twice: for the file that it reads, and for itself.
    let before = usize::from(tool == "print");
    let allows = matches!(
        answer,
        Answer::Once | Answer::Run | Answer::Always | Answer::Edit
    );
    let said = !matches!(answer, Answer::Nobody | Answer::Expire);
    let makes_sense = match restart {
        Restart::None | Restart::BeforeAnswer => true,
        Restart::BeforeStart => said,
        Restart::AfterStart => allows,
    };
    if !makes_sense {
        return None;
    }
    let is_cut_off = restart == Restart::AfterStart;
    let may_repeat = matches!(tool, "look" | "note");
    Some(Came {
        ran: match (allows, is_cut_off && may_repeat) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        },
        asked: 1 + before,
        approved: usize::from(allows) + before,
        denied: usize::from(!allows && answer != Answer::Nobody),
        told: match answer {
            _ if is_cut_off && !may_repeat => "outcome",
            Answer::Once | Answer::Run | Answer::Always => "done with",
            Answer::Edit => "A person changed the arguments",
            Answer::Deny | Answer::EditInvalid | Answer::EditForbidden => "not today",
            Answer::Expire => "nobody answered within 1d",
            Answer::Nobody => "",
        },
        status: match answer {
            Answer::Nobody => RunStatus::AwaitingApproval,
            _ => RunStatus::Completed,
        },
    })
}

/// What a person does. An edit that cannot be used is refused to them, changes nothing, and they say no.
async fn answer(inn: &Inn, asked: &PendingApproval, answer: Answer, drives: bool) {
    let give = async |answer: ApproveToolCall| match drives {
        true => inn.runtime.approve(answer).await,
        false => inn.runtime.note_approval(answer).await,
    };
    let edit = |arguments: Json| ApproveToolCall {
        arguments: Some(map(arguments)),
        ..yes(asked)
    };
    let no = ApproveToolCall {
        approved: false,
        reason: Some("not today".to_owned()),
        ..yes(asked)
    };
    let remember = |remember| ApproveToolCall {
        remember,
        ..yes(asked)
    };
    match answer {
        Answer::Once => {
            let receipt = give(yes(asked)).await.unwrap();
            assert_eq!(receipt.question, asked.question);
            assert_eq!(receipt.approval_id, asked.approval_id);
        }
        Answer::Run => drop(give(remember(Remember::Run)).await.unwrap()),
        Answer::Always => drop(give(remember(Remember::Always)).await.unwrap()),
        Answer::Deny => drop(give(no).await.unwrap()),
        Answer::Edit => {
            let mut shown = map(asked.question.as_ref().unwrap().arguments.clone());
            shown.insert("to".to_owned(), json!("Bob"));
            let receipt = give(edit(Json::Object(shown))).await.unwrap();
            assert!(receipt.arguments_edited);
            assert_eq!(receipt.question, asked.question);
            assert_eq!(receipt.edited_arguments.unwrap()["to"], "Bob");
        }
        Answer::EditInvalid | Answer::EditForbidden => {
            let (bad, why) = match answer {
                Answer::EditInvalid => (json!({"too": "Bob"}), "did you mean 'to'"),
                _ => (json!({"to": "forbidden"}), "never"),
            };
            let refused = give(edit(bad)).await.unwrap_err();
            assert_eq!(
                refused.reason.as_deref(),
                Some("agent.approval_edit_invalid")
            );
            assert!(refused.message.contains(why), "{refused}");
            let waiting = inn
                .runtime
                .pending_approvals(Some(&asked.run_id))
                .await
                .unwrap();
            assert_eq!(
                waiting,
                std::slice::from_ref(asked),
                "the question stays open"
            );
            give(no).await.unwrap();
        }
        Answer::Expire | Answer::Nobody => {}
    }
}

async fn cell(tool: &str, said: Answer, restart: Restart) -> (Came, Inn, RunId) {
    let mut inn = Inn::new(asks()).await;
    inn.script.say(&call(tool));
    inn.script.say("Done.");
    let run = start(&inn.runtime, "worker", "Work").await.run_id;
    let mut asked = inn.asked(&run, 1).await.remove(0);
    if tool == "print" {
        assert_eq!(asked.question.as_ref().unwrap().tool, "File.Read");
        inn.runtime.approve(yes(&asked)).await.unwrap();
        let first = asked.approval_id.clone();
        let mut follower = inn.runtime.follow(&run, 0);
        while asked.approval_id == first {
            let waiting = inn.runtime.pending_approvals(Some(&run)).await.unwrap();
            match waiting.into_iter().next() {
                Some(next) if next.approval_id != first => asked = next,
                _ => drop(follower.next().await),
            }
        }
    }
    let shown = &asked.question.as_ref().unwrap().arguments;
    assert_eq!(
        (&shown["to"], &shown["pin"]),
        (&json!("Ann"), &json!("1234")),
        "{shown}"
    );
    let mut restarted = false;
    if matches!(restart, Restart::BeforeAnswer | Restart::BeforeStart) {
        inn = inn.again().await;
        inn.script.say("Done.");
        restarted = true;
        let waiting = inn.runtime.pending_approvals(None).await.unwrap();
        assert_eq!(waiting, [asked.clone()], "the same question");
    }
    if said == Answer::Expire {
        inn.clock.0.fetch_add(DAY, Ordering::SeqCst);
        let late = inn.runtime.approve(yes(&asked)).await.unwrap_err();
        assert_eq!(late.reason.as_deref(), Some("agent.approval_expired"));
        let listed = inn.runtime.pending_approvals(Some(&run)).await.unwrap();
        assert_eq!(listed, [], "nobody can answer it");
        if !restarted {
            // Something happens to it, so it looks at the clock.
            inn.runtime.guide(&run, "hurry", None).await.unwrap();
        }
    }
    match restart {
        Restart::None => answer(&inn, &asked, said, true).await,
        Restart::BeforeAnswer => {
            inn.runtime.recover().await.unwrap();
            answer(&inn, &asked, said, true).await;
        }
        Restart::BeforeStart => {
            answer(&inn, &asked, said, false).await;
            assert!(!inn.runtime.is_alive(&run));
            assert_eq!(inn.done(), 0);
            inn = inn.again().await;
            inn.script.say("Done.");
            inn.runtime.recover().await.unwrap();
        }
        Restart::AfterStart => {
            inn.world.holds.store(true, Ordering::SeqCst);
            answer(&inn, &asked, said, true).await;
            inn.world.entered.notified().await;
            inn.world.holds.store(false, Ordering::SeqCst);
            inn = inn.again().await;
            inn.script.say("Done.");
            restarted = true;
            inn.runtime.recover().await.unwrap();
        }
    }
    let (status, events) = match said {
        Answer::Nobody => {
            let status = inn.runtime.record(&run).await.unwrap().status;
            assert_eq!(
                inn.runtime.pending_approvals(Some(&run)).await.unwrap(),
                [asked.clone()]
            );
            (status, inn.events(&run).await)
        }
        _ => inn.end(&run).await,
    };
    let restarted = restarted || restart == Restart::BeforeStart;
    let number = usize::from(!restarted);
    let told = match said {
        Answer::Nobody => String::new(),
        _ => {
            let told = inn.script.request(number);
            let since = told
                .iter()
                .rposition(|message| message["role"] == "assistant")
                .unwrap();
            serde_json::to_string(&told[since + 1..]).unwrap()
        }
    };
    let expected = stated(tool, said, restart).unwrap().told;
    let came = Came {
        ran: inn.done(),
        asked: count(&events, "tool_call_awaiting_approval"),
        approved: count(&events, "tool_call_approved"),
        denied: count(&events, "tool_call_denied"),
        told: match told.contains(expected) {
            true => expected,
            false => Box::leak(told.into_boxed_str()),
        },
        status,
    };
    (came, inn, run)
}

/// Policy *ask*: tool × answer × restart in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_its_stated_outcome_whenever_the_process_ends() {
    let mut cells = 0;
    for tool in TOOLS {
        for said in ANSWERS {
            for restart in RESTARTS {
                let Some(stated) = stated(tool, said, restart) else {
                    continue;
                };
                cells += 1;
                let (came, inn, run) = cell(tool, said, restart).await;
                assert_eq!(came, stated, "{tool} × {said:?} × {restart:?}");
                let done = inn.world.done.lock().unwrap().clone();
                let to = match said {
                    Answer::Edit => "Bob",
                    _ => "Ann",
                };
                for (name, arguments) in &done {
                    assert_eq!(name, tool);
                    assert_eq!(
                        (&arguments["to"], &arguments["pin"]),
                        (&json!(to), &json!("1234"))
                    );
                }
                let grants = inn.tools.store().grants().list().await.unwrap();
                assert_eq!(
                    grants.len(),
                    usize::from(said == Answer::Always),
                    "{tool} {restart:?}"
                );
                let state = inn.runtime.reader().state(&run).await.unwrap();
                let remembered = matches!(said, Answer::Run | Answer::Always);
                assert_eq!(state.grants().len(), usize::from(remembered));
                inn.runtime.close().await;
            }
        }
    }
    assert_eq!(cells, 116);
}

/// Policy *allow* and *deny*: nobody is asked, and nobody can answer.
#[tokio::test]
async fn what_a_rule_decides_is_asked_of_nobody() {
    for (decision, tool, restarts) in [
        ("allow", "pay", false),
        ("allow", "pay", true),
        ("allow", "note", true),
        ("allow", "look", true),
        ("allow", "print", false),
        ("deny", "pay", false),
        ("deny", "note", false),
        ("deny", "look", false),
        ("deny", "print", false),
    ] {
        let mut inn = Inn::new(json!([{"name": "house", "tool": "*", "decision": decision}])).await;
        inn.script.say(&call(tool));
        inn.script.say("Done.");
        inn.world.holds.store(restarts, Ordering::SeqCst);
        let run = start(&inn.runtime, "worker", "Work").await.run_id;
        if restarts {
            inn.world.entered.notified().await;
            inn.world.holds.store(false, Ordering::SeqCst);
            inn = inn.again().await;
            inn.script.say("Done.");
            inn.runtime.recover().await.unwrap();
        }
        let (status, events) = inn.end(&run).await;
        assert_eq!(status, RunStatus::Completed);
        assert_eq!(
            count(&events, "tool_call_awaiting_approval"),
            0,
            "{decision} {tool}"
        );
        let ran = match (decision, restarts, tool) {
            ("deny", ..) => 0,
            (_, true, "note" | "look") => 2,
            _ => 1,
        };
        assert_eq!(inn.done(), ran, "{decision} {tool} {restarts}");
        let answered = ApproveToolCall::new(run.clone(), CallId::new("call_1_1"), true);
        let refused = inn.runtime.approve(answered).await.unwrap_err();
        assert_eq!(refused.reason.as_deref(), Some("agent.approval_run_over"));
    }
}

/// The rules are asked anew by whoever takes the run up.
#[tokio::test]
async fn a_rule_that_came_meanwhile_decides() {
    for (decision, ran, answer, told) in [
        ("allow", 1, "tool_call_approved", "done with"),
        ("deny", 0, "tool_call_denied", "forbids"),
    ] {
        let mut inn = Inn::new(asks()).await;
        inn.script.say(&call("pay"));
        let run = start(&inn.runtime, "worker", "Work").await.run_id;
        inn.asked(&run, 1).await;
        inn.rules = json!([{"tool": "*", "decision": decision}]);
        let inn = inn.again().await;
        inn.script.say("Done.");
        inn.runtime.recover().await.unwrap();
        let (status, events) = inn.end(&run).await;
        assert_eq!(
            (status, inn.done()),
            (RunStatus::Completed, ran),
            "{decision}"
        );
        assert_eq!(count(&events, answer), 1, "{:?}", names(&events));
        let last = serde_json::to_string(inn.script.request(0).last().unwrap()).unwrap();
        assert!(last.contains(told), "{last}");
    }
}

/// Another rule's question is another question: the first is withdrawn, whatever was said to it.
#[tokio::test]
async fn an_answer_is_no_answer_to_another_question() {
    let mut inn = Inn::new(asks()).await;
    inn.script.say(&call("pay"));
    let run = start(&inn.runtime, "worker", "Work").await.run_id;
    let first = inn.asked(&run, 1).await.remove(0);
    inn.rules = json!([{"name": "stricter", "tool": "*", "decision": "ask"}]);
    let inn = inn.again().await;
    inn.script.say("Done.");
    inn.runtime.note_approval(yes(&first)).await.unwrap();
    inn.runtime.recover().await.unwrap();
    let second = inn.asked(&run, 1).await.remove(0);
    assert_ne!(first.approval_id, second.approval_id);
    assert_eq!(inn.done(), 0);
    let stale = ApproveToolCall {
        approval_id: Some(first.approval_id),
        approved: false,
        ..yes(&second)
    };
    let refused = inn.runtime.approve(stale).await.unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some("agent.approval_answered"));
    inn.runtime.approve(yes(&second)).await.unwrap();
    assert_eq!(inn.end(&run).await.0, RunStatus::Completed);
    assert_eq!(inn.done(), 1);
}

fn side(ids: &[&'static str]) -> Say {
    let calls = ids.iter().map(|id| (*id, "side", json!({"to": id})));
    Say::Native(calls.collect())
}

#[tokio::test]
async fn calls_side_by_side_are_answered_one_by_one_in_any_order() {
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let inn = Inn::new(asks()).await;
        inn.script.push(side(&["a", "b", "c"]));
        inn.script.say("Done.");
        let run = start(&inn.runtime, "native", "Work").await.run_id;
        let waiting = inn.asked(&run, 3).await;
        let ids: BTreeMap<_, _> = waiting
            .iter()
            .map(|asked| (asked.call_id.to_string(), asked))
            .collect();
        for (at, id) in order.iter().enumerate() {
            let answer = ApproveToolCall {
                approved: at != 1,
                ..yes(ids[*id])
            };
            inn.runtime.approve(answer.clone()).await.unwrap();
            // The same twice is one; another one does not count.
            if at < 2 {
                inn.runtime.approve(answer.clone()).await.unwrap();
                let other = ApproveToolCall {
                    approved: at == 1,
                    ..answer
                };
                let refused = inn.runtime.approve(other).await.unwrap_err();
                assert_eq!(refused.reason.as_deref(), Some("agent.approval_answered"));
            }
        }
        let (status, events) = inn.end(&run).await;
        assert_eq!((status, inn.done()), (RunStatus::Completed, 2));
        assert_eq!(count(&events, "tool_call_awaiting_approval"), 3);
        assert_eq!(count(&events, "tool_call_denied"), 1);
    }
}

#[tokio::test]
async fn an_answer_for_longer_settles_what_waits_and_what_comes_after_a_restart() {
    for remember in [Remember::Run, Remember::Always] {
        let inn = Inn::new(asks()).await;
        inn.script.push(side(&["a", "b"]));
        inn.script.push(side(&["c"]));
        inn.script.push(Say::Hang);
        let run = start(&inn.runtime, "native", "Work").await.run_id;
        let waiting = inn.asked(&run, 2).await;
        let answer = ApproveToolCall {
            remember,
            ..yes(&waiting[0])
        };
        inn.runtime.approve(answer).await.unwrap();
        inn.script.asked_times(3).await;
        assert_eq!(inn.done(), 3);
        let inn = inn.again().await;
        inn.script.push(side(&["d"]));
        inn.script.say("Done.");
        inn.runtime.recover().await.unwrap();
        let (status, events) = inn.end(&run).await;
        assert_eq!((status, inn.done()), (RunStatus::Completed, 4));
        assert_eq!(count(&events, "tool_call_awaiting_approval"), 2);
        // For another run, only what was said for good counts.
        inn.script.push(side(&["e"]));
        inn.script.say("Done.");
        let other = start(&inn.runtime, "native", "Work").await.run_id;
        if remember == Remember::Run {
            let asked = inn.asked(&other, 1).await.remove(0);
            inn.runtime.approve(yes(&asked)).await.unwrap();
        }
        assert_eq!(inn.end(&other).await.0, RunStatus::Completed);
    }
}

#[tokio::test]
async fn an_answer_for_good_reaches_the_questions_of_other_runs() {
    let inn = Inn::new(asks()).await;
    for _ in 0..2 {
        inn.script.push(side(&["a"]));
    }
    let one = start(&inn.runtime, "native", "Work").await.run_id;
    inn.asked(&one, 1).await;
    let other = start(&inn.runtime, "native", "Work").await.run_id;
    let asked = inn.asked(&other, 1).await.remove(0);
    assert_eq!(inn.runtime.pending_approvals(None).await.unwrap().len(), 2);
    inn.script.say("Done.");
    inn.script.say("Done.");
    let always = ApproveToolCall {
        remember: Remember::Always,
        ..yes(&asked)
    };
    inn.runtime.approve(always).await.unwrap();
    for run in [&one, &other] {
        assert_eq!(inn.end(run).await.0, RunStatus::Completed);
    }
    assert_eq!(inn.done(), 2);
    assert!(
        inn.runtime
            .pending_approvals(None)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_run_that_asks_rests_and_is_answered_all_the_same() {
    let inn = Inn::new(asks()).await;
    inn.script.say(&call("pay"));
    inn.script.say("Done.");
    let run = start(&inn.runtime, "worker", "Work").await.run_id;
    let asked = inn.asked(&run, 1).await.remove(0);
    tokio::time::pause();
    while !inn.runtime.is_resting(&run).await {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    tokio::time::resume();
    assert_eq!(
        inn.runtime.pending_approvals(None).await.unwrap(),
        std::slice::from_ref(&asked)
    );
    inn.runtime.approve(yes(&asked)).await.unwrap();
    assert_eq!(inn.end(&run).await.0, RunStatus::Completed);
    assert_eq!(inn.done(), 1);
}

#[tokio::test]
async fn a_run_that_is_cancelled_does_nothing_that_was_asked_about() {
    let inn = Inn::new(asks()).await;
    inn.script.say(&call("pay"));
    let run = start(&inn.runtime, "worker", "Work").await.run_id;
    let asked = inn.asked(&run, 1).await.remove(0);
    inn.runtime.cancel(&run).await.unwrap();
    assert_eq!(inn.end(&run).await.0, RunStatus::Cancelled);
    let reason = |error: AgentError| error.reason.unwrap_or(error.code.as_str().to_owned());
    let refused = inn.runtime.approve(yes(&asked)).await.unwrap_err();
    assert_eq!(reason(refused), "agent.approval_run_over");
    let nobody = ApproveToolCall::new(RunId::new("run_nobody"), asked.call_id, true);
    assert_eq!(
        reason(inn.runtime.approve(nobody).await.unwrap_err()),
        "agent.not_found"
    );
    assert_eq!(inn.done(), 0);
}

/// What a person has not seen stays what it is, and gets nowhere else.
#[tokio::test]
async fn secrets_survive_a_change_and_are_never_shown() {
    let inn = Inn::new(json!([{"name": "careful", "tool": "*", "decision": "ask"}])).await;
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"},
        "token": {"type": "string", "pattern": "^s3"}}, "additionalProperties": false});
    let send = ToolDefinition::new("send", "Sends", schema);
    let mut all = tools(&inn.world);
    all.push((send, Arc::new(Acts(inn.world.clone()))));
    let source = builtin::source(all).unwrap();
    inn.tools
        .registry()
        .replace(builtin::SOURCE, source)
        .unwrap();
    inn.script.push(Say::Native(vec![(
        "a",
        "send",
        json!({"to": "Ann", "token": "s3cret"}),
    )]));
    inn.script.say("Done.");
    let run = start(&inn.runtime, "native", "Work").await.run_id;
    let asked = inn.asked(&run, 1).await.remove(0);
    let shown = asked.question.as_ref().unwrap().arguments.clone();
    assert_eq!(shown, json!({"to": "Ann", "token": "[redacted]"}));
    for smuggled in [
        json!({"to": "[redacted]"}),
        json!({"to": "Bob", "token": "x [redacted]"}),
    ] {
        let edit = ApproveToolCall {
            arguments: Some(map(smuggled)),
            ..yes(&asked)
        };
        let refused = inn.runtime.approve(edit).await.unwrap_err();
        assert_eq!(
            refused.reason.as_deref(),
            Some("agent.approval_edit_invalid")
        );
    }
    let edit = json!({"to": "Bob", "token": "[redacted]"});
    let edit = ApproveToolCall {
        arguments: Some(map(edit)),
        ..yes(&asked)
    };
    inn.runtime.approve(edit).await.unwrap();
    let (_, events) = inn.end(&run).await;
    let done = inn.world.done.lock().unwrap().clone();
    assert_eq!(
        done,
        [("send".to_owned(), json!({"to": "Bob", "token": "s3cret"}))]
    );
    for event in &events {
        if matches!(
            event.kind,
            RunEventKind::ToolCallAwaitingApproval(_) | RunEventKind::ToolCallApproved(_)
        ) {
            let text = serde_json::to_string(event).unwrap();
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
    inn.tools.store().flush().await.unwrap();
    let audit = inn
        .tools
        .store()
        .audit()
        .query(Default::default())
        .await
        .unwrap();
    let entry = audit
        .iter()
        .find(|entry| entry.entry.tool == "send")
        .unwrap();
    assert_eq!(
        entry.entry.arguments,
        json!({"to": "Bob", "token": "[redacted]"})
    );
}
