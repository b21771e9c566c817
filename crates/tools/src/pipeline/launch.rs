//! Async tools: the call goes on in the background, the caller has a handle at once.

use std::sync::Arc;

use innkeeper_protocol::{Observation, Outcome, ToolCallRequest, ToolDefinition, key};
use innkeeper_store::BusEvent;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::execute::{self, Job};
use super::finish::finish;
use super::trail::Trail;
use crate::limits::MAX_KEPT_RESULT_BYTES;
use crate::run::ToolRun;
use crate::task::{Completion, Entry, Registered};
use crate::{Progress, ProgressSink, Redactor, Room, ToolError};

/// A place in the table, for a task that is about to begin.
pub(super) fn register(
    run: &ToolRun,
    tool: &ToolDefinition,
    arguments: &Map<String, Json>,
    call_id: &str,
    cancel: CancellationToken,
) -> Result<Registered, ToolError> {
    let promises = promised(run, tool, arguments);
    let tasks = &run.shared.tasks;
    tasks.register(
        tool.id.as_str(),
        &run.caller.desk(),
        call_id,
        promises,
        cancel,
    )
}

/// It has been written down that it begins.
pub(super) fn launch(
    run: &ToolRun,
    job: Job,
    request: &ToolCallRequest<'_>,
    completion: Completion,
    trail: &mut Trail,
) -> (Outcome, Arc<Entry>) {
    let definition = job.tool.definition();
    let entry = completion.entry().clone();
    let task_id = entry.record().task_id;
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
    let work = work(run.clone(), job, observation, completion, trail.fork());
    tokio::spawn(work);
    (started, entry)
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
    completion: Completion,
    mut trail: Trail,
) {
    let entry = completion.entry().clone();
    let progress = heard(&run, Some(entry.clone()));
    let ended = execute::run(&job, &progress).await;
    let finished = finish(&run.shared, run.snapshot.hooks(), &job, ended, &mut trail).await;
    observation.outcome = finished.outcome;
    observation.task = Some(entry.record().task_id.to_string());
    let outcome = observation.outcome.clone();
    let payload = json!({
        "taskId": observation.task,
        "tool": observation.tool,
        "run": run.caller.run,
        "observation": observation,
    });
    let full = finished
        .full
        .filter(|full| full.to_string().len() <= MAX_KEPT_RESULT_BYTES);
    let record = entry.ended_as(observation);
    // An end that cannot be written is told all the same; after a restart its outcome is unknown.
    let (_, ()) = tokio::join!(run.shared.tasks.keep(&record), run.note(trail, &outcome));
    completion.complete(record, full);
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
