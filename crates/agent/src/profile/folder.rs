//! Profiles where they lie: in a project, for the whole house, built in. The first that has an id is meant.
//!
//! All of it blocks; whoever is asynchronous calls it where that is allowed. Changes are made one after another.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::Locale;
use innkeeper_protocol::event::ProfileId;
use innkeeper_tools::{ProjectId, UserId};
use serde_json::Value as Json;

use super::built_in::{BuiltIn, DEFAULT_WRITER};
use super::error::ProfileError;
use super::fields::short;
use super::files::{Folder, file_name};
use super::problem::did_you_mean;
use super::rules::ProfileFormat;
use super::shapes::{
    Issue, IssueKind, Loaded, ProfileList, ProfileSource, ProfileSummary, RecommendedAction,
};
use super::{AgentProfile, Problem, ToolNames, id, json, prompt, write};

const FOLDER: &str = "agent_profiles";

/// The profiles that one project sees. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Profiles {
    /// The first one is where new profiles go.
    pub(super) folders: Vec<Folder>,
    changing: Arc<Mutex<()>>,
}

/// One file of a folder.
pub(super) struct Found {
    pub(super) folder: Folder,
    pub(super) stem: String,
    pub(super) content: Result<Loaded, Issue>,
}

impl Profiles {
    /// Those of a project, then those of the house, then those built in.
    pub fn of_project(home: &Path, user: &UserId, project: &ProjectId) -> Self {
        let mut way = match *user == UserId::default() {
            true => Vec::new(),
            false => vec!["users".to_owned(), user.to_string()],
        };
        way.extend([
            "projects".to_owned(),
            project.to_string(),
            FOLDER.to_owned(),
        ]);
        Self {
            folders: vec![Folder::new(home, way), Folder::new(home, [FOLDER])],
            changing: Arc::default(),
        }
    }

    /// Those of the house, then those built in.
    pub fn of_house(home: &Path) -> Self {
        Self {
            folders: vec![Folder::new(home, [FOLDER])],
            changing: Arc::default(),
        }
    }

    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `default-writer` is always there and first; a file of that id takes its place.
    pub fn list(&self) -> Result<ProfileList, ProfileError> {
        let mut list = ProfileList::default();
        let mut seen = HashSet::new();
        for found in self.scan()? {
            match found.content {
                Ok(loaded) => {
                    if seen.insert(loaded.profile.id.clone()) {
                        list.profiles.push(summary(&loaded.profile));
                    }
                }
                Err(issue) => {
                    // A broken file of a project does not bring back the house's: load refuses it too.
                    if issue.profile_id != DEFAULT_WRITER {
                        seen.insert(ProfileId::new(issue.profile_id.clone()));
                    }
                    list.issues.push(issue);
                }
            }
        }
        for built_in in BuiltIn::ALL {
            let id = ProfileId::new(built_in.id);
            if !seen.contains(&id)
                && let Ok(profile) = built_in.profile()
            {
                list.profiles.push(summary(&profile));
            }
        }
        // Sorting is stable: the writer, then by name.
        list.profiles.sort_by(|a, b| {
            (a.id.as_str() != DEFAULT_WRITER, &a.id).cmp(&(b.id.as_str() != DEFAULT_WRITER, &b.id))
        });
        Ok(list)
    }

    /// Every file, folder by folder, by name.
    pub(super) fn scan(&self) -> Result<Vec<Found>, ProfileError> {
        let mut all = Vec::new();
        for folder in &self.folders {
            for stem in folder.stems()? {
                let content = match folder.read(&stem) {
                    Ok(Some(text)) => understood(folder, &stem, &text, None),
                    // Gone since it was listed.
                    Ok(None) => continue,
                    Err(error) => Err(Issue {
                        kind: IssueKind::InvalidProfile,
                        recommended_action: None,
                        ..issue(&stem, &error.to_string())
                    }),
                };
                all.push(Found {
                    folder: folder.clone(),
                    stem,
                    content,
                });
            }
        }
        Ok(all)
    }

