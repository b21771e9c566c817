//! What is said to the other end of a connection, in order. Bounded in messages, bytes and time: whoever has much to say waits
//! until it was taken, and whoever takes nothing is let go.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::figures::Figures;
use crate::limits::{MAX_UNSAID, MAX_UNSAID_BYTES, SOCKET_PING_EVERY, SPEAKING_TIMEOUT};

#[derive(Clone)]
pub(crate) struct Mouth {
    unsaid: mpsc::Sender<Said>,
    room: Arc<Semaphore>,
    figures: Arc<Figures>,
}

pub(super) enum Said {
    /// With the room that it takes until it was said.
    Text(String, OwnedSemaphorePermit),
    /// The last thing that is said.
    Goodbye(CloseFrame),
}

/// The other end is gone.
pub(crate) struct Gone;

impl Mouth {
    /// And what goes through it, to be said by [`speak`].
    pub(super) fn new(figures: Arc<Figures>) -> (Self, Unsaid) {
        let (unsaid, waiting) = mpsc::channel(MAX_UNSAID);
        let room = Arc::new(Semaphore::new(MAX_UNSAID_BYTES));
        let mouth = Self {
            unsaid,
            room: room.clone(),
            figures,
        };
        (mouth, Unsaid { waiting, room })
    }

    pub(crate) async fn say(&self, text: String) -> Result<(), Gone> {
        let room = self.room.clone().acquire_many_owned(weight(&text));
        let room = room.await.map_err(|_| Gone)?;
        let said = Said::Text(text, room);
        self.unsaid.send(said).await.map_err(|_| Gone)
    }

    /// Only if it need not wait: for what does not matter to whoever does not listen.
    pub(crate) fn try_say(&self, text: String) {
        let room = self.room.clone().try_acquire_many_owned(weight(&text));
        if let Ok(room) = room {
            let _ = self.unsaid.try_send(Said::Text(text, room));
        }
    }

    /// One event of what somebody follows.
    pub(super) async fn tell(&self, event: String) -> Result<(), Gone> {
        self.figures.delivered(1);
        self.say(event).await
    }

    /// Some were missed.
    pub(super) async fn tell_lag(&self, lag: String) -> Result<(), Gone> {
        self.figures.lagged();
        self.say(lag).await
    }

    pub(super) async fn goodbye(&self, frame: CloseFrame) -> Result<(), Gone> {
        let said = Said::Goodbye(frame);
        self.unsaid.send(said).await.map_err(|_| Gone)
    }

    /// When nobody listens any more.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let unsaid = self.unsaid.clone();
        async move { unsaid.closed().await }
    }
}

/// One that is larger than all the room goes alone.
fn weight(text: &str) -> u32 {
    u32::try_from(text.len().min(MAX_UNSAID_BYTES)).unwrap_or(u32::MAX)
}

pub(super) struct Unsaid {
    waiting: mpsc::Receiver<Said>,
    room: Arc<Semaphore>,
}

impl Drop for Unsaid {
    fn drop(&mut self) {
        self.room.close();
    }
}

/// Says what there is to say, and asks now and then whether anybody is there. Ends where nothing is taken for too long.
pub(super) async fn speak(mut sink: SplitSink<WebSocket, Message>, mut unsaid: Unsaid) {
    let mut pings = tokio::time::interval(SOCKET_PING_EVERY);
    pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let said = tokio::select! {
            said = unsaid.waiting.recv() => said,
            _ = pings.tick() => {
                let ping = sink.send(Message::Ping(Default::default()));
                match tokio::time::timeout(SPEAKING_TIMEOUT, ping).await {
                    Ok(Ok(())) => continue,
                    _ => return,
                }
            }
        };
        let saying = say_all(&mut sink, said, &mut unsaid.waiting);
        match tokio::time::timeout(SPEAKING_TIMEOUT, saying).await {
            Ok(true) => {}
            _ => return,
        }
    }
}

/// What has come together goes out together. Says whether there may be more.
async fn say_all(
    sink: &mut SplitSink<WebSocket, Message>,
    mut said: Option<Said>,
    waiting: &mut mpsc::Receiver<Said>,
) -> bool {
    let mut taken = Vec::new();
    loop {
        let fed = match said {
            Some(Said::Text(text, room)) => {
                taken.push(room);
                sink.feed(Message::Text(text.into())).await
            }
            Some(Said::Goodbye(frame)) => {
                let _ = sink.send(Message::Close(Some(frame))).await;
                return false;
            }
            None => return false,
        };
        if fed.is_err() {
            return false;
        }
        match waiting.try_recv() {
            Ok(next) => said = Some(next),
            Err(_) => break,
        }
    }
    sink.flush().await.is_ok()
}
