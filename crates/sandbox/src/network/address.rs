//! Which addresses belong to the open internet. What is not known to is treated as if it did not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address that neither a model's request nor a program's connection must reach just so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    /// In words, for the message.
    pub kind: &'static str,
    /// No rule opens it: nothing that could answer lives there.
    pub never: bool,
}

const fn inside(kind: &'static str) -> Option<Inside> {
    Some(Inside { kind, never: false })
}

const fn never(kind: &'static str) -> Option<Inside> {
    Some(Inside { kind, never: true })
}

/// `None`: anyone may be asked there.
pub fn judge(address: IpAddr) -> Option<Inside> {
    match meant(address) {
        IpAddr::V4(address) => judge_v4(address),
        IpAddr::V6(address) => judge_v6(address),
    }
}

fn judge_v4(address: Ipv4Addr) -> Option<Inside> {
    match address.octets() {
        [0, ..] => never("an unspecified"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => inside("a private"),
        [100, 64..=127, ..] => inside("a carrier's shared"),
        [127, ..] => inside("a loopback"),
        // Looks public, but answers only the virtual machines of Azure, with what they start from.
        [168, 63, 129, 16] => inside("a cloud's own"),
        [169, 254, ..] => inside("a link-local"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => inside("a documentation"),
        [192, 0, 0, _] | [192, 88, 99, _] => inside("a reserved"),
        [198, 18 | 19, ..] => inside("a benchmark"),
        [224..=239, ..] => never("a multicast"),
        [255, 255, 255, 255] => never("a broadcast"),
        [240..=255, ..] => inside("a reserved"),
        _ => None,
    }
}

fn judge_v6(address: Ipv6Addr) -> Option<Inside> {
    let [a, b, ..] = address.segments();
    match (a, b) {
        (0, 0) if address.is_unspecified() => never("an unspecified"),
        (0, 0) if address.is_loopback() => inside("a loopback"),
        (0xfc00..=0xfdff, _) => inside("a unique local"),
        (0xfe80..=0xfebf, _) => inside("a link-local"),
        (0xfec0..=0xfeff, _) => inside("a site-local"),
        (0xff00.., _) => never("a multicast"),
        (0x2002, _) => inside("a 6to4"),
        (0x2001, 0) => inside("a Teredo"),
        // 2001::/23: benchmarks, identifiers and other assignments of the protocol itself.
        (0x2001, 0..=0x01ff) => inside("a reserved"),
        (0x2001, 0x0db8) | (0x3fff, 0..=0x0fff) => inside("a documentation"),
        (0x2000..=0x3fff, _) => None,
        _ => inside("a reserved"),
    }
}

/// Where clouds hand out a machine's own keys, and its neighbours on the wire. A private host may be granted to a
/// program, and its name may then lead anywhere inside, but not here.
pub fn hands_out_keys(address: IpAddr) -> bool {
    match meant(address) {
        IpAddr::V4(address) => matches!(
            address.octets(),
            [169, 254, ..] | [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192]
        ),
        IpAddr::V6(address) => matches!(
            address.segments(),
            [0xfe80..=0xfebf, ..] | [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..]
        ),
    }
}

/// The IPv4 address inside an IPv6 one, where the same machine is meant by it: mapped, and NAT64, which is the only
/// way out of networks that have no IPv4.
fn meant(address: IpAddr) -> IpAddr {
    let IpAddr::V6(outer) = address else {
        return address;
    };
    match outer.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)).into()
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_open_internet_is_open() {
        for (address, kind) in [
            ("8.8.8.8", None),
            ("1.1.1.1", None),
            ("172.15.255.255", None),
            ("172.32.0.1", None),
            ("100.63.255.255", None),
            ("100.128.0.1", None),
            ("169.253.0.1", None),
            ("198.17.0.1", None),
            ("198.20.0.1", None),
            ("223.255.255.255", None),
            ("0.0.0.0", Some("an unspecified")),
            ("0.1.2.3", Some("an unspecified")),
            ("10.0.0.1", Some("a private")),
            ("172.16.0.1", Some("a private")),
            ("172.31.255.255", Some("a private")),
            ("192.168.1.1", Some("a private")),
            ("100.64.0.1", Some("a carrier's shared")),
            ("100.127.255.255", Some("a carrier's shared")),
            ("127.0.0.1", Some("a loopback")),
            ("127.255.0.1", Some("a loopback")),
            ("169.254.169.254", Some("a link-local")),
            ("168.63.129.15", None),
            ("168.63.129.16", Some("a cloud's own")),
            ("192.0.0.192", Some("a reserved")),
            ("192.0.2.1", Some("a documentation")),
            ("198.51.100.7", Some("a documentation")),
            ("203.0.113.9", Some("a documentation")),
            ("192.88.99.1", Some("a reserved")),
            ("198.18.0.1", Some("a benchmark")),
            ("198.19.255.255", Some("a benchmark")),
            ("224.0.0.1", Some("a multicast")),
            ("239.255.255.250", Some("a multicast")),
            ("240.0.0.1", Some("a reserved")),
            ("255.255.255.255", Some("a broadcast")),
            ("2606:4700:4700::1111", None),
            ("2a00:1450::1", None),
            ("2001:200::1", None),
            ("64:ff9b::808:808", None),
            ("::ffff:8.8.8.8", None),
            ("::", Some("an unspecified")),
            ("::1", Some("a loopback")),
            ("::2", Some("a reserved")),
            ("::127.0.0.1", Some("a reserved")),
            ("::8.8.8.8", Some("a reserved")),
            ("::ffff:127.0.0.1", Some("a loopback")),
            ("::ffff:169.254.169.254", Some("a link-local")),
            ("::ffff:0:127.0.0.1", Some("a reserved")),
            ("64:ff9b::7f00:1", Some("a loopback")),
            ("64:ff9b::a9fe:a9fe", Some("a link-local")),
            ("64:ff9b:1::808:808", Some("a reserved")),
            ("100::1", Some("a reserved")),
            ("2001::1", Some("a Teredo")),
            ("2001:2::1", Some("a reserved")),
            ("2001:10::1", Some("a reserved")),
            ("2001:db8::1", Some("a documentation")),
            ("3fff:fff::1", Some("a documentation")),
            ("2002:7f00:1::", Some("a 6to4")),
            ("2002:808:808::", Some("a 6to4")),
            ("4000::1", Some("a reserved")),
            ("5f00::1", Some("a reserved")),
            ("fc00::1", Some("a unique local")),
            ("fd00:ec2::254", Some("a unique local")),
            ("fe80::1", Some("a link-local")),
            ("fec0::1", Some("a site-local")),
            ("ff02::1", Some("a multicast")),
        ] {
            let judged = judge(address.parse().unwrap());
            assert_eq!(judged.map(|inside| inside.kind), kind, "{address}");
        }
    }

    #[test]
    fn the_keys_of_the_machine_are_known() {
        for (address, expected) in [
            ("169.254.169.254", true),
            ("169.254.0.1", true),
            ("::ffff:169.254.169.254", true),
            ("64:ff9b::a9fe:a9fe", true),
            ("168.63.129.16", true),
            ("100.100.100.200", true),
            ("192.0.0.192", true),
            ("fe80::1", true),
            ("fd00:ec2::254", true),
            ("fd20:ce::254", true),
            ("fd00::1", false),
            ("127.0.0.1", false),
            ("10.0.0.1", false),
            ("8.8.8.8", false),
            ("2606:4700::1", false),
        ] {
            assert_eq!(
                hands_out_keys(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
    }
}
