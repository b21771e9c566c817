//! What a model says, and what it is told.
//!
//! - [`parse`] turns a model's text into a [`Reply`]: calls it can trust, and diagnostics for everything
//!   it had to guess or refuse. It is total, linear and never drops anything without saying so.
//! - [`bind`] fits a [`ToolCallRequest`] to a [`ToolDefinition`].
//! - `render_manifest` and `render_observation` are the way back: what the model reads.
//!
//! No IO, no async, no registry: those belong to the crates above.

#![cfg_attr(not(test), deny(clippy::string_slice, clippy::indexing_slicing))]

mod alias;
mod bind;
mod call;
mod defuse;
mod diagnostic;
mod error;
pub mod event;
pub mod key;
pub mod limits;
mod manifest;
mod observation;
mod parse;
pub mod pattern;
mod reference;
mod render;
mod reply;
mod secret;
mod span;
mod tool;

pub use alias::Aliases;
pub use bind::{
    BindError, BoundCall, DeclarationError, Problem, ProblemCode, UriArgument, bind, bind_partly,
    bind_value, check_declaration,
};
pub use call::{
    Argument, Node, OnError, Protocol, Provider, Source, Text, ToolCallRequest, Tree, TypeHint,
    Value,
};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use error::{Audience, ErrorCode, UnknownErrorCode};
pub use event::{RunEvent, RunEventKind};
pub use manifest::{Extent, Locale, Manifest, render_manifest, render_part};
pub use observation::{
    Failure, Observation, Outcome, ParameterProblem, Spilled, render_observation,
    render_observation_within,
};
pub use parse::{
    Dialect, Stream, StreamEvent, add_native_calls, parse, parse_response, parse_with, understand,
};
pub use pattern::Pattern;
pub use render::{Call, RenderError, RenderedCall, Step, render_call};
pub use reply::{Block, Reply};
pub use secret::Secret;
pub use span::Span;
pub use tool::{Execution, ExecutionMode, ToolDefinition, ToolExample, ToolId, ToolKind};
