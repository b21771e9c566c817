use super::*;

fn house(text: &str) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::of(Some(folder.path())).unwrap();
    if !text.is_empty() {
        std::fs::write(home.file(settings::FILE), text).unwrap();
    }
    (folder, home)
}

fn text(home: &Home) -> String {
    std::fs::read_to_string(home.file(settings::FILE)).unwrap()
}

fn lab() -> NewChannel {
    NewChannel {
        name: "lab".into(),
        provider: "custom".into(),
        base_url: Some("http://127.0.0.1:1/v1".into()),
        key: Some("secret:models.lab".into()),
        models: vec!["a".into(), "b-*".into()],
        context: None,
    }
}

fn add(home: &Home, channels: &[NewChannel], default: Option<&str>) -> Result<(), Failure> {
    super::add(home, |_| {
        Ok(Addition {
            channels: channels.to_vec(),
            default: default.map(str::to_owned),
            key: None,
        })
    })
    .map(drop)
}

fn remove(home: &Home, name: &str) -> Result<Removed, Failure> {
    super::remove(home, name, true)
}

const WRITTEN: &str = r#"[[models.channels]]
name = "lab"
provider = "custom"
base_url = "http://127.0.0.1:1/v1"
keys = ["secret:models.lab"]
models = ["a", "b-*"]
"#;

#[test]
fn a_channel_is_written_and_taken_out_and_the_rest_stays() {
    const BEFORE: &str = "# mine\n[limits]\nmax_calls = 3 # few\n\n# talk\n[models]\nrehearsal = \"r.yaml\"\n\n\
                          [[models.channels]] # first\nname = \"ollama\"\n\n[policy]\n# none\n";
    let (_folder, home) = house(BEFORE);
    std::fs::write(home.file("r.yaml"), "scenes: [{reply: hi}]").unwrap();
    add(&home, &[lab()], Some("lab/a")).unwrap();
    let after = text(&home);
    assert!(after.contains(WRITTEN), "{after}");
    for kept in [
        "# mine",
        "max_calls = 3 # few",
        "# talk",
        "# first",
        "# none",
    ] {
        assert!(after.contains(kept), "no {kept} in {after}");
    }
    let read = Settings::parse("f", &after).unwrap().models;
    assert_eq!(read.default.as_deref(), Some("lab/a"));
    assert_eq!(read.channels.len(), 2);
    assert_eq!(read.channels[1], lab().config().unwrap());

    let removed = remove(&home, "lab").unwrap();
    assert_eq!(removed.default.as_deref(), Some("lab/a"));
    assert_eq!(text(&home), BEFORE);
    assert_eq!(remove(&home, "ollama").unwrap().default, None);
    assert!(!text(&home).contains("channels"));
}

#[test]
fn a_file_is_made_where_there_is_none_and_lists_in_braces_work_too() {
    let (_folder, home) = house("");
    add(&home, &[lab()], None).unwrap();
    assert_eq!(text(&home).trim_start(), WRITTEN);

    let (_folder, home) = house("[models]\nchannels = [{name = \"ollama\"}]\n");
    add(&home, &[lab()], None).unwrap();
    let channels = Settings::parse("f", &text(&home)).unwrap().models.channels;
    let names: Vec<_> = channels
        .iter()
        .map(|channel| channel.name.as_str())
        .collect();
    assert_eq!(names, ["ollama", "lab"]);
    remove(&home, "lab").unwrap();
    remove(&home, "ollama").unwrap();
    assert!(!text(&home).contains("channels"));
}

#[test]
fn what_would_not_be_taken_is_not_written() {
    for (before, said) in [
        ("[models\n", "line 1"),
        ("models = {}\n", "[models]"),
        (
            "[[models.channels]]\nname = \"lab\"\nprovider = \"ollama\"\n",
            "'lab' already",
        ),
    ] {
        let (_folder, home) = house(before);
        let failure = add(&home, &[lab()], None).unwrap_err();
        let sentence = failure.sentence(Lang::En);
        assert!(sentence.contains(said), "{sentence}");
        assert_eq!(text(&home), before);
    }
    let routed = format!("{WRITTEN}[[models.routes]]\nmodel = \"x\"\nto = [\"lab\"]\n");
    let (_folder, home) = house(&routed);
    let failure = remove(&home, "lab").err().unwrap().sentence(Lang::En);
    assert!(failure.contains("x (innkeeper.toml:9)"), "{failure}");
    assert_eq!(text(&home), routed);
    let odd = NewChannel {
        base_url: Some("ftp://x".into()),
        ..lab()
    };
    assert!(matches!(odd.config(), Err(ModelFault::Channel { .. })));
}

/// Text with routes, and those that keep `a` there.
#[test]
fn a_route_needs_a_channel_that_nobody_stands_in_for() {
    const CHANNELS: &str = "[[models.channels]]\nname = \"a\"\nprovider = \"ollama\"\n\
                            [[models.channels]]\nname = \"b\"\nprovider = \"vllm\"\n\
                            [[models.channels]]\nname = \"c\"\nprovider = \"vllm\"\n";
    for (name, to, expected) in [
        ("a", "\"a\"", 1),
        ("a", "\"b\", \"a:m\"", 1),
        ("a", "\"b\"", 0),
        // All channels of a provider: the last one counts.
        ("a", "\"ollama/m\"", 1),
        ("b", "\"vllm/m\"", 0),
        ("b", "\"b/m\"", 1),
    ] {
        let text = format!("{CHANNELS}[[models.routes]]\nmodel = \"x-*\"\nto = [{to}]\n");
        let settings = Settings::parse("f", &text).unwrap();
        let routes = routes_to(&settings.models, name);
        assert_eq!(routes.len(), expected, "{name} {to}: {routes:?}");
    }
}

#[test]
fn what_leads_to_a_channel_that_goes_is_told() {
    let text = format!("{WRITTEN}[models.aliases]\nq = \"lab/a\"\nr = \"other/a\"\n");
    let (_folder, home) = house(&text);
    let doubts = remove(&home, "lab").unwrap().doubts;
    let doubts: Vec<&str> = doubts.iter().map(|doubt| doubt.pick(Lang::En)).collect();
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert!(doubts[0].contains("the alias q"), "{doubts:?}");
}

#[test]
fn who_answers_instead_of_a_channel_that_went_is_told() {
    let channel = |name: &str, model: &str| NewChannel {
        name: name.into(),
        key: None,
        models: vec![model.into()],
        ..lab()
    };
    let (_folder, home) = house("");
    let all = [channel("a", "m"), channel("b", "n"), channel("c", "o")];
    add(&home, &all, None).unwrap();
    assert_eq!(remove(&home, "c").unwrap().answers, None);
    let answers = remove(&home, "a").unwrap().answers;
    assert_eq!(answers.as_deref(), Some("b/n"));
    let answers = remove(&home, "b").unwrap().answers;
    assert_eq!(answers.as_deref(), Some("rehearsal"));
}
