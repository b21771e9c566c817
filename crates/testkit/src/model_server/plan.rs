//! From an answer to what happens on the connection, step by step.

use super::answer::{Answer, Content, Cuts, Fault, Framing};
use super::request::{Delivery, Request};

const GARBAGE: &[u8] = b"\x00\x01!garbage \x7f{\n\n";
/// No byte of any UTF-8 text.
const NO_UTF8: &[u8] = b"\xff";
/// What a chunk that ends too early has promised, and what comes of it.
const PROMISED: &[u8] = b"40\r\n";
const KEPT: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Write(Vec<u8>),
    Stall,
    Close,
    Reset,
}

/// Ends with `Close` or `Reset` where the connection cannot be used again.
pub(super) fn plan(answer: &Answer, request: &Request) -> Vec<Step> {
    let body = answer.body_for(request);
    let raw = matches!(answer.content, Content::Raw(_));
    let framing = match (raw, answer.framing) {
        (true, _) => Framing::UntilClose,
        (false, Framing::ByDelivery) => match answer.delivery_for(request) {
            Delivery::Whole => Framing::Length,
            Delivery::Stream | Delivery::List => Framing::Chunked,
        },
        (false, framing) => framing,
    };
    let mut head = Vec::new();
    for fault in &answer.faults {
        match fault {
            Fault::HangUp => return vec![Step::Close],
            Fault::Reset => return vec![Step::Reset],
            Fault::Hang => head.push(Step::Stall),
            _ => {}
        }
    }
    let inserts = inserts(answer, &body);
    let length = body.len()
        + inserts
            .iter()
            .map(|(_, fault)| inserted(fault).len())
            .sum::<usize>();
    let closes = answer.closes || framing == Framing::UntilClose || wants_close(request);
    if !raw {
        head.push(Step::Write(head_bytes(
            answer, request, framing, length, closes,
        )));
    }
    let mut steps = Frames {
        framing,
        chunk_bytes: answer.chunk_bytes,
        steps: Vec::new(),
    };
    let mut at = 0;
    let mut broken = false;
    for (place, fault) in &inserts {
        steps.data(&body[at..*place]);
        at = *place;
        if steps.fault(fault, &body[at..]) {
            broken = true;
            break;
        }
    }
    if !broken {
        steps.data(&body[at..]);
        if framing == Framing::Chunked {
            steps.write(b"0\r\n\r\n".to_vec());
        }
        if closes {
            steps.steps.push(Step::Close);
        }
    }
    head.extend(cut(steps.steps, &answer.cuts));
    head
}

/// The faults inside the body, by place.
fn inserts<'a>(answer: &'a Answer, body: &[u8]) -> Vec<(usize, &'a Fault)> {
    let place = |fault: &'a Fault| {
        let place = match fault {
            Fault::CloseAfter(place)
            | Fault::ResetAfter(place)
            | Fault::StallAfter(place)
            | Fault::Insert(place, _)
            | Fault::GarbageAfter(place)
            | Fault::HalfChunkAfter(place)
            | Fault::BadChunkAfter(place) => *place,
            Fault::BadUtf8 => inside_text(answer, body),
            Fault::HangUp | Fault::Reset | Fault::Hang | Fault::NoDone | Fault::NoFinish => {
                return None;
            }
        };
        Some((place.min(body.len()), fault))
    };
    let mut inserts: Vec<_> = answer.faults.iter().filter_map(place).collect();
    inserts.sort_by_key(|(place, _)| *place);
    inserts
}

/// After the first character of what is said first, or the end where nothing is said.
fn inside_text(answer: &Answer, body: &[u8]) -> usize {
    let Content::Say(say) = &answer.content else {
        return body.len();
    };
    let written = |text: &str| serde_json::Value::from(text).to_string();
    let mut deltas = say.pieces.iter().flat_map(|piece| &piece.deltas);
    let found = deltas.find(|delta| !delta.is_empty()).and_then(|delta| {
        let first: String = delta.chars().take(1).collect();
        // A value, alone or as the beginning of a longer one; the colon tells it from a field's name.
        let alone = format!(":{}", written(delta));
        let begins = alone.strip_suffix('"').unwrap_or(&alone);
        let place = find(body, &alone).or_else(|| find(body, begins))?;
        Some(place + written(&first).len())
    });
    found.unwrap_or(body.len())
}

