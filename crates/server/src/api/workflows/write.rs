//! Workflows of a project: kept, replaced, thrown away. Whoever changes one says which text they saw.

use std::path::Path;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use innkeeper_engine::Workflow;
use innkeeper_engine::limits::MAX_WORKFLOW_BYTES;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::file::WriteMode;
use innkeeper_tools::registry::Scope;
use innkeeper_tools::workflow::{Place, Seen};
use innkeeper_tools::{Caller, FileError, FileUri, ToolError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::check::Report;
use super::library::{Meant, find, readable};
use super::read::{Where, revision};
use crate::api::asked::{blocking, new_run, scope, wrong};
use crate::app::App;
use crate::auth::MayRun;
use crate::guard::{Body, PathOf, QueryOf};
use crate::house::House;
use crate::problem::Problem;

/// Letters of the name of a file.
const MAX_FILE_CHARS: usize = 64;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(put))
        .routes(routes!(delete))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PutWorkflow)]
struct Asked {
    /// The whole file.
    text: String,
    /// Of the text that this replaces; `If-Match` says the same. Not needed for a new one.
    revision: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = KeptWorkflow)]
struct Kept {
    /// The file's name without its ending.
    file: String,
    revision: String,
    check: Report,
}

/// Into the project, to the byte. One that is there is replaced only by whoever says which revision they saw.
#[utoipa::path(put, path = "/api/v1/workflows/{workflowId}", tag = "workflows", operation_id = "putWorkflow",
    params(("workflowId" = String, Path, description = "Of one that is there, or the file's name for a new one"), Where,
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the text that this replaces")),
    request_body = Asked,
    responses(
        (status = 200, description = "Replaced", body = Kept, headers(("ETag" = String))),
        (status = 201, description = "New", body = Kept, headers(("ETag" = String))), Problem))]
async fn put(
    may: MayRun,
    PathOf(id): PathOf<String>,
    QueryOf(place): QueryOf<Where>,
    headers: HeaderMap,
    Body(asked): Body<Asked>,
) -> Result<Response, Problem> {
    let scope = scope(place.project)?;
    let reading = Workflow::read(&asked.text);
    if reading.workflow.is_none() {
        return Err(readable(&reading.problems));
    }
    let seen = asked.revision.or(matched(&headers)?);
    let there = own(&may.house, &scope, &id).await?;
    let (file, status) = match there {
        Some(file) => {
            replace(&may.house, &scope, &file, seen, asked.text.clone()).await?;
            (file, StatusCode::OK)
        }
        None if seen.is_some() => return Err(gone(&id)),
        None => {
            create(&may.house, &scope, &id, asked.text.clone()).await?;
            (format!("{id}.json"), StatusCode::CREATED)
        }
    };
    let (house, text) = (may.house.clone(), asked.text);
    let kept = blocking(move || {
        house.workflows.reload(house.tools.registry());
        let meant = Meant::written(&house.workflows, &scope, &text);
        Kept {
            file: stem(&file),
            revision: revision(&text),
            check: Report::of(&meant, house.workflows.engine()),
        }
    });
    let kept = kept.await?;
    let tag = [(header::ETAG, format!("\"{}\"", kept.revision))];
    Ok((status, tag, Json(kept)).into_response())
}

/// Into the recycle bin of the house.
#[utoipa::path(delete, path = "/api/v1/workflows/{workflowId}", tag = "workflows", operation_id = "deleteWorkflow",
    params(("workflowId" = String, Path), Where,
        ("If-Match" = Option<String>, Header, description = "Only if its text is still the one with this `ETag`")),
    responses((status = 204), Problem))]
