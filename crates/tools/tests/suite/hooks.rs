//! Hooks: asked before approval and after redaction, in order; what they change is checked again; in doubt, no.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_tools::file::ListOptions;
use innkeeper_tools::hook::{Hook, HookAction, HookError, HookFailure, HookPoint};
use innkeeper_tools::limits::MAX_SHOWN_CHARS;
use innkeeper_tools::registry::Source;
use innkeeper_tools::{Redactor, Secret};
use serde_json::{Value as Json, json};

use super::harness::{World, codes, say, tam, told};
use super::tools::SECRET;

type Say = Box<dyn Fn(&Json) -> Result<HookAction, HookError> + Send + Sync>;

struct Scripted {
    name: &'static str,
    point: HookPoint,
    order: i32,
    on_failure: HookFailure,
    heard: Arc<Mutex<Vec<(&'static str, Json)>>>,
    say: Say,
}

#[async_trait]
impl Hook for Scripted {
    fn name(&self) -> &str {
        self.name
    }
    fn point(&self) -> HookPoint {
        self.point
    }
    fn order(&self) -> i32 {
        self.order
    }
    fn on_failure(&self) -> HookFailure {
        self.on_failure
    }
    fn concerns(&self, subject: &str) -> bool {
        subject != "Json"
    }
    async fn run(&self, subject: &Json) -> Result<HookAction, HookError> {
        self.heard
            .lock()
            .unwrap()
            .push((self.name, subject.clone()));
        (self.say)(subject)
    }
}

struct Scene {
    world: World,
    heard: Arc<Mutex<Vec<(&'static str, Json)>>>,
    hooks: Vec<Arc<dyn Hook>>,
}

impl Scene {
    async fn new() -> Self {
        Self {
            world: World::new().await,
            heard: Arc::default(),
            hooks: Vec::new(),
        }
    }

    fn hook(
        self,
        name: &'static str,
        point: HookPoint,
        order: i32,
        say: impl Fn(&Json) -> Result<HookAction, HookError> + Send + Sync + 'static,
    ) -> Self {
        self.failing(name, point, order, HookFailure::Refuse, say)
    }

    fn failing(
        mut self,
        name: &'static str,
        point: HookPoint,
        order: i32,
        on_failure: HookFailure,
        say: impl Fn(&Json) -> Result<HookAction, HookError> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(Scripted {
            name,
            point,
            order,
            on_failure,
            heard: self.heard.clone(),
            say: Box::new(say),
        }));
        let source = Source {
            hooks: self.hooks.clone(),
            ..Source::default()
        };
        self.world
            .manager
            .registry()
            .replace("plugin:hooks", source)
            .unwrap();
        self
    }

    fn heard(&self) -> Vec<&'static str> {
        self.heard
            .lock()
            .unwrap()
            .iter()
            .map(|(name, _)| *name)
            .collect()
    }
}

use HookPoint::{ToolAfterCall as After, ToolBeforeCall as Before};

fn change(value: Json) -> Result<HookAction, HookError> {
    Ok(HookAction::Change { value })
}

fn refuse(reason: &str) -> Result<HookAction, HookError> {
    Ok(HookAction::Refuse {
        reason: reason.to_owned(),
    })
}

fn go_on() -> Result<HookAction, HookError> {
    Ok(HookAction::Continue)
}

#[tokio::test]
async fn they_are_asked_in_order_and_see_each_others_changes() {
    let scene = Scene::new()
        .await
        .hook("second", Before, 2, |subject| {
            let text = subject["arguments"]["text"].as_str().unwrap();
            change(json!({"text": format!("{text} and second")}))
        })
        .hook("first", Before, -1, |_| change(json!({"text": "first"})))
        .hook("after", After, 0, |_| go_on());
    let said = scene
        .world
        .say(&tam("command: Echo\n text: original"))
        .await;
    assert_eq!(scene.heard(), ["first", "second", "after"]);
    assert_eq!(
        told(&said),
        ["Observation: Tool Echo executed successfully. Result: first and second"]
    );
    let heard = scene.heard.lock().unwrap();
    let (_, subject) = &heard[0];
    assert_eq!(subject["tool"], "Echo");
    assert_eq!(subject["arguments"], json!({"text": "original"}));
    assert_eq!(subject["caller"]["actor"], "agent:tester");
    assert_eq!(heard[2].1["outcome"]["result"], "first and second");
}

