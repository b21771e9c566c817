use super::*;

fn grant(host: &str, ports: &[u16]) -> HostGrant {
    HostGrant {
        host: host.to_owned(),
        ports: ports.to_vec(),
        private: false,
    }
}

#[test]
fn doors_stand_where_the_names_lead() {
    let grants = [
        grant("*.example.com", &[]),
        grant("API.example.com.", &[]),
        grant("1.2.3.4", &[]),
        grant("localhost", &[11434]),
        grant("127.0.0.1", &[11434, 8080]),
        grant("b.test", &[8080]),
        grant("api.example.com", &[443, 8443]),
        grant("not a host", &[]),
    ];
    let doors = doors(&grants);
    let shown: Vec<String> = doors
        .iter()
        .map(|door| match &door.kind {
            DoorKind::Proxy => format!("{} proxy", door.address),
            DoorKind::Host { host, port } => format!("{} {host}:{port}", door.address),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "127.0.0.1:3128 proxy",
            "127.0.8.1:80 api.example.com:80",
            "127.0.8.1:443 api.example.com:443",
            "127.0.0.1:11434 localhost:11434",
            "127.0.0.1:8080 127.0.0.1:8080",
            "127.0.8.2:8080 b.test:8080",
            "127.0.8.1:8443 api.example.com:8443",
        ]
    );
    assert_eq!(
        hosts_file(&doors),
        "127.0.0.1 localhost\n127.0.8.1 api.example.com\n127.0.8.2 b.test\n"
    );
}

#[test]
fn programs_are_told_of_the_proxy() {
    let variables = environment(&doors(&[]));
    for name in ["HTTP_PROXY", "https_proxy", "ALL_PROXY"] {
        let value = "http://127.0.0.1:3128".to_owned();
        assert!(variables.contains(&(name.to_owned(), value)), "{name}");
    }
    assert!(environment(&[]).is_empty());
}
