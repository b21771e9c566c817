//! What a publication of a run makes of a chat, what a rollback takes out of it again, and what its memory is noted on. Pure.

use innkeeper_agent::chat::Role;
use innkeeper_agent::workspace::host::HostFile;
use innkeeper_protocol::event::{
    ChatCommitRequested, MetadataUpdateRequested, WithdrawStrategy, WithdrawnCommit,
};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::message::{
    Said, add_swipe, agent_extra, commits, drop_swipe, holds_commit, is_of_run, next_extra, plain,
    role, set_text, text, with_state, write_extra,
};

/// The newest messages of a chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    /// The place of the first of them.
    pub(crate) first: u64,
    pub(crate) messages: Vec<Json>,
}

impl Tail {
    fn place(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    pub(crate) fn of_run(&self, run: &str) -> Option<usize> {
        let is_it = |message: &Json| is_of_run(message, run);
        self.messages.iter().rposition(is_it)
    }
}

/// One change of one message.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    Append(Json),
    Replace(u64, Json),
    Remove(u64),
}

pub(crate) struct Publication<'a> {
    pub(crate) commit: &'a ChatCommitRequested,
    pub(crate) file: &'a HostFile,
    /// Who says it, where it becomes a message of its own.
    pub(crate) name: &'a str,
    pub(crate) at: Timestamp,
}

/// Where the text is, and what has to be done so that it is there: nothing, if it is there already.
pub(crate) fn published(tail: &Tail, what: &Publication<'_>) -> (u64, Option<Change>) {
    let Publication { commit, file, .. } = what;
    let id = commit.commit_id.as_str();
    let holds = |message: &Json| holds_commit(message, id);
    if let Some(index) = tail.messages.iter().rposition(holds) {
        return (tail.place(index), None);
    }
    let last = tail.messages.len().checked_sub(1);
    let answer = last.filter(|last| role(&tail.messages[*last]) != Role::User);
    // What it has published before is changed; only a first publication may make something new.
    let (index, mut message) = match tail.of_run(commit.run_id.as_str()) {
        Some(index) => {
            let mut message = tail.messages[index].clone();
            let text = match commit.mode.as_str() {
                "append" => format!("{}{}", text(&message), file.text),
                _ => file.text.clone(),
            };
            set_text(&mut message, &text);
            (Some(index), message)
        }
        None => match (commit.generation_type.as_str(), answer) {
            ("swipe", Some(index)) => {
                let mut message = tail.messages[index].clone();
                let swipe = add_swipe(&mut message, &file.text, what.at);
                let extra = next_extra(commit, file, None, Some(swipe));
                write_extra(&mut message, &extra);
                return (
                    tail.place(index),
                    Some(Change::Replace(tail.place(index), message)),
                );
            }
            ("regenerate", Some(index)) => (Some(index), new_message(what)),
            _ => (None, new_message(what)),
        },
    };
    let extra = next_extra(commit, file, agent_extra(&message), None);
    write_extra(&mut message, &extra);
    match index {
        Some(index) => (
            tail.place(index),
            Some(Change::Replace(tail.place(index), message)),
        ),
        None => (
            tail.place(tail.messages.len()),
            Some(Change::Append(message)),
        ),
    }
}

fn new_message(what: &Publication<'_>) -> Json {
    plain(&Said {
        role: Role::Assistant,
        name: what.name,
        text: &what.file.text,
        at: what.at,
    })
}

/// Takes a publication out again. `texts`: of the commits that its message is made of then. Nothing where it is gone.
pub(crate) fn withdrawn(
    tail: &Tail,
    run: &str,
    commit: &WithdrawnCommit,
    texts: &[(String, String)],
) -> Option<Change> {
    let is_it = |message: &Json| {
        is_of_run(message, run) && holds_commit(message, commit.commit_id.as_str())
    };
    let index = tail.messages.iter().rposition(is_it)?;
    let place = tail.place(index);
    let mut message = tail.messages[index].clone();
    match commit.strategy {
        WithdrawStrategy::DeleteMessage => Some(Change::Remove(place)),
        WithdrawStrategy::DeleteSwipe => match drop_swipe(&mut message) {
            true => Some(Change::Replace(place, message)),
            false => Some(Change::Remove(place)),
        },
        WithdrawStrategy::ReplaceMessage => {
            let whole =
                texts
                    .iter()
                    .fold(String::new(), |whole, (mode, text)| match mode.as_str() {
                        "append" => whole + text,
                        _ => text.clone(),
                    });
            set_text(&mut message, &whole);
            let mut extra = agent_extra(&message)?.clone();
            let stays = |one: &Json| {
                let id = one.get("commitId").and_then(Json::as_str);
                commit
                    .replace_with
                    .iter()
                    .any(|kept| Some(kept.commit_id.as_str()) == id)
            };
            let kept: Vec<Json> = commits(&extra)
                .iter()
                .filter(|one| stays(one))
                .cloned()
                .collect();
            if let Some(last) = kept.last() {
                for name in ["commitId", "checkpointId"] {
                    extra.insert(name.to_owned(), last[name].clone());
                }
                extra.insert("commitSeq".to_owned(), last["seq"].clone());
            }
            extra.insert("commits".to_owned(), kept.into());
            extra.insert("persistStateStatus".to_owned(), "not_committed".into());
            extra.remove("persistStateId");
            write_extra(&mut message, &Json::Object(extra));
            Some(Change::Replace(place, message))
        }
    }
}

/// The message that the run has published says which state was kept.
pub(crate) fn note_state(tail: &Tail, update: &MetadataUpdateRequested) -> Option<Change> {
    let index = tail.of_run(update.run_id.as_str())?;
    let mut message = tail.messages[index].clone();
    let extra = with_state(agent_extra(&message)?, update);
    write_extra(&mut message, &extra);
    Some(Change::Replace(tail.place(index), message))
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
