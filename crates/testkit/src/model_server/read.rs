//! Reads requests from a connection: head, and body by length or in chunks.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::limits::{BODY_BYTES, HEAD_BYTES, HEADERS};
use super::request::Request;

/// Why there is no request.
#[derive(Debug)]
pub(super) enum NoRequest {
    /// The client has closed the connection, or it broke.
    Gone,
    Malformed(&'static str),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// One side of a connection, with what was read but not used yet.
pub(super) struct Inbox {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
    number: usize,
}

enum BodyLength {
    Known(usize),
    Chunked,
}

impl Inbox {
    pub(super) fn new(stream: TcpStream, number: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            number,
        }
    }

    pub(super) async fn request(&mut self) -> Result<Request, NoRequest> {
        let (mut request, length) = loop {
            if let Some((request, length, used)) = self.head()? {
                self.buffer.drain(..used);
                break (request, length);
            }
            if self.buffer.len() > HEAD_BYTES {
                return Err(NoRequest::Malformed("the head of the request is too long"));
            }
            self.more().await?;
        };
        request.body = match length {
            BodyLength::Known(length) => self.take(length).await?,
            BodyLength::Chunked => self.chunks().await?,
        };
        Ok(request)
    }

    /// Waits until the client has gone.
    pub(super) async fn gone(&mut self) {
        while self.more().await.is_ok() {
            if self.buffer.len() > BODY_BYTES {
                return;
            }
        }
    }

    async fn more(&mut self) -> Result<(), NoRequest> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(NoRequest::Gone),
            _ => Ok(()),
        }
    }

    fn head(&self) -> Result<Option<(Request, BodyLength, usize)>, NoRequest> {
        let mut fields = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut fields);
        let used = match head.parse(&self.buffer) {
            Ok(httparse::Status::Complete(used)) => used,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(NoRequest::Malformed("this is no HTTP request")),
        };
        let target = head.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = head.headers.iter().map(|field| {
            let value = String::from_utf8_lossy(field.value).into_owned();
            (field.name.to_owned(), value)
        });
        let request = Request {
            method: head.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: headers.collect(),
            body: Vec::new(),
            connection: self.number,
        };
        let length = match request.header("transfer-encoding") {
            Some(coding) if coding.eq_ignore_ascii_case("chunked") => BodyLength::Chunked,
            Some(_) => return Err(NoRequest::Malformed("the transfer encoding is not known")),
            None => match request.header("content-length").map(str::parse) {
                None => BodyLength::Known(0),
                Some(Ok(length)) if length <= BODY_BYTES => BodyLength::Known(length),
                Some(_) => return Err(NoRequest::Malformed("the length of the body is wrong")),
            },
        };
        Ok(Some((request, length, used)))
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, NoRequest> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, NoRequest> {
        const MALFORMED: NoRequest = NoRequest::Malformed("the body is cut into chunks wrongly");
        let mut body = Vec::new();
        loop {
            let (used, size) = match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete(found)) => found,
                Ok(httparse::Status::Partial) if self.buffer.len() <= HEAD_BYTES => {
                    self.more().await?;
                    continue;
                }
                _ => return Err(MALFORMED),
            };
            let size = usize::try_from(size).map_err(|_| MALFORMED)?;
            if size > BODY_BYTES - body.len() {
                return Err(MALFORMED);
            }
            self.buffer.drain(..used);
            body.extend(self.take(size).await?);
            if self.take(2).await? != b"\r\n" {
                return Err(MALFORMED);
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }
}
