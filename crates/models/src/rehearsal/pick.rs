//! Which scene answers a conversation: decided from the messages alone, so that the same conversation always gets
//! the same answer.
//!
//! `times` is counted by going through the conversation once more: at each of its replies it is decided anew which
//! scene that was.

use super::script::{Scene, Script, Speaker, TextTest};
use super::template::Filling;
use crate::{Message, Role};

/// What a scene is chosen by.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    pub(super) speaker: Speaker,
    /// The message that is answered.
    pub(super) text: String,
    lower: String,
    /// Which reply of the conversation is wanted, counted from 1.
    pub(super) turn: u64,
}

pub(super) struct Picked<'s> {
    /// `None`: nothing in the script fits.
    pub(super) scene: Option<&'s Scene>,
    pub(super) moment: Moment,
}

pub(super) fn pick<'s>(script: &'s Script, messages: &[Message]) -> Picked<'s> {
    let system: Vec<String> = messages
        .iter()
        .filter(|message| message.role.instructs())
        .map(Message::text)
        .collect();
    let system = system.join("\n");
    let lower = system.to_lowercase();
    // The instructions as they are now: earlier ones are not in the conversation any more.
    let staged: Vec<(usize, &Scene)> = (0..)
        .zip(&script.scenes)
        .filter(|(_, scene)| fits(&scene.when.system, &system, &lower))
        .collect();

    let mut played = vec![0_u64; script.scenes.len()];
    let mut turn = 1;
    let counts = staged.iter().any(|(_, scene)| scene.when.times.is_some());
    for (at, _) in (0..)
        .zip(messages)
        .filter(|(_, message)| message.role == Role::Assistant)
    {
        if counts {
            let moment = Moment::at(messages.get(..at).unwrap_or_default(), turn);
            if let Some(count) = choose(&staged, &moment, &played).and_then(|n| played.get_mut(n)) {
                *count += 1;
            }
        }
        turn += 1;
    }
    let moment = Moment::at(messages, turn);
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

impl Moment {
    /// After these messages.
    fn at(messages: &[Message], turn: u64) -> Self {
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
                let mut results: Vec<String> = results.map(Message::text).collect();
                results.reverse();
                results.join("\n")
            }
            _ => talk().next().map(Message::text).unwrap_or_default(),
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