    /// `None` where there is no such profile. One that cannot be used is an error, also where another of its id lies
    /// behind it: an agent that is not the one that was meant would be worse than none.
    pub fn find(
        &self,
        id: &str,
        tools: Option<&dyn ToolNames>,
    ) -> Result<Option<Loaded>, ProfileError> {
        self.must_be_id(id)?;
        for folder in &self.folders {
            if let Some(text) = folder.read(id)? {
                return loaded(folder, id, &text, tools).map(Some);
            }
            if let Some((stem, text)) = comfy_file(folder, id)? {
                return loaded(folder, &stem, &text, tools).map(Some);
            }
        }
        let Some(built_in) = BuiltIn::find(id) else {
            return Ok(None);
        };
        match AgentProfile::read(built_in.text, tools) {
            Ok(reading) => Ok(Some(Loaded {
                profile: reading.profile,
                source: ProfileSource::BuiltIn,
                warnings: reading.warnings,
            })),
            Err(why) => Err(ProfileError::Invalid {
                id: id.to_owned(),
                why,
            }),
        }
    }

    /// The same where its absence is an error.
    pub fn load(&self, id: &str, tools: Option<&dyn ToolNames>) -> Result<Loaded, ProfileError> {
        match self.find(id, tools)? {
            Some(loaded) => Ok(loaded),
            None => Err(self.not_found(id)),
        }
    }

    /// Takes a profile as JSON, in any of the formats, checks it and keeps it as it was given: with its order of keys,
    /// and with what only its author understands. Lies there a profile of its id, it is replaced where it lies.
    pub fn save_json(
        &self,
        document: &Json,
        tools: Option<&dyn ToolNames>,
    ) -> Result<Vec<Problem>, ProfileError> {
        let reading = AgentProfile::from_json(document, tools).map_err(|why| {
            let id = document.get("id").and_then(Json::as_str);
            ProfileError::Invalid {
                id: short(id.unwrap_or_default()),
                why,
            }
        })?;
        let _changing = self.changing();
        let (folder, stem, _) = self.place_of(&reading.profile)?;
        folder.write(&stem, &pretty(document))?;
        Ok(reading.warnings)
    }

    /// Keeps a profile that was made or changed in code. A file that is there keeps its order of keys.
    pub fn save(
        &self,
        profile: &AgentProfile,
        tools: Option<&dyn ToolNames>,
    ) -> Result<Vec<Problem>, ProfileError> {
        let document = profile.to_json();
        let reading =
            AgentProfile::from_json(&document, tools).map_err(|why| ProfileError::Invalid {
                id: short(profile.id.as_str()),
                why,
            })?;
        let _changing = self.changing();
        let (folder, stem, old) = self.place_of(profile)?;
        let document = match old.and_then(|text| json::parse(&text).ok()) {
            Some(old) => write::arranged(document, &old),
            None => document,
        };
        folder.write(&stem, &pretty(&document))?;
        Ok(reading.warnings)
    }

    /// Where a profile of this id lies, with its text; otherwise where a new one goes.
    fn place_of(
        &self,
        profile: &AgentProfile,
    ) -> Result<(&Folder, String, Option<String>), ProfileError> {
        let id = profile.id.as_str();
        for folder in &self.folders {
            // The file of that name may be another's: one of ComfyTavern has any name.
            if let Some((stem, text)) = comfy_file(folder, id)? {
                return Ok((folder, stem, Some(text)));
            }
            if let Some(text) = folder.read(id)? {
                let holds = json::parse(&text).ok().as_ref().and_then(comfy_id);
                match holds.filter(|other| other != id) {
                    None => return Ok((folder, id.to_owned(), Some(text))),
                    Some(other) => return Err(taken(&folder.path_of(id), &other)),
                }
            }
        }
        match self.folders.first() {
            Some(folder) => Ok((folder, id.to_owned(), None)),
            None => Err(self.not_found(id)),
        }
    }

    /// Removes the file. What is built in comes back where a file stood in its place.
    pub fn delete(&self, id: &str) -> Result<(), ProfileError> {
        self.must_be_id(id)?;
        let _changing = self.changing();
        for folder in &self.folders {
            if folder.remove(id)? {
                return Ok(());
            }
            if let Some((stem, _)) = comfy_file(folder, id)? {
                folder.remove(&stem)?;
                return Ok(());
            }
        }
        match BuiltIn::find(id) {
            Some(_) => Err(ProfileError::Request {
                reason: "agent.profile_built_in",
                message: format!("the profile '{id}' is built in and cannot be deleted"),
            }),
            None => Err(self.not_found(id)),
        }
    }

    /// The system prompt that a run would begin with; without an id, `default-writer`'s.
    pub fn resolve_system_prompt(
        &self,
        id: Option<&str>,
        locale: Locale,
    ) -> Result<String, ProfileError> {
        let loaded = self.load(id.unwrap_or(DEFAULT_WRITER), None)?;
        Ok(prompt::system_prompt(&loaded.profile, locale))
    }

