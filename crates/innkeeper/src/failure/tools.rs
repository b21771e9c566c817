//! What was asked of a tool cannot be done, or was done and failed.

use innkeeper_protocol::{Observation, Outcome, render_observation};

use super::{Place, message, shown};
use crate::lang::Lang;

#[derive(Debug)]
pub(crate) enum ToolFault {
    Unknown {
        name: String,
        suggestions: Vec<String>,
    },
    /// It is a tool of a plugin that is not switched on.
    Asleep {
        name: String,
        plugin: String,
    },
    /// It would be a workflow, which cannot run as it is.
    Unready {
        name: String,
        why: String,
    },
    /// A call was made and did not succeed; the observation tells.
    Failed(Box<Observation>),
    /// The text that was to be run calls nothing.
    NoCall(Place),
    UnknownGrant(i64),
    /// A word of the command line that does not fit its place.
    Value {
        of: &'static str,
        given: String,
        expected: Expected,
    },
}

/// What would have fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Project,
    Assignment,
    /// Of an input of a workflow.
    Input,
    Time,
    Duration,
    /// Of a search.
    Words,
    /// Of skills.
    Scope,
}

impl Expected {
    fn words(self, lang: Lang) -> &'static str {
        match (self, lang) {
            (Self::Project, Lang::En) => "use letters, digits, '-', '_' and '.'",
            (Self::Project, Lang::Zh) => "请使用字母、数字、“-”、“_”和“.”",
            (Self::Assignment, Lang::En) => {
                "write NAME=VALUE, as in formula=2d6, or give all parameters with --args JSON"
            }
            (Self::Assignment, Lang::Zh) => {
                "请写成 名称=值，例如 formula=2d6，或用 --args JSON 给出全部参数"
            }
            (Self::Input, Lang::En) => {
                "write NAME=VALUE, NAME=@FILE or NAME:=JSON, as in topic=tea, or give all inputs with --inputs FILE"
            }
            (Self::Input, Lang::Zh) => {
                "请写成 名称=值、名称=@文件 或 名称:=JSON，例如 topic=tea，或用 --inputs FILE 给出全部输入"
            }
            (Self::Duration, Lang::En) => {
                "write a number and its unit: 500ms, 30s, 5m, 1h; at most 24h"
            }
            (Self::Duration, Lang::Zh) => "请写数字和单位：500ms、30s、5m、1h；最多 24h",
            (Self::Words, Lang::En) => "say what the tool should do, as in 'weather forecast'",
            (Self::Words, Lang::Zh) => "请说出工具要做什么，例如“天气预报”",
            (Self::Scope, Lang::En) => {
                "write global, preset:<api>/<name>, profile:<id> or character:<id>"
            }
            (Self::Scope, Lang::Zh) => {
                "请写 global、preset:<api>/<名称>、profile:<ID> 或 character:<ID>"
            }
            (Self::Time, Lang::En) => {
                "write a date (2026-05-01), a time (2026-05-01T08:00:00Z) or how long ago (2h, 7d)"
            }
            (Self::Time, Lang::Zh) => {
                "请写日期（2026-05-01）、时间（2026-05-01T08:00:00Z）或多久以前（2h、7d）"
            }
        }
    }
}

