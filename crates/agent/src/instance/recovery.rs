//! After a crash: every run without an end is read from its journal and goes on.

use std::sync::Arc;

use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use innkeeper_store::journal::Replay;

use super::AgentError;
use super::drive::AgentInstance;
use super::log::RecordError;
use super::reading::unreadable;
use super::runtime::AgentRuntime;
use crate::chat::ChatView;
use crate::run::{AgentRun, Input, Stamped, Why};

/// What became of a run that had no end.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    pub run: RunId,
    /// Why it could not be taken up. It stays as it is.
    pub problem: Option<AgentError>,
}

impl AgentRuntime {
    /// Takes up every run that has no end. One that cannot be read does not hold up the others. One that a repair has cut
    /// is left to a person: what came after the cut may have been done, and would be done again.
    pub async fn recover(&self) -> Result<Vec<Recovered>, AgentError> {
        // First of all, so that what these tasks have come to is known when their runs ask.
        self.0.parts.tools.tasks().recover().await?;
        let unfinished = self.0.journal.unfinished().await?;
        let mut all = Vec::with_capacity(unfinished.len());
        for record in unfinished {
            if self.0.alive(&record.run_id).is_some() {
                continue;
            }
            let problem = match record.is_cut {
                true => Some(cut(&record.run_id)),
                false => self.take_over(&record.run_id).await.err(),
            };
            all.push(Recovered {
                run: record.run_id,
                problem,
            });
        }
        Ok(all)
    }

    /// Takes up one run that has no end; see [`Self::recover`].
    pub async fn recover_run(&self, run: &RunId) -> Result<(), AgentError> {
        match self.0.alive(run) {
            Some(_) => Ok(()),
            None => self.take_over(run).await,
        }
    }

    async fn take_over(&self, run: &RunId) -> Result<(), AgentError> {
        let _taking_up = self.0.taking_up.lock().await;
        if self.0.alive(run).is_some() {
            return Ok(());
        }
        let instance = self.restored(run).await?;
        instance.log.record(Input::Recovered).await?;
        instance.end_lost_tasks().await?;
        self.0.launch(instance);
        Ok(())
    }

    /// The run as its journal has it; nobody drives it yet.
    pub(super) async fn restored(&self, run: &RunId) -> Result<Arc<AgentInstance>, AgentError> {
        let replay = self.0.journal.replay(run).await?;
        let replay = replay.ok_or_else(|| AgentError::no_run(run.as_str()))?;
        let last_seq = replay.record.last_seq;
        let read = replayed(&replay).map_err(|why| unreadable(run, &why))?;
        // One whose chat cannot be read has to come to an end as well.
        let chat = ChatView::of(read.created()).ok().flatten();
        Ok(self.0.instance(read, last_seq, chat, true))
    }
}

impl AgentInstance {
    /// A run that was read from its journal because somebody has something to say to it: what the process that drove it
    /// left open is settled first. One that is over has nothing open.
    pub(super) async fn take_over(&self) -> Result<(), AgentError> {
        if self.log.read(is_interrupted).await? {
            self.log.record(Input::Recovered).await?;
        }
        self.end_lost_tasks().await
    }

    /// What of it the run would take, once it is taken over; what need not be taken is left out. Nothing is changed.
    pub(super) async fn would_take(
        &self,
        inputs: Vec<Input>,
        is_done: impl Fn(&Why) -> bool,
    ) -> Result<Vec<Input>, RecordError> {
        let mut run = self.log.read(AgentRun::clone).await?;
        let at = run.updated_at();
        if is_interrupted(&run) {
            let input = Input::Recovered;
            run.apply(&Stamped { at, input })?;
        }
        let mut taken = Vec::with_capacity(inputs.len());
        for input in inputs {
            let stamped = Stamped { at, input };
            match run.apply(&stamped) {
                Err(misfit) if is_done(&misfit.why) => {}
                applied => {
                    applied?;
                    taken.push(stamped.input);
                }
            }
        }
        Ok(taken)
    }

    /// What another process ran in the background has ended, before it or with it.
    pub(super) async fn end_lost_tasks(&self) -> Result<(), AgentError> {
        let open: Vec<(String, String)> = self
            .log
            .read(|run| {
                let open = run.open_tasks().iter();
                open.map(|(task, open)| (task.clone(), open.tool.clone()))
                    .collect()
            })
            .await?;
        let tasks = self.shared.parts.tools.tasks();
        for (task, tool) in open {
            let known = tasks.known(&self.tools.caller().desk(), &task).await?;
            let observation = known
                .and_then(|record| record.observation)
                .unwrap_or_else(|| lost(&tool));
            let input = Input::TaskEnded {
                observation: Arc::new(Observation {
                    task: Some(task),
                    ..observation
                }),
                // Of what it asked, nobody here has heard.
                used: None,
            };
            self.log.record(input).await?;
        }
        Ok(())
    }
}

/// It was at work when its process ended. One that is paused was settled when it was.
fn is_interrupted(run: &AgentRun) -> bool {
    !run.is_over() && !run.is_paused()
}

fn lost(tool: &str) -> Observation {
    let outcome = Outcome::OutcomeUnknown {
        message: "the process that ran it in the background has ended; it may have taken effect"
            .to_owned(),
    };
    Observation::new(tool, outcome)
}

fn cut(run: &RunId) -> AgentError {
    let message = format!(
        "a repair has cut off the end of '{run}', and what it did then would be done again; `innkeeper runs resume {run}` goes on all the same"
    );
    AgentError::new(ErrorCode::AgentInterrupted, message).because("agent.run_was_cut")
}

/// Feeds it all that it was fed.
pub(super) fn replayed(replay: &Replay) -> Result<AgentRun, String> {
    let mut run: Option<AgentRun> = match &replay.snapshot {
        None => None,
        Some(snapshot) => Some(serde_json::from_str(snapshot).map_err(|error| error.to_string())?),
    };
    for entry in &replay.inputs {
        let inputs: Vec<Stamped> =
            serde_json::from_str(entry).map_err(|error| error.to_string())?;
        for input in &inputs {
            match &mut run {
                None => {
                    run = Some(
                        AgentRun::begin(input)
                            .map_err(|misfit| misfit.to_string())?
                            .0,
                    )
                }
                Some(run) => {
                    run.apply(input).map_err(|misfit| misfit.to_string())?;
                }
            }
        }
    }
    run.ok_or_else(|| "it has no beginning".to_owned())
}
