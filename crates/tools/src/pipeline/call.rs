//! One call on its way from what the model wrote to an observation.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use innkeeper_protocol::{
    ErrorCode, ExecutionMode, Observation, OnError, Outcome, ToolCallRequest,
};
use serde_json::{Map, Value as Json};

use super::execute::{Ended, Job};
use super::finish::{Finished, finish};
use super::keep::Place;
use super::substitute::{Unresolved, Values, fill, mentions};
use super::trail::Trail;
use super::validate::Faults;
use super::{authorise, before, bind, execute, fetch, launch, resolve, stop};
use crate::registry::Tool;
use crate::run::ToolRun;
use crate::task::{Entry, Registered};
use crate::{Starting, ToolError};

/// What came of a call, for the block it stands in.
pub(crate) struct Passed {
    pub(crate) observation: Observation,
    /// The whole result, for later steps.
    pub(crate) full: Option<Json>,
    /// It goes on in the background.
    pub(crate) task: Option<Arc<Entry>>,
    pub(crate) on_error: OnError,
    /// An executor was asked: something may have happened.
    pub(crate) has_run: bool,
    /// Names in `@{…}` that nobody knew.
    pub(crate) unknown: BTreeSet<String>,
}

/// What is learnt on the way.
pub(super) struct Way {
    call_id: String,
    tool: String,
    on_error: OnError,
    has_run: bool,
    unknown: BTreeSet<String>,
    task: Option<Arc<Entry>>,
    found: Option<Arc<Tool>>,
    /// Its arguments are on the trail.
    is_noted: bool,
}

impl Way {
    pub(super) fn new(request: &ToolCallRequest<'_>, call_id: String) -> Self {
        Self {
            call_id,
            tool: request.tool.to_string(),
            on_error: request.on_error,
            has_run: false,
            unknown: BTreeSet::new(),
            task: None,
            found: None,
            is_noted: false,
        }
    }
}

pub(crate) async fn pass(
    run: &ToolRun,
    request: &ToolCallRequest<'_>,
    values: Option<&Values>,
) -> Passed {
    let request = &*run.restored(request);
    let mut way = Way::new(request, run.shared.next_call());
    let mut trail = Trail::begin(run, request, &way.call_id);
    let finished = match go(run, request, values, &mut way, &mut trail).await {
        Ok(finished) => finished,
        Err(mut outcome) => {
            run.shared.redactor.load().redact_failure(&mut outcome);
            Finished {
                outcome,
                full: None,
            }
        }
    };
    if !way.is_noted {
        trail.written_are(request, way.found.as_deref());
    }
    // Boxed: a call that waits keeps no room for what comes after it.
    Box::pin(run.note(trail, &finished.outcome)).await;
    let call_id = request.call_id.as_deref().map(str::to_owned);
    Passed {
        observation: Observation {
            call_id,
            index: request.index,
            ..Observation::new(way.tool, finished.outcome)
        },
        full: finished.full,
        task: way.task,
        on_error: way.on_error,
        has_run: way.has_run,
        unknown: way.unknown,
    }
}

async fn go(
    run: &ToolRun,
    request: &ToolCallRequest<'_>,
    values: Option<&Values>,
    way: &mut Way,
    trail: &mut Trail,
) -> Result<Finished, Outcome> {
    run.check_open().await?;
    let tool = resolve::resolve(&run.snapshot, &run.caller, &request.tool)?;
    way.tool = tool.definition().id.to_string();
    trail.found(&tool);
    way.found = Some(tool.clone());
    resolve::check_reach(&run.caller, &tool)?;

    let request = substituted(request, values, way)?;
    let arguments = prepared(run, &tool, &request, way, trail).await?;
    perform(run, tool, arguments, &request, way, trail).await
}

/// The call is good in itself: whether it may be made, and what comes of it.
pub(super) async fn perform(
    run: &ToolRun,
    tool: Arc<Tool>,
    arguments: Map<String, Json>,
    request: &ToolCallRequest<'_>,
    way: &mut Way,
    trail: &mut Trail,
) -> Result<Finished, Outcome> {
    let arguments = tokio::select! {
        asked = before::ask(run.snapshot.hooks(), &run.caller, &tool, arguments) => asked?,
        () = run.cancel.cancelled() => return Err(run.stopped()),
    };
    trail.arguments_are(&tool, &arguments);
    way.is_noted = true;
    let arguments = authorise::authorise(run, &tool, arguments, trail).await?;
    run.budget
        .take(&tool.definition().id)
        .map_err(|why| stop(ErrorCode::ToolBudgetExhausted, why))?;
    let is_sync = tool.definition().execution.mode == ExecutionMode::Sync;
    let place = match is_sync {
        true => Place::of(run, &tool, &arguments).await,
        false => None,
    };
    let kept = place.as_ref().and_then(Place::take);
    // A task can be stopped by itself.
    let cancel = match is_sync {
        true => run.cancel.clone(),
        false => run.cancel.child_token(),
    };
    let task = match is_sync {
        true => None,
        false => Some(launch::register(
            run,
            tool.definition(),
            &arguments,
            &way.call_id,
            cancel.clone(),
        )?),
    };
    if kept.is_none()
        && let Err(outcome) = begin(run, &tool, task.as_ref(), trail).await
    {
        if let Some(task) = task {
            task.withdraw().await;
        }
        return Err(outcome);
    }

    let job = Job {
        arguments,
        caller: run.caller.clone(),
        call_id: way.call_id.clone(),
        asked_as: run.place.as_ref().and_then(|place| place.asked_as.clone()),
        retry: request.retry,
        cancel,
        run: run.cancel.clone(),
        results: run.results,
        // A task ends when its call is long over.
        spill: run.spill.clone().filter(|_| is_sync),
        within: Some(run.keeping_nothing()),
        tool,
    };
    match task.and_then(Registered::begin) {
        None => {
            let ended = match kept {
                Some(result) => {
                    trail.answered_from_kept();
                    Ended {
                        result: Ok(result),
                        attempts: 0,
                    }
                }
                None => {
                    way.has_run = true;
                    execute::run(&job, &launch::heard(run, None)).await
                }
            };
            if let (Some(place), Ok(result), true) = (&place, &ended.result, way.has_run) {
                place.made(run, &job.tool, &job.arguments, result).await;
            }
            Ok(finish(&run.shared, run.snapshot.hooks(), &job, ended, trail).await)
        }
        Some(completion) => {
            let (outcome, task) = launch::launch(run, job, request, completion, trail);
            way.has_run = true;
            way.task = Some(task);
            Ok(Finished {
                outcome,
                full: None,
            })
        }
    }
}

