//! `innkeeper models add` and `remove`: what is written, where the key goes, and what is refused.

use innkeeper_testkit::model_server::{Answer, Format, Kind, ModelServer, Say};
use serde_json::json;

use super::home::House;

const KEY: &str = "marker-0123456789-key";

fn text(house: &House, name: &str) -> String {
    std::fs::read_to_string(house.path().join(name)).unwrap_or_default()
}

#[tokio::test]
async fn a_channel_with_a_key_is_added_tried_and_removed() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::say(Say::text("hello")));
    let house = House::new();
    house.settings("# my rules\n[limits]\nmax_calls = 9 # enough\n");
    let base_url = server.base_url(Format::Anthropic);
    let words = [
        "models",
        "add",
        "anthropic",
        "--name",
        "work",
        "--base-url",
        &base_url,
        "--key-stdin",
        "--model",
        "m-1",
        "--default",
        "m-2",
        "--json",
    ];
    let run = house.fed(&words, &format!("{KEY}\n"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = run.json();
    assert_eq!(told["key"], "secret");
    assert_eq!(told["models"], json!(["m-1", "m-2"]));
    assert_eq!(told["default"], "work/m-2");
    let settings = text(&house, "innkeeper.toml");
    assert!(
        settings.starts_with("# my rules\n[limits]\nmax_calls = 9 # enough\n"),
        "{settings}"
    );
    assert!(settings.contains("keys = [\"secret:models.work\"]") && !settings.contains(KEY));
    assert!(text(&house, "secrets.toml").contains(KEY));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(house.path().join("secrets.toml")).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }

    house.run(&["models", "test"]).shows(&["hello"]);
    let request = server.next_request().await;
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.json()["model"], "m-2");

    let again = house.fed(&words, KEY);
    again.is_refused(2, &["'work' already", "--name", "[models.channel_exists]"]);
    house
        .run(&["models", "remove", "work"])
        .is_refused(2, &["--yes", "[models.needs_yes]"]);
    let gone = house.json(&["models", "remove", "work", "--yes"]);
    assert_eq!(
        gone,
        json!({"name": "work", "keyRemoved": true, "defaultRemoved": "work/m-2", "answersNow": "rehearsal",
            "problems": []})
    );
    assert!(!text(&house, "secrets.toml").contains(KEY));
    assert_eq!(
        text(&house, "innkeeper.toml"),
        "# my rules\n[limits]\nmax_calls = 9 # enough\n"
    );
    house
        .run(&["models", "remove", "work", "--yes"])
        .is_refused(2, &["[models.unknown_channel]"]);
}

