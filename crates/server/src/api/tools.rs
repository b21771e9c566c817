//! What can be called.

use axum::Json;
use innkeeper_protocol::{ErrorCode, ExecutionMode, ToolDefinition, ToolKind};
use innkeeper_tools::registry::Lookup;
use innkeeper_tools::search::{Found, Query as Question};
use innkeeper_tools::{Caller, Pattern, Reach, RunOptions};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::{limit, new_run, project, scope, wrong};
use super::shapes::tools as shape;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::house::House;
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// What is looked for, in words: the tools that fit, best first.
    search: Option<String>,
    /// Only ids and other names like this, with `*` for any text.
    pattern: Option<String>,
    /// Only from there: `builtin`, `plugin:*`, `workflow:library`.
    source: Option<String>,
    tag: Option<String>,
    /// As one of its agents sees them; `default` if nothing is said.
    project: Option<String>,
    /// Only later ids: the next page. Not with `search`.
    after: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ToolPage)]
struct Page {
    tools: Vec<Brief>,
    /// Give it as `after` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ToolBrief)]
struct Brief {
    id: String,
    aliases: Vec<String>,
    display_name: String,
    description: String,
    #[schema(value_type = shape::Kind)]
    kind: ToolKind,
    source: String,
    tags: Vec<String>,
    #[schema(value_type = shape::Mode)]
    mode: ExecutionMode,
    /// Of a search: the higher, the better; comparable within one answer alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl Brief {
    fn of(tool: &ToolDefinition, score: Option<f32>) -> Self {
        Self {
            id: tool.id.to_string(),
            aliases: tool.aliases.iter().map(ToString::to_string).collect(),
            display_name: tool.display_name.clone(),
            description: tool.description.clone(),
            kind: tool.kind,
            source: tool.source.clone(),
            tags: tool.tags.clone(),
            mode: tool.execution.mode,
            // Floats of 32 bits have long tails as JSON.
            score: score.map(|score| (f64::from(score) * 1_000.0).round() / 1_000.0),
        }
    }
}

/// By id, or those that fit a search.
#[utoipa::path(get, path = "/api/v1/tools", tag = "tools", operation_id = "listTools", params(Query),
    responses((status = 200, body = Page), Problem))]
async fn list(may: MayRead, QueryOf(mut query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    if let Some(words) = query.search.take() {
        return search(&may.house, &words, query, limit).await.map(Json);
    }
    let scope = scope(query.project.clone())?;
    let snapshot = may.house.tools.registry().snapshot_for(&scope);
    let everything = Reach::everything();
    let wanted = Wanted::of(&query);
    let after = query.after.unwrap_or_default();
    let mut found = snapshot
        .definitions(&everything)
        .filter(|tool| *tool.id.as_str() > *after && wanted.fits(tool));
    let tools: Vec<Brief> = found
        .by_ref()
        .take(limit)
        .map(|tool| Brief::of(tool, None))
        .collect();
    let next_cursor = found.next().and(tools.last().map(|last| last.id.clone()));
    Ok(Json(Page { tools, next_cursor }))
}

async fn search(house: &House, words: &str, query: Query, limit: usize) -> Result<Page, Problem> {
    let question = Question::new(words);
    if question.is_empty() {
        return Err(wrong("search: no word in it to look for"));
    }
    if query.after.is_some() {
        return Err(wrong(
            "after: a search has one page; ask with a larger limit",
        ));
    }
    let wanted = Wanted::of(&query);
    let mut caller = Caller::person(new_run());
    caller.project = project(query.project)?;
    let run = house.tools.begin(caller, RunOptions::default());
    let found = run.search(&question, usize::MAX).await;
    let fitting = found.iter().filter(|Found { tool, .. }| wanted.fits(tool));
    Ok(Page {
        tools: fitting
            .take(limit)
            .map(|Found { tool, score }| Brief::of(tool, Some(*score)))
            .collect(),
        next_cursor: None,
    })
}

struct Wanted {
    pattern: Option<Pattern>,
    source: Option<Pattern>,
    tag: Option<String>,
}

impl Wanted {
    fn of(query: &Query) -> Self {
        Self {
            pattern: query.pattern.as_deref().map(Pattern::new),
            source: query.source.as_deref().map(Pattern::new),
            tag: query.tag.clone(),
        }
    }

    fn fits(&self, tool: &ToolDefinition) -> bool {
        let mut names = std::iter::once(&tool.id).chain(&tool.aliases);
        let name = self
            .pattern
            .as_ref()
            .is_none_or(|pattern| names.any(|id| pattern.matches_loosely(id.as_str())));
        let source = self.source.as_ref();
        let tag = self.tag.as_ref();
        name && source.is_none_or(|source| source.matches(&tool.source))
            && tag.is_none_or(|tag| tool.tags.contains(tag))
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Where {
    project: Option<String>,
}

/// One tool with the schema of what it takes; by its id, another of its names, or what nearly is one.
#[utoipa::path(get, path = "/api/v1/tools/{toolId}", tag = "tools", operation_id = "readTool",
    params(("toolId" = String, Path, description = "With `/` as `%2F`"), Where),
    responses((status = 200, body = shape::ToolDefinition), Problem))]
async fn read(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(place): QueryOf<Where>,
) -> Result<Json<ToolDefinition>, Problem> {
    let scope = scope(place.project)?;
    let snapshot = may.house.tools.registry().snapshot_for(&scope);
    match snapshot.find(&id) {
        Lookup::Found(tool) => Ok(Json(tool.definition().as_ref().clone())),
        Lookup::Unknown { ambiguous } => {
            let suggestions = match ambiguous.is_empty() {
                true => snapshot.nearest(&id, &Reach::everything()),
                false => ambiguous,
            };
            let id = id.escape_debug();
            let problem = Problem::new(ErrorCode::ToolUnknown, format!("there is no tool '{id}'"));
            Err(problem.with("suggestions", suggestions))
        }
    }
}
