//! Ways out over sockets, without a grant and with one.

use super::super::harness::{Policy, Row, Scene, judge, row, sandbox};
use super::{DENIED, table};

/// There is no way, or nobody is at its end.
const NO_WAY: &[&str] = &[
    "EPERM",
    "EACCES",
    "ENETUNREACH",
    "ECONNREFUSED",
    "EAFNOSUPPORT",
    "EADDRNOTAVAIL",
];
const NO_SOCKET: &[&str] = &["EPERM", "EACCES", "EAFNOSUPPORT"];
/// What a proxy says to those who ask for too much.
const REFUSED: &[&str] = &["400", "403", "405", "414", "431", "501", "502", "closed"];

const SOCKETS: [Row; 16] = [
    row("network", "tcp", Policy::Plugin, NO_WAY),
    row(
        "network",
        "udp",
        Policy::Plugin,
        &[
            "not heard",
            "EPERM",
            "EACCES",
            "ENETUNREACH",
            "ECONNREFUSED",
        ],
    ),
    row("network", "outside", Policy::Plugin, NO_WAY),
    row(
        "network",
        "names",
        Policy::Plugin,
        &["EAI_AGAIN", "EAI_FAIL", "EAI_SYSTEM", "EAI_NONAME"],
    ),
    row(
        "network",
        "resolvers",
        Policy::Plugin,
        &["ENOENT", "EPERM", "EACCES"],
    ),
    row("network", "only_loopback", Policy::Plugin, &["only lo"]),
    row("network", "raw", Policy::Plugin, NO_SOCKET),
    row("network", "netlink", Policy::Plugin, NO_SOCKET),
    row("network", "vsock", Policy::Plugin, NO_SOCKET),
    row("network", "kernel_crypto", Policy::Plugin, NO_SOCKET),
    row("network", "other_families", Policy::Plugin, NO_SOCKET),
    row("network", "families_to_come", Policy::Plugin, NO_SOCKET),
    row(
        "network",
        "other_protocols",
        Policy::Plugin,
        &[
            "EPERM",
            "EACCES",
            "ENETUNREACH",
            "EPROTONOSUPPORT",
            "ESOCKTNOSUPPORT",
            "EAFNOSUPPORT",
        ],
    ),
    row(
        "network",
        "configure",
        Policy::Plugin,
        &["EPERM", "ENOENT", "ENOTTY", "EACCES", "EAFNOSUPPORT"],
    ),
    row("network", "abstract_socket", Policy::Plugin, NO_WAY),
    row(
        "network",
        "socket_of_the_server",
        Policy::Data,
        &["ENOENT", "EPERM", "EACCES"],
    ),
];

const PROXY: [Row; 12] = [
    row("network", "uncounted_protocols", Policy::Hosts, NO_SOCKET),
    row("network", "raw", Policy::Hosts, NO_SOCKET),
    row(
        "network",
        "past_the_proxy",
        Policy::Hosts,
        &[
            "EPERM",
            "EACCES",
            "ENETUNREACH",
            "ECONNREFUSED",
            "EADDRNOTAVAIL",
            "EAI_AGAIN",
            "EAI_FAIL",
            "EAI_SYSTEM",
            "EAI_NONAME",
            "EAFNOSUPPORT",
        ],
    ),
    row("network", "vsock", Policy::Hosts, NO_SOCKET),
    row("network", "netlink", Policy::Hosts, NO_SOCKET),
    row("network", "abstract_socket", Policy::Hosts, NO_WAY),
    row("network", "proxy_to_this_machine", Policy::Hosts, REFUSED),
    row("network", "proxy_to_other_hosts", Policy::Hosts, REFUSED),
    row("network", "proxy_to_other_ports", Policy::Hosts, REFUSED),
    row("network", "proxy_confused", Policy::Hosts, REFUSED),
    row(
        "network",
        "proxy_by_private_name",
        Policy::PublicLocalhost,
        REFUSED,
    ),
    row("kernel", "unshare", Policy::Hosts, DENIED),
];

table!(sockets, SOCKETS);
table!(proxy, PROXY);

/// What was granted can be had, so the rows above fail for their own reasons.
#[tokio::test]
async fn a_granted_service_is_reached() {
    let scene = Scene::new();
    let row = row("network", "proxy_allowed", Policy::PrivateHost, &[]);
    let outcome = sandbox().run(row.job(&scene).unwrap()).await.unwrap();
    let verdict = judge(&outcome, row.expect).to_string();
    assert!(verdict.contains("ESCAPED: nothing stopped it"), "{verdict}");
    assert_eq!(scene.services.reached(), ["TCP"]);
}
