//! One worker process, from its start to its end: a task that owns the pipes, and a handle to ask through.
//!
//! Reading, writing, waiting for the end and watching the time all happen in one loop, so that a worker that writes
//! before it reads, or the other way round, blocks nobody.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::lines::Lines;
use super::process::Process;
use super::room::Seat;
use super::tail::{LastWords, Tail};
use super::talk::{Call, NoResult, Talk};
use super::wire;
use crate::limits::{
    MAX_SCRIPT_INPUT_BYTES, MAX_WORKER_LINE_BYTES, WORKER_KILL_GRACE, WORKER_PIPE_GRACE,
    WORKER_STOP_GRACE,
};
use crate::{Progress, Room};

/// The handle. The worker is stopped when it and all calls are gone.
pub(super) struct Worker {
    commands: mpsc::Sender<Command>,
    next: AtomicU64,
    tail: Tail,
    ending: watch::Receiver<Option<Ending>>,
}

/// What became of it.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    /// It was stopped because nobody needed it.
    Stopped,
    Died(Death),
}

#[derive(Debug, Clone)]
pub(super) struct Death {
    pub(super) at: Instant,
    pub(super) how: String,
    pub(super) last_words: LastWords,
    /// It had answered something before.
    pub(super) answered: bool,
    /// Its end was its own doing, not that of a call which nobody wanted any more.
    pub(super) own: bool,
}

enum Command {
    Call(Box<Call>),
    Abandon(u64),
}

impl Worker {
    pub(super) fn begin(process: Process, seat: Seat, idle: Duration, calls: usize) -> Self {
        // Each call says at most two things: that it begins and that nobody waits any more.
        let (commands, heard) = mpsc::channel(2 * calls.max(1));
        let (ending, told) = watch::channel(None);
        let tail = Tail::default();
        let actor = Actor {
            commands: heard,
            open: true,
            stdin: Some(process.stdin),
            stdout: Pipe::new(process.stdout),
            stderr: Pipe::new(process.stderr),
            ended: process.ended,
            kill: process.kill,
            lines: Lines::new(MAX_WORKER_LINE_BYTES),
            unheard: VecDeque::new(),
            held: None,
            talk: Talk::new(tail.clone()),
            tail: tail.clone(),
            seat,
            idle,
            ending,
        };
        tokio::spawn(actor.run());
        Self {
            commands,
            next: AtomicU64::new(1),
            tail,
            ending: told,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.commands.is_closed()
    }

    pub(super) fn last_words(&self) -> LastWords {
        self.tail.last_words()
    }

    /// Waits until it is known what became of it; soon after it is no longer open.
    pub(super) async fn ending(&self) -> Ending {
        let mut ending = self.ending.clone();
        match ending.wait_for(Option::is_some).await {
            Ok(ending) => ending.clone().unwrap_or(Ending::Stopped),
            Err(_) => Ending::Stopped,
        }
    }

    /// Asks and waits for the answer. If the future is dropped before, the worker is told to stop with it.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Json,
        progress: Progress,
        turn: OwnedSemaphorePermit,
    ) -> Result<Json, NoResult> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let line = wire::request(id, method, params);
        if line.len() > MAX_SCRIPT_INPUT_BYTES {
            return Err(NoResult::TooLarge);
        }
        let abandon = self.commands.clone().reserve_owned().await;
        let (Ok(abandon), Ok(begin)) = (abandon, self.commands.reserve().await) else {
            return Err(NoResult::Undelivered);
        };
        let (reply, answer) = oneshot::channel();
        begin.send(Command::Call(Box::new(Call {
            id,
            line,
            reply,
            progress,
            turn,
        })));
        let mut waiting = Waiting(Some((abandon, id)));
        let answer = answer.await;
        waiting.0 = None;
        answer.unwrap_or_else(|_| {
            Err(NoResult::Died {
                how: "was lost".to_owned(),
                last_words: self.last_words(),
            })
        })
    }
}

/// Tells the worker, when it is dropped, that nobody waits any more.
struct Waiting(Option<(mpsc::OwnedPermit<Command>, u64)>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((abandon, id)) = self.0.take() {
            abandon.send(Command::Abandon(id));
        }
    }
}

