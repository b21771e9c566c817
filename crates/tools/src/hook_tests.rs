use serde_json::json;

use super::*;

struct Says {
    name: &'static str,
    order: i32,
    on_failure: HookFailure,
    answer: Option<Result<HookAction, HookError>>,
}

#[async_trait]
impl Hook for Says {
    fn name(&self) -> &str {
        self.name
    }
    fn point(&self) -> HookPoint {
        HookPoint::ToolBeforeCall
    }
    fn order(&self) -> i32 {
        self.order
    }
    fn on_failure(&self) -> HookFailure {
        self.on_failure
    }
    fn concerns(&self, subject: &str) -> bool {
        subject != "other"
    }
    async fn run(&self, _: &Json) -> Result<HookAction, HookError> {
        match &self.answer {
            Some(answer) => answer.clone(),
            None => std::future::pending().await,
        }
    }
}

fn says(
    name: &'static str,
    order: i32,
    answer: Option<Result<HookAction, HookError>>,
) -> Arc<dyn Hook> {
    Arc::new(Says {
        name,
        order,
        on_failure: HookFailure::Refuse,
        answer,
    })
}

fn adds(name: &'static str, order: i32, number: i64) -> Arc<dyn Hook> {
    let value = json!(number);
    says(name, order, Some(Ok(HookAction::Change { value })))
}

fn push(subject: &mut Json, value: Json) -> Result<(), String> {
    if value.is_string() {
        return Err("a number was wanted".to_owned());
    }
    match subject.as_array_mut() {
        Some(list) => list.push(value),
        None => return Err("no list".to_owned()),
    }
    Ok(())
}

async fn ask(hooks: Vec<Arc<dyn Hook>>) -> (Json, Result<Vec<String>, Refusal>) {
    let mut subject = json!([]);
    let end = Hooks::new(hooks)
        .ask(HookPoint::ToolBeforeCall, &["t"], &mut subject, push)
        .await;
    (subject, end)
}

#[test]
fn long_and_short_names_are_one() {
    for point in HookPoint::ALL {
        let short = point.short();
        for name in [
            point.as_str().to_owned(),
            short.to_owned(),
            format!("hook:{short}"),
            format!("server:{short}"),
        ] {
            assert_eq!(name.parse::<HookPoint>(), Ok(*point), "{name}");
        }
    }
    for name in ["hook:client:workflow:before-execute", "tool", ""] {
        assert!(name.parse::<HookPoint>().is_err(), "{name}");
    }
}

#[tokio::test]
async fn asked_in_order_each_sees_the_change_before() {
    let (subject, end) = ask(vec![adds("z", -1, 1), adds("b", 5, 3), adds("a", 5, 2)]).await;
    assert_eq!(subject, json!([1, 2, 3]));
    assert_eq!(end, Ok(vec!["z".into(), "a".into(), "b".into()]));
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let no = HookAction::Refuse {
        reason: "not at night".into(),
    };
    let (subject, end) = ask(vec![says("no", 0, Some(Ok(no))), adds("later", 1, 1)]).await;
    assert_eq!(subject, json!([]));
    assert_eq!(end.unwrap_err().reason, "not at night");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_or_hangs_or_talks_nonsense_refuses() {
    let nonsense = HookAction::Change { value: json!("x") };
    for answer in [
        Some(Err(HookError("crash".into()))),
        None,
        Some(Ok(nonsense)),
    ] {
        let (_, end) = ask(vec![says("bad", 0, answer)]).await;
        let refusal = end.unwrap_err();
        assert_eq!(refusal.hook, "bad");
        assert!(
            refusal.reason.starts_with("the hook bad failed"),
            "{refusal}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_matter_is_passed_over() {
    for answer in [Some(Err(HookError("crash".into()))), None] {
        let hook = Arc::new(Says {
            name: "bad",
            order: 0,
            on_failure: HookFailure::Continue,
            answer,
        });
        let (subject, end) = ask(vec![hook, adds("good", 1, 7)]).await;
        assert_eq!(end, Ok(vec!["good".into()]));
        assert_eq!(subject, json!([7]));
    }
}

#[test]
fn only_those_concerned_are_asked() {
    let hooks = Hooks::new([adds("a", 0, 1)]);
    assert!(hooks.any(HookPoint::ToolBeforeCall, &["t"]));
    assert!(!hooks.any(HookPoint::ToolBeforeCall, &["other"]));
    assert!(!hooks.any(HookPoint::ToolAfterCall, &["t"]));
}

#[test]
fn actions_have_one_wire_form() {
    for (text, good) in [
        (r#"{"action":"continue"}"#, true),
        (r#"{"action":"change","value":{"a":1}}"#, true),
        (r#"{"action":"refuse","reason":"no"}"#, true),
        (r#"{"action":"allow"}"#, false),
        (r#"{"action":"refuse"}"#, false),
        (r#"{}"#, false),
    ] {
        assert_eq!(
            serde_json::from_str::<HookAction>(text).is_ok(),
            good,
            "{text}"
        );
    }
}
