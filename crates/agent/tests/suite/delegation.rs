//! Agents that work for others: tasks given, waited for, failed, cancelled, left alone; and runs that are handed over.

use innkeeper_agent::instance::{Fork, StartPrompt, StartRun};
use innkeeper_agent::run::TaskStatus;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunEventKind, RunStatus, TaskId};
use innkeeper_store::journal::EventRange;
use serde_json::json;

use super::cast::{Line, Stage, call, delegate, given, of_agent, task_return, write_file};
use super::harness::{check_journal, names, profile};
use super::undo::to;

#[tokio::test]
async fn a_task_is_given_and_its_result_waited_for() {
    let stage = Stage::new().await;
    stage
        .cast
        .says("boss", write_file("plan/tea.md", "Ask about tea."));
    stage
        .cast
        .says("boss", delegate("helper", "Find out about tea."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("boss", "Tea is old.");
    stage.cast.says(
        "helper",
        call("workspace.read_file", &[("path", "plan/tea.md")]),
    );
    stage
        .cast
        .says("helper", write_file("scratch/tea.md", "Very old."));
    stage.cast.says(
        "helper",
        call(
            "task.return",
            &[
                ("summary", "Tea is 5000 years old."),
                ("confidence", "high"),
                ("artifacts", r#"[{"path": "scratch/tea.md"}]"#),
            ],
        ),
    );
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    // The boss was told, once, and by the call that waited.
    let told = stage.cast.read("boss", 3);
    assert_eq!(told.matches("Tea is 5000 years old.").count(), 1, "{told}");
    assert!(told.contains("summaries/helper/scratch/tea.md"), "{told}");
    // The helper saw the files of the boss, and its task.
    let brief = stage.cast.read("helper", 0);
    assert!(
        brief.contains("Find out about tea.") && brief.contains("'boss'"),
        "{brief}"
    );
    assert!(
        brief.contains("task.return") && !brief.contains("agent.delegate"),
        "{brief}"
    );
    assert!(stage.cast.read("helper", 1).contains("Ask about tea."));
    // What it wrote is in its folder, and nowhere else.
    assert_eq!(
        stage.file(&run, "summaries/helper/scratch/tea.md").await,
        "Very old."
    );
    assert!(
        stage
            .file(&run, "summaries/helper-result.md")
            .await
            .contains("5000")
    );
    let state = stage.runtime.reader().state(&run).await.unwrap();
    assert!(!state.workspace().files.contains_key("scratch/tea.md"));
    // One checkpoint has it.
    let (child, task) = given(&events).remove(0);
    let told = of_agent(&events, &child);
    assert_eq!(told.first(), Some(&"agent_invocation_created"));
    assert!(told.contains(&"model_completed") && told.contains(&"workspace_file_written"));
    assert!(
        !told
            .iter()
            .any(|name| name.starts_with("run_") || *name == "status_changed")
    );
    let reasons: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            innkeeper_protocol::event::RunEventKind::CheckpointCreated(made) => {
                Some(made.reason.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["tool_workspace_write", "task_return"]);
    // Papers of the child.
    let paper = stage
        .file(&run, &format!("agent-results/{child}.json"))
        .await;
    assert!(paper.contains("tauritavern.agentTaskResult") && paper.contains(&task));
    let response = format!("model-responses/{child}/round-001.json");
    assert!(stage.file(&run, &response).await.contains("plan/tea.md"));
    let reader = stage.runtime.reader();
    let child = InvocationId::new(child);
    let turn = reader.model_turn_of(&run, &child, 2, None).await.unwrap();
    assert_eq!((turn.invocation_id.clone(), turn.round), (child.clone(), 2));
    assert!(turn.assistant.text.contains("scratch/tea.md"));
    let range = EventRange::Last { limit: 3 };
    let last = reader.events_of(&run, &child, range).await.unwrap();
    assert_eq!(last.len(), 3);
    let detail = reader.task_detail(&run, &TaskId::new(task)).await.unwrap();
    assert_eq!(detail["task"]["status"], "completed");
    assert_eq!(detail["rounds"], 3);
}

#[tokio::test]
async fn results_come_by_themselves_where_nobody_waits() {
    let stage = Stage::new().await;
    let both = [delegate("helper", "One."), delegate("friend", "Two.")].join("\n");
    stage.cast.says("boss", both);
    // Words are no end while somebody is at work. Both may be back by then, or one.
    stage.cast.says("boss", "I wait.");
    stage.cast.says("boss", "All is done.");
    stage.cast.says("boss", "All is done.");
    stage.cast.says("helper", task_return("The first."));
    stage.cast.says("friend", task_return("The second."));
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    let last = stage.cast.times("boss") - 1;
    let told = stage.cast.read("boss", last);
    for said in ["The first.", "The second."] {
        assert_eq!(told.matches(said).count(), 1, "{told}");
    }
    let state = stage.runtime.reader().state(&run).await.unwrap();
    assert!(
        state
            .children()
            .iter()
            .all(|(_, child)| child.status == TaskStatus::Completed)
    );
    assert_eq!(
        state.spent().tokens,
        15 * (stage.cast.times("boss") as u64 + 2)
    );
}

#[tokio::test]
async fn a_task_that_fails_is_told_and_the_run_goes_on() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Find out."));
    stage
        .cast
        .says("boss", call("agent.await", &[("mode", "allCompleted")]));
    stage.cast.says("boss", "It did not work.");
    stage.cast.line("helper", Line::Fails);
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    let all = names(&events);
    assert!(all.contains(&"agent_task_failed") && all.contains(&"agent_child_invocation_failed"));
    assert!(stage.cast.read("boss", 2).contains("not allowed"));
}

#[tokio::test]
async fn whoever_does_not_return_fails_with_its_last_words_kept() {
    let stage = Stage::new().await;
    let task = r#"{"objective": "Find out."}"#;
    let budget = r#"{"maxRounds": 2}"#;
    let asked = [("agentId", "helper"), ("task", task), ("budget", budget)];
    stage.cast.says("boss", call("agent.delegate", &asked));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("boss", "Well.");
    stage.cast.says("helper", "It is 42.");
    stage.cast.says("helper", "I said that it is 42.");
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    assert!(stage.cast.read("helper", 1).contains("task.return"));
    let told = stage.cast.read("boss", 2);
    assert!(
        told.contains("agent.child_invocation_missing_return"),
        "{told}"
    );
    let kept = stage
        .file(&run, "summaries/helper/output/direct_output.md")
        .await;
    assert_eq!(kept, "I said that it is 42.");
}

#[tokio::test]
async fn a_task_is_cancelled_alone() {
    let stage = Stage::new().await;
    stage.cast.says(
        "boss",
        [delegate("helper", "Wait."), delegate("friend", "Go.")].join("\n"),
    );
    stage
        .cast
        .says("boss", call("agent.await", &[("mode", "allCompleted")]));
    stage.cast.says("boss", "One of two.");
    stage.cast.says("helper", call("gate", &[]));
    stage.cast.says("friend", task_return("Gone."));
    let run = stage.start().await;
    stage.gate.entered.notified().await;
    let (_, task) = given(&stage.events(&run).await).remove(0);
    let task = TaskId::new(task);
    stage.runtime.cancel_task(&run, &task).await.unwrap();
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(
        names(&events)
            .iter()
            .filter(|name| **name == "agent_task_cancelled")
            .count(),
        1
    );
    let told = stage.cast.read("boss", 2);
    assert!(
        told.contains("cancelled") && told.contains("Gone."),
        "{told}"
    );
    // Twice is once; and of no task there is an error.
    stage.runtime.cancel_task(&run, &task).await.unwrap();
    let error = stage
        .runtime
        .cancel_task(&run, &TaskId::new("task_x"))
        .await
        .unwrap_err();
    assert_eq!(error.code.as_str(), "agent.await_task_not_found");
}

#[tokio::test]
async fn who_finishes_early_stops_those_who_work_for_it() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Wait."));
    stage.cast.says("boss", call("gate", &[]));
    stage.cast.says("boss", call("workspace.finish", &[]));
    stage.cast.line("helper", Line::Hangs);
    let run = stage.start().await;
    stage.gate.entered.notified().await;
    stage.cast.until_asked("helper", 1).await;
    stage.gate.leave.notify_one();
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    let state = stage.runtime.reader().state(&run).await.unwrap();
    let (_, child) = state.children().remove(0);
    assert!(child.is_over());
    assert_eq!(child.status, TaskStatus::Cancelled);
}

#[tokio::test]
async fn a_run_that_is_cancelled_takes_everybody_along() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Wait."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("helper", call("gate", &[]));
    let run = stage.start().await;
    stage.gate.entered.notified().await;
    stage.runtime.cancel(&run).await.unwrap();
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Cancelled, "{:?}", names(&events));
    check_journal(&events);
    assert!(names(&events).contains(&"agent_task_cancelled"));
    let timeline = stage.runtime.reader().timeline(&run).await.unwrap();
    assert!(
        timeline
            .invocations
            .iter()
            .all(|agent| agent.status == "cancelled")
    );
}

