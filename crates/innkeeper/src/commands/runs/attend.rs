//! Stays with a run until it is over: shows what happens, is the host that it publishes to, tells it what the person types,
//! and stops it at Ctrl-C.

mod asking;
mod publish;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{AgentError, LiveFollower, LiveUpdate, RunHandle};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId};
use innkeeper_store::journal::{EventRange, Followed, Follower};
use innkeeper_store::{Store, StoreError};
use serde::Serialize;

use self::asking::Questions;
use super::memory::Memory;
use super::speech::Speech;
use super::summary::Summary;
use super::timeline::Timeline;
use crate::approve::Approve;
use crate::ask::{Asking, somebody_is_there};
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, Said, cause, in_words};
use crate::limits::{EVENTS_PAGE, WATCH_EVERY};
use crate::output::Screen;
use crate::runtime::Stop;
use crate::typed::{self, Lines};

pub(super) struct Attendant<'s> {
    runtime: AgentRuntime,
    run: RunId,
    screen: &'s Screen,
    timeline: Timeline,
    speech: Speech,
    events: Follower,
    /// Told, and not shown yet.
    queue: VecDeque<Arc<RunEvent>>,
    live: Option<LiveFollower>,
    /// The round that the model was last asked for, as far as it was seen.
    asked: u32,
    /// Of a later round: it waits until what came of the calls before it is shown.
    held: Option<LiveUpdate>,
    /// Nothing if nobody is there, or if what they type is for others.
    typed: Option<Lines>,
    /// Number of the last event that was seen.
    seen: u64,
    memory: Memory,
    published: u64,
    interrupted: bool,
    questions: Questions,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Named<'t, T: Serialize> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    what: &'t T,
}

/// Which run, and how much of it is seen.
pub(super) struct Attended<'s> {
    pub(super) runtime: &'s AgentRuntime,
    pub(super) store: &'s Store,
    pub(super) run: &'s RunId,
    /// Only what happens after this event.
    pub(super) after: u64,
    pub(super) screen: &'s Screen,
    pub(super) timeline: Timeline,
    /// Whether a line that is typed is for this run.
    pub(super) hears: bool,
    /// How its questions are answered.
    pub(super) approve: Approve,
}

impl<'s> Attendant<'s> {
    pub(super) async fn new(mut of: Attended<'s>) -> Result<Self, Failure> {
        let record = of.runtime.record(of.run).await?;
        if of.after > 0 {
            of.timeline
                .know(&of.runtime.reader().timeline(of.run).await?);
        }
        let hears = of.hears && !of.screen.json && somebody_is_there();
        Ok(Self {
            events: of.runtime.follow(of.run, of.after),
            live: of
                .runtime
                .follow_live(of.run)
                .filter(|_| of.timeline.is_live()),
            typed: hears.then(typed::remarks).and_then(Result::ok),
            runtime: of.runtime.clone(),
            run: of.run.clone(),
            screen: of.screen,
            timeline: of.timeline,
            speech: Speech::default(),
            queue: VecDeque::new(),
            asked: 0,
            held: None,
            seen: of.after,
            memory: Memory::new(of.store),
            published: record.commit_count,
            interrupted: false,
            questions: Questions::new(of.approve),
        })
    }

    /// To its end, and what is said then.
    pub(super) async fn attend(self, handle: &RunHandle, stop: &Stop) -> Result<Ended, Failure> {
        let screen = self.screen;
        let run = self.run.clone();
        match self.watched(handle, stop).await {
            Err(failure) if is_gone(&failure) => {
                screen.note(
                    &format!("{run} was deleted from elsewhere"),
                    &format!("{run} 已被别处删除"),
                );
                Ok(Ended::Stopped)
            }
            ended => ended,
        }
    }

    async fn watched(mut self, handle: &RunHandle, stop: &Stop) -> Result<Ended, Failure> {
        let followed = match self.begin(handle) {
            Ok(()) => match self.find_questions().await {
                Ok(()) => self.follow(stop).await,
                failed => failed,
            },
            Err(failure) => Err(failure),
        };
        self.timeline.end_line();
        match followed {
            Ok(()) => {}
            Err(Failure::ReaderGone) => {
                let why = Said::new("standard output was closed", "标准输出已关闭");
                return self.give_up(why, None).await;
            }
            Err(Failure::Unwritable(error)) => {
                let cause = cause(&error);
                let why = Said::new(
                    format!("standard output cannot be written ({cause})"),
                    format!("标准输出无法写入（{cause}）"),
                );
                return self.give_up(why, Some(Failure::Unwritable(error))).await;
            }
            // Nothing can be done to it now, and it can be gone on with.
            Err(Failure::Store(cause)) if !matches!(cause, StoreError::NoRun(_)) => {
                let run = self.run.to_string();
                return Err(RunFault::Stopped { run, cause }.into());
            }
            Err(failure) => {
                self.let_go().await;
                return Err(failure);
            }
        }
        let summary = self.summary().await?;
        if let Err(failure) = self.conclude(&summary) {
            self.closing_line(&summary);
            return match failure {
                // It is over, and its end is what counts.
                Failure::ReaderGone => summary.ended(self.interrupted, self.screen),
                failure => Err(failure),
            };
        }
        summary.ended(self.interrupted, self.screen)
    }

