//! What a node is, as data: its slots, its settings, its behaviour when switched off. Plain data, as it was read or built.
//!
//! What is needed to run a node has a type here; everything else an author wrote, for the canvas or for later, is
//! in [`NodeDefinition::raw`].

use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value as Json};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeDefinition {
    /// `type`, without the namespace.
    pub name: String,
    /// `core`, or the plugin's name.
    pub namespace: String,
    pub category: String,
    pub display_name: String,
    pub description: String,
    /// What it has where no mode says otherwise.
    pub shape: NodeShape,
    pub modes: Vec<NodeMode>,
    pub default_mode: Option<String>,
    /// The setting that chooses the mode.
    pub mode_key: Option<String>,
    /// Settings that a new node begins with.
    pub config_values: Map<String, Json>,
    pub bypass: Option<Bypass>,
    pub is_ui: bool,
    pub is_preview_unsafe: bool,
    /// A workflow may give it slots beyond those declared.
    pub dynamic_slots: bool,
    /// The same inputs always give the same outputs, and nothing else happens: results may be kept.
    pub deterministic: bool,
    pub deprecated: bool,
    pub experimental: bool,
    pub width: Option<f64>,
    /// A script for the page, relative to the plugin's folder.
    pub client_script: Option<PathBuf>,
    /// The whole definition as it stands in the file, unknown fields included; empty for one that is built in.
    pub raw: Map<String, Json>,
}

impl NodeDefinition {
    /// What workflows call it: `weather:Sky`.
    pub fn full_type(&self) -> String {
        format!("{}:{}", self.namespace, self.name)
    }

    pub fn mode(&self, id: &str) -> Option<&NodeMode> {
        self.modes.iter().find(|mode| mode.id == id)
    }
}

/// Slots and settings, each in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeShape {
    pub inputs: Vec<NodeInput>,
    pub outputs: Vec<NodeSlot>,
    /// `configSchema`: described like inputs, set on the node itself.
    pub config: Vec<NodeInput>,
}

/// One of several shapes that a node can take.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMode {
    pub id: String,
    pub display_name: String,
    pub description: String,
    pub shape: NodeShape,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeSlot {
    pub key: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub flow: DataFlowType,
    /// It carries many values of its type, one after the other.
    pub is_stream: bool,
    pub match_categories: Vec<String>,
    pub allow_dynamic_type: bool,
    pub hide_handle: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeInput {
    pub slot: NodeSlot,
    pub required: bool,
    /// Takes a list: one value for each connection.
    pub multi: bool,
    pub max_connections: Option<u32>,
    pub branch: Branch,
    /// `default`, `min`, `max`, `suggestions`, and hints for the canvas.
    pub config: Map<String, Json>,
}

/// What a branch not taken means to an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branch {
    /// The node does not run either.
    #[default]
    Needed,
    /// The input is absent, and the node runs with the others.
    Optional,
    /// The same, and nothing that only this input needs is run before the node asks for it.
    Lazy,
}

/// What comes out of a node that is switched off.
#[derive(Debug, Clone, PartialEq)]
pub enum Bypass {
    Mute,
    Pass {
        /// Output and the input whose value it gives.
        through: Vec<(String, String)>,
        /// Output and its value.
        defaults: Map<String, Json>,
    },
}

/// What passes through a slot. A stream is no type of its own: see [`NodeSlot::is_stream`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DataFlowType {
    String,
    Integer,
    Float,
    Boolean,
    Object,
    Array,
    Binary,
    #[default]
    Wildcard,
    ConvertibleAny,
}

impl DataFlowType {
    pub const ALL: [Self; 9] = [
        Self::String,
        Self::Integer,
        Self::Float,
        Self::Boolean,
        Self::Object,
        Self::Array,
        Self::Binary,
        Self::Wildcard,
        Self::ConvertibleAny,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "STRING",
            Self::Integer => "INTEGER",
            Self::Float => "FLOAT",
            Self::Boolean => "BOOLEAN",
            Self::Object => "OBJECT",
            Self::Array => "ARRAY",
            Self::Binary => "BINARY",
            Self::Wildcard => "WILDCARD",
            Self::ConvertibleAny => "CONVERTIBLE_ANY",
        }
    }

    /// Whether a value is of this type. Null is none of them, save where anything goes. In JSON, binary data is a
    /// text (base64, or where it is to be found) or an object that says more about it.
    pub fn accepts(self, value: &Json) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => {
                let whole = |number: f64| number.fract() == 0.0;
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(whole)
            }
            Self::Float => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Binary => value.is_string() || value.is_object(),
            Self::Wildcard | Self::ConvertibleAny => true,
        }
    }
}

impl fmt::Display for DataFlowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
