//! How long a question waits, as people write it: `90s`, `30m`, `24h`, `7d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_APPROVAL_EXPIRES, MIN_APPROVAL_EXPIRES};

/// A time of one unit. Shown as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expires(Duration);

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

impl Expires {
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl From<Duration> for Expires {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl FromStr for Expires {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || format!("'{text}' is no time that a question can wait; write 90s, 30m, 24h or 7d");
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text.get(digits.len()..).unwrap_or_default();
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let count = digits.parse::<u64>().ok();
        let seconds = unit
            .zip(count)
            .and_then(|((_, unit), count)| count.checked_mul(*unit));
        let duration = Duration::from_secs(seconds.ok_or_else(invalid)?);
        match (MIN_APPROVAL_EXPIRES..=MAX_APPROVAL_EXPIRES).contains(&duration) {
            true => Ok(Self(duration)),
            false => Err(format!(
                "a question can wait for {} to {}, not for {text}",
                Self(MIN_APPROVAL_EXPIRES),
                Self(MAX_APPROVAL_EXPIRES)
            )),
        }
    }
}

impl TryFrom<String> for Expires {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Expires> for String {
    fn from(expires: Expires) -> Self {
        expires.to_string()
    }
}

impl fmt::Display for Expires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let fits = |unit: &&(&str, u64)| seconds > 0 && seconds.is_multiple_of(unit.1);
        match UNITS.iter().find(fits) {
            Some((name, unit)) => write!(f, "{}{name}", seconds / unit),
            None => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, seconds) in [
            ("1s", 1),
            ("90s", 90),
            ("30m", 1_800),
            ("24h", 86_400),
            ("7d", 604_800),
        ] {
            let read: Expires = text.parse().unwrap();
            assert_eq!(read.duration(), Duration::from_secs(seconds), "{text}");
            assert_eq!(read.to_string().parse::<Expires>(), Ok(read), "{text}");
        }
        assert_eq!(Expires(Duration::from_secs(86_400)).to_string(), "1d");
        for text in [
            "",
            "0s",
            "24",
            "h",
            "-1h",
            "1.5h",
            "24 h",
            "24H",
            "1h30m",
            "999999999999d",
            "366d",
        ] {
            assert!(text.parse::<Expires>().is_err(), "{text}");
        }
    }
}
