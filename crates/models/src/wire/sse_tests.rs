use proptest::prelude::*;

use super::*;

fn push<'a>(
    reader: &mut SseReader,
    mut piece: &'a [u8],
    events: &mut Vec<SseEvent<'a>>,
) -> Result<(), ModelError> {
    while let Some(event) = reader.next(&mut piece)? {
        events.push(event);
    }
    assert_eq!(piece, b"", "all of it was read");
    Ok(())
}

fn read<'a>(pieces: &[&'a [u8]]) -> Vec<SseEvent<'a>> {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    for piece in pieces {
        push(&mut reader, piece, &mut events).unwrap();
    }
    events.extend(reader.finish());
    events
}

fn event<'a>(event: &'a str, data: &'a str) -> SseEvent<'a> {
    SseEvent {
        event: event.into(),
        data: data.into(),
    }
}

#[test]
fn the_rules_of_the_format_hold_wherever_it_is_cut() {
    type Row = (&'static [u8], &'static [(&'static str, &'static str)]);
    let table: &[Row] = &[
        (b"data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
        (b"data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
        (b"data: a\r\n\ndata: b\n\r\n", &[("", "a"), ("", "b")]),
        (b"data: a\ndata: b\r\ndata: c\n\n", &[("", "a\nb\nc")]),
        (b": hello\n:\n\ndata: a\n: more\n\n", &[("", "a")]),
        (b"\xEF\xBB\xBFdata: a\n\n", &[("", "a")]),
        (b"\n\n\n\ndata: a\n\n\n\n", &[("", "a")]),
        (b"data\n\n", &[("", "")]),
        (b"data\ndata\n\n", &[("", "\n")]),
        (
            b"data:a\n\ndata:  b\n\ndata:\tc\n\n",
            &[("", "a"), ("", " b"), ("", "\tc")],
        ),
        (b"data: a:b\n\n", &[("", "a:b")]),
        (
            b"event: ping\n\nevent: x\nid: 7\nretry: 5\ndata: a\n\ndata: b\n\n",
            &[("x", "a"), ("", "b")],
        ),
        (b"Data: a\n data: b\nother\ndatax: c\n\n", &[]),
        // The last event counts without its empty line, and without the end of its line.
        (b"data: a\n\ndata: b\n", &[("", "a"), ("", "b")]),
        (b"data: a\n\ndata: b", &[("", "a"), ("", "b")]),
        (b"data: a\r", &[("", "a")]),
        (b"event: x", &[]),
        (b"", &[]),
        ("data: ä漢😀\n\n".as_bytes(), &[("", "ä漢😀")]),
        // Bytes that are no text, in the middle and half a character at the end.
        (
            b"data: a\xFFb\xE6\xBC\n\ndata: \xF0\x9F\x98",
            &[("", "a\u{FFFD}b\u{FFFD}"), ("", "\u{FFFD}")],
        ),
        (b"event: \xFF\ndata: a\n\n", &[("\u{FFFD}", "a")]),
    ];
    for (bytes, wanted) in table {
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(name, data)| event(name, data))
            .collect();
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(read(&[bytes]), wanted, "{shown:?}");
        for cut in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(read(&[head, tail]), wanted, "{shown:?} cut at {cut}");
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(read(&single), wanted, "{shown:?} byte by byte");
    }
}

#[test]
fn events_come_as_soon_as_they_are_complete() {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    push(&mut reader, b"data: a\n\r", &mut events).unwrap();
    assert_eq!(events, [event("", "a")]);
    push(&mut reader, b"\n\ndata: b\n", &mut events).unwrap();
    assert_eq!(events.len(), 1);
    push(&mut reader, b"\n", &mut events).unwrap();
    assert_eq!(events.len(), 2);
}

#[test]
fn one_event_is_bounded_and_many_are_not() {
    let half = vec![b'x'; MAX_EVENT_BYTES / 2];
    let fill = |pieces: &[&[u8]]| {
        let mut reader = SseReader::default();
        let mut events = Vec::new();
        let mut pieces = pieces.iter();
        pieces.try_for_each(|piece| push(&mut reader, piece, &mut events))
    };
    let endless: [&[&[u8]]; 4] = [
        &[b"data: ", &half, &half],
        &[b"data: ", &half, b"\ndata: ", &half],
        &[b": ", &half, &half],
        &[b"event: ", &half, b"\ndata: ", &half],
    ];
    for pieces in endless {
        let error = fill(pieces).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TooLarge);
    }
    let one: &[&[u8]] = &[b"data: ", &half, b"\n\n"];
    assert_eq!(fill(&one.repeat(4)), Ok(()));
}

proptest! {
    #[test]
    fn cuts_leave_no_trace(
        bytes in prop::collection::vec(prop_oneof![
            3 => prop::sample::select(b"\r\n: \xEF\xBB\xBF".to_vec()),
            2 => prop::sample::select(b"data".to_vec()),
            1 => any::<u8>(),
        ], 0..80),
        cuts in prop::collection::vec(0..80_usize, 0..6),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&pieces), read(&[&bytes]));
    }
}
