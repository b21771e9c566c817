//! Commands of tools, hooks and services: words that were split once, here, and never see a shell.

use std::time::Duration;

use innkeeper_yaml::Value;

use super::folder::{Folder, Kind, shown};
use super::place::Place;
use super::problem::{Code, Report};
use super::{ScriptCommand, ScriptProtocol};
use crate::limits::{
    MAX_COMMAND_ARGUMENTS, MAX_COMMAND_CHARS, MAX_DECLARED_TIMEOUT, MAX_WORKER_CONCURRENCY,
    MAX_WORKER_IDLE, MIN_WORKER_IDLE, UNLIKELY_TIMEOUT,
};

/// Programs that run a script which is named behind them.
const INTERPRETERS: &[&str] = &[
    "python",
    "node",
    "nodejs",
    "bun",
    "deno",
    "ruby",
    "perl",
    "php",
    "lua",
    "Rscript",
    "uv",
    "tsx",
    "sh",
    "bash",
    "zsh",
    "dash",
    "pwsh",
    "powershell",
];
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "fish",
    "cmd",
    "cmd.exe",
    "pwsh",
    "powershell",
];
/// With one of these, what follows is no script file.
const NO_SCRIPT: &[&str] = &["-c", "-e", "-m", "-p", "--eval", "--print", "eval"];
const OPERATORS: &[&str] = &[
    "|", "||", "|&", "&", "&&", ";", ";;", ">", ">>", "<", "<<", "<<<", "2>", "2>>", "&>", "2>&1",
    "1>&2", ">&2",
];

/// Reads `python scripts/x.py --flag`, or the same as a list of words.
pub(super) fn read_command(
    place: &Place<'_>,
    folder: &Folder,
    report: &mut Report,
) -> Option<ScriptCommand> {
    let before = report.count();
    let words = match place.node.value {
        Value::List(_) => {
            let items = place.as_items(report);
            items
                .iter()
                .filter_map(|item| item.as_text(report).map(str::to_owned))
                .collect()
        }
        _ => split(place, place.as_text(report)?, report)?,
    };
    check_words(place, &words, report);
    let (program, arguments) = words.split_first()?;
    let program = check_program(place, program, folder, report);
    check_arguments(place, &program, arguments, folder, report);
    (report.count() == before).then(|| ScriptCommand {
        program,
        arguments: arguments.to_vec(),
        ..ScriptCommand::default()
    })
}

fn split(place: &Place<'_>, command: &str, report: &mut Report) -> Option<Vec<String>> {
    if command.chars().count() > MAX_COMMAND_CHARS {
        let message = format!("the command is longer than {MAX_COMMAND_CHARS} characters");
        report.problem(place, Code::BadCommand, message);
        return None;
    }
    let Ok(words) = shell_words::split(command) else {
        let message = "a quote in the command is not closed";
        report.problem(place, Code::BadCommand, message);
        return None;
    };
    let shell = words.iter().find(|word| wants_shell(word));
    if let Some(word) = shell {
        report.problem(
            place,
            Code::ShellCommand,
            format!(
                "'{word}' needs a shell, and commands never pass through one; do it in the script, or give the \
                 command as a list of words if it is meant literally"
            ),
        );
        return None;
    }
    Some(words)
}

/// What only a shell would understand.
fn wants_shell(word: &str) -> bool {
    let variable = word.find('$').is_some_and(|at| {
        let next = word.get(at + 1..).and_then(|rest| rest.chars().next());
        next.is_some_and(|c| c == '(' || c == '{' || c == '_' || c.is_ascii_alphabetic())
    });
    OPERATORS.contains(&word) || variable || word.contains('`') || word.ends_with(';')
}

fn check_words(place: &Place<'_>, words: &[String], report: &mut Report) {
    let first = words.first().map(String::as_str).unwrap_or_default();
    let inline = |word: &String| matches!(word.as_str(), "-c" | "/c" | "/C" | "-Command");
    let (code, message) = if first.trim().is_empty() {
        (
            Code::BadCommand,
            "the command is empty; write a program and its arguments, such as 'python scripts/hello.py'".to_owned(),
        )
    } else if words.len() > MAX_COMMAND_ARGUMENTS {
        let message = format!("the command has more than {MAX_COMMAND_ARGUMENTS} words");
        (Code::BadCommand, message)
    } else if words.iter().any(|word| word.contains(char::is_control)) {
        let message = "the command holds a control character".to_owned();
        (Code::BadCommand, message)
    } else if first.starts_with('-') {
        let message = format!("the command begins with '{first}'; the program comes first");
        (Code::BadCommand, message)
    } else if first.contains('=') {
        let message =
            format!("'{first}' sets a variable, which needs a shell; use a config option instead");
        (Code::ShellCommand, message)
    } else if SHELLS.contains(&first) && words.iter().any(inline) {
        let message =
            "commands never pass through a shell; put the commands into a script file".to_owned();
        (Code::ShellCommand, message)
    } else {
        return;
    };
    report.problem(place, code, message);
}

