use super::*;

#[test]
fn hooks_have_long_and_short_names() {
    for (text, name) in [
        (
            "hook:server:tool:before-call",
            "hook:server:tool:before-call",
        ),
        ("tool:after-call", "hook:server:tool:after-call"),
        (
            "workflow:before-execute",
            "hook:server:workflow:before-execute",
        ),
        (
            "client:workflow:before-execute",
            "hook:client:workflow:before-execute",
        ),
        (
            "hook:client:workflow:before-execute",
            "hook:client:workflow:before-execute",
        ),
        ("auth:login", "hook:client:auth:login"),
        ("node:execution:start", "hook:client:node:execution:start"),
    ] {
        assert_eq!(hook_name(text), Ok(name));
    }
    assert!(hook_name("hook:server:auth:login").is_err());
    assert!(hook_name("").is_err());
}

#[test]
fn places_for_files_have_one_spelling() {
    for (text, uri) in [
        ("user://a/b", "user://a/b"),
        ("shared://", "shared://"),
        ("fam://user/a", "user://a"),
        ("fam://shared", "shared://"),
        ("fam://lab/a/b", "user://projects/lab/a/b"),
    ] {
        assert_eq!(file_uri(text).as_deref(), Ok(uri));
    }
    for text in [
        "a",
        "file:///etc",
        "fam://",
        "system://a",
        "fam://system/a",
        "user://../a",
        "fam://../a",
        "user://a\\b",
    ] {
        assert!(file_uri(text).is_err(), "{text}");
    }
}

#[test]
fn hosts_have_one_spelling() {
    for (text, name) in [
        ("Example.COM", "example.com"),
        ("*.example.com", "*.example.com"),
        ("*", "*"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("例え.jp", "xn--r8jz45g.jp"),
    ] {
        assert_eq!(host(text).as_deref(), Ok(name));
    }
    for text in [
        "",
        "a b",
        "http://a",
        "a:80",
        "a/b",
        "u@a",
        "*a",
        "a.*",
        "*.127.0.0.1",
        "**",
    ] {
        assert!(host(text).is_err(), "{text}");
    }
}

#[test]
fn the_page_has_long_and_earlier_names() {
    let known = |text| ui_target(text, OUTLETS);
    assert_eq!(
        known("node:header:right"),
        Some(("ui:node:header:post".to_owned(), true))
    );
    assert_eq!(
        known("ui:settings:section"),
        Some(("ui:settings:section".to_owned(), true))
    );
    assert_eq!(known("ui:else"), Some(("ui:else".to_owned(), false)));
    assert_eq!(known("a b"), None);
}
