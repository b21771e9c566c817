use std::sync::Arc;
use std::time::Duration;

use innkeeper_engine::{
    EngineOptions, ExecutionEngine, Heard, NoWorkflows, NodeManager, RunOptions, Workflow,
};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::*;

/// What a run of a workflow has told.
async fn heard(workflow: serde_json::Value) -> Progress {
    let workflow = Workflow::read(&workflow.to_string()).workflow.unwrap();
    let engine = ExecutionEngine::new(NodeManager::new(), EngineOptions::default());
    let prepared = engine.prepare(&Arc::new(workflow), &NoWorkflows);
    let plan = prepared.plan.unwrap();
    let mut events = engine.subscribe();
    engine.run(&plan, RunOptions::default()).await.unwrap();
    let mut progress = Progress::new(plan.len(), Lang::En);
    while let Some(heard) = events.try_next() {
        if let Heard::Event(event) = heard {
            progress.hear(&event, Instant::now());
        }
    }
    progress
}

fn many(count: usize) -> serde_json::Value {
    let nodes: Vec<_> = (0..count)
        .map(|number| {
            let name = format!("很长的名字很长的名字很长的名字很长的名字 {number}");
            json!({"id": format!("n{number}"), "type": "core:TextMerge", "displayName": name,
                   "inputValues": {"text_inputs": ["x"]}})
        })
        .collect();
    json!({"name": "Many", "nodes": nodes, "edges": []})
}

fn view(width: usize, height: usize) -> board::View {
    board::View {
        width,
        height,
        now: Instant::now(),
        elapsed: Duration::from_millis(1_234),
        lang: Lang::En,
        paint: board::Paint(false),
    }
}

#[tokio::test]
async fn a_picture_fits_its_screen() {
    let progress = heard(many(60)).await;
    for (width, height) in [(40, 10), (80, 24), (120, 60), (20, 6)] {
        let lines = board::lines(&progress, &view(width, height));
        assert!(lines.len() <= height.min(21), "{height}: {}", lines.len());
        for line in &lines {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[tokio::test]
async fn what_has_no_line_is_counted() {
    let progress = heard(many(60)).await;
    let lines = board::lines(&progress, &view(80, 24));
    let shown = lines.iter().filter(|line| line.starts_with('✓')).count();
    assert_eq!(
        lines.first().map(String::as_str),
        Some(&*format!("… {} done before", 60 - shown))
    );
    let last = lines.last().unwrap();
    assert_eq!(last, "0 running, 0 waiting, 60 done · 1.2 s");
}

#[tokio::test]
async fn a_name_cannot_rewrite_the_screen() {
    let progress = heard(json!({
        "name": "X",
        "nodes": [{"id": "a", "type": "core:TextMerge", "displayName": "x\u{1b}[2J\ny",
                   "inputValues": {"text_inputs": ["x"]}}],
        "edges": []
    }))
    .await;
    let text = board::lines(&progress, &view(80, 24)).join("|");
    assert!(!text.contains(char::is_control), "{text:?}");
}

#[test]
fn lines_are_cut_by_width_at_both_ends() {
    for (text, width, beginning, end) in [
        ("abcdef", 6, "abcdef", "abcdef"),
        ("abcdef", 4, "abc…", "…def"),
        ("一二三四", 5, "一二…", "…三四"),
        ("一二三四", 4, "一…", "…四"),
    ] {
        assert_eq!(board::fitted(text, width), beginning);
        assert_eq!(board::end_of(text, width), end);
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    assert_eq!(board::Paint(false).dim("x"), "x");
    assert_eq!(board::Paint(true).dim("x"), "\u{1b}[2mx\u{1b}[0m");
}

#[tokio::test]
async fn more_nodes_than_are_remembered_are_counted() {
    let count = crate::limits::MAX_WATCHED_NODES + 5;
    let progress = heard(many(count)).await;
    assert_eq!(progress.rows().len(), crate::limits::MAX_WATCHED_NODES);
    assert_eq!(progress.totals.done, count as u64);
}

#[test]
fn previews_are_one_line_and_not_for_ever() {
    assert_eq!(beginning(" a\n\tb  c "), "a b c");
    let long = "x".repeat(crate::limits::MAX_WATCHED_CHARS);
    assert_eq!(beginning(&long), long);
    assert_eq!(beginning(&format!("{long}y")), format!("{long}…"));
}
