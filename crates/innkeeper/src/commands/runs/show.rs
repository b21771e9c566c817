//! `innkeeper runs show`: a run as a whole, one of its turns, or one of its files.

use innkeeper_agent::instance::{ModelTurnView, RunReader, pending_at};
use innkeeper_agent::run::{AgentRun, Commit};
use innkeeper_protocol::event::{InvocationId, RunEvent, RunId, TaskId};
use innkeeper_store::journal::{EventRange, RunRecord};
use serde_json::{Value as Json, json};

use super::agents::{self, Names};
use super::find::{find, reading};
use super::happened::Happened;
use super::spending;
use super::summary::answer;
use super::undone::{StandingRollback, Undone};
use super::waiting;
use super::words::{duration, moment, status_word};
use crate::cli::RunsShowArgs;
use crate::commands::Ended;
use crate::failure::{Failure, in_words};
use crate::home::Home;
use crate::limits::{EVENTS_PAGE, MAX_SHOWN_EVENTS, MAX_SHOWN_TURN_CHARS};
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(args: &RunsShowArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    reading(home, async |reader| {
        let run = find(reader, &args.run).await?;
        if let Some(task) = &args.task {
            agents::task(reader, &run, &TaskId::new(task), screen).await?;
            return Ok(Ended::Done);
        }
        match (args.turn, &args.file) {
            (Some(round), _) => {
                let invocation = args.invocation.as_deref().map(InvocationId::new);
                let invocation = invocation.unwrap_or_else(InvocationId::root);
                turn(reader, &run, &invocation, round, screen).await?;
            }
            (None, Some(path)) => {
                let file = reader.file(&run, path).await?;
                match screen.json {
                    true => screen.document(&file)?,
                    false => screen.text(&file.text)?,
                }
            }
            (None, None) => whole(reader, &run, screen).await?,
        }
        Ok(Ended::Done)
    })
}

async fn whole(reader: &RunReader, run: &RunId, screen: &Screen) -> Result<(), Failure> {
    let record = reader.record(run).await?;
    if record.is_slim {
        return slim(reader, &record, screen).await;
    }
    let state = reader.state(run).await?;
    let waiting = pending_at(&state, jiff::Timestamp::now());
    let events = last_events(reader, run, &record).await?;
    let undone = Undone::of(&events);
    let happened = Happened {
        events: &events,
        undone: &undone,
    };
    if screen.json {
        return screen.document(&json!({
            "record": record,
            "rolledBack": undone.rollback(),
            "paused": state.is_paused(),
            "maxRounds": state.max_rounds(),
            "spent": state.spent(),
            "failure": state.failure(),
            "answer": answer(&state),
            "turns": happened.turns(),
            "calls": happened.calls(),
            "files": state.workspace().files,
            "commits": state.commits().collect::<Vec<_>>(),
            "withdrawnCommits": state.withdrawn_commits().collect::<Vec<_>>(),
            "pendingCommit": state.pending_commit(),
            "timeline": state.timeline(),
            "pendingApprovals": waiting,
        }));
    }
    screen.table(&about(&record, &state, undone.rollback(), screen))?;
    let waiting = (!waiting.is_empty()).then(|| waiting::table(&waiting, screen));
    section(
        screen,
        "Waits for an answer (innkeeper runs approve)",
        "等待回答（innkeeper runs approve）",
        &waiting,
    )?;
    let timeline = state.timeline();
    let names = agents::names(&timeline);
    let agents = agents::tree(&timeline, &names, screen);
    section(screen, "Agents", "智能体", &agents)?;
    turns_and_calls(&happened, &names, screen)?;
    let (models, tools) = spending::tables(state.spent(), screen.lang);
    section(screen, "Models asked by", "谁询问了模型", &models)?;
    section(screen, "Tools", "工具", &tools)?;
    section(screen, "Files", "文件", &file_table(&state))?;
    section(
        screen,
        "Published",
        "已发布",
        &commit_table(&state, &happened, screen),
    )?;
    if let Some(answer) = answer(&state) {
        screen.text(&format!("\n{}\n{answer}", screen.pick("Answer", "回答")))?;
    }
    let first = events.first().map_or(1, |event| event.seq);
    if first > 1 {
        screen.note(
            &format!("Turns and calls before event {first} are not shown; innkeeper runs events {run} --after 0"),
            &format!("事件 {first} 之前的各轮和调用未显示；innkeeper runs events {run} --after 0"),
        );
    }
    Ok(())
}

