use super::*;
use crate::http::fake::{Server, answer, ask, provider};
use crate::http::{Endpoint, Timeouts};
use crate::provider::Auth;
use crate::{ModelErrorKind, WireFormat};

fn endpoint(client: &HttpClient, url: &str) -> Arc<Endpoint> {
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    let timeouts = Timeouts::default();
    Arc::new(Endpoint::new(client.clone(), &provider, Some(url), Vec::new(), timeouts).unwrap())
}

#[tokio::test]
async fn without_certificates_https_is_refused_and_http_works() {
    let server = Server::saying(answer("200 OK", "", "{}")).await;
    let client = HttpClient::with_tls(Some("no store"));
    let (text, error) = ask(&endpoint(&client, &server.url())).await;
    assert_eq!((text.as_str(), error), ("whole {}", None));
    let https = server.url().replace("http:", "https:");
    let error = ask(&endpoint(&client, &https)).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Misdirected);
    assert!(
        error
            .message
            .contains("no certificates to trust (no store)"),
        "{error}"
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn pools_are_shared_by_route_and_bounded() {
    let client = HttpClient::new().unwrap();
    let route = |millis| Route {
        way: Way::Plain,
        connect: Duration::from_millis(millis),
    };
    for millis in [1, 1, 2, 1] {
        client.pool(route(millis)).await.unwrap();
    }
    assert_eq!(client.pools().len(), 2);
    for millis in 0..100 {
        client.pool(route(millis)).await.unwrap();
    }
    assert_eq!(client.pools().len(), MAX_POOLS);
    assert!(client.known(route(99)).is_some());
    assert!(
        !client.shared.tls.initialized(),
        "plain http needs no certificates"
    );
}
