//! What is told of a run is what happened: the request, who answered, what was called and why it was refused.

use std::sync::Arc;

use futures_util::stream;
use innkeeper_agent::EngineModels;
use innkeeper_agent::instance::{RESPONSE_TOPIC, StartPrompt, StartRun};
use innkeeper_models::{Model, ModelEvent, ModelRequest, ModelStream, Models};
use innkeeper_protocol::event::{Presentation, RunEvent, RunStatus};
use innkeeper_protocol::{Pattern, ToolDefinition};
use innkeeper_store::Received;
use innkeeper_store::journal::{EventRange, Followed};
use innkeeper_tools::{Redactor, builtin};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::harness::{Does, Gate, Gated, House, Say, check_journal, open, profile, start};

/// Calls a tool, then answers; under an id of its own.
struct Provider;

impl Model for Provider {
    fn id(&self) -> &str {
        "house-model"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let turn = request.messages.len();
        let mut events = vec![ModelEvent::Started {
            model: "real-name-2026".to_owned(),
            response_id: Some(format!("resp_{turn}")),
        }];
        match request
            .tools
            .iter()
            .find(|tool| tool.name.contains("list_files"))
        {
            Some(tool) if turn == 2 => events.push(ModelEvent::ToolCall {
                index: 0,
                id: Some("call_of_provider".to_owned()),
                name: Some(tool.name.clone()),
                arguments_delta: "{}".to_owned(),
            }),
            _ => events.push(ModelEvent::Text("Done.".to_owned())),
        }
        ModelStream::new(
            "house-model",
            cancel,
            stream::iter(events.into_iter().map(Ok)),
        )
    }
}

fn told<'e>(events: &'e [RunEvent], name: &str) -> Vec<Json> {
    let named = events.iter().filter(|event| event.kind.name() == name);
    let payload = |event: &'e RunEvent| serde_json::to_value(event).unwrap()["payload"].clone();
    named.map(payload).collect()
}

#[tokio::test]
async fn events_and_turns_say_what_was_sent_and_who_answered() {
    let home = tempfile::tempdir().unwrap();
    let models = Models::new().with("lab", Arc::new(Provider));
    let models = EngineModels::new(models, Redactor::default());
    let (_tools, runtime) =
        open(home.path(), Arc::new(models), Vec::new(), |journal| journal).await;
    profile(home.path(), "worker", "native", |profile| {
        profile["instructions"] = json!({"agentSystemPrompt": "You work."});
    });
    let run = start(&runtime, "worker", "Look").await.run_id;
    let handle = runtime.wait(&run).await.unwrap();
    assert_eq!(handle.status, RunStatus::Completed);
    let range = EventRange::After { seq: 0, limit: 500 };
    let events = runtime.events(&run, range).await.unwrap();
    check_journal(&events);

    let binding = &told(&events, "agent_model_binding_resolved")[0];
    assert_eq!(
        (&binding["modelId"], &binding["channel"]),
        (&json!("house-model"), &json!("lab"))
    );
    assert_eq!(binding["chatCompletionSource"], "lab");
    let context = &told(&events, "context_assembled")[0];
    let requests = told(&events, "model_request_created");
    assert_eq!(context["request"]["model"], "house-model");
    // The instructions are a message, too.
    assert_eq!(context["request"]["messageCount"], 2);
    let counts: Vec<_> = requests
        .iter()
        .map(|asked| &asked["request"]["messageCount"])
        .collect();
    assert_eq!(counts, [2, 4]);
    let specs = context["tools"].as_array().unwrap();
    assert_eq!(context["request"]["toolCount"], specs.len());
    let spec = |name: &str| specs.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(
        spec("workspace.list_files")["modelName"],
        "workspace_list_files"
    );
    assert_eq!(
        spec("workspace.list_files")["annotations"],
        json!({"readOnly": true})
    );
    let stored = told(&events, "model_response_stored");
    for (stored, id) in stored.iter().zip(["resp_2", "resp_4"]) {
        assert_eq!(
            (&stored["responseId"], &stored["model"]),
            (&json!(id), &json!("real-name-2026"))
        );
    }
    let states = told(&events, "provider_state_updated");
    let ids: Vec<_> = states
        .iter()
        .map(|told| &told["providerState"]["lastResponseId"])
        .collect();
    assert_eq!(ids, ["resp_2", "resp_4"]);
    let requested = &told(&events, "tool_call_requested")[0];
    assert_eq!(requested["providerMetadata"]["id"], "call_of_provider");

    let turn = runtime.model_turn(&run, 1, None).await.unwrap();
    assert_eq!(
        turn.tool_calls,
        [
            json!({"callId": requested["callId"], "name": "workspace.list_files", "modelName": "workspace_list_files"})
        ]
    );
    assert_eq!(
        (&turn.provider["source"], &turn.provider["responseId"]),
        (&json!("lab"), &json!("resp_2"))
    );
}

