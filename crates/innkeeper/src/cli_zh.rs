//! The help texts of `cli` in Chinese. A test fails when a command or an option has none.

mod models;
mod plugin;
mod profiles;
mod runs;
mod runs_keep;
mod serve;
mod skills;
mod state;
mod tools;
mod workflow;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::Cli;

/// Everything that has a help text: the command it belongs to (empty for all), its id, the text. Those of
/// `run`, `runs`, `profiles`, `skills`, `state`, `tools`, `workflow`, `models`, `plugin`, `serve` and `access` stand in files of their own.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "",
        "home",
        "存放设置和数据的文件夹 [默认：INNKEEPER_HOME 或系统的数据文件夹]",
    ),
    ("", "json", "即使在终端里也输出紧凑的 JSON，只有一个文档"),
    ("", "quiet", "只输出结果和错误，不显示进度"),
    (
        "",
        "lang",
        "提示信息的语言：en 或 zh [默认：由 LC_ALL、LC_MESSAGES 或 LANG 决定]",
    ),
    ("parse", "file", "存有回复的文件；- 或不写则读取标准输入"),
    (
        "parse",
        "protocol",
        "要寻找的调用写法：auto（全部，含各家原生响应）、tam、action、tool-call [默认：auto]",
    ),
    (
        "parse",
        "jsonl",
        "每行读取一个 JSON 字符串，每行输出一个结果",
    ),
    (
        "doctor",
        "repair",
        "修复数据库：切掉损坏的部分，保住能读取的内容",
    ),
    ("doctor", "yes", "修复之前不再询问"),
];

const COMMANDS: &[(&str, &str, &str)] = &[
    (
        "parse",
        "读取模型的回复，以 JSON 输出其中的工具调用",
        PARSE_EXAMPLES,
    ),
    (
        "doctor",
        "检查本机：什么正常、什么不正常、该怎么办",
        DOCTOR_EXAMPLES,
    ),
];

const ABOUT: &str = "一个可执行文件就是整个智能体平台。\n\n它读懂语言模型写下的文字，在主人定下的规则内执行其中的工具调用，\
                     并告知结果。";

const EXAMPLES: &str = "\
示例：
  innkeeper run \"掷 2d6+3\"                  让智能体做一件事，并看着它做
  innkeeper runs list                       智能体做过什么，什么还没有完成
  innkeeper profiles list                   有哪些智能体
  innkeeper skills import ./haiku           给智能体一份需要时才读的说明
  innkeeper state show --run last           智能体自己记住什么，共享什么
  innkeeper parse reply.txt                 显示一段模型回复中的工具调用
  innkeeper call reply.txt                  执行它们，输出模型将读到的结果
  innkeeper tools list                      可以调用的工具
  innkeeper tools call dice.roll formula=2d6 亲自调用一个工具
  innkeeper workflow run greet.json         运行一个工作流
  innkeeper models add openrouter           接入一个语言模型
  innkeeper plugin list                     插件及其状态
  innkeeper serve                           为浏览器和程序打开大门
  innkeeper doctor                          本机上什么正常、什么不正常

退出码：0 完成，1 失败或被拒绝，2 用法有误或输入无法读取，3 没有可执行的调用，
4 运行在发布之后失败，5 运行被别人取消或在等人，6 另一个进程正在驱动这里的运行，130 被 Ctrl-C 停止。";

const PARSE_EXAMPLES: &str = "\
示例：
  innkeeper parse reply.txt                 读取文件
  my-model | innkeeper parse                读取标准输入
  innkeeper parse --protocol tam reply.txt  只找 TAM 调用
  innkeeper parse --jsonl replies.jsonl     每行一个 JSON 字符串，每行一个结果
  innkeeper parse reply.txt | jq '.blocks[].commands[].toolId'

结果包含 responseText（第一个调用之前的文字）、outsideText、trailingText、blocks（调用），
以及 warnings、errors 和带字节位置的 diagnostics。没有调用的文字也有结果，blocks 为空；
写错的文字同样有结果：退出码为 0，错误写在结果里，出错的块绝不会被执行。

退出码：0 已读取，1 结果无法写出，2 用法有误或输入无法读取。";

const DOCTOR_EXAMPLES: &str = "\
示例：
  innkeeper doctor                          每个检查项一行
  innkeeper doctor --json | jq '.sandbox.layers[] | select(.active | not)'
  innkeeper doctor --repair                 保住受损数据库中能读取的内容

