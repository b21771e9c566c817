use super::fake::{Fake, channel};

#[test]
fn a_channel_without_its_key_says_what_it_lacks() {
    let fake = Fake::new([]);
    let rows = [
        ("name = 'deepseek'", None),
        ("name = 'ollama'", None),
        ("name = 'kept'\nprovider = 'openai'", None),
        (
            "name = 'c'\nprovider = 'openai'\nkeys = ['${NONE}', '${KEY_A}']",
            None,
        ),
        (
            "name = 'c'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:9'",
            None,
        ),
        (
            "name = 'c'\nprovider = 'openai'\nheaders = { authorization = '${KEY_A}' }",
            None,
        ),
        (
            "name = 'c'\nprovider = 'custom'",
            Some("no address: set `base_url` of the channel `c`"),
        ),
        (
            "name = 'openai'",
            Some(
                "no key: secrets.toml has no `models.openai`, and the environment variable OPENAI_API_KEY is not set; \
                 keys are made at https://platform.openai.com/api-keys",
            ),
        ),
        (
            "name = 'c'\nprovider = 'openai'\nkeys = ['${NONE}', '${BLANK}', 'secret:models.locked']",
            Some(
                "no key: the environment variable NONE is not set, and the environment variable BLANK is not set, \
                 and secrets.toml is no TOML: look at line 3",
            ),
        ),
        (
            "name = 'c'\nprovider = 'openai'\nkeys = '${KEY_A}'\nheaders = { x-token = '${NONE}' }",
            Some("the header `x-token` has no value: the environment variable NONE is not set"),
        ),
    ];
    for (toml, expected) in rows {
        let channel = channel(toml, &fake);
        assert_eq!(channel.ready().err(), expected, "{toml}");
    }
    let some = channel(
        "name = 'c'\nprovider = 'openai'\nkeys = ['${NONE}', '${KEY_A}']",
        &fake,
    );
    assert_eq!(
        some.missing_keys(),
        ["the environment variable NONE is not set"]
    );
}

/// A key for the provider must not go to another address by accident.
#[test]
fn the_usual_key_goes_to_the_usual_address_alone() {
    let fake = Fake::new([]);
    let rows = [
        ("name = 'deepseek'", true),
        (
            "name = 'deepseek'\nbase_url = 'https://api.deepseek.com:443/beta/'",
            true,
        ),
        (
            "name = 'deepseek'\nbase_url = 'http://api.deepseek.com/v1'",
            false,
        ),
        ("name = 'deepseek'\nbase_url = 'http://127.0.0.1:9'", false),
        (
            "name = 'deepseek'\nbase_url = 'http://127.0.0.1:9'\nkeys = '${DEEPSEEK_API_KEY}'",
            true,
        ),
        ("name = 'kept'\nprovider = 'openai'", true),
        (
            "name = 'kept'\nprovider = 'openai'\nbase_url = 'http://127.0.0.1:9'",
            false,
        ),
        (
            "name = 'kept'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:9'",
            false,
        ),
        ("name = 'kept'\nprovider = 'vllm'", false),
        (
            "name = 'kept'\nprovider = 'vllm'\nkeys = 'secret:models.kept'",
            true,
        ),
    ];
    for (toml, shown) in rows {
        assert_eq!(channel(toml, &fake).keys.any().is_some(), shown, "{toml}");
    }
}

#[test]
fn messages_name_the_channel_beside_its_provider() {
    let providers = crate::provider::Providers::shipped();
    for (provider, name, label) in [
        ("openai", "openai", "OpenAI"),
        ("openai", "work", "work (OpenAI)"),
        ("custom", "k2", "k2 (OpenAI-compatible)"),
    ] {
        assert_eq!(super::label(providers.get(provider).unwrap(), name), label);
    }
}