#[tokio::test]
async fn what_a_hook_refuses_does_not_run() {
    let scene = Scene::new()
        .await
        .hook("guard", Before, 0, |_| refuse("not on a Sunday"))
        .hook("later", Before, 1, |_| go_on());
    let said = scene.world.say(&tam("command: Echo\n retry: 3")).await;
    assert_eq!(codes(&said), ["tool.policy_denied"]);
    assert!(told(&said)[0].contains("not on a Sunday"));
    assert_eq!(scene.heard(), ["guard"]);
    assert!(scene.world.ran().is_empty());
}

#[tokio::test]
async fn a_hook_is_asked_only_about_valid_calls_that_concern_it() {
    let scene = Scene::new().await.hook("guard", Before, 0, |_| go_on());
    for text in [
        "command: Echo\n txet: x",
        "command: Nobody.Knows",
        "command: Json\n value: 1",
    ] {
        scene.world.say(&tam(text)).await;
    }
    assert!(scene.heard().is_empty());
}

#[tokio::test]
async fn a_change_must_fit_the_schema() {
    for value in [
        json!({"n": "many"}),
        json!({"unknown": 1}),
        json!("text"),
        json!(null),
    ] {
        let changed = value.clone();
        let scene = Scene::new()
            .await
            .hook("clumsy", Before, 0, move |_| change(changed.clone()));
        let said = scene.world.say(&tam("command: Echo\n text: x")).await;
        assert_eq!(codes(&said), ["tool.policy_denied"], "{value}");
        assert!(told(&said)[0].contains("clumsy"), "{:?}", told(&said));
        assert!(scene.world.ran().is_empty(), "{value}");
    }
}

#[tokio::test]
async fn a_hook_that_fails_refuses_unless_it_does_not_matter() {
    for (on_failure, code) in [
        (HookFailure::Refuse, "tool.policy_denied"),
        (HookFailure::Continue, "ok"),
    ] {
        for point in [Before, After] {
            let scene = Scene::new()
                .await
                .failing("ill", point, 0, on_failure, |_| {
                    Err(HookError("out of order".to_owned()))
                });
            let said = scene.world.say(&tam("command: Echo")).await;
            assert_eq!(codes(&said), [code], "{point}");
        }
    }
}

#[tokio::test]
async fn a_hook_that_panics_refuses() {
    for point in [Before, After] {
        let scene = Scene::new().await.hook("ill", point, 0, |_| {
            panic!("on purpose: this line in the output is expected")
        });
        let said = scene.world.say(&tam("command: Echo")).await;
        assert_eq!(codes(&said), ["tool.policy_denied"], "{point}");
    }
}

#[tokio::test]
async fn a_changed_result_is_what_everybody_gets() {
    let scene = Scene::new()
        .await
        .hook("painter", After, 0, |_| change(json!({"colour": "blue"})));
    let said = scene
        .world
        .say(&tam(
            "command_1: Echo\n text_1: red\n command_2: Json\n value_2: @{step_1.result.colour}",
        ))
        .await;
    assert_eq!(
        told(&said),
        [
            r#"Observation: Tool Echo executed successfully. Result: {"colour":"blue"}"#,
            "Observation: Tool Json executed successfully. Result: blue"
        ]
    );
}

