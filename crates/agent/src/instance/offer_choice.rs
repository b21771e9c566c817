//! Which tools a model is told of when its run begins: all of a few, and of many those that fit its task. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use innkeeper_protocol::{Pattern, ToolDefinition};
use innkeeper_tools::builtin::search::SEARCH;
use innkeeper_tools::search::Query;
use serde_json::Value as Json;

use crate::limits::{TASK_MESSAGES_BEFORE, TASK_WEIGHT_BEFORE};
use crate::profile::OfferRules;
use crate::run::Created;

/// Told in any case.
pub(super) struct Always {
    pins: Vec<Pattern>,
    /// The tools of its workspace: it writes with them, or its instructions speak of them.
    workspace: bool,
    /// It has skills, and is told so.
    skills: bool,
}

impl Always {
    /// `answers`: its last words end the run.
    pub(super) fn of(created: &Created, answers: bool) -> Self {
        let pins = &created.profile.agent.offer.pins;
        let own_words = created.profile.instructions.agent_system_prompt.is_some();
        Self {
            pins: pins.iter().map(Pattern::new).collect(),
            workspace: !answers || !own_words,
            skills: !created.skills.effective.is_empty(),
        }
    }

    pub(super) fn has(&self, tool: &ToolDefinition) -> bool {
        let id = tool.id.as_str();
        let is_pinned = || {
            let mut names = std::iter::once(&tool.id).chain(&tool.aliases);
            names.any(|name| self.pins.iter().any(|pin| pin.matches(name.as_str())))
        };
        let is_between_agents = id == "task.return" || id.starts_with("agent.");
        (self.workspace && id.starts_with("workspace."))
            || (self.skills && is_of_skills(id))
            || is_between_agents
            || is_pinned()
    }

    /// Whether it can be of use at all: without skills there is nothing to read.
    pub(super) fn is_of_use(&self, id: &str) -> bool {
        self.skills || !is_of_skills(id)
    }
}

fn is_of_skills(id: &str) -> bool {
    id.starts_with("skill.")
}

/// Whether there are so few that the model is told of all.
pub(super) fn is_all(whole: usize, rules: &OfferRules) -> bool {
    u32::try_from(whole).is_ok_and(|whole| whole <= rules.all_up_to)
}

/// In the order of `all`, so that the same choice reads the same. `fitting` are ids, the best first.
pub(super) fn choose<'t>(
    all: &[Arc<ToolDefinition>],
    rules: &OfferRules,
    always: impl Fn(&ToolDefinition) -> bool,
    fitting: impl IntoIterator<Item = &'t str>,
) -> Vec<Arc<ToolDefinition>> {
    let is_told = |tool: &ToolDefinition| tool.id.as_str() == SEARCH || always(tool);
    let mut chosen: HashSet<&str> = all
        .iter()
        .filter(|tool| is_told(tool))
        .map(|tool| tool.id.as_str())
        .collect();
    let pinned = chosen.len();
    let most = usize::try_from(rules.most).unwrap_or(usize::MAX);
    for id in fitting {
        if chosen.len() - pinned == most {
            break;
        }
        chosen.insert(id);
    }
    let told = all.iter().filter(|tool| chosen.contains(tool.id.as_str()));
    told.cloned().collect()
}

/// What the run is about: its last message, and what was said before it, which counts less.
pub(super) fn task(created: &Created) -> Query {
    let mut said = created
        .messages
        .iter()
        .rev()
        .filter(|message| is_said(message));
    let mut query = Query::default();
    if let Some(last) = said.next() {
        query = query.and(&text(last), 1.0);
    }
    let chat = created.chat.iter().rev();
    for before in said.chain(chat).take(TASK_MESSAGES_BEFORE) {
        query = query.and(&text(before), TASK_WEIGHT_BEFORE);
    }
    query
}

fn is_said(message: &Json) -> bool {
    let role = message.get("role").and_then(Json::as_str);
    matches!(role, Some("user" | "assistant"))
}

/// Of a message in the chat form, in parts or not, or as the tavern keeps it.
fn text(message: &Json) -> String {
    match message.get("content").or_else(|| message.get("mes")) {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "offer_choice_tests.rs"]
mod tests;
