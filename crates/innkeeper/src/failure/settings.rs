//! `innkeeper.toml` cannot be taken as it is. Nothing runs then: settings hold what is forbidden.

use std::fmt::{self, Write as _};

use super::{Said, message};
use crate::lang::Lang;

#[derive(Debug)]
pub(crate) enum SettingsFault {
    Unreadable {
        path: String,
        why: String,
    },
    /// The rehearsal model cannot play what it was given.
    Script {
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
        why: Said,
    },
}

/// A place in a file of settings; counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.english())
    }
}

impl SettingsFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } | Self::Script { .. } => "settings.unreadable",
            Self::UnknownKey { .. } => "settings.unknown_key",
            Self::Invalid { .. } => "settings.invalid",
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unreadable { path, why } => {
                format!("{path}: cannot be read ({why}); check it, or move it away to start anew")
            }
            Self::Script { path, why } => {
                let why = message(why);
                format!("{path}: the rehearsal model cannot play it: {why}; mend it there")
            }
            Self::UnknownKey { at, key, meant } => {
                let mut said = format!("{}: unknown key '{key}'", at.english());
                match meant {
                    Some(meant) => _ = write!(said, ", did you mean '{meant}'?"),
                    None => said.push_str("; remove it, or see docs/command-line.md"),
                }
                said
            }
            Self::Invalid { at, why } => {
                let why = why.shown(Lang::En);
                // A question is its own advice.
                let advice = if why.ends_with('?') {
                    ""
                } else {
                    "; mend it there"
                };
                format!("{}: {why}{advice}", at.english())
            }
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unreadable { path, why } => {
                format!("{path}：无法读取（{why}）；请检查，或移走它重新开始")
            }
            Self::Script { path, why } => {
                format!("{path}：排练模型无法排练：{}；请改正此处", message(why))
            }
            Self::UnknownKey { at, key, meant } => {
                let mut said = format!("{}：未知的键“{key}”", at.chinese());
                match meant {
                    Some(meant) => _ = write!(said, "，是否想写“{meant}”？"),
                    None => said.push_str("；请删除它，或查阅 docs/command-line.md"),
                }
                said
            }
            Self::Invalid { at, why } => {
                let why = why.shown(Lang::Zh);
                let advice = if why.ends_with(['?', '？']) {
                    ""
                } else {
                    "；请改正此处"
                };
                format!("{}：{why}{advice}", at.chinese())
            }
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
        SettingsFault::Script {
            path: text(),
            why: super::tests::NASTY.to_owned(),
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
            why: Said::of(super::tests::NASTY),
        },
    ]
}
