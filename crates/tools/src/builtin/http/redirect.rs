//! Where a redirect leads, and what of the request goes along. Whether one may go there is for the policy.

use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderMap,
};

use super::request::{Request, read_url};
use crate::ToolError;

/// The request that follows an answer, or `None` if the answer stands for itself.
pub(super) fn next(
    request: &Request,
    status: u16,
    location: Option<&[u8]>,
) -> Result<Option<Request>, ToolError> {
    let (true, Some(location)) = (matches!(status, 301 | 302 | 303 | 307 | 308), location) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location);
    let url = read_url(&location, Some(&request.url))?;
    let mut next = Request {
        url,
        ..request.clone()
    };
    // As browsers do, and as the servers that send these expect.
    let becomes_get = match status {
        301 | 302 => request.method == "POST",
        303 => !matches!(request.method.as_str(), "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        next.method = "GET".to_owned();
        next.body = None;
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE] {
            next.headers.remove(name);
        }
    }
    if next.url.origin() != request.url.origin() {
        next.headers = harmless(&next.headers);
    }
    Ok(Some(next))
}

/// What another host may see. Keys travel in headers of any name, so only these pass.
fn harmless(headers: &HeaderMap) -> HeaderMap {
    [
        ACCEPT,
        ACCEPT_LANGUAGE,
        CONTENT_TYPE,
        CONTENT_ENCODING,
        CONTENT_LANGUAGE,
    ]
    .into_iter()
    .filter_map(|name| headers.get(&name).map(|value| (name, value.clone())))
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn post() -> Request {
        Request::new(
            serde_json::from_value(json!({
                "url": "https://a.example/one?k=1",
                "method": "POST",
                "headers": {"Authorization": "secret", "Cookie": "c", "X-Api-Key": "k", "Accept": "text/html"},
                "body": {"a": 1}
            }))
            .unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn methods_and_bodies_follow_the_rules_of_each_status() {
        for (method, status, expected) in [
            ("POST", 301, "GET"),
            ("POST", 302, "GET"),
            ("POST", 303, "GET"),
            ("POST", 307, "POST"),
            ("POST", 308, "POST"),
            ("PUT", 301, "PUT"),
            ("PUT", 303, "GET"),
            ("DELETE", 303, "GET"),
            ("HEAD", 303, "HEAD"),
            ("GET", 302, "GET"),
        ] {
            let request = Request {
                method: method.to_owned(),
                ..post()
            };
            let next = next(&request, status, Some(b"two")).unwrap().unwrap();
            assert_eq!(next.method, expected, "{method} {status}");
            assert_eq!(next.url.as_str(), "https://a.example/two");
            let kept = method == expected;
            assert_eq!(next.body.is_some(), kept, "{method} {status}");
            assert_eq!(next.headers.contains_key("content-type"), kept);
            assert!(next.headers.contains_key("authorization"));
        }
    }

    #[test]
    fn other_origins_get_no_secrets() {
        for (location, same) in [
            ("/x", true),
            ("https://a.example:443/x", true),
            ("https://A.EXAMPLE./x", true),
            ("//b.example/x", false),
            ("https://a.example:444/x", false),
            ("http://a.example/x", false),
            ("https://sub.a.example/x", false),
        ] {
            let next = next(&post(), 307, Some(location.as_bytes()))
                .unwrap()
                .unwrap();
            for name in ["authorization", "cookie", "x-api-key"] {
                assert_eq!(next.headers.contains_key(name), same, "{location} {name}");
            }
            assert!(next.headers.contains_key("accept"));
            assert!(next.headers.contains_key("content-type"));
        }
    }

    #[test]
    fn not_every_answer_leads_on() {
        for (status, location) in [
            (200, Some("/x")),
            (304, Some("/x")),
            (300, Some("/x")),
            (302, None),
        ] {
            let got = next(&post(), status, location.map(str::as_bytes));
            assert_eq!(got, Ok(None), "{status}");
        }
        for location in [
            "ftp://a.example/",
            "http://u:p@a.example/",
            "javascript:1",
            "http://",
        ] {
            let error = next(&post(), 302, Some(location.as_bytes())).expect_err(location);
            assert!(
                error.message.contains("redirect from 'a.example'"),
                "{error}"
            );
        }
    }
}
