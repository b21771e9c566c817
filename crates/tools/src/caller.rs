//! Who calls, for whom, and how far it may reach.

use std::fmt;

use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::{InvocationId, RunId};
use serde::{Deserialize, Serialize};

use crate::Pattern;
use crate::limits::MAX_ID_CHARS;

/// A name that becomes part of a path, and is no good for that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no name for a {1}: use letters, digits, '-', '_' and '.', not a '.' at the beginning or end, at most {MAX_ID_CHARS} characters"
)]
pub struct InvalidId(pub String, pub &'static str);

fn is_file_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().nth(MAX_ID_CHARS).is_none()
        && !text.starts_with('.')
        && !text.ends_with('.')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $default:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                match is_file_name(&text) {
                    true => Ok(Self(text)),
                    false => Err(InvalidId(text, $what)),
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidId;

            fn try_from(text: &str) -> Result<Self, InvalidId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($default.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// A person with files and settings of their own. The first one is `default`.
    UserId, "user", "default";
    /// The project `default` always exists.
    ProjectId, "project", "default";
}

/// What stands behind a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Actor {
    /// Somebody at a keyboard chose this very call.
    Person,
    /// A model wrote it.
    Agent { profile: String },
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str("person"),
            Self::Agent { profile } => write!(f, "agent:{profile}"),
        }
    }
}

/// Who calls. One for a whole run.
#[derive(Debug, Clone)]
pub struct Caller {
    pub user: UserId,
    pub actor: Actor,
    pub project: ProjectId,
    pub run: RunId,
    /// Which agent of the run, where it is not the one that the run is of.
    pub invocation: Option<InvocationId>,
    pub reach: Reach,
}

impl Caller {
    pub fn person(run: RunId) -> Self {
        Self {
            user: UserId::default(),
            actor: Actor::Person,
            project: ProjectId::default(),
            run,
            invocation: None,
            reach: Reach::everything(),
        }
    }

    pub fn agent(profile: impl Into<String>, run: RunId, reach: Reach) -> Self {
        Self {
            user: UserId::default(),
            actor: Actor::Agent {
                profile: profile.into(),
            },
            project: ProjectId::default(),
            run,
            invocation: None,
            reach,
        }
    }

    /// Within what its tasks, its workspace and its `request_id`s are: those of one agent of a run are not another's.
    pub fn desk(&self) -> RunId {
        match &self.invocation {
            None => self.run.clone(),
            Some(invocation) => RunId::new(format!("{}/{invocation}", self.run)),
        }
    }

    pub fn is_agent(&self) -> bool {
        matches!(self.actor, Actor::Agent { .. })
    }
}

/// The tools that a profile offers: what it allows, less what it denies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reach {
    pub allow: Vec<Pattern>,
    pub deny: Vec<Pattern>,
}

impl Reach {
    pub fn everything() -> Self {
        Self {
            allow: vec![Pattern::new("*")],
            deny: Vec::new(),
        }
    }

    /// A tool is allowed under its id or an alias as written; it is denied under anything that looks like one.
    pub fn includes(&self, tool: &ToolDefinition) -> bool {
        !self.denies(tool)
            && names(tool).any(|name| self.allow.iter().any(|pattern| pattern.matches(name)))
    }

    /// Whether it is allowed by its very name, which no pattern with a star is.
    pub fn names(&self, tool: &ToolDefinition) -> bool {
        let exact = || self.allow.iter().filter(|pattern| pattern.is_exact());
        !self.denies(tool) && names(tool).any(|name| exact().any(|pattern| pattern.matches(name)))
    }

    /// Whether it is denied by name, which holds for everything that does the same.
    pub fn denies(&self, tool: &ToolDefinition) -> bool {
        names(tool).any(|name| {
            self.deny
                .iter()
                .any(|pattern| pattern.matches_loosely(name))
        })
    }
}

fn names(tool: &ToolDefinition) -> impl Iterator<Item = &str> {
    std::iter::once(&tool.id)
        .chain(&tool.aliases)
        .map(|id| id.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_fit_for_paths() {
        for (text, good) in [
            ("default", true),
            ("project-x", true),
            ("项目_1.2", true),
            ("", false),
            (".", false),
            ("..", false),
            (".git", false),
            ("a.", false),
            ("a/b", false),
            ("a\\b", false),
            ("a b", false),
            ("a\0", false),
            ("C:", false),
        ] {
            assert_eq!(ProjectId::try_from(text).is_ok(), good, "{text:?}");
        }
        assert!(ProjectId::try_from("x".repeat(MAX_ID_CHARS)).is_ok());
        assert!(ProjectId::try_from("x".repeat(MAX_ID_CHARS + 1)).is_err());
    }

    #[test]
    fn deny_beats_allow() {
        let mut tool = ToolDefinition::new("File.Delete", "", json!({"type": "object"}));
        tool.aliases = vec!["FileOperator.DeleteFile".into()];
        let reach = |allow: &[&str], deny: &[&str]| Reach {
            allow: allow.iter().map(|text| Pattern::new(*text)).collect(),
            deny: deny.iter().map(|text| Pattern::new(*text)).collect(),
        };
        for (allow, deny, expected) in [
            (&[][..], &[][..], false),
            (&["*"], &[], true),
            (&["File.*"], &[], true),
            (&["FileOperator.DeleteFile"], &[], true),
            (&["file.*"], &[], false),
            (&["*"], &["File.Delete"], false),
            (&["*"], &["file:delete"], false),
            (&["File.Delete"], &["fileoperator.*"], false),
            (&["*"], &["Http.*"], true),
        ] {
            assert_eq!(
                reach(allow, deny).includes(&tool),
                expected,
                "{allow:?} {deny:?}"
            );
        }
    }
}
