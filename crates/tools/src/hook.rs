//! Hooks: where a plugin may look at something before or after it happens, change it, or refuse it.
//!
//! Owns the names, the actions and the order; what is asked at which point is up to whoever stands there
//! (`pipeline/before.rs`, `pipeline/after.rs`, later the engine). A hook that fails, answers nonsense or takes
//! too long refuses, unless it was declared not to matter.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::limits::{MAX_HOOK_REASON_CHARS, MAX_HOOK_TIMEOUT, TIMEKEEPER_GRACE};
use crate::unwind::{Panicked, caught};

macro_rules! points {
    ($($(#[$doc:meta])* $name:ident = $wire:literal;)*) => {
        /// A place where hooks are asked. Server side only; those of the page are names to be granted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HookPoint { $($(#[$doc])* $name,)* }

        impl HookPoint {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The long, canonical name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }
        }
    };
}

points! {
    /// Subject: `{tool, service?, arguments, caller}`. A change replaces `arguments`, which are checked again.
    ToolBeforeCall = "hook:server:tool:before-call";
    /// Subject: `{tool, service?, arguments, caller, outcome}`. A change replaces the result.
    ToolAfterCall = "hook:server:tool:after-call";
    WorkflowBeforeExecute = "hook:server:workflow:before-execute";
    WorkflowAfterExecute = "hook:server:workflow:after-execute";
    NodeBeforeRegister = "hook:server:nodemanager:before-register";
    DatabaseBeforeSave = "hook:server:db:before-save";
}

const LONG: &str = "hook:server:";

impl HookPoint {
    /// Without the part that is the same for all.
    pub fn short(self) -> &'static str {
        self.as_str().strip_prefix(LONG).unwrap_or_default()
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no hook of the server")]
pub struct UnknownHook(pub String);

impl Serialize for HookPoint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for HookPoint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for HookPoint {
    type Err = UnknownHook;

    /// The long name, the short one (`tool:before-call`), or the short one behind `server:` or `hook:`.
    fn from_str(text: &str) -> Result<Self, UnknownHook> {
        let trimmed = text.trim();
        let name = trimmed.strip_prefix("hook:").unwrap_or(trimmed);
        let name = name.strip_prefix("server:").unwrap_or(name);
        Self::ALL
            .iter()
            .copied()
            .find(|point| point.short() == name)
            .ok_or_else(|| UnknownHook(text.to_owned()))
    }
}

/// What a hook says. The wire form is what a script prints: `{"action": "refuse", "reason": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub enum HookAction {
    Continue,
    Change { value: Json },
    Refuse { reason: String },
}

/// What becomes of the matter when the hook itself fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookFailure {
    #[default]
    Refuse,
    Continue,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

#[async_trait]
pub trait Hook: Send + Sync {
    /// `plugin:name` or the like, for the audit and for messages.
    fn name(&self) -> &str;
    fn point(&self) -> HookPoint;
    /// Lower ones are asked first; ties by name.
    fn order(&self) -> i32 {
        0
    }
    fn timeout(&self) -> Duration {
        MAX_HOOK_TIMEOUT
    }
    /// Whether it ends by itself when its time is over, and can then say more than that. It is stopped from outside
    /// only a little later.
    fn keeps_time(&self) -> bool {
        false
    }
    fn on_failure(&self) -> HookFailure {
        HookFailure::Refuse
    }
    /// Whether it wants to see what happens to this subject: a tool's id, a workflow's id.
    fn concerns(&self, subject: &str) -> bool;
    async fn run(&self, subject: &Json) -> Result<HookAction, HookError>;
}

/// A hook said no, or failed where that means no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub hook: String,
    pub reason: String,
}

/// All hooks of one snapshot, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Hooks(Vec<Arc<dyn Hook>>);

impl Hooks {
    pub fn new(hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Self {
        let mut hooks: Vec<_> = hooks.into_iter().collect();
        hooks.sort_by(|a, b| (a.order(), a.name()).cmp(&(b.order(), b.name())));
        Self(hooks)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Hook>> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anyone would be asked: making up the subject costs, so ask this first. `about` are all names of it.
    pub fn any(&self, point: HookPoint, about: &[&str]) -> bool {
        self.of(point, about).next().is_some()
    }

    fn of<'h>(
        &'h self,
        point: HookPoint,
        about: &'h [&'h str],
    ) -> impl Iterator<Item = &'h Arc<dyn Hook>> {
        let concerned = move |hook: &Arc<dyn Hook>| about.iter().any(|name| hook.concerns(name));
        self.0
            .iter()
            .filter(move |hook| hook.point() == point && concerned(hook))
    }

    /// Asks each in turn. `apply` puts a change into the subject, so that the next hook sees it; what it
    /// cannot take is the hook's mistake. Gives back the names of the hooks that changed something.
    pub async fn ask(
        &self,
        point: HookPoint,
        about: &[&str],
        subject: &mut Json,
        apply: impl Fn(&mut Json, Json) -> Result<(), String>,
    ) -> Result<Vec<String>, Refusal> {
        let mut changed = Vec::new();
        for hook in self.of(point, about) {
            let timeout = hook.timeout().min(MAX_HOOK_TIMEOUT);
            let wait = match hook.keeps_time() {
                true => timeout + TIMEKEEPER_GRACE,
                false => timeout,
            };
            let work = caught(hook.run(subject));
            let answer = match tokio::time::timeout(wait, work).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(Panicked)) => Err(HookError("it broke down".to_owned())),
                Err(_) => Err(HookError(format!(
                    "no answer within {} ms",
                    wait.as_millis()
                ))),
            };
            let failure = match answer {
                Ok(HookAction::Continue) => continue,
                Ok(HookAction::Refuse { reason }) => {
                    let reason: String =
                        reason.trim().chars().take(MAX_HOOK_REASON_CHARS).collect();
                    let reason = match reason.is_empty() {
                        true => format!("refused by {}", hook.name()),
                        false => reason,
                    };
                    return Err(Refusal {
                        hook: hook.name().to_owned(),
                        reason,
                    });
                }
                Ok(HookAction::Change { value }) => match apply(subject, value) {
                    Ok(()) => {
                        changed.push(hook.name().to_owned());
                        continue;
                    }
                    Err(why) => why,
                },
                Err(HookError(why)) => why,
            };
            if hook.on_failure() == HookFailure::Refuse {
                return Err(Refusal {
                    hook: hook.name().to_owned(),
                    reason: format!("the hook {} failed: {failure}", hook.name()),
                });
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
#[path = "hook_tests.rs"]
mod tests;
