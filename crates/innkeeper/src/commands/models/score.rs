//! `innkeeper models score`: an exam in calling tools, by dialect.

use std::io::Write;

use innkeeper_models::exam::{self, ExamOptions, ExamResult, TaskResult};
use innkeeper_models::{GrammarOptions, ModelRequest, Sampling};
use innkeeper_protocol::{Locale, Protocol, Provider, ToolDefinition};
use innkeeper_tools::registry::Prepared;
use serde_json::{Map, Value as Json};

use super::{Ended, find, open};
use crate::cli::{ExamDialect, ModelsScoreArgs};
use crate::failure::{Failure, ModelFault, message};
use crate::home::Home;
use crate::lang::Lang;
use crate::limits::{MAX_EXAM_CALLS, MAX_EXAM_FAULTS, MAX_EXAM_TOKENS};
use crate::models::HouseModels;
use crate::output::Screen;
use crate::runtime::{Stop, block_on};
use crate::table::Table;

pub(super) fn run(args: &ModelsScoreArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    block_on(async {
        let house = open(home, None)?;
        let (model, there) = find(&house, args.model.as_deref())?;
        let stop = Stop::default();
        stop.listen();
        let mut results = Vec::new();
        for dialect in dialects(args.dialect) {
            let options = options(args, screen.lang);
            let mut progress = Progress::new(dialect, &options, screen);
            let template = ModelRequest {
                sampling: Sampling {
                    max_tokens: Some(MAX_EXAM_TOKENS),
                    ..Sampling::default()
                },
                ..ModelRequest::new(there.clone(), Vec::new())
            };
            let mut result = exam::take(
                &*model,
                template,
                dialect,
                options,
                &validate,
                &stop.asked,
                &mut |task| progress.show(task),
            )
            .await;
            progress.clear();
            model.id().clone_into(&mut result.model);
            let cancelled = result.cancelled;
            results.push(result);
            if cancelled {
                break;
            }
        }
        told(&house, &results, screen)?;
        if results.iter().any(|result| result.cancelled) {
            return Ok(Ended::Interrupted);
        }
        no_answers(&house, &results).map_or(Ok(Ended::Done), Err)
    })
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
    // Some tasks want no call at all, and some want two.
    let grammar = GrammarOptions {
        free_text: true,
        max_calls: MAX_EXAM_CALLS,
    };
    ExamOptions {
        repeats: args.repeats.into(),
        grammar: args.grammar.then_some(grammar),
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

/// One line on standard error that is written over itself.
struct Progress {
    dialect: &'static str,
    done: usize,
    all: usize,
    shows: bool,
}

impl Progress {
    fn new(dialect: Protocol, options: &ExamOptions, screen: &Screen) -> Self {
        let progress = Self {
            dialect: name_of(dialect),
            done: 0,
            all: options.tasks.len() * options.repeats,
            shows: screen.shows_progress(),
        };
        progress.draw("");
        progress
    }

    fn show(&mut self, task: &TaskResult) {
        self.done += 1;
        let mark = match (task.error.is_some(), task.marks.passed()) {
            (true, _) => "!",
            (false, true) => "✓",
            (false, false) => "✗",
        };
        self.draw(&format!(" {mark} {}", task.task));
    }

    fn draw(&self, last: &str) {
        if self.shows {
            let Self {
                dialect, done, all, ..
            } = self;
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{dialect} {done}/{all}{last}");
            let _ = std::io::stderr().flush();
        }
    }

    fn clear(&self) {
        if self.shows {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn told(house: &HouseModels, results: &[ExamResult], screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        let mut document = serde_json::to_value(results).unwrap_or_default();
        house.redactor.redact_json(&mut document);
        return screen.document(&document);
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
        screen.note(
            &format!("Best: {dialect}, {right} of {all} right"),
            &format!("最好：{dialect}，{all} 题中 {right} 题全对"),
        );
    }
    Ok(())
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
    let redactor = &house.redactor;
    let wrong = results.iter().flat_map(|result| {
        let tasks = result.results.iter().filter(|task| !task.marks.passed());
        tasks.map(move |task| (result.dialect, task))
    });
    let wrong: Vec<_> = wrong.collect();
    for (dialect, task) in wrong.iter().take(MAX_EXAM_FAULTS) {
        let why = task.error.as_deref().or(task.problem.as_deref());
        let why = message(&redactor.redact_text(why.unwrap_or_default()));
        let line = format!("{dialect}, {}: {why}", task.task);
        screen.note(&line, &line);
    }
    if let Some(more) = wrong.len().checked_sub(MAX_EXAM_FAULTS).filter(|n| *n > 0) {
        screen.note(
            &format!("… and {more} more; --json has them all, with the replies"),
            &format!("……还有 {more} 个；--json 会给出全部及其回复"),
        );
    }
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
