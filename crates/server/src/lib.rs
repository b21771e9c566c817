//! The doors to the network: HTTP under `/api/v1`, live events, and who may come in.
//!
//! - [`Server`] binds an address and serves until it is told to stop; then whoever is inside is let out, and runs are
//!   parked by whoever owns them.
//! - `guard/` is what every request passes before anything is done for it: Host, Origin, rate, size. `auth/` is who
//!   somebody is and how far they may go. `api/` is what can be asked for, one file a subject. `live/` is what is told
//!   while it happens.
//! - `chats/` are those that the house keeps itself, `publisher/` sees to what runs ask of their host, `clients.rs` and `extensions.rs`
//!   are what the other end of a socket can be asked for.
//!   while it happens, `executions/` the workflows that are at work,
//!   `figures/` what is counted.
//! - A [`House`] is all that belongs to one person; where there are several people, each has a house of their own, so
//!   that nobody sees another's. [`Houses`] finds it.
//!
//! What is done is done below; nothing here decides more than who may ask.

mod api;
mod app;
pub mod auth;
mod chats;
mod client_model;
mod clients;
mod executions;
mod extensions;
mod figures;
mod guard;
mod handles;
mod house;
pub mod limits;
mod listen;
mod live;
mod model_desk;
mod options;
mod patient;
mod problem;
mod publisher;
mod server;
mod settings;

pub use api::description;
pub use client_model::CLIENT_MODELS;
pub use clients::Clients;
pub use executions::Executions;
pub use house::{House, HouseParts, Houses, OneHouse};
pub use model_desk::{
    ChannelAbout, ChannelState, ModelAbout, ModelAnswer, ModelDesk, ModelList, ModelProblem,
    ModelQuestion, ModelUse, NewChannel, ProviderAbout,
};
pub use options::{BadOptions, Bounds, ServerOptions};
pub use problem::Problem;
pub use server::Server;
pub use settings::HouseSettings;
