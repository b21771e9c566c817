//! What was asked of a run cannot be done, or the run failed.

use innkeeper_agent::instance::{AgentError, WaitError};
use innkeeper_store::StoreError;

use super::{Said, message, shown};
use crate::commands::Ended;
use crate::lang::Lang;

#[derive(Debug)]
pub(crate) enum RunFault {
    Unknown {
        given: String,
        near: Option<String>,
    },
    /// There is none at all.
    None,
    Ambiguous {
        given: String,
        count: usize,
    },
    /// Nothing to do was said.
    NoMessage,
    /// The profile stands on the command line twice.
    TwoProfiles,
    /// The runtime said no.
    Refused(AgentError),
    /// The run was driven, and failed.
    Failed {
        code: String,
        message: String,
        ended: Ended,
    },
    /// Its journal cannot be written or read, so it goes no further here.
    Stopped {
        run: String,
        cause: StoreError,
    },
    /// Its results cannot be written, or nobody reads them; so it was cancelled. The sentence says which.
    Unheard {
        run: String,
        why: Said,
    },
    NeedsYes,
    Declined,
    /// The other process did not cancel it in time.
    NotCancelled {
        run: String,
    },
    /// It is over, so the other process need not delete it for long; but it has not.
    NotDeleted {
        run: String,
    },
    /// Nothing can be told to it any more.
    Over {
        run: String,
    },
    /// It has no end, and nobody goes on with it now.
    NotDriven {
        run: String,
    },
    /// The other process did not take the message in time.
    NotHeard {
        run: String,
    },
    Unwritable {
        file: String,
        why: String,
    },
    /// None of its calls waits for an answer.
    NothingWaits {
        run: String,
        /// What became of the question that was asked last.
        why: Option<Said>,
    },
    /// Which of its calls is meant was not said.
    SeveralWait {
        run: String,
        calls: Vec<String>,
    },
    /// Neither a chat nor a run is called so.
    NoChat {
        given: String,
        near: Option<String>,
    },
    /// Chats of different kinds are called so.
    SeveralChats {
        given: String,
        workspaces: Vec<String>,
    },
    /// A chat has no such memory, or several begin so.
    NoState {
        given: String,
        workspace: String,
        near: Option<String>,
    },
    NoMemoryFile {
        state: String,
        path: String,
        near: Option<String>,
    },
}

impl From<AgentError> for super::Failure {
    fn from(error: AgentError) -> Self {
        Self::Run(RunFault::Refused(error))
    }
}

impl From<WaitError> for super::Failure {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Stopped { run, cause } => Self::Run(RunFault::Stopped {
                run: run.to_string(),
                cause,
            }),
            WaitError::Unknown(error) => error.into(),
        }
    }
}

impl From<RunFault> for super::Failure {
    fn from(fault: RunFault) -> Self {
        Self::Run(fault)
    }
}