struct Actor {
    commands: mpsc::Receiver<Command>,
    /// There may be further commands.
    open: bool,
    stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    stdout: Pipe,
    stderr: Pipe,
    ended: BoxFuture<'static, String>,
    kill: CancellationToken,
    lines: Lines,
    /// Lines that have yet to be heard.
    unheard: VecDeque<Vec<u8>>,
    /// Somebody has no room for more pieces: nothing is heard until then.
    held: Option<Room>,
    talk: Talk,
    tail: Tail,
    seat: Seat,
    idle: Duration,
    ending: watch::Sender<Option<Ending>>,
}

/// Why the loop was left.
enum Left {
    /// Nobody needs it.
    Unneeded,
    /// It has ended; these are the words for it.
    Exited(String),
    /// It cannot be talked with any more.
    Mute(&'static str),
    /// It broke a rule, or did not stop with what nobody wanted.
    Breach(&'static str),
    Unheeded,
}

impl Actor {
    async fn run(mut self) {
        let left = self.serve().await;
        // From here on callers find it closed, and look for another.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            undelivered(command);
        }
        if matches!(left, Left::Unneeded) {
            self.ending.send_replace(Some(Ending::Stopped));
        }
        self.stdin = None;
        let how = self.finish(&left).await;
        if !matches!(left, Left::Unneeded) {
            let last_words = self.tail.last_words();
            // Before the calls are told: whoever tries again must find out how it stands with this one.
            self.ending.send_replace(Some(Ending::Died(Death {
                at: Instant::now(),
                how: how.clone(),
                last_words: last_words.clone(),
                answered: self.talk.has_answered(),
                own: !matches!(left, Left::Unheeded),
            })));
            self.talk.fail(&how, &last_words);
        }
        // Ends when everybody who was about to say something has found out that it is closed.
        while let Some(command) = self.commands.recv().await {
            undelivered(command);
        }
    }

    async fn serve(&mut self) -> Left {
        let leave = self.seat.leave();
        let mut idle_since = Instant::now();
        loop {
            if self.talk.is_idle() && (!self.open || leave.is_cancelled()) {
                return Left::Unneeded;
            }
            let wake = match self.talk.is_idle() {
                true => Some(idle_since + self.idle),
                false => self.talk.overdue(),
            };
            let was_idle = self.talk.is_idle();
            let has_letters = !self.talk.pending().is_empty();
            tokio::select! {
                command = self.commands.recv(), if self.open => match command {
                    Some(Command::Call(call)) => {
                        self.seat.busy();
                        self.talk.begin(*call);
                    }
                    Some(Command::Abandon(id)) => self.talk.abandon(id, Instant::now()),
                    None => self.open = false,
                },
                // What it says waits in its pipe, and in the end it waits itself, while nobody takes it.
                piece = self.stdout.read(), if self.held.is_none() => match piece {
                    Some(bytes) => {
                        let fed = self.lines.feed(bytes);
                        for line in fed.lines {
                            if self.held.is_some() {
                                self.unheard.push_back(line.into_owned());
                                continue;
                            }
                            if let Err(how) = self.talk.hear(&line) {
                                return Left::Breach(how);
                            }
                            self.held = self.talk.room();
                        }
                        if fed.too_long {
                            return Left::Breach(TOO_LONG);
                        }
                    }
                    None => return Left::Mute("closed its standard output"),
                },
                () = room(&mut self.held), if self.held.is_some() => self.held = None,
                piece = self.stderr.read(), if self.stderr.is_open() => {
                    if let Some(bytes) = piece {
                        self.tail.take(bytes);
                    }
                }
                wrote = write(&mut self.stdin, self.talk.pending()), if has_letters => match wrote {
                    Some(bytes) => self.talk.wrote(bytes),
                    None => return Left::Mute("closed its standard input"),
                },
                how = &mut self.ended => return Left::Exited(how),
                () = leave.cancelled(), if self.talk.is_idle() => return Left::Unneeded,
                () = sleep_until(wake.unwrap_or(idle_since)), if wake.is_some() => {
                    return match self.talk.is_idle() {
                        true => Left::Unneeded,
                        false => Left::Unheeded,
                    };
                }
            }
            if let Err(how) = self.hear_on() {
                return Left::Breach(how);
            }
            if self.talk.is_idle() && !was_idle {
                idle_since = Instant::now();
                self.seat.idle();
            }
        }
    }

    /// Line by line, for as long as there is room for what they say.
    fn hear_on(&mut self) -> Result<(), &'static str> {
        while self.held.is_none()
            && let Some(line) = self.unheard.pop_front()
        {
            self.talk.hear(&line)?;
            self.held = self.talk.room();
        }
        Ok(())
    }