    fn begin(&self, handle: &RunHandle) -> Result<(), Failure> {
        match self.screen.json {
            true => self.screen.document(&Named {
                kind: "run_handle",
                what: handle,
            }),
            false => Ok(()),
        }
    }

    async fn summary(&self) -> Result<Summary, Failure> {
        Summary::of(&self.runtime.reader(), &self.run).await
    }

    /// What came of it, where results go.
    fn conclude(&self, summary: &Summary) -> Result<(), Failure> {
        if self.screen.json {
            return self.screen.document(&summary.document());
        }
        if let Some(answer) = summary.answer().filter(|_| !self.timeline.is_live()) {
            self.screen.text(&self.timeline.named(&answer))?;
        }
        self.closing_line(summary);
        Ok(())
    }

    fn closing_line(&self, summary: &Summary) {
        let line = summary.line(self.screen.lang, self.interrupted);
        let line = self.timeline.named(&line);
        self.screen.note(&line, &line);
    }

    async fn let_go(&self) {
        if self.runtime.is_alive(&self.run) {
            let _ = self.runtime.cancel(&self.run).await;
            let _ = self.runtime.wait(&self.run).await;
        }
    }

    /// Nobody waits for a run whose results nobody can have: whatever they were to be, it is cancelled, and can be gone on
    /// with. One that came to its end all the same has the exit code of that end.
    async fn give_up(mut self, why: Said, failure: Option<Failure>) -> Result<Ended, Failure> {
        self.let_go().await;
        self.interrupted = true;
        let summary = self.summary().await?;
        self.closing_line(&summary);
        match (summary.is_stopped(), failure) {
            (true, _) => Err(RunFault::Unheard {
                run: self.run.to_string(),
                why,
            }
            .into()),
            (false, Some(failure)) if summary.is_done() => Err(failure),
            (false, _) => summary.ended(self.interrupted, self.screen),
        }
    }

    async fn follow(&mut self, stop: &Stop) -> Result<(), Failure> {
        let (runtime, run) = (self.runtime.clone(), self.run.clone());
        let mut left = pin!(runtime.wait(&run));
        let mut is_left = false;
        let mut ticks = tokio::time::interval(WATCH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            // What led to a question is shown before it is put.
            if self.queue.is_empty() && self.held.is_none() {
                self.put_question();
            }
            // While somebody is asked, nothing is written around the question.
            let asks = self.questions.is_asking();
            let shows = !asks && !Asking::is_under_way();
            // In this order: words come before what came of them.
            tokio::select! {
                biased;
                () = stop.urged.cancelled() => {
                    self.interrupted = true;
                    self.timeline.remark("left as it is", "原样搁置");
                    return Ok(());
                }
                () = stop.asked.cancelled(), if !self.interrupted => self.cancel().await?,
                Some(update) = next_words(&mut self.live), if shows && self.held.is_none() => {
                    match round(&update) > self.asked {
                        true => self.held = Some(update),
                        false => self.speak(update)?,
                    }
                }
                () = std::future::ready(()), if shows && !self.queue.is_empty() => {
                    // One by one: each may let words through that come before the next.
                    if let Some(event) = self.queue.pop_front() {
                        self.hear(&event).await?;
                    }
                }
                said = self.questions.said(), if asks => self.answered(said).await?,
                // Also while something is asked: somebody may answer it elsewhere.
                followed = self.events.next(), if self.queue.is_empty() || (asks && self.queue.len() < EVENTS_PAGE) => match followed {
                    Followed::Events(events) => {
                        events.iter().for_each(|event| self.hear_answer(&event.kind));
                        self.queue.extend(events);
                    }
                    // What was missed is read from disk.
                    Followed::Lagged { .. } => {}
                    // Something may have been heard and not shown.
                    Followed::End => return self.rest().await,
                    Followed::Failed(error) => return Err(error.into()),
                },
                handle = &mut left, if !is_left => {
                    is_left = true;
                    match handle {
                        Ok(handle) if handle.status.is_terminal() => {}
                        Ok(_) => return self.rest().await,
                        Err(stopped) => {
                            // What was written before is shown first.
                            self.rest().await?;
                            return Err(stopped.into());
                        }
                    }
                }
                heard = next_line(&mut self.typed), if shows => self.typed_in(heard).await,
                // Somebody may have begun or ended to ask.
                _ = ticks.tick() => if shows && self.queue.is_empty() && self.leaves().await? {
                    return Ok(());
                },
            }
        }
    }

