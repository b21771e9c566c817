//! `innkeeper runs prune`: what would go is shown first, then it goes. And the same by itself after a run, where it is wanted.

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::retention::{
    BlockReason, Driven, RetentionAction, RetentionOutcome, RetentionPlan, RetentionProgress,
};
use innkeeper_agent::instance::{Retention, RetentionQuery, RetentionSettings};
use innkeeper_store::StoreError;

use super::cancel::with_runtime;
use super::delete::agreed;
use super::words::status_word;
use crate::cli::RunsPruneArgs;
use crate::commands::Ended;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::limits::PRUNE_NOTE_EVERY;
use crate::output::Screen;
use crate::platform::open_store_to_read;
use crate::runtime::block_on;
use crate::settings::{self, Settings};
use crate::table::Table;

pub(super) fn run(args: &RunsPruneArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let laid_down = Settings::read(&home.file(settings::FILE))?.retention;
    let query = query(args, laid_down, screen)?;
    if args.dry_run {
        let plan = planned(home, &query)?;
        match screen.json {
            true => screen.document(&plan)?,
            false => show(&plan, screen)?,
        }
        return Ok(Ended::Done);
    }
    if !args.yes {
        let plan = planned(home, &query)?;
        if !screen.json {
            show(&plan, screen)?;
        }
        let (slim, gone) = (plan.slim_candidate_count, plan.delete_candidate_count);
        let (states, worlds) = lost(&plan);
        if slim + gone + states + worlds > 0 {
            let question = screen.pick(
                format!(
                    "Slim {slim} runs and delete {gone}, with {states} states and {worlds} worlds? [y/N] "
                ),
                format!(
                    "精简 {slim} 次运行，删除 {gone} 次，连同 {states} 个状态和 {worlds} 个世界状态？[y/N] "
                ),
            );
            agreed(&question)?;
        }
    }
    let done = with_runtime(home, screen, async |runtime, store| {
        let _lock = store.claim_home().await?;
        let told = |progress: RetentionProgress| {
            if screen.shows_progress() && progress.runs().is_multiple_of(PRUNE_NOTE_EVERY) {
                let (slimmed, deleted) = (progress.slimmed, progress.deleted);
                screen.note(
                    &format!("{slimmed} runs slimmed, {deleted} deleted …"),
                    &format!("已精简 {slimmed} 次运行，删除 {deleted} 次……"),
                );
            }
        };
        Ok(runtime.retention().apply(&query, &told).await?)
    })?;
    match screen.json {
        true => screen.document(&done)?,
        false => tell(&done, screen)?,
    }
    Ok(match done.failed_run_count {
        0 => Ended::Done,
        _ => Ended::Failed,
    })
}

/// States and worlds that go with runs, or that nobody can come to already.
fn lost(plan: &RetentionPlan) -> (u64, u64) {
    (
        plan.total_delete_state_count + plan.orphaned_state_count,
        plan.total_delete_world_count + plan.orphaned_world_count,
    )
}

/// What is said here wins over what is laid down.
fn query(
    args: &RunsPruneArgs,
    laid_down: RetentionSettings,
    screen: &Screen,
) -> Result<RetentionQuery, Failure> {
    let recent = args.keep.unwrap_or(laid_down.keep_recent_terminal_runs);
    // Whoever keeps fewer than are kept whole means these, too.
    let full = args
        .keep_full
        .unwrap_or(laid_down.keep_full_recent_runs.min(recent));
    if full > recent {
        return Err(Failure::Usage(screen.pick(
            format!("{full} runs cannot be kept whole where {recent} are kept at all; give --keep-full at most {recent}; see innkeeper runs prune --help"),
            format!("总共只保留 {recent} 次运行，不能完整保留 {full} 次；--keep-full 最多为 {recent}；详见 innkeeper runs prune --help"),
        )));
    }
    let settings = RetentionSettings {
        keep_recent_terminal_runs: recent,
        keep_full_recent_runs: full,
        ..laid_down
    };
    Ok(RetentionQuery {
        retention: Some(settings.checked()?),
        detail_limit: None,
    })
}

fn planned(home: &Home, query: &RetentionQuery) -> Result<RetentionPlan, Failure> {
    block_on(async {
        let store = open_store_to_read(home).await?;
        let driven = match store.claim_home().await {
            Err(StoreError::InUse { .. }) => Driven::Elsewhere,
            _ => Driven::HereOrNowhere,
        };
        let plan = Retention::reading(&store).driven(driven).plan(query).await;
        store.close().await?;
        Ok(plan?)
    })
}

