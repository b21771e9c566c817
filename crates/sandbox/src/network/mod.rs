//! The network of a program that was granted hosts: it has none but loopback, and behind some sockets there we stand
//! and decide.
//!
//! The launcher opens the [`doors`] inside the program's network namespace and hands them out; [`serve`] waits at
//! them in ours. One door is a proxy; the others stand for one host and port each, for programs that know nothing of
//! proxies: [`hosts_file`] leads the host's name to them. TLS stays between the program and the host.
//!
//! - `grant.rs`: what may be asked for; `host.rs`: how hosts are written. `address.rs`: which addresses are inside.
//! - `head.rs`, `body.rs`: reading requests to the proxy, strictly. `refusal.rs`: what the program is told.
//! - `resolve.rs`, `connect.rs`: the way out, to addresses that were looked at. `proxy.rs`, `pump.rs`, `serve.rs`:
//!   connections at work.
//!
//! Not kept apart: hosts behind one address. Whoever may speak to a server may ask it for another name it serves.

// Elsewhere no program is run, so nobody needs doors; names and addresses are judged everywhere.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

mod address;
mod body;
mod connect;
mod grant;
mod head;
mod host;
mod proxy;
mod pump;
mod refusal;
mod resolve;
mod serve;

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddrV4};

pub use self::address::{Inside, hands_out_keys, judge};
use self::grant::Grant;
pub use self::grant::check;
pub use self::resolve::{Resolver, SystemResolver};
pub(crate) use self::serve::{NetworkGuard, serve};
use crate::HostGrant;

const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);

/// A socket that listens inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) address: SocketAddrV4,
    pub(crate) kind: DoorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DoorKind {
    /// Takes CONNECT and requests for `http://…`.
    Proxy,
    /// Whatever is said here is said to this host.
    Host { host: String, port: u16 },
}

/// Which sockets the launcher opens inside. Grants that do not pass [`check`] get none.
pub(crate) fn doors(grants: &[HostGrant]) -> Vec<Door> {
    let mut doors = vec![Door {
        address: PROXY,
        kind: DoorKind::Proxy,
    }];
    let mut names: Vec<String> = Vec::new();
    for grant in grants.iter().filter_map(|grant| Grant::new(grant).ok()) {
        let (host, address) = match grant.host.exact() {
            // Inside and outside have the same name for it; it needs no other address.
            _ if grant.host.is_this_machine() => {
                let host = grant.host.exact().unwrap_or("127.0.0.1");
                (host.to_owned(), Ipv4Addr::LOCALHOST)
            }
            Some(name) => {
                let known = names.iter().position(|known| known == name);
                let place = known.unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                });
                let Ok(place) = u8::try_from(place + 1) else {
                    continue;
                };
                (name.to_owned(), Ipv4Addr::new(127, 0, 8, place))
            }
            None => continue,
        };
        for port in grant.ports {
            let address = SocketAddrV4::new(address, port);
            if doors.iter().all(|door| door.address != address) {
                let host = host.clone();
                let kind = DoorKind::Host { host, port };
                doors.push(Door { address, kind });
            }
        }
    }
    doors
}

/// The whole of `/etc/hosts` inside.
pub(crate) fn hosts_file(doors: &[Door]) -> String {
    let mut lines = vec!["127.0.0.1 localhost\n".to_owned()];
    for door in doors {
        if let DoorKind::Host { host, .. } = &door.kind
            && *door.address.ip() != Ipv4Addr::LOCALHOST
        {
            lines.push(format!("{} {host}\n", door.address.ip()));
        }
    }
    // A host has a door for each of its ports.
    let mut seen = HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines.concat()
}

/// What tells programs about the proxy.
pub(crate) fn environment(doors: &[Door]) -> Vec<(String, String)> {
    let Some(proxy) = doors.iter().find(|door| door.kind == DoorKind::Proxy) else {
        return Vec::new();
    };
    let url = format!("http://{}", proxy.address);
    let mut variables = Vec::new();
    for (name, value) in [
        ("http_proxy", url.as_str()),
        ("https_proxy", &url),
        ("all_proxy", &url),
        // What a program itself serves, and the doors of this machine.
        ("no_proxy", "localhost,127.0.0.1"),
    ] {
        variables.push((name.to_owned(), value.to_owned()));
        variables.push((name.to_ascii_uppercase(), value.to_owned()));
    }
    // Without it node does not read the others.
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    variables
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
