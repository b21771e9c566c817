//! How long a server asks to wait. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;

use crate::limits::MAX_RETRY_AFTER;
use crate::trouble::seconds;

/// `said` is what the body asks for.
pub(super) fn retry_after(
    headers: &HeaderMap,
    said: Option<Duration>,
    now: SystemTime,
) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let used_up = |kind: &str| {
        // Which of several limits was hit is told by what is left.
        (number(&format!("x-ratelimit-remaining-{kind}")) == Some(0.0))
            .then(|| text(&format!("x-ratelimit-reset-{kind}")).and_then(go_duration))
            .flatten()
    };
    let wait = number("retry-after-ms")
        .and_then(|millis| seconds(millis / 1000.0))
        .or_else(|| number("retry-after").and_then(seconds))
        .or_else(|| until(httpdate::parse_http_date(text("retry-after")?).ok()?, now))
        .or(said)
        .or_else(|| used_up("requests").max(used_up("tokens")))
        .or_else(|| reset(number("x-ratelimit-reset")?, now));
    wait.map(|wait| wait.min(MAX_RETRY_AFTER))
}

fn until(then: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(then.duration_since(now).unwrap_or_default())
}

/// Seconds from now, or since 1970 in seconds or thousandths: the size tells.
fn reset(number: f64, now: SystemTime) -> Option<Duration> {
    const A_YEAR: f64 = 366.0 * 86_400.0;
    let since_1970 = match number {
        n if n < A_YEAR => return seconds(n),
        n if n < 1e11 => n,
        n => n / 1000.0,
    };
    until(
        UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(since_1970).ok()?)?,
        now,
    )
}

/// `6m0s`, `1.5s`, `20ms`
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at_checked(digits)?;
        let letters = unit
            .find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(unit.len());
        let (unit, after) = unit.split_at_checked(letters)?;
        let number: f64 = number.parse().ok()?;
        sum += number
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 0.001,
                _ => return None,
            };
        rest = after;
    }
    (!text.is_empty()).then(|| seconds(sum)).flatten()
}

#[cfg(test)]
#[path = "retry_after_tests.rs"]
mod tests;
