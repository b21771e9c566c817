//! The engine as those who use it meet it, by subject.

mod branches;
mod ends;
mod groups;
mod loops;
mod streams;
mod values;

use serde_json::Value as Json;

use crate::ExecutionOutcome;

fn outputs(outcome: &ExecutionOutcome) -> Json {
    Json::Object(outcome.outputs_json())
}