#[tokio::test]
async fn a_turn_names_its_calls_as_the_events_do() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.profile("native", "native");
    let look = "<|[REQUEST_TOOL]|>\ncommand:»»»ReadWorldStateTool«««\n<|[END_TOOL]|>";
    let native = || Say::Native(vec![("same", "ReadWorldStateTool", json!({}))]);
    for (profile, says) in [
        (
            "worker",
            [Say::Text(look.to_owned()), Say::Text(look.to_owned())],
        ),
        // Ids that a provider gives twice.
        ("native", [native(), native()]),
    ] {
        for say in says {
            house.script.push(say);
        }
        house.script.say("It is sunny.");
        let (handle, events) = house.run(profile, "Weather?").await;
        let asked = told(&events, "tool_call_requested");
        assert_eq!(asked.len(), 2);
        for (round, asked) in (1..).zip(&asked) {
            let turn = house
                .runtime
                .model_turn(&handle.run_id, round, None)
                .await
                .unwrap();
            assert_eq!(turn.tool_calls[0]["callId"], asked["callId"], "{profile}");
        }
        for (round, most, reason) in [
            (1, Some(0), "agent.model_turn_max_chars_invalid"),
            (0, None, "agent.model_turn_round_invalid"),
            (4, None, "agent.model_turn_round_invalid"),
        ] {
            let refused = house.runtime.model_turn(&handle.run_id, round, most).await;
            assert_eq!(refused.unwrap_err().reason.as_deref(), Some(reason));
        }
        let turn = house
            .runtime
            .model_turn(&handle.run_id, 3, Some(20))
            .await
            .unwrap();
        assert!(
            turn.request
                .iter()
                .all(|message| message["content"].as_str().unwrap().len() <= 20)
        );
        assert_eq!(
            turn.request.len(),
            turn.request_message_count - turn.request_from
        );
    }
}

#[tokio::test]
async fn a_refused_call_says_why_in_both_vocabularies() {
    let house = House::new().await;
    house.profile_with("shy", "tam", |profile| {
        profile["tools"]["deny"] = json!(["workspace.commit", "GetPlayerInfo"]);
    });
    let call = |tool: &str| format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n<|[END_TOOL]|>");
    house.script.say(&call("GetPlayerInfo"));
    house.script.say(&call("nosuch.tool"));
    house.script.say("I cannot.");
    let (_, events) = house.run("shy", "Who?").await;
    let failed = told(&events, "tool_call_failed");
    let codes: Vec<_> = failed
        .iter()
        .map(|told| (told["errorCode"].clone(), told["reason"].clone()))
        .collect();
    assert_eq!(
        codes,
        [
            (
                json!("tool.policy_denied"),
                json!("agent.tool_policy_denied")
            ),
            (json!("tool.unknown"), json!("model.unknown_tool_call")),
        ]
    );
    for told in &failed {
        assert!(
            !told["message"].as_str().unwrap().trim().is_empty(),
            "{told}"
        );
    }
    assert!(
        failed[1]["message"]
            .as_str()
            .unwrap()
            .contains("nosuch.tool")
    );
}