检查数据文件夹、设置、密钥、模型、数据库、运行、插件、脚本的解释器，以及沙箱的各层。不改动任何东西，
除非给出 --repair：此时会检查整个数据库，切掉损坏的部分，并在旁边保留原来的文件。
每行以 ok（正常）、warn（可用但不完整）或 fail（所需的东西不正常）开头。

退出码：0 所需的一切都正常，1 有不正常的，2 用法有误。";

const TEMPLATE: &str = "{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}";

fn arguments() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    ARGUMENTS
        .iter()
        .chain(runs::ARGUMENTS)
        .chain(runs_keep::ARGUMENTS)
        .chain(profiles::ARGUMENTS)
        .chain(serve::ARGUMENTS)
        .chain(skills::ARGUMENTS)
        .chain(state::ARGUMENTS)
        .chain(tools::ARGUMENTS)
        .chain(workflow::ARGUMENTS)
        .chain(models::ARGUMENTS)
        .chain(plugin::ARGUMENTS)
}

fn commands() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    COMMANDS
        .iter()
        .chain(runs::COMMANDS)
        .chain(runs_keep::COMMANDS)
        .chain(profiles::COMMANDS)
        .chain(serve::COMMANDS)
        .chain(skills::COMMANDS)
        .chain(state::COMMANDS)
        .chain(tools::COMMANDS)
        .chain(workflow::COMMANDS)
        .chain(models::COMMANDS)
        .chain(plugin::COMMANDS)
}

/// The same command line as `cli`, explained in Chinese.
pub(crate) fn command() -> Command {
    in_chinese(Cli::command(), "")
        .about(ABOUT)
        .after_help(EXAMPLES)
        .disable_version_flag(true)
        .arg(
            Arg::new("version")
                .short('V')
                .long("version")
                .action(ArgAction::Version)
                .help_heading("选项")
                .help("显示版本"),
        )
}

/// `path`: the words behind `innkeeper`.
fn in_chinese(command: Command, path: &str) -> Command {
    let (about, examples) = commands()
        .find(|(known, ..)| *known == path)
        .map_or(("", ""), |(_, about, examples)| (*about, *examples));
    // As they are typed: clap would list them by name.
    let mut place = 0;
    command
        .about(about)
        .after_help(examples)
        .long_about(None)
        .help_template(TEMPLATE)
        .subcommand_help_heading("命令")
        .mut_args(|argument| {
            let id = argument.get_id().as_str();
            let text = arguments()
                .find(|(owner, known, _)| *owner == path && *known == id)
                .map_or("", |(_, _, text)| *text);
            let heading = match (path, argument.is_positional()) {
                ("", _) => "通用选项",
                (_, true) => "参数",
                (_, false) => "选项",
            };
            let argument = argument.help(text).help_heading(heading);
            let argument = match argument.is_positional() {
                true => {
                    place += 1;
                    argument.display_order(place)
                }
                false => argument,
            };
            // clap would list these in English; the texts above name them.
            if argument.get_action().takes_values() {
                argument.hide_possible_values(true).hide_default_value(true)
            } else {
                argument
            }
        })
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::Help)
                .help_heading("选项")
                .help("显示本说明"),
        )
        .mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            in_chinese(below, path.trim_start())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &Command) {
        let about = command.get_about().map(ToString::to_string);
        assert!(is_chinese(about), "{}", command.get_name());
        let after = command.get_after_help().map(ToString::to_string);
        assert!(is_chinese(after), "{}", command.get_name());
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string);
            assert!(is_chinese(help), "{}", argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }

    fn is_chinese(text: Option<String>) -> bool {
        text.is_some_and(|text| text.contains(|c| matches!(c, '\u{4e00}'..='\u{9fff}')))
    }

    #[test]
    fn everything_is_explained_in_chinese() {
        check(&command());
        command().debug_assert();
    }

    #[test]
    fn no_text_is_left_over() {
        let command = command();
        let find = |path: &str| {
            let mut words = path.split_whitespace();
            words.try_fold(&command, |command, word| command.find_subcommand(word))
        };
        for (owner, id, _) in arguments() {
            let of = find(owner);
            let found = of.is_some_and(|of| of.get_arguments().any(|known| known.get_id() == id));
            assert!(found, "{owner} {id}");
        }
        for (path, ..) in commands() {
            assert!(find(path).is_some(), "{path}");
        }
    }
}
