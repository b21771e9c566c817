//! Native calls from their deltas.
//!
//! By the book a delta has an index, the first of a call also id and name, and arguments are pieces of text. Servers
//! leave each of these out, repeat them or give them another form; here it is decided which call a delta belongs to
//! and what of it is new.

use serde_json::{Map, Value as Json};

use super::{CALL, text};
use crate::limits::{MAX_CALL_NAME_BYTES, MAX_TOOL_CALLS};
use crate::{ModelError, ModelErrorKind, ModelEvent};

const EXTRA: &str = "extra_content";

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Where the calls of the last list that held several begin.
    group: usize,
}

#[derive(Debug, Default)]
struct Call {
    /// As the server counts.
    index: Option<u64>,
    id: String,
    /// Grows until the arguments begin.
    name: String,
    name_told: bool,
    /// Arguments have come.
    begun: bool,
    /// Arguments have come as an object without fields. Some mean it, others write text after it.
    empty_object: bool,
    braces: Braces,
    extra: Json,
}

/// One delta, read.
struct Delta<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: String,
    empty_object: bool,
    extra: Option<&'a Json>,
    /// Its place in the list, if it is not alone there.
    place: Option<usize>,
}

impl Calls {
    /// What a delta says.
    pub(super) fn pieces(
        &mut self,
        delta: &Map<String, Json>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let list = list(delta);
        let several = list.len() > 1;
        let group = self.calls.len();
        for (place, call) in list.iter().enumerate() {
            if let Json::Object(call) = call {
                let delta = Delta::read(call, several.then_some(place));
                self.take(&delta, self.find(&delta), out)?;
            }
        }
        if several && self.calls.len() > group {
            self.group = group;
        }
        Ok(())
    }

    /// The same for a message that came whole, where every entry is a call of its own.
    pub(super) fn whole(
        &mut self,
        message: &Map<String, Json>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        for call in list(message) {
            if let Json::Object(call) = call {
                self.take(&Delta::read(call, None), None, out)?;
            }
        }
        Ok(())
    }

    /// What was held back because more of it might have come.
    pub(super) fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        for (index, call) in (0..).zip(&mut self.calls) {
            call.finish(index, out);
        }
    }

    /// `found` is the call that goes on, if it is no new one.
    fn take(
        &mut self,
        delta: &Delta<'_>,
        found: Option<usize>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let at = match found {
            Some(at) => at,
            None => self.open(delta, out)?,
        };
        let is_last = at + 1 == self.calls.len();
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        let id = match call.id.is_empty() && !delta.id.is_empty() {
            true => {
                short_enough(delta.id.len())?;
                delta.id.clone_into(&mut call.id);
                Some(call.id.clone())
            }
            false => None,
        };
        call.add_name(delta.name)?;
        call.empty_object |= delta.empty_object;
        call.begun |= !delta.arguments.is_empty();
        call.braces.read(&delta.arguments);
        let name = (call.begun).then(|| call.tell_name()).flatten();
        if found.is_none() || id.is_some() || name.is_some() || !delta.arguments.is_empty() {
            out.push(ModelEvent::ToolCall {
                index: wire_index(at),
                id,
                name,
                arguments_delta: delta.arguments.clone(),
            });
        }
        // It stands right after its call, so it is lost where another call has begun since. No server is known to do so.
        if let Some(extra) = delta.extra
            && is_last
            && call.extra != *extra
        {
            call.extra = extra.clone();
            let mut value = Map::new();
            value.insert(EXTRA.to_owned(), extra.clone());
            out.push(ModelEvent::Opaque {
                provider: CALL.to_owned(),
                value: Json::Object(value),
            });
        }
        Ok(())
    }

    fn open(&mut self, delta: &Delta<'_>, out: &mut Vec<ModelEvent>) -> Result<usize, ModelError> {
        let at = self.calls.len();
        if at >= MAX_TOOL_CALLS {
            return Err(ModelError::new(
                ModelErrorKind::TooLarge,
                format!(
                    "the reply has more than {MAX_TOOL_CALLS} tool calls and was stopped there"
                ),
            ));
        }
        if let Some(last) = self.calls.last_mut() {
            last.finish(wire_index(at.saturating_sub(1)), out);
        }
        self.calls.push(Call {
            index: delta.index,
            ..Call::default()
        });
        Ok(at)
    }

    /// The call that goes on with this; `None` for a new one.
    fn find(&self, delta: &Delta<'_>) -> Option<usize> {
        let latest = |is: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(is);
        let at = match (delta.index, delta.id) {
            // The same index for different calls is known, so the id counts where it fits one of them.
            (Some(index), id) => latest(&|call| call.index == Some(index) && call.id == id)
                .filter(|_| !id.is_empty())
                .or_else(|| latest(&|call| call.index == Some(index)))?,
            (None, "") => match delta.place {
                Some(place) if delta.name.is_empty() => self.group + place,
                Some(_) => return None,
                None => self.calls.len().checked_sub(1)?,
            },
            (None, id) => latest(&|call| call.id == id)?,
        };
        let call = self.calls.get(at)?;
        call.goes_on_with(delta).then_some(at)
    }
}

