//! `innkeeper.toml` cannot be taken as it is. Nothing runs then: settings hold what is forbidden.

use std::fmt::Write as _;

#[derive(Debug)]
pub(crate) enum SettingsFault {
    Unreadable {
        path: String,
        why: String,
    },
    /// A key that nobody reads is perhaps a rule that its owner relies on.
    UnknownKey {
        at: Spot,
        key: String,
        meant: Option<String>,
    },
    /// Not TOML, or a value that does not fit.
    Invalid {
        at: Spot,
        why: String,
    },
}

/// A place in a file of settings; counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SettingsFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "settings.unreadable",
            Self::UnknownKey { .. } => "settings.unknown_key",
            Self::Invalid { .. } => "settings.invalid",
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unreadable { path, why } => {
                format!("{path}: cannot be read ({why}); check it, or move it away to start anew")
            }
            Self::UnknownKey { at, key, meant } => {
                let mut said = format!("{}: unknown key '{key}'", at.english());
                match meant {
                    Some(meant) => _ = write!(said, ", did you mean '{meant}'?"),
                    None => said.push_str("; remove it, or see docs/command-line.md"),
                }
                said
            }
            Self::Invalid { at, why } => format!("{}: {why}; mend it there", at.english()),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unreadable { path, why } => {
                format!("{path}：无法读取（{why}）；请检查，或移走它重新开始")
            }
            Self::UnknownKey { at, key, meant } => {
                let mut said = format!("{}：未知的键“{key}”", at.chinese());
                match meant {
                    Some(meant) => _ = write!(said, "，是否想写“{meant}”？"),
                    None => said.push_str("；请删除它，或查阅 docs/command-line.md"),
                }
                said
            }
            Self::Invalid { at, why } => format!("{}：{why}；请改正此处", at.chinese()),
        }
    }
}

impl Spot {
    fn english(&self) -> String {
        format!("{}: line {}, column {}", self.path, self.line, self.column)
    }

    fn chinese(&self) -> String {
        format!("{}：第 {} 行第 {} 列", self.path, self.line, self.column)
    }
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<SettingsFault> {
    let at = || Spot {
        path: super::shown(super::tests::NASTY),
        line: 3,
        column: 1,
    };
    let text = || super::shown(super::tests::NASTY);
    vec![
        SettingsFault::Unreadable {
            path: text(),
            why: text(),
        },
        SettingsFault::UnknownKey {
            at: at(),
            key: text(),
            meant: Some("policy".into()),
        },
        SettingsFault::UnknownKey {
            at: at(),
            key: text(),
            meant: None,
        },
        SettingsFault::Invalid {
            at: at(),
            why: text(),
        },
    ]
}
