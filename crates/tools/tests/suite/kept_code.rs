//! `core:Code` that says that it always gives the same: each result has something of its own, so two that are the same
//! are one.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::Observation;
use innkeeper_protocol::event::RunId;
use innkeeper_sandbox::{Sandbox, SandboxOptions};
use innkeeper_tools::builtin::code::{self, CodeLimits, CodeParts};
use innkeeper_tools::hook::{Hook, HookAction, HookError, HookPoint};
use innkeeper_tools::policy::Policy;
use innkeeper_tools::registry::{Offer, Prepared, Source};
use innkeeper_tools::script::Interpreters;
use innkeeper_tools::{Caller, ProjectId, Redactor, ResultLength, RunOptions, Secret, UserId};
use serde_json::{Value as Json, json};

use super::harness::{result, told};
use super::workflow_nodes::{Flows, around, request};

const UNIQUE: &str = "import uuid\nresult = word + uuid.uuid4().hex\n";

struct Desk(Flows);

impl Desk {
    async fn new(code: &str, deterministic: Option<bool>) -> Self {
        let desk = Self(Flows::new().await);
        desk.offer(CodeLimits::default());
        desk.workflow(code, deterministic);
        desk
    }

    fn offer(&self, limits: CodeLimits) {
        let world = &self.0.world;
        let tools = code::tools(CodeParts {
            sandbox: Sandbox::new(SandboxOptions::new(innkeeper_testkit::room::launcher())),
            interpreters: Interpreters::default(),
            files: world.manager.files().clone(),
            run_ends: world.manager.run_ends().clone(),
            limits,
        });
        let offers = tools
            .into_iter()
            .map(|(definition, executor)| Offer::new(Prepared::new(definition).unwrap(), executor));
        world.offer("code", offers.collect());
    }

    fn workflow(&self, code: &str, deterministic: Option<bool>) {
        let outputs = [("result", "WILDCARD"), ("error", "STRING")];
        let inputs = [("word", "STRING")];
        let mut workflow = around("core:Code", &inputs, &outputs, json!({ "code": code }));
        workflow["nodes"][1]["inputs"] = json!({"word": {"key": "word", "dataFlowType": "STRING"}});
        if let Some(deterministic) = deterministic {
            workflow["nodes"][1]["configValues"] = json!({ "deterministic": deterministic });
        }
        self.0.library("reckon", &workflow);
        self.0.reload();
    }

    async fn run_as(&self, caller: Caller, options: RunOptions, word: &str) -> Observation {
        let run = self.0.world.manager.begin(caller, options);
        let asked = request("workflow:reckon", &json!({ "word": word }));
        run.run_call(&asked).await
    }

    async fn run(&self, word: &str) -> Json {
        let said = self
            .run_as(Caller::person(RunId::new("r")), RunOptions::default(), word)
            .await;
        let result = result(&said).clone();
        assert!(result.is_object(), "{:?}", told(&[said]));
        result
    }
}

#[tokio::test]
async fn code_is_kept_only_where_the_workflow_says_that_it_may_be() {
    let fails = "import uuid\nraise ValueError(uuid.uuid4().hex)\n";
    let writes = format!("{UNIQUE}open('a.txt', 'w').write('x')\n");
    let long = format!("{UNIQUE}result *= 200\n");
    let chinese = format!("{UNIQUE}result += '客' * 5_000\n");
    let complains = format!("{UNIQUE}import sys\nprint('x' * 9_000, file=sys.stderr)\n");
    for (code, deterministic, is_kept) in [
        (UNIQUE, Some(true), true),
        (UNIQUE, Some(false), false),
        (UNIQUE, None, false),
        (fails, Some(true), false),
        (&writes, Some(true), false),
        (&long, Some(true), false),
        (&chinese, Some(true), true),
        // What is too long to be shown is a file as well.
        (&complains, Some(true), false),
    ] {
        let desk = Desk::new(code, deterministic).await;
        let first = desk.run("a").await;
        let again = desk.run("a").await;
        assert_eq!(first == again, is_kept, "{code}: {first} {again}");
        assert_ne!(desk.run("b").await, first, "{code}");
    }
}

#[tokio::test]
async fn code_runs_anew_where_anything_differs() {
    let desk = Desk::new(UNIQUE, Some(true)).await;
    let person = || Caller::person(RunId::new("r"));
    let first = desk.run("a").await;

    let mut other = person();
    other.user = UserId::try_from("somebody-else").unwrap();
    let said = desk.run_as(other, RunOptions::default(), "a").await;
    assert_ne!(*result(&said), first, "another user");

    let mut other = person();
    other.project = ProjectId::try_from("elsewhere").unwrap();
    let said = desk.run_as(other, RunOptions::default(), "a").await;
    assert_ne!(*result(&said), first, "another project");

    desk.workflow(&format!("{UNIQUE}# edited"), Some(true));
    assert_ne!(desk.run("a").await, first, "edited code");
    desk.workflow(UNIQUE, Some(true));
    assert_eq!(desk.run("a").await, first);

    // The same tool once more is the same tool; another one is not.
    desk.offer(CodeLimits::default());
    assert_eq!(desk.run("a").await, first);
    let mut other = CodeLimits::default();
    other.room.memory /= 2;
    desk.offer(other);
    assert_ne!(desk.run("a").await, first, "another interpreter");
    desk.offer(CodeLimits::default());

    let fresh = RunOptions {
        fresh: true,
        ..RunOptions::default()
    };
    let said = desk.run_as(person(), fresh, "a").await;
    let anew = result(&said).clone();
    assert_ne!(anew, first, "a fresh run");
    assert_eq!(
        desk.run("a").await,
        anew,
        "what it made is kept in its place"
    );
}