impl Call {
    /// Only a name can begin another call: who repeats an index or an id without one goes on.
    fn goes_on_with(&self, delta: &Delta<'_>) -> bool {
        let two_ids = !self.id.is_empty() && !delta.id.is_empty() && self.id != delta.id;
        if delta.name.is_empty() || self.name.is_empty() {
            return delta.name.is_empty() || !two_ids;
        }
        let renamed = delta.name != self.name;
        // The arguments are complete, and more come.
        let again =
            self.braces.closed && (renamed || delta.arguments.trim_start().starts_with('{'));
        match (delta.index.is_some(), delta.id.is_empty()) {
            _ if two_ids => self.begun && !self.braces.closed && !renamed,
            (true, false) => true,
            (true, true) | (false, false) => !again,
            (false, true) => self.begun && !self.braces.closed && !renamed,
        }
    }

    /// A name may be repeated with every delta, come in pieces, or grow.
    fn add_name(&mut self, name: &str) -> Result<(), ModelError> {
        if self.name_told || name == self.name {
            return Ok(());
        }
        if name.starts_with(&self.name) {
            self.name.clear();
        }
        short_enough(self.name.len() + name.len())?;
        self.name.push_str(name);
        Ok(())
    }

    fn tell_name(&mut self) -> Option<String> {
        let tells = !self.name_told && !self.name.is_empty();
        self.name_told |= tells;
        tells.then(|| self.name.clone())
    }

    fn finish(&mut self, index: u32, out: &mut Vec<ModelEvent>) {
        let name = self.tell_name();
        let bare = self.empty_object && !self.begun;
        self.begun |= bare;
        self.braces.closed |= bare;
        if bare || name.is_some() {
            out.push(ModelEvent::ToolCall {
                index,
                id: None,
                name,
                arguments_delta: if bare { "{}".into() } else { String::new() },
            });
        }
    }
}

impl<'a> Delta<'a> {
    fn read(fields: &'a Map<String, Json>, place: Option<usize>) -> Self {
        let function = fields.get("function").and_then(Json::as_object);
        let function = function.unwrap_or(fields);
        let arguments = function.get("arguments");
        let empty_object = arguments
            .and_then(Json::as_object)
            .is_some_and(Map::is_empty);
        let arguments = match arguments {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(_) if empty_object => String::new(),
            Some(other) => other.to_string(),
        };
        Self {
            index: fields.get("index").and_then(Json::as_u64),
            id: text(fields, "id").unwrap_or_default(),
            name: text(function, "name").unwrap_or_default(),
            arguments,
            empty_object,
            extra: fields.get(EXTRA).filter(|extra| !extra.is_null()),
            place,
        }
    }
}

/// `tool_calls`, or the older `function_call`, which is one call without an id.
fn list(said: &Map<String, Json>) -> &[Json] {
    match (said.get("tool_calls"), said.get("function_call")) {
        (Some(Json::Array(list)), _) if !list.is_empty() => list,
        (Some(call @ Json::Object(_)), _) | (_, Some(call @ Json::Object(_))) => {
            std::slice::from_ref(call)
        }
        _ => &[],
    }
}

/// Whether an object has been closed, told piece by piece.
#[derive(Debug, Default)]
struct Braces {
    depth: usize,
    in_text: bool,
    escaped: bool,
    closed: bool,
}

impl Braces {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

fn wire_index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn short_enough(bytes: usize) -> Result<(), ModelError> {
    if bytes <= MAX_CALL_NAME_BYTES {
        return Ok(());
    }
    let said = "the id or name of a tool call has more than";
    Err(ModelError::new(
        ModelErrorKind::TooLarge,
        format!("{said} {MAX_CALL_NAME_BYTES} bytes; the server does not speak this format"),
    ))
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
