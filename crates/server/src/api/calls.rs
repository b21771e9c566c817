//! Calls of tools: what a model wrote, or one tool that somebody names.
//!
//! Nobody is there to be asked: what a rule would ask about is refused. Whoever goes away cancels what they began.

use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use innkeeper_protocol::{
    Aliases, Argument, Block, Dialect, Observation, OnError, Protocol, Reply, Span,
    ToolCallRequest, Value, render_observation, understand,
};
use innkeeper_tools::{Caller, Pattern, Reach, ResultLength, RunOptions, ToolRun};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Data};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::{PROFILE, new_run, project, wrong};
use super::shapes::calls as shape;
use crate::app::App;
use crate::auth::MayRun;
use crate::guard::Body;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(call))
        .routes(routes!(parse))
}

/// How calls are written.
#[derive(Deserialize, ToSchema, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
enum Format {
    /// Whatever the text holds, native responses of providers included.
    #[default]
    Auto,
    Tam,
    Action,
    ToolCall,
}

impl From<Format> for Dialect {
    fn from(format: Format) -> Self {
        match format {
            Format::Auto => Self::Auto,
            Format::Tam => Self::Tam,
            Format::Action => Self::Action,
            Format::ToolCall => Self::ToolCall,
        }
    }
}

/// Either `text`, or `tool` with its `arguments`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CallTools)]
struct Asked {
    /// What a model wrote.
    text: Option<String>,
    format: Option<Format>,
    /// Of the tools, only these are offered to the text, with `*` for any text.
    allow: Option<Vec<String>>,
    /// These are not; beats `allow`.
    deny: Option<Vec<String>>,
    tool: Option<String>,
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Data>>,
    /// With `tool`: the same call under the same id is made once.
    #[schema(min_length = 1, max_length = 200)]
    request_id: Option<String>,
    project: Option<String>,
    /// Whether the answer waits for what goes on in the background; it does, if nothing is said. What takes longer than a
    /// request may is cancelled, unless this is false.
    wait: Option<bool>,
}

#[derive(Serialize)]
struct Called {
    run: String,
    failed: bool,
    observations: Vec<Data>,
}

/// What came of each call, in the words that a model would read and as a record.
#[utoipa::path(post, path = "/api/v1/calls", tag = "calls", operation_id = "callTools", request_body = Asked,
    responses((status = 200, body = shape::Called), Problem))]
async fn call(
    State(app): State<App>,
    may: MayRun,
    Body(asked): Body<Asked>,
) -> Result<Json<Called>, Problem> {
    let id = new_run();
    let project = project(asked.project)?;
    let (reply, mut caller, results) = match (&asked.text, asked.tool) {
        (Some(text), None) => {
            if asked.arguments.is_some() || asked.request_id.is_some() {
                return Err(wrong("arguments and requestId belong to tool, not to text"));
            }
            let reach = reach(asked.allow.as_deref(), asked.deny.as_deref());
            let reply = understand(text, asked.format.unwrap_or_default().into());
            (
                reply,
                Caller::agent(PROFILE, id, reach),
                ResultLength::Capped,
            )
        }
        (None, Some(tool)) => {
            if asked.format.is_some() || asked.allow.is_some() || asked.deny.is_some() {
                return Err(wrong("format, allow and deny belong to text, not to tool"));
            }
            let arguments = asked.arguments.unwrap_or_default();
            let reply = single(tool, arguments, asked.request_id);
            (reply, Caller::person(id), ResultLength::Whole)
        }
        _ => return Err(wrong("give either text or tool, and only one of them")),
    };
    if reply.blocks.is_empty() && Observation::of_reply(&reply).is_empty() {
        return Err(wrong("there is no call in this text").because("calls.none"));
    }
    let request_scope = Some(format!("{PROFILE}:{project}"));
    caller.project = project;
    let cancel = app.closing.child_token();
    let gone = cancel.clone().drop_guard();
    let run = may.house.tools.begin(
        caller,
        RunOptions {
            budget: may.house.budget.clone(),
            cancel,
            results,
            request_scope,
            ..RunOptions::default()
        },
    );
    let observations = hear(&run, reply, asked.wait.unwrap_or(true)).await;
    gone.disarm();
    Ok(Json(Called {
        run: run.caller().run.to_string(),
        failed: observations.iter().any(|one| one.error_code().is_some()),
        observations: observations.iter().map(record).collect(),
    }))
}

async fn hear(run: &ToolRun, mut reply: Reply<'_>, waits: bool) -> Vec<Observation> {
    for block in &mut reply.blocks {
        // A dialect that cannot spell a tool's id was shown another name for it (`File_Read`).
        let offered = run.snapshot().definitions(&run.caller().reach);
        let aliases = Aliases::new(offered, block.protocol);
        block
            .calls
            .iter_mut()
            .for_each(|call| aliases.restore(call));
    }
    let mut observations = run.run_reply(&reply).await;
    if waits {
        run.settle().await;
        observations.extend(run.finished_tasks());
    }
    observations
}

fn reach(allow: Option<&[String]>, deny: Option<&[String]>) -> Reach {
    let patterns = |texts: &[String]| texts.iter().map(Pattern::new).collect();
    Reach {
        allow: match allow {
            None => Reach::everything().allow,
            Some(allow) => patterns(allow),
        },
        deny: patterns(deny.unwrap_or_default()),
    }
}

/// One call as a block of its own.
fn single(
    tool: String,
    arguments: Map<String, Data>,
    request_id: Option<String>,
) -> Reply<'static> {
    let request_id = request_id.map(Cow::<'static, str>::Owned);
    let arguments = arguments
        .into_iter()
        .map(|(name, value)| Argument::exact(name, Value::Json(value), Span::default()));
    let call = ToolCallRequest {
        request_id: request_id.clone(),
        arguments: arguments.collect(),
        on_error: OnError::Stop,
        ..ToolCallRequest::new(Protocol::ToolCall, tool)
    };
    let block = Block {
        protocol: Protocol::ToolCall,
        request_id,
        comments: Vec::new(),
        keys: Vec::new(),
        calls: vec![call],
        diagnostics: Vec::new(),
        span: Span::default(),
    };
    Reply {
        blocks: vec![block],
        ..Reply::text("")
    }
}

/// The observation with its wording beside it.
pub(super) fn record(observation: &Observation) -> Data {
    let mut record = serde_json::to_value(observation).unwrap_or_default();
    if let Data::Object(fields) = &mut record {
        fields.insert("text".to_owned(), render_observation(observation).into());
    }
    record
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ParseCalls)]
struct Text {
    /// What a model wrote.
    text: String,
    format: Option<Format>,
}

/// What the text asks for. Nothing is run.
#[utoipa::path(post, path = "/api/v1/calls/parse", tag = "calls", operation_id = "parseCalls", request_body = Text,
    responses((status = 200, body = shape::Parsed), Problem))]
async fn parse(_may: MayRun, Body(asked): Body<Text>) -> Result<Json<Data>, Problem> {
    let reply = understand(&asked.text, asked.format.unwrap_or_default().into());
    let parsed = serde_json::to_value(&reply);
    parsed.map(Json).map_err(|error| wrong(error.to_string()))
}