#[tokio::test]
async fn a_withheld_result_is_nowhere() {
    let scene = Scene::new()
        .await
        .hook("censor", After, 0, |_| refuse("too much"));
    let said = scene
        .world
        .say(&tam("command_1: Echo\n text_1: classified\n on_error_1: continue\n command_2: Json\n value_2: @{step_1.result}"))
        .await;
    assert_eq!(
        codes(&said),
        ["tool.policy_denied", "tool.reference_unresolved"]
    );
    assert!(!told(&said).join("\n").contains("classified"));
    assert_eq!(scene.world.ran(), ["Echo"]);
}

#[tokio::test]
async fn hooks_after_a_call_see_no_secrets_and_add_none() {
    let secret = Secret::new(SECRET);
    let known = || Redactor::new(std::iter::once(("key".to_owned(), &secret)));
    let scene = Scene::new().await.hook("reader", After, 0, |_| go_on());
    scene.world.manager.set_redactor(known());
    scene.world.say(&tam("command: Leak")).await;
    let heard = scene.heard.lock().unwrap()[0].1.to_string();
    assert!(!heard.contains(SECRET), "{heard}");

    let scene = Scene::new().await.hook("gossip", After, 0, |_| {
        change(json!(format!("psst: {SECRET}")))
    });
    scene.world.manager.set_redactor(known());
    let said = told(&scene.world.say(&tam("command: Echo")).await);
    assert!(!said[0].contains(SECRET), "{said:?}");
}

#[tokio::test]
async fn hooks_hear_of_failures_and_of_tasks_when_they_end() {
    let scene = Scene::new().await.hook("listener", After, 0, |_| go_on());
    scene.world.open("a");
    let run = scene.world.run("r");
    super::harness::say(
        &run,
        &tam("command_1: Fail\n on_error_1: continue\n command_2: Gate.Async\n gate_2: a"),
    )
    .await;
    run.settle().await;
    let heard = scene.heard.lock().unwrap();
    let outcomes: Vec<_> = heard
        .iter()
        .map(|(_, subject)| subject["outcome"]["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["error", "success"]);
}

/// What is withheld must not lie in the file that a long result goes to.
#[tokio::test]
async fn what_a_hook_takes_away_is_in_no_file() {
    for (say, kept) in [
        (
            (|_: &Json| Ok(HookAction::Continue)) as fn(&Json) -> _,
            true,
        ),
        (|_| refuse("not for you"), false),
        (|_| change(json!("short")), false),
    ] {
        let scene = Scene::new().await.hook("a", After, 0, say);
        let call = format!("command: Big\n chars: {MAX_SHOWN_CHARS}\n tail: END");
        scene.world.say(&tam(&call)).await;
        let files = scene.world.manager.files();
        let root = files.resolve(scene.world.run("r").caller(), "fam://default");
        let options = ListOptions {
            depth: 4,
            limit: 100,
        };
        let listing = files.list(&root.unwrap(), options).await.unwrap();
        let found = listing
            .entries
            .iter()
            .any(|entry| entry.uri.path().contains("outputs/results/"));
        assert_eq!(found, kept, "{listing:?}");
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_asks_no_hook() {
    let scene = Scene::new()
        .await
        .hook("a", Before, 0, |_| Ok(HookAction::Continue));
    let run = scene.world.run("r");
    run.stop();
    let said = say(&run, &tam("command: Echo\n text: x")).await;
    assert_eq!(codes(&said), ["tool.cancelled"]);
    assert!(scene.heard().is_empty());
}

#[tokio::test]
async fn a_reason_shows_no_secret() {
    for (point, reason) in [(Before, "before"), (After, "after")] {
        let scene = Scene::new().await.hook("a", point, 0, move |_| {
            refuse(&format!("{reason} {SECRET}"))
        });
        let secret = Secret::new(SECRET);
        let known = std::iter::once(("key".to_owned(), &secret));
        scene.world.manager.set_redactor(Redactor::new(known));
        let said = scene.world.say(&tam("command: Echo\n text: x")).await;
        let text = &told(&said)[0];
        assert!(text.contains(reason) && !text.contains(SECRET), "{text}");
    }
}
