//! Real sockets on loopback; names lead where the script says.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::limits::{HEAD_TIMEOUT, IDLE_TIMEOUT, MAX_HEAD_BYTES};

/// What each name leads to; looked up in order, the last stays.
#[derive(Default)]
struct Names {
    table: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn lead(&self, name: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.table.lock().unwrap().insert(name.to_owned(), answers);
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        if host == "slow.test" {
            std::future::pending::<()>().await;
        }
        let mut table = self.table.lock().unwrap();
        let answers = table.get_mut(host);
        let answers = answers.ok_or_else(|| io::Error::other("no such\r\nname"))?;
        match answers.len() {
            1 => Ok(answers[0].clone()),
            _ => Ok(answers.remove(0)),
        }
    }
}

/// A host on loopback, a proxy, and a door that leads to `a.test`.
struct House {
    host: tokio::net::TcpListener,
    port: u16,
    proxy: SocketAddr,
    door: SocketAddr,
    names: Arc<Names>,
    guard: NetworkGuard,
}

impl House {
    async fn open() -> Self {
        let host = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = host.local_addr().unwrap().port();
        let grant = |host: &str, private| HostGrant {
            host: host.to_owned(),
            ports: vec![port],
            private,
        };
        let grants = vec![
            grant("a.test", true),
            grant("*.private.test", true),
            grant("public.test", false),
            grant("slow.test", false),
            grant("gone.test", false),
            grant("127.0.0.1", true),
            HostGrant {
                ports: vec![port, 1],
                ..grant("closed.test", true)
            },
            HostGrant::new("*.wide.test"),
        ];
        let names = Arc::new(Names::default());
        for name in [
            "a.test",
            "x.private.test",
            "public.test",
            "closed.test",
            "evil.test",
        ] {
            names.lead(name, &[&["127.0.0.1"]]);
        }
        let open = |kind: DoorKind| {
            let listener = StdListener::bind("127.0.0.1:0").unwrap();
            let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
                panic!("an IPv6 address");
            };
            (Door { address, kind }, listener)
        };
        let proxy = open(DoorKind::Proxy);
        let door = open(DoorKind::Host {
            host: "a.test".to_owned(),
            port,
        });
        Self {
            host,
            port,
            proxy: proxy.0.address.into(),
            door: door.0.address.into(),
            guard: serve(vec![proxy, door], grants, Arc::clone(&names) as _).unwrap(),
            names,
        }
    }

    /// What comes back for these bytes, if the host is not asked at all.
    async fn refused(&self, request: &str) -> String {
        let mut program = TcpStream::connect(self.proxy).await.unwrap();
        program.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::select! {
            read = program.read_to_string(&mut answer) => read.unwrap(),
            _ = self.host.accept() => panic!("it was let through: {request}"),
        };
        answer
    }

    /// A tunnel to `a.test`: the program's end and the host's.
    async fn tunnel(&self) -> (TcpStream, TcpStream) {
        let mut program = TcpStream::connect(self.proxy).await.unwrap();
        let connect = format!("CONNECT A.test.:{} HTTP/1.1\r\n\r\nearly", self.port);
        program.write_all(connect.as_bytes()).await.unwrap();
        let mut host = self.host.accept().await.unwrap().0;
        assert_eq!(exactly(&mut host, 5).await, "early");
        let established = "HTTP/1.1 200 Connection established\r\n\r\n";
        assert_eq!(exactly(&mut program, established.len()).await, established);
        (program, host)
    }
}

