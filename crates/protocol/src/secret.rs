//! A text that cannot be shown by accident.

use std::fmt;

/// A text that is neither printed nor serialised. [`Secret::expose`] is the only way in.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For the one place that needs it: an environment variable, a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Otherwise the compiler may see that nobody looks at the zeros, and leave them out.
        std::hint::black_box(&bytes);
    }
}
