//! Profiles that come with the house. They are ordinary files, in `profiles/` beside this crate's sources: whoever wants
//! another takes a copy, changes it and keeps it under the same id or a new one.

use super::{AgentProfile, InvalidProfile};

/// The writer of a chat's next message; what a run without a profile uses.
pub const DEFAULT_WRITER: &str = "default-writer";
/// The agent that talks at the command line.
pub const CHAT: &str = "innkeeper";

/// One of them, as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    pub id: &'static str,
    /// The file, to be copied.
    pub text: &'static str,
}

impl BuiltIn {
    /// All of them, `default-writer` first.
    pub const ALL: [Self; 2] = [
        Self {
            id: DEFAULT_WRITER,
            text: include_str!("../../profiles/default-writer.json"),
        },
        Self {
            id: CHAT,
            text: include_str!("../../profiles/innkeeper.json"),
        },
    ];

    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|built_in| built_in.id == id)
    }

    /// Fails only if the house was built with a broken file, which a test sees to.
    pub fn profile(self) -> Result<AgentProfile, InvalidProfile> {
        AgentProfile::read(self.text, None).map(|reading| reading.profile)
    }
}
