use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use innkeeper_store::Store;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use super::decide_tests::tool;
use super::{
    Answer, ApprovalRequest, Approvals, ApprovedBy, Approver, Decision, Nobody, Settled, Verdict,
};
use crate::limits::{
    APPROVAL_TIMEOUT, MAX_APPROVAL_REASON_CHARS, MAX_GRANTS_PER_RUN, MAX_OPEN_QUESTIONS,
    MAX_RUNS_WITH_GRANTS,
};
use crate::{Caller, Reach};

/// Answers from a list, and counts the questions.
struct Scripted {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Approver for Scripted {
    async fn ask(&self, request: &ApprovalRequest) -> Answer {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        answer.unwrap_or_else(|| panic!("asked once too often"))
    }
}

/// Lets the test answer, question by question.
#[derive(Default)]
struct Patient(Mutex<Vec<(String, oneshot::Sender<Answer>)>>);

#[async_trait]
impl Approver for Patient {
    async fn ask(&self, request: &ApprovalRequest) -> Answer {
        let (send, answer) = oneshot::channel();
        self.0.lock().unwrap().push((request.id.clone(), send));
        answer.await.unwrap()
    }
}

impl Patient {
    /// The ids of the questions that still wait.
    fn open(&self) -> Vec<String> {
        let questions = self.0.lock().unwrap();
        let open = questions.iter().filter(|(_, answer)| !answer.is_closed());
        open.map(|(id, _)| id.clone()).collect()
    }

    fn answer(&self, id: &str, answer: Answer) {
        let mut questions = self.0.lock().unwrap();
        let at = questions.iter().position(|(asked, _)| asked == id).unwrap();
        let (_, send) = questions.remove(at);
        send.send(answer).unwrap();
    }
}

fn verdict(decision: Decision) -> Verdict {
    Verdict {
        decision,
        rule: "careful".into(),
        reason: None,
        expires: None,
        says: "tool=*".into(),
    }
}

fn request(id: &str, run: &str, profile: &str, arguments: Json) -> ApprovalRequest {
    let caller = Caller::agent(profile, RunId::from(run), Reach::everything());
    let arguments = arguments.as_object().unwrap().clone();
    let shown = json!({"secret": "***"});
    ApprovalRequest::new(
        id,
        &tool("File.Delete", "builtin"),
        &caller,
        &arguments,
        shown,
        &verdict(Decision::Ask),
    )
}

fn ask(run: &str) -> ApprovalRequest {
    request("call", run, "a", json!({"file_path": "x"}))
}

fn yes(by: ApprovedBy) -> Settled {
    Settled {
        allowed: true,
        by,
        reason: None,
    }
}

async fn settle(approvals: &Approvals, request: ApprovalRequest) -> Settled {
    approvals.settle(&verdict(Decision::Ask), request).await
}

/// Lets everything run that can.
async fn breathe() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_rule_decides_is_asked_of_nobody() {
    let store = Store::in_memory().await.unwrap();
    let person = Scripted::new([]);
    let approvals = Approvals::new(person.clone(), Some(store.grants().clone()));
    let allowed = approvals.settle(&verdict(Decision::Allow), ask("r")).await;
    assert_eq!(allowed, yes(ApprovedBy::Rule));

    // Not even by one who said "always".
    store.grants().add(ask("r").key(), None).await.unwrap();
    let denied = approvals.settle(&verdict(Decision::Deny), ask("r")).await;
    assert_eq!((denied.allowed, denied.by), (false, ApprovedBy::Rule));
    assert!(denied.reason.unwrap().contains("careful"));
    assert_eq!(person.asked(), 0);
}

#[tokio::test]
async fn once_is_for_one_call() {
    let person = Scripted::new([
        Answer::Once,
        Answer::Deny {
            reason: " no \n".into(),
        },
        Answer::Once,
    ]);
    let approvals = Approvals::new(person.clone(), None);
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Once));
    let refused = Settled {
        allowed: false,
        by: ApprovedBy::Person,
        reason: Some("no".into()),
    };
    assert_eq!(settle(&approvals, ask("r")).await, refused);
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Once));
    assert_eq!(person.asked(), 3);
}

