//! Blocks that are told call by call, so that a run can go on in the middle of one.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, Observation, parse, parse_response};
use innkeeper_store::Store;
use innkeeper_tools::policy::Nobody;
use innkeeper_tools::{
    BlockOptions, BlockRan, CallEnd, CallListener, Settled, Starting, ToolError, ToolRun,
};
use serde_json::json;

use super::harness::{World, codes, tam};

/// Remembers what it heard, and fails at what it is told to.
#[derive(Default)]
struct Ear {
    heard: Mutex<Vec<String>>,
    fails_at: Option<&'static str>,
}

impl Ear {
    fn hear(&self, what: String) -> Result<(), ToolError> {
        let fails = self.fails_at == Some(what.as_str());
        self.heard.lock().unwrap().push(what);
        match fails {
            true => Err(ToolError::failed("the disk is full").permanent()),
            false => Ok(()),
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

#[async_trait]
impl CallListener for Ear {
    async fn starting(&self, call: Starting<'_>) -> Result<(), ToolError> {
        self.hear(format!("{} starts {}", call.position, call.tool.id))
    }

    async fn ended(&self, end: CallEnd<'_>) -> Result<(), ToolError> {
        let code = end.observation.error_code().map_or("ok", ErrorCode::as_str);
        self.hear(format!("{} {code}", end.position))
    }
}

async fn ran(run: &ToolRun, text: &str, ear: &Arc<Ear>, options: BlockOptions) -> BlockRan {
    let reply = parse(text);
    let options = BlockOptions {
        listener: Some(ear.clone()),
        ..options
    };
    run.run_block_with(&reply.blocks[0], options).await
}

fn settled(result: &str) -> Option<Settled> {
    Some(Settled {
        observation: Observation::success("Echo", result),
        full: None,
    })
}

const THREE: &str = "command_1: Echo\n text_1: one\n command_2: Fail\n on_error_2: continue
    command_3: Echo\n text_3: after @{step_1.result}";

#[tokio::test]
async fn each_call_is_heard_of_before_and_after() {
    let (world, ear) = (World::new().await, Arc::new(Ear::default()));
    let ran = ran(&world.run("r"), &tam(THREE), &ear, BlockOptions::default()).await;
    assert_eq!(codes(&ran.calls), ["ok", "tool.execution_failed", "ok"]);
    assert_eq!(ran.broken, None);
    assert_eq!(
        ear.heard(),
        [
            "0 starts Echo",
            "0 ok",
            "1 starts Fail",
            "1 tool.execution_failed",
            "2 starts Echo",
            "2 ok"
        ]
    );
}

#[tokio::test]
async fn what_never_starts_is_heard_of_at_its_end() {
    let (world, ear) = (World::new().await, Arc::new(Ear::default()));
    let text = tam("command_1: Nobody.Knows\n command_2: Echo\n text_2: two");
    let ran = ran(&world.run("r"), &text, &ear, BlockOptions::default()).await;
    assert_eq!(codes(&ran.calls).len(), 2);
    assert_eq!(ear.heard()[0], "0 tool.unknown");
    assert_eq!(ear.heard().len(), 2, "{:?}", ear.heard());
    assert!(world.ran().is_empty());
}

#[tokio::test]
async fn what_is_settled_is_not_run_again_and_can_be_referred_to() {
    let (world, ear) = (World::new().await, Arc::new(Ear::default()));
    let options = BlockOptions {
        settled: vec![settled("earlier"), None, None],
        resumed: true,
        ..BlockOptions::default()
    };
    let ran = ran(&world.run("r"), &tam(THREE), &ear, options).await;
    assert_eq!(codes(&ran.calls), ["ok", "tool.execution_failed", "ok"]);
    assert_eq!(world.echoed(), ["after earlier"]);
    assert!(!ear.heard().iter().any(|heard| heard.starts_with('0')));
}

#[tokio::test]
async fn a_listener_that_fails_stops_the_block() {
    for (at, heard, echoed) in [
        // It could not be written down, so it does not act.
        ("0 starts Echo", 2, 0),
        ("0 ok", 2, 1),
    ] {
        let world = World::new().await;
        let ear = Arc::new(Ear {
            fails_at: Some(at),
            ..Ear::default()
        });
        let text = tam("command_1: Echo\n text_1: one\n command_2: Echo\n text_2: two");
        let ran = ran(&world.run("r"), &text, &ear, BlockOptions::default()).await;
        assert_eq!(world.echoed().len(), echoed, "{at}: {:?}", ear.heard());
        assert!(ear.heard().len() >= heard, "{at}: {:?}", ear.heard());
        assert!(
            !ear.heard().contains(&"1 starts Echo".to_owned()),
            "{at}: {:?}",
            ear.heard()
        );
        if at == "0 ok" {
            assert!(ran.broken.is_some(), "{at}");
        }
    }
}

#[tokio::test]
async fn native_calls_are_heard_of_under_their_places() {
    let (world, ear) = (World::new().await, Arc::new(Ear::default()));
    let call = |number: usize, text: &str| {
        let function = json!({"name": "Echo", "arguments": json!({"text": text}).to_string()});
        json!({"id": format!("c{number}"), "type": "function", "function": function})
    };
    let calls = [call(0, "a"), call(1, "b"), call(2, "c")];
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]});
    let reply = parse_response(&answer).unwrap();
    let options = BlockOptions {
        listener: Some(ear.clone()),
        settled: vec![None, settled("b"), None],
        ..BlockOptions::default()
    };
    let ran = world
        .run("r")
        .run_block_with(&reply.blocks[0], options)
        .await;
    assert_eq!(codes(&ran.calls), ["ok", "ok", "ok"]);
    let mut heard = ear.heard();
    heard.sort();
    assert_eq!(heard, ["0 ok", "0 starts Echo", "2 ok", "2 starts Echo"]);
    let mut echoed = world.echoed();
    echoed.sort();
    assert_eq!(echoed, ["a", "c"]);
}

/// The request is in the store as begun, by a process that is gone; the run that is recovered knows how far it came.
#[tokio::test]
async fn a_request_that_was_cut_off_goes_on_where_its_run_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("innkeeper.db");
    let text = tam(
        "request_id: r-1\n command_1: Echo\n text_1: one\n command_2: Gate.Sync\n gate_2: a
        command_3: Echo\n text_3: after @{step_1.result}",
    );
    let before = World::with(Store::open(&path).await.unwrap(), Arc::new(Nobody));
    let (run, ear) = (before.run("r"), Arc::new(Ear::default()));
    {
        let mut running = Box::pin(ran(&run, &text, &ear, BlockOptions::default()));
        before.until_at("a", &mut running).await;
        before.manager.store().clone().close().await.unwrap();
    }
    assert_eq!(before.echoed(), ["one"]);
    drop((run, before));

    let after = World::with(Store::open(&path).await.unwrap(), Arc::new(Nobody));
    after.open("a");
    let options = BlockOptions {
        settled: vec![settled("one"), None, None],
        resumed: true,
        ..BlockOptions::default()
    };
    let again = ran(&after.run("r"), &text, &Arc::new(Ear::default()), options).await;
    assert_eq!(codes(&again.calls), ["ok", "ok", "ok"]);
    assert_eq!(after.echoed(), ["after one"]);
    // Once it is through, the same request is answered with what came of it.
    let ear = Arc::new(Ear::default());
    let kept = ran(&after.run("r"), &text, &ear, BlockOptions::default()).await;
    assert_eq!(kept.calls.len(), 3);
    assert_eq!(after.echoed(), ["after one"]);
}
