//! What happens in a run, in a line for people. The names of the journal stay in `--json`.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunStatus, TaskChanged, ToolCallEnded};
use jiff::Timestamp;

use super::agents::Names;
use crate::failure::{Said, in_words};
use crate::lang::Lang;
use crate::visible::visible;

pub(super) const STATUSES: [RunStatus; 15] = [
    RunStatus::Created,
    RunStatus::InitializingWorkspace,
    RunStatus::AssemblingContext,
    RunStatus::CallingModel,
    RunStatus::DispatchingTool,
    RunStatus::AwaitingApproval,
    RunStatus::ApplyingWorkspacePatch,
    RunStatus::CreatingCheckpoint,
    RunStatus::AwaitingHostCommit,
    RunStatus::Finishing,
    RunStatus::Completed,
    RunStatus::PartialSuccess,
    RunStatus::Cancelling,
    RunStatus::Cancelled,
    RunStatus::Failed,
];

/// As the journal writes it.
pub(super) fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Created => "created",
        RunStatus::InitializingWorkspace => "initializing_workspace",
        RunStatus::AssemblingContext => "assembling_context",
        RunStatus::CallingModel => "calling_model",
        RunStatus::DispatchingTool => "dispatching_tool",
        RunStatus::AwaitingApproval => "awaiting_approval",
        RunStatus::ApplyingWorkspacePatch => "applying_workspace_patch",
        RunStatus::CreatingCheckpoint => "creating_checkpoint",
        RunStatus::AwaitingHostCommit => "awaiting_host_commit",
        RunStatus::Finishing => "finishing",
        RunStatus::Completed => "completed",
        RunStatus::PartialSuccess => "partial_success",
        RunStatus::Cancelling => "cancelling",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Failed => "failed",
    }
}

pub(super) fn status_word(status: RunStatus, lang: Lang) -> &'static str {
    let chinese = match status {
        RunStatus::Created => "已创建",
        RunStatus::InitializingWorkspace => "准备工作区",
        RunStatus::AssemblingContext => "准备上下文",
        RunStatus::CallingModel => "询问模型",
        RunStatus::DispatchingTool => "调用工具",
        RunStatus::AwaitingApproval => "等待批准",
        RunStatus::ApplyingWorkspacePatch => "修改文件",
        RunStatus::CreatingCheckpoint => "创建检查点",
        RunStatus::AwaitingHostCommit => "等待发布",
        RunStatus::Finishing => "收尾",
        RunStatus::Completed => "完成",
        RunStatus::PartialSuccess => "部分成功",
        RunStatus::Cancelling => "取消中",
        RunStatus::Cancelled => "已取消",
        RunStatus::Failed => "失败",
    };
    lang.pick(status_name(status), chinese)
}

pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `12 ms`, `1.3 s`, `2 m 5 s`
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} m {} s", millis / 60_000, millis / 1_000 % 60),
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Only for those who want to know everything.
    Quiet,
    Good,
    Warning,
    Bad,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sign: &'static str,
    pub(super) tone: Tone,
    pub(super) text: String,
}

impl Line {
    fn new(sign: &'static str, tone: Tone, text: impl Into<String>) -> Option<Self> {
        Some(Self {
            sign,
            tone,
            text: text.into(),
        })
    }
}

fn plural(is_one: bool, one: &'static str, many: &'static str) -> &'static str {
    if is_one { one } else { many }
}

/// Why a call did not succeed. Where only a code is known it is said what that means.
pub(super) fn complaint(call: &ToolCallEnded, lang: Lang) -> String {
    let said = call.message.as_deref().unwrap_or_default().trim();
    if !said.is_empty() {
        return Said::of(said).pick(lang).to_owned();
    }
    let code = call.error_code.as_deref().unwrap_or_default();
    match code == ErrorCode::ToolUnknown.as_str() {
        true => lang
            .pick("there is no such tool", "没有这个工具")
            .to_owned(),
        false => code.to_owned(),
    }
}

