//! One Python that stays: starts it in the sandbox, gives it a cell, hears its answer.
//!
//! The code in it is not trusted, and could talk in the driver's place: what it answers is checked like anything from
//! outside.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use innkeeper_sandbox::{
    Collected, End, Ended, Limit, Limits, PipeReader, PipeWriter, Program, Running, Sandbox,
    SandboxPolicy, Usage, Workspace, WorkspaceFile,
};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;

use super::frames::{Frames, Piece};
use super::{language, refused};
use crate::ToolError;
use crate::limits::{
    CODE_WORKER_GRACE, MAX_CODE_ANSWER_BYTES, MAX_CODE_OUTPUT_BYTES, MAX_CODE_OUTPUT_FILES,
    MAX_CODE_SHOWN_RESULT,
};
use crate::script::Interpreter;

const DRIVER: &str = include_str!("driver.py");

/// Dropping it ends it.
pub(super) struct Worker {
    running: Running,
    stdin: PipeWriter,
    stdout: Stream,
    stderr: Stream,
    limits: Limits,
    /// For as long as it lives it takes one of the places that there are.
    _place: OwnedSemaphorePermit,
}

struct Stream {
    pipe: PipeReader,
    frames: Frames,
}

/// What a cell is given.
pub(super) struct Order {
    pub(super) code: String,
    pub(super) files: Vec<WorkspaceFile>,
    pub(super) timeout: Duration,
}

/// What came of a cell.
pub(super) struct Heard {
    pub(super) stdout: Vec<u8>,
    /// The end of it.
    pub(super) stderr: Vec<u8>,
    pub(super) stderr_truncated: bool,
    pub(super) wall: Duration,
    pub(super) end: CellEnd,
}

pub(super) enum CellEnd {
    Answered(Answer),
    /// The worker is no more, and its state with it.
    Lost(Ended),
    /// It answered something that no driver would.
    Confused,
}

pub(super) struct Answer {
    pub(super) told: Told,
    pub(super) files: Vec<Collected>,
}

/// The first line of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    pub(super) exit: i32,
    pub(super) result: Option<String>,
    pub(super) result_cut: bool,
    pub(super) cpu_ms: u64,
    pub(super) memory_bytes: u64,
    pub(super) left: usize,
    files: Vec<ToldFile>,
}

#[derive(Debug, Deserialize)]
struct ToldFile {
    name: String,
    size: u64,
    sent: bool,
}

impl Worker {
    pub(super) async fn start(
        sandbox: &Sandbox,
        interpreter: &Interpreter,
        limits: Limits,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, ToolError> {
        let program = Program::new(&interpreter.path, ["-c", DRIVER]);
        let policy = SandboxPolicy {
            workspace: Some(Workspace::default()),
            limits,
            ..language::policy(interpreter)
        };
        let mut running = sandbox
            .start(program, policy)
            .await
            .map_err(|error| refused(&error))?;
        let pipes = (
            running.stdin.take(),
            running.stdout.take(),
            running.stderr.take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(
                ToolError::failed("the session has no pipes; this is a fault of the tool")
                    .because("sandbox.failed"),
            );
        };
        Ok(Self {
            running,
            stdin,
            stdout: Stream::new(stdout),
            stderr: Stream::new(stderr),
            limits,
            _place: place,
        })
    }

    /// How it ended, if it has ended since its last cell.
    pub(super) fn ended(&mut self) -> Option<Ended> {
        let ended = self.running.wait().now_or_never()?;
        Some(ended.unwrap_or_else(|_| unknown()))
    }

    /// Runs a cell. When the future is dropped in between, the worker is of no more use.
    pub(super) async fn run(&mut self, order: Order) -> Result<Heard, ToolError> {
        let begun = Instant::now();
        let mark = mark()?;
        let mut stdout = Listener::new(self.limits.output, usize::MAX);
        let mut stderr = Listener::new(self.limits.output, self.limits.stderr_kept);
        self.stdout.frames.expect(&mark);
        self.stderr.frames.expect(&mark);
        let asking = tell(&mut self.stdin, &mark, &order);
        let hearing = async {
            tokio::try_join!(self.stdout.hear(&mut stdout), self.stderr.hear(&mut stderr))
        };
        // Whether it could be told everything shows in what it says.
        let talk = async {
            tokio::pin!(hearing);
            tokio::select! {
                heard = &mut hearing => heard,
                _ = asking => hearing.await,
            }
        };
        let talked = tokio::time::timeout(order.timeout, talk).await;
        let end = match talked {
            Err(_) => self.over(Limit::Wall).await,
            Ok(Err(TooMuch::Printed)) => self.over(Limit::Output).await,
            Ok(Err(TooMuch::Answered)) => CellEnd::Confused,
            Ok(Ok((Until::Answer, Until::Answer))) => match answer(stdout.answered) {
                Some(answer) => CellEnd::Answered(answer),
                None => CellEnd::Confused,
            },
            Ok(Ok(_)) => self.gone().await,
        };
        stderr.cut();
        Ok(Heard {
            stdout: stdout.printed,
            stderr_truncated: stderr.total > stderr.printed.len() as u64,
            stderr: stderr.printed,
            wall: begun.elapsed(),
            end,
        })
    }

    async fn over(&mut self, limit: Limit) -> CellEnd {
        self.running.stop();
        let ended = self.end().await.unwrap_or_else(unknown);
        CellEnd::Lost(Ended {
            end: End::Limit { limit, exit: None },
            ..ended
        })
    }

    /// Its pipes are closed: it has ended, or will be made to.
    async fn gone(&mut self) -> CellEnd {
        if let Some(ended) = self.end().await {
            return CellEnd::Lost(ended);
        }
        self.running.stop();
        CellEnd::Lost(self.end().await.unwrap_or_else(unknown))
    }

    async fn end(&mut self) -> Option<Ended> {
        let ended = tokio::time::timeout(CODE_WORKER_GRACE, self.running.wait()).await;
        ended.ok().map(|ended| ended.unwrap_or_else(|_| unknown()))
    }
}

fn unknown() -> Ended {
    Ended {
        end: End::Cancelled,
        usage: Usage::default(),
        files: Vec::new(),
        files_left: 0,
    }
}

/// What tells an answer from anything that is printed. Nobody can know it before.
fn mark() -> Result<String, ToolError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        ToolError::failed(format!("there are no random numbers to be had: {error}"))
    })?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

