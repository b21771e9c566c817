//! Paths, pointers, and what is too much.

use super::*;
use crate::builtin::testing::{call, check_definitions};
use crate::limits::MAX_JSON_QUERY_NESTING;

async fn ask(json: Json, query: &str) -> Result<Json, ToolError> {
    call(&tools()[0], json!({"json": json, "query": query})).await
}

fn store() -> Json {
    json!({
        "books": [
            {"title": "A", "price": 8, "tags": ["x", "y"]},
            {"title": "B", "price": 12},
            {"title": "C", "price": 22, "tags": []}
        ],
        "a/b": {"~": 1, "": 2},
        "dotted.name": true
    })
}

#[test]
fn the_declaration_is_sound() {
    check_definitions(&tools());
}

#[tokio::test]
async fn paths_and_pointers_find_what_they_name() {
    for (query, matches) in [
        ("$", json!([store()])),
        ("", json!([store()])),
        ("/books/0/title", json!(["A"])),
        ("/a~1b/~0", json!([1])),
        ("/a~1b/", json!([2])),
        ("/books/9", json!([])),
        ("/books/-", json!([])),
        ("$.books[0].title", json!(["A"])),
        ("$.books[-1].title", json!(["C"])),
        ("$..title", json!(["A", "B", "C"])),
        ("$.books[*].price", json!([8, 12, 22])),
        ("$.books[0:2].title", json!(["A", "B"])),
        ("$.books[0,2]['title']", json!(["A", "C"])),
        ("$.books[?@.price < 10].title", json!(["A"])),
        (
            "$.books[?@.price > $.books[0].price && !@.tags].title",
            json!(["B"]),
        ),
        ("$.books[?match(@.title, '[AB]')].price", json!([8, 12])),
        (
            "$.books[?search(@.title, \"^[^A]\")].title",
            json!(["B", "C"]),
        ),
        ("$.books[?length(@.tags) == 2].title", json!(["A"])),
        ("$['dotted.name']", json!([true])),
        ("$.nothing", json!([])),
        (" $.books[0] .price ", json!([8])),
    ] {
        let got = ask(store(), query)
            .await
            .unwrap_or_else(|e| panic!("{query}: {e}"));
        assert_eq!(got["matches"], matches, "{query}");
        assert_eq!(got["count"], matches.as_array().unwrap().len(), "{query}");
        assert_eq!(got["truncated"], false);
        let text = Json::String(store().to_string());
        assert_eq!(ask(text, query).await, Ok(got), "{query} in text");
    }
}

#[tokio::test]
async fn mistakes_are_named_with_their_place() {
    for (json, query, reason, part) in [
        (
            store(),
            "books[0]",
            "json.invalid_query",
            "did you mean '$.books[0]'",
        ),
        (store(), "[0]", "json.invalid_query", "did you mean '$[0]'"),
        (store(), "$.books[", "json.invalid_query", "at position"),
        (store(), "$.books[?]", "json.invalid_query", "at position"),
        (store(), "/a~2b", "json.invalid_query", "at position 3"),
        (store(), "/a~", "json.invalid_query", "at position 3"),
        (json!("{\"a\": }"), "$", "json.invalid", "line 1 column 7"),
        (json!("hello"), "$", "json.invalid", "is no JSON"),
        (json!(""), "$", "json.invalid", "is no JSON"),
        (json!("{} {}"), "$", "json.invalid", "trailing characters"),
    ] {
        let error = ask(json, query).await.expect_err(query);
        assert_eq!(error.reason.as_deref(), Some(reason), "{error:?}");
        assert!(error.message.contains(part), "{}", error.message);
    }
}

fn nested(levels: usize) -> Json {
    (0..levels).fold(json!(1), |inner, _| json!([inner, 1]))
}

#[tokio::test]
async fn what_would_not_end_is_refused_before_it_begins() {
    let deep = nested(100);
    for query in [
        "$..*..*..*..*..*..*..*..*".to_owned(),
        format!("${}", "[0,0,0,0,0,0,0,0,0,0]".repeat(40)),
        format!("${}", "[*,*]".repeat(60)),
        "$..[?@..[?@..[?@..[?@..*]]]]".to_owned(),
        "$..[?$..[?$..[?$..*]]]".to_owned(),
    ] {
        let error = ask(deep.clone(), &query).await.expect_err(&query);
        assert_eq!(
            error.reason.as_deref(),
            Some("json.query_too_costly"),
            "{query}"
        );
    }
    let many = json!(vec!["a"; 20_000]);
    for query in [
        "$[?match(@, '(\\\\w{100}){100}')]",
        "$[?match(@, @)]",
        "$[?search(@, 'a+') || search(@, 'b+')]",
    ] {
        let error = ask(many.clone(), query).await.expect_err(query);
        assert_eq!(
            error.reason.as_deref(),
            Some("json.query_too_costly"),
            "{query}"
        );
    }
    let depth = MAX_JSON_QUERY_NESTING + 1;
    let query = format!("$[?{}@.a{}]", "(".repeat(depth), ")".repeat(depth));
    let error = ask(json!([]), &query).await.unwrap_err();
    assert!(error.message.contains("inside each other"), "{error}");
}

#[tokio::test]
async fn large_json_may_be_searched_as_people_search() {
    let rows: Vec<Json> = (0..10_000)
        .map(|n| json!({"id": n, "name": format!("n{n}"), "tags": ["a", {"b": n}]}))
        .collect();
    let table = json!({"data": {"rows": rows}});
    for (query, count) in [
        ("$..b", 10_000),
        ("$..[?@.id < 5].name", 5),
        ("$.data.rows[*].tags[?@.b > 9000].b", 999),
        ("$.data.rows[?@.id == $.data.rows[7].id]", 1),
        ("$..rows..b", 10_000),
    ] {
        let got = ask(table.clone(), query)
            .await
            .unwrap_or_else(|e| panic!("{query}: {e}"));
        assert_eq!(got["count"], count, "{query}");
        assert_eq!(got["truncated"], count > MAX_JSON_QUERY_MATCHES, "{query}");
    }
}

#[tokio::test]
async fn the_limits_hold() {
    let wide = json!(vec![0; MAX_JSON_QUERY_NODES]);
    let text = json!("x".repeat(MAX_JSON_QUERY_BYTES + 1));
    let long = json!(["x".repeat(MAX_JSON_QUERY_BYTES)]);
    for json in [wide, text, long, nested(MAX_JSON_QUERY_DEPTH)] {
        let error = ask(json, "$").await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some("json.too_large"));
    }
    assert!(ask(nested(MAX_JSON_QUERY_DEPTH - 1), "$").await.is_ok());

    let got = ask(json!(vec![0; MAX_JSON_QUERY_MATCHES + 1]), "$[*]")
        .await
        .unwrap();
    assert_eq!(
        got["matches"].as_array().unwrap().len(),
        MAX_JSON_QUERY_MATCHES
    );
    assert_eq!(got["count"], MAX_JSON_QUERY_MATCHES + 1);
    assert_eq!(got["truncated"], true);

    let half = "x".repeat(MAX_JSON_QUERY_RESULT_BYTES / 2);
    let got = ask(json!([half, half, half]), "$[*]").await.unwrap();
    assert_eq!(
        (got["matches"].as_array().unwrap().len(), &got["truncated"]),
        (1, &json!(true))
    );
}