#[tokio::test]
async fn code_that_may_not_run_gives_nothing_that_was_kept() {
    let desk = Desk::new(UNIQUE, Some(true)).await;
    let first = desk.run("a").await;
    let rule = json!({"tool": "CodeInterpreter:execute", "decision": "deny"});
    let manager = &desk.0.world.manager;
    manager.set_policy(Policy::read(vec![rule]).unwrap());
    let person = Caller::person(RunId::new("r"));
    let said = desk.run_as(person, RunOptions::default(), "a").await;
    let text = told(&[said]).remove(0);
    assert!(text.contains("forbids"), "{text}");
    manager.set_policy(Policy::default());
    assert_eq!(desk.run("a").await, first);
    let audit = desk.0.world.audit().await;
    let calls = audit
        .iter()
        .filter(|row| row.entry.tool == "CodeInterpreter:execute");
    let attempts: Vec<_> = calls.map(|row| row.entry.attempts).collect();
    assert_eq!(attempts, [1, 0, 0]);
    let last = audit.iter().rfind(|row| row.entry.message.is_some());
    let message = last.unwrap().entry.message.clone().unwrap();
    assert!(message.contains("a result that was kept"), "{message}");
}

/// Takes away what a result says beside the answer.
struct Tidies;

#[async_trait]
impl Hook for Tidies {
    fn name(&self) -> &str {
        "test:tidies"
    }
    fn point(&self) -> HookPoint {
        HookPoint::ToolAfterCall
    }
    fn concerns(&self, subject: &str) -> bool {
        subject == "CodeInterpreter:execute"
    }
    async fn run(&self, payload: &Json) -> Result<HookAction, HookError> {
        let stdout = payload["outcome"]["result"]["stdout"].as_str().unwrap();
        let mut told: Json = serde_json::from_str(stdout).unwrap();
        told["error"] = "".into();
        Ok(HookAction::Change {
            value: json!({"exit": 0, "stdout": told.to_string(), "files": []}),
        })
    }
}

/// What was made is judged, not what is left of it.
#[tokio::test]
async fn a_hook_that_tidies_up_makes_nothing_worth_keeping() {
    let writes = format!("{UNIQUE}open('a.txt', 'w').write('x')\n");
    let fails = format!("{UNIQUE}raise ValueError()\n");
    for (code, is_kept) in [(UNIQUE, true), (&writes, false), (&fails, false)] {
        let desk = Desk::new(code, Some(true)).await;
        let source = Source {
            hooks: vec![Arc::new(Tidies)],
            ..Source::default()
        };
        let registry = desk.0.world.manager.registry();
        registry.replace("plugin:hooks", source).unwrap();
        let first = desk.run("a").await;
        assert_eq!(first["error"], "");
        assert_eq!(desk.run("a").await == first, is_kept, "{code}");
    }
}

/// Else it would come out when it is no secret any more, in an answer that once hid it.
#[tokio::test]
async fn what_holds_a_secret_is_not_kept() {
    let desk = Desk::new(UNIQUE, Some(true)).await;
    let manager = &desk.0.world.manager;
    let secret = Secret::new("under-the-stairs");
    let known = std::iter::once(("cellar".to_owned(), &secret));
    manager.set_redactor(Redactor::new(known));
    let first = desk.run("under-the-stairs").await;
    assert!(!first.to_string().contains("under-the-stairs"), "{first}");
    assert_ne!(desk.run("under-the-stairs").await, first);
    let plain = desk.run("a").await;
    assert_eq!(desk.run("a").await, plain);
}

/// However it is made, it comes out as it is.
#[tokio::test]
async fn long_results_of_code_come_out_whole() {
    for (code, expected) in [
        ("result = 'x' * 300_000", json!("x".repeat(300_000))),
        ("result = ['a'] * 1_150", json!(vec!["a"; 1_150])),
        ("result = '客' * 200_000", json!("客".repeat(200_000))),
        ("result = 'a\\ud800b'", json!("a\u{fffd}b")),
    ] {
        let desk = Desk::new(code, None).await;
        let whole = RunOptions {
            results: ResultLength::Whole,
            ..RunOptions::default()
        };
        let said = desk
            .run_as(Caller::person(RunId::new("r")), whole, "a")
            .await;
        let outputs = result(&said);
        assert!(
            outputs["result"] == expected,
            "{code}: {}",
            outputs["error"]
        );
    }
}
