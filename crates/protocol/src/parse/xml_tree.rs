//! Elements, and the values they stand for.

use std::borrow::Cow;
use std::collections::HashMap;

use super::notes::{Notes, quote};
use crate::call::strip_layout;
use crate::{Code, Node, Span, Tree};

/// An element with what is in it.
#[derive(Debug)]
pub(super) struct Element<'t> {
    pub(super) name: Cow<'t, str>,
    pub(super) attributes: Vec<(Cow<'t, str>, Cow<'t, str>)>,
    pub(super) children: Vec<Element<'t>>,
    /// Text with entities decoded, CDATA as it is.
    pub(super) text: Cow<'t, str>,
    pub(super) has_cdata: bool,
    /// Text other than white space stands outside CDATA.
    pub(super) has_words: bool,
    /// Inner XML as written.
    pub(super) inner: Cow<'t, str>,
    pub(super) span: Span,
}

impl<'t> Element<'t> {
    pub(super) fn has_words(&self) -> bool {
        self.has_words || self.has_cdata
    }

    /// The value of `<param name="x" value="1"/>`.
    pub(super) fn take_value_attribute(&mut self) -> Option<Cow<'t, str>> {
        if !self.text.is_empty() || !self.children.is_empty() {
            return None;
        }
        let at = self
            .attributes
            .iter()
            .position(|(key, _)| key.eq_ignore_ascii_case("value"))?;
        Some(self.attributes.swap_remove(at).1)
    }

    pub(super) fn drop_attributes(&mut self, notes: &mut Notes) {
        self.note_attributes(notes);
        self.attributes.clear();
    }

    /// The value of a parameter.
    pub(super) fn into_tree(self, notes: &mut Notes) -> Tree<'t> {
        let inner = self.inner.clone();
        let node = if self.children.is_empty() {
            self.into_leaf(notes)
        } else if self.has_words() {
            notes.add(
                Code::MixedContent,
                self.span,
                "Text and tags stand side by side, so the value is taken as one text; put it into <![CDATA[…]]>.",
            );
            Node::Text(keep(inner.clone(), str::trim))
        } else {
            self.note_attributes(notes);
            let all_items = self.children.iter().all(|child| child.name == "item");
            if all_items {
                Node::Array(
                    self.children
                        .into_iter()
                        .map(|child| child.into_tree(notes))
                        .collect(),
                )
            } else {
                Node::Object(group(self.children, notes))
            }
        };
        Tree { node, inner }
    }

    fn into_leaf(self, notes: &mut Notes) -> Node<'t> {
        if self.text.is_empty() && !self.attributes.is_empty() {
            let fields = self.attributes.into_iter().map(|(name, value)| {
                let tree = Tree {
                    node: Node::Text(value.clone()),
                    inner: value,
                };
                (name, tree)
            });
            return Node::Object(fields.collect());
        }
        self.note_attributes(notes);
        Node::Text(if self.has_cdata && !self.has_words {
            keep(self.text, strip_layout)
        } else {
            keep(self.text, str::trim)
        })
    }

    fn note_attributes(&self, notes: &mut Notes) {
        if !self.attributes.is_empty() {
            notes.add_with(Code::IgnoredAttribute, self.span, || {
                format!("The attributes of <{}> were left out.", quote(&self.name))
            });
        }
    }
}

/// An attribute's value; as it is where it cannot be decoded.
pub(super) fn unescaped(value: &str) -> String {
    quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned)
}

/// Part of a text, borrowed where the text is.
fn keep<'t>(text: Cow<'t, str>, part: fn(&str) -> &str) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(part(text)),
        Cow::Owned(text) => Cow::Owned(part(&text).to_owned()),
    }
}

/// Children by name, repeated ones as an array, in the order of their first appearance.
pub(super) fn group<'t>(
    children: Vec<Element<'t>>,
    notes: &mut Notes,
) -> Vec<(Cow<'t, str>, Tree<'t>)> {
    let mut fields: Vec<(Cow<'t, str>, Vec<Tree<'t>>)> = Vec::new();
    let mut index = HashMap::new();
    for child in children {
        let name = child.name.clone();
        let tree = child.into_tree(notes);
        let at = *index.entry(name.clone()).or_insert(fields.len());
        match fields.get_mut(at) {
            Some((_, trees)) => trees.push(tree),
            None => fields.push((name, vec![tree])),
        }
    }
    fields
        .into_iter()
        .map(|(name, mut trees)| {
            let tree = match trees.len() {
                1 => trees.swap_remove(0),
                _ => Tree {
                    inner: Cow::Borrowed(""),
                    node: Node::Array(trees),
                },
            };
            (name, tree)
        })
        .collect()
}
