//! Who is asked next where a channel cannot do it, and for how long.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::super::fake::{Fake, Step, channel, error, fails, says};
use super::super::{CallOutcome, CallReport, Router};
use super::*;
use crate::{Constraint, Cost, Message, ModelErrorKind as Kind, ModelInfo, ModelReply, RawPayload};

fn router(channels: &[(&str, &Arc<Fake>)]) -> Router {
    let channels = channels.iter().map(|(toml, fake)| {
        let toml = format!("models = ['m']\n{toml}");
        channel(&toml, fake)
    });
    let router = Router::new(channels.collect(), Vec::new(), BTreeMap::new()).unwrap();
    router.with_jitter(Jitter::fixed(0))
}

async fn ask(router: &Router, request: ModelRequest) -> Result<ModelReply, ModelError> {
    let model = router.model("m").unwrap();
    let stream = model.stream(request, CancellationToken::new());
    stream.collect().await
}

fn hi() -> ModelRequest {
    ModelRequest::new("", vec![Message::user("hi")])
}

fn wide() -> ModelRequest {
    ModelRequest::new("", vec![Message::user("hello, world! ".repeat(2_000))])
}

fn held(constraint: Constraint) -> ModelRequest {
    ModelRequest {
        constraint: Some(constraint),
        ..hi()
    }
}

fn raw(text: &str) -> ModelRequest {
    ModelRequest {
        raw: Some(RawPayload::new(text).unwrap()),
        ..ModelRequest::default()
    }
}

const SMALL: &str =
    "name = 'small'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:1'\ncontext = 256";
const LARGE: &str =
    "name = 'large'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:1'\ncontext = 100_000";

