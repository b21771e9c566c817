//! Streams: one writer, any number of readers, each of which sees everything.
//!
//! A stream holds a bounded number of chunks; whoever writes waits for the slowest reader. Readers that cannot begin
//! yet are not waited for: until they begin, more is kept for them. Where a run would still wait for itself, a stream
//! is given more room: see [`Ledger`].

mod chunk;
mod collected;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use crate::limits::{MAX_STREAM_BYTES, MAX_STREAM_CHUNKS, STREAM_CAPACITY};
use crate::run::Ledger;
use crate::{DataFlowType, NodeError, Value};

pub use chunk::{Chunk, ChunkKind};
pub(crate) use collected::Collected;

/// Nobody may write any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error(
        "a consumer of the stream cannot read before the stream has ended, and it has grown beyond what is kept for it ({MAX_STREAM_BYTES} bytes, {MAX_STREAM_CHUNKS} chunks)"
    )]
    TooLong,
}

struct Shared {
    state: Mutex<State>,
    ledger: Arc<Ledger>,
}

struct State {
    chunks: VecDeque<Kept>,
    bytes: usize,
    /// Number of the first chunk that is held.
    base: u64,
    /// Number of the first chunk that a reader at work has yet to see.
    unread: u64,
    capacity: usize,
    readers: Vec<Option<Cursor>>,
    /// Readers that there still are.
    live: usize,
    /// Those of them that have begun, or are about to.
    at_work: usize,
    end: Option<Result<(), NodeError>>,
    writer: Option<Waker>,
    is_writer_blocked: bool,
    /// The ledger knows of it.
    is_listed: bool,
    is_overfull: bool,
}

/// A chunk that somebody has yet to see.
struct Kept {
    chunk: Chunk,
    bytes: usize,
    /// Readers that have yet to see it.
    unseen: usize,
    /// Those of them that are at work.
    unseen_at_work: usize,
}

#[derive(Default)]
struct Cursor {
    next: u64,
    waker: Option<Waker>,
    is_blocked: bool,
    /// It cannot begin yet.
    is_late: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        let end = self.base + self.chunks.len() as u64;
        end - self.unread < self.capacity as u64
            && self.chunks.len() < MAX_STREAM_CHUNKS
            && self.bytes < MAX_STREAM_BYTES
    }

    /// Lets everyone who waits for news look again.
    fn wake_readers(&mut self, ledger: &Ledger) {
        for cursor in self.readers.iter_mut().flatten() {
            if std::mem::take(&mut cursor.is_blocked) {
                ledger.go_on();
            }
            if let Some(waker) = cursor.waker.take() {
                waker.wake();
            }
        }
    }

    fn wake_writer(&mut self, ledger: &Ledger) {
        if std::mem::take(&mut self.is_writer_blocked) {
            ledger.go_on();
        }
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    /// Chunks that everyone has seen are not held any longer.
    fn forget_seen(&mut self) {
        while let Some(kept) = self.chunks.front()
            && kept.unseen == 0
        {
            self.bytes -= kept.bytes;
            self.base += 1;
            self.chunks.pop_front();
        }
        self.unread = self.unread.max(self.base);
        while self
            .place(self.unread)
            .is_some_and(|kept| kept.unseen_at_work == 0)
        {
            self.unread += 1;
        }
    }

    fn place(&self, number: u64) -> Option<&Kept> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.chunks.get(place)
    }
}

/// A stream with that many readers, none of which misses anything.
pub(crate) fn stream(readers: usize, ledger: &Arc<Ledger>) -> (StreamWriter, Vec<StreamReader>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            chunks: VecDeque::new(),
            bytes: 0,
            base: 0,
            unread: 0,
            capacity: STREAM_CAPACITY,
            readers: (0..readers).map(|_| Some(Cursor::default())).collect(),
            live: readers,
            at_work: readers,
            end: None,
            writer: None,
            is_writer_blocked: false,
            is_listed: false,
            is_overfull: false,
        }),
        ledger: ledger.clone(),
    });
    let readers = (0..readers).map(|index| StreamReader {
        shared: shared.clone(),
        index,
    });
    let readers = readers.collect();
    (StreamWriter { shared }, readers)
}

/// The end that is written to. Dropped, it ends the stream.
pub struct StreamWriter {
    shared: Arc<Shared>,
}

