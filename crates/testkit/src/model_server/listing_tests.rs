//! Listings, page by page and server by server.

use super::*;
use crate::model_server::plan::{Step, plan};

fn ask(listing: &Listing, request: &Request) -> Option<(u16, String)> {
    let answer = listing.answer(request)?;
    let mut writes = plan(&answer, request)
        .into_iter()
        .filter_map(|step| match step {
            Step::Write(bytes) => Some(bytes),
            _ => None,
        });
    writes.next().expect("a head");
    let body = writes.collect::<Vec<_>>().concat();
    Some((answer.status, String::from_utf8(body).expect("a text")))
}

fn get(target: &str) -> Request {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Request {
        method: "GET".into(),
        path: path.into(),
        query: query.into(),
        headers: Vec::new(),
        body: Vec::new(),
        connection: 1,
    }
}

fn json_of(listing: &Listing, request: &Request) -> Json {
    let (_, body) = ask(listing, request).expect("an answer");
    serde_json::from_str(&body).expect("JSON")
}

fn listing(kind: Kind) -> Listing {
    let models = ["a", "b", "c"].map(str::to_owned).into();
    Listing { kind, models }
}

#[test]
fn the_three_formats_list_and_page() {
    let listing = listing(Kind::Plain);
    let openai = json_of(&listing, &get("/v1/models"));
    assert_eq!(
        (&openai["object"], &openai["data"][2]["id"]),
        (&json!("list"), &json!("c"))
    );

    let anthropic = |query: &str| {
        let mut request = get(&format!("/v1/models?{query}"));
        request
            .headers
            .push(("Anthropic-Version".into(), "2023-06-01".into()));
        json_of(&listing, &request)
    };
    let page = anthropic("limit=2");
    assert_eq!(
        (&page["has_more"], &page["last_id"]),
        (&json!(true), &json!("b"))
    );
    let page = anthropic("limit=2&after_id=b");
    assert_eq!(
        (&page["has_more"], &page["data"][0]["id"]),
        (&json!(false), &json!("c"))
    );
    assert!(anthropic("after_id=z")["error"].is_object());

    let page = json_of(&listing, &get("/v1beta/models?pageSize=2"));
    assert_eq!(
        (&page["models"][1]["name"], &page["nextPageToken"]),
        (&json!("models/b"), &json!("2"))
    );
    let page = json_of(&listing, &get("/v1beta/models?pageSize=2&pageToken=2"));
    assert_eq!(
        (&page["models"][0]["name"], page.get("nextPageToken")),
        (&json!("models/c"), None)
    );
}

#[test]
fn local_servers_are_recognised() {
    let rows = [
        (Kind::Ollama, "/", 200, "Ollama is running"),
        (Kind::Ollama, "/api/version", 200, r#""version""#),
        (Kind::Ollama, "/api/tags", 200, r#""name":"a""#),
        (Kind::Ollama, "/v1/models", 200, r#""owned_by":"library""#),
        (Kind::Ollama, "/props", 404, ""),
        (Kind::LlamaCpp, "/health", 200, r#""status":"ok""#),
        (Kind::LlamaCpp, "/props", 200, r#""n_ctx":8192"#),
        (
            Kind::LlamaCpp,
            "/v1/models",
            200,
            r#""owned_by":"llamacpp""#,
        ),
        (Kind::LlamaCpp, "/api/tags", 404, ""),
        (Kind::LmStudio, "/api/v0/models", 200, r#""state":"loaded""#),
        (Kind::LmStudio, "/v1/models", 200, r#""id":"c""#),
        (
            Kind::LmStudio,
            "/api/tags",
            200,
            "Unexpected endpoint or method",
        ),
        (Kind::Vllm, "/health", 200, ""),
        (Kind::Vllm, "/version", 200, r#""version""#),
        (Kind::Vllm, "/v1/models", 200, r#""max_model_len":8192"#),
        (Kind::Plain, "/health", 404, ""),
    ];
    for (kind, path, status, part) in rows {
        let (came, body) = ask(&listing(kind), &get(path)).expect("an answer");
        assert_eq!(came, status, "{kind:?} {path}");
        assert!(body.contains(part), "{kind:?} {path}: {body}");
    }
}

#[test]
fn ollama_tells_of_one_model_and_questions_to_models_are_left_to_the_script() {
    let mut request = get("/api/show");
    request.method = "POST".into();
    request.body = br#"{"model":"b"}"#.to_vec();
    assert_eq!(
        json_of(&listing(Kind::Ollama), &request)["model_info"]["llama.context_length"],
        8192
    );
    request.body = br#"{"model":"z"}"#.to_vec();
    let (status, _) = ask(&listing(Kind::Ollama), &request).expect("an answer");
    assert_eq!(status, 404);
    request.path = "/v1/chat/completions".into();
    assert_eq!(ask(&listing(Kind::Ollama), &request), None);
}
