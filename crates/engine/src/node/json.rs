//! A definition as a canvas reads it: the form of ComfyTavern's `GET /api/nodes`.

use serde_json::{Map, Value as Json, json};

use super::{Branch, Bypass, NodeDefinition, NodeInput, NodeMode, NodeShape, NodeSlot};

impl NodeDefinition {
    /// What the author wrote, if it comes from a file, and over it what is known of the node here.
    pub fn to_json(&self) -> Json {
        let mut json = self.raw.clone();
        // How a plugin runs its node is its own business.
        json.remove("execute");
        json.insert("type".to_owned(), json!(self.name));
        json.insert("namespace".to_owned(), json!(self.namespace));
        json.insert("fullType".to_owned(), json!(self.full_type()));
        json.insert("category".to_owned(), json!(self.category));
        json.insert("displayName".to_owned(), json!(self.display_name));
        json.insert("description".to_owned(), json!(self.description));
        add_shape(&mut json, &self.shape);
        if !self.modes.is_empty() {
            let modes = self.modes.iter().map(|mode| {
                let written = self.raw.get("modes").and_then(|modes| modes.get(&mode.id));
                (mode.id.clone(), mode_json(mode, written))
            });
            json.insert("modes".to_owned(), Json::Object(modes.collect()));
        }
        let flag = |yes: bool| yes.then_some(json!(true));
        let more = [
            (
                "defaultModeId",
                self.default_mode.as_ref().map(|id| json!(id)),
            ),
            (
                "modeConfigKey",
                self.mode_key.as_ref().map(|key| json!(key)),
            ),
            (
                "configValues",
                (!self.config_values.is_empty()).then(|| json!(self.config_values)),
            ),
            ("bypassBehavior", self.bypass.as_ref().map(bypass_json)),
            ("isUiNode", flag(self.is_ui)),
            ("isPreviewUnsafe", flag(self.is_preview_unsafe)),
            ("dynamicSlots", flag(self.dynamic_slots)),
            ("deprecated", flag(self.deprecated)),
            ("experimental", flag(self.experimental)),
            ("width", self.width.map(|width| json!(width))),
            ("deterministic", Some(json!(self.deterministic))),
        ];
        for (key, value) in more {
            if let Some(value) = value {
                json.insert(key.to_owned(), value);
            }
        }
        Json::Object(json)
    }
}

fn mode_json(mode: &NodeMode, written: Option<&Json>) -> Json {
    let mut json = object(written);
    json.insert("id".to_owned(), json!(mode.id));
    json.insert("displayName".to_owned(), json!(mode.display_name));
    if !mode.description.is_empty() {
        json.insert("description".to_owned(), json!(mode.description));
    }
    add_shape(&mut json, &mode.shape);
    Json::Object(json)
}

/// Adds to what the author wrote about each slot.
fn add_shape(json: &mut Map<String, Json>, shape: &NodeShape) {
    let written = |json: &Map<String, Json>, group: &str, key: &str| {
        object(json.get(group).and_then(|group| group.get(key)))
    };
    let inputs = |json: &Map<String, Json>, group: &str, slots: &[NodeInput]| -> Json {
        let all = slots.iter().map(|input| {
            let known = written(json, group, &input.slot.key);
            (input.slot.key.clone(), input_json(input, known))
        });
        Json::Object(all.collect())
    };
    let of_inputs = inputs(json, "inputs", &shape.inputs);
    let of_config = inputs(json, "configSchema", &shape.config);
    let of_outputs = shape.outputs.iter().map(|slot| {
        let known = written(json, "outputs", &slot.key);
        (slot.key.clone(), Json::Object(slot_json(slot, known)))
    });
    let of_outputs = Json::Object(of_outputs.collect());
    json.insert("inputs".to_owned(), of_inputs);
    json.insert("outputs".to_owned(), of_outputs);
    if !shape.config.is_empty() {
        json.insert("configSchema".to_owned(), of_config);
    }
}

fn input_json(input: &NodeInput, known: Map<String, Json>) -> Json {
    let mut json = slot_json(&input.slot, known);
    json.insert("required".to_owned(), json!(input.required));
    if input.multi {
        json.insert("multi".to_owned(), json!(true));
    }
    if let Some(most) = input.max_connections {
        json.insert("maxConnections".to_owned(), json!(most));
    }
    if !input.config.is_empty() {
        json.insert("config".to_owned(), json!(input.config));
    }
    let branch = match input.branch {
        Branch::Needed => None,
        Branch::Optional => Some("optional"),
        Branch::Lazy => Some("lazy"),
    };
    if let Some(branch) = branch {
        json.insert("branch".to_owned(), json!(branch));
    }
    Json::Object(json)
}

fn slot_json(slot: &NodeSlot, mut json: Map<String, Json>) -> Map<String, Json> {
    json.insert("dataFlowType".to_owned(), json!(slot.flow.as_str()));
    if let Some(name) = &slot.display_name {
        json.insert("displayName".to_owned(), json!(name));
    }
    if let Some(about) = &slot.description {
        json.insert("description".to_owned(), json!(about));
    }
    if !slot.match_categories.is_empty() {
        json.insert("matchCategories".to_owned(), json!(slot.match_categories));
    }
    let flags = [
        ("isStream", slot.is_stream),
        ("allowDynamicType", slot.allow_dynamic_type),
        ("hideHandle", slot.hide_handle),
    ];
    for (key, is_set) in flags {
        if is_set {
            json.insert(key.to_owned(), json!(true));
        }
    }
    json
}

fn bypass_json(bypass: &Bypass) -> Json {
    match bypass {
        Bypass::Mute => json!("mute"),
        Bypass::Pass { through, defaults } => {
            let through: Map<String, Json> = through
                .iter()
                .map(|(output, input)| (output.clone(), json!(input)))
                .collect();
            json!({"passThrough": through, "defaults": defaults})
        }
    }
}

fn object(json: Option<&Json>) -> Map<String, Json> {
    json.and_then(Json::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
