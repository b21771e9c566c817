//! What the specification promises about calling tools: text in, observations out.

// `cfg(test)` tells the lints that helpers in here are test code too.
#[cfg(test)]
mod suite;
