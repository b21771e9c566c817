use innkeeper_testkit::model_server::{Answer as Reply, Fault, Kind, ModelServer};

use super::*;

async fn look(servers: &[&ModelServer]) -> Vec<Found> {
    let ports = servers.iter().map(|server| server.address().port());
    let places: Vec<Place> = ports.map(|port| Place { port }).collect();
    discover(&HttpClient::new().unwrap(), &places).await
}

#[tokio::test]
async fn every_kind_is_told_by_what_it_says_and_not_by_its_port() {
    for (kind, provider, version, context) in [
        (Kind::Ollama, "ollama", Some("0.12.6"), Some(8192)),
        (Kind::LmStudio, "lmstudio", None, Some(8192)),
        (
            Kind::LlamaCpp,
            "llamacpp",
            Some("b6000-00000000"),
            Some(8192),
        ),
        (Kind::Vllm, "vllm", Some("0.11.0"), Some(8192)),
        (Kind::Plain, "custom", None, None),
    ] {
        let server = ModelServer::start().await;
        server.set_kind(kind);
        server.set_models(["small", "large"]);
        let found = look(&[&server]).await;
        let [found] = found.as_slice() else {
            panic!("{kind:?}: {found:?}");
        };
        assert_eq!(found.provider, provider);
        assert_eq!(found.version.as_deref(), version, "{kind:?}");
        assert_eq!(found.base_url, format!("{}/v1", server.url()));
        assert!(!found.needs_key);
        let models: Vec<_> = found
            .models
            .iter()
            .map(|model| (model.id.as_str(), model.context))
            .collect();
        assert_eq!(models, [("small", context), ("large", context)], "{kind:?}");
        // Nobody is shown a key.
        for request in server.requests() {
            assert_eq!(request.header("authorization"), None);
        }
    }
}

#[tokio::test]
async fn several_at_once_in_order_and_silence_for_those_who_are_not_there() {
    let (first, second) = (ModelServer::start().await, ModelServer::start().await);
    first.set_kind(Kind::Vllm);
    first.set_models(["a"]);
    second.set_kind(Kind::Ollama);
    second.set_models(["b"]);
    let gone = {
        let gone = ModelServer::start().await;
        gone.address().port()
    };
    let places = [gone, second.address().port(), first.address().port()].map(|port| Place { port });
    let found = discover(&HttpClient::new().unwrap(), &places).await;
    let kinds: Vec<_> = found.iter().map(|found| found.provider).collect();
    assert_eq!(kinds, ["ollama", "vllm"]);
}

#[tokio::test]
async fn what_is_no_server_of_models_is_left_out() {
    for answer in [
        Reply::status(404).body("<html>not here</html>"),
        Reply::status(200).body("<html>a web page</html>"),
        Reply::json(&json!({"hello": "world"})),
        Reply::status(401).body("go away"),
        Reply::status(200).body("x".repeat(MAX_DISCOVER_BYTES + 1)),
    ] {
        let server = ModelServer::start().await;
        server.otherwise(move |_| answer.clone());
        assert_eq!(look(&[&server]).await, []);
    }
}

#[tokio::test]
async fn one_that_wants_a_key_is_there_all_the_same() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Reply::error(401, "a key, please"));
    let found = look(&[&server]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].needs_key && found[0].models.is_empty());
    assert_eq!(found[0].provider, "custom");
}

#[tokio::test(start_paused = true)]
async fn one_that_says_nothing_is_not_waited_for() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Reply::json(&json!({"data": []})).fault(Fault::Hang));
    assert_eq!(look(&[&server]).await, []);
}

#[tokio::test(start_paused = true)]
async fn an_ollama_that_is_slow_to_tell_of_its_models_is_found_with_what_it_told() {
    // While a thread is busy, paused time moves by hand only.
    let (still, over) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || over.recv());
    let server = ModelServer::start().await;
    let models = json!({"object": "list", "data": [{"id": "old"}]});
    let tags = json!({"models": [{"name": "quick:1b", "model": "quick:1b"}, {"name": "slow:8b", "model": "slow:8b"}]});
    server.otherwise(move |request| match request.path.as_str() {
        "/v1/models" => Reply::json(&models),
        "/api/version" => Reply::json(&json!({"version": "0.12.6"})),
        "/api/tags" => Reply::json(&tags),
        "/api/show" if request.json()["model"] == "quick:1b" => {
            Reply::json(&json!({"model_info": {"x.context_length": 512}}))
        }
        "/api/show" => Reply::json(&json!({})).fault(Fault::Hang),
        _ => Reply::status(404),
    });
    let clock = async {
        let mut shows = 0;
        while shows < 2 {
            shows += usize::from(server.next_request().await.path == "/api/show");
        }
        tokio::time::advance(DISCOVER_WAIT).await;
    };
    let servers = [&server];
    let (found, ()) = tokio::join!(look(&servers), clock);
    drop(still);
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(found.provider, "ollama");
    let models: Vec<&str> = found.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(models, ["quick:1b", "slow:8b"]);
}

#[test]
fn the_usual_places_are_those_of_the_providers() {
    let ports: Vec<u16> = Place::usual(&Providers::shipped())
        .iter()
        .map(|place| place.port)
        .collect();
    assert_eq!(ports, [1234, 8000, 8080, 11434]);
}
