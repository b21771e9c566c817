//! The marks of a TAM block, read by a second pair of eyes.
//!
//! Deliberately not the parser's own reading: the laws about what is shown must not agree with it by accident.

pub(crate) enum Mark {
    None,
    /// The text ends before the mark does.
    Begun,
    Whole(usize),
}

/// Reads a mark of a TAM block, as `docs/protocol.md` draws it.
pub(crate) fn read(text: &str) -> Mark {
    fn one_of(rest: &str, choices: &[&str]) -> Result<usize, Mark> {
        for choice in choices {
            let same = rest
                .bytes()
                .zip(choice.bytes())
                .take_while(|(a, b)| a.eq_ignore_ascii_case(b))
                .count();
            if same == choice.len() {
                return Ok(same);
            }
            if same == rest.len() {
                return Err(Mark::Begun);
            }
        }
        Err(Mark::None)
    }
    let parts: [&[&str]; 9] = [
        &["<"],
        &["|"],
        &["["],
        &["REQUEST", "END"],
        &["_", "-", " "],
        &["TOOL"],
        &["]"],
        &["|"],
        &[">"],
    ];
    let mut at = 0;
    for (number, part) in parts.into_iter().enumerate() {
        let mut rest = text.get(at..).unwrap_or_default();
        if !matches!(number, 4 | 5) {
            let trimmed = rest.trim_start_matches([' ', '\t']);
            at += rest.len() - trimmed.len();
            rest = trimmed;
        }
        match one_of(rest, part) {
            Ok(length) => at += length,
            Err(other) => return other,
        }
    }
    Mark::Whole(at)
}

#[test]
fn marks_are_recognised_whole_and_begun() {
    assert!(matches!(read("<|[REQUEST_TOOL]|> x"), Mark::Whole(18)));
    assert!(matches!(read("< | [ end-tool ] | >"), Mark::Whole(20)));
    for begun in [
        "<",
        "<|",
        "< | [",
        "<|[R",
        "<|[END",
        "<|[end_to",
        "<|[END_TOOL]|",
    ] {
        assert!(matches!(read(begun), Mark::Begun), "{begun}");
    }
    for none in ["<a", "<|x", "<|[REQUEST_TOOLS]|>", "<|[\nEND_TOOL]|>", "|"] {
        assert!(matches!(read(none), Mark::None), "{none}");
    }
}
