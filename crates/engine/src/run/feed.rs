//! Events on their way to whoever follows: one subscriber may follow many runs.
//!
//! Nobody who listens holds up a run. A subscriber that is too slow loses the oldest events, and is told how many.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::Notify;

use super::event::{EventBody, ExecutionEvent, NodeRef, Trace};
use crate::limits::{EVENT_CAPACITY, MAX_EVENT_BYTES};
use crate::stream::Chunk;

/// All subscribers of an engine.
#[derive(Default)]
pub(crate) struct Hub {
    subscribers: RwLock<Vec<Arc<Queue>>>,
    count: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    /// Only this run; all if none is named.
    prompt_id: Option<Arc<str>>,
    state: Mutex<QueueState>,
    news: Notify,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<Arc<ExecutionEvent>>,
    bytes: usize,
    lost: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    pub(crate) fn subscribe(self: &Arc<Self>, prompt_id: Option<Arc<str>>) -> Subscription {
        let queue = Arc::new(Queue {
            prompt_id,
            ..Queue::default()
        });
        let mut subscribers = self
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        subscribers.push(queue.clone());
        self.count.store(subscribers.len(), Ordering::Release);
        Subscription {
            hub: self.clone(),
            queue,
        }
    }

    fn is_followed(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    fn publish(&self, events: &mut Vec<Arc<ExecutionEvent>>) {
        let subscribers = self
            .subscribers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        for queue in subscribers.iter() {
            let wanted = |event: &ExecutionEvent| {
                queue
                    .prompt_id
                    .as_ref()
                    .is_none_or(|wanted| *wanted == event.prompt_id)
            };
            if !events.first().is_some_and(|event| wanted(event)) {
                continue;
            }
            let mut state = queue.lock();
            state.bytes += events.iter().map(|event| event.weight).sum::<usize>();
            state.events.extend(events.iter().cloned());
            while state.events.len() > EVENT_CAPACITY || state.bytes > MAX_EVENT_BYTES {
                let Some(oldest) = state.events.pop_front() else {
                    break;
                };
                state.bytes -= oldest.weight;
                state.lost += 1;
            }
            drop(state);
            queue.news.notify_one();
        }
        events.clear();
    }
}

/// Somebody who follows.
pub struct Subscription {
    hub: Arc<Hub>,
    queue: Arc<Queue>,
}

/// What a subscriber hears.
#[derive(Debug, Clone)]
pub enum Heard {
    Event(Arc<ExecutionEvent>),
    /// So many events were lost before the next one, because this subscriber is slow.
    Lost(u64),
}

impl Subscription {
    /// The next event. Never ends by itself: whether a run is over, its events tell.
    pub async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.try_next() {
                return heard;
            }
            self.queue.news.notified().await;
        }
    }

    pub fn try_next(&mut self) -> Option<Heard> {
        let mut state = self.queue.lock();
        match std::mem::take(&mut state.lost) {
            0 => {
                let event = state.events.pop_front()?;
                state.bytes -= event.weight;
                Some(Heard::Event(event))
            }
            lost => Some(Heard::Lost(lost)),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut subscribers = self
            .hub
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
        self.hub.count.store(subscribers.len(), Ordering::Release);
    }
}

/// The events of one run, numbered.
pub(crate) struct Feed {
    hub: Arc<Hub>,
    pub(crate) prompt_id: Arc<str>,
    state: Mutex<FeedState>,
}

#[derive(Default)]
struct FeedState {
    seq: u64,
    is_over: bool,
    /// Kept for the next time.
    batch: Vec<Arc<ExecutionEvent>>,
}

impl Feed {
    pub(crate) fn new(hub: Arc<Hub>, prompt_id: Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            hub,
            prompt_id,
            state: Mutex::default(),
        })
    }

    /// Whether it is worth while to make an event.
    pub(crate) fn is_followed(&self) -> bool {
        self.hub.is_followed()
    }

    pub(crate) fn tell(&self, body: EventBody) {
        self.tell_all(&mut std::iter::once(body));
    }

    /// Numbering and handing over are one step, so that everyone sees one order.
    pub(crate) fn tell_all(&self, bodies: &mut dyn Iterator<Item = EventBody>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.hand_over(&mut state, bodies);
    }

    /// After these nothing is told, whatever a node has left behind. They are made only if somebody follows.
    pub(crate) fn tell_last(&self, bodies: impl FnOnce() -> [EventBody; 2]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_followed() {
            self.hand_over(&mut state, &mut bodies().into_iter());
        }
        state.is_over = true;
    }

    fn hand_over(&self, state: &mut FeedState, bodies: &mut dyn Iterator<Item = EventBody>) {
        if state.is_over {
            return;
        }
        for mut body in bodies {
            state.seq += 1;
            state.batch.push(Arc::new(ExecutionEvent {
                prompt_id: self.prompt_id.clone(),
                seq: state.seq,
                weight: body.trim(),
                body,
            }));
        }
        self.hub.publish(&mut state.batch);
    }
}

/// What one node tells.
#[derive(Clone)]
pub(crate) struct NodeEvents {
    pub(crate) feed: Arc<Feed>,
    pub(crate) node: NodeRef,
}

impl NodeEvents {
    fn tell(&self, body: impl FnOnce(NodeRef) -> EventBody) {
        if self.feed.is_followed() {
            self.feed.tell(body(self.node.clone()));
        }
    }

    pub(crate) fn progress(&self, value: f64, max: f64) {
        self.tell(|node| EventBody::NodeProgress { node, value, max });
    }

    pub(crate) fn preview(&self, text: String) {
        self.tell(|node| EventBody::NodePreview { node, text });
    }

    pub(crate) fn trace(&self, trace: Trace) {
        self.tell(|node| EventBody::Trace { node, trace });
    }

    pub(crate) fn chunk(&self, output: &Arc<str>, chunk: &Chunk) {
        self.tell(|node| EventBody::NodeYield {
            node,
            output: output.clone(),
            chunk: Some(chunk.clone()),
        });
    }

    pub(crate) fn stream_end(&self, output: &Arc<str>) {
        self.tell(|node| EventBody::NodeYield {
            node,
            output: output.clone(),
            chunk: None,
        });
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
