//! Conversations that grow beyond what a request may have, and what is spent on them.

use std::sync::Arc;

use innkeeper_engine::NodeError;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunStatus};
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::builtin;
use serde_json::{Value as Json, json};

use super::harness::{Does, House, Say, check_journal, names, write};

const SECRET: &str = "The harbour master keeps the third key in a blue tin.";

/// Three pages of the book fit into it, with how to call tools; four do not.
const BUDGET: u64 = 7_700;

/// Pages of a book, each long and unlike the others.
fn book() -> Vec<builtin::Tool> {
    let page = json!({"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]});
    let read = Does(|arguments| {
        let page = arguments["page"].as_u64().unwrap();
        let line = format!("On page {page} it rains, and nobody in the inn knows why. ");
        let secret = if page == 1 { SECRET } else { "" };
        Ok(json!(format!("{secret} {}", line.repeat(150))))
    });
    let mut definition = ToolDefinition::new("book.read", "Reads a page", page);
    definition.execution.idempotent = true;
    vec![(definition, Arc::new(read))]
}

async fn house(protocol: &str, tokens: u64) -> House {
    let house = House::with(book()).await;
    profile(&house, protocol, tokens);
    house
}

fn profile(house: &House, protocol: &str, tokens: u64) {
    house.profile_with("reader", protocol, |profile| {
        profile["tools"]["allow"] = json!(["book.*"]);
        profile["tools"]["deny"] = json!([]);
        profile["instructions"] = json!({"agentSystemPrompt": "You read."});
        profile["agent"]["compaction"] = json!({"maxRequestTokens": tokens, "keepRounds": 1});
    });
}

fn turn(protocol: &str, number: u64) -> Say {
    match protocol {
        "native" => {
            let id: &'static str = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]
                [usize::try_from(number).unwrap()];
            Say::Native(vec![(id, "book.read", json!({"page": number}))])
        }
        "tam" => Say::Text(format!(
            "<|[REQUEST_TOOL]|>\ncommand:»»»book.read«««\npage:»»»{number}«««\n<|[END_TOOL]|>"
        )),
        _ => Say::Text(format!(
            "<ACTION><book.read><page>{number}</page></book.read></ACTION>"
        )),
    }
}

fn recall(protocol: &str) -> Say {
    let messages = json!([{"index": 1}]);
    match protocol {
        "native" => Say::Native(vec![
            ("r1", "context.search", json!({"query": "harbour master"})),
            ("r2", "context.read", json!({"messages": messages})),
        ]),
        "tam" => Say::Text(format!(
            "<|[REQUEST_TOOL]|>\ncommand1:»»»context.search«««\nquery1:»»»harbour master«««\ncommand2:»»»context.read«««\nmessages2:»»»{messages}«««\n<|[END_TOOL]|>"
        )),
        _ => Say::Text(format!(
            "<ACTION><context.search><query>harbour master</query></context.search><context.read><messages>{messages}</messages></context.read></ACTION>"
        )),
    }
}

fn compactions(events: &[RunEvent]) -> Vec<&innkeeper_protocol::event::ContextCompacted> {
    let found = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::ContextCompacted(told) => Some(told),
        _ => None,
    });
    found.collect()
}

fn all_text(messages: &[Json]) -> String {
    json!(messages).to_string()
}

/// No call without its result, no result without its call.
fn check_pairs(messages: &[Json]) {
    let calls = messages
        .iter()
        .filter_map(|one| one["tool_calls"].as_array());
    let mut calls: Vec<_> = calls.flatten().map(|call| call["id"].clone()).collect();
    let results = messages.iter().filter(|one| one["role"] == "tool");
    let mut results: Vec<_> = results.map(|one| one["tool_call_id"].clone()).collect();
    calls.sort_by_key(Json::to_string);
    results.sort_by_key(Json::to_string);
    assert_eq!(calls, results);
}

