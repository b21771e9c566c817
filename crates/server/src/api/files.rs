//! Files of the house by their addresses: `user://notes/a.md`, `shared://…`. What an agent may reach is decided elsewhere; here a
//! person reads and writes their own.

use axum::Json;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_tools::file::{
    FileError, FileUri, ListOptions, Listing, RecycleId, Recycled, Stat, WriteMode,
};
use innkeeper_tools::{Caller, FileLayer};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::files as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{Body, PathOf, QueryOf};
use crate::house::House;
use crate::limits::{MAX_FILE_ENTRIES, MAX_FILE_READ_BYTES};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(stat))
        .routes(routes!(read, write))
        .routes(routes!(delete))
        .routes(routes!(make_folder))
        .routes(routes!(move_to))
        .routes(routes!(copy_to))
        .routes(routes!(recycled))
        .routes(routes!(restore))
}

/// Whoever asks is a person, and the house is theirs.
fn person() -> Caller {
    Caller::person(RunId::new("http"))
}

fn place(house: &House, uri: &str) -> Result<FileUri, Problem> {
    Ok(house.tools.files().resolve(&person(), uri)?)
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let code = match &error {
            FileError::Exists(_) | FileError::Changed(_) => ErrorCode::HttpConflict,
            error => error.code(),
        };
        Self::new(code, error.to_string()).because(error.reason())
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    #[param(example = "user://projects/default/notes.md")]
    uri: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Folder {
    #[param(example = "user://projects/default")]
    uri: String,
    /// 1, what is said if nothing is, is the folder alone.
    #[param(minimum = 1, maximum = 8)]
    depth: Option<usize>,
}

/// What a folder holds, by path.
#[utoipa::path(get, path = "/api/v1/files", tag = "files", operation_id = "listFiles", params(Folder),
    responses((status = 200, body = shape::Listing), Problem))]
async fn list(may: MayRead, QueryOf(asked): QueryOf<Folder>) -> Result<Json<Listing>, Problem> {
    let depth = asked.depth.unwrap_or(1);
    if !(1..=8).contains(&depth) {
        return Err(Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("depth: 1 to 8, not {depth}"),
        ));
    }
    let uri = place(&may.house, &asked.uri)?;
    let limit = MAX_FILE_ENTRIES;
    let listed = may
        .house
        .tools
        .files()
        .list(&uri, ListOptions { depth, limit });
    Ok(Json(listed.await?))
}

/// What is there.
#[utoipa::path(get, path = "/api/v1/files/stat", tag = "files", operation_id = "statFile", params(Which),
    responses((status = 200, body = shape::Stat), Problem))]
async fn stat(may: MayRead, QueryOf(asked): QueryOf<Which>) -> Result<Json<Stat>, Problem> {
    let uri = place(&may.house, &asked.uri)?;
    Ok(Json(may.house.tools.files().stat(&uri).await?))
}

/// The bytes as they are. A browser saves them and shows nothing.
#[utoipa::path(get, path = "/api/v1/files/content", tag = "files", operation_id = "readFile", params(Which),
    responses((status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream"), Problem))]
async fn read(may: MayRead, QueryOf(asked): QueryOf<Which>) -> Result<Response, Problem> {
    let uri = place(&may.house, &asked.uri)?;
    let bytes = may
        .house
        .tools
        .files()
        .read(&uri, MAX_FILE_READ_BYTES)
        .await?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment"),
        ),
    ];
    Ok((headers, bytes).into_response())
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Written {
    uri: String,
    /// Only if nothing is there yet.
    create: Option<bool>,
}

/// Whole or not at all. Folders that are missing are made.
#[utoipa::path(put, path = "/api/v1/files/content", tag = "files", operation_id = "writeFile", params(Written),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = shape::Stat), Problem))]
async fn write(
    may: MayRun,
    QueryOf(asked): QueryOf<Written>,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Json<Stat>, Problem> {
    let bytes = body.map_err(|error| {
        let code = match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::HttpTooLarge,
            _ => ErrorCode::HttpInvalidRequest,
        };
        Problem::new(code, error.body_text())
    })?;
    let uri = place(&may.house, &asked.uri)?;
    let mode = match asked.create {
        Some(true) => WriteMode::Create,
        _ => WriteMode::Replace,
    };
    let written = may.house.tools.files().write(&uri, bytes.to_vec(), mode);
    Ok(Json(written.await?))
}

/// Into the recycle bin, a folder with all that it holds.
#[utoipa::path(delete, path = "/api/v1/files", tag = "files", operation_id = "deleteFile", params(Which),
    responses((status = 200, body = shape::Recycled), Problem))]
