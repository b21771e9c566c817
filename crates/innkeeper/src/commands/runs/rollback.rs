//! `innkeeper runs rollback`: a run as it was at one of its checkpoints, after a person has seen what that takes back.

use innkeeper_agent::instance::{AgentError, DiffEnd, Rollback, RollbackPlan, RollbackReceipt};
use innkeeper_protocol::event::{RollbackScope, RunId};

use super::delete::agreed;
use super::diff::status;
use super::find::{find, reading};
use super::house::House;
use super::start::approve;
use crate::cli::RunsRollbackArgs;
use crate::commands::Ended;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::limits::MAX_PREVIEW_FILES;
use crate::output::Screen;
use crate::runtime::block_on;

pub(super) fn run(args: &RunsRollbackArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let scope = RollbackScope::from(args.scope);
    let (run, to, plan) = reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        let to = match &args.checkpoint {
            Some(given) if !args.undo => DiffEnd::parse(given)?,
            _ => DiffEnd::Checkpoint(reader.before_last_rollback(&run).await?),
        };
        // Nobody looks at it where all is agreed to.
        let plan = match args.yes {
            true => None,
            false => Some(reader.rollback_plan(&run, &to, scope).await?),
        };
        Ok((run, to, plan))
    })?;
    if let Some(plan) = &plan {
        show(plan, screen);
        let at = to.as_str();
        let asked = screen.pick(
            format!("Roll {run} back to {at}? [y/N] "),
            format!("把 {run} 退回到 {at}？[y/N] "),
        );
        agreed(&asked)?;
    }
    let approver = approve(false, true).approver(screen);
    let receipt = block_on(async {
        let house = House::open(home, approver, screen).await?;
        let asked = Rollback {
            run: run.clone(),
            to: to.clone(),
            scope,
            reason: args.reason.clone(),
            // What a person has agreed to, or whatever it is by now.
            planned_at: plan.map(|plan| plan.last_seq),
        };
        let receipt = house.runtime.rollback(asked).await;
        if receipt.as_ref().is_err_and(has_moved) {
            let reader = house.runtime.reader();
            if let Ok(now) = reader.rollback_plan(&run, &to, scope).await {
                show(&now, screen);
            }
        }
        let closed = house.close(screen).await;
        let receipt = receipt?;
        closed.map(|()| receipt)
    })?;
    match screen.json {
        true => screen.document(&receipt)?,
        false => told(&receipt, screen),
    }
    Ok(Ended::Done)
}

/// What was agreed to is not what would be done.
fn has_moved(error: &AgentError) -> bool {
    error.reason.as_deref() == Some("agent.rollback_moved")
}

/// What would be taken back.
fn show(plan: &RollbackPlan, screen: &Screen) {
    let files = &plan.diff.files;
    let (count, rounds) = (files.len(), plan.rounds);
    let say = |line: String| screen.note(&line, &line);
    say(screen.pick(
        format!(
            "Back at {}: {count} files change, {rounds} replies of the model are taken back",
            plan.checkpoint_id.as_str()
        ),
        format!(
            "退回到 {}：改变 {count} 个文件，撤回模型的 {rounds} 次回复",
            plan.checkpoint_id.as_str()
        ),
    ));
    for file in files.iter().take(MAX_PREVIEW_FILES) {
        say(format!(
            "  {} {}",
            status(file.status, screen),
            message(&file.path)
        ));
    }
    if count > MAX_PREVIEW_FILES {
        say("  …".to_owned());
    }
    for one in &plan.published {
        let (path, id) = (message(&one.path), message(&one.message_id));
        say(match plan.scope {
            RollbackScope::Workspace => screen.pick(
                format!("  {path} stays published as {id}"),
                format!("  {path} 仍以 {id} 发布"),
            ),
            RollbackScope::CommittedMessage => screen.pick(
                format!("  {path}, published as {id}, is withdrawn"),
                format!("  以 {id} 发布的 {path} 会被收回"),
            ),
        });
    }
    for key in &plan.granted {
        let (tool, actor) = (message(&key.tool), message(&key.actor));
        say(screen.pick(
            format!("  {tool}, allowed for {actor} in this run, will be asked again"),
            format!("  本次运行中允许 {actor} 调用 {tool} 的回答会撤回，将重新询问"),
        ));
    }
    taken_over(&plan.later_runs, screen);
}

/// What later runs have begun with stays with them.
fn taken_over(later: &[RunId], screen: &Screen) {
    if later.is_empty() {
        return;
    }
    let count = later.len();
    screen.note(
        &format!(
            "  Later runs of the chat have gone on from what it left, and keep that ({count}):"
        ),
        &format!("  这个聊天后来的运行已从它留下的记忆继续，并会保留（{count} 次）："),
    );
    for run in later.iter().take(MAX_PREVIEW_FILES) {
        screen.note(&format!("  {run}"), &format!("  {run}"));
    }
    if count > MAX_PREVIEW_FILES {
        screen.note("  …", "  …");
    }
}

fn told(receipt: &RollbackReceipt, screen: &Screen) {
    let (run, back) = (&receipt.run_id, &receipt.rolled_back);
    let to = &back.checkpoint_id;
    let (on, on_zh) = match receipt.can_resume {
        true => (
            format!("innkeeper run --resume {run} \"…\""),
            format!("innkeeper run --resume {run} \"……\""),
        ),
        // It is complete.
        false => {
            let fork = format!("innkeeper runs fork {run}");
            (fork.clone(), fork)
        }
    };
    screen.note(
        &format!("{run} is as it was at {to}; {on} goes on from there, innkeeper runs rollback {run} --undo takes this back"),
        &format!("{run} 已退回到 {to}；{on_zh} 可从那里继续，innkeeper runs rollback {run} --undo 可撤销"),
    );
    taken_over(&receipt.later_runs, screen);
    if !back.withdrawn_commits.is_empty() {
        screen.note(
            "What was withdrawn had been printed here, and stays where it was printed",
            "被收回的内容之前已输出到终端，不会从那里消失",
        );
    }
}
