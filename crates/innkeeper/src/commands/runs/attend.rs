//! Stays with a run until it is over: shows what happens, is the host that it publishes to, tells it what the person types,
//! and stops it at Ctrl-C.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{HostAnswer, LiveFollower, LiveUpdate, RunHandle};
use innkeeper_protocol::event::{ChatCommitRequested, RunEvent, RunEventKind, RunId};
use innkeeper_store::journal::{EventRange, Followed, Follower};
use serde::Serialize;
use serde_json::json;

use super::speech::Speech;
use super::summary::Summary;
use super::timeline::Timeline;
use crate::ask::{Asking, somebody_is_there};
use crate::commands::Ended;
use crate::failure::Failure;
use crate::limits::{EVENTS_PAGE, WATCH_EVERY};
use crate::output::Screen;
use crate::runtime::Stop;
use crate::typed::{self, Heard, Lines};

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
    typed: Typed,
    /// Number of the last event that was seen.
    seen: u64,
    published: u64,
    interrupted: bool,
}

enum Typed {
    Heard(Lines),
    /// Somebody else asks the person something.
    Lent,
    Closed,
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
    pub(super) run: &'s RunId,
    /// Only what happens after this event.
    pub(super) after: u64,
    pub(super) screen: &'s Screen,
    pub(super) timeline: Timeline,
    /// Whether a line that is typed is for this run.
    pub(super) hears: bool,
}

impl<'s> Attendant<'s> {
    pub(super) async fn new(of: Attended<'s>) -> Result<Self, Failure> {
        let record = of.runtime.record(of.run).await?;
        let hears = of.hears && !of.screen.json && somebody_is_there();
        Ok(Self {
            events: of.runtime.follow(of.run, of.after),
            live: of
                .runtime
                .follow_live(of.run)
                .filter(|_| of.timeline.is_live()),
            typed: match hears.then(typed::lines) {
                Some(Ok(lines)) => Typed::Heard(lines),
                Some(Err(_)) | None => Typed::Closed,
            },
            runtime: of.runtime.clone(),
            run: of.run.clone(),
            screen: of.screen,
            timeline: of.timeline,
            speech: Speech::default(),
            queue: VecDeque::new(),
            asked: 0,
            held: None,
            seen: of.after,
            published: record.commit_count,
            interrupted: false,
        })
    }

    pub(super) fn handle(&self, handle: &RunHandle) -> Result<(), Failure> {
        match self.screen.json {
            true => self.screen.document(&Named {
                kind: "run_handle",
                what: handle,
            }),
            false => Ok(()),
        }
    }

    /// To its end, and what is said then.
    pub(super) async fn attend(mut self, stop: &Stop) -> Result<Ended, Failure> {
        let followed = self.follow(stop).await;
        self.timeline.end_line();
        if let Err(failure) = followed {
            // Nobody waits for a run whose results nobody can have.
            let _ = self.runtime.cancel(&self.run).await;
            let _ = self.runtime.wait(&self.run).await;
            return Err(failure);
        }
        let summary = Summary::of(&self.runtime.reader(), &self.run).await?;
        if self.screen.json {
            self.screen.document(&summary.document())?;
        } else {
            if let Some(answer) = summary.answer().filter(|_| !self.timeline.is_live()) {
                self.screen.text(&answer)?;
            }
            let line = summary.line(self.screen.lang);
            self.screen.note(&line, &line);
        }
        summary.ended(self.interrupted, self.screen)
    }

    async fn follow(&mut self, stop: &Stop) -> Result<(), Failure> {
        let (runtime, run) = (self.runtime.clone(), self.run.clone());
        let mut left = pin!(runtime.wait(&run));
        let mut is_left = false;
        let mut ticks = tokio::time::interval(WATCH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            // While somebody is asked, nothing is written around the question.
            let shows = !Asking::is_under_way();
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
                followed = self.events.next(), if shows && self.queue.is_empty() => match followed {
                    Followed::Events(events) => self.queue.extend(events),
                    // What was missed is read from disk.
                    Followed::Lagged { .. } => {}
                    Followed::End => return Ok(()),
                    Followed::Failed(error) => return Err(error.into()),
                },
                handle = &mut left, if !is_left => {
                    is_left = true;
                    if !handle?.status.is_terminal() {
                        return self.rest().await;
                    }
                }
                heard = next_line(&mut self.typed), if shows => self.typed_in(heard).await,
                _ = ticks.tick() => self.listen_again(),
            }
        }
    }

    /// The run is not driven any more and has no end: it is paused, or its journal cannot be written.
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
            RunEventKind::PersistentStateMetadataUpdateRequested(update) => {
                // There is no message to write it into: what is on the screen stays as it is.
                let id = &update.update_id;
                Ok(self.runtime.resolve_metadata(&self.run, id, None).await?)
            }
            _ => Ok(()),
        }
    }

    /// The terminal is where it appears.
    async fn publish(&mut self, commit: &ChatCommitRequested) -> Result<(), Failure> {
        let id = &commit.commit_id;
        let message_id = format!("terminal-{}", self.published + 1);
        let read = self.runtime.reader().commit_file(&self.run, id).await;
        let read = match read {
            Ok(file) if file.sha256 == commit.sha256 => Ok(file.text),
            Ok(file) => Err(format!("{} is not what was to be published", file.path)),
            Err(error) => Err(error.message),
        };
        let shown = match &read {
            Ok(text) => self.show(commit, &message_id, text),
            Err(_) => Ok(()),
        };
        let answer = match (read, &shown) {
            (Ok(_), Ok(())) => {
                self.published += 1;
                HostAnswer::Saved {
                    message_id,
                    message_index: Some(self.published - 1),
                }
            }
            (Err(why), _) => HostAnswer::Failed(why),
            (_, Err(failure)) => HostAnswer::Failed(failure.sentence(crate::lang::Lang::En)),
        };
        self.runtime.resolve_commit(&self.run, id, answer).await?;
        shown
    }

    fn show(
        &mut self,
        commit: &ChatCommitRequested,
        message_id: &str,
        text: &str,
    ) -> Result<(), Failure> {
        self.timeline.end_line();
        match self.screen.json {
            false => self.screen.text(text),
            true => self.screen.document(&json!({
                "type": "published",
                "commitId": commit.commit_id,
                "messageId": message_id,
                "path": commit.path,
                "mode": commit.mode,
                "text": text,
            })),
        }
    }

    async fn typed_in(&mut self, heard: Heard) {
        match heard {
            Heard::Line(text) if text.trim().is_empty() => self.timeline.was_typed(),
            Heard::Line(text) => {
                self.timeline.was_typed();
                let told = self.runtime.guide(&self.run, &text, None).await;
                if let Err(error) = told {
                    self.timeline.remark(&error.message, &error.message);
                }
            }
            Heard::Taken => self.typed = Typed::Lent,
            Heard::End => self.typed = Typed::Closed,
        }
    }

    /// The question has been answered: what is typed from now on is for the run.
    fn listen_again(&mut self) {
        if matches!(self.typed, Typed::Lent) && !Asking::is_under_way() {
            self.typed = typed::lines().map_or(Typed::Closed, Typed::Heard);
        }
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

async fn next_line(typed: &mut Typed) -> Heard {
    match typed {
        Typed::Heard(lines) => lines.hear().await,
        Typed::Lent | Typed::Closed => std::future::pending().await,
    }
}
