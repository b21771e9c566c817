//! Workers in memory: the test is at the other end of the pipes, and can do there what real ones do only by chance.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::process::{Launch, Process};
use super::*;
use crate::script::{
    EnvironmentValue, ScriptError, ScriptJob, ScriptLimits, ScriptReach, StderrLines,
};

/// The far end of one worker.
pub(super) struct Far {
    stdin: Lines<BufReader<DuplexStream>>,
    stdout: Option<DuplexStream>,
    pub(super) stderr: DuplexStream,
    exit: Option<oneshot::Sender<String>>,
    pub(super) killed: CancellationToken,
}

struct Stages(mpsc::UnboundedSender<Far>);

#[async_trait]
impl Launch for Stages {
    async fn launch(&self, job: ScriptJob) -> Result<Process, ScriptError> {
        if job.program == "missing" {
            return Err(ScriptError::InterpreterMissing {
                program: job.program,
                remedy: String::new(),
            });
        }
        let (stdin, far_stdin) = duplex(1024);
        let (far_stdout, stdout) = duplex(64 * 1024);
        let (far_stderr, stderr) = duplex(1024);
        let (exit, exited) = oneshot::channel();
        let kill = CancellationToken::new();
        let killed = kill.clone();
        let far = Far {
            stdin: BufReader::new(far_stdin).lines(),
            stdout: Some(far_stdout),
            stderr: far_stderr,
            exit: Some(exit),
            killed: kill.clone(),
        };
        self.0.send(far).map_err(|_| ScriptError::Cancelled)?;
        Ok(Process {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            ended: Box::pin(async move {
                tokio::select! {
                    how = exited => how.unwrap_or_else(|_| "ended with exit code 0".to_owned()),
                    () = killed.cancelled() => "was stopped".to_owned(),
                }
            }),
            kill,
        })
    }
}

impl Far {
    /// What the host says next; `None` when it has closed the pipe.
    pub(super) async fn next(&mut self) -> Option<Json> {
        let line = self.stdin.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// A call, by its id.
    pub(super) async fn called(&mut self) -> u64 {
        let message = self.next().await.expect("a call");
        assert_eq!(message["method"], "call", "{message}");
        message["id"].as_u64().unwrap()
    }

    pub(super) async fn cancelled(&mut self) -> u64 {
        let message = self.next().await.expect("a cancel");
        assert_eq!(message["method"], "cancel", "{message}");
        message["params"]["id"].as_u64().unwrap()
    }

    pub(super) async fn print(&mut self, text: &str) {
        let stdout = self.stdout.as_mut().unwrap();
        // The host may have stopped listening.
        let _ = stdout.write_all(text.as_bytes()).await;
    }

    pub(super) async fn say(&mut self, message: Json) {
        self.print(&format!("{message}\n")).await;
    }

    pub(super) async fn answer(&mut self, id: u64, result: Json) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    pub(super) async fn notify(&mut self, method: &str, params: Json) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub(super) async fn complain(&mut self, text: &str) {
        self.stderr.write_all(text.as_bytes()).await.unwrap();
    }

    pub(super) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    pub(super) fn die(mut self, how: &str) {
        let _ = self.exit.take().unwrap().send(how.to_owned());
    }

    /// Sees that it was stopped in good order, and goes.
    pub(super) async fn stopped(mut self) {
        assert_eq!(self.next().await, None);
        assert!(!self.killed.is_cancelled());
        self.die("ended with exit code 0");
    }
}

pub(super) struct Theatre {
    pub(super) pool: WorkerPool,
    started: mpsc::UnboundedReceiver<Far>,
}

impl Theatre {
    pub(super) fn new(most: usize) -> Self {
        let (sender, started) = mpsc::unbounded_channel();
        Self {
            pool: WorkerPool::of(Arc::new(Stages(sender)), most),
            started,
        }
    }

    /// The next worker that is started.
    pub(super) async fn worker(&mut self) -> Far {
        self.started.recv().await.unwrap()
    }

    pub(super) fn no_worker(&mut self) -> bool {
        self.started.try_recv().is_err()
    }

    pub(super) fn call(&self, spec: &WorkerSpec) -> Calling {
        self.call_with(spec, call())
    }

    pub(super) fn call_with(&self, spec: &WorkerSpec, call: WorkerCall) -> Calling {
        let (pool, spec) = (self.pool.clone(), spec.clone());
        tokio::spawn(async move { pool.call(&spec, call).await })
    }
}

pub(super) type Calling = JoinHandle<Result<Json, WorkerError>>;

pub(super) const TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn call() -> WorkerCall {
    WorkerCall {
        method: CALL,
        params: json!({"tool": "T", "arguments": {}}),
        timeout: TIMEOUT,
        cancel: CancellationToken::new(),
        progress: Progress::default(),
    }
}

pub(super) fn spec(owner: &str) -> WorkerSpec {
    WorkerSpec {
        owner: owner.to_owned(),
        stamp: 1,
        sources: Revision::of([]),
        job: ScriptJob {
            program: "python".into(),
            arguments: vec!["worker.py".into()],
            directory: "/".into(),
            environment: vec![("KEY".into(), EnvironmentValue::Plain("v".into()))],
            stdin: Vec::new(),
            limits: ScriptLimits::default(),
            reach: ScriptReach::default(),
            stderr: StderrLines::default(),
            cancel: CancellationToken::new(),
        },
        idle: Duration::from_secs(60),
        concurrency: 1,
    }
}
