//! Calling a tool in a test as the house would: arguments fit the schema, and so must the answer.

use std::sync::Arc;

use innkeeper_protocol::check_declaration;
use innkeeper_protocol::event::RunId;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::Tool;
use crate::{CallContext, Caller, Invocation, Progress, Reach, ToolError};

pub(super) fn caller() -> Caller {
    Caller::agent("tester", RunId::new("run_1"), Reach::everything())
}

pub(super) fn named<'t>(tools: &'t [Tool], id: &str) -> &'t Tool {
    let found = tools
        .iter()
        .find(|(definition, _)| definition.id.as_str() == id);
    found.unwrap_or_else(|| panic!("there is no tool {id}"))
}

pub(super) fn fits(schema: &Json, value: &Json) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    validator.validate(value).map_err(|error| error.to_string())
}

pub(super) fn invocation(tool: &Tool, arguments: Json, cancel: CancellationToken) -> Invocation {
    let Json::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    Invocation {
        tool: Arc::new(tool.0.clone()),
        arguments,
        context: CallContext {
            caller: Arc::new(caller()),
            call_id: "call_1".to_owned(),
            asked_as: None,
            attempt: 1,
            cancel,
            progress: Progress::default(),
            run: None,
        },
    }
}

pub(super) async fn call(tool: &Tool, arguments: Json) -> Result<Json, ToolError> {
    call_until(tool, arguments, CancellationToken::new()).await
}

pub(super) async fn call_until(
    tool: &Tool,
    arguments: Json,
    cancel: CancellationToken,
) -> Result<Json, ToolError> {
    if let Err(error) = fits(&tool.0.parameters, &arguments) {
        panic!("{} is called with {arguments}: {error}", tool.0.id);
    }
    let answer = tool.1.execute(invocation(tool, arguments, cancel)).await;
    if let (Ok(answer), Some(output)) = (&answer, &tool.0.output)
        && let Err(error) = fits(output, answer)
    {
        panic!("{} answers {answer}: {error}", tool.0.id);
    }
    if let Err(error) = &answer {
        assert!(!error.message.ends_with('.'), "{}", error.message);
        assert!(!error.message.contains('\n'), "{}", error.message);
    }
    answer
}

/// What must be so in every declaration.
pub(super) fn check_definitions(tools: &[Tool]) {
    for (tool, _) in tools {
        let id = &tool.id;
        check_declaration(tool).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(tool.source, "builtin", "{id}");
        assert!(!tool.display_name.is_empty(), "{id}");
        assert!(!tool.tags.is_empty(), "{id}");
        assert_eq!(tool.parameters["additionalProperties"], false, "{id}");
        for (name, schema) in tool.properties() {
            let told = schema["description"].as_str().unwrap_or_default();
            assert!(told.len() > 10, "{id}: nothing is said of '{name}'");
        }
        let output = tool.output.as_ref().expect("an output schema");
        jsonschema::validator_for(output).expect("a schema");
        assert!(!tool.examples.is_empty(), "{id}");
        for example in &tool.examples {
            let arguments = Json::Object(example.arguments.clone());
            assert_eq!(fits(&tool.parameters, &arguments), Ok(()), "{id}");
        }
        let empty = fits(&tool.parameters, &Json::Object(Map::new()));
        assert_eq!(empty.is_ok(), tool.required().is_empty(), "{id}");
    }
}
