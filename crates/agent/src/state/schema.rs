//! Whether a state fits its schema, and what is said where it does not.

use innkeeper_tools::ToolError;
use innkeeper_tools::builtin::state::StateScope;
use serde_json::Value as Json;

use crate::profile::compile_state_schema;

const SHOWN_CHARS: usize = 300;

pub(super) fn check(scope: StateScope, schema: &Json, state: &Json) -> Result<(), ToolError> {
    let whose = scope.as_str();
    let validator = compile_state_schema(schema).map_err(|(place, why)| {
        let remedy = match scope {
            StateScope::Private => "correct it in the profile",
            StateScope::World => "correct it with `innkeeper state schema`",
        };
        ToolError::unavailable(format!(
            "The schema of the {whose} state is none at '{place}' ({}): {remedy}",
            one_line(&why)
        ))
        .because("state.schema_invalid")
        .permanent()
    })?;
    let Err(error) = validator.validate(state) else {
        return Ok(());
    };
    let place = error.instance_path().as_str();
    Err(ToolError::invalid(format!(
        "The {whose} state would not fit its schema at '{place}': {}; nothing was changed, give what fits",
        one_line(&error.to_string())
    ))
    .because("state.schema_violation")
    .permanent())
}

/// Foreign text in a sentence.
fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(SHOWN_CHARS).map(plain).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown.trim_end_matches(['.', ' ']).to_owned()
}
