//! One call as the model asked for it, before it is bound to a tool.
//!
//! Owns the one shape that every dialect becomes. Values stay borrowed from the model's text; what they
//! mean for a particular tool (types, declared spelling) is `bind`'s business.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use crate::Span;
use crate::limits::MAX_RETRY;

/// The way a call was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    Tam,
    Action,
    ToolCall,
    Native(Provider),
}

/// Whose wire format a native call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Protocol {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tam => "tam",
            Self::Action => "action",
            Self::ToolCall => "tool-call",
            Self::Native(_) => "native",
        }
    }

    /// TAM keys are matched by normalised form; every other dialect is exact.
    pub const fn normalises_keys(self) -> bool {
        matches!(self, Self::Tam)
    }
}

impl Provider {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// What happens to the rest of a block when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    #[default]
    Stop,
    Continue,
}

impl OnError {
    /// Reads it as a model writes it: any letter case, blanks around it.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "stop" => Some(Self::Stop),
            "continue" => Some(Self::Continue),
            _ => None,
        }
    }
}

/// How often a failed step is tried again, as a model writes it.
pub(crate) fn read_retry(text: &str) -> Option<u8> {
    let times = text.trim().parse().ok()?;
    (times <= MAX_RETRY).then_some(times)
}

/// How the text of a parameter is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeHint {
    Text,
    Json,
    Base64,
    Number,
    Boolean,
    Raw,
}

impl TypeHint {
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Json,
        Self::Base64,
        Self::Number,
        Self::Boolean,
        Self::Raw,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Base64 => "base64",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Raw => "raw",
        }
    }

    /// Reads a hint as a model writes it: any letter case, blanks around it.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL
            .into_iter()
            .find(|hint| text.eq_ignore_ascii_case(hint.as_str()))
    }
}

/// One call. `'a` is the model's text; `into_owned` lets it outlive that.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRequest<'a> {
    pub protocol: Protocol,
    /// The id a provider gave the call, or the `id` attribute of a `<tool_call>`.
    pub call_id: Option<Cow<'a, str>>,
    /// `request_id` of the TAM block the call stands in.
    pub request_id: Option<Cow<'a, str>>,
    /// Step number in its block; 1 for a single call.
    pub index: u32,
    /// The tool as the model named it, trimmed.
    pub tool: Cow<'a, str>,
    /// In the order they were written, shared (`common_`) ones last.
    pub arguments: Vec<Argument<'a>>,
    /// Fields that were read as `on_error`, `retry` or `type_hint_x`. A tool that declares a parameter of
    /// that very name gets the value instead (`bind` decides).
    pub modifiers: Vec<Argument<'a>>,
    pub on_error: OnError,
    pub retry: u8,
    /// Where the call stands in the text; empty for native calls.
    pub span: Span,
}

/// One parameter of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument<'a> {
    /// TAM: normalised, without step number and without `uri_` / `common_` prefix. Otherwise exact.
    pub name: Cow<'a, str>,
    /// TAM: the whole normalised key as written (`uri_image_1`, `common_dir`). Otherwise equal to `name`.
    pub written: Cow<'a, str>,
    pub source: Source,
    pub value: Value<'a>,
    /// From `type_hint_<name>`; only TAM has it.
    pub hint: Option<TypeHint>,
    /// Came from a `common_` key.
    pub shared: bool,
    pub span: Span,
}

/// Whether the value was written out or is a reference to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    Inline,
    /// `uri_x`: the value is a URI, and the tool gets what stands there.
    Uri,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Text(Text<'a>),
    Tree(Tree<'a>),
    Json(Json),
}

/// A TAM value, exactly as it stands between its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    raw: Cow<'a, str>,
    /// White space that begins every line of the block and belongs to its layout.
    indent: Cow<'a, str>,
}

/// An XML value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<'a> {
    pub node: Node<'a>,
    /// The element's inner XML as written, for a parameter that turns out to be a string of markup.
    pub inner: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node<'a> {
    Text(Cow<'a, str>),
    Array(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

fn own<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}

impl<'a> ToolCallRequest<'a> {
    /// A call with no arguments, to be filled by a parser or a test.
    pub fn new(protocol: Protocol, tool: impl Into<Cow<'a, str>>) -> Self {
        Self {
            protocol,
            call_id: None,
            request_id: None,
            index: 1,
            tool: tool.into(),
            arguments: Vec::new(),
            modifiers: Vec::new(),
            on_error: OnError::Stop,
            retry: 0,
            span: Span::default(),
        }
    }

    pub fn into_owned(self) -> ToolCallRequest<'static> {
        ToolCallRequest {
            protocol: self.protocol,
            call_id: self.call_id.map(own),
            request_id: self.request_id.map(own),
            index: self.index,
            tool: own(self.tool),
            arguments: self
                .arguments
                .into_iter()
                .map(Argument::into_owned)
                .collect(),
            modifiers: self
                .modifiers
                .into_iter()
                .map(Argument::into_owned)
                .collect(),
            on_error: self.on_error,
            retry: self.retry,
            span: self.span,
        }
    }

    /// Inline arguments as JSON, text still untyped: what `innkeeper parse` shows as `params`.
    pub fn params(&self) -> Map<String, Json> {
        self.arguments
            .iter()
            .filter(|argument| argument.source == Source::Inline)
            .map(|argument| (argument.name.to_string(), argument.to_json()))
            .collect()
    }
}

impl<'a> Argument<'a> {
    /// An inline argument whose name needs no normalising.
    pub fn exact(name: impl Into<Cow<'a, str>>, value: Value<'a>, span: Span) -> Self {
        let name = name.into();
        Self {
            written: name.clone(),
            name,
            source: Source::Inline,
            value,
            hint: None,
            shared: false,
            span,
        }
    }

