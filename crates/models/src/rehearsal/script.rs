//! What a script says, ready to be played. `read` makes it, `pick` and `play` use it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde_json::Value as Json;

use super::problem::{ScriptError, ScriptProblem};
use super::read::read_script;
use super::template::Template;
use super::tree::read_yaml;
use crate::limits::MAX_SCRIPT_BYTES;
use crate::{FinishReason, ModelErrorKind, Usage};

/// Scenes in order; the first that fits is played.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) scenes: Vec<Scene>,
}

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) when: When,
    pub(super) reply: Reply,
}

/// All of it must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct When {
    pub(super) speaker: Speaker,
    pub(super) message: TextTest,
    pub(super) system: TextTest,
    /// What a person said last, however many observations came since.
    pub(super) asked: TextTest,
    /// One of them must be offered. Empty if it does not matter.
    pub(super) tools: Vec<String>,
    /// The first and the last reply of the conversation that this may be.
    pub(super) turns: Option<(u64, u64)>,
    /// How many replies of the conversation this may be.
    pub(super) times: Option<u64>,
}

/// Whose message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Speaker {
    #[default]
    User,
    /// What came of a call, as a tool's message or in words.
    Observation,
    /// The model itself: it is asked to go on.
    Assistant,
    Any,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TextTest {
    /// In lower case; one of them must be there. Empty if it does not matter.
    pub(super) contains: Vec<String>,
    /// In lower case and trimmed.
    pub(super) equals: Option<String>,
    pub(super) matches: Option<Regex>,
}

#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) reasoning: Option<Template>,
    pub(super) says: Says,
    pub(super) calls: Vec<Call>,
    /// Characters of a piece.
    pub(super) chunk: usize,
    pub(super) before_first: Duration,
    pub(super) between: Duration,
    pub(super) usage: Option<Usage>,
    pub(super) finish_reason: Option<FinishReason>,
    pub(super) fault: Option<Fault>,
}

#[derive(Debug, Clone)]
pub(super) enum Says {
    Nothing,
    Text(Template),
    /// Cut by the author.
    Deltas(Vec<Template>),
}

/// A native call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Shape,
}

/// JSON with places in its texts.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Plain(Json),
    Text(Template),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) kind: ModelErrorKind,
    pub(super) after_deltas: usize,
    pub(super) retry_after: Option<Duration>,
    /// Later attempts succeed.
    pub(super) attempts: Option<u32>,
}

impl Script {
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        read_script(&read_yaml(text)?)
    }

    /// Reads a file. It blocks, and never reads more than a script may have.
    pub fn read_file(path: &Path) -> Result<Self, ScriptError> {
        let unreadable = |why: String| {
            ScriptProblem::of_file(format!("'{}' cannot be read: {why}", path.display()))
        };
        let mut bytes = Vec::new();
        // One more than allowed, so that `read` sees that it is too long.
        let bound = MAX_SCRIPT_BYTES as u64 + 1;
        File::open(path)
            .and_then(|file| file.take(bound).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        // The bound may have cut a character in two.
        let too_long = bytes.len() > MAX_SCRIPT_BYTES;
        let text = match too_long {
            true => String::from_utf8_lossy(&bytes).into_owned(),
            false => String::from_utf8(bytes)
                .map_err(|_| unreadable("it is not UTF-8; save it as UTF-8".to_owned()))?,
        };
        Self::read(&text)
    }
}
