//! The folder for settings and data cannot be used.

use std::io;
use std::path::Path;

use super::{cause, shown};

#[derive(Debug)]
pub(crate) enum HomeFault {
    /// The system names no folder for data.
    Unknown,
    Unusable {
        path: String,
        why: String,
    },
}

impl HomeFault {
    pub(crate) fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::because(path, &cause(error))
    }

    pub(crate) fn because(path: &Path, why: &str) -> Self {
        Self::Unusable {
            path: shown(&path.to_string_lossy()),
            why: super::message(why),
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "home.unknown",
            Self::Unusable { .. } => "home.unusable",
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unknown => "no folder for settings and data: the system names none; give one \
                              with --home DIR or in INNKEEPER_HOME"
                .into(),
            Self::Unusable { path, why } => format!(
                "{path}: cannot hold settings and data ({why}); check its permissions, or give \
                 another folder with --home DIR"
            ),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unknown => "没有存放设置和数据的文件夹：系统没有给出；请用 --home DIR 或 \
                              INNKEEPER_HOME 指定"
                .into(),
            Self::Unusable { path, why } => format!(
                "{path}：无法存放设置和数据（{why}）；请检查权限，或用 --home DIR 换一个文件夹"
            ),
        }
    }
}
