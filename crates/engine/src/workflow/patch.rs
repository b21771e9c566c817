//! Changing JSON text: only what changed is written anew, in the style of the text around it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value as Json;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::piece::{Item, Parts, Piece};

/// How a text is laid out.
#[derive(Debug, Clone)]
pub(super) struct Style<'t> {
    newline: &'static str,
    /// One level of indentation; `None` where all stands in one line.
    unit: Option<&'t str>,
    /// What stands between a key and its value.
    colon: &'t str,
}

/// What becomes of a member.
pub(super) enum Change {
    Remove,
    Set(Json),
    /// Text that was patched already.
    Text(String),
}

/// An item as it will be written.
pub(super) struct Entry<'t> {
    /// Which one it was.
    pub(super) origin: Option<usize>,
    /// With its key, without the white space around it.
    pub(super) text: Cow<'t, str>,
}

impl<'t> Style<'t> {
    pub(super) fn of(top: &'t Parts<'t>) -> Self {
        let first = top.items.first();
        let lead = first.map(Item::lead_text).unwrap_or("\n  ");
        let colon = first.map(|item| {
            let head = item.value.slice(item.start, item.value.start);
            head.rfind('"').and_then(|quote| head.get(quote + 1..))
        });
        Self {
            newline: match lead.contains("\r\n") {
                true => "\r\n",
                false => "\n",
            },
            unit: lead.rsplit_once('\n').map(|(_, unit)| unit),
            colon: colon.flatten().unwrap_or(": "),
        }
    }

    /// What stands before a value that begins its own line, if `lead` says so.
    fn indent<'l>(&self, lead: &'l str) -> Option<&'l str> {
        self.unit?;
        lead.rsplit_once('\n').map(|(_, indent)| indent)
    }

    /// A value, in lines of its own below `indent`, or in one line.
    fn write(&self, value: &Json, indent: Option<&str>) -> String {
        let (Some(indent), Some(unit)) = (indent, self.unit) else {
            return value.to_string();
        };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit.as_bytes());
        let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        match (written, String::from_utf8(bytes)) {
            (Ok(()), Ok(text)) => text.replace('\n', &format!("{}{indent}", self.newline)),
            _ => value.to_string(),
        }
    }

    fn member(&self, name: &str, value: &str) -> String {
        format!("{}{}{value}", Json::from(name), self.colon)
    }
}

/// The text of an object with some members changed, added or removed. `lead` is the white space before the item that
/// the object is: it tells how new lines are indented.
pub(super) fn object(
    parts: &Parts<'_>,
    changes: Vec<(&str, Change)>,
    lead: &str,
    style: &Style<'_>,
) -> String {
    // The last of several with one name is the one that counts, and so the one to change.
    let named = parts.items.iter().enumerate();
    let named = named.filter_map(|(index, item)| Some((item.name.as_deref()?, index)));
    let places: HashMap<&str, usize> = named.collect();
    let by_name: HashMap<&str, &Change> = changes.iter().map(|(name, it)| (*name, it)).collect();
    let mut entries = Vec::new();
    for (index, item) in parts.items.iter().enumerate() {
        let name = item.name.as_deref();
        let known = name.and_then(|name| Some((*by_name.get(name)?, places.get(name)?)));
        let text = match known {
            Some((Change::Remove, _)) => continue,
            Some((change, place)) if *place == index => {
                let head = item.value.slice(item.start, item.value.start);
                let value = match change {
                    Change::Text(text) => Cow::Borrowed(text.as_str()),
                    Change::Set(new) => Cow::Owned(value(item.value, new, item.lead_text(), style)),
                    Change::Remove => Cow::Borrowed(""),
                };
                Cow::Owned(format!("{head}{value}"))
            }
            _ => Cow::Borrowed(own_text(item)),
        };
        let origin = Some(index);
        entries.push(Entry { origin, text });
    }
    let new_lead = new_lead(parts, lead, style);
    for (name, change) in &changes {
        let value = match change {
            _ if places.contains_key(name) => continue,
            Change::Remove => continue,
            Change::Set(new) => style.write(new, style.indent(&new_lead)),
            Change::Text(text) => text.clone(),
        };
        let text = Cow::Owned(style.member(name, &value));
        let origin = None;
        entries.push(Entry { origin, text });
    }
    render(parts, &entries, lead, style)
}

