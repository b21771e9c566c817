//! What the sandbox promises, tried from inside by programs that want out.

// `cfg(test)` tells the lints that helpers in here are test code too.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod suite;
