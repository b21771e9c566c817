//! Whatever stands in a workflow file: it is read, checked and, where it can be, run; unchanged it is saved as it was.
//! A node may fail, but never by a panic, and none is left waiting.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use innkeeper_engine::{
    EngineOptions, ExecutionEngine, NoWorkflows, NodeManager, RunOptions, Workflow,
};
use libfuzzer_sys::fuzz_target;

static ENGINE: LazyLock<ExecutionEngine> =
    LazyLock::new(|| ExecutionEngine::new(NodeManager::new(), EngineOptions::default()));

static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some(workflow) = Workflow::read(text).workflow else {
        return;
    };
    assert_eq!(workflow.to_text(), text);
    let Some(plan) = ENGINE.prepare(&Arc::new(workflow), &NoWorkflows).plan else {
        return;
    };
    let options = RunOptions {
        timeout: Some(Duration::from_millis(50)),
        ..RunOptions::default()
    };
    let Ok(outcome) = RUNTIME.block_on(ENGINE.run(&plan, options)) else {
        return;
    };
    for failure in &outcome.failures {
        let code = failure.error.code.as_str();
        assert!(
            !["node.panicked", "run.stuck"].contains(&code),
            "{failure:?}"
        );
    }
});
