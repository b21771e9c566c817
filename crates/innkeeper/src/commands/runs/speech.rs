//! A turn while it is written, as pieces to print: what was printed already is not printed again.

use std::collections::BTreeMap;

use innkeeper_agent::instance::{LiveTurn, LiveUpdate};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Words(String),
    Thought(String),
    /// The model begins to write a call of this tool.
    Call(String),
    /// More of an argument of the call that was begun last, or of an earlier one.
    Argument {
        name: String,
        text: String,
    },
    /// The turn is over, or is begun anew.
    End,
}

/// How much of the turn has been given out.
#[derive(Debug, Default)]
pub(super) struct Speech {
    round: u32,
    text: usize,
    reasoning: usize,
    calls: Vec<BTreeMap<String, usize>>,
}

impl Speech {
    pub(super) fn hear(&mut self, update: LiveUpdate) -> Vec<Piece> {
        let mut pieces = Vec::new();
        match update {
            LiveUpdate::Snapshot(turn) => self.catch_up(&turn, &mut pieces),
            LiveUpdate::Append { round, text } => {
                self.turn_to(round, &mut pieces);
                self.text += text.len();
                pieces.push(Piece::Words(text));
            }
            LiveUpdate::ReasoningAppend { round, text } => {
                self.turn_to(round, &mut pieces);
                self.reasoning += text.len();
                pieces.push(Piece::Thought(text));
            }
            LiveUpdate::CallStarted { round, name, .. } => {
                self.turn_to(round, &mut pieces);
                self.calls.push(BTreeMap::new());
                pieces.push(Piece::Call(name));
            }
            LiveUpdate::CallAppend {
                round,
                call,
                field,
                text,
            } => {
                self.turn_to(round, &mut pieces);
                if let Some(fields) = self.calls.get_mut(call) {
                    *fields.entry(field.clone()).or_default() += text.len();
                }
                pieces.push(Piece::Argument { name: field, text });
            }
            LiveUpdate::Remove { .. } => self.end(&mut pieces),
        }
        pieces
    }

    fn end(&mut self, pieces: &mut Vec<Piece>) {
        if self.round != 0 {
            pieces.push(Piece::End);
        }
        *self = Self::default();
    }

    fn turn_to(&mut self, round: u32, pieces: &mut Vec<Piece>) {
        if self.round != round {
            self.end(pieces);
            self.round = round;
        }
    }

    /// What of the turn has not been given out.
    fn catch_up(&mut self, turn: &LiveTurn, pieces: &mut Vec<Piece>) {
        self.turn_to(turn.round, pieces);
        let rest = |text: &str, given: usize| {
            let rest = text.get(given..).unwrap_or_default();
            (!rest.is_empty()).then(|| rest.to_owned())
        };
        pieces.extend(rest(&turn.reasoning, self.reasoning).map(Piece::Thought));
        pieces.extend(rest(&turn.text, self.text).map(Piece::Words));
        self.reasoning = turn.reasoning.len();
        self.text = turn.text.len();
        for (at, call) in turn.calls.iter().enumerate() {
            if at >= self.calls.len() {
                self.calls.push(BTreeMap::new());
                pieces.push(Piece::Call(call.name.clone()));
            }
            let Some(given) = self.calls.get_mut(at) else {
                continue;
            };
            for (name, text) in &call.fields {
                let known = given.entry(name.clone()).or_default();
                pieces.extend(rest(text, *known).map(|text| Piece::Argument {
                    name: name.clone(),
                    text,
                }));
                *known = text.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use innkeeper_agent::instance::LiveCall;

    use super::*;

    fn words(text: &str) -> LiveUpdate {
        LiveUpdate::Append {
            round: 1,
            text: text.to_owned(),
        }
    }

    #[test]
    fn whoever_was_too_slow_is_given_only_what_is_missing() {
        let mut speech = Speech::default();
        assert_eq!(speech.hear(words("Éa")), [Piece::Words("Éa".to_owned())]);
        let call = LiveCall {
            name: "File.Write".to_owned(),
            fields: BTreeMap::from([("content".to_owned(), "one".to_owned())]),
        };
        let turn = |content: &str| {
            let mut call = call.clone();
            call.fields.insert("content".to_owned(), content.to_owned());
            LiveUpdate::Snapshot(Arc::new(LiveTurn {
                round: 1,
                text: "Éab".to_owned(),
                reasoning: "hm".to_owned(),
                calls: vec![call],
                truncated: false,
            }))
        };
        let argument = |text: &str| Piece::Argument {
            name: "content".to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(
            speech.hear(turn("one")),
            [
                Piece::Thought("hm".to_owned()),
                Piece::Words("b".to_owned()),
                Piece::Call("File.Write".to_owned()),
                argument("one"),
            ]
        );
        assert_eq!(speech.hear(turn("one two")), [argument(" two")]);
        assert_eq!(speech.hear(turn("one two")), []);
    }

    #[test]
    fn a_turn_that_is_begun_anew_is_told_from_the_beginning() {
        let mut speech = Speech::default();
        speech.hear(words("a"));
        assert_eq!(speech.hear(LiveUpdate::Remove { round: 1 }), [Piece::End]);
        assert_eq!(speech.hear(LiveUpdate::Remove { round: 1 }), []);
        assert_eq!(speech.hear(words("a")), [Piece::Words("a".to_owned())]);
        let next = LiveUpdate::Append {
            round: 2,
            text: "b".to_owned(),
        };
        assert_eq!(
            speech.hear(next),
            [Piece::End, Piece::Words("b".to_owned())]
        );
    }
}