async fn tell(stdin: &mut PipeWriter, mark: &str, order: &Order) -> std::io::Result<()> {
    let files: Vec<_> = order
        .files
        .iter()
        .map(|file| json!({"name": file.name, "size": file.bytes.len()}))
        .collect();
    let line = json!({
        "mark": mark,
        "code": order.code,
        "files": files,
        "most_files": MAX_CODE_OUTPUT_FILES,
        "most_bytes": MAX_CODE_OUTPUT_BYTES,
        "most_text": MAX_CODE_SHOWN_RESULT,
    });
    stdin.write_all(format!("{line}\n").as_bytes()).await?;
    for file in &order.files {
        stdin.write_all(&file.bytes).await?;
    }
    stdin.flush().await
}

/// What one pipe has brought for one cell.
struct Listener {
    printed: Vec<u8>,
    /// All that was printed.
    total: u64,
    answered: Vec<u8>,
    most: u64,
    /// How much of the end is kept.
    kept: usize,
}

enum Until {
    Answer,
    Closed,
}

#[derive(Debug)]
enum TooMuch {
    Printed,
    Answered,
}

impl Listener {
    fn new(most: u64, kept: usize) -> Self {
        Self {
            printed: Vec::new(),
            total: 0,
            answered: Vec::new(),
            most,
            kept,
        }
    }

    fn take_printed(&mut self, bytes: &[u8]) -> Result<(), TooMuch> {
        let room = self.most.saturating_sub(self.total);
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        self.total += bytes.len() as u64;
        self.printed
            .extend_from_slice(bytes.get(..fits).unwrap_or_default());
        // Cutting at twice the size moves each byte only once.
        if self.printed.len() > self.kept.saturating_mul(2) {
            self.cut();
        }
        match fits < bytes.len() {
            true => Err(TooMuch::Printed),
            false => Ok(()),
        }
    }

    fn cut(&mut self) {
        let surplus = self.printed.len().saturating_sub(self.kept);
        self.printed.drain(..surplus);
    }

    fn take_answered(&mut self, bytes: &[u8]) -> Result<(), TooMuch> {
        self.answered.extend_from_slice(bytes);
        let most = MAX_CODE_ANSWER_BYTES as u64 + MAX_CODE_OUTPUT_BYTES;
        match self.answered.len() as u64 > most {
            true => Err(TooMuch::Answered),
            false => Ok(()),
        }
    }
}

impl Stream {
    fn new(pipe: PipeReader) -> Self {
        Self {
            pipe,
            frames: Frames::default(),
        }
    }

    /// Listens to the end of the answer. Whatever was heard is in `listener`, also when the future is dropped.
    async fn hear(&mut self, listener: &mut Listener) -> Result<Until, TooMuch> {
        let mut part = vec![0; 64 << 10];
        loop {
            while let Some(piece) = self.frames.next() {
                match piece {
                    Piece::Printed(bytes) => listener.take_printed(&bytes)?,
                    Piece::Answered(bytes) => listener.take_answered(&bytes)?,
                    Piece::End => return Ok(Until::Answer),
                }
            }
            match self.pipe.read(&mut part).await {
                Ok(count @ 1..) => self.frames.push(part.get(..count).unwrap_or_default()),
                _ => {
                    listener.take_printed(&self.frames.rest())?;
                    return Ok(Until::Closed);
                }
            }
        }
    }
}

/// The answer, if it is one that the driver could give.
fn answer(bytes: Vec<u8>) -> Option<Answer> {
    let line = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, mut rest) = bytes.split_at_checked(line + 1)?;
    let told: Told = serde_json::from_slice(line).ok()?;
    let mut files = Vec::new();
    if told.files.len() > MAX_CODE_OUTPUT_FILES {
        return None;
    }
    for file in &told.files {
        let mut bytes = None;
        if file.sent {
            let (own, behind) = rest.split_at_checked(usize::try_from(file.size).ok()?)?;
            bytes = Some(own.to_vec());
            rest = behind;
        }
        files.push(Collected {
            name: file.name.clone(),
            size: file.size,
            bytes,
        });
    }
    rest.is_empty().then_some(Answer { told, files })
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
