//! Async tools: the call goes on in the background, the caller has a handle at once.

use std::sync::Arc;

use innkeeper_protocol::{Observation, Outcome, ToolCallRequest, ToolDefinition, key};
use innkeeper_store::BusEvent;
use serde_json::{Map, Value as Json, json};

use super::execute::{self, Job};
use super::finish::finish;
use super::trail::Trail;
use crate::limits::MAX_KEPT_RESULT_BYTES;
use crate::run::ToolRun;
use crate::task::{Completion, Entry};
use crate::{Progress, ProgressSink, Redactor, Room};

pub(super) fn launch(
    run: &ToolRun,
    job: Job,
    request: &ToolCallRequest<'_>,
    trail: &mut Trail,
) -> Result<(Outcome, Arc<Entry>), Outcome> {
    let definition = job.tool.definition();
    let promises = promised(run, definition, &job.arguments);
    let (task_id, entry) = run.shared.tasks.start(
        definition.id.as_str(),
        &run.caller.run,
        &job.call_id,
        promises,
        job.cancel.clone(),
    )?;
    let observation = Observation {
        call_id: request.call_id.as_deref().map(str::to_owned),
        index: request.index,
        ..Observation::new(
            definition.id.as_str(),
            Outcome::AsyncStarted {
                task_id: task_id.to_string(),
            },
        )
    };
    let started = observation.outcome.clone();
    let work = work(run.clone(), job, observation, entry.clone(), trail.fork());
    tokio::spawn(work);
    Ok((started, entry))
}

/// Progress goes to people before the result has passed the pipeline.
struct Redacted {
    entry: Option<Arc<Entry>>,
    /// Whoever waits for this very call.
    listener: Progress,
    redactor: Arc<Redactor>,
}

/// Those who hear how far a call of the run is: its task, if it is one, and whoever waits for it.
pub(super) fn heard(run: &ToolRun, entry: Option<Arc<Entry>>) -> Progress {
    if entry.is_none() && !run.progress.is_heard() {
        return Progress::default();
    }
    Progress::to(Arc::new(Redacted {
        entry,
        listener: run.progress.clone(),
        redactor: run.shared.redactor.load_full(),
    }))
}

impl ProgressSink for Redacted {
    fn report(&self, fraction: Option<f64>, message: &str) {
        let message = self.redactor.redact_text(message);
        if let Some(entry) = &self.entry {
            entry.report(fraction, &message);
        }
        self.listener.report(fraction, &message);
    }

    fn partial(&self, piece: &Json) {
        let mut piece = piece.clone();
        self.redactor.redact_json(&mut piece);
        if let Some(entry) = &self.entry {
            entry.partial(&piece);
        }
        self.listener.partial(&piece);
    }

    fn start_over(&self) {
        if let Some(entry) = &self.entry {
            entry.start_over();
        }
        self.listener.start_over();
    }

    fn room(&self) -> Option<Room> {
        self.listener.room()
    }
}

async fn work(
    run: ToolRun,
    job: Job,
    mut observation: Observation,
    entry: Arc<Entry>,
    mut trail: Trail,
) {
    let completion = Completion::of(entry.clone());
    let progress = heard(&run, Some(entry.clone()));
    let ended = execute::run(&job, &progress).await;
    let finished = finish(&run.shared, run.snapshot.hooks(), &job, ended, &mut trail).await;
    run.note(trail, &finished.outcome).await;
    observation.outcome = finished.outcome;
    observation.task = Some(entry.record().task_id.to_string());
    let payload = json!({
        "taskId": observation.task,
        "tool": observation.tool,
        "run": run.caller.run,
        "observation": observation,
    });
    let full = finished
        .full
        .filter(|full| full.to_string().len() <= MAX_KEPT_RESULT_BYTES);
    completion.complete(observation, full);
    let event = BusEvent::new("task.completed", format!("run:{}", run.caller.run), payload);
    // Whoever waits has the table; the event is for those who listen.
    let _ = run.shared.bus.publish(event).await;
}

/// The files that a tool says it will make: arguments named `output_uri` or marked `"x-output-uri": true`, in
/// canonical form.
fn promised(run: &ToolRun, tool: &ToolDefinition, arguments: &Map<String, Json>) -> Vec<String> {
    let mut promises = Vec::new();
    for (name, schema) in tool.properties() {
        let marked = schema.get("x-output-uri").and_then(Json::as_bool) == Some(true);
        let form = key::normalise(name);
        if !marked && form != "output_uri" && !form.ends_with("_output_uri") {
            continue;
        }
        let Some(uri) = arguments.get(name).and_then(Json::as_str) else {
            continue;
        };
        if let Ok(resolved) = run.shared.files.resolve(&run.caller, uri) {
            promises.push(resolved.to_string());
        }
    }
    promises.sort();
    promises.dedup();
    promises
}