#[test]
fn keys_that_are_elsewhere_are_only_named() {
    let house = House::new();
    let add = |words: &[&str]| {
        let words = [&["models", "add"][..], words].concat();
        let mut command = house.command(&words);
        command
            .env_remove("OPENAI_API_KEY")
            .env("GROQ_API_KEY", KEY);
        super::process::fed(command, b"")
    };
    let run = add(&["openai", "--key-env", "MY_OPENAI_KEY"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("MY_OPENAI_KEY is not set now"),
        "{}",
        run.stderr
    );
    assert!(text(&house, "innkeeper.toml").contains("keys = [\"${MY_OPENAI_KEY}\"]"));
    // The usual variable is set: nothing needs to be said.
    let run = add(&["groq"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("GROQ_API_KEY"), "{}", run.stderr);
    assert_eq!(add(&["ollama"]).code, Some(0));
    add(&["openai", "--name", "second"]).is_refused(
        2,
        &[
            "OpenAI wants a key",
            "--key-stdin",
            "--key-env OPENAI_API_KEY",
            "[models.needs_key]",
        ],
    );
    // Removed with its key kept, it finds it again.
    let kept = ["models", "add", "deepseek", "--key-stdin"];
    assert_eq!(house.fed(&kept, KEY).code, Some(0));
    let gone = house.json(&["models", "remove", "deepseek", "--yes", "--keep-key"]);
    assert_eq!(gone["keyRemoved"], false);
    let run = add(&["deepseek", "--json"]);
    assert_eq!(run.json()["key"], "secret");
    assert!(
        run.stderr.contains("The key models.deepseek"),
        "{}",
        run.stderr
    );
}

/// Who listens at an address that was named anew need not be whom the key was given for.
#[tokio::test]
async fn a_kept_key_goes_to_another_server_only_on_purpose() {
    let server = ModelServer::start().await;
    server.set_kind(Kind::Vllm);
    server.set_models(["m"]);
    server.otherwise(|_| Answer::say(Say::text("hello")));
    let house = House::new();
    let base_url = server.base_url(Format::OpenAi);
    for name in ["w", "vllm"] {
        let elsewhere = "https://127.0.0.1:9/v1";
        let words = [
            "models",
            "add",
            "vllm",
            "--name",
            name,
            "--base-url",
            elsewhere,
            "--key-stdin",
        ];
        assert_eq!(house.fed(&words, KEY).code, Some(0));
        house.json(&["models", "remove", name, "--yes", "--keep-key"]);
    }
    let again = [
        "models",
        "add",
        "custom",
        "--name",
        "w",
        "--base-url",
        &base_url,
    ];
    let parts = ["models.w", "--use-kept-key", "--replace-key", "--name"];
    house.run(&again).is_refused(2, &parts);
    let chinese = [&["--lang", "zh"][..], &again[..]].concat();
    house.run(&chinese).is_refused(2, &["可能属于另一台服务器"]);
    house
        .run(&["models", "add", "vllm"])
        .is_refused(2, &parts[1..]);
    // A server that was found wants no key, whatever is kept under its name.
    let port = server.address().port().to_string();
    let told = house.json(&["models", "discover", "--port", &port, "--add"]);
    assert_eq!(told["added"], json!(["vllm"]));
    house.json(&["models", "test", "vllm/m"]);
    let shown = |server: &ModelServer| {
        let requests = server.requests();
        requests
            .iter()
            .any(|request| format!("{request:?}").contains(KEY))
    };
    assert!(!shown(&server));
    let told = house.json(&[&again[..], &["--use-kept-key"]].concat());
    assert_eq!(told["key"], "secret");
    house.json(&["models", "test", "w/m"]);
    assert!(shown(&server));
}

/// Several at once want the same name: one of them has it, with its own key, and of the others nothing is left.
#[test]
fn of_many_at_once_one_has_the_name_and_its_key() {
    for _ in 0..3 {
        let house = House::new();
        let runs: Vec<_> = std::thread::scope(|scope| {
            let house = &house;
            let one = |number: usize| {
                let model = format!("m-{number}");
                let words = [
                    "models",
                    "add",
                    "openai",
                    "--name",
                    "same",
                    "--key-stdin",
                    "--model",
                    &model,
                    "--default",
                    &model,
                ];
                house.fed(&words, &format!("{KEY}-of-{number}"))
            };
            let started: Vec<_> = (0..8)
                .map(|number| scope.spawn(move || one(number)))
                .collect();
            started.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let won: Vec<_> = (0..runs.len())
            .filter(|number| runs[*number].code == Some(0))
            .collect();
        assert_eq!(won.len(), 1, "{won:?}");
        for (number, run) in runs
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != won[0])
        {
            run.is_refused(2, &["'same' already", "[models.channel_exists]"]);
            let own = format!("{KEY}-of-{number}");
            assert!(!text(&house, "secrets.toml").contains(&own), "{number}");
        }
        let settings = text(&house, "innkeeper.toml");
        assert!(
            settings.contains(&format!("models = [\"m-{}\"]", won[0])),
            "{settings}"
        );
        assert_eq!(
            settings.matches("[[models.channels]]").count(),
            1,
            "{settings}"
        );
        let key = format!("same = \"{KEY}-of-{}\"", won[0]);
        assert!(text(&house, "secrets.toml").contains(&key));
        let list = house.json(&["models", "list"]);
        assert_eq!(list["channels"][0]["state"], "ready");
        assert_eq!(list["default"], format!("same/m-{}", won[0]));
    }
}

/// Some come while others go: whoever is there in the end is there with a key.
#[test]
fn a_key_goes_with_its_own_channel_alone() {
    let house = House::new();
    let add = ["models", "add", "openai", "--name", "same", "--key-stdin"];
    assert_eq!(house.fed(&add, KEY).code, Some(0));
    std::thread::scope(|scope| {
        let house = &house;
        for _ in 0..3 {
            scope.spawn(move || house.run(&["models", "remove", "same", "--yes"]));
            scope.spawn(move || house.fed(&add, KEY));
        }
    });
    let is_there = text(&house, "innkeeper.toml").contains("name = \"same\"");
    assert_eq!(text(&house, "secrets.toml").contains(KEY), is_there);
}

#[test]
fn a_key_that_is_kept_is_overwritten_only_on_purpose() {
    let house = House::new();
    let other = "another-0123456789";
    let kept = |key: &str| text(&house, "secrets.toml").contains(key);
    let words = ["models", "add", "deepseek", "--key-stdin"];
    assert_eq!(house.fed(&words, KEY).code, Some(0));
    house.json(&["models", "remove", "deepseek", "--yes", "--keep-key"]);
    let settings = text(&house, "innkeeper.toml");
    let refused = house.fed(&words, other);
    refused.is_refused(
        2,
        &[
            "'models.deepseek' already",
            "--replace-key",
            "[models.key_exists]",
        ],
    );
    assert!(kept(KEY) && !kept(other));
    assert_eq!(text(&house, "innkeeper.toml"), settings);
    // Left by an `add` that was cut short, or still used by somebody.
    house.settings("[[models.channels]]\nname = \"groq\"\nkeys = \"secret:models.deepseek\"\n");
    house.fed(&words, other).is_refused(2, &["groq uses it"]);
    let chinese = house.fed(&[&words[..], &["--lang", "zh"]].concat(), other);
    chinese.is_refused(2, &["已有密钥", "--replace-key"]);
    let words = [&words[..], &["--replace-key"]].concat();
    let run = house.fed(&words, other);
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("for groq too"), "{}", run.stderr);
    assert!(!kept(KEY) && kept(other));
    house
        .fed(
            &[
                "models",
                "add",
                "groq",
                "--name",
                "x",
                "--replace-key",
                "--key-env",
                "A",
            ],
            "",
        )
        .is_refused(2, &["--replace-key"]);
}

#[test]
fn settings_that_cannot_be_replaced_leave_the_keys_as_they_were() {
    let house = House::new();
    // The way the new text would come is blocked.
    house.write(".innkeeper.toml.new/x", "");
    let words = ["models", "add", "deepseek", "--key-stdin"];
    house
        .fed(&words, KEY)
        .is_refused(1, &["[models.not_written]"]);
    assert!(!text(&house, "secrets.toml").contains(KEY));
    let secrets = format!("[models]\ndeepseek = \"{KEY}\"\n");
    let path = house.write("secrets.toml", &secrets);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let words = [&words[..], &["--replace-key"]].concat();
    house
        .fed(&words, "another-0123456789")
        .is_refused(1, &["[models.not_written]"]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), secrets);
    assert!(!house.path().join("innkeeper.toml").exists());
}

#[test]
fn a_default_is_named_with_its_channel_or_without() {
    for (given, models, served, default) in [
        ("other", &["fake"][..], &["fake", "other"][..], "lab/other"),
        ("lab/other", &["fake"], &["fake", "other"], "lab/other"),
        ("lab:other", &[], &[], "lab/other"),
        ("lab/x", &["x"], &["x"], "lab/x"),
        ("x-1", &["x-*"], &["x-*"], "lab/x-1"),
        // A model that is called like its channel.
        ("lab/auto", &["lab/auto"], &["lab/auto"], "lab/lab/auto"),
    ] {
        let house = House::new();
        let mut words = vec![
            "models",
            "add",
            "ollama",
            "--name",
            "lab",
            "--default",
            given,
            "--json",
        ];
        for model in models {
            words.extend(["--model", model]);
        }
        let run = house.run(&words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(
            (&run.json()["models"], &run.json()["default"]),
            (&json!(served), &json!(default))
        );
        let shown = house.run(&["models", "list"]);
        shown.shows(&[&format!("{default} *")]);
        assert_eq!(house.json(&["models", "list"])["problems"], json!([]));
    }
}

#[test]
fn a_channel_that_is_needed_stays_and_says_by_whom() {
    let house = House::new();
    let channels = "[[models.channels]]\nname = \"a\"\nprovider = \"ollama\"\n[[models.channels]]\nname = \"b\"\n\
                    provider = \"vllm\"\n";
    house.settings(&format!(
        "{channels}[[models.routes]]\nmodel = \"x*\"\nto = [\"b\", \"a/y*\"]\n[models.aliases]\nq = \"a/m\"\n"
    ));
    let before = text(&house, "innkeeper.toml");
    let words = ["models", "remove", "a", "--yes"];
    house.run(&words).is_refused(
        1,
        &[
            "'a' stays",
            "x* (innkeeper.toml:9)",
            "`to`",
            "[models.channel_in_use]",
        ],
    );
    house
        .run(&[&words[..], &["--lang", "zh"]].concat())
        .is_refused(1, &["路由"]);
    assert_eq!(text(&house, "innkeeper.toml"), before);
    // An alias is no promise: it is told of, and goes nowhere.
    house.settings(&format!(
        "[models]\ndefault = \"q\"\n{channels}models = [\"m\"]\n[models.aliases]\nq = \"a/m\"\n"
    ));
    let run = house.run(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for part in [
        "the alias q leads to no model",
        "the default q leads to no model",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

#[test]
fn a_channel_takes_no_key_of_another_with_it() {
    let house = House::new();
    let kept = |name: &str| text(&house, "secrets.toml").contains(&format!("key-of-{name}"));
    let add = |name: &str, key: &str| {
        let words = ["models", "add", "openai", "--name", name, "--key-stdin"];
        house.fed(&words, key)
    };
    // Names go on where others end, and a header may name a key as well.
    for name in ["a.b", "z"] {
        assert_eq!(add(name, &format!("key-of-{name}")).code, Some(0));
    }
    add("a", "key-of-a").is_refused(2, &["models.a", "another name", "[models.key_refused]"]);
    let words = ["models", "add", "ollama", "--name", "a"];
    assert_eq!(house.fed(&words, "").code, Some(0));
    let settings = text(&house, "innkeeper.toml");
    house.settings(&format!(
        "{settings}\n[[models.channels]]\nname = \"openrouter\"\nheaders = {{Authorization = \"secret:models.z\"}}\n"
    ));
    for (name, stays) in [("a", "a.b"), ("z", "z")] {
        let gone = house.json(&["models", "remove", name, "--yes"]);
        assert_eq!(gone["keyRemoved"], false, "{name}");
        assert!(kept(stays), "{name}");
    }
    let gone = house.json(&["models", "remove", "a.b", "--yes"]);
    assert_eq!((&gone["keyRemoved"], kept("a.b")), (&json!(true), false));
    assert_eq!(add("a", "key-of-a").code, Some(0));
}

#[test]
fn a_key_that_was_kept_survives_a_channel_that_cannot_be_written() {
    let house = House::new();
    let words = ["models", "add", "deepseek", "--key-stdin"];
    assert_eq!(house.fed(&words, KEY).code, Some(0));
    house.json(&["models", "remove", "deepseek", "--yes", "--keep-key"]);
    house.settings("models = {channels = []}\n");
    let words = [&words[..], &["--replace-key"]].concat();
    let run = house.fed(&words, "another-0123456789");
    run.is_refused(1, &["braces", "[models.not_written]"]);
    let secrets = text(&house, "secrets.toml");
    assert!(secrets.contains(KEY) && !secrets.contains("another"));
}

#[test]
fn what_makes_no_channel_is_refused_and_nothing_is_written() {
    let house = House::new();
    for (words, input, fragments) in [
        (
            &["opnai"][..],
            "",
            &["did you mean openai?", "[models.unknown_provider]"][..],
        ),
        (
            &["zzz"],
            "",
            &["--list-providers", "[models.unknown_provider]"],
        ),
        (&["custom"], "", &["--base-url", "[models.not_a_channel]"]),
        (
            &["custom", "--base-url", "ftp://x"],
            "",
            &["base_url", "[models.not_a_channel]"],
        ),
        (
            &["custom", "--base-url", "http://me:pw@127.0.0.1/v1"],
            "",
            &["password", "[models.not_a_channel]"],
        ),
        (
            &["ollama", "--name", "a/b"],
            "",
            &["letters", "[models.not_a_channel]"],
        ),
        (
            &["ollama", "--default", " "],
            "",
            &["name of a model", "[models.not_a_channel]"],
        ),
        (
            &["ollama", "--model", "m ", "--model", "n"],
            "",
            &["no blanks", "[models.not_a_channel]"],
        ),
        (&["ollama", "--model", ""], "", &["not empty"]),
        (&["ollama", "--model", "a\nb"], "", &["cannot show"]),
        (&["ollama", "--model", "a\u{1b}[31m"], "", &["cannot show"]),
        (&["ollama", "--default", "ollama/"], "", &["not empty"]),
        (
            &["ollama", "--name", "rehearsal"],
            "",
            &["another name", "[models.not_a_channel]"],
        ),
        (
            &["openai", "--key-stdin"],
            "",
            &["empty", "[models.key_refused]"],
        ),
        (
            &["openai", "--key-stdin"],
            "ab",
            &["shorter", "[models.key_refused]"],
        ),
        (
            &["openai", "--key-stdin"],
            "two words here",
            &["blanks", "[models.key_refused]"],
        ),
        (
            &["openai", "--key-env", "sk-0123456789"],
            "",
            &["name of an environment variable", "[models.key_refused]"],
        ),
        (
            &["openai", "--key-env", "A", "--key-stdin"],
            "",
            &["--key-stdin"],
        ),
        (&[], "", &["PROVIDER"]),
    ] {
        let words = [&["models", "add"][..], words].concat();
        let run = house.fed(&words, input);
        run.is_refused(2, fragments);
        assert!(!run.stderr.contains("sk-0123456789"));
    }
    assert!(!house.path().join("innkeeper.toml").exists());
    assert!(!house.path().join("secrets.toml").exists());

    house.settings("[models\n");
    house
        .run(&["models", "add", "ollama"])
        .is_refused(2, &["line 1", "[settings.invalid]"]);
    house
        .run(&["--lang", "zh", "models", "add", "opnai"])
        .is_refused(2, &["没有服务商"]);
}

#[test]
fn a_key_in_the_settings_is_refused_and_not_repeated() {
    let house = House::new();
    for (line, fragments) in [
        (
            format!("api_key = \"{KEY}\""),
            &["line 3", "holds no keys", "innkeeper models add"][..],
        ),
        (
            format!("keys = [\"{KEY}\"]"),
            &["never holds one", "${NAME}"],
        ),
        (format!("keys = \"{KEY}\""), &["never holds one"]),
        (
            format!("models = \"{KEY}\""),
            &["line 3", "a text where a list"],
        ),
        (
            format!("retries = '{KEY}\", expected'"),
            &["line 3", "a text where a whole number"],
        ),
        (
            format!("grammar = \"{KEY}\""),
            &["line 3", "an unknown word, expected"],
        ),
        (
            format!("base_url = \"https://x.example/v1?abc={KEY}\""),
            &["line 3, column 1", "has a part after `?`"],
        ),
        (
            format!("headers = {{authorization = \"Bearer {KEY}\"}}"),
            &["looks like a secret"],
        ),
        (
            "modells = []".to_owned(),
            &["line 3", "did you mean 'models'?"],
        ),
        (
            "timeouts = {conect_ms = 1}".to_owned(),
            &["did you mean 'connect_ms'?"],
        ),
        (
            "quirks = {gramar = 1}".to_owned(),
            &["did you mean 'grammar'?"],
        ),
    ] {
        house.settings(&format!("[[models.channels]]\nname = \"openai\"\n{line}\n"));
        for words in [
            &["models", "list"][..],
            &["tools", "list"],
            &["models", "test"],
        ] {
            let run = house.run(words);
            run.is_refused(2, fragments);
            assert!(!run.stderr.contains("marker"), "{}", run.stderr);
        }
    }
    for (text, fragment) in [
        ("[models]\ndefalt = \"x\"\n", "did you mean 'default'?"),
        (
            "[[models.routes]]\nmodle = \"x\"\n",
            "did you mean 'model'?",
        ),
        ("[models.info.\"x\"]\ninputt = 1\n", "did you mean 'input'?"),
    ] {
        house.settings(text);
        house
            .run(&["models", "list"])
            .is_refused(2, &[fragment, "[settings.unknown_key]"]);
    }
}

#[test]
fn all_providers_are_shown() {
    let house = House::new();
    house.write(
        "providers/acme.toml",
        "[acme]\nlabel = \"Acme\"\nbase_url = \"https://acme.example/v1\"\n",
    );
    house.write("providers/bad.toml", "[bad]\nbase_urll = 1\n");
    let run = house.run(&["models", "add", "--list-providers"]);
    run.shows(&[
        "openai",
        "OPENAI_API_KEY",
        "acme",
        "https://acme.example/v1",
        "custom",
    ]);
    assert!(run.stderr.contains("bad.toml, line 2"), "{}", run.stderr);
    let all = house.json(&["models", "add", "--list-providers"]);
    assert!(
        all.as_array()
            .unwrap()
            .iter()
            .any(|one| one["id"] == "ollama" && one["local"] == true)
    );
}

#[cfg(unix)]
#[test]
fn a_person_types_the_key_unseen_and_says_yes() {
    use super::terminal::Terminal;

    let house = House::new();
    let mut command = house.command(&["models", "add", "openai", "--model", "gpt-5"]);
    command.env_remove("OPENAI_API_KEY");
    let mut terminal = Terminal::start(command);
    terminal
        .wait_for("(not shown): ")
        .type_in(&format!("{KEY}\n"));
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        !screen.contains(KEY) && screen.contains("innkeeper models test openai/gpt-5"),
        "{screen}"
    );
    assert!(text(&house, "secrets.toml").contains(KEY));
    for (answer, code, stays) in [("n\n", 1, true), ("y\n", 0, false)] {
        let mut terminal = Terminal::start(house.command(&["models", "remove", "openai"]));
        terminal.wait_for("[y/N] ").type_in(answer);
        assert_eq!(terminal.end().0, Some(code));
        assert_eq!(text(&house, "secrets.toml").contains(KEY), stays);
    }
}
