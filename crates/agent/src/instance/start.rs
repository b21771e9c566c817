//! The beginning of a run: what was asked for becomes its first input.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{Presentation, ProfileId, RunId};
use innkeeper_store::Blob;
use innkeeper_store::journal::{Entry, RunRecord, RunUpdate};
use innkeeper_tools::{ProjectId, UserId};
use serde_json::Value as Json;

use super::AgentError;
use super::binding;
use super::host;
use super::log::numbered;
use super::prompt;
use super::runtime::{AgentRuntime, RunHandle};
use super::standing::SESSION;
use crate::chat::ChatView;
use crate::limits::{MAX_ADDITIONAL_ROUNDS, MAX_ID_CHARS, MAX_TITLE_CHARS};
use crate::profile::{AgentProfile, DEFAULT_WRITER, Dialect, ModelMode};
use crate::run::{AgentRun, Created, Input, Stamped};
use crate::skills::{self, RunSkills};
use crate::workspace::workspace_id;

/// What somebody wants done.
#[derive(Debug, Clone, Default)]
pub struct StartRun {
    /// The built-in writer if none is named.
    pub profile_id: Option<String>,
    pub prompt: Option<StartPrompt>,
    /// `{kind: character, characterId, fileName}`, `{kind: group, chatId}`; none for runs that belong to no chat.
    pub chat_ref: Option<Json>,
    pub stable_chat_id: Option<String>,
    pub generation_type: Option<String>,
    /// The profile's if nothing is said.
    pub presentation: Option<Presentation>,
    pub generation_intent: Option<Json>,
    pub persist_base_state_id: Option<String>,
    /// Begin with nothing of what earlier runs of the chat have left, whatever names a state.
    pub start_with_empty_persist: bool,
    pub skill_scope_refs: Option<Json>,
    /// Wins over everything that names a model.
    pub model: Option<String>,
    /// How calls are written, in the place of what the profile says.
    pub protocol: Option<Dialect>,
    /// In the place of what the profile says.
    pub max_rounds: Option<u32>,
    pub chat: ChatSource,
    pub user: UserId,
    pub project: ProjectId,
}

#[derive(Debug, Clone)]
pub enum StartPrompt {
    Message(String),
    /// In one of the forms that hosts send.
    Snapshot(Json),
    /// A conversation in the chat form, the newest last.
    Conversation(Vec<Json>),
}

/// The chat that an agent may search and read.
#[derive(Debug, Clone, Default)]
pub enum ChatSource {
    /// What the prompt holds of it.
    #[default]
    Prompt,
    /// Its messages, as the tavern keeps them.
    Messages(Vec<Json>),
}

impl AgentRuntime {
    /// On disk, and at work, when it returns.
    pub async fn start(&self, asked: StartRun) -> Result<RunHandle, AgentError> {
        self.0.check_room()?;
        let created = self.created(asked).await?;
        self.begin(created, Vec::new(), true).await
    }

    /// With what it is told at once. It is driven from now on, or when somebody resumes it.
    pub(super) async fn begin(
        &self,
        created: Arc<Created>,
        told: Vec<Input>,
        starts: bool,
    ) -> Result<RunHandle, AgentError> {
        let at = self.0.parts.clock.now();
        let first = Stamped {
            at,
            input: Input::Created(created.clone()),
        };
        let (mut run, mut drafts) = AgentRun::begin(&first)
            .map_err(|misfit| AgentError::new(ErrorCode::AgentInternalError, misfit.to_string()))?;
        let tree = created.fork.as_ref().map(|_| run.workspace().tree());
        let mut fed = vec![first];
        for input in told {
            let stamped = Stamped { at, input };
            drafts.extend(run.apply(&stamped)?);
            fed.push(stamped);
        }
        let events = numbered(&created.run_id, 0, at, drafts);
        let last_seq = events.len() as u64;
        let record = record(&created, &run, at, last_seq);
        let input = serde_json::to_string(&fed)
            .map_err(|error| AgentError::new(ErrorCode::AgentInternalError, error.to_string()))?;
        let entry = Entry {
            run: created.run_id.clone(),
            input: input.into(),
            events,
            update: RunUpdate::default(),
            blobs: self.brought_along(&created).await?,
            trees: tree.into_iter().collect(),
            snapshot: None,
        };
        // Before there is a run: what cannot be driven must not be there.
        let chat = ChatView::of(&created).map_err(|fault| {
            AgentError::new(ErrorCode::AgentValidationError, fault.to_string())
                .because(fault.reason())
        })?;
        self.0.journal.create(record.clone(), entry).await?;
        if starts {
            let instance = self.0.instance(run, last_seq, chat, false);
            self.0.launch(instance);
        }
        Ok(RunHandle::from(&record))
    }

