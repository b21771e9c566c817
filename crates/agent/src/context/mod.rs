//! What the model is sent: the beginning of a conversation, and what each turn adds to it.
//!
//! Pure. A conversation only grows, so that what was sent can be shown again, and providers that keep beginnings of
//! conversations can do so; once it is too long, its oldest part gives way in one large step. `opening.rs` is what stands
//! first, `turn.rs` what comes of a turn, `cut.rs` which part gives way, `summary.rs` what stands in its place, `weigh.rs`
//! how long it all is.

mod cut;
mod opening;
mod set_back;
mod summary;
mod turn;
mod weigh;

pub use cut::{Cut, Room, Talk, joined, pins, shortened};
pub use opening::{Opening, opening, renewed};
pub use set_back::set_back;
pub use summary::{
    Dropping, cut_words, is_summary, note, request as summary_request, said, summary,
};
pub use turn::{
    after_turn, arrived, empty_turn, guidance, nudge, observations, return_nudge, with_tools,
};
pub use weigh::{at_most, tokens, tokens_of_tools};

#[cfg(test)]
mod cut_tests;

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
