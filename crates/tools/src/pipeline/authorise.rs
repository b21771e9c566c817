//! Whether this call may be made: the policy, and a person where the policy says to ask.

use innkeeper_protocol::{ErrorCode, Failure, Outcome};
use innkeeper_store::AuditDecision;
use serde_json::{Map, Value as Json};

use super::trail::Trail;
use crate::policy::{ApprovalRequest, Decision, Question};
use crate::registry::Tool;
use crate::run::ToolRun;

pub(super) async fn authorise(
    run: &ToolRun,
    tool: &Tool,
    arguments: &Map<String, Json>,
    trail: &mut Trail,
) -> Result<(), Outcome> {
    let shared = &run.shared;
    let definition = tool.definition();
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
        trail.arguments().clone(),
        &verdict,
    );
    let settled = tokio::select! {
        settled = shared.approvals.settle(&verdict, request) => settled,
        () = run.cancel.cancelled() => {
            return Err(Outcome::Cancelled { reason: "the run was stopped while a person was asked".to_owned() });
        }
    };
    trail.approved(settled.by.as_str());
    match settled.allowed {
        true => Ok(()),
        false => Err(Outcome::Denied {
            reason: settled.reason.unwrap_or_default(),
        }),
    }
}
