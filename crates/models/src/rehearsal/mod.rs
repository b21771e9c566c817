//! The rehearsal model: plays a script instead of thinking.
//!
//! It is what a new user meets before a real model is connected, what demonstrations run on, and what tests talk to. It
//! never pretends to be more: every reply is by `rehearsal`, and where the script has nothing to say it says so.
//!
//! `tree`, `fields` and `read` make a [`Script`] of YAML, `pick` chooses a scene, `play` and `template` perform it.

mod fallback;
mod fields;
mod pick;
mod play;
mod problem;
mod read;
mod script;
mod template;
mod tree;

use tokio_util::sync::CancellationToken;

use crate::limits::DEFAULT_CHUNK_CHARS;
use crate::{Model, ModelRequest, ModelStream};

pub use problem::{ScriptError, ScriptProblem};
pub use script::Script;

/// Who answers.
const REHEARSAL: &str = "rehearsal";

#[derive(Debug, Clone, Default)]
pub struct Rehearsal {
    script: Script,
}

impl Rehearsal {
    /// The script that ships with the product.
    pub const DEMO: &str = include_str!("demo.yaml");

    pub fn new(script: Script) -> Self {
        Self { script }
    }

    /// Plays [`Self::DEMO`].
    pub fn demo() -> Result<Self, ScriptError> {
        Script::read(Self::DEMO).map(Self::new)
    }
}

impl Model for Rehearsal {
    fn id(&self) -> &str {
        REHEARSAL
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let picked = pick::pick(&self.script, &request);
        match picked.scene {
            Some(scene) => {
                let events = play::play(scene, &picked.moment, request.attempt);
                ModelStream::new(REHEARSAL, cancel, events)
            }
            None => {
                let text = fallback::fallback(&request, &picked.moment);
                ModelStream::new(REHEARSAL, cancel, play::say(&text, DEFAULT_CHUNK_CHARS))
            }
        }
    }
}

#[cfg(test)]
#[path = "rehearsal_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "demo_call_tests.rs"]
mod demo_call_tests;

#[cfg(test)]
#[path = "demo_tests.rs"]
mod demo_tests;
