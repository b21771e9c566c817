//! Many runs at once, of all kinds, and nothing left of them: no process, mount, folder, group or descriptor.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innkeeper_sandbox::{End, Job, Program, SandboxPolicy, Workspace, WorkspaceFile};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::harness::{Scene, apart, processes_with, sandbox, until};

const RUNS: usize = 200;

/// What this process holds of the machine.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    mounts: String,
    children: BTreeSet<String>,
    groups: Vec<PathBuf>,
    temporary: BTreeSet<PathBuf>,
}

fn held() -> Held {
    Held {
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        mounts: fs::read_to_string("/proc/self/mountinfo").unwrap(),
        children: children(),
        groups: groups(),
        temporary: temporary(),
    }
}

/// Zombies, too.
fn children() -> BTreeSet<String> {
    let own = std::process::id().to_string();
    let mut children = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        if rest.split_whitespace().nth(1) == Some(own.as_str()) {
            children.insert(stat);
        }
    }
    children
}

/// Groups of this process: they are named after it.
fn groups() -> Vec<PathBuf> {
    fn search(folder: &Path, name: &str, depth: usize, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().contains(name) {
                found.push(entry.path());
            } else if depth < 8 {
                search(&entry.path(), name, depth + 1, found);
            }
        }
    }
    let mut found = Vec::new();
    let name = format!("innkeeper-{}-", std::process::id());
    search(Path::new("/sys/fs/cgroup"), &name, 0, &mut found);
    found
}

/// Other tests make scenes in the same place; whatever else has the name is of the sandbox.
fn temporary() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains("room") || name.starts_with("innkeeper") && !name.contains("scene")
        })
        .collect()
}

/// Ends well, fails, is cancelled, goes over its time, leaves daemons, cannot start, brings files out.
fn job(number: usize, scene: &Scene) -> (Job, CancellationToken) {
    let shell = |code: &str| Program::new("/bin/sh", ["-c", code, &scene.token]);
    let mut job = Job::default();
    let cancel = CancellationToken::new();
    job.cancel = cancel.clone();
    job.program = match number % 8 {
        0 => shell("echo hello"),
        1 => shell("exit 3"),
        2 => shell("sleep 1000"),
        3 => shell("(setsid sleep 1000 &) ; echo left"),
        4 => shell("sleep 1000"),
        5 => Program::new("/usr/bin/is-not-there", [&scene.token]),
        6 => shell("echo x >/tmp/work/new; cat /tmp/work/given"),
        _ => shell("kill -SEGV $$"),
    };
    if number % 8 == 4 {
        job.policy.limits.wall = Some(Duration::from_millis(50));
    }
    if number % 8 == 6 {
        job.policy = SandboxPolicy {
            read: vec![scene.plugin.clone()],
            write: vec![scene.data.clone()],
            workspace: Some(Workspace {
                files: vec![WorkspaceFile {
                    name: "given".to_owned(),
                    bytes: b"given".to_vec(),
                }],
                collect_files: 10,
                collect_bytes: 1000,
            }),
            ..SandboxPolicy::default()
        };
    }
    (job, cancel)
}

async fn many() {
    let scene = Scene::new();
    let sandbox = sandbox();
    // What is made once and kept is made now.
    sandbox.strength().await;
    sandbox.run(job(0, &scene).0).await.unwrap();
    until("the launcher is gone", || held().children.is_empty()).await;
    let before = held();

    let mut running = JoinSet::new();
    for number in 0..RUNS {
        let (job, cancel) = job(number, &scene);
        let sandbox = sandbox.clone();
        if number % 8 == 2 {
            // Some in the queue, some at work.
            cancel.cancel();
        }
        running.spawn(async move { (number, sandbox.run(job).await) });
    }
    let mut ends = 0;
    for (number, outcome) in running.join_all().await {
        ends += 1;
        let end = outcome.as_ref().map(|outcome| outcome.end);
        let right = match number % 8 {
            0 | 3 | 6 => matches!(end, Ok(End::Exit(0))),
            1 => matches!(end, Ok(End::Exit(3))),
            2 => matches!(end, Ok(End::Cancelled) | Err(_)),
            4 => matches!(end, Ok(End::Limit { .. })),
            5 => outcome.is_err(),
            _ => matches!(end, Ok(End::Signal(11))),
        };
        assert!(right, "{number}: {outcome:?}");
    }
    assert_eq!(ends, RUNS);
    assert_eq!(processes_with(&scene.token), Vec::<u32>::new());
    // A group can be removed when the kernel has let go of its last process.
    until("groups are gone", || groups().is_empty()).await;
    let mut now = held();
    for _ in 0..400 {
        if now == before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        now = held();
    }
    assert_eq!(now, before);
}

/// What a process holds can be compared only where no other test runs in it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "is started by another test"]
async fn two_hundred_runs() {
    many().await;
}

#[test]
fn two_hundred_runs_leave_nothing() {
    apart("suite::leaks::two_hundred_runs");
}

/// A folder that a program has made very deep can be removed again from outside.
#[tokio::test]
async fn a_deep_folder_can_be_removed() {
    let scene = Scene::new();
    let row = super::harness::row("bombs", "deep_folder", super::harness::Policy::Data, &[]);
    sandbox().run(row.job(&scene).unwrap()).await.unwrap();
    let status = std::process::Command::new("rm")
        .args(["-rf", "--"])
        .arg(&scene.data)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(!scene.data.exists());
}
