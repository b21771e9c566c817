//! Going on with a run that stopped, and where it stands.

use innkeeper_agent::instance::{CheckpointQuery, DiffEnd, Rollback};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CheckpointId, RollbackScope, RunId, RunStatus};
use innkeeper_store::journal::RunRecord;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, told, unknown};
use crate::house::House;
use crate::problem::Problem;

pub(super) async fn run(command: &str, dto: Dto, house: &House) -> Result<Value, Problem> {
    match command {
        "read_agent_run_checkpoint" => {
            let asked: OfRun = dto.read()?;
            checkpoint(&asked.run_id, house).await
        }
        "resume_agent_run" => resume(dto.read()?, house).await,
        "settle_agent_chat_presentation" => {
            let asked: OfRun = dto.read()?;
            let record = house.agents.record(&asked.run_id).await?;
            // What a run shows in its chat is settled by its journal: nothing is held for a page.
            Ok(json!({
                "runId": record.run_id,
                "status": record.status,
                "settled": is_over(record.status),
            }))
        }
        _ => Err(unknown(command)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRun {
    run_id: RunId,
}

fn is_over(status: RunStatus) -> bool {
    matches!(
        status,
        RunStatus::Completed | RunStatus::PartialSuccess | RunStatus::Cancelled | RunStatus::Failed
    )
}

async fn checkpoint(run: &RunId, house: &House) -> Result<Value, Problem> {
    let record = house.agents.record(run).await?;
    let blocked = |why: String| {
        json!({
            "run": record,
            "terminalSeq": null,
            "presentation": record.presentation,
            "nextStep": "unavailable",
            "blockedReason": why,
        })
    };
    let state = match house.agents.reader().state(run).await {
        Ok(state) => state,
        Err(error) => return Ok(blocked(error.message)),
    };
    if house.agents.is_alive(run) && !is_over(record.status) {
        return Ok(blocked("the run is at work".to_owned()));
    }
    let next = match (state.can_resume(), record.status) {
        (false, _) => "finished",
        (true, RunStatus::AwaitingApproval | RunStatus::DispatchingTool) => "tools",
        (true, RunStatus::Finishing | RunStatus::AwaitingHostCommit) => "finalize",
        (true, _) => "model",
    };
    Ok(json!({
        "run": record,
        "terminalSeq": is_over(record.status).then_some(record.last_seq),
        "presentation": record.presentation,
        "nextStep": next,
        "round": state.rounds_of_all(),
        "maxRounds": state.max_rounds(),
        "blockedReason": null,
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    run_id: RunId,
    expected_terminal_seq: Option<u64>,
    additional_rounds: Option<u32>,
    revision: Option<Revision>,
}

#[derive(Deserialize)]
struct Revision {
    guidance: Option<String>,
}

async fn resume(asked: Resume, house: &House) -> Result<Value, Problem> {
    let record = house.agents.record(&asked.run_id).await?;
    if let Some(expected) = asked.expected_terminal_seq
        && expected != record.last_seq
    {
        return Err(Problem::new(
            ErrorCode::AgentValidationError,
            format!(
                "the run has gone on since: its last event is {}, not {expected}; read its checkpoint again",
                record.last_seq
            ),
        )
        .because("agent.resume_checkpoint_mismatch"));
    }
    let guidance = asked.revision.and_then(|revision| revision.guidance);
    if record.status == RunStatus::Completed && guidance.is_some() {
        reopen(&record, house).await?;
    }
    let after = house.agents.record(&asked.run_id).await?.last_seq;
    let rounds = asked.additional_rounds;
    let resumed = house
        .agents
        .resume(&asked.run_id, rounds, guidance.as_deref());
    let mut handle = told(resumed.await?)?;
    handle["afterSeq"] = after.into();
    Ok(handle)
}

/// A reply that is complete is changed from its last checkpoint on: only its end is taken back, what it published stays and is
/// written over.
async fn reopen(record: &RunRecord, house: &House) -> Result<(), Problem> {
    let Some(last) = last_checkpoint(record, house).await? else {
        return Err(Problem::new(
            ErrorCode::AgentValidationError,
            "the run has no checkpoint from which its reply could be changed; start another",
        )
        .because("agent.resume_unavailable"));
    };
    let rolled_back = house.agents.rollback(Rollback {
        run: record.run_id.clone(),
        to: DiffEnd::parse(last.as_str())?,
        scope: RollbackScope::Workspace,
        reason: Some("its reply is to be changed".to_owned()),
        planned_at: Some(record.last_seq),
    });
    rolled_back.await?;
    Ok(())
}

async fn last_checkpoint(
    record: &RunRecord,
    house: &House,
) -> Result<Option<CheckpointId>, Problem> {
    let mut query = CheckpointQuery::default();
    let mut last = None;
    loop {
        let page = house.agents.checkpoints(&record.run_id, query).await?;
        last = page.checkpoints.last().map(|one| one.id.clone()).or(last);
        match page.next {
            Some(after) => {
                query = CheckpointQuery {
                    after,
                    ..CheckpointQuery::default()
                }
            }
            None => return Ok(last),
        }
    }
}
