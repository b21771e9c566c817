//! The server that all of them ask, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use innkeeper_benches::Failed;
use innkeeper_testkit::model_server::{Bench, ModelServer};
use rustix::process::{Resource, getrlimit, setrlimit};

pub(crate) const ROLE: &str = "--serve";

/// Ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) bench: Bench,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(bench: Bench) -> Result<Self, Failed> {
        let numbers = [
            bench.tokens,
            bench.bytes_per_token,
            bench.tokens_per_write,
            usize::try_from(bench.pause.as_micros())?,
        ];
        let mut child = Command::new(std::env::current_exe()?)
            .arg(ROLE)
            .args(numbers.map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut url)?;
        }
        let url = url.trim().to_owned();
        let server = Self { child, bench, url };
        match server.url.is_empty() {
            true => Err("the server did not start".into()),
            false => Ok(server),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input has come to an end then.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until the input ends.
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
    open_many()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let server = runtime.block_on(ModelServer::bench(bench));
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// As many connections as the system lets one process have.
pub(crate) fn open_many() -> Result<(), Failed> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
