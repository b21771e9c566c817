//! What was understood of one reply of a model.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::{Map, Value as Json};

use crate::{Argument, Code, Diagnostic, Protocol, Source, Span, Text, ToolCallRequest, TypeHint};

/// The result of parsing: always there, whatever the text was.
///
/// Serialises to the form that `innkeeper parse` prints.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply<'a> {
    /// The whole text as the model wrote it.
    pub raw_text: Cow<'a, str>,
    /// What stands before the first call, trimmed: what the person is told.
    pub response_text: Cow<'a, str>,
    /// Everything outside the calls, trimmed at both ends.
    pub outside_text: Cow<'a, str>,
    /// What stands after the last call, trimmed; empty where there is no call.
    pub trailing_text: Cow<'a, str>,
    /// In the order in which they are to run.
    pub blocks: Vec<Block<'a>>,
    /// Of no block in particular.
    pub diagnostics: Vec<Diagnostic>,
}

/// Calls that were written together and run in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'a> {
    pub protocol: Protocol,
    pub request_id: Option<Cow<'a, str>>,
    pub comments: Vec<Cow<'a, str>>,
    /// Every field of a TAM block under its whole key in normal form, as written and in order: what `@{…}` may
    /// name, also where no call takes it. Empty for other dialects, and not serialised.
    pub keys: Vec<(Cow<'a, str>, Text<'a>)>,
    pub calls: Vec<ToolCallRequest<'a>>,
    pub diagnostics: Vec<Diagnostic>,
    pub span: Span,
}

impl<'a> Reply<'a> {
    /// A reply without any call.
    pub fn text(text: &'a str) -> Self {
        Self {
            raw_text: text.into(),
            response_text: text.trim().into(),
            outside_text: text.trim().into(),
            trailing_text: "".into(),
            blocks: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// All calls in the order in which they are to run, those of blocks with errors left out.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallRequest<'a>> {
        self.blocks
            .iter()
            .filter(|block| block.is_runnable())
            .flat_map(|block| &block.calls)
    }

    /// Every diagnostic, those of the blocks included, in order of position.
    pub fn all_diagnostics(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<_> = self
            .diagnostics
            .iter()
            .chain(self.blocks.iter().flat_map(|block| &block.diagnostics))
            .collect();
        all.sort_by_key(|diagnostic| diagnostic.span.start);
        all
    }

    pub fn into_owned(self) -> Reply<'static> {
        Reply {
            raw_text: own(self.raw_text),
            response_text: own(self.response_text),
            outside_text: own(self.outside_text),
            trailing_text: own(self.trailing_text),
            blocks: self.blocks.into_iter().map(Block::into_owned).collect(),
            diagnostics: self.diagnostics,
        }
    }
}

impl Block<'_> {
    /// A block with an error is told to the model, never run. Errors that only the tool can settle are left
    /// to `bind`, which refuses the call unless the tool declares that name.
    pub fn is_runnable(&self) -> bool {
        !self
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.is_error() && !diagnostic.code.is_left_to_bind())
    }

    pub fn into_owned(self) -> Block<'static> {
        Block {
            protocol: self.protocol,
            request_id: self.request_id.map(own),
            comments: self.comments.into_iter().map(own).collect(),
            keys: self
                .keys
                .into_iter()
                .map(|(key, text)| (own(key), text.into_owned()))
                .collect(),
            calls: self
                .calls
                .into_iter()
                .map(ToolCallRequest::into_owned)
                .collect(),
            diagnostics: self.diagnostics,
            span: self.span,
        }
    }
}

fn own<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}

/// Warning codes, each once, in the order in which they first appear.
fn warnings<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) -> Vec<Code> {
    let mut codes = Vec::new();
    for diagnostic in diagnostics.filter(|diagnostic| !diagnostic.is_error()) {
        if !codes.contains(&diagnostic.code) {
            codes.push(diagnostic.code);
        }
    }
    codes
}

/// The sentences of the errors.
fn errors<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) -> Vec<&'d str> {
    diagnostics
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| diagnostic.message.as_ref())
        .collect()
}

impl Serialize for Reply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.all_diagnostics();
        let mut out = serializer.serialize_struct("Reply", 7)?;
        out.serialize_field("responseText", &self.response_text)?;
        out.serialize_field("outsideText", &self.outside_text)?;
        out.serialize_field("trailingText", &self.trailing_text)?;
        out.serialize_field("blocks", &self.blocks)?;
        out.serialize_field("warnings", &warnings(all.iter().copied()))?;
        out.serialize_field("errors", &errors(all.iter().copied()))?;
        out.serialize_field("diagnostics", &all)?;
        out.end()
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("protocol", self.protocol.as_str())?;
        if let Protocol::Native(provider) = self.protocol {
            out.serialize_entry("provider", provider.as_str())?;
        }
        out.serialize_entry("requestId", &self.request_id)?;
        out.serialize_entry("comments", &self.comments)?;
        out.serialize_entry("commands", &self.calls)?;
        out.serialize_entry("warnings", &warnings(self.diagnostics.iter()))?;
        out.serialize_entry("errors", &errors(self.diagnostics.iter()))?;
        out.serialize_entry("span", &self.span)?;
        out.end()
    }
}

impl Serialize for ToolCallRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut hints = Map::new();
        for modifier in &self.modifiers {
            if let Some(name) = modifier.name.strip_prefix("type_hint_") {
                let said = modifier.to_json();
                let hint = said.as_str().and_then(TypeHint::read);
                hints.insert(
                    name.to_owned(),
                    hint.map_or(said, |hint| hint.as_str().into()),
                );
            }
        }
        let uris: Map<String, Json> = self
            .arguments
            .iter()
            .filter(|argument| argument.source == Source::Uri)
            .map(|argument| (argument.name.to_string(), Argument::to_json(argument)))
            .collect();

        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("index", &self.index)?;
        out.serialize_entry("toolId", &self.tool)?;
        if let Some(id) = &self.call_id {
            out.serialize_entry("callId", id)?;
        }
        out.serialize_entry("params", &self.params())?;
        out.serialize_entry("onError", &self.on_error)?;
        out.serialize_entry("retry", &self.retry)?;
        out.serialize_entry("typeHints", &hints)?;
        out.serialize_entry("uris", &uris)?;
        out.serialize_entry("span", &self.span)?;
        out.end()
    }
}
