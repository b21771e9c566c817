//! `innkeeper models score`: an exam in calling tools, by dialect.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use innkeeper_models::ModelRequest;
use innkeeper_models::exam::{self, ExamOptions, ExamResult, Score, TaskResult};
use innkeeper_protocol::{Locale, Protocol, Provider, ToolDefinition};
use innkeeper_tools::registry::Prepared;
use serde_json::{Map, Value as Json};

use super::line::Line;
use super::{Ended, find, note_not_ready, open};
use crate::cli::{ExamDialect, ModelsScoreArgs};
use crate::failure::{Failure, ModelFault, message};
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::{MAX_EXAM_FAULTS, PROGRESS_EVERY};
use crate::models::HouseModels;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};
use crate::table::Table;

pub(super) fn run(args: &ModelsScoreArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    block_on(async {
        let house = open(home, None)?;
        let (model, there) = find(&house, args.model.as_deref())?;
        note_not_ready(&house, args.model.as_deref(), screen);
        let stop = Stop::default();
        stop.listen();
        let dialects = dialects(args.dialect);
        let options = options(args, screen.lang);
        let all = options.tasks.len() * options.repeats * dialects.len();
        let progress = Mutex::new(Progress::new(all, screen));
        let mut results = Vec::new();
        for dialect in dialects {
            held(&progress).begins(dialect);
            let template = ModelRequest::new(there.clone(), Vec::new());
            let mut on_progress = |task: &TaskResult| held(&progress).passes(task);
            let exam = exam::take(
                &*model,
                template,
                dialect,
                options.clone(),
                &validate,
                &stop.asked,
                &mut on_progress,
            );
            let mut result = watched(exam, &progress).await;
            model.id().clone_into(&mut result.model);
            let cancelled = result.cancelled;
            results.push(result);
            if cancelled {
                break;
            }
        }
        let interrupted = results.iter().any(|result| result.cancelled);
        let no_answers = no_answers(&house, &results).filter(|_| !interrupted);
        told(&house, &results, no_answers.is_none(), screen)?;
        match (interrupted, no_answers) {
            (true, _) => Ok(Ended::Interrupted),
            (false, Some(failure)) => Err(failure),
            (false, None) => Ok(Ended::Done),
        }
    })
}

/// Draws how far it is until it is over.
async fn watched<T>(exam: impl Future<Output = T>, progress: &Mutex<Progress>) -> T {
    let mut exam = pin!(exam);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    let shows = held(progress).line.shows();
    let result = loop {
        tokio::select! {
            biased;
            result = &mut exam => break result,
            _ = ticks.tick(), if shows => held(progress).draw(Instant::now()),
        }
    };
    held(progress).line.clear();
    result
}

fn held(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

fn dialects(chosen: ExamDialect) -> Vec<Protocol> {
    let native = Protocol::Native(Provider::OpenAi);
    match chosen {
        ExamDialect::Tam => vec![Protocol::Tam],
        ExamDialect::Action => vec![Protocol::Action],
        ExamDialect::Native => vec![native],
        ExamDialect::All => vec![Protocol::Tam, Protocol::Action, native],
    }
}

fn options(args: &ModelsScoreArgs, lang: Lang) -> ExamOptions {
    ExamOptions {
        repeats: args.repeats.into(),
        grammar: args.grammar,
        locale: lang.pick(Locale::En, Locale::Zh),
        ..ExamOptions::default()
    }
}

/// As strictly as a real call is checked.
fn validate(tool: &ToolDefinition, arguments: &Map<String, Json>) -> Result<(), String> {
    let prepared = Prepared::new(tool.clone()).map_err(|error| error.to_string())?;
    match prepared.faults(&Json::Object(arguments.clone())) {
        None => Ok(()),
        Some(faults) => Err(faults),
    }
}

fn name_of(dialect: Protocol) -> &'static str {
    match dialect {
        Protocol::Native(_) => "native",
        text => text.as_str(),
    }
}

/// How far the exam is, and about how long it will still take.
struct Progress {
    line: Line,
    lang: Lang,
    dialect: &'static str,
    done: usize,
    all: usize,
    began: Instant,
    /// The last task, and what came of it.
    last: String,
}

impl Progress {
    fn new(all: usize, screen: &Screen) -> Self {
        Self {
            line: Line::new(screen),
            lang: screen.lang,
            dialect: "",
            done: 0,
            all,
            began: Instant::now(),
            last: String::new(),
        }
    }

