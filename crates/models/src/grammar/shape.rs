//! What can be written for a schema, without what no grammar can hold.
//!
//! Owns `$ref`, `allOf`, `anyOf`, `oneOf` and the bound on depth: a schema that refers to itself is written out
//! level by level, and beyond the last level there is nothing that could be written. Follows `bind` of
//! `innkeeper-protocol` in what a schema means.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use crate::limits::{
    MAX_GRAMMAR_DEPTH, MAX_GRAMMAR_ITEMS, MAX_GRAMMAR_LISTED_INTEGERS, MAX_GRAMMAR_SHAPES,
};

#[derive(Debug, PartialEq)]
pub(super) enum Shape<'s> {
    /// There is no value, or none that is not nested too deeply.
    Never,
    Any,
    /// `filled`: not empty.
    Text {
        filled: bool,
    },
    Integer {
        negative: bool,
    },
    Number {
        negative: bool,
    },
    Boolean,
    Null,
    /// Exactly these values.
    Choices(Vec<Json>),
    Array {
        item: Rc<Shape<'s>>,
        min: usize,
        max: usize,
    },
    /// As many items as there are shapes.
    Tuple(Vec<Rc<Shape<'s>>>),
    Object(Vec<Field<'s>>),
    /// Any names, all with the same kind of value.
    Map(Rc<Shape<'s>>),
    OneOf(Vec<Rc<Shape<'s>>>),
}

#[derive(Debug, PartialEq)]
pub(super) struct Field<'s> {
    pub(super) name: &'s str,
    pub(super) schema: &'s Json,
    pub(super) shape: Rc<Shape<'s>>,
    pub(super) required: bool,
}

/// Reads the schemas of one tool.
pub(super) struct Reader<'s> {
    root: &'s Json,
    /// By the parts of a schema and the levels left below it.
    known: HashMap<(Vec<usize>, usize), Rc<Shape<'s>>>,
    made: usize,
}

/// Types, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types(u8);

const NAMES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

impl Types {
    const ANY: Self = Self(0x7f);

    fn read(keyword: &Json) -> Self {
        let bit = |name: &Json| {
            let at = NAMES.iter().position(|known| name == known);
            at.map_or(0, |at| 1 << at)
        };
        let set = match keyword {
            Json::Array(names) => names.iter().map(bit).fold(0, |set, bit| set | bit),
            name => bit(name),
        };
        // A number may be an integer. A word that is no type forbids nothing.
        match set {
            0 => Self::ANY,
            set if set & 4 != 0 => Self(set | 2),
            set => Self(set),
        }
    }

    fn has(self, name: &str) -> bool {
        NAMES
            .iter()
            .position(|known| *known == name)
            .is_some_and(|at| self.0 & (1 << at) != 0)
    }

    fn holds(self, value: &Json) -> bool {
        self.has(match value {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(number) if number.is_f64() => "number",
            Json::Number(_) => "integer",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        })
    }
}

/// A schema with everything that `$ref` and `allOf` add to it.
#[derive(Clone)]
struct View<'s> {
    types: Types,
    parts: Vec<&'s Map<String, Json>>,
    choices: Option<&'s [Json]>,
    union: Option<&'s [Json]>,
    nullable: bool,
}

/// Schemas that may be put together into one.
const MAX_PARTS: usize = 64;

impl<'s> View<'s> {
    fn new() -> Self {
        Self {
            types: Types::ANY,
            parts: Vec::new(),
            choices: None,
            union: None,
            nullable: false,
        }
    }

