use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::super::fake::{Fake, PLANTED, Step, channel, error, fails, limited, says, started};
use super::super::{CallOutcome, CallReport, Router};
use super::*;
use crate::limits::{BACKOFF_BASE, BACKOFF_MAX, MAX_ATTEMPT_CHARS};
use crate::{Cost, Message, ModelErrorKind as Kind, ModelInfo, ModelReply};

fn router(channels: &[(&str, &Arc<Fake>)]) -> Router {
    let channels = channels.iter().map(|(toml, fake)| channel(toml, fake));
    let router = Router::new(channels.collect(), Vec::new(), BTreeMap::new()).unwrap();
    router.with_jitter(Jitter::fixed(0))
}

async fn ask(router: &Router) -> Result<ModelReply, ModelError> {
    let model = router.model("m").unwrap();
    let request = ModelRequest::new("ignored", vec![Message::user("hi")]);
    model
        .stream(request, CancellationToken::new())
        .collect()
        .await
}

const ONE: &str = "name = 'one'\nprovider = 'openai'\nkeys = '${KEY_A}'\nmodels = ['m']";
const TWO: &str = "name = 'two'\nprovider = 'openai'\nkeys = '${KEY_B}'\nmodels = ['m']";
const THREE_KEYS: &str =
    "name = 'one'\nprovider = 'openai'\nkeys = ['${KEY_A}', '${KEY_B}', '${KEY_C}']\nretries = 0";

