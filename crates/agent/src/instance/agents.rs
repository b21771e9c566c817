//! What an agent of a run may ask of others: who there is, a task, a wait, the whole run; and what it owes whoever asked it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, InvocationId, ProfileId, TaskId};
use innkeeper_store::{Blob, StoreError};
use innkeeper_tools::{ProjectId, ToolError, UserId};
use serde_json::{Value as Json, json};

use super::AgentError;
use super::binding;
use super::door::told;
use super::drive::AgentInstance;
use super::log::{Brought, RecordError};
use super::runtime::AgentRuntime;
use super::start::check_ending;
use crate::delegation::{AgentDesk, Delegate, Purpose, TaskGiven, Wait, may_call};
use crate::profile::{AgentProfile, ModelMode};
use crate::run::{AgentRun, Assignment, Await, Created, Edition, Input, TaskReturn, Why};

#[async_trait]
impl AgentDesk for AgentInstance {
    async fn profiles(&self) -> Result<(String, Vec<AgentProfile>), ToolError> {
        let created = self.created().await?;
        let (user, project) = whose(&created);
        let profiles = AgentRuntime(self.shared.clone()).profiles_of(&user, &project);
        let read = tokio::task::spawn_blocking(move || profiles.usable()).await;
        let all = read
            .map_err(|error| ToolError::failed(error.to_string()))?
            .map_err(|error| ToolError::failed(error.to_string()))?;
        Ok((created.profile_id.to_string(), all))
    }

    async fn delegate(&self, asked: Delegate) -> Result<TaskGiven, ToolError> {
        let call = asked.call.clone();
        if let Some(given) = self.given(&call).await? {
            return Ok(given);
        }
        let assignment = self.assignment(asked, Purpose::Delegate).await?;
        let input = Input::Delegated(Arc::new(assignment));
        self.told_of(self.log.record(input).await)?;
        let given = self.given(&call).await?;
        given.ok_or_else(|| ToolError::failed("the task was not kept").permanent())
    }

    async fn wait(&self, asked: Wait) -> Result<Json, ToolError> {
        let known = self.look(|run| run.awaits(&asked.call).cloned()).await?;
        let waiting = match known {
            // Begun before a restart.
            Some(known) => known,
            None => {
                let tasks = match &asked.tasks {
                    Some(tasks) => tasks.clone(),
                    None => self.look(AgentRun::tasks_to_await).await?,
                };
                let input = Input::AwaitStarted {
                    call: asked.call.clone(),
                    tasks,
                    mode: asked.mode,
                    timeout_ms: asked.timeout_ms,
                };
                let submitted = self.log.submit(vec![input], Brought::default()).await;
                self.told_of(submitted.map(drop))?;
                let begun = self.look(|run| run.awaits(&asked.call).cloned()).await?;
                begun.ok_or_else(|| ToolError::failed("the wait was not kept").permanent())?
            }
        };
        let timed_out = match waiting.timed_out {
            Some(timed_out) => timed_out,
            None => {
                let timed_out = self.awaited(&waiting).await?;
                let input = Input::AwaitEnded {
                    call: asked.call.clone(),
                    timed_out,
                };
                let submitted = self.log.submit(vec![input], Brought::default()).await;
                self.told_of(submitted.map(drop))?;
                timed_out
            }
        };
        let tasks: Vec<Json> = self
            .look(|run| {
                let children = waiting
                    .tasks
                    .iter()
                    .filter_map(|task| run.known_child_of_task(task));
                children.map(|(id, child)| child.report(id)).collect()
            })
            .await?;
        Ok(json!({
            "mode": waiting.mode,
            "timedOut": timed_out,
            "tasks": tasks,
        }))
    }

    async fn handoff(&self, asked: Delegate) -> Result<TaskGiven, ToolError> {
        let call = asked.call.clone();
        let accepted = |to: &Arc<Assignment>| TaskGiven {
            task: to.task.clone(),
            status: "accepted".to_owned(),
            agent: to.profile_id.to_string(),
        };
        if let Some(to) = self.look(|run| run.handoff_of(&call).cloned()).await? {
            return Ok(accepted(&to));
        }
        let to = Arc::new(self.assignment(asked, Purpose::Handoff).await?);
        let given = accepted(&to);
        let input = Input::HandoffCalled { call, to };
        self.told_of(self.log.record(input).await)?;
        Ok(given)
    }

    async fn give_back(
        &self,
        call: &CallId,
        result: TaskReturn,
        text: Blob,
    ) -> Result<(), ToolError> {
        let input = Input::TaskReturned {
            call: call.clone(),
            result: Arc::new(result),
        };
        let brought = Brought { blobs: vec![text] };
        // On disk before it is over: what it returns is the run's then.
        self.told_of(self.log.record_with(input, brought).await)
    }
}

impl AgentInstance {
    async fn look<T>(&self, look: impl FnOnce(&AgentRun) -> T) -> Result<T, ToolError> {
        let read = self.log.read(look).await;
        read.map_err(|error: StoreError| told(error.into()))
    }

