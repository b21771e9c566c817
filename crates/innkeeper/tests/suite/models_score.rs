//! `innkeeper models score`: what came of an exam, counted and told.

use innkeeper_testkit::model_server::{Answer, ModelServer, Request, Say};

use super::home::House;
use super::models::channel;

#[tokio::test]
async fn an_exam_is_counted_by_dialect() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::say(Say::text("I would rather not call anything.").usage(5, 6)));
    let house = House::new();
    house.settings(&channel(
        "lab",
        &server,
        "models = [\"m\"]\ngrammar = \"grammar\"",
    ));
    let results = house.json(&["models", "score", "--dialect", "all"]);
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let score = &result["score"];
        let tasks = result["results"].as_array().unwrap().len();
        assert_eq!(result["model"], "lab/m");
        assert_eq!(score["attempts"], tasks);
        assert_eq!(score["replied"], tasks);
        // Only where nothing had to be called is that right.
        let right = score["right_arguments"].as_u64().unwrap();
        assert!(right >= 1 && right < tasks as u64, "{score}");
    }
    let sent = server.requests();
    // Room for an answer, and for thoughts before it.
    let most = |request: &Request| request.json()["max_tokens"].as_u64().unwrap();
    assert!(sent.iter().all(|sent| (4_200..5_000).contains(&most(sent))));
    assert!(sent.last().unwrap().json()["tools"].is_array());
    assert!(sent[0].json().get("grammar").is_none());

    let before = server.requests().len();
    let run = house.run(&["models", "score", "--grammar", "--repeats", "2"]);
    run.shows(&["DIALECT", "RIGHT", "tam +grammar"]);
    // Each thing that went wrong is told once.
    assert_eq!(run.stderr.matches("nothing was called").count(), 1);
    assert!(run.stderr.contains("tam, one-text and "), "{}", run.stderr);
    let sent = &server.requests()[before..];
    assert_eq!(sent.len() % 2, 0);
    for request in sent {
        let json = request.json();
        let form = json["grammar"].as_str().unwrap();
        let asked = json["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        // Whoever has to call something cannot talk instead.
        let may_talk = form.lines().any(|line| line.starts_with("calls ::="));
        assert_eq!(may_talk, asked.contains("Just say hello"), "{asked} {form}");
        assert!(most(request) <= 512);
    }
}

#[tokio::test]
async fn an_exam_that_nobody_takes_is_a_failure() {
    let server = ModelServer::start().await;
    server.otherwise(|_| Answer::error(401, "no"));
    let house = House::new();
    house.settings(&channel("lab", &server, ""));
    let run = house.run(&["models", "score", "--model", "lab/m"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("[models.no_answers]"), "{}", run.stderr);
    assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1));
    // One that takes no grammar says so once.
    let run = house.run(&["models", "score", "--model", "lab/m", "--grammar"]);
    assert_eq!(
        (run.code, run.stderr.lines().count()),
        (Some(1), 1),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("grammar"), "{}", run.stderr);
    house
        .run(&["models", "score", "--repeats", "21"])
        .is_refused(2, &["--repeats"]);
}