    /// The run is not driven any more and has no end: it is paused, or could not be written down.
    async fn rest(&mut self) -> Result<(), Failure> {
        loop {
            let range = EventRange::After {
                seq: self.seen,
                limit: EVENTS_PAGE,
            };
            let events = self.runtime.events(&self.run, range).await?;
            if events.is_empty() {
                return Ok(());
            }
            for event in &events {
                self.hear(event).await?;
            }
        }
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        self.interrupted = true;
        self.timeline.remark(
            "cancelling; once more leaves the run as it is, to be resumed",
            "正在取消；再按一次则原样搁置，之后可以继续",
        );
        self.runtime.cancel(&self.run).await?;
        Ok(())
    }

    fn speak(&mut self, update: LiveUpdate) -> Result<(), Failure> {
        for piece in self.speech.hear(update) {
            self.timeline.piece(&piece)?;
        }
        Ok(())
    }

    async fn hear(&mut self, event: &RunEvent) -> Result<(), Failure> {
        // The last page may hold what was followed already.
        if event.seq <= self.seen {
            return Ok(());
        }
        self.seen = event.seq;
        if self.screen.json {
            self.screen.document(event)?;
        }
        // Whoever stopped it was told already.
        if !(self.interrupted && event.kind == RunEventKind::RunCancelRequested) {
            self.timeline.event(event);
        }
        match &event.kind {
            RunEventKind::ModelCallAttemptStarted(attempt) => {
                self.asked = attempt.round;
                match self.held.take() {
                    Some(update) => self.speak(update),
                    None => Ok(()),
                }
            }
            RunEventKind::ChatCommitRequested(commit) => self.publish(commit).await,
            RunEventKind::ToolCallAwaitingApproval(call) => self.see_question(&call.call_id).await,
            RunEventKind::PersistentStateMetadataUpdateRequested(update) => {
                // There is no message to write it into: what is on the screen stays as it is.
                let id = &update.update_id;
                let answered = self.runtime.resolve_metadata(&self.run, id, None).await;
                taken(answered)
            }
            _ => Ok(()),
        }
    }

    async fn typed_in(&mut self, heard: Option<String>) {
        match heard {
            Some(text) if text.trim().is_empty() => self.timeline.was_typed(),
            Some(text) => {
                self.timeline.was_typed();
                let told = self.runtime.guide(&self.run, &text, None).await;
                if let Err(error) = told {
                    let said = in_words(&error.message, self.screen.lang);
                    self.timeline.remark(&said, &said);
                }
            }
            None => self.typed = None,
        }
    }
}

/// Somebody has deleted the run meanwhile.
fn is_gone(failure: &Failure) -> bool {
    match failure {
        Failure::Store(StoreError::NoRun(_)) => true,
        Failure::Run(RunFault::Refused(error)) => error.code == ErrorCode::AgentNotFound,
        _ => false,
    }
}

/// A run that takes no answer any more is being stopped, or is over; that is told by its next event.
fn taken(answered: Result<(), AgentError>) -> Result<(), Failure> {
    match answered {
        Err(error) if error.code == ErrorCode::AgentValidationError => Ok(()),
        answered => Ok(answered?),
    }
}

fn round(update: &LiveUpdate) -> u32 {
    match update {
        LiveUpdate::Snapshot(turn) => turn.round,
        LiveUpdate::Append { round, .. }
        | LiveUpdate::ReasoningAppend { round, .. }
        | LiveUpdate::CallStarted { round, .. }
        | LiveUpdate::CallAppend { round, .. }
        | LiveUpdate::Remove { round } => *round,
    }
}

/// Nothing more after the last: waits for ever.
async fn next_words(live: &mut Option<LiveFollower>) -> Option<LiveUpdate> {
    match live {
        Some(follower) => {
            let update = follower.next().await;
            if update.is_none() {
                *live = None;
            }
            update
        }
        None => std::future::pending().await,
    }
}

/// None at the end of the input.
async fn next_line(typed: &mut Option<Lines>) -> Option<String> {
    match typed {
        Some(lines) => lines.next().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_comes_too_late_is_no_failure() {
        let refused = |code| taken(Err(AgentError::new(code, "no")));
        assert!(refused(ErrorCode::AgentValidationError).is_ok());
        assert!(refused(ErrorCode::AgentInternalError).is_err());
        assert!(taken(Ok(())).is_ok());
    }

    #[test]
    fn a_run_that_was_deleted_is_told_from_one_that_failed() {
        let gone = AgentError::new(ErrorCode::AgentNotFound, "no run");
        assert!(is_gone(&gone.into()));
        assert!(is_gone(&StoreError::NoRun("r".to_owned()).into()));
        assert!(!is_gone(&StoreError::Busy.into()));
        let other = AgentError::new(ErrorCode::AgentTransient, "later");
        assert!(!is_gone(&other.into()));
    }
}
