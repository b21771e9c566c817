//! Language models behind one streaming interface.
//!
//! - [`Model`] takes a [`ModelRequest`] and gives a [`ModelStream`]; whoever wants the whole answer at once calls
//!   [`ModelStream::collect`] on it. There is no second way of asking.
//! - [`Models`] knows models by name.
//! - [`messages_from_chat`] and [`messages_to_chat`] go between [`Message`] and the chat-completions shape in which
//!   workflows and files hold conversations.
//! - [`Rehearsal`] is the model that plays a script: for trying things out, for demonstrations and for tests.
//!
//! Which tools there are, what a reply asks for and what is done about it belongs to other crates.

mod chat;
mod error;
mod event;
pub mod limits;
mod message;
mod model;
mod models;
mod rehearsal;
mod reply;
mod request;
mod stream;

pub use chat::{ChatError, messages_from_chat, messages_to_chat};
pub use error::{ModelError, ModelErrorKind};
pub use event::{FinishReason, ModelEvent, Usage};
pub use message::{Image, Message, Part, Role, ToolCall, ToolResult};
pub use model::Model;
pub use models::Models;
pub use rehearsal::{Rehearsal, Script, ScriptError, ScriptProblem};
pub use reply::ModelReply;
pub use request::{ModelRequest, Sampling, ToolChoice, ToolSpec};
pub use stream::ModelStream;