/// The text of a value that becomes another, as much of it kept as is the same.
pub(super) fn value(old: Piece<'_>, new: &Json, lead: &str, style: &Style<'_>) -> String {
    if old.json().is_ok_and(|old| old == *new) {
        return old.raw().to_owned();
    }
    match new {
        Json::Object(new) => {
            let Some(parts) = old.members() else {
                return style.write(&Json::Object(new.clone()), style.indent(lead));
            };
            let names = parts.items.iter().filter_map(|item| item.name.as_deref());
            let gone = names.filter(|name| !new.contains_key(*name));
            let mut changes: Vec<_> = gone.map(|name| (name, Change::Remove)).collect();
            for (name, value) in new {
                changes.push((name, Change::Set(value.clone())));
            }
            object(&parts, changes, lead, style)
        }
        Json::Array(new) => {
            let Some(parts) = old.elements() else {
                return style.write(&Json::Array(new.clone()), style.indent(lead));
            };
            let new_lead = new_lead(&parts, lead, style);
            let mut entries = Vec::new();
            for (index, new) in new.iter().enumerate() {
                let item = parts.items.get(index);
                let text = match item {
                    Some(item) => value(item.value, new, item.lead_text(), style),
                    None => style.write(new, style.indent(&new_lead)),
                };
                entries.push(Entry {
                    origin: item.map(|_| index),
                    text: Cow::Owned(text),
                });
            }
            render(&parts, &entries, lead, style)
        }
        new => style.write(new, style.indent(lead)),
    }
}

/// A new item of a list or object.
pub(super) fn added(
    parts: &Parts<'_>,
    name: Option<&str>,
    value: &Json,
    lead: &str,
    style: &Style<'_>,
) -> Entry<'static> {
    let new_lead = new_lead(parts, lead, style);
    let value = style.write(value, style.indent(&new_lead));
    let text = match name {
        Some(name) => style.member(name, &value),
        None => value,
    };
    Entry {
        origin: None,
        text: Cow::Owned(text),
    }
}

/// An item as it stands.
pub(super) fn own_text<'t>(item: &Item<'t>) -> &'t str {
    item.value.slice(item.start, item.value.end)
}

/// The white space before an item that is new.
fn new_lead<'p>(parts: &'p Parts<'_>, lead: &str, style: &Style<'_>) -> Cow<'p, str> {
    if let Some(item) = parts.items.get(1) {
        return Cow::Borrowed(item.lead_text());
    }
    match (parts.items.first(), style.indent(lead), style.unit) {
        // After a comma it looks as after a colon.
        (Some(item), _, _) if item.lead == item.start => {
            Cow::Borrowed(if style.colon.ends_with(' ') { " " } else { "" })
        }
        (Some(item), _, _) => Cow::Borrowed(item.lead_text()),
        (None, Some(indent), Some(unit)) => Cow::Owned(format!("{}{indent}{unit}", style.newline)),
        _ => Cow::Borrowed(""),
    }
}

/// A list or object with these items, each with the white space that belongs to its place.
pub(super) fn render(
    parts: &Parts<'_>,
    entries: &[Entry<'_>],
    lead: &str,
    style: &Style<'_>,
) -> String {
    let whole = parts.whole;
    let (open, close) = match whole.raw().starts_with('{') {
        true => ('{', '}'),
        false => ('[', ']'),
    };
    let mut text = String::from(open);
    let new_lead = new_lead(parts, lead, style);
    for (position, entry) in entries.iter().enumerate() {
        let was = entry.origin.and_then(|origin| parts.items.get(origin));
        let first = parts.items.first();
        // The first item often stands closer to the bracket than others do to their commas.
        text.push_str(match (position, entry.origin, was) {
            (0, _, _) => first.map_or(new_lead.as_ref(), Item::lead_text),
            (_, Some(0) | None, _) | (_, _, None) => &new_lead,
            (_, _, Some(item)) => item.lead_text(),
        });
        text.push_str(&entry.text);
        if position + 1 < entries.len() {
            let is_last = entry.origin.is_none_or(|at| at + 1 == parts.items.len());
            if let Some(item) = was.filter(|_| !is_last) {
                text.push_str(whole.slice(item.value.end, item.trail));
            }
            text.push(',');
        }
    }
    match (parts.items.last(), entries.is_empty()) {
        (Some(last), false) => text.push_str(whole.slice(last.value.end, last.trail)),
        (None, false) => {
            if let Some(indent) = style.indent(lead) {
                text.push_str(style.newline);
                text.push_str(indent);
            }
        }
        (_, true) => {}
    }
    text.push(close);
    text
}
