use std::time::Duration;

use innkeeper_models::{Cost, FinishReason, ModelErrorKind};

use super::*;

fn report(model: &str, tokens: Option<(u64, u64)>, cost: Option<u64>) -> CallReport {
    CallReport {
        asked: "asked".into(),
        channel: Some("lab".into()),
        provider: Some("custom".into()),
        model: Some(model.into()),
        answered: None,
        attempts: 2,
        usage: tokens.map(|(sent, received)| Usage {
            prompt_tokens: Some(sent),
            completion_tokens: Some(received),
            cost: cost.map(Cost::from_nanodollars),
            ..Usage::default()
        }),
        first_token: None,
        duration: Duration::ZERO,
        outcome: CallOutcome::Finished(Some(FinishReason::Stop)),
    }
}

#[test]
fn calls_are_summed_up_and_told_by_model() {
    let tally = Tally::default();
    assert_eq!((tally.used().json(), tally.used().line()), (None, None));
    tally.report(report("a", None, None));
    assert_eq!(tally.used().line(), None);
    tally.report(report("a", Some((10, 2)), Some(1_500_000)));
    tally.report(CallReport {
        outcome: CallOutcome::Failed(ModelErrorKind::BrokenStream),
        ..report("b", Some((5, 1)), None)
    });
    // Nobody could be asked.
    tally.report(CallReport {
        channel: None,
        attempts: 0,
        outcome: CallOutcome::Failed(ModelErrorKind::Unauthorized),
        ..report("b", None, None)
    });
    let used = tally.used();
    assert_eq!(
        used.json().unwrap(),
        json!({"calls": 4, "failed": 2, "attempts": 6, "uncounted": 2, "prompt_tokens": 15, "completion_tokens": 3,
            "total_tokens": 18, "cost": 0.0015, "unpriced": 1, "models": {
            "lab/a": {"calls": 2, "failed": 0, "attempts": 4, "uncounted": 1, "prompt_tokens": 10,
                "completion_tokens": 2, "total_tokens": 12, "cost": 0.0015},
            "lab/b": {"calls": 1, "failed": 1, "attempts": 2, "uncounted": 0, "prompt_tokens": 5,
                "completion_tokens": 1, "total_tokens": 6},
        }})
    );
    let [english, chinese] = used.line().unwrap();
    assert_eq!(
        english,
        "Models: 4 calls, 2 failed, 15 tokens sent, 3 received, 2 not counted by the server, at least $0.001500 (1 call has \
         no known price)"
    );
    assert!(
        chinese.contains("调用 4 次，失败 2 次，发送 15 个词元"),
        "{chinese}"
    );
    assert!(
        chinese.ends_with("至少 $0.001500（1 次调用价格未知）"),
        "{chinese}"
    );
    tally.report(report("a", Some((1, 1)), None));
    let [english, _] = tally.used().line().unwrap();
    assert!(
        english.ends_with("(2 calls have no known price)"),
        "{english}"
    );
}

#[test]
fn a_cost_that_is_known_of_all_is_told_as_it_is() {
    let tally = Tally::default();
    tally.report(report("a", Some((10, 2)), Some(1_500_000)));
    let [english, _] = tally.used().line().unwrap();
    assert!(english.ends_with("received, $0.001500"), "{english}");
    assert_eq!(tally.used().json().unwrap().get("unpriced"), None);
}

#[test]
fn only_so_many_models_are_told_apart() {
    let tally = Tally::default();
    for number in 0..MAX_COUNTED_MODELS + 5 {
        tally.report(report(&number.to_string(), Some((1, 1)), None));
    }
    let told = tally.used().json().unwrap();
    assert_eq!(
        told["models"].as_object().unwrap().len(),
        MAX_COUNTED_MODELS
    );
    assert_eq!(told["calls"], MAX_COUNTED_MODELS + 5);
}