    fn begins(&mut self, dialect: Protocol) {
        self.dialect = name_of(dialect);
        self.last.clear();
    }

    fn passes(&mut self, task: &TaskResult) {
        self.done += 1;
        let mark = match (task.error.is_some(), task.marks.passed()) {
            (true, _) => "!",
            (false, true) => "✓",
            (false, false) => "✗",
        };
        self.last = format!(" {mark} {}", task.task);
    }

    fn draw(&mut self, now: Instant) {
        let said = self.said(now);
        self.line.draw(&said);
    }

    fn said(&self, now: Instant) -> String {
        let Self {
            dialect,
            done,
            all,
            last,
            ..
        } = self;
        let spent = now.saturating_duration_since(self.began);
        let seconds = spent.as_secs();
        let spent_words = self
            .lang
            .pick(format!("{seconds} s"), format!("{seconds} 秒"));
        let left = left(*done, *all, spent).map_or_else(String::new, |left| {
            let (minutes, seconds) = (left.as_secs().div_ceil(60), left.as_secs());
            match seconds {
                0..120 => self.lang.pick(
                    format!(", about {seconds} s left"),
                    format!("，约剩 {seconds} 秒"),
                ),
                _ => self.lang.pick(
                    format!(", about {minutes} min left"),
                    format!("，约剩 {minutes} 分钟"),
                ),
            }
        });
        format!("{dialect} {done}/{all}{last}  {spent_words}{left}")
    }
}

/// By what the tasks so far have taken; nothing before there are any.
fn left(done: usize, all: usize, spent: Duration) -> Option<Duration> {
    let done = u32::try_from(done).ok().filter(|done| *done > 0)?;
    let all = u32::try_from(all).ok()?;
    Some(spent / done * all.saturating_sub(done))
}

/// Where nobody answered there is nothing to be counted; why is told once, at the end.
fn told(
    house: &HouseModels,
    results: &[ExamResult],
    answered: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    if screen.json {
        let mut document = serde_json::to_value(results).unwrap_or_default();
        house.redactor.redact_json(&mut document);
        return screen.document(&document);
    }
    if !answered {
        return Ok(());
    }
    let headings = screen.pick(
        [
            "DIALECT",
            "TASKS",
            "PARSED",
            "BOUND",
            "VALID",
            "RIGHT TOOL",
            "RIGHT",
            "SECONDS",
        ],
        [
            "写法",
            "题数",
            "可读",
            "符合工具",
            "符合schema",
            "工具正确",
            "全对",
            "秒",
        ],
    );
    let mut table = Table::new(&headings);
    for result in results {
        let score = &result.score;
        let held = if result.grammar { " +grammar" } else { "" };
        let count = |count: usize| count.to_string();
        table.row([
            format!("{}{held}", result.dialect).as_str(),
            &count(score.attempts),
            &count(score.parsed),
            &count(score.bound),
            &count(score.validated),
            &count(score.right_tool),
            &count(score.right_arguments),
            &(score.milliseconds / 1_000).to_string(),
        ]);
    }
    screen.table(&table)?;
    faults(house, results, screen);
    if let (Some(best), true) = (best(results), results.len() > 1) {
        let (dialect, right, all) = (
            best.dialect,
            best.score.right_arguments,
            best.score.attempts,
        );
        match equals(best.score, results.iter().map(|result| result.score)) {
            1 => screen.note(
                &format!("Best: {dialect}, {right} of {all} right"),
                &format!("最好：{dialect}，{all} 题中 {right} 题全对"),
            ),
            equals => screen.note(
                &format!("None is best: {equals} have {right} of {all} right"),
                &format!("没有最好的：{equals} 种同为 {all} 题中 {right} 题全对"),
            ),
        }
    }
    Ok(())
}

/// How many have the same share as the best, itself among them.
fn equals(best: Score, all: impl Iterator<Item = Score>) -> usize {
    let asked = all.filter(|score| score.attempts > 0);
    asked
        .filter(|other| {
            other.right_arguments * best.attempts == best.right_arguments * other.attempts
        })
        .count()
}

