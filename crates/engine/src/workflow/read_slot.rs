//! One argument or result in the interface of a workflow file.

use super::InterfaceSlot;
use super::piece::{Item, Kind, Parts};
use super::reader::{Reader, unfit};
use crate::DataFlowType;
use crate::problem::{Problem, did_you_mean, quoted};

pub(super) const FLOW: [&str; 2] = ["dataFlowType", "type"];
pub(super) const DESCRIPTION: [&str; 2] = ["customDescription", "description"];

impl<'t> Reader<'t> {
    /// `None` for what is no slot, the placeholder for the next connection among it.
    pub(super) fn slot(&mut self, item: &Item<'t>) -> Option<InterfaceSlot> {
        let parts = self.object(item.value, "")?;
        if is_placeholder(&parts) {
            return None;
        }
        let key = item.name.as_deref().unwrap_or_default();
        if let Some((code, why)) = unfit(key) {
            let problem = Problem::error(code, format!("the key {why}"));
            self.add(problem, "", item.start);
            return None;
        }
        if let Some(own) = self.text_field(&parts, "key")
            && own != key
        {
            let message = format!(
                "the entry calls itself {}; {} counts",
                quoted(&own),
                quoted(key)
            );
            let problem = Problem::warning("interface.other_key", message);
            self.add(problem, "key", item.value.start);
        }
        Some(InterfaceSlot {
            flow: self.flow(&parts),
            display_name: self.text_field(&parts, "displayName"),
            description: self.text_field(&parts, parts.spelling(&DESCRIPTION)),
            required: self.flag_field(&parts, "required").unwrap_or(false),
            is_stream: self.flag_field(&parts, "isStream").unwrap_or(false),
            multi: self.flag_field(&parts, "multi").unwrap_or(false),
            match_categories: self.categories(&parts),
            min: self.number_field(&parts, "min"),
            max: self.number_field(&parts, "max"),
            config: self.values(&parts, "config"),
            ..InterfaceSlot::new(key, DataFlowType::Wildcard)
        })
    }

    /// Anything, where it is not told.
    fn flow(&mut self, parts: &Parts<'t>) -> DataFlowType {
        let field = parts.spelling(&FLOW);
        let Some(piece) = parts.some(field) else {
            let message = "the type is not given; anything is taken";
            let problem = Problem::warning("interface.no_type", message);
            self.add(problem, field, parts.whole.start);
            return DataFlowType::Wildcard;
        };
        let Some(text) = self.text(piece, field) else {
            return DataFlowType::Wildcard;
        };
        let known = DataFlowType::ALL.into_iter();
        known
            .clone()
            .find(|flow| flow.as_str() == text)
            .unwrap_or_else(|| {
                let hint = match text.as_ref() {
                    // Older descriptions of the format had it as a type.
                    "STREAM" => "; a stream has the type of its values, and isStream".to_owned(),
                    text => did_you_mean(text, known.map(DataFlowType::as_str)),
                };
                let message = format!("there is no type {}{hint}", quoted(&text));
                let problem = Problem::error("interface.unknown_type", message);
                self.add(problem, field, piece.start);
                DataFlowType::Wildcard
            })
    }

    fn categories(&mut self, parts: &Parts<'t>) -> Vec<String> {
        let field = "matchCategories";
        let Some(list) = self.list_field(parts, field) else {
            return Vec::new();
        };
        let items = list.items.iter();
        let texts = items.filter_map(|item| self.text(item.value, field));
        texts.map(Into::into).collect()
    }
}

/// The slot `*` that every interface of the canvas ends with.
fn is_placeholder(parts: &Parts<'_>) -> bool {
    let is = |name: &str, text: &str| {
        let value = parts.get(name).and_then(|piece| piece.string());
        value.as_deref() == Some(text)
    };
    let dynamic = parts
        .get("allowDynamicType")
        .is_some_and(|piece| piece.kind() == Kind::Boolean && piece.raw() == "true");
    dynamic && is("displayName", "*") && FLOW.iter().any(|name| is(name, "CONVERTIBLE_ANY"))
}