/// Written down wherever it has to be, before anything is done.
async fn begin(
    run: &ToolRun,
    tool: &Tool,
    task: Option<&Registered>,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    let has_effects = tool.has_effects();
    let audited = async {
        match has_effects {
            true => Box::pin(trail.begin_effect()).await,
            false => Ok(()),
        }
    };
    let told = async {
        let Some((listener, position)) = run.listener() else {
            return Ok(());
        };
        let tool = tool.definition();
        let starting = Starting {
            position,
            tool,
            is_repeatable: tool.execution.idempotent || !has_effects,
        };
        listener.starting(starting).await.map_err(Outcome::from)
    };
    let kept = async {
        match task {
            Some(task) => Box::pin(task.keep()).await.map_err(Outcome::from),
            None => Ok(()),
        }
    };
    // All of them wait for the disk, so they wait together.
    let (audited, told, kept) = tokio::join!(audited, told, kept);
    audited.and(told).and(kept)
}

fn substituted<'r>(
    request: &'r ToolCallRequest<'r>,
    values: Option<&Values>,
    way: &mut Way,
) -> Result<Cow<'r, ToolCallRequest<'r>>, Outcome> {
    match values {
        Some(values) if mentions(request) => {
            let mut filled = request.clone();
            way.unknown = fill(&mut filled, values)
                .map_err(|Unresolved(why)| stop(ErrorCode::ToolReferenceUnresolved, why))?;
            Ok(Cow::Owned(filled))
        }
        _ => Ok(Cow::Borrowed(request)),
    }
}

/// Bound, fetched and valid.
async fn prepared(
    run: &ToolRun,
    tool: &Tool,
    request: &ToolCallRequest<'_>,
    way: &mut Way,
    trail: &mut Trail,
) -> Result<Map<String, Json>, Outcome> {
    let (mut bound, faults) = bind::bind(tool, request);
    way.on_error = bound.on_error;
    let fitting = match faults.is_empty() {
        true => {
            authorise::authorise_reading(run, &bound, trail).await?;
            run.wait_for_promised(&bound).await?;
            fetch::fetch(
                &run.shared.files,
                &run.caller,
                tool.definition(),
                &mut bound,
            )
            .await
        }
        false => Ok(()),
    };
    let fitting = match fitting {
        Ok(()) => bind::validate(tool, request, &mut bound, faults),
        stopped => stopped,
    };
    trail.fetched(&bound);
    fitting.map(|()| bound.arguments)
}

/// Whether the arguments of a call could ever be taken; for those few faults of a block that only its tools
/// can settle.
pub(crate) fn check_unrun(
    run: &ToolRun,
    request: &ToolCallRequest<'_>,
) -> Result<(), Box<Observation>> {
    let request = &*run.restored(request);
    let refused = |tool: &str, outcome| {
        Box::new(Observation {
            call_id: request.call_id.as_deref().map(str::to_owned),
            index: request.index,
            ..Observation::new(tool, outcome)
        })
    };
    let tool = resolve::resolve(&run.snapshot, &run.caller, &request.tool)
        .map_err(|outcome| refused(&request.tool, outcome))?;
    let (_, mut faults) = bind::bind(&tool, request);
    faults.problems.retain(|problem| {
        let modifier = ["/on_error", "/retry"].contains(&problem.path.as_str())
            || problem.path.starts_with("/type_hint_");
        problem.code == "conflicting_uri" || (modifier && problem.code == "invalid_value")
    });
    match faults.problems.is_empty() {
        true => Ok(()),
        false => Err(refused(
            tool.definition().id.as_str(),
            bind::invalid(Faults {
                omitted: 0,
                ..faults
            }),
        )),
    }
}

impl From<ToolError> for Finished {
    fn from(error: ToolError) -> Self {
        Self {
            outcome: error.into(),
            full: None,
        }
    }
}
