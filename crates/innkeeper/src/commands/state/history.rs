//! `innkeeper state history`.

use innkeeper_agent::state::{Author, StateVersion};
use serde_json::json;

use super::{chat, failed, no_state, private, worlds};
use crate::cli::StateHistoryArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::open_store_to_read;
use crate::runtime::block_on;
use crate::table::Table;
use crate::visible::{self, visible};

/// Characters of a value in a line.
const VALUE_CHARS: usize = 40;

pub(super) fn run(args: &StateHistoryArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let versions = block_on(async {
        let store = open_store_to_read(home).await?;
        let versions = gather(&store, args).await;
        store.close().await?;
        versions
    })?;
    if screen.json {
        screen.document(&json!({"versions": versions}))?;
        return Ok(Ended::Done);
    }
    if versions.is_empty() {
        screen.note("Nobody has changed it", "还没有人更改过");
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["VERSION", "WHEN", "BY", "CHANGE"],
        ["版本", "时间", "更改者", "更改"],
    );
    let mut table = Table::new(&headings);
    for version in &versions {
        let number = version.version.to_string();
        let at = version.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let by = match &version.by {
            Author::Person => screen.pick("a person", "人").to_owned(),
            Author::Agent {
                profile_id,
                run_id,
                call_id,
            } => format!("{profile_id} {run_id} {call_id}"),
        };
        let (mut number, mut at, mut by) = (number.as_str(), at.as_str(), by.as_str());
        for change in &version.changes {
            table.row([number, at, by, &line(change)]);
            (number, at, by) = ("", "", "");
        }
    }
    screen.table(&table)?;
    Ok(Ended::Done)
}

fn line(change: &innkeeper_agent::state::StateChange) -> String {
    let short = |value: &Option<serde_json::Value>| match value {
        None => "-".to_owned(),
        Some(value) => visible::json_beginning(value, VALUE_CHARS),
    };
    let path = match change.path.as_str() {
        "" => "/".to_owned(),
        path => visible(path),
    };
    match change.cut {
        true => format!("{path}: …"),
        false => format!(
            "{path}: {} → {}",
            short(&change.before),
            short(&change.after)
        ),
    }
}

async fn gather(
    store: &innkeeper_store::Store,
    args: &StateHistoryArgs,
) -> Result<Vec<StateVersion>, Failure> {
    let chat = chat(store, &args.chat).await?;
    let Some(wanted) = &args.private else {
        let history = worlds(store).history(&chat.workspace, args.limit).await;
        return history.map_err(failed);
    };
    let mut states = private(store, &chat).await?.into_iter();
    let state = states.find(|state| state.profile_id.as_str() == wanted);
    let mut history = state.ok_or_else(|| no_state(wanted))?.history;
    history.truncate(args.limit);
    Ok(history)
}