    /// What is not sent any more of the conversation that it goes on with stays readable without the other run.
    async fn brought_along(&self, created: &Created) -> Result<Vec<Blob>, AgentError> {
        let dropped = created.fork.iter().flat_map(|fork| &fork.dropped);
        let mut blobs = Vec::new();
        for part in dropped {
            // Where it is gone already, the tool that reads it says so.
            let content = self.0.contents.blob(&part.content).await?;
            blobs.extend(content.map(Blob::new));
        }
        Ok(blobs)
    }

    async fn created(&self, asked: StartRun) -> Result<Arc<Created>, AgentError> {
        let id = asked.profile_id.as_deref().unwrap_or(DEFAULT_WRITER);
        let (mut profile, source) = self.profile(&asked.user, &asked.project, id).await?;
        overrule(&mut profile, &asked)?;
        check_direct(&profile, id, asked.model.as_deref())?;
        let presentation = asked.presentation.unwrap_or(profile.run.presentation);
        check_ending(&profile, presentation)?;
        binding::check_connection(&profile, self.0.parts.workflows.models())?;
        let generation_type = host::generation_type(asked.generation_type.as_deref())?;
        let prompt = match asked.prompt {
            Some(StartPrompt::Message(text)) => prompt::of_message(&text)?,
            Some(StartPrompt::Snapshot(snapshot)) => {
                prompt::of_snapshot(&snapshot, &profile.context)?
            }
            Some(StartPrompt::Conversation(messages)) => prompt::of_conversation(messages)?,
            None => {
                let message = "there is nothing to begin with: give a message or a prompt snapshot";
                return Err(
                    AgentError::new(ErrorCode::AgentPromptSnapshotInvalid, message)
                        .because("agent.prompt_snapshot_required"),
                );
            }
        };
        let run_id = RunId::new(format!("run_{}", uuid::Uuid::now_v7().simple()));
        let chat_ref = asked.chat_ref.unwrap_or(Json::Null);
        host::check_chat_ref(&chat_ref)?;
        let is_named = asked.stable_chat_id.is_some();
        let stable_chat_id = stable(asked.stable_chat_id, &chat_ref, &run_id)?;
        let kind = chat_ref
            .get("kind")
            .and_then(Json::as_str)
            .unwrap_or(SESSION);
        let workspace_id = workspace_id(kind, &stable_chat_id).ok_or_else(|| {
            let message = "stableChatId cannot be the name of a workspace: it is empty or too long";
            AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.invalid_stable_chat_id")
        })?;
        let chat = match asked.chat {
            ChatSource::Prompt => Vec::new(),
            ChatSource::Messages(messages) => messages,
        };
        let persist_base_state_id = match asked.persist_base_state_id {
            _ if asked.start_with_empty_persist => None,
            Some(base) => Some(base),
            // Nobody keeps messages that could say so: it goes on from where the last one was.
            None if chat_ref.is_null() && chat.is_empty() && is_named => {
                let states = self.0.persist.as_ref();
                self.reader().standing_state(states, &workspace_id).await?
            }
            None => host::base_of(&chat, &generation_type)?,
        };
        let refs = asked.skill_scope_refs.as_ref();
        let skills = self.effective_skills(&profile, &chat_ref, refs).await?;
        Ok(Arc::new(Created {
            run_id,
            workspace_id,
            stable_chat_id,
            chat_ref,
            generation_type,
            profile_id: ProfileId::new(id),
            profile_source: source,
            presentation,
            persist_base_state_id,
            generation_intent: asked.generation_intent,
            messages: prompt.messages,
            is_snapshot: prompt.is_snapshot,
            parameters: prompt.parameters,
            world_info: prompt.world_info,
            chat,
            private_state: Json::Object(profile.initial_private_state()),
            model: asked.model.unwrap_or(prompt.model),
            user: asked.user.to_string(),
            project: asked.project.to_string(),
            skill_scope_refs: asked.skill_scope_refs,
            skills,
            profile,
            fork: None,
            max_rounds: asked.max_rounds,
        }))
    }

    /// Those that the agent sees, as they are now.
    pub(super) async fn effective_skills(
        &self,
        profile: &AgentProfile,
        chat_ref: &Json,
        refs: Option<&Json>,
    ) -> Result<RunSkills, AgentError> {
        let scopes = skills::scopes(profile, chat_ref, refs)?;
        let (skills, rules) = (self.skills().clone(), profile.skills.clone());
        let looked_up = move || skills.effective(scopes, &rules);
        let looked_up = tokio::task::spawn_blocking(looked_up).await;
        looked_up
            .map_err(|error| AgentError::new(ErrorCode::AgentInternalError, error.to_string()))?
    }

