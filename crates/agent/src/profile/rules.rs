//! The block `agent` of a profile: what neither of the formats knows, and what a ComfyTavern profile says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::limits::{ALL_TOLD_UP_TO, KEPT_ROUNDS, MOST_TOLD};

/// What only our agents know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentRules {
    /// In which of the file formats the profile is written.
    #[serde(skip_serializing_if = "ProfileFormat::is_tavern")]
    pub format: ProfileFormat,
    /// How calls are taught and read.
    pub protocol: Dialect,
    /// Id of the deliberation workflow; the built-in one if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliberation_workflow: Option<String>,
    /// By name, as `models` knows it; wins over the snapshot's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a reply without a call means.
    pub text_turn: TextTurn,
    pub budget: Budget,
    /// Whether a run that was cut off by a crash goes on by itself.
    pub after_crash: AfterCrash,
    /// `auto`, `on` or `off`: hold calls to a grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Json>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub private_state: Json,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub private_state_schema: Json,
    /// Fields of a ComfyTavern file that mean nothing here (events, knowledge bases, goals); they survive a save.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub kept: Map<String, Json>,
    /// Of how many of its tools the model is told.
    #[serde(skip_serializing_if = "OfferRules::is_usual")]
    pub offer: OfferRules,
    /// What becomes of a conversation that is too long.
    #[serde(skip_serializing_if = "CompactionRules::is_usual")]
    pub compaction: CompactionRules,
    /// How long the host may take to publish; 0: as long as it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    #[default]
    Tam,
    Action,
    Native,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextTurn {
    /// Foreground writers are nudged, everybody else has answered.
    #[default]
    ByPresentation,
    /// It is the answer: the run is complete.
    Answers,
    /// The model is told that it has to use tools, and goes on.
    Nudges,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterCrash {
    #[default]
    Continue,
    Pause,
}

/// Beyond rounds and calls, which stand in `tools`. None: no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// In dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_time_ms: Option<u64>,
    /// What single tools may use of models while they run, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_tokens_per_tool: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub max_cost_per_tool: BTreeMap<String, f64>,
}

/// Which of the tools that it may call the model is told of from the beginning; `tools.search` finds the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OfferRules {
    /// Of all of them, as long as there are no more than this.
    pub all_up_to: u32,
    /// Otherwise of so many that fit the task best.
    pub most: u32,
    /// And of these in any case: names, or patterns with stars.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
}

impl Default for OfferRules {
    fn default() -> Self {
        Self {
            all_up_to: ALL_TOLD_UP_TO,
            most: MOST_TOLD,
            pins: Vec::new(),
        }
    }
}

impl OfferRules {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// How the oldest part of a conversation gives way to a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionRules {
    pub enabled: bool,
    /// Estimated tokens that no request goes beyond. None: a share of what the model holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_tokens: Option<u64>,
    /// So many of the last rounds stay if they can.
    pub keep_rounds: u32,
    /// So many of the first messages stay, beside the instructions.
    pub keep_first: u32,
    /// Who summarises; the run's own model if nobody is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Default for CompactionRules {
    fn default() -> Self {
        Self {
            enabled: true,
            max_request_tokens: None,
            keep_rounds: KEPT_ROUNDS,
            keep_first: 0,
            model: None,
        }
    }
}

impl CompactionRules {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Which file a profile is written as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileFormat {
    /// `kind: tauritavern.agentProfile`.
    #[default]
    Tavern,
    /// `agent_profile.json`, with fields in snake case.
    Comfy,
}

impl ProfileFormat {
    pub(super) fn is_tavern(&self) -> bool {
        *self == Self::Tavern
    }
}