#[tokio::test]
async fn a_long_run_goes_on_and_reads_what_was_left_out_in_every_dialect() {
    for protocol in ["native", "tam", "action"] {
        let house = house(protocol, BUDGET).await;
        for page in 1..=4 {
            house.script.push(turn(protocol, page));
        }
        // Asked for between the fourth page and what follows on it.
        house
            .script
            .say("Pages one to three: it rains. A tin was mentioned.");
        house.script.push(recall(protocol));
        house.script.say("It is in a blue tin.");
        let (handle, events) = house.run("reader", "Where is the third key?").await;
        assert_eq!(handle.status, RunStatus::Completed, "{protocol} {events:?}");
        check_journal(&events);
        let told = compactions(&events);
        assert_eq!(told.len(), 1, "{protocol}: {:?}", names(&events));
        assert!(told[0].tokens_before > BUDGET && told[0].tokens_after <= BUDGET);
        assert_eq!((told[0].summary_by.as_str(), told[0].round), ("model", 5));
        assert_eq!(told[0].usage["total_tokens"], 15);

        let asked = house.script.request(4);
        assert_eq!(asked.len(), 2, "a summary is asked for by itself");
        assert!(
            all_text(&asked).contains("blue tin"),
            "it reads what gives way"
        );
        let next = house.script.request(5);
        check_pairs(&next);
        let text = all_text(&next);
        assert!(text.contains("conversation_summary") && text.contains("A tin was mentioned"));
        assert!(text.contains("Where is the third key?") && text.contains("You read."));
        assert!(!text.contains("harbour master"), "{protocol}: {text}");
        assert!(
            text.contains("On page 4 it rains"),
            "the last round is whole"
        );
        assert!(
            text.contains("context.read"),
            "it is told how to read the rest"
        );
        let is_declared = |request| {
            house
                .script
                .declared(request)
                .contains(&"context.read".to_owned())
        };
        assert!(!is_declared(3));
        assert_eq!(is_declared(5), protocol == "native");
        // The same words, though they were sent no more.
        let last = house.script.request(6);
        assert!(
            all_text(&last).contains("harbour master keeps the third key"),
            "{protocol}: {}",
            all_text(&last)
        );

        // Read back from the journal, it is the same conversation.
        let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
        assert_eq!(json!(state.sent()), json!(last));
        let spent = state.spent();
        assert_eq!((spent.tokens, spent.compaction.tokens), (7 * 15, 15));
        assert_eq!(spent.by_agent["reader"].requests, 7);
        // Under the name by which the model knows it.
        let book = spent
            .by_tool
            .iter()
            .find(|(name, _)| name.starts_with("book"));
        let (_, book) = book.unwrap();
        assert_eq!(book.calls, 4, "{:?}", spent.by_tool);
        assert!(book.shown_tokens > 6_000);
        assert_eq!(
            (spent.cost, spent.unpriced),
            (0.0, 7),
            "nobody knows the price"
        );
        let mut turns = house.runtime.reader().turns(&handle.run_id).await.unwrap();
        let mut sent: Vec<Json> = Vec::new();
        while let Some(turn) = turns.next().await.unwrap() {
            sent.truncate(turn.keep);
            sent.extend(turn.add.iter().map(|one| Json::clone(one)));
        }
        assert_eq!(sent, last);
    }
}

#[tokio::test]
async fn what_was_left_out_is_there_after_a_restart() {
    let house = house("native", BUDGET).await;
    for page in 1..=4 {
        house.script.push(turn("native", page));
    }
    // The process ends while the summary is written, and then while the answer is.
    house.script.push(Say::Hang);
    let run = house
        .start("reader", "Where is the third key?")
        .await
        .run_id;
    house.script.asked_times(5).await;
    let house = house.again_with(book()).await;
    house.script.say("Pages one to three: it rains.");
    house.script.push(Say::Hang);
    house.runtime.recover().await.unwrap();
    house.script.asked_times(2).await;
    let first = house.script.request(1);
    let house = house.again_with(book()).await;
    house.script.push(recall("native"));
    house.script.say("It is in a blue tin.");
    house.runtime.recover().await.unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    check_journal(&events);
    assert_eq!(compactions(&events).len(), 1, "made once");
    assert_eq!(house.script.request(0), first, "the same request once more");
    assert!(all_text(&house.script.request(1)).contains(SECRET));
}

#[tokio::test]
async fn a_summary_of_a_summary_keeps_what_is_pinned() {
    let house = house("native", BUDGET).await;
    for page in 1..=4 {
        house.script.push(turn("native", page));
    }
    house.script.say("SUMMARY-A");
    for page in 5..=7 {
        house.script.push(turn("native", page));
    }
    house.script.say("SUMMARY-B");
    house.script.say("Done.");
    let (handle, events) = house.run("reader", "Read it all.").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    assert_eq!(compactions(&events).len(), 2, "{:?}", names(&events));
    let second = all_text(&house.script.request(8));
    assert!(
        second.contains("SUMMARY-A"),
        "what an earlier summary says is read"
    );
    let last = house.script.request(9);
    check_pairs(&last);
    let text = all_text(&last);
    assert!(text.contains("SUMMARY-B") && !text.contains("SUMMARY-A"));
    assert!(text.contains("Read it all.") && text.contains("You read."));
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let counts: Vec<u64> = state.dropped().iter().map(|one| one.count).collect();
    assert_eq!(counts, [6, 6], "summaries are nobody's words");
}

