//! What the rewritten templates call: values of bounded size, and a bounded sum of all that was made.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, escape_formatter, filters, tests};

use super::purse::{charge, left, look, refused, too_much};
use crate::limits::{
    MAX_TEMPLATE_NESTING, MAX_TEMPLATE_OUTPUT_BYTES, MAX_TEMPLATE_REPEAT, MAX_TEMPLATE_VALUE_BYTES,
};

/// About how many bytes a value takes when it is written out; an error beyond `most`.
pub(super) fn weight(value: &Value, most: usize) -> Result<usize, Error> {
    let mut sum = 0;
    weigh(value, most, 0, &mut sum)?;
    Ok(sum)
}

fn weigh(value: &Value, most: usize, depth: usize, sum: &mut usize) -> Result<(), Error> {
    *sum += 24;
    match value.kind() {
        ValueKind::String => *sum += value.as_str().map_or(0, str::len),
        ValueKind::Bytes => *sum += value.as_bytes().map_or(0, <[u8]>::len),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            if depth >= MAX_TEMPLATE_NESTING {
                return Err(refused(format!(
                    "a value is nested more than {MAX_TEMPLATE_NESTING} deep"
                )));
            }
            let is_map = value.kind() == ValueKind::Map;
            if let Ok(items) = value.try_iter() {
                for item in items {
                    weigh(&item, most, depth + 1, sum)?;
                    if is_map && let Ok(inner) = value.get_item(&item) {
                        weigh(&inner, most, depth + 1, sum)?;
                    }
                }
            }
        }
        _ => {}
    }
    match *sum > most {
        true => Err(refused(format!("a value is larger than {most} bytes"))),
        false => Ok(()),
    }
}

/// Its weight, looked at as a whole.
fn seen(value: &Value, most: usize) -> Result<usize, Error> {
    // What the purse cannot pay for is not weighed to its end.
    let left = left();
    let found = weight(value, most.min(left));
    let weight = found.map_err(|error| match left < most {
        true => too_much(),
        false => error,
    })?;
    look(weight)?;
    Ok(weight)
}

fn fits(value: &Value) -> Result<usize, Error> {
    seen(value, MAX_TEMPLATE_VALUE_BYTES)
}

/// A look at one part of a value: a text is searched from its beginning for it, and what is only made when it is asked
/// for is made up to there.
fn glanced(value: Value) -> Result<Value, Error> {
    match (value.kind(), value.as_str()) {
        (_, Some(text)) => look(text.len())?,
        (ValueKind::Iterable, _) => drop(fits(&value)?),
        _ => {}
    }
    Ok(value)
}

fn made(value: Value, copies: Option<usize>) -> Result<Value, Error> {
    let weight = fits(&value)?;
    charge(weight)?;
    if value.as_str().is_some() {
        look(weight.saturating_mul(copies.unwrap_or_default()))?;
    }
    // Jinja keeps a sum of lists as a chain of its parts; what comes out of a long one is one list again.
    match value.kind() {
        ValueKind::Seq if !value.is_tuple() => Ok(listed(value)),
        ValueKind::Iterable => Ok(listed(value)),
        _ => Ok(value),
    }
}

fn kept(value: Value) -> Result<Value, Error> {
    fits(&value)?;
    Ok(match value.kind() {
        ValueKind::Iterable => listed(value),
        _ => value,
    })
}

