use super::*;

#[test]
fn the_limit_of_a_line_is_exact_and_counts_no_line_end() {
    // Two quotes and three letters.
    for (input, ok) in [
        ("\"abc\"", true),
        ("\"abc\"\n", true),
        ("\"abc\"\r\n", true),
        ("\"abcd\"", false),
        ("\"abcd\"\n", false),
        ("\"abcdefghijkl\"\n\"x\"\n", false),
    ] {
        let mut out = Vec::new();
        let end = lines(input.as_bytes(), &Place::Stdin, Dialect::Auto, 5, &mut out);
        match end {
            Ok(()) => assert!(ok, "{input:?}"),
            Err(Failure::Line(_, 1, LineProblem::TooLong(5))) => assert!(!ok, "{input:?}"),
            Err(other) => panic!("{input:?}: {other:?}"),
        }
    }
}

#[test]
fn results_before_an_input_error_are_flushed() {
    struct Breaks(bool);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("cable"));
            }
            let line = b"\"a\"\n\"b";
            buffer[..line.len()].copy_from_slice(line);
            Ok(line.len())
        }
    }
    let mut out = BufWriter::new(Vec::new());
    let end = lines(Breaks(false), &Place::Stdin, Dialect::Auto, 100, &mut out);
    assert!(matches!(end, Err(Failure::Unreadable(Place::Stdin, _))));
    assert_eq!(
        out.get_ref().iter().filter(|byte| **byte == b'\n').count(),
        1
    );
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_no_text() {
    let mut out = Vec::new();
    let input = "\u{feff}\"one\"\n\"two\"\n";
    lines(
        input.as_bytes(),
        &Place::Stdin,
        Dialect::Auto,
        100,
        &mut out,
    )
    .unwrap();
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2);
}
