//! How a program's life ends: by itself, by being cancelled, by being forgotten, by the server's own death. However
//! it is, nothing of it is left, and what it has said until then is kept.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use innkeeper_sandbox::{
    End, Job, Program, Sandbox, SandboxError, SandboxOptions, SandboxPolicy, StderrTap,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use super::harness::{
    Interpreter, Scene, as_everybody, is_root, launcher, processes_with, rerun_command, sandbox,
    until,
};

/// Ignores what can be ignored, starts daemons in sessions of their own that hold a lock on a file, says so.
const STUBBORN: &str = r#"
import fcntl, os, signal, sys
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
lock = open(sys.argv[2], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
for generation in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: signal.pause()
        os._exit(0)
print("so far", flush=True)
print("ready", file=sys.stderr, flush=True)
while True: signal.pause()
"#;

fn stubborn(scene: &Scene) -> (Program, SandboxPolicy) {
    let python = Interpreter::python().unwrap();
    let lock = scene.data.join("lock").display().to_string();
    let program = Program::new(python.path, ["-c", STUBBORN, &scene.token, &lock]);
    let policy = SandboxPolicy {
        read: python.read,
        write: vec![scene.data.clone()],
        ..SandboxPolicy::default()
    };
    (program, policy)
}

/// Nobody holds the lock any more: whoever inherited it is dead.
fn is_free(lock: &Path) -> bool {
    File::options()
        .write(true)
        .open(lock)
        .unwrap()
        .try_lock()
        .is_ok()
}

async fn cancelling() {
    let scene = Scene::new();
    let (program, policy) = stubborn(&scene);
    let cancel = CancellationToken::new();
    let by_stderr = cancel.clone();
    let job = Job {
        program,
        policy,
        stderr: StderrTap::to(move |_| by_stderr.cancel()),
        cancel,
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    assert_eq!(outcome.end, End::Cancelled);
    assert_eq!(outcome.stdout, b"so far\n");
    assert_eq!(outcome.stderr, b"ready\n");
    assert_eq!(processes_with(&scene.token), Vec::<u32>::new());
    assert!(is_free(&scene.data.join("lock")));
    assert_eq!(scene.harm(), Vec::<String>::new());
}

#[test]
fn cancelling_kills_daemons_and_keeps_what_was_said() {
    as_everybody(
        "suite::life::cancelling_kills_daemons_and_keeps_what_was_said",
        cancelling(),
    );
}

async fn timing_out() {
    let scene = Scene::new();
    let (program, mut policy) = stubborn(&scene);
    policy.limits.wall = Some(Duration::from_secs(2));
    let job = Job {
        program,
        policy,
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    assert_eq!(outcome.end.limit().map(|l| l.as_str()), Some("wall"));
    assert_eq!(outcome.stdout, b"so far\n");
    assert_eq!(processes_with(&scene.token), Vec::<u32>::new());
    assert!(is_free(&scene.data.join("lock")));
}

#[test]
fn timing_out_kills_daemons_and_keeps_what_was_said() {
    as_everybody(
        "suite::life::timing_out_kills_daemons_and_keeps_what_was_said",
        timing_out(),
    );
}

/// The program is gone, its children hold its pipes: that is the end all the same.
async fn leaving_children() {
    let scene = Scene::new();
    let bash = Interpreter::bash().unwrap();
    let code = format!(
        "(trap '' HUP TERM; setsid sleep 1000 '0{}' &) ; echo out; exit 7",
        scene.token
    );
    let job = Job {
        program: Program::new(bash.path, ["-c", &code]),
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    assert_eq!(outcome.end, End::Exit(7));
    assert_eq!(outcome.stdout, b"out\n");
    assert_eq!(processes_with(&scene.token), Vec::<u32>::new());
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    as_everybody(
        "suite::life::what_a_program_leaves_behind_ends_with_it",
        leaving_children(),
    );
}

/// Whoever waits for the outcome goes away.
async fn forgetting() {
    let scene = Scene::new();
    let (program, policy) = stubborn(&scene);
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let mut ready = Some(ready);
    let job = Job {
        program: program.clone(),
        policy: policy.clone(),
        stderr: StderrTap::to(move |_| {
            let _ = ready.take().map(|ready| ready.send(()));
        }),
        ..Job::default()
    };
    let sandbox = sandbox();
    let running = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.run(job).await }
    });
    is_ready.await.unwrap();
    assert!(!processes_with(&scene.token).is_empty());
    running.abort();
    until("a forgotten run is gone", || {
        processes_with(&scene.token).is_empty()
    })
    .await;
    until("its lock is free", || is_free(&scene.data.join("lock"))).await;

    let mut running = sandbox.start(program, policy).await.unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(running.stderr.take().unwrap());
    stderr.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    drop(running);
    until("a dropped program is gone", || {
        processes_with(&scene.token).is_empty()
    })
    .await;
    until("its lock is free", || is_free(&scene.data.join("lock"))).await;
}

#[test]
fn forgetting_a_program_kills_it() {
    as_everybody("suite::life::forgetting_a_program_kills_it", forgetting());
}

/// While processes are being made faster than they can be killed one by one.
async fn cancelling_a_storm() {
    let scene = Scene::new();
    let python = Interpreter::python().unwrap();
    let code = "import os, sys
print('ready', file=sys.stderr, flush=True)
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass";
    let sandbox = sandbox();
    for _ in 0..5 {
        let cancel = CancellationToken::new();
        let by_stderr = cancel.clone();
        let mut policy = SandboxPolicy {
            read: python.read.clone(),
            ..SandboxPolicy::default()
        };
        policy.limits.processes = 100;
        let job = Job {
            program: Program::new(python.path.clone(), ["-c", code, &scene.token]),
            policy,
            stderr: StderrTap::to(move |_| by_stderr.cancel()),
            cancel,
            ..Job::default()
        };
        let outcome = sandbox.run(job).await.unwrap();
        assert!(
            matches!(outcome.end, End::Cancelled | End::Limit { .. }),
            "{:?}",
            outcome.end
        );
        assert_eq!(processes_with(&scene.token), Vec::<u32>::new());
    }
}

#[test]
fn a_storm_of_processes_can_be_cancelled() {
    as_everybody(
        "suite::life::a_storm_of_processes_can_be_cancelled",
        cancelling_a_storm(),
    );
}

#[tokio::test]
async fn who_is_cancelled_before_the_start_does_not_start() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let job = Job {
        program: Program::new("/bin/true", [""; 0]),
        cancel,
        ..Job::default()
    };
    match sandbox().run(job).await {
        Err(SandboxError::Cancelled) => {}
        Ok(outcome) => assert_eq!(outcome.end, End::Cancelled),
        Err(error) => panic!("{error}"),
    }
}

