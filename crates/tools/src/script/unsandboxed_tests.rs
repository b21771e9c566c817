use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use super::*;
use crate::Secret;
use crate::limits::MAX_SCRIPT_STDERR_BYTES;
use crate::script::{EnvironmentValue, ScriptLimits, ScriptReach, StderrLines};

struct House {
    folder: tempfile::TempDir,
    runner: Unsandboxed,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("scratch");
        Self {
            runner: Unsandboxed::new(crate::script::interpreter::for_tests(), scratch),
            folder,
        }
    }

    fn job(&self, program: &str, arguments: &[&str]) -> ScriptJob {
        ScriptJob {
            program: program.to_owned(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            directory: self.folder.path().to_owned(),
            environment: Vec::new(),
            stdin: Vec::new(),
            limits: ScriptLimits::default(),
            reach: ScriptReach::default(),
            stderr: StderrLines::default(),
            cancel: CancellationToken::new(),
        }
    }

    fn python(&self, code: &str) -> ScriptJob {
        self.job("python3", &["-c", code])
    }

    async fn run(&self, job: ScriptJob) -> ScriptEnd {
        self.runner.run(job).await.unwrap()
    }

    /// A script whose grandchild connects to us, says hello and then waits for ever, as its parent does.
    fn forking_job(&self, leave_group: bool) -> (UnixListener, ScriptJob) {
        let path = self.folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let code = r#"
import os, signal, socket, sys
path, leave = sys.argv[1:]
if os.fork() == 0:
    if leave == "yes":
        os.setsid()
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    line.sendall(b"x")
    line.recv(1)
    sys.exit(0)
if leave == "yes":
    sys.exit(0)
signal.pause()
"#;
        let leave = if leave_group { "yes" } else { "no" };
        let job = self.job("python3", &["-c", code, path.to_str().unwrap(), leave]);
        (listener, job)
    }
}

fn hello(listener: &UnixListener) -> UnixStream {
    let (mut line, _) = listener.accept().unwrap();
    // A guard, no measure: what should have ended fails the test instead of holding it up for ever.
    line.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    line.read_exact(&mut [0]).unwrap();
    line
}

