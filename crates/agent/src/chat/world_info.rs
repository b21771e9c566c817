//! `worldinfo.read_activated`: the entries of the world info that went into this run's prompt.

use std::collections::HashMap;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::pieces::{Words, list_schema, piece};
use crate::declare::{Nature, answer, declare, examples, object};
use crate::limits::{MAX_ITEMS_CHARS, MAX_SHOWN_READ_CHARS};
use crate::workspace::{Workspaces, fault, quoted};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("See which entries are active.", json!({})),
            (
                "Read one of them.",
                json!({"entries": [{"ref": "worldinfo:The Inn#7"}]}),
            ),
        ]),
        ..declare(
            "worldinfo.read_activated",
            "Read world info",
            "Lists the entries of the world info that are active in this run, without their text; given references from that list, reads the text of those.",
            Nature::ReadOnly,
            object(
                list_schema(
                    "entries",
                    (
                        "ref",
                        json!({"type": "string", "description": "A reference from the list, like worldinfo:The Inn#7."}),
                    ),
                    "Which entries to read, and which part of each if not all. Left out: all are listed.",
                ),
                &[],
            ),
            answer(&[
                ("mode", "string"),
                ("totalEntries", "integer"),
                ("entries", "array"),
            ]),
        )
    }
}

const WORDS: Words = Words {
    thing: "Entry",
    range: (
        ErrorCode::WorldinfoInvalidEntryRange,
        "worldinfo.invalid_entry_range",
    ),
    size: (ErrorCode::WorldinfoReadTooLarge, "worldinfo.read_too_large"),
};

pub(super) struct ReadActivated(pub(super) Workspaces);

#[async_trait]
impl Executor for ReadActivated {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let door = self.0.of_call(&call)?.door()?;
        let unavailable = || {
            fault(
                ErrorCode::WorldinfoActivationUnavailable,
                "worldinfo.activation_unavailable",
                "The prompt of this run came without its world info",
            )
        };
        let batch = door.world_info().await?.ok_or_else(unavailable)?;
        let entries = batch.get("entries").and_then(Json::as_array);
        let entries = Entry::all(entries.ok_or_else(unavailable)?);
        let asked = call.arguments.get("entries").and_then(Json::as_array);
        let asked = asked.filter(|asked| !asked.is_empty());
        let (mode, told) = match asked {
            None => ("index", entries.iter().map(Entry::listed).collect()),
            Some(asked) => {
                let mut left = MAX_ITEMS_CHARS;
                let read = asked.iter().map(|asked| read(&entries, asked, &mut left));
                ("content", read.collect::<Result<Vec<Json>, _>>()?)
            }
        };
        Ok(json!({
            "mode": mode,
            "timestampMs": batch.get("timestampMs"),
            "trigger": batch.get("trigger"),
            "totalEntries": entries.len(),
            "entries": told,
        }))
    }
}

struct Entry<'b> {
    reference: String,
    world: &'b str,
    uid: String,
    content: &'b str,
    entry: &'b Json,
}

impl<'b> Entry<'b> {
    /// Two entries of one name are told apart by where they stand.
    fn all(entries: &'b [Json]) -> Vec<Self> {
        let named = entries.iter().map(|entry| {
            let world = entry.get("world").and_then(Json::as_str);
            let world = world.unwrap_or_default();
            let uid = match entry.get("uid") {
                Some(Json::String(uid)) => uid.clone(),
                Some(Json::Number(uid)) => uid.to_string(),
                _ => String::new(),
            };
            let content = entry.get("content").and_then(Json::as_str);
            Self {
                reference: format!("worldinfo:{world}#{uid}"),
                world,
                uid,
                content: content.unwrap_or_default(),
                entry,
            }
        });
        let mut all: Vec<Self> = named.collect();
        let mut times: HashMap<String, usize> = HashMap::new();
        for entry in &all {
            *times.entry(entry.reference.clone()).or_default() += 1;
        }
        for (index, entry) in all.iter_mut().enumerate() {
            let is_unique = times.get(&entry.reference) == Some(&1);
            if !is_unique || entry.uid.is_empty() {
                entry.reference = format!("worldinfo:activated#{index}");
            }
        }
        all
    }

    fn told(&self) -> Map<String, Json> {
        let own = |name: &str| self.entry.get(name).cloned().unwrap_or_default();
        let name = self.entry.get("displayName").and_then(Json::as_str);
        let constant = self.entry.get("constant").and_then(Json::as_bool);
        Map::from_iter([
            ("world".to_owned(), json!(self.world)),
            ("uid".to_owned(), json!(self.uid)),
            ("displayName".to_owned(), json!(name.unwrap_or(&self.uid))),
            ("constant".to_owned(), json!(constant == Some(true))),
            ("position".to_owned(), position(own("position"))),
            ("ref".to_owned(), json!(self.reference)),
        ])
    }

    fn listed(&self) -> Json {
        let counted = count(self.content);
        let mut told = self.told();
        told.insert("totalBytes".to_owned(), json!(counted.bytes));
        told.insert("totalChars".to_owned(), json!(counted.chars));
        told.insert("totalWords".to_owned(), json!(counted.words));
        Json::Object(told)
    }
}

/// Older hosts write numbers.
fn position(written: Json) -> Json {
    const NAMES: [&str; 8] = [
        "before",
        "after",
        "an_top",
        "an_bottom",
        "depth",
        "em_top",
        "em_bottom",
        "outlet",
    ];
    let code = written.as_u64().and_then(|code| usize::try_from(code).ok());
    match code.and_then(|code| NAMES.get(code)) {
        Some(name) => json!(name),
        None => written,
    }
}

fn read(entries: &[Entry<'_>], asked: &Json, left: &mut usize) -> Result<Json, ToolError> {
    let reference = asked.get("ref").and_then(Json::as_str).unwrap_or_default();
    let Some(entry) = entries.iter().find(|entry| entry.reference == reference) else {
        return Err(fault(
            ErrorCode::WorldinfoEntryNotFound,
            "worldinfo.entry_not_found",
            format!(
                "No active entry is called '{}': call worldinfo.read_activated without entries to see their references",
                quoted(reference)
            ),
        ));
    };
    let piece = piece(&WORDS, reference, entry.content, asked, left)?;
    let mut told = entry.told();
    piece.tell(&mut told, "content");
    Ok(Json::Object(told))
}
