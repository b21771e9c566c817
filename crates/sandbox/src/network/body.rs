//! How far the body of a request reaches. What comes after it belongs to another request and is not passed on:
//! a connection carries one.

use std::io;

use crate::limits::{MAX_CHUNK_EXTENSION_BYTES, MAX_TRAILER_BYTES};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// No request at all: everything is passed on.
    Tunnel,
    /// So much is still to come.
    Length(u64),
    Chunked(Chunks),
}

impl Body {
    pub(super) fn chunked() -> Self {
        Self::Chunked(Chunks {
            state: State::Start,
            size: 0,
            seen: 0,
        })
    }

    /// How many of the next bytes belong to it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tunnel => Ok(bytes.len()),
            Self::Length(left) => {
                let taken = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Ok(taken)
            }
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    state: State,
    /// Of the chunk: what is still to come.
    size: u64,
    /// Bytes of a size, an extension or all trailers.
    seen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Size,
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataEnd,
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    Done,
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Done => break,
                State::Data => {
                    let left = usize::try_from(self.size).unwrap_or(usize::MAX);
                    let taken = left.min(bytes.len() - at);
                    self.size -= taken as u64;
                    at += taken;
                    if self.size == 0 {
                        self.state = State::DataCr;
                    }
                }
                _ => {
                    self.state = self.step(byte).ok_or_else(|| {
                        io::Error::new(io::ErrorKind::InvalidData, "the chunks are malformed")
                    })?;
                    at += 1;
                }
            }
        }
        Ok(at)
    }

    /// One byte of what stands around the data.
    fn step(&mut self, byte: u8) -> Option<State> {
        let within = |seen: &mut usize, most: usize| {
            *seen += 1;
            (*seen <= most).then_some(())
        };
        match (self.state, byte) {
            (State::Start | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.state == State::Start {
                    (self.size, self.seen) = (0, 0);
                }
                within(&mut self.seen, 15)?;
                let digit = char::from(byte).to_digit(16)?;
                self.size = (self.size << 4) | u64::from(digit);
                Some(State::Size)
            }
            (State::Size, b';') => {
                self.seen = 0;
                Some(State::Extension)
            }
            (State::Size | State::Extension, b'\r') => Some(State::SizeEnd),
            (State::Extension, b' '..=b'~' | b'\t') => {
                within(&mut self.seen, MAX_CHUNK_EXTENSION_BYTES)?;
                Some(State::Extension)
            }
            (State::SizeEnd, b'\n') if self.size == 0 => {
                self.seen = 0;
                Some(State::TrailerStart)
            }
            (State::SizeEnd, b'\n') => Some(State::Data),
            (State::DataCr, b'\r') => Some(State::DataEnd),
            (State::DataEnd, b'\n') => Some(State::Start),
            (State::TrailerStart, b'\r') => Some(State::LastEnd),
            (State::LastEnd, b'\n') => Some(State::Done),
            (State::Trailer, b'\r') => Some(State::TrailerEnd),
            (State::TrailerEnd, b'\n') => Some(State::TrailerStart),
            (State::TrailerStart, b'!'..=b'~')
            | (State::Trailer, b' '..=b'~' | b'\t' | 0x80..=0xff) => {
                within(&mut self.seen, MAX_TRAILER_BYTES)?;
                Some(State::Trailer)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pieces of every size: how many bytes are taken must not depend on how they come.
    fn taken(body: impl Fn() -> Body, bytes: &[u8]) -> Option<usize> {
        let mut results: Vec<Option<usize>> = (1..=bytes.len().clamp(1, 40))
            .map(|size| {
                let mut body = body();
                let pieces = bytes.chunks(size).map(|piece| body.take(piece));
                pieces.sum::<io::Result<usize>>().ok()
            })
            .collect();
        results.dedup();
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    #[test]
    fn a_body_ends_where_it_says() {
        assert_eq!(taken(|| Body::Tunnel, b"abc"), Some(3));
        assert_eq!(taken(|| Body::Length(0), b"GET / HTTP/1.1"), Some(0));
        assert_eq!(taken(|| Body::Length(2), b"abc"), Some(2));
        assert_eq!(taken(|| Body::Length(u64::MAX), b"abc"), Some(3));
    }

    #[test]
    fn chunks_end_with_the_last() {
        for body in [
            "0\r\n\r\n",
            "3\r\nabc\r\n0\r\n\r\n",
            "a;name=\"value\"\r\n0123456789\r\n00A\r\n0\r\n\r\n01234\r\n0\r\n\r\n",
            "1\r\na\r\n0\r\nX-Sum: 1\r\nY: \u{e9}\r\n\r\n",
        ] {
            let text = format!("{body}POST http://other.test/ HTTP/1.1\r\n\r\n");
            assert_eq!(
                taken(Body::chunked, text.as_bytes()),
                Some(body.len()),
                "{body}"
            );
        }
        assert_eq!(taken(Body::chunked, b"5\r\nab"), Some(5));
        let long_extension = format!("1;{}\r\n", "x".repeat(MAX_CHUNK_EXTENSION_BYTES + 1));
        let long_trailer = format!("0\r\n{}", "a: b\r\n".repeat(MAX_TRAILER_BYTES));
        for wrong in [
            "\r\n",
            ";a\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\na\r\n",
            "1 \r\na\r\n",
            "1\na\n0\n\n",
            "1\r\rab",
            "1\r\nabc",
            "1\r\na\n0\r\n\r\n",
            "1000000000000000\r\n",
            "0\r\n folded\r\n\r\n",
            "0\r\na\nb\r\n\r\n",
            "0\r\n\rx",
            &long_extension,
            &long_trailer,
        ] {
            assert_eq!(taken(Body::chunked, wrong.as_bytes()), None, "{wrong}");
        }
    }
}
