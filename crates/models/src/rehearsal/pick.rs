//! Which scene answers a conversation: decided from the request alone, so that the same conversation with the same
//! tools always gets the same answer.
//!
//! `times` is counted by going through the conversation once more: at each of its replies it is decided anew which
//! scene that was.

use std::sync::Arc;

use super::script::{Scene, Script, Speaker, TextTest};
use super::template::Filling;
use crate::{Message, ModelRequest, Role, ToolSpec};

/// What a scene is chosen by.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    pub(super) speaker: Speaker,
    /// The message that is answered.
    pub(super) text: String,
    lower: String,
    /// What a person said last.
    asked: Arc<Words>,
    /// Which reply of the conversation is wanted, counted from 1.
    pub(super) turn: u64,
}

#[derive(Debug, Default)]
struct Words {
    text: String,
    lower: String,
}

pub(super) struct Picked<'s> {
    /// `None`: nothing in the script fits.
    pub(super) scene: Option<&'s Scene>,
    pub(super) moment: Moment,
}

pub(super) fn pick<'s>(script: &'s Script, request: &ModelRequest) -> Picked<'s> {
    let messages = &request.messages;
    let system: Vec<String> = messages
        .iter()
        .filter(|message| message.role.instructs())
        .map(|message| message.text())
        .collect();
    let system = Words::of(system.join("\n"));
    // The instructions and tools as they are now: earlier ones are not in the conversation any more.
    let staged: Vec<(usize, &Scene)> = (0..)
        .zip(&script.scenes)
        .filter(|(_, scene)| {
            let when = &scene.when;
            fits(&when.system, &system.text, &system.lower)
                && (when.tools.is_empty()
                    || when
                        .tools
                        .iter()
                        .any(|tool| is_offered(tool, &request.tools, &system)))
        })
        .collect();

    let mut played = vec![0_u64; script.scenes.len()];
    let mut turn = 1;
    let mut asked = Arc::new(Words::default());
    let counts = staged.iter().any(|(_, scene)| scene.when.times.is_some());
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::Assistant => {
                if counts {
                    let before = messages.get(..at).unwrap_or_default();
                    let moment = Moment::at(before, turn, &asked);
                    let chosen = choose(&staged, &moment, &played);
                    if let Some(count) = chosen.and_then(|n| played.get_mut(n)) {
                        *count += 1;
                    }
                }
                turn += 1;
            }
            Role::User => {
                let text = message.text();
                if !is_observation(&text) {
                    asked = Arc::new(Words::of(text));
                }
            }
            _ => {}
        }
    }
    let moment = Moment::at(messages, turn, &asked);
    let chosen = choose(&staged, &moment, &played);
    Picked {
        scene: chosen.and_then(|number| script.scenes.get(number)),
        moment,
    }
}

fn choose(staged: &[(usize, &Scene)], moment: &Moment, played: &[u64]) -> Option<usize> {
    let fitting = staged.iter().find(|(number, scene)| {
        let when = &scene.when;
        let played = played.get(*number).copied().unwrap_or_default();
        (when.speaker == Speaker::Any || when.speaker == moment.speaker)
            && when
                .turns
                .is_none_or(|(from, to)| (from..=to).contains(&moment.turn))
            && when.times.is_none_or(|times| played < times)
            && fits(&when.message, &moment.text, &moment.lower)
            && fits(&when.asked, &moment.asked.text, &moment.asked.lower)
    });
    fitting.map(|(number, _)| *number)
}

fn fits(test: &TextTest, text: &str, lower: &str) -> bool {
    let contains = &test.contains;
    (contains.is_empty() || contains.iter().any(|wanted| lower.contains(wanted)))
        && test
            .equals
            .as_ref()
            .is_none_or(|wanted| lower.trim() == wanted)
        && test
            .matches
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(text))
}

/// Natively, under its name or what a provider can carry of it; or in the instructions, which put names of tools in
/// backticks.
fn is_offered(tool: &str, native: &[ToolSpec], system: &Words) -> bool {
    let carried = carried(tool);
    native
        .iter()
        .any(|spec| self::carried(&spec.name) == carried)
        || system.text.contains(&format!("`{tool}`"))
}

/// `agent.delegate` is sent as `agent_delegate`, `core:If` as `core__If`.
fn carried(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c.is_alphanumeric() {
            true => out.push(c),
            false if out.ends_with('_') => {}
            false => out.push('_'),
        }
    }
    out
}

impl Words {
    fn of(text: String) -> Self {
        Self {
            lower: text.to_lowercase(),
            text,
        }
    }
}

impl Moment {
    /// After these messages.
    fn at(messages: &[Arc<Message>], turn: u64, asked: &Arc<Words>) -> Self {
        let talk = || {
            messages
                .iter()
                .rev()
                .filter(|message| !message.role.instructs())
        };
        let role = talk().next().map(|message| message.role);
        let text = match role {
            // Several calls are answered by several messages.
            Some(Role::Tool) => {
                let results = talk().take_while(|message| message.role == Role::Tool);
                let mut results: Vec<String> = results.map(|message| message.text()).collect();
                results.reverse();
                results.join("\n")
            }
            _ => talk()
                .next()
                .map(|message| message.text())
                .unwrap_or_default(),
        };
        let speaker = match role {
            Some(Role::Tool) => Speaker::Observation,
            Some(Role::Assistant) => Speaker::Assistant,
            _ if is_observation(&text) => Speaker::Observation,
            _ => Speaker::User,
        };
        Self {
            speaker,
            lower: text.to_lowercase(),
            text,
            asked: Arc::clone(asked),
            turn,
        }
    }

    pub(super) fn filling(&self, scene: &Scene) -> Filling<'_> {
        Filling::new(&self.text, scene.when.message.matches.as_ref())
    }
}

/// How `innkeeper_protocol::render_observation` begins; around it there may be other words.
fn is_observation(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("Observation:"))
}

#[cfg(test)]
#[path = "pick_tests.rs"]
mod tests;
