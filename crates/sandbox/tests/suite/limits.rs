//! Limits are real: each is crossed by programs of every language that can, and named in the outcome; and a program
//! that stays below it ends by itself.

use std::time::Duration;

use innkeeper_sandbox::{End, Job, Limit, Limits, Outcome, Program, SandboxPolicy};
use tokio::task::JoinSet;

use super::harness::{Interpreter, as_everybody, sandbox};

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Bash,
    Node,
}
use Language::{Bash, Node, Python};

/// Tight, but enough to start every interpreter.
fn tight() -> Limits {
    Limits {
        wall: Some(Duration::from_secs(20)),
        cpu: Some(Duration::from_millis(1500)),
        memory: 128 * MIB,
        processes: 24,
        open_files: 64,
        file_size: 2 * MIB,
        disk: 8 * MIB,
        output: MIB,
        stderr_kept: 4096,
    }
}

const OVER: &[(Limit, Language, &str)] = &[
    (
        Limit::Wall,
        Python,
        "import signal\nwhile True: signal.pause()",
    ),
    (
        Limit::Wall,
        Bash,
        "trap '' TERM; while :; do sleep 1000; done",
    ),
    (Limit::Wall, Node, "setInterval(() => {}, 1000)"),
    (Limit::Cpu, Python, "while True: pass"),
    (Limit::Cpu, Bash, "while :; do :; done"),
    (Limit::Cpu, Node, "for (;;);"),
    (Limit::Cpu, Bash, "while :; do /bin/true; done"),
    (
        Limit::Memory,
        Python,
        "kept = [bytearray(b'x') * (1 << 22) for _ in range(1000)]",
    ),
    (Limit::Memory, Python, "x = bytearray(b'x') * (1 << 30)"),
    (
        Limit::Memory,
        Bash,
        "text=x; while :; do text=$text$text; done",
    ),
    (
        Limit::Memory,
        Node,
        "const kept = []; for (;;) kept.push(Buffer.alloc(1 << 22, 1))",
    ),
    (
        Limit::Memory,
        Node,
        "const kept = []; for (;;) kept.push(new Array(1000).fill({}))",
    ),
    (
        Limit::Processes,
        Python,
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    ),
    (
        Limit::Processes,
        Python,
        "import os, signal\nwhile os.fork(): pass\nsignal.pause()",
    ),
    (
        Limit::Processes,
        Python,
        "import threading\nwhile True: threading.Thread(target=threading.Event().wait).start()",
    ),
    (
        Limit::Processes,
        Bash,
        "bomb() { bomb | bomb & }; bomb; wait; while :; do bomb; done",
    ),
    (
        Limit::Processes,
        Node,
        "const { spawn } = require('child_process');
         for (let i = 0; i < 100; i++) spawn('/bin/sleep', ['1000'], { stdio: 'ignore' });",
    ),
    (
        Limit::OpenFiles,
        Python,
        "kept = [open('/dev/null') for _ in range(1000)]",
    ),
    (
        Limit::OpenFiles,
        Bash,
        "set -e; for n in {1..200}; do exec {kept}</dev/null; done",
    ),
    (
        Limit::OpenFiles,
        Node,
        "for (let i = 0; i < 1000; i++) require('fs').openSync('/dev/null')",
    ),
    (
        Limit::FileSize,
        Python,
        "open('/tmp/large', 'wb').write(b'x' * (4 << 20))",
    ),
    (
        Limit::FileSize,
        Python,
        "import os\nos.truncate(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1 << 40)",
    ),
    (
        Limit::FileSize,
        Bash,
        "exec dd if=/dev/zero of=/tmp/large bs=1M count=4",
    ),
    (
        Limit::FileSize,
        Bash,
        "exec dd if=/dev/zero of=$DATA/large bs=1M count=4",
    ),
    (
        Limit::FileSize,
        Node,
        "require('fs').writeFileSync('/tmp/large', Buffer.alloc(4 << 20, 1))",
    ),
    (
        Limit::Disk,
        Python,
        "for n in range(64): open(f'/tmp/{n}', 'wb').write(b'x' * (1 << 20))",
    ),
    (
        Limit::Disk,
        Python,
        "import os\nfor n in range(64): open(os.environ['DATA'] + f'/{n}', 'wb').write(b'x' * (1 << 20))",
    ),
    (
        Limit::Disk,
        Bash,
        "set -e; for n in $(seq 64); do dd if=/dev/zero of=/dev/shm/$n bs=1M count=1; done",
    ),
    (
        Limit::Disk,
        Node,
        "for (let i = 0; i < 64; i++) require('fs').writeFileSync(`/tmp/${i}`, Buffer.alloc(1 << 20))",
    ),
    (
        Limit::Output,
        Python,
        "while True: print('all work and no play')",
    ),
    (
        Limit::Output,
        Python,
        "import sys\nwhile True: sys.stderr.write('x' * 65536)",
    ),
    (
        Limit::Output,
        Bash,
        "while :; do echo all work and no play; done",
    ),
    (
        Limit::Output,
        Node,
        "for (;;) require('fs').writeSync(1, 'x'.repeat(65536))",
    ),
];

