//! A process of its own that tells the story on a home, goes on with it if it was begun, and may end in the middle.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use innkeeper_protocol::event::RunEvent;
use innkeeper_store::StoreError;
use tokio::process::Command;

use super::harness::open;
use super::story::{Outside, Teller, asked, host, policy, tools};
use super::verdict::{Acknowledged, only_run};
use super::watched::{Fate, Fuse, Watched};

const HOME: &str = "INNKEEPER_TEST_HOME";
const FUSE: &str = "INNKEEPER_TEST_FUSE";
const ONLY_RECOVER: &str = "INNKEEPER_TEST_ONLY_RECOVER";
/// More than any machine needs; a child that hangs is a failure, not a wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Where a story is told: a home, and what lies outside of it.
pub(crate) struct Stage {
    pub(crate) folder: PathBuf,
    /// Goes with it.
    _own: Option<tempfile::TempDir>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let own = tempfile::tempdir().unwrap();
        let stage = Self {
            folder: own.path().to_owned(),
            _own: Some(own),
        };
        std::fs::create_dir_all(stage.home()).unwrap();
        stage
    }

    /// As another process has left it.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            _own: None,
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn outside(&self) -> Outside {
        Outside::at(&self.folder.join("outside"))
    }

    /// A child on this stage.
    pub(crate) fn command(&self, fuse: Option<Fuse>) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments("suite::child::a_process_that_tells_the_story"));
        self.surroundings(&mut command);
        if let Some(fuse) = fuse {
            command.env(FUSE, fuse.to_string());
        }
        command
    }

    pub(crate) fn surroundings(&self, command: &mut Command) {
        command
            .env(HOME, &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
    }

    pub(crate) async fn tell(&self, fuse: Option<Fuse>) -> Told {
        finished(self.command(fuse)).await
    }

    /// Goes on with what there is, and begins nothing.
    pub(crate) async fn recover(&self) -> Told {
        let mut command = self.command(None);
        command.env(ONLY_RECOVER, "1");
        finished(command).await
    }
}

/// For this very program, to be that test and nothing else.
pub(crate) fn arguments(test: &str) -> [&str; 3] {
    ["--exact", "--nocapture", test]
}

/// What a child has told before it ended.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) acknowledged: Acknowledged,
    pub(crate) ending: Ending,
    pub(crate) all: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Killed,
    /// The run is over; so many records were written.
    Over(u64),
    /// Another process has the home.
    InUse,
    /// There is no run.
    Nothing,
    /// There is one, and it cannot be taken up.
    Reported,
    Skipped,
    Failed,
}

pub(crate) async fn finished(mut command: Command) -> Told {
    let child = command.spawn().unwrap();
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    read(&output.expect("the child hangs").unwrap())
}

fn read(output: &Output) -> Told {
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let mut told = Told {
        acknowledged: Acknowledged::new(),
        ending: match std::os::unix::process::ExitStatusExt::signal(&output.status) {
            Some(9) => Ending::Killed,
            _ => Ending::Failed,
        },
        all: format!("{}\n{said}\n{errors}", output.status),
    };
    for line in said.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            // The last line may be cut short.
            ("ack", event) => told.acknowledge(event),
            ("over", records) if output.status.success() => {
                told.ending = Ending::Over(records.parse().unwrap());
            }
            ("in-use", _) if output.status.success() => told.ending = Ending::InUse,
            ("nothing", _) if output.status.success() => told.ending = Ending::Nothing,
            ("reported", _) if output.status.success() => told.ending = Ending::Reported,
            ("skipped", _) if output.status.success() => told.ending = Ending::Skipped,
            _ => {}
        }
    }
    told
}

impl Told {
    fn acknowledge(&mut self, event: &str) {
        if let Ok(event) = serde_json::from_str::<serde_json::Value>(event) {
            let seq = event["seq"].as_u64().unwrap();
            let before = self.acknowledged.insert(seq, event.clone());
            assert!(before.is_none(), "told twice: {event}");
        }
    }

    /// What a later process told of the same event is the same.
    pub(crate) fn follows(&self, earlier: &Acknowledged) {
        for (seq, event) in earlier {
            if let Some(again) = self.acknowledged.get(seq) {
                assert_eq!(again, event);
            }
        }
    }
}

pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // One write each, so that a line is there or not.
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Where this process is such a child.
pub(crate) fn own_stage() -> Option<Stage> {
    let folder = std::env::var_os(HOME)?;
    // What the test runner has begun to say is no line of ours.
    say("");
    Some(Stage::at(Path::new(&folder)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_tells_the_story() {
    let Some(stage) = own_stage() else {
        return;
    };
    let fuse: Option<Fuse> = std::env::var(FUSE).ok().map(|fuse| fuse.parse().unwrap());
    let count = Arc::new(AtomicU64::new(0));
    let (home, outside) = (stage.home(), stage.outside());
    let fate = move |record| match fuse {
        Some(fuse) if fuse.record == record => Fate::Kills(fuse.moment),
        _ => Fate::Passes,
    };
    let (manager, runtime) = open(&home, Arc::new(Teller), tools(&outside), |journal| {
        Arc::new(Watched::new(journal, count.clone(), fate))
    })
    .await;
    manager.set_policy(policy());
    let _lock = match manager.store().claim_home().await {
        Ok(lock) => lock,
        Err(StoreError::InUse { pid, .. }) => return say(&format!("in-use {pid:?}")),
        Err(error) => panic!("{error}"),
    };
    let only_recover = std::env::var_os(ONLY_RECOVER).is_some();
    for recovered in runtime.recover().await.unwrap() {
        match recovered.problem {
            Some(problem) if only_recover => return say(&format!("reported {problem}")),
            problem => assert_eq!(problem, None),
        }
    }
    let run = match only_run(manager.store()).await {
        Some(run) => run,
        None if only_recover => return say("nothing"),
        None => runtime.start(asked(&home)).await.unwrap().run_id,
    };
    let tell = |event: &RunEvent| say(&format!("ack {}", serde_json::to_string(event).unwrap()));
    let status = host(&runtime, &run, &outside, tell).await;
    assert!(status.is_terminal(), "the run has stopped: {status:?}");
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    say(&format!("over {}", count.load(Ordering::SeqCst)));
}