async fn delete(may: MayRun, QueryOf(asked): QueryOf<Which>) -> Result<Json<Recycled>, Problem> {
    let uri = place(&may.house, &asked.uri)?;
    Ok(Json(may.house.tools.files().delete(&uri, "person").await?))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FolderToMake)]
struct ToMake {
    uri: String,
}

/// With the folders above it. One that is there already is fine.
#[utoipa::path(post, path = "/api/v1/files/folder", tag = "files", operation_id = "makeFolder", request_body = ToMake,
    responses((status = 200, body = shape::Stat), Problem))]
async fn make_folder(may: MayRun, Body(asked): Body<ToMake>) -> Result<Json<Stat>, Problem> {
    let uri = place(&may.house, &asked.uri)?;
    Ok(Json(may.house.tools.files().create_dir(&uri).await?))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FileTransfer)]
struct Transfer {
    from: String,
    /// A name that is free.
    to: String,
}

impl Transfer {
    fn places<'h>(&self, house: &'h House) -> Result<(&'h FileLayer, FileUri, FileUri), Problem> {
        let (from, to) = (place(house, &self.from)?, place(house, &self.to)?);
        Ok((house.tools.files(), from, to))
    }
}

/// A file or a folder, under a name that is free.
#[utoipa::path(post, path = "/api/v1/files/move", tag = "files", operation_id = "moveFile", request_body = Transfer,
    responses((status = 200, body = shape::Stat), Problem))]
async fn move_to(may: MayRun, Body(asked): Body<Transfer>) -> Result<Json<Stat>, Problem> {
    let (files, from, to) = asked.places(&may.house)?;
    Ok(Json(files.rename(&from, &to).await?))
}

/// A file or a folder, under a name that is free.
#[utoipa::path(post, path = "/api/v1/files/copy", tag = "files", operation_id = "copyFile", request_body = Transfer,
    responses((status = 200, body = shape::Stat), Problem))]
async fn copy_to(may: MayRun, Body(asked): Body<Transfer>) -> Result<Json<Stat>, Problem> {
    let (files, from, to) = asked.places(&may.house)?;
    Ok(Json(files.copy(&from, &to).await?))
}

#[derive(Serialize)]
struct Bin {
    recycled: Vec<Recycled>,
}

/// The newest first.
#[utoipa::path(get, path = "/api/v1/files/recycled", tag = "files", operation_id = "listRecycled",
    responses((status = 200, body = shape::Bin), Problem))]
async fn recycled(may: MayRead) -> Result<Json<Bin>, Problem> {
    let recycled = may.house.tools.files().recycled(&person()).await?;
    Ok(Json(Bin { recycled }))
}

#[derive(Serialize, ToSchema)]
#[schema(as = RestoredFile)]
struct Restored {
    uri: String,
}

/// Back to where it was, unless something else is there now.
#[utoipa::path(post, path = "/api/v1/files/recycled/{recycleId}/restore", tag = "files", operation_id = "restoreFile",
    params(("recycleId" = String, Path)), responses((status = 200, body = Restored), Problem))]
async fn restore(may: MayRun, PathOf(id): PathOf<String>) -> Result<Json<Restored>, Problem> {
    let id: RecycleId = id.parse()?;
    let uri = may.house.tools.files().restore(&person(), id).await?;
    Ok(Json(Restored {
        uri: uri.to_string(),
    }))
}