fn find(body: &[u8], text: &str) -> Option<usize> {
    let mut windows = body.windows(text.len());
    windows.position(|window| window == text.as_bytes())
}

fn inserted(fault: &Fault) -> &[u8] {
    match fault {
        Fault::Insert(_, bytes) => bytes,
        Fault::GarbageAfter(_) => GARBAGE,
        Fault::BadUtf8 => NO_UTF8,
        _ => &[],
    }
}

fn wants_close(request: &Request) -> bool {
    let connection = request.header("connection").unwrap_or_default();
    connection.eq_ignore_ascii_case("close")
}

fn head_bytes(
    answer: &Answer,
    request: &Request,
    framing: Framing,
    length: usize,
    closes: bool,
) -> Vec<u8> {
    let media_type = match answer.delivery_for(request) {
        Delivery::Stream => "text/event-stream",
        Delivery::Whole | Delivery::List => "application/json",
    };
    let mut fields = vec![("content-type", media_type.to_owned())];
    match framing {
        Framing::Chunked => fields.push(("transfer-encoding", "chunked".into())),
        Framing::Length | Framing::ByDelivery => {
            fields.push(("content-length", length.to_string()))
        }
        Framing::UntilClose => {}
    }
    if closes {
        fields.push(("connection", "close".into()));
    }
    fields.retain(|(name, _)| {
        let replaced = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
        !answer.headers.iter().any(replaced)
    });
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    let own = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .chain(own)
    {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}

/// Puts a body into chunks.
struct Frames {
    framing: Framing,
    chunk_bytes: Option<usize>,
    steps: Vec<Step>,
}

impl Frames {
    fn write(&mut self, bytes: Vec<u8>) {
        self.steps.push(Step::Write(bytes));
    }

    fn data(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let size = self.chunk_bytes.unwrap_or_else(|| event_length(data));
            let (chunk, rest) = data.split_at(size.clamp(1, data.len()));
            data = rest;
            match self.framing {
                Framing::Chunked => {
                    let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
                    framed.extend_from_slice(chunk);
                    framed.extend_from_slice(b"\r\n");
                    self.write(framed);
                }
                _ => self.write(chunk.to_vec()),
            }
        }
    }

    /// Whether the connection ends with it.
    fn fault(&mut self, fault: &Fault, rest: &[u8]) -> bool {
        match fault {
            Fault::CloseAfter(_) => self.steps.push(Step::Close),
            Fault::ResetAfter(_) => self.steps.push(Step::Reset),
            Fault::HalfChunkAfter(_) => {
                if self.framing == Framing::Chunked {
                    let mut half = PROMISED.to_vec();
                    half.extend_from_slice(&rest[..rest.len().min(KEPT)]);
                    self.write(half);
                }
                self.steps.push(Step::Close);
            }
            Fault::BadChunkAfter(_) => {
                self.write(b"no size\r\n".to_vec());
                self.steps.push(Step::Close);
            }
            Fault::StallAfter(_) => {
                self.steps.push(Step::Stall);
                return false;
            }
            _ => {
                self.data(inserted(fault));
                return false;
            }
        }
        true
    }
}

/// Up to the end of the first event, or of all.
fn event_length(data: &[u8]) -> usize {
    let blank_line = |end: &usize| {
        let before = &data[..*end];
        before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
    };
    (1..=data.len()).find(blank_line).unwrap_or(data.len())
}

fn cut(steps: Vec<Step>, cuts: &Cuts) -> Vec<Step> {
    let ends_here: Box<dyn Fn(usize) -> bool> = match cuts {
        Cuts::Chunks => return steps,
        Cuts::Every(bytes) => {
            let bytes = (*bytes).max(1);
            Box::new(move |place| place.is_multiple_of(bytes))
        }
        Cuts::At(places) => Box::new(|place| places.contains(&place)),
    };
    let mut out = Vec::new();
    let mut write = Vec::new();
    let mut place = 0;
    for step in steps {
        let Step::Write(bytes) = step else {
            if !write.is_empty() {
                out.push(Step::Write(std::mem::take(&mut write)));
            }
            out.push(step);
            continue;
        };
        for byte in bytes {
            write.push(byte);
            place += 1;
            if ends_here(place) {
                out.push(Step::Write(std::mem::take(&mut write)));
            }
        }
    }
    if !write.is_empty() {
        out.push(Step::Write(write));
    }
    out
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
