//! The sections of a profile that both tavern formats have, with the values that stand where a file says nothing.

use std::collections::BTreeMap;

use innkeeper_protocol::event::Presentation;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The folders that a workspace can have.
pub const ROOTS: [&str; 5] = ["output", "scratch", "plan", "summaries", "persist"];
/// The only target that an artifact can have: the text of the message.
pub const MESSAGE_BODY: &str = "messageBody";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preset {
    pub mode: PresetMode,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<PresetRef>,
    pub required: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PresetMode {
    #[default]
    CurrentPromptSnapshot,
    Ref,
    None,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PresetRef {
    pub api_id: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelChoice {
    pub mode: ModelMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelMode {
    #[default]
    CurrentPromptSnapshot,
    ConnectionRef,
    RequiresConfiguration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRules {
    pub presentation: Presentation,
    pub direct_runnable: bool,
    pub model_retry: ModelRetry,
    pub stream: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelRetry {
    pub max_retries: u32,
    pub interval_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextPolicy {
    /// -1 all, 0 none, otherwise the newest so many.
    pub initial_chat_history_messages: i64,
    pub include_activated_world_info: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Delegation {
    pub can_delegate: bool,
    pub can_handoff: bool,
    pub callable: bool,
    pub allow_as_subagent: bool,
    pub allow_as_handoff_target: bool,
    pub allow_nested_delegation: bool,
    pub allowed_callers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description_for_agents: Option<String>,
    pub max_concurrent_invocations: u32,
    pub max_invocations_per_run: u32,
    pub result_budget_tokens: u32,
    pub max_handoff_depth: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Instructions {
    /// None: the generated one.
    pub agent_system_prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolRules {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_descriptions: BTreeMap<String, ToolDescription>,
    pub max_rounds: u32,
    pub max_calls_per_run: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_calls_per_tool: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolDescription {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillRules {
    pub visible: Vec<String>,
    pub deny: Vec<String>,
    pub max_read_chars_per_call: u64,
    pub max_read_chars_per_run: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceRules {
    pub visible_roots: Vec<String>,
    pub writable_roots: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    pub mode: String,
    pub beta: bool,
    pub nodes: Vec<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Output {
    pub artifacts: Vec<Artifact>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub id: String,
    pub path: String,
    pub kind: String,
    /// `messageBody`.
    pub target: String,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub assembly_order: i64,
}

impl Default for RunRules {
    fn default() -> Self {
        Self {
            presentation: Presentation::Foreground,
            direct_runnable: true,
            model_retry: ModelRetry::default(),
            stream: true,
        }
    }
}

impl Default for ModelRetry {
    fn default() -> Self {
        Self {
            max_retries: 3,
            interval_ms: 3_000,
        }
    }
}

impl Default for ContextPolicy {
    fn default() -> Self {
        Self {
            initial_chat_history_messages: -1,
            include_activated_world_info: true,
        }
    }
}

impl Default for Delegation {
    fn default() -> Self {
        Self {
            can_delegate: false,
            can_handoff: false,
            callable: false,
            allow_as_subagent: false,
            allow_as_handoff_target: false,
            allow_nested_delegation: false,
            allowed_callers: vec!["*".to_owned()],
            description_for_agents: None,
            max_concurrent_invocations: 3,
            max_invocations_per_run: 8,
            result_budget_tokens: 8_000,
            max_handoff_depth: 8,
        }
    }
}

impl Default for ToolRules {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            tool_descriptions: BTreeMap::new(),
            max_rounds: 80,
            max_calls_per_run: 80,
            max_calls_per_tool: BTreeMap::new(),
        }
    }
}

impl Default for SkillRules {
    fn default() -> Self {
        Self {
            visible: vec!["*".to_owned()],
            deny: Vec::new(),
            max_read_chars_per_call: 20_000,
            max_read_chars_per_run: 80_000,
        }
    }
}

impl Default for WorkspaceRules {
    fn default() -> Self {
        let all = || ROOTS.map(str::to_owned).to_vec();
        Self {
            visible_roots: all(),
            writable_roots: all(),
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            mode: "none".to_owned(),
            beta: true,
            nodes: Vec::new(),
        }
    }
}
