//! A hook that was accepted and cannot be asked: until its plugin is mended or switched off, the answer is no.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use super::consent::Guard;
use crate::hook::{Hook, HookAction, HookError, HookPoint};
use crate::registry::Source;

struct AbsentHook {
    name: String,
    guard: Guard,
    reason: String,
}

#[async_trait]
impl Hook for AbsentHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn point(&self) -> HookPoint {
        self.guard.on
    }

    fn concerns(&self, subject: &str) -> bool {
        let tools = &self.guard.tools;
        tools.is_empty() || tools.iter().any(|pattern| pattern.matches_loosely(subject))
    }

    async fn run(&self, _: &Json) -> Result<HookAction, HookError> {
        Ok(HookAction::Refuse {
            reason: self.reason.clone(),
        })
    }
}

/// What stands in the place of a plugin that should be asked and is not there.
pub(super) fn source(plugin: &str, guards: Vec<Guard>, why: &str) -> Source {
    let reason = format!(
        "the plugin '{plugin}' has to be asked about this call and cannot be: {why}; mend it, or switch it off with innkeeper plugin disable {plugin}"
    );
    of(plugin, guards, reason)
}

/// The same where nobody can tell which plugins have to be asked.
pub(super) fn unknown(why: &str) -> Source {
    let before = Guard {
        on: HookPoint::ToolBeforeCall,
        tools: Vec::new(),
    };
    let reason = format!("which plugins have to be asked about this call cannot be told: {why}");
    of("plugins", vec![before], reason)
}

fn of(name: &str, guards: Vec<Guard>, reason: String) -> Source {
    let hooks = guards.into_iter().map(|guard| {
        Arc::new(AbsentHook {
            name: name.to_owned(),
            guard,
            reason: reason.clone(),
        }) as Arc<dyn Hook>
    });
    Source {
        hooks: hooks.collect(),
        ..Source::default()
    }
}
