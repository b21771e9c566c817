use super::*;

#[test]
fn a_query_is_its_words_or_the_pairs_of_its_only_one() {
    let tokens = |text: &str| -> Vec<String> {
        let query = Query::new(text).unwrap();
        query.tokens.into_iter().map(|token| token.text).collect()
    };
    assert_eq!(tokens("Silver KEY, silver"), ["silver", "key"]);
    assert_eq!(tokens("银钥匙"), ["银钥", "钥匙"]);
    assert_eq!(tokens("ab"), ["ab"]);
    assert_eq!(tokens("dog"), ["do", "og"]);
    assert_eq!(tokens("——"), ["——"]);
    assert_eq!(Query::new(" \n "), None);
    let alphabet: String = ('a'..='z').chain('0'..='9').collect();
    assert_eq!(tokens(&alphabet).len(), MAX_QUERY_PAIRS);
    let many: Vec<String> = (0..100).map(|n| format!("word{n}")).collect();
    assert_eq!(tokens(&many.join(" ")).len(), MAX_QUERY_TOKENS);
}

#[test]
fn scores_are_the_share_of_the_weight() {
    for (query, text, score) in [
        ("silver key", "the SILVER key", 1.0),
        ("silver key", "a key", 3.0 / 9.0),
        ("silver key", "nothing", 0.0),
        ("incomprehensible it", "it", 2.0 / 10.0),
        ("银钥匙", "他有银钥匙", 1.0),
        ("银钥匙", "钥匙在哪", 0.5),
    ] {
        let found = Query::new(query).unwrap().score(&folded(text));
        assert!((found - score).abs() < 1e-9, "{query} in {text}: {found}");
    }
}

#[test]
fn places_are_counted_in_the_text_as_it_is() {
    for (query, text, place) in [
        ("key", "a key", 2),
        // Each of these becomes two characters when it is folded.
        ("key", "İİİ key", 4),
        ("key silver", "silver key", 0),
        ("二", "一二", 1),
        ("KEY", "😀key", 1),
    ] {
        assert_eq!(Query::new(query).unwrap().place(text), place, "{text}");
    }
}

#[test]
fn snippets_are_short_and_begin_a_little_before_the_place() {
    assert_eq!(snippet("short", 3), "short");
    let long: String = ('a'..='z').cycle().take(1000).collect();
    for place in [0, 10, 41, 500, 900, 999] {
        let shown = snippet(&long, place);
        assert!(shown.chars().count() <= MAX_SNIPPET_CHARS, "{place}");
        assert_eq!(shown.starts_with("..."), place > SNIPPET_LEAD_CHARS);
        assert_eq!(shown.ends_with("..."), place < 850, "{place}");
    }
    let text = format!("{}钥匙{}", "前".repeat(100), "后".repeat(300));
    let shown = snippet(&text, 100);
    let before = shown.trim_start_matches("...").split('钥').next().unwrap();
    assert_eq!(before.chars().count(), SNIPPET_LEAD_CHARS);
}
