//! The `innkeeper` command: reads the command line, runs one command, turns its end into an exit code.
//!
//! What a command does stands in `commands/`, one file each.

mod cli;
mod cli_zh;
mod commands;
mod failure;
mod lang;
mod limits;
mod usage;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::lang::Lang;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let lang = Lang::of(&words, |name| std::env::var(name).ok());
    let outcome = match read(&words, lang) {
        Ok(cli) => run(&cli),
        Err(error) if is_answer(error.kind()) => {
            // A reader that closed the pipe has seen enough of the help.
            let _ = error.print();
            Ok(())
        }
        Err(error) => Err(Failure::Usage(usage::sentence(&error, lang))),
    };
    match outcome {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{}", failure.line(lang));
            failure.exit_code()
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

fn run(cli: &Cli) -> Result<(), Failure> {
    let stdout = std::io::stdout();
    let stdin = std::io::stdin();
    match &cli.command {
        Command::Parse(args) => {
            let layout = commands::parse::Layout::of(&cli.global, stdout.is_terminal());
            let source = commands::parse::Source::of(args.file.as_deref(), stdin.is_terminal())?;
            commands::parse::run(args, source, layout, stdin.lock(), stdout.lock())
        }
    }
}

/// What clap reports as an error but the user asked for.
fn is_answer(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}