#[tokio::test]
async fn for_the_run_ends_with_the_run() {
    let person = Scripted::new([Answer::Run, Answer::Once, Answer::Once, Answer::Once]);
    let approvals = Approvals::new(person.clone(), None);
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Run));
    let other = request("call", "r", "a", json!({"file_path": "another"}));
    assert_eq!(settle(&approvals, other).await, yes(ApprovedBy::Run));
    assert_eq!(person.asked(), 1);
    // Another run, another profile: asked.
    assert_eq!(settle(&approvals, ask("r2")).await, yes(ApprovedBy::Once));
    let other = request("call", "r", "b", json!({}));
    assert_eq!(settle(&approvals, other).await, yes(ApprovedBy::Once));
    approvals.end_run(&RunId::from("r"));
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Once));
    assert_eq!(person.asked(), 4);
}

#[tokio::test]
async fn always_is_kept_until_it_is_taken_back() {
    let store = Store::in_memory().await.unwrap();
    let person = Scripted::new([Answer::Always, Answer::Once]);
    let approvals = Approvals::new(person.clone(), Some(store.grants().clone()));
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Always));
    assert_eq!(settle(&approvals, ask("r2")).await, yes(ApprovedBy::Always));
    let after_restart = Approvals::new(person.clone(), Some(store.grants().clone()));
    assert_eq!(
        settle(&after_restart, ask("r3")).await,
        yes(ApprovedBy::Always)
    );
    assert_eq!(person.asked(), 1);

    let grants = store.grants().list().await.unwrap();
    assert_eq!(grants[0].key, ask("r").key());
    store.grants().revoke(grants[0].id).await.unwrap();
    assert_eq!(settle(&approvals, ask("r")).await, yes(ApprovedBy::Once));
}

#[tokio::test]
async fn another_rules_question_is_another_question() {
    let person = Scripted::new([Answer::Run, Answer::Once]);
    let approvals = Approvals::new(person.clone(), None);
    settle(&approvals, ask("r")).await;
    let mut other = ask("r");
    other.says = "tool=File.*".into();
    assert_eq!(settle(&approvals, other).await, yes(ApprovedBy::Once));
}

#[tokio::test]
async fn always_that_cannot_be_kept_is_once_and_says_so() {
    let store = Store::in_memory().await.unwrap();
    let grants = store.grants().clone();
    store.close().await.unwrap();
    for (grants, why) in [(None, "no store"), (Some(grants), "closed")] {
        let person = Scripted::new([Answer::Always, Answer::Once]);
        let approvals = Approvals::new(person.clone(), grants);
        let settled = settle(&approvals, ask("r")).await;
        assert_eq!((settled.allowed, settled.by), (true, ApprovedBy::Once));
        assert!(settled.reason.unwrap().contains(why));
        settle(&approvals, ask("r")).await;
        assert_eq!(person.asked(), 2);
    }
}

