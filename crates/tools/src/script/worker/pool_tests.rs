//! Time stands still in these tests and moves on only when everybody waits for it.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::testing::{TIMEOUT, Theatre, call, spec};
use super::*;
use crate::ProgressSink;
use crate::limits::{
    MAX_SCRIPT_INPUT_BYTES, MAX_WORKER_LINE_BYTES, MIN_WORKER_BACK_OFF, WORKER_CANCEL_GRACE,
    WORKER_STOP_GRACE,
};
use crate::script::{EnvironmentValue, ScriptError};
use crate::{Redactor, Secret};

#[tokio::test(start_paused = true)]
async fn one_worker_answers_call_after_call() {
    let mut theatre = Theatre::new(4);
    let first = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let message = far.next().await.unwrap();
    assert_eq!(
        message,
        json!({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"tool": "T", "arguments": {}}})
    );
    far.answer(1, json!("one")).await;
    assert_eq!(first.await.unwrap(), Ok(json!("one")));
    let second = theatre.call(&spec("p"));
    let id = far.called().await;
    far.answer(id, json!("two")).await;
    assert_eq!(second.await.unwrap(), Ok(json!("two")));
    assert!(theatre.no_worker());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let mut theatre = Theatre::new(4);
    let begun = Instant::now();
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.print(&format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"result\": NaN}}\n"
    ))
    .await;
    let error = calling.await.unwrap().unwrap_err();
    let told = error.told(&Redactor::default());
    assert_eq!(told.reason.as_deref(), Some("script.worker_protocol"));
    assert!(told.message.contains("it is no JSON"), "{told}");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // The worker itself goes on.
    let next = theatre.call(&spec("p"));
    let id = far.called().await;
    far.answer(id, json!("two")).await;
    assert_eq!(next.await.unwrap(), Ok(json!("two")));
    assert!(theatre.no_worker());
}

