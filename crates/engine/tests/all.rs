//! What is promised about workflows: files in, files and results out.

// `cfg(test)` tells the lints that helpers in here are test code too.
#[cfg(test)]
mod suite;
