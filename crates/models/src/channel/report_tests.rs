use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

use super::super::Router;
use super::super::fake::{Fake, channel, fails, limited, says};
use super::super::retry::Jitter;
use super::*;
use crate::{Message, Model, ModelRequest};

#[derive(Default)]
struct Steps(Mutex<Vec<String>>);

impl ReportSink for Steps {
    fn report(&self, report: CallReport) {
        let told = format!("over after {}", report.attempts);
        self.0.lock().unwrap().push(told);
    }

    fn step(&self, step: CallStep) {
        let told = match step {
            CallStep::Asks {
                channel,
                model,
                attempt,
            } => format!("{attempt}: {channel}/{model}"),
            CallStep::Waits {
                channel,
                attempt,
                pause,
                why,
            } => format!("{attempt} in {} s: {channel}: {why}", pause.as_secs()),
        };
        self.0.lock().unwrap().push(told);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_and_pauses_are_told_as_they_happen() {
    let first = Fake::new([vec![limited(5)], vec![fails(ModelErrorKind::ServerError)]]);
    let second = Fake::new([vec![says("hello")]]);
    let one = "name = 'one'\nprovider = 'openai'\nkeys = '${KEY_A}'\nmodels = ['m']\nretries = 1\nrename = { m = 'n' }";
    let two = "name = 'two'\nprovider = 'openai'\nkeys = '${KEY_B}'\nmodels = ['m']";
    let channels = vec![channel(one, &first), channel(two, &second)];
    let steps = Arc::new(Steps::default());
    let router = Router::new(channels, Vec::new(), BTreeMap::new())
        .unwrap()
        .with_jitter(Jitter::fixed(0))
        .with_reports(steps.clone());
    let request = ModelRequest::new("", vec![Message::user("hi")]);
    let stream = router
        .model("m")
        .unwrap()
        .stream(request, CancellationToken::new());
    stream.collect().await.unwrap();
    assert_eq!(
        *steps.0.lock().unwrap(),
        [
            "1: one/n",
            "2 in 5 s: one: model.rate_limited happened",
            "2: one/n",
            "3: two/m",
            "over after 3",
        ]
    );
}