fn refuse_namespace(value: &Value) -> Result<(), Error> {
    let is_namespace = value.kind() == ValueKind::Map
        && value
            .as_object()
            .is_some_and(|object| object.type_name().ends_with("::Namespace"));
    match is_namespace {
        true => Err(refused(
            "a namespace cannot be put into another value or given to a filter; use its attributes"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

fn listed(value: Value) -> Value {
    match value.try_iter() {
        Ok(items) => Value::from(items.collect::<Vec<_>>()),
        Err(_) => value,
    }
}

fn repeats(count: usize) -> Result<(), Error> {
    match count <= MAX_TEMPLATE_REPEAT {
        true => Ok(()),
        false => Err(refused(format!(
            "{count} is too large; {MAX_TEMPLATE_REPEAT} is the most"
        ))),
    }
}

/// What a filter would make of a text, at most.
fn room(bytes: usize) -> Result<(), Error> {
    match bytes <= MAX_TEMPLATE_VALUE_BYTES {
        true => charge(bytes),
        false => Err(refused(format!(
            "a value is larger than {MAX_TEMPLATE_VALUE_BYTES} bytes"
        ))),
    }
}

/// The largest number and the longest text among the arguments of a filter, those by name included.
fn extremes(arguments: &[Value]) -> (usize, usize) {
    let mut found = (0, 0);
    let mut see = |value: &Value| {
        let number = i64::try_from(value.clone()).ok();
        let number = number.and_then(|number| usize::try_from(number).ok());
        found.0 = found.0.max(number.unwrap_or_default());
        found.1 = found.1.max(value.as_str().map_or(0, str::len));
    };
    for argument in arguments {
        see(argument);
        if argument.kind() == ValueKind::Map
            && let Ok(names) = argument.try_iter()
        {
            for name in names {
                see(&argument.get_item(&name).unwrap_or_default());
            }
        }
    }
    found
}

/// The value that a filter is applied to, and its arguments.
fn parts(all: &[Value]) -> (Value, &[Value]) {
    match all.split_first() {
        Some((first, rest)) => (first.clone(), rest),
        None => (Value::UNDEFINED, &[]),
    }
}

fn check_replace(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let text = value.to_string();
    let old = arguments
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (_, longest) = extremes(arguments.get(1..).unwrap_or_default());
    room(text.len() + text.matches(old.as_str()).count() * longest)
}

fn check_join(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let count = value.try_iter().map_or(0, Iterator::count);
    let (_, longest) = extremes(arguments);
    room(fits(&value)? + count * longest)
}

fn check_indent(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let (width, _) = extremes(arguments);
    repeats(width)?;
    let text = value.to_string();
    room(text.len() + (text.matches('\n').count() + 1) * width.max(4))
}

fn check_format(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let text = value.to_string();
    let numbers = text.split(|char: char| !char.is_ascii_digit());
    let widest = numbers.map(|digits| match digits.len() {
        0 => 0,
        _ => digits.parse().unwrap_or(usize::MAX),
    });
    let widest = widest.max().unwrap_or_default();
    repeats(widest)?;
    if text.contains('*') {
        repeats(extremes(arguments).0)?;
    }
    let weights = arguments.iter().map(fits).sum::<Result<usize, Error>>()?;
    room(text.len() * (widest + 8) + weights)
}

fn check_groups(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let (count, _) = extremes(arguments);
    repeats(count)?;
    room(pieces(&value)? + count * 48)
}

/// A text taken apart is larger than before.
fn check_pieces(all: &[Value]) -> Result<(), Error> {
    charge(pieces(&parts(all).0)?)
}

fn check_lines(all: &[Value]) -> Result<(), Error> {
    let text = parts(all).0.to_string();
    charge(text.len() + text.matches('\n').count() * 48)
}

fn check_split(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let text = value.to_string();
    let between = arguments.first().and_then(Value::as_str);
    let count = match between {
        Some(between) => text.matches(between).count(),
        None => text.matches(char::is_whitespace).count(),
    };
    charge(text.len() + count * 48)
}

fn pieces(value: &Value) -> Result<usize, Error> {
    let count = match (value.as_str(), value.len()) {
        (Some(text), _) => text.chars().count(),
        (None, Some(count)) => count,
        (None, None) => return fits(value),
    };
    Ok(count * 24)
}

fn check_pretty(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    repeats(extremes(arguments).0)?;
    charge(fits(&value)? * MAX_TEMPLATE_NESTING)
}

fn check_json(all: &[Value]) -> Result<(), Error> {
    match all.len() {
        0 | 1 => charge(fits(&parts(all).0)? * 6),
        _ if extremes(parts(all).1).0 > 8 => {
            Err(refused("an indent of more than 8 is too large".to_owned()))
        }
        _ => check_pretty(all),
    }
}

fn check_escape(all: &[Value]) -> Result<(), Error> {
    charge(fits(&parts(all).0)? * 6)
}

#[expect(clippy::unnecessary_wraps, reason = "one of many checks")]
fn check_nothing(_: &[Value]) -> Result<(), Error> {
    Ok(())
}

/// Another text about as long.
fn check_text(all: &[Value]) -> Result<(), Error> {
    charge(fits(&parts(all).0)?)
}

/// At each end of the text every character is looked for among those that are to go.
fn check_trim(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let (_, longest) = extremes(arguments);
    charge(fits(&value)?)?;
    look(fits(&value)?.saturating_mul(longest))
}

/// For each item a name is looked up, or something is called with the arguments.
fn check_each(all: &[Value]) -> Result<(), Error> {
    let (value, arguments) = parts(all);
    let (_, longest) = extremes(arguments);
    let pieces = pieces(&value)?;
    look((pieces / 24).saturating_mul(longest))?;
    charge(pieces)
}

/// Each item is looked at some times.
fn check_sort(all: &[Value]) -> Result<(), Error> {
    check_each(all)?;
    let value = parts(all).0;
    let count = value.len().unwrap_or_default();
    let times = usize::try_from(count.checked_ilog2().unwrap_or_default()).unwrap_or_default();
    look(fits(&value)?.saturating_mul(times / 2))
}

/// Texts and lists are copied with each that is added.
fn check_sum(all: &[Value]) -> Result<(), Error> {
    check_each(all)?;
    let (value, arguments) = parts(all);
    let named = |argument: &Value| match argument.kind() {
        ValueKind::Map => argument.get_attr("start").ok(),
        _ => None,
    };
    let start = arguments
        .iter()
        .find_map(named)
        .or(arguments.get(1).cloned());
    match start.as_ref().map(Value::kind) {
        Some(ValueKind::String | ValueKind::Seq | ValueKind::Iterable) => {
            let count = value.len().unwrap_or_default();
            look(fits(&value)?.saturating_mul(count))
        }
        _ => Ok(()),
    }
}

/// Computed with a thousand digits.
fn check_round(_: &[Value]) -> Result<(), Error> {
    look(2_048)
}

type Check = fn(&[Value]) -> Result<(), Error>;

/// Everything that can make much of little, in a bounded form.
pub(super) fn install(environment: &mut Environment<'static>) {
    environment.add_filter("__grow", made);
    environment.add_filter("__fits", |value: Value| fits(&value).map(|_| value));
    environment.add_filter("__glance", glanced);
    environment.add_filter("__hold", kept);
    environment.add_filter("__keep", |value: Value| {
        refuse_namespace(&value)?;
        kept(value)
    });
    environment.add_filter("__number", |value: Value| match value.kind() {
        ValueKind::Number | ValueKind::Bool => Ok(value),
        other => Err(refused(format!(
            "* takes numbers, and got a value of type {other}"
        ))),
    });
    environment.set_formatter(|out, state, value| {
        charge(seen(value, MAX_TEMPLATE_OUTPUT_BYTES)?)?;
        escape_formatter(out, state, value)
    });
    // It shows everything that there is.
    environment.remove_global("debug");
    for (name, filter, check) in heavy_filters() {
        environment.add_filter(name, move |state: &mut State, all: Rest<ValueOrKwargs>| {
            let all = all.into_values();
            let value = all.first().unwrap_or(&Value::UNDEFINED);
            refuse_namespace(value)?;
            fits(value)?;
            check(&all)?;
            filter.call(state, &all)
        });
    }
    for (name, test) in heavy_tests() {
        environment.add_test(name, move |state: &mut State, all: Rest<ValueOrKwargs>| {
            let all = all.into_values();
            all.iter().try_for_each(|value| fits(value).map(drop))?;
            test.call(state, &all).map(|found| found.is_true())
        });
    }
}

type Filter = (&'static str, Value, Check);

/// Filters whose work grows with what they get. They are called by others too: `map('upper')`.
fn heavy_filters() -> Vec<Filter> {
    macro_rules! all {
        ($($name:literal: $filter:ident, $check:expr;)*) => {
            vec![$(($name, Value::from_function(filters::$filter), $check as Check)),*]
        };
    }
    all! {
        "replace": replace, check_replace;
        "join": join, check_join;
        "indent": indent, check_indent;
        "format": format, check_format;
        "batch": batch, check_groups;
        "slice": slice, check_groups;
        "split": split, check_split;
        "lines": lines, check_lines;
        "pprint": pprint, check_pretty;
        "tojson": tojson, check_json;
        "escape": escape, check_escape;
        "e": escape, check_escape;
        "list": list, check_pieces;
        "sort": sort, check_sort;
        "dictsort": dictsort, check_sort;
        "unique": unique, check_sort;
        "groupby": groupby, check_sort;
        "map": map, check_each;
        "select": select, check_each;
        "reject": reject, check_each;
        "selectattr": selectattr, check_each;
        "rejectattr": rejectattr, check_each;
        "chain": chain, check_pieces;
        "zip": zip, check_pieces;
        "sum": sum, check_sum;
        "min": min, check_each;
        "max": max, check_each;
        "reverse": reverse, check_pieces;
        "items": items, check_nothing;
        "lower": lower, check_text;
        "upper": upper, check_text;
        "title": title, check_text;
        "capitalize": capitalize, check_text;
        "trim": trim, check_trim;
        "string": string, check_text;
        "safe": safe, check_text;
        "round": round, check_round;
    }
}

/// Tests that look into what they get.
fn heavy_tests() -> Vec<(&'static str, Value)> {
    macro_rules! all {
        ($($test:ident: $($name:literal)*;)*) => {
            vec![$($(($name, Value::from_function(tests::$test))),*),*]
        };
    }
    all! {
        is_eq: "eq" "equalto" "==";
        is_ne: "ne" "!=";
        is_lt: "lt" "lessthan" "<";
        is_le: "le" "<=";
        is_gt: "gt" "greaterthan" ">";
        is_ge: "ge" ">=";
        is_in: "in";
        is_startingwith: "startingwith";
        is_endingwith: "endingwith";
        is_lower: "lower";
        is_upper: "upper";
        is_sameas: "sameas";
        is_iterable: "iterable";
    }
}
