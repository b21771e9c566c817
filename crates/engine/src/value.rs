//! What travels along edges: JSON that is shared, not copied.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::limits::{MAX_VALUE_BYTES, MAX_VALUE_DEPTH};

static NULL: Json = Json::Null;

/// A value. Cloning it costs a counter.
#[derive(Clone, Default)]
pub struct Value(Option<Arc<Inside>>);

#[derive(Clone)]
struct Inside {
    json: Json,
    /// How deep lists and objects lie in each other; counted up to one more than is allowed.
    depth: usize,
    /// About how many bytes it takes; counted up to a little more than is allowed.
    weight: usize,
    reading: Reading,
}

/// What somebody has made of a value, or of the list that it has grown from.
#[derive(Default)]
struct Reading(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl Reading {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Reading {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl Value {
    pub const fn null() -> Self {
        Self(None)
    }

    pub fn as_json(&self) -> &Json {
        self.0.as_deref().map_or(&NULL, |inside| &inside.json)
    }

    /// Copied only if others hold it too.
    pub fn into_json(self) -> Json {
        match self.0.map(Arc::try_unwrap) {
            None => Json::Null,
            Some(Ok(inside)) => inside.json,
            Some(Err(shared)) => shared.json.clone(),
        }
    }

    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }

    pub fn as_str(&self) -> Option<&str> {
        self.as_json().as_str()
    }

    pub fn as_f64(&self) -> Option<f64> {
        self.as_json().as_f64()
    }

    /// Whether lists and objects lie deeper in each other than can be worked with safely.
    pub fn is_too_deep(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|inside| inside.depth > MAX_VALUE_DEPTH)
    }

    /// What people take for yes: anything but nothing, no, zero and what is empty.
    pub fn is_truthy(&self) -> bool {
        match self.as_json() {
            Json::Null => false,
            Json::Bool(yes) => *yes,
            Json::Number(number) => number.as_f64() != Some(0.0),
            Json::String(text) => !text.is_empty(),
            Json::Array(list) => !list.is_empty(),
            Json::Object(map) => !map.is_empty(),
        }
    }

    /// As text: a text as it is, everything else as JSON, nothing as nothing.
    pub fn to_text(&self) -> String {
        match self.as_json() {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// About how many bytes it takes; of one that is too large, more than is allowed.
    pub fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |inside| inside.weight)
    }

    /// Whether it takes more bytes than one value may.
    pub fn is_too_large(&self) -> bool {
        self.weight() > MAX_VALUE_BYTES
    }

    /// What was kept with [`Self::keep_reading`]. A list may have grown since; its beginning is the same.
    pub(crate) fn reading<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let reading = self.0.as_ref()?.reading.lock().clone();
        reading?.downcast().ok()
    }

    /// In place of what was kept before.
    pub(crate) fn keep_reading<T: Any + Send + Sync>(&self, reading: Arc<T>) {
        if let Some(inside) = &self.0 {
            *inside.reading.lock() = Some(reading);
        }
    }

    /// A list with more at its end. Copied only if others hold it too; what is no list becomes one.
    #[must_use]
    pub fn extended(self, more: impl IntoIterator<Item = Json>) -> Self {
        let shared = match self.0.map(Arc::try_unwrap) {
            None => return Self::from(more.into_iter().collect::<Vec<_>>()),
            Some(Ok(inside)) => inside,
            Some(Err(shared)) => Inside::clone(&shared),
        };
        let Inside {
            json,
            mut depth,
            mut weight,
            reading,
        } = shared;
        let (mut list, reading) = match json {
            Json::Array(list) => (list, reading),
            one => (vec![one], Reading::default()),
        };
        for one in more {
            measure(&one, 1, &mut depth, &mut weight);
            list.push(one);
        }
        Self(Some(Arc::new(Inside {
            json: Json::Array(list),
            depth,
            weight,
            reading,
        })))
    }

    /// Nobody else holds it.
    pub(crate) fn is_new(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|inside| Arc::strong_count(inside) == 1)
    }
}

/// About how many bytes it takes, like [`Value::weight`].
pub(crate) fn weight(json: &Json) -> usize {
    let (mut deepest, mut weight) = (0, 0);
    measure(json, 0, &mut deepest, &mut weight);
    weight
}

/// How deep and how heavy it is; stops where it is more than allowed.
fn measure(json: &Json, depth: usize, deepest: &mut usize, weight: &mut usize) {
    *deepest = (*deepest).max(depth);
    *weight += match json {
        Json::String(text) => 24 + text.len(),
        _ => 24,
    };
    let goes_on = |weight: &usize| depth <= MAX_VALUE_DEPTH && *weight <= MAX_VALUE_BYTES;
    match json {
        Json::Array(list) => {
            *deepest = (*deepest).max(depth + 1);
            for one in list {
                if !goes_on(weight) {
                    return;
                }
                measure(one, depth + 1, deepest, weight);
            }
        }
        Json::Object(map) => {
            *deepest = (*deepest).max(depth + 1);
            for (key, one) in map {
                if !goes_on(weight) {
                    return;
                }
                *weight += key.len();
                measure(one, depth + 1, deepest, weight);
            }
        }
        _ => {}
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_json(), f)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_json().serialize(serializer)
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Self::null(),
            json => {
                let (mut depth, mut weight) = (0, 0);
                measure(&json, 0, &mut depth, &mut weight);
                Self(Some(Arc::new(Inside {
                    json,
                    depth,
                    weight,
                    reading: Reading::default(),
                })))
            }
        }
    }
}

macro_rules! from {
    ($($from:ty),*) => {$(
        impl From<$from> for Value {
            fn from(from: $from) -> Self {
                Self::from(Json::from(from))
            }
        }
    )*};
}

from!(
    String,
    &str,
    bool,
    i64,
    u64,
    u32,
    usize,
    f64,
    Vec<Json>,
    Map<String, Json>
);

impl From<Option<Json>> for Value {
    fn from(json: Option<Json>) -> Self {
        json.map(Self::from).unwrap_or_default()
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Self {
        Json::Array(list.into_iter().map(Value::into_json).collect()).into()
    }
}
