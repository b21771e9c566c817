//! Asking a person: what is asked, what can be answered, and who answers when nobody is there.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::RunId;
use innkeeper_store::GrantKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::decide::Verdict;
use crate::Caller;

/// One question to a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The call's id.
    pub id: String,
    pub tool: String,
    pub source: String,
    pub description: String,
    /// Without secrets, for showing.
    pub arguments: Json,
    /// Which rule asks, and why.
    pub rule: String,
    /// What that rule says.
    #[serde(skip)]
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub caller: Asker,
    pub run: RunId,
    /// The which of the questions that its call may bring up, from 0.
    #[serde(skip)]
    pub position: u32,
    /// The arguments are those of the call itself, so a person may change them.
    #[serde(skip)]
    pub may_edit: bool,
    /// How long a run waits for the answer.
    #[serde(skip)]
    pub expires: Option<Duration>,
    /// Stands for the arguments as they really are: two calls may look alike once secrets are out.
    #[serde(skip)]
    fingerprint: [u8; 32],
}

/// Who wants to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    pub user: String,
    pub actor: String,
    pub project: String,
}

impl ApprovalRequest {
    /// `shown` are the arguments without secrets.
    pub fn new(
        call_id: impl Into<String>,
        tool: &ToolDefinition,
        caller: &Caller,
        arguments: &Map<String, Json>,
        shown: Json,
        verdict: &Verdict,
    ) -> Self {
        let mut digest = Sha256::new();
        for (name, value) in arguments {
            digest.update(name.len().to_be_bytes());
            digest.update(name.as_bytes());
            let value = value.to_string();
            digest.update(value.len().to_be_bytes());
            digest.update(value.as_bytes());
        }
        Self {
            id: call_id.into(),
            tool: tool.id.to_string(),
            source: tool.source.clone(),
            description: tool.description.clone(),
            arguments: shown,
            rule: verdict.rule.clone(),
            says: verdict.says.clone(),
            reason: verdict.reason.clone(),
            caller: Asker {
                user: caller.user.to_string(),
                actor: caller.actor.to_string(),
                project: caller.project.to_string(),
            },
            run: caller.run.clone(),
            position: 0,
            may_edit: false,
            expires: verdict.expires,
            fingerprint: digest.finalize().into(),
        }
    }

    /// The same for the same question about the same arguments, in whatever process it is asked; and for no other.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let key = self.key();
        for text in [&key.user, &key.actor, &key.tool, &key.source, &key.rule] {
            digest.update(text.len().to_be_bytes());
            digest.update(text.as_bytes());
        }
        digest.update(self.position.to_be_bytes());
        digest.update(self.fingerprint);
        let digest: [u8; 32] = digest.finalize().into();
        digest
            .iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// What an answer for longer than this one call would be about.
    pub fn key(&self) -> GrantKey {
        GrantKey {
            user: self.caller.user.clone(),
            actor: self.caller.actor.clone(),
            tool: self.tool.clone(),
            source: self.source.clone(),
            rule: self.says.clone(),
        }
    }

    pub(super) fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}

/// What a person says. The wire form: `{"answer": "deny", "reason": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Answer {
    /// This call.
    Once,
    /// This tool, as long as this run lasts.
    Run,
    /// This tool for this caller, from now on.
    Always,
    Deny {
        #[serde(default)]
        reason: String,
    },
}

/// Someone who can be asked.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Dropped while it waits, the question is withdrawn: it timed out, the call was cancelled, or another answer
    /// made it needless.
    async fn ask(&self, request: &ApprovalRequest) -> Answer;

    /// Whether its answers are a person's.
    fn is_present(&self) -> bool {
        true
    }
}

/// Where no person is: everything that would be asked is refused, with a hint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

#[async_trait]
impl Approver for Nobody {
    async fn ask(&self, request: &ApprovalRequest) -> Answer {
        Answer::Deny {
            reason: format!(
                "nobody could be asked whether {0} may be called; add a rule to the settings ([[policy.rules]] tool = \"{0}\", decision = \"allow\") or call with --yes",
                request.tool
            ),
        }
    }

    fn is_present(&self) -> bool {
        false
    }
}

/// On whose word a call was allowed or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovedBy {
    /// A rule's.
    Rule,
    /// A person's, for this call.
    Once,
    /// A person's, for this run.
    Run,
    /// A person's, for good.
    Always,
    /// A person's, who refused.
    Person,
    /// Nobody's: no answer came.
    Nobody,
}

impl ApprovedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Once => "once",
            Self::Run => "run",
            Self::Always => "always",
            Self::Person => "person",
            Self::Nobody => "nobody",
        }
    }
}

impl fmt::Display for ApprovedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What became of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub allowed: bool,
    pub by: ApprovedBy,
    /// For the model, if it was refused; otherwise what is worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What whoever decides for a call has decided, in the place of the process's approver.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub settled: Settled,
    /// The arguments as a person has changed them, against what they were shown.
    pub edit: Option<Map<String, Json>>,
}

impl Decided {
    pub fn allowed(by: ApprovedBy) -> Self {
        Self::from(Settled {
            allowed: true,
            by,
            reason: None,
        })
    }
}

impl From<Settled> for Decided {
    fn from(settled: Settled) -> Self {
        Self {
            settled,
            edit: None,
        }
    }
}
