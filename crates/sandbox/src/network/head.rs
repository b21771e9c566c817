//! The head of a request to the proxy: what is asked for, and what is passed on. Strict where servers differ in how
//! they read, since the next one must find the same end of the request as we do.

use std::str;

use httparse::{EMPTY_HEADER, Header};

use super::body::Body;
use super::host::{Host, authority};
use super::refusal::{Refusal, Status};
use crate::limits::{MAX_HEAD_BYTES, MAX_HEAD_LINES};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) way: Way,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    Tunnel,
    /// The head as the host gets it, and what follows.
    Forward {
        head: Vec<u8>,
        body: Body,
    },
}

/// Where the head ends, if it does; `seen` bytes were looked at before. Lines that end without CR are found as well,
/// so that they are refused at once.
pub(super) fn end(bytes: &[u8], seen: usize) -> Option<usize> {
    let from = seen.saturating_sub(3);
    (from..bytes.len()).find_map(|at| match bytes.get(at..)? {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

pub(super) fn too_large() -> Refusal {
    Refusal::new(
        Status::HeadTooLarge,
        format_args!(
            "the head of the request is too large: send at most {MAX_HEAD_LINES} lines and {MAX_HEAD_BYTES} bytes"
        ),
    )
}

/// Reads a whole head.
pub(super) fn parse(head: &[u8]) -> Result<Request, Refusal> {
    if has_odd_lines(head) {
        return Err(Refusal::malformed("every line ends with CR and LF"));
    }
    let mut headers = [EMPTY_HEADER; MAX_HEAD_LINES];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(status) if status.is_complete() => {}
        Ok(_) => return Err(Refusal::malformed("it is not whole")),
        Err(httparse::Error::TooManyHeaders) => return Err(too_large()),
        Err(error) => return Err(Refusal::malformed(error)),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(Refusal::malformed("it is not whole"));
    };
    let body = body(request.headers, version)?;
    if method == "CONNECT" {
        let (host, port) = authority(target).map_err(Refusal::malformed)?;
        let port = port.ok_or_else(|| Refusal::malformed("CONNECT needs a host and a port"))?;
        let way = Way::Tunnel;
        return Ok(Request { host, port, way });
    }
    let (host, port, path) = split(target)?;
    let path = match path {
        "" if method == "OPTIONS" => "*".to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("/{path}"),
    };
    let mut head = format!("{method} {path} HTTP/1.{version}\r\nHost: {host}").into_bytes();
    if port != 80 {
        head.extend(format!(":{port}").bytes());
    }
    head.extend(b"\r\nConnection: close\r\n");
    let named = named_by_connection(request.headers)?;
    for header in request.headers.iter() {
        if !ends_here(header.name, &named) {
            head.extend(header.name.bytes());
            head.extend(b": ");
            head.extend(header.value);
            head.extend(b"\r\n");
        }
    }
    head.extend(b"\r\n");
    let way = Way::Forward { head, body };
    Ok(Request { host, port, way })
}

/// A CR or an LF alone, a zero, or a line that goes on in the next one.
fn has_odd_lines(head: &[u8]) -> bool {
    let mut before = b'\n';
    for &byte in head {
        let odd = match byte {
            b'\n' => before != b'\r',
            0 => true,
            b' ' | b'\t' => matches!(before, b'\n' | b'\r'),
            _ => before == b'\r',
        };
        if odd {
            return true;
        }
        before = byte;
    }
    false
}

/// Host, port and the rest of `http://host:port/path`.
fn split(target: &str) -> Result<(Host, u16, &str), Refusal> {
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) || target.contains(['\\', '#']) {
        return Err(Refusal::malformed(
            "a URL is printable ASCII without '\\' and '#'",
        ));
    }
    let Some((scheme, rest)) = target.split_once("://") else {
        return Err(Refusal::malformed(
            "this is a proxy: ask with CONNECT or for a whole http:// URL",
        ));
    };
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Refusal::malformed(
            "only http:// is asked for by its URL: use CONNECT for anything else",
        ));
    }
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = authority(host).map_err(Refusal::malformed)?;
    Ok((host, port.unwrap_or(80), path))
}

/// What says where the body ends is said once, and in one way.
fn body(headers: &[Header<'_>], version: u8) -> Result<Body, Refusal> {
    let once = |name: &str| {
        let mut found = headers
            .iter()
            .filter(|it| it.name.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (first, None) => Ok(first.map(|header| header.value)),
            _ => Err(Refusal::malformed(format_args!(
                "{name} stands there twice"
            ))),
        }
    };
    once("Host")?;
    match (once("Content-Length")?, once("Transfer-Encoding")?) {
        (None, None) => Ok(Body::Length(0)),
        (Some(length), None) => {
            let plain = (1..=18).contains(&length.len()) && length.iter().all(u8::is_ascii_digit);
            let text = str::from_utf8(length).ok().filter(|_| plain);
            text.and_then(|text| text.parse().ok())
                .map(Body::Length)
                .ok_or_else(|| Refusal::malformed("Content-Length is one decimal number"))
        }
        (None, Some(coding)) if version == 1 && coding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Body::chunked())
        }
        (None, Some(_)) => Err(Refusal::malformed(
            "Transfer-Encoding is 'chunked' and needs HTTP/1.1",
        )),
        (Some(_), Some(_)) => Err(Refusal::malformed(
            "it has both Content-Length and Transfer-Encoding",
        )),
    }
}

/// Headers that the sender wants to end here. It must not take away what we have read the request by.
fn named_by_connection<'b>(headers: &[Header<'b>]) -> Result<Vec<&'b str>, Refusal> {
    let mut named = Vec::new();
    for header in headers {
        if header.name.eq_ignore_ascii_case("Connection") {
            let value = str::from_utf8(header.value)
                .map_err(|_| Refusal::malformed("Connection is a list of names"))?;
            named.extend(value.split(',').map(str::trim));
        }
    }
    let framing = ["content-length", "transfer-encoding", "host"];
    match named.iter().any(|name| is_one_of(name, &framing)) {
        true => Err(Refusal::malformed(
            "Connection must not name what the request is read by",
        )),
        false => Ok(named),
    }
}

fn ends_here(name: &str, named: &[&str]) -> bool {
    let proxy = name
        .get(..6)
        .is_some_and(|start| start.eq_ignore_ascii_case("proxy-"));
    // Ours stand there instead of `Host` and `Connection`. `Transfer-Encoding` stays: the body is passed on as it is.
    let own = ["host", "connection", "keep-alive", "te", "upgrade"];
    proxy || is_one_of(name, &own) || is_one_of(name, named)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
