//! A plugin's script as a hook: the subject goes in on stdin, `{"action": …}` comes out on stdout.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::executor::{JobParts, redactor};
use super::{EnvironmentValue, ExitKind, ScriptEnd, ScriptHost, ScriptPlugin, StderrLines, answer};
use crate::hook::{Hook, HookAction, HookError, HookFailure, HookPoint};
use crate::limits::MAX_HOOK_TIMEOUT;
use crate::plugin::HookDeclaration;
use crate::{ToolError, UserId};

pub struct ScriptHook {
    name: String,
    host: ScriptHost,
    plugin: ScriptPlugin,
    declaration: HookDeclaration,
}

impl ScriptHook {
    pub fn new(host: ScriptHost, plugin: ScriptPlugin, declaration: HookDeclaration) -> Self {
        Self {
            name: format!("{}:{}", plugin.name, declaration.point.short()),
            host,
            plugin,
            declaration,
        }
    }

    async fn ask(&self, subject: &Json) -> Result<HookAction, HookError> {
        let caller = |key| subject.pointer(&format!("/caller/{key}"))?.as_str();
        let user = caller("user").and_then(|user| UserId::try_from(user).ok());
        let user = user.unwrap_or_default();
        let environment = self.host.environment(&self.plugin, &user).await;
        let mut environment = environment.map_err(|error| HookError(error.message))?;
        let redactor = redactor(&self.plugin, &environment);
        for (name, value) in [
            ("INNKEEPER_HOOK", self.declaration.point.as_str()),
            ("INNKEEPER_TOOL", subject["tool"].as_str().unwrap_or("")),
            ("INNKEEPER_PROJECT", caller("project").unwrap_or("")),
            ("INNKEEPER_USER", user.as_str()),
            ("INNKEEPER_PLUGIN", self.plugin.name.as_str()),
        ] {
            environment.push((name.to_owned(), EnvironmentValue::Plain(value.to_owned())));
        }
        let parts = JobParts {
            environment,
            stdin: subject.to_string().into_bytes(),
            timeout: self.timeout(),
            stderr: StderrLines::default(),
            // Who waits for a hook drops it when it takes too long.
            cancel: CancellationToken::new(),
        };
        let command = &self.declaration.command;
        let ran = match self.host.job(&self.plugin, command, parts).await {
            Ok(job) => self.host.run(job, &redactor).await.map_err(ToolError::from),
            Err(error) => Err(error),
        };
        let action = ran
            .map_err(|error| HookError(error.message))
            .and_then(|end| read_action(&end));
        match action {
            Ok(HookAction::Continue) => Ok(HookAction::Continue),
            Ok(HookAction::Change { mut value }) => {
                redactor.redact_json(&mut value);
                Ok(HookAction::Change { value })
            }
            Ok(HookAction::Refuse { reason }) => Ok(HookAction::Refuse {
                reason: redactor.redact_text(&reason).into_owned(),
            }),
            Err(HookError(why)) => Err(HookError(redactor.redact_text(&why).into_owned())),
        }
    }
}

/// Silence is no consent: a hook that prints nothing has failed.
fn read_action(end: &ScriptEnd) -> Result<HookAction, HookError> {
    match end.exit {
        ExitKind::Code(0) => {
            serde_json::from_slice(&end.stdout).map_err(|error| {
                HookError(format!(
                    "it did not print {{\"action\": \"continue\" | \"change\" | \"refuse\", …}}: {error}"
                ))
            })
        }
        ExitKind::Code(code) => Err(HookError(format!(
            "it ended with exit code {code}: {}",
            answer::last_lines(&end.stderr)
        ))),
        ExitKind::Signal(signal) => Err(HookError(format!("it was ended by signal {signal}"))),
    }
}

#[async_trait]
impl Hook for ScriptHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn point(&self) -> HookPoint {
        self.declaration.point
    }

    fn order(&self) -> i32 {
        self.declaration.order
    }

    fn timeout(&self) -> Duration {
        self.declaration.timeout.min(MAX_HOOK_TIMEOUT)
    }

    /// The script's last words tell what it was waiting for.
    fn keeps_time(&self) -> bool {
        true
    }

    fn on_failure(&self) -> HookFailure {
        self.declaration.on_failure
    }

    fn concerns(&self, subject: &str) -> bool {
        let tools = &self.declaration.tools;
        // Loosely: a tool that is called under another spelling must not slip past.
        tools.is_empty() || tools.iter().any(|pattern| pattern.matches_loosely(subject))
    }

    async fn run(&self, subject: &Json) -> Result<HookAction, HookError> {
        self.ask(subject).await
    }
}
