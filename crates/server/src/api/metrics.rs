//! Figures for whoever watches the server.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use innkeeper_engine::ExecutionStatus;
use innkeeper_protocol::event::RunStatus;
use innkeeper_store::journal::RunFilter;
use innkeeper_tools::TaskStatus;
use innkeeper_tools::registry::Scope;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::MayRead;
use crate::figures::{Kind, Text, float};
use crate::house::House;
use crate::problem::Problem;

/// Unfinished runs that are counted.
const MOST_RUNS: usize = 1_000;

const UNFINISHED: [RunStatus; 11] = [
    RunStatus::Created,
    RunStatus::InitializingWorkspace,
    RunStatus::AssemblingContext,
    RunStatus::CallingModel,
    RunStatus::DispatchingTool,
    RunStatus::AwaitingApproval,
    RunStatus::ApplyingWorkspacePatch,
    RunStatus::CreatingCheckpoint,
    RunStatus::AwaitingHostCommit,
    RunStatus::Finishing,
    RunStatus::Cancelling,
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// In the text form of Prometheus; docs/server.md has the names.
#[utoipa::path(get, path = "/api/v1/metrics", tag = "server", operation_id = "readMetrics",
    responses((status = 200, body = String, content_type = "text/plain"), Problem))]
async fn metrics(State(app): State<App>, may: MayRead) -> Result<Response, Problem> {
    let mut text = Text::default();
    app.figures.write(&mut text);
    write_runs(&may.house, &mut text).await?;
    write_workflows(&may.house, &mut text);
    let log = may.house.store().audit();
    let calls = app.figures.calls.of(&may.identity.user, log).await?;
    let name = "innkeeper_tool_calls_total";
    text.family(name, Kind::Counter, "Calls of tools, by what came of them");
    for (outcome, count) in calls {
        text.sample(name, &[("outcome", outcome)], float(count));
    }
    write_models(&may.house, &mut text);
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    Ok((kind, text.finish()).into_response())
}

async fn write_runs(house: &House, text: &mut Text) -> Result<(), Problem> {
    let filter = RunFilter {
        stable_chat_id: None,
        workspace_id: None,
        statuses: UNFINISHED.to_vec(),
        before: None,
        limit: MOST_RUNS,
    };
    let page = house.agents.list(&filter).await?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for status in UNFINISHED {
        counts.insert(named(&status), 0);
    }
    for run in &page.runs {
        *counts.entry(named(&run.status)).or_default() += 1;
    }
    let name = "innkeeper_runs_unfinished";
    text.family(name, Kind::Gauge, "Runs of agents that are not over");
    for (status, count) in counts {
        text.sample(name, &[("status", &status)], float(count));
    }
    Ok(())
}

/// As it is on the wire.
fn named(status: &RunStatus) -> String {
    let name = serde_json::to_value(status).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn write_workflows(house: &House, text: &mut Text) {
    let executions = house.executions.list();
    let name = "innkeeper_executions";
    text.family(
        name,
        Kind::Gauge,
        "Executions of workflows that are at work or kept",
    );
    for status in [
        ExecutionStatus::Queued,
        ExecutionStatus::Running,
        ExecutionStatus::Complete,
        ExecutionStatus::Error,
        ExecutionStatus::Interrupted,
    ] {
        let count = executions.iter().filter(|one| one.status() == status);
        let count = float(count.count() as u64);
        text.sample(name, &[("status", status.as_str())], count);
    }
    let tasks = house.tools.tasks().lately();
    let running = tasks.iter().filter(|one| one.status == TaskStatus::Running);
    text.one(
        "innkeeper_tasks_running",
        Kind::Gauge,
        "Calls that go on in the background",
        float(running.count() as u64),
    );
    let snapshot = house.tools.registry().snapshot_for(&Scope::default());
    text.one(
        "innkeeper_tools",
        Kind::Gauge,
        "Tools that can be called",
        float(snapshot.tools().len() as u64),
    );
}

fn write_models(house: &House, text: &mut Text) {
    let used = house.models.used();
    let name = "innkeeper_model_calls_total";
    text.family(name, Kind::Counter, "Calls of models, by what came of them");
    let answered = used.calls.saturating_sub(used.failed);
    text.sample(name, &[("outcome", "success")], float(answered));
    text.sample(name, &[("outcome", "error")], float(used.failed));
    let name = "innkeeper_model_tokens_total";
    text.family(name, Kind::Counter, "Tokens, as far as servers count them");
    text.sample(name, &[("direction", "sent")], float(used.sent_tokens));
    text.sample(
        name,
        &[("direction", "received")],
        float(used.received_tokens),
    );
    text.one(
        "innkeeper_model_cost_dollars_total",
        Kind::Counter,
        "What that cost, as far as prices are known",
        used.dollars,
    );
}