fn show(plan: &RetentionPlan, screen: &Screen) -> Result<(), Failure> {
    let lang = screen.lang;
    if !plan.candidates.is_empty() {
        let headings = screen.pick(
            ["RUN", "STATUS", "WHAT", "BYTES"],
            ["运行", "状态", "处理", "字节"],
        );
        let mut table = Table::new(&headings);
        for one in &plan.candidates {
            let what = match one.action {
                RetentionAction::SlimHeavyArtifacts => screen.pick("slim", "精简"),
                RetentionAction::DeleteRun => screen.pick("delete", "删除"),
            };
            let status = one
                .run
                .status
                .map_or("", |status| status_word(status, lang));
            let bytes = one.byte_count.to_string();
            table.row([one.run.run_id.as_str(), status, what, &bytes]);
        }
        screen.table(&table)?;
    }
    for blocked in &plan.blocked_runs {
        let why = match blocked.block_reason {
            BlockReason::ActiveRun => screen.pick("it is at work", "正在进行"),
            BlockReason::MissingTerminalEvent => screen.pick("it has no end", "没有结束"),
            BlockReason::InvalidJournal => screen.pick("its journal is damaged", "日志已损坏"),
            BlockReason::InvalidStorage => screen.pick("it cannot be read", "无法读取"),
        };
        let more = blocked.message.as_deref().map(message).unwrap_or_default();
        let more = match more.is_empty() {
            true => String::new(),
            false => format!(" ({more})"),
        };
        let run = &blocked.run.run_id;
        screen.note(
            &format!("{run} stays: {why}{more}"),
            &format!("{run} 保留：{why}{more}"),
        );
    }
    for orphans in &plan.orphans {
        let (workspace, count) = (&orphans.workspace_id, orphans.state_ids.len());
        match orphans.world {
            true => screen.note(
                &format!("{workspace}: its world goes, its runs are gone"),
                &format!("{workspace}：运行已不在，世界状态会删除"),
            ),
            false => screen.note(
                &format!("{workspace}: {count} states go, no later run can begin with them"),
                &format!("{workspace}：{count} 个状态会删除，以后的运行再也用不到"),
            ),
        }
    }
    if plan.candidate_details_truncated
        || plan.blocked_details_truncated
        || plan.orphan_details_truncated
    {
        screen.note("There are more than are named", "还有更多，没有一一列出");
    }
    let (slim, gone) = (plan.slim_candidate_count, plan.delete_candidate_count);
    let (terminal, bytes) = (plan.terminal_run_count, plan.total_candidate_byte_count);
    let (states, worlds) = lost(plan);
    screen.text(&screen.pick(
        format!("{terminal} runs are over: {slim} would be slimmed, {gone} deleted, with {states} states and {worlds} worlds; at least {bytes} bytes become free"),
        format!("已结束 {terminal} 次运行：精简 {slim} 次，删除 {gone} 次，连同 {states} 个状态和 {worlds} 个世界状态；至少释放 {bytes} 字节"),
    ))
}

fn tell(done: &RetentionOutcome, screen: &Screen) -> Result<(), Failure> {
    for failed in &done.failed_runs {
        let why = message(&failed.message);
        let run = &failed.candidate.run.run_id;
        screen.note(
            &format!("{run} stays: {why}"),
            &format!("{run} 保留：{why}"),
        );
    }
    let (slim, gone) = (done.slimmed_run_count, done.deleted_run_count);
    let bytes = done.removed_byte_count;
    let (states, worlds) = (done.removed_state_count, done.removed_world_count);
    screen.text(&screen.pick(
        format!("{slim} runs slimmed, {gone} deleted, {states} states and {worlds} worlds that nobody could come to removed, {bytes} bytes free"),
        format!("已精简 {slim} 次运行，删除 {gone} 次，清理再也用不到的 {states} 个状态和 {worlds} 个世界状态，释放 {bytes} 字节"),
    ))
}

/// After a run, where the settings say so: a bounded pass. What goes wrong with it is no fault of the run.
pub(super) async fn tidy(runtime: &AgentRuntime, settings: RetentionSettings, screen: &Screen) {
    match runtime.retention().with_settings(settings).tick().await {
        Ok(Some(done)) if done.runs() > 0 => {
            let (slim, gone) = (done.slimmed, done.deleted);
            screen.note(
                &format!("Old runs: {slim} slimmed, {gone} deleted"),
                &format!("旧的运行：精简 {slim} 次，删除 {gone} 次"),
            );
        }
        Ok(_) => {}
        Err(error) => {
            let why = message(&error.message);
            screen.note(
                &format!("Old runs could not be let go of: {why}"),
                &format!("未能清理旧的运行：{why}"),
            );
        }
    }
}
