use proptest::prelude::*;

use super::*;

fn id(text: &str) -> BlobId {
    BlobId::of(text.as_bytes())
}

fn file(text: &str) -> FileInfo {
    FileInfo::of(id(text), text)
}

#[test]
fn pieces_become_the_whole() {
    let file = file("0123456789");
    let mut read: Option<ReadState> = None;
    for (range, full, ranges) in [
        ((2, 4), false, vec![(2, 4)]),
        ((6, 8), false, vec![(2, 4), (6, 8)]),
        ((4, 5), false, vec![(2, 5), (6, 8)]),
        ((0, 1), false, vec![(0, 1), (2, 5), (6, 8)]),
        ((4, 7), false, vec![(0, 1), (2, 8)]),
        ((8, 10), false, vec![(0, 1), (2, 10)]),
        ((1, 2), true, vec![]),
        ((1, 2), true, vec![]),
    ] {
        let next = ReadState::shown(read.as_ref(), &file, range);
        assert_eq!((next.full, &next.ranges), (full, &ranges), "{range:?}");
        read = Some(next);
    }
}

#[test]
fn what_was_read_of_another_content_counts_for_nothing() {
    let old = ReadState::shown(None, &file("0123456789"), (0, 5));
    let new = ReadState::shown(Some(&old), &file("abcdefghij"), (5, 10));
    assert_eq!((new.full, new.ranges), (false, vec![(5, 10)]));
}

#[test]
fn a_flag_stays_until_all_was_read_anew() {
    let file = file("0123456789");
    let read = ReadState::shown(None, &file, (0, 9)).flagged();
    assert!(read.needs_full_read && read.ranges.is_empty());
    let part = ReadState::shown(Some(&read), &file, (5, 10));
    assert!(part.needs_full_read, "the rest was read before the flag");
    let rest = ReadState::shown(Some(&part), &file, (0, 5));
    assert!(rest.full && !rest.needs_full_read);
    let at_once = ReadState::shown(Some(&part), &file, (0, 10));
    assert!(at_once.full && !at_once.needs_full_read);
}

#[test]
fn adding_is_not_reading() {
    let (old, new) = (file("0123"), file("012345"));
    assert_eq!(ReadState::appended(None, &old, &new), None);
    let stale = ReadState::full(id("other"));
    assert_eq!(ReadState::appended(Some(&stale), &old, &new), None);
    let full = ReadState::full(old.sha256.clone());
    let known = ReadState::appended(Some(&full), &old, &new).unwrap();
    assert_eq!((known.full, known.sha256), (true, new.sha256.clone()));
    let part = ReadState::shown(None, &old, (0, 2));
    let known = ReadState::appended(Some(&part), &old, &new).unwrap();
    assert_eq!((known.full, known.ranges), (false, vec![(0, 2), (4, 6)]));
}

#[test]
fn pieces_are_bounded() {
    let text = "x".repeat(MAX_READ_RANGES * 2 + 10);
    let file = file(&text);
    let mut read = None;
    for at in 0..=MAX_READ_RANGES as u64 {
        read = Some(ReadState::shown(read.as_ref(), &file, (at * 2, at * 2 + 1)));
    }
    let ranges = read.unwrap().ranges;
    assert_eq!(ranges.len(), MAX_READ_RANGES);
    assert_eq!(ranges[0], (2, 3));
}

/// Which characters are known, one by one.
fn runs(mask: &[bool]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (at, _) in mask.iter().enumerate().filter(|(_, known)| **known) {
        let at = at as u64;
        match runs.last_mut() {
            Some(last) if last.1 == at => last.1 += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

proptest! {
    /// Reading pieces and patching within them: the ranges are those of a list that says of each character whether it
    /// is known.
    #[test]
    fn ranges_stay_right(
        length in 1_usize..60,
        reads in prop::collection::vec((0_usize..60, 1_usize..20), 1..8),
        patches in prop::collection::vec((0_usize..60, 1_usize..6, 0_usize..8), 0..6),
    ) {
        let mut mask = vec![false; length];
        let mut info = file(&"x".repeat(length));
        let mut read: Option<ReadState> = None;
        for (from, count) in reads {
            let from = from % length;
            let to = (from + count).min(length);
            mask[from..to].fill(true);
            read = Some(ReadState::shown(read.as_ref(), &info, (from as u64, to as u64)));
        }
        let mut read = read.unwrap();
        for (step, (at, old, new)) in patches.into_iter().enumerate() {
            let known = at + old <= mask.len() && mask[at..at + old].iter().all(|known| *known);
            if !known || read.full {
                continue;
            }
            mask.splice(at..at + old, vec![true; new]);
            info = FileInfo { sha256: id(&step.to_string()), chars: mask.len() as u64, ..info };
            let piece = Replaced { at: at as u64, old: old as u64, new: new as u64 };
            read = read.patched(info.sha256.clone(), piece);
        }
        match read.full {
            true => prop_assert!(mask.iter().all(|known| *known)),
            false => prop_assert_eq!(&read.ranges, &runs(&mask)),
        }
        prop_assert!(read.ranges.iter().all(|(from, to)| from < to));
    }
}