#[tokio::test]
async fn where_the_model_cannot_summarise_the_run_goes_on_with_a_note() {
    let broken = || NodeError::invalid("model.refused", "not about this");
    for (say, why) in [
        (vec![Say::Fail(broken())], "not about this"),
        (vec![Say::Text("  ".to_owned())], "no summary"),
        (
            vec![
                Say::Fail(NodeError::failed("model.server_error", "down")),
                Say::Fail(NodeError::failed("model.server_error", "still down")),
            ],
            "still down",
        ),
    ] {
        let house = house("tam", BUDGET).await;
        for page in 1..=4 {
            house.script.push(turn("tam", page));
        }
        for say in say {
            house.script.push(say);
        }
        house.script.say("I give up.");
        let (handle, events) = house.run("reader", "Where is the third key?").await;
        assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
        let told = compactions(&events);
        assert_eq!(
            (told.len(), told[0].summary_by.as_str()),
            (1, "note"),
            "{why}"
        );
        assert!(
            told[0].extra["message"].as_str().unwrap().contains(why),
            "{:?}",
            told[0]
        );
        let last = house.script.request(house.script.requests() - 1);
        let text = all_text(&last);
        assert!(text.contains("book.read ×3"), "{text}");
        assert!(told[0].tokens_after <= BUDGET);
    }
}

#[tokio::test]
async fn a_summary_that_is_too_long_is_cut_to_the_room_there_is() {
    let house = house("tam", BUDGET).await;
    for page in 1..=4 {
        house.script.push(turn("tam", page));
    }
    house
        .script
        .say(&format!("BEGIN {} THE-END", "It rains. ".repeat(4_000)));
    house.script.say("I give up.");
    let (handle, events) = house.run("reader", "Where is the third key?").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    let told = compactions(&events);
    assert_eq!((told.len(), told[0].summary_by.as_str()), (1, "model"));
    assert_eq!(told[0].extra["summaryCut"], true);
    assert!(told[0].tokens_after <= BUDGET, "{:?}", told[0]);
    let text = all_text(&house.script.request(house.script.requests() - 1));
    assert!(text.contains("BEGIN It rains.") && text.contains("THE-END"));
    assert!(text.contains("there was no room for what stood here"));
}

/// Two pages, which are too long together, and the answer. What the run failed with, if it did.
async fn two_pages(protocol: &str, tokens: u64) -> Option<String> {
    let house = house(protocol, tokens).await;
    for page in [2, 3] {
        house.script.push(turn(protocol, page));
    }
    house.script.say("It rains.");
    house.script.say("Done.");
    let (handle, events) = house.run("reader", "Where is it?").await;
    check_journal(&events);
    let told = compactions(&events);
    if handle.status == RunStatus::Completed {
        assert_eq!(told.len(), 1);
        assert!(told[0].tokens_after <= tokens, "{:?}", told[0]);
        let sent = house.script.request(3);
        check_pairs(&sent);
        assert!(all_text(&sent).contains("On page 3"));
        return None;
    }
    assert!(told.is_empty());
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let failure = state.failure().unwrap();
    assert_eq!(failure.reason.as_deref(), Some("agent.request_too_long"));
    Some(failure.message.clone())
}

#[tokio::test]
async fn a_run_fails_over_its_length_only_where_what_must_stay_is_too_long() {
    for protocol in ["native", "tam", "action"] {
        // The second page is one too many; with less, even the first was.
        let mut tokens = 1_700;
        let message = loop {
            let message = two_pages(protocol, tokens).await.expect(protocol);
            if message.contains("of them must stay") {
                break message;
            }
            assert!(
                message.contains("nothing of them can give way"),
                "{message}"
            );
            tokens += 50;
        };
        let (_, behind) = message.split_once(", and about ").expect(&message);
        let (must, _) = behind.split_once(" of them must stay").unwrap();
        let must: u64 = must.parse().unwrap();
        assert!(must > tokens, "{protocol}: {message}");
        assert_eq!(two_pages(protocol, must).await, None, "{protocol}: {must}");
        assert!(two_pages(protocol, must - 1).await.is_some());
    }
}

#[tokio::test]
async fn a_provider_that_finds_a_request_too_long_gets_a_shorter_one() {
    let too_long = || NodeError::invalid("model.context_too_long", "at most 2000 tokens");
    let house = house("native", 50_000).await;
    for page in 1..=4 {
        house.script.push(turn("native", page));
    }
    house.script.push(Say::Fail(too_long()));
    house.script.say("It rains.");
    house.script.say("Done.");
    let (handle, events) = house.run("reader", "Where is the third key?").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    check_journal(&events);
    assert_eq!(compactions(&events).len(), 1);
    check_pairs(&house.script.request(6));

    // Nothing of this can give way, so what the provider said is the end of it.
    house.script.push(Say::Fail(too_long()));
    let (handle, events) = house.run("reader", "Where is it?").await;
    assert_eq!(handle.status, RunStatus::Failed);
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let failure = state.failure().unwrap();
    assert_eq!(failure.code, ErrorCode::ModelContextTooLong);
    assert!(failure.message.contains("at most 2000 tokens"));
    check_journal(&events);
}