async fn exactly(stream: &mut TcpStream, count: usize) -> String {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn to_the_end(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Until both ends have said all they wanted.
async fn talk_and_part(mut program: TcpStream, mut host: TcpStream) {
    let long = "x".repeat(1 << 20);
    let (mut heard, mut said) = program.split();
    let there = async {
        said.write_all(long.as_bytes()).await.unwrap();
        said.shutdown().await.unwrap();
    };
    // The host hears the end, and goes on speaking.
    let back = async {
        assert_eq!(to_the_end(&mut host).await.len(), long.len());
        host.write_all(b"and now me").await.unwrap();
        drop(host);
    };
    let hear = async {
        let mut text = String::new();
        heard.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "and now me");
    };
    tokio::join!(there, back, hear);
}

#[tokio::test]
async fn a_tunnel_carries_both_ways_and_ends_by_halves() {
    let house = House::open().await;
    let (program, host) = house.tunnel().await;
    talk_and_part(program, host).await;
    assert_eq!(*house.names.asked.lock().unwrap(), ["a.test"]);
}

#[tokio::test]
async fn a_program_that_knows_no_proxy_reaches_its_host() {
    let house = House::open().await;
    let program = TcpStream::connect(house.door).await.unwrap();
    let host = house.host.accept().await.unwrap().0;
    talk_and_part(program, host).await;
    // Refused: nothing but the end of the connection.
    house.names.lead("a.test", &[&["169.254.169.254"]]);
    let mut program = TcpStream::connect(house.door).await.unwrap();
    assert_eq!(to_the_end(&mut program).await, "");
}

#[tokio::test]
async fn a_plain_request_is_passed_on_alone() {
    let house = House::open().await;
    let port = house.port;
    for (body, lines) in [
        ("", ""),
        ("body", "Content-Length: 4\r\n"),
        ("4\r\nbody\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
    ] {
        let mut program = TcpStream::connect(house.proxy).await.unwrap();
        let second = "GET http://evil.test/ HTTP/1.1\r\n\r\n";
        let request = format!(
            "POST http://x.Private.test:{port}/p?q HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\n{lines}\r\n{body}{second}"
        );
        program.write_all(request.as_bytes()).await.unwrap();
        program.shutdown().await.unwrap();
        let mut host = house.host.accept().await.unwrap().0;
        let expected = format!(
            "POST /p?q HTTP/1.1\r\nHost: x.private.test:{port}\r\nConnection: close\r\n{lines}\r\n{body}"
        );
        assert_eq!(to_the_end(&mut host).await, expected);
        host.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .await
            .unwrap();
        drop(host);
        assert_eq!(
            to_the_end(&mut program).await,
            "HTTP/1.1 204 No Content\r\n\r\n"
        );
    }
}

#[tokio::test]
async fn what_was_not_granted_is_refused_with_the_reason() {
    let house = House::open().await;
    let port = house.port;
    let leads = [
        ("10.private.test", "10.0.0.1"),
        ("metadata.private.test", "169.254.169.254"),
        ("mapped.private.test", "::ffff:169.254.169.254"),
        ("azure.private.test", "168.63.129.16"),
        ("zero.private.test", "0.0.0.0"),
        ("cast.private.test", "224.0.0.1"),
        ("six.private.test", "::"),
    ];
    for (name, address) in leads {
        house.names.lead(name, &[&[address]]);
    }
    house.names.lead("empty.private.test", &[&[]]);
    house
        .names
        .lead("mixed.private.test", &[&["127.0.0.1", "169.254.0.1"]]);
    house
        .names
        .lead("inner.wide.test", &[&["::ffff:127.0.0.1"]]);
    house
        .names
        .lead("split.wide.test", &[&["1.1.1.1", "127.0.0.1"]]);
    let no_host = "is not among the hosts this program was granted";
    let no_port = "was not granted to this program";
    let inside = "a loopback address, which this program was not granted";
    let never = "which no program may reach";
    for (host, port, status, why) in [
        ("evil.test", port, 403, no_host),
        ("A.test.", 22, 403, no_port),
        ("a.test", 443, 403, no_port),
        ("public.test", port, 403, inside),
        ("PUBLIC.test.", port, 403, inside),
        ("inner.wide.test", 80, 403, inside),
        ("split.wide.test", 80, 403, inside),
        ("127.0.0.1", 1, 403, no_port),
        ("127.0.0.2", port, 403, no_host),
        ("127.0.0.1", 443, 403, no_port),
        ("8.8.8.8", 443, 403, no_host),
        ("[::1]", port, 403, no_host),
        ("[::ffff:127.0.0.1]", port, 403, no_host),
        ("[64:ff9b::7f00:1]", port, 403, no_host),
        ("metadata.private.test", port, 403, never),
        ("mapped.private.test", port, 403, never),
        ("azure.private.test", port, 403, never),
        ("mixed.private.test", port, 403, never),
        ("zero.private.test", port, 403, never),
        ("cast.private.test", port, 403, never),
        ("six.private.test", port, 403, never),
        ("private.test", port, 403, no_host),
        ("a.test@evil.test", port, 400, "a user must not stand"),
        ("2130706433", port, 400, "four decimal numbers"),
        ("0177.0.0.1", port, 400, "four decimal numbers"),
        ("0x7f000001", port, 400, "four decimal numbers"),
        ("127.1", port, 400, "four decimal numbers"),
        (
            "gone.test",
            port,
            502,
            "the address of gone.test was not found: no such  name",
        ),
        ("empty.private.test", port, 502, "has no address"),
        (
            "closed.test",
            1,
            502,
            "no connection to port 1 of closed.test",
        ),
    ] {
        for request in [
            format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n\u{16}\u{3}\u{1}"),
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: a.test\r\n\r\n"),
        ] {
            let answer = house.refused(&request).await;
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request}: {head}"
            );
            assert!(
                body.contains(why) && body.ends_with('\n'),
                "{request}: {body}"
            );
            assert!(head.contains(body.trim_end()), "{head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())));
        }
    }
    // Nothing that was not granted was even looked up.
    let asked = house.names.asked.lock().unwrap();
    for name in ["private.test", "evil.test", "8.8.8.8", "a.test"] {
        assert!(!asked.contains(&name.to_owned()), "{name}");
    }
}

#[tokio::test]
async fn malformed_and_oversized_requests_are_refused() {
    let house = House::open().await;
    let port = house.port;
    let large = format!(
        "GET http://a.test/ HTTP/1.1\r\nX: {}",
        "x".repeat(MAX_HEAD_BYTES)
    );
    let both = format!(
        "POST http://a.test:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    for (request, status) in [
        (large.as_str(), "431 "),
        (&both, "400 "),
        ("GET / HTTP/1.1\r\n\r\n", "400 "),
        ("GET http://a.test/ HTTP/1.1\n\n", "400 "),
        ("\u{5}\u{1}\0\r\n\r\n", "400 "),
    ] {
        let answer = house.refused(request).await;
        assert_eq!(answer.get(9..13), Some(status), "{answer}");
    }
    let mut program = TcpStream::connect(house.proxy).await.unwrap();
    program.write_all(b"GET http").await.unwrap();
    program.shutdown().await.unwrap();
    assert!(to_the_end(&mut program).await.contains("it is not whole"));
    let mut program = TcpStream::connect(house.proxy).await.unwrap();
    program.shutdown().await.unwrap();
    assert_eq!(to_the_end(&mut program).await, "");
}

#[tokio::test]
async fn the_address_that_was_looked_at_is_the_one_that_is_used() {
    let house = House::open().await;
    // The second answer would be refused; a connection must not ask for it.
    let rebound: &[&[&str]] = &[&["127.0.0.1"], &["169.254.169.254"]];
    house.names.lead("a.test", rebound);
    let (program, host) = house.tunnel().await;
    assert_eq!(house.names.asked.lock().unwrap().len(), 1);
    talk_and_part(program, host).await;
    let request = format!("CONNECT a.test:{} HTTP/1.1\r\n\r\n", house.port);
    assert!(house.refused(&request).await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn a_dead_address_leaves_the_next_one() {
    let house = House::open().await;
    // Nobody listens on the first.
    house.names.lead("a.test", &[&["127.0.0.9", "127.0.0.1"]]);
    let (program, host) = house.tunnel().await;
    talk_and_part(program, host).await;
}

#[tokio::test(start_paused = true)]
async fn slow_heads_and_slow_names_are_given_up() {
    let house = House::open().await;
    let begun = tokio::time::Instant::now();
    let answer = house.refused("GET http://a.test/ HTTP/1.1\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() >= HEAD_TIMEOUT);
    // The clock must not run before the head is there.
    tokio::time::resume();
    let mut program = TcpStream::connect(house.proxy).await.unwrap();
    let request = format!("CONNECT slow.test:{} HTTP/1.1\r\n\r\n", house.port);
    program.write_all(request.as_bytes()).await.unwrap();
    while house.names.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    let answer = to_the_end(&mut program).await;
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
}

#[tokio::test]
async fn a_silent_connection_is_ended() {
    let house = House::open().await;
    let (mut program, mut host) = house.tunnel().await;
    host.write_all(b"one").await.unwrap();
    assert_eq!(exactly(&mut program, 3).await, "one");
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    // Neither has closed.
    assert_eq!(to_the_end(&mut program).await, "");
    assert_eq!(to_the_end(&mut host).await, "");
    let (waited, second) = (begun.elapsed(), Duration::from_secs(1));
    assert!(
        waited + second > IDLE_TIMEOUT && waited < IDLE_TIMEOUT + second,
        "{waited:?}"
    );
}

#[tokio::test]
async fn connections_end_with_the_guard() {
    let house = House::open().await;
    let (mut program, mut host) = house.tunnel().await;
    let mut waiting = TcpStream::connect(house.proxy).await.unwrap();
    waiting.write_all(b"GET http").await.unwrap();
    drop(house.guard);
    assert_eq!(to_the_end(&mut program).await, "");
    assert_eq!(to_the_end(&mut host).await, "");
    // Ended or reset: what it said was perhaps never read.
    let mut nothing = Vec::new();
    let _ = waiting.read_to_end(&mut nothing).await;
    assert!(nothing.is_empty());
    while TcpStream::connect(house.proxy).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn too_many_connections_wait_their_turn() {
    let house = House::open().await;
    let mut open = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        open.push(house.tunnel().await);
    }
    let mut late = TcpStream::connect(house.proxy).await.unwrap();
    let connect = format!("CONNECT a.test:{} HTTP/1.1\r\n\r\n", house.port);
    late.write_all(connect.as_bytes()).await.unwrap();
    // At the other door it would be no different: they share the places.
    let _later = TcpStream::connect(house.door).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.names.asked.lock().unwrap().len(), MAX_CONNECTIONS);
    open.clear();
    let established = "HTTP/1.1 200 Connection established\r\n\r\n";
    assert_eq!(exactly(&mut late, established.len()).await, established);
}

#[test]
fn serving_needs_a_runtime_and_grants_that_can_be_kept_to() {
    let names = || Arc::new(Names::default()) as Arc<dyn Resolver>;
    assert!(serve(Vec::new(), Vec::new(), names()).is_err());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    assert!(serve(Vec::new(), Vec::new(), names()).is_ok());
    let bad = vec![HostGrant::new("https://a.test")];
    assert!(serve(Vec::new(), bad, names()).is_err());
}