#[tokio::test]
async fn nobody_who_works_for_another_gives_tasks_or_ends_the_run() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Try."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("boss", "So.");
    stage.cast.says("helper", delegate("friend", "You do it."));
    stage.cast.says("helper", call("workspace.finish", &[]));
    stage.cast.says("helper", task_return("I could not."));
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    assert_eq!(given(&events).len(), 1);
    assert!(
        stage
            .cast
            .read("helper", 1)
            .contains("cannot give tasks to others")
    );
    assert!(
        stage
            .cast
            .read("helper", 2)
            .contains("only that agent ends the run")
    );
    assert_eq!(stage.cast.times("friend"), 0);
}

#[tokio::test]
async fn a_run_is_handed_over_with_its_files() {
    let stage = Stage::new().await;
    stage
        .cast
        .says("boss", write_file("plan/a.md", "The plan."));
    let handoff = r#"{"objective": "Write it.", "workspaceRefs": ["plan/a.md"]}"#;
    let asked = [("agentId", "friend"), ("handoff", handoff)];
    stage.cast.says("boss", call("agent.handoff", &asked));
    stage.cast.says(
        "friend",
        call("workspace.read_file", &[("path", "plan/a.md")]),
    );
    stage
        .cast
        .says("friend", write_file("output/main.md", "The text."));
    stage.cast.says("friend", call("workspace.finish", &[]));
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert!(stage.cast.read("friend", 0).contains("Write it."));
    assert!(stage.cast.read("friend", 1).contains("The plan."));
    assert_eq!(stage.file(&run, "output/main.md").await, "The text.");
    let reader = stage.runtime.reader();
    let timeline = reader.timeline(&run).await.unwrap();
    let statuses: Vec<_> = timeline
        .invocations
        .iter()
        .map(|agent| {
            (
                agent.kind,
                agent.profile_id.as_str(),
                agent.status,
                agent.rounds,
            )
        })
        .collect();
    assert_eq!(
        statuses,
        [
            ("root", "boss", "transferred", 2),
            ("handoff", "friend", "completed", 3)
        ]
    );
    let friend = timeline.foreground_invocation_ids[1].clone();
    let turn = reader.model_turn_of(&run, &friend, 1, None).await.unwrap();
    assert!(turn.assistant.text.contains("plan/a.md"));
    let response = format!("model-responses/{friend}/round-003.json");
    assert!(
        stage
            .file(&run, &response)
            .await
            .contains("workspace.finish")
    );
    assert!(of_agent(&events, friend.as_str()).contains(&"agent_loop_finished"));
}

