//! The world of a chat, changed by several at the same time.

use innkeeper_tools::ToolError;
use innkeeper_tools::builtin::state::{Change, StatePath, Updated};
use serde_json::json;

use super::*;

fn add(path: &str, by: i64) -> Vec<Change> {
    vec![Change::Increment(
        StatePath::parse(path).unwrap(),
        by.into(),
    )]
}

async fn ask(
    worlds: &Worlds,
    request: Option<&str>,
    changes: &[Change],
    expected: Option<u64>,
) -> Result<Updated, ToolError> {
    let request = request.map(str::to_owned);
    worlds
        .update(&chat(), Author::Person, request, changes, expected)
        .await
}

#[tokio::test]
async fn no_update_is_lost() {
    let worlds = worlds().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..24 {
        let worlds = worlds.clone();
        tasks.spawn(async move {
            let request = format!("run/{number}");
            let updated = ask(&worlds, Some(&request), &add("n", 1), None).await;
            updated.unwrap().version
        });
    }
    let mut versions = tasks.join_all().await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=24).collect::<Vec<_>>());
    let world = worlds.read(&chat()).await.unwrap();
    assert_eq!((world.version, world.value), (24, json!({"n": 24})));
    let history = worlds.history(&chat(), 100).await.unwrap();
    let told: Vec<u64> = history.iter().map(|version| version.version).collect();
    assert_eq!(told, (1..=24).rev().collect::<Vec<_>>());
    assert_eq!(history[0].changes[0].before, Some(json!(23)));
}

#[tokio::test]
async fn of_two_who_expect_the_same_version_one_wins_and_the_other_learns_what_changed() {
    let worlds = worlds().await;
    for version in 0..10 {
        let (one, other) = (add("a", 1), add("b", 1));
        let (one, other) = tokio::join!(
            ask(&worlds, None, &one, Some(version)),
            ask(&worlds, None, &other, Some(version)),
        );
        let (won, lost) = match (one, other) {
            (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
            both => panic!("{both:?}"),
        };
        assert_eq!(won.version, version + 1);
        assert_eq!(lost.reason.as_deref(), Some("state.version_conflict"));
        let told = format!(
            "is at version {}, not {version}; since then {} changed",
            version + 1,
            won.paths[0]
        );
        assert!(lost.message.contains(&told), "{}", lost.message);
    }
}

#[tokio::test]
async fn a_request_that_comes_again_is_answered_as_before() {
    let worlds = worlds().await;
    let request = Some("run_1/call_1/0");
    let first = ask(&worlds, request, &add("n", 2), Some(0)).await.unwrap();
    ask(&worlds, None, &add("n", 5), None).await.unwrap();
    let again = ask(&worlds, request, &add("n", 2), Some(0)).await;
    assert_eq!(again.unwrap(), first);
    assert_eq!((first.version, first.value), (1, Some(json!(2))));
    assert_eq!(worlds.read(&chat()).await.unwrap().value, json!({"n": 7}));
}

#[tokio::test]
async fn what_changes_nothing_makes_no_version() {
    let worlds = worlds().await;
    let nothing = ask(&worlds, None, &[], Some(0)).await.unwrap();
    assert_eq!(
        (nothing.version, nothing.paths.len(), nothing.value),
        (0, 0, None)
    );
    assert!(worlds.history(&chat(), 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_world_can_be_given_a_schema_that_it_fits() {
    let worlds = worlds().await;
    let schema = json!({"properties": {"n": {"maximum": 2}}});
    worlds
        .set_schema(&chat(), Some(schema.clone()))
        .await
        .unwrap();
    let update = async |by| {
        let made = ask(&worlds, None, &add("n", by), None).await;
        made.map_err(|error| error.reason.unwrap())
    };
    assert!(update(2).await.is_ok());
    assert_eq!(update(1).await.unwrap_err(), "state.schema_violation");
    let world = worlds.read(&chat()).await.unwrap();
    assert_eq!((world.value, world.schema), (json!({"n": 2}), Some(schema)));
    let strict = Some(json!({"properties": {"n": {"maximum": 1}}}));
    let refused = worlds.set_schema(&chat(), strict).await.unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some("state.schema_violation"));
    worlds.set_schema(&chat(), None).await.unwrap();
    assert!(update(1).await.is_ok());
}

#[tokio::test]
async fn that_a_request_changed_nothing_is_remembered_too() {
    let worlds = worlds().await;
    let set = |value: i64| {
        let path = StatePath::parse("n").unwrap();
        vec![Change::Set(path, value.into())]
    };
    let request = Some("run_1/call_1/0");
    ask(&worlds, None, &set(1), None).await.unwrap();
    let first = ask(&worlds, request, &set(1), None).await.unwrap();
    assert_eq!((first.version, first.paths.len()), (1, 0));
    ask(&worlds, None, &set(2), None).await.unwrap();
    // Made again after a crash, it must not undo what others have done since.
    let again = ask(&worlds, request, &set(1), None).await.unwrap();
    assert_eq!(again, first);
    let world = worlds.read(&chat()).await.unwrap();
    assert_eq!((world.version, world.value), (2, json!({"n": 2})));
    // Also of a world that nobody had changed.
    let other = WorkspaceId::new("chat_2");
    let nothing = worlds.update(&other, Author::Person, Some("r".to_owned()), &[], None);
    assert_eq!(nothing.await.unwrap().version, 0);
    assert_eq!(worlds.read(&other).await.unwrap().version, 0);
}
