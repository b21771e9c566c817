use serde_json::json;

use super::*;

fn at() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn commit(run: &str, id: &str, mode: &str, generation_type: &str) -> ChatCommitRequested {
    serde_json::from_value(json!({
        "commitId": id, "invocationId": "inv_root", "callId": "c", "runId": run,
        "workspaceId": "w", "stableChatId": "chat", "chatRef": null,
        "generationType": generation_type, "profileId": "p", "persistBaseStateId": null,
        "path": "output/main.md", "mode": mode, "reason": null, "chars": 1, "words": 1,
        "sha256": "s", "checkpointId": format!("cp_{id}"),
    }))
    .unwrap()
}

struct Chat(Vec<Json>);

impl Chat {
    fn new(lines: &[(&str, &str)]) -> Self {
        let line = |(who, said): &(&str, &str)| json!({ "name": who, "is_user": *who == "u", "mes": said });
        Self(lines.iter().map(line).collect())
    }

    fn tail(&self) -> Tail {
        Tail {
            first: 0,
            messages: self.0.clone(),
        }
    }

    fn make(&mut self, change: Option<Change>) {
        match change {
            None => {}
            Some(Change::Append(message)) => self.0.push(message),
            Some(Change::Replace(at, message)) => self.0[at as usize] = message,
            Some(Change::Remove(at)) => drop(self.0.remove(at as usize)),
        }
    }

    fn publish(&mut self, commit: &ChatCommitRequested, text: &str) -> u64 {
        let publication = Publication {
            commit,
            file: &HostFile::new("output/main.md", text.to_owned()),
            name: "Mei",
            at: at(),
        };
        let (place, change) = published(&self.tail(), &publication);
        self.make(change);
        place
    }

    fn texts(&self) -> Vec<&str> {
        self.0.iter().map(text).collect()
    }
}

fn take_back(id: &str, strategy: WithdrawStrategy, kept: &[&str]) -> WithdrawnCommit {
    let kept: Vec<Json> = kept
        .iter()
        .map(|id| json!({ "commitId": id, "path": "p", "mode": "replace", "sha256": "s" }))
        .collect();
    serde_json::from_value(json!({
        "commitId": id, "messageId": "1", "messageIndex": 1, "path": "output/main.md", "mode": "replace",
        "checkpointId": "cp", "strategy": strategy, "replaceWith": kept,
    }))
    .unwrap()
}

#[test]
fn a_publication_is_one_message_however_often_it_is_offered() {
    let mut chat = Chat::new(&[("u", "hi")]);
    let first = commit("r1", "c1", "replace", "normal");
    assert_eq!(chat.publish(&first, "one"), 1);
    assert_eq!(chat.publish(&first, "one"), 1);
    assert_eq!(chat.texts(), ["hi", "one"]);
    let more = commit("r1", "c2", "append", "normal");
    assert_eq!(chat.publish(&more, " two"), 1);
    assert_eq!(chat.publish(&more, " two"), 1);
    assert_eq!(
        chat.publish(&commit("r1", "c3", "replace", "normal"), "all new"),
        1
    );
    assert_eq!(chat.publish(&more, " two"), 1);
    assert_eq!(chat.texts(), ["hi", "all new"]);
    let extra = agent_extra(&chat.0[1]).unwrap();
    assert_eq!(
        (&extra["version"], &extra["commitSeq"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(extra["rollback"], json!({ "strategy": "deleteMessage" }));
    assert_eq!(
        chat.publish(&commit("r2", "c4", "append", "normal"), "other"),
        2
    );
    assert_eq!(chat.0[2]["name"], "Mei");
}

#[test]
fn a_swipe_is_another_way_to_say_it_and_goes_alone() {
    let mut chat = Chat::new(&[("u", "hi"), ("a", "old")]);
    let swipe = commit("r1", "c1", "replace", "swipe");
    assert_eq!(chat.publish(&swipe, "new"), 1);
    assert_eq!(chat.0[1]["swipes"], json!(["old", "new"]));
    assert_eq!(
        (&chat.0[1]["swipe_id"], &chat.0[1]["mes"]),
        (&json!(1), &json!("new"))
    );
    chat.publish(&commit("r1", "c2", "append", "swipe"), "er");
    assert_eq!(chat.0[1]["swipes"], json!(["old", "newer"]));
    let rollback = &agent_extra(&chat.0[1]).unwrap()["rollback"];
    assert_eq!(
        rollback,
        &json!({ "strategy": "deleteSwipe", "swipeId": 1 })
    );
    let taken = take_back("c1", WithdrawStrategy::DeleteSwipe, &[]);
    let change = withdrawn(&chat.tail(), "r1", &taken, &[]);
    chat.make(change);
    assert_eq!(
        (&chat.0[1]["swipes"], &chat.0[1]["mes"]),
        (&json!(["old"]), &json!("old"))
    );
    assert!(agent_extra(&chat.0[1]).is_none());
    assert_eq!(withdrawn(&chat.tail(), "r1", &taken, &[]), None);
}

#[test]
fn regenerating_writes_over_the_last_answer_and_over_nothing_else() {
    let mut chat = Chat::new(&[("u", "hi"), ("a", "old")]);
    assert_eq!(
        chat.publish(&commit("r1", "c1", "replace", "regenerate"), "new"),
        1
    );
    assert_eq!(chat.texts(), ["hi", "new"]);
    let mut chat = Chat::new(&[("u", "hi")]);
    assert_eq!(
        chat.publish(&commit("r1", "c1", "replace", "regenerate"), "new"),
        1
    );
    assert_eq!(chat.texts(), ["hi", "new"]);
    let mut chat = Chat::new(&[]);
    assert_eq!(
        chat.publish(&commit("r1", "c1", "replace", "swipe"), "new"),
        0
    );
}

#[test]
fn what_is_withdrawn_goes_out_and_what_others_said_stays() {
    let mut chat = Chat::new(&[("u", "hi")]);
    chat.publish(&commit("r1", "c1", "replace", "normal"), "one");
    chat.publish(&commit("r1", "c2", "append", "normal"), " two");
    let back = take_back("c2", WithdrawStrategy::ReplaceMessage, &["c1"]);
    let texts = [("replace".to_owned(), "one".to_owned())];
    let change = withdrawn(&chat.tail(), "r1", &back, &texts);
    chat.make(change);
    assert_eq!(chat.texts(), ["hi", "one"]);
    let extra = agent_extra(&chat.0[1]).unwrap();
    assert_eq!(
        (
            &extra["commitId"],
            extra["commits"].as_array().unwrap().len()
        ),
        (&json!("c1"), 1)
    );
    let gone = take_back("c1", WithdrawStrategy::DeleteMessage, &[]);
    assert_eq!(withdrawn(&chat.tail(), "r2", &gone, &[]), None);
    let change = withdrawn(&chat.tail(), "r1", &gone, &[]);
    chat.make(change);
    assert_eq!(chat.texts(), ["hi"]);
}
