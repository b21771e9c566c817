//! Server-sent events from bytes, however they are cut.
//!
//! Owns lines, fields and the bound on one event. What the data means is each format's own business; `id` and `retry`
//! are for browsers that connect again and mean nothing here.

use std::borrow::Cow;

use crate::limits::MAX_EVENT_BYTES;
use crate::{ModelError, ModelErrorKind};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    /// Empty where the server names none.
    pub(crate) event: String,
    pub(crate) data: String,
}

#[derive(Debug, Default)]
pub(crate) struct SseReader {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// What the lines of the event have said so far; no data is another thing than empty data.
    name: String,
    data: Option<String>,
    /// The last line ended with CR, so that an LF that comes next still belongs to it.
    after_cr: bool,
    past_first_line: bool,
}

impl SseReader {
    /// Fails only where one event is longer than anything that makes sense.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), ModelError> {
        let mut rest = bytes;
        loop {
            if self.after_cr
                && let Some((first, others)) = rest.split_first()
            {
                self.after_cr = false;
                if *first == b'\n' {
                    rest = others;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.weigh(rest.len())?;
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            let (line, others) = rest.split_at(end);
            self.weigh(line.len())?;
            if self.line.is_empty() {
                self.end_of_line(line, out);
            } else {
                let mut begun = std::mem::take(&mut self.line);
                begun.extend_from_slice(line);
                self.end_of_line(&begun, out);
                begun.clear();
                self.line = begun;
            }
            self.after_cr = others.first() == Some(&b'\r');
            rest = others.get(1..).unwrap_or_default();
        }
    }

    /// The connection has ended; what was begun counts, also without the empty line after it.
    pub(crate) fn finish(&mut self, out: &mut Vec<SseEvent>) -> Result<(), ModelError> {
        let begun = std::mem::take(&mut self.line);
        if !begun.is_empty() {
            self.end_of_line(&begun, out);
        }
        self.end_of_event(out);
        Ok(())
    }

    /// Line breaks are never part of a longer character, so a line can be decoded by itself.
    fn end_of_line(&mut self, line: &[u8], out: &mut Vec<SseEvent>) {
        let mut line = line;
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_of_event(out);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                let value = readable(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                    None => self.data = Some(value.into_owned()),
                }
            }
            b"event" => self.name = readable(value).into_owned(),
            _ => {}
        }
    }

    fn end_of_event(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            out.push(SseEvent { event, data });
        }
    }

    fn weigh(&self, more: usize) -> Result<(), ModelError> {
        let data = self.data.as_ref().map_or(0, String::len);
        let bytes = self.line.len() + self.name.len() + data + more;
        if bytes <= MAX_EVENT_BYTES {
            return Ok(());
        }
        let said = "one event of the reply has more than";
        Err(ModelError::new(
            ModelErrorKind::TooLarge,
            format!(
                "{said} {MAX_EVENT_BYTES} bytes and was stopped there; \
                 check that the base URL is that of a model server"
            ),
        ))
    }
}

/// One bad byte spoils one character. Looking for bad ones is slow, and there are none nearly always.
fn readable(line: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(line) {
        Ok(line) => Cow::Borrowed(line),
        Err(_) => String::from_utf8_lossy(line),
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
