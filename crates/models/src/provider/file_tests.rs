use std::fs;

use super::*;
use crate::provider::GrammarField;

#[test]
fn what_ships_is_whole() {
    let (shipped, problems) = Providers::default().with_text("providers.toml", SHIPPED);
    assert_eq!(problems, []);
    assert_eq!(shipped, Providers::shipped());
    let ids: Vec<&str> = shipped
        .iter()
        .map(|provider| provider.id.as_str())
        .collect();
    let wanted = [
        "anthropic",
        "custom",
        "deepseek",
        "fireworks",
        "gemini",
        "groq",
        "llamacpp",
        "lmstudio",
        "mistral",
        "moonshot",
        "ollama",
        "openai",
        "openrouter",
        "qwen",
        "siliconflow",
        "together",
        "vllm",
        "xai",
        "zhipu",
    ];
    assert_eq!(ids, wanted);
    for provider in &shipped {
        assert_eq!(
            provider.base_url.is_none(),
            provider.id == "custom",
            "{}",
            provider.id
        );
        let url = provider.base_url.as_deref().unwrap_or("https://");
        // A slash at the end would stand twice in every address; a key must not travel in the open.
        assert!(!url.ends_with('/') || provider.id == "custom", "{url}");
        assert_eq!(
            url.starts_with("http://127.0.0.1:"),
            provider.is_local(),
            "{url}"
        );
        let port = provider.local_port.map(|port| format!(":{port}/"));
        assert!(port.is_none_or(|port| url.contains(&port)), "{url}");
        let wants_key = provider.auth != Auth::None;
        assert_eq!(provider.key_env.is_some(), wants_key, "{}", provider.id);
        assert_eq!(provider.key_url.is_some(), wants_key, "{}", provider.id);
    }
    let quirks = |id: &str| shipped.get(id).unwrap().quirks.clone();
    assert_eq!(quirks("openai").max_tokens_field, "max_completion_tokens");
    assert!(quirks("openai").developer_role && !quirks("deepseek").developer_role);
    assert_eq!(quirks("llamacpp").grammar, Some(GrammarField::Grammar));
    assert_eq!(
        quirks("vllm").grammar,
        Some(GrammarField::StructuredOutputs)
    );
    assert_eq!(
        shipped.get("anthropic").unwrap().format,
        WireFormat::Anthropic
    );
    assert_eq!(shipped.nearest("opanai"), Some("openai"));
}

#[test]
fn a_file_adds_and_replaces() {
    let text = "[acme]\nbase_url = 'https://api.acme.example/v1'\nkey_env = 'ACME_KEY'\nauth = { header = 'x-acme' }\n\
                headers = { x-app = 'inn' }\n[ollama]\nlabel = 'The big one'\nbase_url = 'http://127.0.0.1:1/v1'\n\
                auth = 'none'\n";
    let (providers, problems) = Providers::shipped().with_text("mine.toml", text);
    assert_eq!(problems, []);
    let acme = providers.get("acme").unwrap();
    assert_eq!(
        (acme.label.as_str(), acme.format),
        ("acme", WireFormat::OpenAi)
    );
    assert_eq!(acme.auth, Auth::Header("x-acme".into()));
    assert_eq!(providers.get("ollama").unwrap().label, "The big one");
    assert_eq!(providers.get("ollama").unwrap().local_port, None);
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_key() {
    let rows = [
        (
            "[a]\nlabel = 'A'\nbase_urll = 'x'",
            "f.toml, line 3: a.base_urll: unknown field `base_urll`",
        ),
        ("[a]\nlabel = 5", "f.toml, line 2: a.label: invalid type"),
        (
            "[a]\nlabel = 'A'\n\n[a.quirks]\ngrammar = 'x'",
            "f.toml, line 5: a.quirks.grammar: unknown variant",
        ),
        (
            "[a]\nquirks = { grammar = 'x' }",
            "f.toml, line 2: a.quirks.grammar: unknown variant",
        ),
        (
            "[a]\nformat = 'soap'",
            "f.toml, line 2: a.format: unknown variant `soap`",
        ),
        ("[a]\nlocal_port = 70000", "f.toml, line 2: a.local_port: "),
        (
            "[a]\nbase_url = 'api.acme.example'",
            "f.toml, line 2: a.base_url: is no address",
        ),
        (
            "[a]\n\nkey_url = 'ftp://x.example'",
            "f.toml, line 3: a.key_url: is no address of the web",
        ),
        (
            "[a]\nheaders = { X-Key = 'planted' }",
            "f.toml, line 2: a.headers.X-Key: looks like a secret",
        ),
        ("a = 5", "f.toml, line 1: a: is no provider"),
        ("\n['a/b']\nlabel = 'x'", "f.toml, line 2: a/b: is no id"),
        ("[a]\nlabel = ", "f.toml, line 2: "),
    ];
    for (text, expected) in rows {
        let (providers, problems) = Providers::default().with_text("f.toml", text);
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{text}: {told:?}");
        assert!(told[0].starts_with(expected), "{text}: {told:?}");
        assert!(!told[0].contains("planted"), "{told:?}");
        assert_eq!(providers, Providers::default(), "{text}");
    }
    // One bad entry does not take the others away.
    let (providers, problems) =
        Providers::default().with_text("f.toml", "[a]\nx = 1\n[b]\nlabel = 'B'");
    assert_eq!((providers.0.len(), problems.len()), (1, 1));
}

#[test]
fn a_folder_is_read_in_order_and_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("b.toml", "[x]\nlabel = 'second'");
    write("a.toml", "[x]\nlabel = 'first'\n[y]\nlabel = 'Y'");
    write("c.toml", "[z]\nlabel = 1");
    write("notes.md", "nothing");
    fs::create_dir(folder.path().join("d.toml")).unwrap();
    let (providers, problems) = Providers::default().with_folder(folder.path());
    assert_eq!(providers.get("x").unwrap().label, "second");
    assert!(providers.get("y").is_some() && providers.get("z").is_none());
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("c.toml, line 2: z.label: "), "{told:?}");
    assert!(told[1].ends_with("d.toml: is no plain file"), "{told:?}");
    let (same, problems) = providers.clone().with_folder(&folder.path().join("none"));
    assert_eq!((same, problems), (providers, Vec::new()));

    let size = usize::try_from(MAX_PROVIDER_FILE_BYTES).unwrap();
    write("e.toml", &format!("#{}", "x".repeat(size)));
    let (_, problems) = Providers::default().with_file(&folder.path().join("e.toml"));
    assert!(
        problems[0].to_string().contains("is larger than"),
        "{problems:?}"
    );
    for n in 0..=MAX_PROVIDER_FILES {
        write(&format!("many{n}.toml"), "");
    }
    let (_, problems) = Providers::default().with_folder(folder.path());
    assert!(
        problems[0].why.starts_with("has more than 256 files"),
        "{problems:?}"
    );
    let many: String = (0..=MAX_PROVIDERS).map(|n| format!("[p{n}]\n")).collect();
    let (providers, problems) = Providers::default().with_text("f.toml", &many);
    assert_eq!((providers.0.len(), problems.len()), (MAX_PROVIDERS, 1));
}