/// Of a run of which only what happened is kept.
async fn slim(reader: &RunReader, record: &RunRecord, screen: &Screen) -> Result<(), Failure> {
    let events = last_events(reader, &record.run_id, record).await?;
    let undone = Undone::of(&events);
    let happened = Happened {
        events: &events,
        undone: &undone,
    };
    if screen.json {
        return screen.document(&json!({
            "record": record, "rolledBack": undone.rollback(),
            "turns": happened.turns(), "calls": happened.calls(),
        }));
    }
    let lang = screen.lang;
    let mut table = Table::plain().wrapped();
    let mut row = |english: &str, chinese: &str, value: &str| {
        table.told([lang.pick(english, chinese), value]);
    };
    row("run", "运行", record.run_id.as_str());
    row("status", "状态", status_word(record.status, lang));
    if let Some(back) = undone.rollback() {
        row("rolled back", "已退回", &back.told(lang));
    }
    row("about", "内容", &record.title);
    let profile = record.profile_id.as_ref();
    row("profile", "配置", profile.map_or("", |id| id.as_str()));
    row("begun", "开始", &moment(record.created_at));
    if let Some(ended) = record.terminal_at {
        row("ended", "结束", &moment(ended));
    }
    row("events", "事件", &record.last_seq.to_string());
    row("workspace", "工作区", record.workspace_id.as_str());
    screen.table(&table)?;
    turns_and_calls(&happened, &agents::named_in(&events), screen)?;
    screen.note(
        "This run was slimmed: what happened is kept; its requests, answers and files are not",
        "这次运行已精简：经过仍保留，请求、回答和文件已不在",
    );
    Ok(())
}

fn turns_and_calls(happened: &Happened<'_>, names: &Names, screen: &Screen) -> Result<(), Failure> {
    let turns = happened.turn_table(names, screen);
    section(screen, "Turns", "各轮", &turns)?;
    let calls = happened.call_table(names, screen);
    section(screen, "Calls", "调用", &calls)
}

fn section(
    screen: &Screen,
    english: &str,
    chinese: &str,
    table: &Option<Table>,
) -> Result<(), Failure> {
    match table {
        None => Ok(()),
        Some(table) => {
            screen.text(&format!("\n{}", screen.pick(english, chinese)))?;
            screen.table(table)
        }
    }
}

/// As many as one wants to look through.
async fn last_events(
    reader: &RunReader,
    run: &RunId,
    record: &RunRecord,
) -> Result<Vec<RunEvent>, Failure> {
    let mut seen = record.last_seq.saturating_sub(MAX_SHOWN_EVENTS);
    let mut all = Vec::new();
    while seen < record.last_seq {
        let range = EventRange::After {
            seq: seen,
            limit: EVENTS_PAGE,
        };
        let events = reader.events(run, range).await?;
        let Some(last) = events.last() else { break };
        seen = last.seq;
        all.extend(events);
    }
    Ok(all)
}

fn about(
    record: &RunRecord,
    state: &AgentRun,
    rollback: Option<&StandingRollback>,
    screen: &Screen,
) -> Table {
    let lang = screen.lang;
    let mut table = Table::plain().wrapped();
    let mut row = |english: &str, chinese: &str, value: &str| {
        table.told([lang.pick(english, chinese), value]);
    };
    row("run", "运行", record.run_id.as_str());
    let status = match state.is_paused() {
        true => lang.pick(
            "paused: innkeeper runs resume goes on with it",
            "已暂停：innkeeper runs resume 可以继续",
        ),
        false => status_word(record.status, lang),
    };
    row("status", "状态", status);
    if let Some(failure) = state.failure() {
        let why = format!("{} [{}]", in_words(&failure.message, lang), failure.code);
        row("failure", "原因", &why);
    }
    if let Some(back) = rollback {
        let (told, way_out) = (back.told(lang), back.way_out(&record.run_id, lang));
        let told = lang.pick(format!("{told}; {way_out}"), format!("{told}；{way_out}"));
        row("rolled back", "已退回", &told);
    }
    row("about", "内容", &record.title);
    row("profile", "配置", state.created().profile_id.as_str());
    if let Some(model) = state.binding()["modelId"]
        .as_str()
        .filter(|id| !id.is_empty())
    {
        row("model", "模型", model);
    }
    row("begun", "开始", &moment(record.created_at));
    if let Some(ended) = record.terminal_at {
        row("ended", "结束", &moment(ended));
    }
    let spent = state.spent();
    let mut rounds = format!("{} / {}", spent.rounds, state.max_rounds());
    if state.rounds_of_all() != spent.rounds {
        let all = state.rounds_of_all();
        let of_all = lang.pick(
            format!(" (of all who had it: {all})"),
            format!("（所有接手者共 {all} 轮）"),
        );
        rounds.push_str(&of_all);
    }
    row("rounds", "轮数", &rounds);
    row("calls", "调用", &state.calls_of_all().to_string());
    row("tokens", "词元", &spent.tokens.to_string());
    if let Some(cost) = spending::cost(spent.cost, spent.unpriced, lang) {
        row("cost", "费用", &cost);
    }
    row("at work", "用时", &duration(spent.worked_ms));
    row("events", "事件", &record.last_seq.to_string());
    row("workspace", "工作区", record.workspace_id.as_str());
    table
}

