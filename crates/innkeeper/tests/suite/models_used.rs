//! What the models of a run have used, and what is said where the tools are too many for one.

use innkeeper_testkit::model_server::{Answer, Fault, ModelServer, Say};
use serde_json::{Value, json};

use super::home::House;
use super::models::channel;
use super::workflows::ask;

const ASK: [&str; 5] = [
    "workflow",
    "run",
    "ask",
    "--input",
    "messages=Is there tea?",
];

fn priced(server: &ModelServer, more: &str) -> House {
    let house = House::new();
    house.settings(&format!(
        "{}[models.info.\"m\"]\ninput = 1000\noutput = 1000\n",
        channel("lab", server, &format!("models = [\"m\"]\n{more}"))
    ));
    let mut workflow = ask();
    workflow["edges"][1]["sourceHandle"] = json!("response");
    workflow["interfaceOutputs"]["text"]["dataFlowType"] = json!("OBJECT");
    house.workflow("library/workflows/ask.json", &workflow);
    house
}

#[tokio::test]
async fn a_run_tells_what_its_models_have_used() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::say(Say::text("Yes.").usage(12, 34).model("real-name")));
    let house = priced(&server, "");
    let told = house.json(&ASK);
    let response = &told["outputs"]["text"];
    assert_eq!(response["model"], "real-name");
    assert_eq!(response["cost"], 0.046);
    assert_eq!(response["usage"]["prompt_tokens"], 12);
    let counts = |more: Value| {
        let mut all = json!({"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46, "cached_tokens": 0,
            "reasoning_tokens": 0, "cost": 0.046,
            "calls": 1, "failed": 0, "attempts": 1, "uncounted": 0});
        for (key, value) in more.as_object().unwrap() {
            all[key] = value.clone();
        }
        all
    };
    let models = json!({"models": {"lab/m": counts(json!({}))}});
    assert_eq!(told["usage"], counts(models));
    // The last line of the events is the same.
    let run = house.run(&[&ASK[..], &["--events"]].concat());
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["usage"], told["usage"]);

    let line = "Models: 1 call, 12 tokens sent, 34 received, $0.046000\n";
    let run = house.run(&ASK);
    assert!(run.stderr.ends_with(line), "{}", run.stderr);
    let quiet = house.run(&[&ASK[..], &["--quiet"]].concat());
    assert_eq!(quiet.stderr, "");
}

#[tokio::test]
async fn what_failed_is_paid_for_too() {
    let server = ModelServer::start().await;
    let house = priced(&server, "");
    let broken = Say::text("Ye").usage(12, 34);
    server.push(
        Answer::say(broken)
            .fault(Fault::NoFinish)
            .fault(Fault::NoDone),
    );
    let run = house.run(&[&ASK[..], &["--json"]].concat());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let usage = &run.json()["usage"];
    assert_eq!(
        (&usage["failed"], &usage["cost"], &usage["prompt_tokens"]),
        (&json!(1), &json!(0.046), &json!(12)),
        "{usage}"
    );
}

#[test]
fn a_rehearsal_uses_nothing() {
    let house = House::new();
    house.workflow("library/workflows/ask.json", &ask());
    assert_eq!(house.json(&ASK)["usage"], Value::Null);
    let run = house.run(&ASK);
    assert!(!run.stderr.contains("Models:"), "{}", run.stderr);
}

#[tokio::test]
async fn tools_that_fill_the_window_are_named_with_the_way_out() {
    let server = ModelServer::start().await;
    let words = "request (6528 tokens) exceeds the available context size (4096 tokens)";
    server.otherwise(move |_| Answer::error(400, words));
    // By the guard here, and by the server.
    for (context, dialect, said) in [
        ("context = 1024", "tam", "the model holds 1024"),
        ("", "tam", "exceeds the available context size"),
        ("", "native", "exceeds the available context size"),
    ] {
        let house = priced(&server, context);
        let dialect = format!("dialect={dialect}");
        let query = ["workflow", "run", "agent-loop", "--input", "user_query=hi"];
        let run = house.run(&[&query[..], &["--input", &dialect]].concat());
        assert_eq!(run.code, Some(1));
        for part in [said, "tokens of it tell of", "allow='[\"dice.*\"]'"] {
            assert!(run.stderr.contains(part), "no {part} in {}", run.stderr);
        }
        let few = ["--input", "allow=[\"dice.*\"]", "--lang", "zh"];
        let run = house.run(&[&query[..], &few].concat());
        assert!(
            !run.stderr.contains("tokens of it tell of"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("对话超出了模型的上下文长度"),
            "{}",
            run.stderr
        );
    }
}
