//! Branching off: a new run from any moment of any run, whoever drives that one.

use std::io;
use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CheckpointId, ProfileId, RunId};
use innkeeper_tools::{ProjectId, UserId};
use serde::Serialize;

use super::AgentError;
use super::binding;
use super::compare::DiffEnd;
use super::runtime::{AgentRuntime, RunHandle};
use super::start::{check_direct, check_ending};
use super::steer::guidance;
use crate::limits::MAX_SET_BACK_BYTES;
use crate::run::{AgentRun, Created};

/// Where to go on, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    pub run: RunId,
    pub at: DiffEnd,
    /// What the agent is told with its first request.
    pub told: Option<String>,
    /// Another agent, in the place of the one whose run it was. Its instructions take the place of that one's.
    pub profile: Option<String>,
    /// Wins over everything that names a model.
    pub model: Option<String>,
    /// Otherwise it waits until it is resumed.
    pub starts: bool,
}

impl Fork {
    /// As the run is now, at work at once.
    pub fn of(run: RunId) -> Self {
        Self {
            run,
            at: DiffEnd::Now,
            told: None,
            profile: None,
            model: None,
            starts: true,
        }
    }
}

impl AgentRuntime {
    /// On disk, and at work where that is wanted, when it returns. The run it comes from is not touched, and not needed
    /// any more.
    pub async fn fork(&self, asked: Fork) -> Result<RunHandle, AgentError> {
        self.0.check_room()?;
        let told = match asked.told.as_deref() {
            Some(told) => Some(guidance(told.trim(), None)?.1),
            None => None,
        };
        let past = self.reader().run_at(&asked.run, &asked.at).await?;
        let created = self.forked(&asked, &past.run, past.seq).await?;
        let bytes = size(&*created)?;
        if bytes > MAX_SET_BACK_BYTES {
            let message = format!(
                "what the run '{}' was then has {bytes} bytes, and a new run begins with at most {MAX_SET_BACK_BYTES}; choose an earlier checkpoint",
                asked.run
            );
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.fork_too_large"));
        }
        self.begin(created, told.into_iter().collect(), asked.starts)
            .await
    }

    async fn forked(
        &self,
        asked: &Fork,
        past: &AgentRun,
        seq: u64,
    ) -> Result<Arc<Created>, AgentError> {
        let mut created = Created::clone(past.created());
        let mut is_renewed = false;
        if let Some(id) = &asked.profile {
            let user = UserId::try_from(created.user.as_str()).unwrap_or_default();
            let project = ProjectId::try_from(created.project.as_str()).unwrap_or_default();
            let (profile, source) = self.profile(&user, &project, id).await?;
            check_direct(&profile, id, asked.model.as_deref())?;
            created.skills = self
                .effective_skills(
                    &profile,
                    &created.chat_ref,
                    created.skill_scope_refs.as_ref(),
                )
                .await?;
            created.private_state = profile.initial_private_state().into();
            created.profile_id = ProfileId::new(id.as_str());
            created.profile_source = source;
            created.profile = profile;
            is_renewed = true;
        }
        if let Some(model) = &asked.model {
            binding::check_model(model, self.0.parts.workflows.models())?;
            created.profile.agent.model = Some(model.clone());
            created.model = model.clone();
        }
        check_ending(&created.profile, created.presentation)?;
        binding::check_connection(&created.profile, self.0.parts.workflows.models())?;
        let checkpoint = CheckpointId::new(asked.at.as_str());
        created.run_id = RunId::new(format!("run_{}", uuid::Uuid::now_v7().simple()));
        created.fork = Some(Arc::new(past.forked(checkpoint, seq, is_renewed)));
        Ok(Arc::new(created))
    }
}

/// Bytes that it takes in a journal, without making them.
pub(super) fn size(what: &impl Serialize) -> Result<usize, AgentError> {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, what)
        .map_err(|error| AgentError::new(ErrorCode::AgentInternalError, error.to_string()))?;
    Ok(count.0)
}
