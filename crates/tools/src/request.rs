//! `request_id`: a block that was run once under an id is not run again; its first outcome is given instead.
//!
//! An id is taken only if some tool was asked to do something: a block that was refused before may be corrected
//! and sent again under the same id.

use innkeeper_protocol::{Block, ErrorCode, Failure, Observation, Outcome, Source};
use innkeeper_store::{Claim, ClaimToken, StoreError};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::block::{Ran, steps};
use crate::limits::MAX_REQUEST_ID_CHARS;
use crate::pipeline::stop;
use crate::pipeline::substitute::keys_named;
use crate::run::ToolRun;

pub(crate) async fn once(run: &ToolRun, block: &Block<'_>, id: &str) -> Vec<Observation> {
    if id.trim().is_empty() || id.chars().nth(MAX_REQUEST_ID_CHARS).is_some() {
        let why = format!("a request_id has 1 to {MAX_REQUEST_ID_CHARS} characters");
        return told(run, block, stop(ErrorCode::ProtocolMalformed, why)).await;
    }
    match claimed(run, block, id).await {
        Ok(observations) => observations,
        Err(Refused::Outcome(outcome)) => told(run, block, outcome).await,
        Err(Refused::Store(error)) => {
            let outcome = Outcome::from(
                crate::ToolError::unavailable(format!(
                    "whether request_id {id} was run before cannot be found out ({error}), so nothing was run"
                ))
                .because("request.unavailable"),
            );
            told(run, block, outcome).await
        }
    }
}

enum Refused {
    Outcome(Outcome),
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

async fn claimed(run: &ToolRun, block: &Block<'_>, id: &str) -> Result<Vec<Observation>, Refused> {
    let requests = run.shared.store.requests();
    let content = content_of(block);
    loop {
        match requests.claim(&run.request_scope, id, &content).await? {
            Claim::New(token) => return Ok(run_claimed(run, block, token).await),
            Claim::Done { observations } => {
                let again = stop(
                    ErrorCode::ToolSkipped,
                    format!("request_id {id} was run before; its first outcome was given again"),
                );
                for call in &block.calls {
                    run.note_unrun(call, &again).await;
                }
                return serde_json::from_value(observations).map_err(|_| {
                    Refused::Outcome(Outcome::OutcomeUnknown {
                        message: format!(
                            "request_id {id} was run before, but its outcome cannot be read"
                        ),
                    })
                });
            }
            Claim::Running => tokio::select! {
                waited = requests.wait(&run.request_scope, id) => waited?,
                () = run.cancel.cancelled() => return Err(Refused::Outcome(run.stopped())),
            },
            Claim::Interrupted(token) => {
                let outcome = Outcome::OutcomeUnknown {
                    message: format!(
                        "request_id {id} was begun before and interrupted; use another id once you know what it did"
                    ),
                };
                let observations = told(run, block, outcome).await;
                requests.finish(token, &json!(observations)).await?;
                return Ok(observations);
            }
            Claim::Conflict => {
                return Err(Refused::Outcome(Outcome::Error(Failure::new(
                    ErrorCode::ProtocolRequestIdConflict,
                    format!(
                        "request_id {id} was used before for other calls; nothing was run, use a new id"
                    ),
                ))));
            }
        }
    }
}

async fn run_claimed(run: &ToolRun, block: &Block<'_>, token: ClaimToken) -> Vec<Observation> {
    let requests = run.shared.store.requests();
    let Ran {
        mut observations,
        has_run,
    } = steps(run, block).await;
    let kept = match has_run {
        true => requests.finish(token, &json!(observations)).await,
        false => requests.release(token).await,
    };
    if let Err(error) = kept {
        observations.push(Observation::new(
            "",
            Outcome::Notice {
                reason: "request_not_kept".to_owned(),
                message: format!(
                    "the outcome could not be kept ({error}); do not send this request again"
                ),
            },
        ));
    }
    observations
}

/// One observation and one audit entry for each call, so that nobody waits for an answer.
async fn told(run: &ToolRun, block: &Block<'_>, outcome: Outcome) -> Vec<Observation> {
    let mut observations = Vec::new();
    for call in &block.calls {
        run.note_unrun(call, &outcome).await;
        observations.push(Observation {
            call_id: call.call_id.as_deref().map(str::to_owned),
            index: call.index,
            ..Observation::new(call.tool.as_ref(), outcome.clone())
        });
    }
    observations
}

/// What a block asks for, whatever its layout and comments.
fn content_of(block: &Block<'_>) -> String {
    let mut content: Vec<Json> = block
        .calls
        .iter()
        .map(|call| {
            let arguments: Vec<Json> = call
                .arguments
                .iter()
                .chain(&call.modifiers)
                .map(|argument| {
                    json!([
                        argument.name,
                        argument.written,
                        argument.source == Source::Uri,
                        argument.hint,
                        argument.to_json(),
                    ])
                })
                .collect();
            json!([call.index, call.tool, arguments, call.on_error, call.retry])
        })
        .collect();
    // What is filled in counts too, also where no call takes it.
    let named = keys_named(block);
    if !named.is_empty() {
        content.push(json!(named));
    }
    let digest = Sha256::digest(Json::from(content).to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
