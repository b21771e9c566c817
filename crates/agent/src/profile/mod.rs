//! What an agent is, as a person wrote it: one type for three file formats.
//!
//! - Reading: `read.rs` finds the format, `read_sections.rs` and `read_rules.rs` its parts, `fields.rs` one object of it.
//!   `write.rs` is the way back.
//! - Checking: `check*.rs`, what the parts demand of each other. `problem.rs`: what is wrong, and where.
//! - `built_in.rs`: the profiles that come with the house. `prompt.rs`: the system prompt where a profile has none.
//! - `folder.rs`: where profiles lie, and what can be done with them there; `files.rs` is the only way to the disk.
//!   `diagnose.rs`, `repair.rs`, `retarget.rs`: what pages and extensions ask for beyond.
//!
//! What a profile means for a run is `run/`'s.

mod built_in;
mod check;
mod check_state;
mod check_tools;
mod diagnose;
mod error;
mod fields;
mod files;
mod folder;
mod id;
mod json;
mod problem;
mod prompt;
mod read;
mod read_rules;
mod read_sections;
mod repair;
mod retarget;
mod rules;
mod sections;
mod shapes;
#[cfg(test)]
mod tests;
mod tool_names;
mod usable;
mod write;

use innkeeper_protocol::event::{Presentation, ProfileId};
use innkeeper_protocol::{Pattern, ToolDefinition};
use innkeeper_tools::Reach;
use innkeeper_tools::builtin::search::SEARCH;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use built_in::{BuiltIn, CHAT, DEFAULT_WRITER};
pub(crate) use check_state::compile as compile_state_schema;
pub use diagnose::{Diagnosis, Diagnostic, Presence, Resource, Resources, Unseen};
pub use error::ProfileError;
pub use folder::Profiles;
pub use problem::{InvalidProfile, Problem, Severity};
pub use prompt::system_prompt;
pub use read::Reading;
pub use repair::RepairAction;
pub use rules::{
    AfterCrash, AgentRules, Budget, CompactionRules, Dialect, OfferRules, ProfileFormat, TextTurn,
};
pub use sections::{
    Artifact, ContextPolicy, Delegation, Instructions, MESSAGE_BODY, ModelChoice, ModelMode,
    ModelRetry, Output, Plan, Preset, PresetMode, PresetRef, ROOTS, RunRules, SkillRules,
    ToolDescription, ToolRules, WorkspaceRules,
};
pub use shapes::{
    Issue, IssueKind, Loaded, ProfileList, ProfileSource, ProfileSummary, RecommendedAction,
    Retargeted,
};
pub use tool_names::ToolNames;

/// Everything a run needs to know. Its serde form is for the journal; files are [`AgentProfile::to_json`]'s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProfile {
    pub id: ProfileId,
    pub display_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub preset: Preset,
    pub model: ModelChoice,
    pub run: RunRules,
    pub context: ContextPolicy,
    pub delegation: Delegation,
    pub instructions: Instructions,
    pub tools: ToolRules,
    pub skills: SkillRules,
    pub workspace: WorkspaceRules,
    pub plan: Plan,
    pub output: Output,
    /// Ours: beyond both formats of the tavern, and what ComfyTavern's profiles say.
    #[serde(default)]
    pub agent: AgentRules,
}

impl AgentProfile {
    /// Reads a file of any of the formats. With `tools`, what it says about tools is checked too.
    pub fn read(text: &str, tools: Option<&dyn ToolNames>) -> Result<Reading, InvalidProfile> {
        read::text(text, tools)
    }

    /// The same for what is JSON already.
    pub fn from_json(
        json: &Json,
        tools: Option<&dyn ToolNames>,
    ) -> Result<Reading, InvalidProfile> {
        read::document(json, tools)
    }

    /// As a file: ComfyTavern's format where it came from one, schema version 2 otherwise.
    pub fn to_json(&self) -> Json {
        write::document(self)
    }

    /// Everything that is wrong with a profile that was made or changed in code. Gives what is only worth a look.
    pub fn check(&self, tools: Option<&dyn ToolNames>) -> Result<Vec<Problem>, InvalidProfile> {
        read::document(&self.to_json(), tools).map(|reading| reading.warnings)
    }

    /// A run of this agent is over when it answers in words, so it needs no tools to write and to finish with.
    /// Only where the profile says so; what a text without calls means to the others is the run's business.
    pub fn answers_in_text(&self) -> bool {
        self.agent.text_turn == TextTurn::Answers
            && self.run.presentation == Presentation::Background
    }

    /// The tools that the agent is offered: allowed, less denied, less what its delegation rules rule out.
    /// `task.return` is never among them: the runtime gives it to those who work for others.
    pub fn reach(&self) -> Reach {
        let patterns = |names: &[String]| names.iter().map(Pattern::new).collect();
        let mut reach = Reach {
            allow: patterns(&self.tools.allow),
            deny: patterns(&self.tools.deny),
        };
        // Whoever has tools may look for those among them that it was not told of; it finds no others.
        if !reach.allow.is_empty() {
            reach.allow.push(Pattern::new(SEARCH));
            // What it has said and heard itself, it may read again.
            reach.allow.extend(crate::recall::NAMES.map(Pattern::new));
        }
        let rules = &self.delegation;
        let mut without = vec!["task.return"];
        if !rules.can_delegate {
            without.extend(["agent.delegate", "agent.await"]);
        }
        if !rules.can_handoff {
            without.push("agent.handoff");
        }
        if !rules.can_delegate && !rules.can_handoff {
            without.push("agent.list");
        }
        reach.deny.extend(without.into_iter().map(Pattern::new));
        reach
    }

    /// Whether the agent may see a tool.
    pub fn shows(&self, tool: &ToolDefinition) -> bool {
        self.reach().includes(tool)
    }

    /// The same for a name of which nothing else is known: `allow` less `deny`, as they stand there.
    pub(crate) fn shows_name(&self, name: &str) -> bool {
        let denied = |pattern: &String| Pattern::new(pattern).matches_loosely(name);
        let allowed = |pattern: &String| Pattern::new(pattern).matches(name);
        !self.tools.deny.iter().any(denied) && self.tools.allow.iter().any(allowed)
    }

    /// What an agent knows about itself before its first run: the defaults of the schema, and over them the values
    /// that the profile gives.
    pub fn initial_private_state(&self) -> Map<String, Json> {
        check_state::initial(&self.agent.private_state, &self.agent.private_state_schema)
    }

    /// The file whose text becomes the message.
    pub fn message_body(&self) -> Option<&Artifact> {
        let mut artifacts = self.output.artifacts.iter();
        artifacts.find(|artifact| artifact.target == MESSAGE_BODY)
    }
}