impl ToolFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "tool.unknown",
            Self::Asleep { .. } => "plugin.not_enabled",
            Self::Unready { .. } => "tool.unavailable",
            Self::Failed(observation) => observation
                .error_code()
                .map_or("tool.execution_failed", |code| code.as_str()),
            Self::NoCall(_) => "call.no_call",
            Self::UnknownGrant(_) => "grant.unknown",
            Self::Value { .. } => "cli.usage",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            // Nobody but the person at the keyboard, or the system, stops the one call of a command.
            Self::Failed(observation) => match observation.outcome {
                Outcome::Cancelled { .. } => 130,
                _ => 1,
            },
            Self::NoCall(_) => 3,
            Self::Unknown { .. }
            | Self::Asleep { .. }
            | Self::Unready { .. }
            | Self::UnknownGrant(_)
            | Self::Value { .. } => 2,
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Unknown { name, suggestions } => match suggestions.as_slice() {
                [] => format!(
                    "there is no tool '{}'; innkeeper tools list shows those there are",
                    shown(name)
                ),
                near => format!(
                    "there is no tool '{}', did you mean {}?",
                    shown(name),
                    shown(&near.join(" or "))
                ),
            },
            Self::Asleep { name, plugin } => format!(
                "the tool '{}' belongs to the plugin '{1}', which is not switched on; innkeeper plugin enable {1}",
                shown(name),
                shown(plugin)
            ),
            Self::Unready { name, why } => {
                format!("'{}' is no tool as it is: {}", shown(name), shown(why))
            }
            Self::Failed(observation) => told(observation),
            Self::NoCall(place) => format!(
                "{}: this text calls no tool; innkeeper parse shows what was read in it",
                place.name(Lang::En)
            ),
            Self::UnknownGrant(id) => {
                format!("there is no grant {id}; innkeeper tools grants shows those there are")
            }
            Self::Value {
                of,
                given,
                expected,
            } => format!(
                "'{}' is no value for {of}; {}",
                shown(given),
                expected.words(Lang::En)
            ),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Unknown { name, suggestions } => match suggestions.as_slice() {
                [] => format!(
                    "没有工具“{}”；innkeeper tools list 会列出所有工具",
                    shown(name)
                ),
                near => format!(
                    "没有工具“{}”，是否想用 {}？",
                    shown(name),
                    shown(&near.join(" 或 "))
                ),
            },
            Self::Asleep { name, plugin } => format!(
                "工具“{}”属于插件“{1}”，该插件尚未启用；请运行 innkeeper plugin enable {1}",
                shown(name),
                shown(plugin)
            ),
            Self::Unready { name, why } => {
                format!("“{}”目前不能作为工具：{}", shown(name), shown(why))
            }
            Self::Failed(observation) => format!("调用没有成功：{}", told(observation)),
            Self::NoCall(place) => format!(
                "{}：这段文字没有调用任何工具；innkeeper parse 可显示读到了什么",
                place.name(Lang::Zh)
            ),
            Self::UnknownGrant(id) => {
                format!("没有编号为 {id} 的许可；innkeeper tools grants 会列出所有许可")
            }
            Self::Value {
                of,
                given,
                expected,
            } => format!(
                "{of} 不接受“{}”；{}",
                shown(given),
                expected.words(Lang::Zh)
            ),
        }
    }
}

/// The observation's own words without what addresses a model.
fn told(observation: &Observation) -> String {
    let text = render_observation(observation);
    let text = text.strip_prefix("Observation: ").unwrap_or(&text);
    let text = text.strip_prefix("Error - ").unwrap_or(text);
    let text = message(text.trim_end_matches('.'));
    match &observation.outcome {
        Outcome::Error(failure) => match &failure.reason {
            Some(reason) => format!("{text} ({})", shown(reason)),
            None => text,
        },
        _ => text,
    }
}

#[cfg(test)]
pub(super) fn one_of_each() -> Vec<ToolFault> {
    use innkeeper_protocol::ErrorCode;

    let nasty = || super::tests::NASTY.to_owned();
    let failed = Observation::error("Dice.Roll", ErrorCode::ToolTimeout, nasty());
    let mut all = vec![
        ToolFault::Unknown {
            name: nasty(),
            suggestions: Vec::new(),
        },
        ToolFault::Unknown {
            name: nasty(),
            suggestions: vec![nasty(), "b".into()],
        },
        ToolFault::Asleep {
            name: nasty(),
            plugin: nasty(),
        },
        ToolFault::Unready {
            name: nasty(),
            why: nasty(),
        },
        ToolFault::Failed(Box::new(failed)),
        ToolFault::NoCall(Place::Stdin),
        ToolFault::UnknownGrant(-7),
    ];
    let expected = [
        Expected::Project,
        Expected::Assignment,
        Expected::Input,
        Expected::Time,
        Expected::Duration,
    ];
    all.extend(expected.map(|expected| ToolFault::Value {
        of: "--since",
        given: nasty(),
        expected,
    }));
    all
}