    pub(super) fn must_be_id(&self, text: &str) -> Result<(), ProfileError> {
        match id::fault(text) {
            None => Ok(()),
            Some((reason, message)) => Err(ProfileError::Request {
                reason,
                message: format!("the profile's id: {message}"),
            }),
        }
    }

    pub(super) fn not_found(&self, id: &str) -> ProfileError {
        let list = self.list().unwrap_or_default();
        let ids = list.profiles.iter().map(|profile| profile.id.as_str());
        ProfileError::NotFound {
            id: short(id),
            near: did_you_mean(id, ids),
        }
    }
}

/// Files of ComfyTavern have any name; the id inside counts.
fn comfy_file(folder: &Folder, id: &str) -> Result<Option<(String, String)>, ProfileError> {
    for stem in folder.stems()? {
        // What cannot be read is told by a listing; it is not the one that is meant.
        let Ok(Some(text)) = folder.read(&stem) else {
            continue;
        };
        let holds = json::parse(&text).ok().as_ref().and_then(comfy_id);
        if holds.as_deref() == Some(id) {
            return Ok(Some((stem, text)));
        }
    }
    Ok(None)
}

/// The id of a ComfyTavern profile, as we spell it.
fn comfy_id(json: &Json) -> Option<String> {
    let found = super::problem::Findings::default();
    let format = super::read::format(json, &found)?;
    let id = json.get("id").and_then(Json::as_str)?;
    (format == ProfileFormat::Comfy).then(|| id::adapted(id))
}

fn loaded(
    folder: &Folder,
    stem: &str,
    text: &str,
    tools: Option<&dyn ToolNames>,
) -> Result<Loaded, ProfileError> {
    let invalid = |why| ProfileError::Invalid {
        id: stem.to_owned(),
        why,
    };
    let reading = AgentProfile::read(text, tools).map_err(invalid)?;
    let profile = reading.profile;
    if is_misnamed(&profile, stem) {
        return Err(ProfileError::Request {
            reason: "agent.profile_file_identity_invalid",
            message: misnamed(&profile, stem),
        });
    }
    let source = ProfileSource::File {
        id: profile.id.clone(),
        path: folder.path_of(stem),
    };
    Ok(Loaded {
        profile,
        source,
        warnings: reading.warnings,
    })
}

fn understood(
    folder: &Folder,
    stem: &str,
    text: &str,
    tools: Option<&dyn ToolNames>,
) -> Result<Loaded, Issue> {
    if let Err(why) = json::parse(text) {
        return Err(issue(
            stem,
            &format!("this is no JSON that can be read: {why}"),
        ));
    }
    loaded(folder, stem, text, tools).map_err(|error| {
        let identity = matches!(error, ProfileError::Request { .. });
        let message = match error {
            ProfileError::Invalid { why, .. } => why.to_string(),
            other => other.to_string(),
        };
        Issue {
            kind: match identity {
                true => IssueKind::InvalidFileIdentity,
                false => IssueKind::InvalidProfile,
            },
            recommended_action: identity.then_some(RecommendedAction::NormalizeIdentity),
            ..issue(stem, &message)
        }
    })
}

/// A file of a tavern is named after the profile; one of ComfyTavern has any name.
fn is_misnamed(profile: &AgentProfile, stem: &str) -> bool {
    profile.agent.format == ProfileFormat::Tavern && profile.id.as_str() != stem
}

fn misnamed(profile: &AgentProfile, stem: &str) -> String {
    let (file, right) = (file_name(stem), file_name(profile.id.as_str()));
    format!(
        "the file {file} has the id '{}': name it {right}, or change the id",
        profile.id
    )
}

fn taken(path: &str, other: &str) -> ProfileError {
    ProfileError::Request {
        reason: "agent.profile_file_identity_invalid",
        message: format!("{path} holds the profile '{other}': give the new one another id"),
    }
}

fn issue(stem: &str, message: &str) -> Issue {
    Issue {
        profile_id: stem.to_owned(),
        file_name: file_name(stem),
        kind: IssueKind::InvalidJson,
        recommended_action: Some(RecommendedAction::Delete),
        message: message.to_owned(),
    }
}

fn summary(profile: &AgentProfile) -> ProfileSummary {
    ProfileSummary {
        id: profile.id.clone(),
        display_name: profile.display_name.clone(),
        description: profile.description.clone(),
        direct_runnable: profile.run.direct_runnable,
    }
}

/// With a line break at the end, as editors like it.
pub(super) fn pretty(document: &Json) -> String {
    format!("{document:#}\n")
}
