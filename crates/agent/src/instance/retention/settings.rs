//! How many runs are kept, and how much of them. Numbers may come as texts: hosts have them from input fields.

use innkeeper_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::instance::AgentError;
use crate::limits::{DEFAULT_RETENTION_DETAILS, MAX_RETENTION_DETAILS, MAX_RETENTION_RUNS};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSettings {
    pub auto_prune_enabled: bool,
    /// So many of those that ended last are kept at all.
    pub keep_recent_terminal_runs: u32,
    /// So many of these are kept whole.
    pub keep_full_recent_runs: u32,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            auto_prune_enabled: false,
            keep_recent_terminal_runs: 100,
            keep_full_recent_runs: 20,
        }
    }
}

impl RetentionSettings {
    /// As they are, if they hold together.
    pub fn checked(self) -> Result<Self, AgentError> {
        for (name, number) in [
            ("keepRecentTerminalRuns", self.keep_recent_terminal_runs),
            ("keepFullRecentRuns", self.keep_full_recent_runs),
        ] {
            if number > MAX_RETENTION_RUNS {
                return Err(invalid(name, &number.to_string(), MAX_RETENTION_RUNS));
            }
        }
        match self.keep_full_recent_runs <= self.keep_recent_terminal_runs {
            true => Ok(self),
            false => Err(refused(format!(
                "{} runs cannot be kept whole if only {} are kept at all; keepFullRecentRuns is at most keepRecentTerminalRuns",
                self.keep_full_recent_runs, self.keep_recent_terminal_runs
            ))),
        }
    }

    /// With what an object says in the place of what is here; `null` and what is left out stay.
    pub fn patched(mut self, patch: &Json) -> Result<Self, AgentError> {
        let fields = match patch {
            Json::Null => return self.checked(),
            Json::Object(fields) => fields,
            _ => return Err(refused("retention is no object".to_owned())),
        };
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let whole = |most| whole(name, value, most);
            match name.as_str() {
                "autoPruneEnabled" => match value {
                    Json::Bool(is_on) => self.auto_prune_enabled = *is_on,
                    _ => return Err(refused("autoPruneEnabled is true or false".to_owned())),
                },
                "keepRecentTerminalRuns" => {
                    self.keep_recent_terminal_runs = whole(MAX_RETENTION_RUNS)?;
                }
                "keepFullRecentRuns" => self.keep_full_recent_runs = whole(MAX_RETENTION_RUNS)?,
                name => {
                    let name: String = name.chars().take(40).collect();
                    return Err(refused(format!(
                        "retention has '{name}', which is not one of its names; they are autoPruneEnabled, keepRecentTerminalRuns and keepFullRecentRuns"
                    )));
                }
            }
        }
        self.checked()
    }
}

/// What is asked for; where nothing is said, what is laid down holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionQuery {
    pub retention: Option<RetentionSettings>,
    /// So many runs are named in each list of an answer.
    pub detail_limit: Option<u32>,
}

impl RetentionQuery {
    /// `{retention?, detailLimit?}`. `laid_down`: what `retention` changes.
    pub fn parse(given: &Json, laid_down: RetentionSettings) -> Result<Self, AgentError> {
        let fields = match given {
            Json::Null => return Ok(Self::default()),
            Json::Object(fields) => fields,
            _ => return Err(refused("the query is no object".to_owned())),
        };
        if let Some(name) = fields
            .keys()
            .find(|name| !["retention", "detailLimit"].contains(&name.as_str()))
        {
            let name: String = name.chars().take(40).collect();
            return Err(refused(format!(
                "'{name}' is not known here; give retention and detailLimit"
            )));
        }
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
        Ok(Self {
            retention: given("retention")
                .map(|patch| laid_down.patched(patch))
                .transpose()?,
            detail_limit: given("detailLimit")
                .map(|value| whole("detailLimit", value, MAX_RETENTION_DETAILS))
                .transpose()?,
        })
    }

    pub(super) fn settle(
        &self,
        laid_down: RetentionSettings,
    ) -> Result<(RetentionSettings, u32), AgentError> {
        let details = self.detail_limit.unwrap_or(DEFAULT_RETENTION_DETAILS);
        if details > MAX_RETENTION_DETAILS {
            return Err(invalid(
                "detailLimit",
                &details.to_string(),
                MAX_RETENTION_DETAILS,
            ));
        }
        Ok((self.retention.unwrap_or(laid_down).checked()?, details))
    }
}

fn whole(name: &str, value: &Json, most: u32) -> Result<u32, AgentError> {
    let number = match value {
        Json::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            (float.fract() == 0.0 && float >= 0.0).then_some(float as u64)
        }),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = number.and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| *number <= most)
        .ok_or_else(|| invalid(name, &value.to_string(), most))
}

fn invalid(name: &str, found: &str, most: u32) -> AgentError {
    let found: String = found.chars().take(40).collect();
    refused(format!(
        "{name} is a whole number from 0 to {most}, not {found}"
    ))
}

fn refused(message: String) -> AgentError {
    AgentError::new(ErrorCode::AgentOptionsInvalid, message).because("agent.retention_invalid")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_are_taken_as_hosts_send_them() {
        let laid_down = RetentionSettings::default();
        for (given, expected) in [
            (json!(null), Ok((100, 20, 200))),
            (json!({}), Ok((100, 20, 200))),
            (
                json!({"retention": {"keepRecentTerminalRuns": "50"}}),
                Ok((50, 20, 200)),
            ),
            (
                json!({"retention": {"keepFullRecentRuns": 0}, "detailLimit": " 5 "}),
                Ok((100, 0, 5)),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": 10_000.0}}),
                Ok((10_000, 20, 200)),
            ),
            (
                json!({"retention": null, "detailLimit": null}),
                Ok((100, 20, 200)),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": 10_001}}),
                Err("from 0 to 10000"),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": -1}}),
                Err("from 0 to 10000"),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": 1.5}}),
                Err("from 0 to 10000"),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": "many"}}),
                Err("from 0 to 10000"),
            ),
            (
                json!({"retention": {"keepRecentTerminalRuns": 19}}),
                Err("is at most"),
            ),
            (json!({"retention": {"keep": 1}}), Err("'keep'")),
            (
                json!({"retention": {"autoPruneEnabled": "yes"}}),
                Err("true or false"),
            ),
            (json!({"retention": 5}), Err("no object")),
            (json!({"detailLimit": 1_001}), Err("from 0 to 1000")),
            (json!({"limit": 1}), Err("'limit'")),
            (json!([]), Err("no object")),
        ] {
            let settled =
                RetentionQuery::parse(&given, laid_down).and_then(|query| query.settle(laid_down));
            match (settled, expected) {
                (Ok((settings, details)), Ok(expected)) => {
                    let found = (
                        settings.keep_recent_terminal_runs,
                        settings.keep_full_recent_runs,
                        details,
                    );
                    assert_eq!(found, expected, "{given}");
                }
                (Err(error), Err(part)) => {
                    assert!(error.message.contains(part), "{given}: {error}");
                    assert_eq!(error.reason.as_deref(), Some("agent.retention_invalid"));
                }
                (settled, _) => panic!("{given}: {settled:?}"),
            }
        }
    }
}