impl RunFault {
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Unknown { .. } | Self::None | Self::NoChat { .. } => "run.unknown",
            Self::Ambiguous { .. } | Self::SeveralChats { .. } => "run.ambiguous",
            Self::NoMessage => "run.no_message",
            Self::TwoProfiles => "cli.usage",
            Self::Refused(error) => of_store(error).unwrap_or(error.code.as_str()),
            Self::Stopped { cause, .. } => cause.code(),
            Self::Unheard { .. } => "output.unwritable",
            Self::Failed { code, .. } => code,
            Self::NeedsYes => "run.needs_yes",
            Self::Declined => "run.declined",
            Self::NotCancelled { .. } => "run.not_cancelled",
            Self::NotDeleted { .. } => "run.not_deleted",
            Self::Over { .. } => "run.over",
            Self::NotDriven { .. } => "run.not_driven",
            Self::NotHeard { .. } => "run.not_heard",
            Self::Unwritable { .. } => "output.unwritable",
            Self::NothingWaits { .. } => "run.nothing_waits",
            Self::SeveralWait { .. } => "run.several_wait",
            Self::NoState { .. } => "run.no_state",
            Self::NoMemoryFile { .. } => "workspace.file_not_found",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Failed { ended, .. } => ended.exit_code(),
            Self::Declined
            | Self::NotCancelled { .. }
            | Self::NotDeleted { .. }
            | Self::Over { .. }
            | Self::NotDriven { .. }
            | Self::NotHeard { .. }
            | Self::NothingWaits { .. }
            | Self::Unwritable { .. }
            | Self::Unheard { .. }
            | Self::Stopped { .. }
            | Self::Refused(_) => 1,
            _ => 2,
        }
    }

    pub(super) fn sentence(&self, lang: Lang) -> String {
        match lang {
            Lang::En => self.english(),
            Lang::Zh => self.chinese(),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::Unknown { given, near } => match near {
                Some(near) => format!(
                    "there is no run '{}', did you mean {}?",
                    shown(given),
                    shown(near)
                ),
                None => format!(
                    "there is no run '{}'; innkeeper runs list shows those there are",
                    shown(given)
                ),
            },
            Self::None => "there are no runs yet; innkeeper run \"…\" starts one".to_owned(),
            Self::Ambiguous { given, count } => format!(
                "{count} runs begin with '{}'; give more of the id",
                shown(given)
            ),
            Self::NoMessage => "the message is missing: say what the agent is to do, as in \"Roll 2d6\", or give - to read it from standard input".to_owned(),
            Self::TwoProfiles => "the profile stands here twice; give it with --profile or as the first of two words".to_owned(),
            Self::Refused(error) => refused(error, Lang::En),
            Self::Failed { message: said, .. } => in_words(said, Lang::En),
            Self::Stopped { run, cause } => format!(
                "the run '{run}' has stopped: {}; then innkeeper runs resume {run} goes on with it",
                message(&cause.to_string())
            ),
            Self::Unheard { run, why } => format!(
                "{}, so the run was cancelled; innkeeper runs resume {run} goes on with it",
                why.shown(Lang::En)
            ),
            Self::NeedsYes => "nobody is at a terminal to be asked; give --yes if you are sure".to_owned(),
            Self::Declined => "nothing was changed: you said no".to_owned(),
            Self::NotCancelled { run } => format!(
                "the process that drives '{run}' was told to cancel it but has not yet; innkeeper runs show {run} tells how it stands"
            ),
            Self::NotDeleted { run } => format!(
                "the process that drives the runs was told to delete '{run}' but has not yet; try again, or end that process"
            ),
            Self::Over { run } => format!(
                "the run '{run}' is over, nothing can be told to it; innkeeper run --resume {run} \"…\" goes on with it if it was not completed"
            ),
            Self::NotDriven { run } => format!(
                "nobody drives the run '{run}' now; innkeeper run --resume {run} \"…\" goes on with it and tells it this"
            ),
            Self::NotHeard { run } => format!(
                "the process that drives '{run}' has not taken the message in time, and it was withdrawn; innkeeper runs show {run} tells how it stands"
            ),
            Self::Unwritable { file, why } => {
                format!("{file}: cannot be written ({why}); check the path and the disk")
            }
            Self::NothingWaits { run, why } => format!(
                "no call of the run '{run}' waits for an answer{}; innkeeper runs approve --list shows those that do",
                why.as_ref().map(|why| format!(": {}", why.shown(Lang::En))).unwrap_or_default()
            ),
            Self::SeveralWait { run, calls } => format!(
                "several calls of the run '{run}' wait for an answer: {}; name one, as in innkeeper runs approve {run} CALL",
                shown(&calls.join(", "))
            ),
            Self::NoChat { given, near } => format!(
                "there is no chat and no run '{}'{}; innkeeper runs memory list shows the chats that remember something",
                shown(given),
                near.as_ref().map(|near| format!(", did you mean {}?", shown(near))).unwrap_or_default(),
            ),
            Self::SeveralChats { given, workspaces } => format!(
                "several chats are called '{}'; name one by its workspace: {}",
                shown(given),
                workspaces.join(", ")
            ),
            Self::NoState { given, workspace, near } => format!(
                "{} has no state '{}', or several that begin so{}; innkeeper runs memory list {} shows them",
                shown(workspace),
                shown(given),
                near.as_ref().map(|near| format!(", did you mean {}?", shown(near))).unwrap_or_default(),
                shown(workspace)
            ),
            Self::NoMemoryFile { state, path, near } => format!(
                "the state {} has no file '{}'{}",
                shown(state),
                shown(path),
                near.as_ref().map(|near| format!(", did you mean {}?", shown(near))).unwrap_or_default()
            ),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Unknown { given, near } => match near {
                Some(near) => format!("没有运行“{}”，是否想用 {}？", shown(given), shown(near)),
                None => format!(
                    "没有运行“{}”；innkeeper runs list 会列出所有运行",
                    shown(given)
                ),
            },
            Self::None => "还没有任何运行；innkeeper run \"……\" 可以开始一次".to_owned(),
            Self::Ambiguous { given, count } => {
                format!("有 {count} 次运行以“{}”开头；请写出更多字符", shown(given))
            }
            Self::NoMessage => {
                "没有要做的事：请给出消息（innkeeper run \"掷 2d6\"），或用 - 从标准输入读取"
                    .to_owned()
            }
            Self::TwoProfiles => "配置写了两次；请用 --profile，或作为两个词中的第一个".to_owned(),
            Self::Refused(error) => format!("无法照办：{}", refused(error, Lang::Zh)),
            Self::Failed { message: said, .. } => {
                format!("运行失败：{}", in_words(said, Lang::Zh))
            }
            Self::Stopped { run, cause } => format!(
                "运行“{run}”已经停下：{}；之后 innkeeper runs resume {run} 可以继续",
                Said::of(&cause.to_string()).shown(Lang::Zh)
            ),
            Self::Unheard { run, why } => format!(
                "{}，运行已被取消；innkeeper runs resume {run} 可以继续",
                why.shown(Lang::Zh)
            ),
            Self::NeedsYes => "没有人在终端前可以询问；如果确定，请加上 --yes".to_owned(),
            Self::Declined => "没有改动任何东西：你没有同意".to_owned(),
            Self::NotCancelled { run } => format!(
                "已通知驱动“{run}”的进程取消，但尚未完成；innkeeper runs show {run} 可查看状态"
            ),
            Self::NotDeleted { run } => {
                format!("已通知驱动运行的进程删除“{run}”，但尚未完成；请重试，或结束那个进程")
            }
            Self::Over { run } => format!(
                "运行“{run}”已经结束，无法再转告；如果它没有完成，innkeeper run --resume {run} \"……\" 可以继续"
            ),
            Self::NotDriven { run } => format!(
                "现在没有进程驱动运行“{run}”；innkeeper run --resume {run} \"……\" 会继续它并转告"
            ),
            Self::NotHeard { run } => format!(
                "驱动“{run}”的进程没有及时收下这句话，已经撤回；innkeeper runs show {run} 可查看状态"
            ),
            Self::Unwritable { file, why } => {
                format!("{file}：无法写入（{why}）；请检查路径和磁盘")
            }
            Self::NothingWaits { run, why } => format!(
                "运行“{run}”没有等待回答的调用{}；innkeeper runs approve --list 会列出等待回答的调用",
                why.as_ref()
                    .map(|why| format!("：{}", why.shown(Lang::Zh)))
                    .unwrap_or_default()
            ),
            Self::SeveralWait { run, calls } => format!(
                "运行“{run}”有几个调用等待回答：{}；请指明一个：innkeeper runs approve {run} CALL",
                shown(&calls.join("、"))
            ),
            Self::NoChat { given, near } => format!(
                "没有名为“{}”的聊天或运行{}；innkeeper runs memory list 会列出有记忆的聊天",
                shown(given),
                near.as_ref()
                    .map(|near| format!("，是否指 {}？", shown(near)))
                    .unwrap_or_default(),
            ),
            Self::SeveralChats { given, workspaces } => format!(
                "有几个聊天都叫“{}”；请用工作区指明：{}",
                shown(given),
                workspaces.join("、")
            ),
            Self::NoState {
                given,
                workspace,
                near,
            } => format!(
                "{} 没有状态“{}”，或有几个以它开头{}；innkeeper runs memory list {} 会列出它们",
                shown(workspace),
                shown(given),
                near.as_ref()
                    .map(|near| format!("，是否想用 {}？", shown(near)))
                    .unwrap_or_default(),
                shown(workspace)
            ),
            Self::NoMemoryFile { state, path, near } => format!(
                "状态 {} 没有文件“{}”{}",
                shown(state),
                shown(path),
                near.as_ref()
                    .map(|near| format!("，是否想用 {}？", shown(near)))
                    .unwrap_or_default()
            ),
        }
    }
}