/// What becomes of each kind of failure: how often the first channel is asked, and whether the second is.
#[tokio::test(start_paused = true)]
async fn who_is_asked_after_a_failure() {
    let table = [
        (Kind::UnknownModel, 1, true),
        (Kind::RateLimited, 4, true),
        (Kind::ServerError, 4, true),
        (Kind::Timeout, 4, true),
        (Kind::BrokenStream, 4, true),
        (Kind::Malformed, 4, true),
        (Kind::TooLarge, 1, false),
        (Kind::Unauthorized, 1, true),
        (Kind::Refused, 1, false),
        (Kind::Misdirected, 1, true),
        (Kind::ContextTooLong, 1, true),
        (Kind::Cancelled, 1, false),
    ];
    assert_eq!(table.len(), Kind::ALL.len());
    for (kind, asked, goes_on) in table {
        let first = Fake::new(std::iter::repeat_n(vec![started("x"), fails(kind)], 9));
        let second = Fake::new([vec![started("2"), says("hello")]]);
        let reply = ask(&router(&[(ONE, &first), (TWO, &second)])).await;
        assert_eq!(first.sent().len(), asked, "{kind:?}");
        let numbers: Vec<u32> = first
            .sent()
            .iter()
            .chain(&second.sent())
            .map(|sent| sent.attempt)
            .collect();
        let counted: Vec<u32> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, counted, "{kind:?}");
        match goes_on {
            true => {
                let reply = reply.unwrap();
                assert_eq!(
                    (reply.text().as_str(), reply.response_id.as_deref()),
                    ("hello", Some("2"))
                );
            }
            false => {
                assert_eq!(reply, Err(error(kind)), "{kind:?}");
                assert!(second.sent().is_empty(), "{kind:?}");
            }
        }
        // The same at the last position: the kind is kept.
        let last = Fake::new(std::iter::repeat_n(vec![fails(kind)], 9));
        let failed = ask(&router(&[(ONE, &last)])).await.unwrap_err();
        assert_eq!(failed.kind, kind);
        assert_eq!(
            failed.message.contains("4 attempts; the last: "),
            asked == 4,
            "{failed}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_seen_twice_and_nothing_is_repeated_once_it_was_seen() {
    let usage = |tokens| {
        Step::Says(ModelEvent::Usage(Usage {
            prompt_tokens: Some(tokens),
            ..Usage::default()
        }))
    };
    let fake = Fake::new([
        vec![started("1"), usage(1), says(""), fails(Kind::BrokenStream)],
        vec![
            started("2"),
            Step::Says(ModelEvent::Finish(FinishReason::Stop)),
            fails(Kind::Timeout),
        ],
        vec![
            started("3"),
            usage(3),
            says(""),
            says("he"),
            says("llo"),
            fails(Kind::BrokenStream),
        ],
    ]);
    let second = Fake::new([vec![says("never")]]);
    let model = router(&[(ONE, &fake), (TWO, &second)]).model("m").unwrap();
    let mut stream = model.stream(ModelRequest::default(), CancellationToken::new());
    let mut seen = Vec::new();
    let failed = loop {
        match stream.next().await.unwrap() {
            Ok(event) => seen.push(event),
            Err(error) => break error,
        }
    };
    let kinds: Vec<String> = seen.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(seen.len(), 4, "{kinds:?}");
    assert!(
        kinds[0].contains("\"3\"") && kinds[1].contains("Some(3)"),
        "{kinds:?}"
    );
    assert_eq!(failed.kind, Kind::BrokenStream);
    assert!(!failed.retryable());
    assert_eq!(failed.arrived.unwrap().text(), "hello");
    assert!(second.sent().is_empty());
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    let fake = Fake::new([vec![
        started("1"),
        Step::Says(ModelEvent::Finish(FinishReason::Length)),
    ]]);
    let reply = ask(&router(&[(ONE, &fake)])).await.unwrap();
    assert_eq!(
        (reply.text(), reply.finish_reason),
        (String::new(), FinishReason::Length)
    );
}

#[tokio::test(start_paused = true)]
async fn keys_take_turns() {
    let ok = || vec![says("ok")];
    let table: [(&str, Vec<Vec<Step>>, &str, bool); 6] = [
        (
            "refused",
            vec![vec![fails(Kind::Unauthorized)], ok()],
            "ab",
            true,
        ),
        ("limited", vec![vec![limited(30)], ok()], "ab", true),
        (
            "all limited, none is repeated without retries",
            vec![vec![limited(9)], vec![limited(5)], vec![limited(7)], ok()],
            "abc",
            false,
        ),
        (
            "all refused",
            std::iter::repeat_n(vec![fails(Kind::Unauthorized)], 9).collect(),
            "abc",
            false,
        ),
        (
            "one refused, two limited",
            vec![
                vec![fails(Kind::Unauthorized)],
                vec![limited(9)],
                vec![limited(5)],
                ok(),
            ],
            "abcc",
            true,
        ),
        (
            "the server",
            vec![vec![fails(Kind::ServerError)]],
            "a",
            false,
        ),
    ];
    for (what, script, keys, answers) in table {
        let fake = Fake::new(script);
        let reply = ask(&router(&[(THREE_KEYS, &fake)])).await;
        assert_eq!(fake.keys(), keys, "{what}: {reply:?}");
        assert_eq!(reply.is_ok(), answers, "{what}: {reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_request_learns_of_a_key_the_next_one_knows() {
    let ok = || vec![says("ok")];
    let fake = Fake::new([
        vec![fails(Kind::Unauthorized)],
        vec![limited(30)],
        ok(),
        ok(),
        vec![limited(30)],
        ok(),
    ]);
    let router = router(&[(THREE_KEYS, &fake)]);
    for _ in 0..2 {
        ask(&router).await.unwrap();
    }
    assert_eq!(fake.keys(), "abcc", "the one that works is kept");
    tokio::time::advance(Duration::from_secs(31)).await;
    ask(&router).await.unwrap();
    assert_eq!(
        fake.keys(),
        "abcccb",
        "the refused one rests longer than the limited one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_a_pause_gets_it() {
    // Seconds asked for, whether it is waited, and whether the message tells.
    for (seconds, waits) in [
        (0, true),
        (7, true),
        (60, true),
        (61, false),
        (3_600, false),
    ] {
        let fake = Fake::new([vec![limited(seconds)], vec![says("ok")]]);
        let router = router(&[(ONE, &fake)]);
        let began = Instant::now();
        let reply = ask(&router).await;
        match waits {
            true => {
                assert_eq!(reply.unwrap().text(), "ok");
                assert_eq!(began.elapsed(), Duration::from_secs(seconds));
            }
            false => {
                let error = reply.unwrap_err();
                assert_eq!(began.elapsed(), Duration::ZERO);
                assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)));
                assert!(
                    error.message.contains(&format!("in {seconds} s")),
                    "{error}"
                );
                // Nobody is bothered before the time has come.
                let again = ask(&router).await.unwrap_err();
                assert_eq!((again.kind, fake.sent().len()), (Kind::RateLimited, 1));
                let second = Fake::new([vec![says("second")]]);
                let both = Router::new(
                    vec![Arc::clone(&router.channels()[0]), channel(TWO, &second)],
                    Vec::new(),
                    BTreeMap::new(),
                );
                assert_eq!(ask(&both.unwrap()).await.unwrap().text(), "second");
            }
        }
    }
    // Those who were told the same do not come back in the same moment, whether a server or a limit of a key is the
    // reason.
    for kind in [Kind::ServerError, Kind::RateLimited] {
        let busy = Step::Fails(ModelError {
            retry_after: Some(Duration::from_secs(2)),
            ..error(kind)
        });
        let fake = Fake::new([vec![busy], vec![says("ok")]]);
        let router = router(&[(ONE, &fake)]).with_jitter(Jitter::fixed(u32::MAX));
        let began = Instant::now();
        ask(&router).await.unwrap();
        let waited = Duration::from_secs(2) + BACKOFF_BASE;
        assert_eq!(began.elapsed(), waited, "{kind:?}");
    }
    // A server in trouble may ask for one too.
    let busy = Step::Fails(ModelError {
        retry_after: Some(Duration::from_secs(61)),
        ..error(Kind::ServerError)
    });
    let fake = Fake::new([vec![busy]]);
    let failed = ask(&router(&[(ONE, &fake)])).await.unwrap_err();
    assert!(failed.message.contains("in 61 s"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn pauses_double_within_bounds() {
    for (chance, longest) in [(u32::MAX, true), (0, false)] {
        let jitter = Jitter::fixed(chance);
        for (repetition, factor) in [
            (0, 1),
            (1, 2),
            (2, 4),
            (3, 8),
            (4, 16),
            (5, 32),
            (6, 40),
            (40, 40),
        ] {
            let most = BACKOFF_BASE * factor;
            assert!(most <= BACKOFF_MAX);
            let wanted = if longest { most } else { Duration::ZERO };
            assert_eq!(jitter.backoff(repetition), wanted, "{repetition}");
        }
    }
    let real = Jitter::default();
    let pauses: Vec<Duration> = (0..64).map(|_| real.backoff(3)).collect();
    assert!(pauses.iter().all(|pause| *pause <= BACKOFF_BASE * 8));
    assert!(pauses.iter().any(|pause| *pause != pauses[0]));

    let fake = Fake::new([]);
    let router = router(&[(ONE, &fake)]).with_jitter(Jitter::fixed(u32::MAX));
    let began = Instant::now();
    ask(&router).await.unwrap_err();
    assert_eq!(began.elapsed(), BACKOFF_BASE * (1 + 2 + 4));
}

#[derive(Default)]
struct Reports(Mutex<Vec<CallReport>>);

impl ReportSink for Reports {
    fn report(&self, report: CallReport) {
        self.0.lock().unwrap().push(report);
    }
}

impl Reports {
    fn take(&self) -> Vec<CallReport> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn it_can_be_cancelled_while_it_waits() {
    let fake = Fake::new([vec![limited(30)], vec![says("late")]]);
    let reports = Arc::new(Reports::default());
    let router = router(&[(ONE, &fake)]).with_reports(reports.clone());
    let cancel = CancellationToken::new();
    let model = router.model("m").unwrap();
    let mut stream = model.stream(ModelRequest::default(), cancel.clone());
    let began = Instant::now();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let event = tokio::select! {
        biased;
        event = stream.next() => event,
        () = later => None,
    };
    assert_eq!(event.unwrap().unwrap_err().kind, Kind::Cancelled);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    assert_eq!(fake.sent().len(), 1);
    let report = reports.take().pop().unwrap();
    assert_eq!(report.outcome, CallOutcome::Failed(Kind::Cancelled));
    assert_eq!(
        (report.attempts, report.duration),
        (1, Duration::from_secs(1))
    );

    drop(model.stream(ModelRequest::default(), CancellationToken::new()));
    assert!(reports.take().is_empty(), "what nobody read was no call");
}

#[tokio::test(start_paused = true)]
async fn a_report_tells_numbers_and_names() {
    let usage = |sent, received, cost| {
        Step::Says(ModelEvent::Usage(Usage {
            prompt_tokens: sent,
            completion_tokens: received,
            cost,
            ..Usage::default()
        }))
    };
    let table = ModelTable::shipped().with(BTreeMap::from([(
        "two/m".to_owned(),
        toml::from_str::<ModelInfo>("input = 2.0\noutput = 8.0").unwrap(),
    )]));
    for (told, expected) in [(None, 24_000_000), (Cost::from_dollars(0.5), 500_000_000)] {
        let first = Fake::new(std::iter::repeat_n(vec![fails(Kind::ServerError)], 4));
        let second = Fake::new([vec![
            started("r"),
            usage(Some(8_000), None, None),
            Step::Takes(Duration::from_secs(2)),
            says("secret words"),
            Step::Takes(Duration::from_secs(3)),
            usage(None, Some(1_000), told),
            Step::Says(ModelEvent::Finish(FinishReason::Stop)),
        ]]);
        let reports = Arc::new(Reports::default());
        let router = router(&[(ONE, &first), (TWO, &second)])
            .with_table(table.clone())
            .with_reports(reports.clone());
        let reply = ask(&router).await.unwrap();
        let cost = Some(Cost::from_nanodollars(expected));
        assert_eq!(reply.usage.unwrap().cost, cost);
        let report = reports.take().pop().unwrap();
        let shown = format!("{report:?}");
        assert!(
            !shown.contains("secret words") && !shown.contains(PLANTED),
            "{shown}"
        );
        assert_eq!(
            report,
            CallReport {
                asked: "m".into(),
                channel: Some("two".into()),
                provider: Some("openai".into()),
                model: Some("m".into()),
                answered: Some("m".into()),
                attempts: 5,
                usage: reply.usage,
                first_token: Some(Duration::from_secs(2)),
                duration: Duration::from_secs(5),
                outcome: CallOutcome::Finished(Some(FinishReason::Stop)),
            }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_error_tells_of_all_that_were_given_up() {
    let first = Fake::new(std::iter::repeat_n(vec![fails(Kind::ServerError)], 9));
    let second = Fake::new([]);
    let third = Fake::new(std::iter::repeat_n(vec![fails(Kind::Unauthorized)], 9));
    let no_key = "name = 'two'\nprovider = 'openai'\nkeys = ['${NONE}']\nmodels = ['m']";
    let three = "name = 'three'\nprovider = 'deepseek'\nmodels = ['m']";
    let failed = ask(&router(&[
        (ONE, &first),
        (no_key, &second),
        (three, &third),
    ]))
    .await
    .unwrap_err();
    assert_eq!(
        failed.message,
        "one: 4 attempts; the last: model.server_error happened; \
         two: no key: the environment variable NONE is not set; three: model.unauthorized happened"
    );
    assert_eq!(failed.kind, Kind::ServerError, "what may pass counts");
    assert!(second.sent().is_empty());

    // What ends the search is what is told, whatever came before.
    let first = Fake::new([]);
    let second = Fake::new([vec![fails(Kind::Refused)]]);
    let failed = ask(&router(&[(ONE, &first), (TWO, &second)])).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.kind, Kind::Refused);
    assert!(
        failed.message.ends_with("; two: model.refused happened"),
        "{failed}"
    );

    let long = Step::Fails(ModelError::new(Kind::ServerError, "x".repeat(100_000)));
    let first = Fake::new(std::iter::repeat_n(vec![long], 9));
    let failed = ask(&router(&[(ONE, &first)])).await.unwrap_err();
    assert!(failed.message.len() < MAX_ATTEMPT_CHARS + 100);
}

#[tokio::test(start_paused = true)]
async fn nothing_that_is_printed_holds_a_key() {
    let toml = format!("{THREE_KEYS}\nheaders = {{ authorization = 'Bearer ${{KEY_A}}' }}");
    let fake = Fake::new(std::iter::repeat_n(vec![fails(Kind::Unauthorized)], 9));
    let router = router(&[(&toml, &fake)]);
    let failed = ask(&router).await.unwrap_err();
    assert!(fake.sent()[0].key.as_ref().unwrap().starts_with(PLANTED));
    let model = router.model("m").unwrap();
    let stream = model.stream(ModelRequest::default(), CancellationToken::new());
    let models = crate::Models::new().with_router(router.clone());
    let channel = &router.channels()[0];
    let printed = [
        format!("{router:?} {model:?} {stream:?} {models:?}"),
        format!("{channel:?} {:?} {:?}", channel.config(), channel.keys),
        format!("{failed:?} {failed}"),
    ];
    for text in printed {
        assert!(!text.contains("planted"), "{text}");
        assert!(!text.is_empty());
    }
}
