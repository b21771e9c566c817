//! A value on its way to its type, and how well a reading of it fits.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::problem::{Faults, quote_json, quote_text};
use super::schema::Types;
use crate::{Node, Tree};

/// A value on its way to its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'v> {
    /// Text that may stand for any type.
    Text(&'v str),
    Tree(&'v Tree<'v>),
    /// Already typed, though models get types wrong in JSON too.
    Json(&'v Json),
}

/// How much of a reading is a guess, the least first. It decides between the types of a union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A listed value.
    Choice,
    /// Written the way JSON writes this type.
    Exact,
    /// Exact but for a detail: 25.0 for an integer, names that only an open object takes.
    Near,
    /// Taken as it is: text for a string, anything where the schema says nothing.
    Plain,
    /// `yes` for true, `1e3` for an integer, `null` written out, a number for a string.
    Loose,
    /// A single value for an array.
    Wrapped,
}

#[derive(Debug)]
pub(super) struct Fit {
    pub(super) value: Json,
    pub(super) rank: Rank,
}

/// Why a value is not of one type: plainly something else, or the right thing with faults inside.
pub(super) enum Misfit {
    Other,
    Faulty(Faults),
}

pub(super) type TypeFit = Result<Fit, Misfit>;

impl From<Faults> for Misfit {
    fn from(faults: Faults) -> Self {
        Self::Faulty(faults)
    }
}

impl Fit {
    pub(super) fn new(value: impl Into<Json>, rank: Rank) -> Self {
        Self {
            value: value.into(),
            rank,
        }
    }
}

impl<'v> Input<'v> {
    pub(super) fn to_json(self) -> Json {
        match self {
            Self::Text(text) => text.into(),
            Self::Tree(tree) => tree.to_json(),
            Self::Json(json) => json.clone(),
        }
    }

    /// The text of a value that is nothing but text.
    pub(super) fn text(self) -> Option<&'v str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(Json::String(text)) => Some(text),
            Self::Tree(tree) => match &tree.node {
                Node::Text(text) => Some(text),
                Node::Array(_) | Node::Object(_) => None,
            },
            Self::Json(_) => None,
        }
    }

    /// Text, also of a JSON number or boolean.
    pub(super) fn scalar_text(self) -> Option<Cow<'v, str>> {
        match self {
            Self::Json(value @ (Json::Number(_) | Json::Bool(_))) => {
                Some(Cow::Owned(value.to_string()))
            }
            input => input.text().map(Cow::Borrowed),
        }
    }

    pub(super) fn quote(self) -> String {
        match self {
            Self::Text(text) => quote_text(text),
            Self::Json(value) => quote_json(value),
            Self::Tree(tree) => match &tree.node {
                Node::Text(text) => quote_text(text),
                Node::Array(_) => "an array".to_owned(),
                Node::Object(_) => "an object".to_owned(),
            },
        }
    }

    /// What the value looks like, to tell which branch of a union was meant.
    pub(super) fn looks_like(self) -> Types {
        match self {
            Self::Json(value) if !value.is_string() => Types::of(value),
            Self::Tree(tree) if matches!(tree.node, Node::Array(_)) => Types::ARRAY,
            Self::Tree(tree) if matches!(tree.node, Node::Object(_)) => Types::OBJECT,
            input => match input.text().and_then(|text| text.trim().chars().next()) {
                Some('{') => Types::OBJECT,
                Some('[') => Types::ARRAY,
                _ => Types::STRING,
            },
        }
    }
}
