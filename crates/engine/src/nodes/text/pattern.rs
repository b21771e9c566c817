//! Regular expressions that come to an end: JavaScript's syntax, bounded in size, steps and time.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

use fancy_regex::{Captures, Regex, RegexBuilder, RegexInput};
use tokio_util::sync::CancellationToken;

use super::js_pattern::{Flags, translated};
use super::recent::Recent;
use super::replacement::Replacement;
use crate::NodeError;
use crate::limits::{
    HEAVY_BYTES, HEAVY_PATTERN_BACKTRACKS, HEAVY_PATTERN_TIME, MAX_BACKTRACKS, MAX_MATCHES,
    MAX_PATTERN_BYTES, MAX_PATTERN_PROGRAM_BYTES, MAX_PATTERN_TEXT_BYTES, MAX_PATTERN_TIME,
    MAX_REPLACED_BYTES, MAX_UNSTEPPED_BYTES,
};
use crate::nodes::heavy::away;

pub(super) struct Pattern {
    /// Gives up soon.
    brief: Regex,
    /// The same with all the steps that it may take; most patterns never need it.
    patient: OnceLock<Regex>,
    translated: String,
    /// A search may take more than one pass over the text.
    is_hard: bool,
    pub(super) flags: Flags,
}

/// Where the searching is done.
#[derive(Clone, Copy)]
pub(super) enum Pace<'s> {
    /// Where others wait, since then.
    InPlace(Instant),
    /// On a thread that may be kept busy, until told to stop.
    Away(&'s CancellationToken),
}

impl Pace<'_> {
    /// Whether there is time for more, of a search that began then.
    fn check(self, begun: Instant) -> Result<(), NodeError> {
        match self {
            Self::InPlace(begun) if begun.elapsed() > HEAVY_PATTERN_TIME => {
                Err(NodeError::invalid(NOT_IN_PLACE, "the time is up"))
            }
            Self::Away(stop) if stop.is_cancelled() => Err(NodeError::cancelled()),
            Self::Away(_) if begun.elapsed() > MAX_PATTERN_TIME => Err(too_slow("the time is up")),
            _ => Ok(()),
        }
    }
}

/// More than a little work; seen by nobody but [`searched`].
const NOT_IN_PLACE: &str = "regex.not_in_place";

/// Searching that is begun in place where the text is short, and begun anew elsewhere if it turns out to be long.
pub(super) async fn searched<T: Send + 'static>(
    bytes: usize,
    work: impl Fn(Pace<'_>) -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    if bytes <= HEAVY_BYTES {
        match work(Pace::InPlace(Instant::now())) {
            Err(error) if error.code == NOT_IN_PLACE => {}
            done => return done,
        }
    }
    away(move |stop| work(Pace::Away(stop))).await
}

static RECENT: LazyLock<Recent<Pattern>> = LazyLock::new(Recent::new);

fn too_slow(cause: &str) -> NodeError {
    let message = format!("the pattern takes too long on this text ({cause}); make it simpler");
    NodeError::invalid("regex.too_slow", message)
}

