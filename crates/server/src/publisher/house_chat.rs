//! A chat of this house, as a run publishes to it.

use std::sync::Arc;

use innkeeper_agent::chat::Role;
use innkeeper_agent::instance::HostAnswer;
use innkeeper_protocol::event::{
    ChatCommitRequested, MetadataUpdateRequested, RunId, WithdrawnCommit,
};
use innkeeper_protocol::{ErrorCode, parse};
use innkeeper_store::{ChatKind, ChatRecord, MessageChange};
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::chats::{
    self, Change, Publication, Said, Tail, Wanted, note_state, parsed, plain, published, withdrawn,
};
use crate::house::House;
use crate::limits::MAX_PUBLISH_TRIES;
use crate::problem::Problem;

pub(super) struct HouseChat<'a> {
    house: &'a Arc<House>,
    chat: ChatRecord,
}

impl<'a> HouseChat<'a> {
    pub(super) fn new(house: &'a Arc<House>, chat: ChatRecord) -> Self {
        Self { house, chat }
    }

    pub(super) async fn publish(
        &self,
        commit: &ChatCommitRequested,
    ) -> Result<HostAnswer, Problem> {
        let reader = self.house.agents.reader();
        let file = reader
            .commit_file(&commit.run_id, &commit.commit_id)
            .await?;
        if file.sha256 != commit.sha256 {
            return Err(Problem::new(
                ErrorCode::AgentValidationError,
                format!("{} is not what was to be published", file.path),
            ));
        }
        let name = self.speaker()?;
        let place = self
            .change(|tail| {
                let publication = Publication {
                    commit,
                    file: &file,
                    name: &name,
                    at: Timestamp::now(),
                };
                let (place, change) = published(tail, &publication);
                (change, place)
            })
            .await?;
        Ok(HostAnswer::Saved {
            message_id: place.to_string(),
            message_index: Some(place),
        })
    }

    pub(super) async fn note(&self, update: &MetadataUpdateRequested) -> Result<(), Problem> {
        let is_there = self
            .change(|tail| {
                let change = note_state(tail, update);
                let is_there = change.is_some();
                (change, is_there)
            })
            .await?;
        match is_there {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::ChatMessageNotFound,
                "the message that the run has published is gone",
            )
            .because("agent.persistent_state_message_missing")),
        }
    }

    pub(super) async fn withdraw(
        &self,
        run: &RunId,
        commits: &[WithdrawnCommit],
    ) -> Result<(), Problem> {
        let reader = self.house.agents.reader();
        for commit in commits.iter().rev() {
            let mut texts = Vec::with_capacity(commit.replace_with.len());
            for kept in &commit.replace_with {
                let file = reader.commit_file(run, &kept.commit_id).await?;
                texts.push((kept.mode.clone(), file.text));
            }
            self.change(|tail| (withdrawn(tail, run.as_str(), commit, &texts), ()))
                .await?;
        }
        Ok(())
    }

    /// In a session whoever is asked answers, also without publishing anything.
    pub(super) async fn complete(&self, run: &RunId) -> Result<(), Problem> {
        if self.chat.place.kind != ChatKind::Session {
            return Ok(());
        }
        let reader = self.house.agents.reader();
        let mut turns = reader.turns(run).await?;
        let mut last = None;
        while let Some(turn) = turns.next().await? {
            last = Some(turn);
        }
        let said = last.map(|turn| parse(&turn.reply.text).outside_text.into_owned());
        let Some(said) = said.filter(|said| !said.is_empty()) else {
            return Ok(());
        };
        let name = self.speaker()?;
        self.change(|tail| {
            let change = tail.of_run(run.as_str()).is_none().then(|| {
                let mut message = plain(&Said {
                    role: Role::Assistant,
                    name: &name,
                    text: &said,
                    at: Timestamp::now(),
                });
                let agent = serde_json::json!({ "version": 2, "runId": run, "commits": [] });
                message["extra"] = serde_json::json!({ "tauritavern": { "agent": agent } });
                Change::Append(message)
            });
            (change, ())
        })
        .await
    }

    fn speaker(&self) -> Result<String, Problem> {
        let metadata = parsed(&self.chat.metadata)?;
        let named = metadata.get("character_name").and_then(Json::as_str);
        let named = named.filter(|name| !name.trim().is_empty());
        Ok(match (named, self.chat.place.owner.as_str()) {
            (Some(name), _) => name.to_owned(),
            (None, "") => "Assistant".to_owned(),
            (None, owner) => owner.to_owned(),
        })
    }

    /// On what the chat holds when it is done: whoever else writes to it meanwhile is waited for.
    async fn change<T>(&self, decide: impl Fn(&Tail) -> (Option<Change>, T)) -> Result<T, Problem> {
        let store = self.house.store().chats();
        let mut tries = 0;
        loop {
            let chat = chats::get(store, &self.chat.id).await?;
            let tail = chats::tail(store, &chat).await?;
            let (change, decided) = decide(&tail);
            let Some(change) = change else {
                return Ok(decided);
            };
            let change = match change {
                Change::Append(message) => MessageChange::Append(message.to_string().into()),
                Change::Replace(at, message) => MessageChange::Replace {
                    at,
                    message: message.to_string().into(),
                },
                Change::Remove(at) => MessageChange::Remove { at },
            };
            let wanted = Wanted {
                base: Some(chat.version),
                messages: vec![change],
                ..Wanted::default()
            };
            tries += 1;
            match chats::edit(store, &chat.id, wanted).await {
                Ok(_) => return Ok(decided),
                Err(problem)
                    if problem.code == ErrorCode::HttpConflict && tries < MAX_PUBLISH_TRIES => {}
                Err(problem) => return Err(problem),
            }
        }
    }
}
