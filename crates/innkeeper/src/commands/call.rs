//! `innkeeper call`: a model's text in, what came of the calls in it out.
//!
//! Owns who calls and how the end is told; whether a call may be made, and making it, is the tools crate's.

use std::io::IsTerminal;

use innkeeper_protocol::{Aliases, Observation, Reply, render_observation, understand};
use innkeeper_tools::{Caller, Pattern, Reach, RunOptions, ToolRun};
use serde_json::Value as Json;

use super::{Ended, project};
use crate::approve::Approve;
use crate::cli::CallArgs;
use crate::failure::{Failure, ToolFault};
use crate::home::Home;
use crate::input::{Source, text_of};
use crate::limits::MAX_REPLY_BYTES;
use crate::output::Screen;
use crate::platform::{Platform, new_run};
use crate::runtime::{block_on, watch};

/// The profile under whose name these calls are made; rules and grants may name it.
const PROFILE: &str = "cli";

pub(crate) fn run(args: &CallArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let stdin = std::io::stdin();
    let source = Source::of("call", args.reply.file.as_deref(), stdin.is_terminal())?;
    let project = project(&args.project)?;
    let text = text_of(&source, MAX_REPLY_BYTES, stdin.lock())?;
    let mut reply = understand(&text, args.reply.protocol.into());
    if reply.blocks.is_empty() && Observation::of_reply(&reply).is_empty() {
        return Err(ToolFault::NoCall(source.place()).into());
    }
    let approve = match args.yes {
        true => Approve::Answered,
        // Standard input may be the text itself; then nobody can answer there.
        false if source == Source::Stdin => Approve::Nobody,
        false => Approve::Person,
    };
    let heard = block_on(async {
        let platform = Platform::open(home, approve.approver(screen)).await?;
        let mut caller = Caller::agent(PROFILE, new_run(), reach(args));
        let request_scope = Some(format!("cli:{project}"));
        caller.project = project;
        let run = platform.tools.begin(
            caller,
            RunOptions {
                budget: platform.budget.clone(),
                request_scope,
                ..RunOptions::default()
            },
        );
        restore_names(&run, &mut reply);
        let heard = hear(&run, &reply, screen).await;
        drop(run);
        platform.close().await?;
        Ok(heard)
    })?;
    tell(&heard.observations, screen)?;
    let failed = heard
        .observations
        .iter()
        .any(|observation| observation.error_code().is_some());
    match (heard.interrupted, failed) {
        (true, _) => Ok(Ended::Interrupted),
        (false, true) => Ok(Ended::Failed),
        (false, false) if reply.blocks.is_empty() => Err(ToolFault::NoCall(source.place()).into()),
        (false, false) => Ok(Ended::Done),
    }
}

fn reach(args: &CallArgs) -> Reach {
    let patterns = |texts: &[String]| texts.iter().map(Pattern::new).collect();
    Reach {
        allow: match args.allow.is_empty() {
            true => Reach::everything().allow,
            false => patterns(&args.allow),
        },
        deny: patterns(&args.deny),
    }
}

/// A dialect that cannot spell a tool's id was shown another name for it (`File_Read`).
fn restore_names(run: &ToolRun, reply: &mut Reply<'_>) {
    for block in &mut reply.blocks {
        let offered = run.snapshot().definitions(&run.caller().reach);
        let aliases = Aliases::new(offered, block.protocol);
        block
            .calls
            .iter_mut()
            .for_each(|call| aliases.restore(call));
    }
}

struct Heard {
    observations: Vec<Observation>,
    interrupted: bool,
}

/// Runs everything, and waits for what goes on in the background.
async fn hear(run: &ToolRun, reply: &Reply<'_>, screen: &Screen) -> Heard {
    let watched = watch(run, screen, async {
        let observations = run.run_reply(reply).await;
        run.settle().await;
        observations
    })
    .await;
    let mut observations = watched.value.unwrap_or_default();
    observations.extend(run.finished_tasks());
    Heard {
        observations,
        interrupted: watched.interrupted,
    }
}

fn tell(observations: &[Observation], screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        let records: Vec<Json> = observations.iter().map(record).collect();
        return screen.document(&records);
    }
    observations
        .iter()
        .try_for_each(|observation| screen.text(&render_observation(observation)))
}

/// The observation with its wording beside it.
pub(super) fn record(observation: &Observation) -> Json {
    let mut record = serde_json::to_value(observation).unwrap_or_default();
    if let Json::Object(fields) = &mut record {
        fields.insert("text".to_owned(), render_observation(observation).into());
    }
    record
}
