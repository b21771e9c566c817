//! What the model is sent: the beginning of a conversation, and what each turn adds to it.
//!
//! Pure. A conversation only ever grows, so that what was sent can be shown again, and providers that keep beginnings of
//! conversations can do so. `opening.rs` is what stands first, `turn.rs` what comes of a turn.

mod opening;
mod turn;

pub use opening::{Opening, opening};
pub use turn::{
    after_turn, arrived, empty_turn, guidance, nudge, observations, return_nudge, with_tools,
};

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
