use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::limits::MAX_SCRIPT_STDERR_BYTES;
use crate::script::{EnvironmentValue, Line, ScriptReach, StderrLines};
use crate::{Secret, ToolError};

struct House {
    folder: tempfile::TempDir,
    runner: SandboxRunner,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plugin", "data"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            runner: for_tests(),
            folder,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn job(&self, program: &str, arguments: &[&str]) -> ScriptJob {
        ScriptJob {
            program: program.to_owned(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            directory: self.at("plugin"),
            environment: Vec::new(),
            stdin: Vec::new(),
            limits: ScriptLimits::default(),
            reach: ScriptReach {
                read: vec![self.at("plugin")],
                write: vec![self.at("data")],
                hosts: Vec::new(),
            },
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

    /// A script whose grandchild opens a pipe to us, says hello and then waits for ever, as its parent does.
    fn forking_job(&self) -> (PathBuf, ScriptJob) {
        let path = self.at("data/pipe");
        let made = std::process::Command::new("mkfifo")
            .arg("-m666")
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        let code = r#"
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    line = open(sys.argv[1], "wb", buffering=0)
    line.write(b"x")
signal.pause()
"#;
        let job = self.job("python3", &["-c", code, path.to_str().unwrap()]);
        (path, job)
    }
}

/// The other end is held by the grandchild alone: the line ends when it does, and not before.
async fn hello(path: PathBuf, cancel: &CancellationToken) -> Receiver {
    let line = OpenOptions::new().open_receiver(path).unwrap();
    tokio::select! {
        // Nobody will say anything any more: fail instead of waiting for it.
        () = cancel.cancelled() => panic!("it ended before it said hello"),
        heard = next(&line) => assert_eq!(heard, 1),
    }
    line
}

async fn next(line: &Receiver) -> usize {
    loop {
        line.readable().await.unwrap();
        if let Ok(read) = line.try_read(&mut [0]) {
            return read;
        }
    }
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
    assert!(end.stdout == input);
    assert_eq!(end.stderr, b"done\n");
    assert!(end.usage.wall > Duration::ZERO);
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
    let path = environment.remove("PATH").unwrap();
    assert!(path.ends_with("/usr/local/bin:/usr/bin:/bin"), "{path}");
    assert_eq!(told["home"], true);
    assert_eq!(told["cwd"], house.at("plugin").to_str().unwrap());
    let rest: Vec<_> = environment
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(
        rest,
        [
            ("COLOUR", "grün"),
            ("HOME", "/tmp"),
            ("KEY", "hunter22"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONIOENCODING", "utf-8"),
            ("TMPDIR", "/tmp"),
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
async fn what_is_granted_is_there_and_nothing_else() {
    let house = House::new();
    fs::write(house.at("plugin/own.txt"), "own").unwrap();
    fs::write(house.at("secrets.toml"), "secret").unwrap();
    let code = r#"
import os, sys
def can(mode, path):
    try:
        open(path, mode).close()
        return True
    except OSError:
        return False
root = sys.argv[1]
print([
    can("r", "own.txt"), can("w", "own.txt"), can("w", root + "/data/new"), can("w", "/tmp/new"),
    can("r", root + "/secrets.toml"), can("r", os.path.join(sys.argv[2], ".bashrc")),
])
"#;
    let root = house.at("");
    let home = std::env::home_dir().unwrap();
    let arguments = ["-c", code, root.to_str().unwrap(), home.to_str().unwrap()];
    let end = house.run(house.job("python3", &arguments)).await;
    let told = String::from_utf8(end.stdout).unwrap();
    assert_eq!(told, "[True, False, True, True, False, False]\n");
    assert!(house.at("data/new").exists());
}

#[tokio::test]
async fn a_program_of_the_plugin_runs_with_what_its_first_line_names() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let path = house.at("plugin/run");
    fs::write(
        &path,
        "#!/usr/bin/env python3\nimport sys; print(sys.executable)\n",
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let end = house.run(house.job("./run", &[])).await;
    let python = crate::script::interpreter::for_tests()
        .locate("python3")
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&end.stderr), "");
    assert_eq!(
        String::from_utf8(end.stdout).unwrap().trim(),
        python.path.to_str().unwrap()
    );
}

#[tokio::test]
async fn a_virtual_environment_is_whole_inside() {
    let house = House::new();
    let python = crate::script::interpreter::for_tests()
        .locate("python3")
        .await
        .unwrap();
    let made = std::process::Command::new(&python.path)
        .args(["-m", "venv", "--without-pip"])
        .arg(house.at("venv"))
        .status();
    assert!(made.unwrap().success());
    let interpreters = Interpreters::on(Some(house.at("venv/bin").into()));
    let runner = SandboxRunner {
        interpreters,
        ..house.runner.clone()
    };
    let code = "import sys, json, ssl; print(sys.prefix)";
    let end = runner
        .run(house.job("python", &["-c", code]))
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&end.stderr), "");
    assert_eq!(
        String::from_utf8(end.stdout).unwrap().trim(),
        house.at("venv").to_str().unwrap()
    );
}

#[tokio::test]
async fn who_goes_over_a_limit_is_told_which() {
    let house = House::new();
    let stderr = "import sys; print('about to', file=sys.stderr); sys.stderr.flush()\n";
    for (limit, code) in [
        (Limit::Output, "while True: print('x' * 1000)"),
        (
            Limit::Output,
            "while True: print('x' * 1000, file=sys.stderr)",
        ),
        (
            Limit::Memory,
            "x = bytearray(300 << 20); x[::4096] = b'x' * len(x[::4096])",
        ),
        (Limit::Cpu, "while True: pass"),
        (
            Limit::FileSize,
            "open('/tmp/x', 'wb').write(b'x' * (9 << 20))",
        ),
        (
            Limit::Disk,
            "for n in range(9): open(f'/tmp/{n}', 'wb').write(b'x' * (7 << 20))",
        ),
        (
            Limit::OpenFiles,
            "x = [open('/dev/null') for n in range(99)]",
        ),
        (
            Limit::Processes,
            "import os, time\nwhile os.fork(): pass\ntime.sleep(60)",
        ),
    ] {
        let mut job = house.python(&format!("{stderr}{code}"));
        job.limits = ScriptLimits {
            output_bytes: 100_000,
            memory_bytes: 64 << 20,
            cpu: Duration::from_secs(1),
            file_bytes: 8 << 20,
            disk_bytes: 32 << 20,
            open_files: 32,
            processes: 12,
            ..job.limits
        };
        let limits = job.limits;
        match house.runner.run(job).await {
            Err(ScriptError::Limit {
                limit: hit,
                limits: told,
                stderr,
            }) => {
                assert_eq!((hit, told), (limit, limits), "{code}");
                let said = String::from_utf8_lossy(&stderr);
                assert!(
                    said.contains("about to") || said.contains("xxx"),
                    "{code}: {said}"
                );
            }
            other => panic!("{code}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn who_does_not_end_is_stopped_in_time() {
    let house = House::new();
    let mut job = house.job("sh", &["-c", "echo waiting >&2; sleep 600"]);
    let after = Duration::from_millis(500);
    job.limits.timeout = after;
    let stderr = b"waiting\n".to_vec();
    let error = house.runner.run(job).await.unwrap_err();
    assert_eq!(error, ScriptError::Timeout { after, stderr });
}

/// One byte less than the limit is all right, and so is a limit that only refuses where the script copes.
#[tokio::test]
async fn limits_that_are_kept_are_not_mentioned() {
    let house = House::new();
    let mut exact = house.python("print('x' * 99, end='')");
    exact.limits.output_bytes = 99;
    let end = house.run(exact).await;
    assert_eq!((end.exit, end.stdout.len()), (ExitKind::Code(0), 99));

    let code = "
try:
    x = [open('/dev/null') for n in range(99)]
except OSError:
    x = None
print('coped')";
    let mut job = house.python(code);
    job.limits.open_files = 32;
    let end = house.run(job).await;
    assert_eq!(
        (end.exit, end.stdout.as_slice()),
        (ExitKind::Code(0), b"coped\n".as_slice())
    );
}

#[test]
fn only_what_a_program_can_cope_with_is_forgiven() {
    for limit in Limit::ALL {
        let outcome = Outcome {
            end: End::Limit {
                limit,
                exit: Some(0),
            },
            stdout: b"done".to_vec(),
            stderr: Vec::new(),
            stdout_truncated: false,
            stderr_truncated: false,
            usage: innkeeper_sandbox::Usage::default(),
            files: Vec::new(),
            files_left: 0,
        };
        let copes = matches!(limit, Limit::OpenFiles | Limit::FileSize | Limit::Processes);
        let told = told(outcome, &ScriptLimits::default(), Vec::new(), false);
        assert_eq!(told.is_ok(), copes, "{limit}: {told:?}");
    }
}

#[test]
fn a_program_that_stays_has_no_end_and_still_a_bound() {
    let limits = ScriptLimits::default();
    let long = ScriptLimits {
        cpu: 2 * WORKER_CPU,
        ..limits
    };
    for (limits, cpu) in [(limits, WORKER_CPU), (long, 2 * WORKER_CPU)] {
        let stays = staying(&limits);
        assert_eq!((stays.wall, stays.cpu), (None, Some(cpu)));
        assert_eq!(stays.memory, limits.memory_bytes);
    }
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_the_remedy() {
    let data = PathBuf::from("/home/plugin-data/p");
    let root = |path: &str| SandboxError::Root {
        path: path.into(),
        why: "it holds 300 MiB already".to_owned(),
    };
    for (path, reason, remedy) in [
        ("/home/plugin-data/p", "script.data_folder", true),
        ("/home/plugins/p", "sandbox.root", false),
    ] {
        let error = not_run("python", std::slice::from_ref(&data), root(path));
        let error = ToolError::from(error);
        assert_eq!(error.reason.as_deref(), Some(reason));
        assert!(!error.may_pass());
        for part in [path, "it holds 300 MiB already"] {
            assert!(error.message.contains(part), "no {part} in {error}");
        }
        let told = error.message.contains("delete files") && error.message.contains("`disk_mb`");
        assert_eq!(told, remedy, "{error}");
    }
}

#[tokio::test]
async fn lines_on_stderr_are_read_while_it_runs() {
    let house = House::new();
    let mut job = house.python("import sys; print('@a\\nb\\n@c', file=sys.stderr)");
    job.stderr = StderrLines::to(|line| match line.starts_with('@') {
        true => Line::Taken,
        false => Line::Keep,
    });
    assert_eq!(house.run(job).await.stderr, b"b\n");
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
    let (path, job) = house.forking_job();
    let (cancel, ended) = (job.cancel.clone(), CancellationToken::new());
    let (runner, guard) = (house.runner.clone(), ended.clone().drop_guard());
    let running = tokio::spawn(async move {
        let _guard = guard;
        runner.run(job).await
    });
    let line = hello(path, &ended).await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err(ScriptError::Cancelled));
    assert_eq!(next(&line).await, 0);
}

#[tokio::test]
async fn dropping_the_future_ends_the_grandchild() {
    let house = House::new();
    let (path, job) = house.forking_job();
    let ended = CancellationToken::new();
    let (runner, guard) = (house.runner.clone(), ended.clone().drop_guard());
    let running = tokio::spawn(async move {
        let _guard = guard;
        runner.run(job).await
    });
    let line = hello(path, &ended).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(next(&line).await, 0);
}

#[tokio::test]
async fn a_cancelled_job_does_not_start() {
    let house = House::new();
    let job = house.python("open('/tmp/x')");
    job.cancel.cancel();
    assert_eq!(
        house.runner.run(job.clone()).await,
        Err(ScriptError::Cancelled)
    );
    assert!(matches!(
        house.runner.start(job).await,
        Err(ScriptError::Cancelled)
    ));
}

#[tokio::test]
async fn one_that_stays_can_be_talked_with() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let house = House::new();
    let mut job = house.job("cat", &[]);
    // It is not its own end that ends it.
    job.limits.timeout = Duration::ZERO;
    job.limits.cpu = Duration::ZERO;
    let mut running = house.runner.start(job).await.unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let mut stdout = running.stdout.take().unwrap();
    for word in [b"hello", b"there"] {
        stdin.write_all(word).await.unwrap();
        let mut heard = [0; 5];
        stdout.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, word);
    }
    drop(stdin);
    assert_eq!(running.wait().await.unwrap().end, End::Exit(0));
}

/// A launcher that is not one: nothing runs, and it is said why.
#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let house = House::new();
    let options = innkeeper_sandbox::SandboxOptions::new(house.at("nothing"));
    let runner = SandboxRunner {
        sandbox: Sandbox::new(options),
        ..house.runner.clone()
    };
    let job = house.python("open('marker', 'w')");
    let error = ToolError::from(runner.run(job).await.unwrap_err());
    assert_eq!(error.reason.as_deref(), Some("sandbox.unavailable"));
    assert!(error.message.contains("innkeeper doctor"), "{error}");
    assert!(!error.may_pass());
}

#[test]
fn a_job_in_the_words_of_the_sandbox() {
    let house = House {
        folder: tempfile::tempdir().unwrap(),
        runner: for_tests(),
    };
    let mut job = house.job("python3", &[]);
    job.environment = vec![
        ("PATH".into(), EnvironmentValue::Plain("/evil".into())),
        ("TMPDIR".into(), EnvironmentValue::Plain("/root".into())),
    ];
    let found = |path: &str, read: &[&str]| Found {
        path: "/x/plugin/run".into(),
        interpreter: Some(crate::script::Interpreter {
            path: path.into(),
            read: read.iter().map(PathBuf::from).collect(),
        }),
    };
    for (found, path) in [
        (Found::default(), PATH.to_owned()),
        (found("/usr/bin/python3", &[]), PATH.to_owned()),
        (
            found("/opt/py/bin/python3", &["/opt/py/lib"]),
            format!("/opt/py/bin:{PATH}"),
        ),
        (
            found("/opt/a:b/bin/python3", &["/opt/a:b/lib"]),
            PATH.to_owned(),
        ),
    ] {
        let policy = policy(&job, &found, limits(&job.limits));
        assert_eq!(policy.environment.get("PATH"), Some(path.as_str()));
        assert_eq!(policy.environment.get("TMPDIR"), Some("/tmp"));
        let mut read = found.interpreter.map_or(Vec::new(), |found| found.read);
        read.push(house.at("plugin"));
        assert_eq!(policy.read, read);
        assert_eq!(policy.write, [house.at("data")]);
        assert_eq!(policy.directory, Some(house.at("plugin")));
        assert_eq!(policy.network, Network::None);
    }
    // An address has colons of its own; a port cannot be asked for.
    job.reach.hosts = vec!["*.example.com".into(), "::1".into()];
    let grants = ["*.example.com", "::1"].map(HostGrant::new).to_vec();
    let policy = policy(&job, &Found::default(), limits(&job.limits));
    assert_eq!(policy.network, Network::Hosts(grants));
}

#[test]
fn the_first_line_of_a_cut_text_is_left_out() {
    for (text, truncated, expected) in [
        ("a\nb\n", false, "a\nb\n"),
        ("a\nb\n", true, "b\n"),
        ("a", true, ""),
        ("", true, ""),
    ] {
        assert_eq!(whole_lines(text.into(), truncated), expected.as_bytes());
    }
}
