//! For tests: a server made of plain sockets, which can misbehave in any way, and a format that anyone can read.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use innkeeper_protocol::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::attempt::{self, Attempt};
use super::{Endpoint, HttpClient, Timeouts};
use crate::provider::{Auth, Provider, Quirks};
use crate::wire::{Decoder, SseEvent, WireRequest};
use crate::{ModelError, ModelErrorKind, ModelEvent, WireFormat};

pub(super) const KEY: &str = "sk-marker-0123456789";

/// Ends with the value.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// `talk` is given each connection.
    pub(super) async fn start<F, T>(talk: F) -> Self
    where
        F: Fn(Conn) -> T + Send + 'static,
        T: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                talks.spawn(talk(Conn {
                    stream,
                    unread: Vec::new(),
                }));
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    /// The same answer to everyone, and the connection closed after it.
    pub(super) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Vec<u8> = answer.into();
        Self::start(move |mut conn| {
            let answer = answer.clone();
            async move {
                conn.request().await?;
                conn.write(&answer).await
            }
        })
        .await
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn endpoint(&self) -> Arc<Endpoint> {
        endpoint(&self.url(), Timeouts::default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) struct Conn {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Conn {
    /// Head and body of the next request.
    pub(super) async fn request(&mut self) -> io::Result<String> {
        loop {
            let text = String::from_utf8_lossy(&self.unread).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head
                    .to_ascii_lowercase()
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
                    .unwrap_or(0);
                if body.len() >= length {
                    self.unread.drain(..head.len() + 4 + length);
                    return Ok(format!("{head}\r\n\r\n{}", &body[..length]));
                }
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    pub(super) async fn chunk(&mut self, text: &str) -> io::Result<()> {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.write(chunk).await
    }

    /// Until the other side is gone.
    pub(super) async fn closed(&mut self) {
        let mut rest = [0; 64];
        while matches!(self.stream.read(&mut rest).await, Ok(n) if n > 0) {}
    }

    pub(super) async fn nothing_more(self) -> io::Result<()> {
        std::future::pending().await
    }
}

/// While it lives, paused time moves by hand only: it would otherwise run away whenever the network takes a moment.
pub(super) struct StandStill {
    _until: std::sync::mpsc::Sender<()>,
}

impl StandStill {
    pub(super) fn new() -> Self {
        let (until, over) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || over.recv());
        Self { _until: until }
    }
}

/// The head of an answer in events, chunked.
pub(super) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A whole answer with its length.
pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(super) fn events(body: &str) -> String {
    answer("200 OK", "content-type: text/event-stream\r\n", body)
}

pub(super) fn provider(format: WireFormat, auth: Auth) -> Provider {
    Provider {
        id: "fake".into(),
        label: "Fake".into(),
        format,
        base_url: None,
        key_url: None,
        key_env: None,
        auth,
        headers: Default::default(),
        local_port: None,
        quirks: Quirks::default(),
    }
}

pub(super) fn endpoint(url: &str, timeouts: Timeouts) -> Arc<Endpoint> {
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    let client = HttpClient::new().unwrap();
    Arc::new(Endpoint::new(client, &provider, Some(url), Vec::new(), timeouts).unwrap())
}

/// Sends `{"hello":1}` and reads [`Plain`].
pub(super) fn send(endpoint: &Arc<Endpoint>) -> Attempt {
    let key = Some(Secret::new(KEY));
    attempt::begin(Arc::clone(endpoint), key, "tiny".into(), || {
        let wire = WireRequest {
            path: "chat/completions".into(),
            headers: vec![("x-format", "plain".into())],
            body: br#"{"hello":1}"#.to_vec(),
            streams: true,
        };
        Ok((wire, Box::new(Plain::default())))
    })
}

/// All that came, and how it ended.
pub(super) async fn read(mut attempt: Attempt) -> (String, Option<ModelError>) {
    let mut text = String::new();
    while let Some(item) = next(&mut attempt).await {
        match item {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(
                    next(&mut attempt).await.is_none(),
                    "nothing follows an error"
                );
                return (text, Some(error));
            }
        }
    }
    (text, None)
}

pub(super) async fn next(attempt: &mut Attempt) -> Option<Result<ModelEvent, ModelError>> {
    std::future::poll_fn(|cx| attempt.as_mut().poll_next(cx)).await
}

pub(super) async fn ask(endpoint: &Arc<Endpoint>) -> (String, Option<ModelError>) {
    read(send(endpoint)).await
}

/// The data of each event is a piece of text; `[FINISH]` says that the model is done, `[DONE]` that nothing follows.
#[derive(Default)]
struct Plain {
    finished: bool,
    over: bool,
}

impl Decoder for Plain {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match &*event.data {
            "[FINISH]" => self.finished = true,
            "[DONE]" => self.over = true,
            data => {
                out.push(ModelEvent::Text(data.to_owned()));
                if let Some(bad) = data.strip_prefix("bad:") {
                    return Err(ModelError::new(ModelErrorKind::Malformed, bad));
                }
            }
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let text = String::from_utf8_lossy(body);
        out.push(ModelEvent::Text(format!("whole {text}")));
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn end(&mut self, _: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.finished || self.over {
            true => Ok(()),
            false => Err(ModelError::new(
                ModelErrorKind::BrokenStream,
                "the decoder wants more",
            )),
        }
    }
}
