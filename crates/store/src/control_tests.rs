use serde_json::json;

use super::*;
use crate::Store;
use crate::store::tests::folder;

fn said(messages: &[ControlMessage]) -> Vec<(u64, String, Json)> {
    let said = |message: &ControlMessage| {
        let run = message.run.to_string();
        (message.number, run, message.message.clone())
    };
    messages.iter().map(said).collect()
}

#[tokio::test]
async fn another_process_can_reach_a_run() {
    let (_folder, path) = folder();
    let driver = Store::open(&path).await.unwrap();
    let other = Store::open(&path).await.unwrap();
    let run = RunId::new("r");
    let (received, sent) = tokio::join!(
        async { driver.control().receive(0).await.unwrap() },
        async { other.control().send(&run, json!("cancel")).await.unwrap() }
    );
    assert_eq!(sent, 1);
    let first = (1, "r".to_owned(), json!("cancel"));
    assert_eq!(said(&received), vec![first.clone()]);
    // What nobody settled comes again, and what comes later comes alone.
    other
        .control()
        .send(&run, json!({"say": "on"}))
        .await
        .unwrap();
    let second = (2, "r".to_owned(), json!({"say": "on"}));
    let later = driver.control().receive(1).await.unwrap();
    assert_eq!(said(&later), vec![second.clone()]);
    let again = driver.control().waiting(0).await.unwrap();
    assert_eq!(said(&again), [first, second.clone()]);
    driver.control().settle(&[1]).await.unwrap();
    let left = driver.control().waiting(0).await.unwrap();
    assert_eq!(said(&left), [second]);
    driver.control().settle(&[2, 7]).await.unwrap();
    assert_eq!(driver.control().waiting(0).await, Ok(vec![]));
    // Numbers are not given twice.
    assert_eq!(other.control().send(&run, json!(1)).await, Ok(3));
}

#[tokio::test]
async fn no_more_than_so_much_is_kept() {
    let store = Store::in_memory().await.unwrap();
    let run = RunId::new("r");
    let large = json!("x".repeat(MAX_CONTROL_BYTES));
    let error = store.control().send(&run, large).await.unwrap_err();
    assert_eq!(error.code(), "store.too_large");
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..MAX_CONTROL_MESSAGES {
        let (control, run) = (store.control(), run.clone());
        senders.spawn(async move { control.send(&run, json!(0)).await.unwrap() });
    }
    senders.join_all().await;
    let error = store.control().send(&run, json!(0)).await.unwrap_err();
    assert_eq!(error.code(), "store.full");
    let page = store.control().waiting(0).await.unwrap();
    assert_eq!(page.len(), MAX_CONTROL_READ as usize);
}
