//! Examples: what a tool's author gave, and where nothing was given, something made from the schema.
//!
//! A manifest shows a call, a value of several lines, an answer without a call, and a correction after an
//! error, as far as the tools allow. Every call is written by `render_call`, so it is one the parser takes.

use serde_json::{Map, Value as Json};

use super::shape::is_required;
use super::words::Words;
use crate::defuse::one_line;
use crate::limits::{
    MAX_EXAMPLE_CHARS, MAX_EXAMPLES, MAX_PARAMETER_DESCRIPTION_CHARS, MAX_SAMPLED_VALUES,
};
use crate::observation::{Observation, ParameterProblem, render_observation};
use crate::reference::resolved;
use crate::{Aliases, Call, Protocol, Step, ToolDefinition, key, render_call};

pub(super) struct Example {
    /// A few words: what it shows.
    pub(super) situation: String,
    /// What the model had been told before.
    pub(super) heard: Option<String>,
    pub(super) reply: String,
}

pub(super) fn choose(
    tools: &[&ToolDefinition],
    protocol: Protocol,
    aliases: &Aliases,
    words: &Words,
) -> Vec<Example> {
    let writer = Writer {
        protocol,
        aliases,
        words,
    };
    let mut out = writer.given(tools);
    let has_long = |example: &Example| has_long_value(&example.reply, protocol);
    let long = tools.iter().find(|tool| long_parameter(tool).is_some());
    if out.is_empty() {
        // Two examples show more with two tools.
        let takes_something = |tool: &&&ToolDefinition| tool.properties().next().is_some();
        let is_long = |tool: &ToolDefinition| long.is_some_and(|long| long.id == tool.id);
        let first = tools
            .iter()
            .filter(takes_something)
            .find(|tool| !is_long(tool))
            .or(tools.iter().find(takes_something))
            .or(tools.first());
        out.extend(first.and_then(|tool| writer.made(tool)));
    }
    if !out.iter().any(has_long) {
        out.extend(long.and_then(|tool| writer.long(tool)));
    }
    out.push(Example {
        situation: words.say.no_call.to_owned(),
        heard: None,
        reply: words.say.no_call_reply.to_owned(),
    });
    out.extend(tools.iter().find_map(|tool| writer.correction(tool)));
    out
}

/// Whether a call already shows how several lines are written.
fn has_long_value(reply: &str, protocol: Protocol) -> bool {
    match protocol {
        Protocol::Tam => reply.contains("»»»\n") || reply.contains("「始」\n"),
        _ => reply.contains("<![CDATA[\n"),
    }
}

struct Writer<'w> {
    protocol: Protocol,
    aliases: &'w Aliases,
    words: &'w Words,
}

impl Writer<'_> {
    fn given(&self, tools: &[&ToolDefinition]) -> Vec<Example> {
        tools
            .iter()
            .flat_map(|tool| tool.examples.iter().map(move |example| (tool, example)))
            .filter_map(|(tool, example)| {
                let said = one_line(&example.situation, MAX_PARAMETER_DESCRIPTION_CHARS);
                let reason = match said.is_empty() {
                    true => self.words.say.reason,
                    false => &said,
                };
                let reply = self.reply(tool, &example.arguments, reason)?;
                Some(Example {
                    situation: self.words.say.call.to_owned(),
                    heard: None,
                    reply,
                })
            })
            .take(MAX_EXAMPLES)
            .collect()
    }

    fn made(&self, tool: &ToolDefinition) -> Option<Example> {
        let arguments = sample_arguments(tool, self.words)?;
        Some(Example {
            situation: self.words.say.call.to_owned(),
            heard: None,
            reply: self.reply(tool, &arguments, self.words.say.reason)?,
        })
    }

    fn long(&self, tool: &ToolDefinition) -> Option<Example> {
        let parameter = long_parameter(tool)?;
        let mut arguments = sample_arguments(tool, self.words)?;
        arguments.insert(parameter.to_owned(), self.words.say.long_value.into());
        Some(Example {
            situation: self.words.say.long_call.to_owned(),
            heard: None,
            reply: self.reply(tool, &arguments, self.words.say.long_reason)?,
        })
    }

    fn correction(&self, tool: &ToolDefinition) -> Option<Example> {
        let arguments = sample_arguments(tool, self.words)?;
        let right = arguments.keys().next()?;
        let right = self.aliases.parameter_alias(&tool.id, right);
        let wrong = misspelt(right, self.protocol);
        let problem = ParameterProblem {
            message: format!("Unknown parameter '{wrong}', did you mean '{right}'?"),
            ..ParameterProblem::default()
        };
        let name = self.aliases.alias_of(&tool.id);
        let told = Observation::invalid_arguments(name, vec![problem]);
        Some(Example {
            situation: self.words.say.correction.to_owned(),
            heard: Some(render_observation(&told)),
            reply: self.reply(tool, &arguments, self.words.say.correction_reason)?,
        })
    }

    fn reply(
        &self,
        tool: &ToolDefinition,
        arguments: &Map<String, Json>,
        reason: &str,
    ) -> Option<String> {
        let call = Call {
            steps: vec![Step {
                schema: Some(&tool.parameters),
                ..Step::new(&tool.id, arguments)
            }],
            request_id: None,
        };
        let rendered = render_call(&call, self.protocol, self.aliases).ok()?;
        let reply = format!("{reason}\n{}", rendered.text()?);
        (reply.chars().count() <= MAX_EXAMPLE_CHARS).then_some(reply)
    }
}

