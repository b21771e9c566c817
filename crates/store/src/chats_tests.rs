use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::Store;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn place(name: &str) -> ChatPlace {
    ChatPlace {
        kind: ChatKind::Character,
        owner: "mei".to_owned(),
        name: name.to_owned(),
    }
}

fn a_chat(id: &str, messages: &[&str]) -> NewChat {
    NewChat {
        id: id.to_owned(),
        place: place(id),
        metadata: "{}".into(),
        messages: messages.iter().map(|text| Arc::from(*text)).collect(),
        created_at: at(1),
    }
}

fn an_edit(chat: &str, base: Option<u64>, messages: Vec<MessageChange>) -> ChatEdit {
    ChatEdit {
        chat: chat.to_owned(),
        base,
        messages,
        metadata: None,
        place: None,
        at: at(2),
    }
}

async fn texts(chats: &Chats, id: &str) -> Vec<String> {
    let messages = chats.messages(id, 0, 1_000).await.unwrap();
    let numbered = messages.iter().enumerate();
    assert!(numbered.clone().all(|(at, (place, _))| at as u64 == *place));
    messages.iter().map(|(_, text)| text.to_string()).collect()
}

#[tokio::test]
async fn a_chat_is_found_by_its_id_and_by_its_place_and_is_there_once() {
    let store = Store::in_memory().await.unwrap();
    let chats = store.chats();
    let made = chats
        .create(a_chat("a", &["1", "2"]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((made.messages, made.version), (2, 1));
    assert_eq!(chats.get("a").await.unwrap().unwrap(), made);
    assert_eq!(chats.find(&place("a")).await.unwrap().unwrap(), made);
    assert!(chats.create(a_chat("a", &[])).await.unwrap().is_none());
    let elsewhere = NewChat {
        id: "b".to_owned(),
        ..a_chat("a", &["9"])
    };
    assert!(chats.create(elsewhere).await.unwrap().is_none());
    assert!(chats.get("b").await.unwrap().is_none());
    assert_eq!(texts(chats, "a").await, ["1", "2"]);
    assert!(chats.remove("a").await.unwrap());
    assert!(!chats.remove("a").await.unwrap());
    assert!(chats.messages("a", 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_edit_is_made_whole_on_what_was_seen_or_not_at_all() {
    let store = Store::in_memory().await.unwrap();
    let chats = store.chats();
    chats.create(a_chat("a", &["1", "2", "3"])).await.unwrap();
    chats.create(a_chat("b", &[])).await.unwrap();
    let append = || vec![MessageChange::Append("4".into())];
    let made = chats.edit(an_edit("a", Some(1), append())).await.unwrap();
    let ChatEdited::Made(record) = made else {
        panic!("{made:?}")
    };
    assert_eq!(
        (record.version, record.messages, record.updated_at),
        (2, 4, at(2))
    );
    let moved = chats.edit(an_edit("a", Some(1), append())).await.unwrap();
    assert_eq!(moved, ChatEdited::Moved(2));
    let mut beyond = append();
    beyond.push(MessageChange::Remove { at: 5 });
    let refused = chats.edit(an_edit("a", None, beyond)).await.unwrap();
    assert_eq!(refused, ChatEdited::NoMessage(5));
    let onto = ChatEdit {
        place: Some(place("b")),
        ..an_edit("a", None, append())
    };
    assert_eq!(chats.edit(onto).await.unwrap(), ChatEdited::Taken);
    let nowhere = chats.edit(an_edit("z", None, append())).await.unwrap();
    assert_eq!(nowhere, ChatEdited::NoChat);
    assert_eq!(texts(chats, "a").await, ["1", "2", "3", "4"]);
    let renamed = ChatEdit {
        place: Some(place("c")),
        metadata: Some(r#"{"x":1}"#.into()),
        ..an_edit("a", Some(2), Vec::new())
    };
    chats.edit(renamed).await.unwrap();
    let found = chats.find(&place("c")).await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), &*found.metadata), ("a", r#"{"x":1}"#));
}

#[tokio::test]
async fn chats_are_listed_page_by_page_the_newest_change_first() {
    let store = Store::in_memory().await.unwrap();
    let chats = store.chats();
    for id in ["a", "b", "c", "d"] {
        chats.create(a_chat(id, &[])).await.unwrap();
    }
    chats.edit(an_edit("b", None, Vec::new())).await.unwrap();
    let mut filter = ChatFilter {
        kind: Some(ChatKind::Character),
        owner: Some("mei".to_owned()),
        limit: 3,
        ..ChatFilter::default()
    };
    let page = chats.list(&filter).await.unwrap();
    let ids: Vec<&str> = page.iter().map(|chat| chat.id.as_str()).collect();
    assert_eq!(ids, ["b", "d", "c"]);
    filter.before = Some(ChatCursor {
        updated_at: page[2].updated_at,
        id: page[2].id.clone(),
    });
    let rest = chats.list(&filter).await.unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].id, "a");
    filter.owner = Some("lin".to_owned());
    assert!(chats.list(&filter).await.unwrap().is_empty());
}

#[tokio::test]
async fn values_lie_beside_a_chat_and_go_with_it() {
    let store = Store::in_memory().await.unwrap();
    let chats = store.chats();
    chats.create(a_chat("a", &[])).await.unwrap();
    let value = |key: &str, value: Option<&str>, seen: Option<Option<&str>>| ChatValue {
        chat: "a".to_owned(),
        namespace: "ext".to_owned(),
        key: key.to_owned(),
        value: value.map(Arc::from),
        seen: seen.map(|seen| seen.map(Arc::from)),
    };
    assert!(
        chats
            .set_value(value("k1", Some("1"), Some(None)))
            .await
            .unwrap()
    );
    assert!(
        !chats
            .set_value(value("k1", Some("2"), Some(None)))
            .await
            .unwrap()
    );
    assert!(
        chats
            .set_value(value("k1", Some("3"), Some(Some("1"))))
            .await
            .unwrap()
    );
    chats
        .set_value(value("k_2", Some("4"), None))
        .await
        .unwrap();
    assert_eq!(chats.keys("a", "ext", "k").await.unwrap(), ["k1", "k_2"]);
    assert_eq!(chats.keys("a", "ext", "k_").await.unwrap(), ["k_2"]);
    assert!(chats.keys("a", "other", "").await.unwrap().is_empty());
    assert!(chats.rename_value("a", "ext", "k_2", "k1").await.unwrap());
    assert!(!chats.rename_value("a", "ext", "k_2", "k1").await.unwrap());
    let found = chats.value("a", "ext", "k1").await.unwrap();
    assert_eq!(found.as_deref(), Some("4"));
    assert!(chats.set_value(value("k1", None, None)).await.unwrap());
    assert!(!chats.set_value(value("k1", None, None)).await.unwrap());
    chats.set_value(value("k", Some("5"), None)).await.unwrap();
    chats.remove("a").await.unwrap();
    chats.create(a_chat("a", &[])).await.unwrap();
    assert!(chats.value("a", "ext", "k").await.unwrap().is_none());
}

fn changes() -> impl Strategy<Value = Vec<MessageChange>> {
    let one = prop_oneof![
        any::<u8>().prop_map(|text| MessageChange::Append(text.to_string().into())),
        (0..6_u64, any::<u8>()).prop_map(|(at, text)| MessageChange::Replace {
            at,
            message: text.to_string().into(),
        }),
        (0..6_u64).prop_map(|at| MessageChange::Remove { at }),
        (0..6_u64).prop_map(|from| MessageChange::Truncate { from }),
    ];
    proptest::collection::vec(one, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same as editing a plain list.
    #[test]
    fn edits_do_what_they_say(edits in proptest::collection::vec(changes(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::in_memory().await.unwrap();
            let chats = store.chats();
            chats.create(a_chat("a", &["x", "y"])).await.unwrap();
            let mut model = vec!["x".to_owned(), "y".to_owned()];
            for changes in edits {
                let mut wanted = model.clone();
                let mut holds = true;
                for change in &changes {
                    match change {
                        MessageChange::Append(text) => wanted.push(text.to_string()),
                        MessageChange::Replace { at, message } => match wanted.get_mut(*at as usize) {
                            Some(there) => *there = message.to_string(),
                            None => holds = false,
                        },
                        MessageChange::Remove { at } if (*at as usize) < wanted.len() => {
                            wanted.remove(*at as usize);
                        }
                        MessageChange::Remove { .. } => holds = false,
                        MessageChange::Truncate { from } => wanted.truncate(*from as usize),
                    }
                    if !holds {
                        break;
                    }
                }
                let made = chats.edit(an_edit("a", None, changes)).await.unwrap();
                assert_eq!(matches!(made, ChatEdited::Made(_)), holds);
                if holds {
                    model = wanted;
                }
                assert_eq!(texts(chats, "a").await, model);
                assert_eq!(chats.get("a").await.unwrap().unwrap().messages, model.len() as u64);
            }
        });
    }
}
