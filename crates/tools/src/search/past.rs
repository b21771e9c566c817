//! What calls of the past say: a tool that has served this person in this project comes a little further up.
//!
//! Never so far that it beats a tool that fits clearly better, and less with every day.

use std::collections::HashMap;

use jiff::Timestamp;

/// The most that past calls add to a score, as a part of it.
const MOST: f32 = 0.25;
/// So many calls of today come to half of that.
const HALF: f32 = 3.0;
/// After so many days a call counts half.
const HALF_LIFE_DAYS: f32 = 14.0;
/// Below this, nothing is left of a call.
const LEAST: f32 = 0.01;

/// How much each tool was of use lately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past(HashMap<Box<str>, f32>);

impl Past {
    /// From calls that succeeded, with their moments.
    pub fn of<T: AsRef<str>>(
        calls: impl IntoIterator<Item = (T, Timestamp)>,
        now: Timestamp,
    ) -> Self {
        let mut all: HashMap<Box<str>, f32> = HashMap::new();
        for (tool, at) in calls {
            // A clock that was set back makes no call of tomorrow.
            let seconds = now.as_second().saturating_sub(at.as_second()).max(0);
            let days = seconds as f32 / 86_400.0;
            let left = (-days / HALF_LIFE_DAYS).exp2();
            if left >= LEAST {
                *all.entry(tool.as_ref().into()).or_default() += left;
            }
        }
        Self(all)
    }

    /// What the score of a tool is multiplied with: 1 to 1.25.
    pub fn lift(&self, tool: &str) -> f32 {
        let used = self.used(tool);
        1.0 + MOST * used / (used + HALF)
    }

    /// Calls, each worth what is left of it.
    pub fn used(&self, tool: &str) -> f32 {
        self.0.get(tool).copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_a_little_and_fade() {
        let now: Timestamp = "2030-06-30T12:00:00Z".parse().unwrap();
        let ago = |days: i64| now - jiff::SignedDuration::from_hours(24 * days);
        let lift = |days: i64, calls: usize| {
            let past = Past::of((0..calls).map(|_| ("t", ago(days))), now);
            past.lift("t")
        };
        assert_eq!(lift(0, 0), 1.0);
        let order = [
            lift(200, 3),
            lift(28, 1),
            lift(14, 1),
            lift(0, 1),
            lift(0, 3),
            lift(0, 500),
        ];
        assert!(order.is_sorted_by(|one, other| one < other), "{order:?}");
        assert!((lift(0, 3) - 1.125).abs() < 1e-3);
        assert!(lift(0, 1_000_000) <= 1.0 + MOST);
        assert_eq!(lift(200, 3), 1.0, "nothing is left of it");
        assert_eq!(lift(-3, 1), lift(0, 1), "of tomorrow");
    }
}