    async fn created(&self) -> Result<Arc<Created>, ToolError> {
        self.look(|run| run.created().clone()).await
    }

    /// What it has been told before need not be told again.
    fn told_of(&self, recorded: Result<(), RecordError>) -> Result<(), ToolError> {
        match recorded {
            Err(RecordError::Misfit(misfit)) if misfit.why == Why::Already => Ok(()),
            recorded => recorded.map_err(told),
        }
    }

    async fn given(&self, call: &CallId) -> Result<Option<TaskGiven>, ToolError> {
        self.look(|run| {
            let (_, child) = run.child_of_call(call)?;
            Some(TaskGiven {
                task: child.task.clone(),
                status: child.status.as_str().to_owned(),
                agent: child.profile_id.to_string(),
            })
        })
        .await
    }

    /// Whether its time was over first.
    async fn awaited(&self, waiting: &Await) -> Result<bool, ToolError> {
        let since = self
            .shared
            .parts
            .clock
            .now()
            .duration_since(waiting.asked_at);
        let since = Duration::try_from(since).unwrap_or_default();
        let left = Duration::from_millis(waiting.timeout_ms).saturating_sub(since);
        let done = async {
            loop {
                let changed = self.log.changed();
                let is_there = self.look(|run| run.is_awaited(&waiting.tasks, waiting.mode));
                if is_there.await? {
                    return Ok(false);
                }
                changed.await;
            }
        };
        tokio::select! {
            biased;
            done = done => done,
            () = self.cancel.cancelled() => {
                Err(ToolError::new(ErrorCode::ToolCancelled, "The run is being stopped"))
            }
            () = tokio::time::sleep(left) => Ok(true),
        }
    }

    /// All that has to be known of an agent before it begins.
    async fn assignment(&self, asked: Delegate, purpose: Purpose) -> Result<Assignment, ToolError> {
        let created = self.created().await?;
        let (user, project) = whose(&created);
        let runtime = AgentRuntime(self.shared.clone());
        let caller = created.profile_id.as_str();
        let found = runtime.profile(&user, &project, &asked.agent).await;
        let (profile, profile_source) = found.map_err(|error| not_found(&asked.agent, &error))?;
        may_call(&profile, caller, purpose)?;
        let is_without_model =
            profile.model.mode == ModelMode::RequiresConfiguration && profile.agent.model.is_none();
        if is_without_model {
            let message = format!(
                "'{}' has no model yet, so it cannot work: choose another agent",
                profile.id
            );
            return Err(ToolError::unavailable(message)
                .because("agent.profile_model_requires_configuration")
                .permanent());
        }
        let models = self.shared.parts.workflows.models();
        binding::check_connection(&profile, models).map_err(refused)?;
        if purpose == Purpose::Handoff {
            check_ending(&profile, created.presentation).map_err(refused)?;
        }
        let refs = created.skill_scope_refs.as_ref();
        let skills = runtime.effective_skills(&profile, &created.chat_ref, refs);
        let skills = skills.await.map_err(refused)?;
        let (prefix, locale) = (prefix(purpose), self.shared.parts.locale);
        Ok(Assignment {
            call: asked.call,
            task: TaskId::new(format!("{prefix}_{}", uuid::Uuid::now_v7().simple())),
            invocation: InvocationId::new(format!("inv_{}", uuid::Uuid::now_v7().simple())),
            profile_id: ProfileId::new(asked.agent.clone()),
            profile_source,
            title: asked.brief.title(),
            brief: asked.brief.message(caller, purpose, locale),
            model: binding::model_name(&created),
            skills,
            max_rounds: asked.max_rounds,
            max_calls: asked.max_calls,
            keeps_state: true,
            edition: Edition::LATEST,
            profile,
        })
    }
}

fn prefix(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Delegate => "task",
        Purpose::Handoff => "handoff",
    }
}

fn whose(created: &Created) -> (UserId, ProjectId) {
    (
        UserId::try_from(created.user.as_str()).unwrap_or_default(),
        ProjectId::try_from(created.project.as_str()).unwrap_or_default(),
    )
}

fn not_found(agent: &str, error: &AgentError) -> ToolError {
    let message = match error.reason.as_deref() {
        Some("agent.profile_not_found") | None => {
            let agent: String = agent.chars().take(80).collect();
            format!("There is no agent '{agent}': agent.list names those there are")
        }
        Some(_) => format!("This agent cannot be used: {}", error.message),
    };
    ToolError::new(ErrorCode::AgentTargetProfileNotFound, message)
        .because("agent.target_profile_not_found")
        .permanent()
}

fn refused(error: AgentError) -> ToolError {
    let denied = ToolError::new(ErrorCode::AgentDelegationDenied, error.message).permanent();
    match error.reason {
        Some(reason) => denied.because(reason),
        None => denied,
    }
}
