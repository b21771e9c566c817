//! "Did you mean": the declared name that a wrong one was most likely meant to be.

use crate::key::normalise;
use crate::limits::{MAX_SUGGESTION_CANDIDATES, MAX_SUGGESTION_CHARS};

struct Candidate<'n> {
    name: &'n str,
    form: String,
}

/// Names to choose from, with the forms they are compared in.
pub(super) struct Nearest<'n>(Vec<Candidate<'n>>);

impl<'n> Nearest<'n> {
    pub(super) fn among(names: impl Iterator<Item = &'n str>) -> Self {
        Self(
            names
                .filter(|name| name.chars().nth(MAX_SUGGESTION_CHARS).is_none())
                .take(MAX_SUGGESTION_CANDIDATES)
                .map(|name| Candidate {
                    name,
                    form: normalise(name).into_owned(),
                })
                .collect(),
        )
    }

    /// First the same name in another spelling, then a few wrong letters, then the one name that has all
    /// the words of the wrong one, or the other way round. The first declared wins a tie.
    pub(super) fn to(&self, wrong: &str) -> Option<&'n str> {
        if wrong.chars().nth(MAX_SUGGESTION_CHARS).is_some() {
            return None;
        }
        let form = normalise(wrong);
        self.same(&form)
            .or_else(|| self.close(&form))
            .or_else(|| self.by_words(&form))
    }

    fn same(&self, form: &str) -> Option<&'n str> {
        let squeezed = |form: &str| form.replace('_', "");
        let find = |fits: &dyn Fn(&str) -> bool| {
            self.0
                .iter()
                .find(|candidate| !candidate.form.is_empty() && fits(&candidate.form))
                .map(|candidate| candidate.name)
        };
        let wanted = squeezed(form);
        find(&|other| other == form).or_else(|| find(&|other| squeezed(other) == wanted))
    }

    fn close(&self, form: &str) -> Option<&'n str> {
        let length = form.chars().count();
        self.0
            .iter()
            .filter_map(|candidate| {
                let other = candidate.form.chars().count();
                // A third of the letters may be wrong; of three letters, one.
                let cut_off = length.max(other) / 3;
                if length.abs_diff(other) > cut_off {
                    return None;
                }
                let distance = strsim::osa_distance(form, &candidate.form);
                (distance <= cut_off && distance < length.min(other))
                    .then_some((distance, candidate.name))
            })
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name)
    }

    fn by_words(&self, form: &str) -> Option<&'n str> {
        let within = |few: &str, many: &str| {
            few.split('_')
                .all(|word| many.split('_').any(|other| other == word))
        };
        let mut found = self.0.iter().filter(|candidate| {
            !form.is_empty() && (within(form, &candidate.form) || within(&candidate.form, form))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first.name)
    }
}
