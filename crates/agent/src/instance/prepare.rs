//! Before the first request: the workspace with what earlier runs left, and the tools of one moment.

use std::sync::Arc;

use innkeeper_protocol::{Dialect as TextDialect, Protocol, Provider};
use serde_json::{Value as Json, json};

use super::drive::{AgentInstance, Gone};
use super::log::Brought;
use crate::context::{self, Opening};
use crate::profile::Dialect;
use crate::run::{Created, Input, Nudge};
use crate::workspace::persist;

impl AgentInstance {
    pub(super) async fn prepare_workspace(&self) -> Result<(), Gone> {
        let created = self.log.read(|run| run.created().clone()).await;
        let base = created.persist_base_state_id.as_deref();
        let states = self.shared.persist.as_ref();
        let projected = persist::project(states, &created.workspace_id, base).await;
        let files = match projected {
            Ok(projection) => projection.files,
            Err(error) => return self.fail(error.into()).await,
        };
        let fed = self.log.record(Input::WorkspaceReady { files }).await;
        let state = self.log.read(|run| run.workspace().clone()).await;
        self.session.begin(state);
        self.fed(fed).await
    }

    pub(super) async fn prepare_context(&self) -> Result<(), Gone> {
        let created = self.log.read(|run| run.created().clone()).await;
        let told: Vec<Json> = self
            .definitions()
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.id,
                    "title": tool.display_name,
                    "description": tool.description,
                    "inputSchema": tool.parameters,
                    "source": tool.source,
                })
            })
            .collect();
        let model = self.model_name(&created);
        let request = json!({
            "chatCompletionSource": "innkeeper",
            "customApiFormat": null,
            "model": model,
            "messageCount": created.messages.len(),
            "toolCount": told.len(),
        });
        let binding = json!({
            "mode": created.profile.model.mode,
            "chatCompletionSource": "innkeeper",
            "customApiFormat": null,
            "modelId": model,
        });
        let ready = Input::ContextReady {
            binding,
            request,
            tools: Json::Array(told),
        };
        self.fed(self.log.record(ready).await).await
    }

    pub(super) fn model_name(&self, created: &Created) -> String {
        let chosen = created.profile.agent.model.as_ref();
        let named = chosen.or(created.profile.model.model_id.as_ref());
        named.unwrap_or(&created.model).clone()
    }

    pub(super) fn protocol(dialect: Dialect) -> Protocol {
        match dialect {
            Dialect::Tam => Protocol::Tam,
            Dialect::Action => Protocol::Action,
            Dialect::Native => Protocol::Native(Provider::OpenAi),
        }
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
            .await;
        let first = match has_sent {
            true => None,
            false => {
                let dialect = created.profile.agent.protocol;
                let manifest = match dialect {
                    Dialect::Native => String::new(),
                    Dialect::Tam | Dialect::Action => self.manifest(Self::protocol(dialect)),
                };
                Some((
                    manifest,
                    crate::profile::system_prompt(&created.profile, locale),
                ))
            }
        };
        let model = self.model_name(&created);
        let tool_count = self.definitions().len();
        let asked = self
            .log
            .read(|run| {
                let arrived = run.arrived();
                let mut add = match (&first, run.turn()) {
                    (Some((manifest, system_prompt)), _) => context::opening(&Opening {
                        system_prompt,
                        manifest,
                        messages: &created.messages,
                        is_snapshot: created.is_snapshot,
                        policy: &created.profile.context,
                        private_state: &created.private_state,
                        locale,
                    }),
                    (None, Some(turn)) => {
                        let mut add = context::after_turn(turn, arrived);
                        match &turn.nudge {
                            Some(Nudge::ToolCallRequired { captured, .. }) => {
                                add.push(context::nudge(captured, locale));
                            }
                            Some(Nudge::EmptyTurn) => add.push(context::empty_turn(locale)),
                            None => {}
                        }
                        add
                    }
                    (None, None) => Vec::new(),
                };
                let pending = run.guidance();
                if !pending.is_empty() {
                    let texts = pending.iter().map(|guidance| guidance.text.as_str());
                    add.push(context::guidance(texts));
                }
                let keep = run.sent().len();
                Input::ModelAsked {
                    keep,
                    request: json!({
                        "chatCompletionSource": "innkeeper",
                        "customApiFormat": null,
                        "model": model,
                        "messageCount": keep + add.len(),
                        "toolCount": tool_count,
                        "round": round,
                    }),
                    add: add.into_iter().map(Arc::new).collect(),
                    guidance: pending.len(),
                    arrived: arrived.len(),
                }
            })
            .await;
        // The request may go out while this is written: asking once more after a crash does no harm.
        let submitted = self.log.submit(vec![asked], Brought::default()).await;
        self.fed(submitted.map(drop)).await
    }
}
