//! Which run is meant: an id, the beginning of one, or `last`. And the store, for commands that only look.

use innkeeper_agent::instance::RunReader;
use innkeeper_protocol::event::RunId;
use innkeeper_store::journal::{RunCursor, RunFilter};

use crate::failure::{Failure, RunFault};
use crate::home::Home;
use crate::limits::{MAX_RUNS_SEARCHED, RUNS_PAGE};
use crate::platform::open_store_to_read;
use crate::runtime::block_on;
use crate::suggest::nearest;

const LAST: &str = "last";
const PREFIX: &str = "run_";

/// Looks at runs, and drives none.
pub(super) fn reading<T>(
    home: &Home,
    work: impl AsyncFnOnce(&RunReader) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let store = open_store_to_read(home).await?;
        let end = work(&RunReader::new(&store)).await;
        store.close().await?;
        end
    })
}

pub(in crate::commands) async fn find(reader: &RunReader, given: &str) -> Result<RunId, Failure> {
    let given = given.trim();
    if given == LAST {
        let newest = RunFilter {
            limit: 1,
            ..RunFilter::default()
        };
        let page = reader.list(&newest).await?;
        let newest = page.runs.into_iter().next();
        return Ok(newest.ok_or(RunFault::None)?.run_id);
    }
    let exact = RunId::new(given);
    if reader.record(&exact).await.is_ok() {
        return Ok(exact);
    }
    chosen(given, &ids(reader).await?).map(RunId::new)
}

/// All ids, the newest first, as far as anybody would type them.
async fn ids(reader: &RunReader) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    let mut before: Option<RunCursor> = None;
    while ids.len() < MAX_RUNS_SEARCHED {
        let page = reader
            .list(&RunFilter {
                before,
                limit: RUNS_PAGE,
                ..RunFilter::default()
            })
            .await?;
        ids.extend(page.runs.iter().map(|run| run.run_id.to_string()));
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    Ok(ids)
}

fn chosen(given: &str, ids: &[String]) -> Result<String, Failure> {
    let wanted = given.to_lowercase();
    let fits = |id: &&String| {
        let bare = id.strip_prefix(PREFIX).unwrap_or(id);
        !wanted.is_empty() && (id.starts_with(&wanted) || bare.starts_with(&wanted))
    };
    let found: Vec<&String> = ids.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] if ids.is_empty() => Err(RunFault::None.into()),
        [] => Err(RunFault::Unknown {
            given: given.to_owned(),
            near: nearest(given, ids.iter().map(String::as_str).chain([LAST])),
        }
        .into()),
        several => Err(RunFault::Ambiguous {
            given: given.to_owned(),
            count: several.len(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_enough_if_it_is_clear() {
        let ids = ["run_0197aaaa", "run_0197bbbb", "run_0198cccc"].map(str::to_owned);
        for (given, expected) in [
            ("run_0198", Ok("run_0198cccc")),
            ("0198", Ok("run_0198cccc")),
            ("0197A", Ok("run_0197aaaa")),
            ("0197", Err("run.ambiguous")),
            ("run_", Err("run.ambiguous")),
            ("run_0199dddd", Err("run.unknown")),
            ("", Err("run.unknown")),
        ] {
            let found = chosen(given, &ids);
            let found = found.as_deref().map_err(Failure::code);
            assert_eq!(found, expected, "{given}");
        }
        assert!(matches!(
            chosen("x", &[]),
            Err(Failure::Run(RunFault::None))
        ));
    }

    #[test]
    fn what_was_probably_meant_is_said() {
        let ids = ["run_0197aaaa".to_owned()];
        let failure = chosen("run_0197aaab", &ids).unwrap_err();
        assert!(
            failure
                .sentence(crate::lang::Lang::En)
                .contains("did you mean run_0197aaaa"),
        );
    }
}
