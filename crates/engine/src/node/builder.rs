//! How a node is written in Rust: its slots are declared once, and what is declared is what is read.
//!
//! ```
//! use innkeeper_engine::node::{NodeBuilder, NodeType, text};
//!
//! fn node() -> NodeType {
//!     let mut node = NodeBuilder::core("TextMerge", "Text", "Merge text", "Joins texts");
//!     let separator = node.input(text("separator").default("\\n"));
//!     let texts = node.input(text("text_inputs").required().multi());
//!     let merged = node.output(text("merged_text"));
//!     node.inline(move |io| {
//!         let joined = io.get(texts)?.join(&io.get(separator)?);
//!         io.set(merged, joined);
//!         Ok(())
//!     })
//! }
//! # assert_eq!(node().full_type(), "core:TextMerge");
//! ```

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::definition::Branch;
use super::{
    Behaviour, Bypass, Choose, DataFlowType, Io, NodeDefinition, NodeError, NodeInput, NodeMode,
    NodeShape, NodeSlot, NodeType, Outputs, TaskIo, next_serial,
};
use crate::Value;
use crate::stream::StreamReader;

/// An input that was declared.
pub struct In<T> {
    pub(crate) index: usize,
    type_: PhantomData<fn() -> T>,
}

/// An output that was declared.
pub struct Out<T> {
    pub(crate) index: usize,
    type_: PhantomData<fn(T)>,
}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> In<T> {
    pub fn index(self) -> usize {
        self.index
    }
}

impl<T> Out<T> {
    pub fn index(self) -> usize {
        self.index
    }
}

/// A stream output that was declared.
pub type StreamOut = Out<StreamReader>;

/// A slot that is being declared; `T` is what the node reads it as.
pub struct Slot<T> {
    input: NodeInput,
    type_: PhantomData<fn() -> T>,
}

macro_rules! slots {
    ($($(#[$doc:meta])* $name:ident, $type:ty, $flow:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(key: &str) -> Slot<$type> {
            Slot::new(key, DataFlowType::$flow)
        }
    )*};
}

slots! {
    text, String, String;
    integer, i64, Integer;
    float, f64, Float;
    boolean, bool, Boolean;
    object, Map<String, Json>, Object;
    array, Vec<Value>, Array;
    binary, Value, Binary;
    /// Anything.
    any, Value, Wildcard;
    /// Anything, turned into what it is connected to.
    convertible, Value, ConvertibleAny;
}

impl<T> Slot<T> {
    pub fn new(key: &str, flow: DataFlowType) -> Self {
        Self {
            input: NodeInput {
                slot: NodeSlot {
                    key: key.to_owned(),
                    flow,
                    ..NodeSlot::default()
                },
                ..NodeInput::default()
            },
            type_: PhantomData,
        }
    }

    fn retyped<U>(self) -> Slot<U> {
        Slot {
            input: self.input,
            type_: PhantomData,
        }
    }

    pub fn title(mut self, title: &str) -> Self {
        self.input.slot.display_name = Some(title.to_owned());
        self
    }

    pub fn about(mut self, about: &str) -> Self {
        self.input.slot.description = Some(about.to_owned());
        self
    }

    pub fn category(mut self, category: &str) -> Self {
        self.input.slot.match_categories.push(category.to_owned());
        self
    }

    /// Must be connected or set.
    pub fn required(mut self) -> Self {
        self.input.required = true;
        self
    }

    pub fn default(self, value: impl Into<Json>) -> Self {
        self.config("default", value)
    }

    pub fn config(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.input.config.insert(key.to_owned(), value.into());
        self
    }

    pub fn range(self, min: impl Into<Json>, max: impl Into<Json>) -> Self {
        self.config("min", min).config("max", max)
    }

    pub fn multiline(self) -> Self {
        self.config("multiline", true)
    }

    /// One of these, and no other.
    pub fn choice(self, values: &[&str]) -> Self {
        let suggestions = values
            .iter()
            .map(|value| json!({"value": value, "label": value}));
        let suggestions = Json::Array(suggestions.collect());
        self.category("ComboOption")
            .config("suggestions", suggestions)
    }

    /// Nothing is read as `None`, not as an empty value of its type.
    pub fn optional(self) -> Slot<Option<T>> {
        self.config("default", Json::Null).retyped()
    }

    /// Takes many connections.
    pub fn multi(mut self) -> Slot<Vec<T>> {
        self.input.multi = true;
        self.retyped()
    }

    pub fn stream(mut self) -> Slot<StreamReader> {
        self.input.slot.is_stream = true;
        self.retyped()
    }

    pub fn branch(mut self, branch: Branch) -> Self {
        self.input.branch = branch;
        self
    }

    pub fn dynamic_type(mut self) -> Self {
        self.input.slot.allow_dynamic_type = true;
        self
    }

    pub fn build(self) -> NodeInput {
        self.input
    }
}

/// Slots and settings of a node, or of one of its modes.
#[derive(Default)]
pub struct ShapeBuilder {
    shape: NodeShape,
}

impl ShapeBuilder {
    pub fn input<T>(&mut self, slot: Slot<T>) -> In<T> {
        self.shape.inputs.push(slot.input);
        In {
            index: self.shape.inputs.len() - 1,
            type_: PhantomData,
        }
    }

    pub fn output<T>(&mut self, slot: Slot<T>) -> Out<T> {
        self.shape.outputs.push(slot.input.slot);
        Out {
            index: self.shape.outputs.len() - 1,
            type_: PhantomData,
        }
    }

