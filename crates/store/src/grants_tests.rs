use super::*;
use crate::Store;
use crate::store::tests::folder;

fn key(tool: &str) -> GrantKey {
    GrantKey {
        user: "default".into(),
        actor: "agent:storyteller".into(),
        tool: tool.into(),
        source: "builtin".into(),
        rule: "default:File.Delete".into(),
    }
}

#[tokio::test]
async fn a_grant_is_found_by_exactly_what_it_says() {
    let store = Store::in_memory().await.unwrap();
    let grants = store.grants();
    let granted = grants
        .add(key("File.Delete"), Some("trust it".into()))
        .await
        .unwrap();
    assert_eq!(
        grants.find(&key("File.Delete")).await.unwrap().unwrap(),
        granted
    );
    assert_eq!(grants.list().await.unwrap(), [granted]);
    for other in [
        GrantKey {
            user: "mia".into(),
            ..key("File.Delete")
        },
        GrantKey {
            actor: "person".into(),
            ..key("File.Delete")
        },
        GrantKey {
            actor: "agent:*".into(),
            ..key("File.Delete")
        },
        GrantKey {
            source: "plugin:x".into(),
            ..key("File.Delete")
        },
        GrantKey {
            rule: "another".into(),
            ..key("File.Delete")
        },
        key("File.*"),
        key("file.delete"),
    ] {
        assert_eq!(grants.find(&other).await.unwrap(), None, "{other:?}");
    }
}

#[tokio::test]
async fn a_grant_is_given_once_and_can_be_taken_back() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let first = store.grants().add(key("T"), None).await.unwrap();
    let again = store
        .grants()
        .add(key("T"), Some("other".into()))
        .await
        .unwrap();
    assert_eq!(first, again);
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    assert_eq!(
        store.grants().list().await.unwrap(),
        std::slice::from_ref(&first)
    );
    assert!(store.grants().revoke(first.id).await.unwrap());
    assert!(!store.grants().revoke(first.id).await.unwrap());
    assert_eq!(store.grants().find(&key("T")).await.unwrap(), None);
    // A number is never given twice: an old "revoke 1" must not hit a new grant.
    let later = store.grants().add(key("T"), None).await.unwrap();
    assert!(later.id > first.id);
}

#[tokio::test]
async fn grants_are_bounded() {
    let store = Store::in_memory().await.unwrap();
    let grants = store.grants();
    let long = grants
        .add(key(&"x".repeat(MAX_GRANT_CHARS + 1)), None)
        .await;
    assert_eq!(long.unwrap_err().code(), "store.too_large");
    for chunk in (0..MAX_GRANTS).collect::<Vec<_>>().chunks(500) {
        let mut tasks = tokio::task::JoinSet::new();
        for number in chunk {
            let (grants, key) = (grants.clone(), key(&number.to_string()));
            tasks.spawn(async move { grants.add(key, None).await });
        }
        for added in tasks.join_all().await {
            added.unwrap();
        }
    }
    let full = grants.add(key("one more"), None).await;
    assert_eq!(full.unwrap_err().code(), "store.full");
    grants.add(key("0"), None).await.unwrap();
}
