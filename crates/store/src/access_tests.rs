use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::Store;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn a_token(id: &str, created: i64, expires: Option<i64>) -> NewToken {
    NewToken {
        id: id.to_owned(),
        hash: [id.len() as u8; 32],
        name: "laptop".to_owned(),
        user: "default".to_owned(),
        scope: Scope::Run,
        created_at: at(created),
        expires_at: expires.map(at),
    }
}

fn a_code(hash: u8, expires: i64) -> NewCode {
    NewCode {
        hash: [hash; 32],
        name: "phone".to_owned(),
        user: "mei".to_owned(),
        scope: Scope::Read,
        created_at: at(0),
        expires_at: at(expires),
    }
}

#[tokio::test]
async fn a_token_is_found_with_its_hash_until_it_is_revoked() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    let added = access.add_token(a_token("one", 5, Some(60))).await.unwrap();
    let (found, hash) = access.token("one").await.unwrap().unwrap();
    assert_eq!((found.clone(), hash), (added, [3; 32]));
    assert!(!found.has_expired(at(59)));
    assert!(found.has_expired(at(60)));
    assert!(access.revoke_token("one").await.unwrap());
    assert!(!access.revoke_token("one").await.unwrap());
    assert_eq!(access.token("one").await.unwrap(), None);
}

#[tokio::test]
async fn a_code_becomes_one_token_once() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    access.add_code(a_code(7, 100)).await.unwrap();
    let token = access
        .redeem_code([7; 32], a_token("new", 50, None))
        .await
        .unwrap()
        .unwrap();
    let told = (token.name.as_str(), token.user.as_str(), token.scope);
    assert_eq!(told, ("phone", "mei", Scope::Read));
    let again = access.redeem_code([7; 32], a_token("other", 51, None));
    assert_eq!(again.await.unwrap(), None);
    assert_eq!(access.tokens().await.unwrap(), [token]);
}

#[tokio::test]
async fn a_code_that_has_expired_or_never_was_opens_nothing() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    access.add_code(a_code(7, 100)).await.unwrap();
    for (code, now) in [(7, 100), (8, 50)] {
        let redeemed = access.redeem_code([code; 32], a_token("new", now, None));
        assert_eq!(redeemed.await.unwrap(), None, "code {code} at {now}");
    }
    assert_eq!(access.tokens().await.unwrap(), []);
}

#[tokio::test]
async fn waiting_codes_are_bounded_and_expired_ones_make_room() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    let many = u8::try_from(MAX_PAIRING_CODES).unwrap();
    for hash in 0..many {
        access.add_code(a_code(hash, 100)).await.unwrap();
    }
    let one_more = access.add_code(a_code(many, 100)).await;
    assert!(
        matches!(one_more, Err(StoreError::Full { .. })),
        "{one_more:?}"
    );
    let later = NewCode {
        created_at: at(100),
        ..a_code(many, 200)
    };
    access.add_code(later).await.unwrap();
}

#[tokio::test]
async fn when_a_token_was_used_is_known_to_the_minute() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    access.add_token(a_token("one", 0, None)).await.unwrap();
    for (now, known) in [(10, 10), (69, 10), (70, 70)] {
        let (token, _) = access.token("one").await.unwrap().unwrap();
        access.token_was_used(&token, at(now)).await.unwrap();
        let (token, _) = access.token("one").await.unwrap().unwrap();
        assert_eq!(token.used_at, Some(at(known)), "at {now}");
    }
}

#[tokio::test]
async fn a_new_password_and_a_removal_shut_out_whoever_came_in_before() {
    let store = Store::in_memory().await.unwrap();
    let access = store.access();
    let mei = Person {
        name: "mei".to_owned(),
        password: "first".to_owned(),
        scope: Scope::Run,
        created_at: at(0),
    };
    assert!(access.add_person(mei.clone()).await.unwrap());
    assert!(!access.add_person(mei.clone()).await.unwrap());
    let of_mei = |id: &str| NewToken {
        user: "mei".to_owned(),
        ..a_token(id, 0, None)
    };
    let kept = access.add_token(a_token("kept", 0, None)).await.unwrap();
    access.add_token(of_mei("first")).await.unwrap();
    assert!(
        access
            .set_password("mei", "second".to_owned())
            .await
            .unwrap()
    );
    assert_eq!(access.tokens().await.unwrap(), std::slice::from_ref(&kept));
    assert_eq!(
        access.person("mei").await.unwrap().unwrap().password,
        "second"
    );

    access.add_token(of_mei("second")).await.unwrap();
    access.add_code(a_code(9, 100)).await.unwrap();
    assert!(access.remove_person("mei").await.unwrap());
    assert_eq!(access.tokens().await.unwrap(), [kept]);
    let redeemed = access.redeem_code([9; 32], a_token("new", 1, None));
    assert_eq!(redeemed.await.unwrap(), None);
    assert_eq!(access.people().await.unwrap(), []);
    assert!(
        !access
            .set_password("mei", "third".to_owned())
            .await
            .unwrap()
    );
}
