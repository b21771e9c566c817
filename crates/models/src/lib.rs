//! Language models behind one streaming interface.
//!
//! - [`Model`] takes a [`ModelRequest`] and gives a [`ModelStream`]; whoever wants the whole answer at once calls
//!   [`ModelStream::collect`] on it. There is no second way of asking.
//! - [`Models`] knows models by name; a [`Router`] finds the [`Channel`]s that serve a name, and what it gives asks
//!   them in order, with their keys, again where that may help.
//! - [`messages_from_chat`] and [`messages_to_chat`] go between [`Message`] and the chat-completions shape in which
//!   workflows and files hold conversations.
//! - [`Rehearsal`] is the model that plays a script: for trying things out, for demonstrations and for tests.
//!
//! Which tools there are, what a reply asks for and what is done about it belongs to other crates.

mod channel;
mod chat;
mod cost;
mod discover;
mod error;
mod estimate;
mod event;
pub mod exam;
mod grammar;
mod http;
pub mod limits;
mod message;
mod model;
mod models;
mod names;
mod prices;
pub mod provider;
mod raw;
mod rehearsal;
mod reply;
mod request;
mod retrying;
mod stream;
mod trouble;
mod wire;

pub use channel::{
    CallOutcome, CallReport, CallStep, Candidate, Channel, ChannelConfig, HeaderText, KeyLookup,
    KeyRef, KeySource, QuirkChanges, ReportSink, Route, Routed, Router, RouterError,
};
pub use chat::{
    ChatError, PARTS_FIELD, messages_from_chat, messages_from_chat_after, messages_to_chat,
    parts_to_chat,
};
pub use cost::Cost;
pub use discover::{Found, Place, discover};
pub use error::{ModelError, ModelErrorKind};
pub use estimate::Estimate;
pub use event::{FinishReason, ModelEvent, Usage};
pub use grammar::{GrammarError, GrammarOptions, grammar};
pub use http::{HttpClient, ListedModel, Timeouts};
pub use message::{Image, Message, Part, Role, ToolCall, ToolResult};
pub use model::Model;
pub use models::Models;
pub use prices::{ModelInfo, ModelTable, Price};
pub use raw::RawPayload;
pub use rehearsal::{Rehearsal, Script, ScriptError, ScriptProblem};
pub use reply::ModelReply;
pub use request::{Constraint, ModelRequest, Sampling, ToolChoice, ToolSpec};
pub use retrying::Retrying;
pub use stream::ModelStream;
pub use trouble::ASK_ANOTHER;
pub use wire::WireFormat;