/// A queue that is left does not stop those behind.
#[tokio::test]
async fn who_is_cancelled_in_the_queue_leaves_it() {
    let mut options = SandboxOptions::new(super::harness::launcher());
    options.parallel = 1;
    let sandbox = innkeeper_sandbox::Sandbox::new(options);
    let cancels: Vec<_> = (0..3).map(|_| CancellationToken::new()).collect();
    let runs: Vec<_> = cancels
        .iter()
        .map(|cancel| {
            let job = Job {
                program: Program::new("/bin/sleep", ["1000"]),
                cancel: cancel.clone(),
                ..Job::default()
            };
            let sandbox = sandbox.clone();
            tokio::spawn(async move { sandbox.run(job).await })
        })
        .collect();
    for (run, cancel) in runs.into_iter().zip(cancels).rev() {
        cancel.cancel();
        match run.await.unwrap() {
            Err(SandboxError::Cancelled) => {}
            Ok(outcome) => assert_eq!(outcome.end, End::Cancelled),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Not a test of its own: holds a program until it is killed.
#[test]
#[ignore = "is started and killed by another test"]
fn a_server_to_be_killed() {
    let Ok(token) = std::env::var("INNKEEPER_TOKEN") else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let program = Program::new(
            "/bin/sh",
            [
                "-c",
                "trap '' TERM HUP; while :; do sleep 1000; done",
                &token,
            ],
        );
        let mut running = sandbox()
            .start(program, SandboxPolicy::default())
            .await
            .unwrap();
        println!("ready");
        running.wait().await.unwrap();
    });
}

/// `kill -9` gives nobody a chance to clean up.
#[tokio::test]
async fn a_program_does_not_outlive_the_server() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().unwrap();
    let mut server = rerun_command(folder.path(), "suite::life::a_server_to_be_killed")
        .env("INNKEEPER_TOKEN", &scene.token)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut stdout, &mut line).unwrap(),
            0
        );
    }
    assert!(!processes_with(&scene.token).is_empty());
    server.kill().unwrap();
    server.wait().unwrap();
    until("the program is gone", || {
        processes_with(&scene.token).is_empty()
    })
    .await;
}

