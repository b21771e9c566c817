//! Every profile that can be used as it is: for agents that look for others.

use std::collections::HashSet;

use super::built_in::BuiltIn;
use super::error::ProfileError;
use super::folder::Profiles;
use super::{AgentProfile, ProfileId};

impl Profiles {
    /// The first of each id, as [`Profiles::find`] would give it. A file that cannot be used hides what lies behind it.
    pub(crate) fn usable(&self) -> Result<Vec<AgentProfile>, ProfileError> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for found in self.scan()? {
            match found.content {
                Ok(loaded) => {
                    if seen.insert(loaded.profile.id.clone()) {
                        all.push(loaded.profile);
                    }
                }
                Err(issue) => {
                    seen.insert(ProfileId::new(issue.profile_id));
                }
            }
        }
        for built_in in BuiltIn::ALL {
            if !seen.contains(&ProfileId::new(built_in.id))
                && let Ok(profile) = built_in.profile()
            {
                all.push(profile);
            }
        }
        Ok(all)
    }
}
