//! The tools on the way of every call: written by a model, bound, run, and told of.

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{Observation, Outcome, ToolDefinition, parse, render_observation};
use innkeeper_store::{LocalBus, Store};
use innkeeper_tools::file::FileLayer;
use innkeeper_tools::limits::MAX_SHOWN_CHARS;
use innkeeper_tools::policy::{Nobody, Policy};
use innkeeper_tools::{
    BlockOptions, Caller, Executor, Invocation, Parts, Reach, RunOptions, SystemClock, ToolError,
    ToolManager, ToolRun, builtin,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::state::How;
use super::testing::House;
use crate::limits::MAX_SHOWN_READ_CHARS;

struct Talkative;

#[async_trait]
impl Executor for Talkative {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Ok(json!("字".repeat(MAX_SHOWN_CHARS + 1)))
    }
}

async fn run_in(house: &House, home: &std::path::Path) -> ToolRun {
    let manager = ToolManager::new(Parts {
        files: FileLayer::open(home).unwrap(),
        store: Store::in_memory().await.unwrap(),
        bus: Arc::new(LocalBus::new()),
        approver: Arc::new(Nobody),
        policy: Policy::default(),
        clock: Arc::new(SystemClock),
    });
    let mut talkative = ToolDefinition::new("Talk", "Says much.", json!({"type": "object"}));
    talkative.source = builtin::SOURCE.to_owned();
    let tools = house.tools().iter().cloned();
    let all: Vec<builtin::Tool> = tools
        .chain([(talkative, Arc::new(Talkative) as Arc<dyn Executor>)])
        .collect();
    let source = builtin::source(all).unwrap();
    manager.registry().replace(builtin::SOURCE, source).unwrap();
    let options = RunOptions {
        spill: Some(house.session.clone()),
        ..RunOptions::default()
    };
    let caller = Caller::agent("t", RunId::new("run_1"), Reach::everything());
    manager.begin(caller, options)
}

/// One call of a reply, and what was journaled with its end.
async fn say(run: &ToolRun, house: &House, call: &str, text: &str) -> (Observation, super::Taken) {
    let reply = parse(text);
    let options = BlockOptions {
        names: vec![call.to_owned()],
        ..BlockOptions::default()
    };
    let ran = run.run_block_with(&reply.blocks[0], options).await;
    let observation = ran.calls.into_iter().next().unwrap();
    let went_well = observation.error_code().is_none();
    let taken = house.journal(call, went_well).await;
    (observation, taken)
}

fn tam(fields: &[(&str, &str)]) -> String {
    let lines = fields
        .iter()
        .map(|(key, value)| format!("{key}:»»»{value}«««\n"));
    format!(
        "<|[REQUEST_TOOL]|>\n{}<|[END_TOOL]|>\n",
        lines.collect::<String>()
    )
}

fn result(observation: &Observation) -> &Json {
    match &observation.outcome {
        Outcome::Success { result, .. } => result,
        other => panic!("no success: {other:?}"),
    }
}

#[tokio::test]
async fn a_model_writes_reads_and_patches() {
    let house = House::new(&[]);
    let home = tempfile::tempdir().unwrap();
    let run = run_in(&house, home.path()).await;
    let write = tam(&[
        ("command", "workspace.write_file"),
        ("path", "output/main.md"),
        ("content", "\n  一 indented\n\nlast  \n"),
    ]);
    let (_, taken) = say(&run, &house, "c1", &write).await;
    assert_eq!(taken.change.files.len(), 1);
    assert_eq!(
        house.text_of("output/main.md").await,
        "  一 indented\n\nlast  ",
        "as it was written"
    );
    let read = tam(&[
        ("command", "workspace.read_file"),
        ("path", "output/main.md"),
        ("start_line", "3"),
    ]);
    let (seen, _) = say(&run, &house, "c2", &read).await;
    assert_eq!(result(&seen)["content"], "3 | last  ");
    let patch = tam(&[
        ("command", "workspace.apply_patch"),
        ("path", "output/main.md"),
        ("old_string", "last  "),
        ("new_string", ""),
        ("replace_all", "false"),
    ]);
    let (_, taken) = say(&run, &house, "c3", &patch).await;
    assert_eq!(taken.change.files[0].how, How::Patched { replacements: 1 });
    let (refused, _) = say(&run, &house, "c4", &patch).await;
    let told = render_observation(&refused);
    assert!(told.contains("workspace.patch_failed"), "{told}");
    let list = tam(&[("command", "workspace.list_files"), ("depth", "1")]);
    let (listed, _) = say(&run, &house, "c5", &list).await;
    assert_eq!(result(&listed)["entries"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_long_result_is_a_file_of_the_run() {
    let house = House::new(&[]);
    let home = tempfile::tempdir().unwrap();
    let run = run_in(&house, home.path()).await;
    let (said, taken) = say(&run, &house, "call_1", &tam(&[("command", "Talk")])).await;
    let Outcome::Success {
        spilled: Some(spilled),
        ..
    } = &said.outcome
    else {
        panic!("{said:?}");
    };
    assert_eq!(
        spilled.reference,
        "scratch/results/call_74196fe72e4cdc13.txt"
    );
    assert_eq!(taken.change.files[0].how, How::Spilled);
    let whole = house.text_of(&spilled.reference).await;
    assert_eq!(whole.chars().count(), MAX_SHOWN_CHARS + 1);
    // Reading it is shown at greater length than that, and so is known.
    let read = tam(&[
        ("command", "workspace.read_file"),
        ("path", &spilled.reference),
    ]);
    let (seen, taken) = say(&run, &house, "call_2", &read).await;
    assert_eq!(result(&seen)["fullRead"], true);
    assert!(taken.change.reads[0].1.full);
    assert!(render_observation(&seen).chars().count() <= MAX_SHOWN_READ_CHARS + 200);
}