/// A wrong name that a model might well choose. In TAM another spelling is no mistake.
fn misspelt(right: &str, protocol: Protocol) -> String {
    let mut camel = String::new();
    let mut up = false;
    for c in right.chars() {
        match c {
            '_' => up = true,
            c if up => {
                camel.extend(c.to_uppercase());
                up = false;
            }
            c => camel.push(c),
        }
    }
    match protocol {
        Protocol::Tam => format!("{right}_value"),
        _ if camel == right => format!("{right}Value"),
        _ => camel,
    }
}

/// A parameter that is likely to hold several lines: one that says so, then one whose name does.
fn long_parameter(tool: &ToolDefinition) -> Option<&str> {
    const NAMES: [&str; 9] = [
        "content", "text", "code", "diff", "patch", "body", "script", "source", "message",
    ];
    let strings = || {
        tool.properties().filter(|(_, schema)| {
            schema.get("type").is_some_and(|kind| kind == "string")
                && schema.get("enum").is_none()
                && schema.get("format").is_none()
                && schema.get("pattern").is_none()
                && schema.get("maxLength").is_none()
        })
    };
    strings()
        .find(|(_, schema)| schema.get("x-verbatim").is_some_and(|yes| yes == true))
        .or_else(|| {
            strings().find(|(name, _)| {
                let name = key::normalise(name);
                name.split('_').any(|word| NAMES.contains(&word))
            })
        })
        .map(|(name, _)| name)
}

/// What is required; where nothing is, the first parameter. `None` where the schema asks for too much.
fn sample_arguments(tool: &ToolDefinition, words: &Words) -> Option<Map<String, Json>> {
    let mut sampler = Sampler {
        root: &tool.parameters,
        words,
        left: MAX_SAMPLED_VALUES,
    };
    let required: Vec<_> = tool
        .properties()
        .filter(|(name, _)| tool.is_required(name))
        .collect();
    let wanted = match required.is_empty() {
        true => tool.properties().take(1).collect(),
        false => required,
    };
    wanted
        .into_iter()
        .map(|(name, schema)| Some((name.to_owned(), sampler.value(name, schema)?)))
        .collect()
}

/// Values that fit a schema. A schema that refers to itself would ask for values without end.
struct Sampler<'s> {
    root: &'s Json,
    words: &'s Words,
    left: usize,
}

impl Sampler<'_> {
    fn value(&mut self, name: &str, schema: &Json) -> Option<Json> {
        self.left = self.left.checked_sub(1)?;
        let schema = resolved(schema, self.root);
        let given = ["default", "const"]
            .iter()
            .find_map(|field| schema.get(field))
            .or_else(|| schema.get("enum").and_then(|all| all.get(0)))
            .or_else(|| schema.get("examples").and_then(|all| all.get(0)));
        if let Some(given) = given.filter(|given| !given.is_null()) {
            return Some(given.clone());
        }
        Some(match kind(schema) {
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or(Json::from(1)),
            "boolean" => Json::from(true),
            "array" => match schema.get("items") {
                Some(items) if items.is_object() => Json::from(vec![self.value(name, items)?]),
                _ => Json::from(vec![self.text(name)]),
            },
            "object" => self.object(schema)?,
            _ => Json::from(self.text(name)),
        })
    }

    /// Something that looks like what the name says.
    fn text(&self, name: &str) -> &'static str {
        const KNOWN: [(&[&str], &str); 4] = [
            (&["path", "file", "dir", "folder"], "notes/today.md"),
            (&["url", "uri", "link", "href"], "https://example.com/page"),
            (&["id", "key", "name"], "example-1"),
            (&["date", "day"], "2026-01-31"),
        ];
        let name = key::normalise(name);
        KNOWN
            .iter()
            .find(|(words, _)| name.split('_').any(|word| words.contains(&word)))
            .map_or(self.words.say.sample, |(_, sample)| *sample)
    }

    /// The required fields, or one where none is.
    fn object(&mut self, schema: &Json) -> Option<Json> {
        let fields = schema.get("properties").and_then(Json::as_object);
        let mut out = Map::new();
        for (name, field) in fields.into_iter().flatten() {
            if is_required(schema, name) {
                out.insert(name.clone(), self.value(name, field)?);
            }
        }
        if out.is_empty()
            && let Some((name, field)) = fields.and_then(|fields| fields.iter().next())
        {
            out.insert(name.clone(), self.value(name, field)?);
        }
        Some(Json::Object(out))
    }
}

fn kind(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(kind)) => kind,
        Some(Json::Array(kinds)) => kinds
            .iter()
            .filter_map(Json::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or_default(),
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}
