//! Hosts in their one spelling, so that what was granted and what is asked for can be compared.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// Lower case, without the dot at the end.
    Name(String),
    /// As it was written: an IPv4 address inside an IPv6 one stays there.
    Address(IpAddr),
}

impl Host {
    /// As URLs write it: IPv6 in brackets.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']').and_then(|text| text.parse().ok());
            let address: Ipv6Addr = address.ok_or("what stands in brackets is no IPv6 address")?;
            return Ok(Self::Address(address.into()));
        }
        let name = spelling(text);
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        if ends_in_number(&name) {
            return Err("an IPv4 address is written as four decimal numbers");
        }
        if !is_name(&name, is_name_byte) {
            return Err(
                "a host name is made of letters, digits, '-', '_' and dots; others are written in the form xn--",
            );
        }
        Ok(Self::Name(name))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// `host` or `host:port`, and nothing else.
pub(super) fn authority(text: &str) -> Result<(Host, Option<u16>), &'static str> {
    if text.contains('@') {
        return Err("a user must not stand before the host");
    }
    let end_of_address = text.find(']').map_or(0, |at| at + 1);
    let (host, port) = match text.get(end_of_address..).and_then(|rest| rest.find(':')) {
        Some(at) => {
            let (host, port) = text.split_at(end_of_address + at);
            (host, port.strip_prefix(':'))
        }
        None => (text, None),
    };
    let port = port.map(|text| self::port(text).ok_or("a port is a number from 1 to 65535"));
    Ok((Host::parse(host)?, port.transpose()?))
}

fn port(text: &str) -> Option<u16> {
    let plain = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| text.parse().ok()).flatten();
    number.filter(|port| *port != 0)
}

/// The form in which names are compared.
pub(super) fn spelling(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether resolvers would take it for an address, in decimal, octal or hexadecimal.
pub(super) fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    !last.is_empty() && (digits(last) || last.strip_prefix("0x").is_some_and(hexadecimal))
}

pub(super) fn is_name(name: &str, is_byte: impl Fn(u8) -> bool + Copy) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name
            .split('.')
            .all(|label| (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.bytes().all(is_byte))
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_one_spelling() {
        for (text, expected) in [
            ("api.example.com", Some("api.example.com:-")),
            ("API.Example.COM.:443", Some("api.example.com:443")),
            ("_a-b.test:1", Some("_a-b.test:1")),
            ("xn--r8jz45g.jp", Some("xn--r8jz45g.jp:-")),
            ("localhost:65535", Some("localhost:65535")),
            ("1.2.3.4:80", Some("1.2.3.4:80")),
            ("1.2.3.4.", Some("1.2.3.4:-")),
            ("[::1]", Some("[::1]:-")),
            ("[0:0::1]:80", Some("[::1]:80")),
            ("[::ffff:127.0.0.1]:80", Some("[::ffff:127.0.0.1]:80")),
            ("1.example", Some("1.example:-")),
            ("0xyz", Some("0xyz:-")),
            ("", None),
            (".", None),
            (":80", None),
            ("a..b", None),
            (".a", None),
            ("a..", None),
            ("a:", None),
            ("a:0", None),
            ("a:+80", None),
            ("a:080000", None),
            ("a:65536", None),
            ("a:80:80", None),
            ("a:80/", None),
            ("::1", None),
            ("[::1", None),
            ("[::1]x", None),
            ("[::1]]", None),
            ("[fe80::1%eth0]", None),
            ("[127.0.0.1]", None),
            ("granted@evil", None),
            ("granted:80@evil", None),
            ("例え.jp", None),
            ("a b", None),
            ("a\\b", None),
            ("a%2eb", None),
            ("a*b", None),
            ("2130706433", None),
            ("0177.0.0.1", None),
            ("0x7f.1", None),
            ("0x7f000001", None),
            ("127.1", None),
            ("a.0x", None),
            ("1.2.3.4.5", None),
        ] {
            let found = authority(text).ok().map(|(host, port)| {
                let port = port.map_or("-".to_owned(), |port| port.to_string());
                format!("{host}:{port}")
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let label = "a".repeat(63);
        assert!(Host::parse(&label).is_ok());
        assert!(Host::parse(&format!("{label}a")).is_err());
        assert!(Host::parse(&format!("{0}.{0}.{0}.{1}", label, "a".repeat(61))).is_ok());
        assert!(Host::parse(&format!("{0}.{0}.{0}.{1}", label, "a".repeat(62))).is_err());
    }
}
