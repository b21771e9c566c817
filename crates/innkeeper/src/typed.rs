//! What the person types while a run goes on: one thread for the process reads it, and whoever asks gets the lines that
//! come after the question.
//!
//! A line cannot be read for one question and then put back for another: with a thread for each, a question that was given
//! up would still swallow the answer to the next.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::mpsc;

use crate::limits::{MAX_ANSWER_BYTES, MAX_WRONG_ANSWERS};

/// There is one standard input.
static STDIN: Mutex<Option<Typed>> = Mutex::new(None);

/// The lines of the person at the terminal, from now on.
pub(crate) fn lines() -> io::Result<Lines> {
    let typed = {
        let mut stdin = STDIN.lock().unwrap_or_else(PoisonError::into_inner);
        stdin.get_or_insert_default().clone()
    };
    typed.listen(|| io::stdin().lock())
}

/// Without its end; nothing if the person closed the input.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.take(MAX_ANSWER_BYTES).read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

type Line = io::Result<Option<String>>;

/// What came to somebody who listens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Line(String),
    /// Somebody else asks, and gets what is typed from now on.
    Taken,
    End,
}

/// Where one question hears what is typed.
pub(crate) struct Lines(mpsc::Receiver<Line>);

impl Lines {
    /// For whoever listens all the time, not to one question.
    pub(crate) async fn hear(&mut self) -> Heard {
        match self.0.recv().await {
            None => Heard::Taken,
            Some(Ok(Some(line))) => Heard::Line(line),
            Some(Ok(None) | Err(_)) => Heard::End,
        }
    }

    /// Nothing if there will be no more.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        self.0.recv().await.unwrap_or(Ok(None))
    }
}

#[derive(Clone, Default)]
struct Typed(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Who asked last.
    asking: Option<mpsc::Sender<Line>>,
    is_read: bool,
}

impl Typed {
    /// Lines go to whoever asked last; what is typed while nobody asks is forgotten.
    fn listen<R: BufRead>(&self, open: impl FnOnce() -> R + Send + 'static) -> io::Result<Lines> {
        let (sender, lines) = mpsc::channel(MAX_WRONG_ANSWERS);
        let mut state = self.state();
        state.asking = Some(sender);
        if !state.is_read {
            let typed = self.clone();
            // No thread of the runtime, which would be waited for at the end: the person may never type anything.
            thread::Builder::new().spawn(move || typed.hear(open()))?;
            state.is_read = true;
        }
        Ok(Lines(lines))
    }

    /// To the end of the input. At a terminal there may be more behind it, so the next question begins anew.
    fn hear(&self, mut input: impl BufRead) {
        loop {
            let line = read(&mut input);
            let is_last = !matches!(line, Ok(Some(_)));
            let mut state = self.state();
            if let Some(asking) = &state.asking {
                // It has been given up, or has had more answers than it asks for.
                let _ = asking.try_send(line);
            }
            if is_last {
                *state = State::default();
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;

    fn opened(reader: io::PipeReader) -> impl FnOnce() -> BufReader<io::PipeReader> {
        move || BufReader::new(reader)
    }

    fn nothing_to_open() -> BufReader<io::PipeReader> {
        panic!("the input is read already")
    }

    #[tokio::test]
    async fn a_question_that_was_given_up_takes_no_answer_from_the_next() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let given_up = typed.listen(opened(reader)).unwrap();
        drop(given_up);
        let mut next = typed.listen(nothing_to_open).unwrap();
        person.write_all(b"n\n").unwrap();
        assert_eq!(next.next().await.unwrap().as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn what_one_question_did_not_take_is_no_answer_to_the_next() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut first = typed.listen(opened(reader)).unwrap();
        person.write_all(b"what\r\ny\ny\n").unwrap();
        for said in ["what", "y", "y"] {
            assert_eq!(first.next().await.unwrap().as_deref(), Some(said));
        }
        drop(first);
        let mut next = typed.listen(nothing_to_open).unwrap();
        person.write_all(b"n\n").unwrap();
        assert_eq!(next.next().await.unwrap().as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn the_end_of_the_input_is_heard_and_not_for_ever() {
        let typed = Typed::default();
        for answer in ["y", "n"] {
            let (reader, mut person) = io::pipe().unwrap();
            let mut asked = typed.listen(opened(reader)).unwrap();
            person.write_all(format!("{answer}\n").as_bytes()).unwrap();
            drop(person);
            assert_eq!(asked.next().await.unwrap().as_deref(), Some(answer));
            assert_eq!(asked.next().await.unwrap(), None);
            assert_eq!(asked.next().await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn a_listener_knows_whether_it_was_interrupted_or_the_input_ended() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut listening = typed.listen(opened(reader)).unwrap();
        person.write_all(b"faster\n").unwrap();
        assert_eq!(listening.hear().await, Heard::Line("faster".to_owned()));
        let mut question = typed.listen(nothing_to_open).unwrap();
        assert_eq!(listening.hear().await, Heard::Taken);
        person.write_all(b"y\n").unwrap();
        assert_eq!(question.next().await.unwrap().as_deref(), Some("y"));
        let mut listening = typed.listen(nothing_to_open).unwrap();
        drop(person);
        assert_eq!(listening.hear().await, Heard::End);
    }

    /// More than any question asks for, and nobody who reads them: the reader is not held up.
    #[tokio::test]
    async fn who_types_without_end_fills_nothing() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut asked = typed.listen(opened(reader)).unwrap();
        person.write_all(&b"x\n".repeat(100)).unwrap();
        drop(person);
        let mut heard = 0;
        while asked.next().await.unwrap().is_some() {
            heard += 1;
        }
        assert!((1..=100).contains(&heard), "{heard}");
    }
}