    pub(super) async fn profile(
        &self,
        user: &UserId,
        project: &ProjectId,
        id: &str,
    ) -> Result<(AgentProfile, String), AgentError> {
        let profiles = self.profiles_of(user, project);
        let snapshot = self.0.parts.tools.registry().snapshot();
        let id = id.to_owned();
        let read = move || profiles.load(&id, Some(&*snapshot));
        let read = tokio::task::spawn_blocking(read).await;
        let loaded = read
            .map_err(|error| AgentError::new(ErrorCode::AgentInternalError, error.to_string()))?
            .map_err(|error| {
                let told = AgentError::new(error.code(), error.to_string());
                match error.reason() {
                    Some(reason) => told.because(reason),
                    None => told,
                }
            })?;
        Ok((loaded.profile, loaded.source.to_string()))
    }
}

/// Whether a person can begin with it.
pub(super) fn check_direct(
    profile: &AgentProfile,
    id: &str,
    model: Option<&str>,
) -> Result<(), AgentError> {
    if !profile.run.direct_runnable {
        let message = format!(
            "the profile '{id}' is for agents that others call; it cannot be run by itself"
        );
        return Err(AgentError::new(ErrorCode::AgentInvalidProfile, message)
            .because("agent.profile_not_direct_runnable"));
    }
    if profile.model.mode == ModelMode::RequiresConfiguration && model.is_none() {
        let message = format!("the profile '{id}' has no model yet; choose one in it");
        return Err(AgentError::new(ErrorCode::AgentInvalidProfile, message)
            .because("agent.profile_model_requires_configuration"));
    }
    Ok(())
}

/// In the foreground only what is published counts, so a run that cannot publish could not end well.
pub(super) fn check_ending(
    profile: &AgentProfile,
    presentation: Presentation,
) -> Result<(), AgentError> {
    let needed = ["workspace.commit", "workspace.finish"];
    let lacking = needed.iter().find(|tool| !profile.shows_name(tool));
    match lacking.filter(|_| presentation == Presentation::Foreground) {
        None => Ok(()),
        Some(tool) => {
            let message = format!(
                "the profile '{}' cannot run in the foreground: it may not use '{tool}'; allow it in the profile, or run it in the background",
                profile.id
            );
            Err(AgentError::new(ErrorCode::AgentInvalidProfile, message)
                .because("agent.foreground_commit_unavailable"))
        }
    }
}

/// What was asked for this once wins over the profile.
fn overrule(profile: &mut AgentProfile, asked: &StartRun) -> Result<(), AgentError> {
    if let Some(model) = &asked.model {
        profile.agent.model = Some(model.clone());
    }
    if let Some(protocol) = asked.protocol {
        profile.agent.protocol = protocol;
    }
    if let Some(rounds) = asked.max_rounds {
        if !(1..=MAX_ADDITIONAL_ROUNDS).contains(&rounds) {
            let message =
                format!("a run has between 1 and {MAX_ADDITIONAL_ROUNDS} rounds, not {rounds}");
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.max_rounds_invalid"));
        }
        profile.tools.max_rounds = rounds;
    }
    Ok(())
}

pub(super) fn record(
    created: &Created,
    run: &AgentRun,
    at: jiff::Timestamp,
    last_seq: u64,
) -> RunRecord {
    RunRecord {
        run_id: created.run_id.clone(),
        workspace_id: created.workspace_id.clone(),
        stable_chat_id: created.stable_chat_id.clone(),
        chat_ref: created.chat_ref.clone(),
        generation_type: created.generation_type.clone(),
        profile_id: Some(created.profile_id.clone()),
        presentation: created.presentation,
        persist_base_state_id: created.persist_base_state_id.clone(),
        input_message_count: Some(created.messages.len() as u64),
        skill_scope_refs: created.skill_scope_refs.clone(),
        status: run.status(),
        created_at: at,
        updated_at: at,
        terminal_at: None,
        commit_count: 0,
        committed_message: None,
        last_seq,
        title: title(&created.messages),
        is_cut: false,
        is_slim: false,
    }
}

/// The last thing that the user said, in one line.
fn title(messages: &[Json]) -> String {
    let last = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "user");
    let content = last.and_then(|message| message.get("content"));
    let text = content.and_then(Json::as_str).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_TITLE_CHARS).collect()
}

fn stable(given: Option<String>, chat_ref: &Json, run: &RunId) -> Result<String, AgentError> {
    let invalid = |reason: &str, message: &str| {
        Err(AgentError::new(ErrorCode::AgentValidationError, message).because(reason))
    };
    match given.map(|id| id.trim().to_owned()) {
        Some(id) if id.is_empty() => {
            invalid("agent.stable_chat_id_required", "stableChatId is empty")
        }
        Some(id) if id.len() > MAX_ID_CHARS => {
            invalid("agent.invalid_stable_chat_id", "stableChatId is too long")
        }
        Some(id) => Ok(id),
        None if chat_ref.is_null() => Ok(run.to_string()),
        None => invalid(
            "agent.stable_chat_id_required",
            "stableChatId is required for a run of a chat",
        ),
    }
}
