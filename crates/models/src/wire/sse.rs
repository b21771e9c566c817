//! Server-sent events from bytes, however they are cut.
//!
//! Owns lines, fields and the bound on one event. What the data means is each format's own business; `id` and `retry`
//! are for browsers that connect again and mean nothing here.

use std::borrow::Cow;

use crate::limits::MAX_EVENT_BYTES;
use crate::{ModelError, ModelErrorKind};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Lies in the bytes it came in, where it came in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent<'a> {
    /// Empty where the server names none.
    pub(crate) event: Cow<'a, str>,
    pub(crate) data: Cow<'a, str>,
}

#[derive(Debug, Default)]
pub(crate) struct SseReader {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The beginning of an event whose end has not come.
    begun: Begun<'static>,
    /// The last line ended with CR, so that an LF that comes next still belongs to it.
    after_cr: bool,
    past_first_line: bool,
}

impl SseReader {
    /// The next event that ends in `rest`, which is what was not read before; `None` once all of it is. Fails only where one
    /// event is longer than anything that makes sense.
    pub(crate) fn next<'a>(
        &mut self,
        rest: &mut &'a [u8],
    ) -> Result<Option<SseEvent<'a>>, ModelError> {
        let mut begun: Begun<'a> = std::mem::take(&mut self.begun);
        loop {
            if self.after_cr
                && let Some((first, others)) = rest.split_first()
            {
                self.after_cr = false;
                if *first == b'\n' {
                    *rest = others;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                weigh(self.line.len() + begun.len() + rest.len())?;
                self.line.extend_from_slice(rest);
                *rest = &[];
                self.begun = begun.into_owned();
                return Ok(None);
            };
            let (line, others) = rest.split_at(end);
            weigh(self.line.len() + begun.len() + line.len())?;
            let field = match self.line.is_empty() {
                true => Field::of(self.unmarked(line)),
                false => {
                    let mut whole = std::mem::take(&mut self.line);
                    whole.extend_from_slice(line);
                    let field = Field::of(self.unmarked(&whole)).into_owned();
                    whole.clear();
                    self.line = whole;
                    field
                }
            };
            self.after_cr = others.first() == Some(&b'\r');
            *rest = others.get(1..).unwrap_or_default();
            if let Some(event) = begun.take(field) {
                return Ok(Some(event));
            }
        }
    }

    /// The connection has ended; what was begun counts, also without the empty line after it.
    pub(crate) fn finish(&mut self) -> Option<SseEvent<'static>> {
        let line = std::mem::take(&mut self.line);
        let mut begun = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            begun.take(Field::of(self.unmarked(&line)).into_owned());
        }
        begun.take(Field::End)
    }

    fn unmarked<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        match std::mem::replace(&mut self.past_first_line, true) {
            true => line,
            false => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        }
    }
}

/// What one line says.
enum Field<'a> {
    Data(Cow<'a, str>),
    Name(Cow<'a, str>),
    Other,
    /// An empty line.
    End,
}

impl<'a> Field<'a> {
    /// Line breaks are never part of a longer character, so a line can be decoded by itself.
    fn of(line: &'a [u8]) -> Self {
        if line.is_empty() {
            return Self::End;
        }
        let colon = memchr::memchr(b':', line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => Self::Data(readable(value)),
            b"event" => Self::Name(readable(value)),
            _ => Self::Other,
        }
    }

    fn into_owned(self) -> Field<'static> {
        match self {
            Self::Data(data) => Field::Data(owned(data)),
            Self::Name(name) => Field::Name(owned(name)),
            Self::Other => Field::Other,
            Self::End => Field::End,
        }
    }
}

/// What the lines of an event have said so far.
#[derive(Debug, Default)]
struct Begun<'a> {
    name: Cow<'a, str>,
    /// No data is another thing than empty data.
    data: Option<Cow<'a, str>>,
}

impl<'a> Begun<'a> {
    /// The event, where this was its end.
    fn take(&mut self, field: Field<'a>) -> Option<SseEvent<'a>> {
        match (field, &mut self.data) {
            (Field::Data(more), Some(data)) => {
                let data = data.to_mut();
                data.push('\n');
                data.push_str(&more);
            }
            (Field::Data(data), none @ None) => *none = Some(data),
            (Field::Name(name), _) => self.name = name,
            (Field::Other, _) => {}
            (Field::End, _) => {
                let event = std::mem::take(&mut self.name);
                let data = self.data.take()?;
                return Some(SseEvent { event, data });
            }
        }
        None
    }

    fn len(&self) -> usize {
        self.name.len() + self.data.as_ref().map_or(0, |data| data.len())
    }

    fn into_owned(self) -> Begun<'static> {
        Begun {
            name: owned(self.name),
            data: self.data.map(owned),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    match text {
        // Nothing to copy, and no room to ask for.
        Cow::Borrowed("") => Cow::Borrowed(""),
        text => Cow::Owned(text.into_owned()),
    }
}

fn weigh(bytes: usize) -> Result<(), ModelError> {
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
