//! How many values a JSON text has, without making them: each costs many times the byte or two that it may be written in.

use crate::limits::MAX_SCRIPT_VALUES;

pub(super) fn are_too_many(json: &[u8]) -> bool {
    let (mut values, mut in_text, mut escaped) = (1_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > MAX_SCRIPT_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        let many = "0,".repeat(MAX_SCRIPT_VALUES);
        for (json, expected) in [
            (String::new(), false),
            ("[1, 2, {\"a\": []}]".to_owned(), false),
            (format!("[{many}0]"), true),
            (format!("\"{many}\""), false),
            (format!("\"\\\"{many}\""), false),
            (format!("\"\\\\\",[{many}0]"), true),
        ] {
            let shown: String = json.chars().take(20).collect();
            assert_eq!(are_too_many(json.as_bytes()), expected, "{shown}");
        }
    }
}
