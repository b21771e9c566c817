//! Where a request carries its token: a header, a cookie, or, for the WebSocket of a browser, a protocol name.

use axum::http::{HeaderMap, HeaderValue, header};
use innkeeper_protocol::Secret;

use crate::limits::SESSION_LIFE;

/// `Sec-WebSocket-Protocol: innkeeper.v1, bearer.<token>`: all that a browser lets a page say.
pub(crate) const SOCKET_TOKEN: &str = "bearer.";

/// How a token came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// Sent on purpose.
    Shown,
    /// Sent by the browser, whoever makes it ask.
    Cookie,
}

pub(crate) struct Credentials<'a> {
    pub(crate) token: &'a str,
    pub(crate) means: Means,
}

impl<'a> Credentials<'a> {
    pub(crate) fn of(headers: &'a HeaderMap, port: u16) -> Option<Self> {
        let shown = bearer(headers).or_else(|| in_protocols(headers));
        let shown = shown.map(|token| Self {
            token,
            means: Means::Shown,
        });
        shown.or_else(|| {
            cookie(headers, port).map(|token| Self {
                token,
                means: Means::Cookie,
            })
        })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_matches(' '))
}

fn in_protocols(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(SOCKET_TOKEN))
}

fn cookie(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = cookie_name(port);
    let values = headers.get_all(header::COOKIE).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// Browsers keep cookies by host, not by port; two servers on one machine must not take each other's.
fn cookie_name(port: u16) -> String {
    format!("innkeeper_{port}")
}

/// No script reads it, no other site sends it. `None` takes it back.
pub(crate) fn session_cookie(
    token: Option<&Secret>,
    port: u16,
    secure: bool,
) -> Option<HeaderValue> {
    let (token, age) = match token {
        Some(token) => (token.expose(), SESSION_LIFE.as_secs()),
        None => ("", 0),
    };
    let secure = if secure { "; Secure" } else { "" };
    let name = cookie_name(port);
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &'static str)]) -> Option<(String, Means)> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        Credentials::of(&headers, 80).map(|found| (found.token.to_owned(), found.means))
    }

    #[test]
    fn a_token_is_found_wherever_it_may_stand() {
        let shown = Some(("t".to_owned(), Means::Shown));
        let brought = Some(("t".to_owned(), Means::Cookie));
        for (headers, expected) in [
            (&[("authorization", "Bearer t")][..], shown.clone()),
            (&[("authorization", "bearer  t ")], shown.clone()),
            (&[("authorization", "Basic t")], None),
            (
                &[("sec-websocket-protocol", "innkeeper.v1, bearer.t")],
                shown.clone(),
            ),
            (&[("cookie", "a=b; innkeeper_80=t")], brought.clone()),
            (&[("cookie", "a=b"), ("cookie", "innkeeper_80=t")], brought),
            (&[("cookie", "innkeeper_81=t")], None),
            (&[("cookie", "xinnkeeper_80=t")], None),
            (
                &[
                    ("cookie", "innkeeper_80=other"),
                    ("authorization", "Bearer t"),
                ],
                shown,
            ),
            (&[], None),
        ] {
            assert_eq!(of(headers), expected, "{headers:?}");
        }
    }
}
