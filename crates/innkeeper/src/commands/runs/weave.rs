//! What a model writes while others write beside it: whole lines, so that each can carry the name of its run.

use super::speech::Piece;
use crate::limits::{MAX_INLINE_CHARS, MAX_WOVEN_CHARS};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thread {
    Words,
    Thought,
    /// The name of a call and its short arguments.
    Call,
    /// Of a long argument.
    Text,
}

#[derive(Debug, Default)]
pub(super) struct Weave {
    /// What the line that is not whole yet belongs to.
    thread: Option<Thread>,
    line: String,
    chars: usize,
    /// The argument that was written last.
    argument: String,
}

type Lines = Vec<(Thread, String)>;

impl Weave {
    /// The lines that are whole now.
    pub(super) fn hear(&mut self, piece: &Piece, is_text: fn(&str) -> bool) -> Lines {
        let mut lines = Lines::new();
        match piece {
            Piece::Words(text) => self.spin(Thread::Words, text, &mut lines),
            Piece::Thought(text) => self.spin(Thread::Thought, text, &mut lines),
            Piece::Call(name) => {
                lines.extend(self.cut());
                self.argument.clear();
                self.spin(Thread::Call, name, &mut lines);
            }
            Piece::Argument { name, text } if is_text(name) => {
                if self.argument != *name {
                    lines.extend(self.cut());
                    self.argument.clone_from(name);
                }
                self.spin(Thread::Text, text, &mut lines);
            }
            Piece::Argument { name, text } => {
                let shown: String = text.chars().take(MAX_INLINE_CHARS).collect();
                let shown = shown.replace(['\r', '\n', '\t'], " ");
                let more = match self.argument == *name {
                    true => shown,
                    false => format!(" {name}={shown}"),
                };
                self.argument.clone_from(name);
                self.spin(Thread::Call, &more, &mut lines);
            }
            Piece::End => lines.extend(self.cut()),
        }
        lines
    }

    /// What there is of the last line.
    pub(super) fn cut(&mut self) -> Option<(Thread, String)> {
        let thread = self.thread.take()?;
        self.chars = 0;
        let line = std::mem::take(&mut self.line);
        (!line.is_empty()).then_some((thread, line))
    }

    fn spin(&mut self, thread: Thread, text: &str, lines: &mut Lines) {
        if self.thread != Some(thread) {
            lines.extend(self.cut());
        }
        for c in text.chars() {
            match c {
                '\n' => {
                    // What stands between a call and the words around it is no line of its own.
                    let goes_on = self.thread == Some(thread);
                    if goes_on || thread == Thread::Text {
                        lines.push((thread, std::mem::take(&mut self.line)));
                    }
                    self.chars = 0;
                }
                c => {
                    self.line.push(c);
                    self.chars += 1;
                    self.thread = Some(thread);
                }
            }
            if self.chars >= MAX_WOVEN_CHARS {
                lines.extend(self.cut());
                self.thread = Some(thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woven(pieces: &[Piece]) -> Vec<(Thread, String)> {
        let mut weave = Weave::default();
        let mut lines = Vec::new();
        for piece in pieces {
            lines.extend(weave.hear(piece, |name| name == "content"));
        }
        lines.extend(weave.cut());
        lines
    }

    fn argument(name: &str, text: &str) -> Piece {
        Piece::Argument {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    fn words(text: &str) -> Piece {
        Piece::Words(text.to_owned())
    }

    #[test]
    fn only_whole_lines_are_told_and_none_is_lost() {
        let pieces = [
            Piece::Thought("hm".to_owned()),
            words("\nOne "),
            words("line\nand an"),
            words("other\n"),
            Piece::Call("File.Write".to_owned()),
            argument("path", "a"),
            argument("path", ".md"),
            argument("content", "x\n\ny"),
            Piece::End,
            words("Done"),
        ];
        let expected = [
            (Thread::Thought, "hm"),
            (Thread::Words, "One line"),
            (Thread::Words, "and another"),
            (Thread::Call, "File.Write path=a.md"),
            (Thread::Text, "x"),
            (Thread::Text, ""),
            (Thread::Text, "y"),
            (Thread::Words, "Done"),
        ];
        let expected = expected.map(|(thread, line)| (thread, line.to_owned()));
        assert_eq!(woven(&pieces), expected);
    }

    #[test]
    fn a_line_without_an_end_is_told_in_parts() {
        let long = "x".repeat(MAX_WOVEN_CHARS + 1);
        let lines = woven(&[words(&long)]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].1.len() + lines[1].1.len(), long.len());
    }
}
