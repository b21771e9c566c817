//! One answer of the script: what is sent, how it is cut, and what goes wrong.

use serde_json::Value as Json;

use super::quirks::UsageAt;
use super::render::{render, render_error};
use super::request::{Delivery, Format, Request};
use super::say::Say;

/// One answer. It goes out in the format and the delivery that the request asks for.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) content: Content,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) delivery: Option<Delivery>,
    pub(super) framing: Framing,
    pub(super) cuts: Cuts,
    pub(super) chunk_bytes: Option<usize>,
    pub(super) faults: Vec<Fault>,
    pub(super) closes: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Say(Box<Say>),
    /// A refusal in the shape of the request's format.
    Error(String),
    Body(Vec<u8>),
    /// With a head of its own.
    Raw(Vec<u8>),
}

/// How the length of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Streams in chunks, all else by its length.
    #[default]
    ByDelivery,
    /// `transfer-encoding: chunked`.
    Chunked,
    /// `content-length`.
    Length,
    /// Not at all: the connection closes at its end.
    UntilClose,
}

/// How what follows the head is cut into writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Cuts {
    /// One write for each chunk.
    #[default]
    Chunks,
    Every(usize),
    At(Vec<usize>),
}

/// What goes wrong. Places are counted in bytes of the body, or of all where the answer is raw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection closes without a word.
    HangUp,
    /// The connection is reset without a word.
    Reset,
    /// Not even the head comes before [`super::ModelServer::release`].
    Hang,
    CloseAfter(usize),
    ResetAfter(usize),
    /// The rest comes after [`super::ModelServer::release`].
    StallAfter(usize),
    /// Bytes between the others.
    Insert(usize, Vec<u8>),
    /// A line that no format knows, between the others.
    GarbageAfter(usize),
    /// A byte that is no UTF-8, inside the first text.
    BadUtf8,
    /// A chunk that ends too early, and then the connection closes.
    HalfChunkAfter(usize),
    /// A chunk without a size, and then the connection closes.
    BadChunkAfter(usize),
    /// As [`super::Quirks::no_done`].
    NoDone,
    /// As [`super::Quirks::no_finish`].
    NoFinish,
}

impl Answer {
    pub fn say(say: Say) -> Self {
        Self::new(200, Content::Say(Box::new(say)))
    }

    /// An answer with this status and, unless there comes one, an empty body.
    pub fn status(status: u16) -> Self {
        Self::new(status, Content::Body(Vec::new()))
    }

    /// A refusal in the shape of the format that is spoken.
    pub fn error(status: u16, message: &str) -> Self {
        Self::new(status, Content::Error(message.to_owned()))
    }

    pub fn json(value: &Json) -> Self {
        Self::status(200).body(value.to_string())
    }

    /// This text as an event stream.
    pub fn events(text: impl Into<Vec<u8>>) -> Self {
        Self::status(200)
            .body(text)
            .header("content-type", "text/event-stream")
            .delivery(Delivery::Stream)
    }

    /// Exactly these bytes, head included; then the connection closes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(200, Content::Raw(bytes.into())).closing()
    }

    fn new(status: u16, content: Content) -> Self {
        Self {
            content,
            status,
            headers: Vec::new(),
            delivery: None,
            framing: Framing::default(),
            cuts: Cuts::default(),
            chunk_bytes: None,
            faults: Vec::new(),
            closes: false,
        }
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.content = Content::Body(body.into());
        self
    }

    /// A header field; one that would be there anyway is replaced.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Delivered so, whatever was asked for.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }

    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// A write for every `bytes` of what follows the head.
    #[must_use]
    pub fn cut_every(mut self, bytes: usize) -> Self {
        self.cuts = Cuts::Every(bytes);
        self
    }

    /// Writes end at these places of what follows the head.
    #[must_use]
    pub fn cuts(mut self, places: Vec<usize>) -> Self {
        self.cuts = Cuts::At(places);
        self
    }

    /// HTTP chunks of so many bytes, instead of one for each event.
    #[must_use]
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = Some(bytes);
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// The connection closes after the answer, and the head says so.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(super) fn delivery_for(&self, request: &Request) -> Delivery {
        match (&self.content, self.delivery) {
            (Content::Error(_), _) => Delivery::Whole,
            (_, Some(delivery)) => delivery,
            (Content::Say(_), None) => request.delivery(),
            _ => Delivery::Whole,
        }
    }

    /// The body, faults that are quirks included.
    pub(super) fn body_for(&self, request: &Request) -> Vec<u8> {
        let format = request.format();
        match &self.content {
            Content::Body(body) | Content::Raw(body) => body.clone(),
            Content::Error(message) => {
                render_error(format.unwrap_or(Format::OpenAi), self.status, message)
            }
            Content::Say(say) => {
                let mut say = (**say).clone();
                let quirks = &mut say.quirks;
                quirks.no_done |= self.faults.contains(&Fault::NoDone);
                quirks.no_finish |= self.faults.contains(&Fault::NoFinish);
                let delivery = self.delivery_for(request);
                let streams = delivery == Delivery::Stream;
                if streams && quirks.usage == UsageAt::AsAsked && !request.wants_usage() {
                    quirks.usage = UsageAt::Nowhere;
                }
                render(format.unwrap_or(Format::OpenAi), delivery, &say)
            }
        }
    }
}
