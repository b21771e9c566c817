//! `innkeeper runs list`.

use innkeeper_protocol::event::RunStatus;
use innkeeper_store::journal::{RunFilter, RunRecord};

use super::find::reading;
use super::words::{moment, status_name, status_word};
use crate::cli::RunsListArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::limits::RUNS_PAGE;
use crate::output::Screen;
use crate::table::Table;

/// `run_`, and the time at which the run was begun.
const SHORT_ID_CHARS: usize = 16;

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
    if screen.json {
        screen.document(&runs)?;
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
        let slim = screen.pick("slim", "精简");
        let status = match run.is_slim {
            true => format!("{}, {slim}", status_word(run.status, screen.lang)),
            false => status_word(run.status, screen.lang).to_owned(),
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
