use super::super::fake::{Fake, channel};
use super::*;

fn channels(tomls: &[&str]) -> Vec<Arc<Channel>> {
    let fake = Fake::new([]);
    tomls.iter().map(|toml| channel(toml, &fake)).collect()
}

fn routes(toml: &str) -> Vec<Route> {
    #[derive(Deserialize)]
    struct Routes {
        #[serde(default)]
        routes: Vec<Route>,
    }
    toml::from_str::<Routes>(toml).unwrap().routes
}

fn aliases(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

fn house() -> Router {
    let channels = channels(&[
        "name = 'openai'\nkeys = '${KEY_A}'\nmodels = ['gpt-*', 'o3']\nrename = { fast = 'gpt-5-mini' }",
        "name = 'work'\nprovider = 'openai'\nkeys = '${KEY_B}'\nmodels = ['gpt-5']",
        "name = 'router'\nprovider = 'openrouter'\nkeys = '${KEY_A}'",
        "name = 'off'\nprovider = 'groq'\nkeys = '${KEY_A}'\ndisabled = true\nmodels = ['gpt-5']",
        "name = 'dry'\nprovider = 'mistral'\nmodels = ['mistral-*']",
        "name = 'ollama'",
    ]);
    let routes = routes(
        "[[routes]]\nmodel = 'claude-*'\nto = ['router/anthropic/claude-*', 'ollama:tiny', 'openai', 'off']\n\
         [[routes]]\nmodel = 'llama'\nto = ['openrouter/meta-*']\n",
    );
    let aliases = aliases(&[
        ("best", "good"),
        ("good", "openai/gpt-5"),
        ("fish", "dry/mistral-x"),
    ]);
    Router::new(channels, routes, aliases).unwrap()
}

#[test]
fn names_lead_to_channels() {
    let house = house();
    let rows: &[(&str, &[&str])] = &[
        // The channel, then the others of the same provider.
        ("openai/gpt-5", &["openai/gpt-5", "work/gpt-5"]),
        ("openai:gpt-5", &["openai/gpt-5", "work/gpt-5"]),
        ("openai/gpt-4o", &["openai/gpt-4o"]),
        ("work/gpt-5", &["work/gpt-5"]),
        ("openai/fast", &["openai/gpt-5-mini"]),
        ("openrouter/x-ai/grok-4:free", &["router/x-ai/grok-4:free"]),
        ("router:a/b:c", &["router/a/b:c"]),
        // No channel at the front: those that name it, or the first that takes everything.
        ("gpt-5", &["openai/gpt-5", "work/gpt-5"]),
        ("fast", &["openai/gpt-5-mini"]),
        (
            "anthropic/claude-x:free",
            &["router/anthropic/claude-x:free"],
        ),
        ("qwen3:8b", &["router/qwen3:8b"]),
        // Routes, also past `models`, and nobody else.
        (
            "claude-3",
            &[
                "router/anthropic/claude-3",
                "ollama/tiny",
                "openai/claude-3",
            ],
        ),
        ("llama", &["router/meta-llama"]),
        // Aliases come first.
        ("best", &["openai/gpt-5", "work/gpt-5"]),
        (" good ", &["openai/gpt-5", "work/gpt-5"]),
    ];
    for (name, expected) in rows {
        let found = house
            .candidates(name)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found: Vec<String> = found.iter().map(|found| format!("{found:?}")).collect();
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn what_leads_nowhere_says_what_to_do() {
    let all = house();
    let few = Router::new(
        channels(&["name = 'openai'\nkeys = '${KEY_A}'\nmodels = ['gpt-5', 'gpt-5-mini']"]),
        Vec::new(),
        aliases(&[("best", "gpt-5")]),
    )
    .unwrap();
    let rows = [
        (
            &all,
            "openai/claude",
            "the channel `openai` does not serve 'claude': add it to its `models`",
        ),
        (
            &all,
            "off/gpt-5",
            "the channel `off` is disabled: remove `disabled`",
        ),
        (&all, "groq/gpt-5", "the channel `off` is disabled"),
        (
            &all,
            "openai",
            "names a channel and no model: write openai/ and",
        ),
        (&all, "openai/", "names a channel and no model"),
        (
            &all,
            "fish",
            "dry: no key: secrets.toml has no `models.dry`, and the environment variable MISTRAL_API_KEY",
        ),
        // One that names it and cannot be asked does not send it elsewhere.
        (
            &all,
            "mistral-x",
            "nobody can be asked for 'mistral-x': dry: no key",
        ),
        (&few, "bset", "did you mean best? `innkeeper models list`"),
        (&few, "openia/gpt-5", "did you mean openai/gpt-5?"),
        (
            &few,
            "something else",
            "there is no language model 'something else': `innkeeper models list`",
        ),
    ];
    for (router, name, expected) in rows {
        let error = router.candidates(name).unwrap_err();
        assert!(error.message.contains(expected), "{name}: {error}");
        assert!(!error.kind.may_pass());
    }
    let long = few.candidates(&"x".repeat(100_000)).unwrap_err();
    assert!(long.message.len() < 400, "{long}");
}

#[test]
fn what_cannot_hold_together_is_named() {
    let long: Vec<(String, String)> = (0..40)
        .map(|n| (format!("a{n:02}"), format!("a{:02}", n + 1)))
        .collect();
    let long: Vec<(&str, &str)> = long.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    type Row<'r> = (&'r [&'r str], &'r str, &'r [(&'r str, &'r str)], &'r str);
    let rows: [Row<'_>; 9] = [
        (
            &["name = 'ollama'", "name = 'ollama'"],
            "",
            &[],
            "channels[1].name: there are two channels `ollama`",
        ),
        (
            &["name = 'ollama'"],
            "[[routes]]\nmodel = 'x'\nto = []",
            &[],
            "routes[0].to: leads nowhere",
        ),
        (
            &["name = 'ollama'"],
            "[[routes]]\nmodel = 'x'\nto = ['ollama', 'olama/x']",
            &[],
            "routes[0].to[1]: there is no channel `olama`; did you mean `ollama`?",
        ),
        (
            &["name = 'ollama'"],
            "[[routes]]\nmodel = 'x*'\nto = ['ollama/*-*']",
            &[],
            "routes[0].to[0]: a star",
        ),
        (
            &["name = 'ollama'"],
            "[[routes]]\nmodel = '*x*'\nto = ['ollama/*']",
            &[],
            "routes[0].to[0]: a star",
        ),
        (&[], "", &[("a", "a")], "aliases.a: goes round"),
        (&[], "", &[("a", "b"), ("b", "a")], "aliases.a: goes round"),
        (&[], "", &[("a", " ")], "aliases.a: an alias"),
        (
            &[],
            "",
            &long,
            "aliases.a00: goes round in a circle, or over more than 16",
        ),
    ];
    for (tomls, toml, pairs, expected) in rows {
        let error = Router::new(channels(tomls), routes(toml), aliases(pairs)).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn there_are_never_more_candidates_than_anybody_waits_for() {
    let open = |n: usize| format!("name = 'c{n}'\nprovider = 'ollama'\nmodels = ['m']");
    let dry = |n: usize| format!("name = 'd{n}'\nprovider = 'mistral'\nmodels = ['m']");
    let few = MAX_CANDIDATES + 3;
    // Those that cannot be asked hide nobody.
    let rows: [(Vec<String>, usize); 2] = [
        ((0..few).map(open).collect(), MAX_CANDIDATES),
        ((0..few).map(dry).chain((0..3).map(open)).collect(), 3),
    ];
    for (tomls, ready) in rows {
        let tomls: Vec<&str> = tomls.iter().map(String::as_str).collect();
        let router = Router::new(channels(&tomls), Vec::new(), BTreeMap::new()).unwrap();
        let found = router.candidates("m").unwrap();
        assert_eq!(found.len(), MAX_CANDIDATES);
        let can = found.iter().filter(|found| found.channel.ready().is_ok());
        assert_eq!(can.count(), ready);
        assert_eq!(format!("{:?}", found[1]), "c1/m");
    }
}

#[test]
fn of_those_that_take_everything_the_first_that_is_ready_is_asked() {
    let dry = "name = 'dry'\nprovider = 'mistral'";
    let rows: [(&[&str], Option<&str>); 3] = [
        (&[dry, "name = 'ollama'", "name = 'vllm'"], Some("ollama/m")),
        (&[dry, "name = 'vllm'", "name = 'ollama'"], Some("vllm/m")),
        (&[dry], None),
    ];
    for (tomls, expected) in rows {
        let router = Router::new(channels(tomls), Vec::new(), BTreeMap::new()).unwrap();
        match (router.candidates("m"), expected) {
            (Ok(found), Some(expected)) => {
                assert_eq!(format!("{found:?}"), format!("[{expected}]"))
            }
            (Err(error), None) => assert!(error.message.contains("dry: no key"), "{error}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn known_names_are_listed() {
    let names: Vec<String> = house().names().map(str::to_owned).collect();
    assert_eq!(
        names,
        [
            "best",
            "fish",
            "good",
            "llama",
            "openai/fast",
            "openai/o3",
            "work/gpt-5"
        ]
    );
}
