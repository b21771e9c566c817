//! Profiles that refer to a preset, after the preset got another name.

use serde_json::Value as Json;

use super::diagnose::{Presence, Resources};
use super::error::ProfileError;
use super::fields::short;
use super::folder::{Profiles, pretty};
use super::json;
use super::sections::PresetRef;
use super::shapes::Retargeted;

impl Profiles {
    /// Every profile that refers to the one preset refers to the other. Nothing else in the files changes.
    pub fn retarget_preset_refs(
        &self,
        from: &PresetRef,
        to: &PresetRef,
        resources: &dyn Resources,
    ) -> Result<Retargeted, ProfileError> {
        let request = |reason, message: &str| ProfileError::Request {
            reason,
            message: message.to_owned(),
        };
        let blank =
            |preset: &PresetRef| preset.api_id.trim().is_empty() || preset.name.trim().is_empty();
        if blank(from) || blank(to) {
            let reason = "agent.profile_preset_retarget_input_invalid";
            return Err(request(reason, "a preset is named by 'apiId' and 'name'"));
        }
        if from == to {
            let reason = "agent.profile_preset_retarget_same_ref";
            return Err(request(reason, "both presets are the same"));
        }
        if from.api_id != to.api_id {
            let reason = "agent.profile_preset_retarget_api_mismatch";
            return Err(request(reason, "both presets must be of the same API"));
        }
        if resources.preset(to) == Presence::Missing {
            let reason = "agent.profile_preset_retarget_target_missing";
            let message = format!("there is no preset '{}'", short(&to.name));
            return Err(request(reason, &message));
        }
        let _changing = self.changing();
        let mut done = Retargeted::default();
        for found in self.scan()? {
            let Ok(loaded) = &found.content else { continue };
            if loaded.profile.preset.reference.as_ref() != Some(from) {
                continue;
            }
            let text = found.folder.read(&found.stem)?.unwrap_or_default();
            let Ok(mut document) = json::parse(&text) else {
                continue;
            };
            let Some(name) = document.pointer_mut("/preset/ref/name") else {
                continue;
            };
            *name = Json::from(to.name.as_str());
            found.folder.write(&found.stem, &pretty(&document))?;
            done.updated += 1;
            done.profile_ids.push(loaded.profile.id.clone());
        }
        Ok(done)
    }
}