#[tokio::test]
async fn nobody_refuses_and_tells_how_to_allow() {
    let approvals = Approvals::new(Arc::new(Nobody), None);
    let settled = settle(&approvals, ask("r")).await;
    assert_eq!((settled.allowed, settled.by), (false, ApprovedBy::Nobody));
    let reason = settled.reason.unwrap();
    assert!(
        reason.contains("tool = \"File.Delete\"") && reason.contains("--yes"),
        "{reason}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_time_is_no() {
    for (timeout, told) in [(None, "10 min"), (Some(Duration::from_secs(90)), "90 s")] {
        let person = Arc::new(Patient::default());
        let mut approvals = Approvals::new(person.clone(), None);
        if let Some(timeout) = timeout {
            approvals = approvals.with_timeout(timeout);
        }
        let before = tokio::time::Instant::now();
        let settled = settle(&approvals, ask("r")).await;
        assert_eq!(
            before.elapsed().as_secs(),
            timeout.unwrap_or(APPROVAL_TIMEOUT).as_secs()
        );
        assert_eq!((settled.allowed, settled.by), (false, ApprovedBy::Nobody));
        assert!(settled.reason.unwrap().contains(told));
        assert_eq!(person.open(), [""; 0], "the question was not withdrawn");
    }
}

#[tokio::test]
async fn the_same_question_waits_for_its_turn() {
    let person = Arc::new(Patient::default());
    let approvals = Arc::new(Approvals::new(person.clone(), None));
    let spawn = |id: &str, path: &str| {
        let (approvals, request) = (
            approvals.clone(),
            request(id, "r", "a", json!({"file_path": path})),
        );
        tokio::spawn(async move { settle(&approvals, request).await })
    };
    // They look alike when shown, but only the first two are the same.
    let calls = [spawn("1", "x"), spawn("2", "x"), spawn("3", "y")];
    breathe().await;
    assert_eq!(person.open(), ["1", "3"]);
    // A yes for one call is no yes for another, however alike.
    person.answer("1", Answer::Once);
    breathe().await;
    assert_eq!(person.open(), ["3", "2"]);
    person.answer("2", Answer::Once);
    person.answer(
        "3",
        Answer::Deny {
            reason: String::new(),
        },
    );
    let [first, second, third] = calls;
    assert_eq!(first.await.unwrap(), yes(ApprovedBy::Once));
    assert_eq!(second.await.unwrap(), yes(ApprovedBy::Once));
    let third = third.await.unwrap();
    assert_eq!(third.reason.as_deref(), Some("a person refused this call"));
    // Answered is answered: the next one asks anew.
    let next = spawn("4", "x");
    breathe().await;
    assert_eq!(person.open(), ["4"]);
    next.abort();
}

#[tokio::test]
async fn an_answer_for_the_run_settles_what_is_open() {
    let store = Store::in_memory().await.unwrap();
    for (answer, by) in [
        (Answer::Run, ApprovedBy::Run),
        (Answer::Always, ApprovedBy::Always),
    ] {
        let person = Arc::new(Patient::default());
        let approvals = Arc::new(Approvals::new(person.clone(), Some(store.grants().clone())));
        let spawn = |id: &str, run: &str| {
            let (approvals, request) = (
                approvals.clone(),
                request(id, run, "a", json!({"file_path": id})),
            );
            tokio::spawn(async move { settle(&approvals, request).await })
        };
        let (first, second) = (spawn("1", "r"), spawn("2", "r"));
        let opened = async {
            while person.open().len() < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), opened)
            .await
            .unwrap();
        person.answer("2", answer);
        assert_eq!(first.await.unwrap(), yes(by));
        assert_eq!(second.await.unwrap(), yes(by));
        assert_eq!(person.open(), [""; 0]);
    }
}

#[tokio::test]
async fn when_the_first_who_asked_goes_away_the_second_asks() {
    let person = Arc::new(Patient::default());
    let approvals = Arc::new(Approvals::new(person.clone(), None));
    let spawn = |id: &str| {
        let (approvals, request) = (approvals.clone(), request(id, "r", "a", json!({})));
        tokio::spawn(async move { settle(&approvals, request).await })
    };
    let first = spawn("1");
    breathe().await;
    let second = spawn("2");
    breathe().await;
    assert_eq!(person.open(), ["1"]);
    first.abort();
    breathe().await;
    assert_eq!(person.open(), ["2"]);
    person.answer("2", Answer::Once);
    assert_eq!(second.await.unwrap(), yes(ApprovedBy::Once));
}

