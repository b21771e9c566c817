//! `innkeeper models test`: what is said while it waits, when nothing comes, and when it breaks.

use innkeeper_testkit::model_server::{Answer, Fault, Finish, Format, ModelServer, Say};
use serde_json::{Value, json};

use super::home::House;
use super::models::channel;

#[tokio::test]
async fn what_had_come_before_a_reply_broke_is_told_as_json_too() {
    let server = ModelServer::start().await;
    let house = House::new();
    house.settings(&channel("lab", &server, ""));
    let cut = Say::deltas(["Good ", "evening"]);
    server.push(Answer::say(cut).fault(Fault::NoFinish).fault(Fault::NoDone));
    let run = house.run(&["models", "test", "lab/m", "--json"]);
    assert_eq!(run.code, Some(1));
    let told = run.json();
    assert_eq!(told["text"], "Good evening");
    assert_eq!(told["error"]["code"], "model.broken_stream");
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("before its end")
    );
    assert!(
        run.stderr.contains("[model.broken_stream]"),
        "{}",
        run.stderr
    );

    server.push(Answer::error(401, "no such account"));
    let run = house.run(&["models", "test", "lab/m", "--json"]);
    let told = run.json();
    assert_eq!((run.code, &told["text"]), (Some(1), &json!("")));
    assert_eq!(told["error"]["code"], "model.unauthorized");
    server.push(Answer::say(Say::text("Hello")));
    let told = house.json(&["models", "test", "lab/m"]);
    assert_eq!(told["error"], Value::Null);
    // It came at once: that says nothing about anybody's speed.
    assert_eq!(told["tokensPerSecond"], Value::Null);
}

#[tokio::test]
async fn nothing_said_is_told_with_the_reason() {
    let server = ModelServer::start().await;
    let house = House::new();
    house.settings(&channel("lab", &server, ""));
    server.otherwise(|_| Answer::say(Say::nothing().finish(Finish::Length)));
    let run = house.run(&["models", "test", "lab/m"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert!(
        run.stderr
            .contains("it said nothing; it stopped with: length"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("first token"), "{}", run.stderr);
    let told = house.json(&["models", "test", "lab/m"]);
    assert_eq!(told["firstTokenMs"], Value::Null);
}

#[tokio::test]
async fn a_failure_names_the_channel_in_the_language_of_the_person() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::error(401, "no such account"));
    let house = House::new();
    house.settings(&channel("k2", &server, ""));
    house.run(&["models", "test", "k2/m"]).is_refused(
        1,
        &["k2 (OpenAI-compatible) answered 401: no such account; check the channel's key"],
    );
    house
        .run(&["models", "test", "k2/m", "--lang", "zh"])
        .is_refused(
            1,
            &[
                "密钥缺失、被拒绝或余额不足；请检查该渠道的密钥和账户",
                "answered 401: no such account",
            ],
        );
}

#[test]
fn whoever_has_just_connected_a_model_is_told_why_the_rehearsal_answers() {
    let house = House::new();
    let broken = "[[models.channels]]\nname = \"a\"\nprovider = \"openai\"\nkeys = \"${INNKEEPER_NO_SUCH_KEY}\"\n\
                  models = [\"m\"]\n";
    house.settings(broken);
    let said = "the rehearsal model answers, since a is not ready: no key: the environment variable INNKEEPER_NO_SUCH_KEY";
    let run = house.run(&["models", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let words = [
        "workflow",
        "run",
        "agent-loop",
        "--input",
        "user_query=hello",
    ];
    let run = house.run(&words);
    assert!(run.stderr.contains(said), "{}", run.stderr);
    // Not where nobody wonders.
    let named = ["--input", "model=rehearsal"];
    let run = house.run(&[&words[..], &named].concat());
    assert!(!run.stderr.contains(said), "{}", run.stderr);
    for calm in ["", "[models]\ndefault = \"rehearsal\"\n"] {
        house.settings(&format!(
            "{calm}{}",
            if calm.is_empty() { "" } else { broken }
        ));
        let run = house.run(&["models", "test"]);
        assert!(!run.stderr.contains("not ready"), "{}", run.stderr);
    }
}

#[cfg(unix)]
mod at_a_terminal {
    use super::super::terminal::Terminal;
    use super::*;

    fn patient(server: &ModelServer) -> String {
        let base_url = server.base_url(Format::OpenAi);
        format!(
            "[[models.channels]]\nname = \"lab\"\nprovider = \"custom\"\nbase_url = \"{base_url}\"\nretries = 1\n"
        )
    }

    #[tokio::test]
    async fn one_sees_what_is_waited_for() {
        let server = ModelServer::start().await;
        let house = House::new();
        house.settings(&patient(&server));
        server.push(Answer::error(429, "slower").header("retry-after", "1"));
        server.push(Answer::say(Say::text("Here I am.")).fault(Fault::Hang));
        let mut terminal = Terminal::start(house.command(&["models", "test", "lab/m"]));
        terminal.wait_for("attempt 2 in 1 s: lab (OpenAI-compatible) answered 429: slower");
        terminal.wait_for("attempt 2, lab/m: waiting for the first token…");
        server.release();
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("\r\u{1b}[KHere I am."), "{screen:?}");
        assert!(screen.contains("attempts: 2"), "{screen}");
    }

    #[tokio::test]
    async fn one_who_stops_waiting_gets_a_clean_line() {
        let server = ModelServer::start().await;
        let house = House::new();
        house.settings(&patient(&server));
        server.push(Answer::say(Say::text("late")).fault(Fault::Hang));
        let mut terminal = Terminal::start(house.command(&["models", "test", "lab/m"]));
        terminal.wait_for("waiting for the first token… 1 s");
        let interrupt = rustix::process::Signal::INT;
        rustix::process::kill_process(terminal.pid(), interrupt).unwrap();
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(130), "{screen}");
        assert!(screen.ends_with("\r\u{1b}[K"), "{screen:?}");
    }
}