#[tokio::test]
async fn what_another_process_left_goes_on() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Wait."));
    stage
        .cast
        .says("boss", call("agent.await", &[("timeoutMs", "300000")]));
    stage.cast.says("helper", call("gate", &[]));
    let run = stage.start().await;
    stage.gate.entered.notified().await;
    stage.told(&run, "agent_await_started").await;
    let before = stage.events(&run).await;
    let stage = stage.again().await;
    stage.cast.says("helper", task_return("I do not know."));
    stage.cast.says("boss", "Done.");
    let recovered = stage.runtime.recover().await.unwrap();
    assert_eq!(recovered[0].problem, None);
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(events[..before.len()], before);
    assert!(stage.cast.read("helper", 0).contains("outcome"));
    assert_eq!(
        *stage.gate.calls.lock().unwrap(),
        0,
        "it must not be called again"
    );
    assert!(stage.cast.read("boss", 0).contains("I do not know."));
    let waits = names(&events);
    let waits = waits.iter().filter(|name| **name == "agent_await_started");
    assert_eq!(waits.count(), 1);
}

#[tokio::test]
async fn a_handed_over_run_goes_on_with_the_one_who_has_it() {
    let stage = Stage::new().await;
    let handoff = r#"{"objective": "Write it."}"#;
    let asked = [("agentId", "friend"), ("handoff", handoff)];
    stage.cast.says("boss", call("agent.handoff", &asked));
    stage.cast.says("friend", call("gate", &[]));
    let run = stage.start().await;
    stage.gate.entered.notified().await;
    let stage = stage.again().await;
    stage.cast.says("friend", "It is mine.");
    stage.runtime.recover().await.unwrap();
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(
        (stage.cast.times("boss"), stage.cast.times("friend")),
        (0, 1)
    );
}

