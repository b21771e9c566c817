//! A workflow from its beginning.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use innkeeper_engine::{RunOptions, StartError};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_tools::registry::Scope;
use innkeeper_tools::{Caller, NodeReach, Reach};
use serde::Deserialize;
use serde_json::{Map, Value as Data};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::about::About;
use crate::api::asked::{PROFILE, blocking, scope, wait, wrong};
use crate::api::workflows::{Meant, readable};
use crate::app::App;
use crate::auth::MayRun;
use crate::executions::{Execution, New, drive};
use crate::guard::Body;
use crate::house::House;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(start))
}

/// Either `workflow` or `text`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = StartExecution)]
struct Asked {
    /// One that is kept: its id, its file's name, or its name.
    workflow: Option<String>,
    /// One that is not: as it would stand in a file.
    text: Option<String>,
    /// By the names of its interface.
    #[schema(value_type = Option<Object>)]
    inputs: Option<Map<String, Data>>,
    project: Option<String>,
    /// Takes nothing that earlier runs have kept.
    fresh: Option<bool>,
    /// When it is stopped; never, if nothing is said.
    #[schema(minimum = 1, maximum = 86_400_000)]
    timeout_ms: Option<u64>,
    /// Wait so long for its end before answering.
    #[schema(minimum = 0, maximum = 30_000)]
    wait_ms: Option<u64>,
}

/// What asks a person is refused, for nobody is there. It goes on when the connection is gone: cancel it to stop it.
#[utoipa::path(post, path = "/api/v1/executions", tag = "workflows", operation_id = "startExecution",
    request_body = Asked,
    responses((status = 200, description = "It has ended", body = About),
        (status = 202, description = "It is at work", body = About), Problem))]
async fn start(
    State(app): State<App>,
    may: MayRun,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<About>), Problem> {
    let wait = wait(asked.wait_ms)?;
    let timeout = timeout(asked.timeout_ms)?;
    let scope = scope(asked.project)?;
    let meant = match (asked.workflow, asked.text) {
        (Some(name), None) => Which::Named(name),
        (None, Some(text)) => Which::Written(text),
        _ => return Err(wrong("give either workflow or text, and only one of them")),
    };
    let (service, within) = (may.house.workflows.clone(), scope.clone());
    let ready = blocking(move || {
        let meant = match meant {
            Which::Named(name) => Meant::named(&service, &within, &name)?,
            Which::Written(text) => Meant::written(&service, &within, &text),
        };
        let checked = meant.checked(service.engine());
        match (meant.workflow, checked.plan) {
            (Some(workflow), Some(plan)) => Ok((workflow, plan)),
            _ => Err(readable(&checked.problems)),
        }
    });
    let (workflow, plan) = ready.await??;
    let cancel = app.closing.child_token();
    let id = format!("exec_{}", uuid::Uuid::now_v7().simple());
    let execution = may.house.executions.add(New {
        id: id.clone(),
        name: workflow.name.clone(),
        workflow: workflow.id.clone(),
        project: scope.project.to_string(),
        cancel: cancel.clone(),
        now: app.now(),
    })?;
    let options = RunOptions {
        inputs: asked.inputs.unwrap_or_default(),
        timeout,
        ..options(&may.house, &scope, &execution, cancel, asked.fresh)
    };
    let engine = may.house.workflows.engine();
    let events = engine.subscribe_to(id.as_str());
    let running = engine.start(&plan, options).map_err(|error| {
        may.house.executions.remove(&id);
        refused(&error)
    })?;
    let driving = drive(
        may.house.executions.clone(),
        execution.clone(),
        events,
        running,
    );
    app.work.spawn(driving);
    execution.wait(wait).await;
    let status = match execution.end() {
        Some(_) => StatusCode::OK,
        None => StatusCode::ACCEPTED,
    };
    Ok((status, Json(About::whole(&execution))))
}

enum Which {
    Named(String),
    Written(String),
}

/// What its nodes may reach is what an agent of the house may, under a name of its own.
fn options(
    house: &House,
    scope: &Scope,
    execution: &Execution,
    cancel: CancellationToken,
    fresh: Option<bool>,
) -> RunOptions {
    let is_fresh = fresh.unwrap_or_default();
    let run = RunId::new(execution.id.as_str());
    let mut caller = Caller::agent(PROFILE, run, Reach::everything());
    caller.project = scope.project.clone();
    let run = house.tools.begin(
        caller,
        innkeeper_tools::RunOptions {
            budget: house.budget.clone(),
            cancel: cancel.clone(),
            request_scope: Some(format!("{PROFILE}:{}", scope.project)),
            // A person has named the workflow.
            nodes: NodeReach::ByPattern,
            fresh: is_fresh,
            ..innkeeper_tools::RunOptions::default()
        },
    );
    // The first level is never too deep.
    let run = run.within(&execution.name).unwrap_or(run);
    RunOptions {
        prompt_id: Some(execution.id.clone()),
        services: house.workflows.services(run),
        cancel,
        is_fresh,
        cache_scope: Some(scope.kept_under()),
        ..RunOptions::default()
    }
}

fn timeout(millis: Option<u64>) -> Result<Option<Duration>, Problem> {
    const LONGEST: u64 = 86_400_000;
    match millis {
        None => Ok(None),
        Some(millis @ 1..=LONGEST) => Ok(Some(Duration::from_millis(millis))),
        Some(_) => Err(wrong(format!("timeoutMs: 1 to {LONGEST}"))),
    }
}

fn refused(error: &StartError) -> Problem {
    match error {
        StartError::Arguments(problems) => {
            let code = problems.list.first().map_or("argument", |one| one.code);
            let list = serde_json::to_value(&problems.list).unwrap_or_default();
            wrong(format!("inputs: {error}"))
                .because(code)
                .with("problems", list)
        }
        StartError::QueueFull => Problem::new(ErrorCode::HttpRateLimited, error.to_string()),
    }
}
