//! Whether this call may be made: the policy, and a person where the policy says to ask.
//!
//! Who does something in a roundabout way needs leave for the thing itself: a tool that stands on another's service
//! is judged as that one too; `uri_x`, and a file that a script is handed, as `File.Read`.

use std::sync::{Arc, LazyLock};

use innkeeper_protocol::{BoundCall, ErrorCode, Failure, Outcome, ToolDefinition};
use innkeeper_store::AuditDecision;
use serde_json::{Map, Value as Json};

use super::trail::Trail;
use super::{edit, stop};
use crate::ToolError;
use crate::builtin::file::read;
use crate::policy::{ApprovalRequest, Decided, Decision, Question, Verdict};
use crate::registry::Tool;
use crate::run::ToolRun;

/// Gives the arguments to go on with: a person who is asked may change them.
pub(super) async fn authorise(
    run: &ToolRun,
    tool: &Tool,
    arguments: Map<String, Json>,
    trail: &mut Trail,
) -> Result<Map<String, Json>, Outcome> {
    let first = trail.looks();
    roundabout(run, tool, &arguments, trail).await?;
    let asked = Asked {
        shown: None,
        may_edit: true,
    };
    let edit = settle(run, tool.definition(), &arguments, asked, trail).await?;
    match edit {
        None => Ok(arguments),
        Some(edit) => {
            // The same questions again, where they are the same.
            trail.look_again_from(first);
            Box::pin(edited(run, tool, &arguments, &edit, trail)).await
        }
    }
}

/// What is done in a roundabout way.
async fn roundabout(
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
        settle(run, beneath, arguments, Asked::default(), trail).await?;
    }
    Ok(())
}

/// The answer counts for what the person has made of the arguments; a rule that forbids that is final.
async fn edited(
    run: &ToolRun,
    tool: &Tool,
    arguments: &Map<String, Json>,
    edit: &Map<String, Json>,
    trail: &mut Trail,
) -> Result<Map<String, Json>, Outcome> {
    let restored = edit::restored(edit, trail.arguments(), Some(arguments)).map_err(|why| {
        stop(
            ErrorCode::ToolInvalidArguments,
            format!("a person changed the arguments, and {why}"),
        )
    })?;
    let arguments = edit::fitting(tool, restored)?;
    trail.arguments_are(tool, &arguments);
    roundabout(run, tool, &arguments, trail).await?;
    let verdict = verdict(run, tool.definition(), &arguments);
    trail.decided(audited(verdict.decision), &verdict.rule);
    match verdict.decision {
        Decision::Allow | Decision::Ask => Ok(arguments),
        Decision::Deny => Err(denied(&verdict)),
    }
}

/// How a person is asked.
#[derive(Default)]
struct Asked {
    /// What they are shown of the arguments, where that is not what the trail keeps.
    shown: Option<Json>,
    may_edit: bool,
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
    let asked = Asked {
        shown: Some(shown),
        may_edit: false,
    };
    settle(run, &READING, &arguments, asked, trail)
        .await
        .map(drop)
}

pub(super) fn verdict(
    run: &ToolRun,
    definition: &Arc<ToolDefinition>,
    arguments: &Map<String, Json>,
) -> Verdict {
    let shared = &run.shared;
    let actor = run.caller.actor.to_string();
    shared.policy.load().decide(&Question {
        tool: definition,
        actor: &actor,
        arguments,
        normalise: &|text| {
            let uri = shared.files.resolve(&run.caller, text).ok()?;
            Some(uri.to_string())
        },
    })
}

fn refusal(verdict: &Verdict) -> String {
    match &verdict.reason {
        Some(reason) => reason.clone(),
        None => format!("the rule '{}' forbids it", verdict.rule),
    }
}

fn denied(verdict: &Verdict) -> Outcome {
    Outcome::Error(Failure {
        reason: Some("policy.deny".to_owned()),
        ..Failure::new(ErrorCode::ToolPolicyDenied, refusal(verdict))
    })
}

fn audited(decision: Decision) -> AuditDecision {
    match decision {
        Decision::Allow => AuditDecision::Allow,
        Decision::Ask => AuditDecision::Ask,
        Decision::Deny => AuditDecision::Deny,
    }
}

/// Gives the arguments as the person has changed them, where they did.
async fn settle(
    run: &ToolRun,
    definition: &Arc<ToolDefinition>,
    arguments: &Map<String, Json>,
    asked: Asked,
    trail: &mut Trail,
) -> Result<Option<Map<String, Json>>, Outcome> {
    let position = trail.next_look();
    let verdict = verdict(run, definition, arguments);
    trail.decided(audited(verdict.decision), &verdict.rule);
    match verdict.decision {
        Decision::Allow => return Ok(None),
        Decision::Deny => return Err(denied(&verdict)),
        Decision::Ask => {}
    }
    let mut request = ApprovalRequest::new(
        trail.call_id(),
        definition,
        &run.caller,
        arguments,
        asked.shown.unwrap_or_else(|| trail.arguments().clone()),
        &verdict,
    );
    request.position = position;
    request.may_edit = asked.may_edit;
    // Boxed: most calls need no room for it.
    Box::pin(ask(run, &verdict, request, trail)).await
}

async fn ask(
    run: &ToolRun,
    verdict: &Verdict,
    request: ApprovalRequest,
    trail: &mut Trail,
) -> Result<Option<Map<String, Json>>, Outcome> {
    let decided = tokio::select! {
        decided = decide(run, verdict, request) => decided?,
        () = run.cancel.cancelled() => {
            return Err(Outcome::Cancelled { reason: "the run was stopped while a person was asked".to_owned() });
        }
    };
    trail.approved(decided.settled.by.as_str());
    match decided.settled.allowed {
        true => Ok(decided.edit),
        false => Err(Outcome::Denied {
            reason: decided.settled.reason.unwrap_or_default(),
        }),
    }
}

/// Whoever writes the call down decides as well; without one, the approver of this process.
async fn decide(
    run: &ToolRun,
    verdict: &Verdict,
    request: ApprovalRequest,
) -> Result<Decided, ToolError> {
    let approvals = &run.shared.approvals;
    if let Some((listener, position)) = run.listener() {
        if let Some(by) = approvals.remembered(&request.run, &request.key()).await {
            return Ok(Decided::allowed(by));
        }
        if let Some(decided) = listener.decide(position, &request).await? {
            return Ok(decided);
        }
    }
    Ok(approvals.settle(verdict, request).await.into())
}
