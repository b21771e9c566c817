//! The measurements themselves, with or without other parsers beside ours.

use std::process::ExitCode;
use std::time::Duration;

use innkeeper_benches::{Bar, Patience, Row, Table};
use innkeeper_protocol::{Dialect, Stream, StreamEvent, parse};
use innkeeper_testkit::{HOSTILE, replies};
use memchr::memmem;

#[path = "limits.rs"]
mod limits;

/// Other parsers on the same work. They live in a package of their own, `benches/peers`.
pub(crate) struct Peers {
    /// One call with a value of that many bytes.
    pub(crate) whole: fn(&mut Table, usize, Patience),
    pub(crate) streamed: fn(&mut Table),
}

const HUGE: usize = 900_000;
const HOSTILE_SIZE: usize = 1_000_000;
const STREAMED: usize = 64_000;
/// Below this a ratio of two times says more about the clock than about the parser.
const SHORTEST_RATIO: Duration = Duration::from_micros(20);

pub(crate) fn run(peers: &Peers) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| args.iter().any(|arg| arg == name);
    if asked("--list") || asked("--test") {
        return ExitCode::SUCCESS;
    }
    let patience = if asked("--quick") {
        Patience::QUICK
    } else {
        Patience::NORMAL
    };
    let mut table = Table::default();
    typical(&mut table, patience, peers);
    huge(&mut table, patience, peers);
    hostile(&mut table, patience);
    very_large(&mut table);
    streaming(&mut table, patience, peers);

    println!();
    for missed in &table.missed {
        println!("MISSED {missed}");
    }
    println!("{} bars missed", table.missed.len());
    if asked("--strict") && !table.missed.is_empty() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn scan(text: &str, patience: Patience) -> Duration {
    let finder = memmem::Finder::new("«««");
    patience.best(|| finder.find_iter(text.as_bytes()).count())
}

fn typical(table: &mut Table, patience: Patience, peers: &Peers) {
    let text = replies::typical();
    table.head(&format!(
        "A typical reply with one call, {} bytes",
        text.len()
    ));
    let limit = scan(&text, patience);
    let row = |name: &str, time| Row::new(name, text.len(), time).against(limit);
    table.row(
        &row("parse", patience.best(|| parse(&text))).bar(Bar::AtMost(Duration::from_micros(3))),
    );
    table.row(&row(
        "parse and write as JSON",
        patience.best(|| serde_json::to_string(&parse(&text))),
    ));
    limits::rows(table, &text, patience);
    (peers.whole)(table, 700, patience);
}

fn huge(table: &mut Table, patience: Patience, peers: &Peers) {
    for (filling, piece) in replies::FILLINGS {
        let text = replies::huge_tam(piece, HUGE);
        table.head(&format!("One huge value, {filling}, {} bytes", text.len()));
        let limit = scan(&text, patience);
        let bars = |row: Row| {
            row.against(limit)
                .bar(Bar::MegabytesPerSecond(1_000.0))
                .bar(Bar::OfLimit(0.1))
        };
        table.row(&bars(Row::new(
            "parse, TAM",
            text.len(),
            patience.best(|| parse(&text)),
        )));
        let open = text.replace("«««\n<|[END_TOOL]|>\nDone.\n", "");
        table.row(&bars(Row::new(
            "parse, TAM without its end",
            open.len(),
            patience.best(|| parse(&open)),
        )));
        let action = replies::huge_action(piece, HUGE);
        table.row(&bars(Row::new(
            "parse, ACTION",
            action.len(),
            patience.best(|| parse(&action)),
        )));
        let plain = piece.repeat(HUGE / piece.len());
        table.row(&bars(Row::new(
            "parse, no call at all",
            plain.len(),
            patience.best(|| parse(&plain)),
        )));
        limits::rows(table, &text, patience);
        limits::xml_row(table, &action, patience);
    }
    (peers.whole)(table, HUGE, Patience::QUICK);
}

