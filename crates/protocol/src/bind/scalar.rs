//! Text read as a number, a boolean, JSON or base64.

use serde_json::{Number, Value as Json};

/// A value read from text, and whether the text is how JSON itself would write it.
#[derive(Debug, PartialEq)]
pub(super) struct Reading<T> {
    pub(super) value: T,
    pub(super) canonical: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    NotANumber,
    /// A number, but not one that 64 bits hold without loss.
    OutOfRange,
}

/// The parts of a decimal number: sign, digits before and after the point, exponent.
struct Decimal<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: i64,
    canonical: bool,
}

fn decimal(text: &str) -> Option<Decimal<'_>> {
    let (negative, plus, body) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(body), _) => (true, false, body),
        (_, Some(body)) => (false, true, body),
        _ => (false, false, text),
    };
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if !is_digits(digits) {
                return None;
            }
            // Anything that overflows is far out of range either way.
            let magnitude = digits.parse().unwrap_or(i64::from(u32::MAX));
            let sign = if exponent.starts_with('-') { -1 } else { 1 };
            (mantissa, magnitude.min(i64::from(u32::MAX)) * sign)
        }
        None => (body, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
        Some(_) => return None,
        None => (mantissa, ""),
    };
    if !is_digits(whole) {
        return None;
    }
    Some(Decimal {
        negative,
        whole,
        fraction,
        exponent,
        canonical: !plus && (whole.len() == 1 || !whole.starts_with('0')),
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `25`, `+25`, `25.0` and `2.5e1` are 25. Never loses a digit: what 64 bits cannot hold is refused.
pub(super) fn integer(text: &str) -> Result<Reading<Number>, NumberError> {
    let text = text.trim();
    let decimal = decimal(text).ok_or(NumberError::NotANumber)?;
    let mut digits = String::with_capacity(decimal.whole.len() + decimal.fraction.len());
    digits.push_str(decimal.whole);
    digits.push_str(decimal.fraction);
    let significant = digits.trim_end_matches('0').len();
    if significant == 0 {
        digits = "0".to_owned();
    } else {
        let point = i64::try_from(decimal.whole.len())
            .unwrap_or(i64::MAX)
            .saturating_add(decimal.exponent);
        let Ok(point) = usize::try_from(point) else {
            return Err(NumberError::NotANumber);
        };
        if point < significant {
            return Err(NumberError::NotANumber);
        }
        let leading = digits.len() - digits.trim_start_matches('0').len();
        if point.saturating_sub(leading) > 20 {
            return Err(NumberError::OutOfRange);
        }
        digits.truncate(point);
        while digits.len() < point {
            digits.push('0');
        }
    }
    let value = if decimal.negative {
        digits.insert(0, '-');
        digits.parse::<i64>().map(Number::from)
    } else {
        digits.parse::<u64>().map(Number::from)
    };
    Ok(Reading {
        value: value.map_err(|_| NumberError::OutOfRange)?,
        canonical: decimal.canonical && decimal.fraction.is_empty() && !text.contains(['e', 'E']),
    })
}

/// Any finite decimal number. A whole number keeps all its digits or is refused.
pub(super) fn number(text: &str) -> Result<Reading<Number>, NumberError> {
    let text = text.trim();
    let decimal = decimal(text).ok_or(NumberError::NotANumber)?;
    let is_whole = decimal.fraction.is_empty() && !text.contains(['e', 'E']);
    if is_whole && let Ok(reading) = integer(text) {
        return Ok(reading);
    }
    let value: f64 = text.parse().map_err(|_| NumberError::NotANumber)?;
    let digits = decimal.whole.trim_start_matches('0');
    if is_whole && format!("{:.0}", value.abs()) != digits {
        return Err(NumberError::OutOfRange);
    }
    Ok(Reading {
        value: Number::from_f64(value).ok_or(NumberError::OutOfRange)?,
        canonical: decimal.canonical,
    })
}

/// An integer that came as a JSON number. Beyond 2^53 a float no longer says which integer was meant.
pub(super) fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !number.is_f64() {
        return Some(number.clone());
    }
    let value = number.as_f64()?;
    // The cast is exact: the value is whole and within ±2^53.
    (value.fract() == 0.0 && value.abs() <= EXACT).then(|| Number::from(value as i64))
}

/// 1 and 1.0 are the same number. Exact also where a float no longer holds every integer.
pub(super) fn equal(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.as_f64() == other.as_f64(),
        (Some(whole), None) => is_whole(other, whole),
        (None, Some(whole)) => is_whole(one, whole),
    }
}

fn is_whole(float: &Number, whole: i128) -> bool {
    // Beyond the range of i128 the cast saturates, far from any 64-bit integer.
    float
        .as_f64()
        .is_some_and(|float| float.fract() == 0.0 && float as i128 == whole)
}

pub(super) fn boolean(text: &str) -> Option<Reading<bool>> {
    const WORDS: [(&str, bool); 10] = [
        ("true", true),
        ("false", false),
        ("yes", true),
        ("no", false),
        ("on", true),
        ("off", false),
        ("1", true),
        ("0", false),
        ("是", true),
        ("否", false),
    ];
    let text = text.trim();
    let (word, value) = WORDS
        .into_iter()
        .find(|(word, _)| text.eq_ignore_ascii_case(word))?;
    Some(Reading {
        value,
        canonical: matches!(word, "true" | "false"),
    })
}

/// JSON, also when the model wrapped it in a code fence.
pub(super) fn json(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str(unfenced(text))
}

/// The text inside a code fence that wraps all of it, else the text itself, trimmed.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = || {
        let body = text.strip_prefix("```")?.strip_suffix("```")?;
        let (info, body) = body.split_once('\n')?;
        let info = info.trim();
        (info.is_empty() || info.eq_ignore_ascii_case("json")).then_some(body.trim())
    };
    inside().unwrap_or(text)
}

/// Standard base64 without the white space it may be laid out with, or what is wrong with it.
pub(super) fn base64(text: &str) -> Result<String, &'static str> {
    let clean: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let body = clean.trim_end_matches('=');
    let padding = clean.len() - body.len();
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    if !body.bytes().all(|byte| sextet(byte).is_some()) {
        return Err("it has characters outside the base64 alphabet");
    }
    if padding > 2 || !clean.len().is_multiple_of(4) {
        return Err("its length or its padding is wrong");
    }
    // Bits that no byte uses must be zero, or the text says more than can be decoded.
    let unused = match padding {
        1 => 0b11,
        2 => 0b1111,
        _ => 0,
    };
    let last = body.bytes().last().and_then(sextet).unwrap_or(0);
    if last & unused != 0 {
        return Err("it is cut off");
    }
    Ok(clean)
}