/// The highest share of what was asked; of equals the first.
fn best(results: &[ExamResult]) -> Option<&ExamResult> {
    let asked = results.iter().filter(|result| result.score.attempts > 0);
    asked.reduce(|best, other| {
        let ahead = other.score.right_arguments * best.score.attempts
            > best.score.right_arguments * other.score.attempts;
        if ahead { other } else { best }
    })
}

fn faults(house: &HouseModels, results: &[ExamResult], screen: &Screen) {
    let groups = grouped(results);
    for (dialect, why, tasks) in groups.iter().take(MAX_EXAM_FAULTS) {
        let why = message(&house.redactor.redact_text(why));
        let first = tasks.first().copied().unwrap_or_default();
        let (english, chinese) = match tasks.len() {
            1 => (first.to_owned(), first.to_owned()),
            count => (
                format!("{first} and {} more", count - 1),
                format!("{first} 等 {count} 题"),
            ),
        };
        screen.note(
            &format!("{dialect}, {english}: {why}"),
            &format!("{dialect}，{chinese}：{why}"),
        );
    }
    let more = groups.iter().skip(MAX_EXAM_FAULTS);
    let more: usize = more.map(|(_, _, tasks)| tasks.len()).sum();
    if more > 0 {
        screen.note(
            &format!("… and {more} more; --json has them all, with the replies"),
            &format!("……还有 {more} 个；--json 会给出全部及其回复"),
        );
    }
}

type Group<'r> = (&'static str, &'r str, Vec<&'static str>);

/// What went wrong, each thing once, with the tasks that it happened in.
fn grouped(results: &[ExamResult]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for result in results {
        for task in result.results.iter().filter(|task| !task.marks.passed()) {
            let why = task.error.as_deref().or(task.problem.as_deref());
            let why = why.unwrap_or_default();
            let known = groups
                .iter_mut()
                .find(|group| (group.0, group.1) == (result.dialect, why));
            match known {
                Some((_, _, tasks)) => tasks.push(task.task),
                None => groups.push((result.dialect, why, vec![task.task])),
            }
        }
    }
    groups
}

/// Where the provider let nothing happen, there is nothing to be counted.
fn no_answers(house: &HouseModels, results: &[ExamResult]) -> Option<Failure> {
    if results.iter().any(|result| result.score.attempts > 0) {
        return None;
    }
    let mut tasks = results.iter().flat_map(|result| &result.results);
    let why = tasks.find_map(|task| task.error.as_deref())?;
    let why = house.redactor.redact_text(why).into_owned();
    Some(ModelFault::NoAnswers { why }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_are_counted_by_their_share() {
        let score = |right_arguments, attempts| Score {
            attempts,
            right_arguments,
            ..Score::default()
        };
        let rows: [(&[(usize, usize)], usize); 4] = [
            (&[(1, 14), (1, 14), (1, 14)], 3),
            (&[(2, 4), (1, 2), (0, 4)], 2),
            (&[(3, 4), (1, 4)], 1),
            (&[(0, 4), (0, 0)], 1),
        ];
        for (all, expected) in rows {
            let mut all = all.iter().map(|(right, asked)| score(*right, *asked));
            let best = all.clone().next().unwrap();
            assert_eq!(equals(best, &mut all), expected);
        }
    }

    #[test]
    fn what_is_left_is_guessed_from_what_was_done() {
        let seconds = Duration::from_secs;
        assert_eq!(left(0, 14, seconds(9)), None);
        assert_eq!(left(2, 14, seconds(10)), Some(seconds(60)));
        assert_eq!(left(14, 14, seconds(10)), Some(Duration::ZERO));
        let global = crate::cli::Global {
            home: None,
            json: false,
            quiet: true,
            lang: None,
        };
        let mut progress = Progress {
            line: Line::new(&Screen::of(&global, Lang::En)),
            lang: Lang::En,
            dialect: "tam",
            done: 0,
            all: 42,
            began: Instant::now(),
            last: String::new(),
        };
        let at = progress.began + seconds(10);
        assert_eq!(progress.said(at), "tam 0/42  10 s");
        (progress.done, progress.last) = (2, " ✓ two-numbers".to_owned());
        assert_eq!(
            progress.said(at),
            "tam 2/42 ✓ two-numbers  10 s, about 4 min left"
        );
        (progress.done, progress.lang) = (40, Lang::Zh);
        assert_eq!(
            progress.said(progress.began + seconds(100)),
            "tam 40/42 ✓ two-numbers  100 秒，约剩 5 秒"
        );
    }
}
