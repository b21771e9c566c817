//! `skill.list`: what the run's skills are for.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use crate::declare::{Nature, answer, declare, examples, object, text};
use crate::limits::{LEAST_LISTED_SKILL_CHARS, MAX_LISTED_SKILLS_CHARS};
use crate::skills::RunSkill;
use crate::skills::told::cut;
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[("See which skills there are.", json!({}))]),
        ..declare(
            "skill.list",
            "List skills",
            "Lists the skills that you may use: instructions for certain kinds of work, each with what it is for. Read one with skill.read before you do such work. Where there are many, descriptions are cut and the list goes on in further calls.",
            Nature::ReadOnly,
            object(
                json!({
                    "after": {"type": "string", "description": "Only those behind this name in the list: the 'next' of the call before."}
                }),
                &[],
            ),
            answer(&[("skills", "array"), ("truncated", "boolean")]),
        )
    }
}

pub(super) struct List(pub(super) Workspaces);

#[async_trait]
impl Executor for List {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.of_call(&call)?.door()?.skills();
        let after = text(&call, "after").unwrap_or_default();
        let skills = desk.effective().iter();
        let skills: Vec<&RunSkill> = skills.filter(|skill| skill.name.as_str() > after).collect();
        Ok(listed(&skills))
    }
}

/// As many as are shown whole: each gets its share of the room, so that none hides the others.
fn listed(skills: &[&RunSkill]) -> Json {
    let share = MAX_LISTED_SKILLS_CHARS / skills.len().max(1);
    let mut most = share.max(LEAST_LISTED_SKILL_CHARS);
    // What has to be escaped is longer than it looks.
    while most > LEAST_LISTED_SKILL_CHARS && size(skills, most) > MAX_LISTED_SKILLS_CHARS {
        most = (most * 3 / 4).max(LEAST_LISTED_SKILL_CHARS);
    }
    let mut left = MAX_LISTED_SKILLS_CHARS;
    let mut told: Vec<Json> = Vec::new();
    for skill in skills {
        let entry = entry(skill, most);
        let length = entry.to_string().chars().count();
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            // Whoever asks gets at least one.
            None if told.is_empty() => left = 0,
            None => break,
        }
        told.push(entry);
    }
    let is_cut = |skill: &&&RunSkill| skill.description.chars().nth(most).is_some();
    let is_whole = told.len() == skills.len();
    let next = skills.get(told.len().wrapping_sub(1)).filter(|_| !is_whole);
    let truncated = !is_whole || skills.iter().take(told.len()).any(|skill| is_cut(&skill));
    let mut answer = json!({"skills": told, "truncated": truncated});
    if let Some(next) = next {
        answer["next"] = json!(next.name);
    }
    answer
}

fn size(skills: &[&RunSkill], most: usize) -> usize {
    let sizes = skills
        .iter()
        .map(|skill| entry(skill, most).to_string().chars().count());
    sizes.sum()
}

fn entry(skill: &RunSkill, most: usize) -> Json {
    let mut entry = json!({"name": skill.name, "description": cut(&skill.description, most)});
    if skill.is_on_request {
        entry["onlyOnRequest"] = json!(true);
    }
    entry
}