fn file_table(state: &AgentRun) -> Option<Table> {
    let mut table = Table::plain();
    for (path, file) in &state.workspace().files {
        let sha: String = file.sha256.as_str().chars().take(12).collect();
        table.row([path.as_str(), &format!("{} B", file.bytes), &sha]);
    }
    (!state.workspace().files.is_empty()).then_some(table)
}

fn commit_table(state: &AgentRun, happened: &Happened<'_>, screen: &Screen) -> Option<Table> {
    let mut commits: Vec<&Commit> = state.commits().chain(state.withdrawn_commits()).collect();
    commits.sort_by_key(|commit| commit.asked_at);
    let mut table = Table::plain();
    for commit in &commits {
        let is_undone = happened.undone.has_call(&commit.call, happened.events);
        let standing = match (&commit.withdrawn, is_undone) {
            (Some(_), _) => screen.pick("withdrawn", "已收回"),
            (None, true) => screen.pick("stays published", "仍在发布"),
            (None, false) => "",
        };
        table.row([
            commit.message_id().unwrap_or_default(),
            &commit.path,
            &commit.mode,
            commit.checkpoint.as_str(),
            standing,
        ]);
    }
    (!commits.is_empty()).then_some(table)
}

async fn turn(
    reader: &RunReader,
    run: &RunId,
    invocation: &InvocationId,
    round: u32,
    screen: &Screen,
) -> Result<(), Failure> {
    let turn = reader
        .model_turn_of(run, invocation, round, Some(MAX_SHOWN_TURN_CHARS))
        .await?;
    if screen.json {
        return screen.document(&turn);
    }
    screen.text(&turn_text(&turn, screen))
}

fn turn_text(turn: &ModelTurnView, screen: &Screen) -> String {
    let mut out = String::new();
    if turn.request_from > 0 {
        let note = screen.pick(
            "earlier messages are too long to be shown",
            "条更早的消息太长，没有显示",
        );
        out.push_str(&format!("… {} {note}\n\n", turn.request_from));
    }
    for message in &turn.request {
        let role = message["role"].as_str().unwrap_or("?");
        out.push_str(&format!("── {role} ──\n{}\n\n", content(message)));
    }
    for thought in &turn.reasoning {
        let head = screen.pick("thoughts of the model", "模型的思考");
        out.push_str(&format!(
            "══ {head} ══\n{}\n\n",
            thought.text.text.trim_end()
        ));
    }
    let head = screen.pick("answer of the model", "模型的回答");
    out.push_str(&format!(
        "══ {head} ══\n{}\n",
        turn.assistant.text.trim_end()
    ));
    for call in &turn.tool_calls {
        let name = call["name"].as_str().unwrap_or_default();
        out.push_str(&format!("→ {name}\n"));
    }
    out
}

/// The text of a message, and whatever else it holds as JSON.
fn content(message: &Json) -> String {
    let mut out = match &message["content"] {
        Json::String(text) => text.trim_end().to_owned(),
        Json::Null => String::new(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if let Some(calls) = message.get("tool_calls") {
        let calls = serde_json::to_string_pretty(calls).unwrap_or_default();
        out.push_str(&format!("\n{calls}"));
    }
    out
}
