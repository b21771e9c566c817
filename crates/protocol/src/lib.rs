//! What a model says, and what it is told.
//!
//! - [`parse`] turns a model's text into a [`Reply`]: calls it can trust, and diagnostics for everything
//!   it had to guess or refuse. It is total, linear and never drops anything without saying so.
//! - [`bind`] fits a [`ToolCallRequest`] to a [`ToolDefinition`].
//! - `render_manifest` and `render_observation` are the way back: what the model reads.
//!
//! No IO, no async, no registry: those belong to the crates above.

#![cfg_attr(not(test), deny(clippy::string_slice, clippy::indexing_slicing))]

mod bind;
mod call;
mod diagnostic;
pub mod key;
pub mod limits;
mod parse;
mod reply;
mod span;
mod tool;

pub use bind::{
    BindError, BoundCall, DeclarationError, Problem, ProblemCode, UriArgument, bind, bind_value,
    check_declaration,
};
pub use call::{
    Argument, Node, OnError, Protocol, Provider, Source, Text, ToolCallRequest, Tree, TypeHint,
    Value,
};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use parse::{
    Dialect, Stream, StreamEvent, add_native_calls, parse, parse_response, parse_with,
};
pub use reply::{Block, Reply};
pub use span::Span;
pub use tool::{Execution, ExecutionMode, ToolDefinition, ToolExample, ToolId, ToolKind};
