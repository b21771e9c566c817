//! `innkeeper workflow run`: inputs in, outputs out, and what happens in between for whoever wants to see it.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use innkeeper_engine::stream::Chunk;
use innkeeper_engine::{
    ExecutionOutcome, Heard, OutputSink, Plan, RunOptions, StartError, Subscription, Workflow,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::find::{broken, find};
use super::house::{House, RunOf};
use super::inputs::inputs;
use super::result::{Printer, document, ended};
use super::watch::Watch;
use super::{Ended, project};
use crate::approve::Approve;
use crate::cli::WorkflowRunArgs;
use crate::failure::{Expected, Failure, ToolFault, WorkflowFault};
use crate::home::Home;
use crate::limits::{MAX_RUN_TIMEOUT, PRINT_CAPACITY, WATCH_EVERY};
use crate::output::Screen;
use crate::platform::new_run;
use crate::runtime::{Stop, block_on};

pub(super) fn run(args: &WorkflowRunArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let project = project(&args.project.project)?;
    let timeout = args.timeout.as_deref().map(duration).transpose()?;
    let takes_stdin =
        args.workflow == "-" || args.inputs.as_deref().is_some_and(|path| path == "-");
    let approve = match (args.yes, takes_stdin) {
        (true, _) => Approve::Answered,
        (false, true) => Approve::Nobody,
        (false, false) => Approve::Person,
    };
    block_on(async {
        let house = House::open(home, &project, approve.approver(screen)).await?;
        let stop = Stop::default();
        let cancel = stop.asked.child_token();
        let ready = tokio::task::block_in_place(|| ready(args, &house, cancel))?;
        stop.listen();
        let ended = attend(args, &house, ready, timeout, &stop, screen).await;
        house.close().await?;
        ended
    })
}

struct Ready {
    workflow: Arc<Workflow>,
    plan: Plan,
    options: RunOptions,
}

fn ready(
    args: &WorkflowRunArgs,
    house: &House,
    cancel: CancellationToken,
) -> Result<Ready, Failure> {
    let found = find(&args.workflow, house)?;
    let workflow = found.readable()?.clone();
    let checked = found.checked(house);
    let Some(plan) = checked.plan else {
        return Err(broken(&found.place, &checked.problems));
    };
    let run = new_run();
    let options = RunOptions {
        prompt_id: Some(run.to_string()),
        inputs: inputs(args, &workflow)?,
        services: house.services(RunOf {
            name: &workflow.name,
            run,
            cancel: &cancel,
            fresh: args.fresh,
        }),
        cancel,
        is_fresh: args.fresh,
        cache_scope: Some(house.scope().kept_under()),
        ..RunOptions::default()
    };
    Ok(Ready {
        workflow,
        plan,
        options,
    })
}

/// Runs it, and shows and prints what there is meanwhile.
async fn attend(
    args: &WorkflowRunArgs,
    house: &House,
    ready: Ready,
    timeout: Option<Duration>,
    stop: &Stop,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let Ready {
        workflow,
        plan,
        mut options,
    } = ready;
    let shows = args.watch && !screen.quiet;
    let streams = !screen.json && !args.events && (shows || screen.is_terminal());
    let (sender, chunks) = mpsc::channel(PRINT_CAPACITY);
    if streams {
        options.sink = Some(Arc::new(ToPrinter(sender)));
    }
    options.timeout = timeout;
    let cancel = options.cancel.clone();
    let followed = options.prompt_id.clone().filter(|_| shows || args.events);
    let mut attendant = Attendant {
        events: followed.map(|id| house.engine.subscribe_to(id)),
        writes_events: args.events,
        watch: shows.then(|| Watch::new(plan.len(), screen.lang)),
        printer: Printer::new(workflow.outputs.len()),
        chunks,
        cancel,
        screen,
    };
    let began = Instant::now();
    let execution = house.engine.start(&plan, options).map_err(refused)?;
    let outcome = attendant.follow(execution.outcome(), stop).await?;
    let took = began.elapsed();
    if let Some(watch) = &mut attendant.watch {
        watch.end(outcome.as_ref());
    }
    let Some(outcome) = outcome else {
        return Ok(Ended::Interrupted);
    };
    attendant.printer.finish(screen)?;
    if let Some([english, chinese]) = house.rehearsal_note() {
        screen.note(english, chinese);
    }
    if screen.json || args.events {
        screen.document(&document(&outcome, &house.used(), took))?;
        return ended(&outcome, true);
    }
    attendant.printer.rest(&outcome, screen)?;
    if let Some([english, chinese]) = house.used().line() {
        screen.note(&english, &chinese);
    }
    ended(&outcome, false)
}

struct Attendant<'s> {
    events: Option<Subscription>,
    writes_events: bool,
    watch: Option<Watch>,
    printer: Printer,
    chunks: mpsc::Receiver<(String, Chunk)>,
    cancel: CancellationToken,
    screen: &'s Screen,
}

