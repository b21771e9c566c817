//! Whether this call may be made: the policy, and a person where the policy says to ask.
//!
//! Who does something in a roundabout way needs leave for the thing itself: a tool that stands on another's service
//! is judged as that one too; `uri_x`, and a file that a script is handed, as `File.Read`.

use std::sync::{Arc, LazyLock};

use innkeeper_protocol::{BoundCall, ErrorCode, Failure, Outcome, ToolDefinition};
use innkeeper_store::AuditDecision;
use serde_json::{Map, Value as Json};

use super::stop;
use super::trail::Trail;
use crate::builtin::file::read;
use crate::policy::{ApprovalRequest, Decision, Question, Verdict};
use crate::registry::Tool;
use crate::run::ToolRun;

pub(super) async fn authorise(
    run: &ToolRun,
    tool: &Tool,
    arguments: &Map<String, Json>,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    for (name, schema) in tool.definition().properties() {
        let is_file = schema.get("x-file") == Some(&Json::Bool(true));
        let given = arguments.get(name).filter(|_| is_file);
        for uri in given.into_iter().flat_map(named_files) {
            may_read(run, uri, trail).await?;
        }
    }
    if let Some(beneath) = tool.stands_on() {
        settle(run, beneath, arguments, None, trail).await?;
    }
    settle(run, tool.definition(), arguments, None, trail).await
}

/// One file, or a list of them.
fn named_files(argument: &Json) -> Vec<&str> {
    match argument {
        Json::Array(elements) => elements.iter().filter_map(Json::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// The files that `uri_` arguments name.
pub(super) async fn authorise_reading(
    run: &ToolRun,
    bound: &BoundCall,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    for argument in bound.uris.values() {
        may_read(run, &argument.uri, trail).await?;
    }
    Ok(())
}

async fn may_read(run: &ToolRun, uri: &str, trail: &mut Trail) -> Result<(), Outcome> {
    static READING: LazyLock<Arc<ToolDefinition>> = LazyLock::new(|| Arc::new(read::definition()));
    if run.caller.reach.denies(&READING) {
        return Err(stop(
            ErrorCode::ToolPolicyDenied,
            "the profile of this agent does not let it read files, and this call would",
        ));
    }
    let arguments = Map::from_iter([("file_path".to_owned(), uri.into())]);
    let shown = Json::Object(arguments.clone());
    settle(run, &READING, &arguments, Some(shown), trail).await
}

/// `shown` is what a person is shown of the arguments, where that is not what the trail keeps.
async fn settle(
    run: &ToolRun,
    definition: &Arc<ToolDefinition>,
    arguments: &Map<String, Json>,
    shown: Option<Json>,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    let shared = &run.shared;
    let actor = run.caller.actor.to_string();
    let verdict = shared.policy.load().decide(&Question {
        tool: definition,
        actor: &actor,
        arguments,
        normalise: &|text| {
            let uri = shared.files.resolve(&run.caller, text).ok()?;
            Some(uri.to_string())
        },
    });
    trail.decided(
        match verdict.decision {
            Decision::Allow => AuditDecision::Allow,
            Decision::Ask => AuditDecision::Ask,
            Decision::Deny => AuditDecision::Deny,
        },
        &verdict.rule,
    );
    match verdict.decision {
        Decision::Allow => return Ok(()),
        Decision::Deny => {
            let because = verdict
                .reason
                .unwrap_or_else(|| format!("the rule '{}' forbids it", verdict.rule));
            return Err(Outcome::Error(Failure {
                reason: Some("policy.deny".to_owned()),
                ..Failure::new(ErrorCode::ToolPolicyDenied, because)
            }));
        }
        Decision::Ask => {}
    }
    let request = ApprovalRequest::new(
        trail.call_id(),
        definition,
        &run.caller,
        arguments,
        shown.unwrap_or_else(|| trail.arguments().clone()),
        &verdict,
    );
    // Boxed: most calls need no room for it.
    Box::pin(ask(run, &verdict, request, trail)).await
}

async fn ask(
    run: &ToolRun,
    verdict: &Verdict,
    request: ApprovalRequest,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    if let Some((listener, position)) = run.listener() {
        listener.asking(position, &request).await?;
    }
    let asked = request.clone();
    let settled = tokio::select! {
        settled = run.shared.approvals.settle(verdict, request) => settled,
        () = run.cancel.cancelled() => {
            return Err(Outcome::Cancelled { reason: "the run was stopped while a person was asked".to_owned() });
        }
    };
    trail.approved(settled.by.as_str());
    if let Some((listener, position)) = run.listener() {
        let reason = settled.reason.as_deref();
        let told = listener.answered(position, &asked, settled.allowed, reason);
        told.await?;
    }
    match settled.allowed {
        true => Ok(()),
        false => Err(Outcome::Denied {
            reason: settled.reason.unwrap_or_default(),
        }),
    }
}
