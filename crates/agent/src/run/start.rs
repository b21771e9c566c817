//! The beginning: created, its workspace, its context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use innkeeper_protocol::event::{
    ContextAssembled, EffectiveSkill, InvocationChanged, InvocationCreated, InvocationId,
    ModelBindingResolved, PersistentProjectionInitialized, ProfileResolved, RunCreated,
    RunEventKind, RunStatus, SkillScopesResolved, WorkspaceInitialized,
};
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::apply::Out;
use super::fork::origin;
use super::model::fields;
use super::spent::Spent;
use super::state::Phase;
use super::told::ToldTools;
use super::{AgentRun, Created, Draft, Input, Misfit, Stamped};
use crate::skills::RunSkill;
use crate::workspace::state::{FileInfo, WorkspaceState};

/// What lies in it is kept for later runs of the chat.
pub(super) const PERSIST: &str = "persist/";

impl AgentRun {
    /// A run from its first input, and what is told of it.
    pub fn begin(first: &Stamped) -> Result<(Self, Vec<Draft>), Misfit> {
        let Input::Created(created) = &first.input else {
            return Err(Misfit::unfit("A run begins with its creation"));
        };
        let mut run = Self::blank(created.clone(), first.at);
        let mut out = created_events(created);
        if let Some(fork) = &created.fork {
            run.begin_forked(fork);
            run.checkpoint("fork", &mut out);
        }
        run.turn_to(RunStatus::InitializingWorkspace, &mut out);
        Ok((run, out))
    }

    pub(super) fn blank(created: Arc<Created>, at: Timestamp) -> Self {
        Self {
            created,
            created_at: at,
            at,
            phase: Phase::Preparing,
            status: RunStatus::Created,
            paused: false,
            takeovers: 0,
            binding: Arc::default(),
            told: None,
            sent: Vec::new(),
            dropped: Vec::new(),
            refused_in: None,
            turn: None,
            arrived: Vec::new(),
            tasks: BTreeMap::new(),
            guidance: Vec::new(),
            guided: Vec::new(),
            workspace: WorkspaceState::default(),
            persist_base: BTreeMap::new(),
            commits: Vec::new(),
            finish: None,
            spent: Spent::default(),
            calls: BTreeSet::new(),
            repeated: None,
            barren: 0,
            drifts: 0,
            captured: None,
            failure: None,
            invocation: InvocationId::root(),
            duty: None,
            ceiling: None,
            children: BTreeMap::new(),
            awaits: BTreeMap::new(),
            handoff: None,
            past: Vec::new(),
            set_back: None,
            rollbacks: 0,
            kept_state: None,
            grants: Vec::new(),
            requested: Vec::new(),
        }
    }

    pub(super) fn workspace_ready(
        &mut self,
        files: &[(String, FileInfo)],
        is_missing: bool,
        out: &mut Out,
    ) {
        self.workspace.files.extend(files.iter().cloned());
        // Of what another run began with, that one has changed some.
        if self.created.fork.is_none() {
            let kept = files.iter().filter(|(path, _)| path.starts_with(PERSIST));
            self.persist_base = kept
                .map(|(path, file)| (path.clone(), file.sha256.clone()))
                .collect();
        }
        let created = &self.created;
        let kinds = [
            RunEventKind::WorkspaceInitialized(WorkspaceInitialized {
                workspace_id: created.workspace_id.clone(),
                stable_chat_id: created.stable_chat_id.clone(),
                extra: Map::new(),
            }),
            RunEventKind::AgentInvocationCreated(InvocationCreated {
                invocation_id: InvocationId::root(),
                parent_invocation_id: None,
                profile_id: created.profile_id.clone(),
                kind: "root".to_owned(),
                status: "created".to_owned(),
                exit_policy: "run_finish_allowed".into(),
                task_id: None,
                extra: Map::new(),
            }),
            started(),
            RunEventKind::PersistentProjectionInitialized(PersistentProjectionInitialized {
                roots: json!([{"path": "persist", "fileCount": self.persist_base.len()}]),
                extra: match is_missing {
                    false => Map::new(),
                    true => fields(json!({
                        "missing": true,
                        "baseStateId": created.persist_base_state_id,
                    })),
                },
            }),
        ];
        out.extend(kinds.map(Draft::new));
        self.phase = Phase::Assembling;
    }

    pub(super) fn context_ready(
        &mut self,
        binding: &Json,
        request: &Json,
        tools: &Json,
        out: &mut Out,
    ) {
        self.binding = Arc::new(binding.clone());
        self.told = match &self.created.fork {
            // Its conversation says which.
            Some(fork) if !fork.is_renewed && !fork.sent.is_empty() => fork.told.clone(),
            _ => ToldTools::begin(request, tools).map(Arc::new),
        };
        out.push(RunEventKind::AgentModelBindingResolved(bound(binding)).into());
        self.turn_to(RunStatus::AssemblingContext, out);
        let profile = &self.created.profile;
        let assembled = ContextAssembled {
            request: request.clone(),
            invocation_id: InvocationId::root(),
            tools: tools.clone(),
            max_rounds: self.max_rounds(),
            context_policy: json!(profile.context),
            model_retry: json!(profile.run.model_retry),
            extra: Map::new(),
        };
        out.push(RunEventKind::ContextAssembled(assembled).into());
        self.go_on(out);
    }
}

pub(super) fn started() -> RunEventKind {
    RunEventKind::AgentInvocationStarted(InvocationChanged {
        invocation_id: InvocationId::root(),
        status: Some("running".to_owned()),
        message: None,
        extra: Map::new(),
    })
}

fn created_events(created: &Created) -> Out {
    let mut out = vec![
        Draft::new(RunEventKind::RunCreated(RunCreated {
            workspace_id: created.workspace_id.clone(),
            stable_chat_id: created.stable_chat_id.clone(),
            persist_base_state_id: created.persist_base_state_id.clone(),
            presentation: created.presentation,
            extra: created.fork.as_deref().map(origin).unwrap_or_default(),
        })),
        Draft::new(RunEventKind::ProfileResolved(ProfileResolved {
            profile_id: created.profile_id.clone(),
            source: created.profile_source.clone(),
            extra: Map::new(),
        })),
        Draft::new(RunEventKind::SkillScopesResolved(SkillScopesResolved {
            scopes: json!(created.skills.scopes),
            refs: match &created.skill_scope_refs {
                // From before scopes were looked up.
                Some(refs) if created.skills.scopes.is_empty() => refs.clone(),
                _ => created.skills.refs(),
            },
            effective_skills: created.skills.effective.iter().map(told).collect(),
            extra: created.skills.extra(),
        })),
    ];
    if let Some(intent) = &created.generation_intent {
        out.push(RunEventKind::GenerationIntentRecorded(intent.clone()).into());
    }
    out
}

fn told(skill: &RunSkill) -> EffectiveSkill {
    EffectiveSkill {
        name: skill.name.clone(),
        scope: json!(skill.scope),
        installed_hash: Some(skill.installed_hash.clone()),
        extra: Map::new(),
    }
}

/// What the driver says of the model, whatever keys it has.
fn bound(binding: &Json) -> ModelBindingResolved {
    let mut rest = binding.as_object().cloned().unwrap_or_default();
    let mut text = |key: &str| match rest.shift_remove(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    };
    ModelBindingResolved {
        mode: text("mode").unwrap_or_else(|| "currentPromptSnapshot".to_owned()),
        chat_completion_source: text("chatCompletionSource"),
        custom_api_format: text("customApiFormat"),
        model_id: text("modelId"),
        extra: rest,
    }
}
