//! Async tools: a handle at once, an end that is told, and steps that wait for what they need.

use innkeeper_store::{EventBus, Received, Subscription};
use innkeeper_tools::Pattern;
use innkeeper_tools::{Redactor, Secret, TaskStatus, ToolRun};
use serde_json::{Value as Json, json};

use super::harness::{World, codes, result, say, soon, tam, task_id, told};
use super::tools::SECRET;

async fn event(events: &mut Subscription) -> Json {
    match soon(events.next()).await {
        Received::Event(delivery) => delivery.event.payload.clone(),
        other => panic!("{other:?}"),
    }
}

/// A task that stands at the gate `a`.
async fn at_work(world: &World, run: &ToolRun, fields: &str) -> String {
    let text = tam(&format!("command: Gate.Async\n gate: a\n{fields}"));
    let said = say(run, &text).await;
    assert_eq!(codes(&said), ["started"], "{:?}", told(&said));
    let mut never: std::pin::Pin<Box<std::future::Pending<()>>> = Box::pin(std::future::pending());
    world.until_at("a", &mut never).await;
    task_id(&said[0])
}

#[tokio::test]
async fn the_caller_has_a_handle_and_goes_on() {
    let world = World::new().await;
    let run = world.run("r");
    let said = say(
        &run,
        &tam("command_1: Gate.Async\n gate_1: a\n command_2: Echo"),
    )
    .await;
    assert_eq!(codes(&said), ["started", "ok"]);
    assert_eq!(
        told(&said)[0],
        format!(
            "Observation: Tool Gate.Async started in the background. Task ID: {}. Its result will follow as an observation.",
            task_id(&said[0])
        )
    );
    assert!(run.finished_tasks().is_empty());
    assert_eq!(run.tasks()[0].status, TaskStatus::Running);
}

#[tokio::test]
async fn the_end_is_an_event_and_an_observation_told_once() {
    for (fields, status, code, words) in [
        (
            "result: sunny",
            TaskStatus::Succeeded,
            "ok",
            "Tool Gate.Async executed successfully. Result: sunny",
        ),
        (
            "fail: true",
            TaskStatus::Failed,
            "tool.execution_failed",
            "the paint ran out",
        ),
    ] {
        let world = World::new().await;
        let mut events = world.bus.subscribe(Pattern::new("task.*"));
        let run = world.run("r");
        let id = at_work(&world, &run, fields).await;
        world.open("a");
        let payload = event(&mut events).await;
        assert_eq!(payload["taskId"], id);
        assert_eq!(payload["tool"], "Gate.Async");
        assert_eq!(payload["run"], "r");
        // Whoever hears of the end finds it in the table.
        assert_eq!(run.tasks()[0].status, status);
        let ended = run.finished_tasks();
        assert_eq!(codes(&ended), [code]);
        assert!(told(&ended)[0].contains(words), "{:?}", told(&ended));
        assert_eq!(ended[0].task.as_deref(), Some(&*id));
        assert!(run.finished_tasks().is_empty());
    }
}

