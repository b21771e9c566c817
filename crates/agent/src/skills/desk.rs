//! What the tools of one live run have of its skills, and how much of them it has read.
//!
//! What a call reads is journaled with its end, so that a run that is taken up again has what is left and no more.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::CallId;

use super::effective::{RunSkill, RunSkills, Sight};
use super::error::SkillError;
use super::house::Skills;
use super::path::is_skill_name;
use crate::limits::MAX_SKILL_READ_CHARS;
use crate::profile::SkillRules;
use crate::workspace::quoted;

pub struct SkillDesk {
    skills: Skills,
    run: RunSkills,
    rules: SkillRules,
    reading: Mutex<Reading>,
}

struct Reading {
    /// Characters of the run's budget.
    left: u64,
    /// What open calls have read.
    open: BTreeMap<CallId, u64>,
}

impl SkillDesk {
    /// `left`: as of the last journaled step.
    pub fn new(skills: Skills, run: RunSkills, rules: SkillRules, left: u64) -> Self {
        Self {
            skills,
            run,
            rules,
            reading: Mutex::new(Reading {
                left,
                open: BTreeMap::new(),
            }),
        }
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    pub(crate) fn effective(&self) -> &[RunSkill] {
        &self.run.effective
    }

    pub(crate) fn find(&self, name: &str) -> Result<&RunSkill, SkillError> {
        if !is_skill_name(name) {
            let message = format!(
                "'{}' is no name of a skill: skill.list gives them",
                quoted(name)
            );
            return Err(SkillError::request("skill.name_invalid", message));
        }
        let (code, why) = match self.rules.sight(name) {
            Sight::Denied => (
                ErrorCode::SkillPolicyDenied,
                "may not be used by this agent",
            ),
            Sight::NotVisible => (
                ErrorCode::SkillNotVisible,
                "is not one of those this agent sees",
            ),
            Sight::Visible => match self.run.effective.iter().find(|skill| skill.name == name) {
                Some(skill) => return Ok(skill),
                None => (ErrorCode::SkillNotFound, "is not there"),
            },
        };
        let message = format!("The skill '{name}' {why}: skill.list shows those there are");
        Err(SkillError::new(code, message))
    }

    /// Characters that one call may read.
    pub(crate) fn per_call(&self) -> u64 {
        self.rules.max_read_chars_per_call.min(MAX_SKILL_READ_CHARS)
    }

    /// Nothing left is an error: whoever asks wants to read.
    pub(crate) fn left(&self) -> Result<u64, SkillError> {
        match self.reading().left {
            0 => Err(self.exhausted(0)),
            left => Ok(left),
        }
    }

    pub(crate) fn exhausted(&self, left: u64) -> SkillError {
        let most = self.rules.max_read_chars_per_run;
        let message = match left {
            0 => format!(
                "This run has read all {most} characters of skills that its profile gives it: go on with what you know"
            ),
            left => format!(
                "This run may read {left} more characters of skills, and this would be more: ask for less with max_chars"
            ),
        };
        SkillError::new(ErrorCode::SkillReadBudgetExhausted, message)
    }

    pub(crate) fn exceeded(&self, asked: u64) -> SkillError {
        let most = self.per_call();
        let message = format!(
            "This would be {asked} characters, and one call reads at most {most}: ask for less"
        );
        SkillError::new(ErrorCode::SkillReadBudgetExceeded, message)
    }

    /// Whether there was as much left. What is spent is spent, whatever becomes of the call.
    pub(crate) fn spend(&self, call: &CallId, chars: u64) -> bool {
        let mut reading = self.reading();
        match reading.left.checked_sub(chars) {
            None => false,
            Some(left) => {
                reading.left = left;
                *reading.open.entry(call.clone()).or_default() += chars;
                true
            }
        }
    }

    /// What a call has read, to be journaled with its end.
    pub(crate) fn take(&self, call: &CallId) -> u64 {
        self.reading().open.remove(call).unwrap_or_default()
    }
}
