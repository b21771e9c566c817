//! What stands in the way of using a profile here and now, with what a page can offer to do about it.
//!
//! Which presets and connections there are is the host's to say.

use serde::Serialize;

use super::error::ProfileError;
use super::folder::Profiles;
use super::sections::{ModelMode, PresetMode, PresetRef};
use super::{AgentProfile, ToolNames};

/// Presets of other kinds than chat completion have nothing an agent could use.
const PRESET_API: &str = "openai";

/// Whether the host has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    There,
    Missing,
    /// There, and no good.
    Invalid,
    /// The host does not know: nothing is held against the profile.
    Unknown,
}

/// What a profile may refer to.
pub trait Resources {
    fn preset(&self, preset: &PresetRef) -> Presence;
    fn connection(&self, connection: &str, model: &str) -> Presence;
}

/// For whoever has neither presets nor connections to look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unseen;

impl Resources for Unseen {
    fn preset(&self, _: &PresetRef) -> Presence {
        Presence::Unknown
    }

    fn connection(&self, _: &str, _: &str) -> Presence {
        Presence::Unknown
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    pub profile_id: String,
    pub preview_available: bool,
    pub prompt_assembly_available: bool,
    pub direct_run_available: bool,
    pub sub_agent_available: bool,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    pub code: &'static str,
    /// Always `error`.
    pub severity: &'static str,
    /// Where in the profile: `$.preset.ref`.
    pub path: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub blocks: &'static [&'static str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub repair_actions: &'static [&'static str],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Resource {
    #[serde(rename_all = "camelCase")]
    Preset { api_id: String, name: String },
    #[serde(rename_all = "camelCase")]
    LlmConnection { id: String, model_id: String },
}

const EVERYTHING: &[&str] = &["preview", "promptAssembly", "directRun", "subAgent"];
const RUNS: &[&str] = &["promptAssembly", "directRun", "subAgent"];
const EDIT: &[&str] = &["openJsonEditor"];
const PRESET: &[&str] = &["selectPreset", "openJsonEditor"];
const MODEL: &[&str] = &["selectModel", "openJsonEditor"];
const CONNECTION: &[&str] = &[
    "selectModel",
    "setModelRequiresConfiguration",
    "openJsonEditor",
];

impl Profiles {
    /// A profile that cannot be read is diagnosed too; only one that is not there is an error.
    pub fn diagnose(
        &self,
        id: &str,
        tools: Option<&dyn ToolNames>,
        resources: &dyn Resources,
    ) -> Result<Diagnosis, ProfileError> {
        let contract = |code, path: &str, message: String| {
            diagnostic(code, path, message, None, EVERYTHING, EDIT)
        };
        match self.load(id, tools) {
            Ok(loaded) => Ok(diagnose(&loaded.profile, resources)),
            Err(ProfileError::Invalid { why, .. }) => {
                let problems = why.problems.into_iter();
                let diagnostics = problems.map(|it| contract(CONTRACT, &it.path, it.message));
                Ok(diagnosis(id, None, diagnostics.collect()))
            }
            Err(error @ ProfileError::Request { reason, .. }) if reason == IDENTITY => {
                let diagnostics = vec![contract(CONTRACT, "$.id", error.to_string())];
                Ok(diagnosis(id, None, diagnostics))
            }
            Err(error) => Err(error),
        }
    }
}

const CONTRACT: &str = "agent.profile_contract_invalid";
const IDENTITY: &str = "agent.profile_file_identity_invalid";

fn diagnose(profile: &AgentProfile, resources: &dyn Resources) -> Diagnosis {
    let mut diagnostics = Vec::new();
    if let (PresetMode::Ref, Some(preset)) = (profile.preset.mode, &profile.preset.reference) {
        diagnostics.extend(preset_problem(preset, resources));
    }
    diagnostics.extend(model_problem(profile, resources));
    diagnosis(profile.id.as_str(), Some(profile), diagnostics)
}

fn preset_problem(preset: &PresetRef, resources: &dyn Resources) -> Option<Diagnostic> {
    let resource = || {
        Some(Resource::Preset {
            api_id: preset.api_id.clone(),
            name: preset.name.clone(),
        })
    };
    if preset.api_id != PRESET_API {
        return Some(diagnostic(
            "agent.profile_preset_api_unsupported",
            "$.preset.ref.apiId",
            format!(
                "presets of '{}' cannot be used: choose one of '{PRESET_API}'",
                preset.api_id
            ),
            resource(),
            EVERYTHING,
            PRESET,
        ));
    }
    let message = match resources.preset(preset) {
        Presence::There | Presence::Unknown => return None,
        Presence::Missing => format!("there is no preset '{}': choose another", preset.name),
        Presence::Invalid => format!(
            "the preset '{}' cannot be used: choose another",
            preset.name
        ),
    };
    let code = "agent.profile_preset_missing";
    Some(diagnostic(
        code,
        "$.preset.ref",
        message,
        resource(),
        EVERYTHING,
        PRESET,
    ))
}

fn model_problem(profile: &AgentProfile, resources: &dyn Resources) -> Option<Diagnostic> {
    let model = &profile.model;
    // A model that the profile names itself is asked whatever the mode says.
    if model.mode == ModelMode::RequiresConfiguration && profile.agent.model.is_none() {
        return Some(diagnostic(
            "agent.profile_model_requires_configuration",
            "$.model.mode",
            "choose a model before this agent can run".to_owned(),
            None,
            RUNS,
            MODEL,
        ));
    }
    let (ModelMode::ConnectionRef, Some(connection), Some(id)) =
        (model.mode, &model.connection_ref, &model.model_id)
    else {
        return None;
    };
    let (code, message) = match resources.connection(connection, id) {
        Presence::There | Presence::Unknown => return None,
        Presence::Missing => (
            "agent.profile_model_connection_missing",
            format!("there is no connection '{connection}': choose another model"),
        ),
        Presence::Invalid => (
            "agent.profile_model_connection_invalid",
            format!(
                "the connection '{connection}' cannot be used for '{id}': choose another model"
            ),
        ),
    };
    let resource = Some(Resource::LlmConnection {
        id: connection.clone(),
        model_id: id.clone(),
    });
    Some(diagnostic(
        code,
        "$.model.connectionRef",
        message,
        resource,
        RUNS,
        CONNECTION,
    ))
}

fn diagnostic(
    code: &'static str,
    path: &str,
    message: String,
    resource: Option<Resource>,
    blocks: &'static [&'static str],
    repair_actions: &'static [&'static str],
) -> Diagnostic {
    Diagnostic {
        code,
        severity: "error",
        path: path.to_owned(),
        message,
        resource,
        blocks,
        repair_actions,
    }
}

fn diagnosis(id: &str, profile: Option<&AgentProfile>, diagnostics: Vec<Diagnostic>) -> Diagnosis {
    let free = |what: &str| !diagnostics.iter().any(|it| it.blocks.contains(&what));
    let direct = profile.is_some_and(|it| it.run.direct_runnable);
    let below = profile.is_some_and(|it| it.delegation.callable && it.delegation.allow_as_subagent);
    Diagnosis {
        profile_id: id.to_owned(),
        preview_available: free("preview"),
        prompt_assembly_available: free("promptAssembly"),
        direct_run_available: direct && free("directRun"),
        sub_agent_available: below && free("subAgent"),
        diagnostics,
    }
}
