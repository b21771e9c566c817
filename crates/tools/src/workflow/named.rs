//! Which of the workflows that somebody sees a name means.

use super::Seen;

/// Why a name means no workflow, or not one alone.
#[derive(Debug, Clone)]
pub enum NotNamed<'s> {
    Unknown,
    /// Several in one place answer to it.
    Ambiguous(Vec<&'s Seen>),
}

/// The ways in which a workflow is named, the surest first.
pub const WAYS: [fn(&Seen) -> Option<&str>; 3] =
    [Seen::id, |seen| Some(seen.stem.as_str()), Seen::name];

/// In the first place that knows it by the id inside the file or by the file's stem; else in the first that knows it by
/// its name. `all` comes nearest first, as [`super::WorkflowService::look`] gives it.
pub fn named<'s>(all: &'s [Seen], name: &str) -> Result<&'s Seen, NotNamed<'s>> {
    let knows = |ways: &[fn(&Seen) -> Option<&str>]| {
        let is_it = |seen: &&Seen| ways.iter().any(|way| way(seen) == Some(name));
        all.iter().find(is_it).map(|seen| &seen.place)
    };
    let (firm, _) = WAYS.split_at(2);
    let nearest = knows(firm).or_else(|| knows(&WAYS));
    let nearest = nearest.ok_or(NotNamed::Unknown)?;
    let there = || all.iter().filter(|seen| seen.place == *nearest);
    let found: Vec<&Seen> = WAYS
        .iter()
        .map(|way| {
            there()
                .filter(|seen| way(seen) == Some(name))
                .collect::<Vec<_>>()
        })
        .find(|found| !found.is_empty())
        .unwrap_or_default();
    match found.as_slice() {
        [seen] => Ok(seen),
        _ => Err(NotNamed::Ambiguous(found)),
    }
}