async fn delete(
    may: MayRun,
    PathOf(id): PathOf<String>,
    QueryOf(place): QueryOf<Where>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let scope = scope(place.project)?;
    let seen = matched(&headers)?;
    let Some(file) = own(&may.house, &scope, &id).await? else {
        return Err(gone(&id));
    };
    let files = may.house.tools.files();
    let uri = uri(&may.house, &scope, &file)?;
    if let Some(seen) = seen {
        let text = files.read_text(&uri, MAX_WORKFLOW_BYTES as u64).await;
        let text = text.map_err(ToolError::from)?;
        if !is_same(&seen, &text) {
            return Err(stale());
        }
    }
    let deleted = files.delete(&uri, "person").await;
    deleted.map_err(ToolError::from)?;
    let house = may.house.clone();
    blocking(move || house.workflows.reload(house.tools.registry())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The file of the project's workflow that is meant; nothing where the project has none of that name.
async fn own(house: &House, scope: &Scope, id: &str) -> Result<Option<String>, Problem> {
    let (service, scope, id) = (house.workflows.clone(), scope.clone(), id.to_owned());
    blocking(move || {
        let mut all = service.look(Some(&scope));
        all.retain(|seen| matches!(seen.place, Place::Project(_)));
        match find(&all, &id) {
            Ok(seen) => Ok(file_of(seen)),
            Err(problem) if problem.code == ErrorCode::HttpNotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    })
    .await?
}

fn file_of(seen: &Seen) -> Option<String> {
    let name = seen.path.as_deref().and_then(Path::file_name)?;
    Some(name.to_string_lossy().into_owned())
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(
        || file.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

async fn create(house: &House, scope: &Scope, id: &str, text: String) -> Result<(), Problem> {
    let is_fine = !id.is_empty()
        && id.chars().nth(MAX_FILE_CHARS).is_none()
        && !id.starts_with('.')
        && !id.ends_with('.')
        && id
            .chars()
            .all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
    if !is_fine {
        return Err(wrong(format!(
            "workflowId: of a new workflow it is the name of its file: letters, digits, '-', '_' and '.', not a '.' at the beginning or end, at most {MAX_FILE_CHARS} characters"
        )));
    }
    let uri = uri(house, scope, &format!("{id}.json"))?;
    let files = house.tools.files();
    let written = files.write(&uri, text.into_bytes(), WriteMode::Create);
    match written.await {
        Ok(_) => Ok(()),
        // Somebody else was first.
        Err(FileError::Exists(_)) => Err(stale()),
        Err(error) => Err(ToolError::from(error).into()),
    }
}

async fn replace(
    house: &House,
    scope: &Scope,
    file: &str,
    seen: Option<String>,
    text: String,
) -> Result<(), Problem> {
    let Some(seen) = seen else {
        let message = "there is a workflow of this name; read it, and send its revision with what replaces it";
        return Err(Problem::new(ErrorCode::HttpConflict, message).because("workflow.exists"));
    };
    let uri = uri(house, scope, file)?;
    let files = house.tools.files();
    let edited = files.edit(
        &uri,
        MAX_WORKFLOW_BYTES as u64,
        move |now: &str| match is_same(&seen, now) {
            true => Ok(text),
            false => Err(NotEdited::Stale),
        },
    );
    match edited.await {
        Ok(_) => Ok(()),
        Err(NotEdited::Stale) => Err(stale()),
        Err(NotEdited::File(error)) => Err(ToolError::from(error).into()),
    }
}

enum NotEdited {
    Stale,
    File(FileError),
}

impl From<FileError> for NotEdited {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

fn uri(house: &House, scope: &Scope, file: &str) -> Result<FileUri, Problem> {
    let mut caller = Caller::person(new_run());
    caller.project = scope.project.clone();
    let folder = format!("user://projects/{}/workflows", scope.project);
    let folder = house.tools.files().resolve(&caller, &folder);
    let file = folder.and_then(|folder| folder.join(file));
    Ok(file.map_err(ToolError::from)?)
}

/// `If-Match: *` means whatever is there.
fn matched(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(tag) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let tag = tag.to_str().unwrap_or_default().trim();
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    match tag {
        "" => Err(wrong("If-Match: one ETag, as it was sent, or *")),
        tag => Ok(Some(tag.trim_matches('"').to_owned())),
    }
}

fn is_same(seen: &str, text: &str) -> bool {
    seen == "*" || seen == revision(text)
}

fn stale() -> Problem {
    Problem::new(
        ErrorCode::HttpConflict,
        "the workflow is not what it was when it was read; read it again, and bring the changes together",
    )
    .because("workflow.stale")
}

fn gone(id: &str) -> Problem {
    let id = id.escape_debug();
    Problem::new(
        ErrorCode::HttpNotFound,
        format!("the project has no workflow '{id}'"),
    )
}