/// Seen from outside, a program has the rights of nobody, also when root has started it.
#[tokio::test]
async fn outside_it_is_not_root() {
    let scene = Scene::new();
    let program = Program::new("/bin/sh", ["-c", "read line; exit 0", &scene.token]);
    let mut running = sandbox()
        .start(program, SandboxPolicy::default())
        .await
        .unwrap();
    let pids = processes_with(&scene.token);
    assert_eq!(pids.len(), 1);
    let status = fs::read_to_string(format!("/proc/{}/status", pids[0])).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if is_root() {
        assert!(
            !field("Uid:").contains(&"0".to_owned()),
            "{:?}",
            field("Uid:")
        );
        assert!(
            !field("Gid:").contains(&"0".to_owned()),
            "{:?}",
            field("Gid:")
        );
        assert_eq!(field("Groups:"), Vec::<String>::new());
    }
    assert_eq!(field("CapEff:"), ["0000000000000000"]);
    assert_eq!(field("NoNewPrivs:"), ["1"]);
    assert_eq!(field("Seccomp:"), ["2"]);
    for name in ["user", "mnt", "pid", "net", "ipc", "uts"] {
        let of = |pid: &str| {
            fs::metadata(format!("/proc/{pid}/ns/{name}"))
                .unwrap()
                .ino()
        };
        assert_ne!(of(&pids[0].to_string()), of("self"), "{name}");
    }
    drop(running.stdin.take());
    assert_eq!(running.wait().await.unwrap().end, End::Exit(0));
}

#[tokio::test]
async fn a_conversation_goes_on_until_one_side_ends_it() {
    let program = Program::new("/bin/cat", [""; 0]);
    let mut running = sandbox()
        .start(program, SandboxPolicy::default())
        .await
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let mut stdout = BufReader::new(running.stdout.take().unwrap());
    for word in ["one\n", "two\n", "three\n"] {
        stdin.write_all(word.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).await.unwrap();
        assert_eq!(answer, word);
    }
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).await.unwrap();
    assert_eq!(running.wait().await.unwrap().end, End::Exit(0));

    let program = Program::new("/bin/cat", [""; 0]);
    let mut running = sandbox()
        .start(program, SandboxPolicy::default())
        .await
        .unwrap();
    running.stop();
    running.stop();
    assert_eq!(running.wait().await.unwrap().end, End::Cancelled);
}

/// Nobody reads what it is told: neither does anything break, nor is anything waited for.
#[tokio::test]
async fn input_that_nobody_reads_is_no_error() {
    let job = |code: &str| Job {
        program: Program::new("/bin/sh", ["-c", code]),
        stdin: vec![b'x'; 8 << 20],
        ..Job::default()
    };
    for (code, end) in [
        ("exit 0", End::Exit(0)),
        ("exit 5", End::Exit(5)),
        ("exec 0<&-; exit 0", End::Exit(0)),
        ("head -c 10 >/dev/null", End::Exit(0)),
        ("kill -SEGV $$", End::Signal(11)),
        ("kill -KILL $$", End::Signal(9)),
    ] {
        let outcome = sandbox().run(job(code)).await.unwrap();
        assert_eq!(outcome.end, end, "{code}");
    }
    let outcome = sandbox().run(job("wc -c")).await.unwrap();
    assert_eq!(outcome.stdout.trim_ascii(), b"8388608");
}

