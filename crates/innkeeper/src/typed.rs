//! What the person types while a run goes on: one thread for the process reads it. Whoever asks gets the lines that come
//! after the question, until it is answered or given up; all others go to whoever listens.
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

/// The lines of the person at the terminal, for a question that is put now.
pub(crate) fn answers() -> io::Result<Lines> {
    stdin().give(To::Question, || io::stdin().lock())
}

/// Those that answer no question.
pub(crate) fn remarks() -> io::Result<Lines> {
    stdin().give(To::Listener, || io::stdin().lock())
}

fn stdin() -> Typed {
    let mut stdin = STDIN.lock().unwrap_or_else(PoisonError::into_inner);
    stdin.get_or_insert_default().clone()
}

/// Without its end; nothing if the person closed the input.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.take(MAX_ANSWER_BYTES).read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

type Line = io::Result<Option<String>>;

/// Where one question, or one who listens, hears what is typed.
pub(crate) struct Lines(mpsc::Receiver<Line>);

impl Lines {
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
    /// Who listens, whenever nobody waits for an answer.
    listening: Option<mpsc::Sender<Line>>,
    is_read: bool,
}

#[derive(Clone, Copy)]
enum To {
    Question,
    Listener,
}

impl Typed {
    /// What is typed while nobody asks or listens is forgotten.
    fn give<R: BufRead>(
        &self,
        to: To,
        open: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<Lines> {
        let (sender, lines) = mpsc::channel(MAX_WRONG_ANSWERS);
        let mut state = self.state();
        match to {
            To::Question => state.asking = Some(sender),
            To::Listener => state.listening = Some(sender),
        }
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
            let asking = state.asking.as_ref().filter(|asking| !asking.is_closed());
            if let Some(hearer) = asking.or(state.listening.as_ref()) {
                // It has been given up, or has had more than it takes.
                let _ = hearer.try_send(line);
            }
            if is_last {
                // Whoever has not heard of the end hears of it by this.
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
        let given_up = typed.give(To::Question, opened(reader)).unwrap();
        drop(given_up);
        let mut next = typed.give(To::Question, nothing_to_open).unwrap();
        person.write_all(b"n\n").unwrap();
        assert_eq!(next.next().await.unwrap().as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn what_one_question_did_not_take_is_no_answer_to_the_next() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut first = typed.give(To::Question, opened(reader)).unwrap();
        person.write_all(b"what\r\ny\ny\n").unwrap();
        for said in ["what", "y", "y"] {
            assert_eq!(first.next().await.unwrap().as_deref(), Some(said));
        }
        drop(first);
        let mut next = typed.give(To::Question, nothing_to_open).unwrap();
        person.write_all(b"n\n").unwrap();
        assert_eq!(next.next().await.unwrap().as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn the_end_of_the_input_is_heard_and_not_for_ever() {
        let typed = Typed::default();
        for answer in ["y", "n"] {
            let (reader, mut person) = io::pipe().unwrap();
            let mut asked = typed.give(To::Question, opened(reader)).unwrap();
            person.write_all(format!("{answer}\n").as_bytes()).unwrap();
            drop(person);
            assert_eq!(asked.next().await.unwrap().as_deref(), Some(answer));
            assert_eq!(asked.next().await.unwrap(), None);
            assert_eq!(asked.next().await.unwrap(), None);
        }
    }

    /// Whoever comes first, and however often somebody begins to listen.
    #[tokio::test]
    async fn a_listener_takes_nothing_from_a_question() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut listening = typed.give(To::Listener, opened(reader)).unwrap();
        let hears = async |lines: &mut Lines| lines.next().await.unwrap();
        person.write_all(b"faster\n").unwrap();
        assert_eq!(hears(&mut listening).await.as_deref(), Some("faster"));
        let mut question = typed.give(To::Question, nothing_to_open).unwrap();
        let mut listening = typed.give(To::Listener, nothing_to_open).unwrap();
        person.write_all(b"y\n").unwrap();
        assert_eq!(hears(&mut question).await.as_deref(), Some("y"));
        drop(question);
        person.write_all(b"slower\n").unwrap();
        assert_eq!(hears(&mut listening).await.as_deref(), Some("slower"));
        let mut question = typed.give(To::Question, nothing_to_open).unwrap();
        drop(person);
        assert_eq!(hears(&mut question).await, None);
        assert_eq!(hears(&mut listening).await, None);
    }

    /// More than any question asks for, and nobody who reads them: the reader is not held up.
    #[tokio::test]
    async fn who_types_without_end_fills_nothing() {
        let typed = Typed::default();
        let (reader, mut person) = io::pipe().unwrap();
        let mut asked = typed.give(To::Question, opened(reader)).unwrap();
        person.write_all(&b"x\n".repeat(100)).unwrap();
        drop(person);
        let mut heard = 0;
        while asked.next().await.unwrap().is_some() {
            heard += 1;
        }
        assert!((1..=100).contains(&heard), "{heard}");
    }
}
