//! Telling the model which tools there are and how to call them.
//!
//! One `ToolDefinition` is the source for every dialect and language: a list with a how-to and examples for
//! dialects that are text, declarations for providers that take them. The manifest carries the aliases it
//! used; replies to that prompt are read with them.

mod examples;
mod list;
mod native;
mod shape;
mod words;

use serde_json::Value as Json;

use crate::limits::MAX_MANIFEST_TOOLS;
use crate::{Aliases, Protocol, ToolDefinition, ToolKind};

use words::Words;

/// The language that the prompt is written in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum Locale {
    #[default]
    #[serde(rename = "en")]
    En,
    #[serde(rename = "zh")]
    Zh,
}

/// What is put before the model, and the names it uses there.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub aliases: Aliases,
    content: Content,
}

#[derive(Debug, Clone, PartialEq)]
enum Content {
    Text {
        whole: String,
        list: String,
        examples: Vec<String>,
    },
    Declarations(Json),
}

impl Manifest {
    /// The whole text for the prompt; `None` for native calls.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text { whole, .. } => Some(whole),
            Content::Declarations(_) => None,
        }
    }

    /// The provider's array of tool declarations; `None` for dialects that are text.
    pub fn declarations(&self) -> Option<&Json> {
        match &self.content {
            Content::Text { .. } => None,
            Content::Declarations(json) => Some(json),
        }
    }

    /// The part of the text that lists tools and skills. It never holds anything that reads as a call.
    pub fn list(&self) -> &str {
        match &self.content {
            Content::Text { list, .. } => list,
            Content::Declarations(_) => "",
        }
    }

    /// The replies shown as examples, one with each entry.
    pub fn examples(&self) -> &[String] {
        match &self.content {
            Content::Text { examples, .. } => examples,
            Content::Declarations(_) => &[],
        }
    }
}

/// Renders the tools of one snapshot. The first of several tools with one id counts.
pub fn render_manifest<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    protocol: Protocol,
    locale: Locale,
) -> Manifest {
    let mut seen = std::collections::HashSet::new();
    let mut all: Vec<_> = tools
        .into_iter()
        .filter(|tool| seen.insert(&tool.id))
        .collect();
    let left_out = all.len().saturating_sub(MAX_MANIFEST_TOOLS);
    all.truncate(MAX_MANIFEST_TOOLS);
    let aliases = Aliases::new(all.iter().copied(), protocol);
    let content = match protocol {
        Protocol::Native(provider) => {
            Content::Declarations(native::declarations(&all, provider, &aliases))
        }
        _ => text(&all, left_out, protocol, &aliases, Words::of(locale)),
    };
    Manifest { aliases, content }
}

/// How much of a manifest that is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The list, how to call, and examples.
    Whole,
    /// The list alone, for a model that knows how to call.
    List,
}

/// Some tools of a set in text, under the names that the whole set gives them: what is told of a part must not lead to another
/// tool of the whole. Nothing for native calls.
pub fn render_part<'t>(
    tools: impl IntoIterator<Item = &'t ToolDefinition>,
    aliases: &Aliases,
    protocol: Protocol,
    locale: Locale,
    extent: Extent,
) -> String {
    let mut all: Vec<_> = tools.into_iter().collect();
    let left_out = all.len().saturating_sub(MAX_MANIFEST_TOOLS);
    all.truncate(MAX_MANIFEST_TOOLS);
    match (protocol, extent) {
        (Protocol::Native(_), _) => String::new(),
        (_, Extent::List) if !all.is_empty() => {
            list::render(&all, left_out, protocol, aliases, Words::of(locale))
        }
        _ => match text(&all, left_out, protocol, aliases, Words::of(locale)) {
            Content::Text { whole, .. } => whole,
            Content::Declarations(_) => String::new(),
        },
    }
}

fn text(
    tools: &[&ToolDefinition],
    left_out: usize,
    protocol: Protocol,
    aliases: &Aliases,
    words: &'static Words,
) -> Content {
    if tools.is_empty() {
        return Content::Text {
            whole: words.none.to_owned(),
            list: words.none.to_owned(),
            examples: Vec::new(),
        };
    }
    let list = list::render(tools, left_out, protocol, aliases, words);
    let shown = examples::choose(tools, protocol, aliases, words);
    let mut whole = format!("{list}\n\n{}\n", words.how_to(protocol));
    if !shown.is_empty() {
        whole.push_str(&format!("\n{}\n", words.examples));
    }
    for (at, example) in shown.iter().enumerate() {
        whole.push_str(&format!(
            "\n{} {}{}{}\n",
            words.example,
            at + 1,
            words.colon,
            example.situation
        ));
        if let Some(heard) = &example.heard {
            whole.push_str(heard);
            whole.push('\n');
        }
        whole.push_str(&example.reply);
        whole.push('\n');
    }
    Content::Text {
        whole,
        list,
        examples: shown.into_iter().map(|example| example.reply).collect(),
    }
}

/// Workflows are skills even where a definition file does not say so.
fn is_skill(tool: &ToolDefinition) -> bool {
    tool.kind == ToolKind::Skill || tool.id.is_workflow()
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
