use innkeeper_protocol::Secret;
use rustls::CertificateError;

use super::*;
use crate::WireFormat;
use crate::http::fake::{KEY, Server, StandStill, answer, ask, endpoint, provider};
use crate::http::{HttpClient, Timeouts};
use crate::provider::Auth;

#[tokio::test]
async fn whatever_is_on_the_port_is_told_apart() {
    let rows: [(&[u8], ModelErrorKind, &str); 9] = [
        (
            b"",
            ModelErrorKind::BrokenStream,
            "closed the connection before it answered",
        ),
        (
            b"HTTP/1.1 200 O",
            ModelErrorKind::BrokenStream,
            "closed the connection before it answered",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-ty",
            ModelErrorKind::BrokenStream,
            "closed the connection",
        ),
        (
            b"SSH-2.0-OpenSSH_9.9\r\n",
            ModelErrorKind::Malformed,
            "did not answer with HTTP",
        ),
        (
            b"\x15\x03\x01\x00\x02\x02\x46",
            ModelErrorKind::Malformed,
            "base URL begin with https://?",
        ),
        (
            b"\0\0\0\0\0\0\0\0\0\0\0\0",
            ModelErrorKind::Malformed,
            "is another program on that port",
        ),
        (
            b"HTTP/1.1 9x9 OK\r\n\r\n",
            ModelErrorKind::Malformed,
            "did not answer with HTTP",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            ModelErrorKind::Malformed,
            "did not answer with HTTP",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            ModelErrorKind::Malformed,
            "did not answer",
        ),
    ];
    for (said, kind, message) in rows {
        let server = Server::saying(said).await;
        let (text, error) = ask(&server.endpoint()).await;
        let error = error.unwrap();
        let said = String::from_utf8_lossy(said);
        assert_eq!((text.as_str(), error.kind), ("", kind), "{said}: {error}");
        assert!(error.message.contains(message), "{said}: {error}");
        assert!(error.message.contains("Fake (127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn headers_without_end_are_not_read_to_it() {
    let many = "x-many: 1\r\n".repeat(1_000);
    let long = format!("x-long: {}\r\n", "a".repeat(1024 * 1024));
    for headers in [many, long] {
        let server = Server::saying(answer("200 OK", &headers, "{}")).await;
        let error = ask(&server.endpoint()).await.1.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{error}");
        assert!(error.message.contains("too large"), "{error}");
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens() {
    // The port is free once the listener is gone.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free = listener.local_addr().unwrap().port();
    drop(listener);
    let endpoint = endpoint(&format!("http://127.0.0.1:{free}/v1"), Timeouts::default());
    let error = ask(&endpoint).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::ServerError);
    let expected =
        format!("Fake (127.0.0.1:{free}) refused the connection; is the server running?");
    assert_eq!(error.message, expected);
}

#[tokio::test]
async fn https_where_only_http_is_spoken() {
    let server = Server::start(|mut conn| async move {
        conn.write("HTTP/1.1 400 Bad Request\r\n\r\n").await?;
        conn.closed().await;
        Ok(())
    })
    .await;
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    let url = server.url().replace("http:", "https:");
    let client = HttpClient::trusting_nobody();
    let timeouts = Timeouts::default();
    let endpoint = Endpoint::new(client, &provider, Some(&url), Vec::new(), timeouts).unwrap();
    let error = ask(&std::sync::Arc::new(endpoint)).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Misdirected, "{error}");
    assert!(
        error
            .message
            .contains("seems not to speak https; write http://"),
        "{error}"
    );
}

#[test]
fn certificates_that_nobody_trusts() {
    let error = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
    let error = not_safe("Fake (a.example)", &error);
    assert_eq!(error.kind, ModelErrorKind::Misdirected);
    let message = error.message;
    assert!(
        message.starts_with("no safe connection to Fake (a.example): invalid peer certificate")
    );
    assert!(message.ends_with("install the certificate's CA"));
    let error = not_safe("Fake (a.example)", &rustls::Error::HandshakeNotComplete);
    assert_eq!(error.kind, ModelErrorKind::ServerError);
}

/// Linux drops what comes to a full queue, so that a connection is neither taken nor refused.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_take_the_connection() {
    use tokio::net::{TcpSocket, TcpStream};
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(
        std::time::Duration::from_secs(1),
        TcpStream::connect(address),
    )
    .await
    {
        waiting.push(stream);
        assert!(waiting.len() < 100);
    }
    let timeouts = Timeouts {
        connect_ms: 1_234,
        ..Timeouts::default()
    };
    let error = ask(&endpoint(&format!("http://{address}"), timeouts))
        .await
        .1
        .unwrap();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert!(
        error
            .message
            .contains("did not take the connection within 1234 ms"),
        "{error}"
    );
    assert!(error.message.contains("`timeouts.connect_ms`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn why_it_was_refused_is_read_within_bounds() {
    let flood = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.write("HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n")
            .await?;
        loop {
            conn.chunk(&format!("no {KEY} ").repeat(100)).await?;
        }
    })
    .await;
    let silent = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.write("HTTP/1.1 500 Oh\r\ncontent-length: 100\r\n\r\nwell")
            .await?;
        conn.nothing_more().await
    })
    .await;
    let still = StandStill::new();
    let error = ask(&flood.endpoint()).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::ServerError);
    assert!(
        error
            .message
            .starts_with("Fake answered 500: no [key] no [key]"),
        "{error}"
    );
    assert!(!error.message.contains("sk-"), "{error}");
    drop(still);
    let error = ask(&silent.endpoint()).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::ServerError, "{error}");
}

#[tokio::test]
async fn statuses_and_redirects_come_through_without_the_key() {
    let rows = [
        (
            answer("401 No", "", &format!("{{\"error\":\"bad {KEY}\"}}")),
            ModelErrorKind::Unauthorized,
            "bad [key]",
        ),
        (
            answer("307 Go", "location: http://other.example/x?y=1\r\n", ""),
            ModelErrorKind::Misdirected,
            "points to http://other.example/x;",
        ),
        (
            answer("429 Slow", "retry-after: 2\r\n", ""),
            ModelErrorKind::RateLimited,
            "wait a little",
        ),
        (
            answer("404 No", "", "model not found"),
            ModelErrorKind::UnknownModel,
            "no model 'tiny'",
        ),
        (
            "HTTP/1.1 503 No\r\ncontent-length: 99\r\n\r\nbusy".to_owned(),
            ModelErrorKind::ServerError,
            "503",
        ),
    ];
    for (said, kind, message) in rows {
        let server = Server::saying(said.clone()).await;
        let error = ask(&server.endpoint()).await.1.unwrap();
        assert_eq!(error.kind, kind, "{said}: {error}");
        assert!(error.message.contains(message), "{said}: {error}");
        assert!(!format!("{error:?}").contains(KEY));
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(format!("{:?}", Secret::new(KEY)), "[secret]");
}
