//! Finding tools in a house: only what the caller can call, what served before a little further up, a second judge beside the
//! words.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{Outcome, ToolDefinition, parse};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::registry::{Offer, Prepared};
use innkeeper_tools::search::{Query, Scorer};
use innkeeper_tools::{
    Caller, Executor, FoundTools, Invocation, Pattern, ProjectId, Reach, RunOptions, ToolError,
    ToolRun, builtin,
};
use serde_json::{Value as Json, json};

use super::harness::World;

struct Nothing;

#[async_trait]
impl Executor for Nothing {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Ok(Json::Null)
    }
}

fn offer(id: &str, description: &str, source: &str) -> Offer {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let definition = ToolDefinition {
        source: source.to_owned(),
        ..ToolDefinition::new(id, description, schema)
    };
    Offer::new(Prepared::new(definition).unwrap(), Arc::new(Nothing))
}

async fn world() -> World {
    let world = World::new().await;
    let plugin = "plugin:weather";
    world.offer(
        plugin,
        vec![
            offer("weather.alpha", "The weather of a city", plugin),
            offer("weather.beta", "The weather of a city", plugin),
            offer("weather.gamma", "The weather of a city", plugin),
        ],
    );
    let mut builtins: Vec<Offer> = builtin::search::tools()
        .into_iter()
        .map(|(definition, executor)| Offer::new(Prepared::new(definition).unwrap(), executor))
        .collect();
    builtins.push(offer(
        "weather.unknown",
        "The weather of a city",
        "somewhere",
    ));
    world.offer("builtin", builtins);
    world
}

fn agent(world: &World, allow: &[&str], deny: &[&str]) -> ToolRun {
    let patterns = |names: &[&str]| names.iter().map(|name| Pattern::new(*name)).collect();
    let reach = Reach {
        allow: patterns(allow),
        deny: patterns(deny),
    };
    let caller = Caller::agent("a", RunId::new("run_1"), reach);
    world.manager.begin(caller, RunOptions::default())
}

async fn found(run: &ToolRun, words: &str) -> Vec<String> {
    let found = run.search(&Query::new(words), 10).await;
    found
        .iter()
        .map(|found| found.tool.id.to_string())
        .collect()
}

#[tokio::test]
async fn only_what_can_be_called_is_found() {
    let world = world().await;
    let deny = json!({"tool": "weather.beta", "decision": "deny"});
    let some = json!({"tool": "weather.gamma", "arguments": {"city": "Rome"}, "decision": "deny"});
    world
        .manager
        .set_policy(Policy::read(vec![deny, some]).unwrap());
    for (allow, denied, expected) in [
        (&["*"][..], &[][..], &["weather.alpha", "weather.gamma"][..]),
        (&["weather.*"], &["weather.alpha"], &["weather.gamma"]),
        (&["weather.alpha"], &[], &["weather.alpha"]),
        (&[], &[], &[]),
    ] {
        let run = agent(&world, allow, denied);
        assert_eq!(
            found(&run, "weather city").await,
            expected,
            "{allow:?} {denied:?}"
        );
    }
    // Not even itself, nor what nothing is known about.
    let all = agent(&world, &["*"], &[]);
    assert!(
        found(&all, "find further tools")
            .await
            .iter()
            .all(|id| id != "tools.search")
    );
    assert!(found(&all, "somewhere unknown").await.is_empty());
}

#[tokio::test]
async fn what_served_in_this_project_comes_first_among_equals() {
    let world = world().await;
    let run = |project: &str| {
        let caller = Caller {
            project: ProjectId::try_from(project).unwrap(),
            ..Caller::person(RunId::new("run_2"))
        };
        world.manager.begin(caller, RunOptions::default())
    };
    let text = "<|[REQUEST_TOOL]|>\ncommand:»»»weather.gamma«««\n<|[END_TOOL]|>";
    for _ in 0..3 {
        let observations = run("here").run_reply(&parse(text)).await;
        assert!(
            matches!(observations[0].outcome, Outcome::Success { .. }),
            "{observations:?}"
        );
    }
    world.manager.store().flush().await.unwrap();
    assert_eq!(found(&run("here"), "weather").await[0], "weather.gamma");
    assert_eq!(
        found(&run("elsewhere"), "weather").await[0],
        "weather.alpha"
    );
    // It lifts what fits, and brings up nothing that does not.
    assert_eq!(
        found(&run("here"), "alpha weather").await[0],
        "weather.alpha"
    );
    let lately = run("here").used_lately(5).await;
    assert_eq!(lately.len(), 1);
    assert_eq!(lately[0].id.as_str(), "weather.gamma");
    assert!(run("elsewhere").used_lately(5).await.is_empty());
}

/// Knows what words do not say.
struct Knowing(Option<&'static str>);

#[async_trait]
impl Scorer for Knowing {
    async fn score(&self, question: &str, tools: &[Arc<ToolDefinition>]) -> Option<Vec<f32>> {
        assert_eq!(question, "weather");
        let wanted = self.0?;
        let score = |tool: &Arc<ToolDefinition>| f32::from(u8::from(tool.id.as_str() == wanted));
        Some(tools.iter().map(score).collect())
    }
}

/// Never comes to an end.
struct Slow;

#[async_trait]
impl Scorer for Slow {
    async fn score(&self, _: &str, _: &[Arc<ToolDefinition>]) -> Option<Vec<f32>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_second_judge_has_a_say_and_holds_nobody_up() {
    let world = world().await;
    let run = agent(&world, &["*"], &[]);
    let judge = |judge: Arc<dyn Scorer>| world.manager.set_scorer(Some(judge));
    judge(Arc::new(Knowing(Some("weather.gamma"))));
    assert_eq!(found(&run, "weather").await[0], "weather.gamma");
    judge(Arc::new(Knowing(None)));
    assert_eq!(found(&run, "weather").await[0], "weather.alpha");
    tokio::time::pause();
    judge(Arc::new(Slow));
    assert_eq!(found(&run, "weather").await[0], "weather.alpha");
    world.manager.set_scorer(None);
    assert_eq!(found(&run, "weather").await[0], "weather.alpha");
}

#[tokio::test]
async fn a_call_finds_them_with_all_that_a_call_needs_or_by_name() {
    let world = world().await;
    let text = "<|[REQUEST_TOOL]|>\ncommand:»»»tools.search«««\nquery:»»»天气«««\nlimit:»»»2«««\n<|[END_TOOL]|>";
    for (how, has_parameters) in [(FoundTools::Whole, true), (FoundTools::Named, false)] {
        let options = RunOptions {
            found: how,
            ..RunOptions::default()
        };
        let run = world
            .manager
            .begin(Caller::person(RunId::new("run_3")), options);
        let observations = run.run_reply(&parse(text)).await;
        let Outcome::Success { result, spilled } = &observations[0].outcome else {
            panic!("{observations:?}");
        };
        assert_eq!(*spilled, None);
        let tools = result["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 2);
        assert_eq!(tools[0]["id"], "weather.alpha");
        assert_eq!(tools[0].get("parameters").is_some(), has_parameters);
    }
}

/// A registry that changes is searched as it is for the run that asks.
#[tokio::test]
async fn every_run_searches_its_own_tools() {
    let world = world().await;
    let before = agent(&world, &["*"], &[]);
    assert!(found(&before, "sunset").await.is_empty());
    world.offer(
        "plugin:sun",
        vec![offer("sun.set", "When the sunset is", "plugin:sun")],
    );
    let after = agent(&world, &["*"], &[]);
    assert_eq!(found(&after, "sunset").await, ["sun.set"]);
    assert!(found(&before, "sunset").await.is_empty());
}
