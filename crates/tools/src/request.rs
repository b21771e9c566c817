//! `request_id`: a block that was run once under an id is not run again; its first outcome is given instead.
//!
//! An id is taken only if some tool was asked to do something: a block that was refused before may be corrected
//! and sent again under the same id.

use innkeeper_protocol::{Block, ErrorCode, Failure, Observation, Outcome, Source};
use innkeeper_store::{Claim, ClaimToken, StoreError};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::block::{self, Ran, steps};
use crate::limits::MAX_REQUEST_ID_CHARS;
use crate::listener::{BlockOptions, BlockRan};
use crate::pipeline::stop;
use crate::pipeline::substitute::keys_named;
use crate::run::ToolRun;

pub(crate) async fn once(
    run: &ToolRun,
    block: &Block<'_>,
    id: &str,
    options: &BlockOptions,
) -> BlockRan {
    if id.trim().is_empty() || id.chars().nth(MAX_REQUEST_ID_CHARS).is_some() {
        let why = format!("a request_id has 1 to {MAX_REQUEST_ID_CHARS} characters");
        let outcome = stop(ErrorCode::ProtocolMalformed, why);
        return block::told(told(run, block, outcome).await, options).await;
    }
    let told = match claimed(run, block, id, options).await {
        Ok(ran) => return ran,
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
    };
    block::told(told, options).await
}

/// What was kept of a block: its calls first, then what was said beyond them.
async fn kept(block: &Block<'_>, observations: Json, options: &BlockOptions) -> Option<BlockRan> {
    let mut calls: Vec<Observation> = serde_json::from_value(observations).ok()?;
    let notes = calls.split_off(block.calls.len().min(calls.len()));
    Some(BlockRan {
        notes,
        ..block::told(calls, options).await
    })
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

async fn claimed(
    run: &ToolRun,
    block: &Block<'_>,
    id: &str,
    options: &BlockOptions,
) -> Result<BlockRan, Refused> {
    let requests = run.shared.store.requests();
    let content = content_of(block);
    loop {
        match requests.claim(&run.request_scope, id, &content).await? {
            Claim::New(token) => return Ok(run_claimed(run, block, token, options).await),
            // Whoever has written its calls down knows where it was left.
            Claim::Interrupted(token) if options.resumed => {
                return Ok(run_claimed(run, block, token, options).await);
            }
            Claim::Done { observations } => {
                let again = stop(
                    ErrorCode::ToolSkipped,
                    format!("request_id {id} was run before; its first outcome was given again"),
                );
                for call in &block.calls {
                    run.note_unrun(call, &again).await;
                }
                return kept(block, observations, options).await.ok_or_else(|| {
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
                return Ok(block::told(observations, options).await);
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

async fn run_claimed(
    run: &ToolRun,
    block: &Block<'_>,
    token: ClaimToken,
    options: &BlockOptions,
) -> BlockRan {
    let requests = run.shared.store.requests();
    let Ran { mut told, has_run } = steps(run, block, options).await;
    if told.broken.is_some() {
        // It will be gone on with; until then nobody else may take the id.
        return told;
    }
    let all: Vec<&Observation> = told.calls.iter().chain(&told.notes).collect();
    let kept = match has_run {
        true => requests.finish(token, &json!(all)).await,
        false => requests.release(token).await,
    };
    if let Err(error) = kept {
        told.notes.push(Observation::new(
            "",
            Outcome::Notice {
                reason: "request_not_kept".to_owned(),
                message: format!(
                    "the outcome could not be kept ({error}); do not send this request again"
                ),
            },
        ));
    }
    told
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
