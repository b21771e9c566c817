//! Money, in whole billionths of a dollar so that sums stay exact.

use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(u64);

impl Cost {
    pub const fn from_nanodollars(nanodollars: u64) -> Self {
        Self(nanodollars)
    }

    /// `None` for what is no amount.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nanodollars = (dollars * 1e9).round();
        // Above this whole numbers are no longer exact; nobody's reply costs nine million dollars.
        let is_amount = (0.0..9e15).contains(&nanodollars);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        is_amount.then_some(Self(nanodollars as u64))
    }

    #[allow(clippy::cast_precision_loss)]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars)
            .ok_or_else(|| serde::de::Error::custom("a cost is a number of dollars from 0 on"))
    }
}
