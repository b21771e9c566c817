use innkeeper_store::BlobId;
use serde_json::json;

use super::*;

fn files(list: &[(&str, &str)]) -> BTreeMap<String, FileInfo> {
    let info = |text: &str| FileInfo::of(BlobId::of(text.as_bytes()), text);
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), info(text)))
        .collect()
}

#[tokio::test]
async fn what_a_run_leaves_the_next_one_finds() {
    let states = StatesInMemory::default();
    let workspace = WorkspaceId::new("chat_1");
    let nothing = project(&states, &workspace, None).await.unwrap();
    assert_eq!(nothing, Projection::default());

    let now = files(&[
        ("persist/a.md", "a"),
        ("persist/b/c.md", "c"),
        ("output/x.md", "x"),
    ]);
    let (state, changes) = leave(&workspace, "run_1", None, &BTreeMap::new(), &now);
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("persist/a.md", ChangeKind::Added),
            ("persist/b/c.md", ChangeKind::Added)
        ]
    );
    assert_eq!(state.tree().0.len(), 2, "only what is to be kept");
    states.save(state.clone()).await.unwrap();
    states.save(state).await.unwrap();

    let found = project(&states, &workspace, Some("run_1")).await.unwrap();
    let began: BTreeMap<_, _> = found.files.into_iter().collect();
    assert_eq!(
        began,
        files(&[("persist/a.md", "a"), ("persist/b/c.md", "c")])
    );
    let now = files(&[
        ("persist/a.md", "A"),
        ("persist/d.md", "d"),
        ("persistent/x.md", "x"),
    ]);
    let changes = keep(&states, &workspace, "run_2", Some("run_1"), &now, None)
        .await
        .unwrap();
    let again = keep(&states, &workspace, "run_2", Some("run_1"), &now, None)
        .await
        .unwrap();
    assert_eq!(again, changes);
    let state = states.load(&workspace, "run_2").await.unwrap().unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.kind, change.sha256.is_some()))
        .collect();
    assert_eq!(
        told,
        [
            ("persist/a.md", ChangeKind::Modified, true),
            ("persist/b/c.md", ChangeKind::Deleted, false),
            ("persist/d.md", ChangeKind::Added, true),
        ]
    );
    assert_eq!(state.base_state_id.as_deref(), Some("run_1"));
    assert_eq!(state.files.len(), 2);

    let (_, unchanged) = leave(&workspace, "run_3", Some("run_2"), &began, &began);
    assert!(unchanged.is_empty());
    assert_eq!(states.list(&workspace).await.unwrap(), ["run_1", "run_2"]);
    let other = WorkspaceId::new("chat_2");
    assert!(
        project(&states, &other, Some("run_1"))
            .await
            .unwrap()
            .is_missing
    );
    let gone = ["run_1".to_owned(), "run_9".to_owned()];
    assert_eq!(states.remove(&workspace, &gone).await.unwrap(), ["run_1"]);
    assert!(
        project(&states, &workspace, Some("run_1"))
            .await
            .unwrap()
            .is_missing
    );
}

#[test]
fn the_newest_answer_says_where_its_memory_is() {
    let answer = |agent: Json| json!({"mes": "x", "is_user": false, "extra": {"tauritavern": {"agent": agent}}});
    let committed =
        |id: &str| answer(json!({"persistStateStatus": "committed", "persistStateId": id}));
    let open = answer(json!({"persistStateStatus": "not_committed"}));
    let user = json!({"mes": "y", "is_user": true, "extra": {"tauritavern": {"agent": {"persistStateStatus": "odd"}}}});
    for (messages, base) in [
        (vec![], Ok(None)),
        (vec![json!({"mes": "x"}), user.clone()], Ok(None)),
        (vec![committed("run_1"), user.clone()], Ok(Some("run_1"))),
        (
            vec![committed("run_1"), committed("run_2")],
            Ok(Some("run_2")),
        ),
        (vec![committed("run_1"), open], Ok(Some("run_1"))),
        (
            vec![committed("run_1"), answer(json!({"version": 1}))],
            Ok(Some("run_1")),
        ),
        (vec![committed(" ")], Err("agent.persist_state_missing")),
        (
            vec![answer(json!({"persistStateStatus": "lost"}))],
            Err("agent.persist_state_status_invalid"),
        ),
        (
            vec![answer(json!({"persistStateStatus": 7}))],
            Err("agent.persist_state_status_invalid"),
        ),
    ] {
        let found = base_of(&messages);
        let found = found
            .as_ref()
            .map(Option::as_deref)
            .map_err(|fault| fault.reason());
        assert_eq!(found, base, "{messages:?}");
    }
}