fn hostile(table: &mut Table, patience: Patience) {
    table.head(&format!("Hostile inputs of {HOSTILE_SIZE} bytes"));
    for hostile in HOSTILE {
        let text = (hostile.make)(HOSTILE_SIZE);
        let half = (hostile.make)(HOSTILE_SIZE / 2);
        let (time, ratio) = doubling(patience, || parse(&half), || parse(&text));
        table.row(
            &Row::new(hostile.name, text.len(), time)
                .doubling(ratio)
                .bar(Bar::AtMost(Duration::from_millis(5)))
                .bar(Bar::Doubling(2.3)),
        );
    }
}

/// Times both sizes; a ratio that is too high gets a second and third chance, as noise only ever adds.
fn doubling<A, B>(
    patience: Patience,
    mut half: impl FnMut() -> A,
    mut whole: impl FnMut() -> B,
) -> (Duration, Option<f64>) {
    let (mut short, mut long) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        short = short.min(patience.best(&mut half));
        long = long.min(patience.best(&mut whole));
        if long.as_secs_f64() <= 2.2 * short.as_secs_f64() {
            break;
        }
    }
    let ratio = (short >= SHORTEST_RATIO).then(|| long.as_secs_f64() / short.as_secs_f64());
    (long, ratio)
}

/// Both sizes are larger than any cache, so that doubling measures the parser and not where the text lies.
fn very_large(table: &mut Table) {
    table.head("One value of 100 MB, against one of 50 MB");
    for (filling, piece) in replies::FILLINGS {
        for (name, make) in [
            ("TAM", replies::huge_tam as fn(&str, usize) -> String),
            ("ACTION", replies::huge_action),
        ] {
            let half = make(piece, 50_000_000);
            let text = make(piece, 100_000_000);
            let (time, ratio) = doubling(Patience::LONG, || parse(&half), || parse(&text));
            let row = Row::new(format!("{name}, {filling}"), text.len(), time);
            table.row(
                &row.against(scan(&text, Patience::LONG))
                    .doubling(ratio)
                    .bar(Bar::Doubling(2.3)),
            );
        }
    }
}

/// How a model sends a text: seven characters at a time.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    replies::pieces(text, 7)
}

fn stream(pieces: &[&str]) -> usize {
    let mut events = 0;
    let mut stream = Stream::new(Dialect::Auto);
    for piece in pieces {
        stream.feed(piece, &mut |_: StreamEvent<'_>| events += 1);
    }
    let blocks = stream.finish(&mut |_: StreamEvent<'_>| {}).blocks.len();
    events + blocks
}

fn streaming(table: &mut Table, patience: Patience, peers: &Peers) {
    table.head(&format!(
        "{STREAMED} bytes streamed in pieces of 7 characters"
    ));
    let mut replies: Vec<(String, String, String)> = Vec::new();
    for (filling, piece) in replies::FILLINGS {
        for (name, make) in [
            ("TAM", replies::huge_tam as fn(&str, usize) -> String),
            ("ACTION", replies::huge_action),
        ] {
            replies.push((
                format!("{name}, {filling}"),
                make(piece, STREAMED / 2),
                make(piece, STREAMED),
            ));
        }
        let plain = |size: usize| piece.repeat(size / piece.len());
        replies.push((
            format!("no call, {filling}"),
            plain(STREAMED / 2),
            plain(STREAMED),
        ));
    }
    for (name, half, whole) in replies {
        let (half, bytes, whole) = (pieces(&half), whole.len(), pieces(&whole));
        let (time, ratio) = doubling(patience, || stream(&half), || stream(&whole));
        let row = Row::new(name, bytes, time)
            .doubling(ratio)
            .bar(Bar::Doubling(2.3));
        table.row(&row.bar(Bar::AtMost(Duration::from_millis(2))));
    }
    // These must only be linear; no reply looks like them.
    for hostile in HOSTILE {
        let (half, whole) = ((hostile.make)(STREAMED / 2), (hostile.make)(STREAMED));
        let (half, bytes, whole) = (pieces(&half), whole.len(), pieces(&whole));
        let (time, ratio) = doubling(patience, || stream(&half), || stream(&whole));
        let name = format!("hostile: {}", hostile.name);
        table.row(
            &Row::new(name, bytes, time)
                .doubling(ratio)
                .bar(Bar::Doubling(2.3)),
        );
    }
    (peers.streamed)(table);
}
