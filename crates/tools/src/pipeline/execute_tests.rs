use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use serde_json::json;

use super::*;
use crate::Executor;
use crate::registry::{Lookup, Offer, Prepared, Registry, Source};

type Answer = Box<dyn Fn(u32) -> Option<Result<Json, ToolError>> + Send + Sync>;

/// Answers by attempt; `None` never ends.
struct Scripted {
    calls: AtomicU32,
    tokens: Mutex<Vec<CancellationToken>>,
    answer: Answer,
    /// Says after the tool's time, and a second, that it is over.
    keeps_time: bool,
}

#[async_trait]
impl Executor for Scripted {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        assert_eq!(call.context.attempt, number);
        self.tokens
            .lock()
            .unwrap()
            .push(call.context.cancel.clone());
        match (self.answer)(number) {
            Some(answer) => answer,
            None if self.keeps_time => {
                tokio::time::sleep(timeout_of(&call.tool) + Duration::from_secs(1)).await;
                Err(ToolError::new(ErrorCode::ToolTimeout, "its last words"))
            }
            None => std::future::pending().await,
        }
    }

    fn keeps_time(&self) -> bool {
        self.keeps_time
    }
}

fn job(
    retry: u8,
    answer: impl Fn(u32) -> Option<Result<Json, ToolError>> + Send + Sync + 'static,
) -> (Job, Arc<Scripted>) {
    let executor = Arc::new(Scripted {
        calls: AtomicU32::new(0),
        tokens: Mutex::default(),
        answer: Box::new(answer),
        keeps_time: false,
    });
    (job_for(retry, executor.clone()), executor)
}

fn job_for(retry: u8, executor: Arc<dyn Executor>) -> Job {
    let definition = ToolDefinition::new("T", "", json!({"type": "object"}));
    let registry = Registry::default();
    let source = Source {
        tools: vec![Offer::new(Prepared::new(definition).unwrap(), executor)],
        ..Source::default()
    };
    registry.replace("test", source).unwrap();
    let snapshot = registry.snapshot();
    let Lookup::Found(tool) = snapshot.find("T") else {
        panic!("registered");
    };
    Job {
        tool: tool.clone(),
        arguments: Map::new(),
        caller: Arc::new(Caller::person(RunId::new("r"))),
        call_id: "c".into(),
        asked_as: None,
        retry,
        cancel: CancellationToken::new(),
        run: CancellationToken::new(),
        results: ResultLength::Capped,
        spill: None,
        within: None,
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_may_pass_is_tried_again() {
    let failed = || ToolError::failed("no");
    for (error, retry, attempts) in [
        (failed(), 0, 1),
        (failed(), 3, 4),
        (ToolError::unavailable("no"), 2, 3),
        (failed().permanent(), 3, 1),
        (ToolError::invalid("no"), 3, 1),
        (ToolError::denied("no"), 3, 1),
    ] {
        let again = error.clone();
        let (job, executor) = job(retry, move |_| Some(Err(again.clone())));
        let ended = run(&job, &Progress::default()).await;
        assert_eq!(ended.attempts, attempts, "{error:?}");
        assert_eq!(executor.calls.load(Ordering::SeqCst), attempts);
        assert!(matches!(ended.result, Err(Stopped::Failed(e)) if e == error));
    }
}

#[tokio::test(start_paused = true)]
async fn the_third_time_is_lucky() {
    let (job, _) = job(5, |number| {
        Some(match number {
            3 => Ok(json!("done")),
            _ => Err(ToolError::failed("not yet")),
        })
    });
    let ended = run(&job, &Progress::default()).await;
    assert_eq!(ended.attempts, 3);
    assert_eq!(ended.result.unwrap(), json!("done"));
}

#[derive(Default)]
struct StartedOver(AtomicU32);

impl crate::ProgressSink for StartedOver {
    fn report(&self, _: Option<f64>, _: &str) {}

    fn start_over(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn each_new_try_starts_over() {
    let (job, _) = job(2, |_| Some(Err(ToolError::failed("no"))));
    let sink = Arc::new(StartedOver::default());
    run(&job, &Progress::to(sink.clone())).await;
    assert_eq!(sink.0.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn time_is_limited_and_the_tool_is_told() {
    let (job, executor) = job(1, |_| None);
    let ended = run(&job, &Progress::default()).await;
    assert_eq!(ended.attempts, 2);
    assert!(matches!(ended.result, Err(Stopped::Failed(e)) if e.code == ErrorCode::ToolTimeout));
    let tokens = executor.tokens.lock().unwrap();
    assert!(tokens.iter().all(CancellationToken::is_cancelled));
    assert!(!job.cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn who_keeps_the_time_may_say_what_came_of_it() {
    let job = job_for(
        0,
        Arc::new(Scripted {
            calls: AtomicU32::new(0),
            tokens: Mutex::default(),
            answer: Box::new(|_| None),
            keeps_time: true,
        }),
    );
    let ended = run(&job, &Progress::default()).await;
    assert!(matches!(ended.result, Err(Stopped::Failed(e)) if e.message == "its last words"));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_work_and_the_waiting() {
    let (waiting, _) = job(0, |_| None);
    waiting.cancel.cancel();
    let ended = run(&waiting, &Progress::default()).await;
    assert!(matches!(ended.result, Err(Stopped::Cancelled)));

    let cancel = CancellationToken::new();
    let inner = cancel.clone();
    let (mut between, executor) = job(9, move |_| {
        inner.cancel();
        Some(Err(ToolError::failed("no")))
    });
    between.cancel = cancel;
    let ended = run(&between, &Progress::default()).await;
    assert!(matches!(ended.result, Err(Stopped::Cancelled)));
    assert_eq!(executor.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_panic_is_a_failure() {
    let (job, _) = job(3, |_| {
        panic!("a bug in a tool (this line in the output is expected)")
    });
    let ended = run(&job, &Progress::default()).await;
    assert_eq!(ended.attempts, 1);
    assert!(
        matches!(ended.result, Err(Stopped::Failed(e)) if e.reason.as_deref() == Some("tool.panicked"))
    );
}

#[test]
fn the_pause_doubles_within_bounds() {
    for (attempts, most) in [
        (1, MIN_BACK_OFF),
        (2, MIN_BACK_OFF * 2),
        (4, MIN_BACK_OFF * 8),
        (99, MAX_BACK_OFF),
    ] {
        for _ in 0..50 {
            let pause = back_off(attempts);
            assert!(pause >= most / 2 && pause <= most, "{attempts}: {pause:?}");
        }
    }
}

#[test]
fn a_declared_time_is_kept_within_bounds() {
    let mut tool = ToolDefinition::new("T", "", json!({}));
    for (mode, declared, expected) in [
        (ExecutionMode::Sync, None, SYNC_TIMEOUT),
        (ExecutionMode::Async, None, ASYNC_TIMEOUT),
        (ExecutionMode::Sync, Some(5_000), Duration::from_secs(5)),
        (ExecutionMode::Sync, Some(0), MIN_TIMEOUT),
        (ExecutionMode::Sync, Some(u64::MAX), MAX_TIMEOUT),
    ] {
        tool.execution.mode = mode;
        tool.execution.timeout_ms = declared;
        assert_eq!(timeout_of(&tool), expected);
    }
}