#[tokio::test(start_paused = true)]
async fn what_differs_is_another_worker() {
    type Change = fn(&mut WorkerSpec);
    let changes: [(&str, Change); 9] = [
        ("owner", |it| it.owner = "other".into()),
        ("stamp", |it| it.stamp = 2),
        ("files", |it| {
            it.sources = Revision::of([b"edited".as_slice()])
        }),
        ("program", |it| it.job.program = "node".into()),
        ("arguments", |it| it.job.arguments.clear()),
        ("folder", |it| it.job.directory = "/tmp".into()),
        ("a setting", |it| {
            it.job.environment[0].1 = EnvironmentValue::Secret(Secret::new("w"));
        }),
        ("a variable", |it| {
            let value = EnvironmentValue::Plain("bob".into());
            it.job.environment.push(("INNKEEPER_USER".into(), value));
        }),
        ("hosts", |it| it.job.reach.hosts = vec!["a.example".into()]),
    ];
    for (what, change) in changes {
        let mut theatre = Theatre::new(4);
        let _first = theatre.call(&spec("p"));
        let mut far = theatre.worker().await;
        far.called().await;
        let mut other = spec("p");
        change(&mut other);
        let _second = theatre.call(&other);
        let mut second = theatre.worker().await;
        second.called().await;
        // Only times differ, so it waits for its turn.
        let mut same = spec("p");
        same.idle = Duration::from_secs(5);
        same.job.limits.timeout = Duration::from_secs(5);
        let _third = theatre.call(&same);
        tokio::task::yield_now().await;
        assert!(theatre.no_worker(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_calls_at_once_as_it_takes() {
    let mut theatre = Theatre::new(4);
    let mut two = spec("p");
    two.concurrency = 2;
    let calls: Vec<_> = (0..3).map(|_| theatre.call(&two)).collect();
    let mut far = theatre.worker().await;
    let (a, b) = (far.called().await, far.called().await);
    // Answers may come in any order; the third call comes when one is done.
    far.answer(b, json!(b)).await;
    let c = far.called().await;
    far.answer(c, json!(c)).await;
    far.answer(a, json!(a)).await;
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap().unwrap());
    }
    results.sort_by_key(|id| id.as_u64());
    assert_eq!(json!(results), json!([1, 2, 3]));
    assert!(theatre.no_worker());
}

#[derive(Default)]
struct Heard(Mutex<Vec<Json>>);

impl ProgressSink for Heard {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.0.lock().unwrap().push(json!([fraction, message]));
    }

    fn partial(&self, piece: &Json) {
        self.0.lock().unwrap().push(json!({"piece": piece}));
    }
}

#[tokio::test(start_paused = true)]
async fn progress_and_pieces_come_before_the_answer() {
    let mut theatre = Theatre::new(4);
    let heard = Arc::new(Heard::default());
    let mut asking = call();
    asking.progress = Progress::to(heard.clone());
    let calling = theatre.call_with(&spec("p"), asking);
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.notify(
        "progress",
        json!({"id": id, "fraction": 0.5, "message": "half"}),
    )
    .await;
    far.notify("partial", json!({"id": id, "data": ["a"]}))
        .await;
    far.notify("log", json!({"id": id, "message": "note"}))
        .await;
    far.notify("log", json!({"message": "of nobody"})).await;
    // Of calls that are not there: nobody's.
    far.notify("progress", json!({"id": 99, "message": "?"}))
        .await;
    far.notify("partial", json!({"id": 99, "data": 1})).await;
    far.answer(id, json!(1)).await;
    assert_eq!(calling.await.unwrap(), Ok(json!(1)));
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(
        json!(heard),
        json!([[0.5, "half"], {"piece": ["a"]}, [null, "note"]])
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_keeps_no_one_from_being_heard() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    let mut flood = String::new();
    for number in 0..50_000 {
        flood.push_str(&format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{{\"id\":{id},\"message\":\"{number}\"}}}}\nstray {number}\n"
        ));
    }
    far.print(&flood).await;
    calling.abort();
    assert_eq!(far.cancelled().await, id);
    far.print(&flood).await;
    far.answer(id, json!(1)).await;
    let next = theatre.call(&spec("p"));
    let id = far.called().await;
    far.answer(id, json!(2)).await;
    assert_eq!(next.await.unwrap(), Ok(json!(2)));
    assert!(!far.killed.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn garbage_is_kept_for_the_day_it_dies() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    far.called().await;
    far.print("loading model\n{\"half\": \n[1, 2]\n\n\u{0}\u{7f}\n")
        .await;
    far.answer(77, json!("to whom?")).await;
    far.say(json!({"jsonrpc": "2.0", "id": "q", "method": "sample"}))
        .await;
    let refused = far.next().await.unwrap();
    assert_eq!(refused["id"], "q");
    assert_eq!(refused["error"]["code"], -32601);
    far.complain("Traceback: no memory\n").await;
    tokio::task::yield_now().await;
    far.die("was ended by signal 9");
    let error = calling.await.unwrap().unwrap_err();
    let told = error.told(&Redactor::default());
    assert_eq!(told.reason.as_deref(), Some("script.worker_died"));
    assert!(told.may_pass());
    for part in [
        "the worker was ended by signal 9 before it answered; it said: ",
        "loading model\n",
        "[1, 2]\n",
        "an answer to 77, which nobody asked",
        "asked the host for 'sample'",
        "Traceback: no memory",
    ] {
        assert!(told.message.contains(part), "{part}: {}", told.message);
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_rules_is_ended_and_says_why() {
    for (line, why) in [
        (
            "x".repeat(MAX_WORKER_LINE_BYTES + 1),
            "the worker wrote a line of more than 16 MiB, and was ended before it answered",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#.to_owned(),
            "the worker sent a batch, and only single messages are read, and was ended before it answered",
        ),
    ] {
        let mut theatre = Theatre::new(4);
        let calling = theatre.call(&spec("p"));
        let mut far = theatre.worker().await;
        far.called().await;
        far.print(&format!("{line}\n")).await;
        let error = calling.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), why);
        assert!(far.killed.is_cancelled());
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_line_is_read_whatever_pieces_it_comes_in() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    let text = "x".repeat(MAX_WORKER_LINE_BYTES - 100);
    far.answer(id, json!(text)).await;
    assert_eq!(calling.await.unwrap(), Ok(json!(text)));
}

#[tokio::test(start_paused = true)]
async fn after_a_death_the_next_call_starts_another() {
    let mut theatre = Theatre::new(4);
    for round in 0..5 {
        let calling = theatre.call(&spec("p"));
        let mut far = theatre.worker().await;
        let id = far.called().await;
        far.answer(id, json!(round)).await;
        assert_eq!(calling.await.unwrap(), Ok(json!(round)));
        // One that has worked may die as often as it likes.
        let calling = theatre.call(&spec("p"));
        far.called().await;
        far.die("ended with exit code 3");
        let error = calling.await.unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the worker ended with exit code 3 before it answered"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_on_the_way_out_still_counts() {
    for ending in ["\n", ""] {
        let mut theatre = Theatre::new(4);
        let calling = theatre.call(&spec("p"));
        let mut far = theatre.worker().await;
        let id = far.called().await;
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": "last"});
        far.print(&format!("{answer}{ending}")).await;
        far.die("ended with exit code 0");
        assert_eq!(calling.await.unwrap(), Ok(json!("last")));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_at_once_is_tried_less_and_less_often() {
    let mut theatre = Theatre::new(4);
    let mut pause = Duration::ZERO;
    for times in 1..=9_u32 {
        let calling = theatre.call(&spec("p"));
        let mut far = theatre.worker().await;
        far.complain(&format!("no module named x ({times})\n"))
            .await;
        far.die("ended with exit code 1");
        let error = calling.await.unwrap().unwrap_err();
        assert!(matches!(error, WorkerError::Died { .. }), "{error}");
        pause = match times {
            1 => continue,
            2 => MIN_WORKER_BACK_OFF,
            _ => (pause * 2).min(Duration::from_secs(60)),
        };
        let error = theatre.call(&spec("p")).await.unwrap().unwrap_err();
        assert!(theatre.no_worker());
        let told = error.told(&Redactor::default());
        assert_eq!(told.reason.as_deref(), Some("script.worker_failing"));
        let expected = format!(
            "the worker ended with exit code 1, {times} times in a row without an answer; it is not started again for {} ms; it said: no module named x ({times})",
            pause.as_millis()
        );
        assert_eq!(told.message, expected);
        tokio::time::advance(pause).await;
    }
    // Once it works, all is forgotten.
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(1)).await;
    calling.await.unwrap().unwrap();
    let calling = theatre.call(&spec("p"));
    far.called().await;
    far.die("ended with exit code 1");
    calling.await.unwrap().unwrap_err();
    theatre.call(&spec("p"));
    theatre.worker().await.called().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_started_is_an_error_and_takes_no_seat() {
    let theatre = Theatre::new(1);
    let mut missing = spec("p");
    missing.job.program = "missing".into();
    for _ in 0..3 {
        let error = theatre.call(&missing).await.unwrap().unwrap_err();
        assert!(
            matches!(
                error,
                WorkerError::NotStarted(ScriptError::InterpreterMissing { .. })
            ),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_one_is_stopped() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    // Time at work is not idle time.
    tokio::time::advance(Duration::from_secs(120)).await;
    far.answer(id, json!(1)).await;
    calling.await.unwrap().unwrap();
    let since = Instant::now();
    assert_eq!(far.next().await, None);
    assert_eq!(since.elapsed().as_secs(), 60);
    // It has been told, and does not go.
    far.killed.cancelled().await;
    assert_eq!(since.elapsed(), Duration::from_secs(60) + WORKER_STOP_GRACE);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(2)).await;
    assert_eq!(calling.await.unwrap(), Ok(json!(2)));
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_idle_one_makes_room() {
    let mut theatre = Theatre::new(2);
    let mut fars = Vec::new();
    for name in ["a", "b"] {
        let calling = theatre.call(&spec(name));
        let mut far = theatre.worker().await;
        let id = far.called().await;
        far.answer(id, json!(1)).await;
        calling.await.unwrap().unwrap();
        fars.push(far);
    }
    // `a` is used again, so `b` has to go.
    let calling = theatre.call(&spec("a"));
    let id = fars[0].called().await;
    fars[0].answer(id, json!(1)).await;
    calling.await.unwrap().unwrap();
    let calling = theatre.call(&spec("c"));
    fars.pop().unwrap().stopped().await;
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(3)).await;
    assert_eq!(calling.await.unwrap(), Ok(json!(3)));
    let calling = theatre.call(&spec("a"));
    let id = fars[0].called().await;
    fars[0].answer(id, json!(4)).await;
    assert_eq!(calling.await.unwrap(), Ok(json!(4)));
}

#[tokio::test(start_paused = true)]
async fn where_all_are_busy_a_call_waits_for_as_long_as_it_may() {
    let mut theatre = Theatre::new(1);
    let first = theatre.call(&spec("a"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    let since = Instant::now();
    let mut hasty = call();
    hasty.timeout = Duration::from_secs(3);
    let error = theatre
        .call_with(&spec("b"), hasty)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(since.elapsed(), Duration::from_secs(3));
    let told = error.told(&Redactor::default());
    assert_eq!(told.reason.as_deref(), Some("script.worker_busy"));
    // One that waits longer is let in as soon as the other is idle, though its time is not over.
    let second = theatre.call(&spec("b"));
    tokio::task::yield_now().await;
    far.answer(id, json!(1)).await;
    first.await.unwrap().unwrap();
    far.stopped().await;
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(2)).await;
    assert_eq!(second.await.unwrap(), Ok(json!(2)));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_in_time_costs_nobody_anything() {
    let mut theatre = Theatre::new(4);
    let mut two = spec("p");
    two.concurrency = 2;
    let asking = call();
    let cancel = asking.cancel.clone();
    let unwanted = theatre.call_with(&two, asking);
    let mut far = theatre.worker().await;
    let id = far.called().await;
    let other = theatre.call(&two);
    let other_id = far.called().await;
    cancel.cancel();
    assert_eq!(unwanted.await.unwrap(), Err(WorkerError::Cancelled));
    assert_eq!(far.cancelled().await, id);
    // The answer comes late, and nobody wants it.
    far.answer(id, json!("late")).await;
    tokio::time::advance(WORKER_CANCEL_GRACE * 2).await;
    far.answer(other_id, json!("on time")).await;
    assert_eq!(other.await.unwrap(), Ok(json!("on time")));
    // An answer after that is one that nobody asked.
    far.answer(id, json!("again")).await;
    let next = theatre.call(&two);
    let id = far.called().await;
    far.answer(id, json!(1)).await;
    assert_eq!(next.await.unwrap(), Ok(json!(1)));
    assert!(!far.killed.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_with_a_cancelled_call_is_ended() {
    let mut theatre = Theatre::new(4);
    let mut two = spec("p");
    two.concurrency = 2;
    let mut hasty = call();
    hasty.timeout = Duration::from_secs(3);
    let unwanted = theatre.call_with(&two, hasty);
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.complain("thinking\n").await;
    let other = theatre.call(&two);
    far.called().await;
    let since = Instant::now();
    let told = unwanted
        .await
        .unwrap()
        .unwrap_err()
        .told(&Redactor::default());
    assert_eq!(told.reason.as_deref(), Some("script.timeout"));
    assert_eq!(
        told.message,
        "the worker gave no answer within 3000 ms; it was told to stop; it said: thinking"
    );
    assert_eq!(far.cancelled().await, id);
    far.killed.cancelled().await;
    assert_eq!(
        since.elapsed(),
        Duration::from_secs(3) + WORKER_CANCEL_GRACE
    );
    let error = other.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the worker did not stop with a cancelled call, and was ended before it answered"
    );
    // It was not its own end, so it is not held against the next one, however often it happens.
    for _ in 0..3 {
        let calling = theatre.call(&two);
        let mut far = theatre.worker().await;
        far.called().await;
        calling.abort();
        far.killed.cancelled().await;
    }
    theatre.call(&two);
    theatre.worker().await.called().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_sent_is_not_cancelled() {
    let mut theatre = Theatre::new(4);
    let mut two = spec("p");
    two.concurrency = 2;
    let mut large = call();
    large.params = json!("x".repeat(10_000));
    // More than the pipe takes, and nobody reads yet.
    let first = theatre.call_with(&two, large);
    let mut far = theatre.worker().await;
    tokio::task::yield_now().await;
    let second = theatre.call(&two);
    tokio::time::advance(Duration::from_secs(1)).await;
    second.abort();
    tokio::time::advance(Duration::from_secs(1)).await;
    let id = far.called().await;
    far.answer(id, json!(1)).await;
    assert_eq!(first.await.unwrap(), Ok(json!(1)));
    assert_eq!(far.next().await, None, "nothing until it is idle");
}

#[tokio::test(start_paused = true)]
async fn one_that_closes_a_pipe_is_of_no_use() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    far.called().await;
    far.close_stdout();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the worker closed its standard output (was stopped) before it answered"
    );
    assert!(far.killed.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_too_large_is_not_made() {
    let mut theatre = Theatre::new(4);
    let mut large = call();
    large.params = json!("x".repeat(MAX_SCRIPT_INPUT_BYTES));
    let error = theatre
        .call_with(&spec("p"), large)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error, WorkerError::TooLarge);
    // The turn was given back.
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(1)).await;
    calling.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_gone_or_changed_has_no_workers() {
    let mut theatre = Theatre::new(4);
    let mut fars = Vec::new();
    let mut calls = Vec::new();
    for name in ["kept", "gone", "busy"] {
        calls.push(theatre.call(&spec(name)));
        let mut far = theatre.worker().await;
        let id = far.called().await;
        if name != "busy" {
            far.answer(id, json!(1)).await;
            calls.pop().unwrap().await.unwrap().unwrap();
        }
        fars.push((far, id));
    }
    let (mut busy, busy_id) = fars.pop().unwrap();
    theatre
        .pool
        .retain(|owner, stamp| owner == "kept" && stamp == 1);
    fars.pop().unwrap().0.stopped().await;
    // What is under way ends as it began.
    busy.answer(busy_id, json!("done")).await;
    assert_eq!(calls.pop().unwrap().await.unwrap(), Ok(json!("done")));
    busy.stopped().await;
    let (mut kept, _) = fars.pop().unwrap();
    let calling = theatre.call(&spec("kept"));
    let id = kept.called().await;
    kept.answer(id, json!(2)).await;
    calling.await.unwrap().unwrap();
    theatre.pool.retain(|_, stamp| stamp == 2);
    kept.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn with_the_pool_go_the_workers() {
    let mut theatre = Theatre::new(4);
    let calling = theatre.call(&spec("p"));
    let mut far = theatre.worker().await;
    let id = far.called().await;
    far.answer(id, json!(1)).await;
    calling.await.unwrap().unwrap();
    let since = Instant::now();
    drop(theatre);
    far.stopped().await;
    assert!(since.elapsed() < TIMEOUT / 100, "at once, not when idle");
}

#[tokio::test(start_paused = true)]
async fn many_calls_on_few_seats_all_come_through() {
    let mut theatre = Theatre::new(2);
    let names = ["a", "b", "c", "d", "e"];
    let calls: Vec<_> = (0..100)
        .map(|number| theatre.call(&spec(names[number % names.len()])))
        .collect();
    let actors = tokio::spawn(async move {
        loop {
            let mut far = theatre.worker().await;
            tokio::spawn(async move {
                while let Some(message) = far.next().await {
                    let id = message["id"].as_u64().unwrap();
                    far.answer(id, json!("ok")).await;
                }
                far.die("ended with exit code 0");
            });
        }
    });
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(json!("ok")));
    }
    actors.abort();
}
