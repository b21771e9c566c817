//! `innkeeper runs checkpoints`: which there are, and what one of them holds.

use innkeeper_agent::instance::{
    CheckpointFile, CheckpointPage, CheckpointQuery, CheckpointView, DiffEnd, RunReader,
};
use innkeeper_protocol::event::RunId;
use serde_json::json;

use super::find::{find, reading};
use super::words::moment;
use crate::cli::RunsCheckpointsArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(
    args: &RunsCheckpointsArgs,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        match &args.checkpoint {
            None => list(reader, &run, screen).await?,
            Some(given) => one(reader, &run, given, screen).await?,
        }
        Ok(Ended::Done)
    })
}

async fn list(reader: &RunReader, run: &RunId, screen: &Screen) -> Result<(), Failure> {
    let all = all(reader, run).await?;
    let is_slim = reader.record(run).await?.is_slim;
    if screen.json {
        let mut told = json!(all);
        if is_slim {
            told["filesGone"] = true.into();
        }
        return screen.document(&told);
    }
    if is_slim && !all.checkpoints.is_empty() {
        screen.note(
            "The run was slimmed: the files of these checkpoints are gone, and it cannot be set back to them",
            "这次运行已精简：这些检查点的文件已不在，也不能退回到它们",
        );
    }
    if all.checkpoints.is_empty() {
        screen.note(
            "No checkpoints: the run has made none",
            "没有检查点：这次运行还没有留下检查点",
        );
        return Ok(());
    }
    let headings = screen.pick(
        ["CHECKPOINT", "EVENT", "MADE", "WHY", "CHANGED"],
        ["检查点", "事件", "时间", "原因", "改动"],
    );
    let mut table = Table::new(&headings);
    for checkpoint in &all.checkpoints {
        let changed = checkpoint.changed.iter().map(|path| match path.as_str() {
            "private state" => screen.pick("private state", "私有状态"),
            path => path,
        });
        let mut changed = changed.collect::<Vec<_>>().join(", ");
        if checkpoint.changed.len() < checkpoint.changed_count {
            changed.push_str(", …");
        }
        table.row([
            checkpoint.id.as_str(),
            &checkpoint.event_seq.to_string(),
            &made(checkpoint),
            &why(checkpoint, screen),
            &changed,
        ]);
    }
    screen.table(&table)
}

async fn all(reader: &RunReader, run: &RunId) -> Result<CheckpointPage, Failure> {
    let mut query = CheckpointQuery::default();
    let mut all = reader.checkpoints(run, query).await?;
    while let Some(next) = all.next.take() {
        query.after = next;
        let page = reader.checkpoints(run, query).await?;
        all.checkpoints.extend(page.checkpoints);
        all.next = page.next;
    }
    Ok(all)
}

async fn one(reader: &RunReader, run: &RunId, given: &str, screen: &Screen) -> Result<(), Failure> {
    let id = match DiffEnd::parse(given)? {
        DiffEnd::Checkpoint(id) => id,
        end @ (DiffEnd::Start | DiffEnd::Now) => return moment_of(reader, run, &end, screen).await,
    };
    let checkpoint = reader.checkpoint(run, &id).await?;
    if screen.json {
        return screen.document(&checkpoint);
    }
    let mut table = Table::plain();
    table.row([screen.pick("checkpoint", "检查点"), checkpoint.id.as_str()]);
    table.row([
        screen.pick("event", "事件"),
        &checkpoint.event_seq.to_string(),
    ]);
    table.row([screen.pick("made", "时间"), &made(&checkpoint)]);
    table.row([screen.pick("why", "原因"), &why(&checkpoint, screen)]);
    screen.table(&table)?;
    held(&checkpoint.files.unwrap_or_default(), screen)
}

/// The beginning and the end are no checkpoints, and hold files all the same.
async fn moment_of(
    reader: &RunReader,
    run: &RunId,
    end: &DiffEnd,
    screen: &Screen,
) -> Result<(), Failure> {
    let tree = reader.files_at(run, end).await?;
    let files = tree.0.into_iter().map(|(path, file)| CheckpointFile {
        path,
        sha256: file.sha256,
        bytes: file.bytes,
    });
    let files: Vec<CheckpointFile> = files.collect();
    if screen.json {
        return screen.document(&json!({"id": end, "runId": run, "files": files}));
    }
    if files.is_empty() {
        screen.note("There were no files", "当时没有文件");
    }
    held(&files, screen)
}

fn held(files: &[CheckpointFile], screen: &Screen) -> Result<(), Failure> {
    let mut table = Table::plain();
    for file in files {
        let sha: String = file.sha256.as_str().chars().take(12).collect();
        table.row([file.path.as_str(), &format!("{} B", file.bytes), &sha]);
    }
    if files.is_empty() {
        return Ok(());
    }
    screen.text(&format!("\n{}", screen.pick("Files", "文件")))?;
    screen.table(&table)
}

fn made(checkpoint: &CheckpointView) -> String {
    let time = checkpoint.created_at.to_string();
    time.parse().map(moment).unwrap_or(time)
}

fn why(checkpoint: &CheckpointView, screen: &Screen) -> String {
    if let Some(note) = &checkpoint.note {
        return note.clone();
    }
    let word = match checkpoint.reason.as_str() {
        "tool_workspace_write" => screen.pick("written", "写入"),
        "tool_workspace_delete" => screen.pick("deleted", "删除"),
        "tool_workspace_patch" => screen.pick("patched", "修补"),
        "tool_state_update" => screen.pick("private state", "私有状态"),
        "task_return" => screen.pick("result of a task", "任务结果"),
        "chat_commit" => screen.pick("published", "发布"),
        "direct_output_capture" => screen.pick("answer kept", "保留回答"),
        "requested" => screen.pick("asked for", "应要求"),
        "before_rollback" => screen.pick("before it was rolled back", "退回之前"),
        "rollback" => screen.pick("rolled back", "退回"),
        "fork" => screen.pick("branched off", "分出"),
        other => other,
    };
    word.to_owned()
}