    /// A setting: read with `io.config(key)`.
    pub fn setting<T>(&mut self, slot: Slot<T>) -> &mut Self {
        self.shape.config.push(slot.input);
        self
    }
}

/// A node type in the making.
pub struct NodeBuilder {
    definition: NodeDefinition,
    shape: ShapeBuilder,
    behaviours: Vec<Behaviour>,
    is_cached: Option<bool>,
    aliases: Vec<String>,
    choose: Option<Arc<Choose>>,
}

impl std::ops::Deref for NodeBuilder {
    type Target = ShapeBuilder;

    fn deref(&self) -> &ShapeBuilder {
        &self.shape
    }
}

impl std::ops::DerefMut for NodeBuilder {
    fn deref_mut(&mut self) -> &mut ShapeBuilder {
        &mut self.shape
    }
}

impl NodeBuilder {
    /// `core:<name>`
    pub fn core(name: &str, category: &str, title: &str, about: &str) -> Self {
        Self::new("core", name, category, title, about)
    }

    pub fn new(namespace: &str, name: &str, category: &str, title: &str, about: &str) -> Self {
        Self {
            definition: NodeDefinition {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                category: category.to_owned(),
                display_name: title.to_owned(),
                description: about.to_owned(),
                deterministic: true,
                ..NodeDefinition::default()
            },
            shape: ShapeBuilder::default(),
            behaviours: Vec::new(),
            is_cached: None,
            aliases: Vec::new(),
            choose: None,
        }
    }

    /// Another full type under which files may know it.
    pub fn alias(&mut self, full_type: &str) -> &mut Self {
        self.aliases.push(full_type.to_owned());
        self
    }

    /// What it gives depends on more than its inputs, or it does something: results are never kept.
    pub fn effects(&mut self) -> &mut Self {
        self.definition.deterministic = false;
        self
    }

    /// Keep results of earlier runs, or not; else those of deterministic tasks are kept, those of inline nodes not,
    /// because looking them up costs more than making them.
    pub fn cached(&mut self, is_cached: bool) -> &mut Self {
        self.is_cached = Some(is_cached);
        self
    }

    /// A workflow may give it slots of its own.
    pub fn dynamic(&mut self) -> &mut Self {
        self.definition.dynamic_slots = true;
        self
    }

    pub fn deprecated(&mut self) -> &mut Self {
        self.definition.deprecated = true;
        self
    }

    pub fn ui(&mut self) -> &mut Self {
        self.definition.is_ui = true;
        self
    }

    pub fn bypass(&mut self, bypass: Bypass) -> &mut Self {
        self.definition.bypass = Some(bypass);
        self
    }

    /// Which of its lazy inputs it wants, decided from the others.
    pub fn choose(
        &mut self,
        choose: impl Fn(&mut Io, &mut dyn FnMut(usize)) -> Result<(), NodeError> + Send + Sync + 'static,
    ) -> &mut Self {
        self.choose = Some(Arc::new(choose));
        self
    }

    /// The setting that chooses between modes, and the mode where it says nothing.
    pub fn modes(&mut self, key: &str, default: &str) -> &mut Self {
        self.definition.mode_key = Some(key.to_owned());
        self.definition.default_mode = Some(default.to_owned());
        self
    }

    /// One mode with slots and a behaviour of its own.
    pub fn mode(
        &mut self,
        id: &str,
        title: &str,
        make: impl FnOnce(&mut ShapeBuilder) -> Behaviour,
    ) -> &mut Self {
        let mut shape = ShapeBuilder::default();
        let behaviour = make(&mut shape);
        self.definition.modes.push(NodeMode {
            id: id.to_owned(),
            display_name: title.to_owned(),
            description: String::new(),
            shape: shape.shape,
        });
        self.behaviours.push(behaviour);
        self
    }

    /// For a node whose modes say what it does.
    pub fn by_mode(self) -> NodeType {
        self.behave(Behaviour::inline(|_| Ok(())))
    }

    /// Quick, and waits for nothing: run in place.
    pub fn inline(
        self,
        run: impl Fn(&mut Io) -> Result<(), NodeError> + Send + Sync + 'static,
    ) -> NodeType {
        self.behave(Behaviour::inline(run))
    }

    /// May wait, stream, and call others.
    pub fn task<F>(self, run: impl Fn(TaskIo) -> F + Send + Sync + 'static) -> NodeType
    where
        F: Future<Output = Result<Outputs, NodeError>> + Send + 'static,
    {
        self.behave(Behaviour::task(run))
    }

    pub(crate) fn behave(self, behaviour: Behaviour) -> NodeType {
        let mut definition = self.definition;
        definition.shape = self.shape.shape;
        let is_task = matches!(behaviour, Behaviour::Task(_))
            || self
                .behaviours
                .iter()
                .any(|one| matches!(one, Behaviour::Task(_)));
        let is_cached = self
            .is_cached
            .unwrap_or(is_task && definition.deterministic);
        NodeType {
            full_type: definition.full_type().into(),
            serial: next_serial(),
            definition,
            behaviour,
            modes: self.behaviours,
            is_cached,
            keeps_own: false,
            kept_if: None,
            aliases: self.aliases,
            choose: self.choose,
        }
    }
}

impl Behaviour {
    pub fn inline(run: impl Fn(&mut Io) -> Result<(), NodeError> + Send + Sync + 'static) -> Self {
        Self::Inline(Arc::new(run))
    }

    pub fn task<F>(run: impl Fn(TaskIo) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Outputs, NodeError>> + Send + 'static,
    {
        Self::Task(Arc::new(move |io| Box::pin(run(io))))
    }
}
