//! One run, from what it still asks for to its end.

use std::collections::VecDeque;
use std::sync::Arc;

use innkeeper_agent::instance::{AgentError, HostAnswer};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    ChatCommitRequested, MetadataUpdateRequested, RunEvent, RunEventKind, RunId, RunRolledBack,
};
use innkeeper_store::ChatRecord;
use innkeeper_store::journal::{EventRange, Followed, RunRecord};
use serde_json::{Value as Json, json};

use super::house_chat::HouseChat;
use crate::chats::place_of;
use crate::clients::CallFault;
use crate::house::House;
use crate::limits::{COMMIT_CALL_TIMEOUT, FOLLOW_AGAIN_AFTER, HOST_PAGE};
use crate::problem::Problem;

/// What a run wants of its host.
enum Wish {
    Commit(ChatCommitRequested),
    Note(MetadataUpdateRequested),
    Withdraw(RunRolledBack),
    /// It is complete.
    Done,
}

/// Until it is over, or not driven here any more. What goes wrong is told to the run, or left as it is: it asks again.
pub(super) async fn attend(house: &Arc<House>, run: &RunId) {
    loop {
        match follow(house, run).await {
            Ok(()) => {}
            Err(problem) => {
                tracing::warn!(
                    run = run.as_str(),
                    code = problem.code.as_str(),
                    detail = problem.detail,
                    "a run cannot be published for"
                );
            }
        }
        // One that was resumed between its end and now told nobody of it, since it was still followed.
        if !house.agents.is_alive(run) {
            return;
        }
        tokio::time::sleep(FOLLOW_AGAIN_AFTER).await;
    }
}

async fn follow(house: &Arc<House>, run: &RunId) -> Result<(), Problem> {
    let record = house.agents.record(run).await?;
    let (mut wishes, last) = left_open(house, run, record.last_seq).await?;
    let mut follower = house.agents.follow(run, last);
    let host = Host { house, record };
    let mut clients = house.clients.changes();
    loop {
        // What nobody is there for now is tried again when somebody has come.
        clients.mark_unchanged();
        while let Some(wish) = wishes.pop_front() {
            if !host.fulfil(&wish).await? {
                wishes.push_front(wish);
                break;
            }
        }
        let followed = tokio::select! {
            followed = follower.next() => followed,
            changed = clients.changed(), if !wishes.is_empty() => match changed {
                Ok(()) => continue,
                Err(_) => return Ok(()),
            },
        };
        match followed {
            Followed::Events(events) => {
                for event in events {
                    hear(&event, &mut wishes);
                }
            }
            Followed::Lagged { .. } => {}
            Followed::End => {
                for wish in wishes {
                    host.fulfil(&wish).await?;
                }
                return Ok(());
            }
            Followed::Failed(error) => return Err(error.into()),
        }
    }
}

/// What it asked for before anybody followed it, and the number of the last event that was looked at.
async fn left_open(
    house: &House,
    run: &RunId,
    last: u64,
) -> Result<(VecDeque<Wish>, u64), Problem> {
    let range = EventRange::Before {
        seq: last + 1,
        limit: HOST_PAGE,
    };
    let events = house.agents.events(run, range).await?;
    let mut wishes = VecDeque::new();
    for event in &events {
        hear(event, &mut wishes);
    }
    // One that was complete and goes on is not complete.
    wishes.retain(|wish| !matches!(wish, Wish::Done));
    Ok((wishes, events.last().map_or(last, |event| event.seq)))
}

fn hear(event: &RunEvent, wishes: &mut VecDeque<Wish>) {
    match &event.kind {
        RunEventKind::ChatCommitRequested(commit) => {
            wishes.retain(
                |wish| !matches!(wish, Wish::Commit(one) if one.commit_id == commit.commit_id),
            );
            wishes.push_back(Wish::Commit(commit.clone()));
        }
        RunEventKind::ChatCommitCompleted(done) => {
            wishes.retain(
                |wish| !matches!(wish, Wish::Commit(one) if one.commit_id == done.commit_id),
            );
        }
        RunEventKind::ChatCommitFailed(failed) => {
            wishes.retain(
                |wish| !matches!(wish, Wish::Commit(one) if one.commit_id == failed.commit_id),
            );
        }
        RunEventKind::PersistentStateMetadataUpdateRequested(update) => {
            wishes.push_back(Wish::Note(update.clone()));
        }
        RunEventKind::PersistentStateMetadataUpdated(_)
        | RunEventKind::PersistentStateMetadataUpdateFailed(_) => {
            wishes.retain(|wish| !matches!(wish, Wish::Note(_)));
        }
        // The last one says all that holds.
        RunEventKind::RunRolledBack(back) => {
            wishes.retain(|wish| !matches!(wish, Wish::Withdraw(_)));
            wishes.push_back(Wish::Withdraw(back.clone()));
        }
        RunEventKind::RunCompleted => wishes.push_back(Wish::Done),
        _ => {}
    }
}

