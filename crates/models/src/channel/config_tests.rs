use super::super::fake::config;
use super::*;
use crate::provider::Providers;

#[test]
fn what_is_not_said_is_as_usual() {
    assert_eq!(
        config("name = 'openai'"),
        ChannelConfig::new("openai", "openai")
    );
    let all = config(
        "name = 'mine'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:9/v1'\nkeys = ['${A}', 'secret:a.b']\n\
         models = ['x', 'y-*']\ndisabled = true\nretries = 10\ncontext = 4096\nmax_tokens = 100\nstream = false\n\
         grammar = 'grammar'\nrename = { a = 'b' }\nheaders = { X-Title = 'Inn', Authorization = 'Basic ${B}' }\n\
         timeouts = { idle_ms = 5 }\nquirks = { json_schema = false, default_max_tokens = 7, message_fields = ['thinking_blocks'], call_ids = 'nine', seed_field = 's', not_sent = ['top_k'] }",
    );
    assert_eq!(
        all.keys,
        [KeyRef::Env("A".into()), KeyRef::Secret("a.b".into())]
    );
    assert_eq!(all.timeouts.idle_ms, 5);
    assert_eq!(all.timeouts.connect_ms, Timeouts::default().connect_ms);
    let mut quirks = Providers::shipped().get("vllm").unwrap().quirks.clone();
    all.quirks.apply(&mut quirks);
    assert_eq!(quirks.grammar, Some(GrammarField::Grammar));
    assert!(!quirks.json_schema && quirks.stream_usage);
    assert_eq!(quirks.default_max_tokens, Some(7));
    assert_eq!(quirks.message_fields, ["thinking_blocks"]);
    assert_eq!(
        (quirks.seed_field.as_str(), quirks.call_ids),
        ("s", CallIds::Nine)
    );
    assert_eq!(quirks.not_sent, ["top_k"]);
}

#[test]
fn what_cannot_be_taken_is_named_and_no_key_is_repeated() {
    let rows = [
        (
            "keys = 'sk-planted'",
            "`keys` names where a key is and never holds one",
        ),
        ("keys = ['${A}', 'sk-planted']", "never holds one"),
        ("keys = { a = 'sk-planted' }", "never holds one"),
        ("keys = '${sk-planted}'", "never holds one"),
        ("keys = 'secret:sk planted'", "never holds one"),
        ("key = 'sk-planted'", "unknown field `key`"),
        (
            "headers = 'Authorization: sk-planted'",
            "`headers` is a table",
        ),
        (
            "headers = { Authorization = 'Bearer sk-planted' }",
            "the header `Authorization` looks like a secret",
        ),
        (
            "headers = { X-Api-Key = 'sk-planted' }",
            "the header `X-Api-Key` looks like a secret",
        ),
        (
            "headers = { x = '${A}sk-planted${B}' }",
            "the header `x` is a text",
        ),
        (
            "headers = { x = ['sk-planted'] }",
            "the header `x` is a text",
        ),
        (
            "base_url = 'https://me:sk-planted@127.0.0.1/v1'",
            "`base_url` of the channel `c` holds a name",
        ),
        (
            "base_url = 'http://127.0.0.1/v1?api_key=sk-planted'",
            "`base_url` of the channel `c` holds a key",
        ),
        (
            "base_url = 'http://127.0.0.1/v1?abc=sk-planted'",
            "`base_url` of the channel `c` has a part after `?`",
        ),
        (
            "base_url = 'http://127.0.0.1/v1#sk-planted'",
            "`base_url` of the channel `c` has a part after `?`",
        ),
        ("base_url = 'ftp://127.0.0.1'", "is no address of the web"),
        ("base_url = '127.0.0.1/v1'", "is no address"),
        ("retries = 11", "`retries` of the channel `c` is at most 10"),
        ("context = 0", "`context` of the channel `c` is at least 1"),
        (
            "max_tokens = 0",
            "`max_tokens` of the channel `c` is at least 1",
        ),
        (
            "quirks = { jsonschema = true }",
            "unknown field `jsonschema`",
        ),
        ("grammar = 'gbnf'", "unknown variant `gbnf`"),
    ];
    for (line, expected) in rows {
        let error = toml::from_str::<ChannelConfig>(&format!("name = 'c'\n{line}")).unwrap_err();
        assert!(
            error.message().contains(expected),
            "{line}: {}",
            error.message()
        );
        assert!(
            !error.message().contains("planted"),
            "{line}: {}",
            error.message()
        );
    }
    for name in ["", "a/b", "a:b", "a b"] {
        let error = toml::from_str::<ChannelConfig>(&format!("name = '{name}'")).unwrap_err();
        assert!(
            error.message().starts_with("`name` of a channel"),
            "{error}"
        );
    }
    let many = vec!["'${A}'"; crate::limits::MAX_KEYS + 1].join(",");
    let error =
        toml::from_str::<ChannelConfig>(&format!("name = 'c'\nkeys = [{many}]")).unwrap_err();
    assert!(error.message().contains("more than 32"), "{error}");
}
