//! A JSON Schema as far as binding needs it: which types, which listed values, which branches.
//!
//! Owns `$ref` and `allOf`. What a schema says of the members of arrays and objects is in `members`; ranges and
//! the rest of JSON Schema are left to the validator.

use serde_json::{Map, Value as Json};

use crate::limits::MAX_SCHEMA_PARTS;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers that are no integers; `"type": "number"` is this and [`Self::INTEGER`].
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const NONE: Self = Self(0);
    pub(super) const ANY: Self = Self(127);

    /// The single types, in the order in which equally good readings are preferred.
    const EACH: [Self; 7] = [
        Self::NULL,
        Self::BOOLEAN,
        Self::INTEGER,
        Self::FRACTION,
        Self::OBJECT,
        Self::ARRAY,
        Self::STRING,
    ];

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        Self::EACH.into_iter().filter(move |one| self.has(*one))
    }

    pub(super) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) if number.is_f64() => Self::FRACTION,
            Json::Number(_) => Self::INTEGER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// Reads the keyword `type`. An unknown name allows nothing more, a malformed one forbids nothing.
    fn read(keyword: &Json) -> Self {
        let named = |name: &Json| match name.as_str() {
            Some("null") => Self::NULL,
            Some("boolean") => Self::BOOLEAN,
            Some("integer") => Self::INTEGER,
            Some("number") => Self::INTEGER.or(Self::FRACTION),
            Some("string") => Self::STRING,
            Some("array") => Self::ARRAY,
            Some("object") => Self::OBJECT,
            _ => Self::NONE,
        };
        let types = match keyword {
            Json::Array(names) => names.iter().map(named).fold(Self::NONE, Self::or),
            name => named(name),
        };
        if types == Self::NONE {
            Self::ANY
        } else {
            types
        }
    }
}

/// One schema with everything that `$ref` and `allOf` add to it.
#[derive(Debug, Clone)]
pub(super) struct View<'s> {
    /// Where references point into.
    pub(super) root: &'s Json,
    declared: Types,
    pub(super) parts: Vec<&'s Map<String, Json>>,
    /// Something that belongs to the schema could not be read: a reference elsewhere, or too many parts.
    pub(super) partial: bool,
    /// Members of `enum`, or the one `const`.
    pub(super) choices: Option<&'s [Json]>,
    /// Branches of `anyOf` or `oneOf`.
    pub(super) union: Option<&'s [Json]>,
    pub(super) nullable: bool,
}

impl<'s> View<'s> {
    pub(super) fn read(root: &'s Json, schema: &'s Json) -> Self {
        let mut view = Self {
            root,
            declared: Types::ANY,
            parts: Vec::new(),
            partial: false,
            choices: None,
            union: None,
            nullable: false,
        };
        view.add(schema);
        view
    }

    /// This schema and one branch of its union.
    pub(super) fn branch(&self, branch: &'s Json) -> Self {
        let mut view = self.clone();
        view.union = None;
        view.add(branch);
        view
    }

    /// The number of parts bounds the walk, so a `$ref` that leads back to itself ends too.
    fn add(&mut self, schema: &'s Json) {
        let part = match schema {
            Json::Bool(false) => {
                self.declared = Types::NONE;
                return;
            }
            Json::Object(part) if self.parts.len() < MAX_SCHEMA_PARTS => part,
            Json::Object(_) => {
                self.partial = true;
                return;
            }
            _ => return,
        };
        self.parts.push(part);
        let said = Keywords::of(part);
        if let Some(keyword) = said.types {
            self.declared = self.declared.and(Types::read(keyword));
        }
        self.nullable |= said.nullable == Some(&Json::Bool(true));
        let list = |keyword: Option<&'s Json>| keyword?.as_array().map(Vec::as_slice);
        self.choices = self
            .choices
            .or_else(|| said.constant.map(std::slice::from_ref))
            .or_else(|| list(said.choices));
        self.union = self
            .union
            .or_else(|| list(said.any_of))
            .or_else(|| list(said.one_of))
            .filter(|branches| !branches.is_empty());
        match said.reference.map(|target| resolve(self.root, target)) {
            Some(Some(target)) => self.add(target),
            Some(None) => self.partial = true,
            None => {}
        }
        for part in list(said.all_of).into_iter().flatten() {
            self.add(part);
        }
    }

    pub(super) fn size(&self) -> usize {
        self.parts.len()
    }

    /// The types a value may have. Without `type`, what the other keywords speak about.
    pub(super) fn types(&self) -> Types {
        let types = if self.declared != Types::ANY {
            self.declared
        } else if let Some(choices) = self.choices {
            choices.iter().map(Types::of).fold(Types::NONE, Types::or)
        } else if self.has_any(&["properties", "additionalProperties", "patternProperties"]) {
            Types::OBJECT
        } else if self.has_any(&["items", "prefixItems"]) {
            Types::ARRAY
        } else {
            return Types::ANY;
        };
        if self.nullable {
            types.or(Types::NULL)
        } else {
            types
        }
    }

    /// Whether the types are more than a conclusion from other keywords, which say nothing of other types.
    pub(super) fn is_typed(&self) -> bool {
        self.declared != Types::ANY
    }

    /// Whether no value at all has the declared types.
    pub(super) fn is_impossible(&self) -> bool {
        self.declared == Types::NONE
    }

    pub(super) fn has_any(&self, keywords: &[&str]) -> bool {
        self.parts
            .iter()
            .any(|part| keywords.iter().any(|keyword| part.contains_key(*keyword)))
    }

    /// The first value that any part gives for a keyword.
    pub(super) fn keyword(&self, name: &str) -> Option<&'s Json> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    pub(super) fn is_verbatim(&self) -> bool {
        self.keyword("x-verbatim") == Some(&Json::Bool(true))
    }

    /// Counts the properties of a branch among those that may be given.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.parts.extend_from_slice(&other.parts);
        self.partial |= other.partial;
    }
}

/// The keywords that matter here, found in one pass: a schema has few, and looking each one up costs more.
#[derive(Default)]
struct Keywords<'s> {
    types: Option<&'s Json>,
    nullable: Option<&'s Json>,
    constant: Option<&'s Json>,
    choices: Option<&'s Json>,
    any_of: Option<&'s Json>,
    one_of: Option<&'s Json>,
    all_of: Option<&'s Json>,
    reference: Option<&'s Json>,
}

impl<'s> Keywords<'s> {
    fn of(part: &'s Map<String, Json>) -> Self {
        let mut said = Self::default();
        for (keyword, value) in part {
            let place = match keyword.as_str() {
                "type" => &mut said.types,
                "nullable" => &mut said.nullable,
                "const" => &mut said.constant,
                "enum" => &mut said.choices,
                "anyOf" => &mut said.any_of,
                "oneOf" => &mut said.one_of,
                "allOf" => &mut said.all_of,
                "$ref" => &mut said.reference,
                _ => continue,
            };
            *place = Some(value);
        }
        said
    }
}

/// Only references within the schema are followed; any other leaves the value as it is.
fn resolve<'s>(root: &'s Json, target: &Json) -> Option<&'s Json> {
    root.pointer(target.as_str()?.strip_prefix('#')?)
}