    fn with(mut self, root: &'s Json, schema: &'s Json) -> Self {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let part = match schema {
                Json::Bool(false) => {
                    self.types = Types(0);
                    continue;
                }
                Json::Object(part) if self.parts.len() < MAX_PARTS => part,
                _ => continue,
            };
            self.parts.push(part);
            if let Some(types) = part.get("type") {
                self.types = Types(self.types.0 & Types::read(types).0);
            }
            self.nullable |= part.get("nullable") == Some(&Json::Bool(true));
            let list = |keyword: &str| part.get(keyword).and_then(Json::as_array);
            let constant = part.get("const").map(std::slice::from_ref);
            self.choices = self
                .choices
                .or(constant)
                .or(list("enum").map(Vec::as_slice));
            self.union = self
                .union
                .or(list("anyOf").map(Vec::as_slice))
                .or(list("oneOf").map(Vec::as_slice))
                .filter(|branches| !branches.is_empty());
            open.extend(list("allOf").into_iter().flatten().rev());
            open.extend(target(root, part));
        }
        self
    }

    fn key(&self, left: usize) -> (Vec<usize>, usize) {
        let parts = self.parts.iter();
        let union = self.union.map_or(0, |union| union.as_ptr() as usize);
        let parts = parts.map(|part| std::ptr::from_ref(*part) as usize);
        let impossible = usize::from(self.types.0 == 0);
        (parts.chain([union, impossible]).collect(), left)
    }

    fn keyword(&self, name: &str) -> Option<&'s Json> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.keyword(name)?.as_u64()?).ok()
    }

    fn properties(&self) -> Vec<(&'s str, &'s Json)> {
        let mut all: Vec<(&str, &Json)> = Vec::new();
        for part in &self.parts {
            let own = part.get("properties").and_then(Json::as_object);
            for (name, schema) in own.into_iter().flatten() {
                if all.iter().all(|(known, _)| known != name) {
                    all.push((name, schema));
                }
            }
        }
        all
    }

    fn required(&self) -> impl Iterator<Item = &'s str> + use<'s, '_> {
        self.parts
            .iter()
            .filter_map(|part| part.get("required")?.as_array())
            .flatten()
            .filter_map(Json::as_str)
    }

    /// Without `type`, what the other keywords speak of.
    fn types(&self) -> Types {
        let speaks = |words: &[&str]| words.iter().any(|word| self.keyword(word).is_some());
        let types = match self.types {
            Types::ANY if speaks(&["properties", "additionalProperties", "patternProperties"]) => {
                Types::read(&"object".into())
            }
            Types::ANY if speaks(&["items", "prefixItems"]) => Types::read(&"array".into()),
            types => types,
        };
        match self.nullable {
            true => Types(types.0 | Types::read(&"null".into()).0),
            false => types,
        }
    }
}

fn target<'s>(root: &'s Json, part: &Map<String, Json>) -> Option<&'s Json> {
    root.pointer(part.get("$ref")?.as_str()?.strip_prefix('#')?)
}

impl<'s> Reader<'s> {
    pub(super) fn new(root: &'s Json) -> Self {
        Self {
            root,
            known: HashMap::new(),
            made: 0,
        }
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.made > MAX_GRAMMAR_SHAPES
    }