impl Pattern {
    /// The pattern, from those used of late where it is among them.
    pub(super) fn get(pattern: &str, flags: &str) -> Result<Arc<Self>, NodeError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            let message = format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes");
            return Err(NodeError::invalid("regex.too_long", message));
        }
        // No flag is a slash.
        RECENT.get(&format!("{flags}/{pattern}"), |_| {
            Self::compile(pattern, flags)
        })
    }

    fn compile(pattern: &str, flags: &str) -> Result<Self, NodeError> {
        let wrong = |why: String| {
            let shown: String = pattern.chars().take(200).collect();
            NodeError::invalid(
                "regex.syntax",
                format!("the pattern /{shown}/ is wrong: {why}"),
            )
        };
        let flags = Flags::read(flags).map_err(wrong)?;
        let text = translated(pattern, flags).map_err(wrong)?;
        let brief = built(&text, flags, HEAVY_PATTERN_BACKTRACKS)
            .map_err(|error| wrong(explained(&error)))?;
        Ok(Self {
            is_hard: is_hard(&brief),
            brief,
            patient: OnceLock::new(),
            translated: text,
            flags,
        })
    }

    fn regex(&self, pace: Pace<'_>) -> Result<&Regex, NodeError> {
        if let Pace::InPlace(_) = pace {
            return Ok(&self.brief);
        }
        if let Some(patient) = self.patient.get() {
            return Ok(patient);
        }
        let built = built(&self.translated, self.flags, MAX_BACKTRACKS)
            .map_err(|error| NodeError::invalid("regex.syntax", error.to_string()))?;
        Ok(self.patient.get_or_init(|| built))
    }

    /// Names of the groups, by number.
    pub(super) fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.brief.capture_names().enumerate();
        names.filter_map(|(number, name)| Some((number, name?)))
    }

    pub(super) fn groups(&self) -> usize {
        self.brief.captures_len() - 1
    }

    /// Each match in its order, until told to stop. Every match, or the first alone: as the flags say.
    pub(super) fn each<'t>(
        &self,
        text: &'t str,
        is_global: bool,
        pace: Pace<'_>,
        mut see: impl FnMut(&Captures<'t, str>) -> Result<ControlFlow<()>, NodeError>,
    ) -> Result<(), NodeError> {
        if text.len() > MAX_PATTERN_TEXT_BYTES {
            let message = format!("the text is longer than {MAX_PATTERN_TEXT_BYTES} bytes");
            return Err(NodeError::invalid("regex.text_too_long", message));
        }
        let regex = self.regex(pace)?;
        let begun = Instant::now();
        let mut place = 0;
        for number in 0.. {
            let is_stepped =
                self.is_hard && !self.flags.is_sticky && text.len() - place > MAX_UNSTEPPED_BYTES;
            let found = match is_stepped {
                true => step_by_step(regex, text, place, pace, begun)?,
                false => search(regex, text, place, self.flags.is_sticky, pace)?,
            };
            let Some(found) = found else {
                break;
            };
            if see(&found)?.is_break() || !is_global {
                break;
            }
            let Some(whole) = found.get(0) else { break };
            place = match whole.end() > whole.start() {
                true => whole.end(),
                // An empty match is followed by the search after the next character.
                false => match text.get(whole.end()..).and_then(|rest| rest.chars().next()) {
                    Some(next) => whole.end() + next.len_utf8(),
                    None => break,
                },
            };
            if number >= MAX_MATCHES {
                let message = format!("the pattern is found more than {MAX_MATCHES} times");
                return Err(NodeError::invalid("regex.too_many", message));
            }
            pace.check(begun)?;
        }
        Ok(())
    }

    pub(super) fn replace(
        &self,
        text: &str,
        replacement: &str,
        is_global: bool,
        pace: Pace<'_>,
    ) -> Result<(String, usize), NodeError> {
        let has_names = self.names().next().is_some();
        let replacement = Replacement::read(replacement, self.groups(), has_names);
        let mut out = String::with_capacity(text.len());
        let (mut place, mut count) = (0, 0);
        self.each(text, is_global, pace, |found| {
            if let Some(whole) = found.get(0) {
                out.push_str(text.get(place..whole.start()).unwrap_or_default());
                replacement.write(text, found, &mut out);
                place = whole.end();
                count += 1;
            }
            if out.len() > MAX_REPLACED_BYTES {
                let message =
                    format!("the text after replacing is longer than {MAX_REPLACED_BYTES} bytes");
                return Err(NodeError::invalid("regex.result_too_long", message));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        out.push_str(text.get(place..).unwrap_or_default());
        Ok((out, count))
    }
}

fn built(text: &str, flags: Flags, backtracks: usize) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(text)
        .case_insensitive(flags.ignores_case)
        .backtrack_limit(backtracks)
        .delegate_size_limit(MAX_PATTERN_PROGRAM_BYTES)
        .delegate_dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES)
        .build()
}

/// Whether the pattern has what no automaton can do; then it goes back and forth in the text.
fn is_hard(regex: &Regex) -> bool {
    struct Shown<'r>(&'r Regex);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.debug_print(f)
        }
    }
    !Shown(regex).to_string().starts_with("wrapped Regex")
}

fn search<'t>(
    regex: &Regex,
    text: &'t str,
    place: usize,
    is_anchored: bool,
    pace: Pace<'_>,
) -> Result<Option<Captures<'t, str>>, NodeError> {
    let input = RegexInput::new(text).from_pos(place).anchored(is_anchored);
    regex.captures_input(input).map_err(|error| match pace {
        Pace::InPlace(_) => NodeError::invalid(NOT_IN_PLACE, error.to_string()),
        Pace::Away(_) => too_slow("it goes back too often"),
    })
}

/// The first match, place by place, with a look at the clock after each: nothing else ends a search that is on its way,
/// and at each place there may be a pass over all that follows.
fn step_by_step<'t>(
    regex: &Regex,
    text: &'t str,
    mut place: usize,
    pace: Pace<'_>,
    begun: Instant,
) -> Result<Option<Captures<'t, str>>, NodeError> {
    loop {
        if let Some(found) = search(regex, text, place, true, pace)? {
            return Ok(Some(found));
        }
        pace.check(begun)?;
        let next = text.get(place..).and_then(|rest| rest.chars().next());
        match next {
            Some(next) => place += next.len_utf8(),
            None => return Ok(None),
        }
    }
}

fn explained(error: &fancy_regex::Error) -> String {
    let text = error.to_string();
    match text.contains("NFA") || text.contains("size limit") {
        true => "it becomes too large when it is prepared; repeat less".to_owned(),
        false => text,
    }
}
