//! The `innkeeper` command: reads the command line, runs one command, turns its end into an exit code.
//!
//! What a command does stands in `commands/`, one file each.

mod approve;
mod ask;
mod cli;
mod cli_zh;
mod commands;
mod failure;
mod home;
mod input;
mod lang;
mod limits;
mod models;
mod output;
mod platform;
mod runtime;
mod save;
mod settings;
mod suggest;
mod table;
mod typed;
mod usage;
mod visible;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::cli::{Cli, Command};
use crate::commands::Ended;
use crate::failure::Failure;
use crate::home::Home;
use crate::input::Source;
use crate::lang::Lang;
use crate::output::{Layout, Screen};

/// Calls make many small things in one thread that end in another (the audit log), which the system's allocator
/// is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    innkeeper_sandbox::take_over_if_launcher();
    let words: Vec<OsString> = std::env::args_os().collect();
    let lang = Lang::of(&words, |name| std::env::var(name).ok());
    let outcome = match read(&words, lang) {
        Ok(cli) => run(&cli, lang),
        Err(error) if is_answer(error.kind()) => {
            // A reader that closed the pipe has seen enough of the help.
            let _ = error.print();
            Ok(Ended::Done)
        }
        Err(error) => Err(Failure::Usage(usage::sentence(&error, &words, lang))),
    };
    match outcome {
        Ok(ended) => ExitCode::from(ended.exit_code()),
        Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{}", failure.line(lang));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn read(words: &[OsString], lang: Lang) -> Result<Cli, clap::Error> {
    let command = match lang {
        Lang::En => Cli::command(),
        Lang::Zh => cli_zh::command(),
    };
    Cli::from_arg_matches(&command.try_get_matches_from(words)?)
}

fn run(cli: &Cli, lang: Lang) -> Result<Ended, Failure> {
    let screen = Screen::of(&cli.global, lang);
    let home = || Home::of(cli.global.home.as_deref());
    match &cli.command {
        Command::Parse(args) => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            let layout = Layout::of(&cli.global, stdout.is_terminal());
            let source = Source::of("parse", args.reply.file.as_deref(), stdin.is_terminal())?;
            commands::parse::run(args, source, layout, stdin.lock(), stdout.lock())?;
            Ok(Ended::Done)
        }
        Command::Run(args) => commands::runs::start(args, &home()?, &screen),
        Command::Runs(command) => commands::runs::run(command, &home()?, &screen),
        Command::Profiles(command) => commands::profiles::run(command, &home()?, &screen),
        Command::Skills(command) => commands::skills::run(command, &home()?, &screen),
        Command::State(command) => commands::state::run(command, &home()?, &screen),
        Command::Call(args) => commands::call::run(args, &home()?, &screen),
        Command::Tools(command) => commands::tools::run(command, &home()?, &screen),
        Command::Workflow(command) => commands::workflow::run(command, &home()?, &screen),
        Command::Models(command) => commands::models::run(command, &home()?, &screen),
        Command::Plugin(command) => commands::plugin::run(command, home, &screen),
        Command::Serve(args) => commands::serve::run(args, &home()?, &screen),
        Command::Access(command) => commands::access::run(command, &home()?, &screen),
        Command::Doctor(args) => commands::doctor::run(args, home(), &screen),
    }
}

/// What clap reports as an error but the user asked for.
fn is_answer(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}