#[tokio::test]
async fn what_the_agent_says_is_published_once_it_is_kept() {
    let house = House::new().await;
    house.profile("teller", "action");
    house.script.say(
        "Let me look.
<ACTION>
    <ReadWorldStateTool>
        <path>environment.weather</path>
    </ReadWorldStateTool>
</ACTION>",
    );
    house.script.say("It is sunny.");
    // Nothing to do: only words.
    house.script.say("Hello, traveller!");
    let mut heard = house.tools.bus().subscribe(Pattern::new(RESPONSE_TOPIC));
    let (first, _) = house.run("teller", "How is the weather?").await;
    let (second, events) = house.run("teller", "Hello").await;
    assert_eq!(told(&events, "tool_call_requested"), Vec::<Json>::new());
    for (run, round, text) in [
        (&first, 1, "Let me look."),
        (&first, 2, "It is sunny."),
        (&second, 1, "Hello, traveller!"),
    ] {
        let Received::Event(said) = heard.next().await else {
            panic!("nothing was said");
        };
        let payload = &said.event.payload;
        assert_eq!(
            (&payload["runId"], &payload["round"]),
            (&json!(run.run_id), &json!(round))
        );
        assert_eq!(
            (&payload["text"], &payload["truncated"]),
            (&json!(text), &json!(false))
        );
        assert_eq!(said.event.source, "agent:teller");
    }
}

/// Calls that may be made again go to the disk with what comes next, but never later than they wait for something.
#[tokio::test]
async fn a_call_that_waits_is_told_and_so_is_what_was_said_with_it() {
    let gate = Arc::new(Gate::default());
    let quick = Arc::new(Does(|_| Ok(json!("at once"))));
    let reading = |name: &str| {
        let mut tool = ToolDefinition::new(name, "Looks", json!({"type": "object"}));
        tool.source = builtin::SOURCE.to_owned();
        tool
    };
    let house = House::with(vec![
        (reading("glance"), quick),
        (reading("stare"), Arc::new(Gated(gate.clone()))),
    ])
    .await;
    house.profile("teller", "action");
    house
        .script
        .say("Let me see.\n<ACTION><glance></glance><stare></stare></ACTION>");
    house.script.say("I see.");
    let mut heard = house.tools.bus().subscribe(Pattern::new(RESPONSE_TOPIC));
    let run = house.start("teller", "Look!").await.run_id;
    gate.entered.notified().await;

    let Received::Event(said) = heard.next().await else {
        panic!("nothing was said");
    };
    assert_eq!(said.event.payload["text"], "Let me see.");
    let mut follower = house.runtime.follow(&run, 0);
    let mut told = Vec::new();
    while let Followed::Events(events) = follower.next().await {
        told.extend(events.iter().map(|event| event.kind.name().to_owned()));
        let started = told.iter().filter(|name| *name == "tool_call_started");
        if started.count() == 2 {
            break;
        }
    }
    let ended = told.iter().filter(|name| *name == "tool_call_completed");
    assert_eq!(ended.count(), 1, "{told:?}");

    gate.leave.notify_one();
    let (ended, events) = house.end_of(&run).await;
    assert_eq!(ended.status, RunStatus::Completed);
    check_journal(&events);
}

#[tokio::test]
async fn a_run_that_could_not_begin_is_refused_at_the_start() {
    let house = House::new().await;
    house.profile("teller", "tam");
    let asked = || StartRun {
        profile_id: Some("teller".to_owned()),
        prompt: Some(StartPrompt::Message("Hi".to_owned())),
        ..StartRun::default()
    };
    let foreground = StartRun {
        presentation: Some(Presentation::Foreground),
        ..asked()
    };
    let chat = StartRun {
        chat_ref: Some(json!({"kind": "character", "character_id": "a", "file_name": "b"})),
        stable_chat_id: Some("abc".to_owned()),
        ..asked()
    };
    let kind = StartRun {
        generation_type: Some("a b".to_owned()),
        ..asked()
    };
    for (start, reason) in [
        (foreground, "agent.foreground_commit_unavailable"),
        (chat, "agent.invalid_chat_ref"),
        (kind, "agent.invalid_generation_type"),
    ] {
        let refused = house.runtime.start(start).await.unwrap_err();
        assert_eq!(refused.reason.as_deref(), Some(reason));
    }
    let runs = house.runtime.list(&Default::default()).await.unwrap();
    assert!(runs.runs.is_empty());
}
