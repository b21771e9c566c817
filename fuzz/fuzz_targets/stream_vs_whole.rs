//! However a text is cut, the stream ends with the reply of the whole text and shows its text outside calls.
#![no_main]

use innkeeper_protocol::{Dialect, Stream, StreamEvent, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (cuts, bytes) = input;
    let text = innkeeper_fuzz::text(bytes);
    let whole = parse(&text);

    let mut shown = String::new();
    let mut hear = |event: StreamEvent<'_>| {
        if let StreamEvent::Text(text) = event {
            shown.push_str(text);
        }
    };
    let mut stream = Stream::new(Dialect::Auto);
    let mut rest = text.as_str();
    // One byte says how long the next piece is; when they run out, they begin again.
    for &cut in cuts
        .iter()
        .cycle()
        .take(if cuts.is_empty() { 0 } else { text.len() })
    {
        let mut at = usize::from(cut % 32).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (head, tail) = rest.split_at(at);
        stream.feed(head, &mut hear);
        rest = tail;
    }
    stream.feed(rest, &mut hear);
    let reply = stream.finish(&mut hear).into_owned();

    assert_eq!(reply, whole);
    assert_eq!(shown.trim(), whole.outside_text);
});
