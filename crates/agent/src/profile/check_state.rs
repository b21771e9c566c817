//! The private state that an agent begins with, and whether it fits the schema that the profile gives for it.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value as Json};

use super::AgentProfile;
use super::fields::{below, short};
use super::problem::Findings;
use super::rules::ProfileFormat;
use crate::limits::MAX_STATE_PATTERN_STEPS;

const SCHEMA_INVALID: &str = "agent.profile_private_state_schema_invalid";
const STATE_INVALID: &str = "agent.profile_private_state_invalid";

/// The defaults of the schema's properties, and over them the values that the profile gives.
pub(super) fn initial(values: &Json, schema: &Json) -> Map<String, Json> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let defaults = properties.into_iter().flatten();
    let mut state: Map<String, Json> = defaults
        .filter_map(|(name, schema)| Some((name.clone(), schema.get("default")?.clone())))
        .collect();
    let values = values.as_object().into_iter().flatten();
    state.extend(values.map(|(name, value)| (name.clone(), value.clone())));
    state
}

pub(super) fn private_state(profile: &AgentProfile, found: &Findings) {
    let rules = &profile.agent;
    let (state_path, schema_path) = match rules.format {
        ProfileFormat::Tavern => ("$.agent.privateState", "$.agent.privateStateSchema"),
        ProfileFormat::Comfy => (
            "$.initial_private_state_values",
            "$.initial_private_state_schema",
        ),
    };
    if rules.private_state_schema.is_null() {
        return;
    }
    let validator = match compile(&rules.private_state_schema) {
        Ok(validator) => validator,
        Err((place, why)) => {
            let path = within(schema_path, &place);
            found.error(
                SCHEMA_INVALID,
                &path,
                format!("is no JSON Schema: {}", short(&why)),
            );
            return;
        }
    };
    let state = Json::Object(profile.initial_private_state());
    for error in validator.iter_errors(&state) {
        let path = within(state_path, error.instance_path().as_str());
        let message = format!("does not fit the schema: {}", short(&error.to_string()));
        found.error(STATE_INVALID, &path, message);
    }
}

/// Nothing is fetched, and a pattern cannot run for ever.
pub(crate) fn compile(schema: &Json) -> Result<Validator, (String, String)> {
    let told = |error: jsonschema::ValidationError<'_>| {
        (error.instance_path().as_str().to_owned(), error.to_string())
    };
    jsonschema::meta::validate(schema).map_err(told)?;
    let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_STATE_PATTERN_STEPS);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(told)
}

/// `/a/0` behind `$.x` is `$.x.a[0]`.
fn within(path: &str, pointer: &str) -> String {
    let steps = pointer.split('/').skip(1);
    steps.fold(path.to_owned(), |path, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match step.parse::<usize>() {
            Ok(at) => format!("{path}[{at}]"),
            Err(_) => below(&path, &step),
        }
    })
}
