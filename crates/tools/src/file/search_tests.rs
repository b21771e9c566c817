use super::super::house_tests::House;
use super::*;

fn options() -> SearchOptions {
    SearchOptions {
        names: None,
        limit: 50,
        context: 0,
    }
}

async fn lines(house: &House, path: &str, query: Query) -> Vec<String> {
    let found = house
        .files
        .search(&house.uri(path), query, options())
        .await
        .unwrap();
    let below = house.uri(".").to_string().len() + 1;
    found
        .hits
        .iter()
        .map(|hit| {
            format!(
                "{}:{}:{}",
                &hit.uri.to_string()[below..],
                hit.line,
                hit.snippet
            )
        })
        .collect()
}

#[tokio::test]
async fn lines_are_found() {
    let house = House::new();
    house.put("a.md", "One dragon\r\ntwo\r\nDRAGON (3.5)\r\n");
    house.put("b/c.txt", "no\nthe dragon");
    use Letters::{AnyCase, AsWritten};
    for (path, query, expected) in [
        (
            ".",
            Query::literal("dragon", AnyCase),
            vec![
                "a.md:1:One dragon",
                "a.md:3:DRAGON (3.5)",
                "b/c.txt:2:the dragon",
            ],
        ),
        (
            ".",
            Query::literal("DRAGON", AsWritten),
            vec!["a.md:3:DRAGON (3.5)"],
        ),
        (
            "b",
            Query::literal("dragon", AnyCase),
            vec!["b/c.txt:2:the dragon"],
        ),
        ("a.md", Query::literal("TWO", AnyCase), vec!["a.md:2:two"]),
        (
            ".",
            Query::literal("(3.5)", AsWritten),
            vec!["a.md:3:DRAGON (3.5)"],
        ),
        (".", Query::literal("3x5", AsWritten), vec![]),
        (
            ".",
            Query::expression("^t.*[on]$", AsWritten),
            vec!["a.md:2:two", "b/c.txt:2:the dragon"],
        ),
    ] {
        let query = query.unwrap();
        assert_eq!(
            lines(&house, path, query.clone()).await,
            expected,
            "{query:?}"
        );
    }
}

