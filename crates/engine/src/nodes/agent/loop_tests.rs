//! The agent loop of the shipped workflow, with a model and tools that follow a script.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use serde_json::{Value as Json, json};

use crate::nodes::testing_ports::{ScriptedModel, ScriptedTools, Turn, pieces, services};
use crate::shipped::{self, WithShipped};
use crate::stream::{Chunk, ChunkKind};
use crate::{
    EngineOptions, EventBody, ExecutionEngine, ExecutionEvent, ExecutionOutcome, ExecutionStatus,
    Heard, NoWorkflows, NodeManager, Plan, RunOptions, Subscription,
};

const CALL: &str = "Let me look.\n<|[REQUEST_TOOL]|>\ncommand:»»»Weather.Get«««\ntext:»»»Berlin«««\n<|[END_TOOL]|>";

fn engine() -> (ExecutionEngine, Plan) {
    let engine = ExecutionEngine::new(NodeManager::new(), EngineOptions::default());
    let workflow = shipped::find("agent-loop").unwrap();
    let prepared = engine.prepare(&workflow, &WithShipped(NoWorkflows));
    let plan = prepared
        .plan
        .unwrap_or_else(|| panic!("{}", prepared.problems));
    (engine, plan)
}

fn tools() -> Arc<ScriptedTools> {
    let tools = ScriptedTools::default()
        .with("Weather.Get", |arguments| {
            match arguments["text"].as_str() {
                Some("Berlin") => Ok("sunny".into()),
                _ => Err((ErrorCode::ToolExecutionFailed, "no such city".into())),
            }
        })
        .with("File.Delete", |_| Ok("gone".into()));
    Arc::new(tools)
}

fn inputs(json: Json) -> serde_json::Map<String, Json> {
    json.as_object().cloned().unwrap()
}

async fn run(
    model: &Arc<ScriptedModel>,
    tools: &Arc<ScriptedTools>,
    given: Json,
) -> (ExecutionOutcome, Vec<Arc<ExecutionEvent>>) {
    let (engine, plan) = engine();
    let mut heard = engine.subscribe();
    let options = RunOptions {
        inputs: inputs(given),
        services: services(model, tools),
        ..RunOptions::default()
    };
    let outcome = engine.run(&plan, options).await.unwrap();
    (outcome, events(&mut heard))
}

fn events(heard: &mut Subscription) -> Vec<Arc<ExecutionEvent>> {
    let mut events = Vec::new();
    while let Some(Heard::Event(event)) = heard.try_next() {
        events.push(event);
    }
    events
}

fn traces(events: &[Arc<ExecutionEvent>]) -> Vec<String> {
    let traces = events.iter().filter_map(|event| match &event.body {
        EventBody::Trace { trace, .. } => {
            let json = json!(trace);
            Some(json["kind"].as_str().unwrap().to_owned())
        }
        _ => None,
    });
    traces.collect()
}

#[tokio::test]
async fn it_decides_calls_a_tool_looks_and_answers() {
    let model = ScriptedModel::saying(&[CALL, "It is sunny in Berlin."]);
    let tools = tools();
    let (outcome, events) = run(&model, &tools, json!({"user_query": "How is the weather?"})).await;
    assert_eq!(
        outcome.status,
        ExecutionStatus::Complete,
        "{:?}",
        outcome.failures
    );
    let outputs = outcome.outputs_json();
    assert_eq!(outputs["final_reply"], "It is sunny in Berlin.");
    assert_eq!(outputs["iterations"], 2);
    assert_eq!(outputs["stopped_by"], "stop");
    assert_eq!(tools.names_called(), ["Weather.Get"]);
    let observation = "Observation: Tool Weather.Get executed successfully. Result: sunny";
    assert_eq!(
        outputs["history"],
        json!([
            {"role": "user", "content": "How is the weather?"},
            {"role": "assistant", "content": CALL},
            {"role": "user", "content": observation},
            {"role": "assistant", "content": "It is sunny in Berlin."},
        ])
    );
    // The model is told of its tools, and of what came of them.
    let first = model.asked(0);
    let system = first.messages[0]["content"].as_str().unwrap();
    assert!(
        system.contains("Weather.Get") && system.contains("REQUEST_TOOL"),
        "{system}"
    );
    assert!(first.tools.is_empty());
    assert_eq!(model.asked(1).messages[3]["content"], observation);
    assert_eq!(
        traces(&events),
        [
            "thinking",
            "toolSelected",
            "toolRunning",
            "toolOutput",
            "toolFinished",
            "thinking",
            "replied",
        ]
    );
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
}

#[tokio::test]
async fn the_reply_comes_in_pieces_before_the_end_and_without_calls() {
    let model = ScriptedModel::saying(&[CALL, "It is sunny in Berlin."]);
    let (outcome, events) = run(&model, &tools(), json!({"user_query": "?"})).await;
    let at =
        |wanted: &dyn Fn(&EventBody) -> bool| events.iter().rposition(|event| wanted(&event.body));
    let mut shown = String::new();
    let mut number = 0;
    for event in &events {
        if let EventBody::InterfaceYield {
            key,
            chunk: Some(chunk),
            ..
        } = &event.body
        {
            assert_eq!(&**key, "reply");
            shown.push_str(chunk.content.as_str().unwrap());
            number += 1;
        }
    }
    assert!(shown.starts_with("Let me look."), "{shown}");
    assert!(shown.ends_with("It is sunny in Berlin."), "{shown}");
    assert!(
        !shown.contains("REQUEST_TOOL") && !shown.contains("Weather"),
        "{shown}"
    );
    assert_eq!(outcome.outputs_json()["reply"], shown);
    assert!(number > 3, "{number} pieces");
    let last_piece = at(&|body| matches!(body, EventBody::InterfaceYield { chunk: Some(_), .. }));
    let end = at(&|body| matches!(body, EventBody::InterfaceOutputs(_)));
    assert!(last_piece < end);
    // Words of the first round are there before the tool runs.
    let first = events
        .iter()
        .position(|event| matches!(event.body, EventBody::InterfaceYield { .. }));
    let ran = events.iter().position(|event| {
        matches!(&event.body, EventBody::Trace { trace, .. } if matches!(trace, crate::Trace::ToolFinished { .. }))
    });
    assert!(first < ran);
}

