//! Tells what a cell prints from what the driver answers; both come through the same pipe. `driver.py` says how.

/// Takes a stream apart, however it was cut on its way.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// A NUL and the mark of the cell.
    head: Vec<u8>,
    /// What came, and how much of it has been handed on: small pieces must not move all that is behind them.
    came: Vec<u8>,
    passed: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Printed(Vec<u8>),
    Answered(Vec<u8>),
    End,
}

const LENGTH_DIGITS: usize = 4;

impl Frames {
    /// A new cell begins. What came after the answer to the last one was printed since.
    pub(super) fn expect(&mut self, mark: &str) {
        self.head = std::iter::once(0).chain(mark.bytes()).collect();
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.came.drain(..self.passed);
        self.passed = 0;
        self.came.extend_from_slice(bytes);
    }

    fn held(&self) -> &[u8] {
        self.came.get(self.passed..).unwrap_or_default()
    }

    /// The next whole piece; nothing while it is not known what comes. Not to be asked after the end of an answer
    /// before a new cell begins.
    pub(super) fn next(&mut self) -> Option<Piece> {
        let printed = self.printed();
        if printed > 0 {
            let piece = self.held().get(..printed).unwrap_or_default().to_vec();
            self.passed += printed;
            return Some(Piece::Printed(piece));
        }
        let start = self.head.len() + LENGTH_DIGITS;
        let length = self.held().get(self.head.len()..start).and_then(digits)?;
        let payload: Vec<u8> = self.held().get(start..start + length)?.to_vec();
        self.passed += start + length;
        Some(match length {
            0 => Piece::End,
            _ => Piece::Answered(payload),
        })
    }

    /// All that is held: nothing more will come.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let rest = self.held().to_vec();
        self.came.clear();
        self.passed = 0;
        rest
    }

    /// How many bytes in front are not, and will not be, a frame.
    fn printed(&self) -> usize {
        let mut from = 0;
        loop {
            let rest = self.held().get(from..).unwrap_or_default();
            let Some(nul) = rest.iter().position(|&byte| byte == 0) else {
                return self.held().len();
            };
            from += nul;
            if self.may_be_frame(from) {
                return from;
            }
            from += 1;
        }
    }

    fn may_be_frame(&self, at: usize) -> bool {
        let rest = self.held().get(at..).unwrap_or_default();
        let known = rest.len().min(self.head.len());
        let length = rest
            .get(self.head.len()..self.head.len() + LENGTH_DIGITS)
            .map_or(Some(0), digits);
        rest.get(..known) == self.head.get(..known) && length.is_some()
    }
}

fn digits(bytes: &[u8]) -> Option<usize> {
    let text = str::from_utf8(bytes).ok()?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    usize::from_str_radix(text, 16).ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARK: &str = "0123456789abcdef";

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = format!("\0{MARK}{:04x}", payload.len()).into_bytes();
        frame.extend_from_slice(payload);
        frame
    }

    /// What was printed, what was answered, and whether the answer ended.
    fn apart(chunks: &[&[u8]]) -> (Vec<u8>, Vec<u8>, bool) {
        let mut frames = Frames::default();
        frames.expect(MARK);
        let (mut printed, mut answered) = (Vec::new(), Vec::new());
        for chunk in chunks {
            frames.push(chunk);
            while let Some(piece) = frames.next() {
                match piece {
                    Piece::Printed(bytes) => printed.extend(bytes),
                    Piece::Answered(bytes) => answered.extend(bytes),
                    Piece::End => {
                        return (printed, answered, true);
                    }
                }
            }
        }
        printed.extend(frames.rest());
        (printed, answered, false)
    }

    #[test]
    fn answers_are_told_from_prints() {
        let whole = [
            b"hello\n".to_vec(),
            frame(b"{}"),
            b"\0\0".to_vec(),
            frame(b""),
        ]
        .concat();
        assert_eq!(
            apart(&[&whole]),
            (b"hello\n\0\0".to_vec(), b"{}".to_vec(), true)
        );
        for forged in [
            format!("\0{}0002{{}}", "f".repeat(16)).into_bytes(),
            format!("\0{MARK}+002{{}}").into_bytes(),
            format!("\0{MARK}zzzz").into_bytes(),
            format!("{MARK}0000").into_bytes(),
        ] {
            let (printed, answered, ended) = apart(&[&forged, b"."]);
            assert_eq!(printed, [&forged[..], b"."].concat());
            assert!(answered.is_empty() && !ended);
        }
    }

    #[test]
    fn what_comes_after_an_answer_belongs_to_the_next_cell() {
        let mut frames = Frames::default();
        frames.expect(MARK);
        frames.push(&[frame(b""), b"late".to_vec()].concat());
        assert_eq!(frames.next(), Some(Piece::End));
        frames.expect("other");
        assert_eq!(frames.next(), Some(Piece::Printed(b"late".to_vec())));
        assert_eq!(frames.next(), None);
    }

    proptest! {
        #[test]
        fn how_it_was_cut_makes_no_difference(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..20), 0..3_u8), 0..8),
            cuts in prop::collection::vec(1..9_usize, 1..60),
        ) {
            let mut stream = Vec::new();
            let (mut printed, mut answered) = (Vec::new(), Vec::new());
            for (bytes, kind) in &parts {
                match kind {
                    0 if !bytes.is_empty() => {
                        stream.extend(frame(bytes));
                        answered.extend_from_slice(bytes);
                    }
                    1 => {
                        // The beginning of a frame, and then something else.
                        let mut almost = frame(bytes);
                        almost.truncate(bytes.len());
                        almost.push(b'!');
                        printed.extend_from_slice(&almost);
                        stream.extend(almost);
                    }
                    _ => {
                        printed.extend_from_slice(bytes);
                        stream.extend_from_slice(bytes);
                    }
                }
            }
            stream.extend(frame(b""));
            let mut rest = &stream[..];
            let mut chunks = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, behind) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = behind;
            }
            prop_assert_eq!(apart(&chunks), (printed, answered, true));
        }
    }
}