    pub fn into_owned(self) -> Argument<'static> {
        Argument {
            name: own(self.name),
            written: own(self.written),
            source: self.source,
            value: self.value.into_owned(),
            hint: self.hint,
            shared: self.shared,
            span: self.span,
        }
    }

    /// The value before any schema is known: text as a string (verbatim under a `raw` hint).
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Text(text) if self.hint == Some(TypeHint::Raw) => text.verbatim().into(),
            value => value.to_json(),
        }
    }
}

impl<'a> Value<'a> {
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(text.into_owned()),
            Self::Tree(tree) => Value::Tree(tree.into_owned()),
            Self::Json(json) => Value::Json(json),
        }
    }

    /// Puts other text in place of any text in the value, also deep inside it: how `@{…}` is filled in before
    /// the call is bound. `None` leaves a text as it is.
    pub fn map_text(&mut self, with: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::Text(text) => {
                // What is put in has no part in the block's layout.
                let dedented = text.dedented();
                if let Some(raw) = with(&dedented) {
                    *text = Text::new(raw, "");
                }
            }
            Self::Tree(tree) => tree.map_text(with),
            Self::Json(json) => map_json(json, with),
        }
    }

    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => text.trimmed().into(),
            Self::Tree(tree) => tree.to_json(),
            Self::Json(json) => json.clone(),
        }
    }
}

impl<'a> Text<'a> {
    pub fn new(raw: impl Into<Cow<'a, str>>, indent: impl Into<Cow<'a, str>>) -> Self {
        Self {
            raw: raw.into(),
            indent: indent.into(),
        }
    }

    pub fn into_owned(self) -> Text<'static> {
        Text {
            raw: own(self.raw),
            indent: own(self.indent),
        }
    }

    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The default reading: without the block's common indentation, trimmed at both ends.
    pub fn trimmed(&self) -> Cow<'_, str> {
        match self.dedented() {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        }
    }

    pub(crate) fn into_trimmed(self) -> Cow<'a, str> {
        match self.raw {
            Cow::Borrowed(raw) if self.indent.is_empty() => Cow::Borrowed(raw.trim()),
            _ => Cow::Owned(self.trimmed().into_owned()),
        }
    }

    /// For file contents and the like: without the block's common indentation, and without the one line
    /// break (and the blanks that lay it out) next to each mark. Nothing else is touched.
    pub fn verbatim(&self) -> Cow<'_, str> {
        match self.dedented() {
            Cow::Borrowed(text) => Cow::Borrowed(strip_layout(text)),
            Cow::Owned(text) => Cow::Owned(strip_layout(&text).to_owned()),
        }
    }

    fn dedented(&self) -> Cow<'_, str> {
        if self.indent.is_empty() || !self.raw.contains('\n') {
            return Cow::Borrowed(&self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        for (at, line) in self.raw.split_inclusive('\n').enumerate() {
            let line = match line.strip_prefix(self.indent.as_ref()) {
                Some(rest) if at > 0 => rest,
                // A blank line may be shorter than the indentation.
                None if at > 0 && line.trim().is_empty() => line.trim_start_matches([' ', '\t']),
                _ => line,
            };
            out.push_str(line);
        }
        Cow::Owned(out)
    }
}

/// Removes one line break at each end, with the blanks between it and the mark.
pub(crate) fn strip_layout(text: &str) -> &str {
    let head = text.trim_start_matches([' ', '\t']);
    let text = head
        .strip_prefix("\r\n")
        .or_else(|| head.strip_prefix('\n'))
        .unwrap_or(text);
    let tail = text.trim_end_matches([' ', '\t']);
    tail.strip_suffix("\r\n")
        .or_else(|| tail.strip_suffix('\n'))
        .unwrap_or(text)
}

impl<'a> Tree<'a> {
    pub fn into_owned(self) -> Tree<'static> {
        Tree {
            inner: own(self.inner),
            node: match self.node {
                Node::Text(text) => Node::Text(own(text)),
                Node::Array(items) => {
                    Node::Array(items.into_iter().map(Tree::into_owned).collect())
                }
                Node::Object(fields) => Node::Object(
                    fields
                        .into_iter()
                        .map(|(name, tree)| (own(name), tree.into_owned()))
                        .collect(),
                ),
            },
        }
    }

    /// `inner` is what is handed on where a text was meant, so it changes with the texts in it.
    fn map_text(&mut self, with: &mut dyn FnMut(&str) -> Option<String>) {
        if let Some(inner) = with(&self.inner) {
            self.inner = Cow::Owned(inner);
        }
        match &mut self.node {
            Node::Text(text) => {
                if let Some(new) = with(text) {
                    *text = Cow::Owned(new);
                }
            }
            Node::Array(items) => items.iter_mut().for_each(|item| item.map_text(with)),
            Node::Object(fields) => fields
                .iter_mut()
                .for_each(|(_, field)| field.map_text(with)),
        }
    }

    pub fn to_json(&self) -> Json {
        match &self.node {
            Node::Text(text) => Json::String(text.to_string()),
            Node::Array(items) => items.iter().map(Tree::to_json).collect(),
            Node::Object(fields) => fields
                .iter()
                .map(|(name, tree)| (name.to_string(), tree.to_json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }
}

fn map_json(json: &mut Json, with: &mut dyn FnMut(&str) -> Option<String>) {
    match json {
        Json::String(text) => {
            if let Some(new) = with(text) {
                *text = new;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| map_json(item, with)),
        Json::Object(fields) => fields.values_mut().for_each(|field| map_json(field, with)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
