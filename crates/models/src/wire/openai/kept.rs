//! Fields of a reply that go back as they came: `reasoning_details` (OpenRouter) and `thinking_blocks` (LiteLLM).
//!
//! A stream brings them in pieces, but they must go back as the blocks that were signed. So they are put together here
//! and given out once, when all has come.

use serde_json::{Map, Value as Json};

use super::MESSAGE;
use crate::limits::{MAX_REASONING_DETAILS, MAX_REPLY_BYTES};
use crate::{ModelError, ModelErrorKind, ModelEvent};

const FIELDS: [&str; 2] = ["reasoning_details", "thinking_blocks"];
/// What of a block can be read, and grows piece by piece.
const TEXTS: [&str; 3] = ["text", "summary", "thinking"];
const DATA: &str = "data";

#[derive(Debug, Default)]
pub(super) struct Kept {
    blocks: [Vec<Json>; FIELDS.len()],
    bytes: usize,
}

impl Kept {
    /// Takes what a delta holds of them, and gives back what can be read of it.
    pub(super) fn pieces(&mut self, delta: &Map<String, Json>) -> Result<String, ModelError> {
        let mut read = String::new();
        for (at, field) in FIELDS.iter().enumerate() {
            for piece in list(delta, field) {
                self.weigh(piece)?;
                append_texts(piece, &mut read);
                let Some(blocks) = self.blocks.get_mut(at) else {
                    continue;
                };
                match goes_on(blocks, piece) {
                    Some(block) => grow(block, piece),
                    None => push(blocks, piece)?,
                }
            }
        }
        Ok(read)
    }

    /// The same for a message that came whole, where every block is one already.
    pub(super) fn whole(&mut self, message: &Map<String, Json>) -> Result<String, ModelError> {
        let mut read = String::new();
        for (blocks, field) in self.blocks.iter_mut().zip(FIELDS) {
            for block in list(message, field) {
                append_texts(block, &mut read);
                push(blocks, block)?;
            }
        }
        Ok(read)
    }

    pub(super) fn tell(&mut self, out: &mut Vec<ModelEvent>) {
        let fields: Map<String, Json> = FIELDS
            .into_iter()
            .zip(std::mem::take(&mut self.blocks))
            .filter(|(_, blocks)| !blocks.is_empty())
            .map(|(field, blocks)| (field.to_owned(), Json::Array(blocks)))
            .collect();
        if !fields.is_empty() {
            out.push(ModelEvent::Opaque {
                provider: MESSAGE.to_owned(),
                value: Json::Object(fields),
            });
        }
    }

    fn weigh(&mut self, piece: &Json) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(piece.to_string().len());
        match self.bytes > MAX_REPLY_BYTES {
            true => Err(too_large(format!("{MAX_REPLY_BYTES} bytes"))),
            false => Ok(()),
        }
    }
}

fn list<'a>(fields: &'a Map<String, Json>, name: &str) -> &'a [Json] {
    let list = fields.get(name).and_then(Json::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn append_texts(block: &Json, read: &mut String) {
    for text in TEXTS.iter().filter_map(|name| block.get(*name)?.as_str()) {
        read.push_str(text);
    }
}

/// The block that a piece belongs to. Those with a number are told apart by it, by their type (a thought and its
/// encrypted form may share a number) and by their id; one without goes on with the last, until that is signed.
fn goes_on<'a>(blocks: &'a mut [Json], piece: &Json) -> Option<&'a mut Json> {
    let same = |block: &Json, name: &str| match (said(block, name), said(piece, name)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    let same = |block: &Json| same(block, "type") && same(block, "id");
    match said(piece, "index") {
        Some(index) => blocks
            .iter_mut()
            .rev()
            .find(|block| block.get("index") == Some(index) && same(block)),
        None => {
            let last = blocks.last_mut()?;
            let signed = last.get("signature").and_then(Json::as_str);
            let readable = TEXTS.iter().any(|name| last.get(*name).is_some());
            let open = readable && signed.is_none_or(str::is_empty);
            (open && said(last, "index").is_none() && same(last)).then_some(last)
        }
    }
}

fn said<'a>(block: &'a Json, name: &str) -> Option<&'a Json> {
    block.get(name).filter(|value| !value.is_null())
}

fn grow(block: &mut Json, piece: &Json) {
    let (Json::Object(block), Json::Object(piece)) = (block, piece) else {
        return;
    };
    for (name, value) in piece {
        let grows = TEXTS.contains(&name.as_str()) || name == DATA;
        match (block.get_mut(name), value) {
            (Some(Json::String(text)), Json::String(more)) if grows => text.push_str(more),
            // Nothing, and an empty text, take nothing away from what was said.
            (Some(_), Json::Null) => {}
            (Some(Json::String(_)), Json::String(more)) if more.is_empty() => {}
            _ => drop(block.insert(name.clone(), value.clone())),
        }
    }
}

fn push(blocks: &mut Vec<Json>, block: &Json) -> Result<(), ModelError> {
    if blocks.len() >= MAX_REASONING_DETAILS {
        return Err(too_large(format!("{MAX_REASONING_DETAILS} blocks")));
    }
    blocks.push(block.clone());
    Ok(())
}

fn too_large(what: String) -> ModelError {
    ModelError::new(
        ModelErrorKind::TooLarge,
        format!(
            "the reply's reasoning has more than {what} and was stopped there; ask for less reasoning effort"
        ),
    )
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
