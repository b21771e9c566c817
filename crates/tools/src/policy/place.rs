//! Patterns about places: those that begin with a scheme. Places have many spellings, so both sides are brought
//! into one form before they are compared: files by whoever knows them, addresses in the web by the URL standard.

use unicode_normalization::UnicodeNormalization;
use url::Url;

use crate::Pattern;

/// What a pattern speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `user://…`, or any scheme that is not of the web.
    File,
    /// `https://…`
    Web,
}

pub(super) fn of_pattern(pattern: &str) -> Option<Place> {
    let (scheme, _) = split(pattern)?;
    match is_web(scheme) {
        true => Some(Place::Web),
        false => Some(Place::File),
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some((scheme, rest))
}

fn is_web(scheme: &str) -> bool {
    ["http", "https", "ws", "wss"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web))
}

/// An address in its one spelling, in the parts that are compared one by one: a star for a host must not reach into
/// the path.
struct Address {
    scheme: String,
    /// With the port, unless it is the usual one.
    host: String,
    path: String,
    /// `https://name@host/` looks like another host than it is.
    has_user: bool,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|url| is_web(url.scheme()))?;
        let host = url.host_str()?;
        Some(Self {
            scheme: url.scheme().to_owned(),
            host: match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            path: url[url::Position::BeforePath..].to_owned(),
            has_user: !url.username().is_empty() || url.password().is_some(),
        })
    }
}

pub(super) fn is_web_address(text: &str) -> bool {
    Address::parse(text).is_some()
}

/// Whether an address fits a pattern from [`canonical_pattern`]. `None`: the text is no address.
pub(super) fn fits_web(pattern: &str, text: &str, narrowly: bool) -> Option<bool> {
    let address = Address::parse(text)?;
    let Some((scheme, rest)) = split(pattern) else {
        return Some(false);
    };
    let (host, path) = split_host(rest);
    let (host, path) = (Pattern::new(host), Pattern::new(path));
    let fits = match narrowly {
        true => !address.has_user && host.matches(&address.host) && path.matches(&address.path),
        false => host.matches_loosely(&address.host) && path.matches_loosely(&address.path),
    };
    Some(fits && scheme == address.scheme)
}

fn split_host(rest: &str) -> (&str, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at(end)
}

/// Brings a pattern into the form in which places are compared. `None`: it is not about places. An error: no place
/// could ever fit it.
pub(super) fn canonical_pattern(pattern: &str) -> Result<Option<Pattern>, String> {
    let Some((scheme, rest)) = split(pattern) else {
        return Ok(None);
    };
    if is_web(scheme) {
        return canonical_web(pattern, scheme, rest).map(Some);
    }
    let scheme = scheme.to_ascii_lowercase();
    let (scheme, rest) = match scheme.as_str() {
        "fam" => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            match authority {
                "user" | "shared" | "system" => (authority.to_owned(), path.to_owned()),
                project if project.is_empty() || project.contains('*') => {
                    return Err(
                        "leaves open which project it means: write user://projects/*".to_owned(),
                    );
                }
                project => ("user".to_owned(), format!("projects/{project}/{path}")),
            }
        }
        _ => (scheme, rest.to_owned()),
    };
    if rest.contains('\\') {
        return Err("has a backslash: folders are separated by '/'".to_owned());
    }
    let segments: Vec<_> = rest.split('/').collect();
    if !rest.is_empty()
        && segments
            .iter()
            .any(|segment| matches!(*segment, "" | "." | ".."))
    {
        return Err(
            "no place fits: without '.', '..' and empty parts, and at the end '/*' or no slash"
                .to_owned(),
        );
    }
    let text: String = format!("{scheme}://{rest}").nfc().collect();
    Ok(Some(Pattern::new(text)))
}

fn canonical_web(pattern: &str, scheme: &str, rest: &str) -> Result<Pattern, String> {
    let (host, path) = split_host(rest);
    let scheme = scheme.to_ascii_lowercase();
    if !pattern.is_ascii() || pattern.contains(' ') {
        return Err(
            "is not written as addresses are: use %20 and the like, xn-- for hosts".to_owned(),
        );
    }
    let is_dot = |segment: &str| matches!(segment, "." | "..");
    if host.contains('@') || path.split('/').any(is_dot) {
        return Err(
            "no address fits: without '@' before the host, and without '.' and '..'".to_owned(),
        );
    }
    let path = match (host, path) {
        ("*", "") => "/*",
        (_, "") => "/",
        (_, path) => path,
    };
    if host.contains('*') {
        let host = host.to_ascii_lowercase();
        return Ok(Pattern::new(format!("{scheme}://{host}{path}")));
    }
    let address = Address::parse(&format!("{scheme}://{host}/"))
        .ok_or_else(|| "is no web address".to_owned())?;
    Ok(Pattern::new(format!("{scheme}://{}{path}", address.host)))
}

/// Whether something done at `place` could reach what `pattern` names: it is such a place, or a folder above one.
pub(super) fn reaches(pattern: &Pattern, place: &str) -> bool {
    let folder = match place.ends_with('/') {
        true => place.to_owned(),
        false => format!("{place}/"),
    };
    let fixed = pattern.as_str().split('*').next().unwrap_or_default();
    pattern.matches_loosely(place)
        || pattern.matches_loosely(&folder)
        || fixed.to_lowercase().starts_with(&folder.to_lowercase())
}
