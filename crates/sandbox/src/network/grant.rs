//! What was granted, made ready for comparing: whether a host and port may be reached at all. Where names lead is
//! looked at in `connect.rs`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use innkeeper_protocol::Pattern;

use super::host::{Host, ends_in_number, is_name, is_name_byte, spelling};
use super::refusal::{Refusal, Status};
use super::{PROXY, doors};
use crate::HostGrant;
use crate::limits::{MAX_DOORS, MAX_GRANT_PORTS, MAX_HOSTS};

const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// Whether a list of grants can be kept to. Says what is wrong with the first that cannot.
pub fn check(grants: &[HostGrant]) -> Result<(), String> {
    Grants::new(grants).map(drop)
}

#[derive(Debug)]
pub(super) struct Grants(Vec<Grant>);

#[derive(Debug)]
pub(super) struct Grant {
    pub(super) host: Granted,
    pub(super) ports: Vec<u16>,
    private: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Granted {
    Names(Pattern),
    Address(IpAddr),
}

/// How far a granted host may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Permit {
    pub(super) private: bool,
}

impl Grants {
    pub(super) fn new(grants: &[HostGrant]) -> Result<Self, String> {
        if grants.len() > MAX_HOSTS {
            return Err(format!(
                "{} hosts are granted, but there can be {MAX_HOSTS}; grant a pattern such as *.example.com",
                grants.len()
            ));
        }
        let read = grants.iter().map(Grant::new).collect::<Result<_, _>>()?;
        let doors = doors(grants).len();
        if doors > MAX_DOORS {
            return Err(format!(
                "the granted hosts have {doors} ports together, but there can be {MAX_DOORS}; grant fewer hosts or ports"
            ));
        }
        Ok(Self(read))
    }

    pub(super) fn permit(&self, host: &Host, port: u16) -> Result<Permit, Refusal> {
        let mut known = false;
        let mut permit = None;
        for grant in self.0.iter().filter(|grant| grant.host.covers(host)) {
            known = true;
            if grant.ports.contains(&port) {
                let private = permit.is_some_and(|permit: Permit| permit.private) || grant.private;
                permit = Some(Permit { private });
            }
        }
        permit.ok_or_else(|| {
            let why = match known {
                true => format!(
                    "port {port} of {host} was not granted to this program: grant this port of the host to let it through"
                ),
                false => format!(
                    "{host} is not among the hosts this program was granted: grant it this host to let it through"
                ),
            };
            Refusal::new(Status::Forbidden, why)
        })
    }
}

impl Grant {
    pub(super) fn new(grant: &HostGrant) -> Result<Self, String> {
        let host = Granted::parse(&grant.host)?;
        let ports = match grant.ports.as_slice() {
            [] => DEFAULT_PORTS.to_vec(),
            ports => ports.to_vec(),
        };
        let wrong = |why: &str| {
            Err(format!(
                "the host '{}' cannot be granted: {why}",
                grant.host
            ))
        };
        if ports.len() > MAX_GRANT_PORTS {
            return wrong(&format!("a host has at most {MAX_GRANT_PORTS} ports"));
        }
        if ports.contains(&0) {
            return wrong("there is no port 0");
        }
        if host.is_this_machine() && ports.contains(&PROXY.port()) {
            return wrong(&format!(
                "at port {} the program finds its own proxy; let the service listen on another port",
                PROXY.port()
            ));
        }
        Ok(Self {
            host,
            ports,
            private: grant.private,
        })
    }
}

impl Granted {
    fn parse(text: &str) -> Result<Self, String> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse::<Ipv6Addr>() {
            return Ok(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let wrong = |why: &str| Err(format!("the host '{text}' cannot be granted: {why}"));
        let name = spelling(text);
        if looks_like_an_address(&name) {
            return wrong("an address is granted as it is, in decimal and without *");
        }
        if !is_name(&name, |byte| is_name_byte(byte) || byte == b'*') {
            return wrong(
                "write a name without scheme, port and path, such as api.example.com or *.example.com, or an address",
            );
        }
        Ok(Self::Names(Pattern::new(name)))
    }

    /// An address is never meant by a pattern: whoever may ask any name may still ask no address.
    fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Names(pattern), Host::Name(name)) => pattern.matches(name),
            (Self::Address(granted), Host::Address(address)) => granted == address,
            (Self::Names(_), Host::Address(_)) | (Self::Address(_), Host::Name(_)) => false,
        }
    }

    /// The one name that is meant.
    pub(super) fn exact(&self) -> Option<&str> {
        match self {
            Self::Names(pattern) => Some(pattern.as_str()).filter(|_| pattern.is_exact()),
            Self::Address(_) => None,
        }
    }

    /// A program that asks for it would find itself.
    pub(super) fn is_this_machine(&self) -> bool {
        self.exact() == Some("localhost") || *self == Self::Address(Ipv4Addr::LOCALHOST.into())
    }
}

/// What could only be meant for addresses. It would never cover one.
fn looks_like_an_address(name: &str) -> bool {
    match name.contains('*') {
        true => {
            name.bytes().any(|byte| byte.is_ascii_digit())
                && name.replace('*', "0").split('.').all(ends_in_number)
        }
        false => ends_in_number(name),
    }
}

#[cfg(test)]
#[path = "grant_tests.rs"]
mod tests;
