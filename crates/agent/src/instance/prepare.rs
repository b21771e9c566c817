//! Before the first request: the workspace with what earlier runs left, and the tools of one moment.

use std::sync::Arc;

use innkeeper_protocol::Dialect as TextDialect;
use serde_json::Value as Json;

use super::AgentError;
use super::binding;
use super::drive::{AgentInstance, Gone};
use super::log::Brought;
use super::offer::Offered;
use crate::context::{self, Opening};
use crate::profile::Dialect;
use crate::run::told::{ADDED, LEFT_OUT};
use crate::run::{Created, Input, Nudge, Oversize};
use crate::workspace::persist::{self, Projection};

impl AgentInstance {
    pub(super) async fn prepare_workspace(&self) -> Result<(), Gone> {
        let created = self.log.read(|run| run.created().clone()).await?;
        let base = created.persist_base_state_id.as_deref();
        let states = self.shared.persist.as_ref();
        let projected = match &created.fork {
            Some(fork) => Ok(Projection {
                files: fork.files.clone().into_iter().collect(),
                ..Projection::default()
            }),
            None => persist::project(states, &created.workspace_id, base).await,
        };
        let ready = match projected {
            Ok(projection) => Input::WorkspaceReady {
                files: projection.files,
                is_missing: projection.is_missing,
            },
            Err(error) => return self.fail(error.into()).await,
        };
        let fed = self.log.record(ready).await;
        let state = self.log.read(|run| run.workspace().clone()).await?;
        self.session.begin(state);
        self.fed(fed).await
    }

    pub(super) async fn prepare_context(&self) -> Result<(), Gone> {
        let created = self.log.read(|run| run.created().clone()).await?;
        let (tools, left_out) = self.choose_tools().await?;
        let binding = binding::binding(&created, self.shared.parts.workflows.models());
        let messages = match self.opening(&created, &tools).await {
            Ok(opening) => opening.len(),
            Err(error) => return self.fail(error).await,
        };
        let mut request = binding::request(&binding, messages, tools.len());
        let dialect = created.profile.agent.protocol;
        if left_out > 0 {
            request[LEFT_OUT] = left_out.into();
        }
        let ready = Input::ContextReady {
            request,
            tools: self.specs(&tools, &tools, dialect),
            binding,
        };
        self.fed(self.log.record(ready).await).await
    }

    /// The first messages of all.
    async fn opening(&self, created: &Created, tools: &Offered) -> Result<Vec<Json>, AgentError> {
        let private_state = self.states.private_state(&self.session).await?;
        let locale = self.shared.parts.locale;
        let manifest = self.manifest(tools, created.profile.agent.protocol);
        // Of skills that it cannot read it is told nothing.
        let can_read = tools.iter().any(|tool| tool.id.as_str() == "skill.read");
        let skills = match can_read {
            true => created.skills.told(locale),
            false => String::new(),
        };
        Ok(context::opening(&Opening {
            system_prompt: &crate::profile::system_prompt(&created.profile, locale),
            skills: &skills,
            manifest: &manifest,
            messages: &created.messages,
            is_snapshot: created.is_snapshot,
            policy: &created.profile.context,
            private_state: &private_state,
            locale,
        }))
    }

    /// What calls are looked for in the text while it comes.
    pub(super) fn text_dialect(dialect: Dialect) -> Option<TextDialect> {
        match dialect {
            Dialect::Tam | Dialect::Action => Some(TextDialect::Auto),
            Dialect::Native => None,
        }
    }

    /// Puts the next request together.
    pub(super) async fn ask(&self, round: u32) -> Result<(), Gone> {
        self.tell_ended_tasks().await?;
        let locale = self.shared.parts.locale;
        let (created, has_sent) = self
            .log
            .read(|run| (run.created().clone(), !run.sent().is_empty()))
            .await?;
        let tools = self.told().await?;
        // Another agent goes on with what one before it began.
        let is_renewed =
            has_sent && round == 1 && created.fork.as_ref().is_some_and(|fork| fork.is_renewed);
        let opening = match !has_sent || is_renewed {
            false => None,
            true => match self.opening(&created, &tools).await {
                Ok(opening) => Some(opening),
                Err(error) => return self.fail(error).await,
            },
        };
        let (mut first, renewed) = match is_renewed {
            true => (None, opening),
            false => (opening, None),
        };
        let dialect = created.profile.agent.protocol;
        let added = self.newly_told().await?;
        let (specs, further) = match added.is_empty() {
            true => (None, String::new()),
            false => {
                let all = [&tools[..], &added[..]].concat();
                let specs = self.specs(&added, &all, dialect);
                (Some(specs), self.further(&added, dialect))
            }
        };
        let told = |binding: &Json, messages: usize| {
            let mut request = binding::request(binding, messages, tools.len() + added.len());
            request["round"] = round.into();
            if let Some(specs) = &specs {
                request[ADDED] = specs.clone();
            }
            request
        };
        let budget = self.request_budget(&created);
        let beside = match budget {
            Some(_) => self.beside(&[&tools[..], &added[..]].concat(), dialect),
            None => 0,
        };
        let asked = self
            .log
            .read(|run| {
                let arrived = run.arrived();
                let mut add = match (first.take(), run.turn()) {
                    (Some(mut opening), _) => {
                        opening.extend(context::arrived(arrived));
                        opening
                    }
                    (None, Some(turn)) => {
                        let mut add = context::after_turn(turn, arrived);
                        context::with_tools(&mut add, &further);
                        match &turn.nudge {
                            Some(Nudge::ToolCallRequired { captured, .. }) => {
                                let captured = captured.as_deref();
                                add.push(match run.owes_return() {
                                    false => context::nudge(captured, locale),
                                    true => context::return_nudge(captured, locale),
                                });
                            }
                            Some(Nudge::EmptyTurn) => add.push(context::empty_turn(locale)),
                            None => {}
                        }
                        add
                    }
                    (None, None) => Vec::new(),
                };
                if let Some(set_back) = run.set_back() {
                    add.push(context::set_back(set_back, locale));
                }
                let pending = run.guidance();
                if !pending.is_empty() {
                    let texts = pending.iter().map(|guidance| guidance.text.as_str());
                    add.push(context::guidance(texts));
                }
                let mut keep = run.sent().len();
                if let Some(opening) = &renewed {
                    let (kept, others) = context::renewed(run.sent(), opening, &created.messages);
                    keep = kept;
                    add.splice(0..0, others);
                }
                let sent = run.sent().iter().take(keep).map(AsRef::as_ref);
                Input::ModelAsked {
                    keep,
                    oversize: oversize(budget, beside, sent.chain(&add)),
                    request: told(run.binding(), keep + add.len()),
                    add: add.into_iter().map(Arc::new).collect(),
                    guidance: pending.len(),
                    arrived: arrived.len(),
                }
            })
            .await?;
        // The request may go out while this is written: asking once more after a crash does no harm.
        let submitted = self.log.submit(vec![asked], Brought::default()).await;
        self.fed(submitted.map(drop)).await
    }
}

/// Whether a request has more than it should, in estimated tokens.
fn oversize<'m>(
    budget: Option<(u64, bool)>,
    beside: u64,
    messages: impl Iterator<Item = &'m Json> + Clone,
) -> Option<Oversize> {
    let (budget, is_hard) = budget?;
    if context::at_most(messages.clone()).saturating_add(beside) <= budget {
        return None;
    }
    let tokens = messages.map(context::tokens);
    let estimate = tokens.fold(beside, u64::saturating_add);
    (estimate > budget).then_some(Oversize {
        estimate,
        budget,
        is_hard,
    })
}
