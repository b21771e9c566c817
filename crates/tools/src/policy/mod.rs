//! What may be done: rules give a verdict, a person answers where the verdict is *ask*.
//!
//! - [`Rule`] is what people write; `rule.rs` reads and checks it, `place.rs` knows patterns about places.
//! - [`Policy::decide`] is pure: a [`Question`] in, a [`Verdict`] out. `fit.rs` says whether a rule applies,
//!   `specificity.rs` which of several wins, `defaults.rs` what holds where nobody wrote a rule.
//! - [`Approvals`] settles a verdict: remembers answers, asks an [`Approver`], gives up in time.
//!
//! What cannot be decided is *no*. Which tools a profile offers at all is [`crate::Reach`]; the ends of files are
//! guarded by `file/` whatever is allowed here.

mod approval;
mod approvals;
mod decide;
mod defaults;
mod expires;
mod fit;
mod place;
mod rule;
mod specificity;

pub use approval::{
    Answer, ApprovalRequest, ApprovedBy, Approver, Asker, Decided, Nobody, Settled,
};
pub use approvals::Approvals;
pub use decide::{Policy, Question, Verdict};
pub use expires::Expires;
pub use rule::{Decision, PolicyError, Rule};

#[cfg(test)]
mod approvals_tests;
#[cfg(test)]
mod decide_tests;
#[cfg(test)]
mod fit_tests;
#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod rule_tests;