impl Attendant<'_> {
    /// To the end, or until somebody has asked twice to stop.
    async fn follow(
        &mut self,
        run: impl Future<Output = ExecutionOutcome>,
        stop: &Stop,
    ) -> Result<Option<ExecutionOutcome>, Failure> {
        let mut run = pin!(run);
        let mut ticks = tokio::time::interval(WATCH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let outcome = loop {
            // In this order: a flood of events neither hides the end of the run nor keeps the picture from being drawn.
            tokio::select! {
                biased;
                () = stop.urged.cancelled() => break None,
                outcome = &mut run => break Some(outcome),
                _ = ticks.tick(), if self.watch.is_some() => self.draw(),
                Some((key, chunk)) = self.chunks.recv() => self.print(&key, &chunk)?,
                heard = next(&mut self.events) => self.hear(&heard)?,
            }
        };
        // All that was told before the end.
        while let Some(heard) = self.events.as_mut().and_then(Subscription::try_next) {
            self.hear(&heard)?;
        }
        while let Ok((key, chunk)) = self.chunks.try_recv() {
            self.print(&key, &chunk)?;
        }
        Ok(outcome)
    }

    fn draw(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.draw(self.printer.tail());
        }
    }

    fn print(&mut self, key: &str, chunk: &Chunk) -> Result<(), Failure> {
        let printed = self
            .printer
            .chunk(key, chunk, self.watch.as_mut(), self.screen);
        self.stopping_if_failed(printed)
    }

    fn hear(&mut self, heard: &Heard) -> Result<(), Failure> {
        match heard {
            Heard::Event(event) => {
                if let Some(watch) = &mut self.watch {
                    watch.hear(event);
                }
                let written = match self.writes_events {
                    true => self.screen.document(event.as_ref()),
                    false => Ok(()),
                };
                self.stopping_if_failed(written)
            }
            Heard::Lost(count) => {
                if let Some(watch) = &mut self.watch {
                    watch.lost(*count);
                }
                let lost = json!({"type": "EVENTS_LOST", "payload": {"count": count}});
                match self.writes_events {
                    true => self.screen.document(&lost),
                    false => Ok(()),
                }
            }
        }
    }

    /// Nobody waits for a run whose results nobody can have.
    fn stopping_if_failed(&self, written: Result<(), Failure>) -> Result<(), Failure> {
        if written.is_err() {
            self.cancel.cancel();
        }
        written
    }
}

async fn next(events: &mut Option<Subscription>) -> Heard {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// Whoever is slow to read slows the run, and loses nothing.
struct ToPrinter(mpsc::Sender<(String, Chunk)>);

#[async_trait]
impl OutputSink for ToPrinter {
    async fn chunk(&self, output: &str, chunk: &Chunk) {
        // If nobody prints any more, the command is at its end.
        let _ = self.0.send((output.to_owned(), chunk.clone())).await;
    }
}

fn refused(error: StartError) -> Failure {
    let code = match &error {
        StartError::Arguments(problems) => problems.list.first().map_or("argument", |one| one.code),
        StartError::QueueFull => "run.queue_full",
    };
    Failure::Workflow(WorkflowFault::Failed {
        message: error.to_string(),
        code: code.to_owned(),
        more: 0,
    })
}

/// `500ms`, `30s`, `1.5m`, `1h`
fn duration(given: &str) -> Result<Duration, Failure> {
    let wrong = || {
        Failure::Tool(ToolFault::Value {
            of: "--timeout",
            given: given.to_owned(),
            expected: Expected::Duration,
        })
    };
    let text = given.trim();
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    match time.is_zero() || time > MAX_RUN_TIMEOUT {
        true => Err(wrong()),
        false => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (given, expected) in [
            ("500ms", Some(500)),
            ("30s", Some(30_000)),
            ("1.5m", Some(90_000)),
            ("24h", Some(86_400_000)),
            ("25h", None),
            ("0s", None),
            ("-1s", None),
            ("30", None),
            ("s", None),
            ("nans", None),
            ("3 weeks", None),
        ] {
            let found = duration(given).ok().map(|time| time.as_millis());
            assert_eq!(found, expected, "{given}");
        }
    }
}
