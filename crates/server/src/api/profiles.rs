//! Agents by their profiles.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::profile::{Profiles, Unseen};
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::{ProjectId, UserId};
use serde_json::{Map, Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{Body, PathOf};
use crate::house::House;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read, save, delete))
        .routes(routes!(diagnose))
}

async fn with<T: Send + 'static>(
    house: Arc<House>,
    work: impl FnOnce(&Profiles) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let profiles = house
            .agents
            .profiles_of(&UserId::default(), &ProjectId::default());
        work(&profiles)
    });
    let done = done.await;
    done.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))?
}

/// With what is wrong with those that cannot be read.
#[utoipa::path(get, path = "/api/v1/profiles", tag = "profiles", operation_id = "listProfiles",
    responses((status = 200, body = Object, description = "`{profiles: [{id, displayName, description?, directRunnable}], issues}`"), Problem))]
async fn list(may: MayRead) -> Result<Json<Value>, Problem> {
    let listed = with(may.house, |profiles| Ok(json!(profiles.list()?)));
    Ok(Json(listed.await?))
}

/// As docs/agent-profiles.md describes it.
#[utoipa::path(get, path = "/api/v1/profiles/{profileId}", tag = "profiles", operation_id = "readProfile",
    params(("profileId" = String, Path)), responses((status = 200, body = Object), Problem))]
async fn read(may: MayRead, PathOf(id): PathOf<String>) -> Result<Json<Value>, Problem> {
    let found = with(may.house, move |profiles| {
        match profiles.find(&id, None)? {
            Some(found) => Ok(found.profile.to_json()),
            None => Err(unknown(&id)),
        }
    });
    Ok(Json(found.await?))
}

fn unknown(id: &str) -> Problem {
    let id: String = id.chars().take(120).collect();
    Problem::new(
        ErrorCode::HttpNotFound,
        format!("there is no profile '{id}'; GET /api/v1/profiles lists them"),
    )
    .because("agent.profile_not_found")
}

/// Whole, in the place of the one of that name.
#[utoipa::path(put, path = "/api/v1/profiles/{profileId}", tag = "profiles", operation_id = "saveProfile",
    params(("profileId" = String, Path)), request_body(content = Object), responses((status = 204, description = "Saved"), Problem))]
async fn save(
    may: MayRun,
    PathOf(id): PathOf<String>,
    Body(mut profile): Body<Map<String, Value>>,
) -> Result<StatusCode, Problem> {
    match profile.get("id").map(Value::as_str) {
        None => {
            profile.insert("id".to_owned(), id.into());
        }
        Some(Some(named)) if named == id => {}
        Some(_) => {
            return Err(Problem::new(
                ErrorCode::HttpInvalidRequest,
                "id: the profile has another id than the path; they must be the same",
            ));
        }
    }
    with(may.house, move |profiles| {
        profiles.save_json(&Value::Object(profile), None)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Of a built-in one, what was changed about it.
#[utoipa::path(delete, path = "/api/v1/profiles/{profileId}", tag = "profiles", operation_id = "deleteProfile",
    params(("profileId" = String, Path)), responses((status = 204, description = "Gone"), Problem))]
async fn delete(may: MayRun, PathOf(id): PathOf<String>) -> Result<StatusCode, Problem> {
    with(may.house, move |profiles| {
        profiles.delete(&id)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// What keeps it from running, and what would mend it.
#[utoipa::path(get, path = "/api/v1/profiles/{profileId}/diagnosis", tag = "profiles", operation_id = "diagnoseProfile",
    params(("profileId" = String, Path)), responses((status = 200, body = Object), Problem))]
async fn diagnose(may: MayRead, PathOf(id): PathOf<String>) -> Result<Json<Value>, Problem> {
    let told = with(may.house, move |profiles| {
        Ok(json!(profiles.diagnose(&id, None, &Unseen)?))
    });
    Ok(Json(told.await?))
}