    pub(super) fn read(&mut self, schema: &'s Json) -> Rc<Shape<'s>> {
        self.at(schema, MAX_GRAMMAR_DEPTH)
    }

    fn at(&mut self, schema: &'s Json, left: usize) -> Rc<Shape<'s>> {
        let view = View::new().with(self.root, schema);
        self.view(&view, left)
    }

    fn view(&mut self, view: &View<'s>, left: usize) -> Rc<Shape<'s>> {
        let key = view.key(left);
        if let Some(shape) = self.known.get(&key) {
            return shape.clone();
        }
        self.made += 1;
        if self.is_overfull() {
            return Rc::new(Shape::Never);
        }
        let shape = self.make(view, left);
        self.known.insert(key, shape.clone());
        shape
    }

    fn make(&mut self, view: &View<'s>, left: usize) -> Rc<Shape<'s>> {
        if view.types.0 == 0 {
            return Rc::new(Shape::Never);
        }
        if let Some(branches) = view.union {
            let Some(left) = left.checked_sub(1) else {
                return Rc::new(Shape::Never);
            };
            let mut shapes: Vec<_> = branches
                .iter()
                .map(|branch| {
                    let mut base = view.clone();
                    base.union = None;
                    self.view(&base.with(self.root, branch), left)
                })
                .collect();
            if view.nullable {
                shapes.push(Rc::new(Shape::Null));
            }
            return joined(shapes);
        }
        if let Some(choices) = view.choices {
            let fits =
                |value: &&Json| view.types.holds(value) || (view.nullable && value.is_null());
            let choices: Vec<Json> = choices.iter().filter(fits).cloned().collect();
            return Rc::new(match choices.is_empty() {
                true => Shape::Never,
                false => Shape::Choices(choices),
            });
        }
        let types = view.types();
        if types == Types::ANY {
            return Rc::new(Shape::Any);
        }
        let of_each = NAMES.iter().filter(|name| types.has(name));
        let shapes = of_each
            .filter_map(|&name| {
                Some(Rc::new(match name {
                    "string" => Shape::Text {
                        filled: view.count("minLength").is_some_and(|least| least > 0),
                    },
                    "integer" if types.has("number") => return None,
                    "integer" => integer(view),
                    "number" => Shape::Number {
                        negative: lowest(view).is_none_or(|least| least < 0.0),
                    },
                    "boolean" => Shape::Boolean,
                    "null" => Shape::Null,
                    "array" => self.array(view, left),
                    _ => self.object(view, left),
                }))
            })
            .collect();
        joined(shapes)
    }

    fn array(&mut self, view: &View<'s>, left: usize) -> Shape<'s> {
        let Some(left) = left.checked_sub(1) else {
            return Shape::Never;
        };
        let min = view.count("minItems").unwrap_or(0);
        let max = view.count("maxItems").unwrap_or(MAX_GRAMMAR_ITEMS);
        let max = max.min(MAX_GRAMMAR_ITEMS);
        let items = view.keyword("items");
        let tuple = view
            .keyword("prefixItems")
            .or(items.filter(|items| items.is_array()))
            .and_then(Json::as_array);
        if let Some(tuple) = tuple {
            let shapes: Vec<_> = tuple.iter().map(|item| self.at(item, left)).collect();
            let whole = (min..=max).contains(&shapes.len());
            return match whole && shapes.iter().all(|shape| **shape != Shape::Never) {
                true => Shape::Tuple(shapes),
                false => Shape::Never,
            };
        }
        let item = match items {
            Some(schema) => self.at(schema, left),
            None => Rc::new(Shape::Any),
        };
        match (*item == Shape::Never, min <= max) {
            (_, false) => Shape::Never,
            (true, _) if min > 0 => Shape::Never,
            (true, _) => Shape::Tuple(Vec::new()),
            (false, true) => Shape::Array { item, min, max },
        }
    }

    fn object(&mut self, view: &View<'s>, left: usize) -> Shape<'s> {
        let Some(left) = left.checked_sub(1) else {
            return Shape::Never;
        };
        let mut properties = view.properties();
        for name in view.required() {
            if properties.iter().all(|(known, _)| *known != name) {
                properties.push((name, &Json::Bool(true)));
            }
        }
        if properties.is_empty() {
            return self.map(view, left);
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let shape = self.at(schema, left);
            let required = view.required().any(|needed| needed == name);
            match *shape {
                Shape::Never if required => return Shape::Never,
                Shape::Never => {}
                _ => fields.push(Field {
                    name,
                    schema,
                    shape,
                    required,
                }),
            }
        }
        Shape::Object(fields)
    }

    /// An object that declares no names. Which names a pattern takes is not told to a grammar.
    fn map(&mut self, view: &View<'s>, left: usize) -> Shape<'s> {
        let others = match view.keyword("additionalProperties") {
            _ if view.keyword("patternProperties").is_some() => return Shape::Object(Vec::new()),
            None => view.keyword("unevaluatedProperties"),
            others => others,
        };
        let value = match others {
            Some(others @ (Json::Object(_) | Json::Bool(false))) => self.at(others, left),
            _ => Rc::new(Shape::Any),
        };
        match *value {
            Shape::Never => Shape::Object(Vec::new()),
            _ => Shape::Map(value),
        }
    }
}

fn joined(shapes: Vec<Rc<Shape<'_>>>) -> Rc<Shape<'_>> {
    let mut flat: Vec<Rc<Shape<'_>>> = Vec::new();
    for shape in shapes {
        match &*shape {
            Shape::Never => {}
            Shape::OneOf(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(shape),
        }
    }
    match flat.as_slice() {
        [] => Rc::new(Shape::Never),
        [only] => only.clone(),
        _ => Rc::new(Shape::OneOf(flat)),
    }
}

fn lowest(view: &View<'_>) -> Option<f64> {
    let bound = |name| view.keyword(name).and_then(Json::as_f64);
    bound("minimum").or(bound("exclusiveMinimum"))
}

/// A few integers are listed; of many only the sign is held.
fn integer<'s>(view: &View<'s>) -> Shape<'s> {
    let bound = |inclusive, exclusive, step: i64| {
        let at = |name: &str| view.keyword(name).and_then(Json::as_i64);
        at(inclusive).or(at(exclusive).and_then(|limit| limit.checked_add(step)))
    };
    let least = bound("minimum", "exclusiveMinimum", 1);
    let most = bound("maximum", "exclusiveMaximum", -1);
    if let (Some(least), Some(most)) = (least, most)
        && least <= most
        && most.abs_diff(least) < MAX_GRAMMAR_LISTED_INTEGERS
    {
        return Shape::Choices((least..=most).map(Json::from).collect());
    }
    Shape::Integer {
        negative: lowest(view).is_none_or(|least| least < 0.0),
    }
}
