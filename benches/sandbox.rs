//! What the sandbox adds to a process: `cargo bench -p innkeeper-benches --bench sandbox`.
//!
//! The limit is a plain process, which is what the same program costs without any protection; both are started in
//! turn, in one run. The best seen for namespaces, Landlock and seccomp around `true` is 2.4 ms on top of 0.7.

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use innkeeper_benches::{Bar, Failed, Row, Table, median};
use innkeeper_sandbox::{Job, Program, Sandbox, SandboxPolicy};
use tokio::process::Command;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the sandbox may add.
const MOST: Duration = Duration::from_millis(6);

fn main() -> ExitCode {
    innkeeper_sandbox::take_over_if_launcher();
    innkeeper_benches::run(20, 100, measure)
}

async fn measure(table: &mut Table, rounds: usize) -> Result<(), Failed> {
    let sandbox = Sandbox::new(innkeeper_benches::sandbox_options()?);
    let strength = sandbox.strength().await;
    for layer in &strength.layers {
        let mark = if layer.active { "+" } else { "-" };
        println!("  {mark} {}: {}", layer.layer, layer.detail);
    }
    table.head("A program from its start to its end, plain and in the sandbox, at the median");
    for (name, program, read) in programs() {
        let policy = SandboxPolicy {
            read,
            ..SandboxPolicy::default()
        };
        let (mut plain, mut kept) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            plain.push(run_plain(&program).await?);
            kept.push(run_kept(&sandbox, &program, &policy).await?);
        }
        let (plain, kept) = (median(plain), median(kept));
        table.row(&Row::new(format!("{name}, plain"), 0, plain));
        let row = Row::new(format!("{name}, in the sandbox"), 0, kept).against(plain);
        table.row(&row);
        let added = Row::new(
            format!("{name}, what the sandbox adds"),
            0,
            kept.saturating_sub(plain),
        );
        table.row(&added.bar(Bar::AtMost(MOST)));
    }
    Ok(())
}

/// Real interpreters, never the stand-in of a version manager.
fn programs() -> Vec<(&'static str, Program, Vec<PathBuf>)> {
    let mut programs = Vec::new();
    for (name, path, arguments) in [
        ("true", "/usr/bin/true", &[][..]),
        ("python3", "/usr/bin/python3", &["-c", "pass"]),
        ("node", "/usr/bin/node", &["-e", "0"]),
    ] {
        if Path::new(path).is_file() {
            let arguments = arguments.iter().copied();
            programs.push((name, Program::new(path, arguments), Vec::new()));
        }
    }
    programs
}

async fn run_plain(program: &Program) -> Result<Duration, Failed> {
    let start = Instant::now();
    let output = Command::new(&program.path)
        .args(&program.arguments)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .await?;
    let time = start.elapsed();
    match output.status.success() {
        true => Ok(time),
        false => Err(format!("{}: {}", program.path.display(), output.status).into()),
    }
}

async fn run_kept(
    sandbox: &Sandbox,
    program: &Program,
    policy: &SandboxPolicy,
) -> Result<Duration, Failed> {
    let job = Job {
        program: program.clone(),
        policy: policy.clone(),
        ..Job::default()
    };
    let start = Instant::now();
    let outcome = sandbox.run(job).await?;
    let time = start.elapsed();
    match outcome.end.is_success() {
        true => Ok(time),
        false => Err(format!("{}: {:?}", program.path.display(), outcome.end).into()),
    }
}
