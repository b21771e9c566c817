//! `innkeeper models score`: what came of an exam, counted and told.

use innkeeper_testkit::model_server::{Answer, ModelServer, Say};

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
    assert!(
        sent.iter()
            .all(|request| request.json()["max_tokens"] == 4096)
    );
    assert!(sent.last().unwrap().json()["tools"].is_array());
    assert!(sent[0].json().get("grammar").is_none());

    let before = server.requests().len();
    let run = house.run(&["models", "score", "--grammar", "--repeats", "2"]);
    run.shows(&["DIALECT", "RIGHT", "tam +grammar"]);
    assert!(run.stderr.contains("nothing was called"), "{}", run.stderr);
    let sent = &server.requests()[before..];
    assert!(
        sent.iter()
            .all(|request| request.json()["grammar"].is_string())
    );
    assert_eq!(sent.len() % 2, 0);
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
    house
        .run(&["models", "score", "--repeats", "21"])
        .is_refused(2, &["--repeats"]);
}
