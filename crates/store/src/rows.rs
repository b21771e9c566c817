//! Statements that write many rows at once: what one costs on its way to SQLite is more than what it does there.

use std::fmt::Write;
use std::sync::LazyLock;

/// Statements exist for these many rows, so that a batch of any size needs few of them and they stay prepared.
pub(crate) const SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

pub(crate) type Statements = LazyLock<[String; SIZES.len()]>;

/// `VALUES` with so many rows of so many places.
pub(crate) fn values(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    let mut text = "VALUES ".to_owned();
    for number in 0..rows {
        let comma = if number == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{row}");
    }
    text
}

pub(crate) fn sized(statements: &'static Statements, size: usize) -> &'static str {
    let place = SIZES.iter().position(|known| *known == size);
    place
        .and_then(|place| statements.get(place))
        .map_or("", String::as_str)
}

/// Cuts into pieces for which there are statements, largest first.
pub(crate) fn parts<T>(items: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= rest.len())?;
        let (part, others) = std::mem::take(&mut rest).split_at_mut(size);
        rest = others;
        Some(part)
    })
}