#[test]
fn queries_are_checked() {
    let long = "x".repeat(MAX_QUERY_BYTES + 1);
    for (text, literal, expression) in [
        ("", false, false),
        ("a\nb", false, true),
        ("(", true, false),
        ("a{1000}{1000}", true, false),
        ("(?-u:\\xff)", true, false),
        (long.as_str(), false, false),
        ("龙", true, true),
    ] {
        assert_eq!(
            Query::literal(text, Letters::AnyCase).is_ok(),
            literal,
            "{text}"
        );
        assert_eq!(
            Query::expression(text, Letters::AnyCase).is_ok(),
            expression,
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_searched_is_counted() {
    let house = House::new();
    house.put("a.txt", "dragon");
    house.put("nul.bin", b"dragon\0");
    house.put("latin.txt", b"dragon\xe9");
    house.put("big.txt", vec![b'x'; MAX_SEARCH_FILE_BYTES as usize + 1]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.txt", house.project().join("link")).unwrap();
    let query = || Query::literal("dragon", Letters::AnyCase).unwrap();
    let found = house
        .files
        .search(&house.uri("."), query(), options())
        .await
        .unwrap();
    assert_eq!((found.hits.len(), found.files), (1, 1));
    assert_eq!((found.binary, found.too_large), (2, 1));
    assert_eq!(found.unread, usize::from(cfg!(unix)));
    assert!(!found.truncated);
    for (path, reason) in [
        ("big.txt", "file.read_too_large"),
        ("latin.txt", "file.not_text"),
        ("missing", "file.not_found"),
    ] {
        let error = house
            .files
            .search(&house.uri(path), query(), options())
            .await
            .unwrap_err();
        assert_eq!(error.reason(), reason, "{path}");
    }
}

#[tokio::test]
async fn limits_hold() {
    let house = House::new();
    house.put("x", "a\n".repeat(MAX_TOOL_HITS + 1));
    for (limit, expected) in [(1, 1), (50, 50), (usize::MAX, MAX_TOOL_HITS)] {
        let query = Query::literal("a", Letters::AnyCase).unwrap();
        let options = SearchOptions { limit, ..options() };
        let found = house
            .files
            .search(&house.uri("."), query, options)
            .await
            .unwrap();
        assert_eq!((found.hits.len(), found.truncated), (expected, true));
    }
    for number in 0..=MAX_SEARCH_FILES {
        house.put(&format!("many/{number}"), "b");
    }
    let query = Query::literal("nothing", Letters::AnyCase).unwrap();
    let found = house
        .files
        .search(&house.uri("many"), query, options())
        .await
        .unwrap();
    assert_eq!((found.files, found.truncated), (MAX_SEARCH_FILES, true));
    let deep = "d/".repeat(MAX_SEARCH_DEPTH);
    house.put(&format!("{deep}x"), "here");
    let query = Query::literal("here", Letters::AnyCase).unwrap();
    let found = house
        .files
        .search(&house.uri("d"), query.clone(), options())
        .await
        .unwrap();
    assert_eq!((found.hits.len(), found.truncated), (1, false));
    house.put(&format!("{deep}d/x"), "here");
    let found = house
        .files
        .search(&house.uri("d"), query, options())
        .await
        .unwrap();
    assert_eq!((found.hits.len(), found.truncated), (1, true));
}

#[tokio::test]
async fn the_bytes_of_one_search_are_bounded() {
    let house = House::new();
    let files = MAX_SEARCH_BYTES / MAX_SEARCH_FILE_BYTES;
    for number in 0..=files {
        house.put(
            &number.to_string(),
            vec![b'x'; MAX_SEARCH_FILE_BYTES as usize],
        );
    }
    let query = Query::literal("y", Letters::AsWritten).unwrap();
    let found = house
        .files
        .search(&house.uri("."), query, options())
        .await
        .unwrap();
    assert_eq!((found.files as u64, found.truncated), (files, true));
}

#[tokio::test]
async fn names_narrow_a_search_and_context_widens_a_hit() {
    let house = House::new();
    house.put("a.md", "1\n2\nhit\n4\n5");
    house.put("a.txt", "hit");
    let query = Query::literal("hit", Letters::AsWritten).unwrap();
    let options = SearchOptions {
        names: Some(Pattern::new("*.md")),
        limit: 9,
        context: 1,
    };
    let found = house
        .files
        .search(&house.uri("."), query, options)
        .await
        .unwrap();
    assert_eq!(found.hits.len(), 1);
    let hit = &found.hits[0];
    assert_eq!(
        (hit.line, hit.snippet_line, hit.snippet.as_str()),
        (3, 2, "2\nhit\n4")
    );
}

#[test]
fn long_lines_are_shown_around_the_hit() {
    let filler = "é".repeat(1000);
    for (line, at, starts, ends) in [
        ("short".to_owned(), 0, "short", "short"),
        (format!("hit{filler}"), 0, "hit", "é…"),
        (format!("{filler}hit{filler}"), 2000, "…é", "é…"),
        (format!("{filler}hit"), 2000, "…é", "hit"),
    ] {
        let shown = shorten(&line, at);
        assert!(
            shown.starts_with(starts) && shown.ends_with(ends),
            "{shown}"
        );
        assert!(shown.chars().count() <= MAX_SNIPPET_LINE_CHARS + 2);
        assert!(shown.contains("hit") || shown == "short");
    }
}

#[tokio::test]
async fn a_stopped_search_ends() {
    let house = House::new();
    house.put("x", "x");
    let stop = Stop::new();
    stop.cancel();
    let query = Query::literal("x", Letters::AnyCase).unwrap();
    let uri = house.uri(".");
    let result = search(&house.files.0.mounts, &uri, &query, options(), &stop);
    assert_eq!(result.unwrap_err().reason(), "file.stopped");
}