/// What a person is told of an event; nothing of those that only programs need.
pub(super) fn line(event: &RunEvent, names: &Names, lang: Lang) -> Option<Line> {
    use RunEventKind as Kind;
    use Tone::{Bad, Good, Plain, Quiet, Warning};

    let who = |task: &TaskChanged| {
        let name = task.child_invocation_id.as_ref();
        let name = name.and_then(|id| names.called(id));
        name.unwrap_or(task.target_profile_id.as_str()).to_owned()
    };

    match &event.kind {
        Kind::ProfileResolved(profile) => Line::new(
            "·",
            Quiet,
            lang.pick(
                format!("profile {} ({})", profile.profile_id, profile.source),
                match profile.source.as_str() {
                    "built_in" => format!("配置 {}（内置）", profile.profile_id),
                    source => format!("配置 {}（{source}）", profile.profile_id),
                },
            ),
        ),
        Kind::ContextAssembled(context) => {
            let tools = context.tools.as_array().map_or(0, Vec::len);
            let model = match context.request["model"].as_str() {
                None | Some("") => lang.pick("the default model", "默认模型"),
                Some(model) => model,
            };
            let said = lang.pick(
                format!(
                    "{model}, {tools} {}, at most {} {}",
                    plural(tools == 1, "tool", "tools"),
                    context.max_rounds,
                    plural(context.max_rounds == 1, "round", "rounds"),
                ),
                format!("{model}，{tools} 个工具，最多 {} 轮", context.max_rounds),
            );
            Line::new("·", Quiet, said)
        }
        Kind::ModelRequestCreated(request) => {
            let messages = request.request["messageCount"].as_u64().unwrap_or_default();
            let said = lang.pick(
                format!(
                    "round {}: {messages} {} to the model",
                    request.round,
                    plural(messages == 1, "message", "messages"),
                ),
                format!("第 {} 轮：向模型发送 {messages} 条消息", request.round),
            );
            Line::new("·", Quiet, said)
        }
        Kind::ModelCallAttemptFailed(failed) => {
            let said = lang.pick(
                format!("the model did not answer: {}", failed.message),
                format!("模型没有回答：{}", in_words(&failed.message, lang)),
            );
            Line::new("✗", if failed.will_retry { Warning } else { Bad }, said)
        }
        Kind::ContextCompacted(made) => {
            let (from, to) = (made.tokens_before, made.tokens_after);
            let said = lang.pick(
                format!(
                    "{} older {} gave way to a summary: about {from} → {to} tokens",
                    made.dropped_count,
                    plural(made.dropped_count == 1, "message", "messages"),
                ),
                format!(
                    "{} 条较早的消息已压缩为摘要：约 {from} → {to} 个词元",
                    made.dropped_count
                ),
            );
            Line::new("⇣", Quiet, said)
        }
        Kind::ModelCallRetryScheduled(retry) => {
            let after = duration(retry.interval_ms);
            let said = lang.pick(
                format!("asked again in {after}"),
                format!("{after} 后再次询问"),
            );
            Line::new("↻", Warning, said)
        }
        Kind::ModelCompleted(turn) => match &turn.narration {
            Some(words) => Line::new("❝", Plain, words.clone()),
            None => None,
        },
        Kind::ToolCallAwaitingApproval(call) => {
            let said = lang.pick(
                format!("{} waits for approval", visible(&call.name)),
                format!("{} 等待批准", visible(&call.name)),
            );
            Line::new("?", Warning, said)
        }
        Kind::ToolCallCompleted(call) => {
            let said = format!("{}  {}", call.name, duration(call.elapsed_ms));
            Line::new("✓", Good, said)
        }
        Kind::ToolCallFailed(call) => {
            let why = complaint(call, lang);
            let took = duration(call.elapsed_ms);
            Line::new("✗", Bad, format!("{}  {took}  {why}", call.name))
        }
        Kind::WorkspaceFileWritten(file) => Line::new(
            "✎",
            Plain,
            lang.pick(
                match file.words {
                    1 => format!("{}: one word written", file.path),
                    many => format!("{}: {many} words written", file.path),
                },
                format!("{}：写入 {} 词", file.path, file.words),
            ),
        ),
        Kind::WorkspacePatchApplied(file) => Line::new(
            "✎",
            Plain,
            lang.pick(
                match file.replacements {
                    1 => format!("{}: one place changed", file.path),
                    many => format!("{}: {many} places changed", file.path),
                },
                format!("{}：修改 {} 处", file.path, file.replacements),
            ),
        ),
        Kind::CheckpointCreated(checkpoint) => Line::new(
            "·",
            Quiet,
            lang.pick(
                format!("checkpoint {}", checkpoint.checkpoint_id),
                format!("检查点 {}", checkpoint.checkpoint_id),
            ),
        ),
        Kind::ChatCommitCompleted(commit) => Line::new(
            "✓",
            Good,
            lang.pick(
                format!("{} published as {}", commit.path, commit.message_id),
                format!("{} 已发布为 {}", commit.path, commit.message_id),
            ),
        ),
        Kind::ChatCommitFailed(commit) => Line::new(
            "✗",
            Bad,
            lang.pick(
                format!("{} was not published: {}", commit.path, commit.message),
                format!(
                    "{} 未能发布：{}",
                    commit.path,
                    in_words(&commit.message, lang)
                ),
            ),
        ),
        Kind::UserGuidanceSubmitted(guidance) => Line::new(
            "»",
            Plain,
            lang.pick(
                format!("to be told with the next request: {}", guidance.text),
                format!("将随下一次请求转告：{}", guidance.text),
            ),
        ),
        Kind::UserGuidanceDiscarded(_) => Line::new(
            "»",
            Warning,
            lang.pick(
                "what you said came too late to be told",
                "你说的话来得太晚，没有转告",
            ),
        ),
        Kind::DriftRecoveryAttempted(drift) => Line::new(
            "↻",
            Warning,
            lang.pick(
                format!(
                    "an answer without a tool call; asked again ({} of {})",
                    drift.attempt, drift.max_attempts
                ),
                format!(
                    "回答中没有工具调用；再次询问（{}/{}）",
                    drift.attempt, drift.max_attempts
                ),
            ),
        ),
        Kind::PersistentChangesCommitted(kept) if kept.change_count > 0 => Line::new(
            "✓",
            Plain,
            lang.pick(
                match kept.change_count {
                    1 => "one file kept for later runs".to_owned(),
                    many => format!("{many} files kept for later runs"),
                },
                format!("为以后的运行保留了 {} 个文件", kept.change_count),
            ),
        ),
        Kind::PersistentChangesCommitFailed(failed) => {
            Line::new("✗", Bad, in_words(&failed.message, lang))
        }
        Kind::RunCancelRequested => {
            Line::new("·", Quiet, lang.pick("is to be cancelled", "将被取消"))
        }
        Kind::RunRecovered(_) => Line::new(
            "↻",
            Plain,
            lang.pick("taken up again where it was", "从原处继续"),
        ),
        Kind::RunRolledBack(back) => Line::new(
            "↺",
            Warning,
            lang.pick(
                format!("rolled back to {}", back.checkpoint_id),
                format!("退回到 {}", back.checkpoint_id),
            ),
        ),
        Kind::RunResumed(_) => Line::new("↻", Plain, lang.pick("resumed", "继续运行")),
        Kind::RunPaused(_) => Line::new(
            "‖",
            Warning,
            lang.pick("paused: waits for you", "已暂停：等待你的决定"),
        ),
        Kind::ToolTaskEnded(task) => {
            let name = &task.name;
            let said = match task.is_error {
                false => lang.pick(
                    format!("{name} has ended in the background"),
                    format!("{name} 已在后台结束"),
                ),
                true => lang.pick(
                    format!("{name} has failed in the background"),
                    format!("{name} 在后台失败"),
                ),
            };
            match task.is_error {
                false => Line::new("✓", Plain, said),
                true => Line::new("✗", Bad, said),
            }
        }
        Kind::AgentDelegateStarted(given) => {
            let told = |name: &str| given.extra.get(name).and_then(|told| told.as_str());
            let title = told("title").unwrap_or_default();
            let agent = told("workspaceKey").unwrap_or(given.target_profile_id.as_str());
            let said = lang.pick(
                format!("a task for {agent}: {title}"),
                format!("委派给 {agent} 的任务：{title}"),
            );
            Line::new("⇢", Plain, said)
        }
        Kind::AgentTaskCompleted(task) => {
            let agent = who(task);
            let said = lang.pick(
                format!("{agent} has returned"),
                format!("{agent} 已交回结果"),
            );
            Line::new("⇠", Good, said)
        }
        Kind::AgentTaskFailed(task) | Kind::AgentTaskCancelled(task) => {
            let agent = who(task);
            let why = task
                .error
                .as_ref()
                .and_then(|error| error["message"].as_str());
            let why = in_words(why.unwrap_or_default(), lang);
            let said = lang.pick(
                format!("the task of {agent} came to nothing: {why}"),
                format!("{agent} 的任务没有完成：{why}"),
            );
            Line::new("⇠", Bad, said)
        }
        Kind::AgentHandoffAccepted(handoff) => {
            let agent = &handoff.target_profile_id;
            let said = lang.pick(
                format!("{agent} has the run from now on"),
                format!("从现在起由 {agent} 负责这次运行"),
            );
            Line::new("⇒", Plain, said)
        }
        Kind::StateUpdated(state) => {
            let (version, paths) = (state.version, visible(&state.paths.join(", ")));
            let said = match state.scope.as_str() {
                "world" => lang.pick(
                    format!("world state, version {version}: {paths}"),
                    format!("世界状态，版本 {version}：{paths}"),
                ),
                _ => lang.pick(
                    format!("private state, version {version}: {paths}"),
                    format!("私有状态，版本 {version}：{paths}"),
                ),
            };
            Line::new("✎", Plain, said)
        }
        Kind::WorkspaceFileDeleted(file) => {
            let path = &file.path;
            let said = lang.pick(format!("{path} deleted"), format!("{path} 已删除"));
            Line::new("✎", Plain, said)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_name_of_the_journal() {
        for status in STATUSES {
            let wire = serde_json::to_value(status).unwrap();
            assert_eq!(wire, status_name(status));
            assert!(!status_word(status, Lang::Zh).is_ascii());
        }
    }

    #[test]
    fn times_are_as_long_as_needed() {
        for (millis, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_340, "1.3 s"),
            (59_999, "59.9 s"),
            (125_000, "2 m 5 s"),
        ] {
            assert_eq!(duration(millis), expected);
        }
    }
}
