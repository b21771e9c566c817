//! `workspace.search_files`: lines that hold what is looked for, the best first, each with its neighbours.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_store::BlobId;
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::fault;
use super::super::find::Query;
use super::super::hits::{Found, Hit, Sought, look};
use super::super::path::is_below;
use super::super::session::WorkspaceSession;
use super::super::text::aside;
use super::list_files::is_top;
use super::visible;
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{
    MAX_QUERY_CHARS, MAX_SEARCH_CONTEXT_LINES, MAX_SEARCH_DEPTH, MAX_SEARCH_HITS,
    MAX_SEARCHED_BYTES, MAX_SEARCHED_FILES, SEARCH_CONTEXT_LINES, SEARCH_HITS,
};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            (
                "Find where the key is mentioned.",
                json!({"query": "silver key"}),
            ),
            (
                "Look only among the plans.",
                json!({"query": "silver key", "path": "plan", "context_lines": 0}),
            ),
        ]),
        ..declare(
            "workspace.search_files",
            "Search files",
            "Finds words in the files of the workspace, in any letter case. Each hit is a few lines around the place; read the file before you change it.",
            Nature::ReadOnly,
            object(
                json!({
                    "query": {"type": "string", "description": "The words to look for."},
                    "path": {
                        "type": ["string", "null"],
                        "description": "A folder or file to look in. Left out: everything that you can see."
                    },
                    "limit": {
                        "type": "integer",
                        "description": format!("How many hits, 1 to {MAX_SEARCH_HITS}; {SEARCH_HITS} if left out.")
                    },
                    "context_lines": {
                        "type": "integer",
                        "description": format!("Lines shown before and after a hit, 0 to {MAX_SEARCH_CONTEXT_LINES}; {SEARCH_CONTEXT_LINES} if left out.")
                    }
                }),
                &["query"],
            ),
            answer(&[
                ("query", "string"),
                ("hits", "array"),
                ("searchedFiles", "integer"),
                ("skippedFiles", "integer"),
                ("truncated", "boolean"),
            ]),
        )
    }
}

pub(super) struct SearchFiles(pub(super) Workspaces);

#[async_trait]
impl Executor for SearchFiles {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let session = self.0.of_call(&call)?;
        let asked = asked(&call)?;
        let limit = asked.limit;
        let Chosen { files, mut skipped } =
            chosen(&session, text(&call, "path").unwrap_or_default())?;
        let mut found = Found::default();
        let mut searched = 0_usize;
        for (path, sha256) in files {
            let content = match session.text(&path, &sha256).await {
                Ok(content) => content,
                Err(error) if error.reason.as_deref() == Some("workspace.not_text") => {
                    skipped += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            searched += 1;
            let asked = asked.clone();
            let here = aside(content.as_str().len(), move || {
                look(&asked, &path, sha256.as_str(), content.as_str())
            });
            found.add(here.await?, limit);
        }
        let hits: Vec<Json> = found.hits.iter().map(told).collect();
        Ok(json!({
            "query": text(&call, "query"),
            "hits": hits,
            "searchedFiles": searched,
            "skippedFiles": skipped,
            "truncated": found.more,
        }))
    }
}

fn asked(call: &Invocation) -> Result<Sought, ToolError> {
    let invalid = |reason: &str, message: String| {
        let reason = format!("workspace.{reason}");
        Err(fault(ErrorCode::ToolInvalidArguments, &reason, message))
    };
    let query = text(call, "query").unwrap_or_default();
    if query.chars().nth(MAX_QUERY_CHARS).is_some() {
        let message = format!("query is at most {MAX_QUERY_CHARS} characters long");
        return invalid("search_query_too_long", message);
    }
    let Some(query) = Query::new(query) else {
        let message = "query is empty: give the words to look for".to_owned();
        return invalid("search_query_empty", message);
    };
    let limit = number(call.arguments.get("limit")).unwrap_or(SEARCH_HITS);
    if limit > MAX_SEARCH_HITS {
        let message = format!("limit is at most {MAX_SEARCH_HITS}");
        return invalid("search_limit_too_large", message);
    }
    let Ok(limit @ 1..) = usize::try_from(limit) else {
        let message = format!("limit is 1 to {MAX_SEARCH_HITS}");
        return invalid("search_limit_invalid", message);
    };
    let context = number(call.arguments.get("context_lines")).unwrap_or(SEARCH_CONTEXT_LINES);
    if context > MAX_SEARCH_CONTEXT_LINES {
        let message = format!("context_lines is at most {MAX_SEARCH_CONTEXT_LINES}");
        return invalid("search_context_too_large", message);
    }
    let Ok(context) = usize::try_from(context) else {
        let message = format!("context_lines is 0 to {MAX_SEARCH_CONTEXT_LINES}");
        return invalid("search_context_invalid", message);
    };
    Ok(Sought {
        query,
        limit,
        context,
    })
}

struct Chosen {
    files: Vec<(String, BlobId)>,
    /// Those that would be too much.
    skipped: usize,
}

/// The files to look in, in the order of their paths.
fn chosen(session: &WorkspaceSession, path: &str) -> Result<Chosen, ToolError> {
    let plan = session.plan();
    let place = match is_top(path) {
        true => None,
        false => Some(visible(plan, path)?),
    };
    let place = place.as_ref().map(|path| path.as_str());
    let all = session.files();
    if let Some(place) = place
        && !all.contains_key(place)
        && !session.is_folder(place)
    {
        return Err(fault(
            ErrorCode::WorkspaceFileNotFound,
            "workspace.path_not_found",
            format!("There is nothing at '{place}': list the files with workspace.list_files"),
        ));
    }
    let above = place.map_or(0, |place| place.split('/').count());
    let mut chosen = Chosen {
        files: Vec::new(),
        skipped: 0,
    };
    let mut bytes = 0_u64;
    for (path, file) in all {
        let is_meant = place.is_none_or(|place| path == place || is_below(&path, place));
        if !is_meant || !plan.sees(&path) {
            continue;
        }
        let depth = path.split('/').count() - above;
        let fits = chosen.files.len() < MAX_SEARCHED_FILES
            && depth <= MAX_SEARCH_DEPTH
            && bytes + file.bytes <= MAX_SEARCHED_BYTES;
        match fits {
            true => {
                bytes += file.bytes;
                chosen.files.push((path, file.sha256));
            }
            false => chosen.skipped += 1,
        }
    }
    Ok(chosen)
}

fn told(hit: &Hit) -> Json {
    let counted = count(&hit.snippet);
    json!({
        "path": hit.path,
        "score": hit.score,
        "startLine": hit.first,
        "endLine": hit.last,
        "snippet": hit.snippet,
        "bytes": counted.bytes,
        "chars": counted.chars,
        "words": counted.words,
        "sha256": hit.sha256,
        "ref": format!("workspace:{}#L{}-L{}", hit.path, hit.first, hit.last),
    })
}