#[tokio::test]
async fn answers_and_questions_are_bounded() {
    let long = Answer::Deny {
        reason: "x".repeat(MAX_APPROVAL_REASON_CHARS + 1),
    };
    let approvals = Approvals::new(Scripted::new([long]), None);
    let settled = settle(&approvals, ask("r")).await;
    assert_eq!(settled.reason.unwrap().len(), MAX_APPROVAL_REASON_CHARS);

    let approvals = Approvals::new(
        Scripted::new(vec![Answer::Run; MAX_GRANTS_PER_RUN + 1]),
        None,
    );
    for number in 0..MAX_GRANTS_PER_RUN {
        let settled = settle(
            &approvals,
            request("c", "r", &number.to_string(), json!({})),
        )
        .await;
        assert_eq!(settled, yes(ApprovedBy::Run));
    }
    let settled = settle(&approvals, request("c", "r", "one more", json!({}))).await;
    assert_eq!((settled.allowed, settled.by), (true, ApprovedBy::Once));

    let approvals = Approvals::new(
        Scripted::new(vec![Answer::Run; MAX_RUNS_WITH_GRANTS + 2]),
        None,
    );
    for number in 0..MAX_RUNS_WITH_GRANTS {
        settle(&approvals, ask(&number.to_string())).await;
    }
    assert_eq!(
        settle(&approvals, ask("one more")).await.by,
        ApprovedBy::Once
    );
    approvals.end_run(&RunId::from("0"));
    assert_eq!(
        settle(&approvals, ask("one more")).await.by,
        ApprovedBy::Run
    );

    let person = Arc::new(Patient::default());
    let approvals = Arc::new(Approvals::new(person.clone(), None));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..MAX_OPEN_QUESTIONS {
        let (approvals, request) = (approvals.clone(), ask(&number.to_string()));
        tasks.spawn(async move { settle(&approvals, request).await });
    }
    breathe().await;
    assert_eq!(person.open().len(), MAX_OPEN_QUESTIONS);
    let settled = settle(&approvals, ask("one more")).await;
    assert_eq!((settled.allowed, settled.by), (false, ApprovedBy::Nobody));
    // Questions that nobody waits for any more make room.
    tasks.shutdown().await;
    let asked = tokio::spawn(async move { settle(&approvals, ask("one more")).await });
    breathe().await;
    assert_eq!(person.open().len(), 1);
    asked.abort();
}

#[test]
fn a_question_shows_no_secret() {
    let request = request("call_1", "r", "a", json!({"secret": "hunter2"}));
    assert_eq!(
        serde_json::to_value(&request).unwrap(),
        json!({
            "id": "call_1", "tool": "File.Delete", "source": "builtin", "description": "",
            "arguments": {"secret": "***"}, "rule": "careful", "run": "r",
            "caller": {"user": "default", "actor": "agent:a", "project": "default"},
        })
    );
    let answer: Answer = serde_json::from_value(json!({"answer": "deny"})).unwrap();
    assert_eq!(
        answer,
        Answer::Deny {
            reason: String::new()
        }
    );
}

/// Two rules may have one name, and a rule may come to say more under the name that it had.
#[test]
fn an_answer_for_longer_is_about_what_a_rule_says_and_not_about_its_name() {
    let rule = |place: &str| {
        let mut rule = crate::policy::Rule::new(Decision::Ask);
        rule.name = Some("careful".into());
        rule.tool = Some("File.Write".into());
        rule.arguments.insert("file_path".into(), place.into());
        rule
    };
    let rules = vec![
        rule("user://projects/default/notes/*"),
        rule("user://projects/default/diary/*"),
    ];
    let policy = crate::policy::Policy::new(rules).unwrap();
    let keys = ["notes/a.md", "diary/a.md", "diary/b.md"].map(|file| {
        let tool = tool("File.Write", "builtin");
        let path = format!("user://projects/default/{file}");
        let arguments = json!({"file_path": path});
        let arguments = arguments.as_object().unwrap();
        let verdict = policy.decide(&crate::policy::Question {
            tool: &tool,
            actor: "agent:writer",
            arguments,
            normalise: &|text| Some(text.to_owned()),
        });
        assert_eq!(
            (verdict.decision, verdict.rule.as_str()),
            (Decision::Ask, "careful")
        );
        let caller = Caller::agent("writer", RunId::from("r"), Reach::everything());
        ApprovalRequest::new("1", &tool, &caller, arguments, json!({}), &verdict).key()
    });
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[1], keys[2]);
}
