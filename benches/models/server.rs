//! The server that all of them ask.

use std::time::Duration;

use innkeeper_benches::Failed;
use innkeeper_benches::model::{self, ServerProcess};
use innkeeper_testkit::model_server::{Bench, ModelServer};

pub(crate) const ROLE: &str = "--serve";

pub(crate) struct Server {
    process: ServerProcess,
    pub(crate) bench: Bench,
}

impl Server {
    pub(crate) fn start(bench: Bench) -> Result<Self, Failed> {
        let numbers = [
            bench.tokens,
            bench.bytes_per_token,
            bench.tokens_per_write,
            usize::try_from(bench.pause.as_micros())?,
        ];
        let numbers = numbers.map(|number| number.to_string());
        let args = std::iter::once(ROLE.to_owned()).chain(numbers);
        let process = ServerProcess::start(args)?;
        Ok(Self { process, bench })
    }

    pub(crate) fn url(&self) -> &str {
        &self.process.url
    }
}

pub(crate) fn serve(args: &[String]) -> Result<(), Failed> {
    let number = |at: usize| -> Result<usize, Failed> {
        let text = args.get(at).ok_or("the server wants four numbers")?;
        Ok(text.parse()?)
    };
    let bench = Bench {
        tokens: number(1)?,
        bytes_per_token: number(2)?,
        tokens_per_write: number(3)?,
        pause: Duration::from_micros(u64::try_from(number(4)?)?),
    };
    model::serve(ModelServer::bench(bench))
}
