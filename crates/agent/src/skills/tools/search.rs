//! `skill.search`: places in the files of one skill. What it shows counts as read.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::CallId;
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::{aside, desk};
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{
    MAX_QUERY_CHARS, MAX_SEARCH_CONTEXT_LINES, MAX_SEARCH_HITS, MAX_SEARCHED_BYTES,
    MAX_SHOWN_READ_CHARS, SEARCH_CONTEXT_LINES, SEARCH_HITS,
};
use crate::skills::desk::SkillDesk;
use crate::skills::effective::RunSkill;
use crate::skills::error::SkillError;
use crate::skills::house::{reference, requested};
use crate::workspace::Workspaces;
use crate::workspace::find::Query;
use crate::workspace::hits::{Found, Hit, Sought, look};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            (
                "Find what a skill says about seasons.",
                json!({"name": "haiku", "query": "season word"}),
            ),
            (
                "Look in one of its folders only.",
                json!({"name": "haiku", "query": "autumn", "path": "references", "context_lines": 0}),
            ),
        ]),
        ..declare(
            "skill.search",
            "Search a skill",
            "Finds words in the files of a skill, in any letter case. Each hit is a few lines around the place; what is shown counts as read.",
            Nature::ReadOnly,
            object(
                json!({
                    "name": {"type": "string", "description": "The skill, as skill.list gives it."},
                    "query": {"type": "string", "description": "The words to look for."},
                    "path": {
                        "type": ["string", "null"],
                        "description": "A folder or file of the skill to look in. Left out: all of it."
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
                &["name", "query"],
            ),
            answer(&[
                ("name", "string"),
                ("query", "string"),
                ("hits", "array"),
                ("searchedFiles", "integer"),
                ("skippedFiles", "integer"),
                ("truncated", "boolean"),
                ("returnedChars", "integer"),
                ("returnedWords", "integer"),
            ]),
        )
    }
}

pub(super) struct Search(pub(super) Workspaces);

#[async_trait]
impl Executor for Search {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let (desk, asked_as) = desk(&self.0, &call)?;
        let skill = desk.find(text(&call, "name").unwrap_or_default())?.clone();
        let sought = sought(&call)?;
        let path = text(&call, "path").unwrap_or_default();
        let path = match matches!(path.trim(), "" | "." | "./") {
            true => None,
            false => Some(requested(path)?),
        };
        let query = text(&call, "query").unwrap_or_default().to_owned();
        desk.left()?;
        aside(move || {
            let searched = searched(&desk, &skill, &sought, path.as_deref())?;
            let (hits, is_cut) = granted(&desk, &asked_as, searched.found.hits)?;
            let (mut chars, mut words) = (0, 0);
            for hit in &hits {
                let counted = count(&hit.snippet);
                chars += counted.chars;
                words += counted.words;
            }
            let hits: Vec<Json> = hits.iter().map(|hit| told(&skill.name, hit)).collect();
            Ok(json!({
                "name": skill.name,
                "query": query,
                "hits": hits,
                "searchedFiles": searched.files,
                "skippedFiles": searched.skipped,
                "truncated": searched.found.more || is_cut,
                "returnedChars": chars,
                "returnedWords": words,
            }))
        })
        .await
    }
}

fn sought(call: &Invocation) -> Result<Sought, SkillError> {
    let query = text(call, "query").unwrap_or_default();
    if query.chars().nth(MAX_QUERY_CHARS).is_some() {
        let message = format!("query is at most {MAX_QUERY_CHARS} characters long");
        return Err(SkillError::request("skill.search_query_too_long", message));
    }
    let Some(query) = Query::new(query) else {
        let message = "query is empty: give the words to look for";
        return Err(SkillError::request("skill.search_query_empty", message));
    };
    let limit = number(call.arguments.get("limit")).unwrap_or(SEARCH_HITS);
    if limit > MAX_SEARCH_HITS {
        let message = format!("limit is at most {MAX_SEARCH_HITS}");
        return Err(SkillError::request("skill.search_limit_too_large", message));
    }
    let Ok(limit @ 1..) = usize::try_from(limit) else {
        let message = format!("limit is 1 to {MAX_SEARCH_HITS}");
        return Err(SkillError::request("skill.search_limit_invalid", message));
    };
    let context = number(call.arguments.get("context_lines")).unwrap_or(SEARCH_CONTEXT_LINES);
    if context > MAX_SEARCH_CONTEXT_LINES {
        let message = format!("context_lines is at most {MAX_SEARCH_CONTEXT_LINES}");
        return Err(SkillError::request(
            "skill.search_context_too_large",
            message,
        ));
    }
    let Ok(context) = usize::try_from(context) else {
        let message = format!("context_lines is 0 to {MAX_SEARCH_CONTEXT_LINES}");
        return Err(SkillError::request("skill.search_context_invalid", message));
    };
    Ok(Sought {
        query,
        limit,
        context,
    })
}

struct Searched {
    found: Found,
    files: usize,
    /// Those that are no text, or would be too much.
    skipped: usize,
}

fn searched(
    desk: &SkillDesk,
    skill: &RunSkill,
    sought: &Sought,
    path: Option<&str>,
) -> Result<Searched, SkillError> {
    let all = desk.skills().list_files(&skill.scope, &skill.name)?;
    let is_meant = |file: &str| {
        path.is_none_or(|path| {
            let rest = file.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut searched = Searched {
        found: Found::default(),
        files: 0,
        skipped: 0,
    };
    let mut bytes = 0_u64;
    for file in all.iter().filter(|file| is_meant(&file.path)) {
        if bytes + file.bytes > MAX_SEARCHED_BYTES {
            searched.skipped += 1;
            continue;
        }
        bytes += file.bytes;
        match desk.skills().content(&skill.scope, &skill.name, &file.path) {
            Ok((path, content, sha256)) => {
                searched.files += 1;
                let here = look(sought, &path, &sha256, &content);
                searched.found.add(here, sought.limit);
            }
            Err(error) if error.reason == Some("skill.not_text") => searched.skipped += 1,
            Err(error) => return Err(error),
        }
    }
    match (path, searched.files + searched.skipped) {
        (Some(path), 0) => Err(SkillError::no_file(&skill.name, path)),
        _ => Ok(searched),
    }
}

/// The best hits that fit into what is left, and whether some did not.
fn granted(
    desk: &SkillDesk,
    call: &CallId,
    found: Vec<Hit>,
) -> Result<(Vec<Hit>, bool), SkillError> {
    loop {
        let left = desk.left()?;
        let mut room = desk.per_call().min(left);
        let mut chars = 0;
        let fitting = found.iter().take_while(|hit| {
            let length = length(hit);
            let fits = length <= room;
            room = room.saturating_sub(length);
            chars += if fits { length } else { 0 };
            fits
        });
        let fitting = fitting.count();
        if fitting == 0 && !found.is_empty() {
            return Err(match desk.per_call() < left {
                true => desk.exceeded(found.first().map_or(0, length)),
                false => desk.exhausted(left),
            });
        }
        if desk.spend(call, chars) {
            let is_cut = fitting < found.len();
            return Ok((found.into_iter().take(fitting).collect(), is_cut));
        }
    }
}

fn length(hit: &Hit) -> u64 {
    hit.snippet.chars().count() as u64
}

fn told(skill: &str, hit: &Hit) -> Json {
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
        "resourceRef": reference(skill, &hit.path, hit.first, hit.last),
    })
}