#[tokio::test]
async fn what_cannot_be_short_enough_ends_with_the_remedy() {
    let house = house("native", 600).await;
    house.script.push(turn("native", 2));
    let (handle, _) = house
        .run("reader", &"Where is the third key? ".repeat(40))
        .await;
    assert_eq!(handle.status, RunStatus::Failed);
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let failure = state.failure().unwrap();
    assert_eq!(failure.reason.as_deref(), Some("agent.request_too_long"));
    assert!(
        failure.message.contains("maxRequestTokens"),
        "{}",
        failure.message
    );
    assert_eq!(house.script.requests(), 1, "nothing was asked in vain");
}

#[tokio::test]
async fn whoever_does_not_want_it_is_stopped_instead() {
    let house = House::with(book()).await;
    house.profile_with("reader", "native", |profile| {
        profile["agent"]["compaction"] = json!({"enabled": false, "maxRequestTokens": 3_000});
    });
    for page in 1..=9 {
        house.script.push(turn("native", page));
    }
    let (handle, events) = house.run("reader", "Read").await;
    assert_eq!(handle.status, RunStatus::Failed);
    assert!(compactions(&events).is_empty());
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let message = &state.failure().unwrap().message;
    assert!(message.contains("compaction.enabled is false"), "{message}");
}

/// A workflow that asks a model what it is given.
pub(super) fn asks() -> Json {
    let edge = |id: &str, from: (&str, &str), to: (&str, &str)| json!({"id": id, "source": from.0, "sourceHandle": from.1, "target": to.0, "targetHandle": to.1});
    let node = |id: &str, kind: &str| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}});
    let slot = |key: &str| json!({"key": key, "displayName": key, "dataFlowType": "STRING"});
    json!({
        "id": "asks", "name": "Asks", "version": "1.0.0",
        "nodes": [
            node("in", "core:GroupInput"),
            node("say", "core:CreateMessage"),
            node("ask", "core:LlmApiRequest"),
            node("out", "core:GroupOutput"),
        ],
        "edges": [
            edge("e1", ("in", "question"), ("say", "content")),
            edge("e2", ("say", "messages"), ("ask", "messages")),
            edge("e3", ("ask", "responseText"), ("out", "answer")),
        ],
        "viewport": {"x": 0, "y": 0, "zoom": 1},
        "interfaceInputs": {"question": slot("question")},
        "interfaceOutputs": {"answer": slot("answer")},
    })
}

#[tokio::test]
async fn what_a_tool_asks_of_models_is_counted_as_its_own_and_stopped() {
    let home = Arc::new(tempfile::tempdir().unwrap());
    let folder = home.path().join("library").join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    write(&folder.join("asks.json"), &asks());
    let house = House::in_home(home, Vec::new()).await;
    house.profile_with("asker", "native", |profile| {
        profile["agent"]["budget"] = json!({"maxTokensPerTool": {"asks": 20}});
    });
    let call = |id| {
        Say::Native(vec![(
            id,
            "asks",
            json!({"question": format!("Why {id}?")}),
        )])
    };
    house.script.push(call("c0"));
    house.script.say("Because.");
    house.script.push(call("c1"));
    house.script.say("Because of that.");
    // Its 20 tokens are used up: it is not called any more.
    house.script.push(call("c2"));
    house.script.say("I see.");
    let (handle, events) = house.run("asker", "Why?").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    check_journal(&events);
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let spent = state.spent();
    let tool = &spent.by_tool["asks"];
    assert_eq!((tool.models.requests, tool.models.tokens), (2, 30));
    assert_eq!(spent.by_agent["asker"].requests, 4);
    assert_eq!(spent.tokens, 6 * 15);
    let refused = all_text(&house.script.request(5));
    assert!(refused.contains("asked models for all"), "{refused}");

    // The run's own budget stops a tool in the middle of its call.
    house.profile_with("short", "native", |profile| {
        profile["agent"]["budget"] = json!({"maxTokens": 16});
    });
    let two = ["c3", "c4"].map(|id| (id, "asks", json!({"question": format!("Why {id}?")})));
    house.script.push(Say::Native(two.to_vec()));
    house.script.say("Because.");
    let (handle, events) = house.run("short", "Why?").await;
    assert_eq!(handle.status, RunStatus::Failed, "{events:?}");
    let state = house.runtime.reader().state(&handle.run_id).await.unwrap();
    let tool = &state.spent().by_tool["asks"];
    assert_eq!((tool.calls, tool.failed, tool.models.requests), (2, 1, 1));
    let reason = state.failure().unwrap().reason.as_deref();
    assert_eq!(reason, Some("agent.token_budget_exhausted"));
}
