//! One level of a schema with its `$ref`s and `allOf`s written out.

use serde_json::{Map, Value as Json};

use crate::limits::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};

/// What one level says. The outermost word counts where two disagree.
#[derive(Debug, Default)]
pub(super) struct Flat<'s> {
    /// All but `properties`, `required`, `$ref` and `allOf`.
    pub(super) fields: Vec<(&'s str, &'s Json)>,
    pub(super) properties: Vec<(&'s str, &'s Json)>,
    pub(super) required: Vec<&'s str>,
    /// It is part of itself, or points to where nothing is.
    pub(super) cut: bool,
}

impl<'s> Flat<'s> {
    /// Just what stands there.
    pub(super) fn of(schema: &'s Map<String, Json>) -> Self {
        let mut flat = Self::default();
        flat.add(schema);
        flat
    }

    pub(super) fn get(&self, key: &str) -> Option<&'s Json> {
        let found = self.fields.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    fn add(&mut self, schema: &'s Map<String, Json>) {
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("$ref" | "allOf", _) => {}
                ("properties", Json::Object(properties)) => {
                    for (name, schema) in properties {
                        self.property(name, schema);
                    }
                }
                ("required", Json::Array(names)) => {
                    self.require(names.iter().filter_map(Json::as_str))
                }
                ("properties" | "required", _) => {}
                (key, value) => {
                    if self.fields.len() < MAX_SCHEMA_NODES && self.get(key).is_none() {
                        self.fields.push((key, value));
                    }
                }
            }
        }
    }

    fn property(&mut self, name: &'s str, schema: &'s Json) {
        let known = |(known, _): &(&str, &Json)| *known == name;
        if self.properties.len() < MAX_SCHEMA_NODES && !self.properties.iter().any(known) {
            self.properties.push((name, schema));
        }
    }

    pub(super) fn require(&mut self, names: impl Iterator<Item = &'s str>) {
        for name in names {
            if self.required.len() < MAX_SCHEMA_NODES && !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }
}

/// Goes through a schema within bounds, and knows which `$ref`s it stands in.
pub(super) struct Walk<'s> {
    root: &'s Json,
    left: usize,
    open: Vec<&'s str>,
}

impl<'s> Walk<'s> {
    pub(super) fn new(root: &'s Json) -> Self {
        Self {
            root,
            left: MAX_SCHEMA_NODES,
            open: Vec::new(),
        }
    }

    /// The `$ref`s that are open now, for [`Self::close`] after what is entered next.
    pub(super) fn opened(&self) -> usize {
        self.open.len()
    }

    pub(super) fn close(&mut self, opened: usize) {
        self.open.truncate(opened);
    }

    /// `None` where it says nothing (`true`), or is too deep, or there is too much of it.
    pub(super) fn enter(&mut self, schema: &'s Json, depth: usize) -> Option<Flat<'s>> {
        let schema = schema.as_object()?;
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_SCHEMA_DEPTH {
            return None;
        }
        let mut flat = Flat::default();
        self.collect(schema, &mut flat, self.open.len(), depth);
        Some(flat)
    }

    /// The outermost level, with all that it leaves to choose between put side by side: there no provider takes a
    /// choice.
    pub(super) fn root(&mut self) -> Flat<'s> {
        let mut flat = self.enter(self.root, 0).unwrap_or_default();
        for key in ["anyOf", "oneOf"] {
            let branches = flat.get(key).and_then(Json::as_array);
            let branches: Vec<Flat<'s>> = branches
                .into_iter()
                .flatten()
                .filter_map(|branch| {
                    // What is written out in one branch may be written out in another.
                    let opened = self.opened();
                    let branch = self.enter(branch, 1);
                    self.close(opened);
                    branch
                })
                .collect();
            let Some(first) = branches.first() else {
                continue;
            };
            let always = first.required.iter().copied().filter(|name| {
                let requires = |branch: &Flat<'s>| branch.required.contains(name);
                branches.iter().all(requires)
            });
            flat.require(always);
            for (name, schema) in branches.iter().flat_map(|branch| &branch.properties) {
                flat.property(name, schema);
            }
        }
        flat
    }

    /// `outer` counts the `$ref`s that were open before this level: only those can make it part of itself.
    fn collect(
        &mut self,
        schema: &'s Map<String, Json>,
        flat: &mut Flat<'s>,
        outer: usize,
        depth: usize,
    ) {
        flat.add(schema);
        if let Some(Json::String(to)) = schema.get("$ref") {
            let known = self.open.iter().position(|open| open == to);
            match (known, self.find(to)) {
                // Written out on this level already.
                (Some(at), _) if at >= outer => {}
                (None, Some(target)) if depth < MAX_SCHEMA_DEPTH => {
                    self.open.push(to);
                    self.collect(target, flat, outer, depth + 1);
                }
                _ => flat.cut = true,
            }
        }
        if let Some(Json::Array(branches)) = schema.get("allOf")
            && depth < MAX_SCHEMA_DEPTH
        {
            for branch in branches.iter().filter_map(Json::as_object) {
                let Some(left) = self.left.checked_sub(1) else {
                    return;
                };
                self.left = left;
                self.collect(branch, flat, outer, depth + 1);
            }
        }
    }

    /// `#` and `#/$defs/name`. Other documents are not fetched.
    fn find(&self, to: &str) -> Option<&'s Map<String, Json>> {
        match to.strip_prefix('#')? {
            // The whole is always open.
            "" => None,
            pointer => self.root.pointer(pointer)?.as_object(),
        }
    }
}
