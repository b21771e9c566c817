//! `innkeeper models list|test|discover` against a scripted server, and workflows that ask it.

use innkeeper_testkit::model_server::{Answer, Fault, Format, Kind, ModelServer, Say};
use serde_json::{Value, json};

use super::home::House;
use super::workflows::ask;

/// A channel to the server, under that name.
pub(crate) fn channel(name: &str, server: &ModelServer, more: &str) -> String {
    let base_url = server.base_url(Format::OpenAi);
    format!(
        "[[models.channels]]\nname = \"{name}\"\nprovider = \"custom\"\nbase_url = \"{base_url}\"\nretries = 0\n{more}\n"
    )
}

fn channel_of<'l>(list: &'l Value, name: &str) -> &'l Value {
    let mut all = list["channels"].as_array().unwrap().iter();
    all.find(|channel| channel["name"] == name).unwrap()
}

#[tokio::test]
async fn channels_are_listed_in_order_with_what_they_lack() {
    let server = ModelServer::start().await;
    server.set_models(["small", "large"]);
    let broken = ModelServer::start().await;
    broken.otherwise(|_| Answer::error(403, "not for you"));
    let house = House::new();
    house.run(&["models", "list"]).shows(&["rehearsal *"]);
    house.settings(&format!(
        "{}{}[[models.channels]]\nname = \"openai\"\nkeys = \"secret:models.openai\"\nmodels = [\"gpt-4o-2024-08-06\"]\n\
         [[models.channels]]\nname = \"vllm\"\ndisabled = true\n[models.info.\"lab/large\"]\ninput = 1.5\noutput = 3\n\
         context = 4096\n",
        channel("broken", &broken, ""),
        channel("lab", &server, "models = [\"large\", \"x-*\"]"),
    ));
    let list = house.json(&["models", "list"]);
    let names: Vec<&Value> = list["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| &channel["name"])
        .collect();
    assert_eq!(names, ["broken", "lab", "openai", "vllm"]);
    assert_eq!(list["default"], "lab/large");
    let large = json!({"name": "large", "context": 4096, "inputPrice": 1.5, "outputPrice": 3.0, "remote": false});
    assert_eq!(channel_of(&list, "lab")["models"][0], large);
    assert_eq!(channel_of(&list, "lab")["state"], "ready");
    let openai = channel_of(&list, "openai");
    assert_eq!(openai["state"], "not_ready");
    assert!(
        openai["why"]
            .as_str()
            .unwrap()
            .contains("secrets.toml has no `models.openai`")
    );
    assert_eq!(channel_of(&list, "vllm")["state"], "disabled");
    assert_eq!(server.requests().len(), 0);

    // One that fails keeps nobody from answering.
    let list = house.json(&["models", "list", "--remote"]);
    let models: Vec<&Value> = channel_of(&list, "lab")["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["name"])
        .collect();
    assert_eq!(models, ["large", "x-*", "small"]);
    assert_eq!(channel_of(&list, "lab")["models"][0]["remote"], true);
    let error = channel_of(&list, "broken")["error"].as_str().unwrap();
    assert!(error.contains("403"), "{error}");
    let shown = house.run(&["models", "list", "--remote"]);
    shown.shows(&[
        "lab/large *",
        "1.5/3",
        "4096",
        "lab/small",
        "not ready",
        "disabled",
        "rehearsal",
    ]);
    house
        .run(&["models", "list", "--lang", "zh"])
        .shows(&["未就绪", "已停用"]);
    let one = house.json(&["models", "list", "--channel", "lab"]);
    assert_eq!(one["channels"].as_array().unwrap().len(), 1);
    let chinese = house.run(&["models", "list", "--lang", "zh"]);
    chinese.shows(&["未就绪：没有密钥：secrets.toml 中没有 `models.openai`"]);
    house
        .run(&["models", "list", "--channel", "lap"])
        .is_refused(2, &["did you mean lab?", "[models.unknown_channel]"]);
}

#[test]
fn what_leads_nowhere_is_listed_and_told() {
    let house = House::new();
    house.settings("[models]\ndefault = \"zzz\"\n[models.aliases]\nq = \"a/m\"\n");
    let list = house.json(&["models", "list"]);
    let problems = list["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{list}");
    let run = house.run(&["models", "list"]);
    assert!(
        run.stderr.contains("the default zzz leads to no model"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("* zzz answers"), "{}", run.stderr);
    let run = house.run(&["models", "list", "--lang", "zh"]);
    assert!(run.stderr.contains("默认模型 zzz"), "{}", run.stderr);

    house.settings("[[models.channels]]\nname = \"openai\"\nkeys = \"${NO_SUCH_VARIABLE_1}\"\nmodels = [\"m\"]\n");
    let run = house.run(&["models", "list"]);
    let said =
        "the rehearsal model answers, since openai is not ready: no key: the environment variable";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

/// A star at whoever really answers, however the default is written.
#[test]
fn the_default_has_a_star() {
    let house = House::new();
    let open = "[[models.channels]]\nname = \"vllm\"\n";
    for (text, fragment) in [
        (
            format!("[models]\ndefault = \"vllm/big\"\n{open}"),
            "vllm/big *",
        ),
        (
            format!("[models]\ndefault = \"vllm:big\"\n{open}"),
            "vllm/big *",
        ),
        (
            format!(
                "[models]\ndefault = \"best\"\n{open}models = [\"small\", \"b-*\"]\n[models.aliases]\nbest = \"vllm/b-1\"\n"
            ),
            "vllm/b-1 *",
        ),
        (
            format!("[models]\ndefault = \"vllm/here\"\n{open}rename = {{here = \"there\"}}\n"),
            "vllm/here *",
        ),
    ] {
        house.settings(&text);
        let run = house.run(&["models", "list"]);
        run.shows(&[fragment]);
        assert_eq!(run.stdout.matches(" *").count(), 1, "{}", run.stdout);
    }
}

#[test]
fn thousands_of_channels_are_listed() {
    let house = House::new();
    let mut text = String::new();
    for number in 0..3_000 {
        text.push_str(&format!(
            "[[models.channels]]\nname = \"c{number}\"\nprovider = \"ollama\"\nmodels = [\"m{number}\"]\n"
        ));
    }
    house.settings(&text);
    let list = house.json(&["models", "list"]);
    assert_eq!(list["channels"].as_array().unwrap().len(), 3_000);
    assert_eq!(list["default"], "c0/m0");
}

#[cfg(unix)]
#[tokio::test]
async fn whoever_waits_for_servers_sees_for_whom() {
    use super::terminal::Terminal;

    let (dead, server) = (ModelServer::start().await, ModelServer::start().await);
    dead.otherwise(|_| Answer::status(200).fault(Fault::Hang));
    server.set_models(["large"]);
    let house = House::new();
    house.settings(&format!(
        "{}{}",
        channel("dead", &dead, ""),
        channel("lab", &server, "")
    ));
    let command = house.command(&["models", "list", "--remote"]);
    let (code, screen) = tokio::task::spawn_blocking(|| {
        let mut terminal = Terminal::start(command);
        let pid = terminal.wait_for("waiting for dead… ").pid();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        terminal.end()
    })
    .await
    .unwrap();
    assert_eq!(code, Some(130), "{screen}");
    for part in ["lab/large", "it was not waited for"] {
        assert!(screen.contains(part), "no {part} in {screen}");
    }
}

#[tokio::test]
async fn a_test_streams_a_reply_and_measures_it() {
    let server = ModelServer::start().await;
    let say = || {
        Say::deltas(["Good ", "evening"])
            .usage(12, 34)
            .model("real-name")
    };
    server.otherwise(move |_| Answer::say(say()));
    let house = House::new();
    house.settings(&format!(
        "{}[models.info.\"m\"]\ninput = 1000\noutput = 1000\n",
        channel("lab", &server, "models = [\"m\"]")
    ));
    let run = house.run(&["models", "test"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Good evening\n"),
        "{}",
        run.stderr
    );
    for part in [
        "lab/m (real-name)",
        "first token after",
        "34 tokens",
        "$0.046000",
        "attempts: 1",
    ] {
        assert!(run.stderr.contains(part), "no {part} in {}", run.stderr);
    }
    let told = house.json(&["models", "test", "lab/m", "--prompt", "Good morning"]);
    let asked = server.requests().last().unwrap().json();
    assert_eq!(asked["messages"][0]["content"], "Good morning");
    assert_eq!(asked["model"], "m");
    for (key, value) in [
        ("text", json!("Good evening")),
        ("channel", json!("lab")),
        ("model", json!("m")),
        ("answered", json!("real-name")),
        ("attempts", json!(1)),
        ("tokens", json!(34)),
        ("counted", json!(true)),
        ("cost", json!(0.046)),
        ("finishReason", json!("stop")),
    ] {
        assert_eq!(told[key], value, "{key}");
    }
    assert!(told["firstTokenMs"].is_u64() && told["durationMs"].is_u64());

    // A server that does not count, and the model that needs none.
    let uncounted = house.json(&["models", "test", "rehearsal"]);
    assert_eq!(uncounted["channel"], Value::Null);
    assert!(!uncounted["text"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_test_that_fails_says_why() {
    let server = ModelServer::start().await;
    server.push(Answer::error(401, "no such account"));
    let house = House::new();
    house.settings(&channel("lab", &server, ""));
    house
        .run(&["models", "test", "lab/m"])
        .is_refused(1, &["401", "[model.unauthorized]"]);
    let cut = Say::deltas(["Good ", "evening"]);
    server.push(Answer::say(cut).fault(Fault::NoFinish).fault(Fault::NoDone));
    let run = house.run(&["models", "test", "lab/m"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(run.stdout, "Good evening\n");
    assert!(
        run.stderr.contains("[model.broken_stream]"),
        "{}",
        run.stderr
    );
    house
        .run(&["models", "test", "lab"])
        .is_refused(1, &["names a channel and no model"]);
    house.settings(&channel("lab", &server, "models = [\"m\"]"));
    house
        .run(&["models", "test", "lap/m"])
        .is_refused(1, &["did you mean lab/m?", "[model.unknown]"]);
}

#[tokio::test]
async fn the_next_channel_answers_where_one_does_not() {
    let (first, second) = (ModelServer::start().await, ModelServer::start().await);
    first.otherwise(|_| Answer::error(503, "resting"));
    second.otherwise(|_| Answer::say(Say::text("here")));
    let house = House::new();
    house.settings(&format!(
        "[models]\ndefault = \"best\"\n{}{}[[models.routes]]\nmodel = \"smart\"\nto = [\"one\", \"two/other\"]\n\
         [models.aliases]\nbest = \"smart\"\n",
        channel("one", &first, ""),
        channel("two", &second, "")
    ));
    let told = house.json(&["models", "test"]);
    assert_eq!(
        (&told["channel"], &told["model"], &told["attempts"]),
        (&json!("two"), &json!("other"), &json!(2))
    );
}

#[tokio::test]
async fn a_workflow_asks_the_default_model_and_never_says_where_it_is() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::say(Say::text("With milk.")));
    let house = House::new();
    house.settings(&channel("lab", &server, "models = [\"m\"]"));
    house.workflow("library/workflows/ask.json", &ask());
    let run = house.run(&[
        "workflow",
        "run",
        "ask",
        "--input",
        "messages=Is there tea?",
    ]);
    assert_eq!(
        (run.code, run.stdout.trim()),
        (Some(0), "With milk."),
        "{}",
        run.stderr
    );

    let elsewhere = ModelServer::start().await;
    let mut older = ask();
    older["nodes"][1] = json!({"id": "model", "type": "core:OpenAI", "inputValues": {
        "api_settings": {"base_url": elsewhere.base_url(Format::OpenAi), "secret": "models.lab"}}});
    older["edges"][0]["targetHandle"] = json!("prompt");
    older["edges"][1]["sourceHandle"] = json!("response");
    house.workflow("library/workflows/older.json", &older);
    let path = house.path().join("library/workflows/older.json");
    let run = house.run(&[
        "workflow",
        "run",
        path.to_str().unwrap(),
        "--input",
        "messages=tea",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(elsewhere.connections_opened(), 0);
    let sent = server.requests().last().unwrap().text();
    assert!(
        !sent.contains("api_settings") && !sent.contains("secret"),
        "{sent}"
    );
}

#[tokio::test]
async fn servers_of_this_machine_are_found_and_connected() {
    let (ollama, other) = (ModelServer::start().await, ModelServer::start().await);
    ollama.set_kind(Kind::Ollama);
    ollama.set_models(["qwen3:8b"]);
    other.set_kind(Kind::Vllm);
    other.set_models(["big"]);
    let ports = [&ollama, &other].map(|server| server.address().port().to_string());
    let house = House::new();
    let words = [
        "models", "discover", "--port", &ports[0], "--port", &ports[1],
    ];
    house
        .run(&words)
        .shows(&["Ollama", "0.12.6", "qwen3:8b", "8192", "vLLM", "big"]);
    assert!(!house.path().join("innkeeper.toml").exists());
    let twice = house.json(&[
        "models", "discover", "--port", &ports[0], "--port", &ports[0],
    ]);
    assert_eq!(twice["found"].as_array().unwrap().len(), 1);
    house
        .run(&["models", "discover", "--port", "0"])
        .is_refused(2, &["--port"]);
    let words = [&words[..], &["--add"]].concat();
    {
        let other = House::new();
        let run = other.run(&words);
        for part in [
            "innkeeper models test ollama/qwen3:8b",
            "innkeeper models test vllm/big",
            "ollama/qwen3:8b answers from now on",
        ] {
            assert!(run.stderr.contains(part), "no {part} in {}", run.stderr);
        }
        assert!(!run.stderr.contains("MODEL"), "{}", run.stderr);
        other.run(&["models", "list"]).shows(&["ollama/qwen3:8b *"]);
    }
    let told = house.json(&words);
    assert_eq!(told["added"], json!(["ollama", "vllm"]));
    assert_eq!(
        told["found"][0]["models"],
        json!([{"id": "qwen3:8b", "context": 8192}])
    );
    let list = house.json(&["models", "list"]);
    assert_eq!(list["default"], "ollama/qwen3:8b");
    assert_eq!(
        channel_of(&list, "vllm")["baseUrl"],
        other.base_url(Format::OpenAi)
    );
    // What is connected is left alone.
    let before = std::fs::read_to_string(house.path().join("innkeeper.toml")).unwrap();
    assert_eq!(house.json(&words)["added"], json!([]));
    let after = std::fs::read_to_string(house.path().join("innkeeper.toml")).unwrap();
    assert_eq!(before, after);
    ollama.otherwise(|_| Answer::say(Say::text("Hello from here")));
    house.run(&["models", "test"]).shows(&["Hello from here"]);

    let gone = {
        let gone = ModelServer::start().await;
        gone.address().port().to_string()
    };
    let run = house.run(&["models", "discover", "--port", &gone]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert!(
        run.stderr.contains("No model server answers"),
        "{}",
        run.stderr
    );
}