#[tokio::test]
async fn a_step_waits_for_the_result_it_refers_to() {
    let world = World::new().await;
    let text = tam("command_1: Gate.Async\n gate_1: a\n result_1: ready
        command_2: Echo\n text_2: meanwhile
        command_3: Echo\n text_3: it is @{step_1.result}");
    let run = world.run("r");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    world.still_waits(&mut running).await;
    assert_eq!(world.echoed(), ["meanwhile"]);
    world.open("a");
    assert_eq!(codes(&running.await), ["started", "ok", "ok"]);
    assert_eq!(world.echoed()[1], "it is ready");
}

#[tokio::test]
async fn a_step_that_needs_a_failed_task_is_told_of_the_failure() {
    let world = World::new().await;
    world.open("a");
    let text = "command_1: Gate.Async\n gate_1: a\n fail_1: true
        command_2: Echo\n text_2: @{step_1.result}\n on_error_2: continue
        command_3: Echo\n text_3: on";
    let said = world.say(&tam(text)).await;
    assert_eq!(codes(&said), ["started", "tool.reference_unresolved", "ok"]);
}

#[tokio::test]
async fn a_step_that_needs_a_failed_task_says_why_it_failed() {
    let world = World::new().await;
    world.open("a");
    let text = "command_1: Gate.Async\n gate_1: a\n fail_1: true
        command_2: Echo\n text_2: @{step_1.result}";
    let said = told(&world.say(&tam(text)).await);
    assert!(said[1].contains("the paint ran out"), "{}", said[1]);
}

/// Whoever mentions a promised file waits for it, however either of them writes the place.
async fn waits_for_promise(promised: &str, second: &str) {
    let world = World::new().await;
    let text = tam(&format!(
        "command_1: Make\n gate_1: a\n content_1: picture\n output_uri_1: {promised}\n command_2: {second}"
    ));
    let run = world.run("r");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    world.still_waits(&mut running).await;
    world.open("a");
    let said = running.await;
    assert_eq!(
        codes(&said),
        ["started", "ok"],
        "{second}: {:?}",
        told(&said)
    );
}

#[tokio::test]
async fn a_promised_file_is_waited_for() {
    for second in [
        "Echo\n text_2: see fam://p/a.png there",
        "Echo\n type_hint_data_2: json\n data_2: {\"deep\": [{\"uri\": \"fam://p/a.png\"}]}",
        "Echo\n text_2: @{output_uri_1}",
        "Echo\n uri_text_2: fam://p/a.png",
        "Echo\n uri_text_2: user://projects/p/a.png",
        "File.Read\n file_path_2: user://projects/p/a.png",
    ] {
        waits_for_promise("fam://p/a.png", second).await;
    }
}

#[tokio::test]
async fn a_promised_file_is_waited_for_in_any_spelling() {
    for (promised, mentioned) in [
        ("user://projects/p/a.png", "fam://p/a.png"),
        ("fam://p/a.png", "fam://user/projects/p/a.png"),
        ("fam://p/x/../a.png", "fam://p/./a.png"),
        ("out/a.png", "fam://default/out/a.png"),
        ("out/a.png", "/out/a.png"),
    ] {
        for second in ["Echo\n uri_text_2:", "File.Read\n file_path_2:"] {
            waits_for_promise(promised, &format!("{second} {mentioned}")).await;
        }
    }
}

#[tokio::test]
async fn a_file_that_merely_looks_like_a_promised_one_is_not_waited_for() {
    let world = World::new().await;
    let text = "command_1: Make\n gate_1: a\n output_uri_1: fam://p/a.png
        command_2: Echo\n text_2: fam://p/b.png and fam://q/a.png";
    assert_eq!(codes(&world.say(&tam(text)).await), ["started", "ok"]);
}

#[tokio::test]
async fn a_short_promised_path_holds_up_nobody_else() {
    let world = World::new().await;
    let text = tam("command_1: Make\n gate_1: a\n output_uri_1: a
        command_2: Echo\n text_2: banana and cat.png");
    let run = world.run("r");
    let said = tokio::time::timeout(std::time::Duration::from_secs(30), say(&run, &text)).await;
    assert_eq!(codes(&said.unwrap()), ["started", "ok"]);
}

#[tokio::test]
async fn a_failed_promise_lets_the_waiting_step_go() {
    let world = World::new().await;
    let text = tam(
        "command_1: Make\n gate_1: a\n fail_1: true\n output_uri_1: fam://p/a.png
        command_2: Echo\n text_2: fam://p/a.png\n command_3: Echo\n uri_text_3: fam://p/a.png",
    );
    world.open("a");
    let said = world.say(&text).await;
    assert_eq!(codes(&said), ["started", "ok", "workspace.file_not_found"]);
}

#[tokio::test]
async fn status_progress_and_result_can_be_asked_for() {
    let world = World::new().await;
    let run = world.run("r");
    let id = at_work(&world, &run, "result: done\n progress: half way").await;
    let ask = tam(&format!("command: task.status\n task_id: {id}"));
    let said = say(&run, &ask).await;
    let status = result(&said[0]);
    assert_eq!(status["status"], "running");
    assert_eq!(
        status["progress"],
        json!({"fraction": 0.5, "message": "half way"})
    );
    assert_eq!(
        status["partial"],
        json!({"pieces": [["half way"]], "leftOut": 0})
    );
    world.open("a");
    let said = say(
        &run,
        &tam(&format!(
            "command: task.await\n type_hint_task_ids: json\n task_ids: [\"{id}\"]"
        )),
    )
    .await;
    assert_eq!(result(&said[0])["tasks"][0]["status"], "succeeded");
    let said = say(&run, &ask).await;
    assert_eq!(
        result(&said[0])["observation"],
        "Observation: Tool Gate.Async executed successfully. Result: done"
    );
    assert_eq!(result(&said[0]).get("partial"), None, "the whole is there");
    let said = say(&run, &tam("command: task.list\n status: succeeded")).await;
    assert_eq!(result(&said[0])["tasks"][0]["taskId"], *id);
}

#[tokio::test]
async fn a_task_can_be_cancelled() {
    let world = World::new().await;
    let run = world.run("r");
    let id = at_work(&world, &run, "").await;
    let said = say(&run, &tam(&format!("command: task.cancel\n task_id: {id}"))).await;
    assert_eq!(result(&said[0])["status"], "cancelled");
    assert_eq!(codes(&run.finished_tasks()), ["tool.cancelled"]);
    assert_eq!(world.events(), ["begin Gate.Async"]);
    // The run itself goes on.
    assert_eq!(codes(&say(&run, &tam("command: Echo")).await), ["ok"]);
}

#[tokio::test]
async fn a_cancelled_task_says_that_it_was_cancelled() {
    let world = World::new().await;
    let run = world.run("r");
    let id = at_work(&world, &run, "").await;
    say(&run, &tam(&format!("command: task.cancel\n task_id: {id}"))).await;
    let said = told(&run.finished_tasks());
    assert!(!said[0].contains("run was stopped"), "{}", said[0]);
}

#[tokio::test]
async fn stopping_the_run_stops_its_tasks_and_no_others() {
    let world = World::new().await;
    let (mine, other) = (world.run("r"), world.run("s"));
    at_work(&world, &mine, "").await;
    say(&other, &tam("command: Gate.Async\n gate: b")).await;
    mine.stop();
    mine.settle().await;
    assert_eq!(mine.tasks()[0].status, TaskStatus::Cancelled);
    assert_eq!(other.tasks()[0].status, TaskStatus::Running);
}

#[tokio::test]
async fn a_run_does_not_see_the_tasks_of_another() {
    let world = World::new().await;
    let (mine, other) = (world.run("r"), world.run("s"));
    let id = at_work(&world, &mine, "").await;
    for verb in ["status", "cancel"] {
        let said = say(
            &other,
            &tam(&format!("command: task.{verb}\n task_id: {id}")),
        )
        .await;
        assert_eq!(codes(&said), ["tool.invalid_arguments"], "{verb}");
    }
    let said = say(&other, &tam("command: task.list")).await;
    assert_eq!(result(&said[0]), &json!({"tasks": []}));
    assert_eq!(mine.tasks()[0].status, TaskStatus::Running);
}

#[tokio::test]
async fn progress_tells_no_secrets() {
    let world = World::new().await;
    let secret = Secret::new(SECRET);
    let known = std::iter::once(("key".to_owned(), &secret));
    world.manager.set_redactor(Redactor::new(known));
    let leaky = world.tool(
        "Leaky",
        innkeeper_protocol::ExecutionMode::Async,
        super::harness::object(json!({}), &[]),
        |seen, call| {
            Box::pin(async move {
                call.context
                    .progress
                    .report(None, &format!("signing with {SECRET}"));
                call.context.progress.partial(&json!({"key": SECRET}));
                seen.pass("a").await;
                Ok(Json::Null)
            })
        },
    );
    world.offer("plugin:leaky", vec![leaky]);
    let run = world.run("r");
    let started = say(&run, &tam("command: Leaky")).await;
    let mut never: std::pin::Pin<Box<std::future::Pending<()>>> = Box::pin(std::future::pending());
    world.until_at("a", &mut never).await;
    let id = task_id(&started[0]);
    let said = told(&say(&run, &tam(&format!("command: task.status\n task_id: {id}"))).await);
    assert!(!said[0].contains(SECRET), "{}", said[0]);
}

#[tokio::test]
async fn a_panicking_task_ends() {
    let world = World::new().await;
    let tool = world.tool(
        "Async.Panic",
        innkeeper_protocol::ExecutionMode::Async,
        super::harness::object(json!({}), &[]),
        |_, _| Box::pin(async { panic!("on purpose: this line in the output is expected") }),
    );
    world.offer("plugin:panic", vec![tool]);
    let run = world.run("r");
    say(&run, &tam("command: Async.Panic")).await;
    run.settle().await;
    assert_eq!(codes(&run.finished_tasks()), ["tool.execution_failed"]);
}

#[tokio::test]
async fn a_run_has_only_so_many_tasks_at_once() {
    use innkeeper_tools::limits::MAX_RUNNING_TASKS;
    let world = World::new().await;
    let run = world.run("r");
    let start = tam("command: Gate.Async\n gate: a");
    for _ in 0..MAX_RUNNING_TASKS {
        assert_eq!(codes(&say(&run, &start).await), ["started"]);
    }
    assert_eq!(codes(&say(&run, &start).await), ["tool.unavailable"]);
    assert_eq!(codes(&say(&world.run("other"), &start).await), ["started"]);
    world.open("a");
    run.settle().await;
    assert_eq!(codes(&say(&run, &start).await), ["started"]);
}

#[tokio::test]
async fn a_promised_file_is_waited_for_in_later_replies_too() {
    let world = World::new().await;
    let run = world.run("r");
    let make = "command: Make\n gate: a\n content: picture\n output_uri: fam://p/a.png";
    assert_eq!(codes(&say(&run, &tam(make)).await), ["started"]);
    let text = tam("command: Echo\n uri_text: fam://p/a.png");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    world.still_waits(&mut running).await;
    world.open("a");
    assert_eq!(codes(&running.await), ["ok"]);
    assert_eq!(world.echoed(), ["picture"]);
}

#[tokio::test]
async fn a_cancelled_task_lets_the_waiting_step_go() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("command_1: Gate.Async\n gate_1: a
        command_2: Echo\n text_2: @{step_1.result}");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    world.still_waits(&mut running).await;
    let id = run.tasks()[0].task_id.clone();
    say(&run, &tam(&format!("command: task.cancel\n task_id: {id}"))).await;
    let said = soon(running).await;
    assert_eq!(codes(&said), ["started", "tool.reference_unresolved"]);
}

#[tokio::test]
async fn asked_again_the_same_task_is_named() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("request_id: a\n command: Gate.Async\n gate: a");
    let first = say(&run, &text).await;
    let again = say(&run, &text).await;
    assert_eq!(task_id(&first[0]), task_id(&again[0]));
    assert_eq!(run.tasks().len(), 1);
}