/// `/dev/stdout` and its kin can be opened, whoever made the pipes.
async fn opening_streams() {
    let job = Job {
        program: Program::new(
            "/bin/bash",
            [
                "-c",
                "cat </dev/stdin >/dev/stdout; echo err >/dev/stderr; echo more >/proc/self/fd/1",
            ],
        ),
        stdin: b"in\n".to_vec(),
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    assert_eq!(
        outcome.end,
        End::Exit(0),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    assert_eq!(outcome.stdout, b"in\nmore\n");
    assert_eq!(outcome.stderr, b"err\n");
}

#[test]
fn streams_can_be_opened_by_name() {
    as_everybody(
        "suite::life::streams_can_be_opened_by_name",
        opening_streams(),
    );
}

/// Programs expect signals to do what they do by default.
#[tokio::test]
async fn signals_are_as_programs_know_them() {
    let script = "trap; set -o pipefail; yes | head -1; echo $?; grep SigIgn /proc/self/status";
    let job = Job {
        program: Program::new("/bin/bash", ["-c", script]),
        ..Job::default()
    };
    let outcome = sandbox().run(job).await.unwrap();
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(said, "y\n141\nSigIgn:\t0000000000000000\n");
}

/// Limits that are lower already, as a service manager may have set them, are no obstacle.
#[tokio::test]
async fn lower_limits_of_the_server_stay() {
    let folder = tempfile::tempdir().unwrap();
    let wrapper = folder.path().join("launcher");
    let script = format!(
        "#!/bin/sh\nulimit -l 64; ulimit -n 100; ulimit -c 0\nexec {} \"$@\"\n",
        launcher().display()
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(
        &wrapper,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let sandbox = Sandbox::new(SandboxOptions::new(wrapper));
    let job = Job {
        program: Program::new("/bin/sh", ["-c", "ulimit -n; ulimit -l"]),
        ..Job::default()
    };
    let outcome = sandbox.run(job).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "100\n64\n");
}

/// Two programs that share a folder may talk through a socket there for as long as they like; and somebody outside who
/// was handed a pipe cannot hold up whoever waits for the program.
#[tokio::test]
async fn a_pipe_that_lives_on_is_not_waited_for() {
    let Ok(python) = Interpreter::python() else {
        return;
    };
    let shared = tempfile::tempdir().unwrap();
    let socket = shared.path().canonicalize().unwrap().join("socket");
    let take = format!(
        "import socket, time\ns = socket.socket(socket.AF_UNIX)\ns.bind('{0}')\ns.listen()\nprint('ready', flush=True)\nc, _ = s.accept()\nkept = socket.recv_fds(c, 1, 1)\ntime.sleep(1)\nc.send(b'y')\ntime.sleep(1000)\n",
        socket.display()
    );
    let give = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{0}')\nsocket.send_fds(s, [b'x'], [1])\nassert s.recv(1) == b'y'\nprint('given')\n",
        socket.display()
    );
    let policy = || {
        let mut policy = SandboxPolicy {
            read: python.read.clone(),
            ..SandboxPolicy::default()
        };
        policy.write.push(shared.path().canonicalize().unwrap());
        policy
    };
    let program = |code: &str| Program::new(python.path.clone(), ["-c", code]);
    let sandbox = sandbox();
    let mut taker = sandbox.start(program(&take), policy()).await.unwrap();
    let mut said = BufReader::new(taker.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).await.unwrap();
    let job = Job {
        program: program(&give),
        policy: policy(),
        ..Job::default()
    };
    let outcome = sandbox.run(job).await.unwrap();
    assert_eq!(outcome.end, End::Exit(0), "{outcome:?}");
    assert_eq!(outcome.stdout, b"given\n");
    taker.stop();
}
