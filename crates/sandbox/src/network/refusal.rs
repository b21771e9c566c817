//! Why a connection did not come about, as the program is told.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    /// One line: place, cause, remedy.
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    BadRequest,
    Forbidden,
    HeadTimeout,
    HeadTooLarge,
    Unreachable,
    ConnectTimeout,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::HeadTimeout => "408 Request Timeout",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Unreachable => "502 Bad Gateway",
            Self::ConnectTimeout => "504 Gateway Timeout",
        }
    }
}

impl Refusal {
    pub(super) fn new(status: Status, why: impl fmt::Display) -> Self {
        let why = why.to_string();
        let printable = |c: char| if c.is_ascii_graphic() { c } else { ' ' };
        Self {
            status,
            why: why.chars().map(printable).collect(),
        }
    }

    pub(super) fn malformed(why: impl fmt::Display) -> Self {
        Self::new(
            Status::BadRequest,
            format_args!("the request is malformed: {why}"),
        )
    }

    /// The cause stands in the first line, too: many clients show nothing else of what a proxy says to CONNECT.
    pub(super) fn answer(&self) -> Vec<u8> {
        format!(
            "HTTP/1.1 {}: {why}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
            self.status.line(),
            self.why.len() + 1,
            why = self.why,
        )
        .into_bytes()
    }
}