impl StreamWriter {
    /// Waits until the slowest reader has made room. Where nobody reads, the chunk is gone.
    pub async fn send(&self, chunk: Chunk) -> Result<(), SendError> {
        let mut chunk = Some(chunk);
        let mut waiting = Waiting {
            shared: &self.shared,
            has_waited: false,
        };
        poll_fn(|context| {
            let sent = self.poll_send(&mut chunk, context);
            waiting.has_waited |= sent.is_pending();
            sent
        })
        .await
    }

    fn poll_send(
        &self,
        chunk: &mut Option<Chunk>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), SendError>> {
        let mut state = self.shared.lock();
        if state.is_overfull {
            return Poll::Ready(Err(SendError::TooLong));
        }
        if state.live == 0 || state.end.is_some() {
            return Poll::Ready(Ok(()));
        }
        if state.has_room() {
            if let Some(chunk) = chunk.take() {
                let kept = Kept {
                    bytes: chunk.bytes(),
                    chunk,
                    unseen: state.live,
                    unseen_at_work: state.at_work,
                };
                state.bytes += kept.bytes;
                state.chunks.push_back(kept);
                // Where all who are at work have seen everything, the new chunk is the first unread one, if any is.
                state.forget_seen();
                state.wake_readers(&self.shared.ledger);
            }
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(context.waker().clone());
        let is_new = !std::mem::replace(&mut state.is_writer_blocked, true);
        let is_listed = std::mem::replace(&mut state.is_listed, true);
        drop(state);
        if !is_listed {
            let room = Room(Arc::downgrade(&self.shared));
            self.shared.ledger.list(Box::new(room));
        }
        if is_new {
            self.shared.ledger.rest();
        }
        Poll::Pending
    }

    /// Ends the stream because of an error: every reader is told, after what was sent before.
    pub(crate) fn fail(&self, error: NodeError) {
        self.end(Err(error));
    }

    /// Ends the stream, whoever else still holds this end of it.
    pub(crate) fn finish(&self) {
        self.end(Ok(()));
    }

    /// Whether a reader may have seen something.
    pub(crate) fn has_sent(&self) -> bool {
        let state = self.shared.lock();
        state.base > 0 || !state.chunks.is_empty()
    }

    fn end(&self, how: Result<(), NodeError>) {
        let mut state = self.shared.lock();
        if state.end.is_none() {
            state.end = Some(how);
            state.wake_readers(&self.shared.ledger);
        }
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

/// A writer that gave up waiting waits no more.
struct Waiting<'s> {
    shared: &'s Shared,
    has_waited: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.has_waited {
            return;
        }
        let mut state = self.shared.lock();
        if std::mem::take(&mut state.is_writer_blocked) {
            self.shared.ledger.go_on();
        }
        state.writer = None;
    }
}

/// Whoever can be helped out of a deadlock.
pub(crate) trait Relief: Send + Sync {
    fn need(&self) -> Need;
    fn relieve(&self);
}

pub(crate) enum Need {
    /// It is there no more.
    Gone,
    None,
    /// It waits, and holds that many bytes.
    Waits(usize),
}

struct Room(Weak<Shared>);

impl Relief for Room {
    fn need(&self) -> Need {
        let Some(shared) = self.0.upgrade() else {
            return Need::Gone;
        };
        let state = shared.lock();
        match state.is_writer_blocked {
            true => Need::Waits(state.bytes),
            false => Need::None,
        }
    }

    fn relieve(&self) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let mut state = shared.lock();
        if !state.is_writer_blocked {
            return;
        }
        match state.capacity < MAX_STREAM_CHUNKS && state.bytes < MAX_STREAM_BYTES {
            true => state.capacity = (state.capacity * 2).min(MAX_STREAM_CHUNKS),
            false => state.is_overfull = true,
        }
        state.wake_writer(&shared.ledger);
    }
}

/// One consumer's view of a stream: everything, from the beginning. Dropped, it holds nobody up.
pub struct StreamReader {
    shared: Arc<Shared>,
    index: usize,
}

impl StreamReader {
    /// The next chunk; `None` at the end. An error is the error of whoever wrote, and the end too.
    pub async fn next(&mut self) -> Option<Result<Chunk, NodeError>> {
        let mut listening = Listening {
            reader: self,
            has_waited: false,
        };
        poll_fn(|context| {
            let next = listening.reader.poll_next(context);
            listening.has_waited |= next.is_pending();
            next
        })
        .await
    }

    fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Chunk, NodeError>>> {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        let base = state.base;
        let Some(Some(cursor)) = state.readers.get_mut(self.index) else {
            return Poll::Ready(None);
        };
        let place = usize::try_from(cursor.next - base).unwrap_or(usize::MAX);
        if let Some(kept) = state.chunks.get_mut(place) {
            cursor.next += 1;
            let chunk = kept.chunk.clone();
            kept.unseen -= 1;
            kept.unseen_at_work -= 1;
            state.forget_seen();
            if state.has_room() {
                state.wake_writer(&self.shared.ledger);
            }
            return Poll::Ready(Some(Ok(chunk)));
        }
        match &state.end {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(error)) => {
                let error = error.clone();
                // Told once; then it is over.
                if let Some(slot) = state.readers.get_mut(self.index) {
                    *slot = None;
                    state.live -= 1;
                    state.at_work -= 1;
                }
                Poll::Ready(Some(Err(error)))
            }
            None => {
                cursor.waker = Some(context.waker().clone());
                let is_new = !std::mem::replace(&mut cursor.is_blocked, true);
                drop(guard);
                if is_new {
                    self.shared.ledger.rest();
                }
                Poll::Pending
            }
        }
    }

    /// It cannot begin yet: nobody waits for it. Said before anything is written.
    pub(crate) fn is_late(&self) {
        let mut state = self.shared.lock();
        if let Some(Some(cursor)) = state.readers.get_mut(self.index)
            && !std::mem::replace(&mut cursor.is_late, true)
        {
            state.at_work -= 1;
        }
    }

    /// It begins, at the beginning.
    pub(crate) fn begins(&self) {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        if let Some(Some(cursor)) = state.readers.get_mut(self.index)
            && std::mem::take(&mut cursor.is_late)
        {
            state.at_work += 1;
            state.unread = state.base;
            for kept in &mut state.chunks {
                kept.unseen_at_work += 1;
            }
        }
    }

    /// All that is left, as the value that a slot of that type takes.
    pub async fn collect(&mut self, flow: DataFlowType) -> Result<Value, NodeError> {
        let mut collected = Collected::new(flow);
        while let Some(chunk) = self.next().await {
            collected.add(chunk?)?;
        }
        Ok(collected.into_value())
    }
}

/// A reader that gave up waiting waits no more.
struct Listening<'s> {
    reader: &'s StreamReader,
    has_waited: bool,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        if !self.has_waited {
            return;
        }
        let shared = &self.reader.shared;
        if let Some(Some(cursor)) = shared.lock().readers.get_mut(self.reader.index) {
            cursor.waker = None;
            if std::mem::take(&mut cursor.is_blocked) {
                shared.ledger.go_on();
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        let Some(cursor) = state.readers.get_mut(self.index).and_then(Option::take) else {
            return;
        };
        state.live -= 1;
        state.at_work -= usize::from(!cursor.is_late);
        let seen = usize::try_from(cursor.next - state.base).unwrap_or(usize::MAX);
        for kept in state.chunks.iter_mut().skip(seen) {
            kept.unseen -= 1;
            kept.unseen_at_work -= usize::from(!cursor.is_late);
        }
        state.forget_seen();
        if state.has_room() || state.live == 0 {
            state.wake_writer(&self.shared.ledger);
        }
    }
}

impl fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamReader")
    }
}

/// A stream that has one chunk, and has ended.
pub(crate) fn of_one(chunk: Chunk, ledger: &Arc<Ledger>) -> StreamReader {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            bytes: 0,
            chunks: VecDeque::from([Kept {
                chunk,
                bytes: 0,
                unseen: 1,
                unseen_at_work: 1,
            }]),
            base: 0,
            unread: 0,
            capacity: STREAM_CAPACITY,
            readers: vec![Some(Cursor::default())],
            live: 1,
            at_work: 1,
            end: Some(Ok(())),
            writer: None,
            is_writer_blocked: false,
            is_listed: false,
            is_overfull: false,
        }),
        ledger: ledger.clone(),
    });
    StreamReader { shared, index: 0 }
}
