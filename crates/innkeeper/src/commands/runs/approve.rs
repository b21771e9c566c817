//! `innkeeper runs approve`: a person's answer to a run that waits for one. Here if nobody drives the run, through its
//! letterbox if somebody does. The journal of the run tells what was answered.

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{ApprovalReceipt, ApproveToolCall, PendingApproval, RunMessage};
use innkeeper_agent::run::Remember;
use innkeeper_protocol::event::{CallId, RunId};
use innkeeper_store::Store;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::cancel::{Elsewhere, with_runtime};
use super::find::{find, reading};
use super::question;
use super::words::moment;
use crate::cli::{RunsApproveArgs, RunsRemember};
use crate::commands::Ended;
use crate::failure::{Failure, Place, RunFault, json_cause};
use crate::home::Home;
use crate::input::{Source, text_of};
use crate::limits::MAX_ARGUMENTS_BYTES;
use crate::output::Screen;
use crate::table::Table;

/// What is told of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    #[serde(flatten)]
    receipt: ApprovalReceipt,
    /// Somebody goes on with it now.
    driven: bool,
}

pub(super) fn run(args: &RunsApproveArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    if args.list {
        return list(args, home, screen);
    }
    let arguments = args.arguments.as_deref().map(arguments).transpose()?;
    let named = args.run.as_deref().unwrap_or_default();
    let given = with_runtime(home, screen, async |runtime, store| {
        let run = find(&runtime.reader(), named).await?;
        let call = meant(runtime, &run, args.call.as_deref()).await?;
        let answer = ApproveToolCall {
            approved: !args.deny,
            reason: args.reason.clone(),
            remember: args.remember.map_or(Remember::Once, Into::into),
            arguments,
            approval_id: call.1,
            ..ApproveToolCall::new(run, call.0, true)
        };
        answered(runtime, store, answer).await
    })?;
    match screen.json {
        true => screen.document(&given)?,
        false => screen.text(&said(&given, screen))?,
    }
    Ok(Ended::Done)
}

fn said(given: &Given, screen: &Screen) -> String {
    let receipt = &given.receipt;
    let (run, call) = (&receipt.run_id, &receipt.call_id);
    let said = match receipt.approved {
        true => screen.pick(format!("{call} is approved"), format!("已批准 {call}")),
        false => screen.pick(format!("{call} is denied"), format!("已拒绝 {call}")),
    };
    match given.driven {
        true => screen.pick(
            format!("{said}; {run} goes on"),
            format!("{said}；{run} 继续进行"),
        ),
        false => screen.pick(
            format!("{said}; innkeeper runs resume {run} goes on with it"),
            format!("{said}；innkeeper runs resume {run} 会继续它"),
        ),
    }
}

fn list(args: &RunsApproveArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let waiting = reading(home, async |reader| {
        let run = match &args.run {
            Some(run) => Some(find(reader, run).await?),
            None => None,
        };
        Ok(reader.pending_approvals(run.as_ref()).await?)
    })?;
    if screen.json {
        screen.document(&waiting)?;
        return Ok(Ended::Done);
    }
    if waiting.is_empty() {
        screen.note("Nothing waits for an answer", "没有等待回答的调用");
        return Ok(Ended::Done);
    }
    screen.table(&table(&waiting, screen))?;
    Ok(Ended::Done)
}

pub(super) fn table(waiting: &[PendingApproval], screen: &Screen) -> Table {
    let headings = screen.pick(
        ["RUN", "CALL", "TOOL", "WITH", "RULE", "UNTIL"],
        ["运行", "调用", "工具", "参数", "规则", "截止"],
    );
    let mut table = Table::new(&headings);
    for asked in waiting {
        let question = asked.question.as_deref();
        table.row([
            asked.run_id.as_str(),
            asked.call_id.as_str(),
            question.map_or(asked.name.as_str(), |question| &question.tool),
            &question.map(question::in_short).unwrap_or_default(),
            question.map_or("", |question| &question.rule),
            &asked.expires_at.map(moment).unwrap_or_default(),
        ]);
    }
    table
}

/// The call, and the very question that it waits with. One that does not wait is named as it was given: the run says what
/// is to be said of it.
async fn meant(
    runtime: &AgentRuntime,
    run: &RunId,
    given: Option<&str>,
) -> Result<(CallId, Option<String>), Failure> {
    let waiting = runtime.pending_approvals(Some(run)).await?;
    let named = |asked: &PendingApproval| (asked.call_id.clone(), Some(asked.approval_id.clone()));
    match (given, waiting.as_slice()) {
        (Some(given), waiting) => {
            let fits = |asked: &&PendingApproval| {
                asked.call_id.as_str() == given || asked.approval_id == given
            };
            let found = waiting.iter().find(fits).map(named);
            Ok(found.unwrap_or_else(|| (CallId::new(given), None)))
        }
        (None, [only]) => Ok(named(only)),
        (None, []) if runtime.record(run).await?.status.is_terminal() => {
            let run = run.to_string();
            Err(RunFault::Over { run }.into())
        }
        (None, []) => Err(RunFault::NothingWaits {
            run: run.to_string(),
        }
        .into()),
        (None, several) => Err(RunFault::SeveralWait {
            run: run.to_string(),
            calls: several
                .iter()
                .map(|asked| format!("{} ({})", asked.call_id, asked.name))
                .collect(),
        }
        .into()),
    }
}

async fn answered(
    runtime: &AgentRuntime,
    store: &Store,
    answer: ApproveToolCall,
) -> Result<Given, Failure> {
    // What is wrong with it is told here, and not left to a process that can tell nobody.
    runtime.check_approval(&answer).await?;
    let run = answer.run.clone();
    let message = RunMessage::Approve(answer.clone());
    let mut elsewhere = Elsewhere::new(runtime, store, &run);
    loop {
        let waiting = runtime.pending_approvals(Some(&run)).await?;
        if !waiting.iter().any(|asked| asked.call_id == answer.call) {
            // Answered by whoever drives it, with this or with something else.
            runtime.check_approval(&answer).await?;
            return Ok(Given {
                receipt: receipt(&answer),
                driven: true,
            });
        }
        if let Some(_lock) = elsewhere.claimed().await? {
            return Ok(Given {
                receipt: runtime.note_approval(answer).await?,
                driven: false,
            });
        }
        if !elsewhere.told(&message).await? {
            elsewhere.withdraw().await?;
            let run = run.to_string();
            return Err(RunFault::NotHeard { run }.into());
        }
    }
}

fn receipt(answer: &ApproveToolCall) -> ApprovalReceipt {
    ApprovalReceipt {
        run_id: answer.run.clone(),
        call_id: answer.call.clone(),
        approval_id: answer.approval_id.clone().unwrap_or_default(),
        approved: answer.approved,
        remember: answer.remember,
        arguments_edited: answer.arguments.is_some(),
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
