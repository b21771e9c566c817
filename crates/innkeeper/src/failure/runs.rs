//! What was asked of a run cannot be done, or the run failed.

use innkeeper_agent::instance::AgentError;

use super::{message, shown};
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
    NeedsYes,
    Declined,
    /// The other process did not cancel it in time.
    NotCancelled {
        run: String,
    },
    Unwritable {
        file: String,
        why: String,
    },
}

impl From<AgentError> for super::Failure {
    fn from(error: AgentError) -> Self {
        Self::Run(RunFault::Refused(error))
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
            Self::Unknown { .. } | Self::None => "run.unknown",
            Self::Ambiguous { .. } => "run.ambiguous",
            Self::NoMessage => "run.no_message",
            Self::TwoProfiles => "cli.usage",
            Self::Refused(error) => error.code.as_str(),
            Self::Failed { code, .. } => code,
            Self::NeedsYes => "run.needs_yes",
            Self::Declined => "run.declined",
            Self::NotCancelled { .. } => "run.not_cancelled",
            Self::Unwritable { .. } => "output.unwritable",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Failed { ended, .. } => ended.exit_code(),
            Self::Declined
            | Self::NotCancelled { .. }
            | Self::Unwritable { .. }
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
            Self::NoMessage => "there is nothing to do: give a message (innkeeper run \"Roll 2d6\"), or - to read it from standard input".to_owned(),
            Self::TwoProfiles => "the profile stands here twice; give it with --profile or as the first of two words".to_owned(),
            Self::Refused(error) => told(&error.message, error.reason.as_deref()),
            Self::Failed { message: said, .. } => message(said.trim_end_matches('.')),
            Self::NeedsYes => "nobody is at a terminal to be asked; give --yes if you are sure".to_owned(),
            Self::Declined => "nothing was changed: you said no".to_owned(),
            Self::NotCancelled { run } => format!(
                "the process that drives '{run}' was told to cancel it but has not yet; innkeeper runs show {run} tells how it stands"
            ),
            Self::Unwritable { file, why } => {
                format!("{file}: cannot be written ({why}); check the path and the disk")
            }
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
            Self::Refused(error) => {
                format!(
                    "无法照办：{}",
                    told(&error.message, error.reason.as_deref())
                )
            }
            Self::Failed { message: said, .. } => {
                format!("运行失败：{}", message(said.trim_end_matches('.')))
            }
            Self::NeedsYes => "没有人在终端前可以询问；如果确定，请加上 --yes".to_owned(),
            Self::Declined => "没有改动任何东西：你没有同意".to_owned(),
            Self::NotCancelled { run } => format!(
                "已通知驱动“{run}”的进程取消，但尚未完成；innkeeper runs show {run} 可查看状态"
            ),
            Self::Unwritable { file, why } => {
                format!("{file}：无法写入（{why}）；请检查路径和磁盘")
            }
        }
    }
}

fn told(said: &str, reason: Option<&str>) -> String {
    let said = message(said.trim_end_matches('.'));
    match reason {
        Some(reason) => format!("{said} ({})", shown(reason)),
        None => said,
    }
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
        RunFault::NeedsYes,
        RunFault::Declined,
        RunFault::NotCancelled {
            run: "run_1".to_owned(),
        },
        RunFault::Unwritable {
            file: "out.json".to_owned(),
            why: "no room".to_owned(),
        },
    ]
}
