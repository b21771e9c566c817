use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::http::fake::{KEY, Server, answer, provider};
use crate::http::{HttpClient, Timeouts};
use crate::provider::Auth;

fn endpoint(server: &Server, format: WireFormat) -> Endpoint {
    let provider = provider(format, Auth::Usual);
    let client = HttpClient::new().unwrap();
    let timeouts = Timeouts::default();
    Endpoint::new(client, &provider, Some(&server.url()), Vec::new(), timeouts).unwrap()
}

/// One page for each request whose first line holds the text.
async fn pages(pages: &[(&'static str, Json)]) -> Server {
    let pages: Arc<Vec<(&'static str, Json)>> = Arc::new(pages.to_vec());
    Server::start(move |mut conn| {
        let pages = Arc::clone(&pages);
        async move {
            loop {
                let request = conn.request().await?;
                let line = request.lines().next().unwrap_or_default();
                let page = pages
                    .iter()
                    .find(|(wanted, _)| line == format!("GET {wanted} HTTP/1.1"));
                let (status, body) = match page {
                    Some((_, page)) => ("200 OK", page.to_string()),
                    None => ("400 What", format!("unexpected: {line}")),
                };
                conn.write(answer(status, "content-type: application/json\r\n", &body))
                    .await?;
            }
        }
    })
    .await
}

async fn listed(server: &Server, format: WireFormat) -> Vec<(String, Option<u64>)> {
    let key = Secret::new(KEY);
    let models = endpoint(server, format)
        .list_models(Some(&key))
        .await
        .unwrap();
    models
        .into_iter()
        .map(|model| (model.id, model.context))
        .collect()
}

#[tokio::test]
async fn openai_compatible_lists_in_all_their_shapes() {
    let models = json!([
        {"id": "plain", "object": "model"},
        {"id": "router", "context_length": 1, "top_provider": {"context_length": 9}},
        {"id": "vllm", "max_model_len": 2},
        {"id": "llama", "meta": {"n_ctx_train": 3}},
        {"id": "loaded", "meta": {"n_ctx_train": 9, "n_ctx": 4}},
        {"id": "studio", "max_context_length": 9, "loaded_context_length": 5},
        {"id": "groq", "context_window": 6},
        {"id": "odd", "context_length": "many"},
        {"id": "none", "context_length": 0},
        {"id": "plain"},
        {"id": ""},
        {"id": 7},
        {"id": "a\u{1b}b"},
        {"id": "x".repeat(MAX_MODEL_NAME_BYTES + 1)},
        {"name": "named"},
        "bare",
        null,
    ]);
    let expected = [
        ("plain", None),
        ("router", Some(1)),
        ("vllm", Some(2)),
        ("llama", Some(3)),
        ("loaded", Some(4)),
        ("studio", Some(5)),
        ("groq", Some(6)),
        ("odd", None),
        ("none", None),
        ("named", None),
        ("bare", None),
    ]
    .map(|(id, context)| (id.to_owned(), context));
    for page in [
        json!({"object": "list", "data": models}),
        models.clone(),
        json!({"models": models}),
    ] {
        let server = pages(&[("/v1/models", page)]).await;
        assert_eq!(listed(&server, WireFormat::OpenAi).await, expected);
    }
}

#[tokio::test]
async fn anthropic_and_gemini_are_read_page_by_page() {
    let server = pages(&[
        (
            "/v1/models?limit=1000",
            json!({"data": [{"id": "a"}], "has_more": true, "last_id": "a&b"}),
        ),
        (
            "/v1/models?limit=1000&after_id=a%26b",
            json!({"data": [{"id": "b"}], "has_more": false, "last_id": "b"}),
        ),
    ])
    .await;
    let all = listed(&server, WireFormat::Anthropic).await;
    assert_eq!(all, [("a".into(), None), ("b".into(), None)]);
    assert_eq!(server.connections(), 1);
    let server = pages(&[
        (
            "/v1/models?pageSize=1000",
            json!({"models": [
                {"name": "models/g", "inputTokenLimit": 8, "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
            ], "nextPageToken": "t"}),
        ),
        ("/v1/models?pageSize=1000&pageToken=t", json!({})),
    ])
    .await;
    assert_eq!(
        listed(&server, WireFormat::Gemini).await,
        [("g".into(), Some(8))]
    );
}

#[tokio::test]
async fn lists_without_end_have_one() {
    // Always the same page: the second time it says nothing new.
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = Server::start(move |mut conn| {
        let counted = Arc::clone(&counted);
        async move {
            loop {
                conn.request().await?;
                counted.fetch_add(1, Ordering::SeqCst);
                let body = json!({"models": [{"name": "g"}], "nextPageToken": "t"});
                conn.write(answer("200 OK", "", &body.to_string())).await?;
            }
        }
    })
    .await;
    assert_eq!(listed(&server, WireFormat::Gemini).await.len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // Another page each time.
    let server = Server::start(|mut conn| async move {
        for page in 0.. {
            conn.request().await?;
            let models: Vec<Json> = (0..10)
                .map(|n| json!({"id": format!("{page}-{n}")}))
                .collect();
            let body = json!({"data": models, "has_more": true, "last_id": page.to_string()});
            conn.write(answer("200 OK", "", &body.to_string())).await?;
        }
        Ok(())
    })
    .await;
    assert_eq!(
        listed(&server, WireFormat::Anthropic).await.len(),
        10 * MAX_LIST_PAGES
    );
    let many: Vec<Json> = (0..MAX_LISTED + 5)
        .map(|n| json!({"id": n.to_string()}))
        .collect();
    let server = pages(&[("/v1/models", json!(many))]).await;
    assert_eq!(listed(&server, WireFormat::OpenAi).await.len(), MAX_LISTED);
}

#[tokio::test]
async fn what_is_no_list_is_said() {
    let claim = "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n[";
    let rows = [
        (
            answer("200 OK", "", "<html>"),
            ModelErrorKind::Misdirected,
            "no list of models; the base URL",
        ),
        (
            answer("200 OK", "", "{\"data\":1}"),
            ModelErrorKind::Misdirected,
            "no list of models",
        ),
        (
            answer("404 No", "", ""),
            ModelErrorKind::Misdirected,
            "the base URL may be wrong (it is http://127.0.0.1",
        ),
        (
            answer("401 No", "", &format!("bad {KEY}")),
            ModelErrorKind::Unauthorized,
            "bad [key]",
        ),
        (
            claim.to_owned(),
            ModelErrorKind::TooLarge,
            "more than 16777216 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[".into(),
            ModelErrorKind::BrokenStream,
            "stopped before its end",
        ),
    ];
    for (said, kind, message) in rows {
        let server = Server::saying(said.clone()).await;
        let key = Secret::new(KEY);
        let listed = endpoint(&server, WireFormat::OpenAi)
            .list_models(Some(&key))
            .await;
        let error = listed.unwrap_err();
        assert_eq!(error.kind, kind, "{said}: {error}");
        assert!(error.message.contains(message), "{said}: {error}");
        assert!(!error.message.contains(KEY));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_is_not_waited_for() {
    let server = Server::start(|mut conn| async move {
        conn.request().await?;
        conn.nothing_more().await
    })
    .await;
    let error = endpoint(&server, WireFormat::OpenAi)
        .list_models(None)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
}