/// What the runtime said of the store: then the store's own code is the one that helps.
fn of_store(error: &AgentError) -> Option<&str> {
    let reason = error.reason.as_deref()?;
    reason.starts_with("store.").then_some(reason)
}

fn refused(error: &AgentError, lang: Lang) -> String {
    let said = in_words(&error.message, lang);
    let look = lang.pick(
        "innkeeper profiles list shows those there are",
        "innkeeper profiles list 会列出所有配置",
    );
    match error.reason.as_deref() {
        Some("agent.profile_not_found") if said.ends_with(['?', '？']) => format!("{said} {look}"),
        Some("agent.profile_not_found") => format!("{said}{}{look}", lang.pick("; ", "；")),
        Some(reason) if of_store(error).is_none() => format!("{said} ({})", shown(reason)),
        _ => said,
    }
}

/// What an agent says, for somebody who types commands.
pub(crate) fn in_words(said: &str, lang: Lang) -> String {
    let said = said
        .trim_end_matches('.')
        .replace("additionalRounds", "--rounds");
    Said::of(&said).shown(lang)
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<RunFault> {
    use innkeeper_protocol::ErrorCode;

    let nasty = || super::tests::NASTY.to_owned();
    vec![
        RunFault::Unknown {
            given: nasty(),
            near: None,
        },
        RunFault::Unknown {
            given: nasty(),
            near: Some(nasty()),
        },
        RunFault::None,
        RunFault::Ambiguous {
            given: nasty(),
            count: 2,
        },
        RunFault::NoMessage,
        RunFault::TwoProfiles,
        RunFault::Refused(
            AgentError::new(ErrorCode::AgentNotFound, nasty()).because("agent.profile_not_found"),
        ),
        RunFault::Failed {
            code: ErrorCode::AgentMaxToolRoundsExceeded.as_str().to_owned(),
            message: nasty(),
            ended: Ended::Failed,
        },
        RunFault::Stopped {
            run: "run_1".to_owned(),
            cause: StoreError::DiskFull { cause: nasty() },
        },
        RunFault::Unheard {
            run: "run_1".to_owned(),
            why: Said::new(nasty(), nasty()),
        },
        RunFault::Refused(AgentError::from(StoreError::DiskFull { cause: nasty() })),
        RunFault::NeedsYes,
        RunFault::Declined,
        RunFault::NotCancelled {
            run: "run_1".to_owned(),
        },
        RunFault::NotDeleted {
            run: "run_1".to_owned(),
        },
        RunFault::Over {
            run: "run_1".to_owned(),
        },
        RunFault::NotDriven {
            run: "run_1".to_owned(),
        },
        RunFault::NotHeard {
            run: "run_1".to_owned(),
        },
        RunFault::Unwritable {
            file: "out.json".to_owned(),
            why: "no room".to_owned(),
        },
        RunFault::NothingWaits {
            run: "run_1".to_owned(),
            why: Some(Said::new(nasty(), nasty())),
        },
        RunFault::SeveralWait {
            run: "run_1".to_owned(),
            calls: vec![nasty()],
        },
        RunFault::NoChat {
            given: nasty(),
            near: Some(nasty()),
        },
        RunFault::SeveralChats {
            given: nasty(),
            workspaces: vec!["chat_1".to_owned()],
        },
    ]
}