    /// What is left, room or not: it is over.
    fn hear_all(&mut self) -> bool {
        while let Some(line) = self.unheard.pop_front() {
            if self.talk.hear(&line).is_err() {
                return false;
            }
        }
        true
    }

    /// Sees it to its end, and says what that was. What it still says on the way is heard.
    async fn finish(&mut self, left: &Left) -> String {
        let (mut exited, mut patience) = match left {
            Left::Exited(how) => (Some(how.clone()), WORKER_PIPE_GRACE),
            Left::Unneeded | Left::Mute(_) => (None, WORKER_STOP_GRACE),
            Left::Breach(_) | Left::Unheeded => {
                self.kill.cancel();
                (None, WORKER_KILL_GRACE)
            }
        };
        let mut until = Instant::now() + patience;
        let mut listening = !matches!(left, Left::Breach(_)) && self.hear_all();
        while exited.is_none() || self.stdout.is_open() || self.stderr.is_open() {
            tokio::select! {
                piece = self.stdout.read(), if self.stdout.is_open() => if let Some(bytes) = piece {
                    listening = listening && hear(&mut self.lines, &mut self.talk, bytes).is_ok();
                },
                piece = self.stderr.read(), if self.stderr.is_open() => if let Some(bytes) = piece {
                    self.tail.take(bytes);
                },
                how = &mut self.ended, if exited.is_none() => {
                    exited = Some(how);
                    // Nothing of it is left that could write, so what is in the pipes is all there is.
                    until = Instant::now() + WORKER_PIPE_GRACE;
                }
                () = sleep_until(until) => {
                    if exited.is_some() || self.kill.is_cancelled() {
                        break;
                    }
                    self.kill.cancel();
                    patience = WORKER_KILL_GRACE;
                    until = Instant::now() + patience;
                }
            }
        }
        if let Some(line) = self.lines.finish().filter(|_| listening) {
            // It is over: there is nothing left to be ended.
            let _ = self.talk.hear(&line);
        }
        match (left, exited) {
            (Left::Exited(how), _) => how.clone(),
            (Left::Breach(how), _) => format!("{how}, and was ended"),
            (Left::Unheeded, _) => "did not stop with a cancelled call, and was ended".to_owned(),
            (Left::Mute(how), Some(exit)) if self.kill.is_cancelled() => format!("{how} ({exit})"),
            (Left::Mute(_) | Left::Unneeded, Some(exit)) => exit,
            (Left::Mute(how), None) => (*how).to_owned(),
            (Left::Unneeded, None) => "was stopped".to_owned(),
        }
    }
}

const TOO_LONG: &str = "wrote a line of more than 16 MiB";

async fn room(held: &mut Option<Room>) {
    if let Some(room) = held {
        room.await;
    }
}

fn undelivered(command: Command) {
    if let Command::Call(call) = command {
        let _ = call.reply.send(Err(NoResult::Undelivered));
    }
}

fn hear(lines: &mut Lines, talk: &mut Talk, bytes: &[u8]) -> Result<(), &'static str> {
    let fed = lines.feed(bytes);
    for line in &fed.lines {
        talk.hear(line)?;
    }
    match fed.too_long {
        true => Err(TOO_LONG),
        false => Ok(()),
    }
}

/// `None`: nobody reads any more.
async fn write(
    stdin: &mut Option<Box<dyn AsyncWrite + Send + Unpin>>,
    bytes: &[u8],
) -> Option<usize> {
    match stdin.as_mut()?.write(bytes).await {
        Ok(wrote @ 1..) => Some(wrote),
        _ => None,
    }
}

/// A pipe and the piece that was read last.
struct Pipe {
    pipe: Option<Box<dyn AsyncRead + Send + Unpin>>,
    buffer: Vec<u8>,
}

impl Pipe {
    fn new(pipe: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        Self {
            pipe: Some(pipe),
            buffer: vec![0; 16 * 1024],
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// `None` at the end; a pipe that breaks has ended. Loses nothing if it is dropped while it waits.
    async fn read(&mut self) -> Option<&[u8]> {
        match self.pipe.as_mut()?.read(&mut self.buffer).await {
            Ok(read @ 1..) => self.buffer.get(..read),
            _ => {
                self.pipe = None;
                None
            }
        }
    }
}
