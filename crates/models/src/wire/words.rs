//! Words on their way out: those that come together go out together.

use std::borrow::Cow;

use crate::ModelEvent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Aloud,
    Thought,
}

impl Voice {
    /// What was said last grows, if it is of the same kind. No words, no event.
    pub(super) fn says<'a>(self, words: impl Into<Cow<'a, str>>, out: &mut Vec<ModelEvent>) {
        let words = words.into();
        match (self, out.last_mut()) {
            _ if words.is_empty() => {}
            (Self::Aloud, Some(ModelEvent::Text(said)))
            | (Self::Thought, Some(ModelEvent::Reasoning(said))) => said.push_str(&words),
            (Self::Aloud, _) => out.push(ModelEvent::Text(words.into_owned())),
            (Self::Thought, _) => out.push(ModelEvent::Reasoning(words.into_owned())),
        }
    }
}
