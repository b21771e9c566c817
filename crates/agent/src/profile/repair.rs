//! Files of profiles that cannot be used as they are, brought back into order.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::error::ProfileError;
use super::files::{Folder, file_name};
use super::folder::{Profiles, pretty};
use super::{id, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RepairAction {
    Delete,
    /// The id inside and the name of the file become the same.
    NormalizeIdentity,
}

impl RepairAction {
    /// As pages write it.
    pub fn named(text: &str) -> Result<Self, ProfileError> {
        match text {
            "delete" => Ok(Self::Delete),
            "normalizeIdentity" => Ok(Self::NormalizeIdentity),
            _ => Err(refused(
                "the repair action must be delete or normalizeIdentity",
            )),
        }
    }
}

impl Profiles {
    /// `profile_id` is that of an issue in a listing: the name of the file without its ending, whatever that is.
    pub fn repair_file(&self, profile_id: &str, action: RepairAction) -> Result<(), ProfileError> {
        let _changing = self.changing();
        for folder in &self.folders {
            // Only what a listing gives is ever made a path of.
            if folder.stems()?.iter().any(|stem| stem == profile_id) {
                return match action {
                    RepairAction::Delete => folder.remove(profile_id).map(drop),
                    RepairAction::NormalizeIdentity => normalize(folder, profile_id),
                };
            }
        }
        Err(self.not_found(profile_id))
    }
}

/// The name of the file counts, if it can be an id; then nobody who refers to it has to change.
fn normalize(folder: &Folder, stem: &str) -> Result<(), ProfileError> {
    let text = folder.read(stem)?.unwrap_or_default();
    let mut document = json::parse(&text).map_err(|why| {
        refused(&format!(
            "{} is no JSON that can be read: {why}",
            file_name(stem)
        ))
    })?;
    let Json::Object(map) = &mut document else {
        return Err(refused(&format!("{} holds no profile", file_name(stem))));
    };
    let inside = map.get("id").and_then(Json::as_str);
    let inside = inside.filter(|text| id::fault(text).is_none());
    let new = match id::fault(stem) {
        None => stem.to_owned(),
        Some(_) => inside.map_or_else(|| id::adapted(stem), str::to_owned),
    };
    if id::fault(&new).is_some() {
        let message = format!(
            "no id can be made of the name {}: rename the file",
            file_name(stem)
        );
        return Err(refused(&message));
    }
    if new != stem && folder.read(&new)?.is_some() {
        let message = format!(
            "{} is there already: rename or delete it first",
            file_name(&new)
        );
        return Err(refused(&message));
    }
    map.insert("id".to_owned(), Json::from(new.as_str()));
    folder.write(&new, &pretty(&document))?;
    if new != stem {
        folder.remove(stem)?;
    }
    Ok(())
}

fn refused(message: &str) -> ProfileError {
    ProfileError::Request {
        reason: "agent.profile_repair_action_invalid",
        message: message.to_owned(),
    }
}
