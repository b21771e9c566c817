use tokio_util::sync::CancellationToken;

use super::*;
use crate::{ModelRequest, ModelStream};

struct Named(&'static str);

impl Model for Named {
    fn id(&self) -> &str {
        self.0
    }

    fn stream(&self, _: ModelRequest, cancel: CancellationToken) -> ModelStream {
        ModelStream::new(self.0, cancel, futures_util::stream::empty())
    }
}

fn models(names: &[&'static str]) -> Models {
    names.iter().fold(Models::new(), |models, &name| {
        models.with(name, Arc::new(Named(name)))
    })
}

fn found(models: &Models, name: &str) -> Result<String, String> {
    let model = models.get(name).map_err(|error| error.to_string())?;
    Ok(model.id().to_owned())
}

#[test]
fn exact_names_come_before_prefixes_and_longer_ones_before_shorter() {
    let models = models(&["rehearsal", "openai", "openai/gpt-5", "ollama:qwen"]);
    let table = [
        ("openai", Ok("openai")),
        ("openai/gpt-5", Ok("openai/gpt-5")),
        ("openai/gpt-5:high", Ok("openai/gpt-5")),
        ("openai/other", Ok("openai")),
        ("ollama:qwen/3", Ok("ollama:qwen")),
        ("", Ok("rehearsal")),
        ("  ", Ok("rehearsal")),
        ("openai/gpt-5-pro", Ok("openai")),
        ("openai-x", Err(())),
        ("Openai", Err(())),
        ("ollama", Err(())),
        ("/openai", Err(())),
    ];
    for (name, wanted) in table {
        let found = found(&models, name);
        assert_eq!(
            found.as_deref().map_err(|_| ()),
            wanted,
            "{name}: {found:?}"
        );
    }
}

#[test]
fn what_follows_the_name_is_the_models_name_at_its_provider() {
    let models = models(&["openai", "openai/gpt-5"]).with_default("openai/o9");
    let table = [
        ("openai", ""),
        ("openai/gpt-5", ""),
        ("openai/gpt-4", "gpt-4"),
        ("openai/gpt-5:high", "high"),
        ("openai/x/y", "x/y"),
        ("openai/", ""),
        ("", "o9"),
    ];
    for (name, wanted) in table {
        let (_, rest) = models
            .resolve(name)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rest, wanted, "{name}");
    }
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let models = models(&["b", "a"]);
    assert_eq!(
        found(&models, "c"),
        Err("there is no language model 'c': there is a, b".into())
    );
    assert_eq!(
        found(&Models::new(), "c"),
        Err("there is no language model: connect one first".into())
    );
    let none = Models::default().with("a", Arc::new(Named("a")));
    assert_eq!(found(&none.with_default("a"), ""), Ok("a".into()));
    assert_eq!(
        found(&models.clone().with_default("gone"), ""),
        Err("there is no language model 'gone': there is a, b".into())
    );
    let many: Vec<&'static str> = (0..MAX_LISTED_MODELS + 3)
        .map(|n| &*format!("m{n:02}").leak())
        .collect();
    let message = found(&self::models(&many), &"x".repeat(500)).unwrap_err();
    assert!(message.ends_with("m19, and 3 more"), "{message}");
    assert!(message.len() < 300, "{message}");
}

#[test]
fn a_name_can_be_taken_over_and_clones_stay_as_they_were() {
    let before = models(&["a"]);
    let after = before.clone().with("a", Arc::new(Named("new")));
    assert_eq!(found(&before, "a"), Ok("a".into()));
    assert_eq!(found(&after, "a"), Ok("new".into()));
    assert_eq!(after.names().collect::<Vec<_>>(), ["a"]);
    assert_eq!(after.default_name(), Some("a"));
}

#[test]
fn what_is_not_registered_is_asked_of_the_router() {
    let router = Router::new(Vec::new(), Vec::new(), BTreeMap::new()).unwrap();
    let empty = models(&["a"]).with_router(router);
    assert_eq!(
        found(&empty, "c"),
        Err("there is no language model 'c': there is a".into())
    );

    let models = models(&["rehearsal", "gpt-5"]).with_router(crate::channel::test_router());
    let table = [
        ("gpt-5", Ok("gpt-5")),
        ("rehearsal:demo", Ok("rehearsal")),
        ("gpt-4", Ok("gpt-4")),
        ("best", Ok("best")),
        ("ollama/qwen3:8b", Ok("ollama/qwen3:8b")),
        ("mistral/large", Err(())),
    ];
    for (name, wanted) in table {
        let found = found(&models, name);
        assert_eq!(
            found.as_deref().map_err(|_| ()),
            wanted,
            "{name}: {found:?}"
        );
    }
    let (_, rest) = models
        .resolve("ollama/qwen3:8b")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rest, "", "the router has taken the name apart");
    let names: Vec<&str> = models.names().collect();
    assert_eq!(names, ["gpt-5", "rehearsal", "best", "ollama/gpt-4"]);
    let by_default = models.clone().with_default("best");
    assert_eq!(found(&by_default, ""), Ok("best".into()));
    let unknown = found(&models, "mistral/large").unwrap_err();
    assert!(unknown.contains("innkeeper models add"), "{unknown}");
}
