use super::*;
use crate::Store;
use crate::store::tests::folder;

fn workspace() -> WorkspaceId {
    WorkspaceId::new("chat_1")
}

fn update(base: u64, request: Option<&str>) -> WorldUpdate {
    let version = base + 1;
    WorldUpdate {
        workspace: workspace(),
        base,
        value: format!(r#"{{"v":{version}}}"#).into(),
        record: format!(r#"{{"version":{version}}}"#).into(),
        request: request.map(|id| (id.to_owned(), format!("answer to {id}").into())),
    }
}

#[tokio::test]
async fn a_world_changes_only_from_the_version_that_was_seen() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let worlds = store.worlds();
    assert_eq!(worlds.get(&workspace()).await, Ok(None));
    for (base, outcome) in [
        (1, WorldUpdated::Moved(0)),
        (0, WorldUpdated::Made),
        (0, WorldUpdated::Moved(1)),
        (1, WorldUpdated::Made),
    ] {
        assert_eq!(worlds.update(update(base, None)).await, Ok(outcome));
    }
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let worlds = store.worlds();
    let kept = World {
        version: 2,
        value: r#"{"v":2}"#.into(),
        schema: None,
    };
    assert_eq!(worlds.get(&workspace()).await, Ok(Some(kept)));
    assert_eq!(worlds.get(&"chat_2".into()).await, Ok(None));
    let history = worlds.history(&workspace(), None, 10).await.unwrap();
    assert_eq!(
        history,
        [r#"{"version":2}"#, r#"{"version":1}"#].map(Arc::from)
    );
    let earlier = worlds.history(&workspace(), Some(2), 10).await.unwrap();
    assert_eq!(earlier, [Arc::from(r#"{"version":1}"#)]);
}

#[tokio::test]
async fn of_two_who_saw_the_same_version_one_succeeds() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    for base in 0..20 {
        let both = tokio::join!(
            worlds.update(update(base, Some(&format!("one {base}")))),
            worlds.update(update(base, Some(&format!("other {base}")))),
        );
        let made = [both.0.unwrap(), both.1.unwrap()];
        let count = made
            .iter()
            .filter(|made| **made == WorldUpdated::Made)
            .count();
        assert_eq!(count, 1, "{made:?}");
        assert!(made.contains(&WorldUpdated::Moved(base + 1)), "{made:?}");
    }
}

#[tokio::test]
async fn a_request_takes_effect_once() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    assert_eq!(worlds.answer(&workspace(), "r1").await, Ok(None));
    let first = worlds.update(update(0, Some("r1"))).await;
    assert_eq!(first, Ok(WorldUpdated::Made));
    // Also where others have changed the world since, and where it is asked for from their version.
    let other = worlds.update(update(1, None)).await;
    assert_eq!(other, Ok(WorldUpdated::Made));
    for base in [0, 2] {
        let again = worlds.update(update(base, Some("r1"))).await;
        assert_eq!(again, Ok(WorldUpdated::Again("answer to r1".into())));
    }
    let known = worlds.answer(&workspace(), "r1").await.unwrap();
    assert_eq!(known.as_deref(), Some("answer to r1"));
    assert_eq!(worlds.answer(&"chat_2".into(), "r1").await, Ok(None));
    assert_eq!(worlds.get(&workspace()).await.unwrap().unwrap().version, 2);
}

#[tokio::test]
async fn only_the_newest_versions_and_requests_are_kept() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    let most = MAX_WORLD_REQUESTS.unsigned_abs() + 5;
    for base in 0..most {
        let made = worlds.update(update(base, Some(&base.to_string()))).await;
        assert_eq!(made, Ok(WorldUpdated::Made));
    }
    let history = worlds.history(&workspace(), None, 10_000).await.unwrap();
    assert_eq!(history.len() as i64, MAX_WORLD_VERSIONS);
    assert_eq!(*history[0], *format!(r#"{{"version":{most}}}"#));
    for (request, is_known) in [(4, false), (5, true), (most - 1, true)] {
        let known = worlds.answer(&workspace(), &request.to_string()).await;
        assert_eq!(known.unwrap().is_some(), is_known, "{request}");
    }
}

#[tokio::test]
async fn a_schema_is_set_on_the_version_that_it_was_held_against() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    let schema = || Some(Arc::from("{}"));
    assert_eq!(worlds.set_schema(&workspace(), 0, schema()).await, Ok(true));
    assert_eq!(worlds.get(&workspace()).await.unwrap().unwrap().version, 0);
    assert_eq!(worlds.update(update(0, None)).await, Ok(WorldUpdated::Made));
    assert_eq!(worlds.set_schema(&workspace(), 0, None).await, Ok(false));
    let kept = worlds.get(&workspace()).await.unwrap().unwrap();
    assert_eq!((kept.version, kept.schema), (1, schema()));
    assert_eq!(worlds.set_schema(&workspace(), 1, None).await, Ok(true));
    assert_eq!(
        worlds.get(&workspace()).await.unwrap().unwrap().schema,
        None
    );
}

#[tokio::test]
async fn a_world_that_is_removed_is_gone_with_all_it_had() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    assert_eq!(worlds.remove(&workspace()).await, Ok(false));
    worlds.update(update(0, Some("r1"))).await.unwrap();
    assert_eq!(worlds.remove(&workspace()).await, Ok(true));
    assert_eq!(worlds.get(&workspace()).await, Ok(None));
    assert_eq!(
        worlds.update(update(0, Some("r1"))).await,
        Ok(WorldUpdated::Made)
    );
    assert_eq!(
        worlds.history(&workspace(), None, 9).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    let long = |bytes: usize| -> Arc<str> { "x".repeat(bytes + 1).into() };
    let good = || update(0, Some("r"));
    for refused in [
        WorldUpdate {
            value: long(MAX_WORLD_BYTES),
            ..good()
        },
        WorldUpdate {
            record: long(MAX_WORLD_RECORD_BYTES),
            ..good()
        },
        WorldUpdate {
            request: Some(("r".to_owned(), long(MAX_WORLD_ANSWER_BYTES))),
            ..good()
        },
        WorldUpdate {
            request: Some((long(MAX_RECORD_ID_CHARS).to_string(), "".into())),
            ..good()
        },
        WorldUpdate {
            workspace: WorkspaceId::new(&*long(MAX_RECORD_ID_CHARS)),
            ..good()
        },
    ] {
        let error = worlds.update(refused).await.unwrap_err();
        assert_eq!(error.code(), "store.too_large");
    }
    let schema = Some(long(MAX_WORLD_SCHEMA_BYTES));
    let error = worlds.set_schema(&workspace(), 0, schema).await;
    assert_eq!(error.unwrap_err().code(), "store.too_large");
    assert_eq!(worlds.get(&workspace()).await, Ok(None));
}

#[tokio::test]
async fn a_request_that_changed_nothing_is_known_too() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    let nothing = |base, request| update(base, Some(request));
    // Also of a world that nobody has changed yet: it stays at version 0.
    assert_eq!(
        worlds.remember(nothing(0, "a")).await,
        Ok(WorldUpdated::Made)
    );
    assert_eq!(worlds.get(&workspace()).await.unwrap().unwrap().version, 0);
    assert_eq!(
        worlds.update(update(0, Some("b"))).await,
        Ok(WorldUpdated::Made)
    );
    let again = |request: &str| Ok(WorldUpdated::Again(format!("answer to {request}").into()));
    for request in ["a", "b"] {
        assert_eq!(worlds.remember(nothing(9, request)).await, again(request));
        assert_eq!(
            worlds.update(update(9, Some(request))).await,
            again(request)
        );
    }
    assert_eq!(
        worlds.remember(nothing(0, "c")).await,
        Ok(WorldUpdated::Moved(1))
    );
    assert_eq!(worlds.answer(&workspace(), "c").await, Ok(None));
    assert_eq!(
        worlds.remember(nothing(1, "c")).await,
        Ok(WorldUpdated::Made)
    );
    let world = worlds.get(&workspace()).await.unwrap().unwrap();
    assert_eq!((world.version, &*world.value), (1, r#"{"v":1}"#));
    assert_eq!(
        worlds.history(&workspace(), None, 9).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn worlds_of_workspaces_without_runs_are_found() {
    let store = Store::in_memory().await.unwrap();
    let worlds = store.worlds();
    worlds.update(update(0, None)).await.unwrap();
    let mut record = crate::journal::tests::record("r");
    record.workspace_id = workspace();
    let first = crate::journal::tests::step("r", 1..=1);
    store.journal().create(record, first).await.unwrap();
    assert!(worlds.orphaned(None).await.unwrap().is_empty());
    store.journal().delete(&"r".into()).await.unwrap();
    assert_eq!(worlds.orphaned(None).await.unwrap(), [workspace()]);
    assert!(worlds.orphaned(Some("chat_1")).await.unwrap().is_empty());
}
