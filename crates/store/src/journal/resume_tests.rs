use innkeeper_protocol::event::RunStatus;

use crate::journal::tests::{at, begin, last, quiet, resumed, step};
use crate::store::tests::folder;
use crate::{Store, StoreError};

#[tokio::test]
async fn a_run_that_is_over_can_be_resumed() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let journal = store.journal();
    begin(&store, "r", 1).await;
    journal.append(last("r", 2)).await.unwrap();
    assert!(journal.unfinished().await.unwrap().is_empty());
    let late = StoreError::Gap { last: 2, found: 4 };
    assert_eq!(journal.append(resumed("r", 4..=4)).await, Err(late));
    assert_eq!(
        journal.append(step("r", 3..=3)).await,
        Err(StoreError::RunOver)
    );
    let mut buried = resumed("r", 3..=4);
    buried.events.swap(0, 1);
    (buried.events[0].seq, buried.events[1].seq) = (3, 4);
    assert_eq!(journal.append(buried).await, Err(StoreError::RunOver));

    journal.append(resumed("r", 3..=4)).await.unwrap();
    let record = journal.record(&"r".into()).await.unwrap().unwrap();
    assert_eq!((record.last_seq, record.terminal_at), (4, None));
    assert_eq!(record.status, RunStatus::CallingModel);
    assert_eq!(journal.unfinished().await.unwrap().len(), 1);
    assert!(store.check().await.unwrap().damage.is_empty());
    journal.append(quiet("r", "goes on")).await.unwrap();
    // Resumed and over in one step.
    journal.append(last("r", 5)).await.unwrap();
    let mut at_once = resumed("r", 6..=7);
    at_once.events[1] = last("r", 7).events.remove(0);
    journal.append(at_once).await.unwrap();
    assert_eq!(
        journal.append(quiet("r", "x")).await,
        Err(StoreError::RunOver)
    );
    let record = journal.record(&"r".into()).await.unwrap().unwrap();
    assert_eq!(record.terminal_at, Some(at(7)));
    assert!(store.check().await.unwrap().damage.is_empty());
    assert_eq!(
        journal
            .replay(&"r".into())
            .await
            .unwrap()
            .unwrap()
            .inputs
            .len(),
        6
    );
    store.close().await.unwrap();
    assert!(Store::repair(&path).await.unwrap().was_sound());
}
