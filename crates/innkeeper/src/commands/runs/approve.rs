//! `innkeeper runs approve`: a person's answer to a run that waits for one. Here if nobody drives the run, through its
//! letterbox if somebody does. The journal of the run tells what was answered.
//!
//! What waits and what is meant is `waiting.rs`.

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{ApprovalReceipt, ApproveToolCall, RunMessage, pending_in};
use innkeeper_agent::run::Remember;
use innkeeper_protocol::event::{RunEventKind, RunId};
use innkeeper_store::Store;
use innkeeper_store::journal::EventRange;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::cancel::{Elsewhere, with_runtime};
use super::find::find;
use super::question::About;
use super::waiting::{self, meant};
use crate::cli::{RunsApproveArgs, RunsRemember};
use crate::commands::Ended;
use crate::failure::{Failure, Place, RunFault, json_cause};
use crate::home::Home;
use crate::input::{Source, text_of};
use crate::limits::{DRIVEN_TIMEOUT, EVENTS_PAGE, MAX_ARGUMENTS_BYTES, POLL_EVERY};
use crate::output::Screen;
use crate::visible::{self, visible};

/// What is told of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    #[serde(flatten)]
    receipt: ApprovalReceipt,
    /// Somebody goes on with it now.
    driven: bool,
    /// The same had been said already.
    answered_before: bool,
}

pub(super) fn run(args: &RunsApproveArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    if args.list {
        return waiting::list(args.run.as_deref(), home, screen);
    }
    let arguments = args.arguments.as_deref().map(arguments).transpose()?;
    let named = args.run.as_deref().unwrap_or_default();
    let given = with_runtime(home, screen, async |runtime, store| {
        let run = find(&runtime.reader(), named).await?;
        let (call, approval_id) = meant(runtime, &run, args.call.as_deref()).await?;
        let answer = ApproveToolCall {
            approved: !args.deny,
            reason: args.reason.clone(),
            remember: args.remember.map_or(Remember::Once, Into::into),
            arguments,
            approval_id,
            ..ApproveToolCall::new(run, call, true)
        };
        answered(runtime, store, answer).await
    })?;
    match screen.json {
        true => screen.document(&given)?,
        false => screen.text(&said(&given, screen))?,
    }
    Ok(Ended::Done)
}

/// What was asked, and what the answer is.
fn said(given: &Given, screen: &Screen) -> String {
    let receipt = &given.receipt;
    let about = About {
        name: &receipt.name,
        caller: receipt.invocation_id.as_ref(),
        question: receipt.question.as_deref(),
        reason: None,
    };
    let mut text = match receipt.question {
        Some(_) => about.told(screen.lang, |arguments| arguments) + "\n",
        None => String::new(),
    };
    if let Some(edited) = &receipt.edited_arguments {
        text.push_str(screen.pick("It is called with\n", "改用以下参数调用\n"));
        text.push_str(&visible::json(edited));
        text.push('\n');
    }
    let run = &receipt.run_id;
    let call = format!(
        "{} ({})",
        visible(receipt.call_id.as_str()),
        receipt.approval_id
    );
    text.push_str(&match (receipt.approved, given.answered_before) {
        (true, false) => screen.pick(format!("{call} is approved"), format!("已批准 {call}")),
        (false, false) => screen.pick(format!("{call} is denied"), format!("已拒绝 {call}")),
        (true, true) => screen.pick(
            format!("{call} was approved before"),
            format!("{call} 此前已批准"),
        ),
        (false, true) => screen.pick(
            format!("{call} was denied before"),
            format!("{call} 此前已拒绝"),
        ),
    });
    text.push_str(match (receipt.approved, receipt.remember) {
        (true, Remember::Run) => screen.pick(" for this run", "，在本次运行中有效"),
        (true, Remember::Always) => screen.pick(" for always", "，始终有效"),
        _ => "",
    });
    text.push_str(&match given.driven {
        true => screen.pick(format!("; {run} goes on"), format!("；{run} 继续进行")),
        false => screen.pick(
            format!("; nobody drives {run}: innkeeper runs resume {run} goes on with it"),
            format!("；没有进程驱动 {run}：innkeeper runs resume {run} 会继续它"),
        ),
    });
    text
}

async fn answered(
    runtime: &AgentRuntime,
    store: &Store,
    answer: ApproveToolCall,
) -> Result<Given, Failure> {
    // What is wrong with it is told here, and not left to a process that can tell nobody.
    let receipt = runtime.check_approval(&answer).await?;
    let run = answer.run.clone();
    let after = runtime.record(&run).await?.last_seq;
    let message = RunMessage::Approve(answer.clone());
    let mut elsewhere = Elsewhere::new(runtime, store, &run);
    loop {
        if !is_open(runtime, &answer).await? {
            // Answered by whoever drives it, with this or with something else. The run may have gone on since.
            let now = told_behind(runtime, &answer, after).await?;
            if now != Some(true) {
                runtime.check_approval(&answer).await?;
            }
            return Ok(Given {
                receipt,
                driven: is_driven(runtime, &elsewhere, &run, &answer).await?,
                answered_before: now.is_none(),
            });
        }
        if let Some(_lock) = elsewhere.claimed().await? {
            // Whoever had the home may have taken the answer along before it left.
            if !is_open(runtime, &answer).await? {
                continue;
            }
            return Ok(Given {
                receipt: runtime.note_approval(answer).await?,
                driven: false,
                answered_before: false,
            });
        }
        if !elsewhere.told(&message).await? {
            elsewhere.withdraw().await?;
            let run = run.to_string();
            return Err(RunFault::NotHeard { run }.into());
        }
    }
}

