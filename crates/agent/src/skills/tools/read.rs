//! `skill.read`: a file of a skill, or a part of it, as far as the profile lets the run read.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::CallId;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::{aside, desk};
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::MAX_SHOWN_READ_CHARS;
use crate::skills::desk::SkillDesk;
use crate::skills::error::SkillError;
use crate::skills::front::SKILL_MD;
use crate::skills::house::reference;
use crate::skills::read::{NoPiece, Part, Piece};
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("Learn how a skill works.", json!({"name": "haiku"})),
            (
                "Read lines 41 to 80 of another of its files.",
                json!({"name": "haiku", "path": "references/season-words.md", "start_line": 41, "line_count": 40}),
            ),
        ]),
        ..declare(
            "skill.read",
            "Read a skill",
            "Reads a file of a skill: SKILL.md if no other is named. Long files are read in parts, by lines or by characters; what you may read in one call and in the whole run is limited.",
            Nature::ReadOnly,
            object(
                json!({
                    "name": {"type": "string", "description": "The skill, as skill.list gives it."},
                    "path": {"type": "string", "description": "A file of the skill; SKILL.md if left out."},
                    "max_chars": {"type": "integer", "description": "How many characters to read at most."},
                    "start_line": {"type": "integer", "description": "The first line to read, counted from 1."},
                    "line_count": {"type": "integer", "description": "How many lines to read."},
                    "start_char": {
                        "type": "integer",
                        "description": "The first character to read, counted from 0. Not together with lines."
                    }
                }),
                &["name"],
            ),
            answer(&[
                ("name", "string"),
                ("path", "string"),
                ("sha256", "string"),
                ("bytes", "integer"),
                ("chars", "integer"),
                ("words", "integer"),
                ("totalBytes", "integer"),
                ("totalChars", "integer"),
                ("totalWords", "integer"),
                ("startChar", "integer"),
                ("endChar", "integer"),
                ("truncated", "boolean"),
                ("totalLines", "integer"),
                ("startLine", "integer"),
                ("endLine", "integer"),
                ("resourceRef", "string"),
                ("content", "string"),
            ]),
        )
    }
}

pub(super) struct Read(pub(super) Workspaces);

#[async_trait]
impl Executor for Read {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let (desk, asked_as) = desk(&self.0, &call)?;
        let name = text(&call, "name").unwrap_or_default();
        let skill = desk.find(name)?.clone();
        // Models send an empty text for what they leave out.
        let path = text(&call, "path").filter(|path| !path.trim().is_empty());
        let path = path.unwrap_or(SKILL_MD).to_owned();
        let given = |name| number(call.arguments.get(name));
        let part = Part {
            start_line: given("start_line"),
            line_count: given("line_count"),
            start_char: given("start_char"),
            max_chars: given("max_chars"),
        };
        desk.left()?;
        aside(move || {
            let read = desk.skills().content(&skill.scope, &skill.name, &path);
            let (path, content, sha256) = read?;
            let piece = granted(&desk, &asked_as, &content, &part)?;
            let mut answer = json!({
                "name": skill.name,
                "path": path,
                "sha256": sha256,
                "resourceRef": reference(&skill.name, &path, piece.start_line, piece.end_line),
            });
            if let (Some(answer), Json::Object(piece)) = (answer.as_object_mut(), json!(piece)) {
                answer.extend(piece);
            }
            Ok(answer)
        })
        .await
    }
}

/// What is wanted, if it fits into what is left; where nobody said how much, as much as fits.
fn granted(
    desk: &SkillDesk,
    call: &CallId,
    content: &str,
    part: &Part,
) -> Result<Piece, SkillError> {
    loop {
        let (per_call, left) = (desk.per_call(), desk.left()?);
        let piece = part
            .of(content, per_call.min(left))
            .map_err(|why| match why {
                NoPiece::Invalid(error) => error,
                NoPiece::TooLong(asked) if asked > per_call => desk.exceeded(asked),
                NoPiece::TooLong(_) => desk.exhausted(left),
            })?;
        // Another call may have been quicker.
        if desk.spend(call, piece.chars) {
            return Ok(piece);
        }
    }
}