/// The last thing that each does is to say that it is done.
const BELOW: &[(Limit, Language, &str)] = &[
    (Limit::Wall, Python, "import select\nselect.select([], [], [], 0.1)"),
    (Limit::Cpu, Python, "import time\nwhile time.process_time() < 0.5: pass"),
    (Limit::Cpu, Bash, "for n in $(seq 20000); do :; done"),
    (Limit::Memory, Python, "x = bytearray(b'x') * (64 << 20)"),
    (Limit::Memory, Node, "const kept = Buffer.alloc(24 << 20, 1)"),
    (
        Limit::Memory,
        Python,
        "import os\nfor n in range(3): open(os.environ['DATA'] + f'/{n}', 'wb').write(b'x' * (2 << 20))
for n in range(300): open(os.environ['DATA'] + '/0', 'wb').write(b'x' * (1 << 20))",
    ),
    (
        Limit::Processes,
        Python,
        "import os, signal\nfor n in range(16):\n  if os.fork() == 0: signal.pause()",
    ),
    (
        Limit::Processes,
        Python,
        "import subprocess\nfor n in range(60): subprocess.run(['/bin/true'], check=True)",
    ),
    (Limit::OpenFiles, Python, "kept = [open('/dev/null') for _ in range(50)]"),
    (Limit::OpenFiles, Node, "for (let i = 0; i < 20; i++) require('fs').openSync('/dev/null')"),
    (Limit::FileSize, Python, "open('/tmp/large', 'wb').write(b'x' * (2 << 20))"),
    (Limit::FileSize, Bash, "dd if=/dev/zero of=$DATA/large bs=1M count=2 2>/dev/null"),
    (
        Limit::Disk,
        Python,
        "for n in range(7): open(f'/tmp/{n}', 'wb').write(b'x' * (1 << 20))",
    ),
    (
        Limit::Disk,
        Python,
        "import os\nfor n in range(7): open(os.environ['DATA'] + f'/{n}', 'wb').write(b'x' * (1 << 20))",
    ),
    (Limit::Output, Python, "print('x' * 1000000)"),
    (Limit::Output, Bash, "printf '%01000000d\\n' 1 >&2"),
];

fn programs(language: Language) -> Result<Interpreter, String> {
    match language {
        Python => Interpreter::python(),
        Bash => Interpreter::bash(),
        Node => Interpreter::node(),
    }
}

/// Runs it; `None` if there is no such interpreter.
async fn run(limit: Limit, language: Language, code: &str) -> Option<Outcome> {
    let interpreter = match programs(language) {
        Ok(interpreter) => interpreter,
        Err(why) => {
            eprintln!("skipped: {limit} in {language:?}: {why}");
            return None;
        }
    };
    let data = tempfile::tempdir().unwrap();
    let mut policy = SandboxPolicy {
        read: interpreter.read,
        write: vec![data.path().to_owned()],
        limits: tight(),
        ..SandboxPolicy::default()
    };
    let place = data.path().display().to_string();
    policy.environment.set("DATA", place);
    policy.environment.set("PATH", "/usr/bin:/bin");
    if limit == Limit::Wall {
        policy.limits.wall = Some(Duration::from_secs(2));
    }
    if language == Node {
        // It starts eleven threads of its own, and reserves much that it never uses.
        policy.limits.memory = 256 * MIB;
        policy.limits.cpu = Some(Duration::from_secs(2));
    }
    let flag = if language == Node { "-e" } else { "-c" };
    let job = Job {
        program: Program::new(interpreter.path, [flag, code]),
        policy,
        ..Job::default()
    };
    Some(sandbox().run(job).await.unwrap())
}

