//! Calls that are made again and again, with the same answer and nothing changed in between.

use std::collections::VecDeque;
use std::io;

use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use serde::{Deserialize, Serialize};

use super::{AgentRun, PlannedCall};
use crate::limits::{REPEATED_CALLS_END, REPEATED_CALLS_PERIOD, REPEATED_CALLS_TOLD};

/// The last calls and their answers, the newest last; no more than it takes to see that they go round in circles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Repeated {
    recent: VecDeque<(u64, u64)>,
}

impl Repeated {
    fn note(&mut self, call: u64, answer: u64) {
        self.recent.push_back((call, answer));
        if self.recent.len() > REPEATED_CALLS_PERIOD * REPEATED_CALLS_END as usize {
            self.recent.pop_front();
        }
    }

    /// How often what came last was there in a row: a call, or several in turn.
    fn times(&self) -> u32 {
        let of_period = |period: usize| {
            let newest_first = self.recent.iter().rev();
            let before = newest_first.clone().skip(period);
            let alike = newest_first
                .zip(before)
                .take_while(|(one, other)| one == other);
            (alike.count() + period) / period
        };
        let most = (1..=REPEATED_CALLS_PERIOD).map(of_period).max();
        most.map_or(1, |times| u32::try_from(times).unwrap_or(u32::MAX))
    }

    fn is_endless(&self) -> bool {
        self.times() >= REPEATED_CALLS_END
    }
}

impl AgentRun {
    /// `changed`: the call did something to the workspace. Where a task runs in the background, asking again for its state
    /// is what a model should do.
    pub(super) fn note_repetition(
        &mut self,
        call: &PlannedCall,
        observation: &Observation,
        changed: bool,
    ) {
        if changed || !self.tasks.is_empty() || self.open_children().next().is_some() {
            self.repeated = None;
            return;
        }
        let call_key = digest(&(&call.tool, &call.arguments));
        let answer = digest(&observation.outcome);
        let repeated = self.repeated.get_or_insert_default();
        repeated.note(call_key, answer);
        let times = repeated.times();
        if times >= REPEATED_CALLS_TOLD
            && let Some(turn) = &mut self.turn
        {
            let message = format!(
                "{} was called {times} times with the same arguments and nothing new in between, and the answer was always the same; do something else, or the run ends",
                call.tool
            );
            let is_told = |note: &Observation| matches!(&note.outcome, Outcome::Notice { reason, .. } if reason == TOLD);
            turn.notes.retain(|note| !is_told(note));
            let outcome = Outcome::Notice {
                reason: TOLD.to_owned(),
                message,
            };
            turn.notes.push(Observation::new("", outcome));
        }
    }

    /// Whether it goes round in circles.
    pub(super) fn end_if_endless(&mut self, out: &mut super::apply::Out) -> bool {
        let is_endless = self.repeated.as_ref().is_some_and(Repeated::is_endless);
        if is_endless {
            self.repeated = None;
            self.fail(
                ErrorCode::ToolBudgetExhausted,
                format!(
                    "The model made the same calls {REPEATED_CALLS_END} times and got the same answers each time; resume the run with guidance, or choose another model"
                ),
                Some(TOLD.to_owned()),
                out,
            );
        }
        is_endless
    }
}

const TOLD: &str = "agent.repeated_calls";

/// FNV-1a over the JSON form: the same in every process, and nothing is copied.
pub(super) fn digest(value: &impl Serialize) -> u64 {
    struct Sum(u64);

    impl io::Write for Sum {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut sum = Sum(0xcbf2_9ce4_8422_2325);
    // Writing into a sum cannot fail; what cannot be JSON counts as nothing.
    let _ = serde_json::to_writer(&mut sum, value);
    sum.0
}
