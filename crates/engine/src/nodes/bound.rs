//! How large a value may be that a node makes of others: each alone is small, and in a chain or a loop they double.

use std::io;

use serde_json::Value as Json;

use crate::limits::MAX_VALUE_BYTES;
use crate::{NodeError, Value};

/// Bytes that were put together so far.
#[derive(Default)]
pub(super) struct Bound(usize);

impl Bound {
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), NodeError> {
        self.0 = self.0.saturating_add(bytes);
        match self.0 > MAX_VALUE_BYTES {
            true => Err(NodeError::invalid(
                "value.too_large",
                format!(
                    "what this node makes is larger than {MAX_VALUE_BYTES} bytes; give it less, or write it to files part by part"
                ),
            )),
            false => Ok(()),
        }
    }

    pub(super) fn add_value(&mut self, value: &Value) -> Result<(), NodeError> {
        self.add(value.weight())
    }

    /// Written out.
    pub(super) fn add_json(&mut self, json: &Json) -> Result<(), NodeError> {
        let left = MAX_VALUE_BYTES.saturating_sub(self.0);
        let mut count = Count { bytes: 0, left };
        // It fails only where there is too much, and then that is counted.
        let _too_much = serde_json::to_writer(&mut count, json);
        self.add(count.bytes)
    }
}

struct Count {
    bytes: usize,
    left: usize,
}

impl io::Write for Count {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.bytes += text.len();
        match self.bytes > self.left {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(text.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counts_together() {
        let half = Json::String("x".repeat(MAX_VALUE_BYTES / 2));
        let mut bound = Bound::default();
        assert!(bound.add(3).is_ok());
        assert!(bound.add_json(&half).is_ok());
        assert_eq!(bound.add_json(&half).unwrap_err().code, "value.too_large");
        let mut bound = Bound::default();
        let half = Value::from(half);
        assert!(bound.add_value(&half).is_ok());
        assert!(bound.add_value(&half).is_err());
        assert!(bound.add(usize::MAX).is_err());
    }
}
