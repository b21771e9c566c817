//! Where everything of `[models]` stands in the file, by the names that messages use: `channels[0].name`.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::{Value, list, table, table_in};
use crate::failure::Spot;
use crate::settings::FILE;

/// Line and column, from 1.
type At = (usize, usize);

#[derive(Debug, Default)]
pub(super) struct Places {
    path: String,
    spots: BTreeMap<String, At>,
}

impl Places {
    pub(super) fn of(path: &str, text: &str, document: &DeTable<'_>) -> Self {
        let mut places = Self {
            path: path.to_owned(),
            spots: BTreeMap::new(),
        };
        let Some((key, section)) = document.get_key_value("models") else {
            return places;
        };
        let lines = Lines::of(text);
        let mut put =
            |place: String, offset: usize| _ = places.spots.insert(place, lines.at(offset));
        put(String::new(), key.span().start);
        let Some(section) = table_in(section) else {
            return places;
        };
        for (key, value) in section.iter() {
            put(key.get_ref().to_string(), value.span().start);
        }
        for list_name in ["channels", "routes"] {
            for (number, entry) in list(section, list_name).enumerate() {
                let place = format!("{list_name}[{number}]");
                put_entry(&place, entry, &mut put);
                put(place, entry.span().start);
            }
        }
        for (alias, _) in table(section, "aliases") {
            put(format!("aliases.{}", alias.get_ref()), alias.span().start);
        }
        places
    }

    /// Of what is not known, where that stands which it belongs to.
    pub(super) fn spot(&self, place: &str) -> Spot {
        let mut place = place;
        let (line, column) = loop {
            match self.spots.get(place) {
                Some(at) => break *at,
                None if place.is_empty() => break (1, 1),
                None => {
                    place = place
                        .rfind(['.', '['])
                        .map_or("", |end| place.split_at(end).0)
                }
            }
        };
        let path = if self.path.is_empty() {
            FILE
        } else {
            &self.path
        };
        Spot {
            path: path.to_owned(),
            line,
            column,
        }
    }
}

fn put_entry(place: &str, entry: &Value<'_>, put: &mut impl FnMut(String, usize)) {
    let Some(entry) = table_in(entry) else {
        return;
    };
    for (key, value) in entry.iter() {
        put(format!("{place}.{}", key.get_ref()), value.span().start);
    }
    for (number, target) in list(entry, "to").enumerate() {
        put(format!("{place}.to[{number}]"), target.span().start);
    }
}

/// Where lines begin: thousands of places are looked up in one pass over the text.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    fn at(&self, offset: usize) -> At {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied();
        let before = self.text.get(start.unwrap_or_default()..offset);
        (line.max(1), before.unwrap_or_default().chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_letters() {
        let text = "a\n字字b\n\nc";
        let lines = Lines::of(text);
        for (offset, expected) in [
            (0, (1, 1)),
            (1, (1, 2)),
            (2, (2, 1)),
            (8, (2, 3)),
            (10, (3, 1)),
            (11, (4, 1)),
            (99, (4, 1)),
        ] {
            assert_eq!(lines.at(offset), expected, "{offset}");
        }
    }

    #[test]
    fn what_is_not_known_stands_where_it_belongs() {
        let text = "[models]\ndefault = \"x\"\n[[models.channels]]\nname = \"a\"\n[[models.routes]]\nmodel = \"x\"\n\
                    to = [\n\"a\",\n\"b\"]\n[models.aliases]\n\"q.r\" = \"a/b\"\n";
        let document = DeTable::parse(text).unwrap();
        let places = Places::of("f", text, document.get_ref());
        for (place, line) in [
            ("default", 2),
            ("channels[0]", 3),
            ("channels[0].name", 4),
            ("channels[0].keys", 3),
            ("channels[7].name", 3),
            ("routes[0].to", 7),
            ("routes[0].to[1]", 9),
            ("aliases.q.r", 11),
            ("aliases.other", 10),
            ("nothing", 1),
            ("", 1),
        ] {
            assert_eq!(places.spot(place).line, line, "{place}");
        }
        assert_eq!(Places::default().spot("channels[0]").path, FILE);
    }
}