struct Host<'a> {
    house: &'a Arc<House>,
    record: RunRecord,
}

impl Host<'_> {
    /// Says whether it is done with; otherwise nobody is there for it.
    async fn fulfil(&self, wish: &Wish) -> Result<bool, Problem> {
        let chat = self.chat().await?;
        let is_ours = chat.is_some() || self.record.chat_ref.is_null();
        let house_chat = chat.map(|chat| HouseChat::new(self.house, chat));
        match wish {
            Wish::Commit(commit) => {
                let answer = match (&house_chat, is_ours) {
                    (Some(chat), _) => chat.publish(commit).await,
                    (None, true) => Ok(self.kept(commit)),
                    (None, false) => match self.publish_elsewhere(commit).await? {
                        Some(answer) => Ok(answer),
                        None => return Ok(false),
                    },
                };
                let answer = answer.unwrap_or_else(|problem| HostAnswer::Failed(problem.detail));
                let agents = &self.house.agents;
                let run = &self.record.run_id;
                taken(agents.resolve_commit(run, &commit.commit_id, answer).await)?;
            }
            Wish::Note(update) => {
                let error = match &house_chat {
                    Some(chat) => chat.note(update).await.err(),
                    None if is_ours => None,
                    // The page that published it notes it as well.
                    None => return Ok(true),
                };
                let error = error.map(|problem| problem.detail);
                let agents = &self.house.agents;
                let run = &self.record.run_id;
                taken(agents.resolve_metadata(run, &update.update_id, error).await)?;
            }
            Wish::Withdraw(back) => {
                if let Some(chat) = &house_chat {
                    chat.withdraw(&self.record.run_id, &back.withdrawn_commits)
                        .await?;
                }
            }
            Wish::Done => {
                if let Some(chat) = &house_chat {
                    chat.complete(&self.record.run_id).await?;
                }
            }
        }
        Ok(true)
    }

    /// The chat of this house that it belongs to.
    async fn chat(&self) -> Result<Option<ChatRecord>, Problem> {
        let chats = self.house.store().chats();
        match place_of(&self.record.chat_ref) {
            Some(place) => Ok(chats.find(&place).await?),
            None => Ok(chats.get(&self.record.stable_chat_id).await?),
        }
    }

    /// There is no chat it could appear in: the journal has it.
    fn kept(&self, commit: &ChatCommitRequested) -> HostAnswer {
        HostAnswer::Saved {
            message_id: format!("{}/{}", self.record.run_id, commit.commit_id),
            message_index: None,
        }
    }

    /// None: nobody looks after that chat.
    async fn publish_elsewhere(
        &self,
        commit: &ChatCommitRequested,
    ) -> Result<Option<HostAnswer>, Problem> {
        let clients = &self.house.clients;
        let Some(client) = clients.serving("chat.commit", Some(&commit.stable_chat_id)) else {
            return Ok(None);
        };
        let reader = self.house.agents.reader();
        let file = reader
            .commit_file(&self.record.run_id, &commit.commit_id)
            .await?;
        let mut params = json!(commit);
        params["text"] = file.text.into();
        params["bytes"] = file.bytes.into();
        match client
            .call("chat.commit", params, COMMIT_CALL_TIMEOUT)
            .await
        {
            Ok(answer) => Ok(Some(saved(&answer))),
            Err(CallFault::Gone) => Ok(None),
            Err(fault) => Ok(Some(HostAnswer::Failed(fault.to_string()))),
        }
    }
}

fn saved(answer: &Json) -> HostAnswer {
    let id = match answer.get("messageId") {
        Some(Json::String(id)) => id.clone(),
        Some(Json::Number(id)) => id.to_string(),
        _ => {
            return HostAnswer::Failed(
                "commit.save_failed: the client answered without a messageId".to_owned(),
            );
        }
    };
    HostAnswer::Saved {
        message_index: id.parse().ok(),
        message_id: id,
    }
}

/// A run that takes no answer any more is being stopped, or is over.
fn taken(answered: Result<(), AgentError>) -> Result<(), Problem> {
    match answered {
        Err(error) if error.code == ErrorCode::AgentValidationError => Ok(()),
        answered => Ok(answered?),
    }
}
