//! What many operations take: a project, how many, how long to wait. And work that must not hold up others.

use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_tools::ProjectId;
use innkeeper_tools::registry::Scope;

use crate::limits::MAX_WAIT;
use crate::problem::Problem;

/// The profile under whose name models' calls and workflows are run that came over the network; rules may name it.
pub(super) const PROFILE: &str = "http";

pub(super) fn wrong(message: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::HttpInvalidRequest, message)
}

pub(super) fn nothing(message: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::HttpNotFound, message)
}

pub(super) fn project(name: Option<String>) -> Result<ProjectId, Problem> {
    match name {
        None => Ok(ProjectId::default()),
        Some(name) => ProjectId::try_from(name).map_err(|error| wrong(format!("project: {error}"))),
    }
}

pub(super) fn scope(project: Option<String>) -> Result<Scope, Problem> {
    Ok(Scope {
        project: self::project(project)?,
        ..Scope::default()
    })
}

pub(super) fn limit(asked: Option<u32>, usual: u32, most: u32) -> Result<usize, Problem> {
    let limit = asked.unwrap_or(usual);
    match (1..=most).contains(&limit) {
        true => Ok(limit as usize),
        false => Err(wrong(format!("limit: 1 to {most}, not {limit}"))),
    }
}

/// Numbers that every program can read.
const MOST: u64 = (1 << 53) - 1;

/// The number of something in a row.
pub(super) fn number(of: &str, asked: Option<u64>) -> Result<Option<u64>, Problem> {
    match asked {
        Some(number) if number > MOST => Err(wrong(format!("{of}: at most {MOST}"))),
        asked => Ok(asked),
    }
}

pub(super) fn wait(millis: Option<u64>) -> Result<Duration, Problem> {
    let wait = Duration::from_millis(millis.unwrap_or_default());
    match wait <= MAX_WAIT {
        true => Ok(wait),
        false => Err(wrong(format!(
            "waitMs: at most {}; ask again after that",
            MAX_WAIT.as_millis()
        ))),
    }
}

/// For calls that belong to no run of an agent.
pub(super) fn new_run() -> RunId {
    RunId::new(format!("run_{}", uuid::Uuid::now_v7().simple()))
}

/// Beside everything that must not wait for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))
}
