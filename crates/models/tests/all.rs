//! The one integration binary of this crate; its tests are in `suite/`.

// These are allowed in tests, but clippy does not see that a helper of a test is one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod suite;
