use super::*;

fn grant(host: &str, ports: &[u16], private: bool) -> HostGrant {
    HostGrant {
        host: host.to_owned(),
        ports: ports.to_vec(),
        private,
    }
}

#[test]
fn what_was_granted_is_permitted_and_nothing_else() {
    let grants = Grants::new(&[
        grant("API.Example.com.", &[], false),
        grant("*.cdn.test", &[443], false),
        grant("inner.cdn.test", &[443], true),
        grant("*", &[9000], false),
        grant("10.0.0.1", &[80], true),
        grant("[::1]", &[80], true),
    ])
    .unwrap();
    let open = Some(false);
    let inside = Some(true);
    for (host, port, expected) in [
        ("api.example.com", 80, open),
        ("Api.EXAMPLE.com.", 443, open),
        ("api.example.com", 8080, None),
        ("x.api.example.com", 443, None),
        ("example.com", 443, None),
        ("a.cdn.test", 443, open),
        ("a.b.cdn.test", 443, open),
        ("cdn.test", 443, None),
        ("evilcdn.test", 443, None),
        ("a.cdn.test.evil", 443, None),
        ("a.cdn.test", 80, None),
        // The wider of two grants holds.
        ("inner.cdn.test", 443, inside),
        ("anything", 9000, open),
        ("9.9.9.9", 9000, None),
        ("10.0.0.1", 80, inside),
        ("10.0.0.1", 443, None),
        ("10.0.0.2", 80, None),
        ("[::ffff:10.0.0.1]", 80, None),
        ("[0::1]", 80, inside),
        ("[::2]", 80, None),
    ] {
        let host = Host::parse(host).unwrap();
        let permit = grants.permit(&host, port).ok();
        assert_eq!(permit.map(|it| it.private), expected, "{host} {port}");
    }
}

#[test]
fn a_refusal_names_host_cause_and_remedy() {
    let grants = Grants::new(&[HostGrant::new("a.test")]).unwrap();
    for (host, port, why) in [
        (
            "evil.test",
            443,
            "evil.test is not among the hosts this program was granted: grant it this host to let it through",
        ),
        (
            "a.test",
            22,
            "port 22 of a.test was not granted to this program: grant this port of the host to let it through",
        ),
    ] {
        let refusal = grants.permit(&Host::parse(host).unwrap(), port);
        let refusal = refusal.unwrap_err();
        assert_eq!(
            (refusal.status, refusal.why.as_str()),
            (Status::Forbidden, why)
        );
    }
}

#[test]
fn what_cannot_be_kept_to_is_not_granted() {
    for host in [
        "a",
        "*",
        "*.*",
        "*.example.com",
        "api-*.example.com",
        "Example.COM.",
        "1.2.3.4",
        "::1",
        "[::1]",
        "1.example",
        "*1.example",
        "s3.*",
    ] {
        assert_eq!(check(&[HostGrant::new(host)]), Ok(()), "{host}");
    }
    for (host, part) in [
        ("", "write a name"),
        (".", "write a name"),
        ("a b", "write a name"),
        ("https://a", "write a name"),
        ("a/b", "write a name"),
        ("a:443", "write a name"),
        ("u@a", "write a name"),
        ("例え.jp", "write a name"),
        ("a\n127.0.0.1 b", "write a name"),
        ("[::1", "write a name"),
        ("10.0.0.*", "without *"),
        ("10.*", "without *"),
        ("*.1", "without *"),
        ("a.1", "in decimal"),
        ("2130706433", "in decimal"),
        ("0177.0.0.1", "in decimal"),
        ("0x7f.1", "in decimal"),
    ] {
        let wrong = check(&[HostGrant::new(host)]).expect_err(host);
        assert!(wrong.contains(part) && wrong.contains(host), "{wrong}");
    }
    for (ports, part) in [
        (vec![0], "no port 0"),
        ((1..=17).collect(), "at most 16 ports"),
        (vec![3128], "its own proxy"),
    ] {
        let wrong = check(&[grant("localhost", &ports, true)]).unwrap_err();
        assert!(wrong.contains(part), "{wrong}");
    }
    assert_eq!(check(&[grant("a.test", &[3128], false)]), Ok(()));
}

#[test]
fn grants_are_counted() {
    let hosts = |count: usize, ports: u16| -> Vec<HostGrant> {
        let ports: Vec<u16> = (1..=ports).collect();
        let names = (0..count).map(|n| format!("h{n}.test"));
        names.map(|name| grant(&name, &ports, false)).collect()
    };
    assert_eq!(check(&hosts(MAX_HOSTS, 2)), Ok(()));
    assert!(check(&hosts(MAX_HOSTS + 1, 1)).unwrap_err().contains("64"));
    assert!(check(&hosts(20, 10)).unwrap_err().contains("201"));
}
