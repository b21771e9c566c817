use std::sync::Arc;

use innkeeper_engine::{
    EngineOptions, ExecutionEngine, ExecutionOutcome, NoWorkflows, NodeManager, RunOptions,
    Workflow,
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::limits::MAX_EXECUTION_EVENTS;

fn new(number: usize) -> New {
    New {
        id: format!("exec_{number:06}"),
        name: "test".to_owned(),
        workflow: None,
        project: "default".to_owned(),
        cancel: CancellationToken::new(),
        now: Timestamp::UNIX_EPOCH,
    }
}

/// A workflow without nodes: it begins and ends.
async fn ran(executions: &Executions, number: usize) -> Arc<Execution> {
    let engine = ExecutionEngine::new(NodeManager::empty(), EngineOptions::default());
    let workflow = Arc::new(Workflow::new("test"));
    let plan = engine.prepare(&workflow, &NoWorkflows).plan.unwrap();
    let execution = executions.add(new(number)).unwrap_or_else(|_| panic!());
    let events = engine.subscribe_to(execution.id.as_str());
    let options = RunOptions {
        prompt_id: Some(execution.id.clone()),
        ..RunOptions::default()
    };
    let running = engine.start(&plan, options).unwrap();
    drive(executions.clone(), execution.clone(), events, running).await;
    execution
}

async fn told(mut follower: Follower) -> (Vec<u64>, Vec<u64>) {
    let (mut numbers, mut lags) = (Vec::new(), Vec::new());
    loop {
        match follower.next().await {
            Followed::Events(events) => numbers.extend(events.iter().map(|event| event.seq)),
            Followed::Lagged { missed } => lags.push(missed),
            Followed::End => return (numbers, lags),
        }
    }
}

#[tokio::test]
async fn whoever_follows_hears_each_event_once_and_the_end() {
    let executions = Executions::default();
    let execution = ran(&executions, 1).await;
    assert!(execution.status().is_end());
    let last = execution.last_seq();
    assert!(last >= 2);
    assert_eq!(
        told(execution.follow(0)).await,
        ((1..=last).collect(), vec![])
    );
    assert_eq!(told(execution.follow(last - 1)).await, (vec![last], vec![]));
    assert_eq!(told(execution.follow(last)).await, (vec![], vec![]));
    // A number that is not there yet.
    assert_eq!(told(execution.follow(u64::MAX)).await, (vec![], vec![]));
}

#[tokio::test]
async fn what_is_kept_no_more_is_counted() {
    let executions = Executions::default();
    let execution = ran(&executions, 1).await;
    let (_, events) = execution.events(0, 1);
    let first = events.first().unwrap();
    let unfinished = executions.add(new(2)).unwrap_or_else(|_| panic!());
    let numbered = |seq: u64| {
        let mut event = (**first).clone();
        event.seq = seq;
        Arc::new(event)
    };
    let most = MAX_EXECUTION_EVENTS as u64;
    for seq in 1..=most + 10 {
        unfinished.log.add(numbered(seq));
    }
    // A gap in the middle, as where the engine's own queue ran over.
    unfinished.log.add(numbered(most + 15));
    unfinished.log.close();
    let (numbers, lags) = told(unfinished.follow(0)).await;
    assert_eq!(lags, [11, 4]);
    assert_eq!(numbers.len(), MAX_EXECUTION_EVENTS);
    assert_eq!(unfinished.events(5, 1).0, 6);
}

#[tokio::test]
async fn the_oldest_that_have_ended_make_room() {
    let executions = Executions::default();
    let first = ran(&executions, 0).await;
    for number in 1..MAX_EXECUTIONS {
        executions.add(new(number)).unwrap_or_else(|_| panic!());
    }
    executions
        .add(new(MAX_EXECUTIONS))
        .unwrap_or_else(|_| panic!());
    assert!(executions.get(&first.id).is_none());
    let refused = executions.add(new(MAX_EXECUTIONS + 1)).err().unwrap();
    assert_eq!(refused.code, ErrorCode::HttpRateLimited);
}

#[tokio::test]
async fn large_outputs_push_out_older_ones() {
    let executions = Executions::default();
    let large = |number: usize| {
        let execution = executions.add(new(number)).unwrap_or_else(|_| panic!());
        let text = "x".repeat(MAX_EXECUTIONS_BYTES / 2 + 1);
        let outputs = vec![("text".into(), innkeeper_engine::Value::from(text))];
        let outcome = ExecutionOutcome {
            prompt_id: execution.id.as_str().into(),
            status: innkeeper_engine::ExecutionStatus::Complete,
            outputs: Arc::new(outputs),
            error: None,
            failures: Vec::new(),
            failed: 0,
        };
        execution.finish(outcome, Timestamp::UNIX_EPOCH);
        executions.tidy();
        execution
    };
    let (one, two) = (large(1), large(2));
    assert!(executions.get(&one.id).is_none());
    assert!(executions.get(&two.id).is_some());
}