/// Whether the question waits.
async fn is_open(runtime: &AgentRuntime, answer: &ApproveToolCall) -> Result<bool, Failure> {
    let waiting = pending_in(&runtime.reader().state(&answer.run).await?);
    let is_meant = |id: &str| {
        answer
            .approval_id
            .as_deref()
            .is_none_or(|meant| meant == id)
    };
    Ok(waiting
        .iter()
        .any(|asked| asked.call_id == answer.call && is_meant(&asked.approval_id)))
}

/// Whether anybody goes on with it. A process that has the home need not drive this run: then nothing comes of the answer.
async fn is_driven(
    runtime: &AgentRuntime,
    elsewhere: &Elsewhere<'_>,
    run: &RunId,
    answer: &ApproveToolCall,
) -> Result<bool, Failure> {
    let until = tokio::time::Instant::now() + DRIVEN_TIMEOUT;
    loop {
        if runtime.record(run).await?.status.is_terminal() {
            return Ok(true);
        }
        if elsewhere.claimed().await?.is_some() {
            return Ok(false);
        }
        if has_gone_on(runtime, answer).await? {
            return Ok(true);
        }
        if tokio::time::Instant::now() >= until {
            return Ok(false);
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// What the answer is in the journal behind that event: `true` for this very one, `false` for another, nothing where there
/// is none.
async fn told_behind(
    runtime: &AgentRuntime,
    answer: &ApproveToolCall,
    after: u64,
) -> Result<Option<bool>, Failure> {
    let mut found = None;
    each_event(runtime, &answer.run, after, |kind| {
        if let Some(same) = found.is_none().then(|| is_this(kind, answer)).flatten() {
            found = Some(same);
        }
    })
    .await?;
    Ok(found)
}

/// Whether the run did anything behind the answer.
async fn has_gone_on(runtime: &AgentRuntime, answer: &ApproveToolCall) -> Result<bool, Failure> {
    let (mut is_answered, mut has_gone_on) = (false, false);
    each_event(runtime, &answer.run, 0, |kind| match kind {
        RunEventKind::StatusChanged(_) => {}
        RunEventKind::ToolCallApproved(_) | RunEventKind::ToolCallDenied(_) => {
            is_answered |= is_this(kind, answer).is_some();
        }
        _ => has_gone_on |= is_answered,
    })
    .await?;
    Ok(has_gone_on)
}

/// `None`: it is no answer to that question.
fn is_this(kind: &RunEventKind, answer: &ApproveToolCall) -> Option<bool> {
    let (approved, answered) = match kind {
        RunEventKind::ToolCallApproved(answered) => (true, answered),
        RunEventKind::ToolCallDenied(answered) => (false, answered),
        _ => return None,
    };
    let told = |name: &str| answered.extra.get(name).and_then(Json::as_str);
    if told("approvalId") != answer.approval_id.as_deref() {
        return None;
    }
    let is_edited = answered.extra.contains_key("argumentsEdited");
    let remember = told("remember").unwrap_or(answer.remember.as_str());
    let is_same = approved == answer.approved
        && is_edited == answer.arguments.is_some()
        && remember == answer.remember.as_str();
    Some(is_same)
}

async fn each_event(
    runtime: &AgentRuntime,
    run: &RunId,
    after: u64,
    mut each: impl FnMut(&RunEventKind),
) -> Result<(), Failure> {
    let mut seq = after;
    loop {
        let limit = EVENTS_PAGE;
        let events = runtime
            .events(run, EventRange::After { seq, limit })
            .await?;
        let Some(last) = events.last() else {
            return Ok(());
        };
        seq = last.seq;
        events.iter().for_each(|event| each(&event.kind));
    }
}

/// JSON, `@file`, or `-` for standard input.
fn arguments(given: &str) -> Result<Map<String, Json>, Failure> {
    let source = match given.strip_prefix('@') {
        Some(file) => Some(Source::File(file.into())),
        None if given == "-" => Some(Source::Stdin),
        None => None,
    };
    let (text, place) = match &source {
        Some(source) => {
            let text = text_of(source, MAX_ARGUMENTS_BYTES, std::io::stdin().lock())?;
            (text, source.place())
        }
        None => (given.to_owned(), Place::File("--arguments".to_owned())),
    };
    serde_json::from_str(&text).map_err(|error| Failure::NotJson(place, json_cause(&error)))
}

impl From<RunsRemember> for Remember {
    fn from(given: RunsRemember) -> Self {
        match given {
            RunsRemember::Once => Self::Once,
            RunsRemember::Run => Self::Run,
            RunsRemember::Always => Self::Always,
        }
    }
}