/// A person is asked about `gate`.
fn asks(stage: &Stage) {
    let rules = serde_json::json!([{"tool": "*", "decision": "allow"}, {"tool": "gate", "decision": "ask"}]);
    let rules = rules.as_array().unwrap().clone();
    stage
        .tools
        .set_policy(innkeeper_tools::policy::Policy::read(rules).unwrap());
}

#[tokio::test]
async fn a_question_of_one_who_works_for_another_is_answered_after_a_restart() {
    let stage = Stage::new().await;
    asks(&stage);
    stage
        .cast
        .says("boss", delegate("helper", "Go through the gate."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("helper", call("gate", &[]));
    let run = stage.start().await;
    stage.told(&run, "tool_call_awaiting_approval").await;
    let stage = stage.again().await;
    asks(&stage);
    stage.cast.says("helper", task_return("I am through."));
    stage.cast.says("boss", "Good.");
    stage.runtime.recover().await.unwrap();
    let waiting = stage.runtime.pending_approvals(Some(&run)).await.unwrap();
    assert_eq!(waiting.len(), 1);
    stage.gate.leave.notify_one();
    let answer = innkeeper_agent::instance::ApproveToolCall::new(
        run.clone(),
        waiting[0].call_id.clone(),
        true,
    );
    stage.runtime.approve(answer).await.unwrap();
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    assert_eq!(*stage.gate.calls.lock().unwrap(), 1);
    let (child, _) = given(&events).remove(0);
    assert!(of_agent(&events, &child).contains(&"tool_call_approved"));
    assert!(stage.cast.read("boss", 0).contains("I am through."));
}

/// What an agent notes for itself while it works for another is there the next time that it is called, in this run and in
/// later ones of the chat; and it changes nothing of what others have noted.
#[tokio::test]
async fn the_private_state_of_an_agent_outlives_its_task() {
    let stage = Stage::new().await;
    let note = |value: &str| {
        call(
            "UpdatePrivateStateTool",
            &[("path", "note"), ("value", value)],
        )
    };
    let look = || call("ReadPrivateStateTool", &[]);
    let asked = || StartRun {
        profile_id: Some("boss".to_owned()),
        prompt: Some(StartPrompt::Message("Do it".to_owned())),
        stable_chat_id: Some("evening".to_owned()),
        ..StartRun::default()
    };
    let (boss, helper) = ("boss", "helper");
    for line in [
        note("of the boss"),
        delegate(helper, "One."),
        call("agent.await", &[]),
        delegate("friend", "Two."),
        call("agent.await", &[]),
        delegate(helper, "Three."),
        call("agent.await", &[]),
        look(),
        "Done.".to_owned(),
    ] {
        stage.cast.says(boss, line);
    }
    for line in [note("of the helper"), task_return("First.")] {
        stage.cast.says(helper, line);
    }
    for line in [look(), note("of the friend"), task_return("Second.")] {
        stage.cast.says("friend", line);
    }
    for line in [look(), note("once more"), task_return("Third.")] {
        stage.cast.says(helper, line);
    }
    let run = stage.runtime.start(asked()).await.unwrap().run_id;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    check_journal(&events);
    // The friend began with nothing, the helper with what it had noted.
    assert!(
        stage
            .cast
            .read("friend", 1)
            .ends_with(r#"{"value":{},"version":0}"#)
    );
    let again = stage.cast.read(helper, 3);
    let noted = r#"{"value":{"note":"of the helper"},"version":1}"#;
    assert!(again.ends_with(noted), "{again}");
    let own = stage.cast.read(boss, 8);
    let noted = r#"{"value":{"note":"of the boss"},"version":1}"#;
    assert!(own.ends_with(noted), "{own}");
    // Nobody is told of it as of a file.
    assert!(!own.contains(".state"), "{own}");
    let written = events.iter().any(|event| match &event.kind {
        innkeeper_protocol::event::RunEventKind::WorkspaceFileWritten(written) => {
            written.path.contains(".state")
        }
        _ => false,
    });
    assert!(!written);

    // In the next run of the chat.
    let stage = stage.again().await;
    for line in [
        delegate(helper, "Four."),
        call("agent.await", &[]),
        "Done.".to_owned(),
    ] {
        stage.cast.says(boss, line);
    }
    for line in [look(), task_return("Fourth.")] {
        stage.cast.says(helper, line);
    }
    let run = stage.runtime.start(asked()).await.unwrap().run_id;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    let told = stage.cast.read(helper, 1);
    let noted = r#"{"value":{"note":"once more"},"version":2}"#;
    assert!(told.ends_with(noted), "{told}");
}

#[tokio::test]
async fn agents_of_one_profile_that_work_side_by_side_lose_no_note() {
    let stage = Stage::new().await;
    let both = [delegate("helper", "One."), delegate("helper", "Two.")].join("\n");
    for line in [both.as_str(), "I wait.", "All is done.", "All is done."] {
        stage.cast.says("boss", line);
    }
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for name in names {
        let note = [("path", name), ("value", "noted")];
        stage
            .cast
            .says("helper", call("UpdatePrivateStateTool", &note));
    }
    for _ in 0..2 {
        stage.cast.says("helper", task_return("Done."));
    }
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", events.last());
    check_journal(&events);
    let kept = stage.file(&run, "persist/.state/helper.json").await;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let noted = names.map(|name| (name.to_owned(), "noted".into()));
    assert_eq!(
        kept["value"],
        serde_json::Value::Object(noted.into_iter().collect())
    );
    assert_eq!(kept["version"], names.len());
    // The journal says the same as whoever drove it.
    let stage = stage.again().await;
    let again = stage.file(&run, "persist/.state/helper.json").await;
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&again).unwrap(),
        kept
    );
}

#[tokio::test]
async fn a_limit_of_a_tool_holds_for_everybody_in_the_run() {
    let stage = Stage::new().await;
    profile(stage.home.path(), "boss", "tam", |profile| {
        profile["instructions"] = json!({"agentSystemPrompt": "You are boss."});
        profile["delegation"] = json!({"canDelegate": true});
        profile["tools"]["maxCallsPerTool"] = json!({"workspace.write_file": 3});
    });
    stage
        .cast
        .says("boss", write_file("plan/a.md", "One of three."));
    stage.cast.says(
        "boss",
        [delegate("helper", "Write."), delegate("friend", "Write.")].join("\n"),
    );
    stage
        .cast
        .says("boss", call("agent.await", &[("mode", "allCompleted")]));
    stage.cast.says("boss", "So.");
    for who in ["helper", "friend"] {
        // Each of them wants more than is left to both.
        let many = ["a", "b"].map(|name| write_file(&format!("scratch/{name}.md"), who));
        stage.cast.says(who, many.join("\n"));
        stage.cast.says(who, task_return("As much as I may."));
    }
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    let written = |error: bool| {
        let ended = events.iter().filter(|event| match &event.kind {
            RunEventKind::ToolCallCompleted(call) => !error && call.name == "workspace.write_file",
            RunEventKind::ToolCallFailed(call) => error && call.name == "workspace.write_file",
            _ => false,
        });
        ended.count()
    };
    assert_eq!((written(false), written(true)), (3, 2));
}

#[tokio::test]
async fn what_tools_ask_of_models_is_limited_for_all_agents_together() {
    let home = std::sync::Arc::new(tempfile::tempdir().unwrap());
    super::cast::agents(home.path());
    let folder = home.path().join("library").join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    super::harness::write(&folder.join("asks.json"), &super::compaction::asks());
    profile(home.path(), "boss", "tam", |profile| {
        profile["instructions"] = json!({"agentSystemPrompt": "You are boss."});
        profile["delegation"] = json!({"canDelegate": true});
        profile["agent"]["budget"] = json!({"maxTokensPerTool": {"asks": 20}});
    });
    let stage = Stage::in_home(home).await;
    let asks = |question: &str| call("asks", &[("question", question)]);
    stage.cast.says("boss", delegate("helper", "Ask."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("boss", asks("And why?"));
    stage.cast.says("boss", "So.");
    // Two calls side by side, and the answers that they get: 15 tokens each.
    stage.cast.says("helper", asks("Why?"));
    stage.cast.says("", "Because.");
    stage.cast.says("helper", asks("Why so?"));
    stage.cast.says("", "Because of that.");
    stage.cast.says("helper", asks("But why?"));
    stage.cast.says("helper", task_return("Because."));
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    assert!(
        stage
            .cast
            .read("helper", 3)
            .contains("asked models for all")
    );
    assert!(stage.cast.read("boss", 3).contains("asked models for all"));
    let state = stage.runtime.reader().state(&run).await.unwrap();
    let tool = &state.spent().by_tool["asks"];
    assert_eq!((tool.models.requests, tool.models.tokens), (2, 30));
}

#[tokio::test]
async fn a_fork_is_told_that_tasks_did_not_come_along() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Wait."));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.line("helper", Line::Hangs);
    let run = stage.start().await;
    stage.cast.until_asked("helper", 1).await;
    stage.told(&run, "agent_await_started").await;
    stage.cast.says("boss", "Alone, then.");
    let fork = stage.runtime.fork(Fork::of(run.clone())).await.unwrap();
    let ended = stage.runtime.wait(&fork.run_id).await.unwrap();
    assert_eq!(ended.status, RunStatus::Completed);
    let told = stage.cast.read("boss", 2);
    let (_, task) = given(&stage.events(&run).await).remove(0);
    assert!(told.contains("branched off"), "{told}");
    assert!(told.matches(task.as_str()).count() >= 2, "{told}");
    let state = stage.runtime.reader().state(&fork.run_id).await.unwrap();
    assert!(state.children().is_empty());
    stage.runtime.cancel(&run).await.unwrap();
    stage.runtime.wait(&run).await.unwrap();
}

#[tokio::test]
async fn who_only_talks_or_has_no_calls_left_is_stopped_and_it_is_said_why() {
    let stage = Stage::new().await;
    stage.cast.says("boss", delegate("helper", "Find out."));
    stage.cast.says("boss", call("agent.await", &[]));
    let task = r#"{"objective": "Find out."}"#;
    let budget = r#"{"maxToolCalls": 1}"#;
    let asked = [("agentId", "friend"), ("task", task), ("budget", budget)];
    stage.cast.says("boss", call("agent.delegate", &asked));
    stage.cast.says("boss", call("agent.await", &[]));
    stage.cast.says("boss", "Well.");
    for n in 0..4 {
        stage.cast.says("helper", format!("I think about it: {n}."));
    }
    for n in 0..5 {
        let path = format!("scratch/{n}.md");
        stage.cast.says("friend", write_file(&path, "Text."));
    }
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    assert_eq!(stage.cast.times("helper"), 4);
    let told = stage.cast.read("boss", 2);
    assert!(
        told.contains("agent.child_invocation_missing_return"),
        "{told}"
    );
    let told = stage.cast.read("boss", 4);
    assert!(told.contains("agent.tool_budget_exhausted"), "{told}");
    assert!(!told.contains("agent.barren_turns"), "{told}");
    // Nothing is kept of them but what they came to.
    let state = stage.runtime.reader().state(&run).await.unwrap();
    for (_, child) in state.children() {
        assert!(child.run().sent().is_empty() && child.run().workspace().files.is_empty());
    }
    let nobody = InvocationId::new("nope");
    let range = EventRange::Last { limit: 3 };
    let reader = stage.runtime.reader();
    let error = reader.events_of(&run, &nobody, range).await.unwrap_err();
    assert!(error.message.contains("inv_root (boss)"), "{error}");
    // What ended them can still be looked at.
    let (child, _) = given(&events).remove(0);
    let child = InvocationId::new(child);
    let turn = reader.model_turn_of(&run, &child, 4, None).await.unwrap();
    assert!(turn.assistant.text.contains("I think about it: 3."));
    assert!(turn.request_message_count > 1);
}

/// `boss` hands to `friend`, which hands to itself again and again.
async fn handed_on(stage: &Stage, max_rounds: Option<u32>) -> (RunStatus, Vec<RunEvent>) {
    let says = |who: &str| json!({"agentSystemPrompt": format!("You are {who}.")});
    profile(stage.home.path(), "boss", "tam", |profile| {
        profile["instructions"] = says("boss");
        profile["delegation"] = json!({"canHandoff": true, "maxHandoffDepth": 3});
    });
    profile(stage.home.path(), "friend", "tam", |profile| {
        profile["instructions"] = says("friend");
        profile["delegation"] = json!({"callable": true, "allowAsHandoffTarget": true, "canHandoff": true, "maxHandoffDepth": 50});
    });
    let on = [
        ("agentId", "friend"),
        ("handoff", r#"{"objective": "Go on."}"#),
    ];
    stage.cast.says("boss", call("agent.handoff", &on));
    for _ in 0..3 {
        stage.cast.says("friend", call("agent.handoff", &on));
    }
    for _ in 0..2 {
        stage.cast.says("friend", call("workspace.finish", &[]));
    }
    let run = stage.runtime.start(StartRun {
        profile_id: Some("boss".to_owned()),
        prompt: Some(StartPrompt::Message("Do it".to_owned())),
        max_rounds,
        ..StartRun::default()
    });
    let run = run.await.unwrap().run_id;
    stage.end(&run).await
}

fn count(events: &[RunEvent], name: &str) -> usize {
    names(events).iter().filter(|known| **known == name).count()
}

#[tokio::test]
async fn a_run_is_handed_over_as_often_as_everybody_who_had_it_allows() {
    let stage = Stage::new().await;
    let (_, events) = handed_on(&stage, None).await;
    assert_eq!(
        count(&events, "agent_handoff_accepted"),
        3,
        "{:?}",
        names(&events)
    );
    let told = stage.cast.read("friend", 3);
    assert!(told.contains("handed over 3 times"), "{told}");
}

#[tokio::test]
async fn what_a_person_allows_a_run_holds_for_all_who_have_it() {
    let stage = Stage::new().await;
    let (status, events) = handed_on(&stage, Some(2)).await;
    assert_eq!(status, RunStatus::Failed, "{:?}", names(&events));
    assert_eq!(count(&events, "model_completed"), 2, "{:?}", names(&events));
}

#[tokio::test]
async fn nobody_believes_in_tasks_that_were_taken_back() {
    let stage = Stage::new().await;
    for line in [
        write_file("plan/a.md", "The plan."),
        delegate("helper", "Look."),
        call("agent.await", &[]),
        "So it is.".to_owned(),
    ] {
        stage.cast.says("boss", line);
    }
    stage.cast.says("helper", task_return("It is blue."));
    let run = stage.start().await;
    let (status, events) = stage.end(&run).await;
    assert_eq!(status, RunStatus::Completed, "{:?}", names(&events));
    let task = given(&events)[0].1.clone();

    stage.runtime.rollback(to(&run, "cp_000001")).await.unwrap();
    let ids = format!(r#"["{task}"]"#);
    for line in [
        call("agent.await", &[("mode", "statusOnly")]),
        call(
            "agent.await",
            &[("taskIds", ids.as_str()), ("mode", "statusOnly")],
        ),
        "Nothing is known.".to_owned(),
    ] {
        stage.cast.says("boss", line);
    }
    stage
        .runtime
        .resume(&run, None, Some("Go on."))
        .await
        .unwrap();
    stage.end(&run).await;
    let last = stage.cast.times("boss") - 1;
    for (number, expected) in [(last - 1, "No task was given"), (last, "No task was given")] {
        let told = stage.cast.read("boss", number);
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("blue"), "{told}");
    }

    // Undone, it is known again.
    let before = stage
        .runtime
        .reader()
        .before_last_rollback(&run)
        .await
        .unwrap();
    stage
        .runtime
        .rollback(to(&run, before.as_str()))
        .await
        .unwrap();
    let state = stage.runtime.reader().state(&run).await.unwrap();
    let (id, child) = state.known_child_of_task(&TaskId::new(task)).unwrap();
    assert_eq!(child.report(id)["summary"], "It is blue.");
}
