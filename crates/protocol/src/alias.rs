//! Names that a dialect can carry, and the way back from them.
//!
//! A tool's id may be anything (`workflow:x`, `工具.读取`, `workflows/skills/x.json`); an XML tag or a function
//! name may not. `Aliases` gives every tool of one snapshot, and every parameter of it, a name that is legal
//! in one dialect, unique, and leads back exactly. It is made together with the prompt and kept as long as
//! that prompt's replies are read.
//!
//! An alias depends on the id alone as long as nothing collides; where names collide, each of the colliding
//! ids gets a suffix made from itself, so the order of the tools never matters.

mod rule;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::{Protocol, ToolCallRequest, ToolDefinition, ToolId, key};

pub(crate) use rule::{Rule, is_invisible};

/// The names of one set of tools in one dialect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aliases {
    tools: HashMap<ToolId, Names>,
    /// Aliases and ids alike.
    back: HashMap<String, ToolId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Names {
    alias: String,
    /// Declared name and alias, only where they differ.
    parameters: Vec<(String, String)>,
}

impl Aliases {
    /// The first of several tools with one id counts.
    pub fn new<'t>(
        tools: impl IntoIterator<Item = &'t ToolDefinition>,
        protocol: Protocol,
    ) -> Self {
        let mut seen = HashSet::new();
        let tools: Vec<_> = tools
            .into_iter()
            .filter(|tool| seen.insert(&tool.id))
            .collect();
        let ids: Vec<_> = tools.iter().map(|tool| tool.id.as_str()).collect();
        let reserved = tools
            .iter()
            .flat_map(|tool| tool.aliases.iter().map(|alias| (alias, &tool.id)))
            .map(|(alias, owner)| (alias.as_str(), owner.as_str()));
        let names = allocate(&ids, reserved, Rule::of_tools(protocol));

        let mut aliases = Self::default();
        for (tool, alias) in tools.iter().zip(names) {
            aliases.back.insert(alias.clone(), tool.id.clone());
            aliases
                .back
                .insert(tool.id.as_str().to_owned(), tool.id.clone());
            let parameters = parameter_names(tool, Rule::of_parameters(protocol));
            aliases
                .tools
                .insert(tool.id.clone(), Names { alias, parameters });
        }
        // Other names that a tool declares for itself work too, where nobody else bears them.
        for tool in tools {
            for other in &tool.aliases {
                let name = other.as_str().to_owned();
                aliases.back.entry(name).or_insert_with(|| tool.id.clone());
            }
        }
        aliases
    }

    /// The name to be shown to the model. A tool that is not in the set keeps its id.
    pub fn alias_of<'n>(&'n self, tool: &'n ToolId) -> &'n str {
        self.tools
            .get(tool)
            .map_or(tool.as_str(), |names| names.alias.as_str())
    }

    /// The tool that a model means by an alias or by the id itself.
    pub fn resolve(&self, name: &str) -> Option<&ToolId> {
        self.back.get(name)
    }

    /// The name of a parameter to be shown to the model.
    pub fn parameter_alias<'n>(&'n self, tool: &ToolId, declared: &'n str) -> &'n str {
        self.parameters(tool)
            .find(|(name, _)| *name == declared)
            .map_or(declared, |(_, alias)| alias)
    }

    /// The declared name behind a parameter's alias; any other name is given back as it is.
    pub fn resolve_parameter<'n>(&'n self, tool: &ToolId, written: &'n str) -> &'n str {
        self.parameters(tool)
            .find(|(_, alias)| *alias == written)
            .map_or(written, |(declared, _)| declared)
    }

    fn parameters(&self, tool: &ToolId) -> impl Iterator<Item = (&str, &str)> {
        self.tools
            .get(tool)
            .into_iter()
            .flat_map(|names| &names.parameters)
            .map(|(declared, alias)| (declared.as_str(), alias.as_str()))
    }

    /// Puts the tool's own id and its declared parameter names back into a parsed call, before it is bound.
    /// A call of a tool that is not in the set is left as it is.
    pub fn restore(&self, call: &mut ToolCallRequest<'_>) {
        let Some(tool) = self.resolve(&call.tool).cloned() else {
            return;
        };
        call.tool = Cow::Owned(tool.as_str().to_owned());
        let normal = call.protocol.normalises_keys();
        for (declared, alias) in self.parameters(&tool) {
            // TAM compares normalised names, so the declared one is given back in that form.
            let (declared, alias) = match normal {
                true => (key::normalise(declared), key::normalise(alias)),
                false => (Cow::Borrowed(declared), Cow::Borrowed(alias)),
            };
            for argument in &mut call.arguments {
                if argument.name == alias {
                    argument.name = Cow::Owned(declared.clone().into_owned());
                    argument.written = argument.name.clone();
                }
            }
            for modifier in &mut call.modifiers {
                if modifier.name.strip_prefix("type_hint_") == Some(&alias) {
                    modifier.name = Cow::Owned(format!("type_hint_{declared}"));
                    modifier.written = modifier.name.clone();
                }
            }
        }
    }
}

fn parameter_names(tool: &ToolDefinition, rule: Rule) -> Vec<(String, String)> {
    let declared: Vec<_> = tool.properties().map(|(name, _)| name).collect();
    let names = allocate(&declared, std::iter::empty(), rule);
    declared
        .into_iter()
        .zip(names)
        .filter(|(declared, alias)| declared != alias)
        .map(|(declared, alias)| (declared.to_owned(), alias))
        .collect()
}

/// One legal name for each of `names`, which are all different. `reserved` are further names in use, each
/// with its owner.
fn allocate<'n>(
    names: &[&'n str],
    reserved: impl Iterator<Item = (&'n str, &'n str)>,
    rule: Rule,
) -> Vec<String> {
    // Compared form -> the name that owns it. Legal names stay as they are, so they come first.
    let mut owners: HashMap<String, &str> = HashMap::new();
    let legal_first = names.iter().filter(|name| rule.is_legal(name));
    for name in legal_first.chain(names) {
        owners
            .entry(rule.compared(name).into_owned())
            .or_insert(name);
    }
    for (name, owner) in reserved {
        owners
            .entry(rule.compared(name).into_owned())
            .or_insert(owner);
    }
    let keeps = |owners: &HashMap<String, &str>, name: &str| {
        rule.is_legal(name) && owners.get(rule.compared(name).as_ref()) == Some(&name)
    };

    let mut wanted: HashMap<String, usize> = HashMap::new();
    for name in names.iter().filter(|name| !keeps(&owners, name)) {
        let candidate = rule.candidate(name);
        *wanted
            .entry(rule.compared(&candidate).into_owned())
            .or_default() += 1;
    }
    names
        .iter()
        .map(|&name| {
            if keeps(&owners, name) {
                return name.to_owned();
            }
            let candidate = rule.candidate(name);
            let alone = wanted.get(rule.compared(&candidate).as_ref()) == Some(&1);
            let mut alias = candidate.clone();
            let mut round = 0u32;
            let taken = |owners: &HashMap<String, &str>, alias: &str| {
                owners
                    .get(rule.compared(alias).as_ref())
                    .is_some_and(|owner| *owner != name)
            };
            while (round == 0 && !alone) || taken(&owners, &alias) {
                alias = rule.with_suffix(&candidate, name, round);
                round += 1;
            }
            owners.insert(rule.compared(&alias).into_owned(), name);
            alias
        })
        .collect()
}

#[cfg(test)]
#[path = "alias_tests.rs"]
mod tests;
