//! `usageMetadata`, which comes with every chunk and has more in it than anybody asks for.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::Usage;
use crate::wire::quick::{Any, Text};

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    prompt: Option<u64>,
    tool_use: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
    cached: Option<u64>,
}

impl Counts {
    pub(super) fn of(fields: &Map<String, Json>) -> Self {
        let mut counts = Self::default();
        for (name, value) in fields {
            if let Some(place) = counts.place(name) {
                *place = value.as_u64();
            }
        }
        counts
    }

    pub(super) fn usage(self) -> Usage {
        let sum =
            |counts: [Option<u64>; 2]| counts.into_iter().flatten().reduce(u64::saturating_add);
        Usage {
            prompt_tokens: sum([self.prompt, self.tool_use]),
            completion_tokens: sum([self.candidates, self.thoughts]),
            cached_tokens: self.cached,
            reasoning_tokens: self.thoughts,
            ..Usage::default()
        }
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<u64>> {
        match name {
            "promptTokenCount" => Some(&mut self.prompt),
            "toolUsePromptTokenCount" => Some(&mut self.tool_use),
            "candidatesTokenCount" => Some(&mut self.candidates),
            "thoughtsTokenCount" => Some(&mut self.thoughts),
            "cachedContentTokenCount" => Some(&mut self.cached),
            _ => None,
        }
    }
}

/// Stricter than `of`: a count that is none is for the long way.
impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Counts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("counts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts, A::Error> {
                let mut counts = Counts::default();
                while let Some(Text(name)) = map.next_key::<Text<'_>>()? {
                    match counts.place(&name) {
                        Some(place) => *place = map.next_value()?,
                        None => _ = map.next_value::<Any>()?,
                    }
                }
                Ok(counts)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
