use super::*;

const TEXT: &str = "one\ntwo 二\nthree\n";

fn part(line: Option<i64>, lines: Option<i64>, char: Option<i64>, chars: Option<i64>) -> Part {
    Part {
        start_line: line,
        line_count: lines,
        start_char: char,
        max_chars: chars,
    }
}

#[test]
fn parts_by_lines_and_by_characters() {
    for (part, most, content, lines, chars) in [
        (part(None, None, None, None), 99, TEXT, (1, 3), (0, 16)),
        (part(None, None, None, None), 5, "one\nt", (1, 2), (0, 5)),
        (
            part(Some(2), None, None, None),
            99,
            "two 二\nthree\n",
            (2, 3),
            (4, 16),
        ),
        (
            part(Some(2), Some(1), None, None),
            99,
            "two 二\n",
            (2, 2),
            (4, 10),
        ),
        (
            part(Some(2), Some(1), None, Some(3)),
            3,
            "two",
            (2, 2),
            (4, 7),
        ),
        (part(None, Some(9), None, None), 16, TEXT, (1, 3), (0, 16)),
        (
            part(None, None, Some(8), None),
            99,
            "二\nthree\n",
            (2, 3),
            (8, 16),
        ),
        (
            part(None, None, Some(8), Some(2)),
            2,
            "二\n",
            (2, 2),
            (8, 10),
        ),
        (
            part(None, None, None, Some(1_000)),
            99,
            TEXT,
            (1, 3),
            (0, 16),
        ),
    ] {
        let piece = part.of(TEXT, most).unwrap();
        assert_eq!(piece.content, content, "{part:?}");
        assert_eq!((piece.start_line, piece.end_line), lines, "{part:?}");
        assert_eq!((piece.start_char, piece.end_char), chars, "{part:?}");
        assert_eq!(piece.chars, chars.1 - chars.0);
        assert_eq!(piece.truncated, chars.1 < 16, "{part:?}");
        assert_eq!(
            (piece.total_lines, piece.total_chars, piece.total_words),
            (3, 16, 4)
        );
    }
    let empty = Part::default().of("", 9).unwrap();
    assert_eq!(
        (empty.start_line, empty.end_line, empty.truncated),
        (1, 0, false)
    );
}

#[test]
fn parts_that_are_none() {
    for part in [
        part(Some(0), None, None, None),
        part(None, Some(0), None, None),
        part(None, None, Some(-1), None),
        part(None, None, None, Some(0)),
        part(Some(1), None, Some(0), None),
        part(None, Some(1), Some(0), None),
        part(Some(4), None, None, None),
        part(None, None, Some(16), None),
        part(Some(i64::MAX), None, None, None),
    ] {
        let Err(NoPiece::Invalid(error)) = part.of(TEXT, 99) else {
            panic!("{part:?}");
        };
        assert_eq!(error.reason, Some("skill.range_invalid"), "{part:?}");
    }
    // Whoever says how much they want gets that or nothing.
    for (part, asked) in [
        (part(None, Some(2), None, None), 10),
        (part(None, None, None, Some(7)), 7),
        (part(None, None, Some(8), Some(1_000)), 8),
    ] {
        assert_eq!(part.of(TEXT, 6), Err(NoPiece::TooLong(asked)), "{part:?}");
    }
}