#[tokio::test]
async fn native_calls_are_answered_as_tools_answer() {
    let call = |name: &str| {
        Turn::Chunks(vec![
            Chunk::new(
                ChunkKind::ToolCall,
                json!({"index": 0, "id": "c1", "name": name, "arguments": "{\"text\":"}),
            ),
            Chunk::new(
                ChunkKind::ToolCall,
                json!({"index": 0, "arguments": " \"Berlin\"}"}),
            ),
            Chunk::new(ChunkKind::FinishReason, "tool_calls"),
        ])
    };
    let model = ScriptedModel::new([call("Weather_Get"), Turn::Chunks(pieces("Sunny."))]);
    let tools = tools();
    let (outcome, events) = run(
        &model,
        &tools,
        json!({"user_query": "?", "dialect": "native"}),
    )
    .await;
    assert_eq!(
        outcome.outputs_json()["final_reply"],
        "Sunny.",
        "{:?}",
        outcome.failures
    );
    assert_eq!(tools.names_called(), ["Weather.Get"]);
    let first = model.asked(0);
    assert_eq!(first.tools.len(), 2);
    assert!(
        !first.messages[0]["content"]
            .as_str()
            .unwrap()
            .contains("Weather")
    );
    let second = model.asked(1).messages;
    assert_eq!(second[2]["tool_calls"][0]["id"], "c1");
    assert_eq!(second[3]["role"], "tool");
    assert_eq!(second[3]["tool_call_id"], "c1");
    assert!(second[3]["content"].as_str().unwrap().contains("sunny"));
    assert_eq!(traces(&events).len(), 7);
}

#[tokio::test]
async fn what_goes_wrong_is_told_to_the_model_and_it_may_try_again() {
    let other_tool = CALL.replace("Weather.Get", "File.Delete");
    let other_city = CALL.replace("Berlin", "Atlantis");
    let broken = "<|[REQUEST_TOOL]|>\ntext:»»»x«««\n<|[END_TOOL]|>";
    let model = ScriptedModel::saying(&[&other_tool, &other_city, broken, "I give up."]);
    let tools = tools();
    let given = json!({"user_query": "?", "allow": ["Weather.*"]});
    let (outcome, _) = run(&model, &tools, given).await;
    assert_eq!(
        outcome.outputs_json()["final_reply"],
        "I give up.",
        "{:?}",
        outcome.failures
    );
    assert_eq!(tools.names_called(), ["Weather.Get"]);
    let told = |turn: usize| {
        let messages = model.asked(turn).messages;
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(told(1).contains("File.Delete"), "{}", told(1));
    assert!(told(2).contains("no such city"), "{}", told(2));
    assert!(told(3).contains("command"), "{}", told(3));
    assert!(
        !model.asked(0).messages[0]["content"]
            .as_str()
            .unwrap()
            .contains("File.Delete")
    );
}

#[tokio::test]
async fn without_an_answer_it_ends_after_so_many_rounds() {
    let model = ScriptedModel::saying(&[CALL, CALL]);
    let given = json!({"user_query": "?", "max_iterations": 2});
    let (outcome, _) = run(&model, &tools(), given).await;
    let outputs = outcome.outputs_json();
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    assert_eq!(outputs["stopped_by"], "maxIterations");
    assert!(
        outputs.get("final_reply").is_none_or(Json::is_null),
        "{outputs:?}"
    );
}

#[tokio::test]
async fn a_stop_inside_a_model_call_ends_everything() {
    let model = ScriptedModel::new([Turn::Hangs(vec![Chunk::text("Well")])]);
    let (engine, plan) = engine();
    let mut heard = engine.subscribe();
    let options = RunOptions {
        inputs: inputs(json!({"user_query": "?"})),
        services: services(&model, &tools()),
        ..RunOptions::default()
    };
    let execution = engine.start(&plan, options).unwrap();
    model.hanging.notified().await;
    execution.interrupt();
    let outcome = execution.outcome().await;
    assert_eq!(outcome.status, ExecutionStatus::Interrupted);
    // Nobody holds the model's stream or the tools any more.
    assert_eq!(Arc::strong_count(&model), 1);
    let events = events(&mut heard);
    assert!(matches!(
        events.last().unwrap().body,
        EventBody::Status {
            status: ExecutionStatus::Interrupted,
            ..
        }
    ));
}

#[tokio::test]
async fn a_model_that_fails_fails_the_run_with_its_own_code() {
    let error = crate::NodeError::invalid("model.unauthorized", "no key");
    let model = ScriptedModel::new([Turn::Fails(error)]);
    let (outcome, _) = run(&model, &tools(), json!({"user_query": "?"})).await;
    assert_eq!(outcome.status, ExecutionStatus::Error);
    let error = outcome.error.unwrap();
    assert_eq!(error.code, "model.unauthorized");
    assert!(error.message.contains("no key"), "{error}");
}
