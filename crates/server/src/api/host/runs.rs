//! Runs: start them, read them, steer them, answer them, take things back.

use innkeeper_agent::instance::{
    ApproveToolCall, DiffEnd, DiffQuery, Fork, Rollback, StartPrompt, StartRun,
};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    InvocationId, Presentation, RollbackScope, RunId, RunStatus, TaskId,
};
use innkeeper_store::journal::{EventRange, RunCursor, RunFilter};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, told, unknown};
use crate::chats;
use crate::house::House;
use crate::problem::Problem;

pub(super) async fn run(command: &str, dto: Dto, house: &House) -> Result<Value, Problem> {
    match command {
        "start_agent_run" => start(dto.read()?, house).await,
        "cancel_agent_run" => {
            let asked: OfRun = dto.read()?;
            told(house.agents.cancel(&asked.run_id).await?)
        }
        "submit_agent_run_guidance" => {
            let asked: Guidance = dto.read()?;
            let client_id = asked.client_guidance_id;
            told(
                house
                    .agents
                    .guide(&asked.run_id, &asked.text, client_id)
                    .await?,
            )
        }
        "list_agent_runs" => list(dto.read()?, house).await,
        "read_agent_run_events" => events(dto.read()?, house).await,
        "read_agent_workspace_file" => {
            let asked: OfFile = dto.read()?;
            told(
                house
                    .agents
                    .read_workspace_file(&asked.run_id, &asked.path)
                    .await?,
            )
        }
        "read_agent_model_turn" => {
            let asked: Turn = dto.read()?;
            let invocation = asked.invocation_id.unwrap_or_else(InvocationId::root);
            let reader = house.agents.reader();
            let turn =
                reader.model_turn_of(&asked.run_id, &invocation, asked.round, asked.max_chars);
            told(turn.await?)
        }
        "read_agent_task_detail" => {
            let asked: OfTask = dto.read()?;
            told(
                house
                    .agents
                    .reader()
                    .task_detail(&asked.run_id, &asked.task_id)
                    .await?,
            )
        }
        "fork_agent_run" => fork(dto.read()?, house).await,
        "approve_agent_tool_call" => {
            let answer: ApproveToolCall = dto.read()?;
            told(house.agents.approve(answer).await?)
        }
        "read_agent_run_diff" => diff(dto.read()?, house).await,
        "rollback_agent_run" => rollback(dto.read()?, house).await,
        "list_agent_tool_specs" => Ok(tools(house)),
        "register_agent_extension_tool" => Err(Problem::new(
            ErrorCode::AgentValidationError,
            "a tool of a page is called back over a channel: send its name beside the dto",
        )
        .because("extension.tool_unavailable")),
        "set_agent_extension_tool_enabled" => {
            let asked: Enabled = dto.read()?;
            house.extensions.set_enabled(&asked.tool_id, asked.enabled)
        }
        "resolve_agent_extension_tool_call" => {
            let asked: ToolAnswer = dto.read()?;
            let result = match asked.result {
                ToolResult::Value { value } => Ok(value),
                ToolResult::Error { message } => Err(message),
            };
            house.extensions.resolve(&asked.request_id, result);
            Ok(Value::Null)
        }
        _ => Err(unknown(command)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRun {
    run_id: RunId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfFile {
    run_id: RunId,
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfTask {
    run_id: RunId,
    task_id: TaskId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    run_id: RunId,
    round: u32,
    invocation_id: Option<InvocationId>,
    max_chars: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Guidance {
    run_id: RunId,
    text: String,
    client_guidance_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Enabled {
    tool_id: String,
    enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolAnswer {
    request_id: String,
    result: ToolResult,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum ToolResult {
    Value {
        #[serde(default)]
        value: Value,
    },
    Error {
        message: String,
    },
}

/// Pages send along whatever they were given; what is not named here is theirs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    chat_ref: Option<Value>,
    stable_chat_id: Option<String>,
    generation_type: Option<String>,
    profile_id: Option<String>,
    prompt_snapshot: Option<Value>,
    generation_intent: Option<Value>,
    persist_base_state_id: Option<String>,
    skill_scope_refs: Option<Value>,
    presentation: Option<String>,
    #[serde(default)]
    options: Option<StartOptions>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct StartOptions {
    presentation: Option<String>,
    #[serde(default)]
    start_with_empty_persist: bool,
}

async fn start(asked: Start, house: &House) -> Result<Value, Problem> {
    let options = asked.options.unwrap_or_default();
    let presentation = asked.presentation.or(options.presentation);
    let presentation = match presentation.as_deref() {
        None => None,
        Some("foreground") => Some(Presentation::Foreground),
        Some("background") => Some(Presentation::Background),
        Some(_) => {
            return Err(Problem::new(
                ErrorCode::AgentPresentationInvalid,
                "presentation is 'foreground' or 'background'",
            ));
        }
    };
    let chat = match asked.prompt_snapshot {
        Some(_) => None,
        // In a chat of this house the chat is the prompt.
        None => {
            chats::chat_of(
                house,
                asked.chat_ref.as_ref(),
                asked.stable_chat_id.as_deref(),
            )
            .await?
        }
    };
    let wanted = StartRun {
        profile_id: asked.profile_id,
        prompt: asked.prompt_snapshot.map(StartPrompt::Snapshot),
        chat_ref: asked.chat_ref,
        stable_chat_id: asked.stable_chat_id,
        generation_type: asked.generation_type,
        presentation,
        generation_intent: asked.generation_intent,
        persist_base_state_id: asked.persist_base_state_id,
        start_with_empty_persist: options.start_with_empty_persist,
        skill_scope_refs: asked.skill_scope_refs,
        ..StartRun::default()
    };
    match chat {
        Some(chat) => told(chats::start(house, chat, None, wanted).await?),
        None => told(house.agents.start(wanted).await?),
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct List {
    chat_ref: Option<Value>,
    stable_chat_id: Option<String>,
    #[serde(default)]
    statuses: Vec<RunStatus>,
    before: Option<RunCursor>,
    limit: Option<usize>,
}

async fn list(asked: Option<List>, house: &House) -> Result<Value, Problem> {
    let asked = asked.unwrap_or_default();
    let limit = asked.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Problem::new(
            ErrorCode::AgentValidationError,
            "limit must be an integer between 1 and 200",
        ));
    }
    let filter = RunFilter {
        stable_chat_id: asked.stable_chat_id,
        workspace_id: None,
        statuses: asked.statuses,
        before: asked.before,
        limit,
    };
    let page = house.agents.list(&filter).await?;
    // A stable id may be shared by two files of a branched chat.
    let is_meant = |chat: &Value| asked.chat_ref.as_ref().is_none_or(|wanted| wanted == chat);
    let runs: Vec<_> = page
        .runs
        .iter()
        .filter(|run| is_meant(&run.chat_ref))
        .collect();
    let mut result = json!({ "runs": runs });
    if let Some(next) = page.next {
        result["nextCursor"] = told(next)?;
    }
    Ok(result)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    run_id: RunId,
    after_seq: Option<u64>,
    before_seq: Option<u64>,
    limit: Option<usize>,
    invocation_id: Option<InvocationId>,
    #[serde(default)]
    include_timeline_projection: bool,
}

async fn events(asked: Events, house: &House) -> Result<Value, Problem> {
    let limit = asked.limit.unwrap_or(100).clamp(1, 500);
    let range = match (asked.before_seq, asked.after_seq) {
        (Some(seq), _) => EventRange::Before { seq, limit },
        (None, after) => EventRange::After {
            seq: after.unwrap_or_default(),
            limit,
        },
    };
    let reader = house.agents.reader();
    let events = match &asked.invocation_id {
        Some(invocation) => reader.events_of(&asked.run_id, invocation, range).await?,
        None => reader.events(&asked.run_id, range).await?,
    };
    let mut result = json!({ "events": events });
    if asked.include_timeline_projection {
        result["timelineProjection"] = told(reader.timeline(&asked.run_id).await?)?;
    }
    Ok(result)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Forked {
    run_id: RunId,
    checkpoint_id: Option<String>,
    text: Option<String>,
    profile_id: Option<String>,
    model: Option<String>,
    starts: Option<bool>,
}

async fn fork(asked: Forked, house: &House) -> Result<Value, Problem> {
    let forked = house.agents.fork(Fork {
        run: asked.run_id,
        at: end(asked.checkpoint_id, DiffEnd::Now)?,
        told: asked.text,
        profile: asked.profile_id,
        model: asked.model,
        starts: asked.starts.unwrap_or(true),
    });
    told(forked.await?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    run_id: RunId,
    from_checkpoint_id: Option<String>,
    to_checkpoint_id: Option<String>,
    #[serde(default)]
    paths: Option<Vec<String>>,
}

async fn diff(asked: Compared, house: &House) -> Result<Value, Problem> {
    let query = DiffQuery {
        from: end(asked.from_checkpoint_id, DiffEnd::Start)?,
        to: end(asked.to_checkpoint_id, DiffEnd::Now)?,
        paths: asked.paths.unwrap_or_default(),
    };
    told(house.agents.read_diff(&asked.run_id, &query).await?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenBack {
    run_id: RunId,
    checkpoint_id: String,
    scope: Option<RollbackScope>,
    reason: Option<String>,
    planned_at: Option<u64>,
}

async fn rollback(asked: TakenBack, house: &House) -> Result<Value, Problem> {
    let receipt = house.agents.rollback(Rollback {
        run: asked.run_id,
        to: DiffEnd::parse(&asked.checkpoint_id)?,
        scope: asked.scope.unwrap_or(RollbackScope::Workspace),
        reason: asked.reason,
        planned_at: asked.planned_at,
    });
    told(receipt.await?)
}

fn end(text: Option<String>, otherwise: DiffEnd) -> Result<DiffEnd, Problem> {
    match text {
        Some(text) => Ok(DiffEnd::parse(&text)?),
        None => Ok(otherwise),
    }
}

/// The tools that agents can be offered.
fn tools(house: &House) -> Value {
    let snapshot = house.tools.registry().snapshot();
    let tools: Vec<Value> = snapshot
        .tools()
        .map(|tool| tool.definition())
        .map(|tool| {
            json!({
                "id": tool.id,
                "name": tool.id,
                "modelName": tool.id.as_str().replace(['.', ':'], "_"),
                "nativeName": tool.id.as_str().replace(['.', ':'], "_"),
                "title": tool.display_name,
                "description": tool.description,
                "inputSchema": tool.parameters,
                "outputSchema": tool.output,
                "annotations": tool.extra.get("annotations").unwrap_or(&json!({})),
                "source": tool.source,
            })
        })
        .collect();
    json!({ "tools": tools, "diagnostics": [] })
}
