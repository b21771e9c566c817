//! Where a base URL leads, and what may be sent there. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::WireFormat;

/// Names that no public name server answers for.
const INSIDE_NAMES: [&str; 6] = [
    "localhost",
    "local",
    "internal",
    "lan",
    "home.arpa",
    "intranet",
];

/// How far away a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// This machine.
    Loopback,
    /// The same house.
    Private,
    Public,
}

/// A base URL without a slash at its end, or what is wrong with it. What is wrong never repeats a password.
pub(super) fn base_url(text: &str, format: WireFormat) -> Result<Url, String> {
    let text = text.trim().trim_end_matches('/');
    // People copy the address of the call itself.
    let call = match format {
        WireFormat::OpenAi => "/chat/completions",
        WireFormat::Anthropic => "/messages",
        WireFormat::Gemini => "/models",
    };
    let text = text.strip_suffix(call).unwrap_or(text);
    let url = Url::parse(text).map_err(|error| {
        format!("it cannot be read ({error}); write it like https://api.example.com/v1")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it must begin with http:// or https://".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it holds a name or password; give the key as the channel's key or header instead"
                .into(),
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it ends with `?…` or `#…`; leave that away".into());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it names no host".into());
    }
    Ok(url)
}

/// `path` below `base`, and nowhere else.
pub(super) fn below(base: &Url, path: &str) -> Option<Url> {
    let start = base.as_str().trim_end_matches('/');
    let url = Url::parse(&format!("{start}/{path}")).ok()?;
    let inside = base.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(inside)?;
    let stays = url.origin() == base.origin() && rest.len() > 1 && rest.starts_with('/');
    (stays && url.username().is_empty() && url.fragment().is_none()).then_some(url)
}

pub(super) fn reach(url: &Url) -> Reach {
    match url.host() {
        Some(Host::Ipv4(address)) => reach_v4(address),
        Some(Host::Ipv6(address)) => reach_v6(address),
        Some(Host::Domain(name)) => reach_name(name),
        None => Reach::Public,
    }
}

fn reach_name(name: &str) -> Reach {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let under = |zone: &str| {
        name.strip_suffix(zone)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if under("localhost") {
        Reach::Loopback
    } else if INSIDE_NAMES.into_iter().any(under) || !name.contains('.') {
        // One word alone is a neighbour: a container, or a machine of the same network.
        Reach::Private
    } else {
        Reach::Public
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [127, ..] => Reach::Loopback,
        // The second is where overlay networks such as Tailscale's live.
        [10, ..] | [100, 64..=127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] => {
            Reach::Private
        }
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return reach_v4(mapped);
    }
    match address.segments() {
        _ if IpAddr::V6(address).is_loopback() => Reach::Loopback,
        [0xfc00..=0xfdff, ..] | [0xfe80..=0xfebf, ..] => Reach::Private,
        _ => Reach::Public,
    }
}

/// Host and port, for messages.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// A URL for messages: without name, password, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), authority(url), url.path())
}

/// What to say where a server answers, and not as it should.
pub(super) fn may_be_wrong(base: &Url) -> String {
    let shown = shown(base);
    format!("the base URL may be wrong (it is {shown}; most end with `/v1`)")
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
