//! Calls that go on in the background.

use axum::Json;
use innkeeper_protocol::event::RunId;
use innkeeper_tools::{TaskRecord, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value as Data;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::{limit, nothing, wait};
use super::calls::record;
use super::shapes::tasks as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{PathOf, QueryOf};
use crate::limits::MAX_WAIT;
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 1_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
        .routes(routes!(cancel))
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StatusName {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<StatusName> for TaskStatus {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Running => Self::Running,
            StatusName::Succeeded => Self::Succeeded,
            StatusName::Failed => Self::Failed,
            StatusName::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// All of this run, from before a restart too; of all runs, those at work and those that ended lately, if nothing is
    /// said.
    run: Option<String>,
    #[param(inline)]
    status: Option<StatusName>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

#[derive(Serialize)]
struct Tasks {
    tasks: Vec<Data>,
}

/// Newest first, without what came of them.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", operation_id = "listTasks", params(Query),
    responses((status = 200, body = shape::Tasks), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Tasks>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    let tasks = may.house.tools.tasks();
    let all = match query.run {
        Some(run) => tasks.of_run(&RunId::new(run)).await?,
        None => tasks.lately(),
    };
    let status = query.status.map(TaskStatus::from);
    let wanted = all
        .into_iter()
        .filter(|task| status.is_none_or(|status| task.status == status));
    let brief = wanted.take(limit).map(|task| {
        shown(TaskRecord {
            observation: None,
            partial: Default::default(),
            ..task
        })
    });
    Ok(Json(Tasks {
        tasks: brief.collect(),
    }))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// Wait so long for its end before answering.
    #[param(minimum = 0, maximum = 30000)]
    wait_ms: Option<u64>,
}

/// How far it is, and what came of it once it has ended.
#[utoipa::path(get, path = "/api/v1/tasks/{taskId}", tag = "tasks", operation_id = "readTask",
    params(("taskId" = String, Path), Wait), responses((status = 200, body = shape::Task), Problem))]
async fn read(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(asked): QueryOf<Wait>,
) -> Result<Json<Data>, Problem> {
    let wait = wait(asked.wait_ms)?;
    let task = may.house.tools.tasks().look(&id, wait).await?;
    task.map(|task| Json(shown(task)))
        .ok_or_else(|| unknown(&id))
}

/// Stops it. What it has done so far is not undone; one that has ended stays as it is.
#[utoipa::path(post, path = "/api/v1/tasks/{taskId}/cancel", tag = "tasks", operation_id = "cancelCallTask",
    params(("taskId" = String, Path)), responses((status = 200, body = shape::Task), Problem))]
async fn cancel(may: MayRun, PathOf(id): PathOf<String>) -> Result<Json<Data>, Problem> {
    let task = may.house.tools.tasks().cancel(&id, MAX_WAIT).await?;
    task.map(|task| Json(shown(task)))
        .ok_or_else(|| unknown(&id))
}

fn unknown(id: &str) -> Problem {
    nothing(format!("there is no task '{}'", id.escape_debug()))
}

fn shown(task: TaskRecord) -> Data {
    let observation = task.observation.as_ref().map(record);
    let mut shown = serde_json::to_value(&task).unwrap_or_default();
    if let (Data::Object(fields), Some(observation)) = (&mut shown, observation) {
        fields.insert("observation".to_owned(), observation);
    }
    shown
}