/// The other end is held by the grandchild alone: the line ends when it does, and not before.
async fn grandchild_is_gone(mut line: UnixStream) {
    let read = tokio::task::spawn_blocking(move || line.read(&mut [0]));
    assert_eq!(read.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn ten_megabytes_go_in_and_out() {
    let house = House::new();
    let mut job = house.python(
        "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer); print('done', file=sys.stderr)",
    );
    let input: Vec<u8> = (0..10_000_000_u32).map(|n| (n % 251) as u8).collect();
    job.stdin = input.clone();
    let end = house.run(job).await;
    assert_eq!(end.exit, ExitKind::Code(0));
    assert!(end.stdout == input && !end.stdout_truncated);
    assert_eq!(end.stderr, b"done\n");
    // Nothing of its folder is left, once the task that removes it has had its turn.
    let scratch = house.folder.path().join("scratch");
    while std::fs::read_dir(&scratch).unwrap().next().is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_script_may_ignore_its_input() {
    let house = House::new();
    let mut job = house.job("node", &["-e", "console.log('hi')"]);
    job.stdin = vec![b'x'; 5_000_000];
    let end = house.run(job).await;
    assert_eq!(
        (end.exit, end.stdout.as_slice()),
        (ExitKind::Code(0), b"hi\n".as_slice())
    );
}

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    let house = House::new();
    for (code, exit) in [
        ("raise SystemExit(7)", ExitKind::Code(7)),
        ("import os; os.kill(os.getpid(), 15)", ExitKind::Signal(15)),
        ("pass", ExitKind::Code(0)),
    ] {
        assert_eq!(house.run(house.python(code)).await.exit, exit, "{code}");
    }
}

#[tokio::test]
async fn the_environment_is_what_the_job_says_and_little_more() {
    let house = House::new();
    let mut job = house.python(
        "import json, os; print(json.dumps({'env': dict(os.environ), 'cwd': os.getcwd(), 'home': os.path.isdir(os.environ['HOME'])}))",
    );
    let plain = |text: &str| EnvironmentValue::Plain(text.into());
    job.environment = vec![
        ("COLOUR".into(), plain("red")),
        ("HOME".into(), plain("/root")),
        (
            "KEY".into(),
            EnvironmentValue::Secret(Secret::new("hunter22")),
        ),
        ("COLOUR".into(), plain("grün")),
    ];
    assert!(!format!("{job:?}").contains("hunter22"));
    let end = house.run(job).await;
    let told: serde_json::Value = serde_json::from_slice(&end.stdout).unwrap();
    let mut environment: BTreeMap<String, String> =
        serde_json::from_value(told["env"].clone()).unwrap();
    let home = environment.remove("HOME").unwrap();
    assert!(home.starts_with(house.folder.path().join("scratch").to_str().unwrap()));
    assert_eq!(environment.remove("TMPDIR").unwrap(), home);
    assert_eq!(
        environment.remove("PATH").unwrap(),
        std::env::var("PATH").unwrap()
    );
    assert_eq!(told["home"], true);
    assert_eq!(
        told["cwd"],
        house
            .folder
            .path()
            .canonicalize()
            .unwrap()
            .to_str()
            .unwrap()
    );
    let rest: Vec<_> = environment
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(
        rest,
        [
            ("COLOUR", "grün"),
            ("KEY", "hunter22"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONIOENCODING", "utf-8"),
        ]
    );
}

#[tokio::test]
async fn arguments_do_not_pass_through_a_shell() {
    let house = House::new();
    let arguments = [
        "-c",
        "import sys; print(sys.argv[1:])",
        "$HOME; `id`",
        "*",
        "a b",
    ];
    let end = house.run(house.job("python3", &arguments)).await;
    assert_eq!(end.stdout, b"['$HOME; `id`', '*', 'a b']\n");
}

#[tokio::test]
async fn who_prints_without_end_is_stopped() {
    let house = House::new();
    let mut job = house.python("while True: print('x' * 1000)");
    job.limits.stdout_bytes = 100_000;
    let end = house.run(job).await;
    assert_eq!((end.stdout.len(), end.stdout_truncated), (100_000, true));
    assert_eq!(end.exit, ExitKind::Signal(9));

    let mut exact = house.python("print('x' * 99, end='')");
    exact.limits.stdout_bytes = 99;
    let end = house.run(exact).await;
    assert_eq!((end.stdout.len(), end.stdout_truncated), (99, false));
}

#[tokio::test]
async fn stderr_without_end_is_read_and_its_end_kept() {
    let house = House::new();
    let end = house
        .run(house.python(
            "import sys\nfor n in range(100000): print('line', n, file=sys.stderr)\nprint('ok')",
        ))
        .await;
    assert_eq!(
        (end.exit, end.stdout.as_slice()),
        (ExitKind::Code(0), b"ok\n".as_slice())
    );
    assert!(end.stderr.ends_with(b"line 99999\n") && end.stderr_truncated);
    assert_eq!(end.stderr.len(), MAX_SCRIPT_STDERR_BYTES);
}

#[tokio::test]
async fn cancelling_ends_the_grandchild() {
    let house = House::new();
    let (listener, job) = house.forking_job(false);
    let cancel = job.cancel.clone();
    let runner = house.runner.clone();
    let running = tokio::spawn(async move { runner.run(job).await });
    let line = tokio::task::spawn_blocking(move || hello(&listener))
        .await
        .unwrap();
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err(ScriptError::Cancelled));
    grandchild_is_gone(line).await;
}

#[tokio::test]
async fn dropping_the_future_ends_the_grandchild() {
    let house = House::new();
    let (listener, job) = house.forking_job(false);
    let runner = house.runner.clone();
    let running = tokio::spawn(async move { runner.run(job).await });
    let line = tokio::task::spawn_blocking(move || hello(&listener))
        .await
        .unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    grandchild_is_gone(line).await;
}

/// The clock stands still while a blocking task runs, and leaps to the timeout when nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn the_timeout_ends_the_grandchild() {
    let house = House::new();
    let (listener, mut job) = house.forking_job(false);
    let after = Duration::from_secs(3600);
    job.limits.timeout = after;
    let line = tokio::task::spawn_blocking(move || hello(&listener));
    let runner = house.runner.clone();
    let running = tokio::spawn(async move { runner.run(job).await });
    let line = line.await.unwrap();
    assert_eq!(running.await.unwrap(), Err(ScriptError::Timeout { after }));
    grandchild_is_gone(line).await;
}

#[tokio::test]
async fn the_end_of_the_script_ends_what_it_left_behind() {
    let house = House::new();
    let path = house.folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let code = r#"
import os, socket, sys
ready, told = os.pipe()
if os.fork() == 0:
    line = socket.socket(socket.AF_UNIX)
    line.connect(sys.argv[1])
    line.sendall(b"x")
    os.write(told, b"x")
    line.recv(1)
    sys.exit(0)
os.read(ready, 1)
print("bye")
"#;
    let job = house.job("python3", &["-c", code, path.to_str().unwrap()]);
    let line = tokio::task::spawn_blocking(move || hello(&listener));
    let end = house.run(job).await;
    assert_eq!(
        (end.exit, end.stdout.as_slice()),
        (ExitKind::Code(0), b"bye\n".as_slice())
    );
    grandchild_is_gone(line.await.unwrap()).await;
}

/// Out of our reach, but it must not keep us waiting.
#[tokio::test]
async fn who_leaves_the_group_does_not_hold_the_call() {
    let mut house = House::new();
    house.runner.pipe_grace = Duration::ZERO;
    let (listener, job) = house.forking_job(true);
    let line = tokio::task::spawn_blocking(move || hello(&listener));
    let end = house.run(job).await;
    assert_eq!(end.exit, ExitKind::Code(0));
    line.await.unwrap().write_all(b"x").unwrap();
}

#[tokio::test]
async fn a_cancelled_job_does_not_start() {
    let house = House::new();
    let job = house.python("print('started')");
    job.cancel.cancel();
    assert_eq!(house.runner.run(job).await, Err(ScriptError::Cancelled));
    assert!(!house.folder.path().join("scratch").exists());
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let house = House::new();
    let error = crate::script::NoSandbox
        .run(house.python(""))
        .await
        .unwrap_err();
    let error = crate::ToolError::from(error);
    assert_eq!(error.reason.as_deref(), Some("sandbox.missing"));
    assert!(error.message.contains("sandbox = \"off\""), "{error}");
    assert!(!error.may_pass());
}
