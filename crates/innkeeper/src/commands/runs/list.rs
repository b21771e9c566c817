//! `innkeeper runs list`.

use innkeeper_protocol::event::RunStatus;
use innkeeper_store::journal::{RunFilter, RunRecord};
use serde::Serialize;

use super::find::reading;
use super::words::{moment, status_name, status_word};
use crate::cli::RunsListArgs;
use crate::commands::Ended;
use crate::commands::holder::holder;
use crate::failure::Failure;
use crate::home::Home;
use crate::limits::RUNS_PAGE;
use crate::output::Screen;
use crate::table::Table;

/// `run_`, and the time at which the run was begun.
const SHORT_ID_CHARS: usize = 16;

/// A run as it is listed.
#[derive(Serialize)]
struct Listed<'r> {
    #[serde(flatten)]
    record: &'r RunRecord,
    /// Said of one that is not over where nobody goes on with any.
    #[serde(skip_serializing_if = "Option::is_none")]
    driven: Option<bool>,
}

pub(super) fn run(args: &RunsListArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let statuses = wanted(&args.status);
    let runs = reading(home, async |reader| {
        let mut runs: Vec<RunRecord> = Vec::new();
        let mut before = None;
        while runs.len() < args.limit {
            let page = reader
                .list(&RunFilter {
                    statuses: statuses.clone(),
                    before,
                    limit: RUNS_PAGE.min(args.limit - runs.len()),
                    ..RunFilter::default()
                })
                .await?;
            runs.extend(page.runs);
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
        Ok(runs)
    })?;
    let is_left = holder(home).is_none();
    let is_left = |run: &RunRecord| is_left && !run.status.is_terminal() && !run.is_slim;
    if screen.json {
        let listed = runs.iter().map(|record| Listed {
            record,
            driven: is_left(record).then_some(false),
        });
        screen.document(&listed.collect::<Vec<_>>())?;
        return Ok(Ended::Done);
    }
    if runs.is_empty() {
        screen.note("No runs to show", "没有可显示的运行");
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["RUN", "STATUS", "PROFILE", "BEGUN", "EVENTS", "ABOUT"],
        ["运行", "状态", "配置", "开始", "事件", "内容"],
    );
    let mut table = Table::new(&headings);
    // A program that reads this wants all of it; a person types the beginning.
    let chars = match screen.is_terminal() {
        true => telling_apart(&runs),
        false => usize::MAX,
    };
    for run in &runs {
        let status = status_word(run.status, screen.lang);
        let status = match run.is_slim {
            true => screen.pick(format!("{status}, slim"), format!("{status}，精简")),
            // A question waits for its answer, whoever drives the run.
            false if is_left(run) && run.status != RunStatus::AwaitingApproval => screen.pick(
                format!("{status}, not driven"),
                format!("{status}，无进程驱动"),
            ),
            false => status.to_owned(),
        };
        let id: String = run.run_id.as_str().chars().take(chars).collect();
        table.row([
            id.as_str(),
            &status,
            run.profile_id.as_ref().map_or("", |id| id.as_str()),
            &moment(run.created_at),
            &run.last_seq.to_string(),
            &run.title,
        ]);
    }
    screen.table(&table)?;
    let waits = |run: &&RunRecord| is_left(run) && run.status != RunStatus::AwaitingApproval;
    if let Some(run) = runs.iter().find(waits) {
        let run = &run.run_id;
        screen.note(
            &format!("innkeeper runs resume {run} goes on with a run that nobody drives"),
            &format!("innkeeper runs resume {run} 可继续没有进程驱动的运行"),
        );
    }
    Ok(Ended::Done)
}

/// So many characters of each id are enough to name one of these runs.
fn telling_apart(runs: &[RunRecord]) -> usize {
    let mut chars = SHORT_ID_CHARS;
    let mut ids: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
    ids.sort_unstable();
    for pair in ids.windows(2) {
        if let [one, other] = pair {
            let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
            chars = chars.max(same.count() + 1);
        }
    }
    chars
}

/// Names that the command line knows.
fn wanted(given: &[String]) -> Vec<RunStatus> {
    let mut statuses = Vec::new();
    for name in given {
        let name = name.to_lowercase();
        let fits = |status: &RunStatus| match name.as_str() {
            "unfinished" => !status.is_terminal(),
            name => status_name(*status) == name,
        };
        statuses.extend(super::words::STATUSES.into_iter().filter(fits));
    }
    statuses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::STATUSES;

    #[test]
    fn every_status_of_the_command_line_is_one() {
        for name in STATUSES {
            assert!(!wanted(&[name.to_owned()]).is_empty(), "{name}");
        }
        let all = super::super::words::STATUSES.len();
        assert_eq!(STATUSES.len(), all + 1);
        assert_eq!(wanted(&["unfinished".to_owned()]).len(), all - 4);
    }
}
