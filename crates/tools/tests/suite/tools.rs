//! The tools of the test world: one that repeats, one that fails, some that wait, panic, say too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use innkeeper_protocol::ExecutionMode::{Async, Sync};
use innkeeper_tools::ToolError;
use innkeeper_tools::registry::Offer;
use serde_json::{Value as Json, json};

use super::harness::{World, object};

/// What `Leak` says, and what nobody may read.
pub(super) const SECRET: &str = "hunter2-swordfish";

fn text(arguments: &serde_json::Map<String, Json>, name: &str) -> String {
    let text = arguments.get(name).and_then(Json::as_str);
    text.unwrap_or_default().to_owned()
}

pub(super) fn all(world: &World) -> Vec<Offer> {
    vec![
        echo(world),
        fail(world),
        gate(world, "Gate.Sync", Sync),
        gate(world, "Gate.Async", Async),
        make(world),
        world.tool("Panic", Sync, object(json!({}), &[]), |_, _| {
            Box::pin(async { panic!("on purpose: this line in the output is expected") })
        }),
        world.tool(
            "Json",
            Sync,
            object(json!({"value": {}}), &["value"]),
            |_, call| Box::pin(async move { Ok(call.arguments["value"].clone()) }),
        ),
        world.tool(
            "Big",
            Sync,
            object(
                json!({"chars": {"type": "integer"}, "tail": {"type": "string"}}),
                &["chars"],
            ),
            |_, call| {
                let chars = call.arguments["chars"].as_u64().unwrap();
                let tail = text(&call.arguments, "tail");
                let whole = "a".repeat(usize::try_from(chars).unwrap()) + &tail;
                Box::pin(async move { Ok(whole.into()) })
            },
        ),
        world.tool(
            "Leak",
            Sync,
            object(json!({"how": {"type": "string"}}), &[]),
            |_, call| {
                let how = text(&call.arguments, "how");
                Box::pin(async move {
                    match how.as_str() {
                        "error" => Err(ToolError::failed(format!("the key {SECRET} was refused"))),
                        "field" => Ok(json!({"outer": [{"key": SECRET}]})),
                        "name" => Ok(json!({SECRET: 1})),
                        _ => Ok(format!("the key is {SECRET}.").into()),
                    }
                })
            },
        ),
        world.tool(
            "GetPlayerInfo",
            Sync,
            object(
                json!({
                    "player_id": {"type": "string"},
                    "level": {"type": "integer", "minimum": 1, "maximum": 10},
                    "mode": {"type": "string", "enum": ["short", "long"]},
                }),
                &["player_id"],
            ),
            |_, _| Box::pin(async { Ok(json!({"name": "Ann"})) }),
        ),
    ]
}

fn echo(world: &World) -> Offer {
    let parameters = object(
        json!({
            "text": {"type": "string"},
            "x": {"type": "string"},
            "n": {"type": "number"},
            "data": {"type": "object"},
        }),
        &[],
    );
    world.tool("Echo", Sync, parameters, |_, call| {
        Box::pin(async move { Ok(call.arguments.get("text").cloned().unwrap_or(Json::Null)) })
    })
}

/// Fails `times` times. Time stands still between its attempts, up to the attempt `of`.
fn fail(world: &World) -> Offer {
    let parameters = object(
        json!({
            "times": {"type": "integer"},
            "of": {"type": "integer"},
            "how": {"type": "string"},
        }),
        &[],
    );
    let paused = Arc::new(AtomicBool::new(false));
    world.tool("Fail", Sync, parameters, move |_, call| {
        let paused = paused.clone();
        Box::pin(async move {
            let number = |name: &str| call.arguments.get(name).and_then(Json::as_u64);
            let attempt = u64::from(call.context.attempt);
            let again = attempt < number("of").unwrap_or(1);
            match (again, paused.load(Ordering::SeqCst)) {
                (true, false) => tokio::time::pause(),
                (false, true) => tokio::time::resume(),
                _ => {}
            }
            paused.store(again, Ordering::SeqCst);
            if attempt > number("times").unwrap_or(u64::MAX) {
                return Ok(format!("attempt {attempt}").into());
            }
            Err(match text(&call.arguments, "how").as_str() {
                "invalid" => ToolError::invalid("makes no sense"),
                "denied" => ToolError::denied("not for you"),
                "permanent" => ToolError::failed("never works").permanent(),
                "unavailable" => ToolError::unavailable("not there"),
                _ => ToolError::failed("did not work"),
            })
        })
    })
}

/// Waits until the test lets it go on.
fn gate(world: &World, id: &str, mode: innkeeper_protocol::ExecutionMode) -> Offer {
    let parameters = object(
        json!({
            "gate": {"type": "string"},
            "result": {},
            "fail": {"type": "boolean"},
            "progress": {"type": "string"},
        }),
        &["gate"],
    );
    world.tool(id, mode, parameters, |seen, call| {
        Box::pin(async move {
            let progress = text(&call.arguments, "progress");
            if !progress.is_empty() {
                call.context.progress.report(Some(0.5), &progress);
                call.context.progress.partial(&json!([progress]));
            }
            seen.pass(&text(&call.arguments, "gate")).await;
            match call.arguments.get("fail") {
                Some(Json::Bool(true)) => Err(ToolError::failed("the paint ran out")),
                _ => Ok(call
                    .arguments
                    .get("result")
                    .cloned()
                    .unwrap_or("passed".into())),
            }
        })
    })
}

/// Writes a file in the background, when it is let.
fn make(world: &World) -> Offer {
    let parameters = object(
        json!({
            "gate": {"type": "string"},
            "output_uri": {"type": "string"},
            "content": {"type": "string"},
            "fail": {"type": "boolean"},
        }),
        &["gate", "output_uri"],
    );
    let files = world.manager.files().clone();
    world.tool("Make", Async, parameters, move |seen, call| {
        let files = files.clone();
        Box::pin(async move {
            seen.pass(&text(&call.arguments, "gate")).await;
            if call.arguments.get("fail") == Some(&Json::Bool(true)) {
                return Err(ToolError::failed("the paint ran out"));
            }
            let uri = files.resolve(&call.context.caller, &text(&call.arguments, "output_uri"))?;
            let bytes = text(&call.arguments, "content").into_bytes();
            files
                .write(&uri, bytes, innkeeper_tools::file::WriteMode::Replace)
                .await?;
            Ok(json!({"uri": uri}))
        })
    })
}