/// A bare name stays as it is; a path becomes `./…`, so that nobody looks for it elsewhere.
fn check_program(place: &Place<'_>, program: &str, folder: &Folder, report: &mut Report) -> String {
    if !program.contains(['/', '\\']) && program != ".." && !program.starts_with('~') {
        return program.to_owned();
    }
    let Some(relative) = folder.existing(place, program, Kind::File, report) else {
        return program.to_owned();
    };
    if !is_executable(&folder.root.join(&relative)) {
        report.problem(
            place,
            Code::BadCommand,
            format!(
                "'{program}' is not executable; run chmod +x on it, or name its interpreter first"
            ),
        );
    }
    format!("./{}", shown(&relative))
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &std::path::Path) -> bool {
    true
}

fn check_arguments(
    place: &Place<'_>,
    program: &str,
    arguments: &[String],
    folder: &Folder,
    report: &mut Report,
) {
    for argument in arguments {
        let path = path_in(argument);
        let is_path = path.contains(['/', '\\']) || path == ".." || path.starts_with('~');
        let exists = folder.root.join(path).symlink_metadata().is_ok();
        if (is_path || exists)
            && !path.contains("://")
            && let Err(escape) = folder.inside(path)
        {
            report.problem(place, Code::PathOutside, escape.message(path));
            return;
        }
    }
    check_script(place, program, arguments, folder, report);
}

/// Of `--file=../x` and of `-I../x` the part that is a path.
fn path_in(argument: &str) -> &str {
    match argument.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value,
        _ if argument.starts_with('-') && !argument.starts_with("--") => {
            let mut letters = argument.chars();
            letters.by_ref().take(2).for_each(drop);
            letters.as_str()
        }
        _ => argument,
    }
}

/// An interpreter needs something to interpret, and it must be there.
fn check_script(
    place: &Place<'_>,
    program: &str,
    arguments: &[String],
    folder: &Folder,
    report: &mut Report,
) {
    // `python3.12` is `python`.
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&bare) {
        return;
    }
    let mut first = None;
    let mut after_flag = false;
    for word in arguments.iter().map(String::as_str) {
        if NO_SCRIPT.contains(&word) {
            return;
        }
        if word.starts_with('-') {
            after_flag = !word.contains('=');
            continue;
        }
        if word == "run" && first.is_none() {
            continue;
        }
        let is_file = folder
            .inside(word)
            .is_ok_and(|path| folder.root.join(path).is_file());
        if is_file {
            return;
        }
        first = first.or(Some(word));
        // What stands behind a flag may be its value; anything else was meant as the script.
        if !after_flag {
            break;
        }
        after_flag = false;
    }
    match first {
        Some(word) => {
            folder.existing(place, word, Kind::File, report);
        }
        None => report.problem(
            place,
            Code::BadCommand,
            format!("'{program}' alone runs nothing; name the script behind it"),
        ),
    }
}

/// `protocol`, and of a worker `idleTimeout` in milliseconds and `concurrency`: a command of which only that is said.
pub(super) fn read_protocol(owner: &Place<'_>, report: &mut Report) -> ScriptCommand {
    let protocols = [
        ("stdio", ScriptProtocol::Stdio),
        ("jsonrpc", ScriptProtocol::JsonRpc),
    ];
    let protocol = owner
        .choice("protocol", &protocols, report)
        .unwrap_or_default();
    if protocol == ScriptProtocol::Stdio {
        for name in ["idleTimeout", "concurrency"] {
            if let Some(place) = owner.field(name) {
                let message = "this is for workers; say \"protocol\": \"jsonrpc\" if it is one";
                report.warning(&place, Code::NoEffect, message);
            }
        }
    }
    let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let (least, most) = (millis(MIN_WORKER_IDLE), millis(MAX_WORKER_IDLE));
    let idle = owner.whole("idleTimeout", least, most, report);
    let most = i64::try_from(MAX_WORKER_CONCURRENCY).unwrap_or(i64::MAX);
    let concurrency = owner.whole("concurrency", 1, most, report);
    ScriptCommand {
        protocol,
        idle_timeout: idle.map(|time| Duration::from_millis(time.unsigned_abs())),
        concurrency: concurrency.and_then(|calls| usize::try_from(calls).ok()),
        ..ScriptCommand::default()
    }
}

/// Milliseconds from 1 to the most that anything may take.
pub(super) fn read_timeout(
    owner: &Place<'_>,
    name: &str,
    most: Duration,
    report: &mut Report,
) -> Option<Duration> {
    let most = most.min(MAX_DECLARED_TIMEOUT).as_millis();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let time = owner.whole(name, 1, most, report)?;
    let time = Duration::from_millis(time.unsigned_abs());
    if time < UNLIKELY_TIMEOUT
        && let Some(place) = owner.field(name)
    {
        report.warning(
            &place,
            Code::Unlikely,
            "this is in milliseconds, and hardly a program answers so fast",
        );
    }
    Some(time)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
