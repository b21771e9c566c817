use serde_json::json;

use super::*;
use crate::Store;
use crate::journal::tests::at;
use crate::store::tests::folder;

fn question(id: &str, run: &str) -> Approval {
    Approval {
        id: id.to_owned(),
        run: RunId::new(run),
        call: CallId::new("c1"),
        question: json!({"tool": "File.Write", "arguments": {"path": "a"}}),
        asked_at: at(1),
        answer: None,
    }
}

fn answer(said: &str) -> Answer {
    Answer {
        said: json!(said),
        at: at(2),
    }
}

#[tokio::test]
async fn a_question_is_answered_once_and_for_good() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let approvals = store.approvals();
    let asked = question("q1", "r");
    assert_eq!(approvals.ask(asked.clone()).await, Ok(asked.clone()));
    approvals.ask(question("q2", "other")).await.unwrap();
    let pending = vec![asked.clone(), question("q2", "other")];
    assert_eq!(approvals.pending(None).await, Ok(pending));
    let of_run = approvals.pending(Some(&"r".into())).await;
    assert_eq!(of_run, Ok(vec![asked.clone()]));

    let answered = Approval {
        answer: Some(answer("once")),
        ..asked.clone()
    };
    let first = approvals.answer("q1", answer("once")).await;
    assert_eq!(first, Ok(Answered::First(answered.clone())));
    let second = approvals.answer("q1", answer("never")).await;
    assert_eq!(second, Ok(Answered::Already(answered.clone())));
    let nobody = approvals.answer("q9", answer("once")).await;
    assert_eq!(nobody, Ok(Answered::Unknown));
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let approvals = store.approvals();
    assert_eq!(approvals.get("q1").await, Ok(Some(answered.clone())));
    // Asked again after a restart, it has its answer.
    assert_eq!(approvals.ask(asked).await, Ok(answered));
    assert_eq!(approvals.pending(Some(&"r".into())).await, Ok(vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_answers_one_counts() {
    let store = Store::in_memory().await.unwrap();
    store.approvals().ask(question("q", "r")).await.unwrap();
    let mut people = tokio::task::JoinSet::new();
    for person in 0..20 {
        let approvals = store.approvals();
        people.spawn(async move {
            let said = answer(&person.to_string());
            approvals.answer("q", said).await.unwrap()
        });
    }
    let all = people.join_all().await;
    let is_first = |answered: &&Answered| matches!(answered, Answered::First(_));
    assert_eq!(all.iter().filter(is_first).count(), 1);
}

#[tokio::test]
async fn what_is_too_large_or_too_deep_is_refused() {
    let store = Store::in_memory().await.unwrap();
    let large = json!("x".repeat(MAX_APPROVAL_BYTES));
    let deep = crate::depth::nested(crate::limits::MAX_JSON_DEPTH + 1);
    for (value, code) in [(large, "store.too_large"), (deep, "store.too_deep")] {
        let asked = Approval {
            question: value.clone(),
            ..question("q", "r")
        };
        let error = store.approvals().ask(asked).await.unwrap_err();
        assert_eq!(error.code(), code);
        let said = Answer {
            said: value,
            at: at(1),
        };
        let error = store.approvals().answer("q", said).await.unwrap_err();
        assert_eq!(error.code(), code);
    }
}
