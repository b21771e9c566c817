//! The list of tools and skills: one entry a line, whatever the descriptions contain.

use std::fmt::Write;

use super::is_skill;
use super::shape::{self, Shape};
use super::words::Words;
use crate::defuse::one_line;
use crate::limits::{
    MAX_DESCRIPTION_CHARS, MAX_PARAMETER_DESCRIPTION_CHARS, MAX_SHOWN_DEPTH, MAX_SHOWN_PARAMETERS,
};
use crate::{Aliases, ExecutionMode, Protocol, ToolDefinition};

pub(super) fn render(
    tools: &[&ToolDefinition],
    left_out: usize,
    protocol: Protocol,
    aliases: &Aliases,
    words: &Words,
) -> String {
    let (skills, tools): (Vec<_>, Vec<_>) = tools.iter().copied().partition(|tool| is_skill(tool));
    let mut out = match (tools.is_empty(), skills.is_empty()) {
        (false, false) => words.both,
        (false, true) => words.only_tools,
        _ => words.only_skills,
    }
    .to_owned();
    for (heading, entries) in [(words.tools, tools), (words.skills, skills)] {
        if entries.is_empty() {
            continue;
        }
        let _ = write!(out, "\n\n{heading}\n");
        for tool in entries {
            let mut entry = Entry {
                out: &mut out,
                words,
                protocol,
                root: &tool.parameters,
                lines: 0,
            };
            entry.tool(tool, aliases);
        }
    }
    if left_out > 0 {
        let _ = write!(out, "\n\n{}", words.more_tools(left_out));
    }
    out
}

struct Entry<'e> {
    out: &'e mut String,
    words: &'e Words,
    protocol: Protocol,
    /// Where `$ref` points into.
    root: &'e serde_json::Value,
    lines: usize,
}

impl<'e> Entry<'e> {
    fn tool(&mut self, tool: &'e ToolDefinition, aliases: &Aliases) {
        let words = self.words;
        let name = self.name(aliases.alias_of(&tool.id));
        let mut description = one_line(&tool.description, MAX_DESCRIPTION_CHARS);
        if tool.execution.mode == ExecutionMode::Async {
            push_sentence(&mut description, words.in_background, words);
        }
        let _ = write!(self.out, "\n*   {name}{}{description}", words.colon);
        let mut properties = tool.properties().peekable();
        if properties.peek().is_none() {
            return;
        }
        let _ = write!(self.out, "\n    *   {}", words.parameters);
        for (declared, schema) in properties {
            let name = self.name(aliases.parameter_alias(&tool.id, declared));
            let wanted = Some(tool.is_required(declared));
            self.parameter(&name, schema, wanted, 2);
        }
        if let Some(more @ 1..) = self.lines.checked_sub(MAX_SHOWN_PARAMETERS) {
            let _ = write!(self.out, "\n        *   {}", words.more_parameters(more));
        }
    }

    /// A name as it is to be written in a call.
    fn name(&self, name: &str) -> String {
        let name = one_line(name, crate::limits::MAX_ALIAS_BYTES).replace('`', "'");
        match self.protocol {
            Protocol::Action => format!("`<{name}>`"),
            _ => format!("`{name}`"),
        }
    }

    fn parameter(
        &mut self,
        name: &str,
        schema: &'e serde_json::Value,
        wanted: Option<bool>,
        level: usize,
    ) {
        self.lines += 1;
        if self.lines > MAX_SHOWN_PARAMETERS {
            return;
        }
        let words = self.words;
        let shape = Shape::of(schema, self.root);
        let mut facts = shape.kind_name(words);
        if let Some(wanted) = wanted {
            facts.push_str(words.comma);
            facts.push_str(if wanted {
                words.required
            } else {
                words.optional
            });
        }
        let mut said = one_line(shape.description(), MAX_PARAMETER_DESCRIPTION_CHARS);
        for sentence in shape.details(words) {
            push_sentence(&mut said, &sentence, words);
        }
        let indent = "    ".repeat(level);
        let (open, close) = words.brackets;
        let _ = write!(self.out, "\n{indent}*   {name}{open}{facts}{close}");
        if !said.is_empty() {
            let _ = write!(self.out, "{}{said}", words.colon);
        }
        if level - 1 < MAX_SHOWN_DEPTH {
            self.inside(&shape, level + 1);
        }
    }

    fn inside(&mut self, shape: &Shape<'e>, level: usize) {
        for (name, schema) in shape.fields() {
            let wanted = shape::is_required(shape.schema(), name);
            let name = self.name(name);
            self.parameter(&name, schema, Some(wanted), level);
        }
        // A list of plain strings says so in its type; only entries with more to say get a line.
        if let Some(items) = shape.items()
            && Shape::of(items, self.root).has_more_than_a_type()
        {
            let name = match self.protocol {
                Protocol::Action => self.name("item"),
                _ => self.words.each_entry.to_owned(),
            };
            self.parameter(&name, items, None, level);
        }
    }
}

fn push_sentence(text: &mut String, sentence: &str, words: &Words) {
    if !text.is_empty() {
        if !text.ends_with(['.', '!', '?', ':', '。', '！', '？', '：', '…']) {
            text.push_str(words.full_stop);
        }
        text.push_str(words.space);
    }
    text.push_str(sentence);
}
