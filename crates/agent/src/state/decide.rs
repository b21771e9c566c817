//! What comes of changes to a state: all of them or none, held to the schema. Pure.

use innkeeper_tools::ToolError;
use innkeeper_tools::builtin::state::{Change, StateScope, Updated, apply, look_up, read_json};
use serde_json::{Map, Value as Json};

use super::difference::{StateChange, differences};
use super::schema;
use crate::limits::MAX_ANSWERED_VALUE_BYTES;

#[derive(Debug)]
pub(super) struct Decided {
    pub(super) value: Json,
    /// Empty: nothing is different.
    pub(super) changes: Vec<StateChange>,
}

impl Decided {
    pub(super) fn answer(&self, version: u64) -> Updated {
        let there = |change: &StateChange| change.after.clone().unwrap_or(Json::Null);
        let value = match self.changes.as_slice() {
            [] => None,
            [only] => Some(there(only)),
            several => {
                let by_path = several
                    .iter()
                    .map(|change| (change.path.clone(), there(change)));
                Some(Json::Object(by_path.collect::<Map<_, _>>()))
            }
        };
        Updated {
            version,
            paths: self
                .changes
                .iter()
                .map(|change| change.path.clone())
                .collect(),
            value: value.filter(|value| value.to_string().len() <= MAX_ANSWERED_VALUE_BYTES),
        }
    }
}

pub(super) fn decide(
    scope: StateScope,
    state: &Json,
    schema: Option<&Json>,
    changes: &[Change],
) -> Result<Decided, ToolError> {
    let meant = changes
        .iter()
        .map(|change| read_like(change, look_up(state, change.path()).ok()))
        .collect::<Result<Vec<Change>, _>>()?;
    let value = match held(scope, state, schema, &meant) {
        // Text that was meant as JSON, where only that fits.
        Err(error) if error.reason.as_deref() == Some(VIOLATION) => {
            let read: Result<Vec<Change>, _> = meant.iter().map(read_as_json).collect();
            held(scope, state, schema, &read?).map_err(|_| error)?
        }
        held => held?,
    };
    Ok(Decided {
        changes: differences(state, &value),
        value,
    })
}

const VIOLATION: &str = "state.schema_violation";

fn held(
    scope: StateScope,
    state: &Json,
    schema: Option<&Json>,
    changes: &[Change],
) -> Result<Json, ToolError> {
    let value = apply(state, changes)?;
    if !value.is_object() {
        let message = format!(
            "The whole {} state is an object: set fields of it",
            scope.as_str()
        );
        return Err(ToolError::invalid(message)
            .because("state.invalid_change")
            .permanent());
    }
    match schema {
        Some(wanted) => schema::check(scope, wanted, &value).map(|()| value),
        None => Ok(value),
    }
}

/// Many models can write nothing but text. In the place of a number, a truth value, a list or an object, a text that reads as
/// one is taken for it.
fn read_like(change: &Change, there: Option<&Json>) -> Result<Change, ToolError> {
    let (Change::Set(path, Json::String(text)), Some(there)) = (change, there) else {
        return Ok(change.clone());
    };
    if there.is_string() {
        return Ok(change.clone());
    }
    Ok(match read_json(text)? {
        Some(read) if kind(&read) == kind(there) => Change::Set(path.clone(), read),
        _ => change.clone(),
    })
}

fn read_as_json(change: &Change) -> Result<Change, ToolError> {
    let read = |value: &Json| match value {
        Json::String(text) => Ok(read_json(text)?.unwrap_or_else(|| value.clone())),
        value => Ok::<_, ToolError>(value.clone()),
    };
    Ok(match change {
        Change::Set(path, value) => Change::Set(path.clone(), read(value)?),
        Change::Append(path, value) => Change::Append(path.clone(), read(value)?),
        Change::Remove(_) | Change::Merge(..) | Change::Increment(..) => change.clone(),
    })
}

fn kind(value: &Json) -> u8 {
    match value {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(_) => 2,
        Json::String(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    }
}
