//! Says in one line what is wrong with a command line, in the person's language.
//!
//! clap answers with a paragraph in English; its findings are kept, its layout is not.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::Cli;
use crate::failure::shown;
use crate::lang::Lang;

/// One sentence: what is wrong, what was probably meant, where to read on.
pub(crate) fn sentence(error: &clap::Error, words: &[OsString], lang: Lang) -> String {
    let help = help_of(words);
    let finding = Finding {
        argument: text(error, ContextKind::InvalidArg),
        value: text(error, ContextKind::InvalidValue),
        allowed: text(error, ContextKind::ValidValue),
        command: text(error, ContextKind::InvalidSubcommand),
        beside: text(error, ContextKind::PriorArg),
        range: range(error),
        meant: [
            ContextKind::SuggestedArg,
            ContextKind::SuggestedValue,
            ContextKind::SuggestedSubcommand,
        ]
        .into_iter()
        .find_map(|kind| text(error, kind)),
    };
    let what = match lang {
        Lang::En => finding.english(error.kind()),
        Lang::Zh => finding.chinese(error.kind()),
    }
    .unwrap_or_else(|| squeezed(error));
    match (finding.meant, lang) {
        (Some(meant), Lang::En) => format!("{what}, did you mean {meant}? See {help}"),
        (Some(meant), Lang::Zh) => format!("{what}，是否想用 {meant}？详见 {help}"),
        (None, Lang::En) => format!("{what}; see {help}"),
        (None, Lang::Zh) => format!("{what}；详见 {help}"),
    }
}

/// The help that stands nearest to what was typed: `innkeeper tools list --help`.
fn help_of(words: &[OsString]) -> String {
    let root = Cli::command();
    let mut here = &root;
    let mut path = vec!["innkeeper"];
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = here.find_subcommand(word) {
            path.push(below.get_name());
            here = below;
        }
    }
    format!("{} --help", path.join(" "))
}

/// What clap found, ready to be shown.
struct Finding {
    argument: Option<String>,
    value: Option<String>,
    allowed: Option<String>,
    command: Option<String>,
    beside: Option<String>,
    /// Between which numbers the value must be.
    range: Option<(String, String)>,
    meant: Option<String>,
}

impl Finding {
    fn english(&self, kind: ErrorKind) -> Option<String> {
        Some(match (kind, &self.argument, &self.value, &self.command) {
            (ErrorKind::MissingSubcommand, _, _, Some(command)) if command != "innkeeper" => {
                format!("{command} needs a command behind it")
            }
            (ErrorKind::MissingSubcommand, ..)
            | (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ..) => {
                "no command given; innkeeper parse FILE shows the tool calls in a model's reply"
                    .into()
            }
            (ErrorKind::MissingRequiredArgument, Some(argument), ..) => {
                format!("{argument} is missing")
            }
            (ErrorKind::ArgumentConflict, Some(argument), ..) => match &self.beside {
                Some(beside) => format!("{argument} cannot stand beside {beside}"),
                None => format!("{argument} cannot be given here"),
            },
            (ErrorKind::ValueValidation, Some(argument), Some(value), _) => match &self.range {
                Some((from, to)) => {
                    format!("'{value}' is no value for {argument} (between {from} and {to})")
                }
                None => format!("'{value}' is no value for {argument}"),
            },
            (ErrorKind::InvalidSubcommand, _, _, Some(command)) => {
                format!("unknown command '{command}'")
            }
            (ErrorKind::UnknownArgument, Some(argument), ..) if argument.starts_with('-') => {
                format!("unknown option '{argument}'")
            }
            (ErrorKind::UnknownArgument, Some(argument), ..) => {
                format!("'{argument}' is one argument too many")
            }
            (ErrorKind::InvalidValue, Some(argument), Some(value), _) => {
                let given = if value.is_empty() {
                    format!("{argument} needs a value")
                } else {
                    format!("'{value}' is no value for {argument}")
                };
                match &self.allowed {
                    Some(allowed) => format!("{given} (use one of: {allowed})"),
                    None => given,
                }
            }
            _ => return None,
        })
    }

    fn chinese(&self, kind: ErrorKind) -> Option<String> {
        Some(match (kind, &self.argument, &self.value, &self.command) {
            (ErrorKind::MissingSubcommand, _, _, Some(command)) if command != "innkeeper" => {
                format!("{command} 后面缺少命令")
            }
            (ErrorKind::MissingRequiredArgument, Some(argument), ..) => format!("缺少 {argument}"),
            (ErrorKind::ArgumentConflict, Some(argument), ..) => match &self.beside {
                Some(beside) => format!("{argument} 不能与 {beside} 同时使用"),
                None => format!("{argument} 不能用在这里"),
            },
            (ErrorKind::ValueValidation, Some(argument), Some(value), _) => match &self.range {
                Some((from, to)) => {
                    format!("{argument} 不接受“{value}”（应在 {from} 到 {to} 之间）")
                }
                None => format!("{argument} 不接受“{value}”"),
            },
            (ErrorKind::MissingSubcommand, ..)
            | (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ..) => {
                "没有给出命令；innkeeper parse FILE 可显示模型回复中的工具调用".into()
            }
            (ErrorKind::InvalidSubcommand, _, _, Some(command)) => format!("未知命令“{command}”"),
            (ErrorKind::UnknownArgument, Some(argument), ..) if argument.starts_with('-') => {
                format!("未知选项“{argument}”")
            }
            (ErrorKind::UnknownArgument, Some(argument), ..) => format!("多余的参数“{argument}”"),
            (ErrorKind::InvalidValue, Some(argument), Some(value), _) => {
                let given = if value.is_empty() {
                    format!("{argument} 缺少值")
                } else {
                    format!("{argument} 不接受“{value}”")
                };
                match &self.allowed {
                    Some(allowed) => format!("{given}（可选值：{allowed}）"),
                    None => given,
                }
            }
            _ => return None,
        })
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(shown(text)),
        ContextValue::Strings(texts) if texts.is_empty() => None,
        ContextValue::Strings(texts) => Some(shown(&texts.join(", "))),
        _ => None,
    }
}

/// Of a number that is outside of it: `0 is not in 1..=1000`.
fn range(error: &clap::Error) -> Option<(String, String)> {
    let cause = std::error::Error::source(error)?.to_string();
    let (_, range) = cause.split_once(" is not in ")?;
    let (from, to) = range.split_once("..=")?;
    Some((shown(from), shown(to)))
}

/// clap's own words up to its usage part, on one line: for the rarer mistakes.
fn squeezed(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let words: Vec<&str> = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty())
        .collect();
    shown(words.join(", ").trim_start_matches("error: "))
}
