//! Which folder holds settings and data: `--home`, else `INNKEEPER_HOME`, else the platform's data folder.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy, choose_native_strategy};

use crate::failure::{Failure, HomeFault};

/// An absolute path; whether it exists is to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn of(asked: Option<&Path>) -> Result<Self, Failure> {
        let platform = || {
            let folders = choose_native_strategy().ok()?;
            Some(folders.data_dir().join("innkeeper"))
        };
        Self::choose(asked, std::env::var_os("INNKEEPER_HOME"), platform)
    }

    fn choose(
        asked: Option<&Path>,
        variable: Option<OsString>,
        platform: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let variable = variable.filter(|value| !value.is_empty());
        let folder = asked
            .map(Path::to_owned)
            .or_else(|| variable.map(PathBuf::from))
            .or_else(platform)
            .ok_or(Failure::Home(HomeFault::Unknown))?;
        match std::path::absolute(&folder) {
            Ok(folder) => Ok(Self(folder)),
            Err(error) => Err(HomeFault::unusable(&folder, &error).into()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder, for its owner alone, if it is not there.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.0)
            .map_err(|error| HomeFault::unusable(&self.0, &error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_before_variable_before_platform() {
        let platform = || Some(PathBuf::from("/p"));
        for (asked, variable, expected) in [
            (Some("/a"), Some("/v"), "/a"),
            (None, Some("/v"), "/v"),
            (None, Some(""), "/p"),
            (None, None, "/p"),
        ] {
            let home = Home::choose(asked.map(Path::new), variable.map(Into::into), platform);
            assert_eq!(home.unwrap().path(), Path::new(expected));
        }
        let nowhere = Home::choose(None, None, || None);
        assert!(matches!(nowhere, Err(Failure::Home(HomeFault::Unknown))));
        let relative = Home::choose(Some(Path::new("x")), None, || None).unwrap();
        assert!(relative.path().is_absolute());
    }
}
