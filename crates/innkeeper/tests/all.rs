//! Tests of the command as its users meet it, and of the shape of the workspace.

// `cfg(test)` tells the lints that helpers in here are test code too.
#[cfg(test)]
mod suite;
