//! Runs as a host and a person meet them, against the public face of the crate.

// `cfg(test)` tells the lints that helpers in here are test code too.
#[cfg(test)]
mod suite;
