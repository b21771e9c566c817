//! What a schema says of the items of an array and the fields of an object.
//!
//! Owns the question whether an object takes a name, and as what. Where only the validator can tell, the
//! answer leaves it to the validator.

use serde_json::{Map, Value as Json};

use super::schema::View;

/// What an object schema says about a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lookup<'s> {
    Declared(&'s Json),
    /// Not declared but welcome.
    Open(Wanted<'s>),
    /// Nothing, neither for nor against.
    Silent,
    Unknown,
}

/// What the value of a name has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'s> {
    Anything,
    Fitting(&'s Json),
    /// Fitting if a pattern matches the name, which only the validator can tell: text is read that way where
    /// it can be, and typed values stay what they are.
    Perhaps(&'s Json),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Yes,
    No,
    Unclear,
}

/// Keywords by which a field may count as evaluated without being declared in any part of the view.
const EVALUATING: [&str; 8] = [
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "$dynamicRef",
    "$recursiveRef",
];

impl<'s> View<'s> {
    /// The schema of the item at a place.
    pub(super) fn item(&self, at: usize) -> Option<&'s Json> {
        self.parts.iter().find_map(|part| {
            let items = part.get("items");
            let tuple = part
                .get("prefixItems")
                .or(items.filter(|items| items.is_array()))
                .and_then(Json::as_array);
            tuple
                .and_then(|tuple| tuple.get(at))
                .or_else(|| items.filter(|items| !items.is_array()))
        })
    }

    pub(super) fn properties(&self) -> impl Iterator<Item = (&'s str, &'s Json)> + use<'s, '_> {
        self.parts
            .iter()
            .filter_map(|part| members(part, "properties"))
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &'s str> + use<'s, '_> {
        self.parts
            .iter()
            .filter_map(|part| part.get("required").and_then(Json::as_array))
            .flatten()
            .filter_map(Json::as_str)
    }

    fn declared(&self, name: &str) -> Option<&'s Json> {
        self.parts
            .iter()
            .find_map(|part| members(part, "properties")?.get(name))
    }

    /// A field of an object inside a parameter, as JSON Schema has it: what nobody forbids is welcome.
    pub(super) fn property(&self, name: &str) -> Lookup<'s> {
        if let Some(schema) = self.declared(name) {
            return Lookup::Declared(schema);
        }
        let mut open = None;
        for part in &self.parts {
            match field_of(part, name) {
                Lookup::Silent => {}
                Lookup::Unknown => return Lookup::Unknown,
                said => open = open.or(Some(said)),
            }
        }
        open.unwrap_or_else(|| self.unevaluated())
    }

    /// What is left over when no part speaks of a name.
    fn unevaluated(&self) -> Lookup<'s> {
        let Some(others) = self.keyword("unevaluatedProperties") else {
            return Lookup::Silent;
        };
        if self.partial || self.has_any(&EVALUATING) {
            return Lookup::Open(Wanted::Anything);
        }
        // Where several parts say something, one that allows may stand below one that forbids.
        let said = |part: &&Map<String, Json>| part.contains_key("unevaluatedProperties");
        if self.parts.iter().filter(|part| said(part)).count() > 1 {
            return Lookup::Open(Wanted::Anything);
        }
        others_as(others)
    }

    /// A parameter of the tool. A tool that lists its parameters and says nothing of others takes no others:
    /// a misspelt name must not vanish without a word.
    pub(super) fn parameter(&self, name: &str) -> Lookup<'s> {
        if let Some(schema) = self.declared(name) {
            return Lookup::Declared(schema);
        }
        if let Some(wanted) = self.parts.iter().find_map(|part| by_pattern(part, name)) {
            return Lookup::Open(wanted);
        }
        let others = self
            .keyword("additionalProperties")
            .or_else(|| self.keyword("unevaluatedProperties"));
        match others.map(others_as) {
            Some(Lookup::Silent) => Lookup::Unknown,
            Some(said) => said,
            None if !self.has_any(&["properties"]) && !self.is_impossible() => {
                Lookup::Open(Wanted::Anything)
            }
            None => Lookup::Unknown,
        }
    }
}

fn members<'s>(part: &'s Map<String, Json>, keyword: &str) -> Option<&'s Map<String, Json>> {
    part.get(keyword)?.as_object()
}

/// What one part says of a name that it does not declare. `additionalProperties` sees no other part.
fn field_of<'s>(part: &'s Map<String, Json>, name: &str) -> Lookup<'s> {
    match by_pattern(part, name) {
        Some(wanted) => Lookup::Open(wanted),
        None => part
            .get("additionalProperties")
            .map_or(Lookup::Silent, others_as),
    }
}

fn others_as(others: &Json) -> Lookup<'_> {
    match others {
        Json::Bool(true) => Lookup::Open(Wanted::Anything),
        Json::Bool(false) => Lookup::Unknown,
        Json::Object(_) => Lookup::Open(Wanted::Fitting(others)),
        _ => Lookup::Silent,
    }
}

fn by_pattern<'s>(part: &'s Map<String, Json>, name: &str) -> Option<Wanted<'s>> {
    let mut perhaps = None;
    for (pattern, schema) in members(part, "patternProperties")? {
        match matches(pattern, name) {
            Match::Yes => return Some(Wanted::Fitting(schema)),
            Match::No => {}
            Match::Unclear => perhaps = perhaps.or(Some(Wanted::Perhaps(schema))),
        }
    }
    perhaps
}

/// Whether a name matches a pattern of `patternProperties`. Plain prefixes, suffixes, whole names and "anything"
/// are decided here; any other expression takes the validator.
fn matches(pattern: &str, name: &str) -> Match {
    let (start, rest) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (end, literal) = match rest.strip_suffix('$') {
        Some(literal) => (true, literal),
        None => (false, rest),
    };
    // A point matches no line break.
    let is_anything = match literal {
        ".*" => Some(true),
        ".+" => Some(!name.is_empty()),
        _ => None,
    };
    if let Some(is_anything) = is_anything.filter(|_| !name.contains(char::is_control)) {
        return if is_anything { Match::Yes } else { Match::No };
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | ':' | '/' | '@');
    if !literal.chars().all(plain) {
        return Match::Unclear;
    }
    let matches = match (start, end) {
        (true, true) => name == literal,
        (true, false) => name.starts_with(literal),
        (false, true) => name.ends_with(literal),
        (false, false) => name.contains(literal),
    };
    if matches { Match::Yes } else { Match::No }
}
