//! A home with folders for profiles.

use std::fs;
use std::path::{Path, PathBuf};

use innkeeper_protocol::ErrorCode;
use innkeeper_tools::{ProjectId, UserId};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{version_1, with};
use crate::profile::{ProfileError, Profiles};

pub(super) struct House {
    pub(super) home: TempDir,
    pub(super) profiles: Profiles,
}

impl House {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (user, project) = (UserId::default(), ProjectId::default());
        let profiles = Profiles::of_project(home.path(), &user, &project);
        let house = Self { home, profiles };
        fs::create_dir_all(house.project()).unwrap();
        fs::create_dir_all(house.house()).unwrap();
        house
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home.path().join("projects/default/agent_profiles")
    }

    pub(super) fn house(&self) -> PathBuf {
        self.home.path().join("agent_profiles")
    }

    pub(super) fn ids(&self) -> Vec<String> {
        let list = self.profiles.list().unwrap();
        list.profiles.iter().map(|it| it.id.to_string()).collect()
    }

    /// What pages get.
    pub(super) fn issues(&self) -> Json {
        let list = serde_json::to_value(self.profiles.list().unwrap()).unwrap();
        let mut issues = list["issues"].clone();
        for issue in issues.as_array_mut().unwrap() {
            let message = issue
                .as_object_mut()
                .unwrap()
                .shift_remove("message")
                .unwrap();
            assert!(!message.as_str().unwrap().is_empty());
        }
        issues
    }
}

pub(super) fn put(folder: &Path, name: &str, json: &Json) {
    fs::write(folder.join(name), json.to_string()).unwrap();
}

pub(super) fn named(id: &str) -> Json {
    with(version_1(), "/id", json!(id))
}

#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(
    result: Result<T, ProfileError>,
    code: ErrorCode,
    reason: &str,
) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(error.reason().unwrap_or_default(), reason, "{error}");
}