/// A few at a time: each has limits in time, and must get its share of it.
async fn run_all(
    programs: Vec<(Limit, Language, String)>,
) -> Vec<(Limit, Language, String, Outcome)> {
    let turns = std::sync::Arc::new(tokio::sync::Semaphore::new(3));
    let mut running = JoinSet::new();
    for (limit, language, code) in programs {
        let turns = turns.clone();
        running.spawn(async move {
            let _turn = turns.acquire_owned().await.unwrap();
            let outcome = run(limit, language, &code).await;
            outcome.map(|outcome| (limit, language, code, outcome))
        });
    }
    running.join_all().await.into_iter().flatten().collect()
}

async fn crossing(language: Language) {
    let own = OVER.iter().filter(|row| row.1 == language);
    let all = own.map(|row| (row.0, row.1, row.2.to_owned()));
    let done = run_all(all.collect()).await;
    let wrong: Vec<_> = done
        .iter()
        .filter(|(limit, _, _, outcome)| outcome.end.limit() != Some(*limit))
        .map(|(limit, language, code, outcome)| describe(*limit, *language, code, outcome))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !done.is_empty() || language == Node,
        "{language:?} was not tried"
    );
}

async fn staying_below() {
    let done = |language, code: &str| match language {
        Python => format!("{code}\nprint('done')"),
        Bash => format!("{code}; echo; echo done"),
        Node => format!("{code}; console.log('done')"),
    };
    let all = BELOW
        .iter()
        .map(|(limit, language, code)| (*limit, *language, done(*language, code)));
    let done = run_all(all.collect()).await;
    let wrong: Vec<_> = done
        .iter()
        .filter(|(.., outcome)| {
            outcome.end != End::Exit(0) || !outcome.stdout.trim_ascii().ends_with(b"done")
        })
        .map(|(limit, language, code, outcome)| describe(*limit, *language, code, outcome))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for limit in Limit::ALL {
        assert!(
            done.iter().any(|row| row.0 == limit),
            "{limit} was not tried"
        );
    }
}

fn describe(limit: Limit, language: Language, code: &str, outcome: &Outcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let last = stderr.lines().last().unwrap_or_default();
    format!(
        "{limit}, {language:?}: {:?}, {:?}, {last:?}: {code}",
        outcome.end, outcome.usage
    )
}

#[test]
fn python_is_told_which_limit_it_went_over() {
    let test = "suite::limits::python_is_told_which_limit_it_went_over";
    for limit in Limit::ALL {
        assert!(
            OVER.iter().any(|row| row.0 == limit && row.1 == Python),
            "{limit} is not tried"
        );
    }
    as_everybody(test, crossing(Python));
}

#[test]
fn bash_is_told_which_limit_it_went_over() {
    let test = "suite::limits::bash_is_told_which_limit_it_went_over";
    as_everybody(test, crossing(Bash));
}

#[test]
fn node_is_told_which_limit_it_went_over() {
    let test = "suite::limits::node_is_told_which_limit_it_went_over";
    as_everybody(test, crossing(Node));
}

#[test]
fn who_stays_below_is_left_alone() {
    as_everybody(
        "suite::limits::who_stays_below_is_left_alone",
        staying_below(),
    );
}

/// What is cut off is known to be cut off; what was printed first is kept of stdout, what was last of stderr.
#[tokio::test]
async fn output_is_cut_where_the_limit_is() {
    let job = |code: &str| Job {
        program: Program::new("/bin/bash", ["-c", code]),
        policy: SandboxPolicy {
            limits: tight(),
            ..SandboxPolicy::default()
        },
        ..Job::default()
    };
    let outcome = sandbox()
        .run(job("echo first; while :; do echo more; done"))
        .await
        .unwrap();
    assert!(outcome.stdout.starts_with(b"first\nmore\n"));
    assert_eq!(outcome.stdout.len() as u64, MIB);
    assert!(outcome.stdout_truncated && !outcome.stderr_truncated);

    let outcome = sandbox()
        .run(job(
            "for n in {1..5000}; do echo $n >&2; done; echo last >&2; exit 3",
        ))
        .await
        .unwrap();
    assert_eq!(outcome.end, End::Exit(3));
    assert!(outcome.stderr.ends_with(b"5000\nlast\n"));
    assert_eq!(outcome.stderr.len(), 4096);
    assert!(outcome.stderr_truncated && !outcome.stdout_truncated);
}
