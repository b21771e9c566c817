//! A grammar that lets a model write nothing but calls of the tools it has.
//!
//! For servers that hold a reply to GBNF (llama.cpp and what is built on it): even a tiny model then calls tools
//! correctly. Whatever the grammar lets through is read by the parser of `innkeeper-protocol` as calls of these
//! tools, and fits their declared types. `shape` reads the schemas, `json`, `tam` and `action` write rules,
//! `rules` holds them. What a type does not say (patterns, formats, lengths, most ranges) is wider here than in
//! the schema, and the validator has the last word.

mod action;
mod classes;
mod json;
mod rules;
mod shape;
mod tam;

use std::collections::HashSet;

use innkeeper_protocol::{Aliases, Protocol, ToolDefinition};

use crate::limits::{
    MAX_GRAMMAR_BYTES, MAX_GRAMMAR_CALLS, MAX_GRAMMAR_DEPTH, MAX_GRAMMAR_SHAPES, MAX_GRAMMAR_TOOLS,
};
use rules::Rules;
use shape::{Field, Reader, Shape};

/// What a grammar allows beside the shape of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrammarOptions {
    /// The model may say something before it calls, or only say something.
    pub free_text: bool,
    /// How many calls one reply may hold.
    pub max_calls: usize,
}

impl Default for GrammarOptions {
    fn default() -> Self {
        Self {
            free_text: false,
            max_calls: 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    #[error(
        "native calls need no grammar of ours: the server itself holds them to the tools it is told of; \
         use TAM or ACTION, or leave the grammar out"
    )]
    Native,
    #[error("there is no grammar for the dialect '{0}'; use TAM or ACTION")]
    Dialect(&'static str),
    #[error("a grammar needs a tool that can be called; leave it out where there is none")]
    NoTools,
    #[error("{0} tools are too many for one grammar: offer at most {MAX_GRAMMAR_TOOLS}")]
    TooManyTools(usize),
    #[error("a reply under a grammar holds 1 to {MAX_GRAMMAR_CALLS} calls, not {0}")]
    CallCount(usize),
    #[error(
        "the tools' schemas make a grammar of more than {MAX_GRAMMAR_BYTES} bytes or {MAX_GRAMMAR_SHAPES} parts; \
         offer fewer or simpler tools"
    )]
    TooLarge,
    #[error(
        "tool '{tool}': nothing can be written for the required parameter '{parameter}'; its schema allows no \
         value, or nests more than {MAX_GRAMMAR_DEPTH} levels"
    )]
    Impossible { tool: String, parameter: String },
}

/// The grammar, in GBNF, of replies that call `tools` in one dialect. Its root rule is `root`.
///
/// Names stand in it as [`Aliases`] of the same tools gives them, parameters in the declared order. The first of
/// several tools with one id counts.
pub fn grammar(
    tools: &[&ToolDefinition],
    protocol: Protocol,
    options: GrammarOptions,
) -> Result<String, GrammarError> {
    let dialect = match protocol {
        Protocol::Tam => Dialect::Tam,
        Protocol::Action => Dialect::Action,
        Protocol::ToolCall => return Err(GrammarError::Dialect(protocol.as_str())),
        Protocol::Native(_) => return Err(GrammarError::Native),
    };
    if !(1..=MAX_GRAMMAR_CALLS).contains(&options.max_calls) {
        return Err(GrammarError::CallCount(options.max_calls));
    }
    let mut seen = HashSet::new();
    let tools: Vec<_> = tools.iter().filter(|tool| seen.insert(&tool.id)).collect();
    match tools.len() {
        0 => return Err(GrammarError::NoTools),
        count if count > MAX_GRAMMAR_TOOLS => return Err(GrammarError::TooManyTools(count)),
        _ => {}
    }
    let aliases = Aliases::new(tools.iter().map(|tool| **tool), protocol);
    let mut rules = Rules::default();
    let mut calls = Vec::with_capacity(tools.len());
    for tool in &tools {
        let fields = fields(tool)?;
        calls.push(match dialect {
            Dialect::Tam => tam::call(&mut rules, tool, &fields, &aliases),
            Dialect::Action => action::call(&mut rules, tool, &fields, &aliases),
        });
        rules.next_tool();
        if rules.is_overfull() {
            return Err(GrammarError::TooLarge);
        }
    }
    let call = rules.add("call", calls.join(" | "));
    let calls = match dialect {
        Dialect::Tam => tam::reply(&call, options.max_calls),
        Dialect::Action => action::reply(&call, options.max_calls),
    };
    let root = match options.free_text {
        true => {
            let said = said(&mut rules);
            let calls = rules.add("calls", calls);
            format!("{calls} | {said} (\"\\n\" {calls})?")
        }
        false => calls,
    };
    rules.finish(&root).ok_or(GrammarError::TooLarge)
}

#[derive(Debug, Clone, Copy)]
enum Dialect {
    Tam,
    Action,
}

/// The parameters that can be written. An optional one for which there is no value is left out.
fn fields(tool: &ToolDefinition) -> Result<Vec<Field<'_>>, GrammarError> {
    let impossible = |name: &str| GrammarError::Impossible {
        tool: tool.id.to_string(),
        parameter: name.to_owned(),
    };
    let required = tool.required();
    let mut reader = Reader::new(&tool.parameters);
    let mut fields = Vec::new();
    let mut declared = HashSet::new();
    for (name, schema) in tool.properties() {
        declared.insert(name);
        let shape = reader.read(schema);
        let required = required.contains(name);
        match *shape {
            Shape::Never if required => return Err(impossible(name)),
            Shape::Never => {}
            _ => fields.push(Field {
                name,
                schema,
                shape,
                required,
            }),
        }
    }
    if reader.is_overfull() {
        return Err(GrammarError::TooLarge);
    }
    match required.difference(&declared).min() {
        // Nobody says what it is, so nobody can say how to write it.
        Some(name) => Err(impossible(name)),
        None => Ok(fields),
    }
}

/// Words in which no parser finds the beginning of a call, in any dialect; at least one of them.
fn said(rules: &mut Rules) -> String {
    rules.fixed(
        "said-less",
        r#"([ \t] said-less | "<" said-less | [^<|aAtT \t\x00-\x08\x0B-\x1F\x7F] said-more)?"#,
    );
    rules.fixed(
        "said-more",
        r#"([^<\x00-\x08\x0B-\x1F\x7F] said-more | "<" said-less)?"#,
    );
    rules.fixed(
        "said",
        r#"[^< \t\n\x00-\x08\x0B-\x1F\x7F] said-more | "<" said-less"#,
    )
}

#[cfg(test)]
mod gbnf;
#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