#[tokio::test(start_paused = true)]
async fn what_one_channel_cannot_do_another_is_asked_for() {
    let plain = "name = 'small'\nprovider = 'custom'\nbase_url = 'http://127.0.0.1:1'";
    let no_json = "name = 'small'\nprovider = 'deepseek'\nquirks = { json_schema = false }";
    let claude = "name = 'small'\nprovider = 'anthropic'\nkeys = '${KEY_A}'";
    let gemini = "name = 'small'\nprovider = 'gemini'\nkeys = '${KEY_A}'";
    let grammar = || held(Constraint::Grammar("root ::= \"a\"".into()));
    let json = || held(Constraint::Json(serde_json::json!({"type": "string"})));
    let odd = r#"{"model": "m", "messages": [{"role": "nobody", "content": 1}]}"#;
    // The first channel, the request, the kind of its error, and what it says.
    let table = [
        (SMALL, wide(), Kind::ContextTooLong, "too long for m: about"),
        (plain, grammar(), Kind::Refused, "to a grammar"),
        (claude, grammar(), Kind::Refused, "takes no grammar"),
        (gemini, grammar(), Kind::Refused, "takes no grammar"),
        (no_json, json(), Kind::Refused, "to a JSON schema"),
        (claude, raw(odd), Kind::Refused, "raw payload"),
    ];
    let large = format!("{LARGE}\ngrammar = 'grammar'");
    for (toml, request, kind, said) in table {
        let (first, second) = (Fake::new([]), Fake::new([vec![says("here")]]));
        let both = router(&[(toml, &first), (&large, &second)]);
        let reply = ask(&both, request.clone()).await;
        assert_eq!(reply.unwrap().text(), "here", "{said}");
        assert!(first.sent().is_empty(), "{said}");

        let failed = ask(&router(&[(toml, &first)]), request.clone()).await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.kind, kind);
        assert!(failed.message.starts_with("small: "), "{failed}");
        assert!(failed.message.contains(said), "{failed}");

        // One that lacks its key has nothing to say about the request; all are told of.
        let no_key = "name = 'dry'\nprovider = 'openai'\nkeys = '${NONE}'";
        let dry = router(&[(toml, &first), (no_key, &second)]);
        let failed = ask(&dry, request).await.unwrap_err();
        assert_eq!(failed.kind, kind, "{failed}");
        assert!(failed.message.contains(said), "{failed}");
        assert!(failed.message.contains("; dry: no key"), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_told_only_beside_what_may_pass() {
    let pause = |kind| {
        vec![Step::Fails(ModelError {
            retry_after: Some(Duration::from_secs(90)),
            ..error(kind)
        })]
    };
    // Kinds of two channels that both name a pause, and what is told in the end.
    let seconds = Some(Duration::from_secs(90));
    for (first, second, told) in [
        (
            Kind::RateLimited,
            Kind::UnknownModel,
            (Kind::RateLimited, seconds),
        ),
        (Kind::RateLimited, Kind::Refused, (Kind::Refused, None)),
        (
            Kind::UnknownModel,
            Kind::UnknownModel,
            (Kind::UnknownModel, None),
        ),
    ] {
        let one = Fake::new([pause(first)]);
        let two = Fake::new([pause(second)]);
        let failed = ask(&router(&[(SMALL, &one), (LARGE, &two)]), hi()).await;
        let failed = failed.unwrap_err();
        assert_eq!((failed.kind, failed.retry_after), told, "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_channel_has_its_time_once_and_the_next_one_its_own() {
    let second = Duration::from_secs(1);
    let takes = |seconds: u32, then: Step| vec![Step::Takes(second * seconds), then];
    let slow = format!("{SMALL}\ntimeouts = {{ total_ms = 10_000 }}");
    let paused = Step::Fails(ModelError {
        retry_after: Some(second * 5),
        ..error(Kind::ServerError)
    });
    // What the first channel does, how often it is asked, and when the second one is.
    let table = [
        ("all at once", vec![takes(10, fails(Kind::Timeout))], 1, 10),
        (
            "bit by bit",
            vec![
                takes(6, fails(Kind::ServerError)),
                takes(3, fails(Kind::ServerError)),
                takes(6, says("late")),
            ],
            3,
            10,
        ),
        ("a pause that ends later", vec![takes(6, paused)], 1, 6),
        (
            "a limit that ends later",
            vec![vec![
                Step::Takes(second * 6),
                super::super::fake::limited(5),
            ]],
            1,
            6,
        ),
    ];
    for (what, script, asked, until) in table {
        let (first, next) = (Fake::new(script), Fake::new([takes(9, says("here"))]));
        let began = Instant::now();
        let reply = ask(&router(&[(&slow, &first), (LARGE, &next)]), hi()).await;
        assert_eq!(reply.unwrap().text(), "here", "{what}");
        assert_eq!(first.sent().len(), asked, "{what}");
        assert_eq!(began.elapsed(), second * (until + 9), "{what}");
    }
    let first = Fake::new([takes(6, fails(Kind::ServerError)), takes(6, says("late"))]);
    let failed = ask(&router(&[(&slow, &first)]), hi()).await.unwrap_err();
    assert_eq!(
        failed.message,
        "2 attempts; the last: model.server_error happened; it is not asked again, for the 10000 ms of \
         `timeouts.total_ms` are over"
    );
    // Once it has begun it may take its time.
    let first = Fake::new([
        takes(6, fails(Kind::ServerError)),
        vec![says("he"), Step::Takes(second * 9), says("llo")],
    ]);
    let reply = ask(&router(&[(&slow, &first)]), hi()).await.unwrap();
    assert_eq!(reply.text(), "hello");
}

#[derive(Default)]
struct Reports(Mutex<Vec<CallReport>>);

impl ReportSink for Reports {
    fn report(&self, report: CallReport) {
        self.0.lock().unwrap().push(report);
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_counted_too() {
    let usage = |sent, received, cost| {
        Step::Says(ModelEvent::Usage(Usage {
            prompt_tokens: Some(sent),
            completion_tokens: received,
            cost,
            ..Usage::default()
        }))
    };
    let info = |toml: &str| toml::from_str::<ModelInfo>(toml).unwrap();
    let table = ModelTable::shipped().with(BTreeMap::from([
        ("small/m".to_owned(), info("input = 1.0\noutput = 1.0")),
        ("large/m".to_owned(), info("input = 2.0\noutput = 8.0")),
    ]));
    for answers in [true, false] {
        let broken = || fails(Kind::BrokenStream);
        let first = Fake::new([
            vec![usage(1_000, None, None), broken()],
            vec![usage(2_000, Some(5), Cost::from_dollars(0.5)), broken()],
            vec![broken()],
        ]);
        let last = if answers {
            says("ok")
        } else {
            fails(Kind::Refused)
        };
        let second = Fake::new([vec![usage(8_000, Some(1_000), None), last]]);
        let small = format!("{SMALL}\nretries = 2");
        let reports = Arc::new(Reports::default());
        let router = router(&[(&small, &first), (LARGE, &second)])
            .with_table(table.clone())
            .with_reports(reports.clone());
        let reply = ask(&router, hi()).await;
        let report = reports.0.lock().unwrap().pop().unwrap();
        let used = report.usage.unwrap();
        assert_eq!(
            (used.prompt_tokens, used.completion_tokens),
            (Some(11_000), Some(1_005))
        );
        // 0.001 by the table, 0.5 by the provider, 0.024 by the table.
        assert_eq!(used.cost, Cost::from_dollars(0.525));
        match answers {
            // The reply itself tells of itself alone.
            true => assert_eq!(
                reply.unwrap().usage.unwrap().cost,
                Cost::from_dollars(0.024)
            ),
            false => assert_eq!(report.outcome, CallOutcome::Failed(Kind::Refused)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_raw_payload_keeps_its_name() {
    let table = ModelTable::shipped().with(BTreeMap::from([
        (
            "x".to_owned(),
            toml::from_str("input = 3.0\noutput = 3.0").unwrap(),
        ),
        (
            "m".to_owned(),
            toml::from_str("input = 1.0\noutput = 1.0").unwrap(),
        ),
    ]));
    let claude = "name = 'claude'\nprovider = 'anthropic'\nkeys = '${KEY_A}'";
    let used = || {
        Step::Says(ModelEvent::Usage(Usage {
            prompt_tokens: Some(1_000_000),
            ..Usage::default()
        }))
    };
    // The name in the payload, whether the first answers, who does, the name there, and the dollars.
    let rows = [
        (r#""model": "x","#, true, "small", "x", 3.0),
        (r#""model": "m","#, false, "large", "m", 1.0),
        // Nobody knows what `x` is at the next one of that format; for another it is written anew.
        (r#""model": "x","#, false, "claude", "m", 1.0),
    ];
    for (named, answers, who, model, dollars) in rows {
        let ok = || Fake::new([vec![used(), says("ok")]]);
        let first = match answers {
            true => ok(),
            false => Fake::new([]),
        };
        let (second, third) = (ok(), ok());
        let reports = Arc::new(Reports::default());
        let router = router(&[(SMALL, &first), (LARGE, &second), (claude, &third)])
            .with_table(table.clone())
            .with_reports(reports.clone());
        let text = format!(r#"{{{named} "messages": [{{"role": "user", "content": "hi"}}]}}"#);
        ask(&router, raw(&text)).await.unwrap();
        let report = reports.0.lock().unwrap().pop().unwrap();
        assert_eq!(report.channel.as_deref(), Some(who));
        assert_eq!(report.model.as_deref(), Some(model), "{who}");
        assert_eq!(report.usage.unwrap().cost, Cost::from_dollars(dollars));
        assert!(first.sent()[0].is_raw);
    }
    let (first, second) = (Fake::new([]), Fake::new([]));
    let both = router(&[(SMALL, &first), (LARGE, &second)]);
    let failed = ask(&both, raw(r#"{"model": "x", "messages": []}"#)).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.kind, Kind::ServerError);
    assert!(
        failed
            .message
            .contains("large: the raw payload names the model 'x', which is 'm' here"),
        "{failed}"
    );
}
