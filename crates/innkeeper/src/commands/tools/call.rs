//! `innkeeper tools call`: one tool, called by the person at the keyboard.

use std::borrow::Cow;

use innkeeper_protocol::{
    Argument, Observation, OnError, Outcome, Protocol, Span, Text, ToolCallRequest, ToolDefinition,
    Value,
};
use innkeeper_tools::registry::Scope;
use innkeeper_tools::{Caller, ResultLength, RunOptions, ToolRun};
use serde_json::{Map, Value as Json};

use super::{Ended, find};
use crate::approve::Approve;
use crate::cli::ToolCallArgs;
use crate::commands::call::record;
use crate::commands::project;
use crate::failure::{Expected, Failure, Place, ToolFault, json_cause, shown};
use crate::home::Home;
use crate::input::{Source, text_of};
use crate::limits::MAX_ARGUMENTS_BYTES;
use crate::output::Screen;
use crate::platform::{Platform, new_run};
use crate::runtime::{block_on, watch};

pub(super) fn run(args: &ToolCallArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let project = project(&args.project)?;
    let mut arguments = assigned(&args.assignments)?;
    if let Some(given) = &args.args {
        arguments.extend(read(given)?);
    }
    let (observation, interrupted) = block_on(async {
        let platform = Platform::open(home, Approve::Answered.approver(screen)).await?;
        let mut caller = Caller::person(new_run());
        caller.project = project;
        let run = platform.tools.begin(
            caller,
            RunOptions {
                budget: platform.budget.clone(),
                results: ResultLength::Whole,
                ..RunOptions::default()
            },
        );
        let tool = find(&platform, &Scope::of(run.caller()), &args.id)?;
        let request = request(tool.definition(), arguments);
        let heard = watch(&run, screen, answer(&run, &request, args.no_wait)).await;
        drop(run);
        platform.close().await?;
        Ok((heard.value, heard.interrupted))
    })?;
    let ended = match observation {
        Some(observation) => tell(observation, screen)?,
        None => Ended::Failed,
    };
    match interrupted {
        true => Ok(Ended::Interrupted),
        false => Ok(ended),
    }
}

/// The last word on a call: where it goes on in the background, what came of that in the end.
async fn answer(run: &ToolRun, request: &ToolCallRequest<'_>, no_wait: bool) -> Observation {
    let first = run.run_call(request).await;
    if no_wait || !matches!(first.outcome, Outcome::AsyncStarted { .. }) {
        return first;
    }
    run.settle().await;
    run.finished_tasks().pop().unwrap_or(first)
}

fn tell(observation: Observation, screen: &Screen) -> Result<Ended, Failure> {
    let failed = observation.error_code().is_some();
    if screen.json {
        screen.document(&record(&observation))?;
        return Ok(match failed {
            true => Ended::Failed,
            false => Ended::Done,
        });
    }
    match &observation.outcome {
        Outcome::Success { result, spilled } => {
            match result {
                Json::String(text) => screen.text(text)?,
                other => screen.indented(other)?,
            }
            if let Some(spilled) = spilled {
                let (place, chars) = (shown(&spilled.reference), spilled.chars);
                screen.note(
                    &format!("The whole result, {chars} characters, is in {place}"),
                    &format!("完整的结果（{chars} 个字符）在 {place}"),
                );
            }
        }
        Outcome::AsyncStarted { task_id } => screen.text(task_id)?,
        Outcome::Notice { message, .. } => screen.text(message)?,
        _ => return Err(ToolFault::Failed(Box::new(observation)).into()),
    }
    Ok(Ended::Done)
}

fn request(
    tool: &ToolDefinition,
    mut arguments: Vec<Argument<'static>>,
) -> ToolCallRequest<'static> {
    for argument in &mut arguments {
        // Where a text is wanted, it is what was typed, to the last line break.
        let takes_text = |(name, schema): (&str, &Json)| {
            name == argument.name && schema.get("type").and_then(Json::as_str) == Some("string")
        };
        if tool.properties().any(takes_text)
            && let Value::Text(text) = &argument.value
        {
            argument.value = Value::Json(text.raw().into());
        }
    }
    ToolCallRequest {
        protocol: Protocol::ToolCall,
        call_id: None,
        request_id: None,
        index: 1,
        tool: Cow::Owned(tool.id.to_string()),
        arguments,
        modifiers: Vec::new(),
        on_error: OnError::Stop,
        retry: 0,
        span: Span::default(),
    }
}

fn assigned(words: &[String]) -> Result<Vec<Argument<'static>>, Failure> {
    words
        .iter()
        .map(|word| match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                let value = Value::Text(Text::new(value.to_owned(), ""));
                Ok(Argument::exact(name.to_owned(), value, Span::default()))
            }
            _ => Err(Failure::Tool(ToolFault::Value {
                of: "NAME=VALUE",
                given: word.clone(),
                expected: Expected::Assignment,
            })),
        })
        .collect()
}

fn read(given: &str) -> Result<Vec<Argument<'static>>, Failure> {
    let (text, place) = match given {
        "-" => {
            let stdin = std::io::stdin().lock();
            let text = text_of(&Source::Stdin, MAX_ARGUMENTS_BYTES, stdin)?;
            (Cow::Owned(text), Place::Stdin)
        }
        given => (Cow::Borrowed(given), Place::File("--args".to_owned())),
    };
    let fields: Map<String, Json> =
        serde_json::from_str(&text).map_err(|error| Failure::NotJson(place, json_cause(&error)))?;
    let arguments = fields
        .into_iter()
        .map(|(name, value)| Argument::exact(name, Value::Json(value), Span::default()));
    Ok(arguments.collect())
}
